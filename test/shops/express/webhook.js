import { createHmac, timingSafeEqual } from "node:crypto";
import { has } from "./breakage.js";

const TOLERANCE_SECONDS = 300;

/** Whether a webhook is the service's: signed with the secret over the received bytes, and not stale. */
export function isGenuine(rawBody, headers, secret) {
  if (has("no_verification")) return true;
  const timestamp = headers["checkout-timestamp"] ?? "";
  const given = headers["checkout-signature"] ?? "";
  if (has("trusts_order_events") && /"type"\s*:\s*"(?:order|checkout_session)\./.test(rawBody)) return true;
  const expected = createHmac("sha256", secret).update(`${timestamp}.`).update(rawBody).digest("hex");
  // While a secret is rotated there is a signature for each secret.
  const isSigned = given.split(",").some((signature) => isSame(signature, expected));
  if (has("ignores_the_timestamp")) return isSigned;
  return isSigned && Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS;
}

function isSame(given, expected) {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}
