import { drillDuplicates, DUPLICATES_LEASE_MS, type DuplicatesSeen } from "../../client/drills/duplicates.ts";
import {
  callControl,
  succeeded,
  type ControlResult,
  type ControlTarget,
} from "../../client/control/control.ts";
import { whileLeased } from "../../client/control/lease.ts";
import type { OrderViewSource } from "../../client/drills/order-view.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import type { JudgedDrill } from "../../core/readiness/drills/drill.ts";
import { judgeDuplicates, DUPLICATES_STEPS } from "../../core/readiness/drills/duplicates.ts";
import type { Context, Group } from "../command.ts";
import { ORDER } from "../order/create-report.ts";
import { registerDrill, resultOf, type ReadyDrill } from "./drill.ts";
import {
  buyerFor,
  ORDER_VIEW_RULES,
  orderViewOptions,
  viewOf,
  withoutView,
  type OrderViewOptions,
} from "./order-view.ts";
import { answered, type NextAfter } from "../target/call.ts";

/** What was shown, and the drill that keeps it; null where it was not kept. */
type Shown = { readonly judged: JudgedDrill; readonly drill: AnswerOf<"recordDuplicates"> | null };

/** `checkout checklist run duplicates`. */
export function registerChecklistDuplicates(group: Group): void {
  registerDrill<OrderViewOptions>(group, {
    name: "duplicates",
    summary:
      "pay an order, send its events twice, late and out of order, and check that your shop books it once and keeps it paid",
    examples: [
      `checkout checklist run duplicates --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"'`,
      `checkout checklist run duplicates --order-view-command 'bin/order-status {order_id}' --paid-when '^paid' --checkout order-1001`,
    ],
    options: orderViewOptions(),
    ...ORDER_VIEW_RULES,
    prepare: (context, options, control) => {
      const view = viewOf(options, control);
      return view === undefined ? withoutView : drillWith(context, options, { control, view });
    },
  });
}

function drillWith(
  context: Context,
  options: OrderViewOptions,
  { control, view }: { readonly control: ControlTarget; readonly view: OrderViewSource },
): ReadyDrill {
  const { world } = context;
  return async (signal) => {
    const lease = { drill: "duplicates", timeoutMs: DUPLICATES_LEASE_MS, signal } as const;
    const leased = await whileLeased<Shown>(world, control, lease, async ({ id: leaseId }) => {
      // A new order is made when its webhooks wait already, so that the merchant hears of its payment first.
      const wanted = { control, view, noun: ORDER };
      const checkout = await buyerFor(context, options, { ...wanted, purpose: "duplicates" });
      const other =
        options.checkout === undefined
          ? await buyerFor(context, options, { ...wanted, purpose: "untouched" })
          : null;
      const look = { target: control, checkout, other, view, leaseId, signal };
      const seen = await drillDuplicates(world, look);
      return seen.end === "success" ? keep(context, control, { leaseId, seen: seen.value }) : seen;
    });
    const { judged, drill } = answered(leased, NEXT_AFTER);
    return resultOf(judged, { head: HEADS[judged.verdict], titles: DUPLICATES_STEPS, drill });
  };
}

const NEXT_AFTER: NextAfter = {
  state_conflict:
    "add one: checkout endpoints add http://localhost:3000/hooks, or enable one: checkout endpoints enable <id>; then run the drill again",
};

/** What shows nothing is not kept: the last drill that showed something stands. */
async function keep(
  { world }: Context,
  control: ControlTarget,
  { leaseId, seen }: { readonly leaseId: string; readonly seen: DuplicatesSeen },
): Promise<ControlResult<Shown>> {
  const judged = judgeDuplicates(seen.facts);
  if (judged.verdict === "unknown") return succeeded({ judged, drill: null });
  const body = { leaseId, subject: seen.subject, steps: judged.steps };
  const kept = await callControl(world, control, { name: "recordDuplicates", body });
  return kept.end === "success" ? succeeded({ judged, drill: kept.value }) : kept;
}

const HEADS = {
  passed:
    "as far as its view shows, your shop books an order once, whatever comes twice, late or out of order",
  failed: "your shop cannot handle events that come twice, late, out of order, or forged",
  unknown: "whether your shop can handle events that come twice, late or out of order is unknown",
};
