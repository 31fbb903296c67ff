import type { CheckoutEvent } from "../../core/checkout/event.ts";
import { matchesEventPatterns } from "../../core/checkout/event-types.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { buildDrillRequest, paymentType } from "../../core/judge/forms/requests.ts";
import { eventIdLike, nearAmount, type SamePart } from "../../core/judge/neighbours.ts";
import type { Step } from "../../core/judge/step.ts";
import { isRecord } from "../../core/json.ts";
import { formatAmount } from "../../core/money.ts";
import {
  backdate,
  changeEventFields,
  type DrillRequest,
  type Mutations,
} from "../../core/readiness/drills/webhook-case.ts";
import { DRILL_CASES } from "../../core/readiness/drills/webhook.ts";
import { hasField, type Dialect } from "../../core/shape/dialect.ts";
import { DEFAULT_DELIVERY_SCHEDULE } from "../../core/webhook/delivery.ts";
import type { EndpointEntry, EventEntry } from "../../core/webhook/shapes.ts";
import type { World } from "../../world.ts";
import type { CallOperation } from "../control/control.ts";

export type JudgedEndpoint = Pick<EndpointEntry, "id" | "url" | "eventTypes"> &
  Pick<AnswerOf<"showSecret">, "inForce">;

export type EventVariant = Mutations & {
  readonly text: string;
  readonly ownId?: string;
};

export const UNCHANGED_EVENT: EventVariant = { text: "{type}" };

/** Many tables of exchange rates lack these currencies. Two, so that one of them differs from the order's currency. */
const RARE_CURRENCIES = ["ISK", "XPF"];
const LIKE_CURRENCIES = new Map([
  ["USD", "HKD"],
  ["CNY", "JPY"],
  ["JPY", "CNY"],
]);
const UNKNOWN_STATUS = "disputed";
const SCHEDULE_MS = DEFAULT_DELIVERY_SCHEDULE.reduce((sum, delayMs) => sum + delayMs, 0);

type EventsContext = { readonly world: Pick<World, "now" | "uuid">; readonly dialect?: Dialect | undefined };

export function eventVariant(
  variant: Extract<Step, { act: "tell" }>["alteration"],
  { world, dialect }: EventsContext,
  { amountMinor, currency }: { readonly amountMinor: number; readonly currency: string },
): EventVariant {
  const id = world.uuid();
  switch (variant) {
    case undefined:
    case "unanswered":
      return UNCHANGED_EVENT;
    case "forged":
      return { ...DRILL_CASES.payment_bad_signature, text: "a payment with a wrong signature" };
    case "other_id": {
      // If the dialect's body has no event id, another id in the header makes the request another event.
      const text = "{type}, with another id in its header";
      return { text, ...(hasField(dialect, "event_id") && { hasOtherId: true }) };
    }
    case "unknown_type": {
      const changeEvent = changeEventFields(({ type, sequence, data }) => ({
        event_id: id,
        type: String(type).replace(/[^.]*$/, UNKNOWN_STATUS),
        sequence: Number(sequence) + 1,
        data: { ...(isRecord(data) && data), status: UNKNOWN_STATUS },
      }));
      return { text: "an event of a type that does not exist", ownId: id, hasOtherId: true, changeEvent };
    }
    case "new_type": {
      const changeEvent = changeEventFields(({ type, sequence }) => ({
        event_id: id,
        type: String(type).replace(/[^.]*$/, UNKNOWN_STATUS),
        sequence: Number(sequence) + 1,
      }));
      return { text: "an event of a later version", ownId: id, hasOtherId: true, changeEvent };
    }
    case "in_parts":
      return { text: "{type}, in two parts", inParts: true };
    case "late":
      return { text: "{type}, as the last attempt of its schedule", changeEvent: backdate(SCHEDULE_MS) };
    case "less":
    case "more":
      return foreignVariant(id, nearAmount(amountMinor, variant), currency);
    case "like_currency":
      return foreignVariant(id, amountMinor, LIKE_CURRENCIES.get(currency) ?? "USD");
    case "other_currency":
      return foreignVariant(id, amountMinor, RARE_CURRENCIES.find((code) => code !== currency) ?? currency);
  }
}

function foreignVariant(id: string, amount: number, currency: string): EventVariant {
  const changeEvent = changeEventFields(({ data }) => ({
    sequence: 3,
    data: { ...(isRecord(data) && data), id, amount_minor: amount, currency },
  }));
  const text = `the payment of another checkout with its order_id, of ${formatAmount(amount, currency)}`;
  return { event: "payment", text, changeEvent };
}

export function similarVariant(eventId: string, samePart: SamePart): EventVariant {
  const id = eventIdLike(eventId, samePart);
  const text = "{type}, with an id that resembles another one";
  return { text, ownId: id, hasOtherId: true, changeEvent: changeEventFields(() => ({ event_id: id })) };
}

export function isDeliverable({ state, pausedBy }: Pick<EndpointEntry, "state" | "pausedBy">): boolean {
  return state === "enabled" || pausedBy === "drill";
}

export async function findEndpoints(call: CallOperation): Promise<readonly JudgedEndpoint[]> {
  const { endpoints } = await call({ name: "listEndpoints", body: undefined });
  const enabledEndpoints = endpoints.filter((endpoint) => endpoint.kind === "url" && isDeliverable(endpoint));
  return Promise.all(
    enabledEndpoints.map(async ({ id, url, eventTypes }) => {
      const { inForce } = await call({ name: "showSecret", id, body: undefined });
      return { id, url, eventTypes, inForce };
    }),
  );
}

export function postsOf(
  { world, dialect }: EventsContext,
  { eventId, type, body, createdAt }: EventEntry,
  {
    endpoints,
    variant,
    connection,
  }: {
    readonly endpoints: readonly JudgedEndpoint[];
    readonly variant: EventVariant;
    readonly connection: "kept" | "fresh";
  },
): readonly EndpointPost[] {
  const order = { id: eventId, body };
  const sentType = variant.event === "payment" ? paymentType(order) : type;
  // The forged copy of a payment event keeps the event_id.
  const isCopy =
    variant.changeEvent === undefined && variant.hasOtherId !== true && type.endsWith(".succeeded");
  const ownEvent = { id: variant.ownId ?? (isCopy ? eventId : world.uuid()), storeId: "", createdAt };
  const keys = { secret: "", retiredSecret: undefined, realNow: world.now(), dialect };
  return endpoints
    .filter(({ eventTypes }) => matchesEventPatterns(eventTypes, sentType as CheckoutEvent["type"]))
    .map(({ id, inForce }) => {
      const form: Mutations = { event: "order", secret: () => inForce, ...variant };
      const { request } = buildDrillRequest(form, { own: ownEvent, first: ownEvent, order }, keys);
      return postOf(id, request, connection);
    });
}

type EndpointPost = RequestOf<"postToEndpoint">["posts"][number];

export function postOf(
  endpointId: string,
  { headers, lines = {}, body, ...request }: DrillRequest,
  connection: "kept" | "fresh",
): EndpointPost {
  const rows = Object.entries(headers).flatMap(([name, value]) =>
    (lines[name] ?? [value]).map((line) => ({ name, value: line })),
  );
  return { endpointId, ...request, headers: rows, body: Buffer.from(body).toString("base64"), connection };
}
