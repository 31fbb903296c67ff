import { mapped, type Outcome } from "../../../../core/outcome.ts";
import { storePath } from "../forms.ts";
import { act, page, pageOf, showing, type PortalRoute } from "../route.ts";
import type { PortalContext, View } from "../view.ts";
import { catalogPage, readPrice } from "./catalog-page.ts";
import { clockPage, movedLines, readMove } from "./clock-page.ts";
import { faultsPage, readFault } from "./faults-page.ts";
import { keysPage, readScopes } from "./keys-page.ts";
import { readOrigin, settingsPage } from "./settings-page.ts";
import { startPage } from "./start-page.ts";
import { readNamed, readStore, storesPage } from "./stores-page.ts";

type Fields = ReadonlyMap<string, string>;

const CATALOG = showing("storeSummary", catalogPage);
const KEYS = showing("listKeys", keysPage);
const SETTINGS = showing("storeSummary", settingsPage);
const FAULTS = showing("listFaults", faultsPage);

/** The pages of a store itself: start, catalog, keys, settings, clock, faults, stores. */
export const STORE_ROUTES: readonly PortalRoute[] = [
  pageOf("/portal/{store_id}/start", "storeSummary", startPage),
  act("/portal/{store_id}/start/key", {
    operation: "createKey",
    reveals: ({ apiKey }) => apiKey,
  }),
  act("/portal/{store_id}/start/secret", {
    operation: "storeAccess",
    reveals: ({ signingSecret }) => signingSecret,
  }),

  page("/portal/{store_id}/catalog", CATALOG),
  act("/portal/{store_id}/catalog", {
    operation: "addPrice",
    parse: readPrice,
    form: { page: CATALOG, field: "price_id", names: { id: "price_id" } },
  }),
  act("/portal/{store_id}/catalog/retire", {
    operation: "retirePrice",
    read: (fields) => ({ id: fields.get("price_id") }),
  }),

  page("/portal/{store_id}/keys", KEYS),
  act("/portal/{store_id}/keys", {
    operation: "createKey",
    read: readScopes,
    reveals: ({ apiKey }) => apiKey,
    form: { page: KEYS, field: "scopes" },
  }),
  act("/portal/{store_id}/keys/{id}/revoke", {
    operation: "revokeKey",
  }),

  page("/portal/{store_id}/settings", SETTINGS),
  act("/portal/{store_id}/settings/return-origins", {
    operation: "changeReturnOrigins",
    read: readOrigin,
    form: { page: SETTINGS, field: "origin" },
  }),
  act("/portal/{store_id}/settings/return-origins/remove", {
    operation: "changeReturnOrigins",
    read: (fields) => ({ action: "remove", origin: fields.get("origin") ?? "" }),
  }),

  page("/portal/{store_id}/clock", clockPage),
  act("/portal/{store_id}/clock", {
    operation: "moveClock",
    parse: readMove,
    reveals: movedLines,
    form: { page: clockPage, names: { by_ms: "by" } },
  }),

  page("/portal/{store_id}/faults", FAULTS),
  act("/portal/{store_id}/faults", {
    operation: "addFault",
    parse: readFault,
    form: { page: FAULTS, names: { latency_ms: "latency" } },
  }),
  act("/portal/{store_id}/faults/{id}/remove", { operation: "removeFault" }),
  act("/portal/{store_id}/faults/clear", { operation: "clearFaults" }),

  page("/portal/{store_id}/stores", storesPage),
  act("/portal/{store_id}/stores", {
    operation: "createStore",
    read: readStore,
    leadsTo: (_view, { storeId }) => storePath({ storeId }, "/start"),
    reveals: ({ apiKey }) => apiKey,
  }),
  act("/portal/stores/reset", {
    operation: "reset",
    parse: resetNamed,
    leadsTo: (_view, { stores }) => storesOf(stores),
  }),
  act("/portal/{store_id}/delete", {
    operation: "deleteStore",
    parse: (fields, { context, view }) =>
      mapped(readNamed(fields, { context, storeId: view.storeId }), () => ({})),
    leadsTo: () => "/portal",
  }),

  act("/portal/{store_id}/snapshots", {
    operation: "createStoreSnapshot",
    read: nameIn,
    leadsTo: toStores,
  }),
  act("/portal/{store_id}/snapshots/all", {
    operation: "createSnapshot",
    read: nameIn,
    leadsTo: toStores,
  }),
  // Not below a store, as `reset`: it waits until nobody is in the stores that it replaces.
  act("/portal/snapshots/restore", {
    operation: "restoreSnapshot",
    read: nameIn,
    leadsTo: (_view, { stores }) => storesOf(stores),
  }),
  act("/portal/{store_id}/snapshots/remove", {
    operation: "removeSnapshot",
    read: nameIn,
    leadsTo: toStores,
  }),
];

function toStores(view: View): string {
  return storePath(view, "/stores");
}

function nameIn(fields: Fields): unknown {
  return { name: fields.get("name") };
}

function resetNamed(fields: Fields, { context }: { readonly context: PortalContext }): Outcome<unknown> {
  return mapped(readNamed(fields, { context, storeId: fields.get("store") ?? "" }), (named) => ({
    store: named,
  }));
}

/** The page of the stores, seen from the first one of a few. */
function storesOf(stores: readonly { readonly storeId: string }[]): string {
  const [first] = stores;
  return first === undefined ? "/portal" : storePath(first, "/stores");
}
