import * as z from "zod/mini";
import { CREATE_FIELDS, fieldFault } from "../checkout/create-request.ts";
import { parseIdempotencyKey } from "../checkout/idempotency-key.ts";
import { isFormattedReturnOrigin, parseReturnOrigin, parseReturnPath } from "../checkout/return-origin.ts";
import { isMoment } from "../clock.ts";
import { givenId, merchantName, requestedPrice } from "../config/store-fields.ts";
import { isEndOfKey } from "../credential.ts";
import { ERRORS } from "../errors.ts";
import { DELIVERY_ACTIONS, isApiAction } from "../fault/actions.ts";
import { parseFaultHeader } from "../fault/fault.ts";
import { parseCertificates } from "../webhook/certificates.ts";
import { attemptFacts } from "../network/connection-fault.ts";
import type { Outcome } from "../outcome.ts";
import { ASSUMPTIONS } from "../calibration/assumptions.ts";
import { isUuid, printableLiteral, redactSecrets } from "../text.ts";
import { ATTEMPT_MAKERS, DELIVERY_ERRORS, MAX_DELIVERY_ATTEMPTS } from "../webhook/delivery.ts";
import { parseEventTypes } from "../checkout/event-types.ts";
import { parseTarget } from "../webhook/target.ts";
import { drillResult } from "../readiness/drill-shapes.ts";
import { keyScopes } from "../store/shapes.ts";
import { exploration } from "../explore/shapes.ts";
import { note } from "../readiness/shapes.ts";

/** The fault of a column's value; undefined if an operation of the sandbox could have written the value. */
type ColumnRule = (value: unknown) => string | undefined;

/** SQLite has already checked the value: a CHECK of the table repeats the core's rule. */
const CHECKED_BY_SQLITE: ColumnRule = () => undefined;
/** SQLite has already found the referenced row. */
const CHECKED_BY_REFERENCE: ColumnRule = () => undefined;
/** The value is judged with the rest of the row, or with the row's checkout (`row-rules.ts`). */
const CHECKED_WITH_ROW: ColumnRule = () => undefined;

const id = schemaRule(givenId);
const moment = number(isMoment, "a time in the years 0 to 9999");
const count = whole(0);
const place = whole(1);
const sha256 = textRule((value) => /^[0-9a-f]{64}$/.test(value), "a SHA-256 in hex");
const keptText = (value: unknown): string | undefined =>
  schemaRule(note)(value) ?? (redactSecrets(String(value)) === value ? undefined : "contains a secret");
/** The fields that a create can send; SQLite has already checked which fields are present. */
const CREATE_FIELD_RULES = Object.fromEntries(
  CREATE_FIELDS.map((name) => [name, orNull((value) => fieldFault(name, value))]),
);

const KNOWN_DECISIONS: ReadonlySet<number> = new Set([
  ...ASSUMPTIONS.map(({ decision }) => decision),
  ...Object.values(ERRORS).flatMap((row) => ("decision" in row ? [row.decision] : [])),
]);

/**
 * The rule of each column in each table that a snapshot restores: the checks that the operations use. A column without
 * a rule cannot be restored.
 */
export const COLUMN_RULES: Readonly<Record<string, Readonly<Record<string, ColumnRule>>>> = {
  merchants: { id, name: schemaRule(merchantName), created_at: moment },
  stores: {
    id,
    merchant_id: CHECKED_BY_REFERENCE,
    name: acceptStoreName,
    active: CHECKED_BY_SQLITE,
    created_at: moment,
    clock_offset: CHECKED_WITH_ROW,
    clock_frozen_at: orNull(moment),
  },
  held_stores: { store_id: CHECKED_BY_REFERENCE },
  capabilities: {
    store_id: CHECKED_BY_REFERENCE,
    kind: CHECKED_BY_SQLITE,
    name: CHECKED_WITH_ROW,
    active: CHECKED_BY_SQLITE,
  },
  credentials: {
    id,
    store_id: CHECKED_BY_REFERENCE,
    key_hash: sha256,
    last_four: textRule(isEndOfKey, "the last four characters of a key"),
    scopes: (value) => schemaRule(keyScopes)(String(value).split(" ")),
    created_at: moment,
    revoked_at: orNull(moment),
    for_drill: CHECKED_BY_SQLITE,
  },
  endpoints: {
    id,
    store_id: CHECKED_BY_REFERENCE,
    kind: CHECKED_BY_SQLITE,
    url: addressForm,
    event_types: parserRule((value) => parseEventTypes(value.split(" "))),
    state: CHECKED_BY_SQLITE,
    reason: CHECKED_WITH_ROW,
    failing_since: orNull(moment),
    created_at: moment,
    removed_at: orNull(moment),
    in_order: CHECKED_BY_SQLITE,
    ca: orNull(parserRule(parseCertificates)),
  },
  signing_secrets: {
    id,
    store_id: CHECKED_BY_REFERENCE,
    nonce: CHECKED_BY_SQLITE,
    sealed: CHECKED_WITH_ROW,
    created_at: moment,
    retired_at: orNull(moment),
    endpoint_id: CHECKED_BY_REFERENCE,
  },
  prices: {
    store_id: CHECKED_BY_REFERENCE,
    id: schemaRule(requestedPrice.shape.id),
    description: schemaRule(requestedPrice.shape.description),
    amount_minor: schemaRule(requestedPrice.shape.amountMinor),
    currency: schemaRule(requestedPrice.shape.currency),
    payment_method: schemaRule(requestedPrice.shape.paymentMethod),
    approved: CHECKED_BY_SQLITE,
    billing_model: schemaRule(requestedPrice.shape.billingModel),
    retired: CHECKED_BY_SQLITE,
  },
  checkouts: {
    id,
    store_id: CHECKED_BY_REFERENCE,
    object: CHECKED_BY_SQLITE,
    ...CREATE_FIELD_RULES,
    status: CHECKED_BY_SQLITE,
    created_at: moment,
    expires_at: moment,
  },
  return_origins: {
    store_id: CHECKED_BY_REFERENCE,
    origin: parserRule(parseReturnOrigin),
    created_at: moment,
    path: parserRule(parseReturnPath),
  },
  idempotency_keys: {
    store_id: CHECKED_BY_REFERENCE,
    key: parserRule((value) => parseIdempotencyKey([value])),
    fingerprint: CHECKED_WITH_ROW,
    status: CHECKED_BY_SQLITE,
    request_id: id,
    body: CHECKED_WITH_ROW,
    checkout_id: CHECKED_BY_REFERENCE,
    created_at: moment,
  },
  events: {
    position: place,
    id,
    store_id: CHECKED_BY_REFERENCE,
    checkout_id: CHECKED_BY_REFERENCE,
    type: CHECKED_WITH_ROW,
    sequence: place,
    body: CHECKED_WITH_ROW,
    created_at: moment,
  },
  attempts: {
    checkout_id: CHECKED_BY_REFERENCE,
    number: CHECKED_BY_SQLITE,
    started_at: moment,
    outcome: CHECKED_BY_SQLITE,
    finished_at: orNull(moment),
  },
  late_results: {
    checkout_id: CHECKED_BY_REFERENCE,
    attempt: CHECKED_BY_REFERENCE,
    result: CHECKED_BY_SQLITE,
    recorded_at: moment,
  },
  settlements: {
    checkout_id: CHECKED_BY_REFERENCE,
    store_id: CHECKED_BY_REFERENCE,
    outcome: CHECKED_BY_SQLITE,
    due_at: moment,
  },
  deliveries: {
    id,
    store_id: CHECKED_BY_REFERENCE,
    endpoint_id: CHECKED_BY_REFERENCE,
    event_id: CHECKED_BY_REFERENCE,
    checkout_id: CHECKED_BY_REFERENCE,
    sequence: CHECKED_WITH_ROW,
    cause: CHECKED_BY_SQLITE,
    in_order: CHECKED_WITH_ROW,
    state: CHECKED_BY_SQLITE,
    tries: whole(0, MAX_DELIVERY_ATTEMPTS),
    next_at: moment,
    created_at: moment,
    fault: orNull(textRule(isDeliveryFaultHeader, "a fault of deliveries and its id")),
    // Derived from the other columns, and computed again.
    is_head: CHECKED_BY_SQLITE,
  },
  delivery_attempts: {
    delivery_id: CHECKED_BY_REFERENCE,
    number: place,
    started_at: moment,
    url: addressForm,
    headers: json(z.record(z.string(), z.string())),
    body_hash: sha256,
    fault: orNull(schemaRule(z.enum(DELIVERY_ACTIONS))),
    finished_at: moment,
    milliseconds: orNull(count),
    address: orNull(schemaRule(z.union([z.ipv4(), z.ipv6()]))),
    status: orNull(whole(100, 999)),
    error: orNull(schemaRule(z.enum(DELIVERY_ERRORS))),
    answer: CHECKED_BY_SQLITE,
    next_at: orNull(moment),
    made_by: orNull(schemaRule(z.enum(ATTEMPT_MAKERS))),
    facts: orNull(json(attemptFacts)),
  },
  faults: {
    id,
    store_id: CHECKED_BY_REFERENCE,
    action: CHECKED_WITH_ROW,
    method: CHECKED_WITH_ROW,
    path: CHECKED_WITH_ROW,
    event_type: CHECKED_WITH_ROW,
    event_id: CHECKED_BY_REFERENCE,
    endpoint_id: CHECKED_BY_REFERENCE,
    order_id: CHECKED_WITH_ROW,
    nth: CHECKED_WITH_ROW,
    probability: CHECKED_WITH_ROW,
    seed: CHECKED_WITH_ROW,
    status: CHECKED_WITH_ROW,
    latency_ms: CHECKED_WITH_ROW,
    retry_after_s: CHECKED_WITH_ROW,
    times: CHECKED_WITH_ROW,
    until: orNull(moment),
    matched: count,
    applied: count,
    created_at: moment,
  },
  admin_acts: {
    position: place,
    store_id: CHECKED_BY_REFERENCE,
    actor: CHECKED_BY_SQLITE,
    action: CHECKED_WITH_ROW,
    subject: CHECKED_WITH_ROW,
    note: orNull(keptText),
    at: moment,
  },
  drills: {
    id,
    store_id: CHECKED_BY_REFERENCE,
    kind: CHECKED_BY_SQLITE,
    subject: schemaRule(drillResult.shape.subject),
    passed: CHECKED_WITH_ROW,
    steps: json(drillResult.shape.steps),
    at: moment,
  },
  idempotency_uses: {
    position: place,
    store_id: CHECKED_BY_REFERENCE,
    key: parserRule((value) => parseIdempotencyKey([value])),
    kind: CHECKED_BY_SQLITE,
    request_id: id,
    at: moment,
  },
  assumption_uses: {
    store_id: CHECKED_BY_REFERENCE,
    decision: number((value) => KNOWN_DECISIONS.has(value), "a decision that can be relied on"),
    first_request_id: id,
    first_at: moment,
  },
  waivers: {
    position: place,
    store_id: CHECKED_BY_REFERENCE,
    drill: CHECKED_BY_SQLITE,
    reason: keptText,
    at: moment,
  },
  explorations: {
    store_id: CHECKED_BY_REFERENCE,
    schedules: CHECKED_BY_SQLITE,
    broken: CHECKED_BY_SQLITE,
    places: json(exploration.shape.places),
    at: moment,
  },
  page_views: {
    checkout_id: CHECKED_BY_REFERENCE,
    kind: CHECKED_BY_SQLITE,
    number: CHECKED_BY_SQLITE,
    at: moment,
    target: orNull(textRule(isFormattedReturnOrigin, "the address of a return origin")),
  },
};

/** Checks a value with the schema of an operation's request. */
function schemaRule(one: z.ZodMiniType): ColumnRule {
  return (value) => one.safeParse(value, { jitless: true }).error?.issues[0]?.message;
}

/** Checks a value with the parser of an operation. */
function parserRule(parse: (value: string) => Outcome<unknown>): ColumnRule {
  return (value) => {
    const read = parse(String(value));
    return read.ok ? undefined : read.refusal.message;
  };
}

/**
 * Accepts any store name that some version allowed; `displayStoreName` marks a name that looks like another (decision
 * 114).
 */
function acceptStoreName(value: unknown): string | undefined {
  const isTyped = value === "default" || value === "new" || isUuid(String(value));
  return isTyped ? expectedOf("the name of a store", value) : schemaRule(merchantName)(value);
}

function json(one: z.ZodMiniType): ColumnRule {
  const read = schemaRule(one);
  return (value) => {
    try {
      return read(JSON.parse(String(value)));
    } catch {
      return "is not JSON";
    }
  };
}

function textRule(isRight: (value: string) => boolean, expected: string): ColumnRule {
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
  const appliedFault = parseFaultHeader(value);
  return appliedFault !== undefined && !isApiAction(appliedFault.action);
}
