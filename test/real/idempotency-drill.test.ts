import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { History } from "../../src/core/judge/step.ts";
import { CLIENT_HISTORIES } from "../../src/core/judge/histories/client.ts";
import { parseCredentials } from "../../src/core/state-files.ts";
import { FULL } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness } from "../support/harness.ts";
import {
  run,
  runHere,
  startSandbox,
  startSandboxHere,
  type RunOptions,
  type SandboxHere,
  type SandboxProcess,
} from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import type { ShownStep } from "../../src/core/readiness/drill-shapes.ts";

type DrillReport = {
  readonly verdict: "passed" | "failed" | "unknown";
  readonly drill_id: string | null;
  readonly steps: readonly ShownStep[];
  readonly broken: readonly { readonly history: string; readonly invariant: string }[];
};
type Use = { readonly key: string; readonly kind: string; readonly request_id: string; readonly at: number };

const DRILL = ["checklist", "run", "idempotency"];
/** Long enough for a hanging command to print its first line, even on a very busy machine. */
const LONG_ENOUGH = ["--command-timeout", "10s"];
const AMOUNT = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

const LIGHT_FETCH = join(import.meta.dirname, "../support/light-fetch.cjs");

/** The beginning of every client script: functions that send a create, as a shop's developer would write them. */
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
  /**
   * Repeats an attempt, with the advised waits, until its answer is not 429 or 5xx; throws if the fourth gets no
   * answer.
   */
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
  ) => Promise<DrillReport & { readonly code: number | null }>;
};

/** A sandbox, and drills of clients against it; sandbox and drills run in this process, or as the real program. */
async function openLaboratory({
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
      return { ...(JSON.parse(ended.stdout) as DrillReport), code: ended.code };
    },
  };
}

/** The steps that failed, each with the beginning of its cause. */
function failedSteps({ steps }: Pick<DrillReport, "steps">): Record<string, string> {
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

test("a client with one key for each purchase passes the idempotency drill, and the log of key uses survives kill -9", async () => {
  const { options, sandbox, commandOf, drill } = await openLaboratory({ start: startSandbox, type: run });
  const stored = `
    import { existsSync, readFileSync, writeFileSync } from "node:fs";
    const file = orderId + ".key";
    try { writeFileSync(file, randomUUID(), { flag: "wx" }); } catch {}
    const answer = await retrying(() => keyed(readFileSync(file, "utf8")));
    process.exitCode = answer.status === 201 ? 0 : 1;
  `;
  const { code, verdict, steps } = await drill(commandOf(stored));
  expect([failedSteps({ steps }), verdict, code]).toEqual([{}, "passed", 0]);
  // Without a view of orders or a served shop, the run skips histories that need one.
  const client = Object.entries<History>(CLIENT_HISTORIES)
    .filter(
      ([, { part, needs, steps: all }]) =>
        part === "idempotency" &&
        needs?.includes("server") !== true &&
        all.every(({ act }) => act !== "look"),
    )
    .map(([name]) => name);
  expect(steps.map(({ name }) => name).toSorted()).toEqual(client.toSorted());
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
  // Once a create is answered, another process sees the row of its use.
  const kinds = () => usesOf(options.cwd).map(({ kind }) => kind);
  const before = kinds();
  const shown = usesOf(options.cwd);
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
});

test("the idempotency drill finds a client that generates a new key at each start", async () => {
  const { commandOf, drill } = await openLaboratory();
  const random =
    "const answer = await retrying(() => keyed(randomUUID()));\nprocess.exitCode = Number(answer.status !== 201);";
  // test/client/idempotency-clients.test.ts runs the other histories of such a client.
  const { code, broken } = await drill(commandOf(random), FULL ? [] : ["--only", "client_killed"]);
  const found = broken.map(({ history, invariant }) => `${history}: ${invariant}`);
  expect([code, found]).toEqual([1, expect.arrayContaining(["client_killed: one_key"])]);
});

test("the idempotency drill's command gets the API key and no other token, and the key appears in no process list, output, report or database", async () => {
  const { options, commandOf, drill } = await openLaboratory();
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
  expect(key).toBe(apiKey);
  for (const secret of [apiKey, key]) expect(processes).not.toContain(secret);
  expect(names.toSorted()).toEqual([
    "CHECKOUT_API_KEY",
    "CHECKOUT_BASE_URL",
    "CHECKOUT_ORDER_ID",
    "CHECKOUT_STORE_ID",
  ]);
  expect([code, stdout]).toEqual([3, expect.stringContaining("my key is svc_test_…")]);
  const shown = stdout + stderr + JSON.stringify(await drill(command));
  const kept = readFileSync(join(options.cwd, ".checkout/sandbox.db"), "latin1");
  for (const secret of [apiKey, key]) expect(shown + kept).not.toContain(secret);
});

test("the child processes of the drill's command are killed when the command times out or ends", async () => {
  const [one, other] = await Promise.all([openLaboratory(), openLaboratory()]);
  const child = (then: string) => `
    import { spawn } from "node:child_process";
    import { writeFileSync } from "node:fs";
    const started = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "inherit" });
    writeFileSync("child.pid", String(started.pid));
    ${then}
  `;
  const isAlive = (pid: string): boolean => {
    try {
      return !execFileSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).startsWith("Z");
    } catch {
      // No process has this id.
      return false;
    }
  };
  const [stays, leaves] = await Promise.all([
    one.drill(one.commandOf(child("")), LONG_ENOUGH),
    other.drill(other.commandOf(child("process.exit(0);"))),
  ]);
  expect([stays.code, leaves.code]).toEqual([3, 3]);
  for (const { options } of [one, other]) {
    const pid = readFileSync(join(options.cwd, "child.pid"), "utf8");
    expect(pid).toMatch(/^\d+$/);
    await eventually("it is gone", () => expect(isAlive(pid)).toBe(false));
  }
});

test("the log of key uses has one row for each reuse of a key, with the id of the request", async () => {
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
  // A replayed answer has the id of the first request; the log has the id of the replay.
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

  // If one create of a batch fails, the whole batch runs twice.
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
