import { printable } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";

/** Why a store from another sandbox's snapshot delivers nothing, and the remedy. */
const FOREIGN_STORE_REASON =
  "came with a snapshot of another sandbox; to deliver its events: checkout snapshots restore <name> --trust --adopt, or checkout sandbox start --adopt";

/** Its folder delivers nothing, or the store was restored but not adopted (decision 95). */
export function holdOfStore({ store, folderHold }: HoldContext, storeId: string): string | undefined {
  return folderHold ?? (store.heldStores.isHeld(storeId) ? `this store ${FOREIGN_STORE_REASON}` : undefined);
}

/** Why nothing is delivered from the sandbox, or from some of its stores; undefined if deliveries are sent. */
export function holdOfSandbox({ store, folderHold }: HoldContext): string | undefined {
  if (folderHold !== undefined) return folderHold;
  const [held, ...others] = store.heldStores.all();
  if (held === undefined) return undefined;
  return `${others.length === 0 ? `store ${held}` : `each of ${others.length + 1} stores`} ${FOREIGN_STORE_REASON}`;
}

type HoldContext = {
  readonly store: Pick<Store, "heldStores">;
  /** Why nothing is delivered from the whole folder (decision 71). */
  readonly folderHold: string | undefined;
};

/**
 * Compares the folder of the state with the recorded folder (decision 71). Records the folder if none was recorded yet,
 * or if the state is adopted, which also adopts stores from another sandbox's snapshot. Returns why nothing may be
 * delivered: the state is a copy, was moved, or came from another user. Undefined if deliveries may be sent.
 */
export function recordHome(
  store: Pick<Store, "home" | "heldStores" | "write">,
  { path, adopt }: { readonly path: string; readonly adopt: boolean },
): Promise<string | undefined> {
  return store.write(() => {
    if (adopt) for (const storeId of store.heldStores.all()) store.heldStores.release(storeId);
    const known = store.home.path();
    const hold =
      known === undefined || adopt ? undefined : holdElsewhere(known, path, "checkout sandbox start");
    if (known !== path && hold === undefined) store.home.record(path);
    return hold;
  });
}

/** Why nothing is delivered from a state that belongs to another folder than the folder in which it is started. */
export function holdElsewhere(known: string, path: string, start: string): string | undefined {
  return known === path
    ? undefined
    : `this state belongs to ${printable(known)}; to adopt it in this folder: ${start} --adopt`;
}
