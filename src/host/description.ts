import { servedSettingsOf } from "../core/config/settings.ts";
import { localOrigin, type LoopbackHost } from "../core/loopback.ts";
import { portalOrigin } from "../core/network/public-url.ts";
import { portalPath } from "../core/portal/path.ts";
import type { ProcessDescription } from "../core/sandbox/description.ts";
import type { Store } from "../store/store.ts";
import type { StateLocation, Host } from "./hosting.ts";
import type { ServeOptions } from "./options.ts";

export function describeProcess(
  { world, version }: Host,
  options: ServeOptions,
  facts: {
    readonly port: number;
    readonly host: LoopbackHost | undefined;
    readonly location: StateLocation;
    readonly store: Pick<Store, "home">;
    readonly masterKey: Uint8Array;
  },
): ProcessDescription {
  const { port, host, location, store, masterKey } = facts;
  const { folder = null, logFile = null } = location;
  const origin = localOrigin(port, host);
  const { publicUrl, portalUrl } = options;
  const portal = portalOrigin(port, { publicUrl, portalUrl });
  return {
    // An address of this machine whatever the public URL is, so that readers on this machine can use it (decision 79).
    baseUrl: `${origin}/v1`,
    portalUrl: portal === undefined ? null : portal + portalPath(masterKey, store.home.path()),
    checkoutOrigin: options.publicUrl ?? origin,
    dataDir: folder,
    ephemeral: folder === null,
    pid: world.pid,
    version,
    startedAt: world.now(),
    logFile,
    settings: {
      ...servedSettingsOf({ ...options, port }),
      logFormat: options.logFormat ?? "text",
      quiet: options.quiet ?? false,
    },
  };
}
