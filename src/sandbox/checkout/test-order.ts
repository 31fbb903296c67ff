import type { Checkout } from "../../core/checkout/checkout.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { ServiceContext } from "../context.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import { parseCreateRequest } from "../../core/checkout/create-request.ts";
import { CREATE_PATHS } from "../../core/checkout/idempotency-key.ts";
import { createCheckout } from "./create.ts";

const DEFAULT_AMOUNT_MINOR = 1000;

type TestOrder = Pick<Checkout, "id" | "orderId" | "status">;

export async function createTestOrder(
  context: ServiceContext,
  {
    storeId,
    requestId,
    body: { object = "order", priceId, amountMinor },
  }: { readonly storeId: string; readonly requestId: string; readonly body: RequestOf<"createTestOrder"> },
): Promise<Outcome<TestOrder>> {
  const { store, world } = context;
  const terms = priceId === undefined ? defaultTerms(context, storeId) : { price_id: priceId };
  if (terms === undefined) return refuseFact("no_terms", {});
  const key = world.uuid(storeId);
  const orderId = `test-${key.slice(-8)}`;
  const amount = amountMinor === undefined ? {} : { amount_minor: amountMinor };
  const request = parseCreateRequest({
    order_id: orderId,
    description: "Test order",
    ...terms,
    ...amount,
  });
  if (!request.ok) return request;
  const outcome = await createCheckout(context, {
    storeId,
    object,
    path: CREATE_PATHS[object],
    idempotencyKey: `test-order-${key}`,
    request: request.value,
    requestId,
    isOwnCommand: () => true,
  });
  if (!outcome.ok) return outcome;
  const checkout = store.checkouts.findBlocker(storeId, orderId);
  if (checkout === undefined) throw new Error(`the test order ${orderId} was created, but cannot be found`);
  return accept({ id: checkout.id, orderId, status: checkout.status });
}

function defaultTerms({ store }: ServiceContext, storeId: string): object | undefined {
  const activeCapabilities = store.capabilities.of(storeId).filter((capability) => capability.active);
  const method = activeCapabilities.find(({ kind }) => kind === "payment_method")?.name;
  const currency = activeCapabilities.find(({ kind }) => kind === "currency")?.name;
  if (method === undefined || currency === undefined) return undefined;
  return { amount_minor: DEFAULT_AMOUNT_MINOR, currency, payment_method: method };
}
