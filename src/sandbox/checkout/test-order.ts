import { PAYMENT_METHODS, type Checkout, type PaymentMethod } from "../../core/checkout/checkout.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { ServiceContext } from "../context.ts";
import { createCheckout } from "./create.ts";

/** The amount of a test order, in minor units. */
const AMOUNT_MINOR = 1000;

type TestOrder = Pick<Checkout, "id" | "orderId" | "status">;

/** For a user without an application. Refuses with `state_conflict` without an active method or currency. */
export async function createTestOrder(
  context: ServiceContext,
  { storeId, requestId }: { readonly storeId: string; readonly requestId: string },
): Promise<Outcome<TestOrder>> {
  const { store, world } = context;
  const active = store.capabilities.of(storeId).filter((one) => one.active);
  const method = active.find(({ kind }) => kind === "payment_method")?.name;
  const currency = active.find(({ kind }) => kind === "currency")?.name;
  if (!isMethod(method) || currency === undefined) return refuseFact("no_terms", {});
  const key = world.uuid(storeId);
  const orderId = `test-${key.slice(-8)}`;
  const created = await createCheckout(context, {
    storeId,
    object: "order",
    path: "/v1/orders",
    idempotencyKey: `test-order-${key}`,
    request: {
      order_id: orderId,
      amount_minor: AMOUNT_MINOR,
      currency,
      payment_method: method,
      description: "Test order",
    },
    requestId,
    isOwnCommand: () => true,
  });
  if (!created.ok) return created;
  const made = store.checkouts.live(storeId, orderId);
  if (made === undefined) throw new Error(`the test order ${orderId} was created, but cannot be found`);
  return accept({ id: made.id, orderId, status: made.status });
}

function isMethod(name: string | undefined): name is PaymentMethod {
  return PAYMENT_METHODS.some((one) => one === name);
}
