import { iso } from "../../core/clock.ts";
import type { MoveEntry } from "../../core/control/checkout.ts";
import { shortId, table } from "../table.ts";

/** The moves of checkouts, one a line, in their order, in lines of `width` places. */
export function moveLines(moves: readonly MoveEntry[], width: number): Promise<string> {
  const rows = moves.map(({ at, orderId, from, to, checkoutId }) => [
    iso(at),
    orderId,
    `${from} → ${to}`,
    shortId(checkoutId),
  ]);
  return table(["AT", "ORDER ID", "STATUS", "CHECKOUT"], rows, { width, keep: ["AT"] });
}
