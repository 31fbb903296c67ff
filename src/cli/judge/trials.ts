// The trials of a description, for `checkout shop init` and `check`: an order, its view, the return page, a restart.
import { englishOf } from "../../core/readiness/drills/said.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import {
  createBench,
  createOrders,
  createPurchase,
  viewedCheckout,
  type Bench,
  type Purchase,
} from "../../client/judge/bench.ts";
import { openReturnPage } from "../../client/judge/returns.ts";
import { awaitNewOrder } from "../../client/judge/looks.ts";
import type { ShopField } from "../../core/judge/shop.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import type { Style } from "../printer.ts";
import { catchRefusal } from "../problem.ts";
import { operationsAt } from "../target/call.ts";
import { runWithSpinner } from "../request/exchange.ts";
import { createOrderIdGenerator } from "./orders.ts";
import type { ShopDescription } from "../../client/judge/description.ts";
import { bindShop, type BoundShop } from "./shop.ts";

export type Trial = {
  readonly field: ShopField;
  readonly ok: boolean;
  readonly text: string;
  /** Whether the view lacks the field: the trial succeeds, but the field is not judged. */
  readonly lacksField?: boolean;
  /** Whether the view is JSON. */
  readonly isJson?: boolean;
};

export function trialLine({ ok, lacksField, text }: Trial, { bold, green, red }: Style): string {
  const mark = lacksField === true ? bold("?") : ok ? green("✓") : red("✗");
  return `${mark} ${printable(text)}`;
}

/**
 * Creates an order, reads its view, opens the return page and restarts the shop, as far as the description allows.
 * `readsOrders`: refuses a description without a view.
 */
export function tryShop(
  context: Context,
  control: ControlTarget,
  { description, readsOrders }: { readonly description: ShopDescription; readonly readsOrders: boolean },
): Promise<readonly Trial[]> {
  const { world } = context;
  return runWithSpinner(context, async ({ signal }) => {
    await using shop = await bindShop(context, { control, description, readsOrders, isTrial: true, signal });
    const { newId } = await createOrderIdGenerator(context, control, world.freshId());
    const call = operationsAt(context, control);
    const bench = createBench({ world, target: control, call, shop, newId, signal });
    const purchase = createPurchase(bench.newId());
    const trials = [...tryServe(description), ...(await tryCreate(bench, purchase))];
    if (shop.view === undefined || trials.some(({ ok }) => !ok)) return trials;
    trials.push(...(await tryView(bench, purchase, readsOrders)));
    if (shop.returnUrl !== undefined && purchase.checkouts.length > 0)
      trials.push(await tryReturn(bench, purchase, shop.returnUrl));
    if (description.restart !== undefined && shop.restart !== undefined)
      trials.push(await tryRestart(shop.restart));
    return trials;
  });
}

/** A served shop listens once it is bound. */
function tryServe({ serve }: ShopDescription): readonly Trial[] {
  return serve === undefined
    ? []
    : [{ field: "serve", ok: true, text: "your shop listens on the port in PORT" }];
}

async function tryCreate(bench: Bench, purchase: Purchase): Promise<readonly Trial[]> {
  const { create, orderIdOf } = bench.shop;
  if (create === undefined) return [];
  const [run] = await createOrders(bench, purchase);
  const [order] = purchase.checkouts;
  const gotText = run === undefined ? "it did not run" : englishOf(run.got);
  if (order === undefined) return [{ field: "create", ok: false, text: `create made no order: ${gotText}` }];
  const text = `create made ${order.orderId}: ${gotText}`;
  const createTrial: Trial = { field: "create", ok: run?.isDone === true, text };
  if (orderIdOf === undefined) return [createTrial];
  const [, foundId] = orderIdOf.exec(run?.text ?? "") ?? [];
  const foundText = `order_id_of finds ${foundId ?? "nothing"} in the output of create`;
  return [createTrial, { field: "orderIdOf", ok: foundId === order.orderId, text: foundText }];
}

/** `readsOrders`: refuses a view that does not show whether an order is paid. */
async function tryView(bench: Bench, purchase: Purchase, readsOrders: boolean): Promise<readonly Trial[]> {
  const checkout = viewedCheckout(bench, purchase);
  const { order, got, isMissing, text } = await awaitNewOrder(bench, purchase);
  const viewName = `the view of ${checkout.orderId}`;
  const isWithoutPattern = order === null && text !== "";
  if (order === null && !isWithoutPattern)
    return [{ field: "orderView", ok: false, text: `${viewName} cannot be read: ${englishOf(got)}` }];
  if (isMissing && purchase.checkouts.length > 0)
    return [
      { field: "orderView", ok: false, text: `${viewName} answers 404 for an order that your shop created` },
    ];
  const isJson = isRecord(parseJson(text));
  const kind = isJson ? "JSON" : "a page or a text";
  const trial: Trial = {
    field: "orderView",
    ok: true,
    text: `${viewName} is ${kind}: ${englishOf(got)}`,
    isJson,
  };
  if (order === null) {
    const fault = `${viewName} has no field "paid": paid_when must be a pattern that matches a paid order`;
    return [trial, ...(readsOrders ? [{ field: "paidWhen", ok: false, text: fault } as const] : [])];
  }
  const shownState = order.paid ? "paid, but nobody has paid: correct paid_when" : "unpaid";
  const fieldTrial = (field: ShopField, value: number | null, noneText: string): Trial =>
    value === null
      ? { field, ok: true, lacksField: true, text: `${field}: ${noneText}` }
      : { field, ok: true, text: `${field}: ${value}` };
  return [
    trial,
    { field: "paidWhen", ok: !order.paid, text: `${viewName} shows ${shownState}` },
    fieldTrial("bookings", order.times, "not shown, so a second booking cannot be judged"),
    fieldTrial("amount", order.amountMinor, "not shown, so the booked amount cannot be judged"),
  ];
}

async function tryReturn(bench: Bench, purchase: Purchase, page: string): Promise<Trial> {
  const { cookies } = purchase;
  const checkout = viewedCheckout(bench, purchase);
  const { hasArrived, got } = await openReturnPage(bench, { page, checkout, session: checkout.id, cookies });
  const text = `the return page answered ${englishOf(got)}`;
  return { field: "returnUrl", ok: hasArrived, text };
}

async function tryRestart(restart: NonNullable<BoundShop["restart"]>): Promise<Trial> {
  const outcome = await catchRefusal(restart());
  const text = outcome.ok ? "the restart command ended with 0" : outcome.refusal.message;
  return { field: "restart", ok: outcome.ok, text };
}
