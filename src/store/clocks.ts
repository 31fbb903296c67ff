import type { StoreClock } from "../core/clock.ts";
import type { Connection } from "./connection/database.ts";

/** The clock of each store (decision 18). `changed` hears of every move, for whoever remembers a clock. */
export function clocksTable(connection: Connection, changed: () => void) {
  const select = connection.prepare<[string], StoreClock>(
    "SELECT clock_offset AS offsetMs, clock_frozen_at AS frozenAt FROM stores WHERE id = ?",
  );
  const selectStores = connection.prepare<[], string>("SELECT id FROM stores ORDER BY id").pluck();
  const update = connection.prepare<[number, number | null, string]>(
    "UPDATE stores SET clock_offset = ?, clock_frozen_at = ? WHERE id = ?",
  );

  return {
    /** The stores that have a clock: all of them. */
    storeIds: (): string[] => selectStores.all(),

    /** The clock of a store; undefined where there is no such store. */
    of: (storeId: string): StoreClock | undefined => select.get(storeId),

    set: (storeId: string, { offsetMs, frozenAt }: StoreClock): void => {
      update.run(offsetMs, frozenAt, storeId);
      changed();
    },
  };
}
