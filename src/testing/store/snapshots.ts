import { refuseFact } from "../../core/refusals.ts";
import { restoreSnapshot, takeSnapshot } from "../../sandbox/runtime/snapshots.ts";
import { answerOfRefusal } from "../calls.ts";
import { CheckoutError } from "../errors.ts";
import { refuseClosed, runWhileOpen, type InProcessSandbox } from "../in-process.ts";
import type { Identities } from "./identities.ts";

const NO_BYTES = refuseFact("snapshot_no_bytes", {});

/** No consent is needed, because the test itself passes the snapshot and owns the sandbox. */
const ALL_RIGHTS = { trust: true, adopt: true, isAdministrator: true };

type Scope = Parameters<typeof takeSnapshot>[1];

export async function takeSnapshotOf(sandbox: InProcessSandbox, scope: Scope): Promise<Uint8Array> {
  refuseClosed(sandbox);
  return takeSnapshot(sandbox.context, scope);
}

/**
 * Returns the ids of the snapshot's stores. Renews the seed, because the snapshot may contain ids that the seed would
 * otherwise draw again.
 */
export async function restoreInto(
  sandbox: InProcessSandbox,
  scope: Scope,
  options: { readonly snapshot: Uint8Array; readonly forget: () => void; readonly identities: Identities },
): Promise<readonly string[]> {
  const { snapshot, forget, identities } = options;
  const outcome = await runWhileOpen(sandbox, async () =>
    // `instanceof` would fail in jest, where a Uint8Array can be from another realm.
    ArrayBuffer.isView(snapshot) ? restoreSnapshot(sandbox.context, scope, snapshot, ALL_RIGHTS) : NO_BYTES,
  );
  if (!outcome.ok) throw new CheckoutError(answerOfRefusal(outcome.refusal));
  refuseClosed(sandbox);
  sandbox.renewSeed(sandbox.context.store.events.lastPosition());
  forget();
  const storeIds = outcome.value.stores.map(({ storeId }) => storeId);
  for (const storeId of storeIds) await sandbox.context.forgetStore({ storeId, kind: "reset" });
  await identities.renew(storeIds);
  return storeIds;
}
