import type { StageFactory, Stage } from "../../client/judge/run-schedule.ts";
import type { PurchaseResult, SecretPlace } from "../../core/judge/facts.ts";
import type { ShownOrder } from "../../core/judge/view.ts";
import { isError } from "../../core/outcome.ts";
import { containsSecret } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { ignoreNotFound } from "../errors.ts";
import type { Sandbox, Store } from "../types.ts";
import type { ExploreOptions, View } from "./types.ts";

/** The application under test, and the sandbox with its stores. */
type Application = Pick<ExploreOptions, "purchase" | "view" | "start" | "bookings" | "returns"> & {
  readonly sandbox: Sandbox;
  readonly world: Pick<World, "sleep">;
};

/** Timeout of a purchase, including its retries and pauses, in milliseconds of real time. */
const PURCHASE_LIMIT_MS = 20_000;

/** Opens a stage for each schedule: the application's functions with a new store. */
export function stagesOf({
  sandbox,
  world,
  purchase,
  view,
  start,
  bookings,
  returns,
}: Application): StageFactory["open"] {
  return async () => {
    const store = await sandbox.createStore();
    const remove = (): Promise<void> => store.delete().catch(ignoreNotFound);
    const open = async (): Promise<Stage> => {
      const stop = await start?.(store);
      const secretPlaces = new Set<SecretPlace>();
      return {
        storeId: store.id,
        purchase: async () => {
          const end = await attempt(world, purchase, store);
          if (end.end === "failure" && containsSecret(end.message)) secretPlaces.add("output");
          return end;
        },
        secretPlaces,
        view: async ({ orderId }) => {
          const shown = viewOf(await view(orderId, store));
          return bookings === undefined ? shown : { ...shown, times: await bookings(orderId, store) };
        },
        ...(returns && {
          returns: async ({ id, orderId }) => returns({ id, order_id: orderId }, store),
        }),
        close: async () => {
          try {
            await stop?.();
          } finally {
            await remove();
          }
        },
      };
    };
    try {
      return await open();
    } catch (error) {
      await remove();
      throw error;
    }
  };
}

/** Makes the purchase, within the timeout. */
async function attempt(
  { sleep }: Pick<World, "sleep">,
  purchase: ExploreOptions["purchase"],
  store: Store,
): Promise<PurchaseResult> {
  const over = new AbortController();
  const late = sleep(PURCHASE_LIMIT_MS, over.signal).then((): PurchaseResult => ({ end: "timeout" }));
  const made = Promise.resolve()
    .then(() => purchase(store))
    .then(
      // An untyped application can return anything, such as an incomplete answer.
      (order: Partial<Awaited<ReturnType<typeof purchase>>> | undefined): PurchaseResult => ({
        end: "order",
        id: String(order?.id),
        checkoutUrl: String(order?.checkout_url),
      }),
      (error: unknown): PurchaseResult => ({
        end: "failure",
        message: isError(error) ? error.message : String(error),
      }),
    );
  try {
    return await Promise.race([made, late]);
  } finally {
    over.abort();
  }
}

function viewOf(view: View): ShownOrder {
  if (typeof view === "string") return { paid: view === "paid", times: null, amountMinor: null };
  const { paid, times = null, amountMinor = null } = view;
  return { paid, times, amountMinor };
}
