import type { Command } from "commander";
import { DELIVERY_STATES, type DeliveryState } from "../../core/webhook/delivery.ts";
import { encodeAnswer } from "../../core/control/operations.ts";
import { register, valueOption, type CommonOptions, type Context, type Registry } from "../command.ts";
import { callSandbox } from "../control-command.ts";
import { deliveryLines } from "./report.ts";
import { parseChoice, parseId, parseWhole } from "../parsers.ts";
import type { Ending } from "../problem.ts";

type ListOptions = CommonOptions & {
  readonly endpoint?: string;
  readonly event?: string;
  readonly checkout?: string;
  readonly state?: DeliveryState;
  readonly limit?: number;
};

/** `checkout deliveries list`. */
export function registerDeliveries(parent: Command, registry: Registry): void {
  register<ListOptions>(parent, registry, {
    name: "list",
    summary: "list deliveries with their last try, newest first; --json has every try",
    examples: [
      "checkout deliveries list --state due",
      "checkout deliveries list --checkout <id> --json",
      "checkout deliveries list --endpoint <id> --limit 10",
    ],
    options: [
      valueOption("--endpoint <id>", "only to this endpoint", parseId),
      valueOption("--event <event_id>", "only of this event", parseId),
      valueOption("--checkout <id>", "only of this order or session", parseId),
      valueOption("--state <state>", DELIVERY_STATES.join(", "), parseChoice(DELIVERY_STATES)),
      valueOption("--limit <n>", "maximum number, 1 to 1000 (default: 100)", parseWhole(1, 1000)),
    ],
    run: runList,
  });
}

async function runList(context: Context, options: ListOptions): Promise<Ending> {
  const { endpoint, event, checkout, state, limit } = options;
  const body = { endpointId: endpoint, eventId: event, checkoutId: checkout, state, limit };
  const listed = await callSandbox(context, options, { name: "listDeliveries", body });
  if (!listed.ok) return listed;
  const { deliveries } = listed.value;
  return context.printer.result(encodeAnswer("listDeliveries", listed.value), () =>
    deliveries.length === 0 ? "no matching deliveries" : deliveryLines(deliveries),
  );
}
