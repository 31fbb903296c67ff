import { shortId } from "../../core/text.ts";
import type { Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import type { Style } from "../printer.ts";
import { toIso, toIsoOrNull } from "../../core/clock.ts";
import { table, tableOf, type Column, type TableStyle } from "../table.ts";
import { isSuccessStatus } from "../../core/webhook/delivery.ts";
import { orderIdInBody } from "../../core/checkout/event.ts";
import type { StatusChangeEntry } from "../../core/checkout/shapes.ts";
import type { DeliveryEntry, FinishedAttemptEntry, EventEntry } from "../../core/webhook/shapes.ts";

const RESULT_COLUMNS: readonly Column<DeliveryEntry>[] = [
  ["RESULT", ({ attempts }) => statusText(attempts.at(-1))],
  ["STATE", ({ state }) => state],
  ["ATTEMPTS", ({ tries }) => tries],
  ["LAST ATTEMPT", ({ attempts }) => toIsoOrNull(attempts.at(-1)?.startedAt ?? null)],
  ["NEXT ATTEMPT", ({ nextAt }) => toIsoOrNull(nextAt)],
  ["CAUSE", ({ cause }) => cause],
  ["FAULT", faultsText, (delivery) => faultsText(delivery) !== null],
];

export function deliveryLines(
  deliveries: readonly DeliveryEntry[],
  { width, style }: TableStyle,
): Promise<string> {
  const columns: readonly Column<DeliveryEntry>[] = [
    ["ORDER ID", ({ orderId }) => orderId],
    ["TYPE", ({ type }) => type],
    ...RESULT_COLUMNS,
    ["EVENT", ({ eventId }) => shortId(eventId)],
    ["ENDPOINT", addressOf],
  ];
  return tableOf(columns, deliveries, {
    width,
    style,
    middle: ["ENDPOINT"],
    drop: ["CAUSE", "ATTEMPTS", "LAST ATTEMPT", "NEXT ATTEMPT"],
    keep: ["FAULT", "EVENT"],
  });
}

export async function deliveryLinesOfEvent(
  deliveries: readonly DeliveryEntry[],
  { width, style }: TableStyle,
): Promise<string> {
  if (deliveries.length === 0) return "  no endpoint receives events of this type";
  return tableOf([...RESULT_COLUMNS, ["ENDPOINT", addressOf]], deliveries, {
    width,
    style,
    middle: ["ENDPOINT"],
    drop: ["CAUSE", "ATTEMPTS", "LAST ATTEMPT"],
  });
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

export function lastAttemptText({ attempts }: Pick<DeliveryEntry, "attempts">): string | null {
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
  // The sort is stable, so a change stays before a delivery that has the same time.
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
  if (isSuccessStatus(status)) return `delivered (${status})`;
  return `${nextAt === null ? "given up" : "not delivered"} (${status ?? error})`;
}

function faultsText({ fault, attempts }: DeliveryEntry): string | null {
  const actions = [fault?.action, ...attempts.map((attempt) => attempt.fault)].filter((action) => action);
  return [...new Set(actions)].join(", ") || null;
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

export function causeLine({ code, message, proven }: Diagnosis, style: Style): string {
  return `  ${style.cyan("→")} ${proven ? "" : "Perhaps: "}${message} ${style.dim(`(${code})`)}`;
}
