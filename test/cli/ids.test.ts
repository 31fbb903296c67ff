import { writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { commandsPage } from "../../bin/docs/commands.ts";
import type { CommandMap } from "../../src/core/help/map.ts";
import { containsSecret, shortId } from "../../src/core/text.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { SEED, size } from "../support/campaign.ts";
import { createHarness } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { hintForIds } from "../../src/cli/target/ids.ts";
import { SUMMARY_SENTENCES } from "../../src/core/explain/sentences.ts";
import { inOrder } from "../support/in-order.ts";

/** The command that accepts an ambiguous order_id if only one of its checkouts can be paid. */
const PAYS = "sandbox pay NAME";
/** Commands that take the id of an order or a session; NAME stands for the id. */
const COMMANDS = [
  "orders get NAME",
  "sessions get NAME",
  PAYS,
  "orders list --before NAME",
  "sessions list --before NAME",
  "events list --checkout NAME",
  "deliveries list --checkout NAME",
  "checklist run duplicates --order-view-command true --paid-when paid --checkout NAME",
  "checklist run browser-return --return-url http://localhost:3000/ --order-view-command true --paid-when paid --checkout NAME",
  "explain NAME --as checkout",
  "open NAME --print",
];
/** A command that finds more than orders and sessions. */
const FINDS_MORE = "open NAME --print";
const TERMS = { amount_minor: 450, currency: "EUR", payment_method: "alipay_plus" };
const UNKNOWN = "0199a3c4-5d00-7000-8000-00000000dead";

async function open() {
  const harness = createHarness();
  const sandbox = await harness.start();
  let keys = 0;
  const create = async (
    orderId: string,
    kind: "orders" | "checkout-sessions" = "orders",
  ): Promise<string> => {
    const headers = { "Idempotency-Key": `the-key-of-${(keys += 1)}` };
    const body = JSON.stringify({ order_id: orderId, ...TERMS });
    const answer = await sandbox.request({ path: `/v1/${kind}`, headers, body });
    expect([orderId, answer.status]).toEqual([orderId, 201]);
    return (JSON.parse(String(answer.body)) as { data: { id: string } }).data.id;
  };
  const run = (line: string, name = "", options: Parameters<typeof harness.run>[1] = {}) =>
    harness.run(
      line.split(" ").map((word) => word.replace("NAME", name)),
      options,
    );
  return { harness, sandbox, create, run };
}

/** Adds a checkout row with a given id. */
function insert(cwd: string, { id, orderId }: { readonly id: string; readonly orderId: string }): void {
  const file = new Database(join(cwd, ".checkout/sandbox.db"));
  file
    .prepare(
      `INSERT INTO checkouts (id, store_id, object, order_id, amount_minor, currency, payment_method, status, created_at, expires_at)
       SELECT @id, id, 'order', @orderId, 450, 'EUR', 'alipay_plus', 'succeeded', 1700000000000, 9000000000000 FROM stores`,
    )
    .run({ id, orderId });
  file.close();
}

test("the tests of this file run every command that takes an id or order_id", async () => {
  const { stdout } = await createHarness().run(["help", "--json"]);
  const page = commandsPage(JSON.parse(stdout) as CommandMap);
  const taking = page
    .split(/^##+ checkout /m)
    .slice(1)
    .filter((one) => / [[<]id\\?\|order_id[\]>]/.test(one))
    .map((one) => one.split("\n")[0] ?? "");
  expect(taking.filter((command) => !COMMANDS.some((one) => one.startsWith(`${command} `)))).toEqual([]);
  expect(taking.length).toBeGreaterThan(9);
});

test("every command finds the same order or session by its id, its order_id and its short id", async () => {
  const { harness, create, run } = await open();
  await run("endpoints add http://localhost:3000/");
  await create("order-0");
  await create("cart-0", "checkout-sessions");
  for (const [orderId, kind] of [
    ["order-1", "orders"],
    ["cart-1", "checkout-sessions"],
  ] as const) {
    const id = await create(orderId, kind);
    expect((await run("sandbox pay NAME", orderId)).stdout).toContain("pending → succeeded");
    // The target of the portal's link is only in the request.
    const leadsTo: string[] = [];
    harness.setFault((request, deliver) => {
      if (request.url.endsWith("/sign-ins")) leadsTo.push(String(request.body));
      return deliver();
    });
    for (const command of COMMANDS) {
      const byId = await run(command, id);
      expect([command, byId.stdout + byId.stderr]).not.toEqual([command, ""]);
      for (const name of [id.toUpperCase(), orderId, shortId(id), shortId(id).toUpperCase()]) {
        const { code, stdout, stderr } = await run(command, name);
        if (command === FINDS_MORE) expect([command, name, code]).toEqual([command, name, 0]);
        // The explanation grows with the requests of earlier commands, so only its first line is compared.
        else if (command.startsWith("explain"))
          expect(stdout.split("\n")[0]).toBe(byId.stdout.split("\n")[0]);
        else expect([command, name, { code, stdout, stderr }]).toEqual([command, name, byId]);
      }
    }
    const found = leadsTo.map((body) =>
      new URLSearchParams(body.split("find?")[1]?.replace(/".*/, "")).get("q"),
    );
    expect(found).toEqual([id, id.toUpperCase(), id, shortId(id), shortId(id).toUpperCase()]);
    expect((await run("orders get NAME", orderId)).stdout).toContain(id);
    expect(
      (await run("events list --json --checkout NAME", orderId)).stdout.match(new RegExp(id, "g"))?.length,
    ).toBeGreaterThan(2);
    for (const command of COMMANDS.filter((one) => one.startsWith("checklist")))
      expect((await run(command, orderId)).stderr).toMatch(
        inOrder(`✗ ${id} `, "succeeded", "(state_conflict)"),
      );
  }
  expect((await run("orders list --before NAME", "order-1")).stdout).toMatch(/ order-0 /);
  expect((await run("orders list --before NAME", "order-1")).stdout).not.toMatch(/ order-1 /);
});

test("sandbox pay without an outcome pays the order", async () => {
  const { create, run } = await open();
  const id = await create("order-1");
  const paid = await run("sandbox pay NAME --json", "order-1");
  expect([paid.code, JSON.parse(paid.stdout)]).toEqual([
    0,
    expect.objectContaining({ id, status: "succeeded" }),
  ]);
  await create("order-2");
  expect((await run("sandbox pay NAME --outcome declined", "order-2")).stdout).toContain("→ pending");
});

test("a command with an ambiguous order_id does nothing and lists the candidates; sandbox pay pays the only payable candidate", async () => {
  const { harness, create, run } = await open();
  const first = await create("order-1");
  await run("sandbox pay NAME --outcome failed", first);
  harness.clock.advance(1000);
  const second = await create("order-1", "checkout-sessions");
  for (const command of COMMANDS.filter((one) => one !== PAYS)) {
    const { code, stdout, stderr } = await run(command, "order-1");
    expect([command, code, stdout]).toEqual([command, 2, ""]);
    expect(stderr).toMatch(inOrder(/^✗ 2 /, '"order-1"\n', `  ${second}  `, `  ${first}  `, "  → "));
  }
  const inJson = await run("orders get NAME --json", "order-1");
  expect(JSON.parse(inJson.stderr)).toMatchObject({
    error: { code: "usage" },
    candidates: [
      {
        id: second,
        about: expect.stringContaining('"order-1", created, 2026-01-15T12:00:01.000Z') as string,
      },
      { id: first, about: expect.stringContaining('"order-1", failed, 2026-01-15T12:00:00.000Z') as string },
    ],
    exit_code: 2,
  });
  expect((await run("explain NAME", "order-1")).stdout).toContain(SUMMARY_SENTENCES.newest(2));
  expect((await run(PAYS, "order-1")).stdout).toContain("pending → succeeded");
  expect((await run("orders get NAME", second)).stdout).toContain("succeeded");
});

test("of more than 10 orders with one order_id, the newest 10 are listed as candidates", async () => {
  const { create, run } = await open();
  const ids: string[] = [];
  for (let number = 0; number < 12; number += 1) {
    ids.push(await create("again"));
    await run("sandbox pay NAME --outcome failed", ids.at(-1));
  }
  const { code, stderr } = await run("orders get NAME", "again");
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^✗ .* 10 .* "again"\n/)]);
  expect(stderr.match(/^ {2}\S{36}/gm)?.map((line) => line.trim())).toEqual(ids.toReversed().slice(0, 10));
});

test("an unknown id is not found, and a malformed id is a usage error without a request", async () => {
  const { harness, create, run } = await open();
  await create("order-10");
  const shows = hintForIds("checkout");
  for (const command of COMMANDS.filter((one) => one !== FINDS_MORE)) {
    for (const name of ["order-1", "ORDER-10", "order-10 ", "%"]) {
      const { code, stdout, stderr } = await run(command, name);
      expect([command, name, code, stdout]).toEqual([command, name, 1, ""]);
      expect(stderr).toContain(`${JSON.stringify(name)} (session_not_found)\n  → `);
      expect(stderr).toContain(shows);
    }
    const ending = await run(command, "0000AAAA");
    expect([command, ending.code, ending.stdout]).toEqual([command, 1, ""]);
    for (const part of ["1000", "0000aaaa", '"0000AAAA"', "(session_not_found)\n  → ", shows])
      expect(ending.stderr).toContain(part);
  }
  const asked: string[] = [];
  harness.setFault(({ url }, deliver) => {
    // A drill takes its lease before it resolves the id.
    if (!url.includes("/leases")) asked.push(url);
    return deliver();
  });
  for (const command of COMMANDS.filter((one) => one !== FINDS_MORE && !one.startsWith("explain"))) {
    for (const name of ["x".repeat(33), UNKNOWN.slice(1), "svc_test_0123456789abcdefghij"]) {
      const { code, stdout, stderr } = await run(command, name);
      expect([command, name, code, stdout]).toEqual([command, name, 2, ""]);
      expect(stderr).toMatch(inOrder(/^✗ .*/, "0199a3c4-5d00-", "order_id", `\n  → ${shows}`));
      expect(stderr).not.toContain("0123456789abcdefghij");
    }
    const empty = await harness.run(command.split(" ").map((word) => (word === "NAME" ? "" : word)));
    expect([command, empty.code]).toEqual([command, 2]);
  }
  expect(asked).toEqual([]);
});

test("an exact order_id wins over an id that ends with the same 8 characters", async () => {
  const { harness, create, run } = await open();
  const [chosen, ending] = [await create("cafe0001"), "0199a3c4-5d00-7000-8000-0000cafe0001"];
  insert(harness.cwd, { id: ending, orderId: "o-1" });
  const idOf = async (name: string): Promise<unknown> => {
    const { code, stdout } = await run("orders get NAME --json", name);
    return code === 0 ? (JSON.parse(stdout) as { id: string }).id : code;
  };
  expect(await idOf("cafe0001")).toBe(chosen);
  // An order_id is compared exactly; a short id in any case.
  expect(await idOf("CAFE0001")).toBe(ending);
  expect(await idOf(ending)).toBe(ending);
  expect(await idOf("o-1")).toBe(ending);
  const explained = JSON.parse((await run("explain NAME --json", "cafe0001")).stdout) as { kind: string };
  expect(explained.kind).toBe("order");
  expect((await run("explain NAME", "CAFE0001")).stdout).toContain("o-1");
});

const LOOKS_LIKE = [
  ["an id without its dashes", "0199a3c45d00700080000000cafe0001"],
  ["the end of an id", "deadbeef"],
  ["an option", "--json"],
  ["a flag", "-x"],
  ["the end of options", "--"],
  ["standard input", "-"],
  ["two words", "a b"],
  ["leading and trailing spaces", "  a  "],
  ["text with quotes", `it's "mine"`],
  ["a pattern", "%_*?[a-z]\\"],
  ["a path", "../orders?x=1&y=2#z"],
  ["a list", "a,b"],
  ["a reserved order_id", "o-1~succeeded"],
  ["Japanese text", "注文-七号"],
  ["an emoji of several code points", "👍🏽‍♀️".slice(0, 8)],
  ["an invisible character", "a\u200bb"],
  ["a line break", "a\nb"],
  ["32 characters of 4 bytes", "😀".repeat(32)],
] as const;

test.each(LOOKS_LIKE)("commands accept an order_id of any form: %s", async (_what, orderId) => {
  const { create, run, harness } = await open();
  await create("another");
  const id = await create(orderId);
  await checkAccepted(harness, { orderId, id });
  expect((await run("sandbox pay --json -- NAME", orderId)).stdout).toContain(`"id":"${id}"`);
});

test(`commands accept random order_ids (seed ${SEED})`, async () => {
  const { create, harness } = await open();
  const known = new Set<string>();
  const orderIds = fc
    .string({ unit: ANY_CHARACTER, minLength: 1, maxLength: 32 })
    .filter((text) => text.isWellFormed() && !text.includes("\0") && Array.from(text).length <= 32)
    .filter((text) => !containsSecret(text) && !known.has(text) && known.add(text) !== undefined);
  const check = fc.asyncProperty(orderIds, async (orderId) =>
    checkAccepted(harness, { orderId, id: await create(orderId) }),
  );
  await fc.assert(check, { seed: SEED, numRuns: size(20, 1000), endOnFailure: true });
});

/** Checks that an order_id is accepted as an argument, after `--`, and as an option's value. */
async function checkAccepted(
  harness: ReturnType<typeof createHarness>,
  { orderId, id }: { readonly orderId: string; readonly id: string },
): Promise<void> {
  for (const words of [
    ["orders", "get", "--json", "--", orderId],
    ["sessions", "get", "--json", "--", orderId],
    ["events", "list", "--json", `--checkout=${orderId}`],
    ["events", "list", "--json", `--order-id=${orderId}`],
  ]) {
    const { code, stdout, stderr } = await harness.run(words);
    expect([words, code, stderr]).toEqual([words, 0, ""]);
    expect(stdout).toContain(`"${id}"`);
  }
}

test("commands send only complete ids to another service, never an order_id or a short id", async () => {
  const { harness, sandbox, create, run } = await open();
  const id = await create("order-1");
  const target = { base_url: "https://pay.example/v1" };
  writeFileSync(join(harness.cwd, "checkout.config.json"), JSON.stringify({ targets: { staging: target } }));
  const asked: string[] = [];
  harness.setFault((request, deliver) => {
    if (request.url.startsWith(sandbox.ready.base_url.replace(/\/v1$/, ""))) return deliver();
    asked.push(request.url);
    return Promise.resolve({ ok: false, failure: "unreachable", message: "nobody is there" });
  });
  const key = { CHECKOUT_API_KEY: `svc_test_${"A".repeat(33)}` };
  const others = [
    ["--base-url https://pay.example/v1", key, "pay.example"],
    ["", { ...key, CHECKOUT_BASE_URL: "https://pay.example/v1" }, "pay.example"],
    ["--target staging", { CHECKOUT_TARGET_STAGING_API_KEY: key.CHECKOUT_API_KEY }, "pay.example"],
    ["--base-url http://127.0.0.1:5000/v1", key, "127.0.0.1:5000"],
  ] as const;
  for (const [flags, env, host] of others) {
    for (const name of ["order-1", "nonsense", shortId(id)]) {
      const { code, stdout, stderr } = await run(`sessions get NAME ${flags}`.trim(), name, { env });
      expect([flags, name, code, stdout]).toEqual([flags, name, 2, ""]);
      expect(stderr).toMatch(
        inOrder(`✗ "${name}" `, ` ${host} `, "  → ", "orders create", "sessions create"),
      );
      expect(stderr.includes("CHECKOUT_CONTROL_TOKEN")).toBe(host.startsWith("127."));
    }
    expect(asked).toEqual([]);
    const whole = await run(`sessions get NAME --retries 0 ${flags}`.trim(), id, { env });
    expect([flags, whole.code, asked.splice(0)]).toEqual([
      flags,
      7,
      [`http${host.startsWith("127.") ? "" : "s"}://${host}/v1/checkout-sessions/${id}`],
    ]);
    if (host.startsWith("127.")) continue;
    const listed = await run(`orders get NAME ${flags}`.trim(), "order-1", { env });
    const service = flags.startsWith("--target") ? '"staging"' : host;
    expect([flags, listed.code, listed.stderr]).toEqual([
      flags,
      2,
      expect.stringMatching(inOrder(service, "checkout sessions get")),
    ]);
  }
  expect(asked).toEqual([]);
});

test("if the environment names the sandbox, commands look for an order_id in the store of CHECKOUT_API_KEY", async () => {
  const { harness, sandbox, create, run } = await open();
  await create("order-1");
  const made = JSON.parse((await run("stores create --name Tea --json")).stdout) as Record<string, string>;
  const line = "orders create --order-id order-1 --price-id price_coffee --store Tea";
  const { data } = await harness.ask<{ data: { id: string } }>(line);
  const there = {
    cwd: tempFolder(),
    env: {
      CHECKOUT_BASE_URL: sandbox.ready.base_url,
      CHECKOUT_API_KEY: made["api_key"] ?? "",
      CHECKOUT_CONTROL_TOKEN: sandbox.ready.control_token,
    },
  };
  for (const command of ["sessions get NAME", "orders get NAME"]) {
    const { code, stdout, stderr } = await run(command, "order-1", there);
    expect([command, code, stderr]).toEqual([command, 0, ""]);
    expect(stdout).toContain(data.id);
    expect((await run(command, shortId(data.id), there)).stdout).toBe(stdout);
  }
});
