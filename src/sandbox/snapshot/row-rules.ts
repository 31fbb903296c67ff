import { MAX_PRICES } from "../../core/checkout/checkout.ts";
import { isMoment, toIso, storeNow } from "../../core/clock.ts";
import { requestedPrice } from "../../core/config/store-fields.ts";
import { faultRequest } from "../../core/fault/shapes.ts";
import { requestedFaults } from "../../core/fault/terms.ts";
import type { AdministratorAction } from "../../core/readiness/names.ts";
import { isSigningSecret, openSecret } from "../../core/sealed-secret.ts";
import { isReasonOf, type EndpointState } from "../../core/webhook/endpoint.ts";
import { parseTarget, type TargetPolicy } from "../../core/webhook/target.ts";
import { valuesOf } from "../../store/connection/statements.ts";
import type { NamedRow } from "../../store/snapshot/rows.ts";
import { MAX_RETURN_ORIGINS } from "../checkout/return-origins.ts";
import { MAX_FAULTS } from "../fault/faults.ts";
import { MAX_ENDPOINTS } from "../webhook/endpoints.ts";
import { actionRequest, note } from "../../core/readiness/shapes.ts";

/** The context in which rows are validated. */
export type RuleContext = {
  /** Real time, in milliseconds. */
  readonly now: number;
  /** The addresses to which this sandbox may send. */
  readonly targets: TargetPolicy;
  /**
   * Whether an administrator restores the snapshot. Only an administrator may approve production or open its gate
   * (decision 20).
   */
  readonly isAdministrator: boolean;
  /** The encryption key of the snapshot's secrets. */
  readonly key: Uint8Array;
};

/** The rule that a row breaks although each of its columns is valid; undefined if it breaks none. */
type RowRule = (row: NamedRow, context: RuleContext) => string | undefined;

/** Rules for whole rows, checked with the functions that validate those rows when they are written. */
export const ROW_RULES: Readonly<Record<string, RowRule>> = {
  stores: ({ clock_offset: offset }, { now }) =>
    isMoment(storeNow({ offsetMs: Number(offset), frozenAt: null }, now))
      ? undefined
      : "clock_offset: the clock is beyond the years 0 to 9999",
  capabilities: ({ kind, name }) =>
    messageOf(
      "name",
      (kind === "currency" ? requestedPrice.shape.currency : requestedPrice.shape.paymentMethod).safeParse(
        name,
      ),
    ),
  endpoints: (row, { targets }) => {
    const [state, reason] = [row["state"] as EndpointState, row["reason"] as string | null];
    if (!isReasonOf(state, reason)) return `reason: not a reason for the state ${state}`;
    if (row["removed_at"] !== null) return undefined;
    const target = parseTarget(String(row["url"]), targets);
    return target.ok ? undefined : `url: ${target.refusal.message}`;
  },
  signing_secrets: (row, { key }) => {
    const sealed = {
      id: String(row["id"]),
      storeId: String(row["store_id"]),
      nonce: row["nonce"] as Uint8Array,
      sealed: row["sealed"] as Uint8Array,
    };
    const secret = openSecret(sealed, key);
    if (secret === undefined) return "sealed: the key of the snapshot does not decrypt it";
    return isSigningSecret(secret) ? undefined : "sealed: it contains no signing secret";
  },
  deliveries: ({ cause, in_order: inOrder }) =>
    inOrder === 1 && cause !== "event"
      ? `in_order: a ${String(cause)} does not wait for other events`
      : undefined,
  faults: faultRule,
  admin_acts: ({ action, subject, note: text }, { isAdministrator }) => {
    if (!isAdministrator && OPENS_PRODUCTION.has(action))
      return "action: only an administrator of this sandbox may approve production or open its gate";
    const noted = text === null ? {} : { note: text };
    if (action !== "request_production")
      return messageOf(
        "act",
        actionRequest.safeParse({ action, ...noted, ...(subject === null ? {} : { subject }) }),
      );
    if (subject !== null) return "subject: must be empty for a request for production";
    return text === null ? undefined : messageOf("note", note.safeParse(text));
  },
  drills: ({ passed, steps }) => {
    const each = JSON.parse(String(steps)) as readonly { readonly passed: boolean }[];
    return each.every((step) => step.passed) === (passed === 1)
      ? undefined
      : "passed: does not match the steps";
  },
};

const OPENS_PRODUCTION: ReadonlySet<unknown> = new Set<AdministratorAction>([
  "approve_credential",
  "open_gate",
]);

/** The rows of a store that are counted together, and the maximum number of them. */
type RowLimit = { readonly most: number; readonly of: (row: NamedRow) => string | undefined };

/** The maximum number of rows of a store. */
export const ROW_LIMITS: Readonly<Record<string, readonly RowLimit[]>> = {
  endpoints: [
    { most: MAX_ENDPOINTS, of: (row) => (isLive(row, "url") ? "endpoints" : undefined) },
    { most: 1, of: (row) => (isLive(row, "url") ? `endpoints of ${String(row["url"])}` : undefined) },
    { most: 1, of: (row) => (isLive(row, "listener") ? "listeners" : undefined) },
  ],
  prices: [{ most: MAX_PRICES, of: () => "prices" }],
  return_origins: [{ most: MAX_RETURN_ORIGINS, of: () => "return origins" }],
  faults: [{ most: MAX_FAULTS, of: () => "faults" }],
};

function isLive({ kind, removed_at: removedAt }: NamedRow, wanted: string): boolean {
  return kind === wanted && removedAt === null;
}

/** Validates a fault by parsing it as a request for a new fault: the parsed fault must have the same values. */
function faultRule(row: NamedRow): string | undefined {
  const { id: _id, storeId: _storeId, matched: _matched, applied: _applied, ...values } = valuesOf(row);
  const {
    createdAt: _createdAt,
    action,
    status,
    latencyMs,
    retryAfterS,
    times,
    until,
    seed,
    ...match
  } = values;
  const ends = until === null ? null : toIso(Number(until));
  const parsed = faultRequest.safeParse({
    action,
    match: nonNullFields(match),
    ...nonNullFields({ status, latencyMs, retryAfterS, times, until: ends, seed }),
  });
  if (!parsed.success) return messageOf("fault", parsed);
  const terms = requestedFaults(parsed.data);
  if (!terms.ok) return terms.refusal.message;
  const [made] = terms.value;
  const isSame =
    made !== undefined &&
    (["status", "latencyMs", "retryAfterS", "times"] as const).every((name) => made[name] === values[name]);
  return isSame ? undefined : `fault: ${String(action)} has too few fields`;
}

/** The fields that are not null. */
function nonNullFields(fields: NamedRow): NamedRow {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

type ParseResult = {
  readonly error?: {
    readonly issues: readonly { readonly message: string; readonly path: readonly PropertyKey[] }[];
  };
};

function messageOf(what: string, { error }: ParseResult): string | undefined {
  const [issue] = error?.issues ?? [];
  return issue && `${[what, ...issue.path].map(String).join(".")}: ${issue.message}`;
}
