import { ALL_EVENTS, EVENT_TYPES } from "../../../../core/checkout/event-types.ts";
import { reasonWords } from "../../../../core/webhook/endpoint.ts";
import type { EndpointEntry } from "../../../../core/webhook/shapes.ts";
import type { EndpointHealth } from "../../../../store/webhook/delivery-health.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { inputField, textField, refusalText, type TypedForm } from "../fields.ts";
import { actionForm, storePath } from "../forms.ts";
import { cappedCountText } from "../frame/menu-counts.ts";
import { copyableText, momentWithDate, labelledValue, table, shortTimeHtml } from "../parts.ts";
import type { PortalContext, View } from "../view.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

const DAY_MS = 24 * 3_600_000;

export function endpointTableHtml(
  context: PortalContext,
  view: View,
  endpoints: readonly EndpointEntry[],
): Html {
  const now = storeTime(context, view.storeId);
  const list = table({ caption: COMMON_TEXTS.endpoints, isLinked: true }, endpoints, (endpoint) => {
    const health = healthOf(context, view, endpoint.id);
    const { id, url } = endpoint;
    const page = html`<a class="address" href="${endpointPath(view, id)}" title="${url}">${url}</a>`;
    return [
      [COMMON_TEXTS.endpoint, html`${page} <span class="hint">${eventTypesText(endpoint)}</span>`, "head"],
      [COMMON_TEXTS.state, endpointStateBadge(endpoint)],
      [WEBHOOK_TEXTS.lastDay, healthBadges(health)],
      [WEBHOOK_TEXTS.nextAttemptColumn, dueSummary(health, endpoint, now)],
    ];
  });
  return html`<div class="endpoints">${list}</div>`;
}

export function healthOf(context: PortalContext, { storeId }: View, endpointId: string): EndpointHealth {
  return context.store.deliveryHealth.health(endpointId, storeTime(context, storeId) - DAY_MS);
}

export function healthBadges(health: EndpointHealth): Html {
  const counts = [
    ["s2xx", "2xx", health.taken],
    ["s3xx", "3xx", health.redirected],
    ["s4xx", "4xx", health.refused],
    ["s5xx", "5xx", health.broken],
    ["none", COMMON_TEXTS.noAnswer, health.unanswered],
  ] as const;
  const shownCounts = counts.filter(([, , count]) => count > 0);
  if (shownCounts.length === 0) return html`<span class="hint">${WEBHOOK_TEXTS.quiet}</span>`;
  return html`<span class="health"
    >${shownCounts.map(([kind, name, count]) => html`<span class="badge ${kind}">${name} × ${String(count)}</span> `)}</span
  >`;
}

export function dueSummary({ nextAt, due }: EndpointHealth, { state }: EndpointEntry, now: number): Html {
  if (nextAt === null) return html`<span class="hint">${WEBHOOK_TEXTS.nothingDue}</span>`;
  const text =
    state === "enabled"
      ? labelledValue(WEBHOOK_TEXTS.nextAttemptColumn, shortTimeHtml(nextAt, now))
      : html`${WEBHOOK_TEXTS.untilEnabled}`;
  return html`${text} <span class="hint">${WEBHOOK_TEXTS.dueCount(cappedCountText(due))}</span>`;
}

export function eventTypesText({ eventTypes }: EndpointEntry): Text {
  return eventTypes.includes(ALL_EVENTS) ? WEBHOOK_TEXTS.allTypes : eventTypes.join(", ");
}

export function endpointStateBadge(endpoint: EndpointEntry): Html {
  const { state, reason, pausedBy, failingSince } = endpoint;
  const isFailing = state === "enabled" && failingSince !== null;
  const style = isFailing ? "bad" : { enabled: "good", paused: "warn", disabled: "bad" }[state];
  const note = pausedBy === null ? "" : html` <span class="hint">${WEBHOOK_TEXTS.pausedBy[pausedBy]}</span>`;
  const reasonHint = reason === null ? "" : html` <span class="hint why">${reasonWords(endpoint)}</span>`;
  const sinceText =
    failingSince === null
      ? ""
      : html` <span class="hint why"
          >${isFailing ? COMMON_TEXTS.since : WEBHOOK_TEXTS.failingSince}
          ${momentWithDate(failingSince)}</span
        >`;
  const name = isFailing ? WEBHOOK_TEXTS.failing : WEBHOOK_TEXTS.endpointStates[state];
  return html`<span class="badge ${style}">${name}</span>${note}${reasonHint}${sinceText}`;
}

export function addEndpointForm(view: View): Html {
  const action = storePath(view, "/webhooks/endpoints");
  return actionForm(view, { action, label: WEBHOOK_TEXTS.add, content: endpointFields, style: "primary" });
}

function endpointFields(typedForm: TypedForm): Html {
  const groups = Map.groupBy(EVENT_TYPES, (type) => type.split(".")[0] ?? "");
  const tickMark = (name: string): Html => (typedForm?.fields.has(name) === true ? html` checked` : html``);
  return html`<div class="add">
    ${inputField(WEBHOOK_TEXTS.address, "url", { required: true, placeholder: "http://localhost:3000/hooks", typedForm })}
    <fieldset>
      <legend>${WEBHOOK_TEXTS.typesHint}</legend>
      ${refusalText("types", typedForm)}
      <div class="types">
        ${[...groups].map(
          ([, types]) =>
            html`<div>
              ${types.map(
                (type) =>
                  html`<label
                    ><input type="checkbox" name="${PREFIX}${type}" ${tickMark(`${PREFIX}${type}`)} />
                    ${type}</label
                  >`,
              )}
            </div>`,
        )}
      </div>
    </fieldset>
    <label><input type="checkbox" name="in_order" ${tickMark("in_order")} /> ${WEBHOOK_TEXTS.inOrder}</label>
    ${textField(WEBHOOK_TEXTS.ca, "ca", { placeholder: "-----BEGIN CERTIFICATE-----", typedForm })}
  </div>`;
}

const PREFIX = "type ";

export function parseEndpointForm(fields: ReadonlyMap<string, string>): unknown {
  const types = [...fields.keys()].flatMap((name) =>
    name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [],
  );
  const ca = fields.get("ca")?.trim() ?? "";
  return {
    url: fields.get("url") ?? "",
    ...(types.length === 0 ? {} : { event_types: types }),
    in_order: fields.has("in_order"),
    ...(ca === "" ? {} : { ca }),
  };
}

export function endpointPath(view: Pick<View, "storeId">, id: string): string {
  return storePath(view, `/webhooks/endpoints/${id}`);
}

export function revealedSecrets({ oneTimeValue }: Pick<View, "oneTimeValue">): Html {
  if (oneTimeValue === undefined) return html``;
  const [newestSecret = "", ...olderSecrets] = oneTimeValue.split(" ");
  return html`<div class="notice good" role="status">
    <p><strong>${COMMON_TEXTS.signingSecret}</strong> ${copyableText(newestSecret)}</p>
    ${olderSecrets.map((secret) => html`<p>${WEBHOOK_TEXTS.olderSecret} ${copyableText(secret)}</p>`)}
    <p>${WEBHOOK_TEXTS.shownOnce}</p>
  </div>`;
}
