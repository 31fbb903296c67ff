import type { AnswerOf } from "../../../../core/control/operations.ts";
import { toIso } from "../../../../core/clock.ts";
import { FAULT_PROFILES } from "../../../../core/fault/actions.ts";
import type { FaultEntry } from "../../../../core/fault/shapes.ts";
import { PROFILE_FAULTS } from "../../../../core/fault/profiles.ts";
import { FAULT_PARAMETERS } from "../../../../core/fault/rules.ts";
import { matchText, parameterText, parseProbabilityText } from "../../../../core/fault/text.ts";
import { accept, addField, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { filledFields, refuseForm } from "../fields.ts";
import { actionForm, formWithConfirmation, storePath } from "../forms.ts";
import { copyableText, momentWithDate, section, table, type TableRow } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { addFaultForm } from "./fault-form.ts";
import { FAULTS_TEXTS as TEXTS } from "./texts.ts";
import { parseSpan, parseSpanOrMomentText } from "../../../../core/duration.ts";
import { partOf } from "../../../../core/fact.ts";

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
          ${table(FRAME_TEXTS.faults, faults, (fault) => faultRow(view, fault))} ${clearForm(view)}
        </section>`
  }
  ${addFaultForm(context, view)} ${profilesSection(view)}`;
  return { title: FRAME_TEXTS.faults, main, liveTopic: "store" };
}

const { status, latencyMs, retryAfterS } = FAULT_PARAMETERS;
const NUMBER_FIELDS = [status.name, retryAfterS.name, "times"] as const;

/** Parses the form of a new fault as the command parses its options: an end such as `10m` counts from the store's time. */
export function parseFaultForm(
  fields: ReadonlyMap<string, string>,
  { context, view }: { readonly context: PortalContext; readonly view: View },
): Outcome<unknown> {
  const { latency, until, probability, nth, ...match } = filledFields(fields, [
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
  const latencyOutcome = latency === undefined ? accept(undefined) : addField("latency", parseSpan(latency));
  if (!latencyOutcome.ok) return latencyOutcome;
  const end = until === undefined ? undefined : parseSpanOrMomentText(until);
  if (until !== undefined && end === undefined)
    return refuseForm("until", partOf("span_or_moment", {}), until);
  const probabilityOutcome = probability === undefined ? undefined : parseProbabilityText(probability);
  if (probability !== undefined && probabilityOutcome === undefined)
    return refuseForm("probability", partOf("probability", {}), probability);
  const invalidNumber = Object.entries(filledFields(fields, [...NUMBER_FIELDS, "nth"])).find(
    ([, text]) => !/^\d+$/.test(text),
  );
  if (invalidNumber !== undefined)
    return refuseForm(invalidNumber[0], partOf("whole_number", {}), invalidNumber[1]);
  const endsAt = end && ("at" in end ? end.at : storeTime(context, view.storeId) + end.spanMs);
  const narrowedMatch = { ...match, nth: nth && Number(nth), probability: probabilityOutcome };
  const isNarrowed = Object.values(narrowedMatch).some((value) => value !== undefined);
  const numbers = Object.entries(filledFields(fields, NUMBER_FIELDS)).map(
    ([name, text]) => [name, Number(text)] as const,
  );
  return accept({
    ...filledFields(fields, ["action", "profile", "seed"]),
    ...Object.fromEntries(numbers),
    [latencyMs.name]: latencyOutcome.value,
    until: endsAt && toIso(endsAt),
    match: isNarrowed ? narrowedMatch : undefined,
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
  const list = table(TEXTS.profiles, FAULT_PROFILES, (profile) => [
    [TEXTS.profile, profile, "head"],
    [TEXTS.holds, PROFILE_FAULTS[profile].map((fault) => html`<code>${fault.action}</code> `)],
    [TEXTS.addProfile, actionForm(view, { action, label: TEXTS.addProfile, fields: { profile } })],
  ]);
  return section(TEXTS.profiles, list);
}
