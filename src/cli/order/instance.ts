import { isLoopback } from "../../core/loopback.ts";
import type { World } from "../../world.ts";
import type { ResolvedTarget } from "../target/resolve.ts";

const TIMEOUT_MS = 1000;

/** Reads the instance id from `run.json`, otherwise asks the sandbox (decision 96). Null if it is unknown. */
export async function resolveInstanceId(
  world: Pick<World, "env" | "send">,
  { sandbox, baseUrl }: Pick<ResolvedTarget, "sandbox" | "baseUrl">,
): Promise<string | null> {
  if (sandbox?.instance_id !== undefined) return sandbox.instance_id;
  const token = world.env["CHECKOUT_CONTROL_TOKEN"] ?? "";
  if (token === "" || baseUrl.value === null || baseUrl.source !== "CHECKOUT_BASE_URL") return null;
  const { origin, hostname } = new URL(baseUrl.value);
  if (!isLoopback(hostname)) return null;
  const { fetchDescription } = await import("../../client/control/describe.ts");
  const outcome = await fetchDescription(world, { origin, token, timeoutMs: TIMEOUT_MS });
  return outcome.ok ? outcome.value.instanceId : null;
}
