import type { Delivery, LoggedRequest } from "../types.ts";

/** A request as a line of text. */
export function requestLine({ method, path, status, code }: LoggedRequest): string {
  return `${method} ${path}: ${status}${code === null ? "" : ` ${code}`}`;
}

/** A delivery as a line of text, with what its last finished try came to. */
export function deliveryLine({ type, state, tries, attempts }: Delivery): string {
  const last = attempts.findLast(({ finishedAt }) => finishedAt !== null);
  const said = last === undefined ? "" : `, the last: ${last.status ?? last.error ?? "no answer"}`;
  return `${type} is ${state} after ${tries} ${tries === 1 ? "try" : "tries"}${said}`;
}
