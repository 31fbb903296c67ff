// What the checklist keeps of a search for faults that break a purchase (`checkout explore`).
import * as z from "zod/mini";
import { moment, nonEmptyText, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";

/** Limits of an exploration: its places, the actions at a place, and the lengths of their names. */
const MAX_PLACES = 200;
const MAX_ACTIONS = 50;
const MAX_PLACE = 300;
const MAX_ACTION = 50;

const actions = z.array(nonEmptyText(MAX_ACTION)).check(z.maxLength(MAX_ACTIONS));
/** The results of single faults at a place, by action; at the place `payer`, by the payer's outcome. */
export const placeResults = z.strictObject({
  place: nonEmptyText(MAX_PLACE),
  held: actions,
  broken: actions,
  /** Left out by the budget, broken once but not again, or with a payment event that was lost for good. */
  notJudged: actions,
});
export type PlaceResults = DomainOf<typeof placeResults>;

/** The counted results of an exploration. */
export const explored = {
  /** The number of schedules that were run; `broken` is the number of causes found. */
  schedules: wholeNumber(1),
  broken: wholeNumber(0),
  /** The results of single faults at each place. */
  places: z.array(placeResults).check(z.maxLength(MAX_PLACES)),
};
export const exploration = z.object({ ...explored, at: moment });
export type Exploration = DomainOf<typeof exploration>;

/** The number of single faults without a verdict. */
export function countNotJudged(places: readonly Pick<PlaceResults, "notJudged">[]): number {
  return places.reduce((sum, { notJudged }) => sum + notJudged.length, 0);
}

nameSchemas({ Exploration: exploration, ExploredPlace: placeResults });
