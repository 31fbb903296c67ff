import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { isRecord, parseJson } from "../../json.ts";
import type { CauseFinding } from "./causes.ts";
import { detailOf, type DetailFact, type DetailName } from "./details.ts";

type BodyForm = {
  readonly code: CauseFinding["code"];
  readonly detail: DetailFact;
  readonly innerBody: Uint8Array | null;
};

const MAX_INNER_BYTES = 64 * 1024;
const MAX_FORM_BYTES = 32 * 1024;
/** Lengths at which databases and logs cut texts. */
const COMMON_LIMITS = new Set([255, 256, 512, 1000, 1023, 1024, 2000, 2048, 4000, 4095, 4096, 8192]);

function formOf(code: CauseFinding["code"], detail: DetailFact, inner: Uint8Array | string | null): BodyForm {
  return { code, detail, innerBody: typeof inner === "string" ? Buffer.from(inner) : inner };
}

type Recogniser = (bytes: Buffer, text: string) => BodyForm | undefined;

export function bodyForms(rawBody: Uint8Array): readonly BodyForm[] {
  if (rawBody.length > MAX_FORM_BYTES) return [];
  const bytes = Buffer.from(rawBody);
  const text = bytes.toString("utf8");
  return RECOGNISERS.flatMap((recognise) => recognise(bytes, text) ?? []).slice(0, 1);
}

export function innerBodies(
  rawBody: Uint8Array,
): (readonly [code: CauseFinding["code"], detail: DetailFact, innerBody: Uint8Array])[] {
  return bodyForms(rawBody).flatMap(({ code, detail, innerBody }) => {
    if (innerBody === null) return [];
    const bodies = innerBody.at(-1) === 0x0a ? [innerBody, innerBody.subarray(0, -1)] : [innerBody];
    return bodies.map((body) => [code, detail, body] as const);
  });
}

const RECOGNISERS: readonly Recogniser[] = [
  recogniseCompressed,
  recogniseUtf16,
  recogniseWholeMessage,
  recogniseChunked,
  recognisePrintedBytes,
  recognisePrintedObject,
  recogniseMultipart,
  recognisePercentEncoded,
  recogniseHtmlEscaped,
  recogniseWrapped,
  recogniseQuotedJson,
  recogniseOtherText,
  recogniseBase64,
  recognisePrefixed,
  recogniseCutOff,
];

function recogniseCompressed(bytes: Buffer): BodyForm | undefined {
  const createForm = (name: string, decompress: () => Buffer): BodyForm =>
    formOf("body_compressed", detailOf("compressed", name), valueOrNull(decompress));
  const options = { maxOutputLength: MAX_INNER_BYTES };
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return createForm("gzip", () => gunzipSync(bytes, options));
  if (bytes.subarray(0, 4).equals(ZSTD_START))
    return createForm("zstd", () => zstdDecompressSync(bytes, options));
  if (bytes[0] === 0x78 && bytes.length > 2 && bytes.readUInt16BE(0) % 31 === 0)
    return createForm("deflate (zlib)", () => inflateSync(bytes, options));
  if (isText(bytes)) return undefined;
  const inflatedBytes = valueOrNull(() => inflateRawSync(bytes, options));
  if (inflatedBytes !== null && isJsonText(inflatedBytes)) return createForm("deflate", () => inflatedBytes);
  const brotliBytes = valueOrNull(() => brotliDecompressSync(bytes, options));
  return brotliBytes !== null && isJsonText(brotliBytes)
    ? createForm("Brotli", () => brotliBytes)
    : undefined;
}

const ZSTD_START = Buffer.from("28b52ffd", "hex");

function recogniseUtf16(bytes: Buffer): BodyForm | undefined {
  const order = utf16Order(bytes);
  if (order === undefined || bytes.length % 2 !== 0) return undefined;
  const littleEndianBytes = order === "big" ? Buffer.from(bytes).swap16() : bytes;
  const text = littleEndianBytes.toString("utf16le").replace(/^\ufeff/, "");
  return formOf("body_utf16", detailOf("utf16", order), text);
}

function utf16Order(bytes: Buffer): "little" | "big" | undefined {
  const [firstByte, secondByte, thirdByte, fourthByte] = bytes;
  if (firstByte === 0xff && secondByte === 0xfe) return "little";
  if (firstByte === 0xfe && secondByte === 0xff) return "big";
  if (bytes.length < 4) return undefined;
  if (firstByte !== 0 && secondByte === 0 && thirdByte !== 0 && fourthByte === 0) return "little";
  return firstByte === 0 && secondByte !== 0 && thirdByte === 0 && fourthByte !== 0 ? "big" : undefined;
}

function recogniseWholeMessage(bytes: Buffer, text: string): BodyForm | undefined {
  const [, line = "", lineEnd = "\n"] =
    /^((?:> ?)?[A-Z]+ \S+ HTTP\/[\d.]+|HTTP\/[\d.]+ \d{3}[^\r\n]*)(\r?\n)/.exec(text) ?? [];
  if (line === "") return undefined;
  const headEnd = bytes.indexOf(lineEnd + lineEnd);
  const innerBytes = headEnd < 0 ? null : bytes.subarray(headEnd + 2 * lineEnd.length);
  return formOf("body_whole_message", detailOf("whole_message"), innerBytes);
}

function recogniseChunked(bytes: Buffer): BodyForm | undefined {
  const parts: Buffer[] = [];
  for (let offset = 0; ;) {
    const end = bytes.indexOf("\r\n", offset);
    const size = end < 0 ? "" : bytes.toString("latin1", offset, end);
    if (!/^[0-9a-f]{1,6}$/i.test(size)) return undefined;
    const length = Number.parseInt(size, 16);
    if (length === 0) break;
    parts.push(bytes.subarray(end + 2, end + 2 + length));
    offset = end + 2 + length + 2;
  }
  return parts.length === 0
    ? undefined
    : formOf("body_chunked", detailOf("chunk_sizes"), Buffer.concat(parts));
}

const SIGNATURE_LENGTH = 64;

function recognisePrintedBytes(_bytes: Buffer, bodyText: string): BodyForm | undefined {
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
  const [, , pythonText] = /^b(['"])([\s\S]*)\1$/.exec(text) ?? [];
  if (pythonText !== undefined) return printedForm("python_bytes", pythonBytes(pythonText));
  if (/^\d{1,3}(?:[, ]+\d{1,3}){3,}$/.test(text))
    return printedForm("byte_list", Buffer.from(text.split(/[, ]+/).map(Number)));
  if (/^(?:[0-9a-f]{2}){8,}$/i.test(text) && text.length !== SIGNATURE_LENGTH)
    return printedForm("hexadecimal", Buffer.from(text, "hex"));
  if (/^\\x(?:[0-9a-f]{2}){8,}$/i.test(text))
    return printedForm("postgresql_bytes", Buffer.from(text.slice(2), "hex"));
  return undefined;
}

function printedForm(detail: DetailName, innerBytes: Uint8Array | null): BodyForm {
  return formOf("body_printed", detailOf(detail), innerBytes);
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

function recognisePrintedObject(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const patterns: readonly (readonly [RegExp, DetailName])[] = [
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
  const detail = patterns.find(([pattern]) => pattern.test(text))?.[1];
  return detail === undefined ? undefined : printedForm(detail, null);
}

function recogniseMultipart(_bytes: Buffer, text: string): BodyForm | undefined {
  const [boundary = ""] = text.split(/\r?\n/, 1);
  const headEnd = text.indexOf("\r\n\r\n");
  const end = text.indexOf(`\r\n${boundary}`, headEnd + 4);
  if (!/^--\S+$/.test(boundary) || headEnd < 0 || end < 0) return undefined;
  return formOf("body_form_encoded", detailOf("multipart"), text.slice(headEnd + 4, end));
}

function recognisePercentEncoded(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const [, name, encodedText = ""] = /^([\w[\].-]*=)?(%7B\S*)$/i.exec(text) ?? [];
  if (encodedText !== "") {
    const [value = ""] = encodedText.split("&");
    const json = valueOrNull(() => decodeURIComponent(value.replace(/=$/, "").replaceAll("+", " ")));
    const detail = detailOf(name === undefined ? "percent_encoded" : "form_field");
    return formOf("body_form_encoded", detail, json);
  }
  const [, json] = /^[\w[\].-]+=(\{[\s\S]*\})$/.exec(text) ?? [];
  if (json !== undefined) return formOf("body_form_encoded", detailOf("form_field"), json);
  if (/^\w+=[^&\s]*(?:&[\w%[\].]+=[^&\s]*)+$/.test(text))
    return formOf("body_form_encoded", detailOf("form_of_fields"), null);
  return undefined;
}

function recogniseHtmlEscaped(_bytes: Buffer, text: string): BodyForm | undefined {
  if (!/^\s*\{\s*&(?:quot|#0?34|#x22);/i.test(text)) return undefined;
  const plainText = text
    .replaceAll(/&(?:quot|#0?34|#x22);/gi, '"')
    .replaceAll(/&(?:#0?39|#x27|apos);/gi, "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
  return formOf("body_html_escaped", detailOf("html_escapes"), plainText);
}

const BODY_FIELDS = ["body", "rawBody", "raw_body", "payload", "data", "Body", "Message", "message"];

function recogniseWrapped(_bytes: Buffer, text: string): BodyForm | undefined {
  const value = parseJson(text);
  if (!isRecord(value) || isEvent(value)) return undefined;
  for (const name of BODY_FIELDS) {
    const part = value[name];
    if (typeof part === "string" && part !== "") {
      const isBase64 =
        value["isBase64Encoded"] === true || (!part.trimStart().startsWith("{") && isBase64Json(part));
      const detail = detailOf(isBase64 ? "base64_field" : "body_field", name);
      return formOf("body_wrapped", detail, Buffer.from(part, isBase64 ? "base64" : "utf8"));
    }
    if (isRecord(part) && isEvent(part))
      return formOf("body_wrapped", detailOf("field_of_object", name), JSON.stringify(part));
  }
  const [firstRecord] = Array.isArray(value["Records"]) ? value["Records"] : [];
  if (!isRecord(firstRecord)) return undefined;
  const recordBody = typeof firstRecord["body"] === "string" ? firstRecord["body"] : null;
  return formOf("body_wrapped", detailOf("queue_records"), recordBody);
}

function recogniseQuotedJson(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  if (/^\{\s*\\"/.test(text)) {
    const plainText = parseJson(`"${text}"`);
    if (typeof plainText === "string")
      return formOf("body_stringified", detailOf("escaped_quotes"), plainText);
  }
  const [, quote, quotedInner = ""] = /^(['`])(\{[\s\S]*\})\1$/.exec(text) ?? [];
  if (quote !== undefined) return formOf("body_stringified", detailOf("in_quotes", quote), quotedInner);
  if (!/^"?\{""/.test(text)) return undefined;
  const fieldText = text.replaceAll(/^"|"$/g, "").replaceAll('""', '"');
  return formOf("body_stringified", detailOf("csv_field"), fieldText);
}

function recogniseOtherText(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const createForm = (detail: DetailFact): BodyForm => formOf("body_not_event", detail, null);
  if (/^<(?:!doctype html|html)\b/i.test(text)) return createForm(detailOf("html_page"));
  if (/^<\?xml\b|^<\w+[\s>]/.test(text)) return createForm(detailOf("xml"));
  if (/^@?[\w./\\-]+\.json$/.test(text)) return createForm(detailOf("name_of_file"));
  if (/^(?:true|false|null|undefined|None|nil|\{\}|\[\])$/.test(text))
    return createForm(detailOf("only_text", text));
  if (/^\[object \w+\]$/.test(text)) return undefined;
  if (/^whsec_|^svc_/.test(text)) return createForm(detailOf("a_secret"));
  if (/^[0-9a-f]{64}$/i.test(text)) return createForm(detailOf("a_signature"));
  return /^\{\s*[\u2018\u201c\u201d]/.test(text) ? printedForm("typographic_quotes", null) : undefined;
}

function recogniseBase64(_bytes: Buffer, bodyText: string): BodyForm | undefined {
  const text = bodyText.trim();
  const [, data] = /^data:[\w/+.-]*(?:;[\w=-]+)*;base64,(\S+)$/.exec(text) ?? [];
  const encodedText = data ?? text.replaceAll(/\s/g, "");
  if (!isBase64Json(encodedText)) return undefined;
  return formOf("body_base64", detailOf("from_base64"), Buffer.from(encodedText, "base64"));
}

function recognisePrefixed(_bytes: Buffer, text: string): BodyForm | undefined {
  const [, prefix = "", json = ""] = /^([^{[\n]{1,200}?)(\{"[\s\S]*\})\s*$/.exec(text.trim()) ?? [];
  if (prefix.trim() === "" || prefix.startsWith("\ufeff") || parseJson(json) === undefined) return undefined;
  return formOf("body_prefixed", detailOf("behind_text"), json);
}

function recogniseCutOff(bytes: Buffer, text: string): BodyForm | undefined {
  if (!/^\s*\{\s*"/.test(text) || parseJson(text) !== undefined) return undefined;
  if (/^\s*\{[\s\S]*\}\s*$/.test(text)) return undefined;
  const detail = detailOf(COMMON_LIMITS.has(bytes.length) ? "cut_at_limit" : "cut", bytes.length);
  return formOf("body_cut", detail, null);
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

function isText(bytes: Buffer): boolean {
  return !bytes.includes(0) && Buffer.from(bytes.toString("utf8"), "utf8").equals(bytes);
}

function valueOrNull<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch {
    return null;
  }
}
