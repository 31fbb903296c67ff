import * as z from "zod/mini";
import { CREATE_FIELDS, fieldFault } from "../checkout/create-request.ts";
import { parseIdempotencyKey } from "../checkout/idempotency-key.ts";
import { isFormattedReturnOrigin, parseReturnOrigin, parseReturnPath } from "../checkout/return-origin.ts";
import { isMoment } from "../clock.ts";
import { givenId, merchantName, price } from "../config/schema.ts";
import { drill } from "../control/drills.ts";
import { keyScopes } from "../control/keys.ts";
import { exploration, note } from "../control/readiness.ts";
import { isEndOfKey } from "../credential.ts";
import { ERRORS } from "../errors.ts";
import { DELIVERY_ACTIONS, isApiAction } from "../fault/actions.ts";
import { readFaultHeader } from "../fault/fault.ts";
import type { Outcome } from "../outcome.ts";
import { ASSUMPTIONS } from "../readiness/assumptions.ts";
import { isUuid, printableLiteral, redactSecrets } from "../text.ts";
import { DELIVERY_ERRORS, MAX_ATTEMPTS } from "../webhook/delivery.ts";
import { parseEventTypes } from "../webhook/event-types.ts";
import { parseTarget } from "../webhook/target.ts";

/** The fault of a column's value; undefined if one of the sandbox's verbs could have written the value. */
type ColumnRule = (value: unknown) => string | undefined;

/** SQLite has already checked the value: a CHECK of the table repeats the core's rule. */
const CHECKED: ColumnRule = () => undefined;
/** SQLite has already found the referenced row. */
const REFERS: ColumnRule = () => undefined;
/** The value is judged with the rest of the row, or with the row's checkout (`row-rules.ts`). */
const WITH_ROW: ColumnRule = () => undefined;

const id = schema(givenId);
const moment = number(isMoment, "a moment of the years 0 to 9999");
const count = whole(0);
const place = whole(1);
const sha256 = text((value) => /^[0-9a-f]{64}$/.test(value), "a SHA-256 in hex");
const keptText = (value: unknown): string | undefined =>
  schema(note)(value) ?? (redactSecrets(String(value)) === value ? undefined : "holds a secret");
/** The fields that a create can send; SQLite has already checked which ones are present. */
const AS_SENT = Object.fromEntries(
  CREATE_FIELDS.map((name) => [name, orNull((value) => fieldFault(name, value))]),
);

const KNOWN_DECISIONS: ReadonlySet<number> = new Set([
  ...ASSUMPTIONS.map(({ decision }) => decision),
  ...Object.values(ERRORS).flatMap((row) => ("decision" in row ? [row.decision] : [])),
]);

/**
 * The rule of each column in each table that a snapshot restores: the functions that the verbs use. A column without a
 * rule cannot be restored.
 */
export const COLUMN_RULES: Readonly<Record<string, Readonly<Record<string, ColumnRule>>>> = {
  merchants: { id, name: schema(merchantName), created_at: moment },
  stores: {
    id,
    merchant_id: REFERS,
    name: keptStoreName,
    active: CHECKED,
    created_at: moment,
    clock_offset: WITH_ROW,
    clock_frozen_at: orNull(moment),
  },
  held_stores: { store_id: REFERS },
  capabilities: { store_id: REFERS, kind: CHECKED, name: WITH_ROW, active: CHECKED },
  credentials: {
    id,
    store_id: REFERS,
    key_hash: sha256,
    last_four: text(isEndOfKey, "the last four characters of a key"),
    scopes: (value) => schema(keyScopes)(String(value).split(" ")),
    created_at: moment,
    revoked_at: orNull(moment),
    for_drill: CHECKED,
  },
  endpoints: {
    id,
    store_id: REFERS,
    kind: CHECKED,
    url: addressForm,
    event_types: parsed((value) => parseEventTypes(value.split(" "))),
    state: CHECKED,
    reason: WITH_ROW,
    failing_since: orNull(moment),
    created_at: moment,
    removed_at: orNull(moment),
    in_order: CHECKED,
  },
  signing_secrets: {
    id,
    store_id: REFERS,
    nonce: CHECKED,
    sealed: WITH_ROW,
    created_at: moment,
    retired_at: orNull(moment),
    endpoint_id: REFERS,
  },
  prices: {
    store_id: REFERS,
    id: schema(price.shape.id),
    description: schema(price.shape.description),
    amount_minor: schema(price.shape.amountMinor),
    currency: schema(price.shape.currency),
    payment_method: schema(price.shape.paymentMethod),
    approved: CHECKED,
    billing_model: schema(price.shape.billingModel),
    retired: CHECKED,
  },
  checkouts: {
    id,
    store_id: REFERS,
    object: CHECKED,
    ...AS_SENT,
    status: CHECKED,
    created_at: moment,
    expires_at: moment,
  },
  return_origins: {
    store_id: REFERS,
    origin: parsed(parseReturnOrigin),
    created_at: moment,
    path: parsed(parseReturnPath),
  },
  idempotency_keys: {
    store_id: REFERS,
    key: parsed((value) => parseIdempotencyKey([value])),
    fingerprint: WITH_ROW,
    status: CHECKED,
    request_id: id,
    body: WITH_ROW,
    checkout_id: REFERS,
    created_at: moment,
  },
  events: {
    position: place,
    id,
    store_id: REFERS,
    checkout_id: REFERS,
    type: WITH_ROW,
    sequence: place,
    body: WITH_ROW,
    created_at: moment,
  },
  attempts: {
    checkout_id: REFERS,
    number: CHECKED,
    started_at: moment,
    outcome: CHECKED,
    finished_at: orNull(moment),
  },
  late_results: { checkout_id: REFERS, attempt: REFERS, result: CHECKED, recorded_at: moment },
  settlements: { checkout_id: REFERS, store_id: REFERS, outcome: CHECKED, due_at: moment },
  deliveries: {
    id,
    store_id: REFERS,
    endpoint_id: REFERS,
    event_id: REFERS,
    checkout_id: REFERS,
    sequence: WITH_ROW,
    cause: CHECKED,
    in_order: WITH_ROW,
    state: CHECKED,
    tries: whole(0, MAX_ATTEMPTS),
    next_at: moment,
    created_at: moment,
    fault: orNull(text(isDeliveryFaultHeader, "a fault of deliveries and its id")),
    // Derived from the other columns, and computed again.
    is_head: CHECKED,
  },
  delivery_attempts: {
    delivery_id: REFERS,
    number: place,
    started_at: moment,
    url: addressForm,
    headers: json(z.record(z.string(), z.string())),
    body_hash: sha256,
    fault: orNull(schema(z.enum(DELIVERY_ACTIONS))),
    finished_at: moment,
    milliseconds: orNull(count),
    address: orNull(schema(z.union([z.ipv4(), z.ipv6()]))),
    status: orNull(whole(100, 999)),
    error: orNull(schema(z.enum(DELIVERY_ERRORS))),
    answer: CHECKED,
    next_at: orNull(moment),
  },
  faults: {
    id,
    store_id: REFERS,
    action: WITH_ROW,
    method: WITH_ROW,
    path: WITH_ROW,
    event_type: WITH_ROW,
    event_id: REFERS,
    endpoint_id: REFERS,
    order_id: WITH_ROW,
    nth: WITH_ROW,
    probability: WITH_ROW,
    seed: WITH_ROW,
    status: WITH_ROW,
    latency_ms: WITH_ROW,
    retry_after_s: WITH_ROW,
    times: WITH_ROW,
    until: orNull(moment),
    matched: count,
    applied: count,
    created_at: moment,
  },
  admin_acts: {
    position: place,
    store_id: REFERS,
    actor: CHECKED,
    action: WITH_ROW,
    subject: WITH_ROW,
    note: orNull(keptText),
    at: moment,
  },
  drills: {
    id,
    store_id: REFERS,
    kind: CHECKED,
    subject: schema(drill.shape.subject),
    passed: WITH_ROW,
    steps: json(drill.shape.steps),
    at: moment,
  },
  idempotency_uses: {
    position: place,
    store_id: REFERS,
    key: parsed((value) => parseIdempotencyKey([value])),
    kind: CHECKED,
    request_id: id,
    at: moment,
  },
  assumption_uses: {
    store_id: REFERS,
    decision: number((value) => KNOWN_DECISIONS.has(value), "a decision that can be relied on"),
    first_request_id: id,
    first_at: moment,
  },
  waivers: { position: place, store_id: REFERS, drill: CHECKED, reason: keptText, at: moment },
  explorations: {
    store_id: REFERS,
    schedules: CHECKED,
    broken: CHECKED,
    places: json(exploration.shape.places),
    at: moment,
  },
  page_views: {
    checkout_id: REFERS,
    kind: CHECKED,
    number: CHECKED,
    at: moment,
    target: orNull(text(isFormattedReturnOrigin, "the address of a return origin")),
  },
};

/** Checks a value with the schema of an operation's request. */
function schema(one: z.ZodMiniType): ColumnRule {
  return (value) => one.safeParse(value, { jitless: true }).error?.issues[0]?.message;
}

/** Checks a value with the parser of an operation. */
function parsed(parse: (value: string) => Outcome<unknown>): ColumnRule {
  return (value) => {
    const read = parse(String(value));
    return read.ok ? undefined : read.refusal.message;
  };
}

/**
 * Accepts any store name that some version allowed; a name that looks like another is displayed accordingly (decision
 * 114).
 */
function keptStoreName(value: unknown): string | undefined {
  const isTyped = value === "default" || value === "new" || isUuid(String(value));
  return isTyped ? expectedOf("the name of a store", value) : schema(merchantName)(value);
}

function json(one: z.ZodMiniType): ColumnRule {
  const read = schema(one);
  return (value) => {
    try {
      return read(JSON.parse(String(value)));
    } catch {
      return "is not JSON";
    }
  };
}

function text(isRight: (value: string) => boolean, expected: string): ColumnRule {
  return (value) => (typeof value === "string" && isRight(value) ? undefined : expectedOf(expected, value));
}

function number(isRight: (value: number) => boolean, expected: string): ColumnRule {
  return (value) => (typeof value === "number" && isRight(value) ? undefined : expectedOf(expected, value));
}

function whole(minimum: number, maximum = Number.MAX_SAFE_INTEGER): ColumnRule {
  const isRight = (value: number): boolean =>
    Number.isSafeInteger(value) && value >= minimum && value <= maximum;
  return number(isRight, `a whole number from ${minimum} to ${maximum}`);
}

function orNull(rule: ColumnRule): ColumnRule {
  return (value) => (value === null ? undefined : rule(value));
}

function expectedOf(expected: string, value: unknown): string {
  return `expected ${expected}; got ${printableLiteral(value)}`;
}

/**
 * Checks the address of an endpoint except for its host; whether this sandbox may send to the host is decided before
 * sending.
 */
function addressForm(value: unknown): string | undefined {
  const address = String(value);
  const allowedHosts = URL.canParse(address) ? [new URL(address).hostname] : [];
  const read = parseTarget(address, { allowedHosts, ownPort: 0 });
  if (!read.ok) return read.refusal.message;
  return read.value.url === address ? undefined : expectedOf(read.value.url, address);
}

function isDeliveryFaultHeader(value: string): boolean {
  const met = readFaultHeader(value);
  return met !== undefined && !isApiAction(met.action);
}
