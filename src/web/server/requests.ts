import type { IncomingMessage } from "node:http";
import type { Refusal } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { HttpRequest, ServerLimits } from "../../world.ts";
import { toOriginForm } from "../http.ts";
import { isFromOutside } from "./connections.ts";
import { SERVER_LIMITS, DEFAULT_LIMITS } from "./limits.ts";

export function bodyLimit(
  target: string,
  { bodyBytes = DEFAULT_LIMITS.bodyBytes, bodyLimits = [] }: Partial<ServerLimits>,
): number {
  return bodyLimits.find(({ path }) => path.test(target))?.bodyBytes ?? bodyBytes;
}

export function requestOf(
  { method = "", url: target = "", rawHeaders, socket }: IncomingMessage,
  body: Uint8Array,
): HttpRequest {
  return toOriginForm({ method, target, rawHeaders, body, isFromOutside: isFromOutside(socket) });
}

/** Returns a refusal if the request is invalid; undefined if the client disconnected. */
export function readBody(
  incoming: IncomingMessage,
  limits: ServerLimits,
): Uint8Array | Refusal | Promise<Uint8Array | Refusal | undefined> {
  const bodyBytes = bodyLimit(incoming.url ?? "", limits);
  return (
    readErrorOf(incoming, bodyBytes) ?? headErrorOf(incoming, limits) ?? receiveBody(incoming, bodyBytes)
  );
}

function readErrorOf(
  { httpVersion, headers, rawHeaders }: IncomingMessage,
  bodyBytes: number,
): Refusal | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return refuseFact("http_version", { received: `HTTP/${httpVersion}` }).refusal;
  }
  if (rawHeaders.length > SERVER_LIMITS.headerLines * 2) {
    return refuseFact("header_lines", { most: SERVER_LIMITS.headerLines }).refusal;
  }
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    return refuseFact("transfer_coding", {}).refusal;
  }
  const length = headers["content-length"];
  return length !== undefined && Number(length) > bodyBytes ? bodyTooLargeError(bodyBytes) : undefined;
}

function headErrorOf(
  { method = "", url = "", rawHeaders }: IncomingMessage,
  { largerHeads }: ServerLimits,
): Refusal | undefined {
  if (largerHeads === undefined) return undefined;
  const { paths, headBytes } = largerHeads;
  const isLarger = paths.some((path) => url.startsWith(path) && /^[/?]?$/.test(url.charAt(path.length)));
  const limit = isLarger ? headBytes : SERVER_LIMITS.headBytes;
  return method.length + url.length + bytesOf(rawHeaders) > limit ? headError(limit) : undefined;
}

function headError(maximum: number): Refusal {
  return refuseFact("head_bytes", { most: maximum }).refusal;
}

/** Node decodes each byte as one character (Latin-1). */
function bytesOf(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

export const EMPTY_BODY = new Uint8Array();

export function bodyTooLargeError(maximum: number): Refusal {
  return refuseFact("body_too_large", { most: maximum }).refusal;
}

function receiveBody(
  incoming: IncomingMessage,
  bodyBytes: number,
): Uint8Array | Promise<Uint8Array | Refusal | undefined> {
  const { headers } = incoming;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined)
    return EMPTY_BODY;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > bodyBytes) resolve(bodyTooLargeError(bodyBytes));
      else chunks.push(chunk);
    });
    incoming.on("end", () => {
      if (bytesOf(incoming.rawTrailers) > SERVER_LIMITS.headBytes)
        resolve(headError(SERVER_LIMITS.headBytes));
      else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    incoming.on("close", () => resolve(undefined));
  });
}

export const LATE_REQUEST_ERROR: Refusal = refuseFact("request_timeout", {
  seconds: SERVER_LIMITS.requestTimeoutMs / 1000,
  headSeconds: SERVER_LIMITS.headersTimeoutMs / 1000,
}).refusal;

export function parserError({ code, message }: NodeJS.ErrnoException): Refusal {
  if (code === "HPE_HEADER_OVERFLOW") return refuseFact("head_overflow", {}).refusal;
  return code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? LATE_REQUEST_ERROR
    : refuseFact("invalid_http", { reason: message }).refusal;
}
