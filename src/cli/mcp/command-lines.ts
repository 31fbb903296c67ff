import type { ToolInput, ToolName } from "../../core/mcp/tools.ts";

type CommandLines = {
  readonly [Name in ToolName]: (input: ToolInput<Name>) => readonly (readonly string[])[];
};

/** The command lines that each tool runs in order; the tool returns the last result. No shell parses the values. */
export const COMMAND_LINES: CommandLines = {
  status: () => [["sandbox", "status"]],
  explain: ({ id }) => [["explain", id]],
  list: ({ what, order_id: orderId, limit }) => [
    [
      what,
      "list",
      ...(what === "faults" || what === "endpoints"
        ? []
        : [...optionWords("order-id", orderId), ...optionWords("limit", limit ?? 20)]),
    ],
  ],
  wait_for: ({ type, order_id: orderId, timeout_s: timeoutS = 30 }) => [
    [
      "events",
      "list",
      "--wait",
      `--type=${type}`,
      `--timeout=${timeoutS}s`,
      ...optionWords("order-id", orderId),
      ...(orderId === undefined ? [] : ["--since=0"]),
    ],
  ],
  checklist: () => [["checklist"]],
  assumptions: ({ used }) => [["assumptions", ...(used === true ? ["--used"] : [])]],
  diagnose_webhook: ({ event_id: eventId }) => [["events", "get", eventId]],
  create: ({ object, ...fields }) => [
    [
      object === "order" ? "orders" : "sessions",
      "create",
      ...Object.entries(fields).flatMap(([field, value]) => optionWords(field.replaceAll("_", "-"), value)),
    ],
  ],
  pay: ({ id, outcome, advance }) => [
    ["sandbox", "pay", id, ...optionWords("outcome", outcome)],
    ...(advance === undefined ? [] : [["sandbox", "clock", "advance", advance]]),
  ],
  fault: ({ action, path, order_id: orderId, event, times }) => [
    [
      "faults",
      "add",
      action,
      ...optionWords("path", path),
      ...optionWords("order-id", orderId),
      ...optionWords("event", event),
      ...optionWords("times", times),
    ],
  ],
  retry: ({ endpoint_id: endpointId, order_id: orderId }) => [
    ["deliveries", "retry", ...optionWords("endpoint", endpointId), ...optionWords("order-id", orderId)],
  ],
  replay_or_restore: ({ event_id: eventId, snapshot }) => [
    // With both or neither, the command itself refuses its arguments.
    eventId === undefined
      ? ["snapshots", "restore", ...(snapshot === undefined ? [] : [snapshot])]
      : ["events", "replay", eventId, ...(snapshot === undefined ? [] : [snapshot])],
  ],
};

function optionWords(name: string, value: string | number | undefined): readonly string[] {
  return value === undefined ? [] : [`--${name}=${value}`];
}
