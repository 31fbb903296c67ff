import { median, medianRatio, type Figure } from "./figures.ts";
import type { Traffic } from "./load.ts";
import type { Bench } from "./processes.ts";
import { retrieveTarget, runRounds, WARM_UP, type Subject } from "./throughput.ts";

const ROUNDS = 15;

type Name = "create" | "create, not logged" | "retrieve" | "retrieve, not logged";

/** The cost of the request log: the same server with the log and without it, in the same rounds. */
export async function measureRequestLog(bench: Bench): Promise<Figure[]> {
  const logged = await bench.startSandbox(bench.newPath("logged"));
  const plain = await bench.startSandbox(bench.newPath("not-logged"), ["--kept-requests", "0"]);
  const load = bench.startLoad();
  const subjects: Subject<Name>[] = [];
  for (const [{ port, apiKey }, create, retrieve] of [
    [logged, "create", "retrieve"],
    [plain, "create, not logged", "retrieve, not logged"],
  ] as const) {
    const creates: Traffic = { kind: "create", apiKey };
    const { ids } = await load({ ...WARM_UP, port, traffic: creates });
    const retrieves: Traffic = { kind: "get", targets: ids.map(retrieveTarget), apiKey };
    await load({ ...WARM_UP, port, traffic: retrieves });
    subjects.push({ name: create, port, traffic: creates }, { name: retrieve, port, traffic: retrieves });
  }
  const results = await runRounds(load, subjects, ROUNDS);
  const rates = (name: Name): number[] => results[name].map(({ perSecond }) => perSecond);
  const against = (name: Name, baseline: Name, atLeast: number): Figure => ({
    name,
    value: median(rates(name)),
    unit: "/s",
    baseline,
    ratio: medianRatio(rates(name), rates(baseline)),
    target: { atLeast },
  });
  return [against("create", "create, not logged", 0.92), against("retrieve", "retrieve, not logged", 0.88)];
}
