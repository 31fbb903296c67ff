// Signing secrets as people paste them: the secret inside a text, and how a text differs from a known secret.
import leven from "leven";
import { decodePrintable } from "../../text.ts";
import type { VariantRow } from "./body-variants.ts";
import type { CauseFinding } from "./causes.ts";

/** The texts that may have been meant as the secret, with the cause that each would prove. */
export function pastedForms(secret: string): readonly VariantRow<string>[] {
  const plain = withoutInvisible(secret);
  const rows: VariantRow<string>[] = [];
  if (plain !== secret)
    rows.push([
      "secret_whitespace",
      "The secret used for the verification contains invisible characters, such as a byte order mark or zero bytes of UTF-16.",
      plain,
    ]);
  const joined = plain.replaceAll(/\s+/g, "");
  if (joined !== plain && joined !== plain.trim())
    rows.push([
      "secret_whitespace",
      "The secret used for the verification has a line break or a space inside it.",
      joined,
    ]);
  const found = [plain, joined, decoded(plain)].flatMap((text) => text.match(TOKEN) ?? []);
  const wrappedIn =
    "The secret used for the verification has other text around it, such as the line of a .env file, quotes or a comment.";
  for (const token of new Set(found)) {
    if (token !== plain.trim()) rows.push(["secret_wrapped", wrappedIn, token]);
    // A second copy directly behind the first.
    const [first = "", second = ""] = token.split(/(?<=.)(?=whsec_)/);
    if (second !== "")
      rows.push(["secret_wrapped", "The secret used for the verification was pasted twice.", first]);
  }
  const bare = plain.trim().replaceAll(/^["'`]|["'`]$/g, "");
  const prefix = /^whsec[-:. ]|^whsec__|^WHSEC_/.exec(bare)?.[0];
  if (prefix !== undefined)
    rows.push([
      "secret_prefix",
      "The beginning of the secret used for the verification is not whsec_.",
      `whsec_${bare.slice(prefix.length)}`,
    ]);
  return rows;
}

const TOKEN = /whsec_[A-Za-z0-9_-]+/g;

function withoutInvisible(text: string): string {
  // Byte order marks, zero-width characters and zero bytes.
  return text.replaceAll(/[\0\u00ad\u200b-\u200f\u2060\ufeff\ufffd]/g, "");
}

/** A percent-encoded text, or a base64 text of a whole secret, decoded. */
function decoded(text: string): string {
  const base64 = Buffer.from(text.trim(), "base64").toString("latin1");
  if (base64.startsWith("whsec_")) return base64;
  const hex = Buffer.from(text.trim(), "hex").toString("latin1");
  if (hex.startsWith("whsec_")) return hex;
  return decodePrintable(text);
}

/** Minimum number of characters of a secret that show which one was meant. */
const MIN_PART = 12;
/** Maximum number of characters in which a mistyped secret differs. */
const MAX_TYPOS = 3;

/** Undefined if they have nothing in common. The label names the known secret. */
export function nearSecret(given: string, known: string, label: string): CauseFinding | undefined {
  const text = withoutInvisible(given)
    .trim()
    .replaceAll(/^["'`]|["'`]$/g, "");
  if (text === known || text.length < MIN_PART) return undefined;
  if (text.toLowerCase() === known.toLowerCase())
    return { code: "secret_mistyped", detail: `It is the secret of ${label} in other upper and lower case.` };
  if (known.startsWith(text))
    return {
      code: "secret_cut",
      detail: `It is the beginning of the secret of ${label}: ${text.length} of ${known.length} characters.`,
    };
  if (known.endsWith(text) && !`whsec_${text}`.startsWith(known))
    return {
      code: "secret_cut",
      detail: `It is the end of the secret of ${label}: ${text.length} of ${known.length} characters.`,
    };
  if (known.includes(text))
    return {
      code: "secret_cut",
      detail: `It is a part of the secret of ${label}: ${text.length} of ${known.length} characters.`,
    };
  const typos = leven(text, known, { maxDistance: MAX_TYPOS + 1 });
  if (typos > MAX_TYPOS) return undefined;
  const count = typos === 1 ? "one character" : `${typos} characters`;
  return { code: "secret_mistyped", detail: `It differs in ${count} from the secret of ${label}.` };
}

/** Why a text cannot be a secret, from its form alone. */
export function secretFormFindings(secret: string): readonly CauseFinding[] {
  const text = withoutInvisible(secret)
    .trim()
    .replaceAll(/^["'`]|["'`]$/g, "");
  const form = PLACEHOLDERS.find(([pattern]) => pattern.test(text))?.[1];
  if (form !== undefined) return [{ code: "secret_placeholder", detail: form }];
  const [token = ""] = text.match(TOKEN) ?? [];
  if (token === text && token.length < MIN_LENGTH)
    return [
      {
        code: "secret_cut",
        detail: `It has ${token.length} characters; a secret of the service has at least ${MIN_LENGTH}.`,
      },
    ];
  return [];
}

/** The shortest secret: whsec_ and 32 characters. */
const MIN_LENGTH = 38;

const PLACEHOLDERS: readonly (readonly [RegExp, string])[] = [
  [
    /^\$(?:env:)?\{?\w+\}?$|^%\w+%$|^\{\{.*\}\}$|^<%.*%>$/,
    "It is the name of a variable that was not replaced by its value.",
  ],
  [
    /^process\.env\b|^os\.environ\b|^ENV\[|^getenv\(/,
    "It is program text that reads a variable, not its value.",
  ],
  [/…|\.\.\.|\*{3,}|•{3,}|x{6,}$|X{6,}$/, "It is a redacted or a sample secret: a part was replaced."],
  [/^<.*>$|^(?:your|my|the)[-_ ]|^(?:changeme|secret|todo|none|null|undefined)$/i, "It is a placeholder."],
  [/^[0-9a-f]{64}$/i, "It is a signature, not a secret."],
  [/^svc_store_|^svc_control_/, "It is a token of the sandbox's control API, not a signing secret."],
  [/^https?:\/\//, "It is an address, not a secret."],
  [/^-----BEGIN /, "It is a certificate or a key in PEM, not a signing secret."],
  [
    /^(?:\.{0,2}[/\\])?[\w.-]+[/\\][\w./\\-]+$|^[\w-]+\.(?:txt|env|key)$/,
    "It is the name of a file, not the content of the file.",
  ],
  [/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, "It is an id, not a secret."],
];
