import { planChanges, priceWithDefaults, type PlannedChange } from "../../core/config/plan.ts";
import type { RequestedStore } from "../../core/config/store-fields.ts";
import { hashKey } from "../../core/credential.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { TargetPolicy } from "../../core/webhook/target.ts";
import type { Store } from "../../store/store.ts";
import { storeTime } from "../with-store.ts";
import { recordApproval } from "../checkout/prices.ts";
import { createKey } from "../runtime/keys.ts";
import { insertStore, type NewStore, type StoreCreationContext } from "../runtime/seed.ts";
import { removeEndpointById, insertEndpoint } from "../webhook/endpoints.ts";
import { configState } from "./state.ts";

export type ConfigContext = StoreCreationContext & { readonly store: Store; readonly targets: TargetPolicy };

/** With `prune`, entries of these stores that the configuration does not contain are removed. */
type ConfigInput = { readonly stores: readonly RequestedStore[]; readonly prune: boolean };

type ApplyResult = { readonly changes: readonly PlannedChange[]; readonly made: readonly NewStore[] };

export function planConfig(
  context: Pick<ConfigContext, "store" | "masterKey" | "targets">,
  { stores, prune }: ConfigInput,
): Outcome<readonly PlannedChange[]> {
  const keys = stores.flatMap(({ apiKeys = [] }) => apiKeys);
  return planChanges(stores, configState(context, keys), { prune, targets: context.targets });
}

/** Call inside a transaction. Refuses before the first write (decision 84). */
export function applyConfig(context: ConfigContext, configInput: ConfigInput): Outcome<ApplyResult> {
  const plan = planConfig(context, configInput);
  if (!plan.ok) return plan;
  const newStores = new Map<string, NewStore>();
  for (const change of plan.value) {
    const { action, storeId } = change;
    if (action === "keep" || action === "unmanaged") continue;
    if (change.kind === "store" && change.requestedItem !== undefined && action !== "change")
      newStores.set(storeId, insertStore(context.store, context, newStoreValues(change.requestedItem)));
    else if (!newStores.has(storeId) || !CREATED_KINDS.has(change.kind)) applyChange(context, change);
  }
  return accept({ changes: plan.value, made: [...newStores.values()] });
}

const CREATED_KINDS: ReadonlySet<PlannedChange["kind"]> = new Set(["payment_method", "currency", "price"]);

function applyChange(context: ConfigContext, change: PlannedChange): void {
  const { action, storeId, name, differences } = change;
  const { store, world, keepName } = context;
  const now = storeTime(context, storeId);
  switch (change.kind) {
    case "store":
      store.stores.rename(storeId, name);
      return keepName({ id: storeId, name });
    case "merchant": {
      const [{ to } = { to: null }] = differences;
      if (typeof to === "string") store.stores.renameMerchant(name, to);
      return;
    }
    case "api_key":
      if (store.credentials.findByHash(hashKey(change.apiKey)) === undefined)
        createKey({ store, world }, { storeId, apiKey: change.apiKey });
      return;
    case "payment_method":
    case "currency":
      return changeCapability(context, change, now);
    case "price":
      return changePrice(context, change, now);
    case "return_origin":
      if (action === "remove") store.returnOrigins.remove(storeId, name);
      else store.returnOrigins.put({ storeId, origin: name, path: change.path, createdAt: now });
      return;
    case "endpoint":
      return changeEndpoint(context, change, now);
  }
}

function newStoreValues({ apiKeys = [], prices, capabilities, ...fields }: RequestedStore) {
  return { ...fields, ...capabilities, apiKey: apiKeys[0], prices: prices?.map(priceWithDefaults) };
}

/** Also writes an entry into the audit log, like the administrator's action (decision 84). */
function changeCapability(
  { store }: ConfigContext,
  { kind, action, storeId, name: subject, differences }: PlannedChange,
  at: number,
): void {
  if (kind !== "payment_method" && kind !== "currency") return;
  const isActive = action === "add" || differences.some(({ to }) => to === true);
  if (action === "add") store.capabilities.insert(storeId, { kind, name: subject });
  else store.capabilities.set(storeId, { name: subject, active: isActive });
  const adminAction = isActive ? "enable_capability" : "disable_capability";
  const entry = {
    storeId,
    actor: "administrator",
    action: adminAction,
    subject,
    note: CONFIG_NOTE,
    at,
  } as const;
  store.adminActions.insert(entry);
}

function changePrice(
  { store }: ConfigContext,
  { action, storeId, name, differences, requestedItem }: Extract<PlannedChange, { kind: "price" }>,
  at: number,
): void {
  if (action === "remove") store.prices.remove(storeId, name);
  if (action === "remove" || requestedItem === undefined) return;
  const price = priceWithDefaults(requestedItem);
  store.prices.put(storeId, price);
  const fields = differences.map(({ field }) => field).filter((field) => !FIELDS_WITHOUT_APPROVAL.has(field));
  const isApproval = price.approved ? action === "add" || fields.length > 0 : fields.includes("approved");
  if (isApproval) recordApproval(store, { storeId, price, note: CONFIG_NOTE, at });
}

const FIELDS_WITHOUT_APPROVAL: ReadonlySet<string> = new Set(["description", "retired"]);

const CONFIG_NOTE = "by the configuration of the sandbox";

function changeEndpoint(
  context: ConfigContext,
  change: Extract<PlannedChange, { kind: "endpoint" }>,
  now: number,
): void {
  const { store } = context;
  const { action, storeId, name: url, endpointId, events: eventTypes, inOrder, ca } = change;
  if (endpointId === undefined)
    insertEndpoint(context, { storeId, kind: "url", url, eventTypes, inOrder, ca }, now);
  else if (action === "remove") removeEndpointById(store, endpointId, now);
  else store.endpoints.setSettings(endpointId, { url, eventTypes, inOrder, ca });
}
