import { gzipSync } from "node:zlib";
import { STALE_AGE_SECONDS } from "../../webhook/delivery-request.ts";
import { DEFAULT_TOLERANCE_SECONDS } from "../../webhook/signature.ts";
import type { DrillCause } from "./webhook-advice.ts";
import { isRecord } from "../../json.ts";
import type { Words } from "../../language.ts";
import type { Dialect } from "../../shape/dialect.ts";
import {
  backdate,
  changeIdEnd,
  changeEventFields,
  flipDigits,
  forgedForm,
  genuineForm,
  unusualForm,
  wrongDigits,
  type CaseForm,
  type Mutations,
} from "./webhook-case.ts";

export const SHORT_SIGNATURE_LENGTH = 32;
export const SIGNATURE_LENGTH = 64;
export const CORRECT_DIGIT_COUNTS = { first: 40, last: 8 } as const;
export const WRONG_SIGNATURE_COUNT = 200;
const LARGE_BODY_BYTES = 100 * 1024;
const LONG_SIGNATURE_LENGTH = 10 * 1024;
const MINUTE_SECONDS = 60;
const TEN_MINUTES_SECONDS = 600;
/** Slightly less and more than the tolerance of decision 12, in seconds. The interface states no tolerance. */
const WITHIN_TOLERANCE_SECONDS = DEFAULT_TOLERANCE_SECONDS - 10;
const BEYOND_TOLERANCE_SECONDS = DEFAULT_TOLERANCE_SECONDS + 30;

const CURL_HEADERS = { "User-Agent": "curl/8.5.0", Accept: "*/*" } as const;
const FORM_HEADERS = { "Content-Type": "application/x-www-form-urlencoded" } as const;
const NO_HEADERS = { omittedNames: ["eventId", "timestamp", "signature"] } as const;
const EXTRA_HEADERS = {
  Traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-00`,
  "X-Request-Id": "0000",
} as const;
const CREDENTIAL_HEADERS = {
  Authorization: "Bearer 0000",
  Cookie: "session=0000",
  "X-Api-Key": "0000",
} as const;
const WRONG_SIGNATURE: Mutations = { signature: wrongDigits };
const NO_SIGNATURE: Mutations = { omittedNames: ["signature"] };
const FIRST_EVENT: Mutations = { event: "first" };
type TitledForm = CaseForm & { readonly title: Words };
type Claim = { readonly words: Words; readonly change: NonNullable<Mutations["changeBody"]> };
const LIVE_CLAIM: Claim = {
  words: ["with livemode true", "livemode 为 true"],
  change: changeEventFields(({ data }) => ({
    livemode: true,
    data: isRecord(data) && "livemode" in data ? { ...data, livemode: true } : data,
  })),
};
const OTHER_STORE_CLAIM: Claim = {
  words: ["with another store_id", "store_id 属于另一商店"],
  change: changeEventFields(({ store_id: id }) => ({ store_id: changeIdEnd(String(id)) })),
};
const NO_STORE_CLAIM: Claim = {
  words: ["without store_id", "没有 store_id"],
  change: changeEventFields(() => ({ store_id: undefined })),
};

/** Values that a misconfigured program has as its secret, at most three for one request. */
const UNSET_TEXTS = ["", "undefined", "null"] as const;
const PRINTED_TEXTS = ["None", "NaN", "[object Object]"] as const;

export const TEST_FORMS = {
  good_event: genuineForm("fails_after_check"),
  duplicate: genuineForm("rejects_duplicates", FIRST_EVENT),
  spaced_body: genuineForm(undefined, { changeEvent: addSpaces }),
  unusual_bytes: genuineForm(undefined, { changeEvent: writeUnusually }),
  bad_signature: forgedForm("verifies_sometimes", WRONG_SIGNATURE),
  wrong_secret: forgedForm("old_secret", { secret: "another" }),
  changed_byte: forgedForm("body_not_covered", { changeBody: changeDigit }),
  fresh_forgery: forgedForm("verifies_sometimes", { ...WRONG_SIGNATURE, connection: "fresh" }),
  good_on_connection: genuineForm("verifies_sometimes"),
  forged_on_connection: forgedForm("once_a_connection", WRONG_SIGNATURE),
  rewritten_body: forgedForm("parsed_body", { changeBody: indentBody }),
  short_signature: forgedForm("compares_what_came", {
    signature: (digits) => digits.slice(0, SHORT_SIGNATURE_LENGTH),
  }),
  no_signature: forgedForm("skips_without_header", { omittedNames: ["signature"] }),
  no_event: forgedForm("skips_odd_bodies", { ...WRONG_SIGNATURE, changeEvent: () => "this is no event" }),
  hour_old: forgedForm(undefined, { age: STALE_AGE_SECONDS }),
  hour_ahead: forgedForm(undefined, { age: -STALE_AGE_SECONDS }),
  known_hour_old: unstatedForm({ taken: "dedups_before_age" }, { ...FIRST_EVENT, age: STALE_AGE_SECONDS }),
  minute_old: genuineForm("narrow_tolerance", { age: MINUTE_SECONDS }),
  minute_ahead: genuineForm("narrow_tolerance", { age: -MINUTE_SECONDS }),
  within_tolerance_old: unstatedForm({ refused: "strict_tolerance" }, { age: WITHIN_TOLERANCE_SECONDS }),
  within_tolerance_ahead: unstatedForm({ refused: "strict_tolerance" }, { age: -WITHIN_TOLERANCE_SECONDS }),
  beyond_tolerance_old: unstatedForm({ taken: "lenient_tolerance" }, { age: BEYOND_TOLERANCE_SECONDS }),
  beyond_tolerance_ahead: unstatedForm({ taken: "lenient_tolerance" }, { age: -BEYOND_TOLERANCE_SECONDS }),
  ten_minutes_old: forgedForm(undefined, { age: TEN_MINUTES_SECONDS }),
  ten_minutes_ahead: forgedForm(undefined, { age: -TEN_MINUTES_SECONDS }),
  no_timestamp: forgedForm("skips_without_timestamp", { omittedNames: ["timestamp"] }),
  empty_signature: forgedForm("takes_empty_signature", { signature: () => "" }),
  empty_secret: forgedForm("takes_empty_secret", { secret: () => "" }),
  first_digit: forgedForm(undefined, {
    signature: (digits) => flipDigits(digits.slice(0, 1)) + digits.slice(1),
  }),
  last_digit: forgedForm(undefined, {
    signature: (digits) => digits.slice(0, -1) + flipDigits(digits.slice(-1)),
  }),
  right_ends: forgedForm(undefined, { signature: changeMiddle }),
  second_of_three: genuineForm("one_signature", { signature: placeSignature(1) }),
  third_of_three: genuineForm("one_signature", { signature: placeSignature(2) }),
  other_event_id: {
    ...unstatedForm({ taken: "ignores_event_id" }, { ...FIRST_EVENT, hasOtherId: true }),
    cause: "believes_header",
  },
  no_event_id: forgedForm("skips_without_event_id", { ...WRONG_SIGNATURE, omittedNames: ["eventId"] }),
  no_headers: forgedForm("skips_without_headers", { ...NO_HEADERS, headers: CURL_HEADERS }),
  no_headers_form: unusualForm("skips_other_types", {
    ...NO_HEADERS,
    headers: { ...CURL_HEADERS, ...FORM_HEADERS },
  }),
  in_parts: genuineForm("reads_first_part", { inParts: true }),
  unusual_in_parts: genuineForm("decodes_parts", { inParts: true, changeEvent: writeUnusually }),
  lower_case: genuineForm("compares_header_case", { renameHeader: (name) => name.toLowerCase() }),
  upper_case: genuineForm("compares_header_case", { renameHeader: (name) => name.toUpperCase() }),
  extra_headers: genuineForm("refuses_headers", { headers: EXTRA_HEADERS }),
  good_in_chunks: {
    expected: "any",
    notes: { refused: "needs_length" },
    headers: { "Transfer-Encoding": "chunked" },
  },
  as_put: badlySignedForm("skips_methods", { method: "PUT" }),
  as_patch: badlySignedForm("skips_methods", { method: "PATCH" }),
  with_query: badlySignedForm("skips_paths", { suffix: "?x=1" }),
  final_slash: badlySignedForm("skips_paths", { suffix: "/" }),
  empty_body: badlySignedForm("skips_odd_bodies", { changeBody: () => "" }),
  json_array: badlySignedForm("skips_odd_bodies", { changeBody: (body) => `[${body}]` }),
  body_100_kb: badlySignedForm("skips_large", {
    changeBody: changeEventFields(() => ({ note: "x".repeat(LARGE_BODY_BYTES) })),
  }),
  chunked: badlySignedForm("skips_encodings", { headers: { "Transfer-Encoding": "chunked" } }),
  gzip: badlySignedForm("skips_encodings", { packBody: gzipSync, headers: { "Content-Encoding": "gzip" } }),
  no_content_type: contentTypeForm(undefined),
  plain_text: contentTypeForm("text/plain"),
  json_charset: contentTypeForm("application/json; charset=utf-8"),
  multipart: contentTypeForm("multipart/form-data; boundary=x"),
  json_suffix: contentTypeForm("application/cloudevents+json"),
  octet_stream: contentTypeForm("application/octet-stream"),
  other_agent: badlySignedForm("skips_by_sender", { headers: { "User-Agent": "Mozilla/5.0" } }),
  no_agent: badlySignedForm("skips_by_sender", { headers: { "User-Agent": undefined } }),
  authorization: badlySignedForm("skips_by_sender", { headers: CREDENTIAL_HEADERS }),
  forwarded: forwardedForm("127.0.0.1", WRONG_SIGNATURE),
  forwarded_ipv6: forwardedForm("::1", WRONG_SIGNATURE),
  forwarded_10: forwardedForm("10.0.0.1", WRONG_SIGNATURE),
  forwarded_172: forwardedForm("172.17.0.1", WRONG_SIGNATURE),
  forwarded_192: forwardedForm("192.168.0.1", WRONG_SIGNATURE),
  unsigned_127: forwardedForm("127.0.0.1", NO_SIGNATURE),
  unsigned_ipv6: forwardedForm("::1", NO_SIGNATURE),
  unsigned_10: forwardedForm("10.0.0.1", NO_SIGNATURE),
  unsigned_172: forwardedForm("172.17.0.1", NO_SIGNATURE),
  unsigned_192: forwardedForm("192.168.0.1", NO_SIGNATURE),
  unknown_type: claimForm({
    words: ["with a type that does not exist", "事件类型不存在"],
    change: changeEventFields(({ type }) => ({ type: `${String(type).split(".")[0] ?? ""}.refunded` })),
  }),
  other_family: claimForm({
    words: ["with a type in another format", "事件类型的格式不同"],
    change: changeEventFields(() => ({ type: "ping" })),
  }),
  other_store: claimForm({ ...OTHER_STORE_CLAIM, words: ["of another store", "事件属于另一商店"] }),
  no_store: claimForm(NO_STORE_CLAIM),
  live: claimForm(LIVE_CLAIM),
  even_digits: forgedForm(undefined, { signature: changeEveryOther("first") }),
  odd_digits: forgedForm(undefined, { signature: changeEveryOther("second") }),
  swapped_digits: forgedForm(undefined, { signature: (digits) => digits.replace(/(.)(?!\1)(.)/, "$2$1") }),
  swapped_bytes: forgedForm("compares_unordered", {
    signature: (digits) => digits.replace(/^((?:..)*?)(..)(?!\2)(..)/, "$1$3$2"),
  }),
  reversed_digits: forgedForm("compares_unordered", {
    signature: (digits) => Array.from(digits).toReversed().join(""),
  }),
  sorted_digits: forgedForm("compares_unordered", {
    signature: (digits) => Array.from(digits).toSorted().join(""),
  }),
  dots: unusualForm("matches_patterns", { signature: () => ".".repeat(SIGNATURE_LENGTH) }),
  percent: unusualForm("matches_patterns", { signature: () => "%" }),
  non_hex: unusualForm("takes_malformed_signature", { signature: () => "z".repeat(SIGNATURE_LENGTH) }),
  many_signatures: unusualForm("takes_malformed_signature", {
    signature: (digits) =>
      Array.from({ length: WRONG_SIGNATURE_COUNT }, (_, index) => wrongDigits(`${digits}${index}`)).join(),
  }),
  long_signature: unusualForm("takes_malformed_signature", {
    signature: (digits) => wrongDigits(digits).repeat(LONG_SIGNATURE_LENGTH / SIGNATURE_LENGTH),
  }),
  doubled_signature: unusualForm("reads_doubled_headers", {
    ...WRONG_SIGNATURE,
    lines: ["signature", (value) => [value, wrongDigits(value)]],
  }),
  secret_undefined: guessedSecretForm("undefined"),
  secret_null: guessedSecretForm("null"),
  secret_none: guessedSecretForm("None"),
  secret_changeme: guessedSecretForm("changeme"),
  secret_test: guessedSecretForm("test"),
  secret_promise: guessedSecretForm("[object Promise]"),
  secret_url: forgedForm("takes_guessed_secret", { secret: ({ url }) => url }),
  secrets_printed: guessedSecretForm("NaN", "false", "[object Object]"),
  secrets_default: guessedSecretForm("secret", "whsec_", "whsec_undefined"),
  secrets_known: forgedForm("takes_guessed_secret", {
    secret: ({ header, eventId, storeId }) => [header, eventId, storeId],
  }),
  live_empty: forgedForm("chooses_secret", { changeEvent: LIVE_CLAIM.change, secret: () => "" }),
  live_undefined: chosenSecretForm(LIVE_CLAIM, ["undefined"]),
  live_printed: chosenSecretForm(LIVE_CLAIM, PRINTED_TEXTS),
  other_store_none: chosenSecretForm(OTHER_STORE_CLAIM, ["None"]),
  other_store_unset: chosenSecretForm(OTHER_STORE_CLAIM, UNSET_TEXTS),
  other_store_printed: chosenSecretForm(OTHER_STORE_CLAIM, PRINTED_TEXTS),
  no_store_unset: chosenSecretForm(NO_STORE_CLAIM, UNSET_TEXTS),
  no_store_printed: chosenSecretForm(NO_STORE_CLAIM, PRINTED_TEXTS),
  timestamp_word: unusualForm("takes_malformed_timestamp", { timestamp: "soon" }),
  timestamp_undefined: unusualForm("takes_malformed_timestamp", {
    timestamp: "undefined",
    omittedNames: ["timestamp"],
  }),
  timestamp_old_and_new: unusualForm("reads_doubled_headers", {
    age: STALE_AGE_SECONDS,
    lines: ["timestamp", (oldValue, now) => [oldValue, now]],
  }),
  timestamp_new_and_old: unusualForm("reads_doubled_headers", {
    age: STALE_AGE_SECONDS,
    lines: ["timestamp", (oldValue, now) => [now, oldValue]],
  }),
  known_event: forgedForm("known_before_check", { ...WRONG_SIGNATURE, ...FIRST_EVENT }),
  reused_signature: forgedForm("remembers_signature", { reusesSignature: true }),
  made_hour_ago: genuineForm("reads_created_at", { changeEvent: backdate(STALE_AGE_SECONDS * 1000) }),
  forged_in_the_end: forgedForm("verifies_sometimes", WRONG_SIGNATURE),
  good_at_the_end: genuineForm("shuts_out"),
} as const;

export function badlySignedTitle([text, chinese]: Words): Words {
  return [`a wrong signature, ${text}`, `签名错误，${chinese}`];
}

function badlySignedForm(cause: DrillCause, mutations: Mutations): CaseForm {
  return unusualForm(cause, { ...WRONG_SIGNATURE, ...mutations });
}

function unstatedForm(notes: NonNullable<CaseForm["notes"]>, mutations: Mutations): CaseForm {
  return { expected: "2xx or 4xx", notes, ...mutations };
}

function contentTypeForm(type: string | undefined): TitledForm {
  const title: Words =
    type === undefined ? ["with no content type", "没有内容类型"] : [`sent as ${type}`, `内容类型为 ${type}`];
  const form = badlySignedForm("skips_other_types", { headers: { "Content-Type": type } });
  return { ...form, title: badlySignedTitle(title) };
}

function claimForm({ words, change }: Claim): TitledForm {
  const form = forgedForm("skips_by_content", { ...WRONG_SIGNATURE, changeBody: change });
  return { ...form, title: badlySignedTitle(words) };
}

function guessedSecretForm(...secrets: readonly string[]): TitledForm {
  const text = secrets.join(", ");
  const title: Words = [`signed with ${text} as the secret`, `以 ${text} 为密钥签名`];
  return { ...forgedForm("takes_guessed_secret", { secret: () => secrets }), title };
}

function chosenSecretForm({ words, change }: Claim, secrets: readonly string[]): TitledForm {
  const secretsText = secrets.map((secret) => secret || '""').join(", ");
  const title: Words = [
    `${words[0]}, signed with ${secretsText} as the secret`,
    `${words[1]}，以 ${secretsText} 为密钥签名`,
  ];
  return { ...forgedForm("chooses_secret", { changeEvent: change, secret: () => secrets }), title };
}

function forwardedForm(address: string, mutations: Mutations): TitledForm {
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
  const [text, chinese] =
    mutations === WRONG_SIGNATURE ? ["a wrong signature", "签名错误"] : ["no signature", "没有签名"];
  const title: Words = [
    `${text}, with X-Forwarded-For, X-Real-IP and Forwarded of ${host}`,
    `${chinese}，X-Forwarded-For、X-Real-IP 和 Forwarded 为 ${host}`,
  ];
  return { ...unusualForm("skips_by_sender", { ...mutations, headers }), title };
}

function changeMiddle(digits: string): string {
  const { first, last } = CORRECT_DIGIT_COUNTS;
  return digits.slice(0, first) + flipDigits(digits.slice(first, -last)) + digits.slice(-last);
}

function changeEveryOther(position: "first" | "second"): (digits: string) => string {
  return (digits) =>
    digits.replace(/(.)(.)/g, (_, firstDigit: string, secondDigit: string) =>
      position === "first" ? flipDigits(firstDigit) + secondDigit : firstDigit + flipDigits(secondDigit),
    );
}

function placeSignature(position: 0 | 1 | 2): (digits: string) => string {
  return (digits) =>
    [wrongDigits(digits), wrongDigits(wrongDigits(digits))].toSpliced(position, 0, digits).join(",");
}

function fieldsOf(body: string): [string, unknown][] {
  return Object.entries(JSON.parse(body) as object);
}

function addSpaces(body: string): string {
  return `{${fieldsOf(body)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(", ")}}`;
}

function writeUnusually(body: string, dialect: Dialect | undefined): string {
  const dataField = dialect?.event_fields?.["data"] ?? "data";
  const lines = fieldsOf(body)
    .filter(([name]) => name !== dataField)
    .toReversed()
    .map(([name, value]) => `\t${JSON.stringify(name)} :${JSON.stringify(value)}`);
  return `{\r\n${[`${JSON.stringify(dataField)}: ${UNUSUAL_DATA}`, ...lines].join(" ,\n")}\n}\n`;
}

const UNUSUAL_DATA = String.raw`{ "note":"Größe, Gr\u00f6\u00dfe, 订单, 🧾, \/", "number" : 1.50e2 }`;

function indentBody(body: string): string {
  return JSON.stringify(Object.fromEntries(fieldsOf(body)), null, 2);
}

function changeDigit(body: string): string {
  const changedBody = body.replace(/\d(?=Z"|,")/, (digit) => flipDigits(digit, 10));
  return changedBody === body ? `${body} ` : changedBody;
}
