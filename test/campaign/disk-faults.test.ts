import { cpSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { REAL } from "../support/real.ts";
import { currentSchemaVersion, type FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { SEED, seededRandom, size, report } from "../support/campaign.ts";
import { openControl } from "../support/control.ts";
import { faultsOf, HAS_STRACE, injectArgs, noteArgs, runTraced, type Fault } from "../support/disk-faults.ts";
import { NEXT_VERSIONS } from "../support/migrate.ts";
import { apiKeyOf, connect, openRows, sendCreate, type Answer } from "../support/load.ts";
import { runHere, startSandboxHere, type Result, type SandboxHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import type { ReadyMessage } from "../../src/host/ready.ts";

const TRIALS = size(4, 520);
const CREATES = 3;
const PLAIN = ["--quiet", "--dir", "state"];
const START = ["sandbox", "start", "--json", "--port", "0", ...PLAIN];

/** The acknowledged answers to creates, by key, and the ids of the checkouts whose payment was acknowledged. */
type AcknowledgedWork = { readonly creates: ReadonlyMap<string, Answer>; readonly paid: readonly string[] };

/** A run under strace; resolves with its exit code, its output and the work that it acknowledged. */
type Trial = (cwd: string, strace: readonly string[]) => Promise<Result & AcknowledgedWork>;

/** One kind of trial: the state before, the run, and the required state after. */
type Scenario = {
  readonly name: string;
  readonly prepare: (cwd: string) => void;
  readonly trial: Trial;
  readonly verify: (cwd: string, seen: Result & AcknowledgedWork) => Promise<string[]>;
};

/** One fault in one kind of trial. */
type PlannedTrial = { readonly scenario: Scenario; readonly fault: Fault };

test("a state folder opens after the failure of any system call, and has lost no acknowledged write", async ({
  annotate,
}) => {
  if (!HAS_STRACE) {
    await annotate("strace is not installed: no system call could be made to fail, so none was tried");
    return;
  }
  const [used, older] = [tempFolder(), tempFolder()];
  expect(await (await startSandboxHere({ cwd: used, args: PLAIN })).stop()).toBe(0);
  const shop = await startSandboxHere({ cwd: tempFolder(), args: PLAIN });
  const scenarios = [
    serverScenario("start in a new folder", undefined),
    serverScenario("start again", used),
    orderScenario(shop),
    migrationScenario(older, await useFolder(older)),
  ];
  const faults = await allFaults(scenarios);
  const chosen = choose(faults);
  const counts = { hit: 0, acknowledged: 0, hitEventLoop: 0 };
  const wrong: string[] = [];
  for (const trial of chosen) {
    const found = await tryFault(trial);
    if (found.hit) counts.hit += 1;
    if (found.hasHitEventLoop) counts.hitEventLoop += 1;
    counts.acknowledged += found.acknowledged;
    wrong.push(...found.wrong);
    report(found.wrong);
  }
  expect(wrong, `seed ${SEED}`).toEqual([]);
  expect(await shop.stop()).toBe(0);
  const each = scenarios.map(
    (one) => `${one.name} ${chosen.filter(({ scenario }) => scenario === one).length}`,
  );
  await annotate(
    `seed ${SEED}: ${chosen.length} (${each.join(", ")}) of ${faults.length} faults, ${counts.hit} ended a command or refused a write, ${counts.hitEventLoop} met Node's own event loop, ${counts.acknowledged} acknowledged, none lost`,
  );
});

/** Returns TRIALS trials, shuffled by the seed and taken from the scenarios in turn. */
function choose(trials: readonly PlannedTrial[]): readonly PlannedTrial[] {
  const random = seededRandom(SEED);
  const shuffled = trials
    .map((trial) => ({ trial, order: random() }))
    .toSorted((one, other) => one.order - other.order);
  const seen = new Map<Scenario, number>();
  return shuffled
    .map(({ trial }) => {
      const round = seen.get(trial.scenario) ?? 0;
      seen.set(trial.scenario, round + 1);
      return { trial, round };
    })
    .toSorted((one, other) => one.round - other.round)
    .slice(0, TRIALS)
    .map(({ trial }) => trial);
}

async function allFaults(scenarios: readonly Scenario[]): Promise<PlannedTrial[]> {
  const found = await Promise.all(
    scenarios.map(async (scenario) => {
      const [cwd, logs] = [tempFolder(), tempFolder()];
      scenario.prepare(cwd);
      const { code, stderr } = await scenario.trial(cwd, noteArgs(join(logs, "calls")));
      expect([scenario.name, code, stderr]).toEqual([scenario.name, 0, expect.any(String)]);
      return faultsOf(join(logs, "calls"), join(cwd, "state")).map((fault) => ({ scenario, fault }));
    }),
  );
  return found.flat();
}

async function tryFault({ scenario, fault }: PlannedTrial): Promise<TrialResult> {
  const cwd = tempFolder();
  const { call, error, nth, lasting } = fault;
  const where = `${scenario.name}, ${call} ${nth}${lasting ? "+" : ""} ${error}`;
  scenario.prepare(cwd);
  const seen = await scenario.trial(cwd, injectArgs(fault));
  const wrong = judgeOutput(seen);
  try {
    wrong.push(...(await scenario.verify(cwd, seen)));
  } catch (error_) {
    wrong.push(`the folder does not open: ${String(error_)}`);
  }
  const acknowledged = seen.creates.size + seen.paid.length;
  return {
    wrong: wrong.map((what) => `${where}: ${what}`),
    hit: seen.code !== 0 || (acknowledged > 0 && acknowledged < CREATES + 1),
    acknowledged,
    hasHitEventLoop: hasHitEventLoop(seen),
  };
}

type TrialResult = {
  readonly wrong: string[];
  readonly hit: boolean;
  readonly acknowledged: number;
  readonly hasHitEventLoop: boolean;
};

/**
 * Whether a fault hit a write of Node's event loop to itself, which ends the program like a kill. Faults are placed by
 * counting calls, so this can happen on a busy machine. Acknowledged work must survive all the same.
 */
function hasHitEventLoop({ stderr }: Result): boolean {
  return /^node: .*deps\/uv\/src\/.* Assertion /m.test(stderr);
}

/** Starts the sandbox without a fault, runs the checks of `look`, and stops it; returns the errors. */
async function reopen(
  cwd: string,
  look: (sandbox: SandboxHere) => Promise<readonly string[]>,
): Promise<string[]> {
  const sandbox = await startSandboxHere({ cwd, args: PLAIN });
  const wrong = [...leftovers(join(cwd, "state")), ...(await look(sandbox))];
  const code = await sandbox.stop();
  return code === 0 ? wrong : [...wrong, `the plain start stopped with ${code}`];
}

function judgeOutput(finished: Result): string[] {
  const { code, stdout, stderr } = finished;
  const output = stdout + stderr;
  return [
    ...((code !== null && [0, 1, 7].includes(code)) || hasHitEventLoop(finished)
      ? []
      : [`ended with ${code}: ${output}`]),
    ...(stdout.includes('"api_key":null') ? [`shows no API key: ${output}`] : []),
    ...(/"defect"|\n\s+at /.test(output) ? [`shows a defect: ${output}`] : []),
  ];
}

function leftovers(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /\.new|-journal$/.test(name))
    .map((name) => `${name} was left`);
}

/** The scenario of a server that answers creates and a payment, and is stopped. */
function serverScenario(name: string, template: string | undefined): Scenario {
  return {
    name,
    prepare: (cwd) => {
      if (template !== undefined) cpSync(join(template, "state"), join(cwd, "state"), { recursive: true });
    },
    trial: async (cwd, strace) => {
      const traced = runTraced(START, { cwd, strace });
      await traced.firstLine;
      const seen = await useServer(cwd, traced.output.stdout);
      traced.kill("SIGTERM");
      return { ...(await traced.ended), ...seen };
    },
    verify: (cwd, seen) =>
      reopen(cwd, async (sandbox) => [...(await lostCreates(sandbox, seen)), ...lostPayments(sandbox, seen)]),
  };
}

/** Writes a folder of the current schema version, with all the work of `serverScenario`. */
async function useFolder(cwd: string): Promise<AcknowledgedWork> {
  const sandbox = await startSandboxHere({ cwd, args: PLAIN });
  const seen = await useServer(cwd, sandbox.output.stdout);
  expect([seen.creates.size, seen.paid.length, await sandbox.stop()]).toEqual([CREATES, 1, 0]);
  return seen;
}

/** The scenario of a later version that opens an older file; only its migrations are invented by the test. */
function migrationScenario(template: string, seen: AcknowledgedWork): Scenario {
  const copy = `state/sandbox.db.v${PRESENT_VERSION}.backup`;
  return {
    name: "migrate",
    prepare: (cwd) => cpSync(join(template, "state"), join(cwd, "state"), { recursive: true }),
    trial: async (cwd, strace) => ({
      ...(await runTraced(["state/sandbox.db"], { cwd, strace, program: MIGRATE }).ended),
      ...seen,
    }),
    verify: async (cwd, { code }) => {
      const path = join(cwd, "state", "sandbox.db");
      // A command that writes first removes unfinished files.
      REAL.files.removeUnfinishedFiles(join(cwd, "state"));
      const found = schemaIn(path);
      const wrong = [
        ...(code === 0 && found !== SCHEMAS.at(-1) ? [`said done, is ${found}`] : []),
        ...(SCHEMAS.includes(found) ? [] : [`half a migration: ${found}`]),
        ...(found === SCHEMAS[0] ? await reopen(cwd, (sandbox) => lostCreates(sandbox, seen)) : []),
        ...(found === SCHEMAS[0] ? [] : lostRows(join(cwd, copy), SANDBOX_FILE, seen)),
        ...lostRows(path, NEXT_VERSIONS, seen),
        ...leftovers(join(cwd, "state")),
      ];
      const then = schemaIn(path);
      return then === SCHEMAS.at(-1) ? wrong : [...wrong, `without a fault it becomes ${then}`];
    },
  };
}

const MIGRATE = join(import.meta.dirname, "../support/migrate-program.ts");
const PRESENT_VERSION = currentSchemaVersion(SANDBOX_FILE);
/** The allowed schemas of a file: its version, and the column and the tables that the test's own migrations add. */
const SCHEMAS = [
  `${PRESENT_VERSION}`,
  `${PRESENT_VERSION + 1} checkouts.label labels`,
  `${PRESENT_VERSION + 2} checkouts.label labels copies`,
];

function schemaIn(path: string): string {
  const rows = new Database(path, { readonly: true, fileMustExist: true });
  const has = (sql: string): boolean => rows.prepare(sql).get() !== undefined;
  const found = [
    String(rows.pragma("user_version", { simple: true })),
    ...(has("SELECT 1 FROM pragma_table_info('checkouts') WHERE name = 'label'") ? ["checkouts.label"] : []),
    ...["labels", "copies"].filter((name) => has(`SELECT 1 FROM sqlite_master WHERE name = '${name}'`)),
  ];
  rows.close();
  return found.join(" ");
}

/** The acknowledged rows, and the rows that migrations make from them, that are missing in a database file. */
function lostRows(path: string, kind: FileKind, { creates, paid }: AcknowledgedWork): string[] {
  const opened = openDatabase(path, { kind });
  if (!opened.ok) return [`${path} does not open: ${opened.refusal.message}`];
  const rows = opened.value;
  const count = (sql: string, ...values: string[]): unknown =>
    rows
      .prepare(sql)
      .pluck()
      .get(...values);
  const keys = [...creates]
    .filter(
      ([key, { body }]) =>
        count("SELECT count(*) FROM idempotency_keys WHERE key = ? AND body = ?", key, body) !== 1,
    )
    .map(([key]) => key);
  const ids = paid.filter((id) => count("SELECT status FROM checkouts WHERE id = ?", id) !== "succeeded");
  const made =
    kind === SANDBOX_FILE ||
    (count("SELECT count(*) FROM labels NATURAL JOIN (SELECT id AS checkout_id FROM checkouts)") ===
      CREATES &&
      count("SELECT count(*) FROM copies NATURAL JOIN idempotency_keys") === CREATES);
  rows.close();
  return [
    ...[...keys, ...ids].map((what) => `${path} lacks ${what}`),
    ...(made ? [] : [`${path} is not migrated`]),
  ];
}

async function useServer(cwd: string, line: string): Promise<AcknowledgedWork> {
  const creates = new Map<string, Answer>();
  const paid: string[] = [];
  if (!line.startsWith('{"event":"ready"')) return { creates, paid };
  const ready = JSON.parse(line) as ReadyMessage;
  if (ready.api_key === null) return { creates, paid };
  const service = connect({ ready, port: Number(new URL(ready.base_url).port) }, 1);
  for (let number = 1; number <= CREATES; number += 1) {
    const answer = await sendCreate(service, { key: `fault-key-${number}`, orderId: `fault-${number}` });
    if (answer?.status === 201) creates.set(`fault-key-${number}`, answer);
  }
  const [first] = creates.values();
  if (first !== undefined) {
    const { id } = (JSON.parse(first.body) as { readonly data: { readonly id: string } }).data;
    const control = openControl(service.port, join(cwd, "state"));
    const done = await control.attempt("pay", { id, body: { outcome: "succeeded" } });
    if (done.end === "success") paid.push(id);
  }
  service.agent.destroy();
  return { creates, paid };
}

async function lostCreates(sandbox: SandboxHere, { creates }: AcknowledgedWork): Promise<string[]> {
  const service = connect(sandbox, 1);
  const lost: string[] = [];
  for (const [key, first] of creates) {
    const again = await sendCreate(service, { key, orderId: key.replace("-key", "") });
    if (again?.body !== first.body || !again.replayed)
      lost.push(`${key} was ${first.body} and is ${again?.body}`);
  }
  service.agent.destroy();
  return lost;
}

function lostPayments(sandbox: SandboxHere, { paid }: AcknowledgedWork): string[] {
  const status = openRows(sandbox).prepare<[string], { status: string }>(
    "SELECT status FROM checkouts WHERE id = ?",
  );
  return paid.filter((id) => status.get(id)?.status !== "succeeded").map((id) => `${id} was paid and is not`);
}

/** The scenario of a client's create with a failing journal; the service is not traced, and has another folder. */
function orderScenario(shop: SandboxHere): Scenario {
  const env = { CHECKOUT_API_KEY: apiKeyOf(shop) };
  const fixed = `--amount-minor 1999 --currency EUR --payment-method alipay_plus --base-url ${shop.ready.base_url}`;
  const argsIn = (cwd: string): string[] =>
    `orders create --json --dir state --order-id ${basename(cwd)} ${fixed}`.split(" ");
  return {
    name: "orders create",
    prepare: () => undefined,
    trial: async (cwd, strace) => ({
      ...(await runTraced(argsIn(cwd), { cwd, env, strace }).ended),
      creates: new Map(),
      paid: [],
    }),
    verify: (cwd, { code, stdout }) =>
      reopen(cwd, async () => {
        const again = await runHere(argsIn(cwd), { cwd, env });
        const same = again.code === 0 && (code !== 0 || orderIn(again.stdout) === orderIn(stdout));
        const left = leftovers(join(cwd, "state"));
        return same ? left : [...left, `was ${stdout} and is ${again.stdout} ${again.stderr}`];
      }),
  };
}

function orderIn(stdout: string): string | undefined {
  return /"id":"([^"]+)"/.exec(stdout)?.[1];
}
