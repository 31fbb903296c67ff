import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { formatTestKey, hashKey } from "../src/core/credential.ts";
import type { DrillStep } from "../src/core/readiness/drills/drill.ts";
import {
  judgeIdempotencyDrill,
  otherRequest,
  type SeenCreate,
} from "../src/core/readiness/drills/idempotency.ts";
import type { ShellResult } from "../src/world.ts";
import { eventually } from "./support/eventually.ts";
import { createHarness, type Harness } from "./support/harness.ts";
import { PROGRAM, run, startSandbox, type RunOptions, type SandboxProcess } from "./support/program.ts";
import { tempFolder } from "./support/temp-folder.ts";

type Judged = {
  readonly verdict: "passed" | "failed" | "unknown";
  readonly drill_id: string | null;
  readonly steps: readonly DrillStep[];
  readonly creates: readonly {
    readonly order_id: string | null;
    readonly idempotency_key: string | null;
    readonly result: string;
    readonly checkout_id: string | null;
    readonly request_id: string;
    readonly lost: boolean;
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
/** In this time a command that hangs has done what it does before, on a busy machine too. */
const LONG_ENOUGH = ["--command-timeout", "8s"];
const AMOUNT = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

/** What every client script begins with: one try of a create, as a shop's developer would write it. */
const CLIENT = `
  import { randomUUID } from "node:crypto";
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
  /** Up to three tries, until one is answered. */
  async function retrying(attempt) {
    for (let number = 1; ; number += 1) {
      try {
        return await attempt(number);
      } catch (error) {
        if (number === 3) throw error;
      }
    }
  }
`;

const RIGHT = `
  const key = randomUUID();
  const answer = await retrying(() => keyed(key));
  process.exitCode = answer.status === 201 ? 0 : 1;
`;

/** A sandbox of the real binary, and clients that are drilled against it. */
async function laboratory(): Promise<{
  readonly options: RunOptions;
  readonly sandbox: SandboxProcess;
  readonly commandOf: (script: string) => string;
  readonly drill: (
    command: string,
    args?: readonly string[],
  ) => Promise<Judged & { readonly code: number | null }>;
}> {
  const options = { cwd: tempFolder() };
  const sandbox = await startSandbox(options);
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
      const ended = await run([...DRILL, "--client-command", command, "--json", ...args], options);
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

test("clients that repeat their key pass: our own, and one by hand; what was shown survives kill -9", async () => {
  const { options, sandbox, commandOf, drill } = await laboratory();
  const own = `"${process.execPath}" "${PROGRAM}" orders create --price-id price_coffee`;
  for (const command of [own, commandOf(RIGHT)]) {
    const { code, verdict, steps, creates, client } = await drill(command);
    expect([faults({ steps }), verdict, code, client.ending]).toEqual([{}, "passed", 0, "exited"]);
    expect(steps.map(({ name }) => name)).toEqual([
      "answer_lost",
      "tried_again",
      "same_key",
      "one_order",
      "client_ended",
      "other_body_refused",
    ]);
    const [first, second] = creates;
    expect(creates.map(({ result, lost }) => [result, lost])).toEqual([
      ["created", true],
      ["replayed", false],
    ]);
    expect(second).toMatchObject({
      idempotency_key: first?.idempotency_key,
      checkout_id: first?.checkout_id,
      order_id: expect.stringMatching(/^drill-[0-9a-f]{12}$/) as string,
    });
    // The service's log says so under the very request that was answered again, and under the drill's own.
    const [replayed, refused] = usesOf(options.cwd).slice(-2);
    expect(replayed).toMatchObject({ kind: "replayed", request_id: second?.request_id });
    expect(refused).toMatchObject({ kind: "refused", request_id: steps.at(-1)?.reference });
    expect([replayed?.key, refused?.key]).toEqual([first?.idempotency_key, first?.idempotency_key]);
  }
  const uses = usesOf(options.cwd);
  expect(uses).toHaveLength(4);

  await sandbox.stop("SIGKILL");
  await startSandbox(options);
  expect(usesOf(options.cwd)).toEqual(uses);
  const shown = await run([...DRILL, "--json"], options);
  expect([shown.code, JSON.parse(shown.stdout)]).toMatchObject([0, { status: "pass" }]);
});

test("clients that do not are told what they do", async () => {
  const [one, other] = await Promise.all([laboratory(), laboratory()]);
  const check = async (
    script: string,
    expected: Readonly<Record<string, string>>,
    { commandOf, drill } = one,
    args: readonly string[] = [],
  ): Promise<Judged> => {
    const judged = await drill(commandOf(script), args);
    expect([script, faults(judged), judged.verdict, judged.code]).toEqual([script, expected, "failed", 1]);
    expect(judged.drill_id).not.toBeNull();
    return judged;
  };
  const never = "takes a lost connection ";
  const failure = "reports a failure althou";
  // It takes as long as it may, while the others are drilled.
  const hanging = check(
    "await keyed(randomUUID()).catch(() => undefined); setInterval(() => undefined, 1000);",
    { tried_again: "had not tried again befo", client_ended: "does not end" },
    other,
    LONG_ENOUGH,
  );
  // What fails is told where it is waited for.
  hanging.catch(() => undefined);

  const newKey = await check("await retrying(() => keyed(randomUUID()));", {
    same_key: "makes a new key for each",
  });
  expect(newKey.creates.map(({ result }) => result)).toEqual(["created", "order_conflict"]);
  await check("await post({});", { answer_lost: "sends no Idempotency-Key" });
  await check("await retrying((number) => (number === 1 ? keyed(randomUUID()) : post({})));", {
    same_key: "sends no Idempotency-Key",
  });
  await check("await keyed(randomUUID());", { tried_again: never, client_ended: failure });
  // It looks well from outside, and the order is not in the shop's books.
  await check("await keyed(randomUUID()).catch(() => undefined);", { tried_again: never });
  await check(`${RIGHT} await keyed(randomUUID(), { order_id: orderId + "-2" });`, {
    one_order: "makes more than one purc",
  });
  await check("await retrying((number) => keyed(randomUUID(), { order_id: orderId + number }));", {
    same_key: "makes a new key and a ne",
    one_order: "makes more than one purc",
  });
  await check(
    "const key = randomUUID(); await retrying((number) => keyed(key, { description: 'try ' + number }));",
    { same_key: "sends another body with " },
  );
  await check(`${RIGHT} process.exitCode = 3;`, { client_ended: failure });
  expect((await hanging).client).toMatchObject({ ending: "timeout", exit_code: null });
});

test("a command that creates nothing shows nothing, and takes no evidence away", async () => {
  const { options, sandbox, commandOf, drill } = await laboratory();
  const evidence = async () => {
    const { code, stdout } = await run([...DRILL, "--json"], options);
    const { status, reason } = JSON.parse(stdout) as { readonly status: string; readonly reason: string };
    return [code, status, reason];
  };
  expect(await evidence()).toEqual([
    3,
    "unknown",
    "no create was repeated with its key yet, and no drill was run",
  ]);
  expect((await drill(commandOf(RIGHT))).verdict).toBe("passed");
  const check = async (command: string, result: string | undefined, cause: string): Promise<void> => {
    const { code, verdict, drill_id: id, steps, creates } = await drill(command);
    expect([faults({ steps }), verdict, id, code]).toEqual([{ answer_lost: cause }, "unknown", null, 3]);
    expect(creates.at(-1)?.result).toBe(result);
  };
  await check("exit 0", undefined, "sends its creates elsewh");
  await check("no-such-command-anywhere", undefined, "the shell does not know ");
  await check(
    commandOf("env.CHECKOUT_API_KEY = 'x'; await keyed(randomUUID());"),
    "credential_invalid",
    "sends another API key th",
  );
  await check(
    commandOf("await keyed(randomUUID(), { currency: 'EURO' });"),
    "invalid_parameter",
    "sends a create that the ",
  );
  const create = ["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee"];
  expect((await run(create, options)).code).toBe(0);
  await check(
    commandOf("await keyed(randomUUID(), { order_id: 'order-1' });"),
    "order_conflict",
    "creates an order that wa",
  );
  expect(await evidence()).toEqual([0, "pass", "the drill passed: a retry repeats its key"]);

  // A create that was there before loses its answer as well, so the same command can be drilled twice.
  const again = await drill(`"${process.execPath}" "${PROGRAM}" ${create.join(" ")}`);
  expect([again.verdict, again.creates.map(({ result }) => result)]).toEqual([
    "passed",
    ["replayed", "replayed"],
  ]);
  await sandbox.stop("SIGTERM");
  const gone = await run([...DRILL, "--client-command", "exit 0"], options);
  expect([gone.code, gone.stderr]).toEqual([7, expect.stringContaining("no sandbox is running here")]);
});

test("the API key is in the command's environment alone, and the control API's tokens are not", async () => {
  const { options, commandOf, drill } = await laboratory();
  const seen = join(options.cwd, "seen.json");
  const look = `
    import { execFileSync } from "node:child_process";
    import { writeFileSync } from "node:fs";
    const processes = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
    const names = Object.keys(env).filter((name) => name.startsWith("CHECKOUT_"));
    writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ processes, names }));
    console.log("my key is " + env.CHECKOUT_API_KEY);
    console.error("my key is " + env.CHECKOUT_API_KEY);
  `;
  const command = commandOf(look);
  const tokens = {
    CHECKOUT_CONTROL_TOKEN: "admin-0123456789abcdef",
    CHECKOUT_ADMIN_TOKEN: "administrator-0123456789",
  };
  const { code, stdout, stderr } = await run([...DRILL, "--client-command", command], {
    ...options,
    env: tokens,
  });
  const apiKey = (
    JSON.parse(readFileSync(join(options.cwd, ".checkout/credentials.json"), "utf8")) as { api_key: string }
  ).api_key;
  const { processes, names } = JSON.parse(readFileSync(seen, "utf8")) as {
    readonly processes: string;
    readonly names: readonly string[];
  };
  expect(processes).toContain("client-1.mjs");
  expect(processes).not.toContain(apiKey);
  expect(names.toSorted()).toEqual([
    "CHECKOUT_API_KEY",
    "CHECKOUT_BASE_URL",
    "CHECKOUT_ORDER_ID",
    "CHECKOUT_STORE_ID",
  ]);
  expect([code, stderr]).toEqual([3, expect.stringContaining("my key is …")]);
  expect(stdout + stderr + JSON.stringify(await drill(command))).not.toContain(apiKey);
  expect(readFileSync(join(options.cwd, ".checkout/sandbox.db"), "latin1")).not.toContain(apiKey);
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
  const { options, commandOf, drill } = await laboratory();
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

test("a row of the log is on disk when its answer is there", async () => {
  const options = { cwd: tempFolder() };
  const expected: string[] = [];
  for (let cycle = 0; cycle < 4; cycle += 1) {
    const sandbox = await startSandbox(options);
    const send = async (amountMinor: number): Promise<number> => {
      const { status } = await fetch(`${sandbox.ready.base_url}/orders`, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${sandbox.ready.api_key}`,
          "Content-Type": "application/json",
          "Idempotency-Key": "key-number-1",
        },
        body: JSON.stringify({ order_id: "order-1", ...AMOUNT, amount_minor: amountMinor }),
      });
      return status;
    };
    expect(await send(1999)).toBe(201);
    if (cycle > 0) expected.push("replayed");
    if (cycle % 2 === 1) {
      expect(await send(1)).toBe(409);
      expected.push("refused");
    }
    await sandbox.stop("SIGKILL");
    expect(usesOf(options.cwd).map(({ kind }) => kind)).toEqual(expected);
  }
});

test("people see the steps, what came in, and what the command said last", async () => {
  const { options, commandOf } = await laboratory();
  const script =
    "console.error('giving\\u001b[31m up'); await keyed('key-of-mine-1').catch(() => undefined);";
  const { code, stdout, stderr } = await run([...DRILL, "--client-command", commandOf(script)], options);
  expect(code).toBe(1);
  expect(stderr).toContain("  | giving\\u{1b}[31m up\n");
  expect(stdout).toContain("✗ your client does not handle a lost answer\n");
  expect(stdout).toContain("  ✓ answer lost after the commit");
  expect(stdout).toContain("  ✗ another try");
  expect(stdout).toMatch(/drill-[0-9a-f]{12} +key-of-mine-1 +created, answer dropped +[0-9a-f-]{36}\n$/);
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

/** Runs the drill in the harness with a function in the command's place. */
async function drillWith(harness: Harness, client: () => Promise<Partial<ShellResult>>): Promise<Judged> {
  harness.setShell(async () => {
    const result = await client();
    return { ending: "exited", exitCode: 0, stdout: "", stderr: "", ...result };
  });
  const ended = await harness.run([...DRILL, "--client-command", "client", "--json"]);
  return JSON.parse(ended.stdout) as Judged;
}

test("one answer is dropped, of this store, and none when the drill is over", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  let count = 0;
  const create = (key = `key-number-${(count += 1)}`, orderId = `order-${count}`) =>
    sandbox.request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": key },
      body: JSON.stringify({ order_id: orderId, ...AMOUNT }),
    });
  const otherKey = addStore(harness);
  const judged = await drillWith(harness, async () => {
    // Neither a create that is refused nor one of another store is what the drill waits for.
    expect((await create("short")).dropped).toBeUndefined();
    const other = { Authorization: `Bearer ${otherKey}`, "Idempotency-Key": "key-of-others" };
    const body = JSON.stringify({ order_id: "order-1", ...AMOUNT });
    const { status, dropped } = await sandbox.request({ path: "/v1/orders", headers: other, body });
    expect([status, dropped]).toEqual([201, undefined]);
    const [first, second] = await Promise.all([create(), create()]);
    expect([first.dropped, second.dropped]).toEqual([true, undefined]);
    expect((await create("key-number-1", "order-1")).dropped).toBeUndefined();
    return {};
  });
  expect(judged.creates.map(({ result, lost }) => `${result} ${lost}`)).toEqual([
    "idempotency_key_invalid false",
    "created true",
    "created false",
    "replayed false",
  ]);
  expect(faults(judged)).toEqual({ one_order: "makes more than one purc" });
  expect((await create()).dropped).toBeUndefined();

  // A command line that was killed in between leaves a watch behind: it ends by itself.
  harness.setShell(() => Promise.reject(new Error("killed")));
  await harness.run([...DRILL, "--client-command", "client", "--command-timeout", "1s"]);
  harness.clock.advance(62_000);
  expect((await create()).dropped).toBeUndefined();
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

test("what came in is judged in its order", () => {
  const lost: SeenCreate = {
    requestId: "r0",
    idempotencyKey: "key-1",
    orderId: "o",
    result: "created",
    checkoutId: "c",
    lost: true,
  };
  const judge = (...later: readonly Partial<SeenCreate>[]): string => {
    const seen = [lost];
    for (const create of later) seen.push({ ...lost, lost: false, ...create, requestId: `r${seen.length}` });
    const { steps } = judgeIdempotencyDrill({
      seen,
      made: 1,
      client: { ending: "exited", exitCode: 0 },
      refusedRequestId: "r9",
    });
    const fault = steps.find(({ passed }) => !passed);
    return fault === undefined ? "passed" : `${fault.name} ${fault.reference} ${fault.got}`;
  };
  const right = { result: "replayed" } as const;
  expect(judge(right)).toBe("passed");
  expect(judge(right, right)).toBe("passed");
  // A limiter or a locked database says nothing of keys.
  const limited = { result: "rate_limited" } as const;
  expect(judge(limited, right)).toBe("passed");
  expect(judge({ ...limited, idempotencyKey: null, orderId: null }, right)).toBe("passed");
  expect(judge(limited)).toBe("same_key r1 the same key: rate_limited");
  // The right key in the end does not make another one before it right.
  expect(judge({ idempotencyKey: "key-2", result: "order_conflict" }, right)).toBe(
    'same_key r1 another key, "key-2": order_conflict',
  );
  expect(judge(right, { idempotencyKey: null, result: "idempotency_key_missing" })).toBe(
    "same_key r2 no key: idempotency_key_missing",
  );
  expect(judge({ result: "idempotency_key_reused" }, right)).toBe(
    "same_key r1 the same key: idempotency_key_reused",
  );
  expect(judge({ idempotencyKey: "key-2", orderId: "p", result: "created" })).toBe(
    'same_key r1 another key, "key-2": created',
  );
});

test("the other body means something else, and is a create that could be", () => {
  const order = { order_id: "o", ...AMOUNT } as const;
  const check = (request: Parameters<typeof otherRequest>[0], expected: object): void =>
    expect(otherRequest(request)).toEqual({ ...request, ...expected });
  check({ ...order, payment_method: "alipay_plus", amount_minor: 1 }, { amount_minor: 2 });
  check(
    { ...order, payment_method: "alipay_plus", amount_minor: Number.MAX_SAFE_INTEGER },
    { amount_minor: Number.MAX_SAFE_INTEGER - 1 },
  );
  const description = "another body under the same key";
  check({ order_id: "o", price_id: "price_coffee" }, { description });
  check({ order_id: "o", price_id: "price_coffee", description }, { description: "" });
});
