import { merchantText } from "../../shared/merchant-text.ts";
import { decodeRequest } from "../../../../core/control/operations.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { printableLiteral } from "../../../../core/text.ts";
import { orderIdInBody } from "../../../../core/checkout/event.ts";
import { EVENT_TYPES } from "../../../../core/checkout/event-types.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import type { StoredEvent } from "../../../../store/checkout/events.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storePath, testOrderForm } from "../forms.ts";
import { listPage, PAGE_SIZE } from "../list.ts";
import { storeTime } from "../../../with-store.ts";
import { answerBadge, noItems, linkTo, table, listTime, type TableRow } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { COMMON_TEXTS, FRAME_TEXTS } from "../texts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

type ListContext = Pick<PortalContext, "store" | "world">;

/** The page of deliveries with its filters; `wrap` adds the rest of the page. Refuses invalid filters and positions. */
export function deliveriesPage(
  context: ListContext,
  view: View,
  wrap: (list: Html) => Html,
): Promise<Outcome<PageContent>> {
  const knownEndpoints = context.store.endpoints.of(view.storeId).map(({ id, url }) => [id, url] as const);
  return listPage<Delivery>(view, {
    title: FRAME_TEXTS.webhooks,
    liveTopic: "writes",
    path: "/webhooks",
    caption: WEBHOOK_TEXTS.deliveries,
    style: "deliveries",
    filters: {
      // A removed endpoint is no option, but its id in the address still selects its deliveries.
      endpoint: { label: COMMON_TEXTS.endpoint, options: knownEndpoints },
      state: { label: COMMON_TEXTS.state, options: Object.entries(WEBHOOK_TEXTS.states) },
      type: { label: COMMON_TEXTS.eventType, options: EVENT_TYPES },
    },
    columns: deliveryRow(context, view, view.query.has("endpoint")),
    read: ({ endpoint, before, state, type }) => {
      const { deliveries } = context.store;
      const check = decodeRequest("listDeliveries", { state });
      if (!check.ok) return check;
      const typeCheck = decodeRequest("listEvents", { type });
      if (!typeCheck.ok) return typeCheck;
      if (before !== undefined && deliveries.find(before)?.storeId !== view.storeId)
        return refuseFact("no_delivery_before", { delivery: printableLiteral(before) });
      const filter = { endpointId: endpoint, state: check.value.state, type };
      const page = { ...filter, storeId: view.storeId, before, limit: PAGE_SIZE };
      const { deliveries: items, nextBefore: next } = deliveries.page(page);
      return accept({ items, next });
    },
    noRows: noItems(WEBHOOK_TEXTS.noDeliveries, "checkout trigger order.succeeded", testOrderForm(view)),
    wrap,
  });
}

/** `hasOneTarget`: whether all deliveries go to one endpoint, which the page shows elsewhere. */
export function deliveryTable(
  context: ListContext,
  view: View,
  { deliveries, hasOneTarget }: { readonly deliveries: readonly Delivery[]; readonly hasOneTarget: boolean },
): Html {
  const shownTable = table(WEBHOOK_TEXTS.deliveries, deliveries, deliveryRow(context, view, hasOneTarget), {
    isLinked: true,
  });
  return html`<div class="deliveries">${shownTable}</div>`;
}

/** The state of a delivery, with a mark that does not depend on colour; for a due delivery, its time. */
export function deliveryStateBadge({ state, nextAt }: Pick<Delivery, "state" | "nextAt">, now: number): Html {
  const style = { due: "pending", succeeded: "succeeded", failed: "failed", dropped: "cancelled" }[state];
  const timeText = state === "due" ? html` ${listTime(nextAt, now)}` : "";
  return html`<span class="badge ${style}">${WEBHOOK_TEXTS.states[state]}</span>${timeText}`;
}

/** The order_id of an event, as a link to the page of its checkout. */
export function orderLink(view: View, { checkoutId, body }: StoredEvent): Html {
  if (checkoutId === null) return html`<span class="hint">${WEBHOOK_TEXTS.ofNoOrder}</span>`;
  return linkTo(storePath(view, `/checkouts/${checkoutId}`), merchantText(orderIdInBody(body)));
}

/** Returns a function that renders a delivery as a row. */
function deliveryRow(
  context: ListContext,
  view: View,
  hasOneTarget: boolean,
): (delivery: Delivery) => TableRow {
  const { store } = context;
  const now = storeTime(context, view.storeId);
  return (delivery) => {
    const { id, createdAt, endpointId, eventId, tries, cause } = delivery;
    const event = store.events.find(eventId);
    const attempt = store.deliveryAttempts.last(id);
    const url = attempt?.url ?? store.endpoints.find(endpointId)?.url ?? endpointId;
    const order = event === undefined ? "" : orderLink(view, event);
    const note = cause === "event" ? "" : html` <span class="hint why">${WEBHOOK_TEXTS.causes[cause]}</span>`;
    const page = storePath(view, `/webhooks/deliveries/${id}`);
    const cells: TableRow = [
      [COMMON_TEXTS.time, linkTo(page, listTime(createdAt, now))],
      [COMMON_TEXTS.event, html`${event?.type ?? eventId}${note}`],
      [COMMON_TEXTS.order, html`<span class="address">${order}</span>`],
      [COMMON_TEXTS.endpoint, html`<span class="address" title="${url}">${url}</span>`],
      [COMMON_TEXTS.answer, attemptResult(attempt)],
      [WEBHOOK_TEXTS.tries, String(attempt?.number ?? tries), "named"],
      [COMMON_TEXTS.state, deliveryStateBadge(delivery, now)],
    ];
    return hasOneTarget ? cells.filter(([column]) => column !== COMMON_TEXTS.endpoint) : cells;
  };
}

/** The answer to the last attempt, or a note that there is none yet. */
function attemptResult(attempt: ReturnType<ListContext["store"]["deliveryAttempts"]["last"]>): Html {
  if (attempt === undefined) return html`<span class="hint">${WEBHOOK_TEXTS.notTried}</span>`;
  const { status, error, milliseconds } = attempt;
  if (status === null && error === null) return html`<span class="hint">${WEBHOOK_TEXTS.underWay}</span>`;
  if (milliseconds === null) return answerBadge(status);
  return html`${answerBadge(status)}
    <span class="hint">${error ?? ""} ${WEBHOOK_TEXTS.took(milliseconds)}</span>`;
}
