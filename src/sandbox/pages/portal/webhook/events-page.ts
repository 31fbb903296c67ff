import { mapValue, type Outcome } from "../../../../core/outcome.ts";
import { STATUSES, type Checkout, type Status } from "../../../../core/checkout/checkout.ts";
import { purchaseTerms } from "../../../../core/checkout/create-request.ts";
import { createEvent, createTestEvent } from "../../../../core/checkout/event.ts";
import { checkoutJson } from "../../../../core/checkout/wire.ts";
import { EVENT_TYPES } from "../../../../core/checkout/event-types.ts";
import type { StoredEvent } from "../../../../store/checkout/events.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storePath, testOrderForm } from "../forms.ts";
import { listPage, PAGE_SIZE, parsePosition } from "../list.ts";
import { storeTime } from "../../../with-store.ts";
import { sentText, copyableText, noItems, linkTo, section, listTime } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { orderLink } from "./deliveries.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";
import { webhookTabs } from "./webhooks-page.ts";

const EVENT_ID = "00000000-0000-7000-8000-000000000001";
const SAMPLE_CHECKOUT_ID = "00000000-0000-7000-8000-000000000002";

const SAMPLE_TERMS = purchaseTerms(
  { order_id: "order-1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" },
  undefined,
);

/** The usual previous status of each status, and the sequence number of its event. */
const PREVIOUS_STATUSES: Readonly<Record<Status, readonly [previous: Status | null, sequence: number]>> = {
  created: [null, 1],
  pending: ["created", 2],
  succeeded: ["pending", 3],
  failed: ["pending", 3],
  cancelled: ["created", 2],
  expired: ["created", 2],
};

/** The events of a store, newest first. Refuses an invalid position with `invalid_parameter`. */
export function eventsPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const now = storeTime(context, view.storeId);
  const path = "/webhooks/events";
  return listPage<StoredEvent>(view, {
    title: WEBHOOK_TEXTS.tabEvents,
    liveTopic: "writes",
    path,
    caption: WEBHOOK_TEXTS.newestEvents,
    style: "events",
    columns: (event) => [
      [COMMON_TEXTS.time, linkTo(storePath(view, `${path}/${event.id}`), listTime(event.createdAt, now))],
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
    noRows: noItems(WEBHOOK_TEXTS.noEvents, "checkout trigger order.succeeded", testOrderForm(view)),
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
    ${sentText(COMMON_TEXTS.body, sampleBody(context, view.storeId, type))} ${copyableText(command)}
  </details>`;
}

/** A body from the function that creates real events, for an order that does not exist. */
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
