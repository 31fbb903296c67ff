import type { Finding } from "./causes.ts";
import { parseJson } from "../../json.ts";

/** A body that may have been signed in place of the one that arrived, and the cause that this would show. */
export type Variant<Value> = { readonly findings: readonly Finding[]; readonly value: Value };

/** Larger bodies are not varied: events are small. */
export const MAX_VARIED_BYTES = 32 * 1024;
/** Deeper JSON is not written again: events are flat. */
const MAX_DEPTH = 8;
const BLANKS = " \t\r\n";
const BOM = "\u00ef\u00bb\u00bf";
const BYTES = Array.from({ length: 256 }, (_, byte) => byte);
/** The byte of each character of Windows-1252, which is also what browsers mean by Latin-1. */
const WINDOWS_1252 = new Map(
  BYTES.map((byte) => [new TextDecoder("windows-1252").decode(Uint8Array.of(byte)), byte] as const),
);

/** The order in which the service writes the keys of an event (decision 11). */
const WRITTEN_ORDER = [
  "event_id",
  "type",
  "created_at",
  "api_version",
  "livemode",
  "store_id",
  "sequence",
  "previous_status",
  "data",
];
const WRITTEN_DATA_ORDER = [
  "id",
  "object",
  "order_id",
  "amount_minor",
  "currency",
  "status",
  "checkout_url",
  "livemode",
];

/**
 * Bodies that may have been signed if this one arrived, each with its cause, the likely ones first, without
 * repetitions. The body itself comes first, without a cause.
 */
export function bodyVariants(rawBody: Uint8Array): readonly Variant<Uint8Array>[] {
  const itself = { findings: [], value: rawBody };
  if (rawBody.length > MAX_VARIED_BYTES) return [itself];
  const bytes = Buffer.from(rawBody);
  // One character for each byte, so that every change of the text changes the bytes in the same way.
  const latin1 = bytes.toString("latin1");
  const variants = [
    itself,
    ...whiteSpace(latin1),
    ...byteOrderMark(latin1),
    ...json(bytes.toString("utf8")),
    ...charset(bytes),
    ...wrapped(bytes),
    ...placeholders(),
  ];
  const unique = new Map<string, Variant<Uint8Array>>();
  for (const variant of variants) {
    const key = Buffer.from(variant.value).toString("latin1");
    if (!unique.has(key)) unique.set(key, variant);
  }
  return [...unique.values()];
}

/** JSON as the service writes it: no white space, keys in their order; undefined if the text is not JSON. */
export function compactJson(text: string): string | undefined {
  const value = shallowJson(text);
  return value === undefined ? undefined : JSON.stringify(value);
}

function changed(value: Uint8Array, finding: Finding): Variant<Uint8Array> {
  return { findings: [finding], value };
}

function whiteSpace(latin1: string): Variant<Uint8Array>[] {
  const made = (code: Finding["code"], detail: string, text: string): Variant<Uint8Array> =>
    changed(Buffer.from(text, "latin1"), { code, detail });
  return [
    made("body_whitespace_added", "the line break at its end", latin1.replace(/\r?\n$/, "")),
    made("body_whitespace_added", "the white space at its end", trimEnd(latin1)),
    made("body_whitespace_added", "the white space around it", trimStart(trimEnd(latin1))),
    made("body_whitespace_removed", "a line break at its end", `${latin1}\n`),
    made("body_whitespace_removed", "a line break (CR LF) at its end", `${latin1}\r\n`),
    made("body_whitespace_removed", "two line breaks at its end", `${latin1}\n\n`),
    made("body_whitespace_removed", "a blank at its end", `${latin1} `),
    made("body_whitespace_removed", "a line break at its start", `\n${latin1}`),
    made("body_whitespace_removed", "a blank at its start", ` ${latin1}`),
    made("body_line_endings", "line ends as LF", latin1.replaceAll("\r\n", "\n")),
    made("body_line_endings", "line ends as CR LF", latin1.replaceAll(/\r?\n/g, "\r\n")),
  ];
}

/**
 * Loops, because a regular expression would take quadratic time. Only characters that are white space in every
 * encoding.
 */
function trimEnd(latin1: string): string {
  let end = latin1.length;
  while (end > 0 && BLANKS.includes(latin1.charAt(end - 1))) end -= 1;
  return latin1.slice(0, end);
}

function trimStart(latin1: string): string {
  let start = 0;
  while (start < latin1.length && BLANKS.includes(latin1.charAt(start))) start += 1;
  return latin1.slice(start);
}

function byteOrderMark(latin1: string): Variant<Uint8Array>[] {
  return latin1.startsWith(BOM)
    ? [changed(Buffer.from(latin1.slice(BOM.length), "latin1"), { code: "body_bom_added" })]
    : [changed(Buffer.from(BOM + latin1, "latin1"), { code: "body_bom_removed" })];
}

type Change = { readonly detail: string; readonly change: (text: string) => string };

const ESCAPES: readonly Change[] = [
  { detail: "as they are", change: (text) => text },
  { detail: "beyond ASCII as \\u escapes", change: (text) => escapeUnits(text, /[\u0080-\uffff]/g) },
  { detail: "/ as \\/", change: escapeSlashes },
  {
    detail: "beyond ASCII as \\u escapes, / as \\/",
    change: (text) => escapeUnits(escapeSlashes(text), /[\u0080-\uffff]/g),
  },
  { detail: "<, > and & as \\u escapes", change: (text) => escapeUnits(text, /[<>&\u2028\u2029]/g) },
];
const LAYOUTS: readonly {
  readonly detail: string;
  readonly write: (value: unknown) => string;
}[] = [
  {
    detail: "without white space, as JSON.stringify writes it",
    write: (value) => JSON.stringify(value),
  },
  { detail: "with a blank behind commas and colons, as Python's json.dumps writes it", write: pythonLayout },
  { detail: "indented by 2", write: (value) => JSON.stringify(value, null, 2) },
  { detail: "indented by 4", write: (value) => JSON.stringify(value, null, 4) },
  { detail: "indented by tabs", write: (value) => JSON.stringify(value, null, "\t") },
];
const ORDERS: readonly { readonly detail: string; readonly order: (value: unknown) => unknown }[] = [
  { detail: "", order: (value) => value },
  { detail: "sorted", order: sortKeys },
  { detail: "in the order in which the service writes them", order: writtenOrder },
];

/** The same JSON as other programs write it. */
function json(text: string): Variant<Uint8Array>[] {
  const value = shallowJson(text.replace(/^\ufeff/, ""));
  if (value === undefined) return [];
  const inPlace = [...ESCAPES.slice(1), { detail: "in place of \\u escapes", change: unescapeUnits }].map(
    ({ detail, change }) => changed(Buffer.from(change(text)), { code: "body_unicode_escaped", detail }),
  );
  const rewritten = ORDERS.flatMap(({ detail: keys, order }) =>
    LAYOUTS.flatMap(({ detail: layout, write }) => {
      const written = write(order(value));
      return ESCAPES.map(({ detail: escapes, change }, at) => {
        const how = at === 0 ? layout : `${layout}; characters ${escapes}`;
        return changed(Buffer.from(change(written)), rewriteFinding(keys, how));
      });
    }),
  );
  return [...inPlace, ...rewritten];
}

function rewriteFinding(keys: string, how: string): Finding {
  if (keys !== "") return { code: "body_keys_reordered", detail: `${keys}, ${how}` };
  return {
    code: "body_reserialised",
    detail: `The signature belongs to the same JSON written otherwise: ${how}.`,
  };
}

function charset(bytes: Buffer): Variant<Uint8Array>[] {
  const text = bytes.toString("utf8");
  const made = (value: Uint8Array | undefined, detail: string): Variant<Uint8Array>[] =>
    value === undefined ? [] : [changed(value, { code: "body_charset", detail })];
  const lost = (value: string, detail: string): Variant<Uint8Array> =>
    changed(Buffer.from(value), { code: "body_characters_lost", detail });
  return [
    ...made(
      toBytes(text, (character) => character.charCodeAt(0)),
      "in Latin-1 bytes",
    ),
    ...made(
      toBytes(text, (character) => WINDOWS_1252.get(character)),
      "in Windows-1252 bytes",
    ),
    ...made(Buffer.from(bytes.toString("latin1")), "read as Latin-1 and written as UTF-8"),
    ...made(
      Buffer.from(new TextDecoder("windows-1252").decode(bytes)),
      "read as Windows-1252 and written as UTF-8",
    ),
    ...made(Buffer.from(text, "utf16le"), "in UTF-16"),
    ...made(Buffer.from(bytes.toString("utf16le")), "read as UTF-16"),
    lost(text, "The signature belongs to the body with U+FFFD in place of the bytes that are no UTF-8."),
    lost(
      text.replaceAll(/[^\0-\u007f]/gu, "?"),
      "The signature belongs to the body with ? in place of the characters beyond ASCII.",
    ),
  ];
}

function wrapped(bytes: Buffer): Variant<Uint8Array>[] {
  const text = bytes.toString("utf8");
  const inner = parseJson(text);
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}\s*$/.test(text);
  return [
    ...(typeof inner === "string"
      ? [
          changed(Buffer.from(inner), {
            code: "body_stringified",
            detail: "the text inside this JSON string",
          }),
        ]
      : []),
    changed(Buffer.from(JSON.stringify(text)), {
      code: "body_stringified",
      detail: "the body as one JSON string, in quotes",
    }),
    ...(isBase64
      ? [
          changed(Buffer.from(text, "base64"), {
            code: "body_base64",
            detail: "the bytes that this base64 stands for",
          }),
        ]
      : []),
    changed(Buffer.from(bytes.toString("base64")), { code: "body_base64", detail: "the body in base64" }),
  ];
}

function placeholders(): Variant<Uint8Array>[] {
  return ["", "[object Object]", "undefined", "null", "{}"].map((text) =>
    changed(Buffer.from(text), {
      code: "body_left_out",
      detail: text === "" ? "nothing" : `the text ${text}`,
    }),
  );
}

/** The value of a JSON text; undefined if it is not JSON or too deep. */
function shallowJson(text: string): unknown {
  let depth = 0;
  let deepest = 0;
  for (const bracket of text.match(/[[\]{}]/g) ?? []) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest > MAX_DEPTH ? undefined : parseJson(text);
}

/** `{"a": 1, "b": [2, 3]}`: JSON strings hold no line breaks, so all line breaks are layout. */
function pythonLayout(value: unknown): string {
  return JSON.stringify(value, null, 1).replaceAll(/,\n */g, ", ").replaceAll(/\n */g, "");
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isRecord(value)) return value;
  const sorted = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, inner]) => [key, sortKeys(inner)]));
}

function writtenOrder(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const ordered = inOrder(value, WRITTEN_ORDER);
  const { data } = ordered;
  return isRecord(data) ? { ...ordered, data: inOrder(data, WRITTEN_DATA_ORDER) } : ordered;
}

function inOrder(
  record: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Record<string, unknown> {
  const known = keys.filter((key) => Object.hasOwn(record, key)).map((key) => [key, record[key]] as const);
  return { ...Object.fromEntries(known), ...record };
}

function escapeUnits(text: string, what: RegExp): string {
  return text.replaceAll(what, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function unescapeUnits(text: string): string {
  return text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (escape, hex: string) => {
      const unit = Number.parseInt(hex, 16);
      // Control characters, quotes and backslashes have to stay escaped.
      return unit < 0x20 || unit === 0x22 || unit === 0x5c ? escape : String.fromCharCode(unit);
    })
    .replaceAll("\\/", "/");
}

function escapeSlashes(text: string): string {
  return text.replaceAll("/", "\\/");
}

/** One byte for each character; undefined if the encoding lacks a character. */
function toBytes(text: string, byteOf: (character: string) => number | undefined): Uint8Array | undefined {
  const bytes = Array.from(text, byteOf);
  return bytes.every((byte) => byte !== undefined && byte <= 0xff)
    ? Uint8Array.from(bytes as readonly number[])
    : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
