// Places come from runs, so a fault can also be put at a request or a delivery that only another fault
// causes, such as the retry of a create.
import { API_ACTIONS, DELIVERY_ACTIONS } from "../fault/actions.ts";
import { hashedFractionOf } from "../fault/fraction.ts";
import type { PlaceResults } from "../readiness/shapes.ts";
import { isUuid } from "../text.ts";
import type { ObservedDelivery } from "./observation.ts";
import {
  faultAt,
  placeOfFault,
  scheduleKey,
  NO_FAULTS,
  subschedulesOf,
  PAYER_OUTCOMES,
  scheduleSize,
  type Kill,
  type Schedule,
  type ScheduledFault,
} from "./schedule.ts";

export type StepPlace =
  | {
      readonly kind: "request";
      readonly method: "GET" | "POST";
      readonly path: string;
      readonly nth: number;
    }
  | { readonly kind: "delivery"; readonly eventType: string; readonly nth: number }
  | { readonly kind: "page" };

export type Trace = {
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly status: number;
    readonly isFaulty: boolean;
  }[];
  readonly deliveries: readonly Pick<ObservedDelivery, "eventType" | "cause" | "attempts">[];
  readonly hasOrder: boolean;
  readonly hasPurchased: boolean;
};

export type KnownRun = {
  readonly schedule: Schedule;
  readonly places: readonly StepPlace[];
  readonly score: number;
  readonly isBroken: boolean;
};

/** Maximum number of similar requests or deliveries to which faults are applied: a client that polls sends hundreds. */
const MAX_SIMILAR_PLACES = 3;

export function placesOf({
  requests,
  deliveries,
  hasOrder,
}: Pick<Trace, "requests" | "deliveries" | "hasOrder">): readonly StepPlace[] {
  const counts = new Map<string, number>();
  const places: StepPlace[] = [];
  const add = (name: string, placeAt: (nth: number) => StepPlace): void => {
    const nth = (counts.get(name) ?? 0) + 1;
    counts.set(name, nth);
    if (nth <= MAX_SIMILAR_PLACES) places.push(placeAt(nth));
  };
  for (const { method, path } of requests) {
    if (method !== "GET" && method !== "POST") continue;
    const parts = path.split("/").map((part) => (isUuid(part) ? "*" : part));
    const pattern = parts.join("/");
    add(`${method} ${pattern}`, (nth) => ({ kind: "request", method, path: pattern, nth }));
  }
  // No other fault applies to a duplicate that a fault has created.
  for (const { eventType, attempts } of deliveries.filter(({ cause }) => cause !== "duplicate"))
    for (const _ of attempts) add(eventType, (nth) => ({ kind: "delivery", eventType, nth }));
  if (hasOrder) places.push({ kind: "page" });
  return places;
}

type Extension = { readonly schedule: Schedule; readonly place: StepPlace };

export type KillsByPlace = { readonly request: readonly Kill[]; readonly delivery: readonly Kill[] };

function extensionsOf({ schedule, places }: KnownRun, kills: KillsByPlace): readonly Extension[] {
  const { faults, payer } = schedule;
  const faultyPlaces = new Set(faults.map(({ match = {} }) => JSON.stringify(match)));
  return places.flatMap((place): readonly Extension[] => {
    if (place.kind === "page")
      return payer === NO_FAULTS.payer
        ? OTHER_OUTCOMES.map((outcome) => ({ place, schedule: { faults, payer: outcome } }))
        : [];
    const { kind, ...match } = place;
    if (faultyPlaces.has(JSON.stringify(match))) return [];
    const kindActions = kind === "request" ? API_ACTIONS : DELIVERY_ACTIONS;
    const actions: readonly ScheduledFault["action"][] = [...kindActions, ...kills[kind]];
    return actions.map((action) => ({
      place,
      schedule: { faults: faults.concat(faultAt(match, action)), payer },
    }));
  });
}

const OTHER_OUTCOMES = PAYER_OUTCOMES.filter((outcome) => outcome !== NO_FAULTS.payer);

/** Weight of a place that exists only because of a fault, such as a retry: failures are least expected there. */
const NEW_PLACE_WEIGHT = 4;

/**
 * A schedule of the wave has one step more than the largest known schedules. A schedule that contains a broken schedule
 * is omitted, because the smaller one explains the failure. The first known run is the run without faults.
 */
export function nextWave(
  runs: readonly KnownRun[],
  { seed, kills }: { readonly seed: string; readonly kills: KillsByPlace },
): readonly Schedule[] {
  const size = Math.max(...runs.map(({ schedule }) => scheduleSize(schedule)));
  const brokenKeys = new Set(runs.filter(({ isBroken }) => isBroken).map((run) => scheduleKey(run.schedule)));
  const knownKeys = new Set(runs.map(({ schedule }) => scheduleKey(schedule)));
  const plainPlaces = new Set(runs[0]?.places.map((place) => JSON.stringify(place)));
  const scoreByKey = new Map(runs.map((run) => [scheduleKey(run.schedule), run.score] as const));
  const rankedSchedules: {
    readonly schedule: Schedule;
    readonly rank: number;
    readonly tieBreaker: number;
  }[] = [];
  for (const run of runs) {
    if (run.isBroken || scheduleSize(run.schedule) !== size) continue;
    for (const { schedule, place } of extensionsOf(run, kills)) {
      const key = scheduleKey(schedule);
      if (knownKeys.has(key)) continue;
      knownKeys.add(key);
      const subschedules = subschedulesOf(schedule);
      if (subschedules.some((part) => brokenKeys.has(scheduleKey(part)))) continue;
      const stepsScore = subschedules
        .filter((part) => scheduleSize(part) === 1)
        .reduce((sum, part) => sum + (scoreByKey.get(scheduleKey(part)) ?? 0), 0);
      const rank = stepsScore + (plainPlaces.has(JSON.stringify(place)) ? 0 : NEW_PLACE_WEIGHT);
      rankedSchedules.push({ schedule, rank, tieBreaker: hashedFractionOf(`${seed}\n${key}`) });
    }
  }
  return rankedSchedules
    .toSorted((left, right) => right.rank - left.rank || left.tieBreaker - right.tieBreaker)
    .map(({ schedule }) => schedule);
}

/** Weights of the differences from the run without faults: the closer to damage, the heavier. */
const DIFFERENCE_WEIGHTS = { retry: 1, redelivery: 1, failure: 2, refusal: 3 } as const;

/**
 * Counts the increases over the run without faults: requests and delivery attempts (at most ten of each),
 * refusals without a fault, and a failed purchase.
 */
export function differenceScore(run: Trace, plainRun: Trace): number {
  const increaseOf = (count: (trace: Trace) => number): number => Math.max(0, count(run) - count(plainRun));
  const retryCount = increaseOf(({ requests }) => Math.min(requests.length, 10));
  const refusalCount = increaseOf(
    ({ requests }) => requests.filter(({ isFaulty, status }) => !isFaulty && status >= 400).length,
  );
  const redeliveryCount = increaseOf(({ deliveries }) =>
    Math.min(deliveries.flatMap(({ attempts }) => attempts).length, 10),
  );
  return (
    retryCount * DIFFERENCE_WEIGHTS.retry +
    refusalCount * DIFFERENCE_WEIGHTS.refusal +
    redeliveryCount * DIFFERENCE_WEIGHTS.redelivery +
    (run.hasPurchased ? 0 : DIFFERENCE_WEIGHTS.failure)
  );
}

/** Yields each candidate once, and receives whether it breaks a rule. No single step of the result can be omitted. */
export function* shrinkSchedule(schedule: Schedule): Generator<Schedule, Schedule, boolean> {
  const heldKeys = new Set<string>();
  let smallestSchedule = schedule;
  for (;;) {
    const candidate = removeOneStep(smallestSchedule, heldKeys);
    if (candidate === undefined) return smallestSchedule;
    const isBroken = yield candidate;
    if (isBroken) smallestSchedule = candidate;
    else heldKeys.add(scheduleKey(candidate));
  }
}

function removeOneStep({ faults, payer }: Schedule, heldKeys: ReadonlySet<string>): Schedule | undefined {
  const candidates: Schedule[] = faults.map((_fault, index) => ({
    faults: faults.toSpliced(index, 1),
    payer,
  }));
  if (payer !== NO_FAULTS.payer) candidates.push({ faults, payer: NO_FAULTS.payer });
  return candidates.find((candidate) => !heldKeys.has(scheduleKey(candidate)));
}

export type ScheduleResult = "held" | "broken" | "not_judged";

const PAYER_PLACE = "payer";

function placeName(place: StepPlace): string {
  if (place.kind === "page") return PAYER_PLACE;
  const { kind: _kind, ...match } = place;
  return placeOfFault({ match });
}

export function placeTable(
  firstPlaces: readonly StepPlace[],
  results: readonly { readonly schedule: Schedule; readonly result: ScheduleResult }[],
): readonly PlaceResults[] {
  const singleResults = results.filter(({ schedule }) => scheduleSize(schedule) === 1);
  const resultsByPlace = Map.groupBy(singleResults, ({ schedule: { faults } }) =>
    faults[0] === undefined ? PAYER_PLACE : placeOfFault(faults[0]),
  );
  const places = new Set([...firstPlaces.map(placeName), ...resultsByPlace.keys()]);
  return [...places].flatMap((place) => {
    const placeResults = resultsByPlace.get(place);
    if (placeResults === undefined) return [];
    const actionsWith = (wantedResult: ScheduleResult): string[] =>
      placeResults
        .filter(({ result }) => result === wantedResult)
        .map(({ schedule: { faults, payer } }) => faults[0]?.action ?? payer)
        .toSorted();
    return {
      place,
      held: actionsWith("held"),
      broken: actionsWith("broken"),
      notJudged: actionsWith("not_judged"),
    };
  });
}
