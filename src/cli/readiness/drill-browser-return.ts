import { SESSION } from "../order/create-report.ts";
import type { Command } from "commander";
import { drillBrowserReturn } from "../../client/drills/browser-return.ts";
import { drillTarget } from "../../client/drills/order-view.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { JudgedDrill } from "../../core/readiness/drills/drill.ts";
import { judgeReturn, RETURN_STEPS } from "../../core/readiness/drills/browser-return.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { valueOption, type Context, type Registry } from "../command.ts";
import { failUsage, type Problem } from "../problem.ts";
import { registerDrill, resultOf, type ReadyDrill } from "./drill.ts";
import {
  buyerFor,
  ORDER_VIEW_RULES,
  orderViewOptions,
  viewOf,
  withoutView,
  type OrderViewOptions,
} from "./order-view.ts";
import { callAt, controlOutcome } from "../target/call.ts";

type ReturnOptions = OrderViewOptions & { readonly returnUrl: string };

/** `checkout checklist run browser-return`. */
export function registerChecklistBrowserReturn(checklist: Command, registry: Registry): void {
  registerDrill<ReturnOptions>(checklist, registry, {
    name: "browser-return",
    summary: "return to your page without paying, and check that your shop does not take it for a payment",
    examples: [
      `checkout checklist run browser-return --return-url http://localhost:3000/thanks --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"'`,
      `checkout checklist run browser-return --return-url http://localhost:3000/thanks --order-view-command 'bin/order-status {order_id}' --paid-when '^paid$' --checkout order-1001`,
    ],
    options: [
      valueOption("--return-url <url>", "your page that customers return to, on this machine"),
      ...orderViewOptions(),
    ],
    required: ["returnUrl"],
    ...ORDER_VIEW_RULES,
    prepare: prepareReturn,
  });
}

async function prepareReturn(
  context: Context,
  options: ReturnOptions,
  control: ControlTarget,
): Promise<Outcome<ReadyDrill, Problem>> {
  const target = drillTarget(control, options.returnUrl);
  if (!target.ok) return failUsage(`--return-url: ${target.refusal.message}`, "correct it; nothing was done");
  const view = viewOf(options, control);
  if (!view.ok) return view;
  if (view.value === undefined) return accept(withoutView);
  const { url: page } = target.value;
  const wanted = { control, view: view.value, purpose: "return", noun: SESSION };
  const buyer = await buyerFor(context, options, wanted);
  if (!buyer.ok) return buyer;
  return accept(async (signal) => {
    const returning = { checkout: buyer.value, page, view: wanted.view, signal };
    const facts = controlOutcome(await drillBrowserReturn(context.world, control, returning));
    if (!facts.ok) return facts;
    const judged = judgeReturn(facts.value);
    const kept = await keep(context, control, { page, judged });
    return kept.ok
      ? accept(
          resultOf(judged, { head: headOf(page, judged.verdict), titles: RETURN_STEPS, drill: kept.value }),
        )
      : kept;
  });
}

/** What shows nothing is not kept: the last drill that showed something stands. */
async function keep(
  context: Context,
  control: ControlTarget,
  { page, judged }: { readonly page: string; readonly judged: JudgedDrill },
): Promise<Outcome<AnswerOf<"recordBrowserReturn"> | null, Problem>> {
  if (judged.verdict === "unknown") return accept(null);
  const body = { returnUrl: page, steps: judged.steps };
  return callAt(context, control, { name: "recordBrowserReturn", body });
}

const HEADS = {
  passed: "is not taken for a payment",
  failed: "is taken for a payment",
  unknown: "is taken for a payment is unknown",
};

function headOf(page: string, verdict: JudgedDrill["verdict"]): string {
  return `${verdict === "unknown" ? "whether a" : "a"} return to ${printable(page)} ${HEADS[verdict]}`;
}
