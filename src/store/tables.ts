import { adminActionsTable } from "./readiness/admin-actions.ts";
import { assumptionUsesTable } from "./readiness/assumption-uses.ts";
import { attemptsTable } from "./checkout/attempts.ts";
import { capabilitiesTable } from "./capabilities.ts";
import { checkoutLists } from "./checkout/checkout-lists.ts";
import { checkoutsTable } from "./checkout/checkouts.ts";
import { clocksTable } from "./clocks.ts";
import type { Connection } from "./connection/connection.ts";
import type { Scheduler } from "./connection/group-commit.ts";
import { credentialsTable } from "./credentials.ts";
import { deliveriesTable } from "./webhook/deliveries.ts";
import { deliveryHealth } from "./webhook/delivery-health.ts";
import { deliveryAttemptsTable } from "./webhook/delivery-attempts.ts";
import { drillsTable } from "./readiness/drills.ts";
import { explorationsTable } from "./readiness/explorations.ts";
import { leaseEffectsTable } from "./readiness/lease-effects.ts";
import { waiversTable } from "./readiness/waivers.ts";
import { endpointsTable } from "./webhook/endpoints.ts";
import { eventsTable } from "./checkout/events.ts";
import { heldStoresTable } from "./held-stores.ts";
import { homeTable, instanceTable } from "./instance.ts";
import { idempotencyKeysTable } from "./checkout/idempotency-keys.ts";
import { idempotencyUsesTable } from "./readiness/idempotency-uses.ts";
import { pageViewsTable } from "./checkout/page-views.ts";
import { pricesTable } from "./checkout/prices.ts";
import { returnOriginsTable } from "./checkout/return-origins.ts";
import { signingSecretsTable } from "./webhook/signing-secrets.ts";
import { settlementsTable } from "./checkout/settlements.ts";
import { erasuresTable } from "./erasures.ts";
import type { RestoreHooks, Snapshots } from "./snapshot/snapshots.ts";
import { storesTable } from "./stores.ts";
import { tokensTable } from "./tokens.ts";
import { faultsTable } from "./fault/faults.ts";

export function createTables(
  connection: Connection,
  {
    scheduler,
    createSnapshots,
  }: { readonly scheduler: Scheduler; readonly createSnapshots: (hooks: RestoreHooks) => Snapshots },
) {
  const stores = storesTable(connection, scheduler);
  const credentials = credentialsTable(connection, scheduler);
  const emptyClockCaches = (): void => {
    stores.facts.forget();
    credentials.byApiKey.forget();
  };
  const endpoints = endpointsTable(connection, scheduler);
  const faults = faultsTable(connection, scheduler);
  const signingSecrets = signingSecretsTable(connection, scheduler);
  const heldStores = heldStoresTable(connection, scheduler);
  const emptyCaches = (): void => {
    stores.forget();
    credentials.byApiKey.forget();
    heldStores.isHeld.forget();
    endpoints.of.forget();
    faults.of.forget();
    signingSecrets.forget();
  };
  const erasures = erasuresTable(connection, emptyCaches);
  return {
    emptyCaches,
    stores,
    credentials,
    tokens: tokensTable(connection),
    erasures,
    capabilities: capabilitiesTable(connection, stores.facts.forget),
    clocks: clocksTable(connection, emptyClockCaches),
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
    adminActions: adminActionsTable(connection),
    drills: drillsTable(connection),
    waivers: waiversTable(connection),
    explorations: explorationsTable(connection),
    leaseEffects: leaseEffectsTable(connection),
    idempotencyUses: idempotencyUsesTable(connection),
    assumptionUses: assumptionUsesTable(connection),
    returnOrigins: returnOriginsTable(connection),
    home: homeTable(connection),
    heldStores,
    instance: instanceTable(connection),
    snapshots: createSnapshots({ eraseAll: erasures.eraseAll, notifyChange: emptyCaches }),
  };
}
