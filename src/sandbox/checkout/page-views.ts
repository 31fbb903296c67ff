// How a story learns that a page was opened or left. Who says so: sandbox/pages/payment/send-back.js; what is kept:
// core/checkout/page-view.ts, store/checkout/page-views.ts.
import { ONE_VIEW_MS, type PageView } from "../../core/checkout/page-view.ts";
import { accept } from "../../core/outcome.ts";
import { atCheckout } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";

/** Keeps what browsers do with the pages of checkouts, for their story (decision 99). */
export type PageViews = {
  /** A look-up in memory, except for the first view of its minute. Never fails, and nothing waits for it. */
  readonly note: (checkoutId: string, view: Omit<PageView, "at">) => void;
  /** Resolves when all that was noted is on disk, or could not be written. */
  readonly idle: () => Promise<void>;
};

/** How many views are remembered, so that a page which is asked for again and again costs no write. */
const MAX_REMEMBERED = 1000;

/** Views are written in commits of their own, after the answer: a crash in between loses them. */
export function createPageViews(
  context: Pick<ServiceContext, "store"> & {
    readonly world: Pick<ServiceContext["world"], "now">;
    readonly eventArrivals: Pick<ServiceContext["eventArrivals"], "tell">;
  },
  report: (error: unknown) => void,
): PageViews {
  const noted = new Map<string, number>();
  let written: Promise<void> = Promise.resolve();

  const keep = (checkoutId: string, view: Omit<PageView, "at">): Promise<unknown> =>
    atCheckout(context, { storeId: null, checkoutId }, ({ storeId }, at) => {
      if (context.store.pageViews.keep(checkoutId, { ...view, at }))
        context.eventArrivals.tell(storeId, { checkoutId });
      return accept(undefined);
    });

  return {
    note: (checkoutId, view) => {
      const name = `${view.kind} ${checkoutId}`;
      const now = context.world.now();
      if (now < (noted.get(name) ?? -Infinity) + ONE_VIEW_MS) return;
      noted.set(name, now);
      const [oldest] = noted.keys();
      if (noted.size > MAX_REMEMBERED && oldest !== undefined) noted.delete(oldest);
      const before = written;
      const writing = keep(checkoutId, view).catch(report);
      written = Promise.all([before, writing]).then(() => undefined);
    },
    idle: () => written,
  };
}
