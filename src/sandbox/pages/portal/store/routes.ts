import type { AnswerOf } from "../../../../core/control/operations.ts";
import { accept, mapped, type Outcome } from "../../../../core/outcome.ts";
import { noStore } from "../../../at-store.ts";
import { storePath } from "../forms.ts";
import { act, page, pageOf, sentOn, showing, type PortalRoute } from "../route.ts";
import { viewOf, type PortalContext, type Said, type View } from "../view.ts";
import { catalogPage, readPrice } from "./catalog-page.ts";
import { MAX_MOVE_MS, movePath } from "./clock-move.ts";
import { clockPage, readMove } from "./clock-page.ts";
import { faultsPage, parseFaultForm } from "./faults-page.ts";
import { keysPage, readScopes } from "./keys-page.ts";
import { readOrigin, settingsPage } from "./settings-page.ts";
import { connectPage } from "./connect-page.ts";
import { isConnected } from "./first-steps.ts";
import { readNamed, readStore, storesPage } from "./stores-page.ts";
import { STORES_TEXTS } from "./texts.ts";

type Fields = ReadonlyMap<string, string>;

const CATALOG = showing("storeSummary", catalogPage);
const KEYS = showing("listKeys", keysPage);
const SETTINGS = showing("storeSummary", settingsPage);
const FAULTS = showing("listFaults", faultsPage);

/** The pages of a store itself: its first one, catalog, keys, settings, clock, faults, stores. */
export const STORE_ROUTES: readonly PortalRoute[] = [
  toFirstPage("/portal/{store_id}/start"),
  pageOf("/portal/{store_id}/connect", "storeSummary", connectPage),
  act("/portal/{store_id}/connect/key", {
    operation: "createKey",
    reveals: ({ apiKey }) => apiKey,
  }),
  act("/portal/{store_id}/connect/secret", {
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
    leadsTo: movePath,
    patience: { ms: MAX_MOVE_MS, leadsTo: (view, context) => movePath(view, undefined, context) },
    form: { page: clockPage, names: { by_ms: "by" } },
  }),

  page("/portal/{store_id}/faults", FAULTS),
  act("/portal/{store_id}/faults", {
    operation: "addFault",
    parse: parseFaultForm,
    form: { page: FAULTS, names: { latency_ms: "latency" } },
  }),
  act("/portal/{store_id}/faults/{id}/remove", { operation: "removeFault" }),
  act("/portal/{store_id}/faults/clear", { operation: "clearFaults" }),

  page("/portal/{store_id}/stores", storesPage),
  act("/portal/{store_id}/stores", {
    operation: "createStore",
    read: readStore,
    leadsTo: (_view, { storeId }) => storePath({ storeId }, "/connect"),
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
    says: saysTaken,
  }),
  act("/portal/{store_id}/snapshots/all", {
    operation: "createSnapshot",
    read: nameIn,
    leadsTo: toStores,
    says: saysTaken,
  }),
  // Not below a store, as `reset`: it waits until nobody is in the stores that it replaces.
  act("/portal/snapshots/restore", {
    operation: "restoreSnapshot",
    read: nameIn,
    leadsTo: (_view, { stores }) => storesOf(stores),
    says: saysRestored,
  }),
  act("/portal/{store_id}/snapshots/remove", {
    operation: "removeSnapshot",
    read: nameIn,
    leadsTo: toStores,
  }),
];

/** The first page of a store: how it is connected, until that was done; then its overview. */
function toFirstPage(path: string): PortalRoute {
  return {
    methods: ["GET"],
    path,
    role: "portal merchant",
    entersStore: true,
    answer: (context, call) => {
      const { storeId } = viewOf(context, call);
      if (context.store.stores.names(storeId) === undefined) return noStore(storeId);
      const first = isConnected(context, storeId) ? "/overview" : "/connect";
      return accept(sentOn(call, storePath({ storeId }, first)));
    },
  };
}

function toStores(view: View): string {
  return storePath(view, "/stores");
}

function saysTaken({ snapshot: { name }, replaced }: AnswerOf<"createSnapshot">): Said {
  const { taken, takenAgain } = STORES_TEXTS.cameOf;
  return { words: replaced ? takenAgain(name) : taken(name), tone: "good" };
}

function saysRestored({ stores, heldBack }: AnswerOf<"restoreSnapshot">): Said {
  const { restored, restoredHeldBack } = STORES_TEXTS.cameOf;
  return heldBack === null
    ? { words: restored(stores.length), tone: "good" }
    : { words: restoredHeldBack(stores.length), tone: "warn" };
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
