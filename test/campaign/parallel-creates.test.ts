import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { CreateIntent } from "../../src/client/api/client.ts";
import type { ManyAnswer, ManyCreates } from "../support/create-many.ts";
import { SEED, size } from "../support/campaign.ts";
import { apiKeyOf, openRows, purchase } from "../support/load.ts";
import { startSandbox, type SandboxProcess } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const SCRIPT = join(import.meta.dirname, "../support/create-many.ts");
const CREATES_PER_PROCESS = 100;
const ROUNDS = size(1, 25);

type Race = {
  readonly name: string;
  /** One client process for each. */
  readonly endpoints: readonly CreateIntent["endpoint"][];
  readonly keys: "one key" | "a key for each";
  /** How often each outcome comes, over both processes. */
  readonly expected: Readonly<Record<string, number>>;
};

const RACES: readonly Race[] = [
  {
    name: "200 creates with one key make one order and 200 equal answers",
    endpoints: ["orders", "orders"],
    keys: "one key",
    expected: { "201 created": 1, "201 replayed": 199 },
  },
  {
    name: "200 creates of one order_id with a key for each make one order",
    endpoints: ["orders", "orders"],
    keys: "a key for each",
    expected: { "201 created": 1, "409 order_conflict": 199 },
  },
  {
    name: "200 creates of one order_id on both endpoints make one checkout",
    endpoints: ["orders", "checkout-sessions"],
    keys: "a key for each",
    expected: { "201 created": 1, "409 order_conflict": 199 },
  },
  {
    name: "one key on both endpoints belongs to the first of them",
    endpoints: ["orders", "checkout-sessions"],
    keys: "one key",
    expected: { "201 created": 1, "201 replayed": 99, "409 idempotency_key_reused": 100 },
  },
];

test.for(RACES)("$name", check);

async function check(race: Race): Promise<void> {
  const sandbox = await startSandbox({ cwd: tempFolder(), args: ["--rate-limit", "off", "--quiet"] });
  const rows = openRows(sandbox);
  for (let round = 1; round <= ROUNDS; round += 1) {
    const where = `round ${round}, seed ${SEED}`;
    const answers = await runRace(sandbox, race, round);
    expect(tally(answers), where).toEqual(race.expected);
    const bodies = answers
      .filter(({ outcome }) => outcome.startsWith("201"))
      .map(({ bodySha256 }) => bodySha256);
    expect(new Set(bodies).size, `different bodies, ${where}`).toBe(1);
    const counted = rows
      .prepare(
        `SELECT (SELECT count(*) FROM checkouts) AS checkouts, (SELECT count(*) FROM idempotency_keys) AS keys,
         (SELECT count(*) FROM events) AS events`,
      )
      .get();
    expect(counted, where).toEqual({ checkouts: round, keys: round, events: round });
  }
}

/** Both processes are up before either sends. */
async function runRace(sandbox: SandboxProcess, race: Race, round: number): Promise<ManyAnswer[]> {
  const { base_url: baseUrl, store_id: storeId } = sandbox.ready;
  const target = { baseUrl, storeId, apiKey: apiKeyOf(sandbox), service: baseUrl };
  const body = JSON.stringify(purchase(`race-${round}`));
  const starting = race.endpoints.map((endpoint, client) => {
    const keys = Array.from({ length: CREATES_PER_PROCESS }, (_, index) =>
      race.keys === "one key" ? `race-${round}-key` : `race-${round}-key-${client}-${index}`,
    );
    return startClient({ target, endpoint, body, keys });
  });
  const clients = await Promise.all(starting);
  const answers = await Promise.all(clients.map((send) => send()));
  return answers.flat();
}

/** Starts a client process; the returned function lets it send and gives its answers. */
async function startClient(creates: ManyCreates): Promise<() => Promise<ManyAnswer[]>> {
  const child = spawn(process.execPath, [SCRIPT], {
    env: { CREATE_MANY: JSON.stringify(creates) },
    stdio: "pipe",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const gone = once(child, "close");
  await Promise.race([once(child.stdout, "data"), gone]);
  return async () => {
    child.stdin.end();
    await gone;
    const [ready, answers] = output.stdout.split("\n");
    if (ready !== "ready" || answers === undefined) throw new Error(`the client failed: ${output.stderr}`);
    return JSON.parse(answers) as ManyAnswer[];
  };
}

function tally(answers: readonly ManyAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of answers) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
