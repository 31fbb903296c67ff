import { english } from "../../core/language.ts";
import type { Hold } from "../../core/webhook/hold.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { partWords } from "../../core/fact.ts";
import { refuseFact } from "../../core/refusals.ts";
import {
  isSigningSecret,
  NONCE_BYTES,
  openSecret,
  sealSecret,
  type SealedSecret,
} from "../../core/webhook/sealed-secret.ts";
import { SNAPSHOT_KEY_BYTES, type SnapshotFacts, type SnapshotScope } from "../../core/snapshot/snapshot.ts";
import { foreignFault } from "../../store/snapshot/foreign.ts";
import type { SnapshotImage } from "../../store/snapshot/image.ts";
import { SnapshotConflict, SnapshotDamage, type ResealSecret } from "../../store/snapshot/rows.ts";
import type { Store } from "../../store/store.ts";
import type { World } from "../../world.ts";
import { SecretUnreadable } from "../webhook/signing-secret.ts";
import type { ErasureContext } from "./erase.ts";
import type { RestoreSummary } from "../../core/snapshot/shapes.ts";

export type SnapshotContext = Omit<ErasureContext, "store"> & {
  readonly store: Pick<
    Store,
    "write" | "snapshots" | "stores" | "erasures" | "instance" | "home" | "heldStores"
  >;
  readonly world: Pick<World, "now" | "randomBytes" | "freshId">;
  readonly masterKey: Uint8Array;
  readonly holdOf: (storeId: string) => Hold | undefined;
  readonly wakeStores: (storeIds: readonly string[]) => Promise<void>;
};

type TakeSnapshotContext = Pick<SnapshotContext, "store" | "masterKey"> & {
  readonly world: Pick<World, "now" | "randomBytes">;
};

/**
 * Contains no master key, token or API key; signing secrets are encrypted with a key in the snapshot (decision 95).
 * Blocks other work. Throws `SecretUnreadable`.
 */
export function takeSnapshot(context: TakeSnapshotContext, scope: SnapshotScope): Uint8Array {
  return context.store.snapshots.take(planSnapshot(context, scope));
}

/**
 * Writes the state at the call to a file, without blocking other work (decision 105). Rejects with `SecretUnreadable`.
 */
export async function writeSnapshot(
  context: TakeSnapshotContext,
  scope: SnapshotScope,
  path: string,
): Promise<SnapshotFacts> {
  const { snapshots } = context.store;
  const plan = planSnapshot(context, scope);
  await snapshots.write(plan, path);
  const { storeId, takenAt } = plan;
  return { storeId, takenAt, format: snapshots.format };
}

function planSnapshot({ store, world, masterKey }: TakeSnapshotContext, scope: SnapshotScope) {
  const storeId = scope === "all" ? null : scope.storeId;
  const isBeingErased = store.erasures
    .pending()
    .some((erasure) => scope === "all" || erasure.storeId === storeId);
  const isKnown = storeId === null || store.stores.names(storeId) !== undefined;
  if (!isKnown || isBeingErased)
    throw new Error("a snapshot needs a store that exists and is not being erased");
  const key = world.randomBytes(SNAPSHOT_KEY_BYTES);
  const reseal = createResealer(
    world,
    { oldKey: masterKey, newKey: key },
    (sealedSecret) => new SecretUnreadable(sealedSecret),
  );
  const origin = { masterKey, home: store.home.path() };
  return { storeId, takenAt: world.now(), key, reseal, origin };
}

export type RestoreOptions = {
  /** Accept a snapshot that another sandbox took, or that was changed. Default: refused. */
  readonly trust?: boolean | undefined;
  /** Deliver the pending webhooks of another sandbox's snapshot. Default: they are held. */
  readonly adopt?: boolean | undefined;
  /** Accept another sandbox's snapshot that approves production or opens its gate. Default: refused. */
  readonly isAdministrator?: boolean;
};

/**
 * Replaces stores after their open requests have ended; a snapshot of all stores deletes other stores. Another
 * sandbox's snapshot restores no evidence, and its deliveries are held unless `adopt` (decision 95).
 */
export async function restoreSnapshot(
  context: SnapshotContext,
  scope: SnapshotScope | "as_taken",
  bytes: Uint8Array,
  { trust = false, adopt = false, isAdministrator = false }: RestoreOptions = {},
): Promise<Outcome<RestoreSummary>> {
  const { store, masterKey } = context;
  const isOwn = store.snapshots.isOwn(bytes, { masterKey, home: store.home.path() });
  const outcome = store.snapshots.open(bytes, isOwn);
  if (!outcome.ok) return refuseUnfit(outcome.refusal);
  const image = outcome.value;
  try {
    const chosenStores = chooseStores(image, scope);
    if (!chosenStores.ok) return chosenStores;
    if (!isOwn && !trust) return refuseFact("untrusted_snapshot", {});
    const rules = { now: context.world.now(), isAdministrator };
    const problem = isOwn ? undefined : foreignFault(image.connection, rules);
    if (problem !== undefined) return refuseUnfit(problem);
    const hold = adopt ? "release" : isOwn ? "as_taken" : "hold";
    return await replaceStores(context, image, { ...chosenStores.value, isOwn, hold });
  } finally {
    image.connection.close();
  }
}

type StoreSelection = { readonly storeIds: readonly string[]; readonly isAll: boolean };

type RestoreMode = { readonly isOwn: boolean; readonly hold: "release" | "as_taken" | "hold" };

function chooseStores(
  { storeId, storeIds }: SnapshotImage,
  scope: SnapshotScope | "as_taken",
): Outcome<StoreSelection> {
  if (typeof scope === "object") {
    if (storeIds.includes(scope.storeId)) return accept({ storeIds: [scope.storeId], isAll: false });
    return refuseFact("not_in_snapshot", { store: scope.storeId, stores: storeIds });
  }
  if (scope === "all" && storeId !== null) return refuseFact("snapshot_of_store", { store: storeId });
  return accept({ storeIds, isAll: storeId === null });
}

async function replaceStores(
  context: SnapshotContext,
  image: SnapshotImage,
  { storeIds, isAll, isOwn, hold }: StoreSelection & RestoreMode,
): Promise<Outcome<RestoreSummary>> {
  const { store, world, masterKey, storeGate, assumptions, forgetStore } = context;
  const createError = ({ id }: SealedSecret): Error =>
    new SnapshotDamage(`the signing secret ${id} cannot be read`);
  const reseal = createResealer(world, { oldKey: image.key, newKey: masterKey }, createError);
  const [onlyStoreId = ""] = storeIds;
  const selection = isAll ? "all" : { storeId: onlyStoreId };
  const dialectOf = (id: string): string => JSON.stringify(store.stores.dialect(id) ?? null);
  const readCurrentIds = (): readonly string[] => (isAll ? store.stores.all().map(({ id }) => id) : []);
  return storeGate.runAlone([...new Set([...storeIds, ...readCurrentIds()])], async () => {
    const dialects = storeIds.map((id) => [id, dialectOf(id)] as const);
    const restoration = await refuseUnfitRows(() =>
      store.write(() => {
        const deletedIds = readCurrentIds().filter((id) => !storeIds.includes(id));
        store.snapshots.restore(image, { isOwn, selection, storeIds, deletedStoreIds: deletedIds, reseal });
        if (hold !== "as_taken") for (const id of storeIds) store.heldStores[hold](id);
        store.instance.renew(world.freshId());
        for (const id of [...storeIds, ...deletedIds]) assumptions.forget(id);
        return deletedIds;
      }),
    );
    if (!restoration.ok) return restoration;
    context.onNewInstance();
    for (const storeId of restoration.value) await forgetStore({ storeId, kind: "delete" });
    await context.wakeStores(storeIds);
    const stores = storeIds.map((storeId) => ({ storeId, name: store.stores.names(storeId)?.store ?? "" }));
    const currentHold = storeIds
      .map((storeId) => context.holdOf(storeId))
      .find((storeHold) => storeHold !== undefined);
    const holdFields =
      currentHold === undefined ? NO_HOLD : { heldBack: english(partWords(currentHold)), hold: currentHold };
    const newDialects = dialects.flatMap(([id, dialect]) => (dialect === dialectOf(id) ? [] : [id]));
    return accept({ stores, ...holdFields, ...(newDialects.length > 0 && { newDialects }) });
  });
}

const NO_HOLD = { heldBack: null, hold: null };

async function refuseUnfitRows<Value>(write: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return accept(await write());
  } catch (error) {
    if (error instanceof SnapshotDamage) return refuseUnfit(`its data is damaged: ${error.message}`);
    if (!(error instanceof SnapshotConflict)) throw error;
    return refuseFact("snapshot_conflict", { reason: error.message });
  }
}

function refuseUnfit(reason: string): Outcome<never> {
  return refuseFact("snapshot_unfit", { reason });
}

function createResealer(
  { randomBytes }: Pick<World, "randomBytes">,
  { oldKey, newKey }: { readonly oldKey: Uint8Array; readonly newKey: Uint8Array },
  createError: (sealedSecret: SealedSecret) => Error,
): ResealSecret {
  return (sealedSecret) => {
    const secret = openSecret(sealedSecret, oldKey);
    if (secret === undefined || !isSigningSecret(secret)) throw createError(sealedSecret);
    const { id, storeId } = sealedSecret;
    return sealSecret(secret, { id, storeId, nonce: randomBytes(NONCE_BYTES) }, newKey);
  };
}
