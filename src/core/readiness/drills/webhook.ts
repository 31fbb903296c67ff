import { STATUSES, type CheckoutObject, type Status } from "../../checkout/checkout.ts";
import type { CheckoutEvent } from "../../checkout/event.ts";
import type { Words } from "../../language.ts";
import type { DrillStep } from "../drill-shapes.ts";
import {
  changeOrderAndCheckoutId,
  changeEventFields,
  forgedForm,
  genuineForm,
  wrongDigits,
  type CaseForm,
  type Mutations,
} from "./webhook-case.ts";
import {
  badlySignedTitle,
  CORRECT_DIGIT_COUNTS,
  SIGNATURE_LENGTH,
  WRONG_SIGNATURE_COUNT,
  SHORT_SIGNATURE_LENGTH,
  TEST_FORMS,
} from "./webhook-forms.ts";

type TestFormName = keyof typeof TEST_FORMS;

type UntitledFormName = {
  [Name in TestFormName]: (typeof TEST_FORMS)[Name] extends { readonly title: Words } ? never : Name;
}[TestFormName];

const TITLES: Readonly<Record<UntitledFormName | "order_event" | "unknown_order" | "older_event", Words>> = {
  good_event: ["a valid event", "有效事件"],
  duplicate: ["the same event again, with a new signature", "同一事件再次推送，重新签名"],
  spaced_body: ["a valid event with spaces in its JSON", "有效事件，JSON 中带空格"],
  unusual_bytes: ["a valid event with escapes and tabs in its JSON", "有效事件，JSON 含转义和制表符"],
  bad_signature: ["a signature made without a secret", "未用密钥生成的签名"],
  wrong_secret: ["signed with another secret", "用另一个密钥签名"],
  changed_byte: ["one byte of the body changed", "请求体改动一个字节"],
  fresh_forgery: ["a wrong signature, over a new connection", "签名错误，使用新连接"],
  good_on_connection: ["a valid event before a forged one", "伪造事件之前的有效事件"],
  forged_on_connection: [
    "a wrong signature, over the connection of a valid event",
    "签名错误，沿用有效事件的连接",
  ],
  rewritten_body: ["the same JSON with other white space", "同样的 JSON，空白不同"],
  short_signature: [
    `a signature that ends after ${SHORT_SIGNATURE_LENGTH} right digits`,
    `只有 ${SHORT_SIGNATURE_LENGTH} 位（均正确）的签名`,
  ],
  no_signature: ["no signature", "没有签名"],
  no_event: ["a body that is not JSON, with a wrong signature", "请求体不是 JSON，签名错误"],
  hour_old: ["signed an hour ago", "签名时间为一小时前"],
  hour_ahead: ["signed one hour in the future", "签名时间超前一小时"],
  known_hour_old: ["the first event again, signed an hour ago", "再次推送第一个事件，签名时间为一小时前"],
  minute_old: ["signed a minute ago", "签名时间为一分钟前"],
  minute_ahead: ["signed one minute in the future", "签名时间超前一分钟"],
  within_tolerance_old: ["signed 4 min 50 s ago", "签名时间为 4 分 50 秒前"],
  within_tolerance_ahead: ["signed 4 min 50 s in the future", "签名时间超前 4 分 50 秒"],
  beyond_tolerance_old: ["signed 5 min 30 s ago", "签名时间为 5 分 30 秒前"],
  beyond_tolerance_ahead: ["signed 5 min 30 s in the future", "签名时间超前 5 分 30 秒"],
  ten_minutes_old: ["signed 10 minutes ago", "签名时间为 10 分钟前"],
  ten_minutes_ahead: ["signed 10 minutes in the future", "签名时间超前 10 分钟"],
  no_timestamp: ["no timestamp", "没有时间戳"],
  empty_signature: ["an empty signature", "空签名"],
  empty_secret: ["signed with an empty secret", "用空密钥签名"],
  first_digit: ["a signature whose first digit is wrong", "首位字符有误的签名"],
  last_digit: ["a signature whose last digit is wrong", "末位字符有误的签名"],
  right_ends: [
    `a signature whose first ${CORRECT_DIGIT_COUNTS.first} and last ${CORRECT_DIGIT_COUNTS.last} digits are right`,
    `前 ${CORRECT_DIGIT_COUNTS.first} 位和后 ${CORRECT_DIGIT_COUNTS.last} 位正确的签名`,
  ],
  second_of_three: ["the right signature, second of three", "三个签名中第二个正确"],
  third_of_three: ["the right signature, last of three", "三个签名中最后一个正确"],
  other_event_id: [
    "the first event again, with another id in its header",
    "再次推送第一个事件，请求头中的事件 ID 不同",
  ],
  no_event_id: ["no event id, and a wrong signature", "没有事件 ID，签名错误"],
  no_headers: [
    "no Checkout-… headers, like a plain curl request",
    "不带 Checkout-… 请求头，如同直接用 curl 发送",
  ],
  no_headers_form: [
    "no Checkout-… headers, like a form sent with curl -d",
    "不带 Checkout-… 请求头，如同用 curl -d 发送的表单",
  ],
  in_parts: ["a valid event whose body arrives in two parts", "有效事件，请求体分两段到达"],
  unusual_in_parts: [
    "a valid event with escapes and tabs, cut within a character",
    "JSON 含转义和制表符的有效事件，在一个字符中间断开",
  ],
  lower_case: ["a valid event with header names in lower case", "有效事件，请求头名称全小写"],
  upper_case: ["a valid event with header names in capitals", "有效事件，请求头名称全大写"],
  extra_headers: ["a valid event with unknown headers", "有效事件，带未知的请求头"],
  good_in_chunks: ["a valid event sent in chunks", "有效事件，分块传输"],
  as_put: badlySignedTitle(["sent as PUT", "使用 PUT"]),
  as_patch: badlySignedTitle(["sent as PATCH", "使用 PATCH"]),
  with_query: badlySignedTitle(["with ?x=1 after the path", "路径后带 ?x=1"]),
  final_slash: badlySignedTitle(["with a slash after the path", "路径后带斜杠"]),
  empty_body: badlySignedTitle(["with an empty body", "请求体为空"]),
  json_array: badlySignedTitle(["with a JSON array as its body", "请求体为 JSON 数组"]),
  body_100_kb: badlySignedTitle(["with a body of 100 kB", "请求体 100 kB"]),
  chunked: badlySignedTitle(["sent in chunks", "分块传输"]),
  gzip: badlySignedTitle(["compressed with gzip", "gzip 压缩"]),
  other_agent: badlySignedTitle(["from another User-Agent", "User-Agent 不同"]),
  no_agent: badlySignedTitle(["without a User-Agent", "没有 User-Agent"]),
  authorization: badlySignedTitle([
    "with Authorization, Cookie and X-Api-Key",
    "带 Authorization、Cookie 和 X-Api-Key",
  ]),
  even_digits: ["a signature with every other digit wrong, from the first", "从首位起每隔一位错误的签名"],
  odd_digits: ["a signature with every other digit wrong, from the second", "从第二位起每隔一位错误的签名"],
  swapped_digits: ["the right signature with two digits swapped", "正确签名，但两位数字互换"],
  swapped_bytes: ["the right signature with two bytes swapped", "正确签名，但两个字节互换"],
  reversed_digits: ["the right signature reversed", "正确签名，但顺序颠倒"],
  sorted_digits: ["the digits of the right signature, sorted", "正确签名，但数字经过排序"],
  dots: [`a signature of ${SIGNATURE_LENGTH} dots`, `${SIGNATURE_LENGTH} 个点号作为签名`],
  percent: ["% as the signature", "% 作为签名"],
  non_hex: [
    `a signature of ${SIGNATURE_LENGTH} letters that are not hex digits`,
    `${SIGNATURE_LENGTH} 个非十六进制字母作为签名`,
  ],
  many_signatures: [`${WRONG_SIGNATURE_COUNT} wrong signatures`, `${WRONG_SIGNATURE_COUNT} 个错误签名`],
  long_signature: ["a signature of 10 kB", "10 kB 的签名"],
  doubled_signature: ["two lines with wrong signatures", "两行签名请求头，签名均错误"],
  secret_url: ["signed with the URL of the endpoint as the secret", "以接收端的 URL 为密钥签名"],
  secrets_known: [
    "signed with the header name, the event_id and the store_id as the secrets",
    "分别以请求头名称、event_id 和 store_id 为密钥签名",
  ],
  live_empty: ["with livemode true, signed with an empty secret", "livemode 为 true，用空密钥签名"],
  timestamp_word: ["the word soon as the timestamp, correctly signed", "时间戳为 soon，签名正确"],
  timestamp_undefined: [
    "no timestamp header, signed with the word undefined as the timestamp",
    "没有时间戳请求头，签名时以 undefined 作为时间戳",
  ],
  timestamp_old_and_new: [
    "signed an hour ago, followed by a second, current timestamp",
    "签名时间为一小时前，其后另有当前时间戳",
  ],
  timestamp_new_and_old: [
    "signed an hour ago, preceded by a second, current timestamp",
    "签名时间为一小时前，其前另有当前时间戳",
  ],
  known_event: ["the first event again, with a wrong signature", "再次推送第一个事件，签名错误"],
  reused_signature: ["another event with the signature of the first", "另一事件沿用第一个事件的签名"],
  made_hour_ago: ["a valid event from an hour ago, signed now", "一小时前的有效事件，现在签名"],
  forged_in_the_end: [
    "a signature made without a secret, after all other requests",
    "在所有其他请求之后发送，签名未用密钥生成",
  ],
  good_at_the_end: ["a valid event after all other requests", "在所有其他请求之后发送的有效事件"],
  order_event: ["an accepted event of an order, sent again", "再次推送曾被接受的订单事件"],
  unknown_order: ["a forged payment for an order that does not exist", "伪造的支付，订单不存在"],
  older_event: [
    "a forged payment that claims to be older than the accepted event",
    "伪造的支付，声称早于已接受的事件",
  ],
};

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
] as const satisfies readonly TestFormName[];

const FORGED_PAYMENT: Mutations = { event: "payment", signature: wrongDigits };

const ORDER_FORMS = {
  order_event: genuineForm("refuses_orders", { event: "order" }),
  ...forgedPayments(),
  unknown_order: forgedForm("skips_orders", { ...FORGED_PAYMENT, changeBody: changeOrderAndCheckoutId }),
  older_event: forgedForm("skips_orders", {
    ...FORGED_PAYMENT,
    changeBody: changeEventFields(() => ({ sequence: 0 })),
  }),
  ...formsByType("forged", (type) => forgedForm("skips_orders", { event: type, signature: wrongDigits })),
} as const;

const ACCEPTED_FORMS = formsByType("accepted", (type) =>
  genuineForm("refuses_orders", { acceptedType: type }),
);

type NameByType<Prefix extends string> = `${Prefix}_${CheckoutObject}_${Status}`;

export type CaseName = TestFormName | keyof typeof ORDER_FORMS | NameByType<"accepted">;

export const DRILL_CASES: Readonly<Record<CaseName, CaseForm>> = {
  ...TEST_FORMS,
  ...ORDER_FORMS,
  ...ACCEPTED_FORMS,
};

export const CASE_NAMES: readonly CaseName[] = Object.keys(TEST_FORMS) as readonly TestFormName[];
export const ORDER_CASE_NAMES = Object.keys(ORDER_FORMS) as readonly CaseName[];
export const ACCEPTED_CASE_NAMES = Object.keys(ACCEPTED_FORMS) as readonly NameByType<"accepted">[];

/** Sent in sequence before all others: their results must not depend on other requests in flight. */
export const FIRST_CASES: ReadonlySet<CaseName> = new Set(
  CASE_NAMES.slice(0, CASE_NAMES.indexOf("forged_on_connection") + 1),
);

/** Without order events, a drill shows only how `webhook.test` is handled. */
export function hasOrderEvents(steps: readonly Pick<DrillStep, "name">[]): boolean {
  return ORDER_CASE_NAMES.every((name) => steps.some((step) => step.name === name));
}

export function testFormOf(name: CaseName): TestFormName | undefined {
  const testForm = name.replace(/^payment_/, "");
  return testForm !== name && testForm in TEST_FORMS ? (testForm as TestFormName) : undefined;
}

/** A new payment with a valid signature would be false, so forms with another time repeat an event (decision 67). */
function forgedPayments(): Readonly<Record<`payment_${(typeof PAYMENT_FORMS)[number]}`, CaseForm>> {
  const rows = PAYMENT_FORMS.map((name) => {
    const event = TEST_FORMS[name].age === undefined ? "payment" : "order";
    return [`payment_${name}`, { ...TEST_FORMS[name], event, cause: "skips_orders" }] as const;
  });
  return Object.fromEntries(rows) as ReturnType<typeof forgedPayments>;
}

function formsByType<Prefix extends string>(
  prefix: Prefix,
  createForm: (type: CheckoutEvent["type"]) => CaseForm,
): Readonly<Record<NameByType<Prefix>, CaseForm>> {
  const rows = (["order", "checkout_session"] as const).flatMap((object) =>
    STATUSES.map((status) => [`${prefix}_${object}_${status}`, createForm(`${object}.${status}`)] as const),
  );
  return Object.fromEntries(rows) as Readonly<Record<NameByType<Prefix>, CaseForm>>;
}

export const NOT_SENT_STEP = "not_sent";

export const WEBHOOK_STEP_TITLES: Readonly<Record<string, { readonly title: Words }>> = {
  ...Object.fromEntries(
    (Object.keys(DRILL_CASES) as readonly CaseName[]).map((name) => [name, { title: titleOf(name) }]),
  ),
  [NOT_SENT_STEP]: { title: ["the rest of the drill", "演练的其余部分"] },
};

function titleOf(name: CaseName): Words {
  const { event = "", acceptedType, title } = DRILL_CASES[name];
  if (acceptedType !== undefined)
    return [`an accepted ${acceptedType}, sent again`, `再次推送曾被接受的 ${acceptedType}`];
  const testForm = testFormOf(name);
  if (testForm !== undefined)
    return [`order event: ${titleOf(testForm)[0]}`, `订单事件：${titleOf(testForm)[1]}`];
  const titles: Readonly<Partial<Record<CaseName, Words>>> = TITLES;
  return title ?? titles[name] ?? [`a forged ${event}`, `伪造的 ${event}`];
}
