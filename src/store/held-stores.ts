import type { Connection } from "./connection/connection.ts";
import type { Scheduler } from "./connection/group-commit.ts";
import { cacheBriefly } from "./connection/remembered.ts";

export const HELD_STORES_DDL = `
CREATE TABLE held_stores (
  store_id TEXT PRIMARY KEY REFERENCES stores (id)
) STRICT, WITHOUT ROWID;
`;

/** Stores from another sandbox's snapshot deliver no webhooks until they are adopted (decision 95). */
export function heldStoresTable(connection: Connection, scheduler: Scheduler) {
  const select = connection.prepare<[string], 1>("SELECT 1 FROM held_stores WHERE store_id = ?").pluck();
  const selectAll = connection
    .prepare<[], string>("SELECT store_id FROM held_stores ORDER BY store_id")
    .pluck();
  const insert = connection.prepare<[string]>(
    "INSERT INTO held_stores (store_id) VALUES (?) ON CONFLICT DO NOTHING",
  );
  const remove = connection.prepare<[string]>("DELETE FROM held_stores WHERE store_id = ?");
  const isHeld = cacheBriefly(scheduler, (storeId): boolean => select.get(storeId) !== undefined);

  return {
    isHeld,

    all: (): string[] => selectAll.all(),

    hold: (storeId: string): void => {
      isHeld.forget();
      insert.run(storeId);
    },

    release: (storeId: string): void => {
      isHeld.forget();
      remove.run(storeId);
    },
  };
}
