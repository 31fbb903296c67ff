import { accept, type Outcome } from "../core/outcome.ts";
import { adminActionsTable } from "./readiness/admin-actions.ts";
import { assumptionUsesTable } from "./readiness/assumption-uses.ts";
import { attemptsTable } from "./checkout/attempts.ts";
import { capabilitiesTable } from "./capabilities.ts";
import { checkoutLists } from "./checkout/checkout-lists.ts";
import { checkoutsTable } from "./checkout/checkouts.ts";
import { clocksTable } from "./clocks.ts";
import { credentialsTable } from "./credentials.ts";
import { IN_MEMORY, type Connection, type FileRefusal, type OpenOptions } from "./connection/database.ts";
import { deliveriesTable } from "./webhook/deliveries.ts";
import { deliveryHealth } from "./webhook/delivery-health.ts";
import { deliveryAttemptsTable } from "./webhook/delivery-attempts.ts";
import { drillsTable } from "./readiness/drills.ts";
import { explorationsTable } from "./readiness/explorations.ts";
import { waiversTable } from "./readiness/waivers.ts";
import { endpointsTable } from "./webhook/endpoints.ts";
import { eventsTable } from "./checkout/events.ts";
import { createMarker } from "./connection/log-mark.ts";
import { checkpoint } from "./connection/checkpoint.ts";
import { createGroupCommit, filesLost, type Scheduler } from "./connection/group-commit.ts";
import type { StorageUnavailable } from "./connection/storage-failure.ts";
import { heldStoresTable } from "./held-stores.ts";
import { homeTable, instanceTable } from "./instance.ts";
import { idempotencyKeysTable } from "./checkout/idempotency-keys.ts";
import { idempotencyUsesTable } from "./readiness/idempotency-uses.ts";
import { pageViewsTable } from "./checkout/page-views.ts";
import { pricesTable } from "./checkout/prices.ts";
import { returnOriginsTable } from "./checkout/return-origins.ts";
import { SANDBOX_FILE } from "./schema.ts";
import { signingSecretsTable } from "./webhook/signing-secrets.ts";
import { settlementsTable } from "./checkout/settlements.ts";
import { createClearing, erasuresTable } from "./erasures.ts";
import { snapshotsTable } from "./snapshot/snapshots.ts";
import { storesTable } from "./stores.ts";
import { openWatchedDatabase, type WatchedDatabase } from "./connection/watched-database.ts";
import { faultsTable } from "./fault/faults.ts";

/** The sandbox's state: tables to read at any time, and `write`, the only way to change them. */
export type Store = ReturnType<typeof tables> & {
  /** Runs work in the next group commit; the promise settles when it is on disk. */
  readonly write: ReturnType<typeof createGroupCommit>;
  /**
   * Copies the content of the log into the database file, and resolves once it is on disk. Rejects with
   * StorageUnavailable if another process reads an older state for 2 s.
   */
  readonly checkpoint: () => Promise<void>;
  /** Why writes fail: the cause of the last failed write, or missing files. Writes nothing. */
  readonly failure: () => StorageUnavailable | undefined;
  readonly close: () => void;
  /** Closes an unused store; a log that another process left behind stays unchanged. */
  readonly leave: () => void;
};

/** Opens `sandbox.db`, or a database in memory. A statement never waits for a lock: the group commit retries. */
export function openStore(
  path: string,
  options: Pick<OpenOptions, "nativeBinding" | "pid"> & { readonly scheduler: Scheduler },
): Outcome<Store, FileRefusal> {
  const { nativeBinding, pid, scheduler } = options;
  const opened = openWatchedDatabase(path, { kind: SANDBOX_FILE, nativeBinding, pid });
  if (!opened.ok) return opened;
  const { connection, watch, close, leave } = opened.value;
  connection.pragma("busy_timeout = 0");
  const mark = path === IN_MEMORY ? () => undefined : createMarker(connection);
  let lastFailure: StorageUnavailable | undefined;
  const ended = (failure: StorageUnavailable | undefined): void => void (lastFailure = failure);
  const ofTables = tables(connection, { scheduler, nativeBinding, watch });
  const endWith = (closing: () => void): void => {
    // Their connection would otherwise be the last one on the file.
    ofTables.snapshots.end();
    closing();
  };
  return accept({
    ...ofTables,
    write: createGroupCommit(connection, { ...scheduler, watch, ended, mark }),
    checkpoint: () => checkpoint(opened.value, scheduler),
    failure: () => (watch.isIntact() ? lastFailure : filesLost()),
    close: () => endWith(close),
    leave: () => endWith(leave),
  });
}

function tables(
  connection: Connection,
  {
    scheduler,
    nativeBinding,
    watch,
  }: Pick<OpenOptions, "nativeBinding"> & Pick<WatchedDatabase, "watch"> & { readonly scheduler: Scheduler },
) {
  const stores = storesTable(connection, scheduler);
  const credentials = credentialsTable(connection, scheduler);
  const forgetClocks = (): void => {
    stores.facts.forget();
    credentials.byApiKey.forget();
  };
  const endpoints = endpointsTable(connection, scheduler);
  const faults = faultsTable(connection, scheduler);
  const signingSecrets = signingSecretsTable(connection, scheduler);
  const heldStores = heldStoresTable(connection, scheduler);
  const forgetAll = (): void => {
    forgetClocks();
    heldStores.isHeld.forget();
    endpoints.of.forget();
    faults.of.forget();
    signingSecrets.forget();
  };
  return {
    stores,
    credentials,
    erasures: erasuresTable(connection, forgetAll),
    capabilities: capabilitiesTable(connection, stores.facts.forget),
    clocks: clocksTable(connection, forgetClocks),
    signingSecrets,
    prices: pricesTable(connection),
    checkouts: checkoutsTable(connection),
    checkoutLists: checkoutLists(connection),
    idempotencyKeys: idempotencyKeysTable(connection),
    events: eventsTable(connection),
    attempts: attemptsTable(connection),
    pageViews: pageViewsTable(connection),
    settlements: settlementsTable(connection),
    endpoints,
    deliveries: deliveriesTable(connection),
    deliveryHealth: deliveryHealth(connection),
    deliveryAttempts: deliveryAttemptsTable(connection),
    faults,
    adminActs: adminActionsTable(connection),
    drills: drillsTable(connection),
    waivers: waiversTable(connection),
    explorations: explorationsTable(connection),
    idempotencyUses: idempotencyUsesTable(connection),
    assumptionUses: assumptionUsesTable(connection),
    returnOrigins: returnOriginsTable(connection),
    home: homeTable(connection),
    heldStores,
    instance: instanceTable(connection),
    snapshots: snapshotsTable(connection, {
      nativeBinding,
      clearing: createClearing(connection),
      changed: forgetAll,
      isIntact: watch.isIntact,
      pause: () => new Promise((resolve) => scheduler.soon(resolve)),
    }),
  };
}
