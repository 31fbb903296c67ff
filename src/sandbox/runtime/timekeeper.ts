import { realTimeOf, storeNow } from "../../core/clock.ts";
import type { World } from "../../world.ts";
import { createAlarm } from "./alarm.ts";
import { MAX_DUE_AT_ONCE, applyDueItems } from "../checkout/payments.ts";
import type { ServiceContext } from "../context.ts";

/** Reads do not rely on the timekeeper: they check the time themselves. */
export function createTimekeeper(
  world: Pick<World, "now" | "after">,
  options: { readonly context: () => ServiceContext; readonly report: (error: unknown) => void },
) {
  /** Processes everything due in these stores and sets the next timer, at the start and after a clock moved. */
  const wake = async (storeIds: readonly string[]): Promise<void> => {
    const context = options.context();
    const next = await context.store.write(() => {
      const [realNow, budget] = [world.now(), { left: MAX_DUE_AT_ONCE }];
      return storeIds.map((storeId) => [storeId, catchUp(context, { storeId, budget }, realNow)] as const);
    });
    for (const [storeId, realTime] of next) if (realTime !== undefined) alarm.expect(storeId, realTime);
  };
  const alarm = createAlarm(world, { ring: wake, report: options.report });
  return { ...alarm, wake };
}

/** Up to the limit of this write. Returns the real time of the next item, if the store's clock is running. */
function catchUp(
  context: ServiceContext,
  { storeId, budget }: { readonly storeId: string; readonly budget: { left: number } },
  realNow: number,
): number | undefined {
  const clock = context.store.clocks.of(storeId);
  if (clock === undefined) return undefined;
  const { more, done } = applyDueItems(context, storeId, {
    until: storeNow(clock, realNow),
    most: budget.left,
  });
  budget.left -= done;
  if (more) return realNow;
  const next = context.store.settlements.next(storeId);
  return next && realTimeOf(clock, next.dueAt);
}
