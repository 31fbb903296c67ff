// Who may do what: a new operation or page of the portal does not compile without its row here. An action of the portal
// has the right of its operation. Checked in sandbox/access/caller.ts.
import type { StoreRole } from "../store/shapes.ts";
import type { OperationName } from "./operations.ts";
import type { ControlRole } from "./protocol.ts";

/**
 * The least role that may do something: an owner may do everything that a store's role may, and that may do everything
 * that a viewer may. Actions of the administrator are nobody else's.
 */
export type LeastRole = StoreRole | "owner" | "administrator";

/** The least role for each operation of the control API. */
export const OPERATION_RIGHTS = {
  pay: "store",
  listCheckouts: "viewer",
  createTestOrder: "store",
  inspectCheckout: "viewer",
  listPrices: "viewer",
  addPrice: "store",
  retirePrice: "store",
  listReturnOrigins: "viewer",
  changeReturnOrigins: "store",
  listEndpoints: "viewer",
  addEndpoint: "store",
  showEndpoint: "viewer",
  setEndpointState: "store",
  showSecret: "store",
  rotateSecret: "store",
  testEndpoint: "store",
  registerListener: "store",
  fetchDeliveries: "store",
  answerDelivery: "store",
  listEvents: "viewer",
  showEvent: "viewer",
  replayEvent: "store",
  replayFailed: "store",
  retryDeliveries: "store",
  listDeliveries: "viewer",
  addFault: "store",
  listFaults: "viewer",
  removeFault: "store",
  clearFaults: "store",
  showClock: "viewer",
  moveClock: "store",
  listRequests: "viewer",
  showRequest: "viewer",
  explain: "viewer",
  saveStory: "viewer",
  assumptions: "viewer",
  checklist: "viewer",
  storeSummary: "viewer",
  waiveDrill: "store",
  recordExploration: "store",
  requestProduction: "store",
  adminAct: "administrator",
  adminLog: "administrator",
  openLease: "store",
  listDrills: "viewer",
  listRetrieves: "store",
  deliverForDrill: "store",
  postToEndpoint: "store",
  recordDrill: "store",
  endLease: "store",
  createKey: "store",
  listKeys: "store",
  revokeKey: "store",
  createToken: "owner",
  listTokens: "owner",
  revokeToken: "owner",
  showAccess: "viewer",
  createStore: "owner",
  listStores: "viewer",
  storeAccess: "store",
  reset: "store",
  createStoreSnapshot: "store",
  createSnapshot: "owner",
  listSnapshots: "store",
  restoreStoreSnapshot: "store",
  restoreSnapshot: "owner",
  removeSnapshot: "store",
  deleteStore: "owner",
  showConfig: "owner",
  applyConfig: "owner",
  describeConfig: "viewer",
  createSignIn: "owner",
  endPortalSessions: "owner",
  describe: "viewer",
  describeSandbox: "owner",
  stopSandbox: "owner",
} as const satisfies Record<OperationName, LeastRole>;

/** The least role for each page of the portal, and for each of its actions that runs no operation. */
export const PAGE_RIGHTS = {
  "/portal": "viewer",
  "/portal/{anything}": "viewer",
  "/portal/find": "viewer",
  "/portal/sign-out": "viewer",
  "/portal/preferences": "viewer",
  "/portal/{store_id}/start": "viewer",
  "/portal/{store_id}/overview": "viewer",
  "/portal/{store_id}/connect": "store",
  "/portal/{store_id}/checkouts": "viewer",
  "/portal/{store_id}/checkouts/{id}": "viewer",
  "/portal/{store_id}/checkouts/{id}/story.html": "viewer",
  "/portal/{store_id}/find": "viewer",
  "/portal/{store_id}/webhooks": "viewer",
  "/portal/{store_id}/webhooks/events": "viewer",
  "/portal/{store_id}/webhooks/events/{id}": "viewer",
  "/portal/{store_id}/webhooks/deliveries/{id}": "viewer",
  "/portal/{store_id}/webhooks/endpoints/{id}": "viewer",
  "/portal/{store_id}/requests": "viewer",
  "/portal/{store_id}/requests/{id}": "viewer",
  "/portal/{store_id}/catalog": "viewer",
  "/portal/{store_id}/keys": "store",
  "/portal/{store_id}/settings": "viewer",
  "/portal/{store_id}/clock": "viewer",
  "/portal/{store_id}/faults": "viewer",
  "/portal/{store_id}/launch": "viewer",
  "/portal/{store_id}/launch/assumptions": "viewer",
  "/portal/{store_id}/stores": "store",
  "/portal/admin": "administrator",
  "/portal/admin/{store_id}": "administrator",
  "/portal/admin/sign-out": "administrator",
  "/portal/admin/preferences": "administrator",
} as const satisfies Record<string, LeastRole>;

export type PortalPath = keyof typeof PAGE_RIGHTS;

/** The token of the state folder that an operation needs. */
export function folderTokenFor(name: OperationName): ControlRole {
  return OPERATION_RIGHTS[name] === "administrator" ? "administrator" : "control";
}

const RANKS: Readonly<Record<StoreRole | "owner", number>> = { viewer: 0, store: 1, owner: 2 };

/** Whether a role may do what the least role may. */
export function isPermitted(role: LeastRole, least: LeastRole): boolean {
  if (role === "administrator" || least === "administrator") return role === least;
  return RANKS[role] >= RANKS[least];
}
