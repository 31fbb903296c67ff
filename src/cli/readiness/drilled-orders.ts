import type { ControlTarget } from "../../client/control/control.ts";
import type { ViewedCheckout } from "../../client/drills/order-view.ts";
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { runMerchantCommand } from "../../client/merchant-command.ts";
import { merchantOrderId } from "../../client/drills/merchant-order.ts";
import { MAX_ORDER_ID, parseCreateRequest, type CreateRequest } from "../../core/checkout/create-request.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { DRILL_AGENT } from "../../core/network/headers.ts";
import { neighbourOf, orderIdLike } from "../../core/readiness/drilled-order-ids.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { ORDER_LABELS, SESSION_LABELS } from "../order/create-report.ts";
import { createAllInSandbox, newPurchaseRequest } from "../order/sandbox-create.ts";
import { EXIT, Refused, refuseUsage, unwrap } from "../problem.ts";
import { answered, callAt } from "../target/call.ts";
import { connectToSandbox } from "../target/connect.ts";
import { findByOrderId, findId } from "../target/ids.ts";
import type { OrderViewOptions } from "./order-view.ts";

/** An unpaid order or session for a drill. */
export type UnpaidOrder = ViewedCheckout & { readonly kind: CheckoutObject };

/** Timeout of each run of the shop's command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 4096;
/**
 * The lowest amount of new orders, in minor units. Amounts are random, so that a shop cannot recognise a drill, and
 * such that floating-point arithmetic loses a minor unit: 19.99 * 100 is 1998.99.
 */
const LEAST_MINOR = 100;
const AMOUNTS = Array.from({ length: 9900 }, (_, at) => LEAST_MINOR + at).filter(
  (minor) => Math.trunc((minor / 100) * 100) < minor,
);

/**
 * The shop's own checkouts: named by `--checkout`, or created by the command of `--create`; undefined without both
 * options. Refuses more than `most` checkouts, duplicates, and checkouts whose status is final.
 */
export async function ordersOfShop(
  context: Context,
  { checkout: named, create }: OrderViewOptions,
  {
    control,
    most,
    runs,
    signal,
  }: {
    readonly control: ControlTarget;
    readonly most: number;
    readonly runs: number;
    readonly signal: AbortSignal;
  },
): Promise<readonly UnpaidOrder[] | undefined> {
  if (named === undefined && create === undefined) return undefined;
  const orders: UnpaidOrder[] = [];
  if (named !== undefined && named.length > most)
    throw refuseUsage(`--checkout can be given at most ${most} times; got ${named.length}`, NAME_FEWER);
  for (const text of named ?? []) {
    const order = await findNamedOrder(context, text, control);
    if (orders.some(({ id }) => id === order.id))
      throw refuseUsage(`--checkout: ${printableLiteral(text)} was given twice`, NAME_FEWER);
    orders.push(order);
  }
  if (create !== undefined) {
    const newId = await orderIdsOfShop(context, control);
    for (let run = 0; run < runs; run += 1)
      orders.push(await orderBy(context, create, { orderId: newId("created"), control, signal }));
  }
  return orders;
}

const NAME_FEWER = "leave it out; nothing was done";

/** Creates orders of these kinds, all with the same random amount, and without any sign of a drill. */
export async function createDrillOrders(
  context: Context,
  options: OrderViewOptions,
  { control, kinds }: { readonly control: ControlTarget; readonly kinds: readonly CheckoutObject[] },
): Promise<readonly UnpaidOrder[]> {
  const terms = await drawTerms(context, control);
  const newId = await orderIdsOfShop(context, control);
  const wanted = kinds.map((kind) => ({
    noun: kind === "order" ? ORDER_LABELS : SESSION_LABELS,
    request: { ...terms, order_id: newId(kind) },
  }));
  const made = await createAllInSandbox(context, options, { wanted, control, agent: DRILL_AGENT });
  const orders = made.map(({ response: { data } }): UnpaidOrder => {
    const { id, order_id: orderId, object: kind } = data;
    return { id, orderId, kind };
  });
  return orders;
}

/**
 * A random amount with an active currency and payment method of the store; default terms if the store has no active
 * currency or method.
 */
async function drawTerms(context: Context, control: ControlTarget): Promise<CreateRequest> {
  const { world } = context;
  const { capabilities } = await callAt(context, control, { name: "readiness", body: undefined });
  const any = (kind: string): string | undefined =>
    capabilities.find((one) => one.kind === kind && one.active)?.name;
  const parsed = parseCreateRequest({
    order_id: "order-1",
    amount_minor: AMOUNTS[Math.floor(world.random() * AMOUNTS.length)],
    currency: any("currency"),
    payment_method: any("payment_method"),
  });
  return parsed.ok ? parsed.value : newPurchaseRequest(world, { purpose: "order" });
}

/**
 * Returns a generator of order_ids in the form of the shop's own order_ids, or in a common form if it has none. Some order_ids of a kind resemble the first one.
 */
async function orderIdsOfShop({ world }: Context, control: ControlTarget): Promise<(kind: string) => string> {
  const like = unwrap(answered(await merchantOrderId(world, control)));
  const made = new Map<string, readonly string[]>();
  const newId = (): string => {
    const own = like === undefined ? undefined : orderIdLike(like, world.randomBytes(MAX_ORDER_ID * 2));
    return own ?? newPurchaseRequest(world, { purpose: "order" }).order_id;
  };
  return (kind) => {
    const before = made.get(kind) ?? [];
    const [first] = before;
    const isFixed = first?.length === like?.length;
    const near = first === undefined ? undefined : neighbourOf(first, { place: before.length, isFixed });
    const id = near ?? newId();
    made.set(kind, [...before, id]);
    return id;
  };
}

async function findNamedOrder(context: Context, text: string, control: ControlTarget): Promise<UnpaidOrder> {
  const id = await findId(context, "checkout", text, control);
  const { orderId, status, object } = await callAt(context, control, {
    name: "inspectCheckout",
    id,
    body: undefined,
  });
  if (!isFinal(status)) return { id, orderId, kind: object };
  const message = `${id} is ${status}: the drill needs an unpaid order or session`;
  const next = "let your shop create a new order, and name its id; or leave out --checkout";
  throw new Refused({ exitCode: EXIT.conflict, code: "state_conflict", message, next });
}

/**
 * The checkout that a run of the shop's command creates. It is found in the store by its order_id; the command's output
 * is not used.
 */
async function orderBy(
  context: Context,
  commandLine: string,
  {
    orderId,
    control,
    signal,
  }: { readonly orderId: string; readonly control: ControlTarget; readonly signal: AbortSignal },
): Promise<UnpaidOrder> {
  const { world } = context;
  const { target, settings } = await connectToSandbox(context, control);
  const env = {
    CHECKOUT_BASE_URL: target.baseUrl,
    CHECKOUT_API_KEY: target.apiKey,
    CHECKOUT_STORE_ID: settings.storeId.value ?? undefined,
  };
  const command = {
    commandLine,
    about: { orderId },
    env,
    timeoutMs: COMMAND_TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    signal,
  };
  const { ending, exitCode, stderr } = await runMerchantCommand(world, command);
  const id = await findByOrderId(context, orderId, control);
  if (id !== undefined) return findNamedOrder(context, id, control);
  const how = ending === "exited" ? `ended with ${exitCode ?? "no exit code"}` : ending;
  const said = stderr.trim().split("\n").at(-1) ?? "";
  const message = `--create: the command ${how} and did not create an order or session with CHECKOUT_ORDER_ID${said === "" ? "" : `: ${printable(said)}`}`;
  const next =
    "the command must create the order CHECKOUT_ORDER_ID at CHECKOUT_BASE_URL, with CHECKOUT_API_KEY";
  throw new Refused({ exitCode: EXIT.failed, code: "no_order_created", message, next });
}

/** The expected duration of a drill, for the line printed before it starts. */
export function durationLine({
  totalMs,
  waitMs,
}: {
  readonly totalMs: number;
  readonly waitMs: number;
}): string {
  return `about ${seconds(totalMs)}, including ${seconds(waitMs)} of waiting`;
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1000)} s`;
}
