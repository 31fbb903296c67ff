const UNPRINTABLE =
  /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const SECRET = /(svc_(?:test|live)_|whsec_)[\w-]+/g;
const MAX_LITERAL_CODE_POINTS = 60;

/** Text from outside, safe for a terminal or a log: control, bidi and invisible characters appear as `\u{…}`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escapeCodePoint);
}

/** Text without what looks like an API key or a signing secret: people paste them into the wrong place. */
export function redactSecrets(text: string): string {
  return text.replace(SECRET, "$1…");
}

/** A value that came from outside, as it may stand in a message: quoted, escaped, redacted, at most 60 characters. */
export function printableLiteral(value: unknown): string {
  const text = redactSecrets(printable(JSON.stringify(value) ?? String(value)));
  const codePoints = Array.from(text);
  if (codePoints.length <= MAX_LITERAL_CODE_POINTS) return text;
  return `${codePoints.slice(0, MAX_LITERAL_CODE_POINTS).join("")}… (${codePoints.length} characters)`;
}

/** The length of a text as the interface's limits count it: Unicode code points (decision 6). */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

function escapeCodePoint(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
