import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A case of `fixtures/signatures.json`: a delivery, and the verdict on it. */
export type SignatureVector = {
  readonly description: string;
  readonly secrets: readonly string[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body_base64: string;
  readonly now: number;
  readonly tolerance_seconds: number;
  readonly expected: string;
};

/** The file of cases that every verifier must pass. */
export const VECTORS_FILE = join(import.meta.dirname, "../../fixtures/signatures.json");

export const { vectors: VECTORS } = JSON.parse(readFileSync(VECTORS_FILE, "utf8")) as {
  readonly vectors: readonly SignatureVector[];
};
