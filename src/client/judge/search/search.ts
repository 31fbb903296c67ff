import { englishOf } from "../../../core/readiness/drills/said.ts";
import { causeOf, type BrokenRule } from "../../../core/judge/judge.ts";
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
  readonly onlySchedule: Schedule | undefined;
  readonly concurrency: number;
  readonly kills?: KillsByPlace;
  /** Without a view, faults are injected at requests only. */
  readonly hasView: boolean;
  readonly amountField: "amountMinor" | "amount_minor";
  readonly rerunOf: (schedule: Schedule) => string;
  readonly onWave?: (wave: { readonly size: number; readonly count: number }) => void;
};

type Finding = DomainOf<typeof finding> & Pick<Schedule, "faults">;

export type ExplorationResult = DomainOf<typeof searchResult> & {
  readonly notRun: readonly Schedule[];
  readonly broken: readonly Finding[];
  readonly advice: readonly (Pick<Schedule, "faults"> & { readonly text: string })[];
};

type UselessSearch = { readonly reason: string; readonly cause?: unknown };

/** `budgetMs`: time after which the search starts no new schedule; `depth`: maximum schedule size. */
export const SEARCH_DEFAULTS = { budgetMs: 60_000, depth: 2 } as const;
const CONFIRMING_RUNS = 3;

export async function runSearch(search: Search): Promise<ExplorationResult | UselessSearch> {
  const { onlySchedule, seed } = search;
  const plainRun = await search.run(onlySchedule ?? NO_FAULTS);
  const uselessSearch = onlySchedule === undefined ? findUseless(plainRun, search.hasView) : undefined;
  if (uselessSearch !== undefined) return uselessSearch;
  const runs = [plainRun];
  const isSearch = onlySchedule === undefined && plainRun.broken.length === 0;
  const skippedSchedules = isSearch ? await runWaves(search, runs) : [];
  const { confirmedFindings, flakyInvariants } = await confirmCauses(search, runs);
  return {
    schedules: runs.length,
    held: runs.filter(({ broken }) => broken.length === 0).length,
    notRun: skippedSchedules,
    broken: confirmedFindings,
    notJudged: findNotJudged(runs, flakyInvariants, search),
    advice: adviceOf(runs),
    table: placeTable(placesOf(plainRun.trace), [
      ...runs.map((run) => ({ schedule: run.schedule, result: resultOf(run, confirmedFindings) })),
      ...skippedSchedules.map((schedule) => ({ schedule, result: "not_judged" as const })),
    ]),
    seed,
  };
}

function resultOf({ broken, isEventLost }: ExploreRun, findings: readonly Finding[]): ScheduleResult {
  if (broken.some(({ invariant }) => findings.some((item) => item.invariant === invariant))) return "broken";
  return broken.length > 0 || isEventLost ? "not_judged" : "held";
}

function findUseless(
  { trace, purchaseRuns, lastLook, viewError }: ExploreRun,
  hasView: boolean,
): UselessSearch | undefined {
  const [purchase] = purchaseRuns;
  if (purchase?.hasEnded === false) return { reason: "the purchase does not end even without faults" };
  if (purchase?.isDone === false)
    return { reason: `the purchase fails even without faults: ${englishOf(purchase.got)}` };
  if (!trace.hasOrder) return { reason: "the purchase created no order in its store" };
  if (!hasView || lastLook?.view !== null) return undefined;
  const reason = `the view cannot be read even without faults: ${englishOf(lastLook.got)}`;
  return { reason, cause: viewError };
}

async function runWaves(
  {
    run,
    world,
    budgetMs = SEARCH_DEFAULTS.budgetMs,
    depth = SEARCH_DEFAULTS.depth,
    maxSchedules = Number.POSITIVE_INFINITY,
    seed,
    kills = { request: [], delivery: [] },
    hasView,
    concurrency,
    onWave,
  }: Search,
  runs: ExploreRun[],
): Promise<readonly Schedule[]> {
  const deadline = world.monotonic() + budgetMs;
  const [plainRun] = runs;
  const toKnownRun = (searchRun: ExploreRun): KnownRun => ({
    schedule: searchRun.schedule,
    places: placesOf(searchRun.trace).filter(({ kind }) => hasView || kind === "request"),
    score: plainRun === undefined ? 0 : differenceScore(searchRun.trace, plainRun.trace),
    // A schedule that only breaks `refuses_forged` is extended, because a larger schedule may show another mistake.
    isBroken: searchRun.broken.some(({ invariant }) => invariant !== "refuses_forged"),
  });
  for (let size = 1; size <= depth; size += 1) {
    const wave = nextWave(runs.map(toKnownRun), { seed, kills });
    const waveSchedules = wave.slice(0, Math.max(0, maxSchedules - runs.length));
    if (waveSchedules.length > 0) onWave?.({ size, count: waveSchedules.length });
    const waveRuns = await mapInLanes(waveSchedules, concurrency, async (schedule) =>
      world.monotonic() < deadline ? run(schedule) : undefined,
    );
    runs.push(...waveRuns.filter((waveRun) => waveRun !== undefined));
    const skippedSchedules = wave.filter((_schedule, index) => waveRuns[index] === undefined);
    if (skippedSchedules.length > 0) return skippedSchedules;
  }
  return [];
}

type FoundCause = { readonly invariant: JudgedInvariant; readonly runs: readonly ExploreRun[] };

function groupByCause(runs: readonly ExploreRun[]): readonly FoundCause[] {
  const foundCauses = new Map<string, FoundCause>();
  for (const run of sortBySize(runs))
    for (const { invariant, cause } of run.broken) {
      const causeKey = `${invariant} ${cause ?? ""}`;
      foundCauses.set(causeKey, { invariant, runs: (foundCauses.get(causeKey)?.runs ?? []).concat(run) });
    }
  return [...foundCauses.values()];
}

function sortBySize(runs: readonly ExploreRun[]): readonly ExploreRun[] {
  return runs.toSorted((left, right) => scheduleSize(left.schedule) - scheduleSize(right.schedule));
}

async function confirmCauses(search: Search, runs: readonly ExploreRun[]) {
  const knownRuns = new Map(runs.map((run) => [scheduleKey(run.schedule), run] as const));
  const results = await mapInLanes(groupByCause(runs), search.concurrency, (foundCause) =>
    confirm(search, foundCause, knownRuns),
  );
  const findings = results.filter((item) => typeof item === "object");
  const isSame = (left: Finding, right: Finding): boolean =>
    left.rerun === right.rerun && left.invariant === right.invariant && left.cause === right.cause;
  // A broken `refuses_forged` comes last: a booking of a forged event proves more than the answer to it.
  const rank = ({ invariant }: Finding): number => Number(invariant === "refuses_forged");
  const confirmedFindings = findings
    .filter((item, index) => findings.findIndex((finding) => isSame(item, finding)) === index)
    .toSorted((left, right) => rank(left) - rank(right));
  return { confirmedFindings, flakyInvariants: results.filter((item) => typeof item === "string") };
}

async function confirm(
  search: Search,
  { invariant, runs }: FoundCause,
  knownRuns: Map<string, ExploreRun>,
): Promise<Finding | JudgedInvariant> {
  const brokenRule = ({ broken }: ExploreRun) => broken.find((entry) => entry.invariant === invariant);
  for (const { schedule } of runs) {
    const steps = shrinkSchedule(schedule);
    let step = steps.next();
    while (step.done !== true) {
      const candidate = knownRuns.get(scheduleKey(step.value)) ?? (await search.run(step.value));
      knownRuns.set(scheduleKey(step.value), candidate);
      step = steps.next(brokenRule(candidate) !== undefined);
    }
    const smallestSchedule = step.value;
    const repeatedSchedules = Array.from({ length: CONFIRMING_RUNS }, () => smallestSchedule);
    const repeatedRuns = await mapInLanes(repeatedSchedules, search.concurrency, search.run);
    const [firstRun] = repeatedRuns;
    const firstBreak = firstRun && brokenRule(firstRun);
    if (firstBreak === undefined || !repeatedRuns.every((run) => brokenRule(run) !== undefined)) continue;
    return {
      ...smallestSchedule,
      invariant,
      cause: firstBreak.cause ?? "not_explained",
      text: textOf(firstBreak),
      story: firstRun?.story ?? "",
      rerun: search.rerunOf(smallestSchedule),
      schedules: runs.length,
    };
  }
  return invariant;
}

function textOf(finding: BrokenRule): string {
  const { invariant, cause, expected, got } = finding;
  const rule = english(JUDGED_INVARIANTS[invariant].rule);
  const causeText = englishOf(causeOf(finding));
  return cause === null
    ? `Broken: ${causeText} Expected ${englishOf(expected)}; got ${englishOf(got)}.`
    : `Broken: ${rule}. ${causeText}`;
}

const CLIENT_INVARIANTS: ReadonlySet<JudgedInvariant> = new Set([
  "one_key",
  "one_order",
  "client_ends",
  "recovery",
]);

function findNotJudged(
  runs: readonly ExploreRun[],
  flakyInvariants: readonly JudgedInvariant[],
  { hasView, amountField }: Pick<Search, "hasView" | "amountField">,
): ExplorationResult["notJudged"] {
  const judgedInvariants = new Set(runs.flatMap(({ judgedInvariants: shown }) => [...shown]));
  const reasonOf = (invariant: JudgedInvariant): NotJudgedReason => {
    if (invariant === "recovery") return "nothing_failed";
    if (!hasView && !CLIENT_INVARIANTS.has(invariant)) return "no_view";
    return invariant === "booked_once" || invariant === "right_amount" ? "status_alone" : "not_shown";
  };
  const unjudgedItems = (Object.keys(JUDGED_INVARIANTS) as JudgedInvariant[])
    .filter((invariant) => !judgedInvariants.has(invariant))
    .map((invariant) => ({ invariant, reason: reasonOf(invariant) }));
  const flakyItems = [...new Set(flakyInvariants)].map(
    (invariant) => ({ invariant, reason: "not_again" }) as const,
  );
  return [...unjudgedItems, ...flakyItems].map(({ invariant, reason }) => {
    const words = NOT_JUDGED_REASONS[reason];
    return { invariant, reason: english(typeof words === "function" ? words(amountField) : words) };
  });
}

function adviceOf(runs: readonly ExploreRun[]): ExplorationResult["advice"] {
  const [smallestRun] = sortBySize(runs.filter(({ isEventLost }) => isEventLost));
  if (smallestRun === undefined) return [];
  return [{ faults: smallestRun.schedule.faults, text: english(DROPPED_EVENT_ADVICE) }];
}
