import { redactKey } from "../credential.ts";
import { redactSecrets, UUID_SOURCE } from "../text.ts";

const SECRET_WORD = /key|token|secret|auth|password|signature|cookie/i;
const PUBLIC_HEADER = /^(idempotency-key|checkout-signature)$/i;
const CREDENTIAL_HEADER = /^(proxy-)?authorization$/i;
const SCHEME_PATTERN =
  /^(basic|bearer|digest|negotiate|ntlm|oauth|token|apikey|hmac|dpop|jwt|aws4-hmac-sha256)(?= )/i;

export function isSecretHeader(name: string): boolean {
  return SECRET_WORD.test(name) && !PUBLIC_HEADER.test(name);
}

const SECRET_VARIABLE = /(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD)(S)?(_|$)/i;
const SECRET_FIELD = /"\w*(?:key|token|secret|password)"\s*:\s*"([^"]+)/gi;
const WITHHELD_FIELD =
  /(?:^|_)(?:api_key|secret|secrets|token|tokens|portal|portal_url|sign_in|sign_in_url|env|password)$/i;

export function isSecretVariable(name: string): boolean {
  return SECRET_VARIABLE.test(name) && !/_FILE$/i.test(name);
}

export function secretValuesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(SECRET_FIELD), ([, value = ""]) => value);
}

/** True for fields that an agent must not see: keys, secrets, tokens, sign-in links, portal addresses. */
export function isWithheldField(name: string): boolean {
  return WITHHELD_FIELD.test(name);
}

export function redactHeader(name: string, value: string): string {
  const [scheme] = (CREDENTIAL_HEADER.test(name) ? SCHEME_PATTERN.exec(value) : null) ?? [];
  return scheme === undefined ? "…" : `${scheme} …`;
}

/** Shows only the end of an API key, and hides other secrets and the headers of proxies. */
export function displayHeader(name: string, value: string): string {
  if (name.toLowerCase() === "authorization") return `Bearer ${redactKey(value.replace(/^Bearer /, ""))}`;
  return isSecretHeader(name) || /^proxy-/i.test(name) ? "…" : value;
}

/** ASCII digits, and the full-width digits of Chinese keyboards. */
const DIGIT = "[0-9０-９]";
/** Characters that people write between the groups of a card number, possibly percent-encoded. */
const GAP = String.raw`(?:[\u0020+_\u00a0\u2007\u2009\u202f\u3000\u2010-\u2015\u2212-]|%20|%2b|%2d|%c2%a0)`;
const MAX_GAP_LENGTH = 3;
const MIN_DIGITS = 13;
const MAX_DIGITS = 19;
const MIN_GROUP_LENGTH = 3;
/** At least 13 digits with gaps; the digits of an escape such as %22 do not count. */
const DIGIT_RUN = new RegExp(
  `(?<!%[0-9a-f]?)${DIGIT}(?:${GAP}{0,${MAX_GAP_LENGTH}}${DIGIT}){${MIN_DIGITS - 1},}`,
  "gi",
);
const GAPS = new RegExp(`(${GAP}+)`, "i");
/**
 * 3 to 6 are most issuers, 2 is Mir and newer Mastercard numbers, 8 is UnionPay and RuPay. Times and dates, which begin
 * with 1 or 20, do not match.
 */
const ISSUER = /^(?:[3-6]|2[2-7]|8[12])/;
const UUIDS = new RegExp(`(?<![0-9a-f])(${UUID_SOURCE})(?![0-9a-f])`, "i");
const HEX_WORD = /^(?=.*[a-f])[0-9a-f]+$/i;

/**
 * Removes secrets, and keeps only the last four digits of card numbers (decision 86). Keeps the numbers in `orderId`,
 * because they identify an order.
 */
export function redactStored(text: string, orderId?: string | null): string {
  const safeText = redactSecrets(text);
  if (!mayContainCard(safeText)) return safeText;
  const orderNumbers = new Set<string>();
  if (orderId !== undefined && orderId !== null) hideCardNumbers(orderId, (card) => orderNumbers.add(card));
  return hideCardNumbers(safeText, (card) => !orderNumbers.has(card));
}

/**
 * Examines only every 13th character, because a run of 13 digits covers one of them. Ten times as fast as a pattern.
 */
function mayContainCard(text: string): boolean {
  for (let index = MIN_DIGITS - 1; index < text.length; index += MIN_DIGITS) {
    if (!mayBeInNumber(text.charCodeAt(index))) continue;
    let start = index;
    while (start > 0 && mayBeInNumber(text.charCodeAt(start - 1))) start -= 1;
    let end = index;
    while (end - start < MIN_DIGITS && mayBeInNumber(text.charCodeAt(end + 1))) end += 1;
    if (end - start + 1 >= MIN_DIGITS) return true;
  }
  return text.includes("%");
}

/** Exact for ASCII; true for all other characters. */
function mayBeInNumber(unit: number): boolean {
  return (
    (unit >= 0x30 && unit <= 0x39) ||
    unit === 0x2d ||
    unit === 0x20 ||
    unit > 0x7f ||
    unit === 0x5f ||
    unit === 0x2b
  );
}

function hideCardNumbers(text: string, shouldHide: (card: string) => unknown): string {
  const parts = text.split(UUIDS);
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replace(DIGIT_RUN, (run, offset: number) => {
            const end = offset + run.length;
            const earlierText = part.slice(Math.max(0, offset - MAX_CONTEXT_LENGTH), offset);
            return hideCards(
              run,
              { before: earlierText, after: part.slice(end, end + MAX_CONTEXT_LENGTH) },
              shouldHide,
            );
          }),
    )
    .join("");
}

const MAX_CONTEXT_LENGTH = 128;

type SurroundingText = { readonly before: string; readonly after: string };

/** `split` puts the digits at even indexes and the gaps at odd indexes. */
function hideCards(run: string, context: SurroundingText, shouldHide: (card: string) => unknown): string {
  const parts = run.split(GAPS);
  const lastIndex = parts.length - 1;
  let shownText = "";
  for (let index = 0; index <= lastIndex; index += 2) {
    const end = isPartOfOtherText(parts, index, context) ? undefined : endOfCard(parts, index, context);
    const partText = parts.slice(index, (end ?? index) + 1).join("");
    const isHidden = end !== undefined && Boolean(shouldHide(partText));
    shownText += `${isHidden ? `…${digitsOf(partText).slice(-4)}` : partText}${parts[(end ?? index) + 1] ?? ""}`;
    index = end ?? index;
  }
  return shownText;
}

function endOfCard(
  parts: readonly string[],
  firstIndex: number,
  context: SurroundingText,
): number | undefined {
  let digits = "";
  let endIndex: number | undefined;
  for (let index = firstIndex; index < parts.length && digits.length < MAX_DIGITS; index += 2) {
    digits += digitsOf(parts[index] ?? "");
    if (isCard(digits) && !isPartOfOtherText(parts, index, context)) endIndex = index;
    if ((parts[index] ?? "").length < MIN_GROUP_LENGTH) break;
  }
  return endIndex;
}

/** Only the first and the last group can continue in the surrounding text. */
function isPartOfOtherText(
  parts: readonly string[],
  index: number,
  { before, after }: SurroundingText,
): boolean {
  const isFirst = index === 0;
  if (isFirst && PREFIX_OF_OTHER_NUMBER.test(before)) return true;
  const isWordBefore = isFirst && !ESCAPE_AT_END.test(before);
  const [wordBefore = ""] = (isWordBefore ? /[0-9a-z]*$/i.exec(before) : null) ?? [];
  const [wordAfter = ""] = (index === parts.length - 1 ? /^[0-9a-z]*/i.exec(after) : null) ?? [];
  return HEX_WORD.test(`${wordBefore}${wordAfter}`);
}

const PREFIX_OF_OTHER_NUMBER = /(?:\d\.|"amount_minor"\s*:\s*)$/;
const ESCAPE_AT_END = /%[0-9a-f]{2}$/i;

function isCard(digits: string): boolean {
  return (
    digits.length >= MIN_DIGITS && digits.length <= MAX_DIGITS && ISSUER.test(digits) && isLuhnValid(digits)
  );
}

function isLuhnValid(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const value = index % 2 === 0 ? digit : digit * 2;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

function digitsOf(text: string): string {
  if (/^\d*$/.test(text)) return text;
  const plainText = text.replace(ALL_GAPS, "");
  return plainText.replace(/[０-９]/g, (digit) => String(digit.charCodeAt(0) & 0xf));
}

const ALL_GAPS = new RegExp(GAPS, "gi");
