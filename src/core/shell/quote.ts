// To print a value in a command to copy: `quoteToCopy` and `optionToCopy`; the shell it is for: `shellOf`.
// test/real/shells.test.ts runs the words in every shell of the machine.
import { printable } from "../text.ts";

/** A shell that commands are copied into. `sh` stands for sh, dash, bash and zsh. */
export type Shell = "sh" | "fish" | "powershell";

/** Read alike everywhere, also at the beginning of a word: zsh expands `=cmd` and `~` there, PowerShell `@` and numbers with a comma. */
const BARE = /^[\w./:+-][\w./:@=+-]*$/;
/** PowerShell takes the quotation marks of print for quotes too. */
const SINGLE_QUOTES = "'\u2018\u2019\u201a\u201b";
const DOUBLE_QUOTES = '"\u201c\u201d\u201e';
/** In double quotes each of these means something in some shell; `!` and `%` in an interactive bash and in cmd.exe. */
const ACTIVE_IN_DOUBLE_QUOTES = new RegExp(`[${DOUBLE_QUOTES}$\`\\\\!%]`);
/** fish takes a backslash for an escape where a backslash, a quote or the end of the quotes follows. */
const SAFE_IN_SINGLE_QUOTES = new RegExp(`^(?:[^${SINGLE_QUOTES}\\\\]|\\\\(?![\\\\${SINGLE_QUOTES}]|$))*$`);
const PIECES = new RegExp(`[${SINGLE_QUOTES}]+|\\\\+|[^${SINGLE_QUOTES}\\\\]+`, "g");
/** Code points that fish uses for its own ends, or that a font shows as nothing. */
const PRIVATE = /[\p{Co}\p{Cn}]/u;

/** The shell that a person uses: by `SHELL`, without which Windows has PowerShell (`OS` is set there) and all else sh. */
export function shellOf({ SHELL = "", OS }: Readonly<Record<string, string | undefined>>): Shell {
  const name = /([a-z]+)[\d.]*(?:\.exe)?$/i.exec(SHELL)?.[1]?.toLowerCase() ?? "";
  if (name === "fish") return "fish";
  if (name === "pwsh" || name === "powershell") return "powershell";
  return SHELL === "" && OS === "Windows_NT" ? "powershell" : "sh";
}

/**
 * A text as one word of a command line. sh, dash, bash, zsh and fish read every such word alike (decision 57), so that it
 * can be shown where the shell is not known. PowerShell reads it so too, unless it has quotes beside a backslash or `$`;
 * nothing of it is executed there either. The text has no NUL.
 */
export function quote(text: string, shell: Shell = "sh"): string {
  if (BARE.test(text)) return text;
  if (shell === "powershell") return quoteForPowerShell(text);
  if (SAFE_IN_SINGLE_QUOTES.test(text)) return `'${text}'`;
  if (!ACTIVE_IN_DOUBLE_QUOTES.test(text)) return `"${text}"`;
  return (text.match(PIECES) ?? []).map(quotePiece).join("");
}

/** cmd.exe reads double quotes too, and a hint of PowerShell may end up there. */
function quoteForPowerShell(text: string): string {
  if (!ACTIVE_IN_DOUBLE_QUOTES.test(text.replaceAll("\\", ""))) return `"${text}"`;
  return `'${text.replaceAll(new RegExp(`[${SINGLE_QUOTES}]`, "g"), "$&$&")}'`;
}

/** Quotes, backslashes or neither, each in the one form that all shells but PowerShell read alike. */
function quotePiece(piece: string): string {
  if (SINGLE_QUOTES.includes(piece.charAt(0))) return `"${piece}"`;
  return piece.startsWith("\\") ? piece.replaceAll("\\", "\\\\") : `'${piece}'`;
}

/**
 * The same of a text that a person copies from a terminal or a page: a text that is not shown as it is (control, bidi and
 * invisible characters) stands as `"$(printf '…')"`, with octal escapes. Undefined for a text that no shell gives back so:
 * one with a NUL, half a character or a line break at its end, and each that is not shown as it is for PowerShell.
 */
export function quoteToCopy(text: string, shell: Shell = "sh"): string | undefined {
  if (!text.isWellFormed() || text.includes("\0")) return undefined;
  if (isShownAsItIs(text)) return quote(text, shell);
  if (shell === "powershell" || text.endsWith("\n")) return undefined;
  return `"$(printf '${octal(text, /[\w ./:@=+,-]/)}')"`;
}

/** An option with its value; a value that begins with `-` might be taken for the next option. Undefined as for `quoteToCopy`. */
export function optionToCopy(flag: string, value: string, shell: Shell = "sh"): string | undefined {
  if (value.startsWith("-")) return quoteToCopy(`${flag}=${value}`, shell);
  const word = quoteToCopy(value, shell);
  return word === undefined ? undefined : `${flag} ${word}`;
}

/** The command that prints a text of any kind byte for byte, in every shell but PowerShell. */
export function printfOf(text: string): string {
  return `printf '${octal(text, /[ -~\u00a0-\u{10ffff}]/u)}'`;
}

/** The command that sets a variable for the programs that the shell starts; the value has no NUL. */
export function assignment(name: string, value: string, shell: Shell): string {
  if (shell === "powershell")
    return `$env:${name} = ${BARE.test(value) ? `'${value}'` : quote(value, shell)}`;
  return shell === "fish" ? `set -gx ${name} ${quote(value)}` : `export ${name}=${quote(value)}`;
}

function isShownAsItIs(text: string): boolean {
  return printable(text) === text && !PRIVATE.test(text);
}

/** A format of `printf` in single quotes: what is not kept, or means something there, as its bytes in octal. */
function octal(text: string, kept: RegExp): string {
  // A format that begins with `-` would be an option.
  const isPlain = (character: string, at: number): boolean =>
    kept.test(character) &&
    isShownAsItIs(character) &&
    !`${SINGLE_QUOTES}\\%${at === 0 ? "-" : ""}`.includes(character);
  return Array.from(text, (character, at) =>
    isPlain(character, at)
      ? character
      : Array.from(Buffer.from(character), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
  ).join("");
}
