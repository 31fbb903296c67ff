import { iso } from "../../../../core/clock.ts";
import {
  durationText,
  parseSpan,
  SPAN_OR_MOMENT,
  spanOrMomentOf,
} from "../../../../core/config/setting-text.ts";
import { API_ACTIONS, DELIVERY_ACTIONS, FAULT_PROFILES } from "../../../../core/fault/actions.ts";
import type { FaultEntry } from "../../../../core/fault/operations.ts";
import { PROFILES } from "../../../../core/fault/profiles.ts";
import { DEFAULT_LATENCY_MS, DEFAULT_RETRY_AFTER_S, DEFAULT_STATUS } from "../../../../core/fault/request.ts";
import { FAULT_SHARE, matchText, parametersText, shareOf } from "../../../../core/fault/text.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import { printableLiteral } from "../../../../core/text.ts";
import { EVENT_TYPES } from "../../../../core/webhook/event-types.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { choice, field, suggestions, typed } from "../fields.ts";
import { actForm, askedOnce, storePath } from "../forms.ts";
import { dated, empty, named, table } from "../parts.ts";
import { ask } from "../route.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { STORE_TEXTS } from "./texts.ts";

/** The faults of a store that can still hit, and forms for more. */
export async function faultsPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const listed = await ask(context, "listFaults", { ...view, body: undefined });
  if (!listed.ok) return listed;
  const { faults } = listed.value;
  const texts = STORE_TEXTS[view.language].faults;
  const columns = [
    texts.action,
    texts.with,
    texts.only,
    texts.matched,
    texts.applied,
    texts.left,
    texts.until,
    texts.act,
  ];
  const rows = faults.map((fault) => row(view, fault));
  const main = html`${
    rows.length === 0
      ? empty(texts.none, "checkout faults add lose_answer --path /v1/orders")
      : html`<section>${table(texts.title, columns, rows)} ${clear(view)}</section>`
  }
  ${profiles(view)} ${addForm(context, view)}`;
  return accept({ title: texts.title, main, live: { kind: "store" } });
}

const NUMBERS = ["status", "retry_after_s", "times"] as const;

/**
 * What the form of a new fault says. A duration, a share and an end are read as the command line reads them; an end in
 * 10m counts from the store's time.
 */
export function readFault(
  fields: ReadonlyMap<string, string>,
  { context, view }: { readonly context: PortalContext; readonly view: View },
): Outcome<unknown> {
  const { latency, until, probability, nth, ...match } = typed(fields, [
    "latency",
    "until",
    "probability",
    "nth",
    "method",
    "path",
    "event_type",
    "event_id",
    "endpoint_id",
    "order_id",
  ]);
  const latencyMs = latency === undefined ? accept(undefined) : parseSpan(latency);
  if (!latencyMs.ok) return latencyMs;
  const end = until === undefined ? undefined : spanOrMomentOf(until);
  if (until !== undefined && end === undefined) return expected("until", SPAN_OR_MOMENT, until);
  const share = probability === undefined ? undefined : shareOf(probability);
  if (probability !== undefined && share === undefined)
    return expected("probability", FAULT_SHARE, probability);
  const at = end && ("at" in end ? end.at : storeTime(context, view.storeId) + end.spanMs);
  const narrowed = {
    ...match,
    ...(nth === undefined ? {} : { nth: Number(nth) }),
    ...(share === undefined ? {} : { probability: share }),
  };
  const numbers = Object.entries(typed(fields, NUMBERS)).map(([name, text]) => [name, Number(text)] as const);
  return accept({
    ...typed(fields, ["action", "profile", "seed"]),
    ...Object.fromEntries(numbers),
    ...(latencyMs.value === undefined ? {} : { latency_ms: latencyMs.value }),
    ...(at === undefined ? {} : { until: iso(at) }),
    ...(Object.keys(narrowed).length === 0 ? {} : { match: narrowed }),
  });
}

function expected(name: string, what: string, got: string): Outcome<never> {
  return refuse("invalid_parameter", `${name}: expected ${what}; got ${printableLiteral(got)}`);
}

function row(view: View, fault: FaultEntry): Html {
  const texts = STORE_TEXTS[view.language].faults;
  const { id, action, matched, applied, times, until } = fault;
  const remove = actForm(view, { action: storePath(view, `/faults/${id}/remove`), label: texts.remove });
  return html`<tr>
    <th scope="row"><code title="${id}">${action}</code></th>
    <td>${parametersText(fault) ?? ""}</td>
    <td>${named(texts.only, matchText(fault) ?? texts.any)}</td>
    <td>${named(texts.matched, String(matched))}</td>
    <td>${named(texts.applied, String(applied))}</td>
    <td>${named(texts.left, times === null ? texts.unlimited : String(times - applied))}</td>
    <td>${until === null ? "" : named(texts.until, dated(until))}</td>
    <td>${remove}</td>
  </tr>`;
}

function clear(view: View): Html {
  const texts = STORE_TEXTS[view.language].faults;
  const action = storePath(view, "/faults/clear");
  const form = actForm(view, { action, label: texts.clearNow, style: "danger" });
  return askedOnce(texts.clear, texts.clearQuestion, form);
}

function profiles(view: View): Html {
  const texts = STORE_TEXTS[view.language].faults;
  const rows = FAULT_PROFILES.map(
    (profile) =>
      html`<tr>
        <th scope="row">${profile}</th>
        <td>${PROFILES[profile].map(({ action }) => html`<code>${action}</code> `)}</td>
        <td>
          ${actForm(view, {
            action: storePath(view, "/faults"),
            label: texts.addProfile,
            fields: { profile },
          })}
        </td>
      </tr>`,
  );
  return html`<section>
    <h2>${texts.profiles}</h2>
    ${table(texts.profiles, [texts.profile, texts.holds, texts.act], rows)}
  </section>`;
}

function addForm({ store }: PortalContext, view: View): Html {
  const texts = STORE_TEXTS[view.language].faults;
  const endpoints = store.endpoints
    .of(view.storeId)
    .map(({ id, url, kind }) => [id, kind === "listener" ? "checkout listen" : url] as const);
  const any = ["", texts.any] as const;
  const content = html`<div class="stack">
    <div class="fields">
      <label class="field">
        <span>${texts.action}</span>
        <select name="action">
          <optgroup label="${texts.ofApi}">${API_ACTIONS.map(option)}</optgroup>
          <optgroup label="${texts.ofDeliveries}">${DELIVERY_ACTIONS.map(option)}</optgroup>
        </select>
      </label>
      ${field(texts.times, "times", { numeric: true, hint: texts.timesHint })}
      ${field(texts.until, "until", { placeholder: "10m", hint: texts.untilHint })}
    </div>
    <fieldset>
      <legend>${texts.with}</legend>
      <div class="fields">
        ${field(texts.status, "status", { numeric: true, hint: texts.statusHint(DEFAULT_STATUS) })}
        ${field(texts.latency, "latency", { hint: texts.latencyHint(durationText(DEFAULT_LATENCY_MS)) })}
        ${field(texts.retryAfter, "retry_after_s", {
          numeric: true,
          hint: texts.retryAfterHint(DEFAULT_RETRY_AFTER_S),
        })}
      </div>
    </fieldset>
    <fieldset>
      <legend>${texts.only}</legend>
      <div class="fields">
        ${field(texts.orderId, "order_id", { placeholder: "order-7*", hint: texts.patternHint })}
        ${choice(texts.method, "method", [any, ["POST", "POST"], ["GET", "GET"]])}
        ${field(texts.path, "path", { placeholder: "/v1/orders", hint: texts.patternHint })}
        ${field(texts.eventType, "event_type", { placeholder: "order.succeeded", list: "event-types" })}
        ${field(texts.eventId, "event_id")} ${choice(texts.endpoint, "endpoint_id", [any, ...endpoints])}
        ${field(texts.nth, "nth", { numeric: true, hint: texts.nthHint })}
        ${field(texts.probability, "probability", { placeholder: "0.25", hint: texts.probabilityHint })}
        ${field(texts.seed, "seed", { hint: texts.seedHint })}
      </div>
    </fieldset>
  </div>`;
  return html`<section class="panel">
    <h2>${texts.add}</h2>
    ${suggestions("event-types", EVENT_TYPES)}
    ${actForm(view, { action: storePath(view, "/faults"), label: texts.addNow, content, style: "primary" })}
  </section>`;
}

function option(action: string): Html {
  return html`<option value="${action}">${action}</option>`;
}
