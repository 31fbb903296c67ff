import type { Status } from "../core/checkout/checkout.ts";
import type { StatusChangeEntry } from "../core/checkout/shapes.ts";
import type { FinishedAttemptEntry } from "../core/webhook/shapes.ts";

type StatusChanges = { readonly count: number; readonly firstChanges: readonly StatusChangeEntry[] };

/** `from` and `to`: milliseconds by the store's clock. */
export type ClockMove = {
  readonly number: number;
  readonly from: number;
  readonly to: number;
  readonly isOver: boolean;
  readonly changes: ReadonlyMap<Status, StatusChanges>;
  readonly attempts: ReadonlyMap<string, ReadonlyMap<string, number>>;
};

export type ClockMoves = ReturnType<typeof createClockMoves>;

const MAX_CHANGES = 25;
const MAX_STORES = 100;

export function createClockMoves() {
  const moves = new Map<string, ClockMove>();
  let moveNumber = 0;
  return {
    last: (storeId: string): ClockMove | undefined => moves.get(storeId),
    begin: (storeId: string, times: Pick<ClockMove, "from" | "to">) => {
      moveNumber += 1;
      const changes = new Map<Status, StatusChanges>();
      const attempts = new Map<string, Map<string, number>>();
      let move: ClockMove = { ...times, number: moveNumber, isOver: false, changes, attempts };
      const keep = (update: Partial<ClockMove>): void => {
        move = { ...move, ...update };
        // A later move of the store's clock may have begun, and must stay in the map.
        if ((moves.get(storeId)?.number ?? 0) <= move.number) moves.set(storeId, move);
      };
      moves.delete(storeId);
      keep({});
      const [oldestStoreId] = moves.keys();
      if (moves.size > MAX_STORES && oldestStoreId !== undefined) moves.delete(oldestStoreId);
      return {
        addChanges: (firedChanges: readonly StatusChangeEntry[]): void =>
          firedChanges.forEach((entry) => changes.set(entry.to, addChange(changes.get(entry.to), entry))),
        addAttempts: (deliveredAttempts: readonly FinishedAttemptEntry[]): void => {
          for (const { endpointId, status, error } of deliveredAttempts) {
            const results = attempts.get(endpointId) ?? new Map<string, number>();
            const result = String(status ?? error ?? "");
            attempts.set(endpointId, results.set(result, (results.get(result) ?? 0) + 1));
          }
        },
        [Symbol.dispose]: (): void => keep({ isOver: true }),
      };
    },
  };
}

function addChange(changes: StatusChanges | undefined, entry: StatusChangeEntry): StatusChanges {
  const { count = 0, firstChanges = [] } = changes ?? {};
  return { count: count + 1, firstChanges: count < MAX_CHANGES ? firstChanges.concat(entry) : firstChanges };
}
