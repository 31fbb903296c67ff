import { scheduleKey, NO_FAULTS, type Schedule } from "./schedule.ts";

/**
 * Finds the smallest schedule that still breaks an invariant: yields one candidate after the other, receives whether
 * each breaks, and returns the smallest that did. Every candidate is yielded once, and differs from the given schedule.
 * No single step of the result can be omitted.
 */
export function* shrinkSchedule(schedule: Schedule): Generator<Schedule, Schedule, boolean> {
  const held = new Set<string>();
  let least = schedule;
  for (let next = removeOneStep(least, held); next !== undefined; next = removeOneStep(least, held)) {
    const isBroken = yield next;
    if (isBroken) least = next;
    else held.add(scheduleKey(next));
  }
  return least;
}

/** The first schedule with one step fewer that is not known to hold. */
function removeOneStep({ faults, payer }: Schedule, held: ReadonlySet<string>): Schedule | undefined {
  const smaller: Schedule[] = faults.map((_fault, at) => ({ faults: faults.toSpliced(at, 1), payer }));
  if (payer !== NO_FAULTS.payer) smaller.push({ faults, payer: NO_FAULTS.payer });
  return smaller.find((one) => !held.has(scheduleKey(one)));
}
