import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OTHER_COMMANDS, COMMANDS, ORDER, argsOf } from "../support/commands.ts";
import { createHarness } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";

/** Two projects with running sandboxes; `type` runs a command in the first with the environment of the second. */
async function openTwo() {
  const harness = createHarness();
  const [a, b] = [join(harness.cwd, "a"), join(harness.cwd, "b")];
  for (const cwd of [a, b]) mkdirSync(cwd);
  writeFileSync(join(a, "checkout.config.json"), '{ "sandbox": {} }');
  const own = (await harness.start(["--port", "4242"], { cwd: a })).ready;
  const other = (await harness.start(["--port", "4243"], { cwd: b })).ready;
  const printed = await harness.run(["env", "--format", "json"], { cwd: b });
  const env = JSON.parse(printed.stdout) as Record<string, string>;
  const reached: string[] = [];
  harness.setFault((request, deliver) => {
    if (new URL(request.url).port === "4242") reached.push(`${request.method} ${request.url}`);
    return deliver();
  });
  const type = async (line: string, more: Record<string, string> = {}) => {
    reached.length = 0;
    const result = await harness.run(argsOf(line), { cwd: a, env: { ...env, ...more } });
    return { ...result, reached: [...reached] };
  };
  return { harness, a, own, other, type };
}

/** Commands without a sandbox to name: they start one, read only files or arguments, or print a new environment. */
const EXEMPT_COMMANDS = new Set([
  "hosted dev",
  "sandbox start",
  "exec",
  "explore",
  "config validate",
  "webhooks",
  "idempotency",
  "keys generate",
  "env",
  "mcp config",
  "shop init",
]);

const ADDRESS_ALONE = { CHECKOUT_API_KEY: "", CHECKOUT_STORE_ID: "", CHECKOUT_SIGNING_SECRET: "" };

test.each([
  ["the environment", {}],
  ["only the address", ADDRESS_ALONE],
])("with %s of another project, every command that uses a sandbox names both sandboxes", async (_, more) => {
  const { own, other, type } = await openTwo();
  const lines = [...COMMANDS, ...OTHER_COMMANDS].filter(
    (line) => !EXEMPT_COMMANDS.has(line) && !line.startsWith("completion "),
  );
  // `sandbox stop` comes last, because the other commands need the sandbox.
  const ordered = [...lines.filter((line) => line !== "sandbox stop"), "sandbox stop"];
  for (const line of ordered.map((each) => (each === "sandbox reset" ? `${each} --yes` : each))) {
    const { code, stdout, stderr: said, reached } = await type(`${line} --json`, more);
    // `doctor` prints its whole report on stdout, so that it can be pasted.
    const stderr = line === "doctor" ? stdout.replaceAll("/v1", "") : said;
    const message = `${line} → ${code}\n${stdout}${stderr}`;
    for (const { base_url } of [own, other]) expect(stderr, message).toContain(new URL(base_url).origin);
    expect(stderr, message).toContain("CHECKOUT_BASE_URL");
    // Only `sandbox stop` sends the first sandbox a request that changes something.
    const acted =
      line === "sandbox stop" ? [`POST ${new URL(own.base_url).origin}/__sandbox/sandbox/stop`] : [];
    expect(
      reached.filter((request) => !request.startsWith("GET ")),
      message,
    ).toEqual(acted);
  }
});

test("control commands use only the token of the sandbox in CHECKOUT_BASE_URL, and are refused without that token", async () => {
  const { own, other, type } = await openTwo();
  const acts = ["endpoints add http://localhost:3000/h", "sandbox reset --yes", "trigger order.created"];
  for (const line of [...acts, "events list", "config export", "sandbox clock advance 1h", "admin log"]) {
    const { code, stdout, stderr, reached } = await type(line);
    expect([line, code, stdout, reached]).toEqual([line, 2, "", []]);
    expect(stderr).toMatch(
      inOrder(/^✗ CHECKOUT_BASE_URL /, ` ${other.base_url}, `, " .checkout ", ` ${own.base_url}; `),
    );
    const { control_token: token } = other;
    const admin = "an-admin-token-of-nobody";
    const there = await type(line, { CHECKOUT_CONTROL_TOKEN: token, CHECKOUT_ADMIN_TOKEN: admin });
    expect([line, there.code, there.reached]).toEqual([line, line === "admin log" ? 4 : 0, []]);
    expect(there.stderr).toContain(`${other.base_url} (CHECKOUT_BASE_URL)`);
    expect(there.stderr).toContain(own.base_url);
  }
});

/** Matches one line with the variable, the address that it has, and the folder's sandbox, which the command uses. */
const noteOf = (...parts: readonly [variable: string, value: string, own: string]): RegExp => {
  const [variable, value, own] = parts;
  return new RegExp(`^[^\\n]* ${variable} [^\\n]* ${value}; [^\\n]* \\.checkout \\(${own}\\)\\n$`);
};

test("sandbox start with --reuse or --detach uses the folder's running sandbox, and says so if the environment names another sandbox", async () => {
  const { own, other, type } = await openTwo();
  for (const flag of ["--reuse", "--detach"]) {
    const { code, stderr } = await type(`sandbox start ${flag}`);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(noteOf(`CHECKOUT_BASE_URL`, other.base_url, own.base_url)),
    ]);
  }
});

test("commands of all kinds refuse a malformed address in the same words", async () => {
  const { type } = await openTwo();
  for (const line of [
    "endpoints list",
    "sandbox reset --yes",
    `orders create ${ORDER}`,
    "checklist",
    "whoami",
  ]) {
    const { code, stderr, reached } = await type(line, { CHECKOUT_BASE_URL: "127.0.0.1:4243/v1" });
    expect([line, code, reached]).toEqual([line, 2, []]);
    expect(stderr).toMatch(inOrder("CHECKOUT_BASE_URL ", '"127.0.0.1:4243/v1"'));
  }
});

test("a malformed CHECKOUT_BASE_URL is refused even with --base-url if the environment also has a store or key", async () => {
  const { own, type } = await openTwo();
  const line = `orders list --base-url ${own.base_url}`;
  const wrong = { CHECKOUT_BASE_URL: "127.0.0.1:4243/v1" };
  for (const kept of ["CHECKOUT_STORE_ID", "CHECKOUT_API_KEY"]) {
    const { [kept]: _kept, ...without } = ADDRESS_ALONE as Record<string, string>;
    const { code, stderr, reached } = await type(line, { ...without, ...wrong });
    expect([kept, code, reached]).toEqual([kept, 2, []]);
    expect(stderr).toMatch(inOrder("CHECKOUT_BASE_URL ", '"127.0.0.1:4243/v1"'));
  }
  expect(await type(line, { ...ADDRESS_ALONE, ...wrong })).toMatchObject({ code: 0, stderr: "" });
  const { checks } = JSON.parse((await type("doctor --json", wrong)).stdout) as {
    readonly checks: readonly { readonly check: string; readonly found: string }[];
  };
  const clock = checks.find(({ check }) => check === "store_clock");
  expect(clock?.found).toMatch(inOrder("CHECKOUT_BASE_URL ", '"127.0.0.1:4243/v1"'));
});

test("commands print no note about another sandbox if the environment names the folder's sandbox, or if no sandbox runs in the folder", async () => {
  const { harness, a, own } = await openTwo();
  for (const url of [own.base_url, "http://localhost:4242/v1"]) {
    const env = { CHECKOUT_BASE_URL: url, CHECKOUT_CONTROL_TOKEN: "a-token-of-yesterday" };
    for (const line of [`orders create ${ORDER}`, "endpoints list", "sandbox status", "doctor", "whoami"]) {
      const { stderr } = await harness.run(argsOf(line), { cwd: a, env });
      expect([line, stderr]).toEqual([line, ""]);
    }
  }
  const env = { CHECKOUT_BASE_URL: own.base_url, CHECKOUT_API_KEY: own.api_key ?? "" };
  const { code, stderr } = await harness.run(argsOf("orders create --order-id o-2 --price-id price_coffee"), {
    env,
  });
  expect([code, stderr]).toEqual([0, ""]);
});

test("control commands act on the folder's sandbox, and say so, if the environment names another machine", async () => {
  const { type, own } = await openTwo();
  const service = { CHECKOUT_BASE_URL: "https://pay.example/v1" };
  for (const line of ["endpoints list", "trigger order.created", "sandbox status"]) {
    const { stderr } = await type(line, service);
    expect([line, stderr]).toEqual([
      line,
      expect.stringMatching(noteOf("CHECKOUT_BASE_URL", "https://pay.example/v1", own.base_url)),
    ]);
  }
  const target = await type("endpoints list", {
    CHECKOUT_BASE_URL: "",
    CHECKOUT_STORE_ID: "",
    CHECKOUT_TARGET: "staging",
  });
  expect(target.stderr).toMatch(noteOf("CHECKOUT_TARGET", '"staging"', own.base_url));
  const judged = await type("checklist --json", service);
  expect(judged.stdout).toContain('"service":"https://pay.example/v1"');
  expect(judged.stderr).toContain("https://pay.example/v1 (CHECKOUT_BASE_URL)");
});

test("--base-url takes precedence over the environment, without a note", async () => {
  const { own, type } = await openTwo();
  const { code, stdout, stderr } = await type(`checklist --json --base-url ${own.base_url}`);
  expect([code, stderr]).toEqual([3, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ source: "sandbox", store_id: own.store_id });
});
