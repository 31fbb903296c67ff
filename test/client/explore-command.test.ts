import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { JUDGED_INVARIANTS } from "../../src/core/readiness/drills/judged-invariants.ts";
import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { FINDINGS } from "../support/broken.table.ts";
import { differenceFrom } from "../support/explored.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import type { World } from "../../src/world.ts";
import { BROKEN_CLIENTS, GOOD_CLIENTS, installClient, rightClient } from "../support/shop-clients.ts";

type Found = {
  readonly schedules: number;
  readonly held: number;
  readonly broken: readonly {
    readonly invariant: string;
    readonly cause: string;
    readonly faults: readonly { readonly action: string }[];
    readonly payer: string;
    readonly rerun: string;
    readonly story: string;
  }[];
  readonly not_judged: readonly { readonly invariant: string; readonly reason: string }[];
  readonly seed: string;
};

/** Explores the installed client with single faults; returns the exit code and the result. */
async function explored(harness: Harness, ...words: readonly string[]): Promise<readonly [number, Found]> {
  const line = ["explore", "--json", "--seed", "s", "--depth", "1", ...words, "--", "client"];
  const { code, stdout, stderr } = await harness.run(line);
  expect(stderr).toBe("");
  return [code, JSON.parse(stdout) as Found];
}

test("explore passes a client that retries a create with the same key, and does not judge rules about views and webhooks", async () => {
  const harness = createHarness();
  for (const { name, client } of GOOD_CLIENTS.slice(0, 4)) {
    installClient(harness, client);
    const [code, { schedules, held, broken, not_judged: open }] = await explored(harness);
    // Without a fault, with ten faults of a create, and with a kill.
    expect([name, code, schedules, held, broken]).toEqual([name, 0, 12, 12, []]);
    expect(open.map(({ invariant }) => invariant)).toEqual([
      "booked_once",
      "never_unpaid",
      "right_amount",
      "booked_when_paid",
      "final_stays",
      "refuses_forged",
      "takes_events",
      "stays_up",
    ]);
  }
});

test("explore reports each broken client with the smallest schedule and the cause", async () => {
  const harness = createHarness();
  const names = Object.keys(FINDINGS.exploreClients);
  const clients = BROKEN_CLIENTS.filter(({ name }) => names.includes(name));
  expect(clients).toHaveLength(names.length);
  for (const { name, client } of clients) {
    installClient(harness, client);
    const [code, found] = await explored(harness);
    expect([code, differenceFrom(name, found, "exploreClients")]).toEqual([1, null]);
  }
});

test("a finding of explore has the command that repeats its schedule, and --write writes the schedule's faults to a file", async () => {
  const harness = createHarness();
  const client = BROKEN_CLIENTS.find(({ name }) => name === "a new key per attempt")?.client ?? rightClient;
  installClient(harness, client);
  const [, { broken }] = await explored(harness, "--write", "faults.json");
  const [first] = broken;
  const only = JSON.stringify(first?.faults);
  expect(first?.rerun).toBe(`checkout explore --only '${only}' -- client`);
  expect(first?.story).toContain("409 order_conflict");
  expect(JSON.parse(readFileSync(join(harness.cwd, "faults.json"), "utf8"))).toEqual(first?.faults);
  const [code, again] = await explored(harness, "--only", only);
  expect([code, again.schedules, again.broken[0]?.cause]).toEqual([1, 1, "new_key"]);
  const shown = await harness.run(["explore", "--seed", "s", "--depth", "1", "--", "client"]);
  expect(shown.stdout).toContain(english(JUDGED_INVARIANTS.one_key.rule));
  expect(shown.stdout).toContain(englishOf(factOf("new_key")));
  expect(shown.stdout).toMatch(/^✗ 12 \D+8 \D+1 .*\bs\b.*booked_once.*\n$/m);
  expect(shown.stderr).toMatch(/\b11\b.*\b1\b/);
});

test("explore reports a secret in the output of a successful purchase, without printing the secret", async () => {
  const harness = createHarness();
  const clients: World["run"][] = [];
  installClient({ ...harness, setShell: (run) => void clients.push(run) }, rightClient);
  harness.setShell(async (command) => {
    const [client] = clients;
    if (client === undefined) throw new Error("the client is installed");
    return { ...(await client(command)), stderr: `key ${command.env["CHECKOUT_API_KEY"] ?? ""}` };
  });
  const [code, { broken }] = await explored(harness);
  expect([code, broken.map(({ cause, faults }) => [cause, faults])]).toEqual([1, [["secret_in_output", []]]]);
  expect(JSON.stringify(broken)).not.toMatch(/svc_test_\w{16}/);
});

test("explore without a command runs the create command of the shop section, and exits with 2 if both are missing", async () => {
  const harness = createHarness();
  installClient(harness, rightClient);
  const line = ["explore", "--json", "--seed", "s", "--depth", "1", "--trust-config"];
  const none = await harness.run(line);
  expect([none.code, none.stdout, none.stderr]).toEqual([2, "", expect.stringContaining("create-order.js")]);
  writeFileSync(join(harness.cwd, "checkout.config.json"), JSON.stringify({ shop: { create: "client" } }));
  const { code, stdout, stderr } = await harness.run(line);
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ schedules: 12, held: 12, broken: [] });
  const untrusted = await harness.run(line.slice(0, -1));
  expect([untrusted.code, untrusted.stderr]).toEqual([2, expect.stringContaining("create: client")]);
});

test("explore exits with 3 if the purchase fails without faults, and refuses malformed faults", async () => {
  const harness = createHarness();
  installClient(harness, () => Promise.resolve(0));
  const idle = await harness.run(["explore", "--json", "--", "client"]);
  expect([idle.code, idle.stderr]).toEqual([3, expect.stringContaining('"code":"nothing_learned"')]);
  installClient(harness, () => Promise.resolve(1));
  const failing = await harness.run(["explore", "--", "client"]);
  expect([failing.code, failing.stderr]).toEqual([
    3,
    expect.stringContaining(englishOf(factOf("exited", "1"))),
  ]);
  for (const only of ["x", "{}", '[{"action":"explode"}]']) {
    const refused = await harness.run(["explore", "--only", only, "--", "client"]);
    expect([only, refused.code, refused.stderr]).toEqual([only, 2, expect.stringContaining("--only")]);
  }
});

test("explore reports how many schedules its budget left out, in text, JSON, JUnit and the checklist", async () => {
  const harness = createHarness();
  await harness.start();
  installClient(harness, async (purchase) => {
    await purchase.pause(10_000);
    const status = await purchase.post(`key-${purchase.orderId}`);
    return status === 201 ? 0 : 1;
  });
  const line = ["explore", "--seed", "s", "--budget", "1s", "--junit", "explore.xml"];
  const { code, stdout } = await harness.run([...line, "--", "client"]);
  const [, ran = 0, left = 0] = /^! (\d+) .*\n {2}(\d+) .*--budget/mu.exec(stdout) ?? [];
  expect([code, stdout.includes("✓"), Number(ran) + Number(left)]).toEqual([0, false, 12]);
  expect(readFileSync(join(harness.cwd, "explore.xml"), "utf8")).toContain(`name="not_run" value="${left}"`);
  const checklist = await harness.run(["checklist"]);
  expect(checklist.stdout).toContain(english(READINESS_SENTENCES.explored(Number(ran), 0, Number(left))));
  const json = await harness.run([...line, "--json", "--", "client"]);
  expect(JSON.parse(json.stdout)).toMatchObject({ not_run: Number(left) });
});

test("explore quotes the output of a failed purchase in one line, without stack frames", async () => {
  const harness = createHarness();
  harness.setShell(() =>
    Promise.resolve({
      ending: "exited",
      exitCode: 1,
      stdout: "",
      stderr: "Error: no\n  at buy\r\n\tat main\n",
    }),
  );
  const { code, stderr } = await harness.run(["explore", "--", "client"]);
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining(`${englishOf(factOf("exited", "1", "Error: no"))}\n`),
  ]);
  expect(stderr).not.toContain("\\u{");
});
