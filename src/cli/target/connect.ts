import { isLoopback } from "../../core/loopback.ts";
import type { ServiceTarget } from "../../client/api/client.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { noteTarget, noteVersion } from "./notes.ts";
import { requireService, resolveTarget, type ResolvedTarget } from "./resolve.ts";
import { surroundingsAt } from "./surroundings.ts";
import { awaitSandbox } from "./waiting.ts";

/** Redacts the key in all output, and warns if the key is sent over plain HTTP to another machine. */
function connectWithSettings({ printer }: Context, settings: ResolvedTarget): ServiceTarget {
  const target = requireService(settings);
  const { baseUrl, apiKey, proxy } = target;
  printer.hide(apiKey);
  if (proxy !== undefined) printer.hidePassword(new URL(proxy).password);
  if (baseUrl.startsWith("http:") && !isLoopback(new URL(baseUrl).hostname)) {
    printer.trace(`warning: the API key goes to ${printable(baseUrl)} unencrypted; use https`);
  }
  return target;
}

export type ServiceConnection = { readonly target: ServiceTarget; readonly settings: ResolvedTarget };

/** The service of the command; if that is the folder's sandbox, waits until it is running. */
export async function connectToService(context: Context): Promise<ServiceConnection> {
  const connected = await connectIn(await atNamedTarget(context));
  noteTarget(context, { url: connected.target.baseUrl });
  return connected;
}

async function connectIn(context: Context): Promise<ServiceConnection> {
  const settings = await awaitSandbox(context, {
    look: () => resolveTarget(context),
    // Does not wait if the settings contradict each other, because that does not depend on the sandbox.
    isThere: ({ lacksSandbox, contradiction }) => lacksSandbox === undefined || contradiction !== undefined,
  });
  const { sandbox } = settings;
  if (sandbox !== undefined && sandbox.version !== context.version) noteVersion(context, sandbox.version);
  return { target: connectWithSettings(context, settings), settings };
}

/** The context at the service that `--target` names; the configuration is loaded only if the option is given. */
export async function atNamedTarget(context: Context): Promise<Context> {
  const { target } = context.around.options;
  if (target === undefined) return context;
  const { withNamedTarget } = await import("./named-target.ts");
  return { ...context, around: await withNamedTarget(context, target) };
}

/** The v1 API of the sandbox that a command controls, whatever service the environment names. */
export function connectToSandbox(
  context: Context,
  { origin, storeId }: ControlTarget,
): Promise<ServiceConnection> {
  const address = { value: `${origin}/v1`, source: "CHECKOUT_BASE_URL" };
  const found = storeId === undefined ? {} : { foundStore: storeId };
  return connectIn({
    ...context,
    around: { ...surroundingsAt(context.around, origin), address: () => address, ...found },
  });
}
