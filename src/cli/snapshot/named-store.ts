import { accept, type Outcome } from "../../core/outcome.ts";
import type { SnapshotScope } from "../../core/snapshot/snapshot.ts";
import type { CommonOptions, Context } from "../command.ts";
import type { Problem } from "../problem.ts";
import { usualStore, type Stopped } from "../folder/stopped.ts";
import { isStoreId, oneStore } from "../target/named-store.ts";

/** The store of a stopped folder that a command is about: the one that is named, or else the usual one. */
export async function namedStoreOf(
  context: Pick<Context, "world">,
  { store: text }: CommonOptions,
  stopped: Stopped,
): Promise<Outcome<Exclude<SnapshotScope, "all">, Problem>> {
  if (text === undefined) {
    const usual = usualStore(context, stopped);
    return usual.ok ? accept({ storeId: usual.value }) : usual;
  }
  if (isStoreId(text)) return accept({ storeId: text.toLowerCase() });
  const stores = stopped.store.stores.all().map(({ id, store: name }) => ({ id, name }));
  const found = oneStore(stores, text);
  return found.ok ? accept({ storeId: found.value.id }) : found;
}
