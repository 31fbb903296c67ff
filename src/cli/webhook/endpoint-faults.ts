import { DEFAULT_TROUBLE_DELAY_MS } from "../../core/control/webhook.ts";
import type { Command } from "commander";
import { encodeAnswer, isRequestOf, type RequestOf } from "../../core/control/operations.ts";
import type { TroubleEntry } from "../../core/control/webhook.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { FAULT_KINDS, type FaultKind } from "../../core/webhook/fault.ts";
import {
  invalidOption,
  register,
  switchOption,
  valueOption,
  type CommonOptions,
  type Context,
  type Registry,
} from "../command.ts";
import { endpointIdOf } from "../order/short-id.ts";
import { callSandbox } from "../control-command.ts";
import { parseChoice, parseDuration, parseId } from "../parsers.ts";
import { durationText } from "../../core/config/setting-text.ts";
import { table } from "../table.ts";
import { failUsage, type Ending, type Problem } from "../problem.ts";

type TroubleOptions = CommonOptions & {
  readonly kind?: FaultKind;
  readonly times?: number;
  readonly event?: string;
  readonly delay?: number;
  readonly clear?: boolean;
};

/** `checkout endpoints trouble`. */
export function registerEndpointTrouble(parent: Command, registry: Registry): void {
  register<TroubleOptions>(parent, registry, {
    name: "trouble <id>",
    summary: "inject faults into the next deliveries to an endpoint, to test its receiver",
    examples: [
      "checkout endpoints trouble <id> --kind duplicate",
      "checkout endpoints trouble <id> --kind bad_signature --times 3",
      "checkout endpoints trouble <id> --kind delay --delay 10s --event <event_id>",
      "checkout endpoints trouble <id> --clear",
    ],
    options: [
      valueOption("--kind <kind>", FAULT_KINDS.join(", "), parseChoice(FAULT_KINDS)),
      valueOption("--times <n>", "number of deliveries, 1 to 1000 (default: 1)", parseTimes),
      valueOption("--event <event_id>", "only for deliveries of this event (default: any)", parseId),
      valueOption(
        "--delay <span>",
        `how long delay and reorder hold a delivery back (default: ${durationText(DEFAULT_TROUBLE_DELAY_MS)})`,
        parseDuration,
      ),
      switchOption("--clear", "remove scheduled faults"),
    ],
    required: [["kind", "clear"]],
    conflicts: [["clear", "kind"]],
    run: runTrouble,
  });
}

async function runTrouble(context: Context, options: TroubleOptions, text = ""): Promise<Ending> {
  const id = await endpointIdOf(context, options, text);
  if (!id.ok) return id;
  const wanted = troubleOf(options);
  if (!wanted.ok) return wanted;
  const made = await callSandbox(context, options, {
    name: "makeTrouble",
    id: id.value,
    body: wanted.value,
    nextAfter: { not_found: "checkout endpoints list and checkout events list show them" },
  });
  if (!made.ok) return made;
  const { troubles } = made.value;
  return context.printer.result(encodeAnswer("makeTrouble", made.value), () =>
    troubles.length === 0 ? "no faults are scheduled" : troubleLines(troubles, context.printer.width),
  );
}

function troubleOf({
  kind,
  times,
  event,
  delay,
  clear,
}: TroubleOptions): Outcome<RequestOf<"makeTrouble">, Problem> {
  if (clear === true || kind === undefined) return accept({ action: "clear" });
  if (delay !== undefined && kind !== "delay" && kind !== "reorder") {
    return failUsage(`--delay is for delay and reorder; got --kind ${kind}`, "leave out --delay");
  }
  return accept({ action: "add", kind, times, eventId: event, delayMs: delay });
}

/** Oldest first, in the order in which it comes. */
function troubleLines(troubles: readonly TroubleEntry[], width: number): Promise<string> {
  const rows = troubles.map(({ kind, remaining, delayMs, eventId }) => [
    kind,
    remaining,
    kind === "delay" || kind === "reorder" ? `${delayMs / 1000} s` : null,
    eventId ?? "any event",
  ]);
  return table(["KIND", "TIMES", "DELAY", "EVENT"], rows, { width });
}

/** The service's own check says how often is too often. */
function parseTimes(text: string): number {
  const times = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!isRequestOf("makeTrouble", { action: "add", kind: "drop", times }))
    throw invalidOption("a whole number from 1 to 1000", text);
  return times;
}
