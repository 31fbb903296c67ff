import { parseJson } from "../../core/json.ts";
import type { MoveWire } from "../../core/control/operations.ts";
import type { DeliveryWire, DispatchedWire, EventWire } from "../../core/control/webhook.ts";
import { isTaken } from "../../core/webhook/delivery.ts";
import { checkoutWire } from "../../core/checkout/wire.ts";
import { moveLines } from "../control-command.ts";
import { table } from "../printer.ts";

const COLUMNS = ["LAST TRY", "RESULT", "TRIES", "STATE", "NEXT TRY", "CAUSE"];

/** Deliveries of any events with their last try, one a line. */
export function deliveryLines(deliveries: readonly DeliveryWire[]): string {
  return table(
    [...COLUMNS, "TYPE", "EVENT", "ENDPOINT"],
    deliveries.map((delivery) => [...cells(delivery), delivery.type, delivery.event_id, addressOf(delivery)]),
  );
}

/** The deliveries of one event with their last try, one a line. */
export function deliveryLinesOfEvent(deliveries: readonly DeliveryWire[]): string {
  if (deliveries.length === 0) return "  no endpoint wanted it";
  return table(
    [...COLUMNS, "ENDPOINT"],
    deliveries.map((delivery) => [...cells(delivery), addressOf(delivery)]),
  );
}

/** Events, one a line, in their order. */
export function eventLines(events: readonly EventWire[]): string {
  return table(
    ["AT", "TYPE", "ORDER ID", "EVENT"],
    events.map((event) => [event.created_at, event.type, orderIdOf(event), event.event_id]),
  );
}

/** The order_id in an event's body; null where it is about no order. */
export function orderIdOf({ body }: Pick<EventWire, "body">): string | null {
  const said = parseJson(body);
  const checkout = typeof said === "object" && said !== null && "data" in said ? said.data : undefined;
  return checkoutWire.safeParse(checkout).data?.order_id ?? null;
}

/** What came of a delivery's last try: the receiver's status, or why there is none. */
export function resultOf({ attempts }: Pick<DeliveryWire, "attempts">): string | null {
  const last = attempts.at(-1);
  if (last === undefined) return null;
  const result = last.finished_at === null ? "in progress" : String(last.status ?? last.error);
  return last.trouble === null ? result : `${result} (${last.trouble})`;
}

/** What happened while a clock moved, one a line, in order of time: moves of checkouts, and deliveries that were tried. */
export function happeningLines(moves: readonly MoveWire[], tried: readonly DispatchedWire[]): string {
  if (tried.length === 0) return moveLines(moves);
  const moved = moves.map(({ at, order_id: orderId, from, to, checkout_id: id }) => [
    at,
    orderId,
    `${from} → ${to}`,
    id,
  ]);
  const delivered = tried.map((one) => [one.at, one.type, triedResult(one), one.event_id]);
  // Of what happened at one moment, the move comes before the delivery that tells of it.
  const rows = [...moved, ...delivered].toSorted(([left = ""], [right = ""]) =>
    left < right ? -1 : Number(left > right),
  );
  return table(["AT", "ORDER ID OR EVENT TYPE", "WHAT HAPPENED", "CHECKOUT OR EVENT"], rows);
}

function triedResult({ status, error, next_at: nextAt }: DispatchedWire): string {
  if (status !== null && isTaken({ status, retryAfterMs: 0 })) return `delivered (${status})`;
  const then = nextAt === null ? "given up" : `next try ${nextAt}`;
  return `not delivered (${status ?? error}), ${then}`;
}

function cells(delivery: DeliveryWire): (string | number | null)[] {
  const { tries, state, next_at: nextAt, cause } = delivery;
  return [delivery.attempts.at(-1)?.started_at ?? null, resultOf(delivery), tries, state, nextAt, cause];
}

/** Where it was sent to last, or the endpoint's id where it was not sent yet. */
function addressOf({ attempts, endpoint_id: id }: DeliveryWire): string {
  return attempts.at(-1)?.url ?? id;
}
