import { accept, type Outcome } from "../core/outcome.ts";
import { adminActsTable } from "./admin-acts.ts";
import { assumptionUsesTable } from "./assumption-uses.ts";
import { attemptsTable } from "./attempts.ts";
import { capabilitiesTable } from "./capabilities.ts";
import { checkoutsTable } from "./checkouts.ts";
import { clocksTable } from "./clocks.ts";
import { credentialsTable } from "./credentials.ts";
import {
  createPresenceCheck,
  openDatabase,
  type Connection,
  type FileKind,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { deliveriesTable } from "./deliveries.ts";
import { deliveryAttemptsTable } from "./delivery-attempts.ts";
import { drillsTable } from "./drills.ts";
import { endpointsTable } from "./endpoints.ts";
import { eventsTable } from "./events.ts";
import { createGroupCommit, type Scheduler } from "./group-commit.ts";
import { idempotencyKeysTable } from "./idempotency-keys.ts";
import { idempotencyUsesTable } from "./idempotency-uses.ts";
import { pricesTable } from "./prices.ts";
import { returnOriginsTable } from "./return-origins.ts";
import { SANDBOX_MIGRATIONS } from "./schema.ts";
import { signingSecretsTable } from "./signing-secrets.ts";
import { settlementsTable } from "./settlements.ts";
import { storesTable } from "./stores.ts";
import { troublesTable } from "./troubles.ts";

/** The kind of `sandbox.db`: "ckSB" in its header. */
export const SANDBOX_FILE: FileKind = {
  name: "checkout sandbox",
  applicationId: 0x636b5342,
  migrations: SANDBOX_MIGRATIONS,
};

/** The sandbox's state: tables to read at any time, and `write`, the only way to change them. */
export type Store = ReturnType<typeof tables> & {
  /** Runs work in the next group commit; the promise settles when it is on disk. */
  readonly write: ReturnType<typeof createGroupCommit>;
  readonly close: () => void;
};

/** Opens `sandbox.db`, or a database in memory. The writer never waits for a lock inside a statement: see group-commit.ts. */
export function openStore(
  path: string,
  options: Pick<OpenOptions, "nativeBinding"> & { readonly scheduler: Scheduler },
): Outcome<Store, FileRefusal> {
  const opened = openDatabase(path, {
    kind: SANDBOX_FILE,
    nativeBinding: options.nativeBinding,
  });
  if (!opened.ok) return opened;
  const connection = opened.value;
  connection.pragma("busy_timeout = 0");
  return accept({
    ...tables(connection, options.scheduler),
    write: createGroupCommit(connection, { ...options.scheduler, isPresent: createPresenceCheck(path) }),
    close: () => connection.close(),
  });
}

function tables(connection: Connection, scheduler: Scheduler) {
  const stores = storesTable(connection, scheduler);
  const credentials = credentialsTable(connection, scheduler);
  const forgetClocks = (): void => {
    stores.facts.forget();
    credentials.byApiKey.forget();
  };
  return {
    stores,
    credentials,
    capabilities: capabilitiesTable(connection, stores.facts.forget),
    clocks: clocksTable(connection, forgetClocks),
    signingSecrets: signingSecretsTable(connection),
    prices: pricesTable(connection),
    checkouts: checkoutsTable(connection),
    idempotencyKeys: idempotencyKeysTable(connection),
    events: eventsTable(connection),
    attempts: attemptsTable(connection),
    settlements: settlementsTable(connection),
    endpoints: endpointsTable(connection, scheduler),
    deliveries: deliveriesTable(connection),
    deliveryAttempts: deliveryAttemptsTable(connection),
    troubles: troublesTable(connection),
    adminActs: adminActsTable(connection),
    drills: drillsTable(connection),
    idempotencyUses: idempotencyUsesTable(connection),
    assumptionUses: assumptionUsesTable(connection),
    returnOrigins: returnOriginsTable(connection),
  };
}
