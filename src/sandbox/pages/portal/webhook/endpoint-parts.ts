import { ALL_EVENTS, EVENT_TYPES } from "../../../../core/webhook/event-types.ts";
import type { EndpointNow } from "../../../../core/webhook/endpoint.ts";
import type { EndpointEntry } from "../../../../core/control/webhook.ts";
import type { EndpointHealth } from "../../../../store/webhook/delivery-health.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { actForm, storePath } from "../forms.ts";
import { copyable, dated, named, table, timeOf } from "../parts.ts";
import type { PortalContext, View } from "../view.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

const DAY_MS = 24 * 3_600_000;

/** The endpoints of a store as rows: where, in which state, and how the last day went. */
export function endpointTable(context: PortalContext, view: View, endpoints: readonly EndpointEntry[]): Html {
  const texts = WEBHOOK_TEXTS[view.language];
  const rows = endpoints.map((endpoint) => {
    const health = healthOf(context, view, endpoint.id);
    return html`<tr data-row>
      <th scope="row">
        <a class="address" href="${endpointPath(view, endpoint.id)}" title="${endpoint.url}"
          >${endpoint.url}</a
        >
        <span class="hint">${typesOf(view, endpoint)}</span>
      </th>
      <td>${endpointState(view, endpoint)}</td>
      <td>${healthBadges(view, health)}</td>
      <td>${nextDue(view, health, { state: endpoint.state, now: storeTime(context, view.storeId) })}</td>
    </tr>`;
  });
  const columns = [texts.endpoint, texts.state, texts.lastDay, texts.nextTryColumn];
  return html`<div class="endpoints">${table(texts.endpoints, columns, rows)}</div>`;
}

/** How the tries of the last day have ended, and what is due. */
export function healthOf(
  context: Pick<PortalContext, "store" | "world">,
  { storeId }: View,
  endpointId: string,
): EndpointHealth {
  return context.store.deliveryHealth().health(endpointId, storeTime(context, storeId) - DAY_MS);
}

/** The tries of the last day by their answers. */
export function healthBadges({ language }: Pick<View, "language">, health: EndpointHealth): Html {
  const texts = WEBHOOK_TEXTS[language];
  const counts = [
    ["s2xx", "2xx", health.taken],
    ["s3xx", "3xx", health.redirected],
    ["s4xx", "4xx", health.refused],
    ["s5xx", "5xx", health.broken],
    ["none", texts.unanswered, health.unanswered],
  ] as const;
  const shown = counts.filter(([, , count]) => count > 0);
  if (shown.length === 0) return html`<span class="hint">${texts.quiet}</span>`;
  return html`<span class="health"
    >${shown.map(([kind, name, count]) => html`<span class="badge ${kind}">${name} × ${String(count)}</span> `)}</span
  >`;
}

/** When the next delivery is due, if its endpoint takes any, and how many are. */
export function nextDue(
  { language }: Pick<View, "language">,
  { nextAt, due }: EndpointHealth,
  { state, now }: Pick<EndpointEntry, "state"> & { readonly now: number },
): Html {
  const texts = WEBHOOK_TEXTS[language];
  if (nextAt === null) return html`<span class="hint">${texts.nothingDue}</span>`;
  const when =
    state === "enabled" ? named(texts.nextTryColumn, timeOf(nextAt, now)) : html`${texts.untilEnabled}`;
  return html`${when} <span class="hint">${texts.dueCount(due > 99 ? "99+" : String(due))}</span>`;
}

/** The event types that it gets. */
export function typesOf(
  { language }: Pick<View, "language">,
  { eventTypes }: Pick<EndpointEntry, "eventTypes">,
): string {
  return eventTypes.includes(ALL_EVENTS) ? WEBHOOK_TEXTS[language].allTypes : eventTypes.join(", ");
}

/** Whether it is enabled; if not, why, and what has paused it. */
export function endpointState(
  { language }: Pick<View, "language">,
  {
    state,
    reason,
    pausedBy,
    failingSince,
  }: Pick<EndpointNow, "state" | "reason" | "pausedBy" | "failingSince">,
): Html {
  const texts = WEBHOOK_TEXTS[language];
  const kind = { enabled: "good", paused: "warn", disabled: "bad" }[state];
  const by = pausedBy === null ? "" : html` <span class="hint">${texts.pausedBy[pausedBy]}</span>`;
  const why = reason === null ? "" : html` <span class="hint why" lang="en">${reason}</span>`;
  const failing =
    failingSince === null
      ? ""
      : html` <span class="hint why">${texts.failingSince} ${dated(failingSince)}</span>`;
  return html`<span class="badge ${kind}">${texts.endpointStates[state]}</span>${by}${why}${failing}`;
}

/** The form that adds an endpoint. */
export function addForm(view: View): Html {
  const texts = WEBHOOK_TEXTS[view.language];
  const groups = Map.groupBy(EVENT_TYPES, (type) => type.split(".")[0] ?? "");
  const fields = html`<div class="add">
    <label
      >${texts.address}
      <input name="url" type="url" required size="48" placeholder="http://localhost:3000/hooks" />
    </label>
    <fieldset>
      <legend>${texts.typesHint}</legend>
      <div class="types">
        ${[...groups].map(
          ([, types]) =>
            html`<div>
              ${types.map(
                (type) => html`<label><input type="checkbox" name="${TYPE_FIELD}${type}" /> ${type}</label>`,
              )}
            </div>`,
        )}
      </div>
    </fieldset>
    <label><input type="checkbox" name="in_order" /> ${texts.inOrder}</label>
  </div>`;
  return actForm(view, {
    action: storePath(view, "/webhooks/endpoints"),
    label: texts.add,
    content: fields,
    style: "primary",
  });
}

/** How the fields of event types begin: a form has each name once. */
const TYPE_FIELD = "type ";

/** What the form for a new endpoint says, by the names of the operation that adds one. */
export function readEndpoint(fields: ReadonlyMap<string, string>): unknown {
  const types = [...fields.keys()].flatMap((name) =>
    name.startsWith(TYPE_FIELD) ? [name.slice(TYPE_FIELD.length)] : [],
  );
  return {
    url: fields.get("url"),
    ...(types.length === 0 ? {} : { event_types: types }),
    in_order: fields.has("in_order"),
  };
}

/** The address of an endpoint's page. */
export function endpointPath(view: Pick<View, "storeId">, id: string): string {
  return storePath(view, `/webhooks/endpoints/${id}`);
}

/** Secrets that were asked for by a click: for this one look. */
export function shownSecrets({ language, shownOnce }: Pick<View, "language" | "shownOnce">): Html {
  const texts = WEBHOOK_TEXTS[language];
  if (shownOnce === undefined) return html``;
  const [newest = "", ...older] = shownOnce.split(" ");
  return html`<div class="notice good" role="status">
    <p><strong>${texts.signingSecret}</strong> ${copyable(newest)}</p>
    ${older.map((secret) => html`<p>${texts.olderSecret} ${copyable(secret)}</p>`)}
    <p>${texts.shownOnce}</p>
  </div>`;
}
