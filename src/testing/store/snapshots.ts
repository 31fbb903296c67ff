import { refuse } from "../../core/outcome.ts";
import { restoreSnapshot, takeSnapshot } from "../../sandbox/runtime/snapshots.ts";
import { answered } from "../calls.ts";
import { CheckoutError } from "../errors.ts";
import { refuseClosed, whileOpen, type Running } from "../running.ts";
import type { Identities } from "./identities.ts";

const NO_BYTES = refuse("invalid_parameter", "the snapshot must be a Uint8Array, as snapshot() returns it");

/** Who writes a test names the bytes, and its program runs with all that it may do: there is nobody else to ask. */
const ADOPTED = { adopt: true, isAdministrator: true };

type Scope = Parameters<typeof takeSnapshot>[1];

/** The bytes of a snapshot of a store, or of the whole sandbox. */
export async function snapshotOf(running: Running, scope: Scope): Promise<Uint8Array> {
  refuseClosed(running);
  return takeSnapshot(running.context, scope);
}

/**
 * Puts the state of a snapshot in place of that of a store, or of the whole sandbox, and returns the ids of its stores;
 * `forget` forgets what receivers got. From then on ids come from another seed, because those of this one may be in the
 * snapshot. Throws a CheckoutError.
 */
export async function restoreInto(
  running: Running,
  scope: Scope,
  {
    snapshot,
    forget,
    identities,
  }: { readonly snapshot: Uint8Array; readonly forget: () => void; readonly identities: Identities },
): Promise<readonly string[]> {
  const restored = await whileOpen(running, async () =>
    // A caller without types can give anything. In jest a Uint8Array may be of another realm.
    ArrayBuffer.isView(snapshot) ? restoreSnapshot(running.context, scope, snapshot, ADOPTED) : NO_BYTES,
  );
  if (!restored.ok) throw new CheckoutError(answered(restored.refusal));
  refuseClosed(running);
  running.renewSeed(running.context.store.events.lastPosition());
  forget();
  const storeIds = restored.value.stores.map(({ storeId }) => storeId);
  await identities.renew(storeIds);
  return storeIds;
}
