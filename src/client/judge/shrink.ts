// Finds the fewest places with which a combination is broken.
import { historyOf } from "../../core/judge/histories/histories.ts";
import { combinationName, placesIn } from "../../core/judge/histories/places.ts";
import type { JudgedHistory, PlayResult, Turn } from "./played.ts";

/**
 * Whether a broken history explains whatever this one shows: it has a part of the places of this combination, or it
 * breaks at a restart, and this one waits while the shop is restarted for others.
 */
export function isExplained(name: string, histories: readonly JudgedHistory[]): boolean {
  const isLasting = historyOf(name).steps.some(({ act }) => act === "wait_for_others");
  if (isLasting && histories.some(hasBrokenAtRestart)) return true;
  const places: ReadonlySet<string> = new Set(placesIn(name));
  return histories.some((history) => {
    const fewerPlaces = history.verdict.state === "broken" ? (placesIn(history.name) ?? []) : [];
    return (
      fewerPlaces.length > 0 &&
      fewerPlaces.length < places.size &&
      fewerPlaces.every((place) => places.has(place))
    );
  });
}

function hasBrokenAtRestart({ name, verdict }: JudgedHistory): boolean {
  return verdict.state === "broken" && historyOf(name).needs?.includes("restart") === true;
}

export function isShrinkable({ name }: Turn, { verdict }: PlayResult): boolean {
  return verdict.state === "broken" && (placesIn(name) ?? []).length > 1;
}

/** Plays a broken combination with one place less, as long as a rule is broken. `play` returns undefined if it may not. */
export async function shrink(
  [turn, playedTurn]: readonly [Turn, PlayResult],
  tools: {
    readonly play: (turn: Turn) => Promise<PlayResult | undefined>;
    /** The histories that have been played; they held, because a broken one explains the combination. */
    readonly knownNames: ReadonlySet<string>;
  },
): Promise<readonly [Turn, PlayResult]> {
  const places = placesIn(turn.name) ?? [];
  for (const omitted of places) {
    const fewerPlaces = places.filter((place) => place !== omitted);
    const smallerTurn = { ...turn, name: combinationName(fewerPlaces) };
    if (fewerPlaces.length === 0 || tools.knownNames.has(smallerTurn.name)) continue;
    const smallerPlay = await tools.play(smallerTurn);
    if (smallerPlay?.verdict.state === "broken") return shrink([smallerTurn, smallerPlay], tools);
  }
  return [turn, playedTurn];
}
