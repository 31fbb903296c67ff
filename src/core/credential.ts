import { hash, timingSafeEqual } from "node:crypto";
import { accept, type Outcome } from "./outcome.ts";
import { KEY_FAULTS, refuseFact } from "./refusals.ts";

export const SCOPES = ["orders:write", "checkout_sessions:write", "checkout_sessions:read"] as const;
export type Scope = (typeof SCOPES)[number];

/** Has neither the plaintext nor the hash of the key (interface 24). */
export type Credential = {
  readonly id: string;
  readonly storeId: string;
  readonly scopes: readonly Scope[];
};

export const API_KEY_RANDOM_BYTES = 20;

const TEST_PREFIX = "svc_test_";
const STORE_TOKEN_PREFIX = "svc_store_";
const LIVE_PREFIX = "svc_live_";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_LENGTH = 27;
const CHECKSUM_LENGTH = 6;
const TEST_KEY_PATTERN = new RegExp(
  `^${TEST_PREFIX}([0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);
export const TEST_KEY_SCHEMA = {
  pattern: TEST_KEY_PATTERN.source,
  description: "A test key. Its last six characters are a checksum, which is checked too.",
};
const BEARER_PATTERN = /^bearer +([\x21-\x7e]+)$/i;

/** Formats 160 random bits as a test key: prefix, 27 base62 digits, 6 digits of checksum (decision 15). */
export function formatTestKey(randomBytes: Uint8Array): string {
  if (randomBytes.length !== API_KEY_RANDOM_BYTES)
    throw new Error(`a key needs ${API_KEY_RANDOM_BYTES} random bytes`);
  const secret = toBase62(BigInt(`0x${Buffer.from(randomBytes).toString("hex")}`), SECRET_LENGTH);
  return TEST_PREFIX + secret + checksum(secret);
}

export function isStoreToken(token: string): boolean {
  return token.startsWith(STORE_TOKEN_PREFIX);
}

export function formatStoreToken(randomBytes: Uint8Array): string {
  return formatTestKey(randomBytes).replace(TEST_PREFIX, STORE_TOKEN_PREFIX);
}

export function hashKey(apiKey: string): string {
  return hash("sha256", apiKey, "hex");
}

/** Keeps the prefix and the last four characters of a test key; other and short texts become `…`. */
export function redactKey(apiKey: string): string {
  return apiKey.startsWith(TEST_PREFIX) && apiKey.length > TEST_PREFIX.length + 8
    ? `${TEST_PREFIX}…${apiKey.slice(-4)}`
    : "…";
}

type PresentedKey = { readonly kind: "test"; readonly apiKey: string } | { readonly kind: "live" };

/** Refuses with `credential_missing` or `credential_invalid` (interface 22, 27). */
export function parseAuthorization(values: readonly string[]): Outcome<PresentedKey> {
  const [value] = values;
  if (value === undefined) {
    return refuseFact("credential_missing", {});
  }
  if (values.length > 1) {
    return refuseFact("credential_lines", { received: String(values.length) });
  }
  const [, apiKey] = BEARER_PATTERN.exec(value) ?? [];
  if (apiKey === undefined) {
    return refuseFact("not_bearer", {});
  }
  if (apiKey.startsWith(LIVE_PREFIX)) return accept({ kind: "live" });
  if (TEST_KEY_PATTERN.test(apiKey)) return accept({ kind: "test", apiKey });
  return refuseFact("not_a_key", {});
}

/** Requires a valid checksum (decision 15). */
export function isTestKey(text: string): boolean {
  const [, secret = "", checksumDigits] = TEST_KEY_PATTERN.exec(text) ?? [];
  return checksumDigits !== undefined && checksum(secret) === checksumDigits;
}

export function testKeyBits(text: string): bigint | undefined {
  if (!isTestKey(text)) return undefined;
  let bits = 0n;
  for (const digit of text.slice(TEST_PREFIX.length, -CHECKSUM_LENGTH))
    bits = bits * 62n + BigInt(BASE62.indexOf(digit));
  return bits;
}

export function storeTokenBits(text: string): bigint | undefined {
  return isStoreToken(text) ? testKeyBits(text.replace(STORE_TOKEN_PREFIX, TEST_PREFIX)) : undefined;
}

/** Also true for test keys of other services, because interface 22 fixes the prefix. */
export function hasTestKeyPrefix(text: string): boolean {
  return text.startsWith(TEST_PREFIX);
}

/** Returns the predicate of a sentence about the key, or undefined for a live key or a valid test key. */
export function keyFault(text: string): string | undefined {
  if (text.startsWith(LIVE_PREFIX) || isTestKey(text)) return undefined;
  return KEY_FAULTS[TEST_KEY_PATTERN.test(text) ? "mistyped_key" : "not_a_key"];
}

export function refuseUnknownKey(apiKey: string): Outcome<never> {
  return refuseFact(isTestKey(apiKey) ? "unknown_key" : "mistyped_key", {});
}

export function requireScope(credential: Credential, scope: Scope): Outcome<Credential> {
  if (credential.scopes.includes(scope)) return accept(credential);
  return refuseFact("scope_missing", { scope, granted: credential.scopes });
}

function checksum(secret: string): string {
  return toBase62(BigInt(`0x${hash("sha256", secret, "hex").slice(0, 8)}`), CHECKSUM_LENGTH);
}

function toBase62(number: bigint, length: number): string {
  let quotient = number;
  let digits = "";
  for (let index = 0; index < length; index += 1) {
    digits = BASE62.charAt(Number(quotient % 62n)) + digits;
    quotient /= 62n;
  }
  return digits;
}

export function isSameSecret(presentedSecret: string, expectedSecret: string): boolean {
  return timingSafeEqual(digest(presentedSecret), digest(expectedSecret));
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
