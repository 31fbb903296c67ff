import { displayStoreName } from "../../../core/config/store-name.ts";
import type { AnswerOf } from "../../../core/control/operations.ts";
import { partWords } from "../../../core/fact.ts";
import type { Words } from "../../../core/language.ts";
import { accept, mapValue, type Outcome } from "../../../core/outcome.ts";
import { displayText } from "../../../core/text.ts";
import { callerOfSession, requireStoreAccess } from "../../access/caller.ts";
import { refuseUnknownStore } from "../../with-store.ts";
import { adminOverviewPage } from "./admin/overview-page.ts";
import { adminStorePage, parseActionForm } from "./admin/store-page.ts";
import { ADMIN_TEXTS } from "./admin/texts.ts";
import { checkoutDetailsPage } from "./checkout/checkout-page.ts";
import { findInAllStores, findInStore } from "./checkout/find.ts";
import { paidNotice } from "./checkout/last.ts";
import { parseTestOrderForm, checkoutListPage } from "./checkout/list-page.ts";
import { downloadStory } from "./checkout/saved-story.ts";
import { filledFields } from "./fields.ts";
import { storePath } from "./forms.ts";
import { assumptionsPage } from "./readiness/assumptions-page.ts";
import { launchPage } from "./readiness/launch-page.ts";
import { LAUNCH_TEXTS } from "./readiness/texts.ts";
import { requestPage } from "./request/request-page.ts";
import { requestListPage } from "./request/requests-page.ts";
import { hasFinishedFirstSteps } from "./store/first-steps.ts";
import {
  actionRoute,
  pageRoute,
  portalRoute,
  redirectTo,
  pageOfOperation,
  type ActionContext,
  type PortalRoute,
  type StoreAndId,
} from "./route.ts";
import { catalogPage, parsePriceForm } from "./store/catalog-page.ts";
import { clockPage, clockMovePath, parseClockForm } from "./store/clock-page.ts";
import { connectPage } from "./store/connect-page.ts";
import { faultsPage, parseFaultForm } from "./store/faults-page.ts";
import { keysPage, parseKeyForm } from "./store/keys-page.ts";
import { overviewPage } from "./store/overview-page.ts";
import { parseReturnOriginForm, settingsPage } from "./store/settings-page.ts";
import { PAGE_FIELD, parseStoreConfirmation, storesPage } from "./store/stores-page.ts";
import { NOTICE_TEXTS } from "./store/texts.ts";
import { COMMON_TEXTS } from "./texts.ts";
import { viewOf, type Notice, type View } from "./view.ts";
import { addedNotice, deliveryNotice, testNotice } from "./webhook/delivery-notice.ts";
import { deliveryPage } from "./webhook/deliveries.ts";
import { endpointPage, endpointStateNotice } from "./webhook/endpoint-page.ts";
import { endpointPath, parseEndpointForm } from "./webhook/endpoint-parts.ts";
import { eventPage, eventListPage } from "./webhook/events.ts";
import { WEBHOOK_TEXTS } from "./webhook/texts.ts";
import { webhooksPage } from "./webhook/webhooks-page.ts";

type Fields = ReadonlyMap<string, string>;

const STORE_PATH = "/portal/{store_id}";
const ENDPOINT_ROUTE = `${STORE_PATH}/webhooks/endpoints/{id}` as const;

const SHOW_CATALOG = pageOfOperation("storeSummary", catalogPage);
const SHOW_KEYS = pageOfOperation("listKeys", keysPage);
const SHOW_SETTINGS = pageOfOperation("storeSummary", settingsPage);
const SHOW_FAULTS = pageOfOperation("listFaults", faultsPage);
const SHOW_ENDPOINT = pageOfOperation("showEndpoint", endpointPage);

const ON_STORES_PAGE = {
  page: storesPage,
  addressOf: storesPath,
  storeOf: (fields: Fields) => fields.get(PAGE_FIELD) || undefined,
};
const ON_ENDPOINT_PAGE = {
  page: SHOW_ENDPOINT,
  addressOf: (view: StoreAndId) => endpointPath(view, view.id),
};
const ON_CHECKOUT_PAGE = {
  page: checkoutDetailsPage,
  addressOf: (view: StoreAndId) => storePath(view, `/checkouts/${view.id}`),
};
const ON_EVENT_PAGE = {
  page: eventPage,
  addressOf: (view: StoreAndId) => storePath(view, `/webhooks/events/${view.id}`),
};

const STORE_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: `${STORE_PATH}/overview`, minRole: "viewer" }, overviewPage),
  portalRoute({ path: `${STORE_PATH}/start`, minRole: "viewer" }, (context, call) => {
    const view = viewOf(context, call);
    const { storeId } = view;
    if (context.store.stores.names(storeId) === undefined) return refuseUnknownStore(storeId);
    const connectPath = storePath(view, "/connect");
    const isFirst = view.may("GET", connectPath) && !hasFinishedFirstSteps(context, storeId);
    return accept(redirectTo(call, isFirst ? connectPath : storePath(view, "/overview")));
  }),
  pageRoute(
    { path: `${STORE_PATH}/connect`, minRole: "store" },
    pageOfOperation("storeSummary", connectPage),
  ),
  actionRoute(`${STORE_PATH}/connect/key`, {
    operation: "createKey",
    oneTimeValueOf: ({ apiKey }) => apiKey,
  }),
  actionRoute(`${STORE_PATH}/connect/secret`, {
    operation: "storeAccess",
    oneTimeValueOf: ({ signingSecret }) => signingSecret,
  }),
  pageRoute({ path: `${STORE_PATH}/catalog`, minRole: "viewer" }, SHOW_CATALOG),
  actionRoute(`${STORE_PATH}/catalog`, {
    operation: "addPrice",
    parse: parsePriceForm,
    notice: ({ id }) => goodNotice(NOTICE_TEXTS.priceAdded(displayText(id))),
    page: SHOW_CATALOG,
    field: "price_id",
    names: { id: "price_id" },
  }),
  actionRoute(`${STORE_PATH}/catalog/retire`, {
    operation: "retirePrice",
    read: (fields) => ({ id: fields.get("price_id") }),
    notice: ({ id }) => goodNotice(NOTICE_TEXTS.priceRetired(displayText(id))),
  }),
  pageRoute({ path: `${STORE_PATH}/keys`, minRole: "store" }, SHOW_KEYS),
  actionRoute(`${STORE_PATH}/keys`, {
    operation: "createKey",
    read: parseKeyForm,
    oneTimeValueOf: ({ apiKey }) => apiKey,
    page: SHOW_KEYS,
    field: "scopes",
  }),
  actionRoute(`${STORE_PATH}/keys/{id}/revoke`, {
    operation: "revokeKey",
    notice: ({ lastFour }) => goodNotice(NOTICE_TEXTS.keyRevoked(lastFour)),
  }),
  pageRoute({ path: `${STORE_PATH}/settings`, minRole: "viewer" }, SHOW_SETTINGS),
  actionRoute(`${STORE_PATH}/settings/return-origins`, {
    operation: "changeReturnOrigins",
    read: parseReturnOriginForm,
    notice: () => goodNotice(NOTICE_TEXTS.originAdded),
    page: SHOW_SETTINGS,
    field: "origin",
  }),
  actionRoute(`${STORE_PATH}/settings/return-origins/remove`, {
    operation: "changeReturnOrigins",
    read: (fields) => ({ action: "remove", origin: fields.get("origin") ?? "" }),
    notice: () => goodNotice(NOTICE_TEXTS.originRemoved),
  }),
  pageRoute({ path: `${STORE_PATH}/clock`, minRole: "viewer" }, clockPage),
  actionRoute(`${STORE_PATH}/clock`, {
    operation: "moveClock",
    parse: parseClockForm,
    nextAddress: (view, _moved, context) => clockMovePath(view, context),
    waitingAddress: clockMovePath,
    page: clockPage,
    names: { by_ms: "by" },
  }),
  pageRoute({ path: `${STORE_PATH}/faults`, minRole: "viewer" }, SHOW_FAULTS),
  actionRoute(`${STORE_PATH}/faults`, {
    operation: "addFault",
    parse: parseFaultForm,
    notice: ({ faults }) =>
      goodNotice(NOTICE_TEXTS.faultsAdded(faults.map(({ action }) => action).join(", "))),
    page: SHOW_FAULTS,
    names: { latency_ms: "latency" },
  }),
  actionRoute(`${STORE_PATH}/faults/{id}/remove`, {
    operation: "removeFault",
    notice: () => goodNotice(NOTICE_TEXTS.faultRemoved),
  }),
  actionRoute(`${STORE_PATH}/faults/clear`, {
    operation: "clearFaults",
    notice: () => goodNotice(NOTICE_TEXTS.faultsCleared),
  }),
  pageRoute({ path: `${STORE_PATH}/stores`, minRole: "store" }, storesPage),
  actionRoute(`${STORE_PATH}/stores`, {
    operation: "createStore",
    read: (fields) => filledFields(fields, ["name", "merchant"]),
    nextAddress: (_view, store) => storePath(store, "/connect"),
    oneTimeValueOf: ({ apiKey }) => apiKey,
    notice: ({ name }) => goodNotice(NOTICE_TEXTS.storeCreated(displayStoreName(name))),
    page: storesPage,
    field: "name",
  }),
  actionRoute("/portal/stores/reset", {
    operation: "reset",
    parse: parseResetForm,
    nextAddress: (_view, { stores }) => firstStoresPath(stores),
    notice: ({ stores }) =>
      goodNotice(NOTICE_TEXTS.storeReset(stores.map(({ name }) => displayStoreName(name)).join(", "))),
    ...ON_STORES_PAGE,
  }),
  actionRoute(`${STORE_PATH}/delete`, {
    operation: "deleteStore",
    parse: (fields, { context, view }) =>
      mapValue(parseStoreConfirmation(fields, { context, storeId: view.storeId }), () => ({})),
    nextAddress: (_view, _done, { store }) =>
      firstStoresPath(store.stores.all().map(({ id: storeId }) => ({ storeId }))),
    notice: ({ name }) => goodNotice(NOTICE_TEXTS.storeDeleted(displayStoreName(name))),
    ...ON_STORES_PAGE,
  }),
  actionRoute(`${STORE_PATH}/snapshots`, {
    operation: "createStoreSnapshot",
    read: parseName,
    notice: snapshotNotice,
    ...ON_STORES_PAGE,
  }),
  actionRoute(`${STORE_PATH}/snapshots/all`, {
    operation: "createSnapshot",
    read: parseName,
    notice: snapshotNotice,
    ...ON_STORES_PAGE,
  }),
  // The path names no store, because a restore waits for all requests of its stores, and would wait for itself.
  actionRoute("/portal/snapshots/restore", {
    operation: "restoreSnapshot",
    read: (fields) => ({ name: fields.get("name"), ...(fields.has("trust") && { trust: true }) }),
    nextAddress: (_view, { stores }) => firstStoresPath(stores),
    notice: restoreNotice,
    ...ON_STORES_PAGE,
  }),
  actionRoute(`${STORE_PATH}/snapshots/remove`, {
    operation: "removeSnapshot",
    read: parseName,
    notice: ({ name }) => goodNotice(NOTICE_TEXTS.snapshotRemoved(name)),
    ...ON_STORES_PAGE,
  }),
];

const ORDER_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: `${STORE_PATH}/checkouts`, minRole: "viewer" }, checkoutListPage),
  pageRoute({ path: `${STORE_PATH}/checkouts/{id}`, minRole: "viewer" }, checkoutDetailsPage),
  portalRoute({ path: `${STORE_PATH}/checkouts/{id}/story.html`, minRole: "viewer" }, downloadStory),
  actionRoute(`${STORE_PATH}/checkouts/test-orders`, {
    operation: "createTestOrder",
    parse: parseTestOrderForm,
    nextAddress: (view, { id }) => storePath(view, `/checkouts/${id}`),
    notice: ({ orderId }) => goodNotice(COMMON_TEXTS.testOrderMade(orderId)),
    page: checkoutListPage,
  }),
  actionRoute(`${STORE_PATH}/checkouts/{id}/pay`, {
    operation: "pay",
    read: (fields) => ({ outcome: fields.get("outcome") }),
    notice: paidNotice,
    ...ON_CHECKOUT_PAGE,
  }),
  actionRoute(`${STORE_PATH}/checkouts/{checkout_id}/events/{id}/replay`, {
    operation: "replayEvent",
    nextAddress: (view) =>
      storePath(view, `/checkouts/${view.call.params["checkout_id"] ?? ""}#event-${view.id}`),
    notice: ({ deliveries }, scope) => deliveryNotice(scope, "replayed", deliveries),
  }),
  portalRoute({ path: `${STORE_PATH}/find`, minRole: "viewer" }, findInStore),
  portalRoute({ path: "/portal/find", minRole: "viewer" }, findInAllStores),
];

const WEBHOOK_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: `${STORE_PATH}/webhooks`, minRole: "viewer" }, webhooksPage),
  pageRoute({ path: `${STORE_PATH}/webhooks/events`, minRole: "viewer" }, eventListPage),
  pageRoute({ path: `${STORE_PATH}/webhooks/events/{id}`, minRole: "viewer" }, eventPage),
  pageRoute({ path: `${STORE_PATH}/webhooks/deliveries/{id}`, minRole: "viewer" }, deliveryPage),
  pageRoute({ path: ENDPOINT_ROUTE, minRole: "viewer" }, SHOW_ENDPOINT),
  actionRoute(`${STORE_PATH}/webhooks/endpoints`, {
    operation: "addEndpoint",
    read: parseEndpointForm,
    nextAddress: (view, { id }) => endpointPath(view, id),
    oneTimeValueOf: ({ signingSecret }) => signingSecret,
    notice: addedNotice,
    page: webhooksPage,
    field: "url",
    names: { event_types: "types" },
  }),
  actionRoute(`${ENDPOINT_ROUTE}/state`, {
    operation: "setEndpointState",
    read: (fields) => ({ action: fields.get("action") }),
    notice: endpointStateNotice,
    ...ON_ENDPOINT_PAGE,
  }),
  actionRoute(`${ENDPOINT_ROUTE}/remove`, {
    operation: "setEndpointState",
    read: () => ({ action: "remove" }),
    notice: ({ url }) => ({ words: WEBHOOK_TEXTS.notices.removed(url), tone: "" }),
  }),
  actionRoute(`${ENDPOINT_ROUTE}/test`, {
    operation: "testEndpoint",
    nextAddress: (view, { eventId }) => storePath(view, `/webhooks/events/${eventId}`),
    notice: ({ eventId }, scope) => testNotice(scope, "tested", eventId),
    ...ON_ENDPOINT_PAGE,
  }),
  actionRoute(`${ENDPOINT_ROUTE}/secret`, {
    operation: "showSecret",
    oneTimeValueOf: ({ inForce }) => inForce.join(" "),
    addressOf: ON_ENDPOINT_PAGE.addressOf,
  }),
  actionRoute(`${ENDPOINT_ROUTE}/rotate`, {
    operation: "rotateSecret",
    read: (fields) => ({ overlap_ms: Number(fields.get("overlap_ms") ?? "") }),
    oneTimeValueOf: ({ inForce: [newestSecret = ""] }) => newestSecret,
    ...ON_ENDPOINT_PAGE,
  }),
  actionRoute(`${STORE_PATH}/webhooks/events/{id}/replay`, {
    operation: "replayEvent",
    read: (fields) => filledFields(fields, ["endpoint_id"]),
    nextAddress: (view, { deliveries: [delivery, ...otherDeliveries] }) =>
      delivery === undefined || otherDeliveries.length > 0
        ? ON_EVENT_PAGE.addressOf(view)
        : storePath(view, `/webhooks/deliveries/${delivery.id}`),
    notice: ({ deliveries }, scope) => deliveryNotice(scope, "replayed", deliveries),
    ...ON_EVENT_PAGE,
  }),
  actionRoute(`${STORE_PATH}/webhooks/deliveries/replay`, {
    operation: "replayFailed",
    read: (fields) => ({ since: fields.get("since") }),
    oneTimeValueOf: ({ replayed, retried, more }) => `${replayed + retried}${more ? "+" : ""}`,
    page: webhooksPage,
  }),
  actionRoute(`${STORE_PATH}/webhooks/deliveries/retry`, {
    operation: "retryDeliveries",
    read: (fields) => filledFields(fields, ["endpoint_id"]),
    notice: ({ retried, more }) => ({
      words: WEBHOOK_TEXTS.notices.retried(retried, more),
      tone: retried === 0 ? "" : "good",
    }),
    page: webhooksPage,
  }),
];

const READINESS_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: `${STORE_PATH}/launch`, minRole: "viewer" }, launchPage),
  pageRoute({ path: `${STORE_PATH}/launch/assumptions`, minRole: "viewer" }, assumptionsPage),
  actionRoute(`${STORE_PATH}/launch/waivers`, {
    operation: "waiveDrill",
    read: (fields) => ({ drill: fields.get("drill"), reason: fields.get("reason") }),
    notice: ({ drill }) => goodNotice(LAUNCH_TEXTS.notices.skipped[drill]),
    page: launchPage,
  }),
  actionRoute(`${STORE_PATH}/launch/production`, {
    operation: "requestProduction",
    read: (fields) => filledFields(fields, ["note"]),
    notice: () => goodNotice(LAUNCH_TEXTS.notices.requested),
    page: launchPage,
  }),
];

const ADMIN_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: "/portal/admin", minRole: "administrator" }, adminOverviewPage),
  pageRoute({ path: "/portal/admin/{store_id}", minRole: "administrator" }, adminStorePage),
  actionRoute("/portal/admin/{store_id}/acts", {
    operation: "adminAct",
    read: parseActionForm,
    notice: ({ number, action }) => goodNotice(ADMIN_TEXTS.recorded(number, action)),
    page: adminStorePage,
    addressOf: ({ storeId }) => `/portal/admin/${storeId}`,
  }),
];

export const SIGNED_IN_ROUTES: readonly PortalRoute[] = [
  ...STORE_ROUTES,
  ...ORDER_ROUTES,
  ...WEBHOOK_ROUTES,
  pageRoute({ path: `${STORE_PATH}/requests`, minRole: "viewer" }, requestListPage),
  pageRoute({ path: `${STORE_PATH}/requests/{id}`, minRole: "viewer" }, requestPage),
  ...READINESS_ROUTES,
  ...ADMIN_ROUTES,
];

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

function parseResetForm(fields: Fields, { context, view }: ActionContext): Outcome<unknown> {
  const storeId = fields.get("store") ?? "";
  // The permission is checked first, because the refusal of a wrong name shows the right name.
  const permission = requireStoreAccess(callerOfSession(view.call.caller), storeId);
  if (!permission.ok) return permission;
  return mapValue(parseStoreConfirmation(fields, { context, storeId }), (name) => ({ store: name }));
}

function storesPath(view: Pick<View, "storeId">): string {
  return storePath(view, "/stores");
}

function firstStoresPath([store]: readonly { readonly storeId: string }[]): string {
  return store === undefined ? "/portal" : storesPath(store);
}
