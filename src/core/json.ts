import { TextDecoder } from "node:util";
import { accept, resultOrUndefined, isError, type Outcome, type Refused } from "./outcome.ts";
import { refuseFact } from "./refusals.ts";
import { printable, printableLiteral, printableName } from "./text.ts";

const MAX_JSON_DEPTH = 8;

const utf8Decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const TOKEN_PATTERN = /"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.eE+-]*|[{}[\]]/g;
const NUMBER_PATTERN = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Parses strict JSON (decision 6). Refuses a byte order mark, duplicate keys, lone surrogates, more than 8 levels, and
 * numbers that become infinite or another integer.
 */
export function parseStrictJson(bytes: Uint8Array): Outcome<unknown> {
  const text = decodeUtf8(bytes);
  if (text === undefined) return refuse("the body is not valid UTF-8");
  if (text.startsWith("\ufeff")) return refuse("the body starts with a byte order mark; send plain UTF-8");
  if (text.trim() === "") return refuse("the body is empty; a JSON object was expected");
  const result = parseText(text);
  if (!result.ok) return result;
  return findFault(text) ?? result;
}

/** Returns undefined if the text is not JSON. For input that the caller validates. */
export function parseJson(text: string): unknown {
  const result = parseText(text);
  return result.ok ? result.value : undefined;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseText(text: string): Outcome<unknown> {
  try {
    return accept(JSON.parse(text) as unknown);
  } catch (error) {
    // The engine's message quotes the body after a comma; the quoted part may be a secret or binary.
    const message = isError(error) ? error.message : String(error);
    return refuse(printable(message.replace(/, (\.\.\.)?".*$/s, "")));
  }
}

/** Finds faults that `JSON.parse` accepts; the text must be valid JSON. */
function findFault(text: string): Refused | undefined {
  const openContainers: (Set<string> | undefined)[] = [];
  let field = "a value";
  TOKEN_PATTERN.lastIndex = 0;
  // `matchAll` takes three times as long.
  for (let match = TOKEN_PATTERN.exec(text); match !== null; match = TOKEN_PATTERN.exec(text)) {
    const [token, quotedText, colon] = match;
    if (quotedText !== undefined) {
      const key = decodeString(quotedText);
      if (key === undefined)
        return refuse(`${printableLiteral(quotedText)} contains half of a surrogate pair`);
      if (colon === undefined) continue;
      const keys = openContainers.at(-1);
      if (keys?.has(key)) return refuse(`the key ${printableLiteral(key)} appears twice in one object`);
      keys?.add(key);
      field = key;
    } else if (token === "{" || token === "[") {
      openContainers.push(token === "{" ? new Set() : undefined);
      if (openContainers.length > MAX_JSON_DEPTH)
        return refuse(`nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (token === "}" || token === "]") {
      openContainers.pop();
    } else if (!isKeptExactly(token)) {
      return refuseFact("inexact_number", { field: printableName(field), received: token.slice(0, 40) });
    }
  }
  return undefined;
}

/** Returns undefined for half of a surrogate pair, which only an escape can produce. */
function decodeString(quotedText: string): string | undefined {
  if (!quotedText.includes("\\")) return quotedText;
  const decodedText = JSON.parse(`"${quotedText}"`) as string;
  return decodedText.isWellFormed() ? decodedText : undefined;
}

/** False for infinite numbers, and for integers that may have been rounded: 9007199254740993, 1.0000000000000001. */
function isKeptExactly(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  if (!Number.isInteger(value)) return true;
  return Number.isSafeInteger(value) && isWrittenAsInteger(literal);
}

function isWrittenAsInteger(literal: string): boolean {
  const [, , wholeDigits = "", fraction = "", exponent = "0"] = NUMBER_PATTERN.exec(literal) ?? [];
  const digits = wholeDigits + fraction;
  const pointIndex = wholeDigits.length + Number(exponent);
  return !/[1-9]/.test(pointIndex <= 0 ? digits : digits.slice(pointIndex));
}

/** Returns "" for undefined bytes, and undefined for invalid UTF-8. Keeps a byte order mark. */
export function decodeUtf8(bytes: Uint8Array | undefined): string | undefined {
  return resultOrUndefined(() => utf8Decoder.decode(bytes));
}

function refuse(message: string): Refused {
  return refuseFact("invalid_json", { received: message });
}
