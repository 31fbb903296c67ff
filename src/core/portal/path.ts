// How the secret path of the portal is made; the one place that takes it off requests and puts it on answers:
// sandbox/pages/portal/edge.ts. All other code says /portal/…; test/portal/path.test.ts.
import { createHmac } from "node:crypto";
import { isSameSecret } from "../credential.ts";

/** 128 bits. */
const KEY_BYTES = 16;

/**
 * The path that the portal of a state has on the wire: `/portal/k-` and 22 characters that nobody can guess (decision
 * 99). It is the same for as long as the state belongs to its folder; `home` is undefined for a state in memory.
 */
export function portalPath(masterKey: Uint8Array, home: string | undefined): string {
  const mac = createHmac("sha256", masterKey)
    .update(`portal path${home ?? ""}`)
    .digest();
  return `/portal/k-${mac.subarray(0, KEY_BYTES).toString("base64url")}`;
}

/** An address below the path of the portal as the program says it, below `/portal`; undefined for any other address. */
export function withoutKey(path: string, address: string): string | undefined {
  const [, named, rest = ""] = /^(\/portal\/k-[^/?#]*)(.*)$/s.exec(address) ?? [];
  return named !== undefined && isSameSecret(named, path) ? `/portal${rest}` : undefined;
}
