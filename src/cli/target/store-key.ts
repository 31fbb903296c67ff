import type { ControlTarget } from "../../client/control/control.ts";
import type { Context } from "../command.ts";
import { catchRefusal } from "../problem.ts";
import { callAt } from "./call.ts";
import { isStoreToken } from "./control.ts";
import { isOwnSandbox } from "./surroundings.ts";

/**
 * The context with an API key for a command that calls v1, or lets the merchant's programs do so. Who has the token of a
 * store and no API key gets one that is revoked at the end of the enclosing block.
 */
export async function withStoreKey(
  context: Context,
  control: ControlTarget,
): Promise<{ readonly context: Context } & AsyncDisposable> {
  const { around } = context;
  const hasKey = around.apiKey !== undefined || isOwnSandbox(around, control.origin);
  if (hasKey || !isStoreToken(control.token))
    return { context, [Symbol.asyncDispose]: () => Promise.resolve() };
  const { keyId, apiKey: value } = await callAt(context, control, { name: "createKey", body: {} });
  const apiKey = { value, source: "a key for this command" };
  return {
    context: { ...context, around: { ...around, apiKey } },
    [Symbol.asyncDispose]: async () => {
      const revoked = await catchRefusal(
        callAt(context, control, { name: "revokeKey", id: keyId, body: {} }),
      );
      if (!revoked.ok)
        context.printer.talk(
          `the key of this command is still active: ${revoked.refusal.message}; checkout keys revoke ${keyId}`,
        );
    },
  };
}
