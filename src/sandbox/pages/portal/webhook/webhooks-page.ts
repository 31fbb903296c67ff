import { EVENT_TYPES } from "../../../../core/checkout/event-types.ts";
import { toIso } from "../../../../core/clock.ts";
import { decodeRequest } from "../../../../core/control/operations.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { printableLiteral } from "../../../../core/text.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { actionForm, formWithConfirmation, storePath, testOrderForm, typedValues } from "../forms.ts";
import { listPage, PAGE_SIZE } from "../list.ts";
import { emptyListHtml } from "../parts.ts";
import { runAsViewer } from "../route.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { deliveryRow } from "./deliveries.ts";
import { addEndpointForm, endpointTableHtml } from "./endpoint-parts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

const HOUR_MS = 3_600_000;

export async function webhooksPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const endpointList = await runAsViewer(context, "listEndpoints", { ...view, body: undefined });
  if (!endpointList.ok) return endpointList;
  const { endpoints } = endpointList.value;
  const wrap = (list: Html): Html =>
    html`${webhookTabs(view, "deliveries")}
      <section>
        <h2>${COMMON_TEXTS.endpoints}</h2>
        ${
          endpoints.length === 0
            ? emptyListHtml(WEBHOOK_TEXTS.noEndpoints, "checkout endpoints add http://localhost:3000/hooks")
            : html`${endpointTableHtml(context, view, endpoints)}
                <p class="hint">${WEBHOOK_TEXTS.healthHint}</p>`
        }
        ${addEndpointPart(view, endpoints.length === 0)}
      </section>
      <section>
        <div class="row between">
          <h2>${WEBHOOK_TEXTS.deliveries}</h2>
          ${endpoints.length === 0 ? "" : html`<div class="actions">${retryForm(view)} ${replayFailedForm(context, view)}</div>`}
        </div>
        ${replayNotice(view)} ${list}
      </section>`;
  const { storeId } = view;
  const { deliveries } = context.store;
  const knownEndpoints = context.store.endpoints.of(storeId).map(({ id, url }) => [id, url] as const);
  return listPage<Delivery>(view, {
    title: FRAME_TEXTS.webhooks,
    liveTopic: "writes",
    path: "/webhooks",
    caption: WEBHOOK_TEXTS.deliveries,
    style: "deliveries",
    filters: {
      // A removed endpoint is not offered, but its id in the URL still selects its deliveries.
      endpoint: { label: COMMON_TEXTS.endpoint, options: knownEndpoints },
      state: { label: COMMON_TEXTS.state, options: Object.entries(WEBHOOK_TEXTS.states) },
      type: { label: COMMON_TEXTS.eventType, options: EVENT_TYPES },
    },
    columns: deliveryRow(context, view, view.query.has("endpoint")),
    read: ({ endpoint, before, state, type }) => {
      const check = decodeRequest("listDeliveries", { state });
      if (!check.ok) return check;
      const typeCheck = decodeRequest("listEvents", { type });
      if (!typeCheck.ok) return typeCheck;
      if (before !== undefined && deliveries.find(before)?.storeId !== storeId)
        return refuseFact("no_delivery_before", { delivery: printableLiteral(before) });
      const filter = { endpointId: endpoint, state: check.value.state, type };
      const page = { ...filter, storeId, before, limit: PAGE_SIZE };
      const { deliveries: items, nextBefore: next } = deliveries.page(page);
      return accept({ items, next });
    },
    noRows: emptyListHtml(
      WEBHOOK_TEXTS.noDeliveries,
      "checkout trigger order.succeeded",
      testOrderForm(view),
    ),
    wrap,
  });
}

function addEndpointPart(view: View, isFirst: boolean): Html {
  const action = storePath(view, "/webhooks/endpoints");
  if (!view.may("POST", action)) return html``;
  return html`<details class="panel" ${isFirst || typedValues(view, action) !== undefined ? html`open` : ""}>
    <summary>${COMMON_TEXTS.addEndpoint}</summary>
    ${addEndpointForm(view)}
  </details>`;
}

export function webhookTabs(view: View, currentTab: "deliveries" | "events"): Html {
  const tabs = [
    ["deliveries", "/webhooks", WEBHOOK_TEXTS.tabDeliveries],
    ["events", "/webhooks/events", WEBHOOK_TEXTS.tabEvents],
  ] as const;
  return html`<nav class="row tabs" aria-label="${FRAME_TEXTS.webhooks}">
    ${tabs.map(
      ([name, path, label]) =>
        html`<a href="${storePath(view, path)}" ${name === currentTab ? html`aria-current="page"` : ""}
          >${label}</a
        > `,
    )}
    <a href="${storePath(view, "/faults")}">${WEBHOOK_TEXTS.faults}</a>
  </nav>`;
}

export function retryForm(view: View, endpointId?: string): Html {
  const action = storePath(view, "/webhooks/deliveries/retry");
  const fields = endpointId === undefined ? {} : { endpoint_id: endpointId };
  return actionForm(view, { action, label: WEBHOOK_TEXTS.retry, fields });
}

function replayFailedForm(context: PortalContext, view: View): Html {
  const now = storeTime(context, view.storeId);
  const spans = [
    [24 * HOUR_MS, WEBHOOK_TEXTS.lastDay],
    [HOUR_MS, WEBHOOK_TEXTS.lastHour],
    [7 * 24 * HOUR_MS, WEBHOOK_TEXTS.lastWeek],
  ] as const;
  const field = html`<label
    >${WEBHOOK_TEXTS.madeSince}
    <select name="since">
      ${spans.map(([span, label]) => html`<option value="${toIso(Math.max(0, now - span))}">${label}</option>`)}
    </select></label
  >`;
  const { replayFailed, replayFailedAsk, replayFailedSure } = WEBHOOK_TEXTS;
  return formWithConfirmation(view, [replayFailed, replayFailedAsk, replayFailedSure], {
    action: storePath(view, "/webhooks/deliveries/replay"),
    content: () => field,
    style: "",
  });
}

function replayNotice({ oneTimeValue }: View): Html {
  if (oneTimeValue === undefined) return html``;
  const notice =
    oneTimeValue === "0" ? WEBHOOK_TEXTS.nothingFailed : WEBHOOK_TEXTS.replayedCount(oneTimeValue);
  return html`<p class="notice" role="status">${notice}</p>`;
}
