import { ERROR_CODES, ERRORS, type ErrorCode } from "../../../src/core/errors.ts";
import { bodyOf } from "../v1-calls.ts";
import type { FullAnswer } from "../harness.ts";
import { agree } from "./agree.ts";
import type { Site, SiteCall } from "./site.ts";

const UNKNOWN = "0190a7e4-1111-7222-8333-444455556666";
const AMOUNT = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

/** A refused request: its differences from a valid create, and the commands before and after it. */
type Refused = Partial<SiteCall> & {
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
};

/** Each refusal of the API: its request, or the reason why no journey has one. */
const REFUSALS: Readonly<Record<ErrorCode, Refused | string>> = {
  invalid_request: { headers: { Host: "" } },
  invalid_json: { body: "{" },
  unsupported_content_type: { headers: { "Content-Type": "text/plain" } },
  missing_parameter: { fields: { currency: undefined } },
  invalid_parameter: { fields: { amount_minor: 0 } },
  unknown_parameter: { fields: { colour: "red" } },
  conflicting_parameters: { fields: { price_id: "price_coffee" } },
  idempotency_key_missing: { headers: { "Idempotency-Key": "" } },
  idempotency_key_invalid: { headers: { "Idempotency-Key": "short" } },
  invalid_session_id: { method: "GET", path: "/v1/checkout-sessions/x" },
  credential_missing: { headers: { Authorization: "" } },
  credential_invalid: { headers: { Authorization: "Bearer svc_test_x" } },
  environment_not_allowed: {
    before: ["production request", "admin approve-credential"],
    headers: { Authorization: "Bearer svc_live_x" },
    after: ["admin revoke-credential"],
  },
  production_approval_missing: { headers: { Authorization: "Bearer svc_live_x" } },
  scope_missing: { path: "/v1/checkout-sessions", headers: { Authorization: "Bearer {ORDERS_KEY}" } },
  store_inactive: { before: ["admin deactivate"], after: ["admin activate"] },
  capability_missing: { fields: { currency: "XAF" } },
  host_not_allowed: { headers: { Host: "shop.example" } },
  origin_not_allowed: { headers: { Origin: "https://shop.example" } },
  session_not_found: { method: "GET", path: `/v1/checkout-sessions/${UNKNOWN}` },
  not_found: { path: "/v1/refunds" },
  method_not_allowed: { method: "DELETE", path: "/v1/orders" },
  request_timeout: "a request that stands still, in test/real/connections.test.ts",
  idempotency_key_reused: { headers: { "Idempotency-Key": "v1-by-amount" } },
  idempotency_in_progress: "no answer of this sandbox, whose creates are one transaction",
  order_conflict: { fields: { order_id: "v1-by-amount" } },
  state_conflict: "an answer of the control API, which calls each operation",
  body_too_large: { body: " ".repeat(20_000) },
  rate_limited: { before: ["faults add rate_limit --times 1"] },
  headers_too_large: { headers: { "X-Long": "x".repeat(20_000) } },
  internal_error: { before: ["faults add status --status 500 --times 1"] },
  storage_unavailable: { before: ["faults add storage_full --times 1"] },
};

/** Uses v1 in both forms, with a replay and each refusal. */
export async function walkV1(site: Site): Promise<void> {
  const create = (path: string, order: Readonly<Record<string, unknown>>): Promise<FullAnswer> =>
    site.request({
      path,
      headers: { "Idempotency-Key": String(order["order_id"]) },
      body: JSON.stringify(order),
    });
  for (const [path, order] of [
    ["/v1/orders", { order_id: "v1-by-price", price_id: "price_coffee" }],
    ["/v1/orders", { order_id: "v1-by-amount", ...AMOUNT, description: "Two concert tickets" }],
    ["/v1/checkout-sessions", { order_id: "v1-session-by-price", price_id: "price_coffee" }],
    ["/v1/checkout-sessions", { order_id: "v1-session-by-amount", ...AMOUNT }],
  ] as const) {
    const made = await create(path, order);
    agree(path, [made.status, bodyOf(made).data?.["order_id"]], [201, order.order_id]);
    const replayed = await create(path, order);
    agree(`the replay of ${path}`, [replayed.status, replayed.body], [201, made.body]);
    const session = await site.request({
      path: `/v1/checkout-sessions/${String(bodyOf(made).data?.["id"])}`,
    });
    agree(`what ${path} created`, [session.status, bodyOf(session).data], [200, bodyOf(made).data]);
  }
  const { api_key: ordersKey } = await site.ask("keys create --scopes orders:write");
  for (const [index, code] of ERROR_CODES.entries()) {
    const refused = REFUSALS[code];
    if (typeof refused === "string") continue;
    for (const line of refused.before ?? []) await site.ask(line);
    const answer = await site.request(callOf(refused, { index, ordersKey: ordersKey ?? "" }));
    agree("a refusal", [answer.status, bodyOf(answer).error?.code], [ERRORS[code].status, code]);
    for (const line of refused.after ?? []) await site.ask(line);
  }
}

/** A valid create with a new order and key, except for the refused part. */
function callOf(
  { fields, headers, before: _before, after: _after, ...call }: Refused,
  { index, ordersKey }: { readonly index: number; readonly ordersKey: string },
): SiteCall {
  const order = { order_id: `refused-${index}`, ...AMOUNT, ...fields };
  const filled = Object.entries({ "Idempotency-Key": `refused-${index}`, ...headers }).map(
    ([name, value]) => [name, value.replace("{ORDERS_KEY}", ordersKey)],
  );
  return {
    path: "/v1/orders",
    ...(call.method === "GET" || call.method === "DELETE" ? {} : { body: JSON.stringify(order) }),
    ...call,
    headers: Object.fromEntries(filled) as Readonly<Record<string, string>>,
  };
}
