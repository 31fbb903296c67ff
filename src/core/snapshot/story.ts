import { MAX_CHECKOUT_LIFETIME_MS, type Checkout, type Status } from "../checkout/checkout.ts";
import { createRequestsFor } from "../checkout/create-request.ts";
import { createEvent, createTestEvent, type CheckoutEvent } from "../checkout/event.ts";
import { CREATE_PATHS, fingerprint, type StoredResponse } from "../checkout/idempotency-key.ts";
import { advance, type AttemptResult, type CheckoutCommand } from "../checkout/payment.ts";
import { settlementOf, type PayOutcome } from "../checkout/reserved-order-id.ts";
import { checkoutJsonWith, successBody } from "../checkout/wire.ts";
import { isRecord, parseJson } from "../json.ts";
import { parsePublicUrl } from "../network/public-url.ts";
import type { Attempt } from "../checkout/shapes.ts";

/** An event as a snapshot stores it. */
type KeptEvent = Omit<CheckoutEvent, "type" | "checkoutId"> & { readonly type: string };

/** A checkout in a snapshot, with all rows that belong to it; attempts and events are in order. */
export type SnapshotStory = {
  readonly checkout: Checkout;
  readonly attempts: readonly Attempt[];
  readonly events: readonly KeptEvent[];
  readonly keys: readonly (StoredResponse & { readonly createdAt: number })[];
  readonly lateResults: readonly { readonly attempt: number; readonly result: AttemptResult }[];
  readonly settlements: readonly { readonly dueAt: number; readonly outcome: PayOutcome }[];
};

/** A row that no sandbox would have written: its table, and the rule that it breaks. */
type StoryFault = { readonly table: string; readonly said: string };

/**
 * Replays the history of a checkout in a snapshot with the functions of the operations, and compares the resulting
 * rows. Undefined if they are equal; otherwise the first difference.
 */
export function storyFault(story: SnapshotStory): StoryFault | undefined {
  const { checkout } = story;
  const { id, createdAt, expiresAt } = checkout;
  const lifetime = expiresAt - createdAt;
  if (lifetime < 1 || lifetime > MAX_CHECKOUT_LIFETIME_MS)
    return {
      table: "checkouts",
      said: `${id} can be paid for ${lifetime} ms, but at most 24 hours are possible`,
    };
  const path = pathOf(story);
  if (path === undefined)
    return {
      table: "attempts",
      said: `the attempts of checkout ${id} do not lead to its status ${checkout.status}`,
    };
  return eventsFault(story, path) ?? keysFault(story) ?? othersFault(story);
}

/** Checks that an event without a checkout is a test event; undefined if it is. */
export function testEventFault({ id, storeId, createdAt, ...event }: KeptEvent): string | undefined {
  const made = createTestEvent({ id, storeId }, createdAt);
  return isSameEvent(made, event)
    ? undefined
    : `${id} belongs to no checkout, but is not a webhook.test event`;
}

/** The statuses through which the attempts lead, by the table of states; undefined if they end at another status. */
function pathOf({ checkout, attempts }: SnapshotStory): readonly Status[] | undefined {
  let now: Checkout = { ...checkout, status: "created" };
  const path: Status[] = [now.status];
  const done: Attempt[] = [];
  const act = (command: CheckoutCommand, at: number): boolean => {
    const decided = advance({ checkout: now, attempts: done }, command, at);
    if (!decided.ok) return false;
    const { status, attempt } = decided.value;
    if (attempt !== null) done[attempt.number - 1] = attempt;
    if (status !== now.status) path.push(status);
    now = { ...now, status };
    return true;
  };
  for (const { number, startedAt, outcome, finishedAt } of attempts) {
    if (!act({ kind: "start" }, startedAt)) return undefined;
    if (outcome === null || outcome === "abandoned" || finishedAt === null) continue;
    if (!act({ kind: "finish", attempt: number, result: outcome }, finishedAt)) return undefined;
  }
  const endedAt = attempts.at(-1)?.finishedAt ?? checkout.createdAt;
  const isEnded =
    (checkout.status !== "cancelled" || act({ kind: "cancel" }, endedAt)) &&
    (checkout.status !== "expired" || act({ kind: "expire" }, checkout.expiresAt));
  const isSame = JSON.stringify(done) === JSON.stringify(attempts) && now.status === checkout.status;
  return isEnded && isSame ? path : undefined;
}

/**
 * Checks that each status has its event, with the expected bytes, and that the first event is as old as the checkout.
 */
function eventsFault({ checkout, events }: SnapshotStory, path: readonly Status[]): StoryFault | undefined {
  const table = "events";
  if (events.length !== path.length)
    return {
      table,
      said: `checkout ${checkout.id} has ${events.length} events, but went through ${path.join(", ")}`,
    };
  for (const [at, { id, createdAt, ...event }] of events.entries()) {
    const moved = { ...checkout, status: path[at] ?? checkout.status };
    const json = jsonIn(event.body, moved);
    const previousStatus = path[at - 1] ?? null;
    const input = { id, checkout: moved, previousStatus, sequence: at + 1, checkoutJson: json ?? "" };
    const made = createEvent(input, createdAt);
    const isFirst = at > 0 || createdAt === checkout.createdAt;
    if (json === undefined || !isFirst || !isSameEvent(made, event))
      return { table, said: `${id} is not the event ${made.type} of its checkout ${checkout.id}` };
  }
  return undefined;
}

function isSameEvent(
  made: Pick<KeptEvent, "type" | "sequence" | "body">,
  { type, sequence, body }: Pick<KeptEvent, "type" | "sequence" | "body">,
): boolean {
  return made.type === type && made.sequence === sequence && made.body === body;
}

/**
 * Checks that the answer of a create belongs to its checkout, and its fingerprint to a body that creates such a
 * checkout.
 */
function keysFault({ checkout, keys }: SnapshotStory): StoryFault | undefined {
  const table = "idempotency_keys";
  const created = { ...checkout, status: "created" } as const;
  for (const { requestId, body, fingerprint: digest, createdAt } of keys) {
    const json = jsonIn(body, created);
    if (json === undefined || successBody(requestId, json) !== body || createdAt !== checkout.createdAt)
      return {
        table,
        said: `the answer to ${requestId} does not belong to a create of checkout ${checkout.id}`,
      };
    const path = CREATE_PATHS[checkout.object];
    if (!createRequestsFor(checkout).some((request) => fingerprint(path, request) === digest))
      return {
        table,
        said: `the fingerprint of ${requestId} does not belong to a create of checkout ${checkout.id}`,
      };
  }
  return undefined;
}

function othersFault({
  checkout,
  attempts,
  lateResults,
  settlements,
}: SnapshotStory): StoryFault | undefined {
  const { id } = checkout;
  for (const { attempt, result } of lateResults) {
    const decided = advance({ checkout, attempts }, { kind: "finish", attempt, result }, checkout.expiresAt);
    if (!decided.ok || decided.value.late === null)
      return {
        table: "late_results",
        said: `${result} was not too late for attempt ${attempt} of ${id}`,
      };
  }
  const due = settlementOf(checkout);
  const isStrange = settlements.some(({ dueAt, outcome }) => dueAt !== due?.dueAt || outcome !== due.outcome);
  return isStrange ? { table: "settlements", said: `checkout ${id} does not settle in this way` } : undefined;
}

/** The expected bytes of a checkout in `body`, with the sandbox address that `body` contains. */
function jsonIn(body: string, checkout: Checkout): string | undefined {
  const start = body.lastIndexOf(URL_FIELD) + URL_FIELD.length;
  const origin = body.slice(start, body.indexOf(`/pay/${checkout.id}"`, start));
  const read = parsePublicUrl(origin);
  return read.ok && read.value === origin
    ? checkoutJsonWith(fieldsOfData(body), checkout, origin)
    : undefined;
}

/** The fields of the checkout in an event or an answer. */
function fieldsOfData(body: string): readonly string[] {
  const read = parseJson(body);
  const data = isRecord(read) ? read["data"] : undefined;
  return isRecord(data) ? Object.keys(data) : [];
}

const URL_FIELD = '"checkout_url":"';
