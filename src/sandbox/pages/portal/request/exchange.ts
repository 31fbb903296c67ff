import type { Checkout } from "../../../../core/checkout/checkout.ts";
import { checkoutJson, errorBody, successBody } from "../../../../core/checkout/wire.ts";
import { curlOf } from "../../../../core/request/curl.ts";
import type { LoggedRequest } from "../../../../core/request/logged-request.ts";
import { html, type Html } from "../../../../web/html.ts";
import { bytes, copyable } from "../parts.ts";
import type { View } from "../view.ts";
import { REQUEST_TEXTS } from "./texts.ts";

/** The checkout that a request made, where it made one. */
type Made = { readonly checkout: Checkout; readonly checkoutOrigin: string };

/**
 * The bytes of a request and of its answer, and the line that sends it again. The log keeps headers and body of refused
 * requests alone; with the checkout that one made, its values and its answer are shown.
 */
export function requestDetails(view: Pick<View, "language">, request: LoggedRequest, made?: Made): Html {
  const texts = REQUEST_TEXTS[view.language];
  const { method, path, refused } = request;
  const line = `${method} ${path}`;
  const sent =
    refused === null
      ? html`${bytes(view, texts.requestHeaders, line)}
          <p class="hint">${made === undefined ? texts.notKept : texts.valuesOnly}</p>`
      : html`${bytes(view, texts.requestHeaders, `${line}\n${headerText(refused.headers)}`)}
        ${refused.body === "" ? "" : bytes(view, texts.requestBody, refused.body)}`;
  return html`<div class="exchange">
    ${sent}${curlPart(view, request, made)}${answerPart(view, request, made)}
  </div>`;
}

/** Headers as lines: names and values alternate. */
function headerText(headers: readonly string[]): string {
  const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1] ?? ""}`] : []));
  return lines.join("\n");
}

function curlPart({ language }: Pick<View, "language">, request: LoggedRequest, made?: Made): Html {
  const texts = REQUEST_TEXTS[language];
  const { method, path, refused } = request;
  const line = curlOf({ method, path, ...(refused ?? likeIt(request, made)) });
  if (line === undefined) return html`<p class="hint">${texts.noCurl}</p>`;
  const isChanged = refused !== null && [refused.body, line].some((text) => text.includes("…"));
  return html`<figure class="bytes">
    <figcaption>${texts.curl}</figcaption>
    <pre tabindex="0">${copyable(line)}</pre>
    <p class="hint">${texts.curlHint} ${isChanged ? texts.notExact : ""}</p>
  </figure>`;
}

/** A request as one that was taken had to be: what it was, byte for byte, is not kept. */
function likeIt(
  { method }: LoggedRequest,
  made: Made | undefined,
): { readonly headers: readonly string[]; readonly body: string } {
  const credential = ["Authorization", ""];
  if (method !== "POST" || made === undefined) return { headers: credential, body: "" };
  const { orderId, amountMinor, currency, paymentMethod, priceId, description } = made.checkout;
  const terms =
    priceId === null
      ? { amount_minor: amountMinor, currency, payment_method: paymentMethod }
      : { price_id: priceId };
  const described = description === null || priceId !== null ? {} : { description };
  const body = JSON.stringify({ order_id: orderId, ...terms, ...described });
  const key = ["Content-Type", "application/json", "Idempotency-Key", `${orderId}-attempt-1`];
  return { headers: [...credential, ...key], body };
}

function answerPart(view: Pick<View, "language">, request: LoggedRequest, made?: Made): Html {
  const texts = REQUEST_TEXTS[view.language];
  const { requestId, status, code, refused } = request;
  if (status === 0) return html`<p class="hint">${texts.notAnswered}</p>`;
  const label = `${texts.answer} ${status}`;
  if (code !== null && refused !== null)
    return bytes(view, label, errorBody(requestId, { code, message: refused.message }));
  if (status !== 201 || made === undefined) return html``;
  // What a create answers: whatever became of it since.
  const { checkout, checkoutOrigin } = made;
  return bytes(
    view,
    label,
    successBody(requestId, checkoutJson({ ...checkout, status: "created" }, checkoutOrigin)),
  );
}
