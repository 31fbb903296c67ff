import type { ControlTarget } from "../../client/control/control.ts";
import { redactKey } from "../../core/credential.ts";
import type { Context } from "../command.ts";
import { EXIT, Refused } from "../problem.ts";
import { callAt } from "./call.ts";
import { surroundingsAt } from "./surroundings.ts";

/** The folder may not know the key. Refuses a key of no store: it is probably a key of another sandbox. */
export async function selectStoreOfKey(context: Context, target: ControlTarget): Promise<ControlTarget> {
  const { apiKey } = surroundingsAt(context.around, target.origin);
  if (apiKey === undefined || target.storeId !== undefined) return target;
  const { stores } = await callAt(context, target, { name: "listStores", body: undefined });
  const end = apiKey.value.slice(-4);
  for (const { storeId } of stores) {
    const inStore = { ...target, storeId };
    const { keys } = await callAt(context, inStore, { name: "listKeys", body: undefined });
    if (keys.some(({ lastFour }) => lastFour === end)) return inStore;
  }
  throw new Refused({
    exitCode: EXIT.credential,
    code: "credential_invalid",
    message: `CHECKOUT_API_KEY (${redactKey(apiKey.value)}) is not a key of this sandbox, so the store cannot be determined`,
    next: 'name the store with --store, unset CHECKOUT_API_KEY, or eval "$(checkout env)"',
  });
}
