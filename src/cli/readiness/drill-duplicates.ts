import {
  drillDuplicates,
  duplicatesTime,
  DUPLICATES_LEASE_MS,
  type DuplicatesObservations,
} from "../../client/drills/duplicates.ts";
import {
  callControl,
  wrapAnswer,
  type ControlResult,
  type ControlTarget,
} from "../../client/control/control.ts";
import type { DrilledOrder } from "../../client/drills/duplicates-send.ts";
import { runMerchantCommand } from "../../client/merchant-command.ts";
import { withLease } from "../../client/control/lease.ts";
import type { OrderViewSource } from "../../client/drills/order-view.ts";
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import type { JudgedDrill } from "../../core/readiness/drills/drill.ts";
import { judgeDuplicates, DUPLICATES_STEPS } from "../../core/readiness/drills/duplicates.ts";
import { ORDER_OUTCOMES } from "../../core/readiness/drills/duplicates-scope.ts";
import { matchesPatterns } from "../../core/checkout/event-types.ts";
import { printable } from "../../core/text.ts";
import { switchOption, type Context, type Group } from "../command.ts";
import { EXIT, Refused, unwrap } from "../problem.ts";
import { createDrillOrders, ordersOfShop, durationLine, type UnpaidOrder } from "./drilled-orders.ts";
import { registerDrill, toDrillResult, type PreparedDrill } from "./drill.ts";
import {
  commandOption,
  ORDER_VIEW_RULES,
  orderViewOptions,
  parseOrderViewOptions,
  drillWithoutView,
  type OrderViewOptions,
} from "./order-view.ts";
import { answered, callAt, type Remedies } from "../target/call.ts";

type DuplicatesOptions = OrderViewOptions & { readonly quick?: boolean; readonly restart?: string };

/** The verdict and the record of a drill; the record is null if the drill was not recorded. */
type ShownVerdict = { readonly judged: JudgedDrill; readonly drill: AnswerOf<"recordDuplicates"> | null };

/** The sandbox of a drill, and the shop's view of its orders. */
type DrillTarget = { readonly control: ControlTarget; readonly view: OrderViewSource };

/** For each outcome, at most one checkout of each kind, and one run of `--create`. */
const LIMITS = { most: 2 * ORDER_OUTCOMES.length, runs: ORDER_OUTCOMES.length } as const;

/** `checkout checklist run duplicates`. */
export function registerChecklistDuplicates(group: Group): void {
  registerDrill<DuplicatesOptions>(group, {
    name: "duplicates",
    summary:
      "send the events of paid, failed, expired and cancelled orders twice, late and out of order, and check that your shop books each paid order once, and no other order",
    examples: [
      `checkout checklist run duplicates --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"'`,
      `checkout checklist run duplicates --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"' --create "node create-order.js"`,
      `checkout checklist run duplicates --order-view-command bin/order-status --paid-when '^paid' --checkout order-1001 --checkout order-1002 --quick`,
    ],
    options: [
      ...orderViewOptions(LIMITS),
      switchOption(
        "--quick",
        "skip the event that is sent again after more than 30 s; the checklist shows that as a risk",
      ),
      commandOption(
        "--restart <command>",
        "command that tells a supervisor to restart your shop, such as docker compose restart shop; the payment's event is then sent again (default: no restart)",
      ),
    ],
    ...ORDER_VIEW_RULES,
    prepare: (context, options, control) => {
      const view = parseOrderViewOptions(options, control);
      return view === undefined ? drillWithoutView : drillWith(context, options, { control, view });
    },
  });
}

function drillWith(
  context: Context,
  options: DuplicatesOptions,
  { control, view }: DrillTarget,
): PreparedDrill {
  const { world, printer } = context;
  return async (signal) => {
    const lease = { drill: "duplicates", timeoutMs: DUPLICATES_LEASE_MS, signal } as const;
    const leased = await withLease<ShownVerdict>(world, control, lease, async ({ id: leaseId }) => {
      // New orders are created while the webhooks are held, so that the payment is the first event that the shop
      // receives.
      const given = await ordersOfShop(context, options, { control, ...LIMITS, signal });
      const orders = assignOutcomes(given ?? (await createOwnOrders(context, options, control)));
      const sellsBoth = await hasCreatesOfBoth(context, control);
      const isQuick = options.quick === true;
      const { restart: commandLine } = options;
      const ends = orders.map(({ end }) => end);
      printer.talk(durationLine(duplicatesTime(ends, { isQuick, hasRestart: commandLine !== undefined })));
      const scope = { ownOrders: given === undefined, sellsBoth, isQuick };
      const restart = commandLine === undefined ? undefined : () => restartShop(context, commandLine, signal);
      const wanted = { target: control, view, orders, leaseId, signal, scope, restart };
      const seen = await drillDuplicates(world, wanted);
      return seen.end === "success" ? recordDrill(context, control, { leaseId, seen: seen.value }) : seen;
    });
    const { judged, drill } = unwrap(answered(leased, NEXT_AFTER));
    return toDrillResult(judged, { head: HEADS[judged.verdict], titles: DUPLICATES_STEPS, drill });
  };
}

/**
 * Runs the shop's restart command, which must exit. The command's child processes end with it, so a supervisor must
 * start the shop.
 */
async function restartShop({ world }: Context, commandLine: string, signal: AbortSignal): Promise<void> {
  const command = {
    commandLine,
    env: {},
    timeoutMs: RESTART_TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    signal,
  };
  const { ending, exitCode, stderr } = await runMerchantCommand(world, command);
  if (signal.aborted || (ending === "exited" && exitCode === 0)) return;
  const how = ending === "exited" ? `ended with ${exitCode ?? "no exit code"}` : ending;
  const said = stderr.trim().split("\n").at(-1) ?? "";
  const message = `--restart: the command ${how}${said === "" ? "" : `: ${printable(said)}`}`;
  throw new Refused({ exitCode: EXIT.failed, code: "not_restarted", message, next: NEXT_RESTART });
}

/** Timeout of the restart command, in milliseconds. */
const RESTART_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 4096;
const NEXT_RESTART = "the command must exit with 0 after it has told the supervisor to restart your shop";

/** The outcome of each order: of each kind, the first is paid, the second fails, and so on. */
function assignOutcomes(orders: readonly UnpaidOrder[]): readonly DrilledOrder[] {
  return orders.flatMap((order, at) => {
    const before = orders.slice(0, at).filter(({ kind }) => kind === order.kind).length;
    const end = ORDER_OUTCOMES[before];
    return end === undefined ? [] : [{ ...order, end }];
  });
}

/** Creates orders of both kinds, or of the only kind whose events the endpoints receive, one for each outcome. */
async function createOwnOrders(
  context: Context,
  options: DuplicatesOptions,
  control: ControlTarget,
): Promise<readonly UnpaidOrder[]> {
  const { endpoints } = await callAt(context, control, { name: "listEndpoints", body: undefined });
  const isWanted = (kind: CheckoutObject): boolean =>
    endpoints.some(({ eventTypes }) =>
      ["created", "succeeded"].some((status) => matchesPatterns(eventTypes, `${kind}.${status}`)),
    );
  const wanted = KINDS.filter(isWanted);
  const kinds = ORDER_OUTCOMES.flatMap(() => (wanted.length > 0 ? wanted : KINDS));
  return createDrillOrders(context, options, { control, kinds });
}

const KINDS = ["order", "checkout_session"] as const;

/** Whether the store's request log has creates of both orders and sessions that no drill has sent. */
async function hasCreatesOfBoth(context: Context, control: ControlTarget): Promise<boolean> {
  const listed = await Promise.all(
    ["/v1/orders", "/v1/checkout-sessions"].map((path) =>
      callAt(context, control, {
        name: "listRequests",
        body: { method: "POST", path, status: "201", by: "merchant", limit: 1 },
      }),
    ),
  );
  return listed.every(({ requests }) => requests.length > 0);
}

const NEXT_AFTER: Remedies = {
  state_conflict:
    "add one: checkout endpoints add http://localhost:3000/hooks, or enable one: checkout endpoints enable <id>; then run the drill again",
};

/** A drill without a verdict is not recorded: the last drill with a verdict still counts. */
async function recordDrill(
  { world }: Context,
  control: ControlTarget,
  { leaseId, seen }: { readonly leaseId: string; readonly seen: DuplicatesObservations },
): Promise<ControlResult<ShownVerdict>> {
  const judged = judgeDuplicates(seen.facts);
  if (judged.verdict === "unknown") return wrapAnswer({ judged, drill: null });
  const body = { leaseId, subject: seen.subject, steps: judged.steps };
  const recorded = await callControl(world, control, { name: "recordDuplicates", body });
  return recorded.end === "success" ? wrapAnswer({ judged, drill: recorded.value }) : recorded;
}

const HEADS = {
  passed: "according to its view, your shop books each payment once, and books no unpaid order",
  failed:
    "your shop wrongly books or refuses events that are duplicated, late, simultaneous, forged or without a payment",
  unknown: "whether your shop can handle duplicated, late or out-of-order events is unknown",
};
