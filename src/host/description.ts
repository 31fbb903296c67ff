import { servedSettingsOf } from "../core/config/settings.ts";
import { localOrigin, type LoopbackHost } from "../core/loopback.ts";
import { portalOrigin } from "../core/network/public-url.ts";
import type { ProcessDescription } from "../core/sandbox/description.ts";
import type { StateLocation, HostContext } from "./hosting.ts";
import type { ServeOptions } from "./options.ts";

export function describeProcess(
  { world, version }: HostContext,
  options: ServeOptions,
  facts: {
    readonly port: number;
    readonly host: LoopbackHost | undefined;
    readonly location: StateLocation;
    readonly portalPath: string;
  },
): ProcessDescription {
  const { port, host, location, portalPath } = facts;
  const { publicUrl, portalUrl, logFormat = "text", quiet = false } = options;
  const { folder = null, logFile = null } = location;
  const origin = localOrigin(port, host);
  const portal = portalOrigin(port, { publicUrl, portalUrl });
  return {
    // A local address even with a public URL, so that programs on this machine can use it (decision 79).
    baseUrl: `${origin}/v1`,
    portalUrl: portal === undefined ? null : portal + portalPath,
    checkoutOrigin: publicUrl ?? origin,
    dataDir: folder,
    ephemeral: folder === null,
    pid: world.pid,
    version,
    startedAt: world.now(),
    logFile,
    settings: { ...servedSettingsOf({ ...options, port }), logFormat, quiet },
  };
}
