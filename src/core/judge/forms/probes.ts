import { createHmac, hash } from "node:crypto";
import { bodyVariants, type Variant } from "../../webhook/diagnosis/body-variants.ts";
import { keyVariants, signedContentVariants } from "../../webhook/diagnosis/signing-variants.ts";
import { deliveryRequest } from "../../webhook/delivery-request.ts";
import { DEFAULT_HEADER_NAMES, headersInDialect } from "../../webhook/signature.ts";
import { eventBodyIn, type Dialect } from "../../shape/dialect.ts";
import type { CauseFinding } from "../../webhook/diagnosis/causes.ts";
import type { DrillCause } from "../../readiness/drills/webhook-advice.ts";

type Probe = {
  readonly cause: DrillCause;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export function buildProbes(
  event: { readonly id: string; readonly body: string },
  options: {
    readonly secret: string;
    readonly olderSecrets: readonly string[];
    readonly realNow: number;
    readonly dialect: Dialect | undefined;
  },
): readonly Probe[] {
  const { secret, olderSecrets, realNow, dialect } = options;
  const names = DEFAULT_HEADER_NAMES;
  const requestFields = { eventId: event.id, retiredSecrets: [], realNow, fault: null, secrets: [secret] };
  const body = eventBodyIn(dialect, event.body);
  const { headers } = deliveryRequest({ ...requestFields, body });
  const knownSecrets = olderSecrets.map((older) => ({ label: "", secret: older, isRetired: true }));
  const rawBody = Buffer.from(body);
  const timestamp = headers[names.timestamp] ?? "";
  const signedTexts: readonly (string | Uint8Array)[] = [timestamp, ".", rawBody];
  const rows = [
    ...withOneFinding(keyVariants([secret], knownSecrets)).map(
      ([code, key]) => [code, key, signedTexts] as const,
    ),
    ...withOneFinding(signedContentVariants([timestamp], event.id)).map(
      ([code, form]) => [code, secret, form(rawBody)] as const,
    ),
    ...withOneFinding(bodyVariants(rawBody)).map(
      ([code, bytes]) => [code, secret, [timestamp, ".", bytes]] as const,
    ),
  ];
  const createProbe = (cause: DrillCause, signature: string): Probe => ({
    cause,
    headers: headersInDialect(dialect, { ...headers, [names.signature]: signature }),
    body,
  });
  return [
    ...(dialect === undefined
      ? []
      : [{ cause: "default_names", ...deliveryRequest({ ...requestFields, body: event.body }) } as const]),
    ...rows.map(([code, key, texts]) =>
      createProbe(causeOf(code), macOf("sha256", key, texts).toString("hex")),
    ),
    ...otherDigests(secret, signedTexts).map((signature) => createProbe("signs_otherwise", signature)),
  ];
}

function macOf(algorithm: string, key: string | Uint8Array, texts: readonly (string | Uint8Array)[]): Buffer {
  const mac = createHmac(algorithm, key);
  for (const text of texts) mac.update(text);
  return mac.digest();
}

function otherDigests(secret: string, texts: readonly (string | Uint8Array)[]): readonly string[] {
  const rightDigest = macOf("sha256", secret, texts);
  const text = Buffer.concat(texts.map((part) => Buffer.from(part)));
  const hashOf = (parts: readonly (string | Uint8Array)[]): string =>
    hash("sha256", Buffer.concat(parts.map((part) => Buffer.from(part))));
  return [
    rightDigest.toString("base64"),
    rightDigest.toString("base64url"),
    rightDigest.toString("hex").toUpperCase(),
    ...["md5", "sha1", "sha384", "sha512"].map((name) => macOf(name, secret, texts).toString("hex")),
    macOf("sha256", text, [secret]).toString("hex"),
    hashOf([secret, text]),
    hashOf([text, secret]),
  ];
}

function withOneFinding<Value>(
  variants: readonly Variant<Value>[],
): (readonly [CauseFinding["code"], Value])[] {
  return variants.flatMap(({ findings, value }) => {
    const [onlyFinding, ...otherFindings] = findings;
    return onlyFinding === undefined || otherFindings.length > 0 ? [] : [[onlyFinding.code, value] as const];
  });
}

function causeOf(code: CauseFinding["code"]): DrillCause {
  if (code === "secret_not_set") return "secret_unset";
  if (code === "retired_secret" || code === "other_secret") return "replaced_secret";
  if (code.startsWith("secret_")) return "secret_spelled";
  if (TEXT_CHANGES.has(code)) return "decoded_body";
  return code.startsWith("body_") ? "parsed_body" : "signs_otherwise";
}

const TEXT_CHANGES: ReadonlySet<CauseFinding["code"]> = new Set([
  "body_whitespace_added",
  "body_whitespace_removed",
  "body_line_endings",
  "body_bom_added",
  "body_bom_removed",
  "body_charset",
  "body_characters_lost",
  "body_base64",
]);
