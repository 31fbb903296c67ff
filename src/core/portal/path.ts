import { createHmac } from "node:crypto";
import { isSameSecret } from "../credential.ts";

const KEY_BYTES = 16;

/**
 * Contains a secret that is derived from the master key (decision 99). `stateFolder` is undefined for a sandbox in
 * memory.
 */
export function portalPath(masterKey: Uint8Array, stateFolder: string | undefined): string {
  const mac = createHmac("sha256", masterKey)
    .update(`portal path${stateFolder ?? ""}`)
    .digest();
  return `/portal/k-${mac.subarray(0, KEY_BYTES).toString("base64url")}`;
}

/** Rewrites an address below the portal's secret path to `/portal`. Returns undefined for other addresses. */
export function removePortalKey(path: string, address: string): string | undefined {
  const [, keyPath, tail = ""] = /^(\/portal\/k-[^/?#]*)(.*)$/s.exec(address) ?? [];
  return keyPath !== undefined && isSameSecret(keyPath, path) ? `/portal${tail}` : undefined;
}
