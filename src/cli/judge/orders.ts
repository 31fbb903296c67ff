import type { CallOperation, ControlTarget } from "../../client/control/control.ts";
import type { Bench, JudgedShop } from "../../client/judge/bench.ts";
import type { ViewedCheckout } from "../../client/judge/shop/view.ts";
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { parseCreateRequest, type CreateRequest } from "../../core/checkout/create-request.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { hashedBytesOf } from "../../core/fault/fraction.ts";
import { DRILL_AGENT } from "../../core/network/headers.ts";
import { similarOrderId } from "../../core/readiness/drilled-order-ids.ts";
import { printableLiteral } from "../../core/text.ts";
import { matchesEventPatterns } from "../../core/checkout/event-types.ts";
import type { Context } from "../command.ts";
import { ORDER_LABELS, SESSION_LABELS } from "../order/checkout-kinds.ts";
import { createInSandbox, newPurchaseRequest } from "../order/sandbox-create.ts";
import { EXIT, Refused, refuseUsage } from "../problem.ts";
import { createOperationCaller } from "../target/call.ts";
import { findId } from "../target/ids.ts";
import { MAX_CHECKOUTS, type RunOptions } from "./options.ts";

const MIN_AMOUNT_MINOR = 100;
const AMOUNTS = Array.from({ length: 9900 }, (_, index) => MIN_AMOUNT_MINOR + index).filter(
  (minor) => Math.trunc((minor / 100) * 100) < minor,
);

export async function createOrderSource(
  context: Context,
  options: RunOptions,
  control: ControlTarget,
): Promise<Pick<JudgedShop, "takeOrder" | "kinds" | "setsIds">> {
  const { checkout: namedCheckouts } = options;
  if (namedCheckouts !== undefined) {
    if (namedCheckouts.length > MAX_CHECKOUTS)
      throw refuseUsage(
        `--checkout can be given at most ${MAX_CHECKOUTS} times; got ${namedCheckouts.length}`,
        LEAVE_OUT_HINT,
      );
    const orders: ViewedCheckout[] = [];
    for (const text of namedCheckouts) {
      const order = await findNamedOrder(context, text, control);
      if (orders.some(({ id }) => id === order.id))
        throw refuseUsage(`--checkout: ${printableLiteral(text)} was given twice`, LEAVE_OUT_HINT);
      orders.push(order);
    }
    return { takeOrder: () => Promise.resolve(orders.shift()) };
  }
  const call = createOperationCaller(context, control);
  const terms = await activeTerms(context, call);
  const takeOrder = async (orderId: string, kind: CheckoutObject) => {
    const { response } = await createInSandbox(context, options, {
      kind: kind === "order" ? ORDER_LABELS : SESSION_LABELS,
      request: { ...terms, order_id: orderId },
      control,
      agent: DRILL_AGENT,
    });
    return { id: response.data.id, orderId: response.data.order_id };
  };
  return { takeOrder, kinds: await kindsOf(call), setsIds: true };
}

const LEAVE_OUT_HINT = "leave it out; nothing was done";
const KINDS = ["order", "checkout_session"] as const;

async function kindsOf(call: CallOperation): Promise<readonly CheckoutObject[]> {
  const { endpoints } = await call({ name: "listEndpoints", body: undefined });
  const receivedKinds = KINDS.filter((kind) =>
    endpoints.some(({ eventTypes }) => matchesEventPatterns(eventTypes, `${kind}.succeeded`)),
  );
  return receivedKinds.length > 0 ? receivedKinds : KINDS;
}

/** Default terms if the store has no active currency or payment method. */
async function activeTerms({ world }: Context, call: CallOperation): Promise<CreateRequest> {
  const { capabilities } = await call({ name: "storeSummary", body: undefined });
  const activeName = (kind: string): string | undefined =>
    capabilities.find((capability) => capability.kind === kind && capability.active)?.name;
  const outcome = parseCreateRequest({
    order_id: "order-1",
    amount_minor: AMOUNTS[Math.floor(world.random() * AMOUNTS.length)],
    currency: activeName("currency"),
    payment_method: activeName("payment_method"),
  });
  return outcome.ok ? outcome.value : newPurchaseRequest(world, { purpose: "order" });
}

/** A later run with the same seed draws other order_ids, because a shop cannot sell an order twice. */
export async function createOrderIdGenerator(
  call: CallOperation,
  seed: string,
): Promise<Required<Pick<Bench, "newId" | "useCommonIds">>> {
  const createsQuery = { method: "POST", path: "/v1/", status: "201", by: "merchant", limit: 1 } as const;
  const { requests } = await call({ name: "listRequests", body: createsQuery });
  const { checkouts } = await call({ name: "listCheckouts", body: { limit: 1 } });
  const newestOrder = requests[0] ?? checkouts[0];
  let sampleId = newestOrder?.orderId ?? COMMON_ORDER_ID;
  const newestId = checkouts[0]?.id ?? "";
  let drawCount = 0;
  const newId = (): string => {
    drawCount += 1;
    const bytes = hashedBytesOf(`${seed}\n${newestId}\n${drawCount}`);
    return similarOrderId(sampleId, bytes) ?? `order-${Buffer.from(bytes.subarray(0, 6)).toString("hex")}`;
  };
  return {
    newId,
    useCommonIds: () => {
      sampleId = COMMON_ORDER_ID;
    },
  };
}

const COMMON_ORDER_ID = "order-10000001";

async function findNamedOrder(
  context: Context,
  text: string,
  control: ControlTarget,
): Promise<ViewedCheckout> {
  const id = await findId(context, "checkout", text, control);
  const call = createOperationCaller(context, control);
  const { orderId, status } = await call({ name: "inspectCheckout", id, body: undefined });
  if (!isFinal(status)) return { id, orderId };
  const message = `${id} is ${status}: the drill needs an unpaid order or session`;
  const next = "let your shop create a new order, and name its id; or leave out --checkout";
  throw new Refused({ exitCode: EXIT.conflict, code: "state_conflict", message, next });
}
