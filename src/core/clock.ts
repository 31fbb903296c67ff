/** A store's clock (decision 18): the real one, moved by an offset, or standing still at a moment. Milliseconds. */
export type StoreClock = { readonly offsetMs: number; readonly frozenAt: number | null };

/** The clock of a store that nobody has touched. */
export const REAL_CLOCK: StoreClock = { offsetMs: 0, frozenAt: null };

/** What the store's clock shows while the real one shows `realNow`. */
export function storeNow(clock: StoreClock, realNow: number): number {
  return clock.frozenAt ?? realNow + clock.offsetMs;
}

/** When the real clock will show what the store's shows at `at`; undefined where it stands still. */
export function realTimeOf(clock: StoreClock, at: number): number | undefined {
  return clock.frozenAt === null ? at - clock.offsetMs : undefined;
}

/** The clock stopped where it is. */
export function freeze(clock: StoreClock, realNow: number): StoreClock {
  return { ...clock, frozenAt: storeNow(clock, realNow) };
}

/** The clock put to a moment; it stands still if it stood still before, and runs on otherwise. */
export function setTo(clock: StoreClock, at: number, realNow: number): StoreClock {
  return clock.frozenAt === null ? { offsetMs: at - realNow, frozenAt: null } : { ...clock, frozenAt: at };
}

/** A moment as it stands in answers and reports: ISO 8601, UTC, with milliseconds. */
export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** The same where there may be no moment. */
export function isoOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : iso(milliseconds);
}
