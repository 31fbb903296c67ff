import leven from "leven";
import { decodePrintable } from "../../text.ts";
import type { VariantRow } from "./body-variants.ts";
import type { CauseFinding } from "./causes.ts";
import { detailOf, type DetailFact } from "./details.ts";

export function pastedForms(secret: string): readonly VariantRow<string>[] {
  const visibleText = removeInvisible(secret);
  const rows: VariantRow<string>[] = [];
  if (visibleText !== secret) rows.push(["secret_whitespace", detailOf("invisible_characters"), visibleText]);
  const joinedSecret = visibleText.replaceAll(/\s+/g, "");
  if (joinedSecret !== visibleText && joinedSecret !== visibleText.trim())
    rows.push(["secret_whitespace", detailOf("space_inside"), joinedSecret]);
  const foundTokens = [visibleText, joinedSecret, decodeText(visibleText)].flatMap(
    (text) => text.match(TOKEN_PATTERN) ?? [],
  );
  const wrappedDetail = detailOf("text_around");
  for (const token of new Set(foundTokens)) {
    if (token !== visibleText.trim()) rows.push(["secret_wrapped", wrappedDetail, token]);
    const [firstPart = "", secondPart = ""] = token.split(/(?<=.)(?=whsec_)/);
    if (secondPart !== "") rows.push(["secret_wrapped", detailOf("pasted_twice"), firstPart]);
  }
  const bareSecret = bareText(visibleText);
  const prefix = /^whsec[-:. ]|^whsec__|^WHSEC_/.exec(bareSecret)?.[0];
  if (prefix !== undefined)
    rows.push(["secret_prefix", detailOf("other_beginning"), `whsec_${bareSecret.slice(prefix.length)}`]);
  return rows;
}

const TOKEN_PATTERN = /whsec_[A-Za-z0-9_-]+/g;

function removeInvisible(text: string): string {
  return text.replaceAll(/[\0\u00ad\u200b-\u200f\u2060\ufeff\ufffd]/g, "");
}

function bareText(text: string): string {
  return text.trim().replaceAll(/^["'`]|["'`]$/g, "");
}

function decodeText(text: string): string {
  const base64 = Buffer.from(text.trim(), "base64").toString("latin1");
  if (base64.startsWith("whsec_")) return base64;
  const hex = Buffer.from(text.trim(), "hex").toString("latin1");
  if (hex.startsWith("whsec_")) return hex;
  return decodePrintable(text);
}

const MIN_PART_LENGTH = 12;
const MAX_TYPOS = 3;

/** `label` names the known secret. Returns undefined if the secrets are equal or not similar. */
export function compareSecret(givenSecret: string, secret: string, label: string): CauseFinding | undefined {
  const text = bareText(removeInvisible(givenSecret));
  if (text === secret || text.length < MIN_PART_LENGTH) return undefined;
  if (text.toLowerCase() === secret.toLowerCase())
    return { code: "secret_mistyped", detail: detailOf("other_case", label) };
  const parts = [
    ["beginning_of_secret", secret.startsWith(text)],
    ["end_of_secret", secret.endsWith(text) && !`whsec_${text}`.startsWith(secret)],
    ["part_of_secret", secret.includes(text)],
  ] as const;
  const part = parts.find(([, isPart]) => isPart)?.[0];
  if (part !== undefined)
    return { code: "secret_cut", detail: detailOf(part, label, text.length, secret.length) };
  const count = leven(text, secret, { maxDistance: MAX_TYPOS + 1 });
  if (count > MAX_TYPOS) return undefined;
  return { code: "secret_mistyped", detail: detailOf(count === 1 ? "one_typo" : "typos", label, count) };
}

export function secretFormFindings(secret: string): readonly CauseFinding[] {
  const text = bareText(removeInvisible(secret));
  const detail = PLACEHOLDER_PATTERNS.find(([pattern]) => pattern.test(text))?.[1];
  if (detail !== undefined) return [{ code: "secret_placeholder", detail }];
  const [token = ""] = text.match(TOKEN_PATTERN) ?? [];
  return token === text && token.length < MIN_SECRET_LENGTH
    ? [{ code: "secret_cut", detail: detailOf("too_short", token.length, MIN_SECRET_LENGTH) }]
    : [];
}

const MIN_SECRET_LENGTH = 38;

const PLACEHOLDER_PATTERNS: readonly (readonly [RegExp, DetailFact])[] = [
  [/^\$(?:env:)?\{?\w+\}?$|^%\w+%$|^\{\{.*\}\}$|^<%.*%>$/, detailOf("variable_name")],
  [/^process\.env\b|^os\.environ\b|^ENV\[|^getenv\(/, detailOf("program_text")],
  [/…|\.\.\.|\*{3,}|•{3,}|x{6,}$|X{6,}$/, detailOf("redacted")],
  [/^<.*>$|^(?:your|my|the)[-_ ]|^(?:changeme|secret|todo|none|null|undefined)$/i, detailOf("placeholder")],
  [/^[0-9a-f]{64}$/i, detailOf("signature")],
  [/^svc_store_|^svc_control_/, detailOf("control_token")],
  [/^https?:\/\//, detailOf("address")],
  [/^-----BEGIN /, detailOf("pem")],
  [/^(?:\.{0,2}[/\\])?[\w.-]+[/\\][\w./\\-]+$|^[\w-]+\.(?:txt|env|key)$/, detailOf("file_name")],
  [/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, detailOf("id")],
];
