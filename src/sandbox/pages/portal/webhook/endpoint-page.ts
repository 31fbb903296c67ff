import { describeCertificates } from "../../../../core/webhook/certificates.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { DEFAULT_OVERLAP_MS } from "../../../../core/control/operations/webhook.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";
import { storeTime } from "../../../at-store.ts";
import { actionForm, formWithConfirmation, listUrl, storePath } from "../forms.ts";
import { copyableText, momentWithDate, nextPartLink, noItems, factList } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { deliveryTable } from "./deliveries.ts";
import {
  endpointPath,
  endpointState,
  healthBadges,
  healthOf,
  dueSummary,
  revealedSecrets,
  eventTypesText,
} from "./endpoint-parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";
import type { EndpointEntry } from "../../../../core/webhook/shapes.ts";
import { retryForm } from "./webhooks-page.ts";

const HOUR_MS = 3_600_000;

export function endpointPage(
  view: View,
  endpoint: AnswerOf<"showEndpoint">,
  context: PortalContext,
): PageContent {
  const health = healthOf(context, view, endpoint.id);
  const filter = { storeId: view.storeId, endpointId: endpoint.id, state: null, type: null };
  const { deliveries, nextBefore } = context.store.deliveries.page({ ...filter, limit: 50 });
  const address = (before: string | null): string =>
    listUrl(view, "/webhooks", { endpoint: endpoint.id, before });
  const main = html`${revealedSecrets(view)}
    <section class="panel">
      ${factList([
        ["ID", copyableText(endpoint.id)],
        [COMMON_TEXTS.state, endpointState(endpoint)],
        [WEBHOOK_TEXTS.eventTypes, eventTypesText(endpoint)],
        [WEBHOOK_TEXTS.howMany, endpoint.inOrder ? WEBHOOK_TEXTS.oneByOne : WEBHOOK_TEXTS.severalAtOnce],
        ...(endpoint.ca === null ? [] : [[WEBHOOK_TEXTS.ca, describeCertificates(endpoint.ca)] as const]),
        [
          WEBHOOK_TEXTS.lastDay,
          html`${healthBadges(health)} <span class="hint">${WEBHOOK_TEXTS.healthHint}</span>`,
        ],
        [
          WEBHOOK_TEXTS.nextAttemptColumn,
          dueSummary(health, { state: endpoint.state, now: storeTime(context, view.storeId) }),
        ],
        [WEBHOOK_TEXTS.added, momentWithDate(endpoint.createdAt)],
      ])}
      <div class="actions">${endpointActions(view, endpoint)}</div>
    </section>
    <section>
      <h2>${WEBHOOK_TEXTS.deliveries}</h2>
      ${deliveries.length === 0 ? noItems(WEBHOOK_TEXTS.noDeliveries, `checkout endpoints test ${endpoint.id}`) : deliveryTable(context, view, { deliveries, isOfOne: true })}
      <p class="row">
        ${nextBefore === null ? "" : nextPartLink(address(nextBefore), COMMON_TEXTS.older)}
        <a href="${address(null)}">${WEBHOOK_TEXTS.filterThese}</a>
      </p>
    </section>`;
  return { title: endpoint.url, main, live: "writes" };
}

function endpointActions(view: View, { id, state }: EndpointEntry): Html {
  const at = endpointPath(view, id);
  const change = (action: string, label: Words): Html =>
    actionForm(view, { action: `${at}/state`, label, fields: { action } });
  const overlaps = [
    [DEFAULT_OVERLAP_MS, WEBHOOK_TEXTS.oneDay],
    [HOUR_MS, WEBHOOK_TEXTS.oneHour],
    [7 * 24 * HOUR_MS, WEBHOOK_TEXTS.oneWeek],
    [0, WEBHOOK_TEXTS.atOnce],
  ] as const;
  const overlap = html`<label
    >${WEBHOOK_TEXTS.overlap}
    <select name="overlap_ms">
      ${overlaps.map(([span, label]) => html`<option value="${String(span)}">${label}</option>`)}
    </select></label
  >`;
  return html`${actionForm(view, { action: `${at}/test`, label: WEBHOOK_TEXTS.test, style: "primary" })}
    ${actionForm(view, { action: `${at}/secret`, label: WEBHOOK_TEXTS.showSecret })}
    ${state === "enabled" ? retryForm(view, id) : change("enable", WEBHOOK_TEXTS.enable)}
    ${state === "enabled" ? change("pause", WEBHOOK_TEXTS.pause) : ""}
    ${formWithConfirmation(
      view,
      { label: WEBHOOK_TEXTS.rotate, question: WEBHOOK_TEXTS.rotateAsk },
      { action: `${at}/rotate`, label: WEBHOOK_TEXTS.rotateSure, content: overlap },
    )}
    ${
      state === "disabled"
        ? ""
        : formWithConfirmation(
            view,
            { label: WEBHOOK_TEXTS.disable, question: WEBHOOK_TEXTS.disableAsk },
            { action: `${at}/state`, label: WEBHOOK_TEXTS.disableSure, fields: { action: "disable" } },
          )
    }
    ${formWithConfirmation(
      view,
      { label: COMMON_TEXTS.remove, question: WEBHOOK_TEXTS.removeAsk },
      { action: `${at}/remove`, label: WEBHOOK_TEXTS.removeSure, style: "danger" },
    )} <a class="plain" href="${storePath(view, "/faults")}">${WEBHOOK_TEXTS.faults}</a>`;
}
