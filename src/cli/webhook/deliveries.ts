import type { Command } from "commander";
import { DELIVERY_STATES, type DeliveryState } from "../../core/webhook/delivery.ts";
import { encodeAnswer } from "../../core/control/operations.ts";
import { register, valueOption, type Context, type Registry } from "../command.ts";
import { deliveryLines } from "./report.ts";
import { parseAnyId, parseChoice, parseId, parseWhole } from "../parsers.ts";
import { calledAs, widthOf } from "../printer.ts";
import type { Ending } from "../problem.ts";
import { findId } from "../target/ids.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type ListOptions = CommonOptions & {
  readonly endpoint?: string;
  readonly event?: string;
  readonly checkout?: string;
  readonly orderId?: string;
  readonly state?: DeliveryState;
  readonly limit?: number;
  readonly before?: string;
};

/** `checkout deliveries list`. */
export function registerDeliveries(parent: Command, registry: Registry): void {
  register<ListOptions>(parent, registry, {
    name: "list",
    summary: "list deliveries with their last try, newest first; --json has every try",
    examples: [
      "checkout deliveries list --state due",
      "checkout deliveries list --order-id order-1001 --json",
      "checkout deliveries list --endpoint <id> --limit 10",
    ],
    options: [
      valueOption("--endpoint <id>", "only to this endpoint", parseAnyId),
      valueOption("--event <event_id>", "only of this event", parseAnyId),
      valueOption("--checkout <id|order_id>", "only of this order or session"),
      valueOption("--order-id <id>", "only of this order_id"),
      valueOption("--state <state>", DELIVERY_STATES.join(", "), parseChoice(DELIVERY_STATES)),
      valueOption("--limit <n>", "maximum number, 1 to 1000 (default: 100)", parseWhole(1, 1000)),
      valueOption("--before <id>", "go on from here: next_before of the list before", parseId),
    ],
    conflicts: [["checkout", "orderId"]],
    run: runList,
  });
}

async function runList(context: Context, options: ListOptions): Promise<Ending> {
  const { endpoint, event, checkout, orderId, state, limit, before } = options;
  const of = checkout === undefined ? undefined : await findId(context, "checkout", checkout);
  if (of?.ok === false) return of;
  const to = endpoint === undefined ? undefined : await findId(context, "endpoint", endpoint);
  if (to?.ok === false) return to;
  const from = event === undefined ? undefined : await findId(context, "event", event);
  if (from?.ok === false) return from;
  const narrowed = { endpointId: to?.value, eventId: from?.value, checkoutId: of?.value, orderId };
  const body = { ...narrowed, state, limit, before };
  const listed = await callSandbox(context, { name: "listDeliveries", body });
  if (!listed.ok) return listed;
  const { deliveries, nextBefore } = listed.value;
  const { world, printer } = context;
  return printer.result(encodeAnswer("listDeliveries", listed.value), async () => {
    if (deliveries.length === 0) return "no matching deliveries";
    const rows = await deliveryLines(deliveries, widthOf(world.stdout));
    if (nextBefore === null) return rows;
    return `${rows}\n${printer.style.dim(`more, with the same filters:\n  ${calledAs(world)} deliveries list --before ${nextBefore}`)}`;
  });
}
