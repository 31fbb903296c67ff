import { spawn } from "node:child_process";
import { once } from "node:events";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { expect, test } from "vitest";
import { sendCreate, type ClientWorld, type ServiceTarget } from "../../src/client/api/client.ts";
import type { Journal } from "../../src/core/checkout/journal.ts";
import { REAL } from "../support/real.ts";
import { openJournal } from "../../src/store/journal/journal.ts";
import { FULL, part, SEED, seededRandom, size } from "../support/campaign.ts";
import { startFaultProxy, type FaultProxy } from "../support/fault-proxy.ts";
import { apiKeyOf, openRows, purchase } from "../support/load.ts";
import {
  PROGRAM,
  run,
  runHere,
  startSandbox,
  startSandboxHere,
  type Result,
  type SandboxProcess,
} from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const SANDBOX_ARGS = ["--rate-limit", "off", "--quiet"];
const IMPATIENT: ClientWorld = { ...REAL, sleep: async () => undefined };
const PATIENT = { retries: 12, timeoutMs: 60_000 };

// --- The answer is truncated at every byte.

test.for(["close", "reset"] as const)(
  "a create makes one order even if a %s of the connection cuts the answer off at any byte",
  checkCuts,
);

async function checkCuts(ending: "close" | "reset"): Promise<void> {
  const cwd = tempFolder();
  const proxy = await startFaultProxy();
  const sandbox = await startSandboxHere({ cwd, args: argsBehind(proxy) });
  proxy.forwardTo(sandbox.port);
  const rows = openRows(sandbox);
  const client = { world: IMPATIENT, target: targetBehind(proxy, sandbox), journal: openTestJournal(cwd) };

  await createOrder(client, cutOrderId(-1));
  const answerBytes = proxy.latestAnswerBytes();
  expect(answerBytes, "an answer has a head and a body").toBeGreaterThan(400);
  for (const cutAt of part([...Array(answerBytes + 1).keys()], 8, ending === "close" ? 0 : 4)) {
    const where = `cut at byte ${cutAt} of ${answerBytes} (${ending})`;
    proxy.failNext({ answerBytes: cutAt, ending });
    const { id, tries } = await createOrder(client, cutOrderId(cutAt));
    expect([id], where).toEqual(idsOf(rows, cutOrderId(cutAt)));
    // The last cut is after the last byte; the client may or may not notice it.
    if (cutAt < answerBytes) expect(tries, `${where}: tries`).toBe(2);
  }
  client.journal.close();
}

/** An order_id of constant length, so that all answers have the same length. */
function cutOrderId(cutAt: number): string {
  return `cut-${String(cutAt).padStart(6, "0")}`;
}

// --- The client is killed.

const CLIENT_KILLS = size(4, 200);
/** Kills are spread over a whole run of the command, however slow the machine is, and a little beyond its end. */
const LAST_KILL_RATIO = 1.1;
const TIMED_RUNS = size(1, 3);

type ClientFolder = { readonly name: string; readonly folderOf: (round: number) => string | undefined };

const CLIENT_FOLDERS: readonly ClientFolder[] = [
  { name: "in the sandbox's folder", folderOf: () => undefined },
  { name: "in a folder that the client creates", folderOf: (round) => `client-${round}` },
];

test.for(CLIENT_FOLDERS)(
  "a create makes one order even if the client is killed at any time and run again: $name",
  async ({ folderOf }, { annotate }) => {
    const cwd = tempFolder();
    const sandbox = await startSandboxHere({ cwd, args: SANDBOX_ARGS });
    const rows = openRows(sandbox);
    const random = seededRandom(SEED);
    const seen = { killed: 0, replayed: 0 };
    const times: number[] = [];
    for (let index = 1; index <= TIMED_RUNS; index += 1) {
      const from = performance.now();
      await run(createArgs(`timed-${index}`, folderOf(0)), { cwd, env: serviceEnv(sandbox) });
      times.push(performance.now() - from);
    }
    const lastKillMs = Math.max(...times) * LAST_KILL_RATIO;
    for (let round = 1; round <= CLIENT_KILLS / CLIENT_FOLDERS.length; round += 1) {
      const delayMs = random() * lastKillMs;
      const where = `seed ${SEED}, round ${round}, killed after ${delayMs.toFixed(1)} ms`;
      const command = { cwd, args: createArgs(`killed-${round}`, folderOf(round)), env: serviceEnv(sandbox) };
      const first = await runAndKill(command, delayMs);
      const second = await runHere(command.args, command);
      expect(second.code, `${where}: ${second.stderr}`).toBe(0);
      const printed = parsePrinted(second.stdout);
      expect([printed.data.id], where).toEqual(idsOf(rows, `killed-${round}`));
      if (first.stdout !== "")
        expect(printed.data.id, `${where}, already printed`).toBe(parsePrinted(first.stdout).data.id);
      seen.killed += first.code === null ? 1 : 0;
      seen.replayed += printed.replayed ? 1 : 0;
    }
    // A campaign whose kills all come before the order is created proves nothing.
    if (FULL) expect(seen.replayed, "killed after the order was made").toBeGreaterThan(0);
    await annotate(
      `seed ${SEED}: ${seen.killed} killed before their end, ${seen.replayed} had made the order`,
    );
  },
);

type Command = {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
};

function createArgs(orderId: string, folder: string | undefined): string[] {
  const terms = ["--amount-minor", "1999", "--currency", "EUR", "--payment-method", "alipay_plus"];
  const where = folder === undefined ? [] : ["--dir", folder];
  return ["orders", "create", "--json", "--order-id", orderId, ...terms, ...where];
}

function serviceEnv(sandbox: Pick<SandboxProcess, "ready">): Record<string, string> {
  return { CHECKOUT_BASE_URL: sandbox.ready.base_url, CHECKOUT_API_KEY: apiKeyOf(sandbox) };
}

async function runAndKill(
  { args, cwd, env }: Command,
  delayMs: number,
): Promise<Pick<Result, "code" | "stdout">> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  const gone = once(child, "close") as Promise<[number | null]>;
  await Promise.race([sleep(delayMs), gone]);
  child.kill("SIGKILL");
  const [code] = await gone;
  return { code, stdout };
}

function parsePrinted(stdout: string): {
  readonly data: { readonly id: string };
  readonly replayed: boolean;
} {
  return JSON.parse(stdout) as ReturnType<typeof parsePrinted>;
}

// --- The service is killed and comes back while the client retries.

const SERVER_KILLS = size(4, 200);
const MAX_CREATE_MS = 4;

type Moment = "at any moment of a create" | "when the answer is on its way";

const MOMENTS: readonly Moment[] = ["at any moment of a create", "when the answer is on its way"];

test.for(MOMENTS)(
  "a create makes one order even if the service is killed and started again: %s",
  async (moment, { annotate }) => {
    const cwd = tempFolder();
    const proxy = await startFaultProxy();
    const journal = openTestJournal(cwd);
    const random = seededRandom(SEED);
    const seen = { retried: 0, replayed: 0 };
    let sandbox = await startBehind(proxy, cwd);
    for (let round = 1; round <= SERVER_KILLS / MOMENTS.length; round += 1) {
      const delayMs = random() * MAX_CREATE_MS;
      const where = `seed ${SEED}, round ${round}, killed ${moment}, or after ${delayMs.toFixed(2)} ms`;
      const orderId = `restarted-${round}`;
      const ended = await createWhileKilled({ moment, delayMs, orderId, cwd, proxy, sandbox, journal });
      sandbox = ended.sandbox;
      // Closed before the next kill: with an open reader the next start would not have to recover the file.
      const rows = openRows(sandbox);
      expect([ended.made.id], where).toEqual(idsOf(rows, orderId));
      rows.close();
      seen.retried += ended.made.tries > 1 ? 1 : 0;
      seen.replayed += ended.made.replayed ? 1 : 0;
    }
    journal.close();
    await annotate(
      `seed ${SEED}: ${seen.retried} clients tried again, ${seen.replayed} of them found their order made`,
    );
  },
);

/** Creates an order; meanwhile the service is killed and started again with the same port and folder. */
async function createWhileKilled(round: {
  readonly moment: Moment;
  readonly delayMs: number;
  readonly orderId: string;
  readonly cwd: string;
  readonly proxy: FaultProxy;
  readonly sandbox: SandboxProcess;
  readonly journal: Journal;
}): Promise<{ readonly made: CreatedOrder; readonly sandbox: SandboxProcess }> {
  const { moment, delayMs, orderId, cwd, proxy, sandbox, journal } = round;
  const restarts: Promise<SandboxProcess>[] = [];
  const restart = async (): Promise<SandboxProcess> => {
    await sandbox.stop("SIGKILL");
    return startBehind(proxy, cwd, sandbox.port);
  };
  const client = { world: REAL, journal };
  let creating: Promise<CreatedOrder>;
  if (moment === "when the answer is on its way") {
    proxy.failNext({ answerBytes: 0, onAnswer: () => restarts.push(restart()) });
    creating = createOrder({ ...client, target: targetBehind(proxy, sandbox) }, orderId);
  } else {
    restarts.push(waitExactly(delayMs).then(restart));
    creating = createOrder({ ...client, target: targetOf(sandbox) }, orderId);
  }
  const made = await creating;
  const [restarted] = await Promise.all(restarts);
  if (restarted === undefined) throw new Error(`the service was not killed: ${orderId}`);
  return { made, sandbox: restarted };
}

/** Waits more precisely than a timer of Node, which counts whole milliseconds: a create takes only a few. */
async function waitExactly(milliseconds: number): Promise<void> {
  const end = REAL.monotonic() + milliseconds;
  while (REAL.monotonic() < end) await setImmediate();
}

// --- Shared by all parts.

type Client = {
  readonly world: ClientWorld;
  readonly target: ServiceTarget;
  readonly journal: Journal;
};

type CreatedOrder = { readonly id: string; readonly tries: number; readonly replayed: boolean };

/** Creates an order, with as many attempts as needed, and checks its entry in the journal. */
async function createOrder({ world, target, journal }: Client, orderId: string): Promise<CreatedOrder> {
  const intent = {
    endpoint: "orders",
    request: purchase(orderId),
    isNewAttempt: false,
    idempotencyKey: null,
  } as const;
  const result = await sendCreate(world, target, { intent, journal, policy: PATIENT });
  if (result.end !== "sent" || result.exchange.end !== "success") {
    throw new Error(`${orderId}: ${JSON.stringify(result)}`);
  }
  const { entry, exchange } = result;
  const { id } = result.exchange.response.data;
  expect(journal.find(entry.key), orderId).toMatchObject({ state: "created", checkoutId: id });
  return { id, tries: exchange.attemptCount, replayed: exchange.headers["idempotent-replayed"] === "true" };
}

/** The options of a sandbox that also accepts the proxy's host. */
function argsBehind(proxy: FaultProxy): readonly string[] {
  return [...SANDBOX_ARGS, "--allow-host", `127.0.0.1:${proxy.port}`];
}

/** Starts a sandbox that also accepts the proxy's host; `port` 0 means any free port. */
async function startBehind(proxy: FaultProxy, cwd: string, port = 0): Promise<SandboxProcess> {
  const args = [...argsBehind(proxy), "--port", String(port)];
  const sandbox = await startSandbox({ cwd, args });
  proxy.forwardTo(sandbox.port);
  return sandbox;
}

function targetOf(sandbox: Pick<SandboxProcess, "ready">): ServiceTarget {
  const { base_url: baseUrl, store_id: storeId } = sandbox.ready;
  return { baseUrl, storeId, apiKey: apiKeyOf(sandbox), service: baseUrl };
}

function targetBehind(proxy: FaultProxy, sandbox: Pick<SandboxProcess, "ready">): ServiceTarget {
  return { ...targetOf(sandbox), baseUrl: `http://127.0.0.1:${proxy.port}/v1` };
}

function openTestJournal(folder: string): Journal {
  const journal = openJournal(join(folder, "test-journal.db"));
  if (!journal.ok) throw new Error(journal.refusal.message);
  return journal.value;
}

function idsOf(rows: Database.Database, orderId: string): unknown[] {
  return rows.prepare("SELECT id FROM checkouts WHERE order_id = ?").pluck().all(orderId);
}
