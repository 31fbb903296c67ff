import type { CreateResult } from "../../client/api/client.ts";
import type { Context } from "../command.ts";
import { catchRefusal } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { findTarget } from "../target/control.ts";
import type { ResolvedTarget } from "../target/resolve.ts";

/** The payment method or currency that the store lacks, from the sandbox's explanation; undefined without one. */
export async function findMissingCapability(
  context: Context,
  result: CreateResult,
  { isExplained, storeId }: Pick<ResolvedTarget, "isExplained" | "storeId">,
): Promise<string | undefined> {
  if (!isExplained || result.end !== "sent" || result.exchange.end !== "refusal") return undefined;
  const { error, requestId } = result.exchange;
  if (error.code !== "capability_missing") return undefined;
  const explained = await catchRefusal(explain(context, requestId, storeId.value));
  return explained.value?.received ?? undefined;
}

async function explain(context: Context, id: string, storeId: string | null) {
  const sandbox = await findTarget(context);
  if (sandbox === undefined) return undefined;
  const target = storeId === null ? sandbox : { ...sandbox, storeId };
  return callAt(context, target, { name: "explain", body: { id, as: "request" } });
}
