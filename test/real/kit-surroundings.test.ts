import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startSandbox } from "../../src/testing/testing.ts";
import { part } from "../support/campaign.ts";
import { writeProject } from "../support/kit-projects.ts";

/** The output of `test/support/kit-surroundings.mjs` for a row in which the kit works. */
const WORKS = "true,201,WaitError,true";
const FAKED_BEFORE = expect.stringMatching(/^StartError: .*hosted-checkout\/testing/);
/** Rows with a change before the kit is loaded, and their result. */
const BEFORE_LOADING: readonly (readonly [string, unknown])[] = [
  ["all timers", WORKS],
  ["performance", WORKS],
  ["Date.now", WORKS],
  ["Date of 1970", WORKS],
  ["Date of 2040", WORKS],
  ["node:test, Date", WORKS],
  ["node:test, all", FAKED_BEFORE],
  ["node:test, setImmediate", FAKED_BEFORE],
  ["Uint8Array of another realm", WORKS],
  ["no TextDecoder", WORKS],
  ["no setImmediate", WORKS],
  ["Promise of an agent", WORKS],
];
/** Some globals that `vi.useFakeTimers()` replaces by default; the test also fakes each of them alone. */
const FAKED = ["setTimeout", "clearTimeout", "setImmediate", "setInterval", "Date", "performance"] as const;

const SCRIPT = "kit-surroundings.mjs";

function createProject(files: Readonly<Record<string, string>> = {}): string {
  return writeProject({
    [SCRIPT]: readFileSync(join(import.meta.dirname, "../support", SCRIPT), "utf8"),
    ...files,
  });
}

type Run = { readonly stdout: string; readonly stderr: string };

/** Runs a merchant's program. The end of the program shows that the kit keeps no process alive. */
function run(cwd: string, ...args: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, timeout: 60_000 }, (_failed, stdout, stderr) =>
      resolve({ stdout, stderr }),
    );
  });
}

function rowsOf({ stdout, stderr }: Run): readonly (readonly [string, string])[] {
  expect(stderr).toBe("");
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as [string, string]);
}

test("the kit works after a test suite replaced timers, globals or modules of its process", async () => {
  const rows = rowsOf(await run(createProject(), SCRIPT));
  expect(rows.length).toBeGreaterThanOrEqual(50);
  expect(rows.filter(([, result]) => result !== WORKS)).toEqual([]);
});

test("timers, globals or modules replaced before the kit is loaded do not affect the kit, or are reported in one sentence", async () => {
  const cwd = createProject();
  for (const [name, wanted] of part(BEFORE_LOADING, 3))
    expect(rowsOf(await run(cwd, SCRIPT, name))).toEqual([[name, wanted]]);
});

test("vitest's fake timers, all or only one of them, stop neither the sandbox nor its waits", async () => {
  for (const toFake of [undefined, ...FAKED.map((name) => [name])]) {
    vi.useFakeTimers(toFake === undefined ? {} : { toFake });
    try {
      const sandbox = await startSandbox();
      const { store } = sandbox;
      const receiver = await store.receiver();
      const order = await store.orders.create({ order_id: "order-1001", price_id: "price_coffee" });
      await store.pay(order.id);
      const { verified } = await receiver.waitFor("order.succeeded");
      await expect(store.events.waitFor("order.failed", { timeoutMs: 10 })).rejects.toMatchObject({
        name: "WaitError",
      });
      await sandbox.close();
      expect([toFake, verified]).toEqual([toFake, true]);
    } finally {
      vi.useRealTimers();
    }
  }
});

test("if a test sets Date, the sandbox's webhooks have that time and are valid", async () => {
  vi.useFakeTimers({ now: Date.UTC(2031, 4, 5), toFake: ["Date"] });
  try {
    const sandbox = await startSandbox();
    const { store } = sandbox;
    const receiver = await store.receiver();
    await store.orders.create({ order_id: "order-1001", price_id: "price_coffee" });
    const { verified, headers } = await receiver.waitFor("order.created");
    expect([verified, headers["checkout-timestamp"]]).toEqual([true, `${Date.UTC(2031, 4, 5) / 1000}`]);
    await sandbox.close();
  } finally {
    vi.useRealTimers();
  }
});

// By default Sinon replaces process.nextTick, without which Node's sockets stop.
test("if fake timers stop Node's sockets, a start, a receiver, a wait and a close fail with a message about process.nextTick", async () => {
  const program = `
import { startSandbox } from "hosted-checkout/testing";
const sandbox = await startSandbox();
const { store } = sandbox;
const { nextTick } = process;
process.nextTick = Object.assign(() => undefined, { clock: {} });
const failed = [
  await startSandbox().catch((error) => error.message),
  await store.receiver().catch((error) => error.message),
  await store.events.waitFor("order.failed", { timeoutMs: 1 }).catch((error) => error.message),
  await sandbox.close().catch((error) => error.message),
];
process.nextTick = nextTick;
await sandbox.close();
console.log(JSON.stringify(failed));
`;
  const { stdout } = await run(createProject({ "shop.mjs": program }), "shop.mjs");
  const failed = JSON.parse(stdout) as readonly string[];
  expect(failed).toHaveLength(4);
  for (const message of failed) expect(message).toMatch(/\bprocess\.nextTick\b/);
});

/** Programs that end with an uncaught error of the package, each with a value in its message, or the error's name. */
const UNCAUGHT: readonly (readonly [string, string])[] = [
  ["await startSandbox({ sead: 1 });", "startSandbox: sead "],
  ["await startSandbox({ port: -1 });", "startSandbox: port "],
  ['await startSandbox({ state: { folder: "" } });', "startSandbox: state "],
  ["await store.orders.create({});", "order_id"],
  ['await store.orders.create({ order_id: "o", price_id: "price_of_nothing" });', "price_of_nothing"],
  ['await store.orders.get("order-1001");', '"order-1001"'],
  ['await store.pay("order-1001");', '"order-1001"'],
  ['await store.events.waitFor("order.created", { timeoutMs: 5 });', " 5 ms"],
  ['await store.events.waitFor("order.paid");', '"order.paid"'],
  ['await store.requests.waitFor({ methods: "GET" });', '"methods"'],
  ['await store.endpoints.add("http://shop.example/");', "shop.example"],
  ["await store.faults.add({});", "action"],
  ["await store.restore(new Uint8Array(5));", "snapshot"],
  ["await store.receiver({ answers: 5 });", 'receiver: "answers" '],
  ["await sandbox.close(); await sandbox.createStore();", "\nError: "],
  ['await explore({ sandbox, purchase: 5, view: () => "paid" });', "explore: purchase "],
  ["verifyWebhook();", "{ rawBody, headers, secrets }"],
  ["verifyWebhook({ rawBody: '', headers: 5, secrets: 'whsec_a' });", "headers"],
];

test("an uncaught error of the package prints its message in at most 2 KB, with import and require", async () => {
  const names = "{ startSandbox, explore }";
  const heads = {
    "shop.mjs": `import ${names} from "hosted-checkout/testing";
import { verifyWebhook } from "hosted-checkout/webhooks";`,
    "shop.cjs": `const ${names} = require("hosted-checkout/testing");
const { verifyWebhook } = require("hosted-checkout/webhooks");`,
  };
  const cwd = createProject();
  const printed: unknown[] = [];
  for (const [index, [line, message]] of part(UNCAUGHT, 3).entries()) {
    const name = index % 2 === 0 ? "shop.mjs" : "shop.cjs";
    const work = `const sandbox = await startSandbox();\nconst { store } = sandbox;\n${line}`;
    writeFileSync(join(cwd, name), `${heads[name]}\n(async () => {\n${work}\n})();\n`);
    const { stderr } = await run(cwd, name);
    if (!stderr.includes(message) || stderr.length > 2048) printed.push([line, stderr]);
  }
  expect(printed).toEqual([]);
});
