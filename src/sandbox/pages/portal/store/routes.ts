import { displayStoreName } from "../../../../core/config/store-name.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import type { Words } from "../../../../core/language.ts";
import { accept, mapValue, type Outcome } from "../../../../core/outcome.ts";
import { partWords } from "../../../../core/fact.ts";
import { displayText } from "../../../../core/text.ts";
import { callerOfSession, permitStore } from "../../../access/caller.ts";
import { refuseUnknownStore } from "../../../with-store.ts";
import { storePath } from "../forms.ts";
import {
  actionRoute,
  pageRoute,
  portalRoute,
  redirectTo,
  showOperation,
  type PortalRoute,
} from "../route.ts";
import { viewOf, type PortalContext, type Notice, type View } from "../view.ts";
import { catalogPage, parsePriceForm } from "./catalog-page.ts";
import { movePath } from "./clock-move.ts";
import { clockPage, parseClockForm } from "./clock-page.ts";
import { faultsPage, parseFaultForm } from "./faults-page.ts";
import { keysPage, parseKeyForm } from "./keys-page.ts";
import { parseReturnOriginForm, settingsPage } from "./settings-page.ts";
import { connectPage } from "./connect-page.ts";
import { hasFinishedFirstSteps } from "./first-steps.ts";
import { parseStoreConfirmation, parseStoreForm, storeOfFormPage } from "../stores/store-forms.ts";
import { storesPage } from "../stores/stores-page.ts";
import { NOTICE_TEXTS } from "./texts.ts";

type Fields = ReadonlyMap<string, string>;

const SHOW_CONNECT = showOperation("storeSummary", connectPage);
const SHOW_CATALOG = showOperation("storeSummary", catalogPage);
const SHOW_KEYS = showOperation("listKeys", keysPage);
const SHOW_SETTINGS = showOperation("storeSummary", settingsPage);
const SHOW_FAULTS = showOperation("listFaults", faultsPage);
/** The page of the stores, whose forms are sent to other addresses. */
const STORES_PAGE = {
  page: storesPage,
  pageOf: (view: View, fields: Fields) => {
    const storeId = storeOfFormPage(fields) || view.storeId;
    return { path: storePath({ storeId }, "/stores"), storeId, id: "" };
  },
};

/** The pages of a store: its first page, catalog, keys, settings, clock, faults, and the list of stores. */
export const STORE_ROUTES: readonly PortalRoute[] = [
  portalRoute({ path: "/portal/{store_id}/start", minRole: "viewer" }, (context, call) => {
    const view = viewOf(context, call);
    const { storeId } = view;
    if (context.store.stores.names(storeId) === undefined) return refuseUnknownStore(storeId);
    // The page that connects the store, until all first steps are done; then the overview.
    const connectPath = storePath(view, "/connect");
    const isFirst = view.may("GET", connectPath) && !hasFinishedFirstSteps(context, storeId);
    return accept(redirectTo(call, isFirst ? connectPath : storePath(view, "/overview")));
  }),
  pageRoute({ path: "/portal/{store_id}/connect", minRole: "store" }, SHOW_CONNECT),
  actionRoute("/portal/{store_id}/connect/key", {
    operation: "createKey",
    secretOf: ({ apiKey }) => apiKey,
  }),
  actionRoute("/portal/{store_id}/connect/secret", {
    operation: "storeAccess",
    secretOf: ({ signingSecret }) => signingSecret,
  }),

  pageRoute({ path: "/portal/{store_id}/catalog", minRole: "viewer" }, SHOW_CATALOG),
  actionRoute("/portal/{store_id}/catalog", {
    operation: "addPrice",
    parse: parsePriceForm,
    notice: ({ id }) => goodNotice(NOTICE_TEXTS.priceAdded(displayText(id))),
    form: { page: SHOW_CATALOG, field: "price_id", names: { id: "price_id" } },
  }),
  actionRoute("/portal/{store_id}/catalog/retire", {
    operation: "retirePrice",
    read: (fields) => ({ id: fields.get("price_id") }),
    notice: ({ id }) => goodNotice(NOTICE_TEXTS.priceRetired(displayText(id))),
  }),

  pageRoute({ path: "/portal/{store_id}/keys", minRole: "store" }, SHOW_KEYS),
  actionRoute("/portal/{store_id}/keys", {
    operation: "createKey",
    read: parseKeyForm,
    secretOf: ({ apiKey }) => apiKey,
    form: { page: SHOW_KEYS, field: "scopes" },
  }),
  actionRoute("/portal/{store_id}/keys/{id}/revoke", {
    operation: "revokeKey",
    notice: ({ lastFour }) => goodNotice(NOTICE_TEXTS.keyRevoked(lastFour)),
  }),

  pageRoute({ path: "/portal/{store_id}/settings", minRole: "viewer" }, SHOW_SETTINGS),
  actionRoute("/portal/{store_id}/settings/return-origins", {
    operation: "changeReturnOrigins",
    read: parseReturnOriginForm,
    notice: () => goodNotice(NOTICE_TEXTS.originAdded),
    form: { page: SHOW_SETTINGS, field: "origin" },
  }),
  actionRoute("/portal/{store_id}/settings/return-origins/remove", {
    operation: "changeReturnOrigins",
    read: (fields) => ({ action: "remove", origin: fields.get("origin") ?? "" }),
    notice: () => goodNotice(NOTICE_TEXTS.originRemoved),
  }),

  pageRoute({ path: "/portal/{store_id}/clock", minRole: "viewer" }, clockPage),
  actionRoute("/portal/{store_id}/clock", {
    operation: "moveClock",
    parse: parseClockForm,
    nextAddress: movePath,
    // The browser does not wait while slow receivers delay the move.
    waitingAddress: (view, context) => movePath(view, undefined, context),
    form: { page: clockPage, names: { by_ms: "by" } },
  }),

  pageRoute({ path: "/portal/{store_id}/faults", minRole: "viewer" }, SHOW_FAULTS),
  actionRoute("/portal/{store_id}/faults", {
    operation: "addFault",
    parse: parseFaultForm,
    notice: ({ faults }) =>
      goodNotice(NOTICE_TEXTS.faultsAdded(faults.map(({ action }) => action).join(", "))),
    form: { page: SHOW_FAULTS, names: { latency_ms: "latency" } },
  }),
  actionRoute("/portal/{store_id}/faults/{id}/remove", {
    operation: "removeFault",
    notice: () => goodNotice(NOTICE_TEXTS.faultRemoved),
  }),
  actionRoute("/portal/{store_id}/faults/clear", {
    operation: "clearFaults",
    notice: () => goodNotice(NOTICE_TEXTS.faultsCleared),
  }),

  pageRoute({ path: "/portal/{store_id}/stores", minRole: "store" }, storesPage),
  actionRoute("/portal/{store_id}/stores", {
    operation: "createStore",
    read: parseStoreForm,
    nextAddress: (_view, { storeId }) => storePath({ storeId }, "/connect"),
    secretOf: ({ apiKey }) => apiKey,
    notice: ({ name }) => goodNotice(NOTICE_TEXTS.storeCreated(displayStoreName(name))),
    form: { page: storesPage, field: "name" },
  }),
  actionRoute("/portal/stores/reset", {
    operation: "reset",
    parse: parseResetForm,
    nextAddress: (_view, { stores }) => storesPathOf(stores),
    notice: ({ stores }) =>
      goodNotice(NOTICE_TEXTS.storeReset(stores.map(({ name }) => displayStoreName(name)).join(", "))),
    form: STORES_PAGE,
  }),
  actionRoute("/portal/{store_id}/delete", {
    operation: "deleteStore",
    parse: (fields, { context, view }) =>
      mapValue(parseStoreConfirmation(fields, { context, storeId: view.storeId }), () => ({})),
    nextAddress: (_view, _done, { store }) =>
      storesPathOf(store.stores.all().map(({ id: storeId }) => ({ storeId }))),
    notice: ({ name }) => goodNotice(NOTICE_TEXTS.storeDeleted(displayStoreName(name))),
    form: STORES_PAGE,
  }),

  actionRoute("/portal/{store_id}/snapshots", {
    operation: "createStoreSnapshot",
    read: parseName,
    nextAddress: storesPath,
    notice: snapshotNotice,
    form: STORES_PAGE,
  }),
  actionRoute("/portal/{store_id}/snapshots/all", {
    operation: "createSnapshot",
    read: parseName,
    nextAddress: storesPath,
    notice: snapshotNotice,
    form: STORES_PAGE,
  }),
  // The path names no store, so the request enters none: a restore waits until the requests to its stores have ended.
  actionRoute("/portal/snapshots/restore", {
    operation: "restoreSnapshot",
    read: (fields) => ({ name: fields.get("name"), ...(fields.has("trust") && { trust: true }) }),
    nextAddress: (_view, { stores }) => storesPathOf(stores),
    notice: restoreNotice,
    form: STORES_PAGE,
  }),
  actionRoute("/portal/{store_id}/snapshots/remove", {
    operation: "removeSnapshot",
    read: parseName,
    nextAddress: storesPath,
    notice: ({ name }) => goodNotice(NOTICE_TEXTS.snapshotRemoved(name)),
    form: STORES_PAGE,
  }),
];

function storesPath(view: View): string {
  return storePath(view, "/stores");
}

function goodNotice(words: Words): Notice {
  return { words, tone: "good" };
}

function snapshotNotice({ snapshot: { name }, replaced }: AnswerOf<"createSnapshot">): Notice {
  return goodNotice(replaced ? NOTICE_TEXTS.takenAgain(name) : NOTICE_TEXTS.taken(name));
}

function restoreNotice({ stores, hold }: AnswerOf<"restoreSnapshot">): Notice {
  return hold === null
    ? goodNotice(NOTICE_TEXTS.restored(stores.length))
    : { words: NOTICE_TEXTS.restoredHeldBack(stores.length, partWords(hold)), tone: "warn" };
}

function parseName(fields: Fields): unknown {
  return { name: fields.get("name") };
}

function parseResetForm(
  fields: Fields,
  { context, view }: { readonly context: PortalContext; readonly view: View },
): Outcome<unknown> {
  const storeId = fields.get("store") ?? "";
  // The permission is checked first, because the refusal of a wrong name shows the right name.
  const permission = permitStore(callerOfSession(view.call.caller), storeId);
  if (!permission.ok) return permission;
  return mapValue(parseStoreConfirmation(fields, { context, storeId }), (name) => ({ store: name }));
}

function storesPathOf(stores: readonly { readonly storeId: string }[]): string {
  const [store] = stores;
  return store === undefined ? "/portal" : storePath(store, "/stores");
}
