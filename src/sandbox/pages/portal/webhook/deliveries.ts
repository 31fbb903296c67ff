import { merchantText } from "../../shared/merchant-text.ts";
import { parseJson } from "../../../../core/json.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import { printableLiteral } from "../../../../core/text.ts";
import { DELIVERY_STATES, type DeliveryState } from "../../../../core/webhook/delivery.ts";
import { EVENT_TYPES } from "../../../../core/checkout/event-types.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import type { StoredEvent } from "../../../../store/checkout/events.ts";
import { html, type Html } from "../../../../web/html.ts";
import { listFilter } from "../fields.ts";
import { listAddress, storePath, testOrderForm } from "../forms.ts";
import { storeTime } from "../../../at-store.ts";
import {
  answerBadge,
  noItems,
  linkTo,
  nextPartLink,
  noMatch,
  table,
  listTime,
  type TableRow,
} from "../parts.ts";
import type { PortalContext, View } from "../view.ts";
import { COMMON_WORDS } from "../texts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

/** The filters of a list of deliveries; null for all. */
type DeliveryFilter = {
  readonly endpointId: string | null;
  readonly state: DeliveryState | null;
  readonly type: string | null;
  /** The delivery after which this part of the list begins. */
  readonly before: string | undefined;
};

/** The sources of lists of deliveries. */
type ListContext = Pick<PortalContext, "store" | "world">;

const PAGE = 50;

/**
 * Parses the filters of the address. Refuses an invalid filter with `invalid_parameter`, and an unknown position with
 * `not_found`.
 */
export function parseDeliveryFilter(
  { store }: Pick<PortalContext, "store">,
  { query, storeId }: Pick<View, "query" | "storeId">,
): Outcome<DeliveryFilter> {
  const state = oneOf(query, "state", DELIVERY_STATES);
  if (!state.ok) return state;
  const type = oneOf(query, "type", EVENT_TYPES);
  if (!type.ok) return type;
  const before = fieldInAddress(query, "before");
  if (before !== null && store.deliveries.find(before)?.storeId !== storeId)
    return refuse("not_found", [
      `there is no delivery ${printableLiteral(before)} from which to continue`,
      `没有可接着显示的推送 ${printableLiteral(before)}`,
    ]);
  return accept({
    endpointId: fieldInAddress(query, "endpoint"),
    state: state.value,
    type: type.value,
    before: before ?? undefined,
  });
}

/** The filters as fields of a form that changes only the address. */
export function deliveryFilterForm(
  { store }: Pick<PortalContext, "store">,
  view: View,
  choice: DeliveryFilter,
): Html {
  const known = store.endpoints.of(view.storeId).map(({ id, url }) => [id, url] as const);
  const chosen = choice.endpointId;
  const isKnown = chosen === null || known.some(([id]) => id === chosen);
  // A removed endpoint still has its deliveries.
  const endpoints = isKnown ? known : [...known, [chosen, chosen] as const];
  const types = EVENT_TYPES.map((type) => [type, type] as const);
  const any = COMMON_WORDS.all;
  return html`<form method="get" action="${storePath(view, "/webhooks")}" class="filters">
    ${listFilter({ name: "endpoint", label: WEBHOOK_TEXTS.endpoint, any }, endpoints, chosen)}
    ${listFilter({ name: "state", label: COMMON_WORDS.state, any }, Object.entries(WEBHOOK_TEXTS.states), choice.state)}
    ${listFilter({ name: "type", label: COMMON_WORDS.eventType, any }, types, choice.type)}
    <button type="submit">${COMMON_WORDS.filter}</button>
  </form>`;
}

/** A part of the list of deliveries, newest first, with the link to the next part. */
export function deliveryList(context: ListContext, view: View, choice: DeliveryFilter): Html {
  const { storeId } = view;
  const filter = { storeId, eventId: null, checkoutId: null, limit: PAGE };
  const { deliveries, nextBefore } = context.store.deliveries.page({ ...filter, ...choice });
  const isFiltered = [choice.endpointId, choice.state, choice.type, choice.before].some(
    (one) => one !== null && one !== undefined,
  );
  if (deliveries.length === 0 && nextBefore === null && !isFiltered)
    return noItems(WEBHOOK_TEXTS.noDeliveries, "checkout trigger order.succeeded", testOrderForm(view));
  const { endpointId, state, type } = choice;
  const older =
    nextBefore === null
      ? ""
      : html`<p class="pager">
          ${nextPartLink(deliveriesPath(view, { endpoint: endpointId, state, type, before: nextBefore }), COMMON_WORDS.older)}
        </p>`;
  const rows =
    deliveries.length === 0
      ? noMatch(WEBHOOK_TEXTS.noMatch, storePath(view, "/webhooks"))
      : deliveryTable(context, view, { deliveries, isOfOne: endpointId !== null });
  return html`${rows} ${older}`;
}

/** Deliveries as rows, each with its last attempt. */
export function deliveryTable(
  context: ListContext,
  view: View,
  {
    deliveries,
    isOfOne,
  }: {
    readonly deliveries: readonly Delivery[];
    /** Whether all deliveries go to one endpoint, which the page shows elsewhere. */
    readonly isOfOne: boolean;
  },
): Html {
  const list = table(
    WEBHOOK_TEXTS.deliveries,
    deliveries,
    (delivery) => deliveryRow(context, view, { delivery, isOfOne }),
    { opens: true },
  );
  return html`<div class="deliveries">${list}</div>`;
}

/** The state of a delivery, with a mark that does not depend on colour; for a due delivery, its time. */
export function deliveryState({ state, nextAt }: Pick<Delivery, "state" | "nextAt">, now: number): Html {
  const kind = { due: "pending", succeeded: "succeeded", failed: "failed", dropped: "cancelled" }[state];
  const when = state === "due" ? html` ${listTime(nextAt, now)}` : "";
  return html`<span class="badge ${kind}">${WEBHOOK_TEXTS.states[state]}</span>${when}`;
}

/** The order_id in an event; empty if it has none. */
function orderIdOf({ body }: Pick<StoredEvent, "body">): string {
  const event = parseJson(body) as { readonly data?: { readonly order_id?: unknown } } | undefined;
  const orderId = event?.data?.order_id;
  return typeof orderId === "string" ? orderId : "";
}

/** The order_id of an event, as a link to the page of its checkout. */
export function orderLink(view: View, event: StoredEvent): Html {
  const { checkoutId } = event;
  if (checkoutId === null) return html`<span class="hint">${WEBHOOK_TEXTS.ofNoOrder}</span>`;
  return linkTo(storePath(view, `/checkouts/${checkoutId}`), merchantText(orderIdOf(event)));
}

/** The address of the list with these filters. */
export function deliveriesPath(
  view: Pick<View, "storeId">,
  filters: Readonly<Record<string, string | null>>,
): string {
  return listAddress(view, "/webhooks", filters);
}

function deliveryRow(
  context: ListContext,
  view: View,
  { delivery, isOfOne }: { readonly delivery: Delivery; readonly isOfOne: boolean },
): TableRow {
  const { store } = context;
  const now = storeTime(context, view.storeId);
  const { id, createdAt, endpointId, eventId, tries, cause } = delivery;
  const event = store.events.find(eventId);
  const last = store.deliveryAttempts.last(id);
  const url = last?.url ?? store.endpoints.find(endpointId)?.url ?? endpointId;
  const order = event === undefined ? "" : orderLink(view, event);
  const took =
    last === undefined || last.milliseconds === null
      ? ""
      : html` <span class="hint">${last.error ?? ""} ${WEBHOOK_TEXTS.took(last.milliseconds)}</span>`;
  const isOpen = last !== undefined && last.status === null && last.error === null;
  const result =
    last === undefined
      ? html`<span class="hint">${WEBHOOK_TEXTS.notTried}</span>`
      : isOpen
        ? html`<span class="hint">${WEBHOOK_TEXTS.underWay}</span>`
        : html`${answerBadge(last.status)}${took}`;
  const why = cause === "event" ? "" : html` <span class="hint why">${WEBHOOK_TEXTS.causes[cause]}</span>`;
  const page = storePath(view, `/webhooks/deliveries/${id}`);
  const cells: TableRow = [
    [COMMON_WORDS.time, linkTo(page, listTime(createdAt, now))],
    [COMMON_WORDS.event, html`${event?.type ?? eventId}${why}`],
    [COMMON_WORDS.order, html`<span class="address">${order}</span>`],
    [WEBHOOK_TEXTS.endpoint, html`<span class="address" title="${url}">${url}</span>`],
    [COMMON_WORDS.answer, result],
    [WEBHOOK_TEXTS.tries, String(last?.number ?? tries), "named"],
    [COMMON_WORDS.state, deliveryState(delivery, now)],
  ];
  return isOfOne ? cells.filter(([column]) => column !== WEBHOOK_TEXTS.endpoint) : cells;
}

function oneOf<const Value extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly Value[],
): Outcome<Value | null> {
  const text = fieldInAddress(query, name);
  if (text === null) return accept(null);
  const known = values.find((value) => value === text);
  if (known !== undefined) return accept(known);
  return refuse("invalid_parameter", [
    `${name} must be one of ${values.join(", ")}; got ${printableLiteral(text)}`,
    `${name} 必须是 ${values.join("、")} 之一；收到 ${printableLiteral(text)}`,
  ]);
}

/** A field in the address; an empty field counts as missing. */
function fieldInAddress(query: URLSearchParams, name: string): string | null {
  const text = query.get(name);
  return text === "" ? null : text;
}
