import { accept, type Outcome } from "../../core/outcome.ts";
import { resetStores, type ResetStore } from "../runtime/reset.ts";
import type { ControlActs, Handlers } from "./handler.ts";

/** What the operation on what has happened does. */
export const resetHandlers = {
  reset: async (context, { body }) => {
    const done = await withClocksStill(context, () => resetStores(context, body.store));
    if (!done.ok) return done;
    for (const { storeId } of done.value) context.requests.forget(storeId);
    await context.wakeStores(done.value.map(({ storeId }) => storeId));
    return accept({ stores: done.value });
  },
} satisfies Pick<Handlers, "reset">;

/** Waits for moves of clocks that run: they would set a clock after its reset. */
function withClocksStill(
  { store, clockMutex }: ControlActs,
  work: () => Promise<Outcome<readonly ResetStore[]>>,
): Promise<Outcome<readonly ResetStore[]>> {
  const still = store.clocks.storeIds().reduce((rest, id) => () => clockMutex(id, rest), work);
  return still();
}
