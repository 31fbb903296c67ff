import { placeOfFault, scheduleSize, type Schedule } from "./schedule.ts";
import type { StepPlace } from "./search.ts";
import type { PlaceResults } from "../readiness/exploration.ts";

/** The verdict on a schedule. */
export type ScheduleResult = "held" | "broken" | "not_judged";

/** The place of the payer's outcomes. */
const PAYER = "payer";

function placeName(place: StepPlace): string {
  if (place.kind === "page") return PAYER;
  const { kind: _kind, ...match } = place;
  return placeOfFault({ match });
}

/** The results of single faults, grouped by place; the given places come first, in order. */
export function placeTable(
  first: readonly StepPlace[],
  results: readonly { readonly schedule: Schedule; readonly result: ScheduleResult }[],
): readonly PlaceResults[] {
  const places = new Map<string, Record<ScheduleResult, string[]>>(
    first.map((place) => [placeName(place), { held: [], broken: [], not_judged: [] }]),
  );
  for (const { schedule, result } of results) {
    if (scheduleSize(schedule) !== 1) continue;
    const { faults, payer } = schedule;
    const [fault] = faults;
    const place = fault === undefined ? PAYER : placeOfFault(fault);
    const known = places.get(place) ?? { held: [], broken: [], not_judged: [] };
    places.set(place, known);
    known[result].push(fault?.action ?? payer);
  }
  const shown = [...places].filter(([, { held, broken, not_judged: open }]) =>
    [held, broken, open].some(({ length }) => length > 0),
  );
  return shown.map(([place, { held, broken, not_judged: notJudged }]) => ({
    place,
    held: held.toSorted(),
    broken: broken.toSorted(),
    notJudged: notJudged.toSorted(),
  }));
}
