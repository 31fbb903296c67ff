// The requests of a run to receivers (events of the store, or bodies as given), and the records of its drills.
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { buildDrillRequest, paymentType } from "../../core/judge/forms/requests.ts";
import { toIso } from "../../core/clock.ts";
import { eventIdLike } from "../../core/judge/neighbours.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { duplicatesSubject, type RecordedDrill } from "../../core/readiness/drills/drill.ts";
import { deliveryRequest, type DeliveryRequest } from "../../core/webhook/delivery-request.ts";
import { DEFAULT_DELIVERY_SCHEDULE } from "../../core/webhook/delivery.ts";
import { matchesPatterns } from "../../core/checkout/event-types.ts";
import { isPolledAddress, type Endpoint } from "../../core/webhook/endpoint.ts";
import { isSent } from "../../core/shape/dialect.ts";
import { headersIn } from "../../core/webhook/signature.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { World } from "../../world.ts";
import { atStore } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import { endpointSecrets, type SecretsContext } from "../webhook/endpoint-secrets.ts";
import { deliveryErrorOf, postToReceiver, type PostContext, type PostResult } from "../webhook/post.ts";
import type { Leases } from "./leases.ts";

export type DrillsContext = Pick<ServiceContext, "store"> &
  SecretsContext &
  PostContext & {
    readonly world: Pick<World, "now" | "uuid" | "sleep">;
    readonly leases: Pick<Leases, "check">;
    readonly listenerTargets: ReadonlyMap<string, string>;
  };

/** Refuses with `not_found`, and a drill of duplicates as `currentEndpoints` does. */
export function recordDrill(
  context: DrillsContext,
  storeId: string,
  body: RequestOf<"recordDrill">,
): Promise<Outcome<RecordedDrill>> {
  return atStore(context, storeId, (store, at) => {
    const { kind, subject, steps, leaseId = "" } = body;
    if (kind === "duplicates") {
      const current = currentEndpoints(context, { storeId, leaseId, subject });
      if (!current.ok) return current;
    }
    const drill: RecordedDrill = {
      id: context.world.uuid(),
      storeId,
      kind,
      subject: kind === "idempotency" ? storeId : subject,
      passed: steps.every((step) => step.passed),
      steps,
      at,
    };
    store.drills.insert(drill);
    return accept(drill);
  });
}

/** Refuses with `not_found` if the lease has ended, with `state_conflict` if they are no longer this subject. */
function currentEndpoints(
  context: DrillsContext,
  wanted: { readonly storeId: string; readonly leaseId: string; readonly subject?: string | undefined },
): Outcome<{ readonly endpoints: readonly Endpoint[]; readonly subject: string }> {
  const { storeId, leaseId, subject } = wanted;
  const held = context.leases.check({ storeId, id: leaseId }, "duplicates");
  if (!held.ok) return held;
  const released = refuseHeld(context, storeId);
  if (!released.ok) return released;
  const endpoints = context.store.endpoints
    .of(storeId)
    .filter(({ kind, state }) => kind === "url" && state === "enabled");
  const current = duplicatesSubject(endpoints);
  return subject === undefined || subject === current
    ? accept({ endpoints, subject: current })
    : refuseFact("endpoints_changed", {});
}

/** A listener with its forwarding address. Refuses with `not_found`, or with `state_conflict` if it gets nothing. */
function endpointToDrill(
  context: Pick<DrillsContext, "store" | "heldBack" | "listenerTargets">,
  storeId: string,
  endpointId: string,
): Outcome<Endpoint> {
  const released = refuseHeld(context, storeId);
  if (!released.ok) return released;
  const named = context.store.endpoints.of(storeId).find(({ id }) => id === endpointId);
  if (named === undefined) return refuseFact("no_endpoint", { endpoint: endpointId });
  if (named.state !== "enabled")
    return refuseFact("endpoint_not_enabled", { endpoint: endpointId, state: named.state });
  if (named.kind === "url") return accept(named);
  const url = context.listenerTargets.get(storeId);
  // The forwarding address is one of the listener's machine.
  if (url !== undefined && !isPolledAddress(named.url)) return accept({ ...named, url });
  return refuseFact("endpoint_of_listener", { endpoint: endpointId });
}

function refuseHeld({ heldBack }: Pick<DrillsContext, "heldBack">, storeId: string): Outcome<void> {
  const hold = heldBack(storeId);
  return hold === undefined ? accept(undefined) : refuseFact("nothing_delivered", { hold });
}

type DeliveredEvents = AnswerOf<"deliverForDrill">;
type PreparedEvents = { readonly subject: string; readonly posts: readonly OutgoingPost[] };
type Post = Parameters<typeof postToReceiver>[1];
type OutgoingPost = { readonly eventId: string; readonly post: Post };

/**
 * Sends an event, or several at the same moment, to each enabled endpoint that subscribes to its type, like a delivery.
 * No delivery is written; the steps of the drill are the audit (decision 73). Refuses with `not_found` without the
 * lease of a drill that sends events, or without such an event, and with `state_conflict` if no endpoint is enabled, or
 * the endpoints have changed.
 */
export async function deliverForDrill(
  context: DrillsContext,
  storeId: string,
  wanted: RequestOf<"deliverForDrill">,
): Promise<Outcome<DeliveredEvents>> {
  const prepared = await prepare(context, storeId, wanted);
  if (!prepared.ok) return prepared;
  const { subject, posts } = prepared.value;
  const betweenParts = wanted.how === "in_parts" ? pauseIn(context) : undefined;
  const connection = wanted.together === undefined ? "kept" : "fresh";
  const send = async ({ eventId, post }: OutgoingPost): Promise<DeliveredEvents["answers"][number]> => {
    const { status, error } = wholeAnswer(await postAgain(context, { ...post, betweenParts, connection }));
    return { eventId, status, error };
  };
  if (connection === "fresh") return accept({ subject, answers: await Promise.all(posts.map(send)) });
  const answers: DeliveredEvents["answers"][number][] = [];
  // One endpoint after the other, so that a drill has few requests in flight.
  for (const one of posts) answers.push(await send(one));
  return accept({ subject, answers });
}

/** Again over a new connection if the receiver has closed the kept one. */
async function postAgain(context: DrillsContext, post: Post): Promise<PostResult> {
  const posted = await postToReceiver(context, post);
  const { result } = posted;
  const isStale =
    result !== "forbidden" && !result.ok && result.onKept === true && result.failure !== "timeout";
  return isStale ? postToReceiver(context, { ...post, connection: "fresh" }) : posted;
}

/** Again over a new connection if the kept one was closed. Refuses an ended lease, and as `endpointToDrill`. */
export async function postToEndpoint(
  context: DrillsContext,
  storeId: string,
  { leaseId, endpointId, method, suffix, headers, body, connection, inParts }: RequestOf<"postToEndpoint">,
): Promise<Outcome<AnswerOf<"postToEndpoint">>> {
  const held = context.leases.check({ storeId, id: leaseId });
  if (!held.ok) return held;
  const endpoint = endpointToDrill(context, storeId, endpointId);
  if (!endpoint.ok) return endpoint;
  const values = Map.groupBy(headers, ({ name }) => name);
  const posted = await postAgain(context, {
    storeId,
    ca: endpoint.value.ca,
    url: withSuffix(endpoint.value.url, suffix),
    method,
    body: Buffer.from(body, "base64"),
    betweenParts: inParts === true ? pauseIn(context) : undefined,
    connection,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    lines: Object.fromEntries(
      [...values].flatMap(([name, all]) => (all.length > 1 ? [[name, all.map(({ value }) => value)]] : [])),
    ),
  });
  return accept({ url: endpoint.value.url, milliseconds: posted.milliseconds, ...wholeAnswer(posted) });
}

/** Longer than a receiver needs to read what has arrived, in milliseconds. */
const PARTS_PAUSE_MS = 50;

function pauseIn({ world }: DrillsContext): () => Promise<void> {
  return () => world.sleep(PARTS_PAUSE_MS);
}

function withSuffix(address: string, suffix: RequestOf<"postToEndpoint">["suffix"]): string {
  const url = new URL(address);
  if (suffix === "") return address;
  if (suffix === "/") url.pathname += suffix;
  else url.searchParams.append("x", "1");
  return url.href;
}

type WholeAnswer = Omit<AnswerOf<"postToEndpoint">, "url" | "milliseconds">;

function wholeAnswer({ result }: PostResult): WholeAnswer {
  const none = { status: null, body: "", retryAfter: null, error: null, message: "", fault: null } as const;
  if (result === "forbidden")
    return { ...none, error: "target_forbidden", message: "the sandbox may not send to this address" };
  if (result.ok) {
    const { status, body, headers } = result;
    return { ...none, status, body, retryAfter: headers["retry-after"] ?? null };
  }
  const { fault, elsewhere } = result.facts ?? {};
  return {
    ...none,
    error: deliveryErrorOf(result),
    message: result.message,
    fault: fault === "refused" && elsewhere !== undefined ? "elsewhere" : (fault ?? null),
  };
}

/** The requests of the events, signed with the active secrets. */
function prepare(
  context: DrillsContext,
  storeId: string,
  { leaseId, eventId, subject, together = [], ...form }: RequestOf<"deliverForDrill">,
): Promise<Outcome<PreparedEvents>> {
  return atStore(context, storeId, (store, now) => {
    const current = currentEndpoints(context, { storeId, leaseId, subject });
    if (!current.ok) return current;
    const isForged = form.how === "forged";
    const isPayment = isForged || form.elsewhere !== undefined;
    const posts: OutgoingPost[] = [];
    for (const id of [eventId, ...together]) {
      const event = store.events.find(id);
      if (event === undefined || event.storeId !== storeId) return refuseFact("no_event", { event: id });
      const endpoints = current.value.endpoints.filter(({ eventTypes }) =>
        matchesPatterns(eventTypes, isPayment ? paymentType(event) : event.type),
      );
      const forged = isForged ? forgePayment(context, event, now) : undefined;
      for (const endpoint of endpoints) {
        const { headers, body } = forged ?? signRequest(context, { ...form, endpoint, event, now });
        const { url, ca } = endpoint;
        posts.push({ eventId: id, post: { storeId, url, ca, headers, body } });
      }
    }
    return accept({ subject: current.value.subject, posts });
  });
}

/** The request of an event, signed now. */
function signRequest(
  context: DrillsContext,
  {
    endpoint,
    event,
    now,
    ...form
  }: SentForm & { readonly endpoint: Endpoint; readonly event: StoredEvent; readonly now: number },
): DeliveryRequest {
  const id = context.world.uuid();
  const dialect = context.store.stores.dialect(event.storeId);
  const { how, elsewhere, idLike } = form;
  const isOther = how === "unknown_type" || elsewhere !== undefined;
  const hasOtherId = isOther || (how === "other_id" && isSent(dialect, "event_id"));
  const alike = idLike === undefined ? event.id : eventIdLike(idLike.eventId, idLike.same);
  const body = bodyAs(form, event, { eventId: id, checkoutId: context.world.uuid() });
  return deliveryRequest({
    eventId: hasOtherId ? id : alike,
    body: body.replace(event.id, alike),
    secrets: endpointSecrets(context, endpoint, now).inForce,
    retiredSecrets: [],
    realNow: context.world.now(),
    fault: null,
    dialect,
  });
}

type SentForm = Omit<RequestOf<"deliverForDrill">, "leaseId" | "eventId" | "subject" | "together">;

/** The event's body, or a body as from a later version, another system, or the service's last attempt. */
function bodyAs(
  { how, elsewhere }: SentForm,
  event: StoredEvent,
  { eventId, checkoutId }: { readonly eventId: string; readonly checkoutId: string },
): string {
  if (elsewhere !== undefined) {
    // For a checkout that another system has created with the event's order_id.
    const head = { event_id: eventId, type: paymentType(event), sequence: 3, previous_status: "pending" };
    const { amountMinor, currency } = elsewhere;
    const body = rewritten(event, head, { amount_minor: amountMinor, currency, status: "succeeded" });
    return event.checkoutId === null ? body : body.replaceAll(event.checkoutId, checkoutId);
  }
  if (how === "unknown_type") {
    const type = event.type.replace(/[^.]*$/, UNKNOWN_STATUS);
    const head = { event_id: eventId, type, sequence: event.sequence + 1 };
    return rewritten(event, head, { status: UNKNOWN_STATUS });
  }
  if (how !== "late") return event.body;
  const scheduleMs = DEFAULT_DELIVERY_SCHEDULE.reduce((sum, delayMs) => sum + delayMs, 0);
  return rewritten(event, { created_at: toIso(event.createdAt - scheduleMs) }, {});
}

/** A status that this version does not have. */
const UNKNOWN_STATUS = "disputed";

function rewritten({ body }: StoredEvent, head: object, data: object): string {
  const event = parseJson(body);
  if (!isRecord(event) || !isRecord(event["data"])) return body;
  return JSON.stringify({ ...event, ...head, data: { ...event["data"], ...data } });
}

/** The payment of an order as sent by a forger without a secret. */
function forgePayment(
  { world, store }: DrillsContext,
  order: StoredEvent,
  createdAt: number,
): Pick<DeliveryRequest, "headers" | "body"> {
  // The copy of a payment has its event_id.
  const id = order.type.endsWith(".succeeded") ? order.id : world.uuid();
  const own = { id, storeId: order.storeId, createdAt };
  const dialect = store.stores.dialect(order.storeId);
  const keys = { secret: "", retiredSecret: undefined, realNow: world.now(), dialect };
  const { headers, body } = buildDrillRequest("payment_bad_signature", { own, first: own, order }, keys);
  return { headers: headersIn(dialect, headers), body };
}
