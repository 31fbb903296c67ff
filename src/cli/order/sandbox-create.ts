import type { ControlTarget } from "../../client/control/control.ts";
import { parseCreateRequest, type CreateRequest } from "../../core/checkout/create-request.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import type { Created, Noun } from "./create-report.ts";
import { createEach } from "./managed-create.ts";
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
  { control, ...wanted }: WantedCreate & { readonly control: ControlTarget },
): Promise<Created> {
  const [created] = await createAllInSandbox(context, options, { wanted: [wanted], control });
  if (created === undefined) throw new Error("what is created is refused or there");
  return created;
}

/** What is created: an order or a session, and of which terms. */
type WantedCreate = { readonly noun: Noun; readonly request: CreateRequest };

/** The same of several, one after the other. */
export async function createAllInSandbox(
  context: Context,
  options: ServiceOptions,
  {
    wanted,
    control,
    agent,
  }: {
    readonly wanted: readonly WantedCreate[];
    readonly control: ControlTarget;
    /** The User-Agent of the creates. Default: that of this program's commands. */
    readonly agent?: string;
  },
): Promise<readonly Created[]> {
  const { target, settings } = await connectToSandbox(context, control);
  return createEach(context, options, {
    target: agent === undefined ? target : { ...target, agent },
    settings,
    policy: policyOf(settings),
    wanted: wanted.map(({ noun, request }) => ({
      noun,
      intent: { endpoint: noun.endpoint, request, newAttempt: false, idempotencyKey: null },
    })),
  });
}
