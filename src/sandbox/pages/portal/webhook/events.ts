import { STATUSES, type Checkout, type Status } from "../../../../core/checkout/checkout.ts";
import { purchaseTerms } from "../../../../core/checkout/create-request.ts";
import { createEvent, createTestEvent } from "../../../../core/checkout/event.ts";
import { checkoutJson } from "../../../../core/checkout/wire.ts";
import { EVENT_TYPES } from "../../../../core/checkout/event-types.ts";
import { accept, mapValue, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import type { StoredEvent } from "../../../../store/checkout/events.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { actionForm, storePath, testOrderForm } from "../forms.ts";
import { listPage, PAGE_SIZE, parsePosition } from "../list.ts";
import {
  copyableText,
  factList,
  linkTo,
  shortTimeHtml,
  momentWithDate,
  emptyListHtml,
  section,
  bodyFigure,
} from "../parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { attemptDetails } from "./attempt-parts.ts";
import { deliveryTable, orderLink } from "./deliveries.ts";
import { addEndpointForm } from "./endpoint-parts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";
import { webhookTabs } from "./webhooks-page.ts";

const EVENT_ID = "00000000-0000-7000-8000-000000000001";
const SAMPLE_CHECKOUT_ID = "00000000-0000-7000-8000-000000000002";

const SAMPLE_TERMS = purchaseTerms(
  { order_id: "order-1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" },
  undefined,
);

/** For sample events: the usual previous status, and the usual sequence number of the event. */
const PREVIOUS_STATUSES: Readonly<Record<Status, readonly [previous: Status | null, sequence: number]>> = {
  created: [null, 1],
  pending: ["created", 2],
  succeeded: ["pending", 3],
  failed: ["pending", 3],
  cancelled: ["created", 2],
  expired: ["created", 2],
};

const MAX_DELIVERIES = 20;

export function eventListPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const now = storeTime(context, view.storeId);
  const path = "/webhooks/events";
  return listPage<StoredEvent>(view, {
    title: WEBHOOK_TEXTS.tabEvents,
    liveTopic: "writes",
    path,
    caption: WEBHOOK_TEXTS.newestEvents,
    style: "events",
    columns: (event) => [
      [
        COMMON_TEXTS.time,
        linkTo(storePath(view, `${path}/${event.id}`), shortTimeHtml(event.createdAt, now)),
      ],
      [COMMON_TEXTS.eventType, event.type],
      [COMMON_TEXTS.order, orderLink(view, event)],
      [WEBHOOK_TEXTS.sequence, String(event.sequence)],
    ],
    read: (query) =>
      mapValue(parsePosition(query), (before) => {
        const filter = { storeId: view.storeId, type: null, checkoutId: null, before, limit: PAGE_SIZE + 1 };
        const events = context.store.events.latest(filter).toReversed();
        const items = events.slice(0, PAGE_SIZE);
        return { items, next: events.length > PAGE_SIZE ? (items.at(-1)?.position ?? null) : null };
      }),
    noRows: emptyListHtml(WEBHOOK_TEXTS.noEvents, "checkout trigger order.succeeded", testOrderForm(view)),
    wrap: (list) =>
      html`${webhookTabs(view, "events")}
        <details class="panel">
          <summary>${WEBHOOK_TEXTS.samples}</summary>
          <p class="hint">${WEBHOOK_TEXTS.samplesHint}</p>
          ${EVENT_TYPES.map((type) => sampleItem(context, view, type))}
        </details>
        ${section(WEBHOOK_TEXTS.newestEvents, list)}`,
  });
}

function sampleItem(context: PortalContext, view: View, type: string): Html {
  const command = type === "webhook.test" ? "checkout endpoints test <id>" : `checkout trigger ${type}`;
  return html`<details class="sample">
    <summary>${type}</summary>
    ${bodyFigure(COMMON_TEXTS.body, sampleBody(context, view.storeId, type))} ${copyableText(command)}
  </details>`;
}

function sampleBody(context: PortalContext, storeId: string, type: string): string {
  const now = storeTime(context, storeId);
  const status = STATUSES.find((candidate) => type.endsWith(`.${candidate}`));
  if (status === undefined) return createTestEvent({ id: EVENT_ID, storeId }, now).body;
  const [previousStatus, sequence] = PREVIOUS_STATUSES[status];
  const checkout: Checkout = {
    id: SAMPLE_CHECKOUT_ID,
    storeId,
    object: type.startsWith("order.") ? "order" : "checkout_session",
    ...SAMPLE_TERMS,
    status,
    createdAt: now,
    expiresAt: now,
  };
  const json = checkoutJson(checkout, context.checkoutOrigin);
  return createEvent({ id: EVENT_ID, checkout, previousStatus, sequence, checkoutJson: json }, now).body;
}

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
    ${section(COMMON_TEXTS.body, bodyFigure(COMMON_TEXTS.body, event.body))}
    ${section(WEBHOOK_TEXTS.deliveries, deliveriesPart)}
    ${
      delivery === undefined || attempt === undefined
        ? ""
        : section(WEBHOOK_TEXTS.lastSent, attemptDetails(context, delivery, attempt))
    }`;
  return accept({ title: event.type, main, liveTopic: "writes" });
}

function undeliveredNote(context: PortalContext, view: View, event: StoredEvent): Html {
  return context.store.endpoints.of(view.storeId).length === 0
    ? emptyListHtml(
        WEBHOOK_TEXTS.noEndpointAtEvent,
        "checkout endpoints add http://localhost:3000/hooks",
        addEndpointForm(view),
      )
    : emptyListHtml(
        WEBHOOK_TEXTS.noSubscribers,
        `checkout events replay ${event.id}`,
        replayEventForm(context, view, event),
      );
}

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
