// A dialect is applied when an answer or a delivery is sent, and reversed when a webhook or a refusal is read.
import { ERROR_CODES, ERRORS, type ErrorCode } from "../errors.ts";
import { isRecord, parseJson } from "../json.ts";
import type { Dialect } from "./dialect-file.ts";

export type { Dialect } from "./dialect-file.ts";

export const SIGNATURE_FORMS = ["hex", "sha256=hex", "v1=hex", "t=timestamp,v1=hex"] as const;

export const RENAMABLE_EVENT_FIELDS = [
  "event_id",
  "type",
  "created_at",
  "api_version",
  "store_id",
  "sequence",
  "previous_status",
  "data",
] as const;

type SentRefusal = { readonly code: string; readonly status: number };

export function refusalInDialect(dialect: Dialect, { code, status }: SentRefusal): SentRefusal {
  const errorNames = dialect.errors?.[code];
  const sessionStatus = code === "session_not_found" ? dialect.unknown_session : undefined;
  return { code: errorNames?.code ?? code, status: sessionStatus ?? errorNames?.status ?? status };
}

/** Translates a service's refusal to the first sandbox code with that name and status, or keeps the service's code. */
export function sandboxCodeOf(dialect: Dialect, sent: SentRefusal): string {
  const isSent = (ourCode: ErrorCode): boolean => {
    const { code, status } = refusalInDialect(dialect, { code: ourCode, status: ERRORS[ourCode].status });
    return code === sent.code && status === sent.status;
  };
  return ERROR_CODES.find(isSent) ?? sent.code;
}

/**
 * Drops the fields that the service ignores if a create has a price and an amount. Returns undefined if the service
 * refuses both, or the body is not an object.
 */
export function dropIgnoredForm(dialect: Dialect | undefined, body: unknown): unknown {
  const winningForm = dialect?.both_forms ?? "refuse";
  if (winningForm === "refuse" || !isRecord(body)) return undefined;
  const omittedFields: readonly string[] =
    winningForm === "amount" ? ["price_id"] : ["amount_minor", "currency", "payment_method"];
  return Object.fromEntries(Object.entries(body).filter(([name]) => !omittedFields.includes(name)));
}

export function eventBodyIn(dialect: Dialect | undefined, body: string): string {
  const event = dialect === undefined ? undefined : parseJson(body);
  if (dialect === undefined || !isRecord(event)) return body;
  const fields = Object.entries(event).flatMap(([field, value]) => {
    const name = dialect.event_fields?.[field];
    return name === null ? [] : [[name ?? field, writeValue(dialect, field, value)] as const];
  });
  return JSON.stringify(Object.fromEntries(fields));
}

/** `eventId` is the value of the header, used if the service's events have no event_id. */
export function readEventIn(
  dialect: Dialect | undefined,
  body: unknown,
  eventId: string | undefined,
): unknown {
  if (dialect === undefined || !isRecord(body)) return body;
  const fields = Object.entries(body).map(([name, value]) => {
    const field = ourName(dialect.event_fields, name);
    return [field, readValue(dialect, field, value)] as const;
  });
  const event = Object.fromEntries(fields);
  return hasField(dialect, "event_id") ? event : { event_id: eventId, ...event };
}

export function hasField(dialect: Dialect | undefined, field: string): boolean {
  return dialect?.event_fields?.[field] !== null;
}

export function signatureHeader(dialect: Dialect, timestamp: string | undefined, ourValue: string): string {
  const { prefix, hasTimestamp } = formOf(dialect);
  const signatures = ourValue.split(",").map((signature) => prefix + signature);
  return (hasTimestamp && timestamp !== undefined ? [`t=${timestamp}`, ...signatures] : signatures).join(",");
}

/** Returns the hex digests of a signature header, separated by commas, or the value itself if it has another form. */
export function plainSignatures(dialect: Dialect | undefined, value: string): string {
  const { prefix, hasTimestamp } = formOf(dialect);
  const [firstPart = "", ...otherParts] = value.split(",");
  const digests = hasTimestamp ? otherParts : [firstPart, ...otherParts];
  const hasForm = !hasTimestamp || /^t=\d+$/.test(firstPart);
  if (!hasForm || !digests.every((part) => part.startsWith(prefix))) return value;
  return digests.map((part) => part.slice(prefix.length)).join(",");
}

function formOf({ signature_form: form = "hex" }: Dialect = {}) {
  const hasTimestamp = form === "t=timestamp,v1=hex";
  return { prefix: hasTimestamp ? "v1=" : form.slice(0, -"hex".length), hasTimestamp };
}

function ourName(names: Dialect["event_fields"] = {}, theirName: string): string {
  return Object.entries(names).find(([, name]) => name === theirName)?.[0] ?? theirName;
}

function writeValue({ events, times = "iso" }: Dialect, field: string, value: unknown): unknown {
  if (field === "type") return events?.[String(value)] ?? value;
  if (field !== "created_at" || times === "iso" || typeof value !== "string") return value;
  const milliseconds = Date.parse(value);
  return times === "seconds" ? Math.floor(milliseconds / 1000) : milliseconds;
}

function readValue({ events, times = "iso" }: Dialect, field: string, value: unknown): unknown {
  if (field === "type") return typeof value === "string" ? ourName(events, value) : value;
  if (field !== "created_at" || times === "iso" || typeof value !== "number") return value;
  const date = new Date(times === "seconds" ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? value : date.toISOString();
}
