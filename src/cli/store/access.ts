import type { ControlTarget } from "../../client/control/control.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Context } from "../command.ts";
import type { Problem } from "../problem.ts";
import type { StoreAccess } from "./variables.ts";
import { callAt } from "../target/call.ts";
import { inStore } from "../target/control.ts";
import { isOwn } from "../target/surroundings.ts";

/** The same of the store that the options and the folder name, in a sandbox. */
export async function accessIn(
  context: Context,
  sandbox: ControlTarget,
): Promise<Outcome<StoreAccess, Problem>> {
  const target = await inStore(context, sandbox);
  return target.ok ? accessOf(context, target.value) : target;
}

/** The last four characters of the keys of a store that are revoked. */
export async function revokedKeyEnds(
  context: Context,
  target: ControlTarget,
  storeId: string,
): Promise<Outcome<readonly string[], Problem>> {
  const listed = await callAt(context, { ...target, storeId }, { name: "listKeys", body: undefined });
  if (!listed.ok) return listed;
  const revoked = listed.value.keys.filter(({ revokedAt }) => revokedAt !== null);
  return accept(revoked.map(({ lastFour }) => lastFour));
}

/** What an application of a store needs: from its sandbox, and its key from the folder of that. */
async function accessOf(context: Context, target: ControlTarget): Promise<Outcome<StoreAccess, Problem>> {
  const told = await callAt(context, target, { name: "storeAccess", body: undefined });
  if (!told.ok) return told;
  const { storeId, signingSecret, ownSecrets } = told.value;
  const apiKey = keptKeyOf(context, target, storeId);
  if (!apiKey.ok) return apiKey;
  return accept({ baseUrl: `${target.origin}/v1`, apiKey: apiKey.value, storeId, signingSecret, ownSecrets });
}

/** The keys that a folder keeps are those of its own sandbox. */
function keptKeyOf(
  { around }: Context,
  { origin }: ControlTarget,
  storeId: string,
): Outcome<string | null, Problem> {
  if (!isOwn(around, origin)) return accept(null);
  const kept = around.credentials();
  return kept.ok ? accept(kept.value.stores[storeId]?.api_key ?? null) : kept;
}
