import { drillBrowserReturn, RETURN_TIME } from "../../client/drills/browser-return.ts";
import { parseDrillTarget } from "../../client/drills/order-view.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { JudgedDrill } from "../../core/readiness/drills/drill.ts";
import { judgeReturn, RETURN_STEPS } from "../../core/readiness/drills/browser-return.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import { valueOption, type Context, type Group } from "../command.ts";
import { refuseUsage, unwrap } from "../problem.ts";
import { registerDrill, toDrillResult, type PreparedDrill } from "./drill.ts";
import { createDrillOrders, ordersOfShop, durationLine } from "./drilled-orders.ts";
import {
  ORDER_VIEW_RULES,
  orderViewOptions,
  parseOrderViewOptions,
  drillWithoutView,
  type OrderViewOptions,
} from "./order-view.ts";
import { callAt, answered } from "../target/call.ts";

type ReturnOptions = OrderViewOptions & { readonly returnUrl: string };

/**
 * The drill needs three checkouts: an unpaid one, a paid one whose session returns with the order of the first, and one
 * that its payer cancels.
 */
const LIMITS = { most: 3, runs: 3 } as const;
const OWN_KINDS = ["checkout_session", "checkout_session", "checkout_session"] as const;

/** `checkout checklist run browser-return`. */
export function registerChecklistBrowserReturn(group: Group): void {
  registerDrill<ReturnOptions>(group, {
    name: "browser-return",
    summary: "return to your page without paying, and check that your shop does not treat that as a payment",
    examples: [
      `checkout checklist run browser-return --return-url http://localhost:3000/thanks --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"'`,
      `checkout checklist run browser-return --return-url http://localhost:3000/thanks --order-view-command bin/order-status --paid-when '^paid$' --checkout order-1001`,
    ],
    options: [
      valueOption("--return-url <url>", "URL of the page that customers return to, on this machine"),
      ...orderViewOptions(LIMITS),
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
): Promise<PreparedDrill> {
  const target = parseDrillTarget(control, options.returnUrl);
  if (!target.ok)
    throw refuseUsage(`--return-url: ${target.refusal.message}`, "correct it; nothing was done");
  const view = parseOrderViewOptions(options, control);
  if (view === undefined) return drillWithoutView;
  const { url: page } = target.value;
  return async (signal) => {
    const given = await ordersOfShop(context, options, { control, ...LIMITS, signal });
    const [checkout, ...others] =
      given ?? (await createDrillOrders(context, options, { control, kinds: OWN_KINDS }));
    if (checkout === undefined) throw new Error("a drill has an order");
    context.printer.talk(durationLine(RETURN_TIME));
    const returning = { checkout, others, page, view, signal, isOwn: given === undefined };
    const facts = unwrap(answered(await drillBrowserReturn(context.world, control, returning)));
    const judged = judgeReturn(facts);
    const drill = await recordDrill(context, control, { page, judged });
    return toDrillResult(judged, { head: headOf(page, judged.verdict), titles: RETURN_STEPS, drill });
  };
}

/** A drill without a verdict is not recorded: the last drill with a verdict still counts. */
async function recordDrill(
  context: Context,
  control: ControlTarget,
  { page, judged }: { readonly page: string; readonly judged: JudgedDrill },
): Promise<AnswerOf<"recordBrowserReturn"> | null> {
  if (judged.verdict === "unknown") return null;
  const body = { returnUrl: page, steps: judged.steps };
  return callAt(context, control, { name: "recordBrowserReturn", body });
}

const HEADS = {
  passed: "was not treated as a payment",
  failed: "was treated as a payment",
  unknown: "is treated as a payment is unknown",
};

function headOf(page: string, verdict: JudgedDrill["verdict"]): string {
  return `${verdict === "unknown" ? "whether a" : "a"} return to ${printable(page)} ${HEADS[verdict]}`;
}
