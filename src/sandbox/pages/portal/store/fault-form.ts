import {
  FAULT_ACTIONS,
  FORGERY_ACTIONS,
  isApiAction,
  type FaultAction,
} from "../../../../core/fault/actions.ts";
import {
  API_MATCH_FIELDS,
  DELIVERY_MATCH_FIELDS,
  FAULT_PARAMETERS,
  type FaultParameter,
} from "../../../../core/fault/rules.ts";
import { EVENT_PATTERNS } from "../../../../core/checkout/event-types.ts";
import { html, type Html } from "../../../../web/html.ts";
import { selectField, inputField, refusalText, type TypedForm } from "../fields.ts";
import { actionForm, listUrl, storePath, typedValues } from "../forms.ts";
import type { PortalContext, View } from "../view.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { FAULTS_TEXTS as TEXTS } from "./texts.ts";
import { durationText } from "../../../../core/duration.ts";

const ACTION_GROUPS = {
  answers: ["status", "rate_limit", "storage_full", "empty", "truncate"],
  connections: ["latency", "slow_body", "reset", "lose_answer", "lose_request"],
  deliveries: ["duplicate", "reorder", "delay", "drop"],
  signatures: FORGERY_ACTIONS,
} as const satisfies Readonly<Record<string, readonly FaultAction[]>>;

const { status, latencyMs, retryAfterS } = FAULT_PARAMETERS;

/** The form of a new fault. The user first chooses an action; then the form shows only the fields of that action. */
export function addFaultForm(context: PortalContext, view: View): Html {
  const path = storePath(view, "/faults");
  if (!view.may("POST", path)) return html``;
  const typedForm = typedValues(view, path);
  const requestedAction = typedForm?.fields.get("action") ?? view.query.get("action");
  const chosenAction = FAULT_ACTIONS.find((action) => action === requestedAction);
  return html`<section class="panel" id="add">
    <h2>${TEXTS.add}</h2>
    <p class="hint">${TEXTS.chooseAction}</p>
    ${refusalText("action", typedForm)}
    <div class="fault-groups">
      ${Object.entries(ACTION_GROUPS).map(([group, actions]) => groupOf(view, { group, actions, chosenAction }))}
    </div>
    ${chosenAction === undefined ? "" : formOf(context, view, chosenAction)}
  </section>`;
}

function groupOf(
  view: View,
  {
    group,
    actions,
    chosenAction,
  }: {
    readonly group: string;
    readonly actions: readonly FaultAction[];
    readonly chosenAction: FaultAction | undefined;
  },
): Html {
  const { title, about } = TEXTS.groups[group as keyof typeof ACTION_GROUPS];
  return html`<div>
    <h3>${title}</h3>
    <p class="hint">${about}</p>
    <ul>
      ${actions.map(
        (action) =>
          html`<li>
            <a
              href="${listUrl(view, "/faults", { action })}#add"
              ${action === chosenAction ? html` aria-current="true"` : ""}
              ><code>${action}</code></a
            >
            <span class="hint">${TEXTS.actions[action]}</span>
          </li>`,
      )}
    </ul>
  </div>`;
}

function formOf(context: PortalContext, view: View, action: FaultAction): Html {
  const path = storePath(view, "/faults");
  const typedForm = typedValues(view, path, { action });
  const parameters = parameterFields(action, typedForm);
  const content = html`<div class="stack">
    <div class="fields">
      ${parameters} ${matchFields(context, view, { action, typedForm })}
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
  return html`<h3><code>${action}</code> ${TEXTS.actions[action]}</h3>
    ${actionForm(view, { action: path, label: TEXTS.addNow, fields: { action }, content, style: "primary" })}`;
}

const RARE_FIELDS = ["nth", "probability", "seed"] as const;

function parameterFields(action: FaultAction, typedForm: TypedForm): readonly Html[] {
  const hasParameter = ({ actions }: FaultParameter): boolean => actions.includes(action);
  return [
    hasParameter(status) || isTyped(typedForm, status.name)
      ? inputField(TEXTS.status, status.name, {
          numeric: true,
          hint: TEXTS.statusHint(status.default),
          typedForm,
        })
      : html``,
    hasParameter(latencyMs) || isTyped(typedForm, "latency")
      ? inputField(TEXTS.latency, "latency", {
          hint: TEXTS.defaultHint(durationText(latencyMs.default)),
          typedForm,
        })
      : html``,
    hasParameter(retryAfterS) || isTyped(typedForm, retryAfterS.name)
      ? inputField(TEXTS.retryAfter, retryAfterS.name, {
          numeric: true,
          hint: TEXTS.defaultHint(String(retryAfterS.default)),
          typedForm,
        })
      : html``,
  ];
}

/** The fields that limit the fault: the fields of its kind, and all fields that have a value in a refused form. */
function matchFields(
  { store }: PortalContext,
  view: View,
  { action, typedForm }: { readonly action: FaultAction; readonly typedForm: TypedForm },
): readonly Html[] {
  const endpoints = store.endpoints
    .of(view.storeId)
    .map(({ id, url, kind }) => [id, kind === "listener" ? "checkout listen" : url] as const);
  const anyOption = ["", TEXTS.any] as const;
  const { method, path } = API_MATCH_FIELDS;
  const { eventType, eventId, endpointId } = DELIVERY_MATCH_FIELDS;
  const isApi = isApiAction(action);
  const fields = [
    [
      true,
      "order_id",
      inputField(TEXTS.orderId, "order_id", { placeholder: "order-7*", hint: TEXTS.patternHint, typedForm }),
    ],
    [
      isApi,
      method,
      selectField(COMMON_TEXTS.method, method, [anyOption, ["POST", "POST"], ["GET", "GET"]], typedForm),
    ],
    [
      isApi,
      path,
      inputField(TEXTS.path, path, { placeholder: "/v1/orders", hint: TEXTS.patternHint, typedForm }),
    ],
    [
      !isApi,
      eventType,
      selectField(
        COMMON_TEXTS.eventType,
        eventType,
        [anyOption, ...EVENT_PATTERNS.map((pattern) => [pattern, pattern] as const)],
        typedForm,
      ),
    ],
    [!isApi, eventId, inputField(TEXTS.eventId, eventId, { typedForm })],
    [
      !isApi,
      endpointId,
      selectField(COMMON_TEXTS.endpoint, endpointId, [anyOption, ...endpoints], typedForm),
    ],
  ] as const;
  return fields.flatMap(([isOwn, name, field]) => (isOwn || isTyped(typedForm, name) ? [field] : []));
}

/** Whether a field of a refused form has a value; the field is then shown for every action. */
function isTyped(typedForm: TypedForm, name: string): boolean {
  return (typedForm?.fields.get(name) ?? "") !== "";
}
