import { cpSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { openControl } from "../support/control.ts";
import { faultsOf, HAS_STRACE, inject, noteCalls, runTraced, type Fault } from "../support/disk-faults.ts";
import { apiKeyOf, connect, openRows, sendCreate, type Answer } from "../support/load.ts";
import { run, startSandbox, type Finished, type SandboxProcess } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import type { Ready } from "../../src/cli/sandbox/ready.ts";

const TRIALS = size(6, 540);
const CREATES = 3;
const PLAIN = ["--quiet", "--dir", "state"];
const START = ["sandbox", "start", "--json", "--port", "0", ...PLAIN];

/** What was acknowledged under a fault. */
type Acknowledged = { readonly creates: ReadonlyMap<string, Answer>; readonly paid: readonly string[] };

/** A run under strace; how it ended, and what it had acknowledged. */
type Trial = (cwd: string, strace: readonly string[]) => Promise<Finished & Acknowledged>;

/** One kind of trial: what is there before, what runs, and what must be there after. */
type Scenario = {
  readonly name: string;
  readonly prepare: (cwd: string) => void;
  readonly trial: Trial;
  readonly verify: (cwd: string, sandbox: SandboxProcess, seen: Finished & Acknowledged) => Promise<string[]>;
};

test("whatever call fails, the folder opens again with all that was acknowledged", async ({ annotate }) => {
  if (!HAS_STRACE) {
    await annotate("strace is not installed: no system call could be made to fail, so none was tried");
    return;
  }
  const used = tempFolder();
  expect(await (await startSandbox({ cwd: used, args: PLAIN })).stop("SIGTERM")).toBe(0);
  const shop = await startSandbox({ cwd: tempFolder(), args: PLAIN });
  const scenarios = [serve("start in a new folder", undefined), serve("start again", used), order(shop)];
  const faults = await allFaults(scenarios);
  const random = seededRandom(SEED);
  const chosen = faults
    .map((fault) => ({ fault, order: random() }))
    .toSorted((one, other) => one.order - other.order)
    .slice(0, TRIALS);
  const counts = { hit: 0, acknowledged: 0 };
  const wrong: string[] = [];
  for (const { fault } of chosen) {
    const found = await tryFault(fault.scenario, fault.fault);
    if (found.hit) counts.hit += 1;
    counts.acknowledged += found.acknowledged;
    wrong.push(...found.wrong);
  }
  expect(wrong, `seed ${SEED}`).toEqual([]);
  expect(await shop.stop("SIGTERM")).toBe(0);
  await annotate(
    `seed ${SEED}: ${chosen.length} of ${faults.length} faults, ${counts.hit} ended a command or refused a write, ${counts.acknowledged} acknowledged, none lost`,
  );
});

async function allFaults(
  scenarios: readonly Scenario[],
): Promise<{ readonly scenario: Scenario; readonly fault: Fault }[]> {
  const found = await Promise.all(
    scenarios.map(async (scenario) => {
      const [cwd, logs] = [tempFolder(), tempFolder()];
      scenario.prepare(cwd);
      const { code, stderr } = await scenario.trial(cwd, noteCalls(join(logs, "calls")));
      expect([scenario.name, code, stderr]).toEqual([scenario.name, 0, expect.any(String)]);
      return faultsOf(join(logs, "calls"), join(cwd, "state")).map((fault) => ({ scenario, fault }));
    }),
  );
  return found.flat();
}

async function tryFault(
  scenario: Scenario,
  fault: Fault,
): Promise<{ readonly wrong: string[]; readonly hit: boolean; readonly acknowledged: number }> {
  const cwd = tempFolder();
  const { call, error, nth, lasting } = fault;
  const where = `${scenario.name}, ${call} ${nth}${lasting ? "+" : ""} ${error}`;
  scenario.prepare(cwd);
  const seen = await scenario.trial(cwd, inject(fault));
  const wrong = judgeOutput(seen);
  try {
    const sandbox = await startSandbox({ cwd, args: PLAIN });
    wrong.push(...leftovers(join(cwd, "state")));
    wrong.push(...(await scenario.verify(cwd, sandbox, seen)));
    const code = await sandbox.stop("SIGTERM");
    if (code !== 0) wrong.push(`the plain start stopped with ${code}`);
  } catch (error_) {
    wrong.push(`the folder does not open: ${String(error_)}`);
  }
  const acknowledged = seen.creates.size + seen.paid.length;
  return {
    wrong: wrong.map((what) => `${where}: ${what}`),
    hit: seen.code !== 0 || (acknowledged > 0 && acknowledged < CREATES + 1),
    acknowledged,
  };
}

function judgeOutput({ code, stdout, stderr }: Finished): string[] {
  const output = stdout + stderr;
  return [
    ...(code !== null && [0, 1, 7].includes(code) ? [] : [`ended with ${code}: ${output}`]),
    ...(/bug in checkout|"defect"|\n\s+at /.test(output) ? [`shows a defect: ${output}`] : []),
  ];
}

function leftovers(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /\.new|-journal$/.test(name))
    .map((name) => `${name} was left`);
}

/** A server that answers creates and a payment, and is stopped. */
function serve(name: string, template: string | undefined): Scenario {
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
    verify: async (_, sandbox, seen) => [...(await lostCreates(sandbox, seen)), ...unpaid(sandbox, seen)],
  };
}

async function useServer(cwd: string, line: string): Promise<Acknowledged> {
  const creates = new Map<string, Answer>();
  const paid: string[] = [];
  if (!line.startsWith('{"event":"ready"')) return { creates, paid };
  const ready = JSON.parse(line) as Ready;
  const service = connect({ ready, port: Number(new URL(ready.base_url).port) } as SandboxProcess, 1);
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

async function lostCreates(sandbox: SandboxProcess, { creates }: Acknowledged): Promise<string[]> {
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

function unpaid(sandbox: SandboxProcess, { paid }: Acknowledged): string[] {
  const status = openRows(sandbox).prepare<[string], { status: string }>(
    "SELECT status FROM checkouts WHERE id = ?",
  );
  return paid.filter((id) => status.get(id)?.status !== "succeeded").map((id) => `${id} was paid and is not`);
}

/** The client's create, whose journal is what fails; the service is another process, with another folder. */
function order(shop: SandboxProcess): Scenario {
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
    verify: async (cwd, _, { code, stdout }) => {
      const again = await run(argsIn(cwd), { cwd, env });
      const same = again.code === 0 && (code !== 0 || orderIn(again.stdout) === orderIn(stdout));
      const left = leftovers(join(cwd, "state"));
      return same ? left : [...left, `was ${stdout} and is ${again.stdout} ${again.stderr}`];
    },
  };
}

function orderIn(stdout: string): string | undefined {
  return /"id":"([^"]+)"/.exec(stdout)?.[1];
}
