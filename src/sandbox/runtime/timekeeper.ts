import { realTimeOf, storeNow } from "../../core/clock.ts";
import type { World } from "../../world.ts";
import { createAlarm } from "./alarm.ts";
import { MAX_DUE_AT_ONCE, applyDueItems } from "../checkout/payments.ts";
import type { ServiceContext } from "../context.ts";

/** Applies changes when they become due. Reads do not rely on the timekeeper, and check the time themselves. */
export function createTimekeeper(
  world: Pick<World, "now" | "after">,
  options: { readonly context: () => ServiceContext; readonly report: (error: unknown) => void },
) {
  /** Processes everything due in these stores and sets the next timer, at the start and after a clock moved. */
  const wake = async (storeIds: readonly string[]): Promise<void> => {
    const context = options.context();
    const realNow = world.now();
    const dueStoreIds = storeIds.filter(
      (storeId) => (nextTime(context, storeId, realNow) ?? Infinity) <= realNow,
    );
    if (dueStoreIds.length > 0) await context.store.write(() => catchUp(context, dueStoreIds, realNow));
    for (const storeId of storeIds) {
      const realTime = nextTime(context, storeId, realNow);
      if (realTime !== undefined) alarm.expect(storeId, realTime);
    }
  };
  const alarm = createAlarm(world, { ring: wake, report: options.report });
  return { ...alarm, wake };
}

/** Applies the due changes of stores, up to the limit of one write. */
function catchUp(context: ServiceContext, storeIds: readonly string[], realNow: number): void {
  let budget = MAX_DUE_AT_ONCE;
  for (const storeId of storeIds) {
    const clock = context.store.clocks.of(storeId);
    if (clock === undefined) continue;
    budget -= applyDueItems(context, storeId, { until: storeNow(clock, realNow), limit: budget }).doneCount;
  }
}

/** The real time of a store's next due item: `realNow` if it is due now; undefined if a frozen clock prevents it. */
function nextTime({ store }: ServiceContext, storeId: string, realNow: number): number | undefined {
  const clock = store.clocks.of(storeId);
  const next = store.settlements.next(storeId);
  if (clock === undefined || next === undefined) return undefined;
  return next.dueAt <= storeNow(clock, realNow) ? realNow : realTimeOf(clock, next.dueAt);
}
