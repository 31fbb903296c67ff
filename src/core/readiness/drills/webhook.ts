import type { ConnectionFault } from "../../network/connection-fault.ts";
import { toIso } from "../../clock.ts";
import { STATUSES, type CheckoutObject, type Status } from "../../checkout/checkout.ts";
import type { CheckoutEvent } from "../../checkout/event.ts";
import { STALE_BY_SECONDS } from "../../webhook/delivery-request.ts";
import { english } from "../../language.ts";
import { excerpt } from "../../text.ts";
import { QUOTING_RESULTS } from "../drill-sentences.ts";
import type { DeliveryError } from "../../webhook/delivery.ts";
import { DEFAULT_TOLERANCE_SECONDS } from "../../webhook/signature.ts";
import type { StepTitles } from "./drill.ts";
import {
  badCase,
  fieldsOf,
  goodCase,
  oddCase,
  unspecifiedCase,
  flipDigits,
  replaceHeaders,
  wrongDigits,
  type DrillCase,
  type DrillRequest,
} from "./webhook-case.ts";
import {
  REQUEST_FORMS,
  CLAIMED_SECRETS,
  GUESSED_SECRETS,
  OLDER_EVENT_CASE,
  REUSED_PARTS,
  SIGNATURE_FORMS,
  TIMESTAMP_FORMS,
  UNKNOWN_ORDER_CASE,
} from "./webhook-forgeries.ts";
import type { DrillStep } from "../drill-shapes.ts";

/** Number of correct digits in a signature with a correct beginning: half of them. */
const RIGHT_DIGITS = 32;
/** Number of correct digits at both ends of a signature with a wrong middle. */
const RIGHT_ENDS = { first: 40, last: 8 } as const;

/** A difference between timestamp and clock that every receiver must accept, in seconds. */
const MINUTE = 60;
/** A difference between timestamp and clock that every receiver must refuse, in seconds. */
const TEN_MINUTES = 600;
/** Slightly less than the tolerance of decision 12, in seconds. The interface states no tolerance. */
const WITHIN_TOLERANCE = DEFAULT_TOLERANCE_SECONDS - 10;
const BEYOND_TOLERANCE = DEFAULT_TOLERANCE_SECONDS + 30;

const cases = {
  good_event: goodCase(["a good event", "有效事件"], "fails_after_check"),
  duplicate: goodCase(
    ["the same event again, with a new signature", "同一事件再次推送，重新签名"],
    "rejects_duplicates",
    {
      event: "first",
    },
  ),
  spaced_body: goodCase(
    ["a good event with spaces between its tokens", "有效事件，JSON 中带空格"],
    "by_bytes",
    {
      signed: addSpaces,
    },
  ),
  unusual_bytes: goodCase(["a good event in unusual bytes", "有效事件，字节写法少见"], "by_bytes", {
    signed: writeUnusually,
  }),
  bad_signature: badCase(["a signature made without a secret", "不由任何密钥生成的签名"], {
    taken: "verifies_sometimes",
    signature: wrongDigits,
  }),
  wrong_secret: badCase(["signed with another secret", "用另一个密钥签名"], {
    taken: "old_secret",
    secret: "another",
  }),
  changed_byte: badCase(["one byte of the body changed", "请求体改动一个字节"], {
    taken: "body_not_covered",
    sent: changeDigit,
  }),
  fresh_forgery: badCase(["badly signed, over a new connection", "签名错误，使用新连接"], {
    taken: "verifies_sometimes",
    signature: wrongDigits,
    connection: "fresh",
  }),
  good_on_connection: goodCase(
    ["a good event before a forged one", "伪造事件之前的有效事件"],
    "verifies_sometimes",
  ),
  forged_on_connection: badCase(
    ["badly signed, over the connection of a good event", "签名错误，沿用有效事件的连接"],
    {
      taken: "once_a_connection",
      signature: wrongDigits,
    },
  ),
  rewritten_body: badCase(["the same JSON with other white space", "同样的 JSON，空白不同"], {
    taken: "parsed_body",
    sent: indentBody,
  }),
  right_beginning: badCase(
    [`a signature whose first ${RIGHT_DIGITS} digits are right`, `前 ${RIGHT_DIGITS} 位正确的签名`],
    {
      taken: "by_part",
      signature: (right) => right.slice(0, RIGHT_DIGITS) + flipDigits(right.slice(RIGHT_DIGITS)),
    },
  ),
  short_signature: badCase(
    [`a signature that ends after ${RIGHT_DIGITS} right digits`, `只有 ${RIGHT_DIGITS} 位（均正确）的签名`],
    {
      taken: "compares_what_came",
      signature: (right) => right.slice(0, RIGHT_DIGITS),
    },
  ),
  no_signature: badCase(["no signature", "没有签名"], { without: ["signature"] }),
  no_event: badCase(["a body that is not JSON, badly signed", "请求体不是 JSON，签名错误"], {
    taken: "skips_odd_bodies",
    signed: () => "this is no event",
    signature: wrongDigits,
  }),
  hour_old: badCase(["signed an hour ago", "一小时前签名"], { age: STALE_BY_SECONDS }),
  hour_ahead: badCase(["signed an hour ahead", "签名时间超前一小时"], { age: -STALE_BY_SECONDS }),
  known_hour_old: unspecifiedCase(
    ["the first event again, signed an hour ago", "再次推送第一个事件，一小时前签名"],
    {
      notes: { taken: "dedups_before_age" },
      event: "first",
      age: STALE_BY_SECONDS,
    },
  ),
  minute_old: goodCase(["signed a minute ago", "一分钟前签名"], "narrow_tolerance", { age: MINUTE }),
  minute_ahead: goodCase(["signed a minute ahead", "签名时间超前一分钟"], "narrow_tolerance", {
    age: -MINUTE,
  }),
  within_tolerance_old: unspecifiedCase(["signed 4 min 50 s ago", "4 分 50 秒前签名"], {
    notes: { refused: "strict_tolerance" },
    age: WITHIN_TOLERANCE,
  }),
  within_tolerance_ahead: unspecifiedCase(["signed 4 min 50 s ahead", "签名时间超前 4 分 50 秒"], {
    notes: { refused: "strict_tolerance" },
    age: -WITHIN_TOLERANCE,
  }),
  beyond_tolerance_old: unspecifiedCase(["signed 5 min 30 s ago", "5 分 30 秒前签名"], {
    notes: { taken: "lenient_tolerance" },
    age: BEYOND_TOLERANCE,
  }),
  beyond_tolerance_ahead: unspecifiedCase(["signed 5 min 30 s ahead", "签名时间超前 5 分 30 秒"], {
    notes: { taken: "lenient_tolerance" },
    age: -BEYOND_TOLERANCE,
  }),
  ten_minutes_old: badCase(["signed 10 minutes ago", "10 分钟前签名"], { age: TEN_MINUTES }),
  ten_minutes_ahead: badCase(["signed 10 minutes ahead", "签名时间超前 10 分钟"], { age: -TEN_MINUTES }),
  no_timestamp: badCase(["no timestamp", "没有时间戳"], { without: ["timestamp"] }),
  empty_signature: badCase(["an empty signature", "空签名"], {
    taken: "takes_empty_signature",
    signature: () => "",
  }),
  empty_secret: badCase(["signed with an empty secret", "用空密钥签名"], {
    taken: "takes_empty_secret",
    secret: () => "",
  }),
  first_digit: badCase(["a signature whose first digit is wrong", "首位错误的签名"], {
    taken: "by_part",
    signature: (right) => flipDigits(right.slice(0, 1)) + right.slice(1),
  }),
  last_digit: badCase(["a signature whose last digit is wrong", "末位错误的签名"], {
    taken: "by_part",
    signature: (right) => right.slice(0, -1) + flipDigits(right.slice(-1)),
  }),
  right_ends: badCase(
    [
      `a signature whose first ${RIGHT_ENDS.first} and last ${RIGHT_ENDS.last} digits are right`,
      `前 ${RIGHT_ENDS.first} 位和后 ${RIGHT_ENDS.last} 位正确的签名`,
    ],
    { taken: "by_part", signature: changeMiddle },
  ),
  second_of_three: goodCase(
    ["the right signature, second of three", "三个签名中第二个正确"],
    "one_signature",
    {
      signature: placeSignature(1),
    },
  ),
  third_of_three: goodCase(
    ["the right signature, last of three", "三个签名中最后一个正确"],
    "one_signature",
    {
      signature: placeSignature(2),
    },
  ),
  other_event_id: unspecifiedCase(
    ["the first event again, with another id in its header", "再次推送第一个事件，请求头中的 id 不同"],
    {
      taken: "believes_header",
      notes: { taken: "ignores_event_id" },
      event: "first",
      otherEventId: true,
    },
  ),
  no_event_id: badCase(["no event id, badly signed", "没有事件 id，签名错误"], {
    without: ["eventId"],
    signature: wrongDigits,
  }),
  no_headers: badCase(["no Checkout header, as curl sends it", "没有 Checkout 请求头，如 curl 所发"], {
    without: ["eventId", "timestamp", "signature"],
    how: sendAsCurl,
  }),
  no_headers_form: oddCase(
    ["no Checkout header, as curl -d sends it: as a form", "没有 Checkout 请求头，如 curl -d 所发的表单"],
    {
      without: ["eventId", "timestamp", "signature"],
      how: (request) =>
        replaceHeaders(sendAsCurl(request), { "Content-Type": "application/x-www-form-urlencoded" }),
    },
  ),
  ...REQUEST_FORMS,
  ...SIGNATURE_FORMS,
  ...GUESSED_SECRETS,
  ...CLAIMED_SECRETS,
  ...TIMESTAMP_FORMS,
  ...REUSED_PARTS,
  made_hour_ago: goodCase(
    ["a good event from an hour ago, signed now", "一小时前的有效事件，现在签名"],
    "reads_created_at",
    { signed: backdateEvent },
  ),
  forged_in_the_end: badCase(
    ["a signature made without a secret, after all other requests", "在上述请求之后，不由任何密钥生成的签名"],
    {
      taken: "verifies_sometimes",
      signature: wrongDigits,
    },
  ),
  good_at_the_end: goodCase(
    ["a good event after all other requests", "在上述请求之后的有效事件"],
    "shuts_out",
  ),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** The cases that are also sent with an event of an order: one of each kind of mistake. */
const PAYMENT_CASES = [
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
] as const satisfies readonly (keyof typeof cases)[];

/** The cases about an order, sent only with the merchant's consent. */
const orderCases = {
  order_event: goodCase(
    ["an event of an order again, as it was accepted before", "再次推送曾被接受的订单事件"],
    "refuses_orders",
    {
      event: "order",
    },
  ),
  ...forgedPayments(),
  unknown_order: UNKNOWN_ORDER_CASE,
  older_event: OLDER_EVENT_CASE,
  ...forgedOrders(),
} as const satisfies Readonly<Record<string, DrillCase>>;

/** The cases with other accepted events, of the order and of an order of the other kind; sent if such events exist. */
const acceptedCases: Readonly<Record<AcceptedName, DrillCase>> = caseForEachType("accepted", (type) =>
  goodCase([`${type} again, as it was accepted before`, `再次推送曾被接受的 ${type}`], "refuses_orders", {
    accepted: type,
  }),
);

type PaymentName = `payment_${(typeof PAYMENT_CASES)[number]}`;
type NameByType<Prefix extends string> = `${Prefix}_${CheckoutObject}_${Status}`;
type ForgedName = NameByType<"forged">;
type AcceptedName = NameByType<"accepted">;

/** The name of a case. */
export type CaseName = keyof typeof cases | keyof typeof orderCases | AcceptedName;

/** The cases of the webhook drill (decisions 50, 67 and 68). */
export const DRILL_CASES: Readonly<Record<CaseName, DrillCase>> = {
  ...cases,
  ...orderCases,
  ...acceptedCases,
};

/** The name of the step for all cases that were not sent. */
export const NOT_SENT_STEP = "not_sent";

/** The titles of the steps. */
export const WEBHOOK_STEPS = {
  ...DRILL_CASES,
  [NOT_SENT_STEP]: { title: ["the rest of the drill", "演练的其余部分"] },
} satisfies StepTitles;

/** The names of all cases that are always sent, in the order in which they start. */
export const CASE_NAMES = Object.keys(cases) as readonly CaseName[];

/** The names of the cases that need an order event, in the order in which they start. */
export const ORDER_CASE_NAMES = Object.keys(orderCases) as readonly CaseName[];

/** The names of the cases that need an accepted event of a type. */
export const ACCEPTED_CASE_NAMES = Object.keys(acceptedCases) as readonly AcceptedName[];

/** The cases that are sent in sequence before all others: their results must not depend on other requests in flight. */
export const FIRST_CASES: ReadonlySet<CaseName> = new Set(
  CASE_NAMES.slice(0, CASE_NAMES.indexOf("forged_on_connection") + 1),
);

/** Whether a drill also sent order events: without them it shows only how `webhook.test` is handled. */
export function hasOrderEvents(steps: readonly Pick<DrillStep, "name">[]): boolean {
  return ORDER_CASE_NAMES.every((name) => steps.some((step) => step.name === name));
}

/** The result of one case: the receiver's answer, or why there is none. */
export type CaseResult = {
  readonly name: CaseName;
  readonly eventId: string;
  readonly milliseconds: number;
  /** Whether the request was resent because the receiver limits the rate. */
  readonly limited?: true;
  readonly answer:
    | { readonly status: number; readonly body: string }
    | {
        readonly error: DeliveryError;
        readonly message: string;
        /** What was observed; undefined if the network gives no code. `elsewhere`: the other loopback address answers. */
        readonly fault?: ConnectionFault | "elsewhere" | undefined;
      };
};

/** The result of a case, in English. */
export function caseResultText({ answer, milliseconds }: CaseResult): string {
  const ms = `${milliseconds}`;
  if ("error" in answer) return english(QUOTING_RESULTS.afterWith(answer.error, ms, excerpt(answer.message)));
  const { status, body } = answer;
  const isTold = body !== "" && status >= 300;
  return english(
    isTold
      ? QUOTING_RESULTS.afterWith(`${status}`, ms, excerpt(body))
      : QUOTING_RESULTS.after(`${status}`, ms),
  );
}

/**
 * The cases that a receiver can treat otherwise for an order, with the payment of an order instead of `webhook.test`.
 * Cases that are correctly signed with another time use the event that was already accepted, because no other event of
 * the order would be true (decision 67).
 */
function forgedPayments(): Readonly<Record<PaymentName, DrillCase>> {
  const rows = PAYMENT_CASES.map((name): [PaymentName, DrillCase] => {
    const one: DrillCase = cases[name];
    const event = one.age === undefined ? "payment" : "order";
    const title = [`of an order: ${one.title[0]}`, `订单事件：${one.title[1]}`] as const;
    return [`payment_${name}`, { ...one, title, event, taken: "skips_orders" }];
  });
  return Object.fromEntries(rows) as Record<PaymentName, DrillCase>;
}

/** The case with `webhook.test` that a case of an order repeats; undefined for other cases. */
export function twinOf(name: CaseName): CaseName | undefined {
  const twin = name.replace(/^payment_/, "");
  return CASE_NAMES.find((one) => one === twin && one !== name);
}

/** A badly signed event of each type. */
function forgedOrders(): Readonly<Record<ForgedName, DrillCase>> {
  return caseForEachType("forged", (type) =>
    badCase([`a forged ${type}`, `伪造的 ${type}`], {
      taken: "skips_orders",
      event: type,
      signature: wrongDigits,
    }),
  );
}

/** A case for each type of order event. */
function caseForEachType<Prefix extends string>(
  prefix: Prefix,
  make: (type: CheckoutEvent["type"]) => DrillCase,
): Readonly<Record<NameByType<Prefix>, DrillCase>> {
  const rows = (["order", "checkout_session"] as const).flatMap((object) =>
    STATUSES.map((status): [NameByType<Prefix>, DrillCase] => [
      `${prefix}_${object}_${status}`,
      make(`${object}.${status}`),
    ]),
  );
  return Object.fromEntries(rows) as Record<NameByType<Prefix>, DrillCase>;
}

/** A request with the User-Agent and Accept headers of curl. */
function sendAsCurl(request: DrillRequest): DrillRequest {
  return replaceHeaders(request, { "User-Agent": "curl/8.5.0", Accept: "*/*" });
}

function changeMiddle(right: string): string {
  const { first, last } = RIGHT_ENDS;
  return right.slice(0, first) + flipDigits(right.slice(first, -last)) + right.slice(-last);
}

/** The correct signature at one of three positions, as during a rotation of secrets (decision 12). */
function placeSignature(at: 0 | 1 | 2): (right: string) => string {
  return (right) => [wrongDigits(right), wrongDigits(wrongDigits(right))].toSpliced(at, 0, right).join(",");
}

/** JSON with spaces between its tokens, as Python's json.dumps writes it. */
function addSpaces(body: string): string {
  return `{${fieldsOf(body)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(", ")}}`;
}

/**
 * Valid JSON that no serializer writes: fields in another order, tabs, escapes, characters of 1 to 4 bytes, a trailing
 * line break.
 */
function writeUnusually(body: string): string {
  const lines = fieldsOf(body)
    .filter(([name]) => name !== "data")
    .toReversed()
    .map(([name, value]) => `\t${JSON.stringify(name)} :${JSON.stringify(value)}`);
  return `{\r\n${[UNUSUAL_DATA, ...lines].join(" ,\n")}\n}\n`;
}

const UNUSUAL_DATA = String.raw`"data": { "note":"Größe, Gr\u00f6\u00dfe, 订单, 🧾, \/", "number" : 1.50e2 }`;

function indentBody(body: string): string {
  return JSON.stringify(Object.fromEntries(fieldsOf(body)), null, 2);
}

/** The event as redelivered to a receiver that was down for an hour. */
function backdateEvent(body: string): string {
  return body.replace(/"created_at":"([^"]+)"/, (_, at: string) => {
    const earlier = toIso(Date.parse(at) - STALE_BY_SECONDS * 1000);
    return `"created_at":"${earlier}"`;
  });
}

/** Changes one digit of `created_at`: the body is still an event, with the same event_id. */
function changeDigit(body: string): string {
  return body.replace(/\dZ"/, (end) => flipDigits(end.slice(0, 1), 10) + end.slice(1));
}
