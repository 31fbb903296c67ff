import { historyOf } from "../../core/judge/histories/histories.ts";
import { combinationName, placesIn } from "../../core/judge/histories/places.ts";
import type { JudgedHistory, PlayResult, Turn } from "./played.ts";

/** A broken history explains a combination that has all of its places and more. */
export function isExplained(name: string, histories: readonly JudgedHistory[]): boolean {
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

/**
 * Other histories may restart the shop while this history waits. A faulty restart can make the shop forget an order,
 * but not book an unpaid order.
 */
export function isByRestart(
  { name }: Pick<Turn, "name">,
  { verdict }: Pick<PlayResult, "verdict">,
  histories: readonly JudgedHistory[],
): boolean {
  const isUnpaid = verdict.state === "broken" && verdict.invariant === "never_unpaid";
  return verdict.state !== "held" && !isUnpaid && mayBeByRestart(name, histories);
}

function mayBeByRestart(name: string, histories: readonly JudgedHistory[]): boolean {
  const isLasting = historyOf(name).steps.some(({ act }) => act === "wait_for_others");
  return isLasting && histories.some(hasBrokenAtRestart);
}

function hasBrokenAtRestart({ name, verdict }: JudgedHistory): boolean {
  return verdict.state === "broken" && historyOf(name).needs?.includes("restart") === true;
}

export function isShrinkable({ name }: Turn, { verdict }: PlayResult): boolean {
  return verdict.state === "broken" && (placesIn(name) ?? []).length > 1;
}

export async function shrink(
  [turn, playedTurn]: readonly [Turn, PlayResult],
  tools: {
    readonly play: (turn: Turn) => Promise<PlayResult | undefined>;
    /**
     * Names of the histories that have a result. A smaller combination among them is not broken, or it would have
     * explained this one.
     */
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
