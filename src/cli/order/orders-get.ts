import { shortId } from "../../core/text.ts";
import { toIso } from "../../core/clock.ts";
import { HIDDEN_FIELD, visibleValues, type FieldDisplay } from "../../core/checkout/wire.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { formatAmount } from "../../core/money.ts";
import { runnerFor } from "../calling.ts";
import { register, type Group } from "../command.ts";
import { fieldLines, type Field } from "../printer.ts";
import { findListingSandbox } from "./list.ts";
import { hintForIds } from "../target/ids.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { table } from "../table.ts";
import { serviceOptions } from "../target/options.ts";

export function registerOrdersGet(group: Group): void {
  register<ServiceOptions>(group, {
    name: "get <id|order_id>",
    summary: "show an order or session with its events, from the records of the sandbox",
    examples: [
      "checkout orders get order-1001",
      "checkout orders get 0199a3c4-5d00-7000-8000-000000000001",
      "checkout orders get 00000001 --json",
    ],
    options: serviceOptions(),
    run: runnerFor("inspectCheckout", {
      target: (context) => findListingSandbox(context, "orders with their events"),
      idKind: "checkout",
      remedies: { session_not_found: hintForIds("checkout") },
      text: (order, { width }) => orderText(order, width),
    }),
  });
}

async function orderText(order: AnswerOf<"inspectCheckout">, width: number): Promise<string> {
  const shownFields = {
    id: ["id", order.id],
    object: HIDDEN_FIELD,
    order_id: ["order_id", order.orderId],
    amount_minor: ["amount", formatAmount(order.amountMinor, order.currency)],
    currency: HIDDEN_FIELD,
    payment_method: ["payment_method", order.paymentMethod],
    status: ["status", order.status],
    description: ["description", order.description],
    created_at: ["created_at", toIso(order.createdAt)],
    expires_at: ["expires_at", toIso(order.expiresAt)],
    checkout_url: ["checkout_url", order.checkoutUrl],
    livemode: HIDDEN_FIELD,
  } satisfies FieldDisplay<Field> & Readonly<Record<string, Field | typeof HIDDEN_FIELD>>;
  const fields = fieldLines(visibleValues<Field>(shownFields));
  const rows = order.events.map(({ createdAt, type, eventId }) => [toIso(createdAt), type, shortId(eventId)]);
  return `${fields}\n\n${await table(["AT", "TYPE", "EVENT"], rows, { width, drop: ["AT"] })}`;
}
