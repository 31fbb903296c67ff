import type { ControlTarget } from "../../client/control/control.ts";
import { isSameServer, localOrigin } from "../../core/loopback.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { CommonOptions, Context } from "../command.ts";
import { callSandbox, inStore } from "../target/control.ts";
import { findStateFolder, liveRun, readCredentials } from "../../host/folder/state-folder.ts";
import type { Problem } from "../problem.ts";
import type { StoreAccess } from "./variables.ts";

/** The same of the store that the options and the folder name, in a sandbox. */
export async function accessIn(
  context: Context,
  options: CommonOptions,
  sandbox: ControlTarget,
): Promise<Outcome<StoreAccess, Problem>> {
  const target = await inStore(context, options, sandbox);
  return target.ok ? accessOf(context, options, target.value) : target;
}

/** The last four characters of the keys of a store that are revoked. */
export async function revokedKeyEnds(
  context: Context,
  target: ControlTarget,
  storeId: string,
): Promise<Outcome<readonly string[], Problem>> {
  const listed = await callSandbox(context, { ...target, storeId }, { name: "listKeys", body: undefined });
  if (!listed.ok) return listed;
  const revoked = listed.value.keys.filter(({ revokedAt }) => revokedAt !== null);
  return accept(revoked.map(({ lastFour }) => lastFour));
}

/** What an application of a store needs: from its sandbox, and its key from the folder of that. */
async function accessOf(
  context: Context,
  options: CommonOptions,
  target: ControlTarget,
): Promise<Outcome<StoreAccess, Problem>> {
  const told = await callSandbox(context, target, { name: "storeAccess", body: undefined });
  if (!told.ok) return told;
  const { storeId, signingSecret, ownSecrets } = told.value;
  const apiKey = keptKeyOf(context, options, { target, storeId });
  if (!apiKey.ok) return apiKey;
  return accept({ baseUrl: `${target.origin}/v1`, apiKey: apiKey.value, storeId, signingSecret, ownSecrets });
}

/** The keys that a folder keeps are those of its own sandbox. */
function keptKeyOf(
  { world }: Context,
  options: CommonOptions,
  { target, storeId }: { readonly target: ControlTarget; readonly storeId: string },
): Outcome<string | null, Problem> {
  const folder = findStateFolder(world, options);
  if (!folder.ok) return accept(null);
  const run = liveRun(world, folder.value);
  const port = run.ok ? run.value?.port : undefined;
  if (typeof port !== "number" || !isSameServer(localOrigin(port), target.origin)) return accept(null);
  const kept = readCredentials(world, folder.value);
  return kept.ok ? accept(kept.value?.stores[storeId]?.api_key ?? null) : kept;
}
