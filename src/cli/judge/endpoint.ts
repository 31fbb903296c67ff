import type { ControlTarget } from "../../client/control/control.ts";
import type { ShopSection } from "../../core/judge/shop.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { refuseUsage } from "../problem.ts";
import { callAt } from "../target/call.ts";

/** The id of the described endpoint in the store; undefined for all endpoints. */
export async function endpointOf(
  context: Context,
  control: ControlTarget,
  { endpoint, serve }: Pick<ShopSection, "endpoint" | "serve">,
): Promise<string | undefined> {
  if (endpoint === undefined || serve !== undefined) return undefined;
  const { endpoints } = await callAt(context, control, { name: "listEndpoints", body: undefined });
  const found = endpoints.find(({ url, id }) => url === endpoint || id === endpoint);
  if (found !== undefined) return found.id;
  throw refuseUsage(
    `the store has no endpoint ${printable(endpoint)}`,
    `checkout endpoints add ${printable(endpoint)}`,
  );
}
