import type { ControlTarget } from "../../client/control/control.ts";
import { parseCreateRequest, type CreateRequest } from "../../core/checkout/create-request.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import type { Created, Noun } from "./create-report.ts";
import { createManaged } from "./managed-create.ts";
import { refusedUsage } from "../problem.ts";
import { connectToSandbox } from "../target/connect.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { policyOf } from "../target/service.ts";

/** The catalog price of what is made where none is named. */
export const DEFAULT_PRICE = "price_coffee";

const ORDER_ID_BYTES = 6;

/** A create for what a command needs; without an order_id of the user's own it is for a new purchase each time. */
export function requestFor(
  world: Pick<World, "randomBytes">,
  wanted: {
    readonly purpose: string;
    readonly orderId?: string | undefined;
    readonly priceId?: string | undefined;
  },
): CreateRequest {
  const random = Buffer.from(world.randomBytes(ORDER_ID_BYTES)).toString("hex");
  const parsed = parseCreateRequest({
    order_id: wanted.orderId ?? `${wanted.purpose}-${random}`,
    price_id: wanted.priceId ?? DEFAULT_PRICE,
  });
  if (parsed.ok) return parsed.value;
  throw refusedUsage(parsed.refusal.message, "correct it; nothing was sent");
}

/** Creates at the very sandbox that is then acted on, whatever service the environment names. */
export async function createInSandbox(
  context: Context,
  options: ServiceOptions,
  wanted: { readonly noun: Noun; readonly request: CreateRequest; readonly control: ControlTarget },
): Promise<Created> {
  const { noun, request, control } = wanted;
  const { target, settings } = await connectToSandbox(context, control);
  const { endpoint } = noun;
  return createManaged(context, options, {
    noun,
    intent: { endpoint, request, newAttempt: false, idempotencyKey: null },
    target,
    settings,
    policy: policyOf(settings),
  });
}
