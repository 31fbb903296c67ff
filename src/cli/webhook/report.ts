import type { Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import type { Style } from "../printer.ts";
import { iso, isoOrNull } from "../../core/clock.ts";
import type { MoveEntry } from "../../core/control/checkout.ts";
import { shortId, table, type Sheet } from "../table.ts";
import { parseJson } from "../../core/json.ts";
import type { DeliveryEntry, DispatchedEntry, EventEntry } from "../../core/control/webhook.ts";
import { isTaken } from "../../core/webhook/delivery.ts";
import { checkoutWire } from "../../core/checkout/wire.ts";

const COLUMNS = ["LAST TRY", "RESULT", "TRIES", "STATE", "NEXT TRY", "CAUSE"];

/** Deliveries of any events with their last try, one a line, in lines of `width` places. */
export function deliveryLines(
  deliveries: readonly DeliveryEntry[],
  { width, style }: Sheet,
): Promise<string> {
  return table(
    [...COLUMNS, "TYPE", "EVENT", "ENDPOINT"],
    deliveries.map((delivery) => [
      ...cells(delivery),
      delivery.type,
      shortId(delivery.eventId),
      addressOf(delivery),
    ]),
    { width, style, middle: ["ENDPOINT"], drop: ["CAUSE", "TYPE", "TRIES", "LAST TRY"] },
  );
}

/** The deliveries of one event with their last try, one a line, in lines of `width` places. */
export async function deliveryLinesOfEvent(
  deliveries: readonly DeliveryEntry[],
  { width, style }: Sheet,
): Promise<string> {
  if (deliveries.length === 0) return "  no endpoint wanted it";
  return table(
    [...COLUMNS, "ENDPOINT"],
    deliveries.map((delivery) => [...cells(delivery), addressOf(delivery)]),
    { width, style, middle: ["ENDPOINT"], drop: ["CAUSE", "TRIES", "LAST TRY"] },
  );
}

/** Events, one a line, in their order, in lines of `width` places. */
export function eventLines(events: readonly EventEntry[], width: number): Promise<string> {
  return table(
    ["AT", "TYPE", "ORDER ID", "EVENT"],
    events.map((event) => [iso(event.createdAt), event.type, orderIdOf(event), shortId(event.eventId)]),
    { width, drop: ["AT"] },
  );
}

/** The order_id in an event's body; null where it is about no order. */
export function orderIdOf({ body }: Pick<EventEntry, "body">): string | null {
  const said = parseJson(body);
  const checkout = typeof said === "object" && said !== null && "data" in said ? said.data : undefined;
  return checkoutWire.safeParse(checkout).data?.order_id ?? null;
}

/** What came of a delivery's last try: the receiver's status, or why there is none. */
export function resultOf({ attempts }: Pick<DeliveryEntry, "attempts">): string | null {
  const last = attempts.at(-1);
  if (last === undefined) return null;
  const result = last.finishedAt === null ? "in progress" : String(last.status ?? last.error);
  return last.fault === null ? result : `${result} (${last.fault})`;
}

/**
 * What happened while a clock moved, one a line, in order of time: moves of checkouts, and deliveries that were tried.
 * The id is that of the checkout, or of the event.
 */
export function happeningLines(
  moves: readonly MoveEntry[],
  { tried, width }: { readonly tried: readonly DispatchedEntry[]; readonly width: number },
): Promise<string> {
  if (tried.length === 0) return moveLines(moves, width);
  const moved = moves.map(({ at, orderId, from, to, checkoutId }) => [
    iso(at),
    orderId,
    `${from} → ${to}`,
    null,
    shortId(checkoutId),
  ]);
  const delivered = tried.map((one) => [
    iso(one.at),
    one.type,
    triedResult(one),
    isoOrNull(one.nextAt),
    shortId(one.eventId),
  ]);
  // Of what happened at one moment, the move comes before the delivery that tells of it.
  const rows = [...moved, ...delivered].toSorted(([left], [right]) =>
    (left ?? "") < (right ?? "") ? -1 : Number((left ?? "") > (right ?? "")),
  );
  return table(["AT", "ORDER ID OR EVENT TYPE", "WHAT HAPPENED", "NEXT TRY", "ID"], rows, {
    width,
    drop: ["NEXT TRY"],
    keep: ["AT", "ID"],
  });
}

function triedResult({ status, error, nextAt }: DispatchedEntry): string {
  if (status !== null && isTaken({ status, retryAfterMs: 0 })) return `delivered (${status})`;
  return `${nextAt === null ? "given up" : "not delivered"} (${status ?? error})`;
}

function cells(delivery: DeliveryEntry): (string | number | null)[] {
  const { attempts, tries, state, nextAt, cause } = delivery;
  const tried = attempts.at(-1)?.startedAt ?? null;
  return [isoOrNull(tried), resultOf(delivery), tries, state, isoOrNull(nextAt), cause];
}

/** Where it was sent to last, or the endpoint's id where it was not sent yet. */
function addressOf({ attempts, endpointId }: DeliveryEntry): string {
  return attempts.at(-1)?.url.replace(/^http:\/\//, "") ?? shortId(endpointId);
}

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

/** A cause of a failed verification, as a line below what failed. */
export function causeLine({ code, message, proven }: Diagnosis, style: Style): string {
  return `  ${style.cyan("→")} ${proven ? "" : "Perhaps: "}${message} ${style.dim(`(${code})`)}`;
}
