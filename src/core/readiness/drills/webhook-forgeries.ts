import { gzipSync } from "node:zlib";
import { HEADERS } from "../../webhook/signature.ts";
import { STALE_BY_SECONDS } from "../../webhook/delivery-request.ts";
import { isRecord } from "../../json.ts";
import type { DrillCause } from "./webhook-advice.ts";
import {
  bad,
  fieldsOf,
  odd,
  otherDigits,
  withHeaders,
  wrong,
  type DrillCase,
  type DrillRequest,
} from "./webhook-case.ts";

const SMALL_BODY_BYTES = 5 * 1024;
const LARGE_BODY_BYTES = 100 * 1024;
const MANY_SIGNATURES = 200;
const LONG_SIGNATURE = 10 * 1024;
const DIGITS = 64;

type Header = "Content-Type" | "User-Agent" | "Authorization" | "X-Forwarded-For" | "Transfer-Encoding";

/** A badly signed request that a receiver may believe because of the way it comes. */
function carried(title: string, taken: DrillCause, how: NonNullable<DrillCase["how"]>) {
  return odd(`badly signed, ${title}`, { taken, signature: wrong, how });
}

function under(title: string, taken: DrillCause, header: Header, value: string | undefined) {
  return carried(title, taken, (request) => withHeaders(request, { [header]: value }));
}

const ELSEWHERE = ({ store_id: id }: Event): Event => ({ store_id: otherEnd(String(id)) });
const LIVE = ({ data }: Event): Event => ({
  livemode: true,
  data: isRecord(data) && "livemode" in data ? { ...data, livemode: true } : data,
});

/** A badly signed event that says something else of itself. */
function claiming(title: string, change: (event: Event) => Readonly<Record<string, unknown>>) {
  const taken = "skips_by_content";
  return bad(`badly signed, ${title}`, { taken, signature: wrong, sent: (body) => claim(body, change) });
}

/** A badly signed request with another body. */
function bearing(title: string, taken: DrillCause, sent: (body: string) => string) {
  return odd(`badly signed, ${title}`, { taken, signature: wrong, sent });
}

/** How a forged request can come. */
export const CARRIERS = {
  as_put: carried("as PUT", "skips_methods", (request) => ({ ...request, method: "PUT" })),
  as_patch: carried("as PATCH", "skips_methods", (request) => ({ ...request, method: "PATCH" })),
  with_query: carried("with ?x=1 behind the path", "skips_paths", (request) => onPath(request, "?x=1")),
  final_slash: carried("with a slash behind the path", "skips_paths", (request) => onPath(request, "/")),
  empty_body: bearing("with an empty body", "skips_odd_bodies", () => ""),
  json_array: bearing("as a JSON array", "skips_odd_bodies", (body) => `[${body}]`),
  body_5_kb: bearing("with 5 kB of body", "skips_large", (body) => padded(body, SMALL_BODY_BYTES)),
  body_100_kb: bearing("with 100 kB of body", "skips_large", (body) => padded(body, LARGE_BODY_BYTES)),
  chunked: under("in chunks", "skips_encodings", "Transfer-Encoding", "chunked"),
  gzip: carried("compressed with gzip", "skips_encodings", (request) =>
    withHeaders({ ...request, body: gzipSync(request.body) }, { "Content-Encoding": "gzip" }),
  ),
  no_content_type: under("without a content type", "skips_other_types", "Content-Type", undefined),
  ...contentTypes({
    plain_text: "text/plain",
    json_charset: "application/json; charset=utf-8",
    multipart: "multipart/form-data; boundary=x",
    json_suffix: "application/cloudevents+json",
    octet_stream: "application/octet-stream",
  }),
  other_agent: under("from another User-Agent", "skips_by_sender", "User-Agent", "Mozilla/5.0"),
  no_agent: under("without a User-Agent", "skips_by_sender", "User-Agent", undefined),
  authorization: under("with Authorization", "skips_by_sender", "Authorization", "Bearer 0000"),
  forwarded: under("with X-Forwarded-For", "skips_by_sender", "X-Forwarded-For", "127.0.0.1"),
  unknown_type: claiming("of a type that there is not", ({ type }) => ({
    type: `${String(type).split(".")[0] ?? ""}.refunded`,
  })),
  other_family: claiming("of a type that is nothing like one", () => ({ type: "ping" })),
  other_store: claiming("of another store", ELSEWHERE),
  live: claiming("with livemode true", LIVE),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** What a forged signature can look like. */
export const SIGNATURE_FORMS = {
  even_digits: bad("a signature of which every other digit is wrong, from the first on", {
    taken: "by_part",
    signature: (right) => right.replace(/(.)(.)/g, (_, one: string, two: string) => otherDigits(one) + two),
  }),
  odd_digits: bad("a signature of which every other digit is wrong, from the second on", {
    taken: "by_part",
    signature: (right) => right.replace(/(.)(.)/g, (_, one: string, two: string) => one + otherDigits(two)),
  }),
  swapped_digits: bad("the right signature with two digits swapped", {
    taken: "by_part",
    signature: (right) => right.replace(/(.)(?!\1)(.)/, "$2$1"),
  }),
  swapped_bytes: bad("the right signature with two bytes swapped", {
    taken: "compares_unordered",
    signature: (right) => right.replace(/^((?:..)*?)(..)(?!\2)(..)/, "$1$3$2"),
  }),
  reversed_digits: bad("the right signature backwards", {
    taken: "compares_unordered",
    signature: (right) => Array.from(right).toReversed().join(""),
  }),
  sorted_digits: bad("the digits of the right signature, sorted", {
    taken: "compares_unordered",
    signature: (right) => Array.from(right).toSorted().join(""),
  }),
  dots: odd(`a signature of ${DIGITS} dots`, {
    taken: "matches_patterns",
    signature: () => ".".repeat(DIGITS),
  }),
  percent: odd("% as the signature", { taken: "matches_patterns", signature: () => "%" }),
  any_text: odd(".* as the signature", { taken: "matches_patterns", signature: () => ".*" }),
  non_hex: odd(`a signature of ${DIGITS} letters that are no digits`, {
    taken: "takes_malformed_signature",
    signature: () => "z".repeat(DIGITS),
  }),
  many_signatures: odd(`${MANY_SIGNATURES} wrong signatures`, {
    taken: "takes_malformed_signature",
    signature: (right) => Array.from({ length: MANY_SIGNATURES }, (_, at) => wrong(`${right}${at}`)).join(),
  }),
  long_signature: odd("a signature of 10 kB", {
    taken: "takes_malformed_signature",
    signature: (right) => wrong(right).repeat(LONG_SIGNATURE / DIGITS),
  }),
  doubled_signature: odd("two lines with wrong signatures", {
    taken: "reads_doubled_headers",
    signature: wrong,
    how: (request) => {
      const { [HEADERS.signature]: once = "" } = request.headers;
      return { ...request, lines: { [HEADERS.signature]: [once, wrong(once)] } };
    },
  }),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** Secrets that are none: what an unset variable is printed as, defaults, and what everybody knows. */
export const GUESSED_SECRETS = {
  secret_undefined: guessed("the text undefined", () => "undefined"),
  secret_null: guessed("the text null", () => "null"),
  secret_none: guessed("the text None", () => "None"),
  secret_changeme: guessed("the text changeme", () => "changeme"),
  secret_secret: guessed("the text secret", () => "secret"),
  secret_test: guessed("the text test", () => "test"),
  secret_promise: guessed("the text [object Promise]", () => "[object Promise]"),
  secret_prefix: guessed("the text whsec_", () => "whsec_"),
  secret_url: guessed("the URL of the endpoint", ({ url }) => url),
  secret_store: guessed("the id of the store", ({ storeId }) => storeId),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** What may choose the secret, and what it is where the chosen one is not set. */
export const CLAIMED_SECRETS = {
  live_empty: unset("livemode true", LIVE, ""),
  live_undefined: unset("livemode true", LIVE, "undefined"),
  live_null: unset("livemode true", LIVE, "null"),
  live_none: unset("livemode true", LIVE, "None"),
  other_store_empty: unset("another store", ELSEWHERE, ""),
  other_store_undefined: unset("another store", ELSEWHERE, "undefined"),
  other_store_null: unset("another store", ELSEWHERE, "null"),
  other_store_none: unset("another store", ELSEWHERE, "None"),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** Timestamps that are none, rightly signed; and two of them, of which one is old. */
export const TIMESTAMP_FORMS = {
  timestamp_word: untimed("soon as the timestamp, rightly signed", "soon"),
  timestamp_nan: untimed("NaN as the timestamp, rightly signed", "NaN"),
  timestamp_empty: untimed("an empty timestamp, rightly signed", ""),
  timestamp_left_out: odd("no timestamp, and none signed", {
    taken: "takes_malformed_timestamp",
    timestamp: "",
    without: ["timestamp"],
  }),
  timestamp_undefined: odd("no timestamp, and undefined signed", {
    taken: "takes_malformed_timestamp",
    timestamp: "undefined",
    without: ["timestamp"],
  }),
  timestamp_old_and_new: twoTimes("signed an hour ago, with a second timestamp of now behind", (old, now) => [
    old,
    now,
  ]),
  timestamp_new_and_old: twoTimes("signed an hour ago, with a second timestamp of now before", (old, now) => [
    now,
    old,
  ]),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** What an event that was accepted lends to a forged one. */
export const REUSES = {
  known_event: bad("the first event again, badly signed", {
    taken: "known_before_check",
    event: "first",
    signature: wrong,
  }),
  reused_signature: bad("another event under the signature of the first", {
    taken: "remembers_signature",
    reused: true,
  }),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** Badly signed, of an order that there is not. */
export const UNKNOWN_ORDER = bad("a forged payment of an order that there is not", {
  taken: "skips_orders",
  event: "payment",
  signature: wrong,
  sent: (body) => {
    const { data } = JSON.parse(body) as {
      readonly data: { readonly id: string; readonly order_id: string };
    };
    const { id, order_id: orderId } = data;
    return body
      .replaceAll(id, otherEnd(id))
      .replaceAll(JSON.stringify(orderId), JSON.stringify(otherEnd(orderId)));
  },
});

/** Badly signed, and older than what was accepted. */
export const OLDER_EVENT = bad("a forged payment that says it is older than what was accepted", {
  taken: "skips_orders",
  event: "payment",
  signature: wrong,
  sent: (body) => claim(body, () => ({ sequence: 0 })),
});

function contentTypes<Name extends string>(types: Readonly<Record<Name, string>>) {
  const rows = Object.entries<string>(types).map(([name, type]) => [
    name,
    under(`as ${type}`, "skips_other_types", "Content-Type", type),
  ]);
  return Object.fromEntries(rows) as Readonly<Record<Name, ReturnType<typeof under>>>;
}

function guessed(what: string, secret: Exclude<DrillCase["secret"], "another" | undefined>) {
  return bad(`signed with ${what}`, { taken: "takes_guessed_secret", secret });
}

/** An event that says something of itself, signed with what anybody can guess. */
function unset(claimed: string, change: (event: Event) => Event, secret: string) {
  const title = `with ${claimed}, signed with ${secret === "" ? "an empty secret" : `the text ${secret}`}`;
  const signed = (body: string): string => claim(body, change);
  return bad(title, { taken: "chooses_secret", signed, secret: () => secret });
}

function untimed(title: string, timestamp: string) {
  return odd(title, { taken: "takes_malformed_timestamp", timestamp });
}

function twoTimes(title: string, order: (old: string, now: string) => readonly string[]) {
  return odd(title, {
    taken: "reads_doubled_headers",
    age: STALE_BY_SECONDS,
    how: (request, now) => {
      const { [HEADERS.timestamp]: old = "" } = request.headers;
      return { ...request, lines: { [HEADERS.timestamp]: order(old, now) } };
    },
  });
}

type Event = Readonly<Record<string, unknown>>;

function claim(body: string, change: (event: Event) => Event): string {
  const event = Object.fromEntries(fieldsOf(body));
  return JSON.stringify({ ...event, ...change(event) });
}

function padded(body: string, bytes: number): string {
  return claim(body, () => ({ note: "x".repeat(Math.max(0, bytes - body.length)) }));
}

/** An id of the same shape: its last digits are others, or its last letters are reversed where it has no digit. */
function otherEnd(id: string): string {
  const changed = id.replace(/\d+(?=\D*$)/, (digits) => otherDigits(digits, 10));
  return changed === id ? `${id.slice(0, -2)}${Array.from(id.slice(-2)).toReversed().join("")}x` : changed;
}

function onPath(request: DrillRequest, end: "/" | "?x=1"): DrillRequest {
  const url = new URL(request.url);
  if (end === "/") url.pathname += "/";
  else url.searchParams.append("x", "1");
  return { ...request, url: url.href };
}
