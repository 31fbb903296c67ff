import * as z from "zod/mini";
import { placeResults } from "../readiness/shapes.ts";
import { JUDGED_INVARIANTS, type JudgedInvariant } from "../readiness/drills/judged-invariants.ts";
import { PAYER_OUTCOMES } from "./schedule.ts";

/** A rule that holds for every purchase. */
export const invariant = z.enum(Object.keys(JUDGED_INVARIANTS) as JudgedInvariant[]);
export const payerOutcome = z.enum(PAYER_OUTCOMES);

/** A broken invariant, without the faults of the smallest schedule that breaks it. */
export const finding = z.object({
  payer: payerOutcome,
  invariant,
  /** A code of the likely cause, such as `books_again`; `not_explained` if no answer shows a cause. */
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
  /** The number of schedules that were run, except to shrink or confirm a schedule. */
  schedules: z.int(),
  /** The number of schedules in which no invariant was broken. */
  held: z.int(),
  /** Invariants that the exploration did not judge. */
  notJudged: z.array(z.object({ invariant, reason: z.string() })),
  /** Results of single faults by place; `payer` is the place of the payer's outcomes. */
  table: z.array(placeResults),
  seed: z.string(),
});
