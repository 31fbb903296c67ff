import { createHmac } from "node:crypto";
import { isSameSecret } from "../credential.ts";

/** The token in every form of a checkout's pages. It proves that a request comes from such a page (decision 40). */
export function formToken(masterKey: Uint8Array, checkoutId: string): string {
  return createHmac("sha256", masterKey).update(`form of ${checkoutId}`).digest("base64url");
}

/** Whether a form contains the token of its checkout; compares in constant time. */
export function isFormToken(masterKey: Uint8Array, checkoutId: string, token: string): boolean {
  return isSameSecret(token, formToken(masterKey, checkoutId));
}
