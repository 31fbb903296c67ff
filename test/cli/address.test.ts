import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandPaths } from "../../src/cli/program.ts";
import type { OutboundRequest, Service } from "../../src/world.ts";
import { OTHER_COMMANDS, COMMANDS, ORDER, argsOf } from "../support/commands.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { REAL } from "../support/real.ts";
import { NO_SANDBOX } from "../../src/cli/problem.ts";
import { inOrder } from "../support/in-order.ts";

const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

/** A program on the sandbox's former port, which records the requests that it receives. */
function eavesdropper(): { readonly heard: string[]; readonly service: Service } {
  const heard: string[] = [];
  const service: Service = {
    answer: ({ method, target, rawHeaders }) => {
      heard.push(`${method} ${target} ${rawHeaders.join(" ")}`);
      return Promise.resolve({ status: 200, headers: {}, body: "{}" });
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  };
  return { heard, service };
}

/** A folder whose sandbox had the port on which another program now listens. */
async function abandonedFolder() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const { ready } = sandbox;
  await sandbox.stop();
  writeFileSync(join(harness.cwd, "checkout.config.json"), "{}");
  const { heard, service } = eavesdropper();
  harness.occupy(Number(new URL(ready.base_url).port), service);
  return { harness, heard, ready };
}

/** Records the address and the key of every request. */
function watchKeys(harness: Harness): { readonly url: string; readonly key: string }[] {
  const sent: { readonly url: string; readonly key: string }[] = [];
  harness.setFault((request, deliver) => {
    sent.push({ url: request.url, key: keyOf(request) });
    return deliver();
  });
  return sent;
}

function keyOf({ headers }: OutboundRequest): string {
  return (headers["Authorization"] ?? "").replace(/^Bearer /, "");
}

test("the test tables COMMANDS and OTHER_COMMANDS have every command of the program", async () => {
  const paths = await commandPaths({ world: { ...REAL, argv: [] }, version: "0.0.0", exit: () => undefined });
  const lines = paths.map((path) => path.join(" "));
  const commands = lines.filter((line) => !lines.some((other) => other.startsWith(`${line} `)));
  const known = [...COMMANDS, ...OTHER_COMMANDS];
  expect(commands.length).toBeGreaterThan(40);
  const isKnown = (command: string): boolean =>
    known.some((line) => line.startsWith(command)) || OTHER_COMMANDS.some((line) => command.startsWith(line));
  expect(commands.filter((command) => !isKnown(command))).toEqual([]);
});

test.for(["", "svc_test_0000000000000000000000000000000ab"])(
  "while the folder's sandbox is stopped, no command sends a request to its former port, and each suggests sandbox start (API key %j)",
  async (key) => {
    const { harness, heard } = await abandonedFolder();
    const env: Record<string, string> = key === "" ? {} : { CHECKOUT_API_KEY: key };
    for (const line of COMMANDS) {
      const result = await harness.run([...argsOf(line), "--json"], { env });
      expect([line, result.code, result.stdout]).toEqual([line, 7, ""]);
      expect([line, json(result.stderr)]).toMatchObject([
        line,
        { error: { code: "no_sandbox" }, next: "checkout sandbox start" },
      ]);
    }
    expect(heard).toEqual([]);
  },
);

test("orders create --base-url does not send the folder's API key while the folder's sandbox is stopped", async () => {
  const { harness, heard, ready } = await abandonedFolder();
  const result = await harness.run(argsOf(`orders create ${ORDER} --base-url ${ready.base_url}`));
  expect([result.code, heard]).toEqual([7, []]);
  expect(result.stderr).toMatch(inOrder(NO_SANDBOX, `${ready.base_url} (CHECKOUT_API_KEY)`));
  expect(result.stderr).toContain("→ checkout sandbox start");
});

test("a folder that never had a sandbox has no default address", async () => {
  const harness = createHarness();
  const { heard, service } = eavesdropper();
  harness.occupy(4242, service);
  const env = { CHECKOUT_API_KEY: "svc_test_0000000000000000000000000000000ab" };
  const result = await harness.run(argsOf(`orders create ${ORDER}`), { env });
  expect([result.code, heard]).toEqual([7, []]);
  expect(result.stderr).toContain(NO_SANDBOX);
  expect(result.stderr).toContain("→ checkout sandbox start");
  const whoami = json((await harness.run(["whoami", "--json"], { env })).stdout);
  expect(whoami).toMatchObject({ base_url: { value: null, source: NO_SANDBOX } });
});

const TYPED: readonly (readonly [line: string, code: number])[] = [
  [`orders create ${ORDER} --base-url http://localhost:4242/v1`, 0],
  [`orders create ${ORDER}`, 0],
  ["endpoints list", 0],
  ["checklist", 3],
  ["trigger order.succeeded", 0],
  ["admin log", 0],
];

test.for(["starting", "restarting"])(
  "a command waits for a sandbox that is %s, and then runs (with --retries if run.json is missing)",
  async (state) => {
    for (const [line, code] of TYPED) {
      const harness = createHarness();
      await harness.start();
      const path = join(harness.cwd, ".checkout/run.json");
      const run = harness.readState("run.json");
      if (state === "starting") writeFileSync(path, JSON.stringify({ ...json(run), port: null }));
      else rmSync(path);
      harness.clock.after(1000, () => writeFileSync(path, run));
      const asked = state === "starting" ? [] : ["--retries", "5"];
      const env = state === "starting" ? {} : { CHECKOUT_RETRIES: "5" };
      const takesRetries = line.startsWith("orders");
      const typed = [...argsOf(line), ...(takesRetries ? asked : [])];
      const result = await harness.run(typed, takesRetries ? {} : { env });
      expect([line, result.code, result.stdout]).toEqual([line, code, expect.stringMatching(/./)]);
      expect(result.stderr).toContain(NO_SANDBOX);
    }
  },
);

test("every command that needs a sandbox fails immediately if the folder's sandbox was stopped", async () => {
  const { harness } = await abandonedFolder();
  for (const line of COMMANDS) {
    const before = harness.clock.now();
    const { code } = await harness.run(argsOf(line));
    expect([line, code, harness.clock.now() - before]).toEqual([line, 7, 0]);
  }
});

test("with --retries 0, orders create does not wait for a stopped sandbox", async () => {
  const { harness } = await abandonedFolder();
  const before = harness.clock.now();
  const result = await harness.run([...argsOf(`orders create ${ORDER}`), "--retries", "0"]);
  expect([result.code, harness.clock.now() - before]).toEqual([7, 0]);
});

test("every command that needs a service reads CHECKOUT_RETRIES, and CHECKOUT_TIMEOUT limits every request except a clock move", async () => {
  const { harness } = await abandonedFolder();
  const type = (line: string, env: Record<string, string>) => harness.run(argsOf(line), { env });
  for (const line of COMMANDS.filter((each) => each !== "env" && !each.startsWith("sandbox logs"))) {
    const before = harness.clock.now();
    const { code } = await type(line, { CHECKOUT_RETRIES: "0" });
    expect([line, code, harness.clock.now() - before]).toEqual([line, 7, 0]);
    const wrong = await type(line, { CHECKOUT_RETRIES: "many" });
    expect([line, wrong.code, wrong.stderr]).toEqual([line, 2, expect.stringContaining("CHECKOUT_RETRIES")]);
  }
  harness.vacate(4242);
  await harness.start();
  const timeouts: number[] = [];
  harness.setFault((request, deliver) => {
    timeouts.push(request.timeoutMs);
    return deliver();
  });
  const env = { CHECKOUT_TIMEOUT: "3s" };
  for (const line of ["endpoints list", "stores show", `orders create ${ORDER}`, "config export"]) {
    timeouts.length = 0;
    expect([line, (await type(line, env)).code, timeouts]).toEqual([line, 0, [3000]]);
  }
  // The timeouts of three requests: a clock reading, a long poll with its waiting time, and a clock move.
  timeouts.length = 0;
  await type("events list --wait --timeout 1s --since 1h", env);
  await type("sandbox clock advance 1h", env);
  expect(timeouts).toEqual([3000, 4000, 600_000]);
  const wrong = await type("endpoints list", { CHECKOUT_TIMEOUT: "soon" });
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("CHECKOUT_TIMEOUT")]);
});

test("after a lost connection, the next attempt goes only to the new port of the restarted sandbox", async () => {
  const harness = createHarness();
  const first = await harness.start(["--port", "0"]);
  const { heard, service } = eavesdropper();
  const sent: string[] = [];
  harness.setFault(async ({ url, method }, deliver) => {
    sent.push(`${method} ${url}`);
    if (sent.length > 1) return deliver();
    await first.stop();
    harness.occupy(Number(new URL(first.ready.base_url).port), service);
    await harness.start(["--port", "0"]);
    return { ok: false, failure: "connection_lost", message: "socket hang up" };
  });
  const created = await harness.run([...argsOf(`orders create ${ORDER}`), "--json"]);
  expect([created.code, heard, sent.length]).toEqual([0, [], 2]);
  expect(new Set(sent).size).toBe(2);
  expect((await harness.run(["idempotency", "list"])).stdout.match(/co-/g)).toHaveLength(1);
});

test("no attempt goes to the old port of a stopped sandbox, and the suggested command finds the new port", async () => {
  const harness = createHarness();
  const { stop, ready } = await harness.start();
  const { heard, service } = eavesdropper();
  harness.setFault(async (_request, deliver) => {
    if (harness.programOn(4242) === service) return deliver();
    await stop();
    harness.occupy(4242, service);
    return { ok: false, failure: "connection_lost", message: "socket hang up" };
  });
  const lost = await harness.run([...argsOf(`orders create ${ORDER}`), "--json"]);
  expect([lost.code, heard]).toEqual([7, []]);
  const problem = json(lost.stderr);
  expect(problem).toMatchObject({ error: { code: "outcome_unknown" } });
  await harness.start();
  const again = await harness.run(String(problem["next"]).split(" ").slice(1).concat("--json"));
  expect([again.code, heard]).toEqual([0, []]);
  expect(json(again.stdout)).toMatchObject({ idempotency_key: problem["idempotency_key"] });
  expect(json(again.stdout)["data"]).toMatchObject({ order_id: "o-1" });
  expect(ready.base_url).toBe("http://127.0.0.1:4242/v1");
});

test("the hint after a lost answer repeats the address of the service", async () => {
  const { harness, ready } = await abandonedFolder();
  harness.setFault(() => Promise.resolve({ ok: false, failure: "timeout", message: "no answer" }));
  const env = { CHECKOUT_BASE_URL: "https://pay.example/v1", CHECKOUT_API_KEY: ready.api_key ?? "" };
  const lost = await harness.run([...argsOf(`orders create ${ORDER}`), "--json"], { env });
  expect([lost.code, json(lost.stderr)["next"]]).toEqual([
    7,
    expect.stringContaining("--base-url https://pay.example/v1 --idempotency-key co-"),
  ]);
});

test("the folder's API key is sent only to the folder's running sandbox, for every spelling of its address", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const { heard, service } = eavesdropper();
  for (const port of [80, 443, 4243]) harness.occupy(port, service);
  const sent = watchKeys(harness);
  const create = async (baseUrl: string): Promise<number> =>
    (await harness.run([...argsOf(`orders create ${ORDER}`), "--base-url", baseUrl])).code;
  for (const own of ["http://127.0.0.1:4242/v1", "http://localhost:4242/v1", "http://[::1]:4242/v1/"]) {
    expect([own, await create(own)]).toEqual([own, 0]);
  }
  expect(new Set(sent.map(({ key }) => key))).toEqual(new Set([ready.api_key]));
  const count = sent.length;
  const others = ["http://127.0.0.1:4243/v1", "http://localhost/v1", "http://127.0.0.2:4242/v1"];
  for (const other of [...others, "https://127.0.0.1:4242/v1", "http://pay.example:4242/v1"]) {
    expect([other, await create(other)]).toEqual([other, 4]);
    const env = { CHECKOUT_BASE_URL: other };
    const calibrated = await harness.run(["calibrate", "--yes"], { env });
    expect([other, calibrated.code === 0]).toEqual([other, false]);
  }
  expect([heard, sent.length]).toEqual([[], count]);
});

test("CHECKOUT_STORE_ID selects the store for every spelling of the sandbox's address", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const { control_token: token } = json(harness.readState("run.json"));
  const made = await harness.run(["stores", "create", "--name", "Tea Shop", "--json"]);
  const { store_id: store } = json(made.stdout);
  for (const host of ["127.0.0.1", "localhost", "127.0.0.2"]) {
    const baseUrl = ready.base_url.replace("127.0.0.1", host);
    const env = {
      CHECKOUT_BASE_URL: baseUrl,
      CHECKOUT_CONTROL_TOKEN: String(token),
      CHECKOUT_STORE_ID: String(store),
    };
    const urls: string[] = [];
    harness.setFault((request, pass) => {
      urls.push(request.url);
      return pass();
    });
    await harness.run(["endpoints", "list"], { env });
    expect([host, urls.at(-1)]).toEqual([host, expect.stringContaining(`/stores/${String(store)}/`)]);
  }
});

test("a shortened token is refused before it is sent", async () => {
  const harness = createHarness();
  const { ready } = await harness.start(["--port", "4242"]);
  const env = { CHECKOUT_BASE_URL: ready.base_url.replace("127.0.0.1", "127.0.0.2") };
  const sent: string[] = [];
  harness.setFault((request, pass) => {
    sent.push(JSON.stringify(request.headers));
    return pass();
  });
  for (const [variable, line] of [
    ["CHECKOUT_CONTROL_TOKEN", "endpoints list"],
    ["CHECKOUT_ADMIN_TOKEN", "admin log"],
  ] as const) {
    const result = await harness.run(argsOf(line), { env: { ...env, [variable]: "svc_…abcd" } });
    expect([variable, result.code, result.stderr]).toEqual([variable, 2, expect.stringContaining(variable)]);
  }
  expect(sent.filter((headers) => headers.includes("abcd"))).toEqual([]);
});

test("commands that act on the folder's sandbox never send the key of another service", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const { control_token: token } = json(harness.readState("run.json"));
  const sent = watchKeys(harness);
  const theirs = "svc_test_0000000000000000000000000000000ab";
  const env = { CHECKOUT_BASE_URL: "https://pay.example/v1", CHECKOUT_API_KEY: theirs };
  const triggered = await harness.run(["trigger", "order.created"], { env });
  const note = inOrder("CHECKOUT_BASE_URL", "https://pay.example/v1", `.checkout (${ready.base_url})\n`);
  expect([triggered.code, triggered.stderr]).toEqual([0, expect.stringMatching(note)]);
  await harness.run(argsOf("checklist run idempotency --client-command true"), { env });
  const given = harness.commands.map(({ env: command }) => command["CHECKOUT_API_KEY"]);
  expect(new Set(given)).toEqual(new Set([ready.api_key]));
  expect(new Set(sent.map(({ key }) => key))).toEqual(new Set([ready.api_key, token]));
});

test("an order's managed idempotency key is the same for every port and spelling of the sandbox's address, and while the sandbox is stopped", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const { ready } = sandbox;
  const keyFor = async (env: Record<string, string> = {}): Promise<unknown> => {
    const dry = await harness.run([...argsOf(`orders create ${ORDER}`), "--dry-run", "--json"], { env });
    return (json(dry.stdout)["headers"] as Record<string, string>)["Idempotency-Key"];
  };
  const named = { CHECKOUT_BASE_URL: ready.base_url, CHECKOUT_API_KEY: ready.api_key ?? "" };
  const key = await keyFor();
  expect(key).toMatch(/^co-/);
  expect([await keyFor(named), await keyFor({ CHECKOUT_BASE_URL: ready.base_url })]).toEqual([key, key]);
  await sandbox.stop();
  expect(await keyFor(named)).toBe(key);
  expect(await keyFor({ ...named, CHECKOUT_BASE_URL: "http://localhost:9/v1" })).toBe(key);
  await harness.start(["--port", "0"]);
  expect(await keyFor()).toBe(key);
});
