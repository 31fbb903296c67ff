import { runSearch } from "../../client/judge/search/search.ts";
import { runSchedule } from "../../client/judge/search/run-schedule.ts";
import { isKill, NO_FAULTS, type Schedule, type ScheduledFault } from "../../core/judge/schedule.ts";
import { checkOptions } from "../call-options.ts";
import { internalsOf } from "../internals.ts";
import type { Sandbox } from "../types.ts";
import { createBenchOpener } from "./bench.ts";
import type { Exploration, ExploreFault, ExploreOptions } from "./types.ts";

const CONCURRENCY = 12;

/** Rejects if the application does not work without faults. */
export async function exploreInSandbox(
  sandbox: Sandbox,
  options: ExploreOptions & { readonly seed: string },
): Promise<Exploration> {
  checkOptions("explore", options);
  const { only, seed, budgetMs, maxSchedules, depth } = options;
  const { world } = internalsOf(sandbox).running;
  const openBench = createBenchOpener(sandbox, options);
  const result = await runSearch({
    run: (schedule) => runSchedule(openBench, schedule),
    world,
    seed,
    budgetMs,
    maxSchedules,
    depth,
    onlySchedule: only && { payer: NO_FAULTS.payer, ...only },
    concurrency: CONCURRENCY,
    hasView: true,
    amountField: "amountMinor",
    rerunOf,
  });
  if ("reason" in result)
    throw new Error(result.reason, result.cause === undefined ? {} : { cause: result.cause });
  return {
    ...result,
    notRun: result.notRun.length,
    histories: result.schedules,
    places: result.table.map(({ place }) => place),
    broken: result.broken.map(({ faults, ...rest }) => Object.assign(rest, { faults: removeKills(faults) })),
    advice: result.advice.map(({ faults, text }) => ({ faults: removeKills(faults), text })),
  };
}

function removeKills(faults: readonly ScheduledFault[]): readonly ExploreFault[] {
  return faults.filter((fault): fault is ExploreFault & ScheduledFault => !isKill(fault.action));
}

function rerunOf({ faults, payer }: Schedule): string {
  return `explore({ purchase, view, only: ${JSON.stringify({ faults, payer })} })`;
}
