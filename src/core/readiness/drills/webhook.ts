// The forms of webhooks that are sent to a receiver. Their grammar: webhook-case.ts; what the answers show:
// core/judge/forms/causes.ts. A step of a drill has the name of its form.
import { gzipSync } from "node:zlib";
import { STATUSES, type CheckoutObject, type Status } from "../../checkout/checkout.ts";
import type { CheckoutEvent } from "../../checkout/event.ts";
import type { Words } from "../../language.ts";
import type { StepTitles } from "./drill.ts";
import type { DrillStep } from "../drill-shapes.ts";
import { STALE_BY_SECONDS } from "../../webhook/delivery-request.ts";
import { DEFAULT_TOLERANCE_SECONDS } from "../../webhook/signature.ts";
import {
  badlySigned,
  claim,
  flipDigits,
  forged,
  genuine,
  open,
  unusual,
  wrongDigits,
  type Form,
} from "./webhook-case.ts";
import {
  RIGHT_ENDS,
  contentType,
  asType,
  claiming,
  guessed,
  unset,
  addSpaces,
  backdateEvent,
  changeDigit,
  changeMiddle,
  changeOrder,
  claimLivemode,
  claimOtherStore,
  indentBody,
  placeSignature,
  writeUnusually,
} from "./webhook-mutations.ts";

/** Number of correct digits in a signature that ends early: half of them. */
const RIGHT_DIGITS = 32;
const DIGITS = 64;
const LARGE_BODY_BYTES = 100 * 1024;
const MANY_SIGNATURES = 200;
const LONG_SIGNATURE = 10 * 1024;
/** Differences between timestamp and clock, in seconds: one that every receiver must accept, one that it must refuse. */
const MINUTE = 60;
const TEN_MINUTES = 600;
/** Slightly less and more than the tolerance of decision 12, in seconds. The interface states no tolerance. */
const WITHIN_TOLERANCE = DEFAULT_TOLERANCE_SECONDS - 10;
const BEYOND_TOLERANCE = DEFAULT_TOLERANCE_SECONDS + 30;

const CURL = { "User-Agent": "curl/8.5.0", Accept: "*/*" } as const;
const NO_HEADERS = { without: ["eventId", "timestamp", "signature"] } as const;
const FORWARDED = {
  "X-Forwarded-For": "127.0.0.1",
  "X-Real-IP": "127.0.0.1",
  Forwarded: "for=127.0.0.1;proto=https",
} as const;
const CREDENTIALS = { Authorization: "Bearer 0000", Cookie: "session=0000", "X-Api-Key": "0000" } as const;

const forms = {
  good_event: genuine(["a good event", "有效事件"], "fails_after_check"),
  duplicate: genuine(
    ["the same event again, with a new signature", "同一事件再次推送，重新签名"],
    "rejects_duplicates",
    { event: "first" },
  ),
  spaced_body: genuine(
    ["a good event with spaces between its tokens", "有效事件，JSON 中带空格"],
    undefined,
    {
      signed: addSpaces,
    },
  ),
  unusual_bytes: genuine(["a good event in unusual bytes", "有效事件，字节写法少见"], undefined, {
    signed: writeUnusually,
  }),
  bad_signature: forged(
    ["a signature made without a secret", "不由任何密钥生成的签名"],
    "verifies_sometimes",
    {
      signature: wrongDigits,
    },
  ),
  wrong_secret: forged(["signed with another secret", "用另一个密钥签名"], "old_secret", {
    secret: "another",
  }),
  changed_byte: forged(["one byte of the body changed", "请求体改动一个字节"], "body_not_covered", {
    sent: changeDigit,
  }),
  fresh_forgery: forged(
    ["badly signed, over a new connection", "签名错误，使用新连接"],
    "verifies_sometimes",
    {
      signature: wrongDigits,
      connection: "fresh",
    },
  ),
  good_on_connection: genuine(
    ["a good event before a forged one", "伪造事件之前的有效事件"],
    "verifies_sometimes",
  ),
  forged_on_connection: forged(
    ["badly signed, over the connection of a good event", "签名错误，沿用有效事件的连接"],
    "once_a_connection",
    { signature: wrongDigits },
  ),
  rewritten_body: forged(["the same JSON with other white space", "同样的 JSON，空白不同"], "parsed_body", {
    sent: indentBody,
  }),
  short_signature: forged(
    [`a signature that ends after ${RIGHT_DIGITS} right digits`, `只有 ${RIGHT_DIGITS} 位（均正确）的签名`],
    "compares_what_came",
    { signature: (right) => right.slice(0, RIGHT_DIGITS) },
  ),
  no_signature: forged(["no signature", "没有签名"], "skips_without_header", { without: ["signature"] }),
  no_event: forged(
    ["a body that is not JSON, badly signed", "请求体不是 JSON，签名错误"],
    "skips_odd_bodies",
    {
      signed: () => "this is no event",
      signature: wrongDigits,
    },
  ),
  hour_old: forged(["signed an hour ago", "一小时前签名"], undefined, { age: STALE_BY_SECONDS }),
  hour_ahead: forged(["signed an hour ahead", "签名时间超前一小时"], undefined, { age: -STALE_BY_SECONDS }),
  known_hour_old: open(
    ["the first event again, signed an hour ago", "再次推送第一个事件，一小时前签名"],
    { taken: "dedups_before_age" },
    { event: "first", age: STALE_BY_SECONDS },
  ),
  minute_old: genuine(["signed a minute ago", "一分钟前签名"], "narrow_tolerance", { age: MINUTE }),
  minute_ahead: genuine(["signed a minute ahead", "签名时间超前一分钟"], "narrow_tolerance", {
    age: -MINUTE,
  }),
  within_tolerance_old: open(
    ["signed 4 min 50 s ago", "4 分 50 秒前签名"],
    { refused: "strict_tolerance" },
    { age: WITHIN_TOLERANCE },
  ),
  within_tolerance_ahead: open(
    ["signed 4 min 50 s ahead", "签名时间超前 4 分 50 秒"],
    { refused: "strict_tolerance" },
    { age: -WITHIN_TOLERANCE },
  ),
  beyond_tolerance_old: open(
    ["signed 5 min 30 s ago", "5 分 30 秒前签名"],
    { taken: "lenient_tolerance" },
    { age: BEYOND_TOLERANCE },
  ),
  beyond_tolerance_ahead: open(
    ["signed 5 min 30 s ahead", "签名时间超前 5 分 30 秒"],
    { taken: "lenient_tolerance" },
    { age: -BEYOND_TOLERANCE },
  ),
  ten_minutes_old: forged(["signed 10 minutes ago", "10 分钟前签名"], undefined, { age: TEN_MINUTES }),
  ten_minutes_ahead: forged(["signed 10 minutes ahead", "签名时间超前 10 分钟"], undefined, {
    age: -TEN_MINUTES,
  }),
  no_timestamp: forged(["no timestamp", "没有时间戳"], "skips_without_timestamp", { without: ["timestamp"] }),
  empty_signature: forged(["an empty signature", "空签名"], "takes_empty_signature", { signature: () => "" }),
  empty_secret: forged(["signed with an empty secret", "用空密钥签名"], "takes_empty_secret", {
    secret: () => "",
  }),
  first_digit: forged(["a signature whose first digit is wrong", "首位错误的签名"], undefined, {
    signature: (right) => flipDigits(right.slice(0, 1)) + right.slice(1),
  }),
  last_digit: forged(["a signature whose last digit is wrong", "末位错误的签名"], undefined, {
    signature: (right) => right.slice(0, -1) + flipDigits(right.slice(-1)),
  }),
  right_ends: forged(
    [
      `a signature whose first ${RIGHT_ENDS.first} and last ${RIGHT_ENDS.last} digits are right`,
      `前 ${RIGHT_ENDS.first} 位和后 ${RIGHT_ENDS.last} 位正确的签名`,
    ],
    undefined,
    { signature: changeMiddle },
  ),
  second_of_three: genuine(
    ["the right signature, second of three", "三个签名中第二个正确"],
    "one_signature",
    {
      signature: placeSignature(1),
    },
  ),
  third_of_three: genuine(["the right signature, last of three", "三个签名中最后一个正确"], "one_signature", {
    signature: placeSignature(2),
  }),
  other_event_id: {
    ...open(
      ["the first event again, with another id in its header", "再次推送第一个事件，请求头中的 id 不同"],
      { taken: "ignores_event_id" },
      { event: "first", otherEventId: true },
    ),
    cause: "believes_header",
  },
  no_event_id: forged(["no event id, badly signed", "没有事件 id，签名错误"], "skips_without_event_id", {
    without: ["eventId"],
    signature: wrongDigits,
  }),
  no_headers: forged(
    ["no Checkout header, as curl sends it", "没有 Checkout 请求头，如 curl 所发"],
    "skips_without_headers",
    {
      ...NO_HEADERS,
      headers: CURL,
    },
  ),
  no_headers_form: unusual(
    ["no Checkout header, as curl -d sends it: as a form", "没有 Checkout 请求头，如 curl -d 所发的表单"],
    "skips_other_types",
    { ...NO_HEADERS, headers: { ...CURL, "Content-Type": "application/x-www-form-urlencoded" } },
  ),
  as_put: badlySigned(["as PUT", "使用 PUT"], "skips_methods", { method: "PUT" }),
  as_patch: badlySigned(["as PATCH", "使用 PATCH"], "skips_methods", { method: "PATCH" }),
  with_query: badlySigned(["with ?x=1 after the path", "路径后带 ?x=1"], "skips_paths", { suffix: "?x=1" }),
  final_slash: badlySigned(["with a slash after the path", "路径后带斜杠"], "skips_paths", { suffix: "/" }),
  empty_body: badlySigned(["with an empty body", "请求体为空"], "skips_odd_bodies", { sent: () => "" }),
  json_array: badlySigned(["as a JSON array", "请求体为 JSON 数组"], "skips_odd_bodies", {
    sent: (body) => `[${body}]`,
  }),
  body_100_kb: badlySigned(["with a body of 100 kB", "请求体 100 kB"], "skips_large", {
    sent: claim(() => ({ note: "x".repeat(LARGE_BODY_BYTES) })),
  }),
  chunked: badlySigned(["in chunks", "分块传输"], "skips_encodings", {
    headers: { "Transfer-Encoding": "chunked" },
  }),
  gzip: badlySigned(["compressed with gzip", "gzip 压缩"], "skips_encodings", {
    pack: gzipSync,
    headers: { "Content-Encoding": "gzip" },
  }),
  no_content_type: contentType(["without a content type", "没有内容类型"], undefined),
  plain_text: asType("text/plain"),
  json_charset: asType("application/json; charset=utf-8"),
  multipart: asType("multipart/form-data; boundary=x"),
  json_suffix: asType("application/cloudevents+json"),
  octet_stream: asType("application/octet-stream"),
  other_agent: badlySigned(["from another User-Agent", "User-Agent 不同"], "skips_by_sender", {
    headers: { "User-Agent": "Mozilla/5.0" },
  }),
  no_agent: badlySigned(["without a User-Agent", "没有 User-Agent"], "skips_by_sender", {
    headers: { "User-Agent": undefined },
  }),
  authorization: badlySigned(
    ["with Authorization, Cookie and X-Api-Key", "带 Authorization、Cookie 和 X-Api-Key"],
    "skips_by_sender",
    { headers: CREDENTIALS },
  ),
  forwarded: badlySigned(
    ["with X-Forwarded-For, X-Real-IP and Forwarded", "带 X-Forwarded-For、X-Real-IP 和 Forwarded"],
    "skips_by_sender",
    { headers: FORWARDED },
  ),
  unknown_type: claiming(["of a type that does not exist", "事件类型不存在"], ({ type }) => ({
    type: `${String(type).split(".")[0] ?? ""}.refunded`,
  })),
  other_family: claiming(["of a type in another form", "类型格式不像事件类型"], () => ({ type: "ping" })),
  other_store: claiming(["of another store", "属于另一商店"], claimOtherStore),
  live: claiming(["with livemode true", "livemode 为 true"], claimLivemode),
  even_digits: forged(
    ["a signature with every other digit wrong, from the first", "从首位起每隔一位错误的签名"],
    undefined,
    {
      signature: (right) => right.replace(/(.)(.)/g, (_, one: string, two: string) => flipDigits(one) + two),
    },
  ),
  odd_digits: forged(
    ["a signature with every other digit wrong, from the second", "从第二位起每隔一位错误的签名"],
    undefined,
    {
      signature: (right) => right.replace(/(.)(.)/g, (_, one: string, two: string) => one + flipDigits(two)),
    },
  ),
  swapped_digits: forged(["the right signature with two digits swapped", "正确签名交换两位数字"], undefined, {
    signature: (right) => right.replace(/(.)(?!\1)(.)/, "$2$1"),
  }),
  swapped_bytes: forged(
    ["the right signature with two bytes swapped", "正确签名交换两个字节"],
    "compares_unordered",
    { signature: (right) => right.replace(/^((?:..)*?)(..)(?!\2)(..)/, "$1$3$2") },
  ),
  reversed_digits: forged(["the right signature reversed", "正确签名倒序"], "compares_unordered", {
    signature: (right) => Array.from(right).toReversed().join(""),
  }),
  sorted_digits: forged(
    ["the digits of the right signature, sorted", "正确签名的数字排序后"],
    "compares_unordered",
    { signature: (right) => Array.from(right).toSorted().join("") },
  ),
  dots: unusual([`a signature of ${DIGITS} dots`, `${DIGITS} 个点号作为签名`], "matches_patterns", {
    signature: () => ".".repeat(DIGITS),
  }),
  percent: unusual(["% as the signature", "% 作为签名"], "matches_patterns", { signature: () => "%" }),
  non_hex: unusual(
    [`a signature of ${DIGITS} letters that are not hex digits`, `${DIGITS} 个非十六进制字母作为签名`],
    "takes_malformed_signature",
    { signature: () => "z".repeat(DIGITS) },
  ),
  many_signatures: unusual(
    [`${MANY_SIGNATURES} wrong signatures`, `${MANY_SIGNATURES} 个错误签名`],
    "takes_malformed_signature",
    {
      signature: (right) =>
        Array.from({ length: MANY_SIGNATURES }, (_, at) => wrongDigits(`${right}${at}`)).join(),
    },
  ),
  long_signature: unusual(["a signature of 10 kB", "10 kB 的签名"], "takes_malformed_signature", {
    signature: (right) => wrongDigits(right).repeat(LONG_SIGNATURE / DIGITS),
  }),
  doubled_signature: unusual(["two lines with wrong signatures", "两行错误签名"], "reads_doubled_headers", {
    signature: wrongDigits,
    lines: ["signature", (once) => [once, wrongDigits(once)]],
  }),
  secret_undefined: guessed("undefined"),
  secret_null: guessed("null"),
  secret_none: guessed("None"),
  secret_changeme: guessed("changeme"),
  secret_test: guessed("test"),
  secret_promise: guessed("[object Promise]"),
  secret_url: forged(["signed with the URL of the endpoint", "用接收端的 URL签名"], "takes_guessed_secret", {
    secret: ({ url }) => url,
  }),
  live_empty: unset(["livemode true", "livemode 为 true"], claimLivemode, ""),
  live_undefined: unset(["livemode true", "livemode 为 true"], claimLivemode, "undefined"),
  other_store_none: unset(["another store", "属于另一商店"], claimOtherStore, "None"),
  timestamp_word: unusual(
    ["soon as the timestamp, correctly signed", "时间戳为 soon，签名正确"],
    "takes_malformed_timestamp",
    { timestamp: "soon" },
  ),
  timestamp_undefined: unusual(
    ["no timestamp, and undefined in the signed text", "没有时间戳，签名内容为 undefined"],
    "takes_malformed_timestamp",
    { timestamp: "undefined", without: ["timestamp"] },
  ),
  timestamp_old_and_new: unusual(
    ["signed an hour ago, followed by a second timestamp of now", "一小时前签名，其后另有当前时间戳"],
    "reads_doubled_headers",
    { age: STALE_BY_SECONDS, lines: ["timestamp", (old, now) => [old, now]] },
  ),
  timestamp_new_and_old: unusual(
    ["signed an hour ago, preceded by a second timestamp of now", "一小时前签名，其前另有当前时间戳"],
    "reads_doubled_headers",
    { age: STALE_BY_SECONDS, lines: ["timestamp", (old, now) => [now, old]] },
  ),
  known_event: forged(
    ["the first event again, badly signed", "再次推送第一个事件，签名错误"],
    "known_before_check",
    { event: "first", signature: wrongDigits },
  ),
  reused_signature: forged(
    ["another event with the signature of the first", "另一事件沿用第一个事件的签名"],
    "remembers_signature",
    { reused: true },
  ),
  made_hour_ago: genuine(
    ["a good event from an hour ago, signed now", "一小时前的有效事件，现在签名"],
    "reads_created_at",
    { signed: backdateEvent },
  ),
  forged_in_the_end: forged(
    ["a signature made without a secret, after all other requests", "在上述请求之后，不由任何密钥生成的签名"],
    "verifies_sometimes",
    { signature: wrongDigits },
  ),
  good_at_the_end: genuine(
    ["a good event after all other requests", "在上述请求之后的有效事件"],
    "shuts_out",
  ),
} as const satisfies Readonly<Record<string, Form>>;

/** The forms that are also sent with an event of an order: one of each kind of mistake. */
const PAYMENT_FORMS = [
  "bad_signature",
  "wrong_secret",
  "changed_byte",
  "short_signature",
  "no_signature",
  "hour_old",
  "hour_ahead",
  "ten_minutes_old",
  "ten_minutes_ahead",
  "no_timestamp",
  "empty_signature",
  "empty_secret",
  "last_digit",
  "right_ends",
  "no_headers",
  "no_headers_form",
  "as_put",
  "final_slash",
  "json_array",
  "live",
  "sorted_digits",
] as const satisfies readonly (keyof typeof forms)[];

/** The forms about an order, sent only with the merchant's consent. */
const orderForms = {
  order_event: genuine(
    ["an event of an order again, as it was accepted before", "再次推送曾被接受的订单事件"],
    "refuses_orders",
    { event: "order" },
  ),
  ...forgedPayments(),
  unknown_order: forged(
    ["a forged payment of an order that does not exist", "伪造的支付，订单不存在"],
    "skips_orders",
    { event: "payment", signature: wrongDigits, sent: changeOrder },
  ),
  older_event: forged(
    ["a forged payment that claims to be older than the accepted event", "伪造的支付，自称早于已接受的事件"],
    "skips_orders",
    { event: "payment", signature: wrongDigits, sent: claim(() => ({ sequence: 0 })) },
  ),
  ...formForEachType("forged", (type) =>
    forged([`a forged ${type}`, `伪造的 ${type}`], "skips_orders", { event: type, signature: wrongDigits }),
  ),
} as const satisfies Readonly<Record<string, Form>>;

/** The forms with other accepted events, of the order and of an order of the other kind; sent if such events exist. */
const acceptedForms = formForEachType("accepted", (type) =>
  genuine([`${type} again, as it was accepted before`, `再次推送曾被接受的 ${type}`], "refuses_orders", {
    accepted: type,
  }),
);

type NameByType<Prefix extends string> = `${Prefix}_${CheckoutObject}_${Status}`;

export type CaseName = keyof typeof forms | keyof typeof orderForms | NameByType<"accepted">;

/** The forms (decisions 50, 67 and 68). */
export const DRILL_CASES: Readonly<Record<CaseName, Form>> = { ...forms, ...orderForms, ...acceptedForms };

/** The name of the step for all forms that were not sent. */
export const NOT_SENT_STEP = "not_sent";

export const WEBHOOK_STEPS = {
  ...DRILL_CASES,
  [NOT_SENT_STEP]: { title: ["the rest of the drill", "演练的其余部分"] },
} satisfies StepTitles;

/** The names of the forms that are always sent, of those that need an order event, and of those of an accepted type. */
export const CASE_NAMES = Object.keys(forms) as readonly CaseName[];
export const ORDER_CASE_NAMES = Object.keys(orderForms) as readonly CaseName[];
export const ACCEPTED_CASE_NAMES = Object.keys(acceptedForms) as readonly NameByType<"accepted">[];

/** The forms that are sent in sequence before all others: their results must not depend on other requests in flight. */
export const FIRST_CASES: ReadonlySet<CaseName> = new Set(
  CASE_NAMES.slice(0, CASE_NAMES.indexOf("forged_on_connection") + 1),
);

/** Whether a drill also sent order events: without them it shows only how `webhook.test` is handled. */
export function hasOrderEvents(steps: readonly Pick<DrillStep, "name">[]): boolean {
  return ORDER_CASE_NAMES.every((name) => steps.some((step) => step.name === name));
}

/** The form with `webhook.test` that a form of an order repeats; undefined for other forms. */
export function twinOf(name: CaseName): CaseName | undefined {
  const twin = name.replace(/^payment_/, "");
  return CASE_NAMES.find((one) => one === twin && one !== name);
}

/** Forms with another time use the accepted event, because no other event would be true (decision 67). */
function forgedPayments(): Readonly<Record<`payment_${(typeof PAYMENT_FORMS)[number]}`, Form>> {
  const rows = PAYMENT_FORMS.map((name) => {
    const one: Form = forms[name];
    const title: Words = [`of an order: ${one.title[0]}`, `订单事件：${one.title[1]}`];
    const event = one.age === undefined ? "payment" : "order";
    return [`payment_${name}`, { ...one, title, event, cause: "skips_orders" }] as const;
  });
  return Object.fromEntries(rows) as ReturnType<typeof forgedPayments>;
}

function formForEachType<Prefix extends string>(
  prefix: Prefix,
  make: (type: CheckoutEvent["type"]) => Form,
): Readonly<Record<NameByType<Prefix>, Form>> {
  const rows = (["order", "checkout_session"] as const).flatMap((object) =>
    STATUSES.map((status) => [`${prefix}_${object}_${status}`, make(`${object}.${status}`)] as const),
  );
  return Object.fromEntries(rows) as Readonly<Record<NameByType<Prefix>, Form>>;
}
