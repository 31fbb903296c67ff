// The sentences of v1's refusals, by their facts. The status and meaning of each code: core/errors.ts; the check, rule
// and remedy that `explain` shows with a refusal: core/explain/checks.ts.
import type { ErrorCode } from "./errors.ts";
import type { Words } from "./language.ts";
import { SECRET_DESCRIPTION, SECRET_DESCRIPTION_ZH } from "./text.ts";

type FactValue = string | number | readonly string[];
/** The values of a sentence by name. A value from outside is safe for a message (`printableLiteral`). */
type FactValues = Readonly<Record<string, FactValue>>;

/** A sentence made of values, and its parts for `explain`. Default of a part: the value of the same name. */
type Row<Values> = {
  readonly code: ErrorCode;
  /** A value of each kind, by which stored values are checked. */
  readonly values: Values;
  /** The message of v1, byte for byte; in both languages where a page can show it. */
  readonly text: (values: Values) => string | Words;
  /** The refused field, if all refusals of this row are about it. */
  readonly field?: string;
  readonly expected?: (values: Values) => Words;
  readonly received?: (values: Values) => string;
  /** The command that helps. Default: the commands for the code. */
  readonly next?: string;
};

const TEXT: string = "";
const NUMBER: number = 0;
const LIST: readonly string[] = [];
const RECEIVED = { received: TEXT };

function row<Values extends FactValues>(
  code: ErrorCode,
  values: Values,
  text: Row<Values>["text"],
  parts: Omit<Row<Values>, "code" | "values" | "text"> = {},
): Row<Values> {
  return { code, values, text, ...parts };
}

function plain(code: ErrorCode, text: string): Row<Readonly<Record<string, never>>> {
  return { code, values: {}, text: () => text };
}

function got(code: ErrorCode, ...expected: Words): Row<typeof RECEIVED> {
  const text = ({ received }: typeof RECEIVED): string => `${expected[0]}; got ${received}`;
  return { code, values: RECEIVED, text, expected: () => expected };
}

/** An unusable price: why, and the command that shows a usable one. */
function unusablePrice(why: string, hint: string, next: string): Row<{ readonly price: string }> {
  const expected = "price_id must name an approved price of this store";
  return {
    code: "invalid_parameter",
    values: { price: TEXT },
    text: ({ price }) => `${expected}; got ${price}, ${why}: ${hint} ${next}`,
    field: "price_id",
    expected: () => [expected, "price_id 应为本商店已批准的价格"],
    received: ({ price }) => `${price}, ${why}`,
    next,
  };
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}

const MAX_INTEGER = `±${Number.MAX_SAFE_INTEGER}`;
const CHECKOUT = { object: TEXT, id: TEXT, status: TEXT };
const TEST_ONLY = "v1 accepts only test credentials";

function checkoutText({ object, id, status }: typeof CHECKOUT): string {
  return `the ${object} ${id} with status ${status}`;
}

function secretFree({ field }: { readonly field: string }): Words {
  return [`${field} must be free of ${SECRET_DESCRIPTION}`, `${field} 不得包含${SECRET_DESCRIPTION_ZH}`];
}

/** Why a text is not a usable API key, as the second half of a sentence. */
export const KEY_FAULTS = {
  not_a_key: "does not have the form svc_test_… of a test key",
  mistyped_key: "has a wrong checksum: it was cut off or mistyped",
} as const;

/** The refusals of v1, in the order of the checks (decision 3). */
export const REFUSALS = {
  http_version: got("invalid_request", "HTTP/1.1 was expected", "应为 HTTP/1.1"),
  transfer_coding: plain("invalid_request", "the only supported transfer coding is chunked"),
  invalid_http: row(
    "invalid_request",
    { reason: TEXT },
    ({ reason }) => `the request is not valid HTTP/1.1: ${reason}`,
  ),
  header_lines: row(
    "headers_too_large",
    { most: NUMBER },
    ({ most }) => `a request may have at most ${most} header lines`,
  ),
  head_bytes: row(
    "headers_too_large",
    { most: NUMBER },
    ({ most }) => `the request line and headers may have at most ${most} bytes`,
  ),
  head_overflow: plain("headers_too_large", "the request line and headers are too large for this server"),
  body_too_large: row(
    "body_too_large",
    { most: NUMBER },
    ({ most }) => `a body may have at most ${most} bytes`,
  ),
  request_timeout: row(
    "request_timeout",
    { seconds: NUMBER, headSeconds: NUMBER },
    ({ seconds, headSeconds }) =>
      `the whole request must arrive within ${seconds} s, its headers within ${headSeconds} s`,
  ),
  expectation: got("invalid_request", "Expect may only be 100-continue", "Expect 只能为 100-continue"),
  no_path: got("invalid_request", "the request target must be a path", "请求目标应为路径"),
  host_lines: got("invalid_request", "exactly one Host header was expected", "应恰有一个 Host 请求头"),
  host_not_allowed: row(
    "host_not_allowed",
    { host: TEXT, flag: TEXT, form: TEXT },
    ({ host, flag, form }) =>
      `Host ${host} is not a name of this server; ${flag} ${form} adds it where the server is started${form === "HOST" ? "" : "; HOST without a port allows no port, or the server's port"}`,
  ),
  origin_not_allowed: row(
    "origin_not_allowed",
    { origin: TEXT },
    ({ origin }) => `this API is for servers, not for pages in a browser; got Origin ${origin}`,
    { received: ({ origin }) => `Origin ${origin}` },
  ),
  unknown_path: row("not_found", { ...RECEIVED, owner: TEXT, chinese: TEXT }, (values) => [
    `${values.owner} has no ${values.received}`,
    `${values.chinese}没有 ${values.received}`,
  ]),
  method_not_allowed: row(
    "method_not_allowed",
    { ...RECEIVED, path: TEXT, methods: LIST },
    ({ path, methods, received }) => [
      `${path} takes ${methods.join(", ")}; got ${received}`,
      `${path} 只接受 ${methods.join("、")}；收到 ${received}`,
    ],
    {
      expected: ({ path, methods }) => [
        `${path} takes ${methods.join(", ")}`,
        `${path} 只接受 ${methods.join("、")}`,
      ],
    },
  ),
  credential_missing: plain("credential_missing", "the header Authorization: Bearer <API key> is missing"),
  credential_lines: row(
    "credential_invalid",
    RECEIVED,
    ({ received }) => `one Authorization header was expected; got ${received}`,
  ),
  not_bearer: plain("credential_invalid", "Authorization must be: Bearer <API key>"),
  not_a_key: plain("credential_invalid", `the API key ${KEY_FAULTS.not_a_key}`),
  mistyped_key: plain("credential_invalid", `the API key ${KEY_FAULTS.mistyped_key}`),
  unknown_key: plain("credential_invalid", "the API key is unknown here, or was revoked"),
  rate_limited: row(
    "rate_limited",
    { perSecond: NUMBER, seconds: NUMBER },
    ({ perSecond, seconds }) =>
      `more than ${perSecond} requests a second with this API key; try again in ${seconds} s`,
  ),
  too_many_requests: row(
    "rate_limited",
    { seconds: NUMBER },
    ({ seconds }) => `too many requests with this API key; try again in ${seconds} s`,
  ),
  environment_not_allowed: plain(
    "environment_not_allowed",
    `${TEST_ONLY}, even after production was approved`,
  ),
  production_approval_missing: plain(
    "production_approval_missing",
    `live credentials need production approval, and ${TEST_ONLY}`,
  ),
  scope_missing: row(
    "scope_missing",
    { scope: TEXT, granted: LIST },
    ({ scope, granted }) => `this operation needs the scope ${scope}; the API key has: ${listed(granted)}`,
    {
      expected: ({ scope }) => [`the scope ${scope}`, `权限范围 ${scope}`],
      received: ({ granted }) => `the API key has: ${listed(granted)}`,
    },
  ),
  query: got("unknown_parameter", "v1 has no query parameters", "v1 没有查询参数"),
  content_type: got(
    "unsupported_content_type",
    "Content-Type must be application/json",
    "Content-Type 应为 application/json",
  ),
  content_encoding: got(
    "unsupported_content_type",
    "the body must have no Content-Encoding",
    "请求体不得使用 Content-Encoding",
  ),
  invalid_json: row("invalid_json", RECEIVED, ({ received }) => `the body is not strict JSON: ${received}`),
  inexact_number: row(
    "invalid_parameter",
    { ...RECEIVED, field: TEXT },
    ({ field, received }) =>
      `"${field}" has the number ${received}, which cannot be kept exactly; integers may reach ${MAX_INTEGER}`,
    { expected: () => [`integers may reach ${MAX_INTEGER}`, `整数的绝对值至多 ${MAX_INTEGER}`] },
  ),
  idempotency_key_missing: plain(
    "idempotency_key_missing",
    "a create needs the header Idempotency-Key with 8 to 128 printable ASCII characters; use the same key when you retry",
  ),
  key_lines: got(
    "idempotency_key_invalid",
    "one Idempotency-Key header was expected",
    "应恰有一个 Idempotency-Key 请求头",
  ),
  key_with_secret: row(
    "idempotency_key_invalid",
    {},
    () => `Idempotency-Key must not contain ${SECRET_DESCRIPTION}`,
  ),
  key_form: got(
    "idempotency_key_invalid",
    "Idempotency-Key must have 8 to 128 printable ASCII characters",
    "Idempotency-Key 应为 8 到 128 个可打印 ASCII 字符",
  ),
  no_object: got("invalid_parameter", "the body must be a JSON object", "请求体应为 JSON 对象"),
  conflicting_parameters: row(
    "conflicting_parameters",
    { fields: LIST },
    ({ fields }) =>
      `price_id already sets amount, currency and payment method; leave out ${fields.join(", ")}, or leave out price_id`,
    {
      field: "price_id",
      expected: ({ fields }) => [
        `leave out ${fields.join(", ")}, or leave out price_id`,
        `去掉 ${fields.join("、")}，或去掉 price_id`,
      ],
    },
  ),
  unknown_parameter: row(
    "unknown_parameter",
    { ...RECEIVED, fields: LIST, field: TEXT },
    ({ received, fields }) => `${received} is not a field of this request; fields: ${fields.join(", ")}`,
    { expected: ({ fields }) => [`fields: ${fields.join(", ")}`, `字段：${fields.join("、")}`] },
  ),
  missing_parameter: row(
    "missing_parameter",
    { field: TEXT, form: TEXT },
    ({ field, form }) => `${field} is required: ${form}`,
  ),
  invalid_parameter: row(
    "invalid_parameter",
    { ...RECEIVED, field: TEXT, form: TEXT },
    ({ field, form, received }) => `${field} must be ${form}; got ${received}`,
    { expected: ({ field, form }) => [`${field} must be ${form}`, `${field} must be ${form}`] },
  ),
  field_with_secret: row(
    "invalid_parameter",
    { field: TEXT },
    ({ field }) => `${field} must be free of ${SECRET_DESCRIPTION}`,
    { expected: secretFree },
  ),
  field_with_token: row(
    "invalid_parameter",
    { field: TEXT },
    ({ field }) => `${field} must not contain ${SECRET_DESCRIPTION}`,
    { expected: secretFree },
  ),
  unknown_price: unusablePrice("which is not in its catalog", "see", "checkout prices list"),
  retired_price: unusablePrice("which is retired", "choose another one from", "checkout prices list"),
  unapproved_price: unusablePrice("which is not approved", "see", "checkout admin approve-price"),
  invalid_session_id: got("invalid_session_id", "the session id must be a UUID", "会话 id 应为 UUID"),
  session_not_found: row(
    "session_not_found",
    RECEIVED,
    ({ received }) => `this store has no checkout session or order with the id ${received}`,
  ),
  idempotency_key_reused: row(
    "idempotency_key_reused",
    { key: TEXT },
    ({ key }) =>
      `Idempotency-Key ${key} was used for another request; a retry must repeat path and body, a new request needs a new key`,
  ),
  store_inactive: row(
    "store_inactive",
    { store: TEXT },
    ({ store }) => `store ${store} is not active, so it cannot open a checkout`,
    { received: ({ store }) => `store ${store} is not active` },
  ),
  capability_missing: row(
    "capability_missing",
    { ...RECEIVED, field: TEXT, active: LIST },
    ({ field, received, active }) =>
      `${field} ${received} is not active for this store; active: ${listed(active)}`,
    {
      expected: ({ active }) => [
        `active: ${listed(active)}`,
        `已启用：${active.length === 0 ? "无" : active.join("、")}`,
      ],
    },
  ),
  order_conflict: row(
    "order_conflict",
    { ...CHECKOUT, order: TEXT },
    (values) =>
      `order_id ${values.order} already has ${checkoutText(values)}; a new one can be created only after that one failed, was cancelled or expired`,
    { received: checkoutText },
  ),
} as const;

/** The name of a refusal's sentence. */
export type FactName = keyof typeof REFUSALS;

/** What was refused: the name of its sentence, and the sentence's values. */
export type RefusalFact = { readonly fact: FactName; readonly values: FactValues };

export type ValuesOf<Name extends FactName> = (typeof REFUSALS)[Name]["values"];

type StoredRow = Omit<Row<never>, "values"> & { readonly values: FactValues };
const ROWS: ReadonlyMap<string, StoredRow> = new Map(Object.entries(REFUSALS));

/** The message of a refusal, in both languages where a page can show it. */
export function factText({ fact, values }: RefusalFact): string | Words {
  return REFUSALS[fact].text(values as never);
}

/** The parts of a refusal for `explain`; undefined parts follow from the code. */
export function factParts({ fact, values }: RefusalFact): {
  readonly field: string | undefined;
  readonly expected: Words | undefined;
  readonly received: string | undefined;
  readonly next: string | undefined;
} {
  const { field, expected, received, next }: Omit<StoredRow, "text"> = REFUSALS[fact];
  return {
    field: field ?? textOf(values["field"]),
    expected: expected?.(values as never),
    received: received?.(values as never) ?? textOf(values["received"]),
    next,
  };
}

/** Whether a stored fact has a sentence, and values of the right kinds: other programs can write to the log. */
export function isRefusalFact(value: unknown): value is RefusalFact {
  const { fact, values } = Object(value) as Readonly<Record<string, unknown>>;
  const known = typeof fact === "string" ? ROWS.get(fact) : undefined;
  if (known === undefined || typeof values !== "object" || values === null) return false;
  const given = new Map<string, unknown>(Object.entries(values));
  return Object.entries(known.values).every(([name, sample]) => isAlike(given.get(name), sample));
}

function isAlike(value: unknown, sample: FactValue): boolean {
  if (typeof sample !== "object") return typeof value === typeof sample;
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function textOf(value: FactValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
