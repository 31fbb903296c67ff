import type { Command } from "commander";
import { encodeAnswer } from "../../core/control/operations.ts";
import { PAY_OUTCOMES, type PayOutcome } from "../../core/checkout/reserved-order-id.ts";
import { register, valueOption, type Context, type Registry } from "../command.ts";
import { moveLines } from "./move-lines.ts";
import { parseChoice } from "../parsers.ts";
import type { Ending } from "../problem.ts";
import { findId, shownBy } from "../target/ids.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type PayOptions = CommonOptions & { readonly outcome?: PayOutcome };

/** `checkout sandbox pay`. */
export function registerSandboxPay(parent: Command, registry: Registry): void {
  register<PayOptions>(parent, registry, {
    name: "pay <id|order_id>",
    summary: "pay an order or a session as the payer, or let it end otherwise",
    examples: ["checkout sandbox pay order-1001", "checkout sandbox pay <id> --outcome declined --json"],
    options: [
      valueOption(
        "--outcome <outcome>",
        `${PAY_OUTCOMES.join(", ")} (default: succeeded)`,
        parseChoice(PAY_OUTCOMES),
      ),
    ],
    run: runPay,
  });
}

async function runPay(context: Context, options: PayOptions, typed = ""): Promise<Ending> {
  const { outcome = "succeeded" } = options;
  const id = await findId(context, "checkout", typed);
  if (!id.ok) return id;
  const paid = await callSandbox(context, {
    name: "pay",
    id: id.value,
    body: { outcome },
    nextAfter: {
      state_conflict: `checkout sessions get ${id.value} shows its state`,
      session_not_found: shownBy("checkout"),
    },
  });
  if (!paid.ok) return paid;
  const { value } = paid;
  return context.printer.result(encodeAnswer("pay", value), () =>
    value.moves.length > 0 ? moveLines(value.moves, context.printer.width) : unmoved(value),
  );
}

function unmoved({ status, late }: { readonly status: string; readonly late: boolean }): string {
  return late
    ? `the result came too late and was only recorded; the status stays ${status}`
    : `the status stays ${status}`;
}
