// Rows of the tables and values of the domain, by the names of their fields: a test names the fields that matter to it,
// and every other field has its default here.
import type { Checkout, PurchaseTerms } from "../../src/core/checkout/checkout.ts";
import type { CheckoutEntry } from "../../src/core/checkout/shapes.ts";
import type { LoggedRequest } from "../../src/core/request/logged-request.ts";
import type { Endpoint } from "../../src/core/webhook/endpoint.ts";

/** An expression of SQL as the value of a column, such as a parameter. */
type Expression = { readonly sql: string };
type Value = string | number | null | Expression;
/** Values of columns, by their names. */
export type Row = Readonly<Record<string, Value>>;

export function expression(text: string): Expression {
  return { sql: text };
}

/** Default values of the columns that a row must have, for the store `s` of the merchant `m`. */
const ROWS = {
  merchants: { id: "m", name: "m", created_at: 1 },
  stores: { id: "s", merchant_id: "m", name: "s", active: 1, created_at: 1 },
  held_stores: { store_id: "s" },
  capabilities: { store_id: "s", kind: "currency", name: "EUR", active: 1 },
  credentials: {
    id: "k",
    store_id: "s",
    key_hash: "0".repeat(64),
    last_four: "last",
    scopes: "orders:write",
    created_at: 1,
  },
  tokens: {
    id: "t",
    store_id: "s",
    kind: "token",
    role: "store",
    hash: "0".repeat(64),
    created_at: 1,
    expires_at: 2,
  },
  endpoints: {
    id: "e",
    store_id: "s",
    kind: "url",
    url: "http://localhost/",
    event_types: "*",
    state: "enabled",
    created_at: 1,
  },
  signing_secrets: {
    id: "w",
    store_id: "s",
    nonce: expression("zeroblob(12)"),
    sealed: expression("zeroblob(20)"),
    created_at: 1,
  },
  prices: {
    store_id: "s",
    id: "tea",
    description: "Tea",
    amount_minor: 700,
    currency: "EUR",
    payment_method: "alipay_plus",
    approved: 1,
    billing_model: "one_time",
    retired: 0,
  },
  return_origins: { store_id: "s", origin: "https://shop.example", created_at: 1 },
  checkouts: {
    store_id: "s",
    object: "order",
    order_id: "o",
    amount_minor: 1,
    currency: "EUR",
    payment_method: "alipay_plus",
    status: "created",
    created_at: 1,
    expires_at: 2,
  },
  attempts: { number: 1, started_at: 1 },
  late_results: { attempt: 1, result: "succeeded", recorded_at: 3 },
  page_views: { kind: "opened", number: 1, at: 3 },
  settlements: { store_id: "s", outcome: "succeeded", due_at: 9 },
  idempotency_keys: {
    store_id: "s",
    key: "key-0001",
    fingerprint: "f".repeat(64),
    status: 201,
    body: "{}",
    created_at: 1,
  },
  idempotency_uses: { store_id: "s", key: "key-0001", kind: "replayed", request_id: "r", at: 1 },
  assumption_uses: { store_id: "s", decision: 5, first_request_id: "r", first_at: 1 },
  events: { store_id: "s", type: "order.created", sequence: 1, body: "{}", created_at: 1 },
  deliveries: {
    store_id: "s",
    endpoint_id: "e",
    sequence: 1,
    cause: "event",
    in_order: 1,
    state: "due",
    tries: 0,
    next_at: 1,
    created_at: 1,
  },
  delivery_attempts: { number: 1, started_at: 1, url: "u", headers: "{}", body_hash: "e".repeat(64) },
  faults: {
    store_id: "s",
    action: "drop",
    nth: 1,
    seed: "s",
    times: 1,
    matched: 0,
    applied: 0,
    created_at: 1,
  },
  admin_acts: { store_id: "s", actor: "administrator", action: "open_gate", at: 1 },
  drills: { store_id: "s", kind: "webhook", subject: "x", passed: 1, steps: "[]", at: 1 },
  waivers: { store_id: "s", drill: "webhook", reason: "by hand", at: 1 },
  explorations: { store_id: "s", schedules: 1, broken: 0, places: "[]", at: 1 },
  erasures: { store_id: "s", kind: "reset" },
  resets: { store_id: "s" },
  lease_effects: { lease_id: "l", store_id: "s", fault_id: "" },
  event_floor: { id: 1, position: 1 },
  instance: { id: 1 },
  snapshot: { id: 1, taken_at: 1, key: expression("zeroblob(32)") },
} satisfies Record<string, Row>;

/**
 * The statement that adds a row. With `from`, adds a row for each row of a query, whose columns the expressions use.
 */
export function insertion(table: keyof typeof ROWS, row: Row = {}, from?: string): string {
  const whole: Row = { ...ROWS[table], ...row };
  const values = Object.values(whole).map(literal).join(", ");
  const source = from === undefined ? `VALUES (${values})` : `SELECT ${values} FROM ${from}`;
  return `INSERT INTO ${table} (${Object.keys(whole).join(", ")}) ${source};\n`;
}

function literal(value: Value): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return typeof value === "object" && value !== null ? value.sql : String(value);
}

/** Many orders of a store; in the expressions, `n` is the number of the order, from 1. */
type ManyOrders = {
  readonly storeId: string;
  readonly count: number;
  readonly id: string;
  readonly orderId?: string;
  readonly key?: string;
  readonly checkout?: Row;
};

/** The statements that add many orders to a store, each with its key and its event. */
export function manyOrders({ storeId, count, checkout, ...named }: ManyOrders): string {
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;
  const id = expression(named.id);
  const order = { id, order_id: expression(named.orderId ?? "'o' || n"), ...checkout };
  const key = { key: expression(named.key ?? "'key-0000' || n"), request_id: id, checkout_id: id };
  const each = (table: keyof typeof ROWS, row: Row): string =>
    `${numbers} ${insertion(table, { store_id: storeId, ...row }, "numbers")}`;
  return each("checkouts", order) + each("idempotency_keys", key) + each("events", { id, checkout_id: id });
}

/** An order that was just created. */
export function aCheckout(fields: Partial<Checkout> = {}): Checkout {
  return {
    id: "c",
    storeId: "s",
    object: "order",
    orderId: "o",
    amountMinor: 1,
    currency: "EUR",
    paymentMethod: "alipay_plus",
    description: null,
    priceId: null,
    status: "created",
    createdAt: 0,
    expiresAt: 1000,
    ...fields,
  };
}

/** An enabled endpoint for all events. */
export function anEndpoint(fields: Partial<Endpoint> = {}): Endpoint {
  return {
    id: "e",
    storeId: "s",
    kind: "url",
    url: "http://localhost/",
    eventTypes: ["*"],
    inOrder: false,
    ca: null,
    state: "enabled",
    reason: null,
    failingSince: null,
    createdAt: 1,
    ...fields,
  };
}

/** The terms of the order of `aCheckout`. */
export function someTerms(fields: Partial<PurchaseTerms> = {}): PurchaseTerms {
  const { id: _id, storeId: _store, object: _kind, status: _status, ...rest } = aCheckout(fields);
  const { createdAt: _created, expiresAt: _expires, ...terms } = rest;
  return terms;
}

/** The order of `aCheckout` in a list of the control API. */
export function aCheckoutEntry(fields: Partial<CheckoutEntry> = {}): CheckoutEntry {
  const { storeId: _store, ...checkout } = aCheckout();
  const last = { at: 0, what: "created", by: "merchant", attempt: null, attemptsLeft: null } as const;
  return { ...checkout, last, ...fields };
}

/** A request of v1 that succeeded, as the log keeps it. */
export function aLoggedRequest(fields: Partial<LoggedRequest> = {}): LoggedRequest {
  return {
    position: 1,
    requestId: "r",
    at: 1,
    storeAt: 1,
    method: "GET",
    path: "/v1/x",
    status: 200,
    code: null,
    orderId: null,
    durationMs: 1,
    decisions: [],
    fault: null,
    refused: null,
    ...fields,
  };
}
