// `explore` of the test kit. Which schedules: core/explore/search.ts; what a run means: core/explore/judge.ts; one run:
// testing/explore/run.ts.
import {
  DROPPED_FOR_GOOD,
  EXPLORE_CAUSES,
  INVARIANTS,
  NOT_JUDGED,
  type ExploreCause,
  type NotJudgedReason,
} from "../../core/explore/invariants.ts";
import { brokenOf } from "../../core/explore/judge.ts";
import { english } from "../../core/language.ts";
import { closenessOf, nextWave, placesOf, type KnownRun } from "../../core/explore/search.ts";
import { keyOf, NO_FAULTS, sizeOf, type Schedule } from "../../core/explore/schedule.ts";
import { shrinking } from "../../core/explore/shrink.ts";
import { checkOptions } from "../call-options.ts";
import { internalsOf } from "../internals.ts";
import type { Sandbox } from "../types.ts";
import { runSchedule, type Bench, type Run } from "./run.ts";
import type { BrokenInvariant, Exploration, ExploreOptions, Invariant } from "./types.ts";

const DEFAULT_BUDGET_MS = 60_000;
const DEFAULT_DEPTH = 2;
/** Schedules that run side by side: applications mostly wait. */
const SIDE_BY_SIDE = 12;
/** A broken schedule is reported only if it breaks in this many further runs. */
const CONFIRMATIONS = 3;

/** Explores an application in stores of a sandbox. The seed decides among schedules of the same rank. */
export async function exploreIn(
  sandbox: Sandbox,
  options: ExploreOptions & { readonly seed: string },
): Promise<Exploration> {
  checkOptions("explore", options);
  const { purchase, view, start, only, seed } = options;
  const bench: Bench = { purchase, view, ...(start && { start }), sandbox, ...internalsOf(sandbox) };
  const first = only === undefined ? NO_FAULTS : { payer: NO_FAULTS.payer, ...only };
  const plain = await runSchedule(bench, first);
  if (only === undefined) refuseUseless(plain);
  const runs = [plain];
  if (only === undefined && brokenOf(plain.judgement).length === 0) await runWaves(bench, options, runs);
  const broken = await confirmAll(bench, runs);
  return {
    schedules: runs.length,
    held: runs.filter(({ judgement }) => brokenOf(judgement).length === 0).length,
    broken: broken.confirmed,
    notJudged: notJudgedIn(runs, broken.unsteady),
    advice: adviceOf(runs),
    seed,
  };
}

/** Throws if the application does not even work without faults, because then no run can say anything. */
function refuseUseless({ facts, viewError }: Run): void {
  const { purchase } = facts;
  if (purchase.end === "failure") throw new Error(`the purchase fails without a fault: ${purchase.message}`);
  if (purchase.end === "timeout") throw new Error("the purchase does not end without a fault");
  if (facts.checkouts.length === 0) throw new Error("the purchase made no order in its store");
  if (viewError !== undefined)
    throw new Error("the view cannot be read without a fault", { cause: viewError });
}

/** Runs the waves of the search, one after the other, until depth, budget or schedules are used up. */
async function runWaves(
  bench: Bench,
  {
    budgetMs = DEFAULT_BUDGET_MS,
    depth = DEFAULT_DEPTH,
    maxSchedules = Number.POSITIVE_INFINITY,
    seed,
  }: ExploreOptions & { readonly seed: string },
  runs: Run[],
): Promise<void> {
  const { world } = bench.running;
  const until = world.monotonic() + budgetMs;
  const [plain] = runs;
  const known = (run: Run): KnownRun => ({
    schedule: run.facts.schedule,
    places: placesOf(run.facts),
    closeness: plain === undefined ? 0 : closenessOf(run.facts, plain.facts),
    isBroken: brokenOf(run.judgement).length > 0,
  });
  for (let size = 1; size <= depth; size += 1) {
    const wave = nextWave(runs.map(known), seed).slice(0, Math.max(0, maxSchedules - runs.length));
    const done = await sideBySide(wave, async (schedule) =>
      world.monotonic() < until ? runSchedule(bench, schedule) : undefined,
    );
    runs.push(...done.filter((run) => run !== undefined));
    if (done.includes(undefined) || wave.length === 0) return;
  }
}

/** Maps items with a limited number at a time; the results are in the order of the items. */
async function sideBySide<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await act(item);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return results;
}

type Found = {
  readonly invariant: Invariant;
  readonly cause: ExploreCause;
  readonly runs: readonly Run[];
};

/** Each cause with the runs that show it, those with fewer faults first. */
function causesIn(runs: readonly Run[]): readonly Found[] {
  const found = new Map<string, Found>();
  for (const run of runs.toSorted((one, other) => sizeOf(one.facts.schedule) - sizeOf(other.facts.schedule)))
    for (const { invariant, cause } of brokenOf(run.judgement)) {
      const name = `${invariant} ${cause}`;
      found.set(name, { invariant, cause, runs: (found.get(name)?.runs ?? []).concat(run) });
    }
  return [...found.values()];
}

/** Shrinks and confirms the least schedule of each cause. Causes that are not confirmed are unsteady. */
async function confirmAll(
  bench: Bench,
  runs: readonly Run[],
): Promise<{ readonly confirmed: readonly BrokenInvariant[]; readonly unsteady: readonly Invariant[] }> {
  const known = new Map(runs.map((run) => [keyOf(run.facts.schedule), run] as const));
  const results = await sideBySide(causesIn(runs), (found) => confirm(bench, found, known));
  const confirmed: BrokenInvariant[] = [];
  for (const one of results)
    if (typeof one === "object" && !confirmed.some((other) => isSame(one, other))) confirmed.push(one);
  return { confirmed, unsteady: results.filter((one) => typeof one === "string") };
}

function isSame(one: BrokenInvariant, other: BrokenInvariant): boolean {
  return one.rerun === other.rerun && one.invariant === other.invariant && one.cause === other.cause;
}

async function confirm(
  bench: Bench,
  { invariant, cause, runs }: Found,
  known: Map<string, Run>,
): Promise<BrokenInvariant | Invariant> {
  const breaks = (run: Run): boolean => brokenOf(run.judgement).some((one) => one.invariant === invariant);
  for (const run of runs) {
    const search = shrinking(run.facts.schedule);
    let step = search.next();
    while (step.done !== true) {
      const candidate = known.get(keyOf(step.value)) ?? (await runSchedule(bench, step.value));
      known.set(keyOf(step.value), candidate);
      step = search.next(breaks(candidate));
    }
    const least = step.value;
    const again = await Promise.all(Array.from({ length: CONFIRMATIONS }, () => runSchedule(bench, least)));
    const [first] = again;
    if (first === undefined || !again.every(breaks)) continue;
    const shown = brokenOf(first.judgement).find((one) => one.invariant === invariant)?.cause ?? cause;
    return {
      faults: least.faults,
      payer: least.payer,
      invariant,
      cause: shown,
      text: textOf(invariant, shown),
      story: first.story,
      rerun: rerunOf(least),
      schedules: runs.length,
    };
  }
  return invariant;
}

function textOf(invariant: Invariant, cause: ExploreCause): string {
  const { rule, cure } = INVARIANTS[invariant];
  return `Broken: ${english(rule)}. ${english(EXPLORE_CAUSES[cause])} ${english(cure)}`;
}

function rerunOf({ faults, payer }: Schedule): string {
  return `explore({ purchase, view, only: ${JSON.stringify({ faults, payer })} })`;
}

function notJudgedIn(runs: readonly Run[], unsteady: readonly Invariant[]): Exploration["notJudged"] {
  const judged = new Set(
    runs.flatMap(({ judgement }) => judgement.verdicts.map(({ invariant }) => invariant)),
  );
  const never = (Object.keys(INVARIANTS) as Invariant[]).filter((invariant) => !judged.has(invariant));
  const reasonOf = (invariant: Invariant): NotJudgedReason => {
    if (invariant === "secrets_kept") return "not_seen";
    if (invariant === "recovery") return "nothing_failed";
    return invariant === "booked_once" || invariant === "right_amount" ? "status_alone" : "not_shown";
  };
  const told = (invariant: Invariant, reason: NotJudgedReason) => ({
    invariant,
    reason: english(NOT_JUDGED[reason]),
  });
  return [
    ...never.map((invariant) => told(invariant, reasonOf(invariant))),
    ...[...new Set(unsteady)].map((invariant) => told(invariant, "not_again")),
  ];
}

function adviceOf(runs: readonly Run[]): Exploration["advice"] {
  const dropped = runs.filter(({ judgement }) => judgement.isDropped);
  const [least] = dropped.toSorted((one, other) => sizeOf(one.facts.schedule) - sizeOf(other.facts.schedule));
  if (least === undefined) return [];
  return [{ faults: least.facts.schedule.faults, text: english(DROPPED_FOR_GOOD) }];
}
