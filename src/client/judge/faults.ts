// The faults of a history: they apply to v1 requests about one order, until the next such step or the end of the history.
import type { Observation } from "../../core/judge/judge.ts";
import type { History, OrderName, Step } from "../../core/judge/step.ts";
import { faultAt, isKill, type ScheduledFault } from "../../core/judge/schedule.ts";
import type { World } from "../../world.ts";
import type { CallOperation } from "../control/control.ts";
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
  for (const fault of faults) {
    const body = faultBody(fault, orderId === undefined ? {} : { orderId });
    const { id } = (await bench.call({ name: "addFault", body })).fault;
    play.faults = [...play.faults, { id, isKill: isKill(fault.action) }];
  }
}

/** Removes the faults that this history has added. */
export async function removeFaults(play: Play): Promise<void> {
  const ids = new Set(play.faults.map(({ id }) => id));
  play.faults = [];
  const { call } = play.bench;
  for (const id of await leftFaults({ call }, ids)) await call({ name: "removeFault", id, body: undefined });
}

/**
 * A signal that kills a command, once, when the request of a kill has been processed; undefined if nothing is to be killed.
 */
export function watchKill(
  play: Play,
): { readonly signal: AbortSignal; readonly end: () => Promise<void> } | undefined {
  const ids = play.faults.flatMap((fault) => (fault.isKill ? [fault.id] : []));
  if (ids.length === 0) return undefined;
  play.faults = play.faults.map(({ id }) => ({ id, isKill: false }));
  const killing = new AbortController();
  const kill = (): Promise<void> => Promise.resolve(killing.abort());
  return { signal: killing.signal, ...watchKills(play.bench, ids, kill) };
}

/** The fault that carries out a scheduled one; a kill holds the answer back, so that the killed process gets none. */
export function faultBody(fault: ScheduledFault, more: NonNullable<ScheduledFault["match"]>) {
  const { action, match, ...rest } = isKill(fault.action)
    ? { ...faultAt(fault.match ?? {}, "latency"), latencyMs: HELD_BACK_MS }
    : fault;
  if (isKill(action)) throw new Error("a kill is a fault that delays an answer");
  return { ...rest, action, match: { ...match, ...more } };
}

/** The sandbox with the faults of a store. */
type FaultsOf = {
  readonly call: CallOperation;
  /** Default: the store of the calls. */
  readonly storeId?: string;
};

/** Those of these faults that still apply; one that was applied as often as it should be is gone. */
export async function leftFaults(
  { call, ...of }: FaultsOf,
  ids: ReadonlySet<string>,
): Promise<readonly string[]> {
  if (ids.size === 0) return [];
  const { faults } = await call({ name: "listFaults", ...storeOf(of), body: undefined });
  return faults.flatMap(({ id }) => (ids.has(id) ? [id] : []));
}

function storeOf({ storeId }: Pick<FaultsOf, "storeId">): Pick<FaultsOf, "storeId"> {
  return storeId === undefined ? {} : { storeId };
}

/** Kills after each processed request at which a kill is scheduled, until `end` is called, which reports a failure. */
export function watchKills(
  { call, world, ...of }: FaultsOf & { readonly world: Pick<World, "sleep"> },
  kills: readonly string[],
  kill: () => Promise<void>,
): { readonly end: () => Promise<void> } {
  const over = new AbortController();
  const watch = async (): Promise<void> => {
    let ids = kills;
    while (ids.length > 0 && !over.signal.aborted) {
      const waiting = await leftFaults({ call, ...of }, new Set(ids));
      if (waiting.length < ids.length) {
        await world.sleep(CARRIED_OUT_MS);
        await kill();
      } else await world.sleep(LOOK_MS);
      ids = waiting;
    }
  };
  const watching = watch();
  watching.catch(() => undefined);
  return {
    end: () => {
      over.abort();
      return watching;
    },
  };
}
