import type { Observation } from "../../core/judge/observation.ts";
import type { History, OrderName, Step } from "../../core/judge/step.ts";
import { isKill } from "../../core/judge/schedule.ts";
import { isApiAction } from "../../core/fault/actions.ts";
import type { CallOperation } from "../control/control.ts";
import type { Bench, Purchase } from "./bench.ts";

export type Play = {
  readonly bench: Bench;
  readonly history: Pick<History, "neighbourKind" | "pace" | "killMode">;
  readonly orders: readonly Purchase[];
  readonly facts: Observation[];
  faults: readonly AddedFault[];
  killController: AbortController;
  endKillWatch: (() => Promise<void>) | undefined;
  isAfterOutage: boolean;
  readonly isReadAgain: boolean;
};

type AddedFault = { readonly id: string; readonly isOfRequest: boolean };

const KILL_DELAY_MS = 10_000;
const PROCESSING_MS = 50;
const POLL_INTERVAL_MS = 10;

export function purchaseOf({ orders }: Pick<Play, "orders">, name: OrderName): Purchase {
  const purchase = orders.find((candidate) => candidate.name === name);
  if (purchase === undefined) throw new Error(`a history has no order ${name}`);
  return purchase;
}

/** Undefined if the shop generates its own order_id and has created no order yet. */
export function expectedOrderId(
  { recording: { hasSameId, suffix } }: Pick<Bench, "recording">,
  { cartId, checkouts }: Purchase,
): string | undefined {
  return checkouts.at(-1)?.orderId ?? (hasSameId ? `${cartId}${suffix}` : undefined);
}

export async function setFaults(play: Play, { of, faults }: Extract<Step, { act: "faults" }>): Promise<void> {
  await removeFaults(play);
  const { bench } = play;
  const { search, shop } = bench;
  const orderId = of === "all" ? undefined : expectedOrderId(bench, purchaseOf(play, of));
  if (of === "all") play.isAfterOutage = true;
  const killIds: string[] = [];
  for (const { action, ...fault } of faults) {
    const isOfRequest = isKill(action) || isApiAction(action);
    const endpointId = isOfRequest ? undefined : search?.endpointId;
    const match = {
      ...fault.match,
      ...(orderId !== undefined && { orderId }),
      ...(endpointId !== undefined && { endpointId }),
    };
    // A kill becomes a delayed answer, which the killed process does not get.
    const body = isKill(action)
      ? ({ action: "latency", latencyMs: KILL_DELAY_MS, match } as const)
      : { ...fault, action, match };
    const { id } = (await bench.call({ name: "addFault", body })).fault;
    play.faults = [...play.faults, { id, isOfRequest }];
    if (isKill(action)) killIds.push(id);
  }
  if (killIds.length === 0) return;
  play.endKillWatch = watchKills(bench, killIds, async () => {
    play.killController.abort();
    await (play.history.killMode === "stop" ? shop.restart?.("stop") : shop.kill?.());
  });
}

export async function removeFaults(play: Play, scope?: "requests"): Promise<void> {
  const isInScope = ({ isOfRequest }: AddedFault): boolean => scope === undefined || isOfRequest;
  const { call, search } = play.bench;
  try {
    await endKills(play);
  } finally {
    const ids = new Set(play.faults.filter(isInScope).map(({ id }) => id));
    play.faults = play.faults.filter((fault) => !isInScope(fault));
    for (const id of await findRemainingIds(call, ids)) {
      const removal = call({ name: "removeFault", id, body: undefined });
      // In a search, the fault may have been applied, and thereby removed, between the two calls.
      await (search === undefined ? removal : removal.catch(() => undefined));
    }
  }
}

export async function endKills(play: Play): Promise<void> {
  const { endKillWatch } = play;
  play.endKillWatch = undefined;
  await endKillWatch?.();
}

async function findRemainingIds(call: CallOperation, ids: ReadonlySet<string>): Promise<readonly string[]> {
  if (ids.size === 0) return [];
  const { faults } = await call({ name: "listFaults", body: undefined });
  return faults.flatMap(({ id }) => (ids.has(id) ? [id] : []));
}

function watchKills(
  { call, world }: Pick<Bench, "call" | "world">,
  killIds: readonly string[],
  kill: () => Promise<void>,
): () => Promise<void> {
  const endController = new AbortController();
  const watch = async (): Promise<void> => {
    let ids = killIds;
    while (ids.length > 0 && !endController.signal.aborted) {
      const remainingIds = await findRemainingIds(call, new Set(ids));
      if (remainingIds.length < ids.length) {
        await world.sleep(PROCESSING_MS);
        await kill();
      } else await world.sleep(POLL_INTERVAL_MS);
      ids = remainingIds;
    }
  };
  const watcher = watch();
  watcher.catch(() => undefined);
  return () => {
    endController.abort();
    return watcher;
  };
}
