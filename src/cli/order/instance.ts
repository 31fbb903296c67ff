import { isLoopback } from "../../core/loopback.ts";
import type { World } from "../../world.ts";
import type { Settings } from "../target/service.ts";

/** The answer of a process on this machine; without it the journal counts as it is. */
const TIMEOUT_MS = 1000;

/**
 * The instance of the sandbox that a create goes to (decision 96): told by the `run.json` of its folder, else by itself
 * where the environment has its control token. Null for another service, and where it cannot be known now.
 */
export async function instanceOf(
  world: Pick<World, "env" | "send">,
  { sandbox, baseUrl }: Pick<Settings, "sandbox" | "baseUrl">,
): Promise<string | null> {
  if (sandbox?.instance_id !== undefined) return sandbox.instance_id;
  const token = world.env["CHECKOUT_CONTROL_TOKEN"] ?? "";
  if (token === "" || baseUrl.value === null || baseUrl.source !== "CHECKOUT_BASE_URL") return null;
  const { origin, hostname } = new URL(baseUrl.value);
  if (!isLoopback(hostname)) return null;
  // Loaded on demand: most folders have a run.json.
  const { describeLive } = await import("../../client/control/describe.ts");
  const described = await describeLive(world, { origin, token, timeoutMs: TIMEOUT_MS });
  return described.ok ? described.value.instanceId : null;
}
