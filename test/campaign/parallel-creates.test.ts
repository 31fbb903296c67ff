import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import type { RequestedCreate } from "../../src/client/api/client.ts";
import type { ManyAnswer, ManyCreates } from "../support/create-many.ts";
import { SEED, size } from "../support/campaign.ts";
import { purchase } from "../support/load.ts";
import { startServiceProcess, type ServiceProcess } from "../support/service-process.ts";

const SCRIPT = join(import.meta.dirname, "../support/create-many.ts");
const CREATES_PER_PROCESS = 100;
const ROUNDS = size(1, 25);

type Race = {
  readonly name: string;
  /** The endpoint of each client process. */
  readonly endpoints: readonly RequestedCreate["endpoint"][];
  readonly keys: "one key" | "a key for each";
  /** The number of answers with each outcome, over both processes. */
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

test("concurrent creates with one key or order_id make one order, at /v1/orders and /v1/checkout-sessions", async () => {
  const service = await startServiceProcess();
  const counts = service.openRows().prepare(
    `SELECT (SELECT count(*) FROM checkouts) AS checkouts, (SELECT count(*) FROM idempotency_keys) AS keys,
     (SELECT count(*) FROM events) AS events`,
  );
  const clients = await Promise.all([startClient(), startClient()]);
  let races = 0;
  for (const race of RACES)
    for (let round = 1; round <= ROUNDS; round += 1) {
      races += 1;
      const where = `${race.name}: round ${round}, seed ${SEED}`;
      const answers = await runRace(service, clients, { race, number: races });
      expect(tally(answers), where).toEqual(race.expected);
      const bodies = answers
        .filter(({ outcome }) => outcome.startsWith("201"))
        .map(({ bodySha256 }) => bodySha256);
      expect(new Set(bodies).size, `different bodies, ${where}`).toBe(1);
      expect(counts.get(), where).toEqual({ checkouts: races, keys: races, events: races });
    }
});

type Client = Awaited<ReturnType<typeof startClient>>;

/** Lets the client processes send at the same time; returns all answers. */
async function runRace(
  { baseUrl, storeId, apiKey }: ServiceProcess,
  clients: readonly Client[],
  { race, number }: { readonly race: Race; readonly number: number },
): Promise<readonly ManyAnswer[]> {
  const target = { baseUrl, storeId, apiKey, service: baseUrl };
  const body = JSON.stringify(purchase(`race-${number}`));
  const answers = clients.map((send, client) => {
    const keys = Array.from({ length: CREATES_PER_PROCESS }, (_, index) =>
      race.keys === "one key" ? `race-${number}-key` : `race-${number}-key-${client}-${index}`,
    );
    return send({ target, endpoint: race.endpoints[client] ?? "orders", body, keys });
  });
  return (await Promise.all(answers)).flat();
}

/** Starts a client process; the returned function lets it send creates and resolves with the answers. */
async function startClient(): Promise<(creates: ManyCreates) => Promise<ManyAnswer[]>> {
  const env = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] };
  const child = spawn(process.execPath, [SCRIPT], { env, stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the client failed: ${said}`);
    return value;
  };
  expect(await nextLine()).toBe("ready");
  return async (creates) => {
    child.stdin.write(`${JSON.stringify(creates)}\n`);
    return JSON.parse(await nextLine()) as ManyAnswer[];
  };
}

function tally(answers: readonly ManyAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of answers) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
