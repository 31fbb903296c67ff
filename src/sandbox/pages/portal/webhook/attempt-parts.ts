import { likelyCause } from "../../../../core/explain/delivery.ts";
import { falseSuccessCause } from "../../../../core/explain/delivery-causes.ts";
import { isForgeryAction } from "../../../../core/fault/actions.ts";
import { printable } from "../../../../core/text.ts";
import { MAX_ANSWER_BYTES } from "../../../../core/webhook/delivery.ts";
import { quote } from "../../../../core/shell/quote.ts";
import { headerNamesIn } from "../../../../core/webhook/signature.ts";
import type { HeaderNames } from "../../../../core/webhook/webhook.ts";
import { html, textOrName, type Html } from "../../../../web/html.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import type { DeliveryAttempt } from "../../../../store/webhook/delivery-attempts.ts";
import {
  reconstructAttempt,
  type SentAttempt,
  type SigningSecrets,
} from "../../../webhook/reconstruct-attempt.ts";
import {
  httpStatusBadge,
  bodyFigure,
  commandLine,
  copyableText,
  momentWithDate,
  factList,
  type FactRows,
} from "../parts.ts";
import type { PortalContext } from "../view.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { FAULT_SIGNATURES, WEBHOOK_TEXTS } from "./texts.ts";

export type AttemptedDelivery = Omit<Delivery, "tries">;

export function attemptDetails(
  context: Pick<PortalContext, "store" | "masterKey">,
  delivery: AttemptedDelivery,
  attempt: DeliveryAttempt,
): Html {
  const sentRequest = reconstructAttempt(context, delivery, attempt);
  const lines = Object.entries(sentRequest.headers).map(([name, value]) => `${name}: ${value}`);
  return html`<div class="stack">
    ${factList(attemptFacts(delivery, attempt))}
    ${bodyFigure(COMMON_TEXTS.request, [`POST ${attempt.url}`, ...lines].join("\n"))}
    ${sentRequest.body === undefined ? html`<p class="hint">${WEBHOOK_TEXTS.otherBody}</p>` : bodyFigure(COMMON_TEXTS.body, sentRequest.body)}
    <p class="signing"><strong>${WEBHOOK_TEXTS.signature}</strong> ${signingHtml(sentRequest.signing)}</p>
    ${verifyCommand(delivery, sentRequest, headerNamesIn(context.store.stores.dialect(delivery.storeId)))}
    ${answerPart(attempt)}
  </div>`;
}

function signingHtml(signing: SigningSecrets): Html {
  if (!signing.isKnown) return html`${WEBHOOK_TEXTS.signingUnknown[signing.reason]}`;
  const { owner, secretCount, fault, verdict } = signing;
  const forgeryText = fault !== null && isForgeryAction(fault) ? FAULT_SIGNATURES[fault] : undefined;
  const secretText =
    owner === "endpoint" && secretCount > 1
      ? WEBHOOK_TEXTS.signedByBoth(secretCount)
      : WEBHOOK_TEXTS.signedBy[owner];
  const verdictText = verdict.ok ? WEBHOOK_TEXTS.verifies : WEBHOOK_TEXTS.verifiesNot(verdict.message);
  return html`${forgeryText ?? secretText}
    <span class="badge ${verdict.ok ? "good" : "bad"}">${verdictText}</span>`;
}

function attemptFacts(delivery: AttemptedDelivery, attempt: DeliveryAttempt): FactRows {
  const { state, fault: deliveryFault } = delivery;
  const { url, address, milliseconds, finishedAt, status, error, nextAt } = attempt;
  const cause = likelyCause(attempt) ?? falseSuccessCause(attempt);
  const fault = attempt.fault ?? deliveryFault?.action ?? null;
  const durationText = milliseconds === null ? "" : html` ${COMMON_TEXTS.took(milliseconds)}`;
  const result =
    finishedAt === null
      ? html`${WEBHOOK_TEXTS.underWay}`
      : html`${httpStatusBadge(status)} ${error ?? ""}${messageOf(attempt)}${durationText}`;
  const endText = state === "due" ? "" : WEBHOOK_TEXTS.noNext;
  const next =
    nextAt === null ? html`${endText}` : html`${WEBHOOK_TEXTS.nextAttempt} ${momentWithDate(nextAt)}`;
  return [
    [WEBHOOK_TEXTS.to, address === null ? url : `${url} (${address})`],
    [COMMON_TEXTS.answer, result],
    attempt.madeBy === null
      ? null
      : [WEBHOOK_TEXTS.causeOf, textOrName(WEBHOOK_TEXTS.causes, attempt.madeBy)],
    fault === null ? null : [COMMON_TEXTS.fault, fault],
    cause && [COMMON_TEXTS.cause, html`${cause.cause}`],
    cause && [COMMON_TEXTS.help, copyableText(fillInIds(cause.next, delivery))],
    finishedAt === null || (nextAt === null && endText === "") ? null : [WEBHOOK_TEXTS.next, next],
  ];
}

function messageOf({ facts }: DeliveryAttempt): string {
  return facts?.message === undefined ? "" : `: ${printable(facts.message)}`;
}

function fillInIds(line: string, { endpointId, eventId }: Pick<Delivery, "endpointId" | "eventId">): string {
  return line.replace("<endpoint_id>", endpointId).replace("<event_id>", eventId);
}

function verifyCommand(
  { eventId }: AttemptedDelivery,
  { headers, signing }: SentAttempt,
  names: HeaderNames,
): Html {
  if (!signing.isKnown || !signing.isEventBody) return html``;
  const { [names.timestamp]: timestamp = "", [names.signature]: signature = "" } = headers;
  const line = `checkout events get ${eventId} --body > body.json && checkout webhooks verify --payload-file body.json --timestamp ${quote(timestamp)} --signature ${quote(signature)} --now ${signing.sentAt}`;
  return commandLine(WEBHOOK_TEXTS.verifyCommand, line);
}

function answerPart({ answer, status }: DeliveryAttempt): Html {
  if (status === null || answer === null) return html``;
  if (answer.length === 0) return html`<p class="hint">${WEBHOOK_TEXTS.noBody}</p>`;
  const label = answer.length < MAX_ANSWER_BYTES ? COMMON_TEXTS.answer : WEBHOOK_TEXTS.answerPart;
  return bodyFigure(html`${label} ${String(status)}`, Buffer.from(answer).toString("utf8"));
}
