import { createBench, type CreateRun } from "../../client/judge/bench.ts";
import { callOnStore, type SearchBench } from "../../client/judge/search/run-schedule.ts";
import type { ShownOrder } from "../../core/judge/view.ts";
import { isError } from "../../core/outcome.ts";
import { englishOf } from "../../core/readiness/drills/said.ts";
import { containsSecret } from "../../core/text.ts";
import { ignoreNotFound } from "../errors.ts";
import { internalsOf } from "../internals.ts";
import type { Sandbox, Store } from "../types.ts";
import type { ExploreOptions, View } from "./types.ts";

const PURCHASE_TIMEOUT_MS = 20_000;

export function createBenchOpener(sandbox: Sandbox, options: ExploreOptions): () => Promise<SearchBench> {
  return async () => {
    const store = await sandbox.createStore(options.dialect && { dialect: options.dialect });
    const remove = (): Promise<void> => store.delete().catch(ignoreNotFound);
    try {
      const stop = await options.start?.(store);
      const close = async (): Promise<void> => {
        try {
          await stop?.();
        } finally {
          await remove();
        }
      };
      return { bench: benchOf(sandbox, store, options), close };
    } catch (error) {
      await remove();
      throw error;
    }
  };
}

function benchOf(
  sandbox: Sandbox,
  store: Store,
  { purchase, view, bookings, returns }: ExploreOptions,
): SearchBench["bench"] {
  const { running, calls } = internalsOf(sandbox);
  const { world } = running;
  const call = callOnStore(calls.control, store.id);
  const buy = async (): Promise<CreateRun> => {
    const run = await withTimeout(world, async () => {
      const order: Partial<Awaited<ReturnType<typeof purchase>>> | undefined = await purchase(store);
      const { checkouts } = await call({ name: "listCheckouts", body: {} });
      const namedCheckout = checkouts.find(({ id }) => id === order?.id);
      const shownCheckout =
        namedCheckout && (await call({ name: "inspectCheckout", id: namedCheckout.id, body: undefined }));
      return { isWrong: shownCheckout === undefined || shownCheckout.checkoutUrl !== order?.checkout_url };
    });
    if (!run.isDone && containsSecret(englishOf(run.got))) bench.notes.secretPlaces.add("output");
    return run;
  };
  const read = async ({ orderId }: { readonly orderId: string }): Promise<ShownOrder> => {
    const shownView = viewOf(await view(orderId, store));
    return bookings === undefined ? shownView : { ...shownView, times: await bookings(orderId, store) };
  };
  const bench = createBench({
    world: { ...world, run: () => Promise.reject(new Error("a bench of functions runs no command")) },
    target: { origin: sandbox.origin },
    call,
    shop: {
      create: { buy },
      view: { source: { read }, paidWhen: undefined },
      env: {},
      ...(returns && {
        returns: async ({ id, orderId }) => returns({ id, order_id: orderId }, store),
      }),
    },
    newId: () => "",
    search: { isOwn: true },
    signal: new AbortController().signal,
  });
  return bench;
}

async function withTimeout(
  { sleep }: { readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void> },
  make: () => Promise<Pick<CreateRun, "isWrong">>,
): Promise<CreateRun> {
  const controller = new AbortController();
  const run = { hasEnded: true, isDone: false, text: "" };
  const timeout = sleep(PURCHASE_TIMEOUT_MS, controller.signal).then(() => ({
    ...run,
    hasEnded: false,
    got: "timeout",
  }));
  const purchaseRun = Promise.resolve()
    .then(make)
    .then(
      (result) => ({ ...run, ...result, isDone: true, got: "" }),
      (error: unknown) => ({ ...run, got: isError(error) ? error.message : String(error) }),
    );
  try {
    return await Promise.race([purchaseRun, timeout]);
  } finally {
    controller.abort();
  }
}

function viewOf(view: View): ShownOrder {
  if (typeof view === "string") return { paid: view === "paid", times: null, amountMinor: null };
  const { paid, times = null, amountMinor = null } = view;
  return { paid, times, amountMinor };
}
