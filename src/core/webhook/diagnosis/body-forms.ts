// Bodies as frameworks, gateways, shells and logs hand them on: how each form is recognised, and the body inside.
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { isRecord, parseJson } from "../../json.ts";
import type { CauseFinding } from "./causes.ts";
import { detailOf, type DetailFact, type DetailName } from "./details.ts";

/** A recognised form, and the body inside; null if the body cannot be restored from it. */
type BodyForm = {
  readonly code: CauseFinding["code"];
  readonly detail: DetailFact;
  readonly inner: Uint8Array | null;
};

/** Maximum size of a decompressed body, in bytes: events are small. */
const MAX_INNER_BYTES = 64 * 1024;
/** Maximum size of a body whose form is looked for, in bytes. */
const MAX_FORM_BYTES = 32 * 1024;
/** Lengths at which databases and logs cut texts. */
const USUAL_CUTS = new Set([255, 256, 512, 1000, 1023, 1024, 2000, 2048, 4000, 4095, 4096, 8192]);

type Recogniser = (bytes: Buffer, text: string) => BodyForm | undefined;

/** The forms of a body, the outermost first; empty if it has the form of an event. */
export function bodyForms(rawBody: Uint8Array): readonly BodyForm[] {
  if (rawBody.length > MAX_FORM_BYTES) return [];
  const bytes = Buffer.from(rawBody);
  const text = bytes.toString("utf8");
  const form = RECOGNISERS.map((recognise) => recognise(bytes, text)).find((match) => match !== undefined);
  return form === undefined ? [] : [form];
}

/** A form's code and detail, and the body inside. */
type InnerBody = readonly [code: CauseFinding["code"], detail: DetailFact, inner: Uint8Array];

/** The bodies inside the forms of a body, as variants of it. */
export function innerBodies(rawBody: Uint8Array): readonly InnerBody[] {
  const innerBodiesFound: InnerBody[] = [];
  for (const { code, detail, inner } of bodyForms(rawBody)) {
    if (inner === null) continue;
    innerBodiesFound.push([code, detail, inner]);
    // A line break at the end of a file is not a second cause.
    if (inner.at(-1) === 0x0a) innerBodiesFound.push([code, detail, inner.subarray(0, -1)]);
  }
  return innerBodiesFound;
}

const RECOGNISERS: readonly Recogniser[] = [
  compressed,
  utf16,
  wholeRequest,
  chunked,
  printedBytes,
  printedObject,
  multipart,
  percentEncoded,
  htmlEscaped,
  wrappedForm,
  quotedJson,
  otherText,
  base64Text,
  prefixed,
  cutOff,
];

function compressed(bytes: Buffer): BodyForm | undefined {
  const form = (name: string, decompress: () => Buffer): BodyForm => ({
    code: "body_compressed",
    detail: detailOf("compressed", name),
    inner: valueOrNull(decompress),
  });
  const limit = { maxOutputLength: MAX_INNER_BYTES };
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return form("gzip", () => gunzipSync(bytes, limit));
  if (bytes.subarray(0, 4).equals(ZSTD_START)) return form("zstd", () => zstdDecompressSync(bytes, limit));
  if (bytes[0] === 0x78 && bytes.length > 2 && bytes.readUInt16BE(0) % 31 === 0)
    return form("deflate (zlib)", () => inflateSync(bytes, limit));
  if (isText(bytes)) return undefined;
  const rawBytes = valueOrNull(() => inflateRawSync(bytes, limit));
  if (rawBytes !== null && isJsonText(rawBytes)) return form("deflate", () => rawBytes);
  const brotli = valueOrNull(() => brotliDecompressSync(bytes, limit));
  return brotli !== null && isJsonText(brotli) ? form("Brotli", () => brotli) : undefined;
}

const ZSTD_START = Buffer.from("28b52ffd", "hex");

function utf16(bytes: Buffer): BodyForm | undefined {
  const order = utf16Order(bytes);
  if (order === undefined || bytes.length % 2 !== 0) return undefined;
  const little = order === "big" ? Buffer.from(bytes).swap16() : bytes;
  const innerBytes = Buffer.from(little.toString("utf16le").replace(/^\ufeff/, ""), "utf8");
  return { code: "body_utf16", detail: detailOf("utf16", order), inner: innerBytes };
}

function utf16Order(bytes: Buffer): "little" | "big" | undefined {
  const [firstByte, secondByte, thirdByte, fourthByte] = bytes;
  if (firstByte === 0xff && secondByte === 0xfe) return "little";
  if (firstByte === 0xfe && secondByte === 0xff) return "big";
  if (bytes.length < 4) return undefined;
  if (firstByte !== 0 && secondByte === 0 && thirdByte !== 0 && fourthByte === 0) return "little";
  return firstByte === 0 && secondByte !== 0 && thirdByte === 0 && fourthByte !== 0 ? "big" : undefined;
}

function wholeRequest(bytes: Buffer, text: string): BodyForm | undefined {
  const [, line = "", lineEnd = "\n"] =
    /^((?:> ?)?[A-Z]+ \S+ HTTP\/[\d.]+|HTTP\/[\d.]+ \d{3}[^\r\n]*)(\r?\n)/.exec(text) ?? [];
  if (line === "") return undefined;
  const split = bytes.indexOf(lineEnd + lineEnd);
  const innerBytes = split < 0 ? null : bytes.subarray(split + 2 * lineEnd.length);
  const detail = detailOf("whole_message");
  return { code: "body_whole_message", detail, inner: innerBytes };
}

function chunked(bytes: Buffer): BodyForm | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const end = bytes.indexOf("\r\n", at);
    const size = end < 0 ? "" : bytes.toString("latin1", at, end);
    if (!/^[0-9a-f]{1,6}$/i.test(size)) return undefined;
    const length = Number.parseInt(size, 16);
    if (length === 0) break;
    parts.push(bytes.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
  const detail = detailOf("chunk_sizes");
  return parts.length === 0 ? undefined : { code: "body_chunked", detail, inner: Buffer.concat(parts) };
}

/** The length of a signature in hexadecimal. */
const SIGNATURE_DIGITS = 64;

/** Bytes as programs print them. */
function printedBytes(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const value = parseJson(text);
  const list = isRecord(value) && value["type"] === "Buffer" ? value["data"] : value;
  if (isByteList(list)) return printedForm("json_bytes", Buffer.from(list));
  if (isRecord(value) && Object.keys(value).length > 1 && isByteList(Object.values(value)))
    return printedForm("json_uint8array", Buffer.from(Object.values(value) as number[]));
  const [, nodeHex] = /^<Buffer ((?:[0-9a-f]{2} ?)+)(?:\.\.\. \d+ more bytes)?>$/.exec(text) ?? [];
  if (nodeHex !== undefined)
    return printedForm(
      "node_buffer",
      text.includes("...") ? null : Buffer.from(nodeHex.replaceAll(" ", ""), "hex"),
    );
  const [, , python] = /^b(['"])([\s\S]*)\1$/.exec(text) ?? [];
  if (python !== undefined) return printedForm("python_bytes", pythonBytes(python));
  if (/^\d{1,3}(?:[, ]+\d{1,3}){3,}$/.test(text))
    return printedForm("byte_list", Buffer.from(text.split(/[, ]+/).map(Number)));
  if (/^(?:[0-9a-f]{2}){8,}$/i.test(text) && text.length !== SIGNATURE_DIGITS)
    return printedForm("hexadecimal", Buffer.from(text, "hex"));
  if (/^\\x(?:[0-9a-f]{2}){8,}$/i.test(text))
    return printedForm("postgresql_bytes", Buffer.from(text.slice(2), "hex"));
  return undefined;
}

function printedForm(detail: DetailName, innerBytes: Uint8Array | null): BodyForm {
  return { code: "body_printed", detail: detailOf(detail), inner: innerBytes };
}

function isByteList(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length > 3 &&
    value.every((byte) => typeof byte === "number" && Number.isInteger(byte) && byte >= 0 && byte < 256)
  );
}

function pythonBytes(text: string): Buffer {
  const plainText = text.replaceAll(/\\(x[0-9a-f]{2}|.)/gi, (_, escape: string) => {
    if (/^x[0-9a-f]{2}$/i.test(escape)) return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return { n: "\n", r: "\r", t: "\t" }[escape] ?? escape;
  });
  return Buffer.from(plainText, "latin1");
}

/** Objects as programs print them; their bytes are lost. */
function printedObject(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const names: readonly (readonly [RegExp, DetailName])[] = [
    [/^\{'\w+': /, "python_dict"],
    [/^\{"\w+" ?=>/, "ruby_hash"],
    [/^map\[\w+:/, "go_map"],
    [/^\{\w+=/, "java_map"],
    [/^\{\s*\w+: /, "node_object"],
    [/^(?:Array|stdClass Object)\s*\(/, "php_array"],
    [/^(?:array|object)\(/, "php_dump"],
    [/^[aO]:\d+:[{"]/, "php_serialized"],
    [/^@\{\w+=/, "powershell_object"],
    [/^\w+: .*\n\w+: /, "yaml"],
  ];
  const language = names.find(([pattern]) => pattern.test(text))?.[1];
  return language === undefined ? undefined : printedForm(language, null);
}

function multipart(_bytes: Buffer, text: string): BodyForm | undefined {
  const [boundary = ""] = text.split(/\r?\n/, 1);
  const head = text.indexOf("\r\n\r\n");
  const end = text.indexOf(`\r\n${boundary}`, head + 4);
  if (!/^--\S+$/.test(boundary) || head < 0 || end < 0) return undefined;
  const innerBytes = Buffer.from(text.slice(head + 4, end));
  return { code: "body_form_encoded", detail: detailOf("multipart"), inner: innerBytes };
}

function percentEncoded(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const [, name, encodedText = ""] = /^([\w[\].-]*=)?(%7B\S*)$/i.exec(text) ?? [];
  if (encodedText !== "") {
    const [value = ""] = encodedText.split("&");
    const decodedBytes = valueOrNull(() =>
      Buffer.from(decodeURIComponent(value.replace(/=$/, "").replaceAll("+", " "))),
    );
    return {
      code: "body_form_encoded",
      detail: detailOf(name === undefined ? "percent_encoded" : "form_field"),
      inner: decodedBytes,
    };
  }
  const [, json] = /^[\w[\].-]+=(\{[\s\S]*\})$/.exec(text) ?? [];
  if (json !== undefined)
    return { code: "body_form_encoded", detail: detailOf("form_field"), inner: Buffer.from(json) };
  if (/^\w+=[^&\s]*(?:&[\w%[\].]+=[^&\s]*)+$/.test(text))
    return { code: "body_form_encoded", detail: detailOf("form_of_fields"), inner: null };
  return undefined;
}

function htmlEscaped(_bytes: Buffer, text: string): BodyForm | undefined {
  if (!/^\s*\{\s*&(?:quot|#0?34|#x22);/i.test(text)) return undefined;
  const plainText = text
    .replaceAll(/&(?:quot|#0?34|#x22);/gi, '"')
    .replaceAll(/&(?:#0?39|#x27|apos);/gi, "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
  return {
    code: "body_html_escaped",
    detail: detailOf("html_escapes"),
    inner: Buffer.from(plainText),
  };
}

/** The fields in which gateways and queues pass a body on. */
const BODY_FIELDS = ["body", "rawBody", "raw_body", "payload", "data", "Body", "Message", "message"];

/** The event of a gateway or a queue, or an event inside another object. */
function wrappedForm(_bytes: Buffer, text: string): BodyForm | undefined {
  const value = parseJson(text);
  if (!isRecord(value) || isEvent(value)) return undefined;
  for (const name of BODY_FIELDS) {
    const part = value[name];
    if (typeof part === "string" && part !== "") {
      const isBase64 =
        value["isBase64Encoded"] === true || (!part.trimStart().startsWith("{") && isBase64Json(part));
      return {
        code: "body_wrapped",
        detail: detailOf(isBase64 ? "base64_field" : "body_field", name),
        inner: Buffer.from(part, isBase64 ? "base64" : "utf8"),
      };
    }
    if (isRecord(part) && isEvent(part)) {
      return {
        code: "body_wrapped",
        detail: detailOf("field_of_object", name),
        inner: Buffer.from(JSON.stringify(part)),
      };
    }
  }
  const [firstRecord] = Array.isArray(value["Records"]) ? value["Records"] : [];
  if (!isRecord(firstRecord)) return undefined;
  const detail = detailOf("queue_records");
  const record = typeof firstRecord["body"] === "string" ? Buffer.from(firstRecord["body"]) : null;
  return { code: "body_wrapped", detail, inner: record };
}

/** JSON inside a text of JSON or of a shell. */
function quotedJson(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const form = (detail: DetailFact, innerText: string): BodyForm => ({
    code: "body_stringified",
    detail,
    inner: Buffer.from(innerText),
  });
  if (/^\{\s*\\"/.test(text)) {
    const plainText = parseJson(`"${text}"`);
    if (typeof plainText === "string") return form(detailOf("escaped_quotes"), plainText);
  }
  const [, quote, quotedInner = ""] = /^(['`])(\{[\s\S]*\})\1$/.exec(text) ?? [];
  if (quote !== undefined) return form(detailOf("in_quotes", quote), quotedInner);
  const singleQuoted = /^"?\{""/.test(text) ? text.replaceAll(/^"|"$/g, "").replaceAll('""', '"') : undefined;
  return singleQuoted === undefined ? undefined : form(detailOf("csv_field"), singleQuoted);
}

function otherText(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const notEvent = (detail: DetailFact): BodyForm => ({
    code: "body_not_event",
    detail,
    inner: null,
  });
  if (/^<(?:!doctype html|html)\b/i.test(text)) return notEvent(detailOf("html_page"));
  if (/^<\?xml\b|^<\w+[\s>]/.test(text)) return notEvent(detailOf("xml"));
  if (/^@?[\w./\\-]+\.json$/.test(text)) return notEvent(detailOf("name_of_file"));
  if (/^(?:true|false|null|undefined|None|nil|\{\}|\[\])$/.test(text))
    return notEvent(detailOf("only_text", text));
  if (/^\[object \w+\]$/.test(text)) return undefined;
  if (/^whsec_|^svc_/.test(text)) return notEvent(detailOf("a_secret"));
  if (/^[0-9a-f]{64}$/i.test(text)) return notEvent(detailOf("a_signature"));
  const quotes = /^\{\s*[\u2018\u201c\u201d]/.test(text);
  return quotes ? { ...notEvent(detailOf("typographic_quotes")), code: "body_printed" } : undefined;
}

function base64Text(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const [, data] = /^data:[\w/+.-]*(?:;[\w=-]+)*;base64,(\S+)$/.exec(text) ?? [];
  const encodedText = data ?? text.replaceAll(/\s/g, "");
  if (!isBase64Json(encodedText)) return undefined;
  return {
    code: "body_base64",
    detail: detailOf("from_base64"),
    inner: Buffer.from(encodedText, "base64"),
  };
}

/** A body behind a word, as logs print it. */
function prefixed(_bytes: Buffer, text: string): BodyForm | undefined {
  const [, prefix = "", json = ""] = /^([^{[\n]{1,200}?)(\{"[\s\S]*\})\s*$/.exec(text.trim()) ?? [];
  if (prefix.trim() === "" || prefix.startsWith("\ufeff") || parseJson(json) === undefined) return undefined;
  const detail = detailOf("behind_text");
  return { code: "body_prefixed", detail, inner: Buffer.from(json) };
}

function cutOff(bytes: Buffer, text: string): BodyForm | undefined {
  if (!/^\s*\{\s*"/.test(text) || parseJson(text) !== undefined) return undefined;
  if (/^\s*\{[\s\S]*\}\s*$/.test(text)) return undefined;
  return {
    code: "body_cut",
    detail: detailOf(USUAL_CUTS.has(bytes.length) ? "cut_at_limit" : "cut", bytes.length),
    inner: null,
  };
}

function isEvent(value: Readonly<Record<string, unknown>>): boolean {
  return "event_id" in value && "type" in value;
}

function isBase64Json(text: string): boolean {
  if (!/^[A-Za-z0-9+/_-]{16,}={0,2}$/.test(text)) return false;
  return isJsonText(Buffer.from(text, "base64"));
}

function isJsonText(bytes: Uint8Array): boolean {
  return isRecord(parseJson(Buffer.from(bytes).toString("utf8")));
}

/** Whether bytes are UTF-8 without zero bytes. */
function isText(bytes: Buffer): boolean {
  return !bytes.includes(0) && Buffer.from(bytes.toString("utf8"), "utf8").equals(bytes);
}

function valueOrNull<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch {
    // Damaged or too large: the form is still recognised by its beginning.
    return null;
  }
}
