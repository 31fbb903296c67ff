import { isLoopback, isSameServer } from "../../core/loopback.ts";
import type { ServiceTarget } from "../../client/api/client.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { noteTarget, noteVersion } from "./notes.ts";
import { catchRefusal } from "../problem.ts";
import { requireService, resolveTarget, type NamedService, type ResolvedTarget } from "./resolve.ts";
import { withoutOwnStore } from "./surroundings.ts";
import { awaitSandbox } from "./waiting.ts";

/**
 * The service of a command as a target of requests. Redacts the key in all output, and warns if the key is sent over
 * plain HTTP to another machine.
 */
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
  const connected = await connectIn(context);
  noteTarget(context, { url: connected.target.baseUrl });
  return connected;
}

async function connectIn(context: Context): Promise<ServiceConnection> {
  const named = await loadNamedTarget(context);
  const settings = await awaitSandbox(context, {
    look: () => resolveTarget(context, named),
    // Does not wait if the settings contradict each other, because that does not depend on the sandbox.
    isThere: ({ lacksSandbox, contradiction }) => lacksSandbox === undefined || contradiction !== undefined,
  });
  const { sandbox } = settings;
  if (sandbox !== undefined && sandbox.version !== context.version) noteVersion(context, sandbox.version);
  return { target: connectWithSettings(context, settings), settings };
}

/** The service that `--target` names; the configuration is loaded only if the option is given. */
export async function loadNamedTarget(context: Context): Promise<NamedService | undefined> {
  const { target } = context.around.options;
  if (target === undefined) return undefined;
  const { findNamedTarget } = await import("./named-target.ts");
  return findNamedTarget(context, target);
}

/** The v1 API of the sandbox that a command controls. An API key in the environment for another service is not used. */
export function connectToSandbox(
  context: Context,
  { origin, storeId }: ControlTarget,
): Promise<ServiceConnection> {
  const { around } = context;
  const named = catchRefusal(around.addressOfKey);
  const isNamed = named.ok && (named.value === undefined || isSameServer(named.value.value, origin));
  // The environment can name another service, but the command is about the sandbox.
  const { target: _target, ...options } = around.options;
  const address = { value: `${origin}/v1`, source: "CHECKOUT_BASE_URL" };
  return connectIn({
    ...context,
    around: {
      ...(isNamed ? around : withoutOwnStore(around)),
      options,
      address: () => address,
      ...(storeId === undefined ? {} : { foundStore: storeId }),
    },
  });
}
