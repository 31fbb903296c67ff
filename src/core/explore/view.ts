import * as z from "zod/mini";
import { parseJson } from "../json.ts";
import type { OrderView } from "./facts.ts";

const view = z.object({
  paid: z.optional(z.boolean()),
  times: z.nullish(z.int().check(z.gte(0))),
  amount_minor: z.nullish(z.union([z.number(), z.string()])),
});

/**
 * Parses a view of an order. A pattern, or otherwise JSON (`{"paid","times","amount_minor"}`), decides whether the
 * order is paid; only JSON shows how often it was booked, and the amount. An amount that is not a whole number of minor
 * units, such as 19.99 or a text, is read as it is: it differs from every order's amount. Undefined if the view does not
 * show whether the order is paid.
 */
export function parseView(text: string, paidWhen: RegExp | undefined): OrderView | undefined {
  const read = view.safeParse(parseJson(text)).data;
  const paid = paidWhen === undefined ? read?.paid : paidWhen.test(text);
  if (paid === undefined) return undefined;
  const amount = read?.amount_minor ?? null;
  return { paid, times: read?.times ?? null, amountMinor: amount === null ? null : Number(amount) };
}
