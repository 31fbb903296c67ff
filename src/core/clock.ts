/** Shows real time, real time plus an offset, or a frozen time (decision 18). */
export type StoreClock = { readonly offsetMs: number; readonly frozenAt: number | null };

export const REAL_CLOCK: StoreClock = { offsetMs: 0, frozenAt: null };

export function storeNow(clock: StoreClock, realNow: number): number {
  return clock.frozenAt ?? realNow + clock.offsetMs;
}

export function realTimeOf(clock: StoreClock, at: number): number | undefined {
  return clock.frozenAt === null ? at - clock.offsetMs : undefined;
}

export function freezeClock(clock: StoreClock, realNow: number): StoreClock {
  return { ...clock, frozenAt: storeNow(clock, realNow) };
}

export function setClock(clock: StoreClock, at: number, realNow: number): StoreClock {
  return clock.frozenAt === null ? { offsetMs: at - realNow, frozenAt: null } : { ...clock, frozenAt: at };
}

/** ISO 8601 writes the years 0 to 9999 with four digits. */
export const FIRST_MOMENT = Date.parse("0000-01-01T00:00:00.000Z");
export const LAST_MOMENT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export function isMoment(at: number): boolean {
  return Number.isInteger(at) && at >= FIRST_MOMENT && at <= LAST_MOMENT;
}

export function toIso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export function toIsoOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : toIso(milliseconds);
}
