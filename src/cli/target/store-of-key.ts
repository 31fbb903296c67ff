import type { ControlTarget } from "../../client/control/control.ts";
import { redactKey } from "../../core/credential.ts";
import { isSameServer } from "../../core/loopback.ts";
import type { Context } from "../command.ts";
import { EXIT, Refused, catchRefusal } from "../problem.ts";
import { callAt } from "./call.ts";

/**
 * Selects the store of the environment's API key, if nothing else names a store: the folder may not know the key.
 * Refuses a key that belongs to no store of the sandbox, because it is probably a key of another sandbox.
 */
export async function selectStoreOfKey(context: Context, target: ControlTarget): Promise<ControlTarget> {
  const { apiKey, addressOfKey } = context.around;
  if (apiKey === undefined || target.storeId !== undefined) return target;
  // The key belongs to the address in the environment, if there is one.
  const named = catchRefusal(addressOfKey).value;
  if (named !== undefined && !isSameServer(named.value, target.origin)) return target;
  const { stores } = await callAt(context, target, { name: "listStores", body: undefined });
  const end = apiKey.slice(-4);
  for (const { storeId } of stores) {
    const inStore = { ...target, storeId };
    const { keys } = await callAt(context, inStore, { name: "listKeys", body: undefined });
    if (keys.some(({ lastFour }) => lastFour === end)) return inStore;
  }
  throw new Refused({
    exitCode: EXIT.credential,
    code: "credential_invalid",
    message: `CHECKOUT_API_KEY (${redactKey(apiKey)}) is not a key of this sandbox, so the store cannot be determined`,
    next: 'name the store with --store, unset CHECKOUT_API_KEY, or eval "$(checkout env)"',
  });
}
