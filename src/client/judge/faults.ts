// The faults of a history: they apply to v1 requests about one order, until the next such step or the end of the history.
import type { Observation } from "../../core/judge/judge.ts";
import type { History, OrderName, Step } from "../../core/judge/step.ts";
import { faultAt, isKill } from "../../core/explore/schedule.ts";
import type { Bench, Purchase, Purchases } from "./bench.ts";

/** A history being played. */
export type Play = {
  readonly bench: Bench;
  readonly history: Pick<History, "neighbours" | "isAlone">;
  readonly orders: Purchases;
  readonly facts: Observation[];
  /** The faults that this history has added. */
  faults: readonly AddedFault[];
  /** Whether the views of its orders are read again at the end of the run. */
  readonly isReadAgain: boolean;
};

type AddedFault = { readonly id: string; readonly isKill: boolean };

/** How long an answer is held back while the command that waits for it is killed, in milliseconds. */
const HELD_BACK_MS = 10_000;
/** Time for the request of a killed command to be processed after its fault was applied, in milliseconds. */
const CARRIED_OUT_MS = 50;
const LOOK_MS = 10;

/** An order of a history. */
export function purchaseOf({ orders }: Pick<Play, "orders">, name: OrderName): Purchase {
  const purchase = orders.get(name);
  if (purchase === undefined) throw new Error(`a history has no order ${name}`);
  return purchase;
}

/** The order_id that the shop gives a purchase; undefined if the shop draws its own and has created none yet. */
export function expectedOrderId(
  { recording: { hasSameId, suffix } }: Pick<Bench, "recording">,
  { cartId, checkouts }: Purchase,
): string | undefined {
  return checkouts.at(-1)?.orderId ?? (hasSameId ? `${cartId}${suffix}` : undefined);
}

/** Replaces the faults of the history. */
export async function setFaults(play: Play, { of, faults }: Extract<Step, { act: "faults" }>): Promise<void> {
  await removeFaults(play);
  const { bench } = play;
  const orderId = expectedOrderId(bench, purchaseOf(play, of));
  const ofOrder = orderId === undefined ? {} : { orderId };
  for (const fault of faults) {
    const {
      action,
      match = {},
      ...rest
    } = isKill(fault.action) ? { ...faultAt(fault.match ?? {}, "latency"), latencyMs: HELD_BACK_MS } : fault;
    if (isKill(action)) throw new Error("a kill is a fault that delays an answer");
    const body = { ...rest, action, match: { ...match, ...ofOrder } };
    const { id } = (await bench.call({ name: "addFault", body })).fault;
    play.faults = [...play.faults, { id, isKill: isKill(fault.action) }];
  }
}

/** Removes the faults that this history has added; one that was applied as often as it should be is gone. */
export async function removeFaults(play: Play): Promise<void> {
  const ids = new Set(play.faults.map(({ id }) => id));
  play.faults = [];
  if (ids.size === 0) return;
  const { call } = play.bench;
  const { faults } = await call({ name: "listFaults", body: undefined });
  for (const { id } of faults.filter((fault) => ids.has(fault.id)))
    await call({ name: "removeFault", id, body: undefined });
}

/**
 * A signal that kills a command, once, when the request of a kill has been processed; undefined if nothing is to be killed.
 */
export function watchKill(
  play: Play,
): { readonly signal: AbortSignal; readonly end: () => Promise<void> } | undefined {
  const { call, world } = play.bench;
  const ids = new Set(play.faults.flatMap((fault) => (fault.isKill ? [fault.id] : [])));
  if (ids.size === 0) return undefined;
  play.faults = play.faults.map(({ id }) => ({ id, isKill: false }));
  const [killing, over] = [new AbortController(), new AbortController()];
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const left = await call({ name: "listFaults", body: undefined });
      if (!left.faults.some(({ id }) => ids.has(id))) {
        await world.sleep(CARRIED_OUT_MS);
        return killing.abort();
      }
      await world.sleep(LOOK_MS);
    }
  };
  const watching = watch();
  // `end` reports its failure.
  watching.catch(() => undefined);
  return {
    signal: killing.signal,
    end: () => {
      over.abort();
      return watching;
    },
  };
}
