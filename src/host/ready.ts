import type { readyMessage, SandboxDescription } from "../core/sandbox/description.ts";
import type { WireOf } from "../core/shape/wire-names.ts";

export type ReadyMessage = WireOf<typeof readyMessage>;

export function readyMessageOf(
  description: SandboxDescription,
  ownAccess: {
    readonly apiKey: string | null;
    readonly controlToken: string;
    readonly alreadyRunning: boolean;
    readonly signInUrl: string | null;
  },
): ReadyMessage {
  return {
    event: "ready",
    base_url: description.baseUrl,
    portal_url: description.portalUrl,
    checkout_origin: description.checkoutOrigin,
    merchant_id: description.merchantId,
    store_id: description.storeId,
    store_name: description.storeName,
    api_key: ownAccess.apiKey,
    signing_secret: description.signingSecret,
    control_token: ownAccess.controlToken,
    data_dir: description.dataDir,
    ephemeral: description.ephemeral,
    already_running: ownAccess.alreadyRunning,
    sign_in_url: ownAccess.signInUrl,
    pid: description.pid,
    version: description.version,
  };
}
