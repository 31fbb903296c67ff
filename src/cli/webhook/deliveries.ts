import type { RequestOf } from "../../core/control/operations.ts";
import { DELIVERY_STATES, DELIVERY_STATE_TEXTS } from "../../core/webhook/delivery.ts";
import { runnerFor } from "../calling.ts";
import { register, valueOption, type Context, type Group } from "../command.ts";
import { deliveryLines } from "./report.ts";
import { parseAnyId, choiceParser, parseId, limitOption } from "../parsers.ts";
import { nextPageText } from "../printer.ts";
import { Refused } from "../problem.ts";
import { callSandbox } from "../target/control.ts";
import { findId, hintForIds, noOrderText } from "../target/ids.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type ListOptions = CommonOptions &
  Pick<RequestOf<"listDeliveries">, "orderId" | "state" | "limit" | "before"> &
  Partial<Record<"endpoint" | "event" | "checkout", string>>;

type RetryOptions = CommonOptions & { readonly endpoint?: string; readonly orderId?: string };

export const ENDPOINT_REMEDIES = {
  not_found: "checkout endpoints list shows the endpoints",
  state_conflict:
    "checkout endpoints list shows the states; to enable an endpoint: checkout endpoints enable <id>",
} as const;

const STATES_TEXT = DELIVERY_STATES.map((state) => `${state} (${DELIVERY_STATE_TEXTS[state]})`).join(", ");

export function registerDeliveries(group: Group): void {
  register<ListOptions>(group, {
    name: "list",
    summary: "list deliveries with their last attempt, newest first; --json includes every attempt",
    examples: [
      "checkout deliveries list --state due",
      "checkout deliveries list --order-id order-1001 --json",
      "checkout deliveries list --endpoint <id> --limit 10",
    ],
    options: [
      valueOption("--endpoint <id>", "only deliveries to this endpoint", parseAnyId),
      valueOption("--event <event_id>", "only deliveries of this event", parseAnyId),
      valueOption("--checkout <id|order_id>", "only deliveries of this order or session"),
      valueOption("--order-id <id>", "only deliveries of this order_id"),
      valueOption(
        "--state <state>",
        `only deliveries in this state: ${STATES_TEXT}`,
        choiceParser(DELIVERY_STATES),
      ),
      limitOption("deliveries"),
      valueOption("--before <id>", "next_before of the previous page, to show the next page", parseId),
    ],
    conflicts: [["checkout", "orderId"]],
    run: runnerFor("listDeliveries", {
      body: async ({ endpoint, event, checkout, orderId, state, limit, before }, { context }) => ({
        checkoutId: await findId(context, "checkout", checkout),
        endpointId: await findId(context, "endpoint", endpoint),
        eventId: await findId(context, "event", event),
        orderId,
        state,
        limit,
        before,
      }),
      text: async ({ deliveries, nextBefore: cursor }, printer, { context, options }) => {
        if (deliveries.length === 0) {
          await noteUnknownOrder(context, options.orderId);
          return "no matching deliveries";
        }
        const rows = await deliveryLines(deliveries, printer);
        return rows + nextPageText(context, { cursor });
      },
    }),
  });
  registerRetry(group);
}

function registerRetry(group: Group): void {
  register<RetryOptions>(group, {
    name: "retry",
    summary: "send waiting deliveries now, for example after you have repaired the receiver",
    examples: [
      "checkout deliveries retry",
      "checkout deliveries retry --order-id order-1001",
      "checkout deliveries retry --endpoint <id>",
    ],
    options: [
      valueOption(
        "--endpoint <id>",
        { text: "only to this endpoint", default: "every enabled endpoint" },
        parseAnyId,
      ),
      valueOption("--order-id <id>", "only deliveries of this order_id"),
    ],
    run: runnerFor("retryDeliveries", {
      body: async ({ endpoint, orderId }, { context }) => {
        await requireOrder(context, orderId);
        return { endpointId: await findId(context, "endpoint", endpoint), orderId };
      },
      remedies: ENDPOINT_REMEDIES,
      text: ({ retried, more }) =>
        retried === 0
          ? "no delivery to an enabled endpoint waits; checkout endpoints list shows paused endpoints, and checkout events replay-failed delivers again what was given up"
          : `sending ${retried} now\n${more ? "more deliveries wait: run the same command again for the next ones" : "to see the results: checkout deliveries list"}`,
    }),
  });
}

/** Refuses an unknown order_id, because an empty result would not reveal a mistyped one. */
async function requireOrder(context: Context, orderId: string | undefined): Promise<void> {
  const unknownText = await unknownOrderText(context, orderId);
  if (unknownText === undefined) return;
  const message = `${unknownText}; nothing was done`;
  const next = hintForIds("checkout");
  throw new Refused({ code: "session_not_found", message, next });
}

export async function noteUnknownOrder(context: Context, orderId: string | undefined): Promise<void> {
  const unknownText = await unknownOrderText(context, orderId);
  if (unknownText !== undefined) context.printer.info(`note: ${unknownText}; ${hintForIds("checkout")}`);
}

async function unknownOrderText(context: Context, orderId: string | undefined): Promise<string | undefined> {
  if (orderId === undefined) return undefined;
  const { checkouts } = await callSandbox(context, { name: "listCheckouts", body: { orderId, limit: 1 } });
  return checkouts.length > 0 ? undefined : noOrderText(orderId);
}
