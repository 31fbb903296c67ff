import type { AnswerOf } from "../../core/control/operations.ts";
import { SIMULATED_OUTCOMES, type SimulatedOutcome } from "../../core/checkout/reserved-order-id.ts";
import { runnerFor } from "../calling.ts";
import { register, valueOption, type Group } from "../command.ts";
import { statusChangeLines } from "../webhook/report.ts";
import { choiceParser } from "../parsers.ts";
import { hintForIds } from "../target/ids.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type PayOptions = CommonOptions & { readonly outcome?: SimulatedOutcome };

export function registerSandboxPay(group: Group): void {
  register<PayOptions>(group, {
    name: "pay <id|order_id>",
    summary: "pay an order or a session as the payer, or simulate another outcome",
    examples: ["checkout sandbox pay order-1001", "checkout sandbox pay <id> --outcome declined --json"],
    options: [
      valueOption(
        "--outcome <outcome>",
        {
          text: `outcome to simulate: ${SIMULATED_OUTCOMES.join(", ")}; pending starts a payment and leaves it open`,
          default: "succeeded",
        },
        choiceParser(SIMULATED_OUTCOMES),
      ),
    ],
    run: runnerFor("pay", {
      idKind: "payable",
      body: ({ outcome = "succeeded" }) => ({ outcome }),
      remedies: (id) => ({
        state_conflict: `checkout sessions get ${id} shows its state`,
        session_not_found: hintForIds("checkout"),
      }),
      text: (payment, { width }) =>
        payment.moves.length > 0 ? statusChangeLines(payment.moves, width) : unchangedText(payment),
    }),
  });
}

function unchangedText({ status, late }: AnswerOf<"pay">): string {
  return late
    ? `the result came too late: it was recorded, and the status stays ${status}`
    : `the status stays ${status}`;
}
