import { TextDecoder } from "node:util";
import type { CauseFinding } from "./causes.ts";
import { detailOf, type DetailName } from "./details.ts";
import { innerBodies } from "./body-forms.ts";
import { isRecord, parseJson } from "../../json.ts";
import { FIELDS_OF_CHECKOUT, EVENT_FIELDS } from "../verify.ts";

export type Variant<Value> = { readonly findings: readonly CauseFinding[]; readonly value: Value };

export type VariantRow<Value> = readonly [
  code: CauseFinding["code"],
  detail: CauseFinding["detail"],
  value: Value | undefined,
];

export const MAX_VARIED_BYTES = 32 * 1024;
const MAX_DEPTH = 8;
const WHITE_SPACE = " \t\r\n";
const BOM = "\u00ef\u00bb\u00bf";
const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte);
const CP1252_BYTES = new Map(
  ALL_BYTES.map((byte) => [new TextDecoder("windows-1252").decode(Uint8Array.of(byte)), byte] as const),
);

export function bodyVariants(rawBody: Uint8Array): readonly Variant<Uint8Array>[] {
  const receivedVariant = { findings: [], value: rawBody };
  if (rawBody.length > MAX_VARIED_BYTES) return [receivedVariant];
  const bytes = Buffer.from(rawBody);
  // latin1 maps each byte to one character, so a change of the text is the same change of the bytes.
  const latin1 = bytes.toString("latin1");
  const utf8 = bytes.toString("utf8");
  const changedVariants = variantsOf([
    ...innerBodies(rawBody),
    ...whiteSpaceRows(latin1),
    byteOrderMarkRow(latin1),
    ...jsonRows(utf8),
    ...charsetRows(bytes, utf8),
    ...wrappingRows(bytes, utf8),
    ...PLACEHOLDER_ROWS,
  ]);
  const variantsByBytes = new Map<string, Variant<Uint8Array>>();
  for (const { findings, value } of [receivedVariant, ...changedVariants]) {
    const variantBytes = Buffer.from(value);
    const key = variantBytes.toString("latin1");
    if (!variantsByBytes.has(key)) variantsByBytes.set(key, { findings, value: variantBytes });
  }
  return [...variantsByBytes.values()];
}

export function variantsOf<Value>(rows: readonly VariantRow<Value>[]): Variant<Value>[] {
  return rows.flatMap(([code, detail, value]) =>
    value === undefined ? [] : [{ findings: [{ code, detail }], value }],
  );
}

/**
 * Formats JSON as the service does, without white space. Returns undefined if the text is not JSON, or nested too deep.
 */
export function compactJson(text: string): string | undefined {
  const value = shallowJson(text);
  return value === undefined ? undefined : JSON.stringify(value);
}

type Body = Uint8Array | string;

function whiteSpaceRows(latin1: string): VariantRow<Body>[] {
  const rows = [
    ["body_whitespace_added", detailOf("line_break_at_end"), latin1.replace(/\r?\n$/, "")],
    ["body_whitespace_added", detailOf("white_space_at_end"), trimEnd(latin1)],
    ["body_whitespace_added", detailOf("white_space_around"), trimEnd(latin1).replace(/^[ \t\r\n]+/, "")],
    ["body_whitespace_removed", detailOf("one_line_break"), `${latin1}\n`],
    ["body_whitespace_removed", detailOf("one_crlf"), `${latin1}\r\n`],
    ["body_whitespace_removed", detailOf("two_line_breaks"), `${latin1}\n\n`],
    ["body_whitespace_removed", detailOf("space_at_end"), `${latin1} `],
    ["body_whitespace_removed", detailOf("line_break_at_start"), `\n${latin1}`],
    ["body_whitespace_removed", detailOf("space_at_start"), ` ${latin1}`],
    ["body_line_endings", detailOf("lf"), latin1.replaceAll("\r\n", "\n")],
    ["body_line_endings", detailOf("crlf"), latin1.replaceAll(/\r?\n/g, "\r\n")],
  ] as const;
  return rows.map(([code, detail, text]) => [code, detail, Buffer.from(text, "latin1")]);
}

/** A regular expression would take quadratic time. */
function trimEnd(latin1: string): string {
  let end = latin1.length;
  while (end > 0 && WHITE_SPACE.includes(latin1.charAt(end - 1))) end -= 1;
  return latin1.slice(0, end);
}

function byteOrderMarkRow(latin1: string): VariantRow<Body> {
  return latin1.startsWith(BOM)
    ? ["body_bom_added", undefined, Buffer.from(latin1.slice(BOM.length), "latin1")]
    : ["body_bom_removed", undefined, Buffer.from(BOM + latin1, "latin1")];
}

type Change = readonly [name: DetailName, change: (text: string) => string];

const ESCAPES: readonly Change[] = [
  ["unchanged_characters", (text) => text],
  ["unicode_escapes", (text) => escapeUnits(text, /[\u0080-\uffff]/g)],
  ["slash_escapes", escapeSlashes],
  ["unicode_and_slash_escapes", (text) => escapeUnits(escapeSlashes(text), /[\u0080-\uffff]/g)],
  ["html_characters", (text) => escapeUnits(text, /[<>&\u2028\u2029]/g)],
];
const LAYOUTS: readonly (readonly [name: DetailName, write: (value: unknown) => string])[] = [
  ["compact", (value) => JSON.stringify(value)],
  ["python_layout", pythonLayout],
  ["indented_by_2", (value) => JSON.stringify(value, null, 2)],
  ["indented_by_4", (value) => JSON.stringify(value, null, 4)],
  ["indented_by_tabs", (value) => JSON.stringify(value, null, "\t")],
];
const ORDERS: readonly (readonly [name: DetailName | "", order: (value: unknown) => unknown])[] = [
  ["", (value) => value],
  ["sorted_keys", sortKeys],
  ["service_order", sortAsWritten],
];

function jsonRows(text: string): VariantRow<Body>[] {
  const value = shallowJson(text.replace(/^\ufeff/, ""));
  if (value === undefined) return [];
  const changes: readonly Change[] = [...ESCAPES.slice(1), ["without_unicode_escapes", unescapeUnits]];
  const escapeRows = changes.map(([escapeName, change]): VariantRow<Body> => [
    "body_unicode_escaped",
    detailOf(escapeName),
    change(text),
  ]);
  const rewrittenRows = ORDERS.flatMap(([orderName, order]) =>
    LAYOUTS.flatMap(([layout, write]) => {
      const json = write(order(value));
      return ESCAPES.map(([escapeName, change], index): VariantRow<Body> => {
        const detail =
          index === 0 ? detailOf(layout) : detailOf("layout_with", detailOf(layout), detailOf(escapeName));
        return orderName === ""
          ? ["body_reserialised", detailOf("other_form", detail), change(json)]
          : ["body_keys_reordered", detailOf("keys_and_layout", detailOf(orderName), detail), change(json)];
      });
    }),
  );
  return [...escapeRows, ...rewrittenRows];
}

function charsetRows(bytes: Buffer, text: string): VariantRow<Body>[] {
  return [
    ["body_charset", detailOf("in_latin1"), toBytes(text, (character) => character.charCodeAt(0))],
    ["body_charset", detailOf("in_windows_1252"), toBytes(text, (character) => CP1252_BYTES.get(character))],
    ["body_charset", detailOf("read_as_latin1"), bytes.toString("latin1")],
    ["body_charset", detailOf("read_as_windows_1252"), new TextDecoder("windows-1252").decode(bytes)],
    ["body_charset", detailOf("in_utf16"), Buffer.from(text, "utf16le")],
    ["body_charset", detailOf("read_as_utf16"), bytes.toString("utf16le")],
    ["body_characters_lost", detailOf("with_replacement_characters"), text],
    ["body_characters_lost", detailOf("with_question_marks"), text.replaceAll(/[^\0-\u007f]/gu, "?")],
  ];
}

function wrappingRows(bytes: Buffer, text: string): VariantRow<Body>[] {
  const innerValue = parseJson(text);
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}\s*$/.test(text);
  return [
    ["body_stringified", detailOf("inside_string"), typeof innerValue === "string" ? innerValue : undefined],
    ["body_stringified", detailOf("as_string"), JSON.stringify(text)],
    ["body_base64", detailOf("from_base64"), isBase64 ? Buffer.from(text, "base64") : undefined],
    ["body_base64", detailOf("in_base64"), bytes.toString("base64")],
  ];
}

const PLACEHOLDER_ROWS = ["", "[object Object]", "undefined", "null", "{}"].map((text): VariantRow<Body> => [
  "body_left_out",
  text === "" ? detailOf("nothing") : detailOf("text", text),
  text,
]);

function shallowJson(text: string): unknown {
  let depth = 0;
  let maxDepth = 0;
  for (const bracket of text.match(/[[\]{}]/g) ?? []) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    maxDepth = Math.max(maxDepth, depth);
  }
  return maxDepth > MAX_DEPTH ? undefined : parseJson(text);
}

/**
 * Formats as Python does: `{"a": 1, "b": [2, 3]}`. JSON strings contain no line breaks, so every line break is layout.
 */
function pythonLayout(value: unknown): string {
  return JSON.stringify(value, null, 1).replaceAll(/,\n */g, ", ").replaceAll(/\n */g, "");
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isRecord(value)) return value;
  const sortedEntries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(sortedEntries.map(([key, innerValue]) => [key, sortKeys(innerValue)]));
}

function sortAsWritten(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const orderedFields = sortByNames(value, EVENT_FIELDS);
  const { data } = orderedFields;
  return isRecord(data) ? { ...orderedFields, data: sortByNames(data, FIELDS_OF_CHECKOUT) } : orderedFields;
}

function sortByNames(
  record: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Record<string, unknown> {
  const pairs = keys.filter((key) => Object.hasOwn(record, key)).map((key) => [key, record[key]] as const);
  return { ...Object.fromEntries(pairs), ...record };
}

function escapeUnits(text: string, unitPattern: RegExp): string {
  return text.replaceAll(unitPattern, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function unescapeUnits(text: string): string {
  return text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (escape, hex: string) => {
      const unit = Number.parseInt(hex, 16);
      return unit < 0x20 || unit === 0x22 || unit === 0x5c ? escape : String.fromCharCode(unit);
    })
    .replaceAll("\\/", "/");
}

function escapeSlashes(text: string): string {
  return text.replaceAll("/", "\\/");
}

/** Returns undefined if the encoding lacks a character. */
function toBytes(text: string, byteOf: (character: string) => number | undefined): Uint8Array | undefined {
  const bytes = Array.from(text, byteOf);
  return bytes.every((byte) => byte !== undefined && byte <= 0xff)
    ? Uint8Array.from(bytes as readonly number[])
    : undefined;
}
