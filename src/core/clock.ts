/** A store's clock (decision 18): real, real plus an offset, or frozen; in milliseconds. */
export type StoreClock = { readonly offsetMs: number; readonly frozenAt: number | null };

export const REAL_CLOCK: StoreClock = { offsetMs: 0, frozenAt: null };

/** The time that the store's clock shows when the real clock shows `realNow`. */
export function storeNow(clock: StoreClock, realNow: number): number {
  return clock.frozenAt ?? realNow + clock.offsetMs;
}

/** The real time at which the store's clock will show `at`; undefined if the clock is frozen. */
export function realTimeOf(clock: StoreClock, at: number): number | undefined {
  return clock.frozenAt === null ? at - clock.offsetMs : undefined;
}

export function freezeClock(clock: StoreClock, realNow: number): StoreClock {
  return { ...clock, frozenAt: storeNow(clock, realNow) };
}

/** Sets a clock to a time; a frozen clock stays frozen. */
export function setClock(clock: StoreClock, at: number, realNow: number): StoreClock {
  return clock.frozenAt === null ? { offsetMs: at - realNow, frozenAt: null } : { ...clock, frozenAt: at };
}

/** The first and last moment of a clock: in the years 0 to 9999, which ISO 8601 writes with four digits. */
export const FIRST_MOMENT = Date.parse("0000-01-01T00:00:00.000Z");
export const LAST_MOMENT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Whether a clock can show the moment: whole milliseconds, in a year from 0 to 9999. */
export function isMoment(at: number): boolean {
  return Number.isInteger(at) && at >= FIRST_MOMENT && at <= LAST_MOMENT;
}

/** Formats a time for answers and reports: ISO 8601, UTC, with milliseconds. */
export function toIso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export function toIsoOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : toIso(milliseconds);
}
