// What the log of requests keeps; what is redacted in everything that is kept: core/request/redaction.ts. When it is
// written: sandbox/runtime/request-log.ts; how requests of an order are found: store/request/order-index.ts.
import type { RefusedEntry, RequestEntry } from "../control/requests.ts";
import { parseJson } from "../json.ts";
import { codePointLength, cut, redactSecrets } from "../text.ts";
import { isSecretHeader, redactHeader } from "./redaction.ts";

/** A request of v1 and its answer, as the request log keeps them: secrets are redacted (decision 86). */
export type LoggedRequest = Omit<RequestEntry, "message" | "byDrill" | "realAt"> & {
  /** Whether a drill made it by itself. */
  readonly byDrill?: true | undefined;
  /** Counts the requests of a store from 1. */
  readonly position: number;
  /** The same moment as `at`, which is the real time, by the clock of the store. */
  readonly storeAt: number;
  /** What else is kept of a refused request; null of one that succeeded, whose answer is with its key. */
  readonly refused: RefusedRequest | null;
};

/** A request with those that were answered with its bytes again, and so with its request_id; oldest first. */
export type FoundRequest = LoggedRequest & { readonly replays: readonly LoggedRequest[] };

/** What was refused, and why; with the id of the checkout that it was in conflict with. */
export type RefusedRequest = RefusedEntry & { readonly met?: string | undefined };

/** Which requests are wanted; what is null does not matter. */
export type RequestFilter = {
  /** The lowest and the highest status. */
  readonly statuses: readonly [number, number] | null;
  readonly method: string | null;
  /** How the path begins. */
  readonly path: string | null;
  readonly orderId: string | null;
  /** Whether those that a drill made by itself are left out. */
  readonly ofMerchant: boolean;
  /** Only requests after this position, and of these the first ones; null: the newest of all. */
  readonly after: number | null;
  /** Only requests from this moment on, in milliseconds by the store's clock. */
  readonly from: number | null;
  readonly limit: number;
};

/** How many requests of a store are kept. */
export const DEFAULT_KEPT_REQUESTS = 10_000;
/** Most that can be kept. */
export const MAX_KEPT_REQUESTS = 1_000_000;

const MAX_ORDER_ID_CODE_POINTS = 64;
const MAX_BODY_CODE_POINTS = 4096;
const MAX_HEADER_CODE_POINTS = 512;
const MAX_HEADERS = 64;

/** Whether a request is one of those that are wanted; position and limit are not looked at. */
export function isAskedFor(wanted: RequestFilter, request: LoggedRequest): boolean {
  const [lowest, highest] = wanted.statuses ?? [0, 999];
  return (
    request.storeAt >= (wanted.from ?? 0) &&
    request.status >= lowest &&
    request.status <= highest &&
    (wanted.method === null || request.method === wanted.method) &&
    (wanted.path === null || request.path.startsWith(wanted.path)) &&
    (wanted.orderId === null || request.orderId === wanted.orderId) &&
    !(wanted.ofMerchant && request.byDrill === true)
  );
}

/**
 * The request that an id is of, among all that carry it, oldest first: the newest that made its own answer. Where the log
 * has only replays any more, it is the first of these. Undefined of none.
 */
export function foundAmong(requests: readonly LoggedRequest[]): FoundRequest | undefined {
  const at = Math.max(
    0,
    requests.findLastIndex((request) => !isReplay(request)),
  );
  const [request, ...replays] = requests.slice(at);
  return request && { ...request, replays };
}

/** Whether a request was answered with the bytes of the first answer of its key. */
export function isReplay({ status, decisions }: Pick<LoggedRequest, "status" | "decisions">): boolean {
  return status === 201 && decisions.includes(REPLAYED);
}

/** The decision on replays. */
const REPLAYED = 5;

/** Headers as they are kept: secret ones without their value, the others as `redact` leaves them, each cut. */
export function keptHeaders(
  rawHeaders: readonly string[],
  redact: (text: string) => string,
): readonly string[] {
  return rawHeaders.slice(0, MAX_HEADERS * 2).map((text, index) => {
    const name = index % 2 === 0 ? "" : (rawHeaders[index - 1] ?? "");
    return isSecretHeader(name) ? redactHeader(name, text) : cut(redact(text), MAX_HEADER_CODE_POINTS);
  });
}

/** The value of a header among those that are kept, by its name in lower case; undefined where it did not come. */
export function keptHeader(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
  return at < 0 ? undefined : headers[at + 1];
}

/**
 * A body as `redact` leaves it: as it was sent, or, where its escapes hide something from `redact`, without these escapes.
 */
export function withoutSecrets(body: string, redact: (text: string) => string): string {
  const plain = unescaped(body);
  const redacted = redact(plain);
  return redacted === plain ? redact(body) : redacted;
}

/**
 * A JSON text with the characters of secrets, addresses and card numbers as themselves, whichever way they were escaped:
 * ASCII, the spaces and dashes that `redactKept` knows, and digits in full width.
 */
function unescaped(json: string): string {
  if (!json.includes("\\")) return json;
  return json.replace(ESCAPE, (escape, hex?: string) => {
    const character = hex === undefined ? escape.slice(1) : String.fromCharCode(Number.parseInt(hex, 16));
    const isPlain = hex === undefined ? character === "/" : !/["\\]/.test(character);
    return isPlain ? character : escape;
  });
}

const ESCAPE = /\\(?:u(00[2-7][\da-f]|00a0|20(?:07|09|1[0-5]|2f)|2212|3000|ff1\d)|.)/gis;

/** A body as it is kept: without its secrets, and cut. */
export function keptBody(body: string): string {
  return cut(body, MAX_BODY_CODE_POINTS);
}

/** The `order_id` of a body, whatever else is wrong with it; null if it has none, or one that is too long for a row. */
export function orderIdIn(body: string): string | null {
  const [, quoted] = /"order_id"\s*:\s*"((?:[^"\\]|\\.)+)"/.exec(body) ?? [];
  if (quoted === undefined) return null;
  // Many clients escape what is not ASCII, or a slash.
  const orderId = quoted.includes("\\") ? parseJson(`"${quoted}"`) : quoted;
  return typeof orderId !== "string" || codePointLength(orderId) > MAX_ORDER_ID_CODE_POINTS
    ? null
    : redactSecrets(orderId);
}
