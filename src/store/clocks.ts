import type { StoreClock } from "../core/clock.ts";
import type { Connection } from "./connection/connection.ts";

/** Stores that are being erased have no clock, so nothing in them becomes due (decisions 18, 91). */
export function clocksTable(connection: Connection, notifyChange: () => void) {
  const select = connection.prepare<[string], StoreClock>(
    `SELECT clock_offset AS offsetMs, clock_frozen_at AS frozenAt FROM stores
     WHERE id = ? AND NOT EXISTS (SELECT 1 FROM erasures WHERE store_id = stores.id)`,
  );
  const selectStores = connection
    .prepare<[], string>("SELECT id FROM stores WHERE id NOT IN (SELECT store_id FROM erasures) ORDER BY id")
    .pluck();
  const update = connection.prepare<StoreClock & { readonly storeId: string }>(
    "UPDATE stores SET clock_offset = @offsetMs, clock_frozen_at = @frozenAt WHERE id = @storeId",
  );

  return {
    storeIds: (): string[] => selectStores.all(),

    of: (storeId: string): StoreClock | undefined => select.get(storeId),

    set: (storeId: string, clock: StoreClock): void => {
      update.run({ ...clock, storeId });
      notifyChange();
    },
  };
}
