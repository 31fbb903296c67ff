import * as childProcess from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { openControl, type Control } from "../support/control.ts";
import { blocksIn } from "../support/documents.ts";
import { eventually } from "../support/eventually.ts";
import { differenceFrom } from "../support/explored.ts";
import { processesIn } from "../support/left-behind.ts";
import { heldPort } from "../support/ports.ts";
import { begin, PROGRAM as CHECKOUT, run, startSandboxHere } from "../support/program.ts";
import { newShopFolder } from "../support/whole-shops.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A program that makes one purchase; `BEFORE` becomes `true` if it stores its key before it sends. */
const PROGRAM = `
const { fetch } = require(${JSON.stringify(join(import.meta.dirname, "../support/light-fetch.cjs"))});
const { existsSync, readFileSync, writeFileSync } = require("node:fs");
const { CHECKOUT_BASE_URL: base, CHECKOUT_API_KEY: secret, CHECKOUT_ORDER_ID: order } = process.env;
const file = order + ".key";
const kept = existsSync(file) ? readFileSync(file, "utf8") : "key-" + Math.random();
async function main() {
  if (BEFORE) writeFileSync(file, kept);
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    try {
      const answer = await fetch(base + "/orders", {
        method: "POST",
        headers: { authorization: "Bearer " + secret, "content-type": "application/json", "idempotency-key": kept },
        body: JSON.stringify({ order_id: order, price_id: "price_coffee" }),
      });
      writeFileSync(file, kept);
      if (answer.status === 201) return console.log((await answer.json()).data.checkout_url);
    } catch {}
  }
  process.exitCode = 1;
}
main();
`;

function folderWith(before: boolean): string {
  const cwd = tempFolder();
  writeFileSync(join(cwd, "create-order.js"), PROGRAM.replace("BEFORE", String(before)));
  return cwd;
}

const execFile = promisify(childProcess.execFile);
const PATH = `${join(process.execPath, "..")}:${process.env["PATH"] ?? ""}`;
const COMMAND = ["--", "node", "create-order.js"];

const KILL = '[{"action":"kill","match":{"method":"POST","path":"/v1/orders","nth":1}}]';

test("the documented explore command finds no broken rule in a program that stores its key before sending and is killed", async () => {
  const block = blocksIn("sh").find(({ code }) => code.startsWith("npx checkout explore"));
  expect(block?.code).toBe(`npx checkout explore ${COMMAND.join(" ")}\n`);
  const line = ["explore", "--json", "--only", KILL, ...COMMAND];
  const { code, stdout, stderr } = await run(line, { cwd: folderWith(true) });
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ schedules: 1, held: 1, broken: [] });
});

test("explore finds the mistake of a program that stores its key only after the answer, and prints the command line that reproduces the finding", async () => {
  const found = await run(["explore", "--json", "--only", KILL, ...COMMAND], { cwd: folderWith(false) });
  expect([found.code, found.stderr]).toEqual([1, ""]);
  const told = JSON.parse(found.stdout) as Parameters<typeof differenceFrom>[1] & {
    readonly schedules: number;
    readonly broken: readonly { readonly rerun: string }[];
  };
  expect(differenceFrom("stores its key when there is an answer", told, "exploreClients")).toBeNull();
  expect([told.schedules, told.broken[0]?.rerun]).toEqual([
    1,
    `checkout explore --only '${KILL}' -- node create-order.js`,
  ]);
});

test("explore serves, kills and restarts the shop as documented", async () => {
  const block = blocksIn("sh").find(({ code }) => code.startsWith("npx checkout explore --serve"));
  const only = '[{"action":"kill","match":{"event_type":"order.succeeded","nth":1}}]';
  const line = (block?.code ?? "").replace(
    "npx checkout explore",
    `"${process.execPath}" "${CHECKOUT}" explore --json --only '${only}'`,
  );
  const { stdout } = await execFile("/bin/sh", ["-c", line], { cwd: newShopFolder("node"), env: { PATH } });
  expect(JSON.parse(stdout)).toMatchObject({ schedules: 1, held: 1, broken: [] });
  const open = (JSON.parse(stdout) as { not_judged: readonly { invariant: string }[] }).not_judged;
  expect(open.map(({ invariant }) => invariant)).toEqual(["recovery", "refuses_forged"]);
});

const SHOP = `require("node:http").createServer((_, response) => response.end()).listen(process.env.PORT, "127.0.0.1");`;
const ENDLESS = `require("node:fs").appendFileSync("runs", "."); setInterval(() => undefined, 1000);`;

test("a killed exploration leaves no process and no .checkout folder behind", async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, "shop.js"), SHOP);
  writeFileSync(join(cwd, "create-order.js"), ENDLESS);
  const running = begin(["explore", "--serve", "node shop.js", "--receiver-path", "/hooks", ...COMMAND], {
    cwd,
  });
  await eventually("the shop and the command run", () =>
    expect(readFileSync(join(cwd, "runs"), "utf8")).not.toBe(""),
  );
  expect(processesIn(cwd).length > 2).toBe(existsSync("/proc/self/cwd"));
  await running.stop("SIGKILL");
  await eventually("all have ended", () => expect(processesIn(cwd)).toEqual([]));
  expect(existsSync(join(cwd, ".checkout"))).toBe(false);
});

/** State that an exploration can leave in a sandbox; `aheadMs`: how far the store's clock is ahead. */
type Leftovers = {
  readonly faults: number;
  readonly aheadMs: number;
  readonly leases: number;
  readonly endpoints: readonly string[];
};

async function leftoversIn(control: Control): Promise<Leftovers> {
  const [{ faults }, { now }, { underway }, { endpoints }] = await Promise.all([
    control.call("listFaults", {}),
    control.call("showClock", {}),
    control.call("checklist", {}),
    control.call("listEndpoints", {}),
  ]);
  return {
    faults: faults.length,
    aheadMs: now - Date.now(),
    leases: underway.length,
    endpoints: endpoints.map(({ state }) => state),
  };
}

test("a killed exploration of a running shop leaves no fault, moved clock, lease or pause", async () => {
  const cwd = tempFolder();
  cpSync(join(import.meta.dirname, "../shops/careful"), cwd, { recursive: true });
  const { port, ready } = await startSandboxHere({ cwd });
  const control = openControl(port, join(cwd, ".checkout"));
  const shopPort = await heldPort();
  const env = {
    PATH,
    PORT: `${shopPort}`,
    CHECKOUT_STORE_ID: ready.store_id,
    CHECKOUT_SIGNING_SECRET: ready.signing_secret,
  };
  const shop = childProcess.spawn(process.execPath, ["slow.js"], { cwd, env, stdio: "ignore" });
  onTestFinished(() => void shop.kill("SIGKILL"));
  const origin = `http://127.0.0.1:${shopPort}`;
  await control.call("addEndpoint", { body: { url: `${origin}/hooks` } });
  const purchase = ["--order-view", `${origin}/orders/{order_id}`, "--", "node", "slow.js", "create-order"];
  const running = begin(["explore", "--depth", "1", "--receiver", `${origin}/hooks`, ...purchase], { cwd });
  await eventually("it has moved the clock and added a fault", async () => {
    const { faults, aheadMs } = await leftoversIn(control);
    expect([faults, aheadMs > 3_600_000]).toEqual([1, true]);
  });
  await running.stop("SIGKILL");
  await eventually("nothing is left", async () => {
    const { aheadMs, ...left } = await leftoversIn(control);
    expect([left, aheadMs < 60_000]).toEqual([{ faults: 0, leases: 0, endpoints: ["enabled"] }, true]);
  });
  await eventually("the command has ended", () =>
    expect(processesIn(cwd).filter((pid) => pid !== shop.pid)).toEqual([]),
  );
});

/** A program that always reports success; its eleventh run and later runs do not end. */
const BLIND = `
const { appendFileSync, readFileSync } = require("node:fs");
const { CHECKOUT_BASE_URL: base, CHECKOUT_API_KEY: secret, CHECKOUT_ORDER_ID: order } = process.env;
appendFileSync("runs", ".");
if (readFileSync("runs").length > 10) setInterval(() => undefined, 1000);
const headers = { authorization: "Bearer " + secret, "content-type": "application/json", "idempotency-key": "key-" + order };
const body = JSON.stringify({ order_id: order, price_id: "price_coffee" });
fetch(base + "/orders", { method: "POST", headers, body }).catch(() => undefined);
`;

test("Ctrl-C ends explore's commands and reports the findings so far", async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, "create-order.js"), BLIND);
  const running = begin(["explore", "--seed", "s", "--depth", "1", ...COMMAND], { cwd });
  await eventually("a command hangs", () =>
    expect(readFileSync(join(cwd, "runs"), "utf8").length).toBeGreaterThan(10),
  );
  expect(await running.stop("SIGINT")).toBe(130);
  expect(running.output.stderr).toMatch(/\bclient_ends\b.*\bPOST\b/);
  await eventually("the commands have ended", () => expect(processesIn(cwd)).toEqual([]));
});
