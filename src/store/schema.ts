import { CAPABILITIES_DDL } from "./capabilities.ts";
import { ATTEMPTS_DDL } from "./checkout/attempts.ts";
import { LISTS_OF_CHECKOUTS_DDL } from "./checkout/checkout-lists.ts";
import { CHECKOUTS_DDL } from "./checkout/checkouts.ts";
import { EVENT_LISTS_DDL, EVENTS_DDL } from "./checkout/events.ts";
import { IDEMPOTENCY_KEYS_DDL } from "./checkout/idempotency-keys.ts";
import { RETURN_ORIGINS_DDL, RETURN_PATHS } from "./checkout/return-origins.ts";
import { PAGE_VIEWS_DDL } from "./checkout/page-views.ts";
import { PRICES_DDL, PRICES_WITH_BILLING } from "./checkout/prices.ts";
import { SETTLEMENTS_DDL } from "./checkout/settlements.ts";
import { CREDENTIALS_DDL, KEYS_OF_DRILLS } from "./credentials.ts";
import { ADMIN_ACTS_DDL, ADMIN_ACTS_ON_PRICES } from "./readiness/admin-acts.ts";
import { ASSUMPTION_USES_DDL } from "./readiness/assumption-uses.ts";
import { DRILLS_DDL, DRILLS_WITH_DUPLICATES } from "./readiness/drills.ts";
import { ERASURES_DDL, RESETS_DDL } from "./erasures.ts";
import { IDEMPOTENCY_USES_DDL } from "./readiness/idempotency-uses.ts";
import { WAIVERS_DDL } from "./readiness/waivers.ts";
import { STORES_DDL } from "./stores.ts";
import { DELIVERY_FAULTS_DDL, FAULTS_DDL } from "./fault/faults.ts";
import { DELIVERIES_DDL, DELIVERY_LISTS_DDL, TRIED_DELIVERIES_DDL } from "./webhook/deliveries.ts";
import { DELIVERY_ATTEMPTS_DDL } from "./webhook/delivery-attempts.ts";
import { ALL_ENDPOINTS_DDL, ENDPOINTS_DDL, ENDPOINTS_IN_ORDER_DDL } from "./webhook/endpoints.ts";
import { SIGNING_SECRETS_DDL } from "./webhook/signing-secrets.ts";
import type { FileKind } from "./connection/database.ts";
import { LOG_MARK_DDL } from "./connection/log-mark.ts";
import { HELD_STORES_DDL } from "./held-stores.ts";
import { HOME_DDL } from "./home.ts";
import { INSTANCE_DDL } from "./instance.ts";

/**
 * Format 10 of `sandbox.db`: each table after those that it refers to. Everything but the merchant carries `store_id`;
 * times are milliseconds since the epoch. The CHECKs repeat the core's rules, so that no other program can write what
 * the core would refuse. Lengths of texts from outside are counted in bytes, four to a character, because SQLite's
 * length() stops at a NUL.
 */
const TABLES = [
  STORES_DDL,
  CAPABILITIES_DDL,
  CREDENTIALS_DDL,
  ENDPOINTS_DDL,
  SIGNING_SECRETS_DDL,
  PRICES_DDL,
  CHECKOUTS_DDL,
  RETURN_ORIGINS_DDL,
  IDEMPOTENCY_KEYS_DDL,
  EVENTS_DDL,
  ATTEMPTS_DDL,
  SETTLEMENTS_DDL,
  DELIVERIES_DDL,
  DELIVERY_ATTEMPTS_DDL,
  DELIVERY_FAULTS_DDL,
  ADMIN_ACTS_DDL,
  DRILLS_DDL,
  IDEMPOTENCY_USES_DDL,
  ASSUMPTION_USES_DDL,
].join("");

/** Format 12: a drill of duplicates, drills that are waived, and API keys that are made for a drill. */
const READINESS = [DRILLS_WITH_DUPLICATES, WAIVERS_DDL, KEYS_OF_DRILLS].join("");

/** Format 15: prices with their billing model, which can be retired, and whose approvals are in the audit log. */
const CATALOG = PRICES_WITH_BILLING + ADMIN_ACTS_ON_PRICES;

/** Format 16: every list of the control API is read by an index. */
const LISTS = [LISTS_OF_CHECKOUTS_DDL, EVENT_LISTS_DDL, DELIVERY_LISTS_DDL, ALL_ENDPOINTS_DDL].join("");

/**
 * The kind of `sandbox.db`: "ckSB" in its header. A migration is never edited: a change of the schema is a new
 * one at the end, written beside its table, with its test.
 */
export const SANDBOX_FILE: FileKind = {
  name: "checkout sandbox",
  applicationId: 0x636b5342,
  migrations: [
    TABLES,
    LOG_MARK_DDL + HOME_DDL,
    READINESS,
    RESETS_DDL,
    RETURN_PATHS,
    CATALOG,
    LISTS,
    ERASURES_DDL,
    ENDPOINTS_IN_ORDER_DDL,
    FAULTS_DDL,
    INSTANCE_DDL,
    PAGE_VIEWS_DDL,
    TRIED_DELIVERIES_DDL,
    HELD_STORES_DDL,
  ],
  aside: "its folder",
};
