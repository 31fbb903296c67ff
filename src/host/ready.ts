import type { SandboxDescription } from "../core/sandbox/description.ts";

/** The ready message of a sandbox, sent when it is truly ready (decision 57). Fields that do not apply are null. */
export type ReadyMessage = {
  readonly event: "ready";
  readonly base_url: string;
  readonly portal_url: string | null;
  readonly checkout_origin: string;
  readonly merchant_id: string;
  readonly store_id: string;
  readonly store_name: string;
  readonly api_key: string | null;
  readonly signing_secret: string;
  readonly control_token: string;
  readonly data_dir: string | null;
  readonly ephemeral: boolean;
  /** Whether the sandbox was already running, so that this start did nothing. */
  readonly already_running: boolean;
  readonly sign_in_url: string | null;
  readonly pid: number;
  readonly version: string;
};

/** Creates the ready message from a sandbox's description and the values that the description lacks. */
export function readyMessageOf(
  description: SandboxDescription,
  own: {
    readonly apiKey: string | null;
    readonly controlToken: string;
    readonly alreadyRunning: boolean;
    /** A link to the portal that works once; null if there is no portal. */
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
    api_key: own.apiKey,
    signing_secret: description.signingSecret,
    control_token: own.controlToken,
    data_dir: description.dataDir,
    ephemeral: description.ephemeral,
    already_running: own.alreadyRunning,
    sign_in_url: own.signInUrl,
    pid: description.pid,
    version: description.version,
  };
}
