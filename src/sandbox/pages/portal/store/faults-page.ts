import type { AnswerOf } from "../../../../core/control/operations.ts";
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
import { PARAMETERS } from "../../../../core/fault/rules.ts";
import { FAULT_SHARE, matchText, parametersText, shareOf } from "../../../../core/fault/text.ts";
import type { Words } from "../../../../core/language.ts";
import { accept, inField, refuse, type Outcome } from "../../../../core/outcome.ts";
import { printableLiteral } from "../../../../core/text.ts";
import { EVENT_TYPES } from "../../../../core/webhook/event-types.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { choice, field, refusedAttributes, refusedWords, suggestions, typedFields } from "../fields.ts";
import { actForm, askedOnce, storePath, typedIn } from "../forms.ts";
import { dated, empty, table, type Row } from "../parts.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, WORDS } from "../texts.ts";
import { FAULTS_TEXTS as TEXTS } from "./texts.ts";

/** The faults of a store that can still hit, and forms for more. */
export function faultsPage(view: View, { faults }: AnswerOf<"listFaults">, context: PortalContext): Content {
  const main = html`${
    faults.length === 0
      ? empty(TEXTS.none, "checkout faults add lose_answer --path /v1/orders")
      : html`<section>
          ${table(FRAME_TEXTS.faults, faults, (fault) => row(view, fault))} ${clear(view)}
        </section>`
  }
  ${profiles(view)} ${addForm(context, view)}`;
  return { title: FRAME_TEXTS.faults, main, live: { kind: "store" } };
}

const { status, latencyMs, retryAfterS } = PARAMETERS;
const NUMBERS = [status.name, retryAfterS.name, "times"] as const;
const A_SPAN_OR_MOMENT: Words = [SPAN_OR_MOMENT, "时长（如 10m）或 ISO 8601 时刻"];
const A_SHARE: Words = [FAULT_SHARE, " 0 到 1 之间的小数"];
const A_WHOLE_NUMBER: Words = ["a whole number", "整数"];

/**
 * What the form of a new fault says. A duration, a share and an end are read as the command line reads them; an end in
 * 10m counts from the store's time.
 */
export function readFault(
  fields: ReadonlyMap<string, string>,
  { context, view }: { readonly context: PortalContext; readonly view: View },
): Outcome<unknown> {
  const { latency, until, probability, nth, ...match } = typedFields(fields, [
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
  const delay = latency === undefined ? accept(undefined) : inField("latency", parseSpan(latency));
  if (!delay.ok) return delay;
  const end = until === undefined ? undefined : spanOrMomentOf(until);
  if (until !== undefined && end === undefined) return expected("until", A_SPAN_OR_MOMENT, until);
  const share = probability === undefined ? undefined : shareOf(probability);
  if (probability !== undefined && share === undefined) return expected("probability", A_SHARE, probability);
  const number = Object.entries(typedFields(fields, [...NUMBERS, "nth"])).find(
    ([, text]) => !/^\d+$/.test(text),
  );
  if (number !== undefined) return expected(number[0], A_WHOLE_NUMBER, number[1]);
  const at = end && ("at" in end ? end.at : storeTime(context, view.storeId) + end.spanMs);
  const narrowed = { ...match, nth: nth && Number(nth), probability: share };
  const isNarrowed = Object.values(narrowed).some((value) => value !== undefined);
  const numbers = Object.entries(typedFields(fields, NUMBERS)).map(
    ([name, text]) => [name, Number(text)] as const,
  );
  return accept({
    ...typedFields(fields, ["action", "profile", "seed"]),
    ...Object.fromEntries(numbers),
    [latencyMs.name]: delay.value,
    until: at && iso(at),
    match: isNarrowed ? narrowed : undefined,
  });
}

function expected(name: string, [english, chinese]: Words, got: string): Outcome<never> {
  return refuse(
    "invalid_parameter",
    [
      `${name}: expected ${english}; got ${printableLiteral(got)}`,
      `${name}：应为${chinese}；收到 ${printableLiteral(got)}`,
    ],
    { field: name },
  );
}

function row(view: View, fault: FaultEntry): Row {
  const { id, action, matched, applied, times, until } = fault;
  const remove = actForm(view, { action: storePath(view, `/faults/${id}/remove`), label: WORDS.remove });
  return [
    [TEXTS.action, html`<code title="${id}">${action}</code>`, "head"],
    [TEXTS.with, parametersText(fault) ?? ""],
    [TEXTS.only, matchText(fault) ?? TEXTS.any, "named"],
    [TEXTS.matched, String(matched), "named"],
    [TEXTS.applied, String(applied), "named"],
    [TEXTS.left, times === null ? TEXTS.unlimited : String(times - applied), "named"],
    until === null ? [TEXTS.until, ""] : [TEXTS.until, dated(until), "named"],
    [WORDS.act, remove],
  ];
}

function clear(view: View): Html {
  const action = storePath(view, "/faults/clear");
  const form = actForm(view, { action, label: TEXTS.clearNow, style: "danger" });
  return askedOnce(TEXTS.clear, TEXTS.clearQuestion, form);
}

function profiles(view: View): Html {
  const action = storePath(view, "/faults");
  const list = table(TEXTS.profiles, FAULT_PROFILES, (profile) => [
    [TEXTS.profile, profile, "head"],
    [TEXTS.holds, PROFILES[profile].map((fault) => html`<code>${fault.action}</code> `)],
    [WORDS.act, actForm(view, { action, label: TEXTS.addProfile, fields: { profile } })],
  ]);
  return html`<section>
    <h2>${TEXTS.profiles}</h2>
    ${list}
  </section>`;
}

function addForm({ store }: PortalContext, view: View): Html {
  const endpoints = store.endpoints
    .of(view.storeId)
    .map(({ id, url, kind }) => [id, kind === "listener" ? "checkout listen" : url] as const);
  const any = ["", TEXTS.any] as const;
  const action = storePath(view, "/faults");
  const typed = typedIn(view, action);
  const chosen = typed?.fields.get("action");
  const option = (name: string): Html =>
    html`<option value="${name}" ${name === chosen ? html`selected` : ""}>${name}</option>`;
  const content = html`<div class="stack">
    <div class="fields">
      <label class="field">
        <span>${TEXTS.action}</span>
        <select name="action" ${refusedAttributes("action", typed)}>
          <optgroup label="${TEXTS.ofApi}">${API_ACTIONS.map(option)}</optgroup>
          <optgroup label="${TEXTS.ofDeliveries}">${DELIVERY_ACTIONS.map(option)}</optgroup>
        </select>
        ${refusedWords("action", typed)}
      </label>
      ${field(TEXTS.times, "times", { numeric: true, hint: TEXTS.timesHint, typed })}
      ${field(TEXTS.until, "until", { placeholder: "10m", hint: TEXTS.untilHint, typed })}
    </div>
    <fieldset>
      <legend>${TEXTS.with}</legend>
      <div class="fields">
        ${field(TEXTS.status, status.name, { numeric: true, hint: TEXTS.statusHint(status.default), typed })}
        ${field(TEXTS.latency, "latency", { hint: TEXTS.parameterHint(latencyMs.of, durationText(latencyMs.default)), typed })}
        ${field(TEXTS.retryAfter, retryAfterS.name, {
          numeric: true,
          hint: TEXTS.parameterHint(retryAfterS.of, String(retryAfterS.default)),
          typed,
        })}
      </div>
    </fieldset>
    <fieldset>
      <legend>${TEXTS.only}</legend>
      <div class="fields">
        ${field(TEXTS.orderId, "order_id", { placeholder: "order-7*", hint: TEXTS.patternHint, typed })}
        ${choice(WORDS.method, "method", [any, ["POST", "POST"], ["GET", "GET"]], typed)}
        ${field(TEXTS.path, "path", { placeholder: "/v1/orders", hint: TEXTS.patternHint, typed })}
        ${field(WORDS.eventType, "event_type", { placeholder: "order.succeeded", list: "event-types", typed })}
        ${field(TEXTS.eventId, "event_id", { typed })}
        ${choice(TEXTS.endpoint, "endpoint_id", [any, ...endpoints], typed)}
        ${field(TEXTS.nth, "nth", { numeric: true, hint: TEXTS.nthHint, typed })}
        ${field(TEXTS.probability, "probability", { placeholder: "0.25", hint: TEXTS.probabilityHint, typed })}
        ${field(TEXTS.seed, "seed", { hint: TEXTS.seedHint, typed })}
      </div>
    </fieldset>
  </div>`;
  return html`<section class="panel">
    <h2>${TEXTS.add}</h2>
    ${suggestions("event-types", EVENT_TYPES)}
    ${actForm(view, { action, label: TEXTS.addNow, content, style: "primary" })}
  </section>`;
}
