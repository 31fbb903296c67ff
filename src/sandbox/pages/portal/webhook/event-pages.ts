import { accept, mapValue, refuse, type Outcome } from "../../../../core/outcome.ts";
import { EVENT_TYPES } from "../../../../core/checkout/event-types.ts";
import type { StoredEvent } from "../../../../store/checkout/events.ts";
import { html, type Html } from "../../../../web/html.ts";
import { actionForm, storePath, testOrderForm } from "../forms.ts";
import { listPage, parsePosition, type ListPart, type ListQuery } from "../list.ts";
import { storeTime } from "../../../at-store.ts";
import {
  rawBytes,
  copyableText,
  momentWithDate,
  noItems,
  factList,
  linkTo,
  listTime,
  type TableRow,
} from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { attemptDetails } from "./attempt-parts.ts";
import { deliveryTable, orderLink } from "./deliveries.ts";
import { addEndpointForm } from "./endpoint-parts.ts";
import { sampleBody } from "./sample-body.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";
import { webhookTabs } from "./webhooks-page.ts";

const PAGE = 50;
/** Maximum number of deliveries shown for one event: the newest. */
const SHOWN_DELIVERIES = 20;

/** The page of events: the newest events, and a sample body of each type. */
export async function eventsPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const list = await listPage<StoredEvent>(view, {
    path: "/webhooks/events",
    caption: WEBHOOK_TEXTS.newestEvents,
    style: "events",
    columns: (event) => eventRow(view, event, storeTime(context, view.storeId)),
    read: (query) => readEvents(context, view.storeId, query),
    none: noItems(WEBHOOK_TEXTS.noEvents, "checkout trigger order.succeeded", testOrderForm(view)),
  });
  if (!list.ok) return list;
  const main = html`${webhookTabs(view, "events")}
    <details class="panel">
      <summary>${WEBHOOK_TEXTS.samples}</summary>
      <p class="hint">${WEBHOOK_TEXTS.samplesHint}</p>
      ${EVENT_TYPES.map((type) => sample(context, view, type))}
    </details>
    <section>
      <h2>${WEBHOOK_TEXTS.newestEvents}</h2>
      ${list.value.content}
    </section>`;
  return accept({ title: WEBHOOK_TEXTS.tabEvents, main, live: "writes" });
}

/** The page of an event: its bytes and its deliveries. */
export async function eventPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const { store } = context;
  const event = store.events.find(view.id);
  if (event?.storeId !== view.storeId)
    return refuse("not_found", [`there is no event ${view.id}`, `没有事件 ${view.id}`]);
  const { storeId } = view;
  const filter = { endpointId: null, checkoutId: null, state: null, limit: SHOWN_DELIVERIES };
  const deliveries = store.deliveries.list({ ...filter, storeId, eventId: event.id });
  const isWanted = deliveries.length > 0;
  const last = deliveries.find(({ id }) => store.deliveryAttempts.last(id) !== undefined);
  const attempt = last && store.deliveryAttempts.of(last.id).at(-1);
  const main = html`<section class="panel">
      ${factList([
        ["event_id", copyableText(event.id)],
        [COMMON_TEXTS.order, orderLink(view, event)],
        [WEBHOOK_TEXTS.sequence, String(event.sequence)],
        [COMMON_TEXTS.time, momentWithDate(event.createdAt)],
      ])}
      ${isWanted ? html`<div class="actions">${replayAll(context, view, event)}</div>` : ""}
    </section>
    <section>
      <h2>${WEBHOOK_TEXTS.exactBody}</h2>
      ${rawBytes(COMMON_TEXTS.body, event.body)}
    </section>
    <section>
      <h2>${WEBHOOK_TEXTS.deliveries}</h2>
      ${
        isWanted
          ? deliveryTable(context, view, { deliveries, isOfOne: false })
          : undelivered(context, view, event)
      }
    </section>
    ${
      last === undefined || attempt === undefined
        ? ""
        : html`<section>
            <h2>${WEBHOOK_TEXTS.lastSent}</h2>
            ${attemptDetails(context, last, attempt)}
          </section>`
    }`;
  return accept({ title: event.type, main, live: "writes" });
}

/**
 * The section of an event without deliveries: the form that delivers the event, or the form that adds an endpoint if
 * there is none.
 */
function undelivered(context: PortalContext, view: View, event: StoredEvent): Html {
  return context.store.endpoints.of(view.storeId).length === 0
    ? noItems(
        WEBHOOK_TEXTS.noEndpointAtEvent,
        "checkout endpoints add http://localhost:3000/hooks",
        addEndpointForm(view),
      )
    : noItems(
        WEBHOOK_TEXTS.noSubscribers,
        `checkout events replay ${event.id}`,
        replayAll(context, view, event),
      );
}

function sample(context: PortalContext, view: View, type: string): Html {
  const command = type === "webhook.test" ? "checkout endpoints test <id>" : `checkout trigger ${type}`;
  return html`<details class="sample">
    <summary>${type}</summary>
    ${rawBytes(COMMON_TEXTS.body, sampleBody(context, view.storeId, type))} ${copyableText(command)}
  </details>`;
}

/** Refuses an invalid position with `invalid_parameter`. */
function readEvents(
  { store }: PortalContext,
  storeId: string,
  query: ListQuery,
): Outcome<ListPart<StoredEvent>> {
  return mapValue(parsePosition(query), (before) => {
    const filter = { storeId, type: null, checkoutId: null, limit: PAGE + 1 };
    const found = store.events.latest(before === undefined ? filter : { ...filter, before }).toReversed();
    const items = found.slice(0, PAGE);
    return { items, next: found.length > PAGE ? (items.at(-1)?.position ?? null) : null };
  });
}

function eventRow(view: View, event: StoredEvent, now: number): TableRow {
  const page = storePath(view, `/webhooks/events/${event.id}`);
  return [
    [COMMON_TEXTS.time, linkTo(page, listTime(event.createdAt, now))],
    [COMMON_TEXTS.eventType, event.type],
    [COMMON_TEXTS.order, orderLink(view, event)],
    [WEBHOOK_TEXTS.sequence, String(event.sequence)],
  ];
}

/** The form that redelivers an event: to all endpoints that subscribe to it, or to one. */
function replayAll({ store }: PortalContext, view: View, { id }: StoredEvent): Html {
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
  return actionForm(view, { action, label: WEBHOOK_TEXTS.replay, content: field, style: "primary" });
}
