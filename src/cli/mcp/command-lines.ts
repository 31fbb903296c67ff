import type { ToolInput, ToolName } from "../../core/mcp/tools.ts";

type CommandLines = {
  readonly [Name in ToolName]: (input: ToolInput<Name>) => readonly (readonly string[])[];
};

/** A tool runs its command lines in order, without a shell, until an error, and returns the last result. */
export const COMMAND_LINES: CommandLines = {
  status: () => [["sandbox", "status"]],
  explain: ({ id }) => [["explain", id]],
  list: ({ what, limit = 20, ...fields }) => [
    [what, "list", ...(what === "faults" || what === "endpoints" ? [] : optionWords({ ...fields, limit }))],
  ],
  wait_for: ({ type, timeout_s: timeoutS = 30, ...fields }) => [
    [
      "events",
      "list",
      "--wait",
      ...optionWords({ type, timeout: `${timeoutS}s`, ...fields }),
      ...(fields.order_id === undefined ? [] : ["--since=0"]),
    ],
  ],
  checklist: () => [["checklist"]],
  assumptions: ({ used }) => [["assumptions", ...(used === true ? ["--used"] : [])]],
  diagnose_webhook: ({ event_id: eventId }) => [["events", "get", eventId]],
  create: ({ object, ...fields }) => [
    [object === "order" ? "orders" : "sessions", "create", ...optionWords(fields)],
  ],
  pay: ({ id, outcome, advance }) => [
    ["sandbox", "pay", id, ...optionWords({ outcome })],
    ...(advance === undefined ? [] : [["sandbox", "clock", "advance", advance]]),
  ],
  fault: ({ action, ...fields }) => [["faults", "add", action, ...optionWords(fields)]],
  retry: ({ endpoint_id: endpoint, ...fields }) => [
    ["deliveries", "retry", ...optionWords({ endpoint, ...fields })],
  ],
  replay_or_restore: ({ event_id: eventId, snapshot }) => [
    eventId === undefined
      ? ["snapshots", "restore", ...(snapshot === undefined ? [] : [snapshot])]
      : ["events", "replay", eventId, ...(snapshot === undefined ? [] : [snapshot])],
  ],
};

function optionWords(values: Readonly<Record<string, string | number | undefined>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name.replaceAll("_", "-")}=${value}`],
  );
}
