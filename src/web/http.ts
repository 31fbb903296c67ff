import type { HttpBody, HttpRequest } from "../world.ts";

export function headerLines(
  { rawHeaders }: Pick<HttpRequest, "rawHeaders">,
  lowerCaseName: string,
): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length !== lowerCaseName.length || name.toLowerCase() !== lowerCaseName) continue;
    values.push(rawHeaders[index + 1] ?? "");
  }
  return values;
}

/**
 * Reads `X-Forwarded-Host` and `Forwarded` (RFC 7239). A malformed `Forwarded` is returned whole, so that it matches no
 * allowed host.
 */
export function readForwardedHosts(request: Pick<HttpRequest, "rawHeaders">): string[] {
  const names = headerLines(request, "x-forwarded-host").flatMap((line) => line.split(","));
  const hosts = headerLines(request, "forwarded").flatMap(hostsOfForwarded);
  return [...names, ...hosts].map((name) => name.trim().toLowerCase());
}

/** Unlike RFC 7239, allows an unquoted colon before a port. */
const FORWARDED_PAIR =
  /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?[ \t]*(?:[,;]|$)/y;

function hostsOfForwarded(line: string): string[] {
  const hosts: string[] = [];
  FORWARDED_PAIR.lastIndex = 0;
  while (FORWARDED_PAIR.lastIndex < line.length) {
    const pair = FORWARDED_PAIR.exec(line);
    if (pair === null) return [line];
    const [, name = "", quotedValue, token = ""] = pair;
    if (name.toLowerCase() === "host") hosts.push(quotedValue?.replaceAll(/\\(.)/g, "$1") ?? token);
  }
  return hosts;
}

export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const queryStart = target.indexOf("?");
  return queryStart === -1
    ? { path: target, query: "" }
    : { path: target.slice(0, queryStart), query: target.slice(queryStart + 1) };
}

const ABSOLUTE_FORM = /^http:\/\/([^/?#]+)(.*)$/is;

/**
 * Turns an absolute target into a path, and its host into the Host header (RFC 9112, 3.2.2). Does not add a missing
 * Host or remove a second one, so that both are still refused.
 */
export function toOriginForm(request: HttpRequest): HttpRequest {
  if (request.target.startsWith("/")) return request;
  const [, host, tail = ""] = ABSOLUTE_FORM.exec(request.target) ?? [];
  if (host === undefined) return request;
  const rawHeaders = request.rawHeaders.map((text, index) =>
    index % 2 === 1 && request.rawHeaders[index - 1]?.toLowerCase() === "host" ? host : text,
  );
  return { ...request, rawHeaders, target: tail.startsWith("/") ? tail : `/${tail}` };
}

export function isWholeBody(body: HttpBody): body is string | Uint8Array {
  return typeof body === "string" || ArrayBuffer.isView(body);
}
