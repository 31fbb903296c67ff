import { printable, redactSecrets } from "../core/text.ts";
import type { World } from "../world.ts";

/** One answered request. Nothing of its body or credential is in it. */
export type AccessEntry = {
  readonly at: number;
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly requestId: string;
  /** The error code, or the order_id and whether it was a replay. */
  readonly note: string;
};

export type LogFormat = "text" | "json";

export type AccessLog = { readonly add: (entry: AccessEntry) => void; readonly flush: () => void };

/** Lines are written together: a write for each request can halve the service. */
const FLUSH_AFTER_MS = 50;
const FLUSH_AT_LINES = 500;

/** Writes one line for each request, a moment later; `flush` writes what is left. */
export function createAccessLog(
  world: Pick<World, "after">,
  options: { readonly format: LogFormat; readonly write: (lines: string) => void },
): AccessLog {
  const format = options.format === "json" ? toJsonLine : toTextLine;
  let entries: AccessEntry[] = [];

  const flush = (): void => {
    if (entries.length === 0) return;
    const lines = entries.map(format).join("");
    entries = [];
    options.write(lines);
  };
  return {
    flush,
    add: (entry) => {
      entries.push(entry);
      if (entries.length >= FLUSH_AT_LINES) flush();
      else if (entries.length === 1) world.after(FLUSH_AFTER_MS, flush);
    },
  };
}

/** The log that nobody reads. */
export const SILENT_LOG: AccessLog = { add: () => undefined, flush: () => undefined };

function toTextLine({ at, status, method, target, milliseconds, note, requestId }: AccessEntry): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const request = redactSecrets(`${method} ${target}`);
  return `${time}  ${status}  ${printable(request)}  ${milliseconds.toFixed(1)} ms  ${printable(note)}  ${requestId}\n`;
}

function toJsonLine({ at, status, method, target, milliseconds, note, requestId }: AccessEntry): string {
  const line = {
    time: new Date(at).toISOString(),
    status,
    method,
    target: redactSecrets(target),
    ms: Number(milliseconds.toFixed(1)),
    note,
    request_id: requestId,
  };
  return `${JSON.stringify(line)}\n`;
}
