// Records, for the story of a checkout, that its page was opened or left for the shop. The page's script reports both:
// sandbox/pages/payment/send-back.js. Stored views: core/checkout/page-view.ts, store/checkout/page-views.ts.
import { VIEW_INTERVAL_MS, type PageView } from "../../core/checkout/page-view.ts";
import { accept } from "../../core/outcome.ts";
import { withCheckout } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";

/** Records page views of checkouts, for their stories (decision 99). */
export type PageViewRecorder = ReturnType<typeof createPageViewRecorder>;

/** Maximum number of views in memory; a view that is in memory is not written again within a minute. */
const MAX_VIEWS = 1000;

/** Creates a recorder that commits views separately, after the answer, so a crash in between can lose a view. */
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
    /** Records a view: looks it up in memory, and writes the first view of each minute. Never fails or blocks. */
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
    /** Resolves when all recorded views are on disk, or could not be written. */
    idle: (): Promise<void> => lastWrite,
  };
}
