import type { Words } from "../language.ts";
import {
  SECRET_DESCRIPTION,
  SECRET_DESCRIPTION_ZH,
  codePointLength,
  escapeCodePoint,
  containsSecret,
  printable,
  PRINTABLE_PATTERN,
  SECRET_PATTERN,
  displayText,
  UUID_PATTERN,
  removeUnicodeRanges,
} from "../text.ts";

const MAX_NAME_LENGTH = 64;

const LATIN_LETTERS = "A-Za-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u024f\\u1e00-\\u1eff";
/**
 * Scripts with letters that resemble Latin letters: phonetic letters, Greek, Cyrillic, Armenian, Georgian, Cherokee,
 * Canadian syllabics, Ogham, runes, Coptic, Lisu, and some historic scripts.
 */
const RESEMBLING_SCRIPTS =
  "\\u0250-\\u02af\\u0370-\\u058f\\u10a0-\\u10ff\\u13a0-\\u16ff\\u1c80-\\u1c8f\\u1d00-\\u1dbf\\u1f00-\\u1fff\\u2c80-\\u2cff\\u2de0-\\u2dff\\ua4d0-\\ua4ff\\ua640-\\ua69f\\uab30-\\uabbf\u{10280}-\u{1034f}\u{10400}-\u{104ff}\u{118a0}-\u{118ff}\u{16f00}-\u{16f9f}";
/** Cyrillic, Greek and Armenian letters that look exactly like Latin letters. */
const LOOKALIKE_LETTERS =
  "\\u0405\\u0406\\u0408\\u0410\\u0412\\u0415\\u041a\\u041c-\\u041e\\u0420-\\u0422\\u0425\\u0430\\u0435\\u043e\\u0440\\u0441\\u0443\\u0445\\u0455\\u0456\\u0458\\u0474\\u0475\\u04ae\\u04af\\u04ba\\u04bb\\u04c0\\u04cf\\u0500\\u0501\\u050c\\u051a-\\u051d\\u0391\\u0392\\u0395-\\u0397\\u0399\\u039a\\u039c\\u039d\\u039f\\u03a1\\u03a4\\u03a5\\u03a7\\u03b1\\u03b3\\u03b9\\u03bd\\u03bf\\u03c1\\u03c3\\u03c5\\u054d\\u054f\\u0555\\u0566\\u0570\\u0578\\u057d\\u0581\\u0585";
/** Variants of ASCII spaces, digits and letters: full-width, mathematical, letterlike symbols, Roman numerals. */
const STYLED_CHARACTERS =
  "\\u00a0\\u017f\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2102\\u210a-\\u2113\\u2115\\u2119-\\u211d\\u2124\\u2128\\u212a\\u212c-\\u2131\\u2133\\u2134\\u2139\\u2145-\\u2149\\u2160\\u2164\\u2169\\u216c-\\u2170\\u2174\\u2179\\u217c-\\u217f\\u3000\\uff10-\\uff19\\uff21-\\uff3a\\uff41-\\uff5a\u{1ccd6}-\u{1ccf9}\u{1d400}-\u{1d6a3}\u{1d7ce}-\u{1d7ff}\u{1fbf0}-\u{1fbf9}";

const NAME_RULES: readonly (readonly [pattern: string, rule: Words])[] = [
  [
    "^ | $|  ",
    [
      "neither begin nor end with a space, nor have two spaces in a row",
      "不得以空格开头或结尾，也不得有连续空格",
    ],
  ],
  // `--store` gives these words a special meaning.
  [
    "^(?:[dD][eE][fF][aA][uU][lL][tT]|[nN][eE][wW])$",
    ["be neither default nor new, in lower or upper case", "不得为 default 或 new（不区分大小写）"],
  ],
  [UUID_PATTERN, ["not be an id", "不得为 ID"]],
  [
    `[${STYLED_CHARACTERS}]`,
    [
      "have only plain letters, digits and spaces: full-width and styled characters look like others",
      "只能使用普通的字母、数字和空格：全角或花体字符与其他字符相似",
    ],
  ],
  [
    `[${LATIN_LETTERS}].*[${RESEMBLING_SCRIPTS}]|[${RESEMBLING_SCRIPTS}].*[${LATIN_LETTERS}]`,
    [
      "not mix Latin letters with letters of another script that look like them",
      "不得混用拉丁字母与形似拉丁字母的其他文字",
    ],
  ],
  [
    `^[ -@\\[-\`{-~]*[${LOOKALIKE_LETTERS}][ -@\\[-\`{-~${LOOKALIKE_LETTERS}]*$`,
    [
      "not consist only of letters that look like Latin letters but are not",
      "不得全部由形似拉丁字母的其他文字组成",
    ],
  ],
];
const LOOKALIKES = new RegExp(`[${STYLED_CHARACTERS}${RESEMBLING_SCRIPTS}${LOOKALIKE_LETTERS}]`, "gu");
const COMPILED_RULES = NAME_RULES.map(([pattern, rule]) => [new RegExp(pattern, "u"), rule] as const);

export const STORE_NAME_SCHEMA = {
  minLength: 1,
  maxLength: MAX_NAME_LENGTH,
  pattern: PRINTABLE_PATTERN,
  not: {
    anyOf: [
      ...NAME_RULES.map(([pattern]) => ({ pattern: removeUnicodeRanges(pattern) })),
      { pattern: SECRET_PATTERN },
    ],
  },
};

export function textLineFault(text: string, minimum: number, maximum: number): Words | undefined {
  if (containsSecret(text))
    return [`must be free of ${SECRET_DESCRIPTION}`, `不得包含 ${SECRET_DESCRIPTION_ZH}`];
  const length = codePointLength(text);
  if (length >= minimum && length <= maximum && printable(text) === text) return undefined;
  return [
    `must have ${minimum} to ${maximum} characters, and no invisible characters`,
    `应为 ${minimum} 到 ${maximum} 个字符，且没有不可见字符`,
  ];
}

/** Strict, because users can type a store's name instead of its id (decision 114). */
export function storeNameFault(text: string): Words | undefined {
  const fault = textLineFault(text, 1, MAX_NAME_LENGTH);
  if (fault !== undefined) return fault;
  const brokenRule = COMPILED_RULES.find(([pattern]) => pattern.test(text));
  if (brokenRule === undefined) return undefined;
  const [rule, chinese] = brokenRule[1];
  return [`must ${rule}`, chinese];
}

/** Escapes look-alike characters of a name that only an older version accepted, or quotes the name if it has none. */
export function displayStoreName(name: string): string {
  if (storeNameFault(name) === undefined) return name;
  const shownName = displayText(name).replace(LOOKALIKES, escapeCodePoint);
  return shownName === name ? JSON.stringify(name) : shownName;
}
