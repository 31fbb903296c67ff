import { hash } from "node:crypto";
import { createTestEvent, type CheckoutEvent } from "../../checkout/event.ts";
import type { Status } from "../../checkout/checkout.ts";
import { toIso } from "../../clock.ts";
import { deliveryRequest } from "../../webhook/delivery-request.ts";
import { eventBodyIn, hasField, type Dialect } from "../../shape/dialect.ts";
import {
  DEFAULT_HEADER_NAMES,
  headerNamesIn,
  headersInDialect,
  signatureOf,
} from "../../webhook/signature.ts";
import {
  ACCEPTED_CASE_NAMES,
  CASE_NAMES,
  DRILL_CASES,
  ORDER_CASE_NAMES,
  type CaseName,
} from "../../readiness/drills/webhook.ts";
import type { DrillRequest, Mutations } from "../../readiness/drills/webhook-case.ts";
import { UNSENT_FORM_ANSWERS, type CaseResult } from "./answers.ts";

const MAX_UNANSWERED_CASES = 3;

/** An event that exists only in the drill; the store's list of events does not contain it. */
export type DrillEvent = {
  readonly id: string;
  readonly storeId: string;
  readonly createdAt: number;
  /** The real time of the first attempt. Default: now. */
  readonly sentAt?: number;
};

export type OrderEvent = Pick<CheckoutEvent, "id" | "body"> & {
  /** Accepted events of other types, about this order and an order of the other kind. */
  readonly otherEvents?: readonly (Pick<CheckoutEvent, "id" | "body"> & { readonly type: string })[];
};

export const LAST_CASE_COUNT = 2;

/** Cases with another id in the header are omitted if the body has no id: they would be other events. */
export function casesOf({ order, dialect }: DrillSubject): readonly CaseName[] {
  const names = caseNamesFor(order);
  return hasField(dialect, "event_id")
    ? names
    : names.filter((name) => DRILL_CASES[name].hasOtherId !== true);
}

type DrillSubject = { readonly order: OrderEvent | null; readonly dialect: Dialect | undefined };

function caseNamesFor(order: OrderEvent | null): readonly CaseName[] {
  if (order === null) return CASE_NAMES;
  const types = new Set(order.otherEvents?.map(({ type }) => type));
  const acceptedCases = ACCEPTED_CASE_NAMES.filter((name) => types.has(DRILL_CASES[name].acceptedType ?? ""));
  return [
    ...CASE_NAMES.slice(0, -LAST_CASE_COUNT),
    ...ORDER_CASE_NAMES,
    ...acceptedCases,
    ...CASE_NAMES.slice(-LAST_CASE_COUNT),
  ];
}

type SigningOptions = {
  readonly secret: string;
  readonly retiredSecret: string | undefined;
  /** Real time, in milliseconds: receivers compare it with their own clocks (decision 18). */
  readonly realNow: number;
  readonly url?: string;
  readonly dialect?: Dialect | undefined;
};

type DrillEvents = {
  readonly own: DrillEvent;
  readonly first: DrillEvent;
  readonly order: OrderEvent | null;
};

export function buildDrillRequest(
  form: Mutations,
  events: DrillEvents,
  options: SigningOptions,
): { readonly eventId: string; readonly request: DrillRequest } {
  const { realNow, dialect } = options;
  const { method = "POST", suffix = "", headers: addedHeaders = {}, lines, packBody = keepText } = form;
  const { renameHeader = keepText, inParts } = form;
  const { eventId, headers, body } = signRequest(form, events, options);
  const allHeaders = Object.entries({ ...headersInDialect(dialect, headers), ...addedHeaders });
  const pairs = allHeaders.flatMap(([header, value]) =>
    value === undefined ? [] : [[renameHeader(header), value] as const],
  );
  const request = {
    method,
    suffix,
    headers: Object.fromEntries(pairs),
    body: packBody(body),
    ...(inParts === undefined ? {} : { inParts }),
  };
  if (lines === undefined) return { eventId, request };
  const [repeatedHeader, linesOf] = lines;
  const { [repeatedHeader]: theirName } = headerNamesIn(dialect);
  const name = DEFAULT_HEADER_NAMES[repeatedHeader];
  const values = linesOf(headers[name] ?? "", String(Math.floor(realNow / 1000)));
  const texts = values.map(
    (value) => headersInDialect(dialect, { ...headers, [name]: value })[theirName] ?? "",
  );
  return { eventId, request: { ...request, lines: { [theirName]: texts } } };
}

/** The headers have the sandbox's own names; the body is in the store's dialect. */
function signRequest(
  form: Mutations,
  events: DrillEvents,
  options: SigningOptions,
): { readonly eventId: string; readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const {
    changeEvent = keepText,
    changeBody = keepText,
    age = 0,
    signature = keepText,
    omittedNames = [],
  } = form;
  const { dialect } = options;
  const names = DEFAULT_HEADER_NAMES;
  const bodyOf = (row: Mutations): string => eventBodyIn(dialect, eventOfForm(row, events).body);
  const event = eventOfForm(form, events);
  const secrets = secretsOf(form, event, { ...options, ...events });
  const body = changeEvent(bodyOf(form), dialect);
  const { sentAt = options.realNow } = events.first;
  const realNow = (form.reusesSignature === true ? sentAt : options.realNow) - age * 1000;
  const requestFields = { eventId: event.id, retiredSecrets: [], realNow, fault: null };
  const { headers } = deliveryRequest({ ...requestFields, body, secrets });
  const { [names.timestamp]: sentTime = "" } = headers;
  const timestamp = form.timestamp ?? sentTime;
  const signedBody = form.reusesSignature === true ? bodyOf({ event: "first" }) : body;
  const rawBody = Buffer.from(signedBody);
  const rightSignature = secrets.map((secret) => signatureOf(secret, { timestamp, rawBody })).join();
  // In a dialect without event id and creation time, two events have the same bytes.
  const hasSameBytes = form.reusesSignature === true && body === signedBody;
  const omittedHeaders = new Set(omittedNames.map((header) => names[header]));
  const ourHeaders = {
    [names.eventId]: form.hasOtherId === true ? events.own.id : event.id,
    [names.timestamp]: timestamp,
    [names.signature]: signature(rightSignature),
  };
  const keptHeaders = Object.entries({ ...headers, ...ourHeaders }).filter(
    ([header]) => !omittedHeaders.has(header),
  );
  return {
    eventId: event.id,
    headers: Object.fromEntries(keptHeaders),
    body: hasSameBytes ? `${body} ` : changeBody(body, dialect),
  };
}

export function wasOutOfReach(results: readonly CaseResult[]): boolean {
  return results.every(
    ({ answer }) =>
      "error" in answer && (answer.error === "unreachable" || answer.error === "target_forbidden"),
  );
}

/**
 * Returns false if the good event, or too many forms, got no answer. A lost connection counts as an answer to a form
 * that the service never sends.
 */
export function shouldContinue(results: readonly CaseResult[]): boolean {
  const silentCases = results.filter(
    ({ name, answer }) =>
      "error" in answer &&
      (answer.error !== "connection_lost" || !UNSENT_FORM_ANSWERS.has(DRILL_CASES[name].expected)),
  );
  return silentCases.length < MAX_UNANSWERED_CASES && silentCases.every(({ name }) => name !== "good_event");
}

function secretsOf(
  { secret: secretKind }: Mutations,
  { id: eventId }: OrderEvent,
  { own, secret, retiredSecret, url = "", dialect }: DrillEvents & SigningOptions,
): readonly string[] {
  if (secretKind === undefined) return [secret];
  if (secretKind === "another") return [retiredSecret ?? unusedSecret(own)];
  const { signature: header } = headerNamesIn(dialect);
  return [secretKind({ url, storeId: own.storeId, eventId, header })].flat();
}

/** Throws if the form needs an order or an accepted event that is missing. */
export function eventOfForm({ event: eventKind, acceptedType }: Mutations, events: DrillEvents): OrderEvent {
  const { own, first, order } = events;
  if (acceptedType !== undefined) {
    const knownEvent = order?.otherEvents?.find(({ type }) => type === acceptedType);
    if (knownEvent === undefined) throw new Error(`no event ${acceptedType} was accepted`);
    return knownEvent;
  }
  if (eventKind === undefined || eventKind === "first") {
    const event = eventKind === "first" ? first : own;
    return { id: event.id, body: createTestEvent(event, event.createdAt).body };
  }
  if (order === null) throw new Error(`the form ${eventKind} needs an event of an order`);
  if (eventKind === "order") return order;
  const type = eventKind === "payment" ? paymentType(order) : eventKind;
  return { id: own.id, body: bodyOfType(type, { own, order }) };
}

export function paymentType({ body }: OrderEvent): CheckoutEvent["type"] {
  const { type } = JSON.parse(body) as { readonly type: string };
  return type.startsWith("order.") ? "order.succeeded" : "checkout_session.succeeded";
}

/** For each status: the sequence number and the previous status of its event, in the shortest course of a checkout. */
const EVENT_COURSE: Readonly<Record<Status, readonly [sequence: number, previous: Status | null]>> = {
  created: [1, null],
  pending: [2, "created"],
  succeeded: [3, "pending"],
  failed: [3, "pending"],
  cancelled: [2, "created"],
  expired: [2, "created"],
};

function bodyOfType(
  type: CheckoutEvent["type"],
  { own, order }: { readonly own: DrillEvent; readonly order: OrderEvent },
): string {
  const [object, status] = type.split(".") as ["order" | "checkout_session", Status];
  const event = JSON.parse(order.body) as { readonly sequence: number; readonly data: object };
  const [sequence, previousStatus] = EVENT_COURSE[status];
  return JSON.stringify({
    ...event,
    event_id: own.id,
    type,
    created_at: toIso(own.createdAt),
    // A receiver that compares sequences would skip an event with an earlier sequence.
    sequence: previousStatus === null ? sequence : Math.max(sequence, event.sequence + 1),
    previous_status: previousStatus,
    data: { ...event.data, object, status },
  });
}

function keepText(text: string): string {
  return text;
}

function unusedSecret({ id }: DrillEvent): string {
  return `whsec_${hash("sha256", `never a secret, ${id}`, "base64url")}`;
}
