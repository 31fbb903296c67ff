import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import { storeTime } from "../../../with-store.ts";
import { actionForm, storePath } from "../forms.ts";
import { answerBadge, copyableText, momentWithDate, factList } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { attemptDetails } from "./attempt-parts.ts";
import { deliveryStateBadge, orderLink } from "./deliveries.ts";
import { endpointPath } from "./endpoint-parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

export async function deliveryPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const { store } = context;
  const delivery = store.deliveries.find(view.id);
  const event = delivery && store.events.find(delivery.eventId);
  if (delivery?.storeId !== view.storeId || event === undefined)
    return refuseFact("no_delivery", { delivery: view.id });
  const attempts = store.deliveryAttempts.of(delivery.id);
  const attemptSections = attempts.map((attempt, index) => {
    const { number, startedAt, status, finishedAt } = attempt;
    const result = finishedAt === null ? html`${WEBHOOK_TEXTS.underWay}` : answerBadge(status);
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

/** The time of the next attempt, and why it may be delayed; for a settled delivery, why there is no next attempt. */
function nextAttemptHtml({ store, leases }: PortalContext, delivery: Delivery): Html {
  if (delivery.state !== "due") return html`${WEBHOOK_TEXTS.nextOf[delivery.state]}`;
  const endpoint = store.endpoints.find(delivery.endpointId);
  const isWaiting = delivery.inOrder && delivery.sequence > 1 && delivery.tries === 0;
  const isHeld = leases.webhooksHeldBy(delivery.storeId) !== undefined;
  const waitNote = endpoint?.state === "enabled" && !isHeld ? "" : html` ${WEBHOOK_TEXTS.waitsForEndpoint}`;
  const earlierNote = isWaiting ? html` ${WEBHOOK_TEXTS.waitsForEarlier}` : "";
  return html`${WEBHOOK_TEXTS.nextAttempt} ${momentWithDate(delivery.nextAt)}${earlierNote}${waitNote}`;
}
