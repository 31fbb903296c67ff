import { toIso } from "../../core/clock.ts";
import type { DeliveryError } from "../../core/webhook/delivery.ts";
import { redactStored } from "../../core/request/redaction.ts";
import { cutText, jsonLine, printable, redactSecrets } from "../../core/text.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { World } from "../../world.ts";

/** Contains no credential, and of the request's body only the order_id. */
export type AccessEntry = {
  readonly at: number;
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly requestId: string;
  readonly note: string;
};

export type DeliveryAttemptEntry = {
  readonly at: number;
  readonly url: string;
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly eventId: string;
  readonly type: string;
  readonly milliseconds: number;
  readonly attempt: number;
  readonly cause: Delivery["cause"];
};

export type LogFormat = "text" | "json";

export type LogStream = Pick<World["stderr"], "writableNeedDrain"> & {
  readonly write: (text: string) => unknown;
};

export type AccessLog = ReturnType<typeof createAccessLog>;

const FLUSH_DELAY_MS = 50;
const MAX_PENDING_LINES = 500;
const MAX_TARGET_CODE_POINTS = 200;

export function createAccessLog(
  world: Pick<World, "after">,
  options: {
    readonly format: LogFormat;
    readonly stream: LogStream;
    readonly formatId?: ((id: string) => string) | undefined;
  },
) {
  const { stream, formatId = (id) => id } = options;
  const isJson = options.format === "json";
  const lineOf = (entry: AccessEntry | DeliveryAttemptEntry): string => {
    if ("attempt" in entry) return isJson ? deliveryJson(entry) : deliveryText(entry);
    return isJson ? toJsonLine(entry) : toTextLine({ ...entry, requestId: formatId(entry.requestId) });
  };
  let entries: (AccessEntry | DeliveryAttemptEntry)[] = [];
  let droppedCount = 0;

  const flush = (): void => {
    if (entries.length === 0) return;
    if (stream.writableNeedDrain) {
      droppedCount += entries.length;
      entries = [];
      return;
    }
    const droppedText = droppedCount === 0 ? "" : droppedLine(droppedCount, options.format);
    stream.write(droppedText + entries.map(lineOf).join(""));
    entries = [];
    droppedCount = 0;
  };
  const add = (entry: AccessEntry | DeliveryAttemptEntry): void => {
    entries.push(entry);
    if (entries.length >= MAX_PENDING_LINES) flush();
    else if (entries.length === 1) world.after(FLUSH_DELAY_MS, flush);
  };
  return { flush, add };
}

function droppedLine(count: number, format: LogFormat): string {
  return format === "json"
    ? `${JSON.stringify({ dropped_lines: count })}\n`
    : `(${count} log lines dropped: stderr was blocked)\n`;
}

export const SILENT_LOG: AccessLog = { add: () => undefined, flush: () => undefined };

function toTextLine({ at, status, method, target, milliseconds, note, requestId }: AccessEntry): string {
  const time = toIso(at).slice(11);
  const request = `${method} ${displayTarget(target)}`;
  return `${time}  ${status}  ${printable(request)}  ${milliseconds.toFixed(1)} ms  ${printable(redactSecrets(note))}  ${requestId}\n`;
}

function toJsonLine({ at, status, method, target, milliseconds, note, requestId }: AccessEntry): string {
  const line = {
    time: toIso(at),
    status,
    method,
    target: displayTarget(target),
    ms: Number(milliseconds.toFixed(1)),
    note: redactSecrets(note),
    request_id: requestId,
  };
  return `${jsonLine(line)}\n`;
}

function deliveryText(entry: DeliveryAttemptEntry): string {
  const { at, url, status, error, type, milliseconds, attempt, cause } = entry;
  const { pathname, search } = URL.parse(url) ?? { pathname: url, search: "" };
  const attemptText = `POST ${displayTarget(pathname + search)} ${status ?? error} ${type}`;
  return `${toIso(at).slice(11)}  → ${printable(attemptText)} ${milliseconds} ms, attempt ${attempt}${cause === "event" ? "" : `, ${cause}`}\n`;
}

function deliveryJson(entry: DeliveryAttemptEntry): string {
  const { at, url, status, error, type, eventId, milliseconds: ms, attempt, cause } = entry;
  const delivery = { delivery: type, event_id: eventId, url: displayTarget(url) };
  return `${jsonLine({ time: toIso(at), ...delivery, status, error, ms, attempt, cause })}\n`;
}

function displayTarget(target: string): string {
  return cutText(redactStored(target), MAX_TARGET_CODE_POINTS);
}
