import { englishOf } from "../../core/readiness/drills/said.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import {
  createBench,
  createPurchase,
  viewedCheckout,
  type Bench,
  type Purchase,
} from "../../client/judge/bench.ts";
import { createOrders } from "../../client/judge/checkouts.ts";
import { openReturnPage } from "../../client/judge/returns.ts";
import { wasNewestCreateRefused } from "../../client/judge/plain.ts";
import { awaitNewOrder } from "../../client/judge/looks.ts";
import type { ShopField } from "../../core/judge/shop.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import type { Style } from "../printer.ts";
import { catchRefusal } from "../problem.ts";
import { createOperationCaller } from "../target/call.ts";
import { runWithSpinner } from "../request/exchange.ts";
import { createOrderIdGenerator } from "./orders.ts";
import type { ShopDescription } from "../../client/judge/shop/description.ts";
import { bindShop } from "./shop.ts";

export type Trial = {
  readonly field: ShopField;
  readonly ok: boolean;
  readonly text: string;
  /** The view lacks the field: the trial succeeds, but the field is not judged. */
  readonly lacksField?: boolean;
  readonly isJson?: boolean;
};

export function trialLine({ ok, lacksField, text }: Trial, { bold, green, red }: Style): string {
  const mark = lacksField === true ? bold("?") : ok ? green("✓") : red("✗");
  return `${mark} ${printable(text)}`;
}

/** `readsOrders`: refuses a description without a view. */
export function tryShop(
  context: Context,
  control: ControlTarget,
  { description, readsOrders }: { readonly description: ShopDescription; readonly readsOrders: boolean },
): Promise<readonly Trial[]> {
  const { world } = context;
  return runWithSpinner(context, async ({ signal }) => {
    await using shop = await bindShop(context, { control, description, readsOrders, signal });
    const call = createOperationCaller(context, control);
    const orderIds = await createOrderIdGenerator(call, world.freshId());
    const bench = createBench({ world, target: control, call, shop, ...orderIds, signal });
    const startedAt = world.now();
    let purchase = createPurchase(bench.newId());
    let trials = await tryCreate(bench, purchase);
    if (purchase.checkouts.length === 0 && (await wasNewestCreateRefused(bench, startedAt))) {
      orderIds.useCommonIds();
      purchase = createPurchase(bench.newId());
      trials = await tryCreate(bench, purchase);
    }
    if (description.serve !== undefined)
      trials.unshift({ field: "serve", ok: true, text: "your shop listens on the port in PORT" });
    if (shop.view === undefined || trials.some(({ ok }) => !ok)) return trials;
    trials.push(...(await tryView(bench, purchase, readsOrders)));
    if (shop.returnUrl !== undefined && purchase.checkouts.length > 0)
      trials.push(await tryReturn(bench, purchase, shop.returnUrl));
    if (description.restart === undefined || shop.restart === undefined) return trials;
    const { ok, refusal } = await catchRefusal(shop.restart());
    const text = ok ? "the restart command ended with 0" : refusal.message;
    return [...trials, { field: "restart", ok, text }];
  });
}

async function tryCreate(bench: Bench, purchase: Purchase): Promise<Trial[]> {
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

/** `readsOrders`: a view fails if it does not show whether an order is paid. */
async function tryView(bench: Bench, purchase: Purchase, readsOrders: boolean): Promise<readonly Trial[]> {
  const { order, got, isMissing, text } = await awaitNewOrder(bench, purchase);
  const viewName = `the view of ${viewedCheckout(bench, purchase).orderId}`;
  const failedTrial = (fault: string): readonly Trial[] => [
    { field: "orderView", ok: false, text: `${viewName} ${fault}` },
  ];
  if (order === null && text === "") return failedTrial(`cannot be read: ${englishOf(got)}`);
  if (isMissing && purchase.checkouts.length > 0)
    return failedTrial("answers 404 for an order that your shop created");
  const isJson = isRecord(parseJson(text));
  const viewText = `${viewName} is ${isJson ? "JSON" : "a page or a text"}: ${englishOf(got)}`;
  const trial: Trial = { field: "orderView", ok: true, text: viewText, isJson };
  if (order === null) {
    const fault = `${viewName} has no field "paid": paid_when must be a pattern that matches a paid order`;
    return [trial, ...(readsOrders ? [{ field: "paidWhen", ok: false, text: fault } as const] : [])];
  }
  const shownState = order.paid ? "paid, but nobody has paid: correct paid_when" : "unpaid";
  const fieldTrial = (field: ShopField, value: number | null): Trial => ({
    field,
    ok: true,
    lacksField: value === null,
    text: `${field}: ${value ?? "not shown for an unpaid order, so it is judged only if paid orders show it"}`,
  });
  return [
    trial,
    { field: "paidWhen", ok: !order.paid, text: `${viewName} shows ${shownState}` },
    fieldTrial("bookings", order.times),
    fieldTrial("amount", order.amountMinor),
  ];
}

async function tryReturn(bench: Bench, purchase: Purchase, page: string): Promise<Trial> {
  const { cookies } = purchase;
  const checkout = viewedCheckout(bench, purchase);
  const { hasArrived, got } = await openReturnPage(bench, { page, checkout, session: checkout.id, cookies });
  return { field: "returnUrl", ok: hasArrived, text: `the return page answered ${englishOf(got)}` };
}
