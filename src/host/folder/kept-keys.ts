import type { StoreCreationContext } from "../../sandbox/runtime/seed.ts";
import type { CredentialsFile } from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { readCredentials, writeCredentials } from "./state-folder.ts";

type Stores = CredentialsFile["stores"];

/** `ready` in credentials.json is false until `sandbox.db` contains the first store. */
export function createKeyWriter(
  world: Pick<World, "files" | "soon">,
  folder: string | undefined,
): Pick<StoreCreationContext, "keepKey" | "keepKeySoon" | "keepName"> {
  if (folder === undefined)
    return { keepKey: () => undefined, keepKeySoon: () => Promise.resolve(), keepName: () => undefined };
  const read = (): CredentialsFile => {
    const keptCredentials = readCredentials(world, folder);
    // Throws to end the transaction: a new file would lose the keys of other stores.
    if (!keptCredentials.ok) throw new Error(keptCredentials.refusal.message);
    return keptCredentials.value ?? { stores: {} };
  };
  const write = (credentials: CredentialsFile, addedStores: Stores): void =>
    writeCredentials(world, folder, { ...credentials, stores: { ...credentials.stores, ...addedStores } });
  return {
    keepKey: ({ id, name, apiKey }, isFirst) => {
      // Drops earlier keys: the start that wrote them was never ready, so their stores do not exist.
      write(isFirst ? { ready: false, stores: {} } : read(), { [id]: { name, api_key: apiKey } });
    },
    keepKeySoon: batchWrites(world, (addedStores) => write(read(), addedStores)),
    keepName: ({ id, name }) => {
      const credentials = read();
      const keptStore = credentials.stores[id];
      if (keptStore !== undefined) write(credentials, { [id]: { ...keptStore, name } });
    },
  };
}

/** One write for several keys, because flushing a file takes longer than creating a store. */
function batchWrites(
  { soon }: Pick<World, "soon">,
  write: (addedStores: Stores) => void,
): StoreCreationContext["keepKeySoon"] {
  let pendingWrite: { readonly stores: Stores; readonly promise: Promise<void> } | undefined;
  const beginWrite = (): NonNullable<typeof pendingWrite> => {
    const stores: Stores = {};
    const promise = new Promise<void>((resolve) => soon(resolve)).then(() => {
      pendingWrite = undefined;
      write(stores);
    });
    return { stores, promise };
  };
  return ({ id, name, apiKey }) => {
    pendingWrite ??= beginWrite();
    Object.assign(pendingWrite.stores, { [id]: { name, api_key: apiKey } });
    return pendingWrite.promise;
  };
}
