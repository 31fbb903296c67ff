import { orderIdInBody } from "../../../../core/checkout/event.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import type { StoredEvent } from "../../../../store/checkout/events.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import type { LastAttempt } from "../../../../store/webhook/delivery-attempts.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { merchantText } from "../../shared/layout.ts";
import { actionForm, storePath } from "../forms.ts";
import {
  httpStatusBadge,
  copyableText,
  factList,
  linkTo,
  shortTimeHtml,
  momentWithDate,
  table,
  type TableRow,
} from "../parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { attemptDetails } from "./attempt-parts.ts";
import { endpointPath } from "./endpoint-parts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

export function deliveryTable(
  context: PortalContext,
  view: View,
  { deliveries, hasOneTarget }: { readonly deliveries: readonly Delivery[]; readonly hasOneTarget: boolean },
): Html {
  const row = deliveryRow(context, view, hasOneTarget);
  const list = table({ caption: WEBHOOK_TEXTS.deliveries, isLinked: true }, deliveries, row);
  return html`<div class="deliveries">${list}</div>`;
}

function deliveryStateBadge({ state, nextAt }: Pick<Delivery, "state" | "nextAt">, now: number): Html {
  const style = { due: "pending", succeeded: "succeeded", failed: "failed", dropped: "cancelled" }[state];
  const timeText = state === "due" ? html` ${shortTimeHtml(nextAt, now)}` : "";
  return html`<span class="badge ${style}">${WEBHOOK_TEXTS.states[state]}</span>${timeText}`;
}

export function orderLink(view: View, { checkoutId, body }: StoredEvent): Html {
  if (checkoutId === null) return html`<span class="hint">${WEBHOOK_TEXTS.ofNoOrder}</span>`;
  return linkTo(storePath(view, `/checkouts/${checkoutId}`), merchantText(orderIdInBody(body)));
}

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
      [COMMON_TEXTS.time, linkTo(page, shortTimeHtml(createdAt, now))],
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

function attemptResult(attempt: LastAttempt | undefined): Html {
  if (attempt === undefined) return html`<span class="hint">${WEBHOOK_TEXTS.notTried}</span>`;
  const { status, error, milliseconds } = attempt;
  if (status === null && error === null) return html`<span class="hint">${WEBHOOK_TEXTS.underWay}</span>`;
  if (milliseconds === null) return httpStatusBadge(status);
  return html`${httpStatusBadge(status)}
    <span class="hint">${error ?? ""} ${COMMON_TEXTS.took(milliseconds)}</span>`;
}

export async function deliveryPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const { store } = context;
  const delivery = store.deliveries.find(view.id);
  const event = delivery && store.events.find(delivery.eventId);
  if (delivery?.storeId !== view.storeId || event === undefined)
    return refuseFact("no_delivery", { delivery: view.id });
  const attempts = store.deliveryAttempts.of(delivery.id);
  const attemptSections = attempts.map((attempt, index) => {
    const { number, startedAt, status, finishedAt } = attempt;
    const result = finishedAt === null ? html`${WEBHOOK_TEXTS.underWay}` : httpStatusBadge(status);
    const isLast = index === attempts.length - 1;
    return html`<section class="panel try" id="try-${String(number)}">
      <h2>
        ${WEBHOOK_TEXTS.tryNumber(number)} ${result} <span class="hint">${momentWithDate(startedAt)}</span>
      </h2>
      <details ${isLast ? html`open` : ""}>
        <summary>${WEBHOOK_TEXTS.details}</summary>
        ${attemptDetails(context, delivery, attempt)}
      </details>
    </section>`;
  });
  const replayForm = actionForm(view, {
    action: storePath(view, `/webhooks/events/${event.id}/replay`),
    label: WEBHOOK_TEXTS.replay,
    fields: { endpoint_id: delivery.endpointId },
  });
  const main = html`<section class="panel">
      ${factList([
        ["ID", copyableText(delivery.id)],
        [COMMON_TEXTS.state, deliveryStateBadge(delivery, storeTime(context, view.storeId))],
        [
          COMMON_TEXTS.event,
          html`<a href="${storePath(view, `/webhooks/events/${event.id}`)}">${event.type}</a>`,
        ],
        [COMMON_TEXTS.order, orderLink(view, event)],
        [COMMON_TEXTS.endpoint, endpointLink(context, view, delivery)],
        [WEBHOOK_TEXTS.causeOf, WEBHOOK_TEXTS.causes[delivery.cause]],
        [COMMON_TEXTS.time, momentWithDate(delivery.createdAt)],
        [WEBHOOK_TEXTS.next, nextAttemptHtml(context, delivery)],
        [COMMON_TEXTS.inTerminal, copyableText(`checkout explain ${delivery.id}`)],
      ])}
      ${replayForm}
    </section>
    ${attemptSections.toReversed()}`;
  const title = WEBHOOK_TEXTS.deliveryTitle(event.type);
  return accept({ title, main, liveTopic: "delivery" });
}

function endpointLink({ store }: PortalContext, view: View, { endpointId }: Delivery): Html {
  const endpoint = store.endpoints.find(endpointId);
  if (endpoint !== undefined) return html`<a href="${endpointPath(view, endpointId)}">${endpoint.url}</a>`;
  return html`${endpointId} <span class="hint">${WEBHOOK_TEXTS.removed}</span>`;
}

function nextAttemptHtml({ store, leases }: PortalContext, delivery: Delivery): Html {
  if (delivery.state !== "due") return html`${WEBHOOK_TEXTS.nextOf[delivery.state]}`;
  const endpoint = store.endpoints.find(delivery.endpointId);
  const isWaiting = delivery.inOrder && delivery.sequence > 1 && delivery.tries === 0;
  const isHeld = leases.webhooksHeldBy(delivery.storeId) !== undefined;
  const waitNote = endpoint?.state === "enabled" && !isHeld ? "" : html` ${WEBHOOK_TEXTS.waitsForEndpoint}`;
  const earlierNote = isWaiting ? html` ${WEBHOOK_TEXTS.waitsForEarlier}` : "";
  return html`${WEBHOOK_TEXTS.nextAttempt} ${momentWithDate(delivery.nextAt)}${earlierNote}${waitNote}`;
}
