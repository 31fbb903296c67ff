import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createKeyWriter } from "../../src/host/folder/kept-keys.ts";
import { REAL } from "../support/real.ts";
import { createStore } from "../../src/sandbox/runtime/seed.ts";
import { IN_MEMORY } from "../../src/store/connection/database.ts";
import { openStore } from "../../src/store/store.ts";
import { median, medianRatio, type Figure } from "./figures.ts";
import type { LoadOrder, LoadResult, Traffic } from "./load.ts";
import type { Bench, Sandbox } from "./processes.ts";
import { runRounds, WARM_UP, type Subject } from "./throughput.ts";

const STORES = 1000;
const AT_ONCE = 32;
const ROUNDS = 15;
const MASTER_KEY = new Uint8Array(32);

/** The cost of creating a store, and the cost of a create in a sandbox of a thousand stores. */
export async function measureStores(bench: Bench): Promise<Figure[]> {
  const folder = bench.newPath("stores");
  mkdirSync(folder, { mode: 0o700 });
  return [
    creationFigure(
      "on disk, 32 at once",
      await makeStores(join(folder, "many.db"), createKeyWriter(REAL, folder), AT_ONCE),
      1,
    ),
    creationFigure(
      "on disk, alone",
      await makeStores(join(folder, "alone.db"), createKeyWriter(REAL, folder), 1),
    ),
    creationFigure("in memory", await makeStores(IN_MEMORY, createKeyWriter(REAL, undefined), 1), 0.3),
    await createBeside(bench),
  ];
}

function creationFigure(where: string, milliseconds: readonly number[], atMost?: number): Figure {
  const name = `a store, made ${where}`;
  const figure = { name, value: median(milliseconds), unit: "ms" } as const;
  return atMost === undefined ? figure : { ...figure, target: { atMost } };
}

/** Creates stores as the control API does, `atOnce` at a time; returns the milliseconds per store of each round. */
async function makeStores(
  path: string,
  keep: ReturnType<typeof createKeyWriter>,
  atOnce: number,
): Promise<number[]> {
  const opened = openStore(path, { nativeBinding: REAL.sqliteAddon(), pid: REAL.pid, scheduler: REAL });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const store = opened.value;
  const times: number[] = [];
  const makeOne = async (): Promise<void> => {
    const outcome = await createStore({ store, world: REAL, masterKey: MASTER_KEY, ...keep }, {});
    if (!outcome.ok) throw new Error(outcome.refusal.message);
  };
  for (let number = 0; number < STORES; number += atOnce) {
    const before = performance.now();
    await Promise.all(Array.from({ length: atOnce }, makeOne));
    times.push((performance.now() - before) / atOnce);
  }
  store.close();
  return times;
}

/** Creates in the last of a thousand stores, compared with creates in a sandbox with one store, in the same run. */
async function createBeside(bench: Bench): Promise<Figure> {
  const [one, many] = [
    await bench.startSandbox(bench.newPath("one-store")),
    await bench.startSandbox(bench.newPath("many-stores")),
  ];
  const apiKey = await fill(many);
  const load = bench.startLoad();
  const subjects = [await warm(load, "one", one), await warm(load, "many", { ...many, apiKey })];
  const results = await runRounds(load, subjects, ROUNDS);
  const [values, baselines] = [results.many, results.one].map((rounds) =>
    rounds.map(({ perSecond }) => perSecond),
  );
  if (values === undefined || baselines === undefined) throw new Error("nothing was measured");
  return {
    name: `create, ${STORES.toLocaleString("en")} stores`,
    value: median(values),
    unit: "/s",
    baseline: `${median(baselines).toFixed(0)}/s, 1 store`,
    ratio: medianRatio(values, baselines),
    target: { atLeast: 0.95 },
  };
}

/** Creates the other stores, and returns the API key of the last store. */
async function fill({ ready, port }: Sandbox): Promise<string> {
  let apiKey = "";
  for (let number = 1; number < STORES; number += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/__sandbox/stores`, {
      method: "POST",
      headers: { Authorization: `Bearer ${String(ready["control_token"])}` },
      body: "{}",
    });
    const { data } = (await answer.json()) as { readonly data: { readonly api_key: string } };
    apiKey = data.api_key;
  }
  return apiKey;
}

async function warm<Name extends string>(
  load: (order: LoadOrder) => Promise<LoadResult>,
  name: Name,
  { port, apiKey }: Pick<Sandbox, "port" | "apiKey">,
): Promise<Subject<Name>> {
  const traffic: Traffic = { kind: "create", apiKey };
  await load({ ...WARM_UP, port, traffic });
  return { name, port, traffic };
}
