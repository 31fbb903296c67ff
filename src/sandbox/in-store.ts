import { refuse, type Outcome } from "../core/outcome.ts";
import type { ServiceContext } from "./context.ts";

/** Does something in the store that is meant: until there are more stores than one, the first. Refuses with `not_found`. */
export async function inStore<Value>(
  { store }: Pick<ServiceContext, "store">,
  work: (storeId: string) => Outcome<Value> | Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  const first = store.stores.first();
  return first === undefined ? refuse("not_found", "there is no store yet") : work(first.id);
}
