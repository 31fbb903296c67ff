import { printable } from "../text.ts";

export type Shell = "sh" | "fish" | "powershell";

/** Safe unquoted in every shell: zsh expands `=cmd` and `~`, PowerShell `@` and numbers with a comma. */
const BARE_WORD = /^[\w./:+-][\w./:@=+-]*$/;
const SINGLE_QUOTES = "'\u2018\u2019\u201a\u201b";
const DOUBLE_QUOTES = '"\u201c\u201d\u201e';
/** Characters that are active within double quotes in some shell: `!` in an interactive bash, `%` in cmd.exe. */
const ACTIVE_IN_DOUBLE_QUOTES = new RegExp(`[${DOUBLE_QUOTES}$\`\\\\!%]`);
/** fish treats a backslash before a backslash, a quote or the end of the quotes as an escape. */
const SAFE_IN_SINGLE_QUOTES = new RegExp(`^(?:[^${SINGLE_QUOTES}\\\\]|\\\\(?![\\\\${SINGLE_QUOTES}]|$))*$`);
const PIECES = new RegExp(`[${SINGLE_QUOTES}]+|\\\\+|[^${SINGLE_QUOTES}\\\\]+`, "g");
/** Code points that fish uses internally, or that fonts do not show. */
const PRIVATE_CODE_POINT = /[\p{Co}\p{Cn}]/u;

/** Taken from `SHELL`; without it, PowerShell on Windows (where `OS` is set) and sh elsewhere. */
export function shellOf({ SHELL = "", OS }: Readonly<Record<string, string | undefined>>): Shell {
  const name = /([a-z]+)[\d.]*(?:\.exe)?$/i.exec(SHELL)?.[1]?.toLowerCase() ?? "";
  if (name === "fish") return "fish";
  if (name === "pwsh" || name === "powershell") return "powershell";
  return SHELL === "" && OS === "Windows_NT" ? "powershell" : "sh";
}

/**
 * sh, dash, bash, zsh and fish read the result alike (decision 57). PowerShell may misread the result, but never
 * executes part of the text, which must not contain a NUL.
 */
export function quote(text: string, shell: Shell = "sh"): string {
  if (BARE_WORD.test(text)) return text;
  if (shell === "powershell") return quoteForPowerShell(text);
  if (SAFE_IN_SINGLE_QUOTES.test(text)) return `'${text}'`;
  if (!ACTIVE_IN_DOUBLE_QUOTES.test(text)) return `"${text}"`;
  return (text.match(PIECES) ?? []).map(quotePiece).join("");
}

/** Prefers double quotes, because a hint for PowerShell may be pasted into cmd.exe. */
function quoteForPowerShell(text: string): string {
  if (!ACTIVE_IN_DOUBLE_QUOTES.test(text.replaceAll("\\", ""))) return `"${text}"`;
  return `'${text.replaceAll(new RegExp(`[${SINGLE_QUOTES}]`, "g"), "$&$&")}'`;
}

function quotePiece(piece: string): string {
  if (SINGLE_QUOTES.includes(piece.charAt(0))) return `"${piece}"`;
  return piece.startsWith("\\") ? piece.replaceAll("\\", "\\\\") : `'${piece}'`;
}

/**
 * Writes control, bidi and invisible characters as `"$(printf '…')"`. Returns undefined if the shell cannot reproduce
 * the text.
 */
export function quoteToCopy(text: string, shell: Shell = "sh"): string | undefined {
  if (!text.isWellFormed() || text.includes("\0")) return undefined;
  if (isVisible(text)) return quote(text, shell);
  if (shell === "powershell" || text.endsWith("\n")) return undefined;
  return `"$(printf '${escapeOctal(text, /[\w ./:@=+,-]/)}')"`;
}

/** Writes `--flag=value` if the value begins with `-`. Returns undefined where `quoteToCopy` does. */
export function optionToCopy(flag: string, value: string, shell: Shell = "sh"): string | undefined {
  if (value.startsWith("-")) return quoteToCopy(`${flag}=${value}`, shell);
  const word = quoteToCopy(value, shell);
  return word === undefined ? undefined : `${flag} ${word}`;
}

export function printfCommand(text: string): string {
  return `printf '${escapeOctal(text, /[ -~\u00a0-\u{10ffff}]/u)}'`;
}

/** The value must not contain a NUL. */
export function assignmentCommand(name: string, value: string, shell: Shell): string {
  if (shell === "powershell")
    return `$env:${name} = ${BARE_WORD.test(value) ? `'${value}'` : quote(value, shell)}`;
  return shell === "fish" ? `set -gx ${name} ${quote(value)}` : `export ${name}=${quote(value)}`;
}

function isVisible(text: string): boolean {
  return printable(text) === text && !PRIVATE_CODE_POINT.test(text);
}

function escapeOctal(text: string, keptPattern: RegExp): string {
  // printf reads a format that begins with `-` as an option.
  const isPlain = (character: string, index: number): boolean =>
    keptPattern.test(character) &&
    isVisible(character) &&
    !`${SINGLE_QUOTES}\\%${index === 0 ? "-" : ""}`.includes(character);
  return Array.from(text, (character, index) =>
    isPlain(character, index)
      ? character
      : Array.from(Buffer.from(character), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
  ).join("");
}
