import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundleWorker } from "../../bin/build/worker.ts";
import { createHostedStore, startHosted, type HostedService } from "../support/hosted.ts";
import { median, medianRatio, type Figure } from "./figures.ts";
import { measureRowsOfOrder } from "./hosted-rows.ts";
import type { LoadOrder, Traffic } from "./load.ts";
import type { Bench } from "./processes.ts";
import { retrieveTarget, runRounds, WARM_UP, type Subject } from "./throughput.ts";

const ROUNDS = 5;
/** Longer than for a Node server, because two processes share the processors with the client. */
const MEASURE_MS = 2000;
const OBJECTS = 16;
const COLD_STORES = 10;
/** Maximum size of the compressed bundle, in kilobytes. */
const MAX_KB = 1000;
const WORKER = join(import.meta.dirname, "../../dist/hosted-worker.mjs");

type Name = "bare object" | "create, one object" | "create, 16 objects" | "retrieve, one object";

/**
 * The service in workerd, compared with a bare object that writes the same rows in the same runtime. Each has its own
 * process, and they are measured in turn. The open-source workerd has one thread, so more objects are not faster.
 */
export async function measureHosted(bench: Bench): Promise<Figure[]> {
  const bare = bench.newPath("bare-object.mjs");
  await bundleWorker("test/bench/baselines/bare-object.ts", "BareService", bare);
  const [service, baseline] = [await startHosted(), await startHosted({ worker: bare })];
  try {
    const figures = await measureRounds(bench, service, baseline);
    const kilobytes = gzipSync(readFileSync(WORKER)).length / 1000;
    return [
      ...figures,
      { name: "first request to a cold store", value: await measureCold(service), unit: "ms" },
      await measureRowsOfOrder(bench),
      { name: "bundle, compressed", value: kilobytes, unit: "KB", target: { atMost: MAX_KB } },
    ];
  } finally {
    await Promise.all([service.end(), baseline.end()]);
  }
}

async function measureRounds(
  bench: Bench,
  service: HostedService,
  baseline: HostedService,
): Promise<Figure[]> {
  const start = bench.startLoad();
  const load = (order: LoadOrder) => start({ ...order, measureMs: MEASURE_MS });
  const stores: string[] = [];
  for (let made = 0; made < OBJECTS; made += 1) stores.push((await createHostedStore(service)).apiKey);
  const [one = ""] = stores;
  const { port } = service;
  const { ids } = await load({ ...WARM_UP, port, traffic: { kind: "create", apiKey: one } });
  const creates = (apiKey: string | readonly string[]): Traffic => ({ kind: "create", apiKey });
  const subjects: Subject<Name>[] = [
    { name: "bare object", port: baseline.port, traffic: creates(one) },
    { name: "create, one object", port, traffic: creates(one) },
    { name: "create, 16 objects", port, traffic: creates(stores) },
    {
      name: "retrieve, one object",
      port,
      traffic: { kind: "get", targets: ids.map(retrieveTarget), apiKey: one },
    },
  ];
  for (const subject of subjects) await load({ ...WARM_UP, ...subject });
  const results = await runRounds(load, subjects, ROUNDS);
  const rates = (name: Name): number[] => results[name].map(({ perSecond }) => perSecond);
  const figure = (name: Name): Figure => ({ name, value: median(rates(name)), unit: "/s" });
  const ratio = medianRatio(rates("create, one object"), rates("bare object"));
  return [
    figure("bare object"),
    { ...figure("create, one object"), baseline: "bare object", ratio, target: { atLeast: 0.65 } },
    figure("create, 16 objects"),
    figure("retrieve, one object"),
    { name: "create p99", value: median(results["create, one object"].map(({ p99 }) => p99)), unit: "ms" },
  ];
}

/**
 * The median time, in milliseconds, of the first request to a store after a restart, which starts the store's object.
 */
async function measureCold(service: HostedService): Promise<number> {
  const stores = [];
  for (let made = 0; made < COLD_STORES; made += 1) stores.push(await createHostedStore(service));
  await service.kill();
  await service.restart();
  const times: number[] = [];
  for (const { apiKey, storeId } of stores) {
    const since = performance.now();
    const headers = { Authorization: `Bearer ${apiKey}` };
    await (await fetch(`${service.origin}/v1/checkout-sessions/${storeId}`, { headers })).text();
    times.push(performance.now() - since);
  }
  return median(times);
}
