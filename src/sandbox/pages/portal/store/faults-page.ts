import { EVENT_PATTERNS } from "../../../../core/checkout/event-types.ts";
import { toIso } from "../../../../core/clock.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { durationText, parseSpan, parseSpanOrMomentText } from "../../../../core/duration.ts";
import { createPart } from "../../../../core/fact.ts";
import {
  DELIVERY_ACTIONS,
  FAULT_ACTIONS,
  FAULT_PROFILES,
  FORGERY_ACTIONS,
  isApiAction,
  isForgeryAction,
  type FaultAction,
} from "../../../../core/fault/actions.ts";
import { PROFILE_FAULTS } from "../../../../core/fault/profiles.ts";
import {
  API_MATCH_FIELDS,
  DELIVERY_MATCH_FIELDS,
  FAULT_PARAMETERS,
  type FaultParameter,
} from "../../../../core/fault/rules.ts";
import type { FaultEntry } from "../../../../core/fault/shapes.ts";
import { matchText, parameterText, parseProbabilityText } from "../../../../core/fault/text.ts";
import { accept, addField, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import {
  filledFields,
  inputField,
  refusalText,
  refuseForm,
  selectField,
  type InputOptions,
  type TypedForm,
} from "../fields.ts";
import { actionForm, formWithConfirmation, listUrl, storePath, typedValues } from "../forms.ts";
import { copyableText, momentWithDate, section, table, type TableRow } from "../parts.ts";
import type { ActionContext } from "../route.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FAULTS_TEXTS as TEXTS } from "./texts.ts";

const ACTION_GROUPS = {
  answers: ["status", "rate_limit", "storage_full", "empty", "truncate"],
  connections: ["latency", "slow_body", "reset", "lose_answer", "lose_request"],
  deliveries: DELIVERY_ACTIONS.filter((action) => !isForgeryAction(action)),
  signatures: FORGERY_ACTIONS,
} as const satisfies Readonly<Record<string, readonly FaultAction[]>>;

const { status, latencyMs, retryAfterS } = FAULT_PARAMETERS;
const { method, path } = API_MATCH_FIELDS;
const { eventType, eventId, endpointId } = DELIVERY_MATCH_FIELDS;
const MATCH_FIELDS = [method, path, eventType, eventId, endpointId, "order_id"] as const;
const NUMBER_FIELDS = [status.name, retryAfterS.name, "times", "nth"] as const;
const RARE_FIELDS = ["nth", "probability", "seed"] as const;

export function faultsPage(
  view: View,
  { faults }: AnswerOf<"listFaults">,
  context: PortalContext,
): PageContent {
  const main = html`${
    faults.length === 0
      ? html`<p class="hint">
          ${TEXTS.none} ${copyableText("checkout faults add lose_answer --path /v1/orders")}
        </p>`
      : html`<section>
          ${table({ caption: FRAME_TEXTS.faults }, faults, (item) => faultRow(view, item))} ${clearForm(view)}
        </section>`
  }
  ${addFaultForm(context, view)} ${profilesSection(view)}`;
  return { title: FRAME_TEXTS.faults, main, liveTopic: "store" };
}

export function parseFaultForm(
  fields: ReadonlyMap<string, string>,
  { context, view }: ActionContext,
): Outcome<unknown> {
  const { latency, until, probability } = filledFields(fields, ["latency", "until", "probability"]);
  const latencySpan = latency === undefined ? accept(undefined) : addField("latency", parseSpan(latency));
  if (!latencySpan.ok) return latencySpan;
  const end = until === undefined ? undefined : parseSpanOrMomentText(until);
  if (until !== undefined && end === undefined)
    return refuseForm("until", createPart("span_or_moment", {}), until);
  const parsedProbability = probability === undefined ? undefined : parseProbabilityText(probability);
  if (probability !== undefined && parsedProbability === undefined)
    return refuseForm("probability", createPart("probability", {}), probability);
  const numberTexts = Object.entries(filledFields(fields, NUMBER_FIELDS));
  const invalidNumber = numberTexts.find(([, text]) => !/^\d+$/.test(text));
  if (invalidNumber !== undefined)
    return refuseForm(invalidNumber[0], createPart("whole_number", {}), invalidNumber[1]);
  const { nth, ...numbers } = Object.fromEntries(numberTexts.map(([name, text]) => [name, Number(text)]));
  const match = { ...filledFields(fields, MATCH_FIELDS), nth, probability: parsedProbability };
  const endsAt = end && ("at" in end ? end.at : storeTime(context, view.storeId) + end.spanMs);
  return accept({
    ...filledFields(fields, ["action", "profile", "seed"]),
    ...numbers,
    [latencyMs.name]: latencySpan.value,
    until: endsAt && toIso(endsAt),
    match: Object.values(match).some((value) => value !== undefined) ? match : undefined,
  });
}

function faultRow(view: View, fault: FaultEntry): TableRow {
  const { id, action, matched, applied, times, until } = fault;
  const removeForm = actionForm(view, {
    action: storePath(view, `/faults/${id}/remove`),
    label: COMMON_TEXTS.remove,
  });
  return [
    [TEXTS.action, html`<code title="${id}">${action}</code>`, "head"],
    [TEXTS.with, parameterText(fault) ?? ""],
    [TEXTS.only, matchText(fault) ?? TEXTS.any, "named"],
    [TEXTS.matched, String(matched), "named"],
    [TEXTS.applied, String(applied), "named"],
    [TEXTS.left, times === null ? TEXTS.unlimited : String(times - applied), "named"],
    until === null ? [TEXTS.until, ""] : [TEXTS.until, momentWithDate(until), "named"],
    [COMMON_TEXTS.remove, removeForm],
  ];
}

function clearForm(view: View): Html {
  const action = storePath(view, "/faults/clear");
  return formWithConfirmation(view, [TEXTS.clear, TEXTS.clearQuestion, TEXTS.clearNow], { action });
}

function profilesSection(view: View): Html {
  const action = storePath(view, "/faults");
  if (!view.may("POST", action)) return html``;
  const list = table({ caption: TEXTS.profiles }, FAULT_PROFILES, (profile) => [
    [TEXTS.profile, profile, "head"],
    [TEXTS.holds, PROFILE_FAULTS[profile].map((fault) => html`<code>${fault.action}</code> `)],
    [TEXTS.addProfile, actionForm(view, { action, label: TEXTS.addProfile, fields: { profile } })],
  ]);
  return section(TEXTS.profiles, list);
}

function addFaultForm(context: PortalContext, view: View): Html {
  const formPath = storePath(view, "/faults");
  if (!view.may("POST", formPath)) return html``;
  const typedForm = typedValues(view, formPath);
  const requestedAction = typedForm?.fields.get("action") ?? view.query.get("action");
  const chosenAction = FAULT_ACTIONS.find((action) => action === requestedAction);
  const groups = Object.entries(ACTION_GROUPS) as [keyof typeof ACTION_GROUPS, readonly FaultAction[]][];
  return html`<section class="panel" id="add">
    <h2>${TEXTS.add}</h2>
    <p class="hint">${TEXTS.chooseAction}</p>
    ${refusalText("action", typedForm)}
    <div class="fault-groups">
      ${groups.map(([group, actions]) => groupOf(view, group, { actions, chosenAction }))}
    </div>
    ${chosenAction === undefined ? "" : formOf(context, view, chosenAction)}
  </section>`;
}

function groupOf(
  view: View,
  group: keyof typeof ACTION_GROUPS,
  choice: { readonly actions: readonly FaultAction[]; readonly chosenAction: FaultAction | undefined },
): Html {
  const { title, about } = TEXTS.groups[group];
  return html`<div>
    <h3>${title}</h3>
    <p class="hint">${about}</p>
    <ul>
      ${choice.actions.map(
        (action) =>
          html`<li>
            <a
              href="${listUrl(view, "/faults", { action })}#add"
              ${action === choice.chosenAction ? html` aria-current="true"` : ""}
              ><code>${action}</code></a
            >
            <span class="hint">${TEXTS.actions[action]}</span>
          </li>`,
      )}
    </ul>
  </div>`;
}

function formOf(context: PortalContext, view: View, action: FaultAction): Html {
  const form = {
    action: storePath(view, "/faults"),
    label: TEXTS.addNow,
    fields: { action },
    content: (typedForm: TypedForm) => faultFields(context, view, { action, typedForm }),
    style: "primary",
  } as const;
  return html`<h3><code>${action}</code> ${TEXTS.actions[action]}</h3>
    ${actionForm(view, form)}`;
}

type TypedFault = { readonly action: FaultAction; readonly typedForm: TypedForm };

function faultFields(context: PortalContext, view: View, { action, typedForm }: TypedFault): Html {
  return html`<div class="stack">
    <div class="fields">
      ${ownFields(context, view, { action, typedForm })}
      ${inputField(TEXTS.times, "times", { numeric: true, hint: TEXTS.timesHint, typedForm })}
      ${inputField(TEXTS.until, "until", { placeholder: "10m", hint: TEXTS.untilHint, typedForm })}
    </div>
    <details ${RARE_FIELDS.some((name) => isTyped(typedForm, name)) ? html` open` : ""}>
      <summary>${TEXTS.rareFields}</summary>
      <div class="fields">
        ${inputField(TEXTS.nth, "nth", { numeric: true, hint: TEXTS.nthHint, typedForm })}
        ${inputField(TEXTS.probability, "probability", { placeholder: "0.25", hint: TEXTS.probabilityHint, typedForm })}
        ${inputField(TEXTS.seed, "seed", { hint: TEXTS.seedHint, typedForm })}
      </div>
    </details>
  </div>`;
}

function ownFields({ store }: PortalContext, view: View, { action, typedForm }: TypedFault): Html {
  const input = (isShown: boolean, name: string, label: Text, options: InputOptions): Html =>
    isShown || isTyped(typedForm, name) ? inputField(label, name, { ...options, typedForm }) : html``;
  const select = (isShown: boolean, name: string, label: Text, options: readonly [string, string][]): Html =>
    isShown || isTyped(typedForm, name)
      ? selectField(label, name, [["", TEXTS.any], ...options], typedForm)
      : html``;
  const takes = ({ actions }: FaultParameter): boolean => actions.includes(action);
  const isApi = isApiAction(action);
  const endpoints = store.endpoints.of(view.storeId);
  const parameters = [
    input(takes(status), status.name, TEXTS.status, {
      numeric: true,
      hint: TEXTS.statusHint(status.default),
    }),
    input(takes(latencyMs), "latency", TEXTS.latency, {
      hint: TEXTS.defaultHint(durationText(latencyMs.default)),
    }),
    input(takes(retryAfterS), retryAfterS.name, TEXTS.retryAfter, {
      numeric: true,
      hint: TEXTS.defaultHint(String(retryAfterS.default)),
    }),
  ];
  const limits = [
    input(true, "order_id", TEXTS.orderId, { placeholder: "order-7*", hint: TEXTS.patternHint }),
    select(
      isApi,
      method,
      COMMON_TEXTS.method,
      ["POST", "GET"].map((name) => [name, name]),
    ),
    input(isApi, path, TEXTS.path, { placeholder: "/v1/orders", hint: TEXTS.patternHint }),
    select(
      !isApi,
      eventType,
      COMMON_TEXTS.eventType,
      EVENT_PATTERNS.map((pattern) => [pattern, pattern]),
    ),
    input(!isApi, eventId, TEXTS.eventId, {}),
    select(
      !isApi,
      endpointId,
      COMMON_TEXTS.endpoint,
      endpoints.map(({ id, url, kind }) => [id, kind === "listener" ? "checkout listen" : url]),
    ),
  ];
  return html`${parameters} ${limits}`;
}

function isTyped(typedForm: TypedForm, name: string): boolean {
  return (typedForm?.fields.get(name) ?? "") !== "";
}
