import { VIEW_INTERVAL_MS, type PageView } from "../../core/checkout/page-view.ts";
import { accept } from "../../core/outcome.ts";
import { withCheckout } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";

export type PageViewRecorder = ReturnType<typeof createPageViewRecorder>;

const MAX_VIEWS = 1000;

/** Views are written after the answer, so a crash can lose one. */
export function createPageViewRecorder(
  context: Pick<ServiceContext, "store"> & {
    readonly world: Pick<ServiceContext["world"], "now">;
    readonly writeSignals: Pick<ServiceContext["writeSignals"], "notify">;
  },
  report: (error: unknown) => void,
) {
  const viewTimes = new Map<string, number>();
  let lastWrite: Promise<void> = Promise.resolve();

  const keep = (checkoutId: string, view: Omit<PageView, "at">): Promise<unknown> =>
    withCheckout(context, { storeId: null, checkoutId }, ({ storeId }, at) => {
      if (context.store.pageViews.keep(checkoutId, { ...view, at }))
        context.writeSignals.notify(storeId, { checkoutId });
      return accept(undefined);
    });

  return {
    /** Records only the first view in `VIEW_INTERVAL_MS`. Does not throw or wait; errors go to `report`. */
    note: (checkoutId: string, view: Omit<PageView, "at">): void => {
      const viewKey = `${view.kind} ${checkoutId}`;
      const now = context.world.now();
      if (now < (viewTimes.get(viewKey) ?? -Infinity) + VIEW_INTERVAL_MS) return;
      viewTimes.set(viewKey, now);
      const [oldestKey] = viewTimes.keys();
      if (viewTimes.size > MAX_VIEWS && oldestKey !== undefined) viewTimes.delete(oldestKey);
      const previousWrite = lastWrite;
      const pendingWrite = keep(checkoutId, view).catch(report);
      lastWrite = Promise.all([previousWrite, pendingWrite]).then(() => undefined);
    },
    idle: (): Promise<void> => lastWrite,
  };
}
