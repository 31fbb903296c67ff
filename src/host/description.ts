import { servedSettingsOf } from "../core/config/settings.ts";
import type { ServeOptions } from "./options.ts";
import { localOrigin, type LoopbackHost } from "../core/loopback.ts";
import { portalOrigin } from "../core/network/public-url.ts";
import { portalPath } from "../core/portal/path.ts";
import { countFaults } from "../sandbox/fault/active.ts";
import { countOwnSecrets } from "../sandbox/webhook/endpoint-secrets.ts";
import { holdOfSandbox } from "../sandbox/runtime/home.ts";
import type { SeededStore } from "../sandbox/runtime/seed.ts";
import type { Store } from "../store/store.ts";
import type { StateLocation, Host } from "./hosting.ts";
import type { SandboxDescription } from "../core/sandbox/description.ts";

export function describeSandbox(
  { world, version }: Host,
  options: ServeOptions,
  found: { readonly port: number; readonly place: StateLocation; readonly seeded: SeededStore } & {
    readonly store: Store;
    readonly masterKey: Uint8Array;
    readonly folderHold: string | undefined;
    readonly host: LoopbackHost | undefined;
  },
): SandboxDescription {
  const { port, host, place, seeded, store, masterKey } = found;
  const { folder = null, logFile = null } = place;
  const { merchantId, id, signingSecret } = seeded;
  const origin = localOrigin(port, host);
  const { publicUrl, portalUrl } = options;
  const portal = portalOrigin(port, { publicUrl, portalUrl });
  return {
    // Always this machine's own address, so that a reader on this machine reaches it (decision 79).
    baseUrl: `${origin}/v1`,
    portalUrl: portal === undefined ? null : portal + portalPath(masterKey, store.home.path()),
    checkoutOrigin: options.publicUrl ?? origin,
    merchantId,
    storeId: id,
    storeName: store.stores.names(id)?.store ?? "",
    signingSecret,
    ownSecrets: countOwnSecrets(store, id),
    dataDir: folder,
    ephemeral: folder === null,
    instanceId: store.instance.id() ?? "",
    pid: world.pid,
    version,
    startedAt: world.now(),
    logFile,
    heldBack: holdOfSandbox(found) ?? null,
    activeFaults: countFaults({ store, world }),
    settings: {
      ...servedSettingsOf({ ...options, port }),
      logFormat: options.logFormat ?? "text",
      quiet: options.quiet ?? false,
    },
  };
}
