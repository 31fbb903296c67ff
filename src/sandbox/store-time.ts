import { storeNow } from "../core/clock.ts";
import type { ServiceContext } from "./context.ts";

/** What a store's clock shows right now; the real time where there is no such store. Milliseconds. */
export function storeTime(
  { store, world }: Pick<ServiceContext, "store" | "world">,
  storeId: string,
): number {
  const clock = store.clocks.of(storeId);
  return clock === undefined ? world.now() : storeNow(clock, world.now());
}
