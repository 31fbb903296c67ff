/** Whether this run is `npm run campaign`. */
export const FULL = process.env["CAMPAIGN"] === "full";

/** The number of rounds: few in `npm test`, all in `npm run campaign`. */
export function size(small: number, full: number): number {
  return FULL ? full : small;
}

/** The seed of this run, printed so that a failure can be run again: CAMPAIGN_SEED=… npm run campaign. */
export const SEED = Number(process.env["CAMPAIGN_SEED"] ?? 20_260_101);

/** Prints each failure immediately: a run that is ended early would lose it. */
export function report(found: readonly string[]): void {
  for (const one of found) process.stderr.write(`seed ${SEED}: ${one}\n`);
}

/** All rows in a campaign; in `npm test` one of `parts` parts of the rows, chosen by the seed. */
export function part<Row>(rows: readonly Row[], parts: number, from = 0): readonly Row[] {
  return FULL ? rows : rows.filter((_, at) => (at + from + SEED) % parts === 0);
}

/** Random numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
