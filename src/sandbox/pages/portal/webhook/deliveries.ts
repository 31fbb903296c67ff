import { orderIdInBody } from "../../../../core/checkout/event.ts";
import type { StoredEvent } from "../../../../store/checkout/events.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import type { LastAttempt } from "../../../../store/webhook/delivery-attempts.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { merchantText } from "../../shared/layout.ts";
import { storePath } from "../forms.ts";
import { answerBadge, linkTo, table, listTime, type TableRow } from "../parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import type { PortalContext, View } from "../view.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

/** `hasOneTarget`: whether all deliveries go to one endpoint, which the page shows elsewhere. */
export function deliveryTable(
  context: PortalContext,
  view: View,
  { deliveries, hasOneTarget }: { readonly deliveries: readonly Delivery[]; readonly hasOneTarget: boolean },
): Html {
  const row = deliveryRow(context, view, hasOneTarget);
  const list = table({ caption: WEBHOOK_TEXTS.deliveries, isLinked: true }, deliveries, row);
  return html`<div class="deliveries">${list}</div>`;
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
export function deliveryRow(
  context: PortalContext,
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
function attemptResult(attempt: LastAttempt | undefined): Html {
  if (attempt === undefined) return html`<span class="hint">${WEBHOOK_TEXTS.notTried}</span>`;
  const { status, error, milliseconds } = attempt;
  if (status === null && error === null) return html`<span class="hint">${WEBHOOK_TEXTS.underWay}</span>`;
  if (milliseconds === null) return answerBadge(status);
  return html`${answerBadge(status)}
    <span class="hint">${error ?? ""} ${COMMON_TEXTS.took(milliseconds)}</span>`;
}
