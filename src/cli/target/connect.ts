import { isLoopback, isSameServer } from "../../core/loopback.ts";
import type { Target } from "../../client/api/client.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { noteTarget, noteVersion } from "./notes.ts";
import { attempt, refusedUsage } from "../problem.ts";
import { withoutOwnStore } from "./surroundings.ts";
import { type Settings, type TargetSettings, serviceSettings, targetOf } from "./service.ts";
import { onceThere } from "./waiting.ts";

/** The service that a command talks to. Its key is kept out of all that is printed, and out of plain HTTP unless that is said. */
export function connect({ printer }: Context, settings: Settings): Target {
  const target = targetOf(settings);
  const { baseUrl, apiKey, proxy } = target;
  printer.hide(apiKey);
  if (proxy !== undefined) printer.hidePassword(new URL(proxy).password);
  if (baseUrl.startsWith("http:") && !isLoopback(new URL(baseUrl).hostname)) {
    printer.trace(`warning: the API key goes to ${printable(baseUrl)} unencrypted; use https`);
  }
  return target;
}

/** A service that can be talked to, with the settings that led there. */
export type ServiceConnection = { readonly target: Target; readonly settings: Settings };

/** The service that the command is about, or the sandbox of the folder once it is there. */
export async function connectTo(context: Context): Promise<ServiceConnection> {
  const connected = await connectIn(context);
  noteTarget(context, { url: connected.target.baseUrl });
  return connected;
}

async function connectIn(context: Context): Promise<ServiceConnection> {
  const named = await namedTarget(context);
  const settings = await onceThere(context, {
    look: () => serviceSettings(context, named),
    // What contradicts itself will do so when the sandbox is there, too.
    isThere: ({ lacksSandbox, contradiction }) => lacksSandbox === undefined || contradiction !== undefined,
  });
  const { sandbox } = settings;
  if (sandbox !== undefined && sandbox.version !== context.version) noteVersion(context, sandbox.version);
  return { target: connect(context, settings), settings };
}

/** What `--target` names; undefined where nothing does. The configuration is loaded only where it is given. */
export async function namedTarget(context: Context): Promise<TargetSettings | undefined> {
  const { target, allowEnv } = context.around.options;
  if (target === undefined) {
    if (allowEnv === undefined) return undefined;
    throw refusedUsage("--allow-env needs --target", "add --target <name>, or leave out --allow-env");
  }
  const { findTarget } = await import("./named-target.ts");
  return findTarget(context, target);
}

/** v1 of the very sandbox that a command controls. A key that the environment has for another service stays here. */
export function connectToSandbox(
  context: Context,
  { origin, storeId }: ControlTarget,
): Promise<ServiceConnection> {
  const { around } = context;
  const named = attempt(around.addressOfKey);
  const isNamed = named.ok && (named.value === undefined || isSameServer(named.value.value, origin));
  // The sandbox is meant, whatever service the environment names.
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
