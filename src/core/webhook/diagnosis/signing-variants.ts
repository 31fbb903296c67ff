import { variantsOf, type VariantRow, type Variant } from "./body-variants.ts";
import type { CauseFinding } from "./causes.ts";
import { detailOf } from "./details.ts";
import { compareSecret, pastedForms } from "./pasted-secrets.ts";
import { MAX_SIGNATURES, SIGNATURES_PATTERN } from "../signature.ts";

export type KnownSecret = {
  /** For display, such as `the secret of endpoint https://…`; never the secret itself. */
  readonly label: string;
  readonly secret: string;
  readonly isRetired: boolean;
};

export type DigestVariant = {
  readonly algorithm: "sha1" | "sha256" | "sha384" | "sha512";
  /** Lower-case hex; only the first digits if the header was cut off. */
  readonly hex: string;
  readonly findings: readonly CauseFinding[];
};

export type SelectSignedParts = (body: Uint8Array) => readonly (string | Uint8Array)[];

const SECRET_PREFIX = "whsec_";
const MAX_HEADER_LENGTH = 2048;
const MAX_CANDIDATES = 8;
/** A forger could guess a shorter prefix, and the diagnosis would confirm the guess. */
const MIN_PROVABLE_DIGITS = 32;
const ALGORITHMS_BY_LENGTH = new Map<number, DigestVariant["algorithm"]>([
  [40, "sha1"],
  [96, "sha384"],
  [128, "sha512"],
]);
const SEPARATORS = [
  ["nothing", ""],
  ["colon", ":"],
  ["line_break", "\n"],
  ["comma", ","],
  ["blank", " "],
  ["hyphen", "-"],
  ["underscore", "_"],
  ["vertical_bar", "|"],
  ["semicolon", ";"],
] as const;

/** `secrets` were used to verify, `knownSecrets` are other secrets. */
export function keyVariants(
  secrets: readonly string[],
  knownSecrets: readonly KnownSecret[],
): readonly Variant<string | Uint8Array>[] {
  const otherRows = knownSecrets
    .filter(({ secret }) => !secrets.includes(secret))
    .map(({ label, secret, isRetired }): VariantRow<string> => {
      const nearFinding = secrets
        .map((givenSecret) => compareSecret(givenSecret, secret, label))
        .find((finding) => finding !== undefined);
      if (nearFinding !== undefined) return [nearFinding.code, nearFinding.detail, secret];
      return [isRetired ? "retired_secret" : "other_secret", label, secret];
    });
  const currentVariants = secrets.map((value) => ({ findings: [], value }));
  return [
    ...[...currentVariants, ...variantsOf(otherRows)].flatMap(({ findings, value }) =>
      spellingsOf(value).map((spelling) => ({
        findings: [...findings, ...spelling.findings],
        value: spelling.value,
      })),
    ),
    ...UNSET_SECRETS,
  ];
}

export function signedContentVariants(
  timestamps: readonly string[],
  eventId: string | undefined,
): readonly Variant<SelectSignedParts>[] {
  const correctForms = timestamps.map((timestamp) => ({
    findings: [],
    value: (body: Uint8Array) => [timestamp, ".", body],
  }));
  const wrongRows = timestamps.flatMap((timestamp): VariantRow<SelectSignedParts>[] => [
    ...SEPARATORS.map(([name, separator]): VariantRow<SelectSignedParts> => [
      "wrong_separator",
      detailOf(name),
      (body) => [timestamp, separator, body],
    ]),
    ["parts_swapped", undefined, (body) => [body, ".", timestamp]],
    [
      "event_id_signed",
      undefined,
      eventId === undefined ? undefined : (body) => [eventId, ".", timestamp, ".", body],
    ],
  ]);
  return [
    ...correctForms,
    ...variantsOf([...wrongRows, ["timestamp_not_signed", undefined, (body) => [body]]]),
  ];
}

export function parseSignatureHeader(
  header: string,
  name: string,
): { readonly candidates: readonly DigestVariant[]; readonly findings: readonly CauseFinding[] } {
  const headerCauses = headerFindings(header, name);
  const items = header
    .slice(0, MAX_HEADER_LENGTH)
    .split(/[\s,;]+/)
    .map(bareItem)
    .filter((item) => item !== "");
  const candidates = items.flatMap(candidatesOf).slice(0, MAX_CANDIDATES);
  const digests = candidates.map(({ algorithm, hex, findings: ownFindings }) => {
    const findings = [...headerCauses, ...ownFindings];
    const isMalformed = findings.length === 0 && !SIGNATURES_PATTERN.test(header);
    return { algorithm, hex, findings: isMalformed ? [MALFORMED_SIGNATURE] : findings };
  });
  return {
    candidates: digests,
    findings: digests[0]?.findings ?? [...headerCauses, invalidItemFinding(items[0] ?? "")],
  };
}

/** Forms in which programs pass a secret to HMAC, mostly by mistake. The unchanged secret comes first. */
function spellingsOf(secret: string): readonly Variant<string | Uint8Array>[] {
  const text = secret.trim();
  const isPrefixed = text.startsWith(SECRET_PREFIX);
  const unprefixedSecret = isPrefixed ? text.slice(SECRET_PREFIX.length) : text;
  const unquotedSecret = /^(["'`])(.*)\1$/.exec(text)?.[2];
  const hex = /^(?:[0-9a-f]{2})+$/i.test(unprefixedSecret) ? Buffer.from(unprefixedSecret, "hex") : undefined;
  const rows: readonly VariantRow<string | Uint8Array>[] = [
    ["secret_whitespace", detailOf("white_space_around_secret"), text === secret ? undefined : text],
    ...["\n", "\r\n", " "].map((end): VariantRow<string> => [
      "secret_whitespace",
      detailOf("white_space_after_secret"),
      text + end,
    ]),
    ["secret_quoted", detailOf("quotes_around_secret"), unquotedSecret],
    ...['"', "'"].map((quote): VariantRow<string> => [
      "secret_quoted",
      detailOf("made_with_quotes"),
      quote + text + quote,
    ]),
    isPrefixed
      ? ["secret_prefix", detailOf("made_without_prefix"), unprefixedSecret]
      : ["secret_prefix", detailOf("lacks_prefix"), SECRET_PREFIX + text],
    ["secret_decoded", detailOf("decoded_base64"), Buffer.from(unprefixedSecret, "base64")],
    ["secret_decoded", detailOf("decoded_whole_base64"), Buffer.from(text, "base64")],
    ["secret_decoded", detailOf("decoded_hexadecimal"), hex],
  ];
  return [{ findings: [], value: secret }, ...variantsOf([...rows, ...pastedForms(secret)])].filter(
    ({ value }) => value.length > 0,
  );
}

const UNSET_SECRETS = variantsOf(
  ["", "undefined", "null"].map((value): VariantRow<string> => [
    "secret_not_set",
    value === "" ? detailOf("empty_secret") : detailOf("word", value),
    value,
  ]),
);

const MALFORMED_SIGNATURE: CauseFinding = { code: "signature_malformed" };

function headerFindings(header: string, name: string): CauseFinding[] {
  const items = header.split(",");
  if (/^[0-9a-f]{64}(?:, [0-9a-f]{64})+$/.test(header)) return [{ code: "signature_doubled", detail: name }];
  const hasTooMany = items.length > MAX_SIGNATURES && items.every((item) => /^[0-9a-f]{64}$/.test(item));
  const findings: CauseFinding[] = [];
  if (hasTooMany) findings.push({ code: "signature_too_many", detail: String(items.length) });
  if (/(?:^|[\s,])["']?(?:[a-z][a-z0-9_-]{0,15}[=:]|v\d+[\s,])/i.test(header))
    findings.push({ code: "signature_prefixed" });
  if (/\s/.test(header)) findings.push({ code: "signature_whitespace" });
  return findings;
}

function bareItem(item: string): string {
  const unquotedItem = item.replaceAll(/^["']+|["']+$/g, "");
  if (/^(?:v\d+|t=.*)$/i.test(unquotedItem)) return "";
  return unquotedItem.replace(/^[a-z][a-z0-9_-]{0,15}[=:](?=.)/i, "");
}

function candidatesOf(item: string): DigestVariant[] {
  const lowerCaseItem = item.toLowerCase();
  const caseFindings: CauseFinding[] = lowerCaseItem === item ? [] : [{ code: "signature_upper_case" }];
  if (/^[0-9a-f]+$/.test(lowerCaseItem)) return digestsInHex(lowerCaseItem, caseFindings);
  const decodedHex = Buffer.from(item, "base64").toString("hex");
  if (!/^[A-Za-z0-9+/_-]{27,86}={0,2}$/.test(item)) return [];
  const base64Finding: CauseFinding = { code: "signature_base64" };
  if (decodedHex.length === 64) return [{ algorithm: "sha256", hex: decodedHex, findings: [base64Finding] }];
  return otherAlgorithmDigests(decodedHex, [base64Finding]);
}

function digestsInHex(hex: string, caseFindings: readonly CauseFinding[]): DigestVariant[] {
  const algorithm = "sha256" as const;
  if (hex.length === 64) return [{ algorithm, hex, findings: caseFindings }];
  if (hex.length < MIN_PROVABLE_DIGITS) return [];
  const findings = [...caseFindings, invalidItemFinding(hex)];
  return [...otherAlgorithmDigests(hex, caseFindings), { algorithm, hex: hex.slice(0, 64), findings }];
}

function otherAlgorithmDigests(hex: string, caseFindings: readonly CauseFinding[]): DigestVariant[] {
  const algorithm = ALGORITHMS_BY_LENGTH.get(hex.length);
  if (algorithm === undefined) return [];
  const detail = `HMAC-${algorithm.toUpperCase()}`;
  return [{ algorithm, hex, findings: [...caseFindings, { code: "other_algorithm", detail }] }];
}

function invalidItemFinding(item: string): CauseFinding {
  if (!/^[0-9a-f]+$/i.test(item)) return MALFORMED_SIGNATURE;
  const detail = String(item.length);
  return { code: item.length < 64 ? "signature_truncated" : "signature_overlong", detail };
}
