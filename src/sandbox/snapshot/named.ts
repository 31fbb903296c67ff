import { english } from "../../core/language.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { createPart, partWords } from "../../core/fact.ts";
import { refuseFact } from "../../core/refusals.ts";
import { MAX_SNAPSHOT_BYTES, type SnapshotFacts, type SnapshotScope } from "../../core/snapshot/snapshot.ts";
import type { Store } from "../../store/store.ts";
import { refuseUnknownStore } from "../with-store.ts";
import type { SnapshotStorage } from "./storage.ts";
import {
  restoreSnapshot,
  takeSnapshot,
  writeSnapshot,
  type RestoreOptions,
  type SnapshotContext,
} from "../runtime/snapshots.ts";
import type { NamedSnapshot, RestoreSummary, TakenSnapshot } from "../../core/snapshot/shapes.ts";

export type NamedSnapshotsContext = SnapshotContext & { readonly snapshotStorage: SnapshotStorage };

const TOO_LARGE = createPart("too_large", {});

export async function createSnapshot(
  context: NamedSnapshotsContext,
  name: string,
  scope: SnapshotScope,
): Promise<Outcome<TakenSnapshot>> {
  const { store, snapshotStorage: storage } = context;
  if (scope !== "all" && store.stores.names(scope.storeId) === undefined)
    return refuseUnknownStore(scope.storeId);
  if (store.erasures.pending().length > 0) return refuseFact("snapshot_waits", {}, { retryAfterSeconds: 1 });
  const isReplaced = storage.size(name) !== undefined;
  const facts = await storeSnapshot(context, name, scope);
  return accept({ snapshot: describeSnapshot(name, storage.size(name) ?? 0, facts), replaced: isReplaced });
}

async function storeSnapshot(
  context: NamedSnapshotsContext,
  name: string,
  scope: SnapshotScope,
): Promise<SnapshotFacts> {
  const { store, snapshotStorage: storage, world } = context;
  if (storage.fill !== undefined) return storage.fill(name, (path) => writeSnapshot(context, scope, path));
  storage.write(name, takeSnapshot(context, scope));
  const storeId = scope === "all" ? null : scope.storeId;
  return { storeId, takenAt: world.now(), format: store.snapshots.format };
}

export function listSnapshots(
  { store }: { readonly store: Pick<Store, "snapshots"> },
  storage: SnapshotStorage,
): readonly NamedSnapshot[] {
  return storage
    .names()
    .toSorted()
    .flatMap((name) => {
      const size = storage.size(name);
      if (size !== undefined && size > MAX_SNAPSHOT_BYTES)
        return [describeUnreadableSnapshot(name, size, english(partWords(TOO_LARGE)))];
      const bytes = storage.read(name);
      if (bytes === undefined) return [];
      const outcome = store.snapshots.open(bytes);
      if (!outcome.ok) return [describeUnreadableSnapshot(name, bytes.length, outcome.refusal)];
      outcome.value.connection.close();
      return [describeSnapshot(name, bytes.length, outcome.value)];
    });
}

export async function restoreNamedSnapshot(
  context: NamedSnapshotsContext,
  name: string,
  {
    scope,
    ...options
  }: { readonly scope: SnapshotScope | "as_taken" } & Pick<RestoreOptions, "trust" | "adopt">,
): Promise<Outcome<RestoreSummary>> {
  if ((context.snapshotStorage.size(name) ?? 0) > MAX_SNAPSHOT_BYTES)
    return refuseFact("snapshot_unfit", { reason: TOO_LARGE });
  const bytes = context.snapshotStorage.read(name);
  return bytes === undefined ? refuseUnknownSnapshot(name) : restoreSnapshot(context, scope, bytes, options);
}

export function removeSnapshot(storage: SnapshotStorage, name: string): Outcome<{ readonly name: string }> {
  if (storage.size(name) === undefined) return refuseUnknownSnapshot(name);
  storage.remove(name);
  return accept({ name });
}

function describeSnapshot(name: string, bytes: number, facts: SnapshotFacts): NamedSnapshot {
  const { storeId, takenAt, format } = facts;
  return { name, storeId, takenAt, format, bytes, problem: null };
}

function describeUnreadableSnapshot(name: string, bytes: number, problem: string): NamedSnapshot {
  return { name, storeId: null, takenAt: null, format: null, bytes, problem };
}

export function refuseUnknownSnapshot(name: string): Outcome<never> {
  return refuseFact("no_snapshot", { snapshot: name });
}
