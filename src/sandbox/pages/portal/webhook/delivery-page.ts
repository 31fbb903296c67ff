import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import { storeTime } from "../../../at-store.ts";
import { actForm, storePath } from "../forms.ts";
import { answerBadge, copyable, dated, facts } from "../parts.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { attemptDetails } from "./attempt-parts.ts";
import { deliveryState, orderLink } from "./deliveries.ts";
import { endpointPath } from "./endpoint-parts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

/** The page of a delivery: each try of it, and what comes next. */
export async function deliveryPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const { store } = context;
  const texts = WEBHOOK_TEXTS[view.language];
  const delivery = store.deliveries.find(view.id);
  const event = delivery && store.events.find(delivery.eventId);
  if (delivery?.storeId !== view.storeId || event === undefined)
    return refuse("not_found", `there is no delivery ${view.id}`);
  const attempts = store.deliveryAttempts.of(delivery.id);
  const tries = attempts.map((attempt, index) => {
    const { number, startedAt, status, finishedAt } = attempt;
    const result = finishedAt === null ? html`${texts.underWay}` : answerBadge(view, status);
    const isLast = index === attempts.length - 1;
    return html`<section class="panel try" id="try-${String(number)}">
      <h2>${texts.tryNumber(number)} ${result} <span class="hint">${dated(startedAt)}</span></h2>
      <details ${isLast ? html`open` : ""}>
        <summary>${texts.details}</summary>
        ${attemptDetails(context, view, delivery, attempt)}
      </details>
    </section>`;
  });
  const main = html`<section class="panel">
      ${facts([
        ["ID", copyable(delivery.id)],
        [texts.state, deliveryState(view, delivery, storeTime(context, view.storeId))],
        [texts.event, html`<a href="${storePath(view, `/webhooks/events/${event.id}`)}">${event.type}</a>`],
        [texts.order, orderLink(view, event)],
        [texts.endpoint, endpointLink(context, view, delivery)],
        [texts.causeOf, texts.causes[delivery.cause]],
        [texts.made, dated(delivery.createdAt)],
        [texts.next, nextWords(context, view, delivery)],
        [texts.inTerminal, copyable(`checkout explain ${delivery.id}`)],
      ])}
      ${replayForm(view, delivery)}
    </section>
    ${tries.toReversed()}`;
  const title = texts.deliveryTitle(event.type);
  return accept({ title, main, live: { kind: "delivery", id: delivery.id } });
}

/** The form that delivers the event of a delivery to the same endpoint once more. */
function replayForm(view: View, { eventId, endpointId }: Pick<Delivery, "eventId" | "endpointId">): Html {
  return actForm(view, {
    action: storePath(view, `/webhooks/events/${eventId}/replay`),
    label: WEBHOOK_TEXTS[view.language].replay,
    fields: { endpoint_id: endpointId },
  });
}

function endpointLink({ store }: PortalContext, view: View, { endpointId }: Delivery): Html {
  const endpoint = store.endpoints.find(endpointId);
  if (endpoint !== undefined) return html`<a href="${endpointPath(view, endpointId)}">${endpoint.url}</a>`;
  return html`${endpointId} <span class="hint">${WEBHOOK_TEXTS[view.language].removed}</span>`;
}

/** What comes next, and when: also where its endpoint lets nothing through. */
function nextWords({ store, leases }: PortalContext, view: View, delivery: Delivery): Html {
  const texts = WEBHOOK_TEXTS[view.language];
  if (delivery.state !== "due") return html`${texts.nextOf[delivery.state]}`;
  const endpoint = store.endpoints.find(delivery.endpointId);
  const isWaiting = delivery.inOrder && delivery.sequence > 1 && delivery.tries === 0;
  const isHeld = leases.webhooksHeldBy(delivery.storeId) !== undefined;
  const waits = endpoint?.state === "enabled" && !isHeld ? "" : html` ${texts.waitsForEndpoint}`;
  const earlier = isWaiting ? html` ${texts.waitsForEarlier}` : "";
  return html`${texts.nextTry} ${dated(delivery.nextAt)}${earlier}${waits}`;
}
