import { DEFAULT_OVERLAP_MS, type EndpointEntry } from "../../../../core/control/webhook.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { actForm, askedOnce, storePath } from "../forms.ts";
import { copyable, dated, empty, facts } from "../parts.ts";
import { ask } from "../route.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { deliveryList, listPath } from "./deliveries.ts";
import {
  endpointPath,
  endpointState,
  healthBadges,
  healthOf,
  nextDue,
  shownSecrets,
  typesOf,
} from "./endpoint-parts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

const HOUR_MS = 3_600_000;

/** The page of an endpoint: how it stands, what can be done with it, and its newest deliveries. */
export async function endpointPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const texts = WEBHOOK_TEXTS[view.language];
  const shown = await ask(context, "showEndpoint", { ...view, body: {} });
  if (!shown.ok) return shown;
  const endpoint = shown.value;
  const health = healthOf(context, view, endpoint.id);
  const choice = { endpointId: endpoint.id, state: null, type: null, before: undefined };
  const any = { storeId: view.storeId, eventId: null, checkoutId: null, limit: 1 };
  const isQuiet = context.store.deliveries.page({ ...any, ...choice }).deliveries.length === 0;
  const main = html`${shownSecrets(view)}
    <section class="panel">
      ${facts([
        ["ID", copyable(endpoint.id)],
        [texts.state, endpointState(view, endpoint)],
        [texts.eventTypes, typesOf(view, endpoint)],
        [texts.howMany, endpoint.inOrder ? texts.oneByOne : texts.severalAtOnce],
        [texts.lastDay, html`${healthBadges(view, health)} <span class="hint">${texts.healthHint}</span>`],
        [
          texts.nextTryColumn,
          nextDue(view, health, { state: endpoint.state, now: storeTime(context, view.storeId) }),
        ],
        [texts.added, dated(endpoint.createdAt)],
      ])}
      <div class="actions">${endpointActs(view, endpoint)}</div>
    </section>
    <section>
      <h2>${texts.deliveries}</h2>
      ${isQuiet ? empty(texts.noDeliveries, `checkout endpoints test ${endpoint.id}`) : deliveryList(context, view, choice)}
      <p><a href="${listPath(view, { endpoint: endpoint.id })}">${texts.filterThese}</a></p>
    </section>`;
  return accept({ title: endpoint.url, main, live: { kind: "webhooks" } });
}

function endpointActs(view: View, { id, state }: EndpointEntry): Html {
  const texts = WEBHOOK_TEXTS[view.language];
  const at = endpointPath(view, id);
  const change = (action: string, label: string): Html =>
    actForm(view, { action: `${at}/state`, label, fields: { action } });
  const overlaps = [
    [DEFAULT_OVERLAP_MS, texts.oneDay],
    [HOUR_MS, texts.oneHour],
    [7 * 24 * HOUR_MS, texts.oneWeek],
    [0, texts.atOnce],
  ] as const;
  const overlap = html`<label
    >${texts.overlap}
    <select name="overlap_ms">
      ${overlaps.map(([span, label]) => html`<option value="${String(span)}">${label}</option>`)}
    </select></label
  >`;
  return html`${actForm(view, { action: `${at}/test`, label: texts.test, style: "primary" })}
    ${actForm(view, { action: `${at}/secret`, label: texts.showSecret })}
    ${state === "enabled" ? "" : change("enable", texts.enable)}
    ${state === "enabled" ? change("pause", texts.pause) : ""}
    ${askedOnce(
      texts.rotate,
      texts.rotateAsk,
      actForm(view, { action: `${at}/rotate`, label: texts.rotateSure, content: overlap }),
    )}
    ${
      state === "disabled"
        ? ""
        : askedOnce(texts.disable, texts.disableAsk, change("disable", texts.disableSure))
    }
    ${askedOnce(
      texts.remove,
      texts.removeAsk,
      actForm(view, { action: `${at}/remove`, label: texts.removeSure, style: "danger" }),
    )} <a class="plain" href="${storePath(view, "/faults")}">${texts.faults}</a>`;
}
