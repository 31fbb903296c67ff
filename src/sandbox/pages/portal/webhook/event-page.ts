import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import type { StoredEvent } from "../../../../store/checkout/events.ts";
import { html, type Html } from "../../../../web/html.ts";
import { actionForm, storePath } from "../forms.ts";
import { sentText, copyableText, momentWithDate, noItems, factList, section } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { attemptDetails } from "./attempt-parts.ts";
import { deliveryTable, orderLink } from "./deliveries.ts";
import { addEndpointForm } from "./endpoint-parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

/** Maximum number of deliveries shown for one event; the newest are shown. */
const MAX_DELIVERIES = 20;

export async function eventPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const { store } = context;
  const event = store.events.find(view.id);
  if (event?.storeId !== view.storeId) return refuseFact("no_event", { event: view.id });
  const { storeId } = view;
  const deliveries = store.deliveries.list({ storeId, eventId: event.id, limit: MAX_DELIVERIES });
  const hasDeliveries = deliveries.length > 0;
  const deliveriesPart = hasDeliveries
    ? deliveryTable(context, view, { deliveries, hasOneTarget: false })
    : undeliveredNote(context, view, event);
  const delivery = deliveries.find(({ id }) => store.deliveryAttempts.last(id) !== undefined);
  const attempt = delivery && store.deliveryAttempts.of(delivery.id).at(-1);
  const main = html`<section class="panel">
      ${factList([
        ["event_id", copyableText(event.id)],
        [COMMON_TEXTS.order, orderLink(view, event)],
        [WEBHOOK_TEXTS.sequence, String(event.sequence)],
        [COMMON_TEXTS.time, momentWithDate(event.createdAt)],
      ])}
      ${hasDeliveries ? html`<div class="actions">${replayEventForm(context, view, event)}</div>` : ""}
    </section>
    ${section(COMMON_TEXTS.body, sentText(COMMON_TEXTS.body, event.body))}
    ${section(WEBHOOK_TEXTS.deliveries, deliveriesPart)}
    ${
      delivery === undefined || attempt === undefined
        ? ""
        : section(WEBHOOK_TEXTS.lastSent, attemptDetails(context, delivery, attempt))
    }`;
  return accept({ title: event.type, main, liveTopic: "writes" });
}

/** The note for an event without deliveries, with the form that delivers the event, or that adds the first endpoint. */
function undeliveredNote(context: PortalContext, view: View, event: StoredEvent): Html {
  return context.store.endpoints.of(view.storeId).length === 0
    ? noItems(
        WEBHOOK_TEXTS.noEndpointAtEvent,
        "checkout endpoints add http://localhost:3000/hooks",
        addEndpointForm(view),
      )
    : noItems(
        WEBHOOK_TEXTS.noSubscribers,
        `checkout events replay ${event.id}`,
        replayEventForm(context, view, event),
      );
}

/** The form that redelivers an event: to all endpoints that subscribe to it, or to one endpoint. */
function replayEventForm({ store }: PortalContext, view: View, { id }: StoredEvent): Html {
  const options = store.endpoints
    .of(view.storeId)
    .map((endpoint) => html`<option value="${endpoint.id}">${endpoint.url}</option>`);
  const field = html`<label
    >${WEBHOOK_TEXTS.replayTo}
    <select name="endpoint_id">
      <option value="">${WEBHOOK_TEXTS.allSubscribers}</option>
      ${options}
    </select></label
  >`;
  const action = storePath(view, `/webhooks/events/${id}/replay`);
  return actionForm(view, { action, label: WEBHOOK_TEXTS.replay, content: () => field, style: "primary" });
}
