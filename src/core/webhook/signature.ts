import { createHmac, timingSafeEqual } from "node:crypto";
import { headerPairs } from "../network/headers.ts";
import { plainSignatures, signatureHeader, type Dialect } from "../shape/dialect.ts";
import { printableLiteral } from "../text.ts";
import type {
  HeaderLine,
  HeaderNames,
  Rejection,
  SignatureVerdict,
  VerifyOptions,
  WebhookHeaders,
} from "./webhook.ts";

export type VerifyInput = Omit<VerifyOptions, "headerNames"> & {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly dialect?: Dialect | undefined;
};

export const DEFAULT_HEADER_NAMES: HeaderNames = {
  eventId: "Checkout-Event-Id",
  timestamp: "Checkout-Timestamp",
  signature: "Checkout-Signature",
};

export const HEADER_KINDS = ["eventId", "timestamp", "signature"] as const;
export function headerNamesIn({ headers = {} }: Dialect = {}): HeaderNames {
  const ours = DEFAULT_HEADER_NAMES;
  const {
    event_id: eventId = ours.eventId,
    timestamp = ours.timestamp,
    signature = ours.signature,
  } = headers;
  return { eventId, timestamp, signature };
}

export function withHeaderNames(dialect: Dialect | undefined, names: HeaderNames): Dialect {
  if (!HEADER_KINDS.every((kind) => typeof names?.[kind] === "string"))
    throw new TypeError(`headerNames must name all of ${HEADER_KINDS.join(", ")}`);
  const { eventId, timestamp, signature } = names;
  return { ...dialect, headers: { event_id: eventId, timestamp, signature } };
}

export function headersInDialect(
  dialect: Dialect | undefined,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (dialect === undefined) return headers;
  const [ourNames, theirNames] = [DEFAULT_HEADER_NAMES, headerNamesIn(dialect)];
  const names = new Map(HEADER_KINDS.map((kind) => [ourNames[kind], theirNames[kind]]));
  const writtenHeaders = Object.entries(headers).map(([name, value]) => {
    const isSignature = name === ourNames.signature;
    const theirValue = isSignature ? signatureHeader(dialect, headers[ourNames.timestamp], value) : value;
    return [names.get(name) ?? name, theirValue] as const;
  });
  return Object.fromEntries(writtenHeaders);
}

/** Applies to past and future timestamps (decision 12). */
export const DEFAULT_TOLERANCE_SECONDS = 300;

/** The maximum per header, and of active secrets during a rotation (decision 12). */
export const MAX_SIGNATURES = 3;

export const TIMESTAMP_PATTERN = /^[1-9][0-9]{9}$/;
export const SIGNATURES_PATTERN = new RegExp(`^[0-9a-f]{64}(?:,[0-9a-f]{64}){0,${MAX_SIGNATURES - 1}}$`);
const SECRET_PATTERN = /^[\x21-\x7e]+$/;
const API_KEY_PREFIX = "svc_";

type SignedContent = { readonly timestamp: string; readonly rawBody: Uint8Array };

/** HMAC-SHA256 over timestamp, a dot and the raw body; the key is the whole secret with `whsec_` (interface 29). */
export function signatureOf(secret: string, { timestamp, rawBody }: SignedContent): string {
  return createHmac("sha256", secret).update(`${timestamp}.`).update(rawBody).digest("hex");
}

export function signHeaders(
  secrets: readonly string[],
  delivery: {
    readonly eventId: string;
    readonly timestamp: number;
    readonly rawBody: Uint8Array;
  },
): Readonly<Record<string, string>> {
  const { eventId, rawBody } = delivery;
  const names = DEFAULT_HEADER_NAMES;
  const timestamp = String(delivery.timestamp);
  const signatures = secrets
    .slice(0, MAX_SIGNATURES)
    .map((secret) => signatureOf(secret, { timestamp, rawBody }));
  return { [names.eventId]: eventId, [names.timestamp]: timestamp, [names.signature]: signatures.join(",") };
}

/**
 * Checks the age last, because the age of an unsigned timestamp proves nothing. Throws a TypeError for an invalid
 * tolerance, time or kind of headers.
 */
export function verifySignature(options: VerifyInput): SignatureVerdict {
  const { headers, now, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = options;
  checkCall({ headers, now, toleranceSeconds });
  const secrets = [options.secrets].flat();
  const secretRejection = secrets.length === 0 ? NO_SECRET_REJECTION : secrets.map(checkSecret).find(Boolean);
  if (secretRejection !== undefined) return secretRejection;
  const rawBody = bytesOf(options.rawBody);
  if (rawBody === undefined) return rejectParsedBody(options.rawBody);
  const timestamp = oneHeader(options, "timestamp");
  if (!timestamp.ok) return timestamp;
  const signature = oneHeader(options, "signature");
  if (!signature.ok) return signature;
  const digests = signature.value.split(",");
  if (!isSigned(secrets, digests, { timestamp: timestamp.value, rawBody })) return MISMATCH_REJECTION;
  const ageSeconds = Math.floor(now / 1000) - Number(timestamp.value);
  if (ageSeconds > toleranceSeconds)
    return reject("timestamp_too_old", `signed ${ageSeconds} s ago; ${toleranceSeconds} s are allowed`);
  if (ageSeconds < -toleranceSeconds)
    return reject(
      "timestamp_too_new",
      `signed ${-ageSeconds} s ahead of this clock; ${toleranceSeconds} s are allowed`,
    );
  return { ok: true, timestamp: Number(timestamp.value) };
}

export function headerValues(headers: WebhookHeaders, name: string): readonly string[] {
  const lines = linesOf(headers, name) ?? [];
  const isNamed = ([key]: HeaderLine): boolean => key.toLowerCase() === name.toLowerCase();
  return lines.filter(isNamed).flatMap(([, value]) => value ?? []);
}

/** Returns undefined for a parsed body, because its original bytes are lost. */
export function bytesOf(rawBody: unknown): Uint8Array | undefined {
  if (typeof rawBody === "string") return Buffer.from(rawBody);
  // Not instanceof: test runners use several realms, each with its own Uint8Array.
  if (ArrayBuffer.isView(rawBody))
    return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  const tag = Object.prototype.toString.call(rawBody);
  return tag === "[object ArrayBuffer]" ? new Uint8Array(rawBody as ArrayBuffer) : undefined;
}

/** Returns undefined if the text can be a signing secret. The message never contains the text. */
export function checkSecret(secret: unknown): Rejection<"secret_missing" | "secret_malformed"> | undefined {
  if (typeof secret !== "string" || secret === "") return NO_SECRET_REJECTION;
  if (secret.startsWith(API_KEY_PREFIX))
    return reject("secret_malformed", "this is an API key; the signing secret is another text (whsec_…)");
  if (SECRET_PATTERN.test(secret)) return undefined;
  return reject(
    "secret_malformed",
    "a signing secret is visible ASCII without spaces; a line break at its end often comes from reading the secret from a file",
  );
}

export function reject<const Code extends string>(code: Code, message: string): Rejection<Code> {
  return { ok: false, code, message };
}

const NO_SECRET_REJECTION = reject(
  "secret_missing",
  "there is no signing secret, or an empty one: was the setting read?",
);
const MISMATCH_REJECTION = reject(
  "signature_mismatch",
  "no signature matches: it was made with another secret, or the body differs from the signed body",
);

function checkCall({
  headers,
  now,
  toleranceSeconds,
}: Required<Pick<VerifyInput, "headers" | "toleranceSeconds" | "now">>): void {
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0)
    throw new TypeError(
      "toleranceSeconds must be a number from 0; 0 allows only the same second, and the check cannot be switched off",
    );
  if (!Number.isFinite(now)) throw new TypeError("now must be milliseconds since the epoch");
  if (linesOf(headers, DEFAULT_HEADER_NAMES.timestamp) === undefined)
    throw new TypeError(
      `headers must be the request's headers: request.rawHeaders, request.headers, a Headers object, or pairs of name and value; got ${kindOf(headers)}`,
    );
}

function rejectParsedBody(rawBody: unknown): Rejection<"body_not_raw"> {
  const kind = kindOf(rawBody);
  const receivedText =
    rawBody === undefined
      ? "nothing"
      : kind === PROMISE_KIND || rawBody === null
        ? kind
        : `a parsed ${typeof rawBody}`;
  const next = kind === PROMISE_KIND ? "await it" : "read it before any parser does";
  return reject(
    "body_not_raw",
    `the body must be the bytes or the text as they arrived; got ${receivedText}: ${next}`,
  );
}

const PROMISE_KIND = "a promise";

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  if ("then" in value) return PROMISE_KIND;
  return Array.isArray(value) ? "another array" : "another object";
}

function oneHeader<const Kind extends "timestamp" | "signature">(
  { headers, dialect }: Pick<VerifyInput, "headers" | "dialect">,
  kind: Kind,
):
  | { readonly ok: true; readonly value: string }
  | Rejection<`${Kind}_missing` | `${Kind}_doubled` | `${Kind}_malformed`> {
  const { [kind]: name } = headerNamesIn(dialect);
  const values = headerValues(headers, name);
  const [sentValue] = values;
  if (sentValue === undefined) return reject(`${kind}_missing`, `the header ${name} is missing`);
  if (values.length > 1)
    return reject(`${kind}_doubled`, `the header ${name} was sent ${values.length} times`);
  const [value, form] =
    kind === "timestamp"
      ? [sentValue, TIMESTAMP_PATTERN]
      : [plainSignatures(dialect, sentValue), SIGNATURES_PATTERN];
  if (form.test(value)) return { ok: true, value };
  const expectedText =
    kind === "timestamp"
      ? `Unix seconds in ten digits; got ${printableLiteral(sentValue)}`
      : `64 lower-case hex digits, or up to ${MAX_SIGNATURES} such signatures, separated by commas without spaces`;
  return reject(`${kind}_malformed`, `the header ${name} must be ${expectedText}`);
}

/** Compares every received digest with the digest under every secret, without an early exit, each in constant time. */
function isSigned(secrets: readonly string[], digests: readonly string[], content: SignedContent): boolean {
  // Compares text of 64 digits, because decoding hex accepts invalid digits.
  const results = secrets.flatMap((secret) => {
    const expectedBytes = Buffer.from(signatureOf(secret, content));
    return digests.map((digest) => timingSafeEqual(expectedBytes, Buffer.from(digest)));
  });
  return results.includes(true);
}

function linesOf(headers: unknown, name: string): readonly HeaderLine[] | undefined {
  if (typeof headers !== "object" || headers === null || "then" in headers) return undefined;
  if (Array.isArray(headers) && headers.every((header) => typeof header === "string"))
    return headerPairs(headers);
  // Includes a Map and the Headers of Fetch. Reading by name would find only one spelling.
  if (isIterable(headers)) {
    const lines = Array.from(headers);
    return lines.every(isLine) ? lines : undefined;
  }
  if ("get" in headers && typeof headers.get === "function") {
    const value: unknown = headers.get(name);
    return typeof value === "string" ? [[name, value]] : [];
  }
  // Not checked, because Node or a framework made this object.
  return Object.entries(headers as Readonly<Record<string, HeaderLine[1]>>);
}

function isLine(line: unknown): line is HeaderLine {
  return Array.isArray(line) && line.length === 2 && typeof line[0] === "string";
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value && typeof value[Symbol.iterator] === "function";
}
