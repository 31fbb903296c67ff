import type { ControlTarget } from "../../client/control/control.ts";
import { parseCreateRequest, type CreateRequest } from "../../core/checkout/create-request.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import type { NewCheckout } from "./create-report.ts";
import type { CheckoutKind } from "./checkout-kinds.ts";
import { createWithManagedKey } from "./managed-create.ts";
import { refuseUsage } from "../problem.ts";
import { connectToSandbox, retryPolicyOf } from "../target/resolve.ts";
import type { ServiceOptions } from "../target/surroundings.ts";

/** The price of an order or session that a command creates by itself, unless `--price-id` names another. */
export const DEFAULT_PRICE = "price_coffee";

const ORDER_ID_BYTES = 6;

/** Generates an order_id if none is given, so that each request is a new purchase. */
export function newPurchaseRequest(
  world: Pick<World, "randomBytes">,
  createInput: {
    readonly purpose: string;
    readonly orderId?: string | undefined;
    readonly priceId?: string | undefined;
  },
): CreateRequest {
  const randomHex = Buffer.from(world.randomBytes(ORDER_ID_BYTES)).toString("hex");
  const outcome = parseCreateRequest({
    order_id: createInput.orderId ?? `${createInput.purpose}-${randomHex}`,
    price_id: createInput.priceId ?? DEFAULT_PRICE,
  });
  if (outcome.ok) return outcome.value;
  throw refuseUsage(outcome.refusal.message, "correct it; nothing was sent");
}

type SandboxCreate = {
  readonly kind: CheckoutKind;
  readonly request: CreateRequest;
  readonly control: ControlTarget;
  readonly agent?: string;
};

export async function createInSandbox(
  context: Context,
  options: ServiceOptions,
  { kind, request, control, agent: userAgent }: SandboxCreate,
): Promise<NewCheckout> {
  const { target, settings } = await connectToSandbox(context, control);
  return createWithManagedKey(context, options, {
    target: userAgent === undefined ? target : { ...target, userAgent },
    settings,
    policy: retryPolicyOf(settings),
    kind,
    intent: { endpoint: kind.endpoint, request, isNewAttempt: false, idempotencyKey: null },
  });
}
