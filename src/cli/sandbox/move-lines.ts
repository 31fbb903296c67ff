import { iso } from "../../core/clock.ts";
import type { MoveEntry } from "../../core/control/checkout.ts";
import { table } from "../table.ts";

/** The moves of checkouts, one a line, in their order. */
export function moveLines(moves: readonly MoveEntry[]): Promise<string> {
  const rows = moves.map(({ at, orderId, from, to, checkoutId }) => [
    iso(at),
    orderId,
    `${from} → ${to}`,
    checkoutId,
  ]);
  return table(["AT", "ORDER ID", "STATUS", "CHECKOUT"], rows);
}
