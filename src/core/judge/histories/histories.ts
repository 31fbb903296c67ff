// The histories of the launch checklist, as data. Their steps: core/judge/step.ts; how they are judged:
// core/judge/judge.ts. A step of a drill has the name of its history.
import type { Words } from "../../language.ts";
import { MISSING_FIELDS, missingStepName } from "../../readiness/drills/judge-sentences.ts";
import { WEBHOOK_STEP_TITLES } from "../../readiness/drills/webhook.ts";
import type { DrillKind } from "../../readiness/names.ts";
import type { History } from "../step.ts";
import { CLIENT_HISTORIES } from "./client.ts";
import { EVENT_HISTORIES } from "./events.ts";
import { historyOfPlaces, PLACES, placesIn } from "./places.ts";
import { RETURN_HISTORIES } from "./returns.ts";
import { TIME_HISTORIES } from "./times.ts";

const LISTED_HISTORIES = new Map<string, History>(
  [EVENT_HISTORIES, RETURN_HISTORIES, CLIENT_HISTORIES, TIME_HISTORIES].flatMap((histories) =>
    Object.entries(histories),
  ),
);

/** The first history, before all others: a purchase as a customer makes it, with the service's own deliveries. */
export const PLAIN_PURCHASE = "plain_purchase";

const PLAIN_HISTORY: History = {
  part: "duplicates",
  title: ["a purchase without faults: create, pay, all events", "无故障购买：下单、支付、全部事件"],
  steps: [],
};

/**
 * Histories that break most shops start first, even histories that run alone, so that a mistake shows early. The last
 * history of the list waits longest for the shop, while other histories run.
 */
const FIRST_HISTORIES = [
  "answer_lost",
  "restart_at_event",
  "restart_after_answer",
  "client_killed",
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

/** The history of a name, which may be a combination of places. The steps of the plain purchase: client/judge/plain.ts. */
export function findHistory(name: string): History | undefined {
  if (name === PLAIN_PURCHASE) return PLAIN_HISTORY;
  const places = placesIn(name);
  return LISTED_HISTORIES.get(name) ?? (places && historyOfPlaces(places));
}

/** As `findHistory`, for the name of a history that was found before. */
export function historyOf(name: string): History {
  const history = findHistory(name);
  if (history === undefined) throw new Error(`there is no history ${name}`);
  return history;
}

const MISSING_STEP_TITLES = new Map<string, Words>(
  Object.entries(MISSING_FIELDS).map(([field, { title }]) => [missingStepName(field), title]),
);

/** The title of a recorded step: a form of webhooks, a history, a missing field; its name if an older version recorded it. */
export function stepTitle(kind: DrillKind, name: string): Words {
  const title =
    kind === "webhook"
      ? WEBHOOK_STEP_TITLES[name]?.title
      : (findHistory(name)?.title ?? MISSING_STEP_TITLES.get(name));
  return title ?? [name, name];
}

/**
 * The names of all histories, in the order in which they start: histories that wait for others soon, and an outage last,
 * because a shop may protect itself after it.
 */
export function namesInOrder(combinations: readonly string[]): readonly string[] {
  const names = [
    ...[EVENT_HISTORIES, PLACES, RETURN_HISTORIES].flatMap((histories) => Object.keys(histories)),
    ...combinations,
    ...[CLIENT_HISTORIES, TIME_HISTORIES].flatMap((histories) => Object.keys(histories)),
  ];
  const isLasting = (name: string): boolean =>
    historyOf(name).steps.some(({ act }) => act === "wait_for_others");
  return [...new Set([...FIRST_HISTORIES, ...names.filter(isLasting), ...names])];
}

/** The names of the histories with at most one place. */
export const HISTORY_NAMES = namesInOrder([]);
