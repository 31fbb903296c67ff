import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { parseCredentials } from "../../src/core/state-files.ts";
import { expect, test } from "vitest";
import { formatTestKey, hashKey } from "../../src/core/credential.ts";
import { createOtherRequest } from "../../src/core/readiness/other-request.ts";
import type { ShellResult } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, EPHEMERAL, type Harness } from "../support/harness.ts";
import {
  run,
  runHere,
  startSandbox,
  startSandboxHere,
  type RunOptions,
  type SandboxHere,
  type SandboxProcess,
} from "../support/program.ts";
import { BROKEN_CLIENTS, installClient, rightClient } from "../support/shop-clients.ts";
import { tempFolder } from "../support/temp-folder.ts";
import type { DrillStep } from "../../src/core/readiness/drill-shapes.ts";

type Judged = {
  readonly verdict: "passed" | "failed" | "unknown";
  readonly drill_id: string | null;
  readonly steps: readonly DrillStep[];
  readonly creates: readonly {
    readonly run: string;
    readonly order_id: string | null;
    readonly idempotency_key: string | null;
    readonly result: string;
    readonly checkout_id: string | null;
    readonly request_id: string;
    readonly lost: boolean;
    readonly loss: string | null;
  }[];
  readonly client: {
    readonly ending: string;
    readonly exit_code: number | null;
    readonly stdout: string;
    readonly stderr: string;
  };
};
type Use = { readonly key: string; readonly kind: string; readonly request_id: string; readonly at: number };

const DRILL = ["checklist", "run", "idempotency"];
/** In this time a command that hangs has said its first line, on a machine that is very busy too. */
const LONG_ENOUGH = ["--command-timeout", "10s"];
const AMOUNT = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

const LIGHT_FETCH = join(import.meta.dirname, "../support/light-fetch.cjs");

/** What every client script begins with: one try of a create, as a shop's developer would write it. */
const CLIENT = `
  import { randomUUID } from "node:crypto";
  import { fetch } from ${JSON.stringify(LIGHT_FETCH)};
  const env = process.env;
  const orderId = env.CHECKOUT_ORDER_ID;
  const post = (headers, body = {}) => fetch(env.CHECKOUT_BASE_URL + "/orders", {
    method: "POST",
    headers: {
      Authorization: "Bearer " + env.CHECKOUT_API_KEY,
      "Content-Type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ order_id: orderId, ...${JSON.stringify(AMOUNT)}, ...body }),
  });
  const keyed = (key, body) => post({ "Idempotency-Key": key }, body);
  /** Up to four attempts, until one is answered; it waits as long as it is told to. */
  async function retrying(attempt) {
    for (let number = 1; ; number += 1) {
      try {
        const answer = await attempt(number);
        if (answer.status !== 429 && answer.status < 500) return answer;
        await new Promise((resolve) => setTimeout(resolve, 1000 * Number(answer.headers.get("retry-after"))));
      } catch (error) {
        if (number === 4) throw error;
      }
    }
  }
`;

type Laboratory = {
  readonly options: RunOptions;
  readonly sandbox: Pick<SandboxHere, "ready"> & Pick<SandboxProcess, "stop">;
  readonly commandOf: (script: string) => string;
  readonly drill: (
    command: string,
    args?: readonly string[],
  ) => Promise<Judged & { readonly code: number | null }>;
};

/** A sandbox and clients that are drilled against it; sandbox and drill are of this process, or of the real binary. */
async function laboratory({
  start = startSandboxHere,
  type = runHere,
}: {
  readonly start?: (options: RunOptions) => Promise<Laboratory["sandbox"]>;
  readonly type?: typeof runHere;
} = {}): Promise<Laboratory> {
  const options = { cwd: tempFolder() };
  const sandbox = await start(options);
  let scripts = 0;
  return {
    options,
    sandbox,
    commandOf: (script) => {
      const path = join(options.cwd, `client-${(scripts += 1)}.mjs`);
      writeFileSync(path, `${CLIENT}\n${script}`);
      return `"${process.execPath}" "${path}"`;
    },
    drill: async (command, args = []) => {
      const inFolder = `cd "${options.cwd}" && ${command}`;
      const ended = await type([...DRILL, "--client-command", inFolder, "--json", ...args], options);
      expect([command, ended.stderr]).toEqual([command, ""]);
      return { ...(JSON.parse(ended.stdout) as Judged), code: ended.code };
    },
  };
}

/** The steps that failed, each with the beginning of its cause. */
function faults({ steps }: Pick<Judged, "steps">): Record<string, string> {
  return Object.fromEntries(
    steps.filter(({ passed }) => !passed).map(({ name, cause }) => [name, cause?.slice(0, 24) ?? ""]),
  );
}

function usesOf(folder: string): Use[] {
  const database = new Database(join(folder, ".checkout/sandbox.db"), { readonly: true });
  const rows = database.prepare("SELECT key, kind, request_id, at FROM idempotency_uses ORDER BY position");
  const uses = rows.all() as Use[];
  database.close();
  return uses;
}

const STEPS = [
  "answer_lost",
  "tried_again",
  "same_key",
  "one_order",
  "client_ended",
  "own_key",
  "same_key_again",
  "one_order_again",
  "restarted_ended",
  "same_key_busy",
  "one_order_busy",
  "busy_ended",
  "alike_keys",
  "other_body_refused",
];

test("a client that keeps one key for each purchase passes; a row of the log is there with its answer, and survives kill -9", async () => {
  const { options, sandbox, commandOf, drill } = await laboratory({ start: startSandbox, type: run });
  const stored = `
    import { existsSync, readFileSync, writeFileSync } from "node:fs";
    const file = orderId + ".key";
    if (!existsSync(file)) writeFileSync(file, randomUUID());
    const answer = await retrying(() => keyed(readFileSync(file, "utf8")));
    process.exitCode = answer.status === 201 ? 0 : 1;
  `;
  const { code, verdict, steps, creates, client } = await drill(commandOf(stored));
  expect([faults({ steps }), verdict, code, client.ending]).toEqual([{}, "passed", 0, "exited"]);
  expect(steps.map(({ name }) => name)).toEqual(STEPS);
  expect(creates.map((one) => [one.run, one.result, one.loss])).toEqual([
    ["first", "created", "reset"],
    ["first", "replayed", "silence"],
    ["first", "replayed", null],
    ["killed", "created", "kill"],
    ["between", "created", "unavailable"],
    ["between", "replayed", "rate_limited"],
    ["between", "replayed", null],
    ["restarted", "replayed", null],
    ["alike", "created", null],
    ["alike", "created", null],
  ]);
  const checkouts = Map.groupBy(creates, (one) => one.checkout_id);
  expect(checkouts.size).toBe(5);
  for (const same of checkouts.values()) expect(new Set(same.map((one) => one.idempotency_key)).size).toBe(1);
  for (const one of creates) expect(one.order_id).toMatch(/^[Oo]rder-\d{10,11}$/);
  // The log says so under the very requests that were answered again; the drill's own request is not in it.
  const replayed = creates.filter((one) => one.result === "replayed");
  expect(usesOf(options.cwd)).toMatchObject(
    replayed.map((one) => ({ kind: "replayed", key: one.idempotency_key, request_id: one.request_id })),
  );
  expect(steps.at(-1)?.reference).toMatch(/^[0-9a-f-]{36}$/);
  const shown = usesOf(options.cwd);
  const create = async ({ ready }: Pick<SandboxHere, "ready">, amountMinor: number): Promise<number> => {
    const { status } = await fetch(`${ready.base_url}/orders`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${ready.api_key}`,
        "Content-Type": "application/json",
        "Idempotency-Key": "key-number-1",
      },
      body: JSON.stringify({ order_id: "order-1", ...AMOUNT, amount_minor: amountMinor }),
    });
    return status;
  };
  // Another process sees the row of a use when its answer is there.
  const kinds = () => usesOf(options.cwd).map(({ kind }) => kind);
  const before = kinds();
  expect([await create(sandbox, 1999), kinds()]).toEqual([201, before]);
  expect([await create(sandbox, 1999), kinds()]).toEqual([201, [...before, "replayed"]]);
  expect([await create(sandbox, 1), kinds()]).toEqual([409, [...before, "replayed", "refused"]]);
  await sandbox.stop("SIGKILL");
  expect([usesOf(options.cwd).slice(0, -2), kinds()]).toEqual([shown, [...before, "replayed", "refused"]]);
  const restarted = await startSandboxHere(options);
  expect([await create(restarted, 1999), kinds().at(-1), kinds().length]).toEqual([
    201,
    "replayed",
    before.length + 3,
  ]);
  const told = await runHere([...DRILL, "--json"], options);
  expect([told.code, JSON.parse(told.stdout)]).toMatchObject([0, { status: "pass" }]);
});

test("a command that the shell does not know, or that sends nothing, shows nothing", async () => {
  const { drill } = await laboratory();
  for (const [command, cause] of [
    ["exit 0", "sends its creates elsewh"],
    ["no-such-command-anywhere", "the shell does not know "],
  ] as const) {
    const { code, verdict, drill_id: id, steps, creates } = await drill(command);
    expect([faults({ steps }), verdict, id, code]).toEqual([{ answer_lost: cause }, "unknown", null, 3]);
    expect(creates).toEqual([]);
  }
});

test("the API key is in the command's environment alone, and the control API's tokens are not", async () => {
  const { options, sandbox, commandOf, drill } = await laboratory();
  const seen = join(options.cwd, "seen.json");
  const look = `
    import { execFileSync } from "node:child_process";
    import { writeFileSync } from "node:fs";
    const processes = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
    const names = Object.keys(env).filter((name) => name.startsWith("CHECKOUT_"));
    const { CHECKOUT_API_KEY: key } = env;
    writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ processes, names, key }));
    console.log("my key is " + env.CHECKOUT_API_KEY);
    console.error("my key is " + env.CHECKOUT_API_KEY);
  `;
  const command = commandOf(look);
  const tokens = {
    CHECKOUT_CONTROL_TOKEN: "admin-0123456789abcdef",
    CHECKOUT_ADMIN_TOKEN: "administrator-0123456789",
    CHECKOUT_SANDBOX_CONTROL_TOKEN: "control-0123456789abcdef",
    CHECKOUT_SANDBOX_CONTROL_TOKEN_FILE: "/of/the/control/token",
    CHECKOUT_SANDBOX_ADMIN_TOKEN: "administrator-9876543210",
    CHECKOUT_SANDBOX_ADMIN_TOKEN_FILE: "/of/the/admin/token",
  };
  const { code, stdout, stderr } = await run([...DRILL, "--client-command", command], {
    ...options,
    env: tokens,
  });
  const credentials = parseCredentials(readFileSync(join(options.cwd, ".checkout/credentials.json"), "utf8"));
  const apiKey = Object.values(credentials?.stores ?? {})[0]?.api_key ?? "";
  const { processes, names, key } = JSON.parse(readFileSync(seen, "utf8")) as {
    readonly processes: string;
    readonly names: readonly string[];
    readonly key: string;
  };
  expect(processes).toContain("client-1.mjs");
  // It is the drill's own, and of no use afterwards.
  expect(key).not.toBe(apiKey);
  const { status } = await fetch(`${sandbox.ready.base_url}/checkout-sessions/x`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(status).toBe(401);
  for (const secret of [apiKey, key]) expect(processes).not.toContain(secret);
  expect(names.toSorted()).toEqual([
    "CHECKOUT_API_KEY",
    "CHECKOUT_BASE_URL",
    "CHECKOUT_ORDER_ID",
    "CHECKOUT_STORE_ID",
  ]);
  expect([code, stderr]).toEqual([3, expect.stringContaining("my key is svc_test_…")]);
  const shown = stdout + stderr + JSON.stringify(await drill(command));
  const kept = readFileSync(join(options.cwd, ".checkout/sandbox.db"), "latin1");
  for (const secret of [apiKey, key]) expect(shown + kept).not.toContain(secret);
});

test("a command is killed with what it started, when its time is up and when it ends", async () => {
  const [one, other] = await Promise.all([laboratory(), laboratory()]);
  const child = (then: string) => `
    import { spawn } from "node:child_process";
    const started = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "inherit" });
    console.log(started.pid);
    ${then}
  `;
  const isAlive = (pid: string): boolean => {
    try {
      return !execFileSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).startsWith("Z");
    } catch {
      // There is no such process.
      return false;
    }
  };
  const [stays, leaves] = await Promise.all([
    one.drill(one.commandOf(child("")), LONG_ENOUGH),
    other.drill(other.commandOf(child("process.exit(0);"))),
  ]);
  expect([stays.client.ending, leaves.client.ending]).toEqual(["timeout", "exited"]);
  for (const { client } of [stays, leaves]) {
    expect(client.stdout).toMatch(/^\d+\n$/);
    await eventually("it is gone", () => expect(isAlive(client.stdout.trim())).toBe(false));
  }
});

test("of what a command says the end is kept, and its files are as its user wants them", async () => {
  const { options, commandOf, drill } = await laboratory({ type: run });
  const script = `
    import { writeFileSync } from "node:fs";
    writeFileSync("made-by-the-client", "");
    process.stdout.write("x".repeat(100_000) + "end");
  `;
  const { client } = await drill(commandOf(script));
  expect(client.stdout).toBe(`${"x".repeat(4093)}end`);
  const made = statSync(join(options.cwd, "made-by-the-client"));
  expect(made.mode & 0o777).toBe(0o666 & ~process.umask());
});

/** Writes a second store beside the running sandbox: nothing that it serves can make one. Returns its API key. */
function addStore(harness: Harness): string {
  const apiKey = formatTestKey(new Uint8Array(20).fill(7));
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  database.exec(`
    INSERT INTO stores (id, merchant_id, name, active, created_at)
      SELECT 'other', merchant_id, 'Other', 1, created_at + 1 FROM stores;
    INSERT INTO capabilities (store_id, kind, name, active)
      SELECT 'other', kind, name, active FROM capabilities;
    INSERT INTO credentials (id, store_id, key_hash, last_four, scopes, created_at)
      SELECT 'other', 'other', '${hashKey(apiKey)}', 'last', scopes, created_at FROM credentials`);
  database.close();
  return apiKey;
}

type Client = (env: Readonly<Record<string, string | undefined>>) => Promise<Partial<ShellResult>>;

/** Runs the drill in the harness with a function in the command's place, which is left behind when it is killed. */
async function drillWith(harness: Harness, client: Client): Promise<Judged & { readonly code: number }> {
  harness.setShell(async ({ env, signal }) => {
    const killed = new Promise<Partial<ShellResult>>((resolve) =>
      signal?.addEventListener("abort", () => resolve({ ending: "aborted", exitCode: null })),
    );
    const result = await Promise.race([client(env), killed]);
    return { ending: "exited", exitCode: 0, stdout: "", stderr: "", ...result };
  });
  const ended = await harness.run([...DRILL, "--client-command", "client", "--json"]);
  return { ...(JSON.parse(ended.stdout) as Judged), code: ended.code };
}

test("a client that creates nothing with its key shows nothing, and takes no evidence away", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const evidence = async () => {
    const { code, stdout } = await harness.run([...DRILL, "--json"]);
    const { status, reason } = JSON.parse(stdout) as { readonly status: string; readonly reason: string };
    return [code, status, reason];
  };
  expect(await evidence()).toEqual([3, "unknown", "the idempotency drill was not run"]);
  installClient(harness, rightClient);
  const passed = await harness.run([...DRILL, "--client-command", "client", "--json"]);
  expect([passed.code, passed.stdout]).toEqual([0, expect.stringContaining('"verdict":"passed"')]);
  const create = ["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee"];
  expect((await harness.run(create)).code).toBe(0);
  const creating =
    (change: object, apiKey?: string): Client =>
    async ({ CHECKOUT_ORDER_ID: orderId, CHECKOUT_API_KEY: own = "" }) => {
      await sandbox.request({
        path: "/v1/orders",
        headers: {
          Authorization: `Bearer ${apiKey ?? own}`,
          "Idempotency-Key": `key-of-${orderId}`,
          "User-Agent": "shop/1",
        },
        body: JSON.stringify({ order_id: orderId, ...AMOUNT, ...change }),
      });
      return {};
    };
  const rows: readonly (readonly [Client, result: string, cause: string])[] = [
    [creating({}, "x"), "credential_invalid", "sends an API key other t"],
    [creating({ currency: "EURO" }), "invalid_parameter", "sends a create that the "],
    [creating({ order_id: "order-1" }), "order_conflict", "creates an order that al"],
  ];
  for (const [client, result, cause] of rows) {
    const { code, verdict, drill_id: id, steps, creates } = await drillWith(harness, client);
    expect([faults({ steps }), verdict, id, code]).toEqual([{ answer_lost: cause }, "unknown", null, 3]);
    expect(creates.at(-1)?.result).toBe(result);
  }
  expect(await evidence()).toEqual([0, "pass", "the drill passed: it showed that a retry repeats its key"]);
  expect((await harness.run(DRILL)).stdout).toMatch(
    /\n {2}No command was run; --client-command CMD runs your client/,
  );

  // This program's own command repeats its key, which shows nothing of a client of the merchant's.
  const own = await drillWith(harness, async (env) => {
    const given = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const { code } = await harness.run(create, { env: Object.fromEntries(given) });
    return { exitCode: code };
  });
  expect([own.code, own.verdict, own.drill_id, faults(own)]).toEqual([
    3,
    "unknown",
    null,
    { answer_lost: "runs this program's own " },
  ]);
  await sandbox.stop();
  const gone = await harness.run([...DRILL, "--client-command", "exit 0"]);
  expect([gone.code, gone.stderr]).toEqual([7, expect.stringContaining("no sandbox is running here")]);
});

test("people see the steps, what came in, and what the command said last", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  harness.setShell(async ({ env }) => {
    await sandbox.request({
      path: "/v1/orders",
      headers: {
        Authorization: `Bearer ${env["CHECKOUT_API_KEY"]}`,
        "Idempotency-Key": "key-of-mine-1",
        "User-Agent": "shop/1",
      },
      body: JSON.stringify({ order_id: env["CHECKOUT_ORDER_ID"], ...AMOUNT }),
    });
    return { ending: "exited", exitCode: 0, stdout: "", stderr: "giving\u001b[31m up\n" };
  });
  const { code, stdout, stderr } = await harness.run([...DRILL, "--client-command", "client"]);
  expect(code).toBe(1);
  expect(stderr).toContain("  | giving\\u{1b}[31m up\n");
  expect(stdout).toContain("✗ your client handled a purchase wrongly\n");
  expect(stdout).toContain("  3 of 6 steps passed; --all shows them\n");
  expect(stdout).toContain("  ✗ another attempt");
  expect(stdout).toMatch(/order-\d{10} +key-of-mine-1 +created, answer dropped +[0-9a-f]{8}\n/);
});

test("a client that does not end in its time is told so", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const judged = await drillWith(
    harness,
    async ({ CHECKOUT_ORDER_ID: orderId, CHECKOUT_API_KEY: apiKey }) => {
      await sandbox.request({
        path: "/v1/orders",
        headers: { Authorization: `Bearer ${apiKey}`, "Idempotency-Key": `purchase-of-${orderId}` },
        body: JSON.stringify({ order_id: orderId, ...AMOUNT }),
      });
      return { ending: "timeout", exitCode: null };
    },
  );
  expect([faults(judged), judged.verdict]).toEqual([
    {
      tried_again: "made no other attempt be",
      client_ended: "does not end",
      restarted_ended: "does not end after its o",
      same_key_busy: "takes a 503 for a refusa",
      busy_ended: "does not end",
    },
    "failed",
  ]);
  expect(judged.client).toMatchObject({ ending: "timeout", exit_code: null });
});

test("what each create was answered is told", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  const { client } = BROKEN_CLIENTS.find(({ name }) => name === "a random key in memory") ?? {};
  if (client === undefined) throw new Error("there is no such client");
  installClient(harness, client);
  const { stdout } = await harness.run([...DRILL, "--client-command", "client", "--json"]);
  const { creates } = JSON.parse(stdout) as Judged;
  expect(creates.map(({ run: during, result }) => [during, result])).toEqual([
    ["first", "created"],
    ["first", "replayed"],
    ["first", "replayed"],
    ["killed", "created"],
    ["between", "created"],
    ["between", "replayed"],
    ["between", "replayed"],
    ["restarted", "order_conflict"],
    ["alike", "created"],
    ["alike", "created"],
  ]);
});

test("of a busy store only what comes with the drill's key is watched, and loses its answer", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const create = (orderId: string, { key = `key-of-${orderId}`, apiKey = "", agent = "shop/1" } = {}) =>
    sandbox.request({
      path: "/v1/orders",
      headers: {
        "Idempotency-Key": key,
        "User-Agent": agent,
        ...(apiKey === "" ? {} : { Authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({ order_id: orderId, ...AMOUNT }),
    });
  const otherKey = addStore(harness);
  let others = 0;
  /** Others create in the same store, in another one, and by this program's own commands, all the time. */
  const othersCreate = async () => {
    others += 1;
    const answers = await Promise.all([
      create(`other-${others}`),
      create(`other-store-${others}`, { apiKey: otherKey }),
      create(`by-command-${others}`, { agent: "checkout-cli" }),
    ]);
    expect(answers.map(({ status, dropped }) => [status, dropped])).toEqual([
      [201, undefined],
      [201, undefined],
      [201, undefined],
    ]);
  };
  let runs = 0;
  const judged = await drillWith(harness, async (env) => {
    runs += 1;
    const own = runs;
    const { CHECKOUT_ORDER_ID: orderId = "", CHECKOUT_API_KEY: apiKey = "" } = env;
    await othersCreate();
    if (own === 1) expect((await create(orderId, { apiKey, key: "short" })).dropped).toBeUndefined();
    const made = await create(orderId, { apiKey });
    await othersCreate();
    if (own === 1) expect(made.dropped).toBe(true);
    // The second run is killed here.
    if (own === 2 || (made.status === 201 && made.dropped !== true)) return {};
    expect((await create(orderId, { apiKey })).dropped).toBe(own === 1 ? true : undefined);
    await harness.clock.sleep(1000);
    expect((await create(orderId, { apiKey })).dropped).toBeUndefined();
    return {};
  });
  expect([faults(judged), runs]).toEqual([{}, 6]);
  expect(judged.creates.map((one) => `${one.run} ${one.result} ${one.loss}`)).toEqual([
    "first idempotency_key_invalid null",
    "first created reset",
    "first replayed silence",
    "first replayed null",
    "killed created kill",
    "between created unavailable",
    "between replayed rate_limited",
    "between replayed null",
    "restarted replayed null",
    "alike created null",
    "alike created null",
  ]);
  expect((await create("after-the-drill")).dropped).toBeUndefined();
});

test("a client that used another key is told which; our own commands are no client of the merchant's", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const { api_key: storeKey } = sandbox.ready;
  const client = (apiKeyOf: (own: string) => string, agent: string) => {
    return async ({ CHECKOUT_ORDER_ID: orderId = "", CHECKOUT_API_KEY: own = "" }: Parameters<Client>[0]) => {
      const { dropped } = await sandbox.request({
        path: "/v1/orders",
        headers: {
          Authorization: `Bearer ${apiKeyOf(own)}`,
          "Idempotency-Key": `key-of-${orderId}`,
          "User-Agent": agent,
        },
        body: JSON.stringify({ order_id: orderId, ...AMOUNT }),
      });
      expect(dropped).toBeUndefined();
      return { stdout: own };
    };
  };
  const withStoreKey = await drillWith(
    harness,
    client(() => String(storeKey), "shop/1"),
  );
  const [step] = withStoreKey.steps;
  expect([withStoreKey.verdict, step?.cause?.replace(/drill's is ….{4}/, "drill's is …")]).toEqual([
    "unknown",
    `used key …${String(storeKey).slice(-4)}, the drill's is …: take the API key from CHECKOUT_API_KEY, not from your own file`,
  ]);
  const byCommand = await drillWith(
    harness,
    client((own) => own, "checkout-cli"),
  );
  expect([byCommand.verdict, byCommand.steps[0]?.cause]).toEqual([
    "unknown",
    "runs this program's own command, which proves nothing about your client",
  ]);
  // Neither is in the log as a client that repeats its key.
  expect(usesOf(harness.cwd)).toEqual([]);
});

test("a drill that was interrupted, replaced or forgotten keeps nothing", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const latest = async () =>
    JSON.parse((await harness.run([...DRILL, "--json"])).stdout) as { readonly evidence: readonly unknown[] };
  harness.setShell(() => Promise.resolve({ ending: "aborted", exitCode: null, stdout: "", stderr: "" }));
  const interrupted = await harness.run([...DRILL, "--client-command", "client", "--json"]);
  expect([interrupted.code, JSON.parse(interrupted.stderr)]).toMatchObject([
    130,
    { error: { code: "interrupted" } },
  ]);
  const key = { "Idempotency-Key": "key-number-1" };
  const body = JSON.stringify({ order_id: "order-1", ...AMOUNT });
  expect((await sandbox.request({ path: "/v1/orders", headers: key, body })).dropped).toBeUndefined();

  harness.setShell(async () => {
    // A second drill while the first one's client runs.
    harness.setShell(() => Promise.resolve({ ending: "exited", exitCode: 0, stdout: "", stderr: "" }));
    await harness.run([...DRILL, "--client-command", "other", "--json"]);
    return { ending: "exited", exitCode: 0, stdout: "", stderr: "" };
  });
  const replaced = await harness.run([...DRILL, "--client-command", "client", "--json"]);
  expect([replaced.code, JSON.parse(replaced.stderr)]).toMatchObject([1, { error: { code: "not_found" } }]);
  expect((await latest()).evidence).toEqual([]);
  expect(harness.commands.map(({ commandLine }) => commandLine)).toEqual(["client", "client", "other"]);
});

test("the log has a row for each key that was used again, under that very request, and no other", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const create = async (key: string, body: object, path = "/v1/orders") => {
    const sent = { "Idempotency-Key": key };
    const { status, headers } = await sandbox.request({ path, headers: sent, body: JSON.stringify(body) });
    return { status, requestId: headers["X-Request-Id"] ?? "" };
  };
  const order = { order_id: "order-1", ...AMOUNT };
  const first = await create("key-number-1", order);
  await create("key-number-2", { ...order, order_id: "order-2" });
  await create("key-number-3", order);
  expect(usesOf(harness.cwd)).toEqual([]);

  await harness.run(["sandbox", "clock", "set", "2026-02-01T00:00:00Z"]);
  const replay = await create("key-number-1", order);
  const otherBody = await create("key-number-1", { ...order, amount_minor: 1 });
  const otherPath = await create("key-number-1", order, "/v1/checkout-sessions");
  expect([replay.status, otherBody.status, otherPath.status]).toEqual([201, 409, 409]);
  const [replayed, ...refused] = usesOf(harness.cwd);
  // The answer carries the first request's id; the log this one's.
  expect(replay.requestId).toBe(first.requestId);
  expect(replayed).toMatchObject({ key: "key-number-1", kind: "replayed" });
  expect(replayed?.request_id).not.toBe(first.requestId);
  expect(refused).toMatchObject([
    { kind: "refused", request_id: otherBody.requestId },
    { kind: "refused", request_id: otherPath.requestId },
  ]);
  for (const { at } of usesOf(harness.cwd)) {
    expect(new Date(at).toISOString().slice(0, 16)).toBe("2026-02-01T00:00");
  }

  // A create of the same batch that fails has the whole batch run twice.
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  database.exec(`CREATE TRIGGER broken BEFORE INSERT ON checkouts WHEN NEW.order_id = 'order-broken'
    BEGIN SELECT RAISE(ABORT, 'broken'); END`);
  database.close();
  const together = await Promise.all([
    create("key-number-1", order),
    create("key-number-9", { ...order, order_id: "order-broken" }),
    create("key-number-1", { ...order, amount_minor: 2 }),
  ]);
  expect(together.map(({ status }) => status)).toEqual([201, 500, 409]);
  expect(usesOf(harness.cwd).map(({ kind }) => kind)).toEqual([
    "replayed",
    "refused",
    "refused",
    "replayed",
    "refused",
  ]);
});

test("the other body means something else, and is a create that could be", () => {
  const order = { order_id: "o", ...AMOUNT } as const;
  const check = (request: Parameters<typeof createOtherRequest>[0], expected: object): void =>
    expect(createOtherRequest(request)).toEqual({ ...request, ...expected });
  check({ ...order, payment_method: "alipay_plus", amount_minor: 1 }, { amount_minor: 2 });
  check(
    { ...order, payment_method: "alipay_plus", amount_minor: Number.MAX_SAFE_INTEGER },
    { amount_minor: Number.MAX_SAFE_INTEGER - 1 },
  );
  const description = "another body under the same key";
  check({ order_id: "o", price_id: "price_coffee" }, { description });
  check({ order_id: "o", price_id: "price_coffee", description }, { description: "" });
});
