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

export const PLAIN_PURCHASE = "plain_purchase";

const PLAIN_HISTORY: History = {
  part: "duplicates",
  title: ["a purchase without faults: create, pay, all events", "无故障购买：下单、支付、全部事件"],
  steps: [],
};

/** Histories that break most shops, so that a mistake shows early. */
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
  "twin_head",
  "other_amount",
];

const LONG_HISTORIES = ["webhook_after_question", "answers_lost"];

export function findHistory(name: string): History | undefined {
  if (name === PLAIN_PURCHASE) return PLAIN_HISTORY;
  const places = placesIn(name);
  return LISTED_HISTORIES.get(name) ?? (places && historyOfPlaces(places));
}

/** Throws if there is no history of this name. */
export function historyOf(name: string): History {
  const history = findHistory(name);
  if (history === undefined) throw new Error(`there is no history ${name}`);
  return history;
}

const MISSING_STEP_TITLES = new Map<string, Words>(
  Object.entries(MISSING_FIELDS).map(([field, { title }]) => [missingStepName(field), title]),
);

/** Returns the name if an older version recorded the step. */
export function stepTitle(kind: DrillKind, name: string): Words {
  const title =
    kind === "webhook"
      ? WEBHOOK_STEP_TITLES[name]?.title
      : (findHistory(name)?.title ?? MISSING_STEP_TITLES.get(name));
  return title ?? [name, name];
}

/**
 * The short batch of creates comes before the long batch, so that mistakes of creates show early too. Outages come
 * last, because a shop may protect itself for a while afterwards.
 */
export function namesInOrder(combinations: readonly string[]): readonly string[] {
  const names = [
    ...[EVENT_HISTORIES, PLACES].flatMap((histories) => Object.keys(histories)),
    ...combinations,
    ...[RETURN_HISTORIES, CLIENT_HISTORIES, TIME_HISTORIES].flatMap((histories) => Object.keys(histories)),
  ];
  const isLasting = (name: string): boolean =>
    historyOf(name).steps.some(({ act }) => act === "wait_for_others");
  const isCreate = (name: string): boolean => historyOf(name).pace === "creates";
  return [
    ...new Set([
      ...FIRST_HISTORIES,
      ...names.filter(isCreate),
      ...names.filter(isLasting),
      ...LONG_HISTORIES,
      ...names,
    ]),
  ];
}

export const HISTORY_NAMES = namesInOrder([]);
