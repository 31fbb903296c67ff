import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { buildDrillRequest, paymentType } from "../../core/readiness/drills/webhook-request.ts";
import { duplicatesSubject, type RecordedDrill } from "../../core/readiness/drills/drill.ts";
import type { DrillKind } from "../../core/readiness/names.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { accept, mapValue, refuse, type Outcome } from "../../core/outcome.ts";
import { deliveryRequest, type DeliveryRequest } from "../../core/webhook/delivery-request.ts";
import { matchesPatterns } from "../../core/checkout/event-types.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import { atStore } from "../at-store.ts";
import { endpointSecrets } from "../webhook/endpoint-secrets.ts";
import { deliveryErrorOf, postToReceiver, type PostResult } from "../webhook/post.ts";
import { endpointsToDrill, insertDrill, type DrillsContext } from "./drills.ts";

/** The drills that send events themselves. */
const SENDING_DRILLS: readonly DrillKind[] = ["duplicates", "browser_return"];

type DeliveredEvents = AnswerOf<"deliverForDrill">;
type PreparedEvents = { readonly subject: string; readonly posts: readonly OutgoingPost[] };
type OutgoingPost = Pick<Endpoint, "storeId" | "url" | "ca"> &
  Pick<DeliveryRequest, "headers" | "body"> & { readonly eventId: string };

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
  if (wanted.together !== undefined) {
    const posted = posts.map(async (outgoing) =>
      answerOf(outgoing, await postToReceiver(context, { ...withoutId(outgoing), connection: "fresh" })),
    );
    return accept({ subject, answers: await Promise.all(posted) });
  }
  const answers: DeliveredEvents["answers"][number][] = [];
  // One endpoint after the other, so that a drill has few requests in flight.
  for (const outgoing of posts)
    answers.push(answerOf(outgoing, await postAsDelivery(context, withoutId(outgoing))));
  return accept({ subject, answers });
}

function withoutId({ eventId: _id, ...post }: OutgoingPost): Omit<OutgoingPost, "eventId"> {
  return post;
}

/**
 * Posts over a kept connection, as deliveries do, and again over a new connection if the receiver has closed the kept
 * one.
 */
async function postAsDelivery(
  context: DrillsContext,
  outgoing: Omit<OutgoingPost, "eventId">,
): Promise<PostResult> {
  const posted = await postToReceiver(context, { ...outgoing, connection: "kept" });
  const { result } = posted;
  const wasClosed = result !== "forbidden" && !result.ok && result.failure === "connection_lost";
  return wasClosed ? postToReceiver(context, { ...outgoing, connection: "fresh" }) : posted;
}

/** Records the result of a drill of duplicates. Refuses as `deliverForDrill` does. */
export function recordDuplicatesDrill(
  context: DrillsContext,
  storeId: string,
  { leaseId, subject, steps }: RequestOf<"recordDuplicates">,
): Promise<Outcome<RecordedDrill>> {
  return atStore(context, storeId, (_store, now) =>
    mapValue(currentSubject(context, { storeId, leaseId, subject }, ["duplicates"]), (current) =>
      insertDrill(context, { storeId, kind: "duplicates", subject: current.subject, steps }, now),
    ),
  );
}

/** The requests of the events, signed with the active secrets. */
function prepare(
  context: DrillsContext,
  storeId: string,
  { leaseId, eventId, subject, together = [], ...how }: RequestOf<"deliverForDrill">,
): Promise<Outcome<PreparedEvents>> {
  return atStore(context, storeId, (store, now) => {
    const current = currentSubject(context, { storeId, leaseId, subject }, SENDING_DRILLS);
    if (!current.ok) return current;
    const posts: OutgoingPost[] = [];
    for (const id of [eventId, ...together]) {
      const event = store.events.find(id);
      if (event === undefined || event.storeId !== storeId)
        return refuse("not_found", `there is no event ${id}`);
      const endpoints = current.value.endpoints.filter(({ eventTypes }) =>
        matchesPatterns(eventTypes, how.forged === true ? paymentType(event) : event.type),
      );
      const forged = how.forged === true ? forgePayment(context, event, now) : undefined;
      for (const endpoint of endpoints) {
        const { headers, body } = forged ?? signRequest(context, { ...how, endpoint, event, now });
        posts.push({ eventId: id, storeId, url: endpoint.url, ca: endpoint.ca, headers, body });
      }
    }
    return accept({ subject: current.value.subject, posts });
  });
}

/** The request of an event, signed now; `otherId`: with another id in the header, which is not signed. */
function signRequest(
  context: DrillsContext,
  {
    endpoint,
    event,
    now,
    otherId = false,
    unknownType = false,
  }: Pick<RequestOf<"deliverForDrill">, "otherId" | "unknownType"> & {
    readonly endpoint: Endpoint;
    readonly event: StoredEvent;
    readonly now: number;
  },
): DeliveryRequest {
  const id = context.world.uuid();
  return deliveryRequest({
    eventId: otherId || unknownType ? id : event.id,
    body: unknownType ? withUnknownType(event, id) : event.body,
    secrets: endpointSecrets(context, endpoint, now).inForce,
    retiredSecrets: [],
    realNow: context.world.now(),
    fault: null,
  });
}

/** The event of a later version, whose type and status this version does not have. */
function withUnknownType({ body, type, sequence }: StoredEvent, eventId: string): string {
  const event = parseJson(body);
  const data = isRecord(event) && isRecord(event["data"]) ? { ...event["data"], status: UNKNOWN_STATUS } : {};
  const later = { event_id: eventId, type: type.replace(/[^.]*$/, UNKNOWN_STATUS), sequence: sequence + 10 };
  return JSON.stringify({ ...(isRecord(event) ? event : {}), ...later, data });
}

const UNKNOWN_STATUS = "disputed";

/** The payment of an order as sent by a forger without a secret. */
function forgePayment(
  { world }: DrillsContext,
  order: StoredEvent,
  createdAt: number,
): Pick<DeliveryRequest, "headers" | "body"> {
  const own = { id: world.uuid(), storeId: order.storeId, createdAt };
  const keys = { secret: "", retiredSecret: undefined, realNow: world.now() };
  return buildDrillRequest("payment_bad_signature", { own, first: own, order }, keys);
}

/**
 * The endpoints and the subject of the drill under this lease. Refuses with `state_conflict` if the endpoints have
 * changed.
 */
function currentSubject(
  context: DrillsContext,
  wanted: { readonly storeId: string; readonly leaseId: string; readonly subject?: string | undefined },
  drills: readonly DrillKind[],
): Outcome<{ readonly endpoints: readonly Endpoint[]; readonly subject: string }> {
  const { storeId, leaseId, subject } = wanted;
  const held = context.leases.check({ storeId, id: leaseId }, drills);
  if (!held.ok) return held;
  const endpoints = endpointsToDrill(context, storeId);
  if (!endpoints.ok) return endpoints;
  const current = duplicatesSubject(endpoints.value);
  return subject === undefined || subject === current
    ? accept({ endpoints: endpoints.value, subject: current })
    : refuse("state_conflict", [
        "the endpoints changed during the drill, so the drill proves nothing",
        "演练期间接收端有变，因此结果无效",
      ]);
}

function answerOf({ eventId }: OutgoingPost, { result }: PostResult): DeliveredEvents["answers"][number] {
  if (result === "forbidden") return { eventId, status: null, error: "target_forbidden" };
  return result.ok
    ? { eventId, status: result.status, error: null }
    : { eventId, status: null, error: deliveryErrorOf(result) };
}
