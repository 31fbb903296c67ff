import { errorRow, type ErrorCode } from "../errors.ts";
import type { Words } from "../language.ts";

export const REFUSAL_CHECKS = {
  transport: ["transport", "传输"],
  host: ["host and origin", "Host 与 Origin"],
  route: ["route", "路由"],
  credential: ["credential", "凭证"],
  rate: ["rate limit", "限流"],
  scope: ["environment and scope", "环境与权限"],
  content: ["content", "内容"],
  key: ["idempotency key", "幂等键"],
  store: ["store and capability", "商店与支付能力"],
  order: ["state of the order", "订单状态"],
  session: ["session", "会话"],
  service: ["the service itself", "服务自身"],
} as const satisfies Readonly<Record<string, Words>>;

type CheckName = keyof typeof REFUSAL_CHECKS;

export type RefusalCheck = {
  readonly name: CheckName;
  readonly rule: number | null;
  readonly decision: number;
  /** The checked field or header; null if it differs between refusals with this code. */
  readonly field: string | null;
  readonly expected: Words | null;
  /** Suggested commands; `<scope>` and `<name>` are placeholders for values of the refusal. */
  readonly next: readonly string[];
};

type CheckRow = Pick<RefusalCheck, "name"> & Partial<RefusalCheck>;

const TEST_KEY: Words = [
  "a test key: Authorization: Bearer svc_test_…",
  "测试密钥：Authorization: Bearer svc_test_…",
];
const LIST_COMMANDS = ["checkout orders list", "checkout sessions list"] as const;
const VALID_CREATE_COMMANDS = [
  "checkout orders create --order-id order-1001 --price-id price_coffee --dry-run",
] as const;

const SHARED_PARTS: Readonly<Partial<Record<CheckName, Partial<RefusalCheck>>>> = {
  transport: { next: VALID_CREATE_COMMANDS },
  route: { next: ["checkout assumptions"] },
  credential: { field: "Authorization", next: ["checkout whoami", "checkout env"] },
  scope: { field: "Authorization" },
  content: { rule: 9, next: VALID_CREATE_COMMANDS },
  key: { rule: 21, field: "Idempotency-Key" },
  store: { rule: 6 },
  order: { rule: 21 },
  session: { field: "session_id", next: LIST_COMMANDS },
  service: {
    expected: [
      "an answer: the failure is the service's own, not the request's",
      "正常的响应：失败原因在服务自身，不在请求",
    ],
  },
};

const CHECK_ROWS: Readonly<Record<ErrorCode, CheckRow>> = {
  invalid_request: { name: "transport" },
  request_timeout: {
    name: "transport",
    expected: ["the whole request within the time limit", "在时限内发完整个请求"],
  },
  headers_too_large: { name: "transport", field: "headers" },
  body_too_large: { name: "transport", field: "body", decision: 6 },
  host_not_allowed: {
    name: "host",
    field: "Host",
    expected: [
      "a name of this server: 127.0.0.1, localhost, or a name added by --allow-host",
      "本服务器的主机名：127.0.0.1、localhost，或用 --allow-host 添加的名称",
    ],
    next: ["checkout sandbox start --allow-host <host>"],
  },
  origin_not_allowed: {
    name: "host",
    field: "Origin",
    expected: [
      "a request from a server: the API key must not be in a browser",
      "由服务器发出的请求：API 密钥不得出现在浏览器中",
    ],
    next: ["checkout env"],
  },
  not_found: {
    name: "route",
    expected: [
      "POST /v1/orders, POST /v1/checkout-sessions or GET /v1/checkout-sessions/<id>",
      "POST /v1/orders、POST /v1/checkout-sessions 或 GET /v1/checkout-sessions/<id>",
    ],
  },
  method_not_allowed: { name: "route" },
  credential_missing: {
    name: "credential",
    rule: 22,
    expected: ["the header Authorization: Bearer <API key>", "请求头 Authorization: Bearer <API key>"],
  },
  credential_invalid: {
    name: "credential",
    rule: 27,
    expected: [
      "a valid API key of this sandbox: Authorization: Bearer svc_test_…",
      "本沙箱中有效的 API 密钥：Authorization: Bearer svc_test_…",
    ],
  },
  rate_limited: {
    name: "rate",
    rule: 33,
    expected: ["another attempt after the time in Retry-After", "按 Retry-After 的秒数等待后重试"],
    next: ["checkout sandbox start --rate-limit <rate>"],
  },
  environment_not_allowed: { name: "scope", rule: 25, expected: TEST_KEY, next: ["checkout env"] },
  production_approval_missing: {
    name: "scope",
    rule: 26,
    expected: TEST_KEY,
    next: ["checkout env", "checkout production request"],
  },
  scope_missing: { name: "scope", rule: 27, next: ["checkout keys create --scopes <scope>"] },
  unsupported_content_type: { name: "content", rule: null, field: "Content-Type" },
  invalid_json: {
    name: "content",
    rule: null,
    field: "body",
    expected: ["strict JSON in UTF-8, one object", "UTF-8 编码的严格 JSON，且为单个对象"],
  },
  missing_parameter: { name: "content" },
  invalid_parameter: { name: "content" },
  unknown_parameter: { name: "content" },
  conflicting_parameters: { name: "content", rule: 10 },
  idempotency_key_missing: { name: "content", rule: 19, field: "Idempotency-Key" },
  idempotency_key_invalid: { name: "content", rule: 19, field: "Idempotency-Key" },
  invalid_session_id: { name: "content", rule: 16, field: "session_id", next: LIST_COMMANDS },
  idempotency_key_reused: {
    name: "key",
    expected: [
      "the path and the body of the first request with this key",
      "与首次使用该幂等键的请求相同的路径和请求体",
    ],
  },
  idempotency_in_progress: {
    name: "key",
    expected: [
      "another attempt after the first request with this key was answered",
      "等该幂等键的首个请求得到响应后再重试",
    ],
  },
  store_inactive: {
    name: "store",
    expected: ["an active store", "已启用的商店"],
    next: ["checkout admin activate"],
  },
  capability_missing: {
    name: "store",
    next: ["checkout capabilities list", "checkout admin enable-capability <name>"],
  },
  order_conflict: {
    name: "order",
    field: "order_id",
    expected: [
      "an order_id without an open or paid checkout, or the Idempotency-Key of its first request",
      "一个尚无未完成或已支付收款单的订单号，或沿用其首个请求的 Idempotency-Key",
    ],
  },
  state_conflict: { name: "order" },
  session_not_found: {
    name: "session",
    expected: ["the id of an order or a checkout session of this store", "本商店的订单或收银会话的 ID"],
  },
  internal_error: { name: "service", next: ["checkout sandbox logs"] },
  storage_unavailable: { name: "service", next: ["checkout doctor"] },
};

export function checkOfCode(code: ErrorCode): RefusalCheck {
  const row = CHECK_ROWS[code];
  const decision = errorRow(code)?.decision ?? ERROR_CODES_DECISION;
  return { rule: null, decision, field: null, expected: null, next: [], ...SHARED_PARTS[row.name], ...row };
}
const ERROR_CODES_DECISION = 4;

const FIRST_CHECKS = ["transport", "host", "route", "credential", "rate", "scope"] as const;
const CREATE_CHECKS = ["content", "key", "store", "order"] as const;

export function orderedChecks(method: string, check: CheckName | null): readonly CheckName[] {
  const checkNames: readonly CheckName[] = [
    ...FIRST_CHECKS,
    ...(method === "POST" ? CREATE_CHECKS : ["session" as const]),
  ];
  return check === null || checkNames.includes(check) ? checkNames : [...checkNames, check];
}
