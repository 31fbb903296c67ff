import { headerPairs } from "../../../../core/network/headers.ts";
import type { Checkout } from "../../../../core/checkout/checkout.ts";
import { errorBody } from "../../../../core/checkout/wire.ts";
import type { RequestDifference } from "../../../../core/explain/explanation.ts";
import { originalRequestBody } from "../../../../core/explain/request.ts";
import type { StoryRequest } from "../../../../core/explain/timeline.ts";
import { curlOf } from "../../../../core/request/curl.ts";
import { redactStored } from "../../../../core/request/redaction.ts";
import { html, type Html } from "../../../../web/html.ts";
import { bodyFigure, commandLine, table } from "../parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { REQUEST_TEXTS } from "./texts.ts";

export function requestDetails(request: StoryRequest, checkout?: Checkout): Html {
  const { method, path, refused } = request;
  const line = `${method} ${path}`;
  const repetition = partsOfRepetition(request, checkout);
  const sentRequest =
    refused === null
      ? html`${bodyFigure(COMMON_TEXTS.request, line)}
          <p class="hint">
            ${repetition?.body === undefined ? REQUEST_TEXTS.notKept : REQUEST_TEXTS.valuesOnly}
          </p>`
      : html`${bodyFigure(COMMON_TEXTS.request, `${line}\n${headerText(refused.headers)}`)}
        ${refused.body === "" ? "" : bodyFigure(COMMON_TEXTS.body, refused.body)}`;
  return html`<div class="stack">
    ${sentRequest}${repetition === undefined ? "" : curlPart(request, repetition)}${answerPart(request)}
  </div>`;
}

export function differencesTable(differences: readonly RequestDifference[]): Html {
  const cell = (value: string | null): Html =>
    value === null ? html`<span class="hint">${REQUEST_TEXTS.absent}</span>` : html`<code>${value}</code>`;
  return table({ caption: REQUEST_TEXTS.differences }, differences, ({ field, first, this: thisValue }) => [
    [REQUEST_TEXTS.field, html`<code>${field}</code>`, "head"],
    [REQUEST_TEXTS.first, cell(first), "named"],
    [REQUEST_TEXTS.now, cell(thisValue), "named"],
  ]);
}

function headerText(headers: readonly string[]): string {
  return headerPairs(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

type RequestParts = {
  readonly headers: readonly string[];
  readonly body?: string;
  readonly isRedacted?: boolean;
};

/** Undefined if the body of an accepted request cannot be reconstructed. */
function partsOfRepetition(
  { method, key, answer, fingerprint, refused }: StoryRequest,
  checkout?: Checkout,
): RequestParts | undefined {
  const credential = ["Authorization", ""];
  if (refused !== null) return { ...refused, isRedacted: refused.body.includes("…") };
  if (method !== "POST") return { headers: credential };
  if (key === null || answer === null || checkout === undefined) return undefined;
  const headers = [...credential, "Content-Type", "application/json", "Idempotency-Key", key];
  const body = JSON.stringify(originalRequestBody({ ...checkout, fingerprint }));
  const redactedBody = redactStored(body, checkout.orderId);
  return { headers, body: redactedBody, isRedacted: redactedBody !== body };
}

function curlPart({ method, path, refused }: StoryRequest, repetition: RequestParts): Html {
  const line = curlOf({ method, path, body: "", ...repetition });
  if (line === undefined) return html`<p class="hint">${REQUEST_TEXTS.noCurl}</p>`;
  const isChanged = repetition.isRedacted === true || (refused !== null && line.includes("…"));
  return commandLine(
    REQUEST_TEXTS.curl,
    line,
    html`${REQUEST_TEXTS.curlHint} ${isChanged ? REQUEST_TEXTS.notExact : ""}`,
  );
}

function answerPart({ requestId, status, code, refused, answer }: StoryRequest): Html {
  if (status === 0) return html`<p class="hint">${REQUEST_TEXTS.notAnswered}</p>`;
  const body =
    code === null || refused === null ? answer : errorBody(requestId, { code, message: refused.message });
  return body === null ? html`` : bodyFigure(html`${COMMON_TEXTS.answer} ${String(status)}`, body);
}
