import type { Checkout } from "../../../../core/checkout/checkout.ts";
import { likelyCause, signatureFault, type ToldTry } from "../../../../core/explain/delivery.ts";
import type { Difference, StoryEntry } from "../../../../core/explain/explanation.ts";
import { firstBody } from "../../../../core/explain/request.ts";
import type { ToldEvent, ToldRequest } from "../../../../core/explain/timeline.ts";
import { curlOf } from "../../../../core/request/curl.ts";
import { HEADERS } from "../../../../core/webhook/signature.ts";
import { html, type Html } from "../../../../web/html.ts";
import { actForm, storePath } from "../frame.ts";
import { answerBadge, bytes, copyable, facts, table } from "../parts.ts";
import type { PortalContext, View } from "../view.ts";
import { STORY_TEXTS } from "./texts.ts";

/** What a request was, as far as the log and its key keep it: secrets are redacted. */
export function requestDetails(
  view: View,
  { request, checkout }: { readonly request: ToldRequest; readonly checkout: Checkout },
): Html {
  const texts = STORY_TEXTS[view.language];
  const { requestId, method, path, key, refused, answer, status } = request;
  const headers = refused === null ? "" : headerText(refused.headers);
  const body = refused?.body ?? (status === 201 ? JSON.stringify(firstBody(checkout)) : "");
  const curl = curlOf({ method, path, headers: refused?.headers ?? usualHeaders(key, body), body });
  return html`${facts([
    [
      texts.request,
      html`<a href="${storePath(view, `/requests/${requestId}`)}"><code>${requestId}</code></a>`,
    ],
    ...(key === null ? [] : [[texts.key, copyable(key)] as const]),
    ...(refused === null ? [] : [[texts.refusal, refused.message] as const]),
  ])}
  ${differences(view, request.differences)} ${headers === "" ? "" : bytes(view, texts.headersSent, headers)}
  ${refused === null || refused.body === "" ? "" : bytes(view, texts.bodySent, refused.body)}
  ${answer === null ? "" : bytes(view, texts.answerGiven, answer)}
  ${curl === undefined ? "" : bytes(view, texts.asCurl, curl)}
  ${refused === null && body !== "" ? html`<p class="hint">${texts.rebuilt}</p>` : ""}`;
}

/** The headers of a request that succeeded, of which the log keeps none. */
function usualHeaders(key: string | null, body: string): readonly string[] {
  const typed = body === "" ? [] : ["Content-Type", "application/json"];
  return ["Authorization", "Bearer", ...typed, ...(key === null ? [] : ["Idempotency-Key", key])];
}

/** Field by field, of a request that met another one. */
function differences(view: View, found: readonly Difference[]): Html {
  if (found.length === 0) return html``;
  const texts = STORY_TEXTS[view.language];
  const rows = found.map(
    ({ field, first, this: now }) =>
      html`<tr>
        <th scope="row"><code>${field}</code></th>
        <td>${first ?? texts.nothing}</td>
        <td>${now ?? texts.nothing}</td>
      </tr>`,
  );
  return html`<p class="label">${texts.differences}</p>
    ${table(texts.differences, [texts.field, texts.first, texts.now], rows)}`;
}

/** An event: its bytes, which every delivery carries, and the act that delivers them again. */
export function eventDetails(
  { store }: PortalContext,
  view: View,
  { event, checkout }: { readonly event: ToldEvent; readonly checkout: Checkout },
): Html {
  const texts = STORY_TEXTS[view.language];
  const body = store.events.find(event.id)?.body ?? "";
  const action = storePath(view, `/checkouts/${checkout.id}/events/${event.id}/replay`);
  return html`${facts([[texts.event, copyable(event.id)]])} ${bytes(view, texts.eventBody, body)}
  ${actForm(view, { action, label: texts.replay })}`;
}

/** A try: what was sent and signed, what the receiver answered, and why that most likely was. */
export function tryDetails(
  { store }: PortalContext,
  view: View,
  { entry, attempt }: { readonly entry: StoryEntry; readonly attempt: ToldTry },
): Html {
  const texts = STORY_TEXTS[view.language];
  const { url, status, error, answer } = attempt;
  // Written by us as a record of texts.
  const headers = JSON.parse(attempt.headers) as Record<string, string>;
  const body = store.events.find(entry.of ?? "")?.body ?? "";
  const cause = likelyCause(attempt);
  const said = answer === null ? "" : Buffer.from(answer).toString("utf8");
  const isOver = status !== null || error !== null;
  return html`${facts([
    [
      texts.delivery,
      html`<a href="${storePath(view, `/webhooks/deliveries/${entry.id ?? ""}`)}"
        ><code>${entry.id ?? ""}</code></a
      >`,
    ],
    [texts.receiver, html`<code>${url}</code>`],
    ...(isOver ? [[texts.answerGiven, html`${answerBadge(view, status)} ${error ?? ""}`] as const] : []),
    ...(cause === undefined ? [] : [[texts.cause, html`<span lang="en">${cause.cause}</span>`] as const]),
    ...(cause === undefined
      ? []
      : [[texts.whatHelps, copyable(commandFor(cause.next, store, entry))] as const]),
    [texts.signature, signatureWords(view, attempt, body)],
  ])}
  ${status === null ? "" : said === "" ? html`<p class="hint">${texts.noBody}</p>` : bytes(view, texts.receiverSaid, said)}
  ${bytes(view, texts.headersToReceiver, headerText(Object.entries(headers).flat()))}
  ${bytes(view, texts.signed, `${headers[HEADERS.timestamp] ?? ""}.${body}`)}`;
}

/** The command that helps, with the ids that it needs. */
function commandFor(command: string, store: PortalContext["store"], { id, of }: StoryEntry): string {
  const endpointId = store.deliveries.find(id ?? "")?.endpointId ?? "<endpoint_id>";
  return command.replace("<endpoint_id>", endpointId).replace("<event_id>", of ?? "<event_id>");
}

/** Whether a receiver with the right secret takes it. */
function signatureWords({ language }: View, attempt: ToldTry, body: string): string {
  const texts = STORY_TEXTS[language];
  const fault = signatureFault(attempt, body);
  return fault === undefined ? texts.signatureOk : texts.signatureBad(fault);
}

/** Names and values that alternate, a line for each header. */
function headerText(alternating: readonly string[]): string {
  const names = alternating.filter((_, index) => index % 2 === 0);
  return names.map((name, index) => `${name}: ${alternating[index * 2 + 1] ?? ""}`).join("\n");
}
