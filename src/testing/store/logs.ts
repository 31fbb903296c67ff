import { appliedFault } from "../../core/fault/shapes.ts";
import { delivery, loggedRequest } from "../shapes.ts";
import type { Delivery, Event, EventType, Log, LoggedRequest } from "../types.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { receivedText } from "../../core/explain/delivery.ts";
import { parseJson } from "../../core/json.ts";
import { decodeOrThrow } from "../../core/shape/fields.ts";
import { EVENT_TYPES } from "../../core/checkout/event-types.ts";
import { CHECKS } from "../../core/webhook/webhook.ts";
import { printable, printableLiteral, displayText } from "../../core/text.ts";
import type { Calls } from "../calls.ts";
import type { FieldTree } from "../call-options.ts";
import { createLog, type LogSource } from "./log.ts";
import type { InProcessSandbox } from "../in-process.ts";

const PAGE_SIZE = 1000;

type StoreLogContext = { readonly calls: Calls; readonly storeId: string };

/** A filter with any other field is refused, because it would match nothing. */
export const EVENT_FILTER_FIELDS = {
  ...fieldNames(CHECKS.envelope),
  ...fieldNames(CHECKS.change),
  data: fieldNames(CHECKS.checkout),
};
const FAULT_FIELDS = fieldNames(appliedFault.shape);
const DELIVERY_FIELDS = { ...fieldNames(delivery.shape), fault: FAULT_FIELDS };
const REQUEST_FIELDS = { ...fieldNames(loggedRequest.shape), fault: FAULT_FIELDS };

function fieldNames(shape: object): FieldTree {
  return Object.fromEntries(Object.keys(shape).map((field) => [field, true]));
}

export function eventLog(
  sandbox: InProcessSandbox,
  { calls, storeId }: StoreLogContext,
): Log<Event, EventType> {
  return createLog<Event>({
    ...createWaiter(sandbox, storeId),
    types: EVENT_TYPES,
    noun: "event",
    fields: EVENT_FILTER_FIELDS,
    open: () => {
      let position = 0;
      return async () => {
        const list: Event[] = [];
        for (let hasMore = true; hasMore;) {
          const body = { since: position, limit: PAGE_SIZE };
          const { events } = await calls.control({ name: "listEvents", storeId, body });
          // The sandbox wrote these bodies itself, so they need no validation.
          list.push(...events.map((event) => parseJson(event.body) as Event));
          position = events.at(-1)?.position ?? position;
          hasMore = events.length === PAGE_SIZE;
        }
        return list;
      };
    },
    names: ({ type, event_id }) => [type, event_id],
    line: (event) =>
      event.type === "webhook.test" ? event.type : `${event.type} of ${displayText(event.data.order_id)}`,
  });
}

/** `waitFor` with a string, such as an event type, finds only successful deliveries; a filter also finds others. */
export function deliveryLog(
  sandbox: InProcessSandbox,
  { calls, storeId }: StoreLogContext,
): Log<Delivery, EventType> {
  return createLog<Delivery>({
    ...createWaiter(sandbox, storeId),
    types: EVENT_TYPES,
    noun: "delivery",
    matchedNoun: "accepted delivery",
    fields: DELIVERY_FIELDS,
    open: () => async () => {
      const list: Delivery[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const body = { limit: PAGE_SIZE, before: cursor };
        const { deliveries, nextBefore } = await calls.control({ name: "listDeliveries", storeId, body });
        list.push(...deliveries.map(deliveryOf));
        cursor = nextBefore;
      }
      return list.toReversed();
    },
    names: ({ id, type, eventId, state }) => (state === "succeeded" ? [type, id, eventId] : []),
    line: deliverySummary,
  });
}

export function requestLog(
  sandbox: InProcessSandbox,
  { calls, storeId }: StoreLogContext,
): Log<LoggedRequest> {
  return createLog<LoggedRequest>({
    ...createWaiter(sandbox, storeId),
    noun: "request",
    fields: REQUEST_FIELDS,
    // Requests are written in batches, so this wait follows the request log instead of the store.
    follow: (onWrite) => sandbox.context.requests.follow(storeId, onWrite),
    open: () => async () => {
      const { requests } = await calls.control({ name: "listRequests", storeId, body: { limit: PAGE_SIZE } });
      return requests.map((entry) => decodeOrThrow(loggedRequest, entry));
    },
    names: ({ requestId, method, path, orderId }) => {
      // Applications use paths without `/v1`, because `CHECKOUT_BASE_URL` ends with it.
      const shortPath = path.replace(/^\/v1(?=\/)/, "");
      return [`${method} ${path}`, path, `${method} ${shortPath}`, shortPath, requestId, orderId];
    },
    line: requestSummary,
  });
}

function createWaiter(
  { world, context, isClosed, waitTimeoutMs }: InProcessSandbox,
  storeId: string,
): Pick<LogSource<unknown>, "world" | "follow" | "isClosed" | "waitTimeoutMs"> {
  const follow = (onWrite: () => void): (() => void) => context.writeSignals.follow(storeId, onWrite);
  return { world, isClosed, waitTimeoutMs, follow };
}

function deliveryOf({
  type,
  attempts,
  ...entry
}: AnswerOf<"listDeliveries">["deliveries"][number]): Delivery {
  return decodeOrThrow(delivery, {
    ...entry,
    // The sandbox sends only known event types.
    type: type as EventType,
    attempts: attempts.map((item) => ({ ...item, message: item.facts?.message ?? null })),
  });
}

export function requestSummary({ method, path, status, code, message }: LoggedRequest): string {
  return printable(
    `${method} ${path}: ${status}${code === null ? "" : ` ${code}`}${message === null ? "" : `: ${message}`}`,
  );
}

export function deliverySummary({ type, endpointId, state, tries, attempts, fault }: Delivery): string {
  const lastAttempt = attempts.findLast(({ finishedAt }) => finishedAt !== null);
  const text = lastAttempt && receivedText(lastAttempt.answer, lastAttempt.message);
  const answer = text === undefined ? "" : ` ${printableLiteral(text)}`;
  const resultText =
    lastAttempt === undefined
      ? ""
      : `, the last: ${lastAttempt.status ?? lastAttempt.error ?? "no answer"}${answer}`;
  const actions = new Set([fault?.action, ...attempts.map((item) => item.fault)].filter((action) => action));
  const faultText = actions.size === 0 ? "" : `, fault ${[...actions].join(", ")}`;
  const target = attempts.at(-1)?.url ?? `endpoint ${endpointId}`;
  return `${type} → ${target} is ${state} after ${tries} ${tries === 1 ? "attempt" : "attempts"}${faultText}${resultText}`;
}
