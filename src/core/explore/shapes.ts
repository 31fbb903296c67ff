import * as z from "zod/mini";
import { moment, nonEmptyText, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import { INVARIANTS, type Invariant } from "./invariants.ts";
import { PAYER_OUTCOMES } from "./schedule.ts";

/** Limits of an exploration: its places, the actions at a place, and the lengths of their names. */
const MAX_PLACES = 200;
const MAX_ACTIONS = 50;
const MAX_PLACE = 300;
const MAX_ACTION = 50;

const actions = z.array(nonEmptyText(MAX_ACTION)).check(z.maxLength(MAX_ACTIONS));
/** The results of single faults at a place, by action; at the place `payer`, by the payer's outcome. */
const placeResults = z.strictObject({
  place: nonEmptyText(MAX_PLACE),
  held: actions,
  broken: actions,
  /**
   * Not run before the budget was used up, broken once but not again, or with a payment event that was lost for good.
   */
  notJudged: actions,
});
/** The results of single faults at a place. */
export type PlaceResults = DomainOf<typeof placeResults>;

/** A rule that holds for every purchase. */
export const invariant = z.enum(Object.keys(INVARIANTS) as Invariant[]);
/** How the payer ends a payment. */
export const payerOutcome = z.enum(PAYER_OUTCOMES);

/** A broken invariant, without the faults of the smallest schedule that breaks it. */
export const finding = z.object({
  payer: payerOutcome,
  invariant,
  /** A code of the likely cause, such as `books_again`. */
  cause: z.string(),
  /** The invariant, the likely cause and the remedy, in words. */
  text: z.string(),
  /** The events of the run, as the timeline of the order. */
  story: z.string(),
  /** The call that reruns exactly this schedule. */
  rerun: z.string(),
  /** The number of schedules that showed this cause. */
  schedules: z.int(),
});

/** The result of a search, without its schedules. */
export const searchResult = z.object({
  /** The number of schedules that were run, except to shrink or confirm one. */
  schedules: z.int(),
  /** The number of schedules in which no invariant was broken. */
  held: z.int(),
  /** Invariants that the exploration did not judge. */
  notJudged: z.array(z.object({ invariant, reason: z.string() })),
  /** Results of single faults by place; `payer` is the place of the payer's outcomes. */
  table: z.array(placeResults),
  seed: z.string(),
});

/** The counted results of an exploration. */
export const explored = {
  /** The number of schedules that were run; `broken` is the number of causes found. */
  schedules: wholeNumber(1),
  broken: wholeNumber(0),
  /** The results of single faults at each place. */
  places: z.array(placeResults).check(z.maxLength(MAX_PLACES)),
};
/** The result of `checkout explore`. */
export const exploration = z.object({ ...explored, at: moment });
export type Exploration = DomainOf<typeof exploration>;

nameSchemas({ Exploration: exploration, ExploredPlace: placeResults });
