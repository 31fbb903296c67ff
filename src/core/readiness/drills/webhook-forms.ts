// The forms of webhooks that are sent to a receiver, as mutations of a genuine event. Their grammar: webhook-case.ts;
// their titles and lists: webhook.ts; what the answers show: core/judge/forms/causes.ts.
import { gzipSync } from "node:zlib";
import { STALE_BY_SECONDS } from "../../webhook/delivery-request.ts";
import { DEFAULT_TOLERANCE_SECONDS } from "../../webhook/signature.ts";
import type { Words } from "../../language.ts";
import {
  addSpaces,
  backdate,
  badlySigned,
  changeDigit,
  changeEveryOther,
  changeMiddle,
  claim,
  claimLivemode,
  claimOtherStore,
  flipDigits,
  forged,
  genuine,
  indentBody,
  open,
  placeSignature,
  unusual,
  writeUnusually,
  wrongDigits,
  type Form,
  type Mutations,
} from "./webhook-case.ts";

/** Number of correct digits in a signature that ends early: half of them. */
export const RIGHT_DIGITS = 32;
export const DIGITS = 64;
export const MANY_SIGNATURES = 200;
const LARGE_BODY_BYTES = 100 * 1024;
const LONG_SIGNATURE = 10 * 1024;
/** Differences between timestamp and clock, in seconds: one that every receiver must accept, one that it must refuse. */
const MINUTE = 60;
const TEN_MINUTES = 600;
/** Slightly less and more than the tolerance of decision 12, in seconds. The interface states no tolerance. */
const WITHIN_TOLERANCE = DEFAULT_TOLERANCE_SECONDS - 10;
const BEYOND_TOLERANCE = DEFAULT_TOLERANCE_SECONDS + 30;

const CURL = { "User-Agent": "curl/8.5.0", Accept: "*/*" } as const;
const FORM_TYPE = { "Content-Type": "application/x-www-form-urlencoded" } as const;
const NO_HEADERS = { without: ["eventId", "timestamp", "signature"] } as const;
/** Unknown to a receiver, as proxies and tracers add them. */
const EXTRA = { Traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-00`, "X-Request-Id": "0000" } as const;
const CREDENTIALS = { Authorization: "Bearer 0000", Cookie: "session=0000", "X-Api-Key": "0000" } as const;
const BAD: Mutations = { signature: wrongDigits };
const UNSIGNED: Mutations = { without: ["signature"] };
const AGAIN: Mutations = { event: "first" };
type TitledForm = Form & { readonly title: Words };
/** Fields of an event that a form changes. */
type Claim = { readonly words: Words; readonly change: NonNullable<Mutations["sent"]> };
const LIVE: Claim = { words: ["with livemode true", "livemode 为 true"], change: claim(claimLivemode) };
const OTHER_STORE: Claim = {
  words: ["with another store", "属于另一商店"],
  change: claim(claimOtherStore),
};
const NO_STORE: Claim = {
  words: ["without store_id", "没有 store_id"],
  change: claim(() => ({ store_id: undefined })),
};

/** Values that a misconfigured program has as its secret, at most three for one request. */
const UNSET = ["", "undefined", "null"] as const;
const PRINTED = ["None", "NaN", "[object Object]"] as const;

/** The forms that are always sent, in this order. */
export const TEST_FORMS = {
  good_event: genuine("fails_after_check"),
  duplicate: genuine("rejects_duplicates", AGAIN),
  spaced_body: genuine(undefined, { signed: addSpaces }),
  unusual_bytes: genuine(undefined, { signed: writeUnusually }),
  bad_signature: forged("verifies_sometimes", BAD),
  wrong_secret: forged("old_secret", { secret: "another" }),
  changed_byte: forged("body_not_covered", { sent: changeDigit }),
  fresh_forgery: forged("verifies_sometimes", { ...BAD, connection: "fresh" }),
  good_on_connection: genuine("verifies_sometimes"),
  forged_on_connection: forged("once_a_connection", BAD),
  rewritten_body: forged("parsed_body", { sent: indentBody }),
  short_signature: forged("compares_what_came", { signature: (right) => right.slice(0, RIGHT_DIGITS) }),
  no_signature: forged("skips_without_header", { without: ["signature"] }),
  no_event: forged("skips_odd_bodies", { ...BAD, signed: () => "this is no event" }),
  hour_old: forged(undefined, { age: STALE_BY_SECONDS }),
  hour_ahead: forged(undefined, { age: -STALE_BY_SECONDS }),
  known_hour_old: open({ taken: "dedups_before_age" }, { ...AGAIN, age: STALE_BY_SECONDS }),
  minute_old: genuine("narrow_tolerance", { age: MINUTE }),
  minute_ahead: genuine("narrow_tolerance", { age: -MINUTE }),
  within_tolerance_old: open({ refused: "strict_tolerance" }, { age: WITHIN_TOLERANCE }),
  within_tolerance_ahead: open({ refused: "strict_tolerance" }, { age: -WITHIN_TOLERANCE }),
  beyond_tolerance_old: open({ taken: "lenient_tolerance" }, { age: BEYOND_TOLERANCE }),
  beyond_tolerance_ahead: open({ taken: "lenient_tolerance" }, { age: -BEYOND_TOLERANCE }),
  ten_minutes_old: forged(undefined, { age: TEN_MINUTES }),
  ten_minutes_ahead: forged(undefined, { age: -TEN_MINUTES }),
  no_timestamp: forged("skips_without_timestamp", { without: ["timestamp"] }),
  empty_signature: forged("takes_empty_signature", { signature: () => "" }),
  empty_secret: forged("takes_empty_secret", { secret: () => "" }),
  first_digit: forged(undefined, { signature: (right) => flipDigits(right.slice(0, 1)) + right.slice(1) }),
  last_digit: forged(undefined, { signature: (right) => right.slice(0, -1) + flipDigits(right.slice(-1)) }),
  right_ends: forged(undefined, { signature: changeMiddle }),
  second_of_three: genuine("one_signature", { signature: placeSignature(1) }),
  third_of_three: genuine("one_signature", { signature: placeSignature(2) }),
  other_event_id: {
    ...open({ taken: "ignores_event_id" }, { ...AGAIN, otherEventId: true }),
    cause: "believes_header",
  },
  no_event_id: forged("skips_without_event_id", { ...BAD, without: ["eventId"] }),
  no_headers: forged("skips_without_headers", { ...NO_HEADERS, headers: CURL }),
  no_headers_form: unusual("skips_other_types", { ...NO_HEADERS, headers: { ...CURL, ...FORM_TYPE } }),
  in_parts: genuine("reads_first_part", { inParts: true }),
  unusual_in_parts: genuine("decodes_parts", { inParts: true, signed: writeUnusually }),
  lower_case: genuine("compares_header_case", { named: (name) => name.toLowerCase() }),
  upper_case: genuine("compares_header_case", { named: (name) => name.toUpperCase() }),
  extra_headers: genuine("refuses_headers", { headers: EXTRA }),
  good_in_chunks: {
    expected: "any",
    notes: { refused: "needs_length" },
    headers: { "Transfer-Encoding": "chunked" },
  },
  as_put: badlySigned("skips_methods", { method: "PUT" }),
  as_patch: badlySigned("skips_methods", { method: "PATCH" }),
  with_query: badlySigned("skips_paths", { suffix: "?x=1" }),
  final_slash: badlySigned("skips_paths", { suffix: "/" }),
  empty_body: badlySigned("skips_odd_bodies", { sent: () => "" }),
  json_array: badlySigned("skips_odd_bodies", { sent: (body) => `[${body}]` }),
  body_100_kb: badlySigned("skips_large", { sent: claim(() => ({ note: "x".repeat(LARGE_BODY_BYTES) })) }),
  chunked: badlySigned("skips_encodings", { headers: { "Transfer-Encoding": "chunked" } }),
  gzip: badlySigned("skips_encodings", { pack: gzipSync, headers: { "Content-Encoding": "gzip" } }),
  no_content_type: asType(undefined),
  plain_text: asType("text/plain"),
  json_charset: asType("application/json; charset=utf-8"),
  multipart: asType("multipart/form-data; boundary=x"),
  json_suffix: asType("application/cloudevents+json"),
  octet_stream: asType("application/octet-stream"),
  other_agent: badlySigned("skips_by_sender", { headers: { "User-Agent": "Mozilla/5.0" } }),
  no_agent: badlySigned("skips_by_sender", { headers: { "User-Agent": undefined } }),
  authorization: badlySigned("skips_by_sender", { headers: CREDENTIALS }),
  forwarded: sentFor("127.0.0.1", BAD),
  forwarded_ipv6: sentFor("::1", BAD),
  forwarded_10: sentFor("10.0.0.1", BAD),
  forwarded_172: sentFor("172.17.0.1", BAD),
  forwarded_192: sentFor("192.168.0.1", BAD),
  unsigned_127: sentFor("127.0.0.1", UNSIGNED),
  unsigned_ipv6: sentFor("::1", UNSIGNED),
  unsigned_10: sentFor("10.0.0.1", UNSIGNED),
  unsigned_172: sentFor("172.17.0.1", UNSIGNED),
  unsigned_192: sentFor("192.168.0.1", UNSIGNED),
  unknown_type: claimForm({
    words: ["of a type that does not exist", "事件类型不存在"],
    change: claim(({ type }) => ({ type: `${String(type).split(".")[0] ?? ""}.refunded` })),
  }),
  other_family: claimForm({
    words: ["of a type in another form", "类型格式不像事件类型"],
    change: claim(() => ({ type: "ping" })),
  }),
  other_store: claimForm({ ...OTHER_STORE, words: ["of another store", "属于另一商店"] }),
  no_store: claimForm(NO_STORE),
  live: claimForm(LIVE),
  even_digits: forged(undefined, { signature: changeEveryOther("first") }),
  odd_digits: forged(undefined, { signature: changeEveryOther("second") }),
  swapped_digits: forged(undefined, { signature: (right) => right.replace(/(.)(?!\1)(.)/, "$2$1") }),
  swapped_bytes: forged("compares_unordered", {
    signature: (right) => right.replace(/^((?:..)*?)(..)(?!\2)(..)/, "$1$3$2"),
  }),
  reversed_digits: forged("compares_unordered", {
    signature: (right) => Array.from(right).toReversed().join(""),
  }),
  sorted_digits: forged("compares_unordered", {
    signature: (right) => Array.from(right).toSorted().join(""),
  }),
  dots: unusual("matches_patterns", { signature: () => ".".repeat(DIGITS) }),
  percent: unusual("matches_patterns", { signature: () => "%" }),
  non_hex: unusual("takes_malformed_signature", { signature: () => "z".repeat(DIGITS) }),
  many_signatures: unusual("takes_malformed_signature", {
    signature: (right) =>
      Array.from({ length: MANY_SIGNATURES }, (_, at) => wrongDigits(`${right}${at}`)).join(),
  }),
  long_signature: unusual("takes_malformed_signature", {
    signature: (right) => wrongDigits(right).repeat(LONG_SIGNATURE / DIGITS),
  }),
  doubled_signature: unusual("reads_doubled_headers", {
    ...BAD,
    lines: ["signature", (value) => [value, wrongDigits(value)]],
  }),
  secret_undefined: guessedForm("undefined"),
  secret_null: guessedForm("null"),
  secret_none: guessedForm("None"),
  secret_changeme: guessedForm("changeme"),
  secret_test: guessedForm("test"),
  secret_promise: guessedForm("[object Promise]"),
  secret_url: forged("takes_guessed_secret", { secret: ({ url }) => url }),
  secrets_printed: guessedForm("NaN", "false", "[object Object]"),
  secrets_default: guessedForm("secret", "whsec_", "whsec_undefined"),
  secrets_known: forged("takes_guessed_secret", {
    secret: ({ header, eventId, storeId }) => [header, eventId, storeId],
  }),
  live_empty: forged("chooses_secret", { signed: LIVE.change, secret: () => "" }),
  live_undefined: chosenForm(LIVE, ["undefined"]),
  live_printed: chosenForm(LIVE, PRINTED),
  other_store_none: chosenForm(OTHER_STORE, ["None"]),
  other_store_unset: chosenForm(OTHER_STORE, UNSET),
  other_store_printed: chosenForm(OTHER_STORE, PRINTED),
  no_store_unset: chosenForm(NO_STORE, UNSET),
  no_store_printed: chosenForm(NO_STORE, PRINTED),
  timestamp_word: unusual("takes_malformed_timestamp", { timestamp: "soon" }),
  timestamp_undefined: unusual("takes_malformed_timestamp", {
    timestamp: "undefined",
    without: ["timestamp"],
  }),
  timestamp_old_and_new: unusual("reads_doubled_headers", {
    age: STALE_BY_SECONDS,
    lines: ["timestamp", (oldValue, now) => [oldValue, now]],
  }),
  timestamp_new_and_old: unusual("reads_doubled_headers", {
    age: STALE_BY_SECONDS,
    lines: ["timestamp", (oldValue, now) => [now, oldValue]],
  }),
  known_event: forged("known_before_check", { ...BAD, ...AGAIN }),
  reused_signature: forged("remembers_signature", { reused: true }),
  made_hour_ago: genuine("reads_created_at", { signed: backdate(STALE_BY_SECONDS * 1000) }),
  forged_in_the_end: forged("verifies_sometimes", BAD),
  good_at_the_end: genuine("shuts_out"),
} as const;

/** The title of a badly signed form. */
export function badly([text, chinese]: Words): Words {
  return [`badly signed, ${text}`, `签名错误，${chinese}`];
}

/** Another content type; undefined: none. */
function asType(type: string | undefined): TitledForm {
  const title: Words =
    type === undefined ? ["without a content type", "没有内容类型"] : [`as ${type}`, `内容类型为 ${type}`];
  return { ...badlySigned("skips_other_types", { headers: { "Content-Type": type } }), title: badly(title) };
}

/** A badly signed event with false claims about itself. */
function claimForm({ words, change }: Claim): TitledForm {
  return { ...badlySigned("skips_by_content", { sent: change }), expected: "4xx", title: badly(words) };
}

/** Signed with texts that anybody can guess: a printed form of an unset variable, or a default. */
function guessedForm(...secrets: readonly string[]): TitledForm {
  const text = secrets.join(", ");
  const title: Words = [`signed with the text ${text}`, `用文本 ${text}签名`];
  return { ...forged("takes_guessed_secret", { secret: () => secrets }), title };
}

/** Rightly signed with what a program finds where it has no secret, for an event by which it may choose one. */
function chosenForm({ words, change }: Claim, secrets: readonly string[]): TitledForm {
  const texts = secrets.map((secret) => secret || '""').join(", ");
  const noun = secrets.length === 1 ? "text" : "texts";
  const title: Words = [`${words[0]}, signed with the ${noun} ${texts}`, `${words[1]}，用文本 ${texts}签名`];
  return { ...forged("chooses_secret", { signed: change, secret: () => secrets }), title };
}

/** Said to come from an address that a receiver may take for its own proxy, or for the service. */
function sentFor(address: string, mutations: Mutations): TitledForm {
  const host = address.includes(":") ? `[${address}]` : address;
  const headers = {
    "X-Forwarded-For": address,
    "X-Real-IP": address,
    "X-Client-IP": address,
    "True-Client-IP": address,
    "CF-Connecting-IP": address,
    Forwarded: `for=${host === address ? host : `"${host}"`};proto=https`,
    Via: "1.1 checkout",
  };
  const [text, chinese] = mutations === BAD ? ["badly signed", "签名错误"] : ["unsigned", "没有签名"];
  const title: Words = [
    `${text}, with X-Forwarded-For, X-Real-IP and Forwarded of ${host}`,
    `${chinese}，X-Forwarded-For、X-Real-IP 和 Forwarded 为 ${host}`,
  ];
  return { ...unusual("skips_by_sender", { ...mutations, headers }), title };
}
