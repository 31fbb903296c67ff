import { iso } from "../../../../core/clock.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { actForm, askedOnce, storePath } from "../forms.ts";
import { empty } from "../parts.ts";
import { ask } from "../route.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { deliveryList, filterForm, readChoice } from "./deliveries.ts";
import { addForm, endpointTable } from "./endpoint-parts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

const HOUR_MS = 3_600_000;

/** The page of webhooks: where events are delivered, how that goes, and the newest deliveries. */
export async function webhooksPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const texts = WEBHOOK_TEXTS[view.language];
  const choice = readChoice(context, view);
  if (!choice.ok) return choice;
  const listed = await ask(context, "listEndpoints", { ...view, body: undefined });
  if (!listed.ok) return listed;
  const { endpoints } = listed.value;
  const main = html`${webhookTabs(view, "deliveries")}
    <section>
      <h2>${texts.endpoints}</h2>
      ${
        endpoints.length === 0
          ? empty(texts.noEndpoints, "checkout endpoints add http://localhost:3000/hooks")
          : html`${endpointTable(context, view, endpoints)}
              <p class="hint">${texts.healthHint}</p>`
      }
      <details class="panel" ${endpoints.length === 0 ? html`open` : ""}>
        <summary>${texts.addEndpoint}</summary>
        ${addForm(view)}
      </details>
    </section>
    <section>
      <div class="row between">
        <h2>${texts.deliveries}</h2>
        ${endpoints.length === 0 ? "" : replayFailedForm(context, view)}
      </div>
      ${replayedNotice(view)} ${filterForm(context, view, choice.value)}
      ${deliveryList(context, view, choice.value)}
    </section>`;
  return accept({ title: texts.title, main, live: { kind: "webhooks" } });
}

/** The two pages of the room, as links. */
export function webhookTabs(view: View, current: "deliveries" | "events"): Html {
  const texts = WEBHOOK_TEXTS[view.language];
  const tabs = [
    ["deliveries", "/webhooks", texts.tabDeliveries],
    ["events", "/webhooks/events", texts.tabEvents],
  ] as const;
  return html`<nav class="row tabs" aria-label="${texts.title}">
    ${tabs.map(
      ([name, path, label]) =>
        html`<a href="${storePath(view, path)}" ${name === current ? html`aria-current="page"` : ""}
          >${label}</a
        > `,
    )}
    <a href="${storePath(view, "/faults")}">${texts.faults}</a>
  </nav>`;
}

/** The form that delivers again what failed: from a moment on that is fixed when the page is shown. */
function replayFailedForm(context: PortalContext, view: View): Html {
  const texts = WEBHOOK_TEXTS[view.language];
  const now = storeTime(context, view.storeId);
  const spans = [
    [24 * HOUR_MS, texts.lastDay],
    [HOUR_MS, texts.lastHour],
    [7 * 24 * HOUR_MS, texts.lastWeek],
  ] as const;
  const field = html`<label
    >${texts.madeSince}
    <select name="since">
      ${spans.map(([span, label]) => html`<option value="${iso(Math.max(0, now - span))}">${label}</option>`)}
    </select></label
  >`;
  const action = storePath(view, "/webhooks/deliveries/replay");
  const form = actForm(view, { action, label: texts.replayFailedSure, content: field });
  return askedOnce(texts.replayFailed, texts.replayFailedAsk, form);
}

function replayedNotice({ language, shownOnce }: View): Html {
  const texts = WEBHOOK_TEXTS[language];
  if (shownOnce === undefined) return html``;
  const said = shownOnce === "0" ? texts.nothingFailed : texts.replayedCount(shownOnce);
  return html`<p class="notice" role="status">${said}</p>`;
}
