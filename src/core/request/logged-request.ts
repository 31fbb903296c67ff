import { parseJson } from "../json.ts";
import { headerPairs } from "../network/headers.ts";
import type { RefusalFact } from "../outcome.ts";
import { codePointLength, cutText, redactSecrets } from "../text.ts";
import { isSecretHeader, redactHeader } from "./redaction.ts";
import type { RefusedEntry, RequestEntry } from "./shapes.ts";

/** Secrets are redacted (decision 86). */
export type LoggedRequest = Omit<RequestEntry, "message" | "fact" | "byDrill" | "realAt"> & {
  readonly byDrill?: true | undefined;
  readonly position: number;
  /** The same moment as `at`, which is real time, by the store's clock. */
  readonly storeAt: number;
  readonly refused: RefusedRequest | null;
};

/** `replays`, oldest first, were answered with the same bytes and so have the same request_id. */
export type FoundRequest = LoggedRequest & { readonly replays: readonly LoggedRequest[] };

export type RefusedRequest = RefusedEntry & {
  readonly met?: string | undefined;
  /** Null if the refusal has no facts besides its code; undefined if an older version logged only the message. */
  readonly told?: RefusalFact | null | undefined;
};

export type RequestFilter = {
  readonly statuses: readonly [number, number] | null;
  readonly method: string | null;
  readonly path: string | null;
  readonly orderId: string | null;
  readonly omitsDrills: boolean;
  readonly after: number | null;
  readonly from: number | null;
  readonly limit: number;
};

export const DEFAULT_KEPT_REQUESTS = 10_000;
export const MAX_KEPT_REQUESTS = 1_000_000;

const MAX_ORDER_ID_CODE_POINTS = 64;
const MAX_BODY_CODE_POINTS = 4096;
const MAX_HEADER_CODE_POINTS = 512;
const MAX_HEADERS = 64;

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

/** Takes the requests with one id, oldest first. Returns the first replay if the log no longer has the original. */
export function selectOriginal(requests: readonly LoggedRequest[]): FoundRequest | undefined {
  const index = Math.max(
    0,
    requests.findLastIndex((request) => !isReplay(request)),
  );
  const [request, ...replays] = requests.slice(index);
  return request && { ...request, replays };
}

export function isReplay({ status, decisions }: Pick<LoggedRequest, "status" | "decisions">): boolean {
  return (status === 201 || status === 200) && decisions.includes(REPLAY_DECISION);
}
const REPLAY_DECISION = 5;

/** Also limits the number and the length of the headers, because the log stores them. */
export function redactHeaders(
  rawHeaders: readonly string[],
  redact: (text: string) => string,
): readonly string[] {
  return rawHeaders.slice(0, MAX_HEADERS * 2).map((text, index) => {
    const name = index % 2 === 0 ? "" : (rawHeaders[index - 1] ?? "");
    return isSecretHeader(name) ? redactHeader(name, text) : cutText(redact(text), MAX_HEADER_CODE_POINTS);
  });
}

export function findHeader(headers: readonly string[], name: string): string | undefined {
  return headerPairs(headers).find(([header]) => header.toLowerCase() === name)?.[1];
}

export function redactBody(body: string, redact: (text: string) => string): string {
  const plainBody = unescapeJson(body);
  const redactedBody = redact(plainBody);
  return redactedBody === plainBody ? redact(body) : redactedBody;
}

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

/** Also finds an invalid order_id. Returns null if there is none, or if it is too long to store. */
export function orderIdIn(body: string): string | null {
  const [, quotedId] = /"order_id"\s*:\s*"((?:[^"\\]|\\.)+)"/.exec(body) ?? [];
  if (quotedId === undefined) return null;
  // Many clients escape non-ASCII characters or slashes.
  const orderId = quotedId.includes("\\") ? parseJson(`"${quotedId}"`) : quotedId;
  return typeof orderId !== "string" || codePointLength(orderId) > MAX_ORDER_ID_CODE_POINTS
    ? null
    : redactSecrets(orderId);
}
