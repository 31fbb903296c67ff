import { likelyCause } from "../../../../core/explain/delivery.ts";
import { KEPT_ANSWER_BYTES } from "../../../../core/webhook/delivery.ts";
import { quote } from "../../../../core/shell/quote.ts";
import { HEADERS } from "../../../../core/webhook/signature.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { Delivery } from "../../../../store/webhook/deliveries.ts";
import type { DeliveryAttempt } from "../../../../store/webhook/delivery-attempts.ts";
import { sentTry, type SentTry, type Signing } from "../../../webhook/sent-try.ts";
import { answerBadge, bytes, commandLine, copyable, dated, facts } from "../parts.ts";
import type { PortalContext, View } from "../view.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

type Texts = (typeof WEBHOOK_TEXTS)["en"];
type Asked = Pick<View, "language">;

/** A delivery whose try is shown; how many tries it has had is not. */
export type TriedDelivery = Omit<Delivery, "tries">;

/**
 * One try of a delivery: what was sent, byte for byte, with which secret it was signed, what the receiver answered, the
 * likely cause of a failure, and what comes next.
 */
export function attemptDetails(
  context: Pick<PortalContext, "store" | "masterKey">,
  view: Asked,
  delivery: TriedDelivery,
  attempt: DeliveryAttempt,
): Html {
  const texts = WEBHOOK_TEXTS[view.language];
  const sent = sentTry(context, delivery, attempt);
  const lines = Object.entries(sent.headers).map(([name, value]) => `${name}: ${value}`);
  return html`<div class="stack">
    ${facts(attemptFacts(view, delivery, attempt))}
    ${bytes(view, texts.request, [`POST ${attempt.url}`, ...lines].join("\n"))}
    ${
      sent.body === undefined
        ? html`<p class="hint">${texts.otherBody}</p>`
        : bytes(view, texts.body, sent.body)
    }
    <p class="signing"><strong>${texts.signature}</strong> ${signingWords(texts, sent.signing)}</p>
    ${checkLine(texts, delivery, sent)} ${answerPart(view, attempt)}
  </div>`;
}

/** With which secret a try was signed and what a receiver had to find, in words. The secret itself is nowhere. */
function signingWords(texts: Texts, signing: Signing): Html {
  if (!signing.known) return html`${texts.signingUnknown[signing.why]}`;
  const { owner, secrets, fault, verdict } = signing;
  const asked = fault === null ? undefined : texts.faultSigned[fault];
  const by = owner === "endpoint" && secrets > 1 ? texts.signedByBoth(secrets) : texts.signedBy[owner];
  const found = verdict.ok ? texts.verifies : texts.verifiesNot(verdict.message);
  return html`${asked ?? by} <span class="badge ${verdict.ok ? "good" : "bad"}">${found}</span>`;
}

function attemptFacts(
  { language }: Asked,
  delivery: TriedDelivery,
  attempt: DeliveryAttempt,
): readonly (readonly [string, Html | string])[] {
  const texts = WEBHOOK_TEXTS[language];
  const { state, fault: met } = delivery;
  const { url, address, milliseconds, finishedAt, status, error, nextAt } = attempt;
  const cause = likelyCause(attempt);
  const fault = attempt.fault ?? met?.action ?? null;
  const took = milliseconds === null ? "" : ` ${texts.took(milliseconds)}`;
  const result =
    finishedAt === null
      ? html`${texts.underWay}`
      : html`${answerBadge({ language }, status)} ${error ?? ""}${took}`;
  const ended = state === "due" ? "" : texts.noNext;
  const next = nextAt === null ? html`${ended}` : html`${texts.nextTry} ${dated(nextAt)}`;
  return [
    [texts.to, address === null ? url : `${url} (${address})`],
    [texts.result, result],
    ...(fault === null ? [] : ([[texts.fault, fault]] as const)),
    ...(cause === undefined
      ? []
      : ([
          [texts.cause, html`<span lang="en">${cause.cause}</span>`],
          [texts.help, copyable(withIds(cause.next, delivery))],
        ] as const)),
    ...(finishedAt === null || (nextAt === null && ended === "") ? [] : ([[texts.next, next]] as const)),
  ];
}

/** A command with the ids of what it is about. */
function withIds(line: string, { endpointId, eventId }: Pick<Delivery, "endpointId" | "eventId">): string {
  return line.replace("<endpoint_id>", endpointId).replace("<event_id>", eventId);
}

/** The line that checks the signature in a terminal, as at the moment when it was sent. */
function checkLine(texts: Texts, { eventId }: TriedDelivery, { headers, signing }: SentTry): Html {
  // The event has the bytes that were signed, and not those that the fault has put in their place.
  if (!signing.known || signing.fault === "changed_body") return html``;
  const [timestamp = "", signature = ""] = [headers[HEADERS.timestamp], headers[HEADERS.signature]];
  const line = `checkout events get ${eventId} --body > body.json && checkout webhooks verify --payload-file body.json --timestamp ${quote(timestamp)} --signature ${quote(signature)} --now ${signing.sentAt}`;
  return commandLine(texts.checkIt, line);
}

function answerPart(view: Asked, { answer, status }: DeliveryAttempt): Html {
  const texts = WEBHOOK_TEXTS[view.language];
  if (status === null || answer === null) return html``;
  if (answer.length === 0) return html`<p class="hint">${texts.noBody}</p>`;
  const label = answer.length < KEPT_ANSWER_BYTES ? texts.answer : texts.answerPart;
  return bytes(view, `${label} ${status}`, Buffer.from(answer).toString("utf8"));
}
