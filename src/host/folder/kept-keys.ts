import { isError } from "../../core/outcome.ts";
import type { StoreMaker } from "../../sandbox/runtime/seed.ts";
import type { Credentials } from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { readCredentials, writeCredentials } from "./state-folder.ts";

type Stores = Credentials["stores"];

/** Without a folder, stores nothing. Until the first store is in `sandbox.db`, the file says: never ready. */
export function createKeyWriter(
  world: Pick<World, "files" | "soon">,
  folder: string | undefined,
): Pick<StoreMaker, "keepKey" | "keepKeySoon" | "keepName"> {
  if (folder === undefined)
    return { keepKey: () => undefined, keepKeySoon: () => Promise.resolve(), keepName: () => undefined };
  const read = (): Credentials => {
    const keptCredentials = readCredentials(world, folder);
    // The transaction fails then, so that the keys of other stores in the unreadable file are not lost.
    if (!keptCredentials.ok) throw new Error(keptCredentials.refusal.message);
    return keptCredentials.value ?? { stores: {} };
  };
  const write = (credentials: Credentials, addedStores: Stores): void =>
    writeCredentials(world, folder, { ...credentials, stores: { ...credentials.stores, ...addedStores } });
  return {
    keepKey: ({ id, name, apiKey }, isFirst) => {
      // Keys from before a first store belong to no store: the start that wrote them was never ready.
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

/** Each write flushes a file, which takes longer than creating a store. */
function batchWrites(
  { soon }: Pick<World, "soon">,
  write: (added: Stores) => void,
): StoreMaker["keepKeySoon"] {
  let next: { readonly added: Stores; readonly written: Promise<void> } | undefined;
  return ({ id, name, apiKey }) => {
    const entry = { [id]: { name, api_key: apiKey } };
    if (next !== undefined) {
      Object.assign(next.added, entry);
      return next.written;
    }
    const addedStores: Stores = entry;
    const keysWritten = new Promise<void>((resolve, reject) =>
      soon(() => {
        next = undefined;
        try {
          write(addedStores);
          resolve();
        } catch (error) {
          reject(isError(error) ? error : new Error(String(error)));
        }
      }),
    );
    next = { added: addedStores, written: keysWritten };
    return keysWritten;
  };
}
