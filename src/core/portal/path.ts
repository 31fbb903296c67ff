import { createHmac } from "node:crypto";
import { isSameSecret } from "../credential.ts";

const KEY_BYTES = 16;

/** A 128-bit key in 22 characters (decision 99). `stateFolder`: undefined in memory. */
export function portalPath(masterKey: Uint8Array, stateFolder: string | undefined): string {
  const mac = createHmac("sha256", masterKey)
    .update(`portal path${stateFolder ?? ""}`)
    .digest();
  return `/portal/k-${mac.subarray(0, KEY_BYTES).toString("base64url")}`;
}

/** An address below the portal's secret path, rewritten to `/portal`; undefined for any other address. */
export function removeKey(path: string, address: string): string | undefined {
  const [, keyPath, tail = ""] = /^(\/portal\/k-[^/?#]*)(.*)$/s.exec(address) ?? [];
  return keyPath !== undefined && isSameSecret(keyPath, path) ? `/portal${tail}` : undefined;
}
