import { gzipSync } from "node:zlib";
import { DEFAULT_HEADER_NAMES } from "../../webhook/signature.ts";
import { STALE_BY_SECONDS } from "../../webhook/delivery-request.ts";
import { isRecord } from "../../json.ts";
import type { Words } from "../../language.ts";
import type { DrillCause } from "./webhook-advice.ts";
import {
  badCase,
  fieldsOf,
  oddCase,
  flipDigits,
  replaceHeaders,
  wrongDigits,
  type DrillCase,
} from "./webhook-case.ts";

const LARGE_BODY_BYTES = 100 * 1024;
const MANY_SIGNATURES = 200;
const LONG_SIGNATURE = 10 * 1024;
const DIGITS = 64;
const EMPTY_SECRET: Words = ["an empty secret", "空密钥"];

type Header = "Content-Type" | "User-Agent" | "Transfer-Encoding";

function badlySigned([text, chinese]: Words): Words {
  return [`badly signed, ${text}`, `签名错误，${chinese}`];
}

/** A badly signed request that a receiver may trust because of how it is sent. */
function carriedCase(title: Words, taken: DrillCause, how: NonNullable<DrillCase["how"]>) {
  return oddCase(badlySigned(title), { taken, signature: wrongDigits, how });
}

function carriedInHeader(title: Words, taken: DrillCause, header: Header, value: string | undefined) {
  return carriedCase(title, taken, (request) => replaceHeaders(request, { [header]: value }));
}

const claimOtherStore = ({ store_id: id }: Event): Event => ({ store_id: changeEnd(String(id)) });
const claimLivemode = ({ data }: Event): Event => ({
  livemode: true,
  data: isRecord(data) && "livemode" in data ? { ...data, livemode: true } : data,
});

/** A badly signed event with false claims about itself. */
function claimingCase(title: Words, change: (event: Event) => Readonly<Record<string, unknown>>) {
  const taken = "skips_by_content";
  return badCase(badlySigned(title), { taken, signature: wrongDigits, sent: (body) => claim(body, change) });
}

/** A badly signed request with another body. */
function otherBodyCase(title: Words, taken: DrillCause, sent: (body: string) => string) {
  return oddCase(badlySigned(title), { taken, signature: wrongDigits, sent });
}

/** Forged requests that differ from a valid one in method, path, headers, body or claims. */
export const REQUEST_FORMS = {
  as_put: carriedCase(["as PUT", "使用 PUT"], "skips_methods", (request) => ({ ...request, method: "PUT" })),
  as_patch: carriedCase(["as PATCH", "使用 PATCH"], "skips_methods", (request) => ({
    ...request,
    method: "PATCH",
  })),
  with_query: carriedCase(["with ?x=1 after the path", "路径后带 ?x=1"], "skips_paths", (request) => ({
    ...request,
    suffix: "?x=1",
  })),
  final_slash: carriedCase(["with a slash after the path", "路径后带斜杠"], "skips_paths", (request) => ({
    ...request,
    suffix: "/",
  })),
  empty_body: otherBodyCase(["with an empty body", "请求体为空"], "skips_odd_bodies", () => ""),
  json_array: otherBodyCase(
    ["as a JSON array", "请求体为 JSON 数组"],
    "skips_odd_bodies",
    (body) => `[${body}]`,
  ),
  body_100_kb: otherBodyCase(["with a body of 100 kB", "请求体 100 kB"], "skips_large", (body) =>
    padBody(body, LARGE_BODY_BYTES),
  ),
  chunked: carriedInHeader(["in chunks", "分块传输"], "skips_encodings", "Transfer-Encoding", "chunked"),
  gzip: carriedCase(["compressed with gzip", "gzip 压缩"], "skips_encodings", (request) =>
    replaceHeaders({ ...request, body: gzipSync(request.body) }, { "Content-Encoding": "gzip" }),
  ),
  no_content_type: carriedInHeader(
    ["without a content type", "没有内容类型"],
    "skips_other_types",
    "Content-Type",
    undefined,
  ),
  ...contentTypes({
    plain_text: "text/plain",
    json_charset: "application/json; charset=utf-8",
    multipart: "multipart/form-data; boundary=x",
    json_suffix: "application/cloudevents+json",
    octet_stream: "application/octet-stream",
  }),
  other_agent: carriedInHeader(
    ["from another User-Agent", "User-Agent 不同"],
    "skips_by_sender",
    "User-Agent",
    "Mozilla/5.0",
  ),
  no_agent: carriedInHeader(
    ["without a User-Agent", "没有 User-Agent"],
    "skips_by_sender",
    "User-Agent",
    undefined,
  ),
  authorization: carriedCase(
    ["with Authorization, Cookie and X-Api-Key", "带 Authorization、Cookie 和 X-Api-Key"],
    "skips_by_sender",
    (request) =>
      replaceHeaders(request, { Authorization: "Bearer 0000", Cookie: "session=0000", "X-Api-Key": "0000" }),
  ),
  forwarded: carriedCase(
    ["with X-Forwarded-For, X-Real-IP and Forwarded", "带 X-Forwarded-For、X-Real-IP 和 Forwarded"],
    "skips_by_sender",
    (request) =>
      replaceHeaders(request, {
        "X-Forwarded-For": "127.0.0.1",
        "X-Real-IP": "127.0.0.1",
        Forwarded: "for=127.0.0.1;proto=https",
      }),
  ),
  unknown_type: claimingCase(["of a type that does not exist", "事件类型不存在"], ({ type }) => ({
    type: `${String(type).split(".")[0] ?? ""}.refunded`,
  })),
  other_family: claimingCase(["of a type in another form", "类型格式不像事件类型"], () => ({
    type: "ping",
  })),
  other_store: claimingCase(["of another store", "属于另一商店"], claimOtherStore),
  live: claimingCase(["with livemode true", "livemode 为 true"], claimLivemode),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** The forms of a forged signature. */
export const SIGNATURE_FORMS = {
  even_digits: badCase(
    ["a signature with every other digit wrong, from the first", "从首位起每隔一位错误的签名"],
    {
      taken: "by_part",
      signature: (right) => right.replace(/(.)(.)/g, (_, one: string, two: string) => flipDigits(one) + two),
    },
  ),
  odd_digits: badCase(
    ["a signature with every other digit wrong, from the second", "从第二位起每隔一位错误的签名"],
    {
      taken: "by_part",
      signature: (right) => right.replace(/(.)(.)/g, (_, one: string, two: string) => one + flipDigits(two)),
    },
  ),
  swapped_digits: badCase(["the right signature with two digits swapped", "正确签名交换两位数字"], {
    taken: "by_part",
    signature: (right) => right.replace(/(.)(?!\1)(.)/, "$2$1"),
  }),
  swapped_bytes: badCase(["the right signature with two bytes swapped", "正确签名交换两个字节"], {
    taken: "compares_unordered",
    signature: (right) => right.replace(/^((?:..)*?)(..)(?!\2)(..)/, "$1$3$2"),
  }),
  reversed_digits: badCase(["the right signature reversed", "正确签名倒序"], {
    taken: "compares_unordered",
    signature: (right) => Array.from(right).toReversed().join(""),
  }),
  sorted_digits: badCase(["the digits of the right signature, sorted", "正确签名的数字排序后"], {
    taken: "compares_unordered",
    signature: (right) => Array.from(right).toSorted().join(""),
  }),
  dots: oddCase([`a signature of ${DIGITS} dots`, `${DIGITS} 个点号作为签名`], {
    taken: "matches_patterns",
    signature: () => ".".repeat(DIGITS),
  }),
  percent: oddCase(["% as the signature", "% 作为签名"], { taken: "matches_patterns", signature: () => "%" }),
  non_hex: oddCase(
    [`a signature of ${DIGITS} letters that are not hex digits`, `${DIGITS} 个非十六进制字母作为签名`],
    {
      taken: "takes_malformed_signature",
      signature: () => "z".repeat(DIGITS),
    },
  ),
  many_signatures: oddCase([`${MANY_SIGNATURES} wrong signatures`, `${MANY_SIGNATURES} 个错误签名`], {
    taken: "takes_malformed_signature",
    signature: (right) =>
      Array.from({ length: MANY_SIGNATURES }, (_, at) => wrongDigits(`${right}${at}`)).join(),
  }),
  long_signature: oddCase(["a signature of 10 kB", "10 kB 的签名"], {
    taken: "takes_malformed_signature",
    signature: (right) => wrongDigits(right).repeat(LONG_SIGNATURE / DIGITS),
  }),
  doubled_signature: oddCase(["two lines with wrong signatures", "两行错误签名"], {
    taken: "reads_doubled_headers",
    signature: wrongDigits,
    how: (request) => {
      const { [DEFAULT_HEADER_NAMES.signature]: once = "" } = request.headers;
      return { ...request, lines: { [DEFAULT_HEADER_NAMES.signature]: [once, wrongDigits(once)] } };
    },
  }),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** Cases that are signed with guessable secrets: printed forms of an unset variable, defaults, and well-known texts. */
export const GUESSED_SECRETS = {
  secret_undefined: guessedSecretCase(["the text undefined", "文本 undefined"], () => "undefined"),
  secret_null: guessedSecretCase(["the text null", "文本 null"], () => "null"),
  secret_none: guessedSecretCase(["the text None", "文本 None"], () => "None"),
  secret_changeme: guessedSecretCase(["the text changeme", "文本 changeme"], () => "changeme"),
  secret_test: guessedSecretCase(["the text test", "文本 test"], () => "test"),
  secret_promise: guessedSecretCase(
    ["the text [object Promise]", "文本 [object Promise]"],
    () => "[object Promise]",
  ),
  secret_prefix: guessedSecretCase(["the text whsec_", "文本 whsec_"], () => "whsec_"),
  secret_url: guessedSecretCase(["the URL of the endpoint", "接收端的 URL"], ({ url }) => url),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** Events with a field that may select another secret, signed as if that secret were not set. */
export const CLAIMED_SECRETS = {
  live_empty: unsetSecretCase(["livemode true", "livemode 为 true"], claimLivemode, ""),
  live_undefined: unsetSecretCase(["livemode true", "livemode 为 true"], claimLivemode, "undefined"),
  other_store_none: unsetSecretCase(["another store", "属于另一商店"], claimOtherStore, "None"),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** Invalid timestamps, correctly signed, and pairs of an old and a new timestamp. */
export const TIMESTAMP_FORMS = {
  timestamp_word: invalidTimestampCase(
    ["soon as the timestamp, correctly signed", "时间戳为 soon，签名正确"],
    "soon",
  ),
  timestamp_undefined: oddCase(
    ["no timestamp, and undefined in the signed text", "没有时间戳，签名内容为 undefined"],
    {
      taken: "takes_malformed_timestamp",
      timestamp: "undefined",
      without: ["timestamp"],
    },
  ),
  timestamp_old_and_new: twoTimestampsCase(
    ["signed an hour ago, followed by a second timestamp of now", "一小时前签名，其后另有当前时间戳"],
    (old, now) => [old, now],
  ),
  timestamp_new_and_old: twoTimestampsCase(
    ["signed an hour ago, preceded by a second timestamp of now", "一小时前签名，其前另有当前时间戳"],
    (old, now) => [now, old],
  ),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** Forged requests that reuse the event or the signature of an accepted request. */
export const REUSED_PARTS = {
  known_event: badCase(["the first event again, badly signed", "再次推送第一个事件，签名错误"], {
    taken: "known_before_check",
    event: "first",
    signature: wrongDigits,
  }),
  reused_signature: badCase(
    ["another event with the signature of the first", "另一事件沿用第一个事件的签名"],
    {
      taken: "remembers_signature",
      reused: true,
    },
  ),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** A badly signed payment of an order that does not exist. */
export const UNKNOWN_ORDER_CASE = badCase(
  ["a forged payment of an order that does not exist", "伪造的支付，订单不存在"],
  {
    taken: "skips_orders",
    event: "payment",
    signature: wrongDigits,
    sent: (body) => {
      const { data } = JSON.parse(body) as {
        readonly data: { readonly id: string; readonly order_id: string };
      };
      const { id, order_id: orderId } = data;
      return body
        .replaceAll(id, changeEnd(id))
        .replaceAll(JSON.stringify(orderId), JSON.stringify(changeEnd(orderId)));
    },
  },
);

/** An event with an invalid signature that claims to be older than an accepted event. */
export const OLDER_EVENT_CASE = badCase(
  ["a forged payment that claims to be older than the accepted event", "伪造的支付，自称早于已接受的事件"],
  {
    taken: "skips_orders",
    event: "payment",
    signature: wrongDigits,
    sent: (body) => claim(body, () => ({ sequence: 0 })),
  },
);

function contentTypes<Name extends string>(types: Readonly<Record<Name, string>>) {
  const rows = Object.entries<string>(types).map(([name, type]) => [
    name,
    carriedInHeader([`as ${type}`, `内容类型为 ${type}`], "skips_other_types", "Content-Type", type),
  ]);
  return Object.fromEntries(rows) as Readonly<Record<Name, ReturnType<typeof carriedInHeader>>>;
}

function guessedSecretCase(what: Words, secret: Exclude<DrillCase["secret"], "another" | undefined>) {
  return badCase([`signed with ${what[0]}`, `用${what[1]}签名`], { taken: "takes_guessed_secret", secret });
}

/** An event with a changed field, signed with a guessable secret. */
function unsetSecretCase(claimed: Words, change: (event: Event) => Event, secret: string) {
  const [by, byChinese] = secret === "" ? EMPTY_SECRET : [`the text ${secret}`, `文本 ${secret}`];
  const title = [`with ${claimed[0]}, signed with ${by}`, `${claimed[1]}，用${byChinese}签名`] as const;
  const signed = (body: string): string => claim(body, change);
  return badCase(title, { taken: "chooses_secret", signed, secret: () => secret });
}

function invalidTimestampCase(title: Words, timestamp: string) {
  return oddCase(title, { taken: "takes_malformed_timestamp", timestamp });
}

function twoTimestampsCase(title: Words, order: (old: string, now: string) => readonly string[]) {
  return oddCase(title, {
    taken: "reads_doubled_headers",
    age: STALE_BY_SECONDS,
    how: (request, now) => {
      const { [DEFAULT_HEADER_NAMES.timestamp]: old = "" } = request.headers;
      return { ...request, lines: { [DEFAULT_HEADER_NAMES.timestamp]: order(old, now) } };
    },
  });
}

type Event = Readonly<Record<string, unknown>>;

function claim(body: string, change: (event: Event) => Event): string {
  const event = Object.fromEntries(fieldsOf(body));
  return JSON.stringify({ ...event, ...change(event) });
}

function padBody(body: string, bytes: number): string {
  return claim(body, () => ({ note: "x".repeat(Math.max(0, bytes - body.length)) }));
}

/** Another id: with other last digits or, if it has no digits, with its last two characters swapped and an x added. */
function changeEnd(id: string): string {
  const changed = id.replace(/\d+(?=\D*$)/, (digits) => flipDigits(digits, 10));
  return changed === id ? `${id.slice(0, -2)}${Array.from(id.slice(-2)).toReversed().join("")}x` : changed;
}
