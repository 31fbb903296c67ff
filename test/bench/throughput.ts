import { join } from "node:path";
import { median, medianRatio, type Figure } from "./figures.ts";
import type { LoadOrder, LoadResult, Traffic } from "./load.ts";
import type { Bench, Sandbox } from "./processes.ts";

/** The load on a server in every round. */
export const ROUND = { connections: 32, warmMs: 100, measureMs: 480 } as const;
/** A load that lasts until a server's code is compiled. */
export const WARM_UP = { connections: 32, warmMs: 0, measureMs: 1500 } as const;

/** Many short rounds: on a busy machine only measurements in direct succession can be compared. */
const ROUNDS = 15;
/** A generator this busy may be slower than the server that it measures. */
const MAX_BUSY = 0.98;

/** A server that is loaded in every round. */
export type Subject<SubjectName extends string> = {
  readonly name: SubjectName;
  readonly port: number;
  readonly traffic: Traffic;
};

/** `bare-http POST` is the baseline `bare-http` with the requests of creates. */
type Name = "bare-http" | "bare-http POST" | "hono" | "bare-sqlite" | "create" | "retrieve";

type Results = Record<Name, LoadResult[]>;

/** Requests per second with 32 connections, each compared with the baselines of the same round. */
export async function measureThroughput(bench: Bench, sandbox: Sandbox): Promise<Figure[]> {
  const load = bench.startLoad();
  const subjects = await startSubjects(bench, sandbox, load);
  const results = await runRounds(load, subjects, ROUNDS);
  const busy = Math.max(...Object.values(results).map((rounds) => median(rounds.map((round) => round.busy))));
  return [
    rate(results, "bare-http"),
    rate(results, "bare-http POST", "bare-http"),
    rate(results, "hono", "bare-http"),
    rate(results, "bare-sqlite", "bare-http"),
    { ...rate(results, "create", "bare-sqlite"), target: { atLeast: 0.72 } },
    rate(results, "create", "bare-http"),
    rate(results, "create", "bare-http POST"),
    { ...rate(results, "retrieve", "bare-http"), target: { atLeast: 0.23 } },
    latency(results, "bare-sqlite", "p50"),
    latency(results, "bare-sqlite", "p99"),
    latency(results, "create", "p50"),
    { ...latency(results, "create", "p99"), target: { atMost: 15 } },
    latency(results, "retrieve", "p50"),
    latency(results, "retrieve", "p99"),
    { name: "load generator, busiest", value: busy, unit: "x", target: { atMost: MAX_BUSY } },
  ];
}

/** Loads the subjects in turn, each round beginning with a different subject. */
export async function runRounds<SubjectName extends string>(
  load: (order: LoadOrder) => Promise<LoadResult>,
  subjects: readonly Subject<SubjectName>[],
  rounds: number,
): Promise<Record<SubjectName, LoadResult[]>> {
  const results = Object.fromEntries(subjects.map(({ name }) => [name, []])) as unknown as Record<
    SubjectName,
    LoadResult[]
  >;
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, port, traffic } of rotate(subjects, round)) {
      results[name].push(await load({ ...ROUND, port, traffic }));
    }
  }
  return results;
}

/** The members in the same cyclic order, beginning with the member at index `by`. */
export function rotate<Member>(members: readonly Member[], by: number): Member[] {
  const start = by % members.length;
  return [...members.slice(start), ...members.slice(0, start)];
}

function rate(results: Results, name: Name, baseline?: Name): Figure {
  const rates = results[name].map(({ perSecond }) => perSecond);
  const figure = { name, value: median(rates), unit: "/s" } as const;
  if (baseline === undefined) return figure;
  const baselines = results[baseline].map(({ perSecond }) => perSecond);
  return { ...figure, baseline, ratio: medianRatio(rates, baselines) };
}

function latency(results: Results, name: Name, part: "p50" | "p99"): Figure {
  return { name: `${name} ${part}`, value: median(results[name].map((result) => result[part])), unit: "ms" };
}

async function startSubjects(
  bench: Bench,
  sandbox: Sandbox,
  load: (order: LoadOrder) => Promise<LoadResult>,
): Promise<Subject<Name>[]> {
  const { port, apiKey } = sandbox;
  const constant: Traffic = { kind: "get", targets: ["/"], apiKey: null };
  const create: Traffic = { kind: "create", apiKey };
  const bareHttp = await startBaseline(bench, ["bare-http.ts"]);
  const hono = await startBaseline(bench, ["hono-http.ts"]);
  const bareSqlite = await startBaseline(bench, ["bare-sqlite.ts", bench.newPath("bare.db")]);
  const { ids } = await load({ ...WARM_UP, port, traffic: create });
  const subjects: Subject<Name>[] = [
    { name: "bare-http", port: bareHttp, traffic: constant },
    { name: "bare-http POST", port: bareHttp, traffic: create },
    { name: "hono", port: hono, traffic: constant },
    { name: "bare-sqlite", port: bareSqlite, traffic: create },
    { name: "create", port, traffic: create },
    { name: "retrieve", port, traffic: { kind: "get", targets: ids.map(retrieveTarget), apiKey } },
  ];
  for (const subject of subjects) {
    if (subject.name !== "create") await load({ ...WARM_UP, ...subject });
  }
  return subjects;
}

export function retrieveTarget(id: string): string {
  return `/v1/checkout-sessions/${id}`;
}

async function startBaseline(bench: Bench, [file, ...args]: readonly [string, ...string[]]): Promise<number> {
  const { ready } = await bench.startServer([join(import.meta.dirname, "baselines", file), ...args]);
  return Number(ready["port"]);
}
