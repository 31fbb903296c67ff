// The histories of the launch checklist, as data. Their steps: core/judge/step.ts; how they are judged:
// core/judge/judge.ts. A step of a drill has the name of its history.
import type { StepTitles } from "../../readiness/drills/drill.ts";
import { MISSING_FIELDS, missingStepName } from "../../readiness/drills/judge-sentences.ts";
import type { History } from "../step.ts";
import { CLIENT_HISTORIES } from "./client.ts";
import { EVENT_HISTORIES } from "./events.ts";
import { RETURN_HISTORIES } from "./returns.ts";
import { TIME_HISTORIES } from "./times.ts";

export const HISTORIES = {
  ...EVENT_HISTORIES,
  ...RETURN_HISTORIES,
  ...CLIENT_HISTORIES,
  ...TIME_HISTORIES,
} satisfies Readonly<Record<string, History>>;
export type HistoryName = keyof typeof HISTORIES;

/**
 * Histories that break most shops start first, even histories that run alone, so that a mistake shows early. The last
 * history of the list waits longest for the shop, while other histories run.
 */
const FIRST_HISTORIES: readonly HistoryName[] = [
  "answer_lost",
  "restart_at_event",
  "restart_after_answer",
  "payment_again",
  "return_same_moment",
  "burst",
  "other_terms_first",
  "second_failed",
  "payment_first",
  "return_without_payment",
  "unknown_type",
  "twin_case",
  "other_amount",
  "webhook_after_question",
];

/** All names, in the order in which the histories start: an outage last, because a shop may protect itself after it. */
export const HISTORY_NAMES: readonly HistoryName[] = [
  ...new Set([...FIRST_HISTORIES, ...(Object.keys(HISTORIES) as HistoryName[])]),
];

/** The first history, before all others: a purchase as a customer makes it, with the service's own deliveries. */
export const PLAIN_PURCHASE = "plain_purchase";

export const HISTORY_TITLES = {
  [PLAIN_PURCHASE]: {
    part: "duplicates",
    title: ["a purchase without faults: create, pay, all events", "无故障购买：下单、支付、全部事件"],
  },
  ...HISTORIES,
} as const;

/** The steps that a run records: its histories, and the missing fields of the shop's description. */
export const RUN_STEP_TITLES: StepTitles = {
  ...HISTORY_TITLES,
  ...Object.fromEntries(
    Object.entries(MISSING_FIELDS).map(([field, { title }]) => [missingStepName(field), { title }]),
  ),
};
