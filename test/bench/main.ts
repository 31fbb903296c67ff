/**
 * Compares the program with the targets of its design, each as a ratio to a baseline of the same run. `--million`
 * measures a file with a million checkouts instead, `--stores` a thousand stores, `--lists` lists of 100,000 checkouts,
 * `--portal` portal pages of 100,000 checkouts, `--viewers` open portal pages, `--webhooks` webhooks alone, `--kit` the
 * test kit, `--explore` a command under explore, `--hosted` the service in workerd, `--log` the cost of the request
 * log, `--stalls` the delay of an answer by a snapshot, a clock move, a backlog or a reset; `--json` prints one object.
 * Exits with 1 if a target is missed.
 */
import { measureErasure } from "./erasure.ts";
import { measureExploreCommand } from "./explore.ts";
import { formatJson, formatTable, meets, type Figure } from "./figures.ts";
import { measureHosted } from "./hosted.ts";
import { measureIdle } from "./idle.ts";
import { measureKit } from "./kit.ts";
import { measureLists } from "./lists.ts";
import { measureMillion } from "./million.ts";
import { measurePortal } from "./portal.ts";
import { measureRequestLog } from "./request-log.ts";
import { openBench, type Bench } from "./processes.ts";
import { measureSnapshots } from "./snapshots.ts";
import { measureStores } from "./stores.ts";
import { measureStalls } from "./stalls.ts";
import { measureStartup } from "./startup.ts";
import { measureThroughput } from "./throughput.ts";
import { measurePages, measureViewers } from "./viewers.ts";
import { measureWebhooks } from "./webhooks.ts";

const options = new Set(process.argv.slice(2));
const bench = openBench();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    bench.end();
    process.exit(130);
  });
}
try {
  const figures = await measureChosen();
  process.stdout.write(options.has("--json") ? formatJson(figures) : formatTable(figures));
  process.exitCode = figures.every(meets) ? 0 : 1;
} finally {
  bench.end();
}

function measureChosen(): Promise<Figure[]> {
  if (options.has("--million")) return measureMillion(bench);
  if (options.has("--stores")) return measureStores(bench);
  if (options.has("--webhooks")) return measureWebhooks(bench);
  if (options.has("--kit")) return measureKit();
  if (options.has("--explore")) return measureExploreCommand(bench);
  if (options.has("--hosted")) return measureHosted(bench);
  if (options.has("--stalls")) return measureStalls(bench);
  if (options.has("--log")) return measureRequestLog(bench);
  if (options.has("--portal")) return measureAllOfPortal();
  if (options.has("--viewers")) return measureViewers(bench);
  return options.has("--lists") ? measureLists(bench) : measureAll(bench);
}

async function measureAllOfPortal(): Promise<Figure[]> {
  return [...(await measurePortal(bench)), ...(await measurePages(bench)), ...(await measureViewers(bench))];
}

async function measureAll({ newPath, startSandbox }: Bench): Promise<Figure[]> {
  const sandbox = await startSandbox(newPath("sandbox"));
  const idleAtFirst = await measureIdle(sandbox, "just started");
  const startup = await measureStartup(bench, sandbox);
  const throughput = await measureThroughput(bench, sandbox);
  const idleAfterLoad = await measureIdle(sandbox, "after load");
  const webhooks = await measureWebhooks(bench);
  const erasure = await measureErasure(bench);
  const snapshots = await measureSnapshots();
  return [
    ...throughput,
    ...webhooks,
    ...erasure,
    ...snapshots,
    ...startup,
    ...idleAtFirst,
    ...idleAfterLoad.map(removeTarget),
  ];
}

/** The targets apply to a sandbox without earlier load. */
function removeTarget({ name, value, unit }: Figure): Figure {
  return { name, value, unit };
}
