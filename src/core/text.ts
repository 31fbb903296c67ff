/** Control, bidi and invisible characters; emoji keep variation selectors. */
const UNPRINTABLE_RANGES =
  "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ud800-\\udfff\\ufeff\\uffa0\\ufff0-\\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}";
const UNPRINTABLE_CHARACTERS = new RegExp(`[${UNPRINTABLE_RANGES}]`, "gu");
/** Ranges that do not work in a pattern without the `u` flag, which validators of JSON Schema may omit. */
const ASTRAL_RANGES = /\\ud800-\\udfff|[\u{10000}-\u{10ffff}]-[\u{10000}-\u{10ffff}]/gu;

export function removeUnicodeRanges(pattern: string): string {
  return pattern.replace(ASTRAL_RANGES, "");
}

export const PRINTABLE_PATTERN = removeUnicodeRanges(`^[^${UNPRINTABLE_RANGES}]*$`);
const ANY_SECRET = /((?:svc(?:_|%5f)(?:test|live|control|admin|store)|whsec)(?:_|%5f))[\w%-]+/gi;
/** Length after the prefix. A shorter text is a name, such as svc_test_mode. */
const MIN_SECRET_LENGTH = 16;
const WHOLE_SECRET = new RegExp(`${ANY_SECRET.source.slice(0, -1)}{${MIN_SECRET_LENGTH},}`, "i");
export const SECRET_PATTERN = WHOLE_SECRET.source.replaceAll(/\\.|[a-z]/g, (part) =>
  part.length > 1 ? part : `[${part}${part.toUpperCase()}]`,
);
const REDACTED_SECRET = new RegExp(ANY_SECRET.source.replace(/\[[^\]]+\]\+$/, "…"), "i");
/** Blanks and combining marks that a reader cannot see. CR LF within a text counts as one blank. */
const INVISIBLE_BLANKS = /^[\s\p{M}]+|(?!\r\n(?!$|[\s\p{M}]))\s[\s\p{M}]+|\s$/gu;
/** A user name and a password in an address; a quotation mark ends the address. */
const CREDENTIALS_IN_TEXT = /(:[/\\]{1,2})[^\s/\\?#"]*@/g;
/** A user name and a password in a text that consists only of an address. */
const CREDENTIALS_IN_VALUE = /(:[/\\]{1,2})[^/\\?#]*@/g;
const MAX_LITERAL_CODE_POINTS = 60;

/** Escapes control, bidi and invisible characters as `\u{…}`, so that the text is safe in a terminal or a log. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE_CHARACTERS, escapeCodePoint);
}

/** Escapes leading, trailing and repeated blanks, and combining marks without a base letter, as `\u{…}`. */
export function displayText(text: string): string {
  return text.replace(INVISIBLE_BLANKS, (part) => Array.from(part, escapeCodePoint).join(""));
}

export function jsonLine(value: unknown): string {
  return escapeInJson(JSON.stringify(value));
}

/** Escapes like `jsonLine`, but keeps line breaks, because an escape between values would be invalid JSON. */
export function escapeInJson(json: string): string {
  return json.replace(UNPRINTABLE_CHARACTERS, (character) =>
    character === "\n" ? character : escapeUnits(character),
  );
}

export function cutText(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints) return text;
  const codePoints = Array.from(text);
  return codePoints.length <= maxCodePoints ? text : `${codePoints.slice(0, maxCodePoints).join("")}…`;
}

/** Redacts API keys, signing secrets and tokens, and the user names and passwords in URLs. */
export function redactSecrets(text: string): string {
  const safeText = text.includes("_") || text.includes("%") ? text.replace(ANY_SECRET, "$1…") : text;
  return safeText.includes("@") ? safeText.replace(CREDENTIALS_IN_TEXT, "$1…@") : safeText;
}

export function redactValues(text: string, secrets: readonly string[]): string {
  return secrets.reduce((redactedText, secret) => redactedText.replaceAll(secret, "…"), text);
}

export const SECRET_KINDS = "an API key, a signing secret or a token";
export const SECRET_DESCRIPTION = `${SECRET_KINDS}: it is stored, logged and forwarded` as const;
export const SECRET_DESCRIPTION_ZH = "API 密钥、签名密钥或令牌：这些内容会被保存、记录并转发";

export function containsSecret(text: string): boolean {
  return WHOLE_SECRET.test(text);
}

export function containsSecretInAddress(text: string): boolean {
  return containsSecret(text) || containsSecret(decodePrintable(text));
}

export function decodePrintable(text: string): string {
  return text.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

export function hasSecretOrRedaction(text: string): boolean {
  return containsSecret(text) || REDACTED_SECRET.test(text);
}

/** Quotes, escapes and redacts the value, and cuts it to 60 characters. */
export function printableLiteral(value: unknown): string {
  const safeValue = typeof value === "string" ? value.replace(CREDENTIALS_IN_VALUE, "$1…@") : value;
  const literal =
    typeof safeValue === "number" ? String(safeValue) : (JSON.stringify(safeValue) ?? String(safeValue));
  const text = redactSecrets(printable(literal));
  const codePoints = Array.from(text);
  if (codePoints.length <= MAX_LITERAL_CODE_POINTS) return text;
  return `${codePoints.slice(0, MAX_LITERAL_CODE_POINTS).join("")}… (${codePoints.length} characters)`;
}

export function printableName(name: string): string {
  return printableLiteral(name).replace(/^"|"$/g, "");
}

/** Joins the lines of the text, escapes and redacts it, and cuts it to 60 characters. */
export function excerpt(text: string): string {
  return cutText(redactSecrets(printable(text.trim().replace(/\s+/g, " "))), MAX_LITERAL_CODE_POINTS);
}

export const UUID_SOURCE = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

const WHOLE_UUID = new RegExp(`^${UUID_SOURCE}$`, "i");

export const UUID_PATTERN = `^${UUID_SOURCE.replaceAll("a-f", "a-fA-F")}$`;

export function isUuid(text: string): boolean {
  return WHOLE_UUID.test(text);
}

/** The interface's limits count code points (decision 6). */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

export function escapeCodePoint(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function camelCase(name: string): string {
  return name.replaceAll(/_[a-z]/g, ([, letter = ""]) => letter.toUpperCase());
}

/** Takes the end, because ids of the same minute begin alike. Commands accept a short id instead of the whole id. */
export function shortId(id: string): string {
  return id.slice(-8);
}

export function publishableText(text: string): string {
  return redactSecrets(printable(text)).replace(/[\ufffe\uffff]/g, "\ufffd");
}
