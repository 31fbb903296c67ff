import type { ControlTarget } from "../../client/control/control.ts";
import type { Context } from "../command.ts";
import type { StoreAccess } from "./variables.ts";
import { missingCredential, Refused } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { resolveStore } from "../target/control.ts";
import { isOwnSandbox } from "../target/surroundings.ts";

export async function readStoreAccess(context: Context, sandbox: ControlTarget): Promise<StoreAccess> {
  const target = await resolveStore(context, sandbox);
  const access = await callAt(context, target, { name: "storeAccess", body: undefined });
  const { storeId, signingSecret, ownSecrets } = access;
  // A folder keeps only keys of its own sandbox.
  const isOwn = isOwnSandbox(context.around, target.origin);
  const apiKey = (isOwn ? context.around.credentials().stores[storeId]?.api_key : undefined) ?? null;
  return { baseUrl: `${target.origin}/v1`, apiKey, storeId, signingSecret, ownSecrets };
}

export async function listRevokedLastFours(
  context: Context,
  target: ControlTarget,
  storeId: string,
): Promise<readonly string[]> {
  const { keys } = await callAt(context, { ...target, storeId }, { name: "listKeys", body: undefined });
  const revokedKeys = keys.filter(({ revokedAt }) => revokedAt !== null);
  return revokedKeys.map(({ lastFour }) => lastFour);
}

export function refuseWithoutKey({ storeId }: Pick<StoreAccess, "storeId">, next: string): Refused {
  const message = `no file contains the API key of store ${storeId}, which was shown only once`;
  return new Refused(missingCredential(message, next));
}
