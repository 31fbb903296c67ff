import { createHmac } from "node:crypto";
import { isSameSecret } from "../credential.ts";

/** A CSRF token: proves that a page of the checkout sent the form (decision 40). */
export function formToken(masterKey: Uint8Array, checkoutId: string): string {
  return createHmac("sha256", masterKey).update(`form of ${checkoutId}`).digest("base64url");
}

export function isFormToken(masterKey: Uint8Array, checkoutId: string, token: string): boolean {
  return isSameSecret(token, formToken(masterKey, checkoutId));
}
