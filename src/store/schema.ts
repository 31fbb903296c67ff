import { CAPABILITIES_DDL } from "./capabilities.ts";
import { ATTEMPTS_DDL, OPEN_ATTEMPTS_DDL } from "./checkout/attempts.ts";
import { CHECKOUTS_DDL } from "./checkout/checkouts.ts";
import { EVENTS_DDL } from "./checkout/events.ts";
import { IDEMPOTENCY_KEYS_DDL } from "./checkout/idempotency-keys.ts";
import { PAGE_VIEWS_DDL } from "./checkout/page-views.ts";
import { PRICES_DDL } from "./checkout/prices.ts";
import { RETURN_ORIGINS_DDL } from "./checkout/return-origins.ts";
import { SETTLEMENTS_DDL } from "./checkout/settlements.ts";
import type { FileKind } from "./connection/database.ts";
import { LOG_MARK_DDL, LOG_OPENINGS_MIGRATION } from "./connection/opening.ts";
import { CREDENTIALS_DDL } from "./credentials.ts";
import { ERASURES_DDL } from "./erasures.ts";
import { FAULTS_DDL } from "./fault/faults.ts";
import { HELD_STORES_DDL } from "./held-stores.ts";
import { HOME_DDL, INSTANCE_DDL } from "./instance.ts";
import { ADMIN_ACTIONS_DDL } from "./readiness/admin-actions.ts";
import { ASSUMPTION_USES_DDL } from "./readiness/assumption-uses.ts";
import { DRILLS_DDL } from "./readiness/drills.ts";
import { EXPLORATIONS_DDL } from "./readiness/explorations.ts";
import { EXPLORE_LEASES_DDL, LEASE_EFFECTS_DDL } from "./readiness/lease-effects.ts";
import { IDEMPOTENCY_USES_DDL } from "./readiness/idempotency-uses.ts";
import { WAIVERS_DDL } from "./readiness/waivers.ts";
import { STORE_DIALECT_DDL, STORE_DIALECT_NAMES_MIGRATION, STORES_DDL } from "./stores.ts";
import { TOKENS_DDL } from "./tokens.ts";
import { DELIVERIES_DDL } from "./webhook/deliveries.ts";
import { DELIVERY_ROWS_DDL, NEW_DELIVERIES_DDL } from "./webhook/delivery-rows.ts";
import { DELIVERY_QUEUES_DDL, DUE_DELIVERIES_DDL, REPLAY_QUEUES_DDL } from "./webhook/delivery-queues.ts";
import {
  ATTEMPT_FACTS_DDL,
  ATTEMPT_ROWS_DDL,
  DELIVERY_ATTEMPTS_DDL,
  REPLAYED_ATTEMPTS_DDL,
} from "./webhook/delivery-attempts.ts";
import { ENDPOINT_CA_DDL, ENDPOINT_REASONS_DDL, ENDPOINTS_DDL } from "./webhook/endpoints.ts";
import { SIGNING_SECRETS_DDL } from "./webhook/signing-secrets.ts";

/**
 * Tables come after the tables they refer to. Lengths are checked in bytes, because SQLite's length() stops at a NUL;
 * all functions exist since SQLite 3.37 (decision 60).
 */
const FIRST_TABLES = [
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
  PAGE_VIEWS_DDL,
  SETTLEMENTS_DDL,
  DELIVERIES_DDL,
  DELIVERY_ATTEMPTS_DDL,
  FAULTS_DDL,
  ADMIN_ACTIONS_DDL,
  DRILLS_DDL,
  WAIVERS_DDL,
  IDEMPOTENCY_USES_DDL,
  ASSUMPTION_USES_DDL,
  ERASURES_DDL,
  HELD_STORES_DDL,
  HOME_DDL,
  INSTANCE_DDL,
  LOG_MARK_DDL,
];

/** Each ALTER directly follows its CREATE TABLE, because an ALTER takes longer the more tables exist. */
const CURRENT_DDL: ReadonlyMap<string, string> = new Map([
  [STORES_DDL, STORES_DDL + STORE_DIALECT_DDL],
  [ENDPOINTS_DDL, ENDPOINTS_DDL + ENDPOINT_CA_DDL],
  [ATTEMPTS_DDL, ATTEMPTS_DDL + OPEN_ATTEMPTS_DDL],
  [DELIVERIES_DDL, NEW_DELIVERIES_DDL + REPLAY_QUEUES_DDL],
  [DELIVERY_ATTEMPTS_DDL, ""],
]);

const CURRENT_TABLES = [
  ...FIRST_TABLES.map((ddl) => CURRENT_DDL.get(ddl) ?? ddl),
  EXPLORATIONS_DDL,
  EXPLORE_LEASES_DDL,
  LEASE_EFFECTS_DDL,
  TOKENS_DDL,
].join("");

export const SANDBOX_FILE: FileKind = {
  name: "checkout sandbox",
  applicationId: 0x636b5342,
  firstVersion: 30,
  migrations: [
    FIRST_TABLES.join(""),
    DELIVERY_QUEUES_DDL,
    EXPLORATIONS_DDL,
    EXPLORE_LEASES_DDL,
    REPLAYED_ATTEMPTS_DDL,
    ATTEMPT_FACTS_DDL,
    ENDPOINT_CA_DDL,
    LOG_OPENINGS_MIGRATION,
    ENDPOINT_REASONS_DDL,
    DUE_DELIVERIES_DDL + ATTEMPT_ROWS_DDL,
    DELIVERY_ROWS_DDL + OPEN_ATTEMPTS_DDL,
    REPLAY_QUEUES_DDL,
    STORE_DIALECT_DDL,
    TOKENS_DDL,
    STORE_DIALECT_NAMES_MIGRATION,
    LEASE_EFFECTS_DDL,
  ],
  tables: { version: 45, sql: CURRENT_TABLES },
  filesToMoveAway: "all but journal.db* in its folder",
};
