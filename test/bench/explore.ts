import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import type { Figure } from "./figures.ts";
import { PROGRAM, type Bench, type Sandbox } from "./processes.ts";

/** Enough time for all single faults and pairs of a command with one request. */
const BUDGET = "20s";
/** The number of commands that `checkout explore` runs in parallel. */
const SIDE_BY_SIDE = 4;

/** A client that makes one purchase, retries until the order is created, and appends one byte to a file in each run. */
const CLIENT = `
const { appendFileSync } = require("node:fs");
const { CHECKOUT_BASE_URL: base, CHECKOUT_API_KEY: secret, CHECKOUT_ORDER_ID: order } = process.env;
appendFileSync(process.argv[2], ".");
const headers = { authorization: "Bearer " + secret, "content-type": "application/json", "idempotency-key": "key-" + order };
const body = JSON.stringify({ order_id: order, price_id: "price_coffee" });
async function main() {
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    const answer = await fetch(base + "/orders", { method: "POST", headers, body }).catch(() => undefined);
    if (answer?.status === 201 && (await answer.json().catch(() => undefined)) !== undefined) return;
  }
  process.exitCode = 1;
}
main();
`;

const execute = promisify(execFile);

/** The runs of a command per second under `checkout explore`, compared with as many runs of the command alone. */
export async function measureExploreCommand(bench: Bench): Promise<Figure[]> {
  const [client, runs] = [bench.newPath("client.cjs"), bench.newPath("runs")];
  writeFileSync(client, CLIENT);
  const sandbox = await bench.startSandbox(bench.newPath("explore"));
  // The first runs fill the compile cache for later runs.
  await runAlone(sandbox, { client, runs, count: SIDE_BY_SIDE });
  rmSync(runs);
  const search = ["explore", "--json", "--seed", "bench", "--budget", BUDGET];
  const explored = await timed(() => bench.run([PROGRAM, ...search, "--", process.execPath, client, runs]));
  const count = readFileSync(runs).length;
  const alone = await timed(() => runAlone(sandbox, { client, runs, count }));
  await sandbox.stop();
  return [
    {
      name: "runs of a command under explore",
      value: count / explored,
      unit: "/s",
      baseline: `${(count / alone).toFixed(0)} /s of the same command without explore`,
      ratio: alone / explored,
      target: { atLeast: 0.5 },
    },
  ];
}

/** Runs the command `count` times, as many side by side as `explore` does, each time with a new order_id. */
async function runAlone(
  { ready, apiKey }: Sandbox,
  { client, runs, count }: { readonly client: string; readonly runs: string; readonly count: number },
): Promise<void> {
  const orders = Array.from({ length: count }, () => crypto.randomUUID().slice(-12)).values();
  const env = { CHECKOUT_BASE_URL: String(ready["base_url"]), CHECKOUT_API_KEY: apiKey };
  const worker = async (): Promise<void> => {
    for (const order of orders)
      await execute(process.execPath, [client, runs], { env: { ...env, CHECKOUT_ORDER_ID: order } });
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return (performance.now() - startedAt) / 1000;
}
