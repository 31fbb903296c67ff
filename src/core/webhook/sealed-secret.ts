import { createCipheriv, createDecipheriv } from "node:crypto";

export const NONCE_BYTES = 12;
export const SIGNING_SECRET_BYTES = 32;

const ALGORITHM = "aes-256-gcm";
const AUTH_TAG_BYTES = 16;
const SECRET_PREFIX = "whsec_";
const SIGNING_SECRET_PATTERN = new RegExp(`^${SECRET_PREFIX}[\\w-]{32,128}$`);

export const SIGNING_SECRET_SCHEMA = { pattern: SIGNING_SECRET_PATTERN.source };

/** Only the master key recovers the secret (interface 31; decision 16). */
export type SealedSecret = {
  readonly id: string;
  readonly storeId: string;
  readonly nonce: Uint8Array;
  /** Ciphertext followed by the 16-byte tag. */
  readonly sealed: Uint8Array;
};

export function formatSigningSecret(random: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(random).toString("base64url");
}

/** Requires at least 32 characters after the prefix, to exclude made-up secrets (decision 16). */
export function isSigningSecret(text: string): boolean {
  return SIGNING_SECRET_PATTERN.test(text);
}

/** Encrypts a secret, bound to its id and store, so that a row copied to another store cannot be decrypted. */
export function sealSecret(
  secret: string,
  binding: Pick<SealedSecret, "id" | "storeId" | "nonce">,
  masterKey: Uint8Array,
): SealedSecret {
  const cipher = createCipheriv(ALGORITHM, masterKey, binding.nonce, { authTagLength: AUTH_TAG_BYTES });
  cipher.setAAD(boundData(binding));
  const ciphertext = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return { ...binding, sealed: Buffer.concat([ciphertext, cipher.getAuthTag()]) };
}

export function openSecret(secret: SealedSecret, masterKey: Uint8Array): string | undefined {
  const ciphertext = secret.sealed.subarray(0, -AUTH_TAG_BYTES);
  const tag = secret.sealed.subarray(-AUTH_TAG_BYTES);
  if (tag.length !== AUTH_TAG_BYTES) return undefined;
  try {
    const decipher = createDecipheriv(ALGORITHM, masterKey, secret.nonce, { authTagLength: AUTH_TAG_BYTES });
    decipher.setAAD(boundData(secret));
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

function boundData({ id, storeId }: Pick<SealedSecret, "id" | "storeId">): Buffer {
  return Buffer.from(JSON.stringify(["signing-secret", storeId, id]));
}
