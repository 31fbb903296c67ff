// What another service calls the things that this program has names for. Inside, names are ours: a dialect is applied
// where an answer or a delivery leaves, and read back where a webhook arrives. A new field needs a row in
// core/calibration/dialect-section.ts.
import { isRecord, parseJson } from "../json.ts";
import type { DialectFile } from "./dialect-file.ts";

export type SignatureForm = NonNullable<DialectFile["signature_form"]>;
export const SIGNATURE_FORMS = [
  "hex",
  "sha256=hex",
  "v1=hex",
  "t=timestamp,v1=hex",
] as const satisfies readonly SignatureForm[];

/** The fields of an event's body that a dialect may rename; `livemode` is the interface's own. */
export const NAMED_EVENT_FIELDS = [
  "event_id",
  "type",
  "created_at",
  "api_version",
  "store_id",
  "sequence",
  "previous_status",
  "data",
] as const;

/** The names of another service, each with our name as its key; a missing name is ours (decision 148). */
export type Dialect = Pick<DialectFile, "errors" | "events" | "times" | "replay"> & {
  readonly eventFields?: DialectFile["event_fields"];
  readonly headers?:
    | Readonly<Partial<Record<"eventId" | "timestamp" | "signature", string | undefined>>>
    | undefined;
  readonly signatureForm?: DialectFile["signature_form"];
  readonly unknownSession?: DialectFile["unknown_session"];
  readonly bothForms?: DialectFile["both_forms"];
};

/** A refusal's code and status as the service writes them. */
export function refusalIn(
  dialect: Dialect,
  { code, status }: { readonly code: string; readonly status: number },
): { readonly code: string; readonly status: number } {
  const named = dialect.errors?.[code];
  const ofSession = code === "session_not_found" ? dialect.unknownSession : undefined;
  return { code: named?.code ?? code, status: ofSession ?? named?.status ?? status };
}

/** The body of a create without the form that does not count; undefined if both forms are refused. */
export function withOneForm(dialect: Dialect | undefined, body: unknown): unknown {
  const counts = dialect?.bothForms ?? "refuse";
  if (counts === "refuse" || !isRecord(body)) return undefined;
  const left: readonly string[] =
    counts === "amount" ? ["price_id"] : ["amount_minor", "currency", "payment_method"];
  return Object.fromEntries(Object.entries(body).filter(([name]) => !left.includes(name)));
}

/** An event's body as the service sends it; the same bytes for the same event. */
export function eventBodyIn(dialect: Dialect | undefined, body: string): string {
  const event = dialect === undefined ? undefined : parseJson(body);
  if (dialect === undefined || !isRecord(event)) return body;
  const { events = {}, eventFields = {} } = dialect;
  const named = Object.entries(event).flatMap(([field, value]) => {
    const name = eventFields[field];
    if (name === null) return [];
    const written =
      field === "type"
        ? (events[String(value)] ?? value)
        : field === "created_at"
          ? timeIn(dialect, value)
          : value;
    return [[name ?? field, written] as const];
  });
  return JSON.stringify(Object.fromEntries(named));
}

/**
 * An event of the service in our names. Fields that the dialect drops are missing, but the event id, which its header
 * has too.
 */
export function readEventIn(
  dialect: Dialect | undefined,
  body: unknown,
  eventId: string | undefined,
): unknown {
  if (dialect === undefined || !isRecord(body)) return body;
  const { events = {}, eventFields = {} } = dialect;
  const types = new Map(Object.entries(events).map(([ours, theirs]) => [theirs, ours]));
  const fields = new Map(Object.entries(eventFields).map(([ours, theirs]) => [theirs, ours]));
  const read = Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const field = fields.get(name) ?? name;
      if (field === "type") return [field, types.get(String(value)) ?? value];
      return [field, field === "created_at" ? readTimeIn(dialect, value) : value];
    }),
  );
  return hasEventId(dialect) ? read : { event_id: eventId, ...read };
}

/** A body as the service sends it, with fields changed; `change` reads and returns our names. */
export function changeEventIn(
  dialect: Dialect | undefined,
  body: string,
  change: (event: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): string {
  const event = readEventIn(dialect, parseJson(body), undefined);
  const fields = isRecord(event) ? event : {};
  return eventBodyIn(dialect, JSON.stringify({ ...fields, ...change(fields) }));
}

/** Whether the signed body has the id of its event, which the header has too. */
export function hasEventId({ eventFields = {} }: Dialect = {}): boolean {
  return eventFields["event_id"] !== null;
}

/** The fields of an event's body that the service does not send. */
export function droppedFields({ eventFields = {} }: Dialect = {}): readonly string[] {
  return Object.entries(eventFields).flatMap(([field, name]) => (name === null ? [field] : []));
}

/** The value of the signature header; without a timestamp also in a form that has one. */
export function signatureHeader(
  form: SignatureForm,
  {
    timestamp,
    signatures,
  }: { readonly timestamp: string | undefined; readonly signatures: readonly string[] },
): string {
  const prefix = form === "hex" ? "" : form === "sha256=hex" ? "sha256=" : "v1=";
  const written = signatures.map((signature) => prefix + signature);
  const isTimed = form === "t=timestamp,v1=hex" && timestamp !== undefined;
  return (isTimed ? [`t=${timestamp}`, ...written] : written).join(",");
}

/** The hex digests in a signature header, joined as ours are; the value itself if it has another form. */
export function plainSignatures(form: SignatureForm, value: string): string {
  if (form === "hex") return value;
  const prefix = form === "sha256=hex" ? "sha256=" : "v1=";
  const parts = value.split(",");
  const digests = form === "t=timestamp,v1=hex" ? parts.slice(1) : parts;
  const isForm = form !== "t=timestamp,v1=hex" || /^t=\d+$/.test(parts[0] ?? "");
  if (!isForm || !digests.every((part) => part.startsWith(prefix))) return value;
  return digests.map((part) => part.slice(prefix.length)).join(",");
}

function timeIn({ times = "iso" }: Dialect, value: unknown): unknown {
  if (times === "iso" || typeof value !== "string") return value;
  const milliseconds = Date.parse(value);
  return times === "seconds" ? Math.floor(milliseconds / 1000) : milliseconds;
}

function readTimeIn({ times = "iso" }: Dialect, value: unknown): unknown {
  if (times === "iso" || typeof value !== "number") return value;
  const date = new Date(times === "seconds" ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? value : date.toISOString();
}

/** Without a check, for a merchant's server, which loads no schema library. */
export function dialectOfFile({ headers = {}, ...file }: DialectFile): Dialect {
  const { event_fields: eventFields, signature_form: signatureForm, events, times } = file;
  return { events, times, eventFields, signatureForm, headers: { ...headers, eventId: headers.event_id } };
}
