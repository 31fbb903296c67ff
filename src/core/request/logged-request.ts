// The content of the request log. Redaction of all stored texts: core/request/redaction.ts. Writing the log:
// sandbox/runtime/request-log.ts; finding the requests of an order: store/request/order-index.ts.
import { parseJson } from "../json.ts";
import { headerPairs } from "../network/headers.ts";
import type { RefusalFact } from "../outcome.ts";
import { codePointLength, cutText, redactSecrets } from "../text.ts";
import { isSecretHeader, redactHeader } from "./redaction.ts";
import type { RefusedEntry, RequestEntry } from "./shapes.ts";

/** A v1 request and its answer, as the request log stores them: with secrets redacted (decision 86). */
export type LoggedRequest = Omit<RequestEntry, "message" | "fact" | "byDrill" | "realAt"> & {
  readonly byDrill?: true | undefined;
  /** The number of the request in its store, from 1. */
  readonly position: number;
  /** The moment of `at` (real time) by the store's clock. */
  readonly storeAt: number;
  /** Further fields of a refused request; null for other requests. */
  readonly refused: RefusedRequest | null;
};

/** `replays`: oldest first, answered with the same bytes and therefore with the same request_id. */
export type FoundRequest = LoggedRequest & { readonly replays: readonly LoggedRequest[] };

export type RefusedRequest = RefusedEntry & {
  /** The id of the checkout that the request conflicts with. */
  readonly met?: string | undefined;
  /** The reason as a fact; null if the code says all of it, undefined if an older version stored only the message. */
  readonly told?: RefusalFact | null | undefined;
};

/** A filter of requests; null matches everything. */
export type RequestFilter = {
  /** The lowest and the highest status. */
  readonly statuses: readonly [number, number] | null;
  readonly method: string | null;
  readonly path: string | null;
  readonly orderId: string | null;
  /** Whether to omit requests that a drill sent itself. */
  readonly omitsDrills: boolean;
  /** Selects the first requests after this position; null: the newest requests. */
  readonly after: number | null;
  /** Only requests from this moment on, in milliseconds by the store's clock. */
  readonly from: number | null;
  readonly limit: number;
};

/** Default number of requests kept for each store. */
export const DEFAULT_KEPT_REQUESTS = 10_000;
/** Maximum number of requests that can be kept for each store. */
export const MAX_KEPT_REQUESTS = 1_000_000;

const MAX_ORDER_ID_CODE_POINTS = 64;
const MAX_BODY_CODE_POINTS = 4096;
const MAX_HEADER_CODE_POINTS = 512;
const MAX_HEADERS = 64;

/** Whether a request passes the filter; position and limit are ignored. */
export function matchesFilter(filter: RequestFilter, request: LoggedRequest): boolean {
  const [lowestStatus, highestStatus] = filter.statuses ?? [0, 999];
  return (
    request.storeAt >= (filter.from ?? 0) &&
    request.status >= lowestStatus &&
    request.status <= highestStatus &&
    (filter.method === null || request.method === filter.method) &&
    (filter.path === null || request.path.startsWith(filter.path)) &&
    (filter.orderId === null || request.orderId === filter.orderId) &&
    !(filter.omitsDrills && request.byDrill === true)
  );
}

/** The original among requests with one id, oldest first; the first replay if the log has only replays left. */
export function selectOriginal(requests: readonly LoggedRequest[]): FoundRequest | undefined {
  const index = Math.max(
    0,
    requests.findLastIndex((request) => !isReplay(request)),
  );
  const [request, ...replays] = requests.slice(index);
  return request && { ...request, replays };
}

/** Whether a request was answered with the stored bytes of its key. */
export function isReplay({ status, decisions }: Pick<LoggedRequest, "status" | "decisions">): boolean {
  return (status === 201 || status === 200) && decisions.includes(REPLAY_DECISION);
}
const REPLAY_DECISION = 5;

/** Headers, cut to a maximum length: secret headers without their values, all others through `redact`. */
export function redactHeaders(
  rawHeaders: readonly string[],
  redact: (text: string) => string,
): readonly string[] {
  return rawHeaders.slice(0, MAX_HEADERS * 2).map((text, index) => {
    const name = index % 2 === 0 ? "" : (rawHeaders[index - 1] ?? "");
    return isSecretHeader(name) ? redactHeader(name, text) : cutText(redact(text), MAX_HEADER_CODE_POINTS);
  });
}

/** The value of a stored header, by its name in lower case; undefined if it was not sent. */
export function findHeader(headers: readonly string[], name: string): string | undefined {
  return headerPairs(headers).find(([header]) => header.toLowerCase() === name)?.[1];
}

/** A body through `redact`: as sent, or with escapes resolved if they hide something from `redact`. */
export function redactBody(body: string, redact: (text: string) => string): string {
  const plainBody = unescapeJson(body);
  const redactedBody = redact(plainBody);
  return redactedBody === plainBody ? redact(body) : redactedBody;
}

/** Resolves escapes of ASCII, full-width digits, and the spaces and dashes that `redactStored` knows. */
function unescapeJson(json: string): string {
  if (!json.includes("\\")) return json;
  return json.replace(ESCAPE_PATTERN, (escape, hex?: string) => {
    const character = hex === undefined ? escape.slice(1) : String.fromCharCode(Number.parseInt(hex, 16));
    const isPlain = hex === undefined ? character === "/" : !/["\\]/.test(character);
    return isPlain ? character : escape;
  });
}

const ESCAPE_PATTERN = /\\(?:u(00[2-7][\da-f]|00a0|20(?:07|09|1[0-5]|2f)|2212|3000|ff1\d)|.)/gis;

export function cutBody(body: string): string {
  return cutText(body, MAX_BODY_CODE_POINTS);
}

/** The `order_id` in a body, even an invalid one; null if there is none, or if it is too long to store. */
export function orderIdIn(body: string): string | null {
  const [, quotedId] = /"order_id"\s*:\s*"((?:[^"\\]|\\.)+)"/.exec(body) ?? [];
  if (quotedId === undefined) return null;
  // Many clients escape non-ASCII characters or slashes.
  const orderId = quotedId.includes("\\") ? parseJson(`"${quotedId}"`) : quotedId;
  return typeof orderId !== "string" || codePointLength(orderId) > MAX_ORDER_ID_CODE_POINTS
    ? null
    : redactSecrets(orderId);
}
