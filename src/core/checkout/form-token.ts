import { createHmac } from "node:crypto";
import { isSameSecret } from "../credential.ts";

/** Proves that a request comes from a page of the checkout (decision 40). */
export function formToken(masterKey: Uint8Array, checkoutId: string): string {
  return createHmac("sha256", masterKey).update(`form of ${checkoutId}`).digest("base64url");
}

export function isFormToken(masterKey: Uint8Array, checkoutId: string, token: string): boolean {
  return isSameSecret(token, formToken(masterKey, checkoutId));
}
