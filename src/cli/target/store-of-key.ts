import type { ControlTarget } from "../../client/control/control.ts";
import { redactKey } from "../../core/credential.ts";
import { isSameServer } from "../../core/loopback.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Context } from "../command.ts";
import { EXIT, fail, type Problem } from "../problem.ts";
import { callAt } from "./call.ts";

/**
 * A sandbox with the store of the API key in the environment, where nothing else names one: the folder may not know the
 * key. Refuses a key that no store of the sandbox has, because another sandbox is meant then.
 */
export async function inStoreOfKey(
  context: Context,
  target: ControlTarget,
): Promise<Outcome<ControlTarget, Problem>> {
  const { apiKey, addressOfKey } = context.around;
  if (apiKey === undefined || target.storeId !== undefined) return accept(target);
  // A key beside another address is for that service.
  const named = addressOfKey();
  if (named.ok && named.value !== undefined && !isSameServer(named.value.value, target.origin))
    return accept(target);
  const listed = await callAt(context, target, { name: "listStores", body: undefined });
  if (!listed.ok) return listed;
  const end = apiKey.slice(-4);
  for (const { storeId } of listed.value.stores) {
    const inStore = { ...target, storeId };
    const keys = await callAt(context, inStore, { name: "listKeys", body: undefined });
    if (!keys.ok) return keys;
    if (keys.value.keys.some(({ lastFour }) => lastFour === end)) return accept(inStore);
  }
  return fail({
    exitCode: EXIT.credential,
    code: "credential_invalid",
    message: `CHECKOUT_API_KEY (${redactKey(apiKey)}) is no key of this sandbox, so it is not known which store is meant`,
    next: 'name the store with --store, unset CHECKOUT_API_KEY, or eval "$(checkout env)"',
  });
}
