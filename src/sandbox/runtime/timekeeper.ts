import { realTimeOf, storeNow } from "../../core/clock.ts";
import type { World } from "../../world.ts";
import { createAlarm } from "./alarm.ts";
import { MAX_DUE_ITEMS, applyDueItems } from "../checkout/payments.ts";
import type { ServiceContext } from "../context.ts";

/** Applies due changes in the background. Reads do not depend on this, because each read applies due changes itself. */
export function createTimekeeper(
  world: Pick<World, "now" | "after">,
  options: { readonly context: () => ServiceContext; readonly report: (error: unknown) => void },
) {
  const wake = async (storeIds: readonly string[]): Promise<void> => {
    const context = options.context();
    const times = await context.store.write(
      () => {
        const [realNow, budget] = [world.now(), { left: MAX_DUE_ITEMS }];
        return storeIds.map((storeId) => [storeId, catchUp(context, { storeId, budget }, realNow)] as const);
      },
      { isOftenIdle: true },
    );
    for (const [storeId, realTime] of times) if (realTime !== undefined) alarm.expect(storeId, realTime);
  };
  const alarm = createAlarm(world, { ring: wake, report: options.report });
  return { ...alarm, wake };
}

/**
 * Returns the real time of the next change, or undefined if there is none or the clock is frozen. `budget` limits the
 * work of one write.
 */
function catchUp(
  context: ServiceContext,
  { storeId, budget }: { readonly storeId: string; readonly budget: { left: number } },
  realNow: number,
): number | undefined {
  const clock = context.store.clocks.of(storeId);
  if (clock === undefined) return undefined;
  const { hasMore, doneCount } = applyDueItems(context, storeId, {
    until: storeNow(clock, realNow),
    limit: budget.left,
  });
  budget.left -= doneCount;
  if (hasMore) return realNow;
  const next = context.store.settlements.next(storeId);
  return next && realTimeOf(clock, next.dueAt);
}
