import { describeCertificates } from "../../../../core/webhook/certificates.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { DEFAULT_OVERLAP_MS } from "../../../../core/control/operations/webhook.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";
import { storeTime } from "../../../with-store.ts";
import { actionForm, formWithConfirmation, listUrl, storePath } from "../forms.ts";
import { copyableText, momentWithDate, moreItemsLink, emptyListHtml, factList } from "../parts.ts";
import type { ActionContext } from "../route.ts";
import type { Notice, PageContent, PortalContext, View } from "../view.ts";
import { deliveryTable } from "./deliveries.ts";
import {
  endpointPath,
  endpointStateBadge,
  healthBadges,
  healthOf,
  dueSummary,
  revealedSecrets,
  eventTypesText,
} from "./endpoint-parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { WEBHOOK_TEXTS as TEXTS } from "./texts.ts";
import type { EndpointEntry } from "../../../../core/webhook/shapes.ts";
import { retryForm } from "./webhooks-page.ts";

const HOUR_MS = 3_600_000;

export function endpointPage(
  view: View,
  endpoint: AnswerOf<"showEndpoint">,
  context: PortalContext,
): PageContent {
  const health = healthOf(context, view, endpoint.id);
  const filter = { storeId: view.storeId, endpointId: endpoint.id, limit: 50 };
  const { deliveries, nextBefore } = context.store.deliveries.page(filter);
  const address = (before: string | null): string =>
    listUrl(view, "/webhooks", { endpoint: endpoint.id, before });
  const main = html`${revealedSecrets(view)}
    <section class="panel">
      ${factList([
        ["ID", copyableText(endpoint.id)],
        [COMMON_TEXTS.state, endpointStateBadge(endpoint)],
        [TEXTS.eventTypes, eventTypesText(endpoint)],
        [TEXTS.concurrency, endpoint.inOrder ? TEXTS.oneByOne : TEXTS.severalAtOnce],
        ...(endpoint.ca === null ? [] : [[TEXTS.ca, describeCertificates(endpoint.ca)] as const]),
        [TEXTS.lastDay, html`${healthBadges(health)} <span class="hint">${TEXTS.healthHint}</span>`],
        [TEXTS.nextAttemptColumn, dueSummary(health, endpoint, storeTime(context, view.storeId))],
        [TEXTS.added, momentWithDate(endpoint.createdAt)],
      ])}
      <div class="actions">${endpointActions(view, endpoint)}</div>
    </section>
    <section>
      <h2>${TEXTS.deliveries}</h2>
      ${deliveries.length === 0 ? emptyListHtml(TEXTS.noDeliveries, `checkout endpoints test ${endpoint.id}`) : deliveryTable(context, view, { deliveries, hasOneTarget: true })}
      <p class="row">
        ${nextBefore === null ? "" : moreItemsLink(address(nextBefore), COMMON_TEXTS.older)}
        <a href="${address(null)}">${TEXTS.filterThese}</a>
      </p>
    </section>`;
  return { title: endpoint.url, main, liveTopic: "writes" };
}

export function endpointStateNotice(
  { id, state }: AnswerOf<"setEndpointState">,
  { context, view }: ActionContext,
): Notice {
  const { paused, disabled, enabled } = TEXTS.notices;
  if (state === "paused") return { words: paused, tone: "warn" };
  if (state === "disabled") return { words: disabled, tone: "warn" };
  return { words: enabled(healthOf(context, view, id).due), tone: "good" };
}

function endpointActions(view: View, { id, state }: EndpointEntry): Html {
  const path = endpointPath(view, id);
  const changeForm = (action: string, label: Words): Html =>
    actionForm(view, { action: `${path}/state`, label, fields: { action } });
  const overlaps = [
    [DEFAULT_OVERLAP_MS, TEXTS.oneDay],
    [HOUR_MS, TEXTS.oneHour],
    [7 * 24 * HOUR_MS, TEXTS.oneWeek],
    [0, TEXTS.atOnce],
  ] as const;
  const overlapField = html`<label
    >${TEXTS.overlap}
    <select name="overlap_ms">
      ${overlaps.map(([span, label]) => html`<option value="${String(span)}">${label}</option>`)}
    </select></label
  >`;
  return html`${actionForm(view, { action: `${path}/test`, label: TEXTS.test, style: "primary" })}
    ${actionForm(view, { action: `${path}/secret`, label: TEXTS.showSecret })}
    ${state === "enabled" ? retryForm(view, id) : changeForm("enable", TEXTS.enable)}
    ${state === "enabled" ? changeForm("pause", TEXTS.pause) : ""}
    ${formWithConfirmation(view, [TEXTS.rotate, TEXTS.rotateAsk, TEXTS.rotateSure], {
      action: `${path}/rotate`,
      content: () => overlapField,
      style: "",
    })}
    ${
      state === "disabled"
        ? ""
        : formWithConfirmation(view, [TEXTS.disable, TEXTS.disableAsk, TEXTS.disableSure], {
            action: `${path}/state`,
            fields: { action: "disable" },
            style: "",
          })
    }
    ${formWithConfirmation(view, [COMMON_TEXTS.remove, TEXTS.removeAsk, TEXTS.removeSure], {
      action: `${path}/remove`,
    })} <a class="plain" href="${storePath(view, "/faults")}">${TEXTS.faults}</a>`;
}
