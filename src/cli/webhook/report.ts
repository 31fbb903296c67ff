import { shortId } from "../../core/text.ts";
import type { Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import type { Style } from "../printer.ts";
import { toIso, toIsoOrNull } from "../../core/clock.ts";
import { table, type TableStyle } from "../table.ts";
import { isAcceptedResult } from "../../core/webhook/delivery.ts";
import { orderIdInBody } from "../../core/checkout/event.ts";
import type { StatusChangeEntry } from "../../core/checkout/shapes.ts";
import type { DeliveryEntry, FinishedAttemptEntry, EventEntry } from "../../core/webhook/shapes.ts";

const COLUMNS = ["RESULT", "STATE", "ATTEMPTS", "LAST ATTEMPT", "NEXT ATTEMPT", "CAUSE"];
/** The column of faults, shown only if a fault was applied to one of the deliveries. */
const FAULT_COLUMN = "FAULT";

export function deliveryLines(
  deliveries: readonly DeliveryEntry[],
  { width, style }: TableStyle,
): Promise<string> {
  const { columns, cellsOf } = columnsOf(deliveries);
  return table(
    ["ORDER ID", "TYPE", ...columns, "EVENT", "ENDPOINT"],
    deliveries.map((delivery) => [
      delivery.orderId,
      delivery.type,
      ...cellsOf(delivery),
      shortId(delivery.eventId),
      addressOf(delivery),
    ]),
    {
      width,
      style,
      middle: ["ENDPOINT"],
      drop: ["CAUSE", "ATTEMPTS", "LAST ATTEMPT", "NEXT ATTEMPT"],
      keep: [FAULT_COLUMN, "EVENT"],
    },
  );
}

export async function deliveryLinesOfEvent(
  deliveries: readonly DeliveryEntry[],
  { width, style }: TableStyle,
): Promise<string> {
  if (deliveries.length === 0) return "  no endpoint receives events of this type";
  const { columns, cellsOf } = columnsOf(deliveries);
  return table(
    [...columns, "ENDPOINT"],
    deliveries.map((delivery) => [...cellsOf(delivery), addressOf(delivery)]),
    { width, style, middle: ["ENDPOINT"], drop: ["CAUSE", "ATTEMPTS", "LAST ATTEMPT"] },
  );
}

export function eventLines(events: readonly EventEntry[], width: number): Promise<string> {
  return table(
    ["AT", "TYPE", "ORDER ID", "EVENT"],
    events.map((event) => [
      toIso(event.createdAt),
      event.type,
      orderIdInBody(event.body) || null,
      shortId(event.eventId),
    ]),
    { width, drop: ["AT"] },
  );
}

/** The result of a delivery's last attempt: the endpoint's status, or why there is no status. */
export function lastResult({ attempts }: Pick<DeliveryEntry, "attempts">): string | null {
  const lastAttempt = attempts.at(-1);
  const result = statusText(lastAttempt);
  return lastAttempt === undefined || lastAttempt.fault === null
    ? result
    : `${result} (${lastAttempt.fault})`;
}

function statusText(lastAttempt: DeliveryEntry["attempts"][number] | undefined): string | null {
  if (lastAttempt === undefined) return null;
  return lastAttempt.finishedAt === null ? "in progress" : String(lastAttempt.status ?? lastAttempt.error);
}

/** Changes of checkouts, and attempts of deliveries, in order. The id is the checkout's or the event's. */
export function timelineLines(
  changes: readonly StatusChangeEntry[],
  { attempts, width }: { readonly attempts: readonly FinishedAttemptEntry[]; readonly width: number },
): Promise<string> {
  if (attempts.length === 0) return statusChangeLines(changes, width);
  const changeRows = changes.map(({ at, orderId, from, to, checkoutId }) => [
    toIso(at),
    orderId,
    `${from} → ${to}`,
    null,
    shortId(checkoutId),
  ]);
  const attemptRows = attempts.map((attempt) => [
    toIso(attempt.at),
    attempt.type,
    attemptResult(attempt),
    toIsoOrNull(attempt.nextAt),
    shortId(attempt.eventId),
  ]);
  // A stable sort: among rows with the same time, a change stays before the delivery of its event.
  const rows = [...changeRows, ...attemptRows].toSorted(([left], [right]) =>
    (left ?? "") < (right ?? "") ? -1 : Number((left ?? "") > (right ?? "")),
  );
  return table(["AT", "ORDER ID OR EVENT TYPE", "WHAT HAPPENED", "NEXT ATTEMPT", "ID"], rows, {
    width,
    drop: ["NEXT ATTEMPT"],
    keep: ["AT", "ID"],
  });
}

function attemptResult({ status, error, nextAt }: FinishedAttemptEntry): string {
  if (status !== null && isAcceptedResult({ status, retryAfterMs: 0 })) return `delivered (${status})`;
  return `${nextAt === null ? "given up" : "not delivered"} (${status ?? error})`;
}

type Cell = string | number | null;

function columnsOf(deliveries: readonly DeliveryEntry[]): {
  readonly columns: readonly string[];
  readonly cellsOf: (delivery: DeliveryEntry) => readonly Cell[];
} {
  if (deliveries.every((delivery) => faultsText(delivery) === ""))
    return { columns: COLUMNS, cellsOf: commonCells };
  return {
    columns: [...COLUMNS, FAULT_COLUMN],
    cellsOf: (delivery) => [...commonCells(delivery), faultsText(delivery) || null],
  };
}

function commonCells({ attempts, tries, state, nextAt, cause }: DeliveryEntry): readonly Cell[] {
  const lastAttempt = attempts.at(-1);
  return [
    statusText(lastAttempt),
    state,
    tries,
    toIsoOrNull(lastAttempt?.startedAt ?? null),
    toIsoOrNull(nextAt),
    cause,
  ];
}

function faultsText({ fault, attempts }: DeliveryEntry): string {
  const actions = [fault?.action, ...attempts.map((attempt) => attempt.fault)].filter((action) => action);
  return [...new Set(actions)].join(", ");
}

function addressOf({ url }: DeliveryEntry): string {
  return url.replace(/^http:\/\//, "");
}

export function statusChangeLines(changes: readonly StatusChangeEntry[], width: number): Promise<string> {
  const rows = changes.map(({ at, orderId, from, to, checkoutId }) => [
    toIso(at),
    orderId,
    `${from} → ${to}`,
    shortId(checkoutId),
  ]);
  return table(["AT", "ORDER ID", "STATUS", "CHECKOUT"], rows, { width, keep: ["AT"] });
}

/** The line with a cause, printed below the failed verification. */
export function causeLine({ code, message, proven }: Diagnosis, style: Style): string {
  return `  ${style.cyan("→")} ${proven ? "" : "Perhaps: "}${message} ${style.dim(`(${code})`)}`;
}
