import { sandboxOperations } from "../../core/control/operations/sandbox.ts";
import { parseJson } from "../../core/json.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import type { ControlTarget } from "./control.ts";
import { parseDescription, type SandboxDescription } from "../../core/sandbox/description.ts";

const TIMEOUT_MS = 5000;
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** Avoids loading the table of all operations, because scripts often run commands that need only this operation. */
export async function fetchDescription(
  { send }: Pick<World, "send">,
  { origin, token, timeoutMs = TIMEOUT_MS }: Pick<ControlTarget, "origin" | "token" | "timeoutMs">,
): Promise<Outcome<SandboxDescription, { readonly hasAnswered: boolean; readonly message: string }>> {
  const { method, path } = sandboxOperations.describeSandbox;
  const result = await send({
    method,
    url: `${origin}${path}`,
    headers: { Authorization: `Bearer ${token}` },
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  if (!result.ok) return { ok: false, refusal: { hasAnswered: false, message: result.message } };
  const description = parseDescription(parseJson(result.body));
  if (description !== undefined) return accept(description);
  const message = `it answered ${result.status} without a description of itself`;
  return { ok: false, refusal: { hasAnswered: true, message } };
}
