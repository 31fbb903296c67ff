// Runs the search of `explore`, for the test kit (testing/explore/) and for commands (client/judge/search/benches.ts).
// The schedules: core/judge/search.ts; a run and its judgement: client/judge/search/run-schedule.ts.
import { englishOf } from "../../../core/readiness/drills/said.ts";
import { causeOf, type Broken } from "../../../core/judge/judge.ts";
import { JUDGED_INVARIANTS, type JudgedInvariant } from "../../../core/readiness/drills/judged-invariants.ts";
import {
  DROPPED_EVENT_ADVICE,
  NOT_JUDGED_REASONS,
  type NotJudgedReason,
} from "../../../core/readiness/drills/judge-sentences.ts";
import {
  differenceScore,
  nextWave,
  placesOf,
  placeTable,
  shrinkSchedule,
  type KillsByPlace,
  type KnownRun,
  type ScheduleResult,
} from "../../../core/judge/search.ts";
import { scheduleKey, NO_FAULTS, scheduleSize, type Schedule } from "../../../core/judge/schedule.ts";
import type { finding, searchResult } from "../../../core/judge/shapes.ts";
import { english } from "../../../core/language.ts";
import type { DomainOf } from "../../../core/shape/fields.ts";
import type { World } from "../../../world.ts";
import { mapInLanes } from "../../lanes.ts";
import type { ExploreRun } from "./run-schedule.ts";

type Search = {
  readonly run: (schedule: Schedule) => Promise<ExploreRun>;
  readonly world: Pick<World, "monotonic">;
  readonly seed: string;
  readonly budgetMs: number | undefined;
  readonly maxSchedules?: number | undefined;
  readonly depth: number | undefined;
  readonly only: Schedule | undefined;
  /** The number of schedules that run in parallel. */
  readonly sideBySide: number;
  /** Default: no process is killed. */
  readonly kills?: KillsByPlace;
  /** Whether there is a view of the application's bookings. Without one, faults are injected at requests alone. */
  readonly hasView: boolean;
  readonly amountField: "amountMinor" | "amount_minor";
  readonly rerunOf: (schedule: Schedule) => string;
  /** Called before the schedules of each size are run. */
  readonly onWave?: (wave: { readonly size: number; readonly count: number }) => void;
};

/** A broken invariant, and the smallest schedule that breaks it. */
type Finding = DomainOf<typeof finding> & Pick<Schedule, "faults">;

export type ExplorationResult = DomainOf<typeof searchResult> & {
  /** The schedules of the last size that the budget, or the limit of schedules, left out. */
  readonly notRun: readonly Schedule[];
  readonly broken: readonly Finding[];
  readonly advice: readonly (Pick<Schedule, "faults"> & { readonly text: string })[];
};

/** Why an application cannot be explored: it fails even without faults. */
type Useless = { readonly why: string; readonly cause?: unknown };

/** `budgetMs`: time after which no new schedule starts, in milliseconds; `depth`: faults in one schedule. */
export const SEARCH_DEFAULTS = { budgetMs: 60_000, depth: 2 } as const;
const NO_KILLS: KillsByPlace = { request: [], delivery: [] };
/** Number of further runs in which a broken schedule must break again to be reported. */
const CONFIRMATIONS = 3;

/** Shrinks and confirms the schedules that break an invariant. */
export async function exploreAll(search: Search): Promise<ExplorationResult | Useless> {
  const { only, seed } = search;
  const plainRun = await search.run(only ?? NO_FAULTS);
  const useless = only === undefined ? uselessOf(plainRun, search.hasView) : undefined;
  if (useless !== undefined) return useless;
  const runs = [plainRun];
  const isSearch = only === undefined && plainRun.broken.length === 0;
  const leftSchedules = isSearch ? await runWaves(search, runs) : [];
  const { confirmed, unsteady } = await confirmAll(search, runs);
  return {
    schedules: runs.length,
    held: runs.filter(({ broken }) => broken.length === 0).length,
    notRun: leftSchedules,
    broken: confirmed,
    notJudged: findNotJudged(runs, unsteady, search),
    advice: adviceOf(runs),
    table: placeTable(placesOf(plainRun.trace), [
      ...runs.map((run) => ({ schedule: run.schedule, result: resultOf(run, confirmed) })),
      ...leftSchedules.map((schedule) => ({ schedule, result: "not_judged" as const })),
    ]),
    seed,
  };
}

function resultOf({ broken, isDropped }: ExploreRun, confirmed: readonly Finding[]): ScheduleResult {
  if (broken.some(({ invariant }) => confirmed.some((item) => item.invariant === invariant))) return "broken";
  return broken.length > 0 || isDropped ? "not_judged" : "held";
}

function uselessOf({ trace, purchases, last, viewError }: ExploreRun, hasView: boolean): Useless | undefined {
  const [purchase] = purchases;
  if (purchase?.hasEnded === false) return { why: "the purchase does not end even without faults" };
  if (purchase?.isDone === false)
    return { why: `the purchase fails even without faults: ${englishOf(purchase.got)}` };
  if (!trace.hasOrder) return { why: "the purchase created no order in its store" };
  if (hasView && last?.view === null)
    return { why: `the view cannot be read even without faults: ${englishOf(last.got)}`, cause: viewError };
  return undefined;
}

/** Searches until depth, budget or schedules are exhausted. Returns the schedules of the last wave that were not run. */
async function runWaves(
  {
    run,
    world,
    budgetMs = SEARCH_DEFAULTS.budgetMs,
    depth = SEARCH_DEFAULTS.depth,
    maxSchedules = Number.POSITIVE_INFINITY,
    seed,
    kills = NO_KILLS,
    hasView,
    sideBySide: width,
    onWave,
  }: Search,
  runs: ExploreRun[],
): Promise<readonly Schedule[]> {
  const until = world.monotonic() + budgetMs;
  const [plainRun] = runs;
  const knownRun = (searchRun: ExploreRun): KnownRun => ({
    schedule: searchRun.schedule,
    places: placesOf(searchRun.trace).filter(({ kind }) => hasView || kind === "request"),
    closeness: plainRun === undefined ? 0 : differenceScore(searchRun.trace, plainRun.trace),
    // Consequences of an accepted forged event are another mistake.
    isBroken: searchRun.broken.some(({ invariant }) => invariant !== "refuses_forged"),
  });
  for (let size = 1; size <= depth; size += 1) {
    const wave = nextWave(runs.map(knownRun), { seed, kills });
    const waveSchedules = wave.slice(0, Math.max(0, maxSchedules - runs.length));
    if (waveSchedules.length > 0) onWave?.({ size, count: waveSchedules.length });
    const waveRuns = await mapInLanes(waveSchedules, width, async (schedule) =>
      world.monotonic() < until ? run(schedule) : undefined,
    );
    runs.push(...waveRuns.filter((waveRun) => waveRun !== undefined));
    const leftSchedules = wave.filter((_schedule, at) => waveRuns[at] === undefined);
    if (leftSchedules.length > 0) return leftSchedules;
  }
  return [];
}

type Found = Pick<Broken, "invariant"> & { readonly runs: readonly ExploreRun[] };

/** Each cause with the runs that show it; runs with fewer faults first. */
function causesIn(runs: readonly ExploreRun[]): readonly Found[] {
  const foundCauses = new Map<string, Found>();
  for (const run of sortBySize(runs))
    for (const { invariant, cause } of run.broken) {
      const name = `${invariant} ${cause ?? ""}`;
      foundCauses.set(name, { invariant, runs: (foundCauses.get(name)?.runs ?? []).concat(run) });
    }
  return [...foundCauses.values()];
}

function sortBySize(runs: readonly ExploreRun[]): readonly ExploreRun[] {
  return runs.toSorted((left, right) => scheduleSize(left.schedule) - scheduleSize(right.schedule));
}

/** Shrinks and confirms the smallest schedule of each cause. Causes that are not confirmed are unsteady. */
async function confirmAll(
  search: Search,
  runs: readonly ExploreRun[],
): Promise<{ readonly confirmed: readonly Finding[]; readonly unsteady: readonly JudgedInvariant[] }> {
  const knownRuns = new Map(runs.map((run) => [scheduleKey(run.schedule), run] as const));
  const results = await mapInLanes(causesIn(runs), search.sideBySide, (foundCause) =>
    confirm(search, foundCause, knownRuns),
  );
  const confirmed: Finding[] = [];
  for (const item of results)
    if (typeof item === "object" && !confirmed.some((finding) => isSame(item, finding))) confirmed.push(item);
  // A booked forged event proves more than its answer.
  const rank = ({ invariant }: Finding): number => Number(invariant === "refuses_forged");
  confirmed.sort((left, right) => rank(left) - rank(right));
  return { confirmed, unsteady: results.filter((item) => typeof item === "string") };
}

function isSame(left: Finding, right: Finding): boolean {
  return left.rerun === right.rerun && left.invariant === right.invariant && left.cause === right.cause;
}

async function confirm(
  search: Search,
  { invariant, runs }: Found,
  knownRuns: Map<string, ExploreRun>,
): Promise<Finding | JudgedInvariant> {
  const breakIn = ({ broken }: ExploreRun) => broken.find((entry) => entry.invariant === invariant);
  for (const { schedule } of runs) {
    const steps = shrinkSchedule(schedule);
    let step = steps.next();
    while (step.done !== true) {
      const candidate = knownRuns.get(scheduleKey(step.value)) ?? (await search.run(step.value));
      knownRuns.set(scheduleKey(step.value), candidate);
      step = steps.next(breakIn(candidate) !== undefined);
    }
    const leastSchedule = step.value;
    const times = Array.from({ length: CONFIRMATIONS }, () => leastSchedule);
    const repeatedRuns = await mapInLanes(times, search.sideBySide, search.run);
    const [firstRun] = repeatedRuns;
    const firstBreak = firstRun && breakIn(firstRun);
    if (firstBreak === undefined || !repeatedRuns.every((run) => breakIn(run) !== undefined)) continue;
    return {
      ...leastSchedule,
      invariant,
      cause: firstBreak.cause ?? "not_explained",
      text: textOf(firstBreak),
      story: firstRun?.story ?? "",
      rerun: search.rerunOf(leastSchedule),
      schedules: runs.length,
    };
  }
  return invariant;
}

/** The broken rule with its cause; without a cause with the two answers that differ. */
function textOf(finding: Broken): string {
  const { invariant, cause, expected, got } = finding;
  const rule = english(JUDGED_INVARIANTS[invariant].rule);
  const words = englishOf(causeOf(finding));
  return cause === null
    ? `Broken: ${words} Expected ${englishOf(expected)}; got ${englishOf(got)}.`
    : `Broken: ${rule}. ${words}`;
}

const OF_CLIENT: ReadonlySet<JudgedInvariant> = new Set(["one_key", "one_order", "client_ends", "recovery"]);

function findNotJudged(
  runs: readonly ExploreRun[],
  unsteady: readonly JudgedInvariant[],
  { hasView, amountField }: Pick<Search, "hasView" | "amountField">,
): ExplorationResult["notJudged"] {
  const judgedInvariants = new Set(runs.flatMap(({ shown }) => [...shown]));
  const unjudgedInvariants = (Object.keys(JUDGED_INVARIANTS) as JudgedInvariant[]).filter(
    (invariant) => !judgedInvariants.has(invariant),
  );
  const reasonOf = (invariant: JudgedInvariant): NotJudgedReason => {
    if (invariant === "recovery") return "nothing_failed";
    if (!hasView && !OF_CLIENT.has(invariant)) return "no_view";
    return invariant === "booked_once" || invariant === "right_amount" ? "status_alone" : "not_shown";
  };
  const notJudgedItem = (invariant: JudgedInvariant, reason: NotJudgedReason) => ({
    invariant,
    reason: english(
      reason === "status_alone" ? NOT_JUDGED_REASONS[reason](amountField) : NOT_JUDGED_REASONS[reason],
    ),
  });
  return [
    ...unjudgedInvariants.map((invariant) => notJudgedItem(invariant, reasonOf(invariant))),
    ...[...new Set(unsteady)].map((invariant) => notJudgedItem(invariant, "not_again")),
  ];
}

function adviceOf(runs: readonly ExploreRun[]): ExplorationResult["advice"] {
  const [leastRun] = sortBySize(runs.filter(({ isDropped }) => isDropped));
  if (leastRun === undefined) return [];
  return [{ faults: leastRun.schedule.faults, text: english(DROPPED_EVENT_ADVICE) }];
}
