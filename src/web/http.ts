import type { HttpBody, HttpRequest } from "../world.ts";

/** All values of a header, one for each header line. */
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

/** The names that browsers asked proxies for, in lower case, where those say it. */
export function forwardedHosts(request: HttpRequest): string[] {
  const lines = headerLines(request, "x-forwarded-host");
  return lines.flatMap((line) => line.split(",")).map((name) => name.trim().toLowerCase());
}

/** The path and the query of a request target in origin form: `/v1/orders?a=1`. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const mark = target.indexOf("?");
  return mark === -1
    ? { path: target, query: "" }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

const ABSOLUTE_FORM = /^http:\/\/([^/?#]+)(.*)$/is;

/**
 * A request to an absolute URI as one to its path. Its Host is that of the URI, whatever the header says (RFC 9112,
 * section 3.2.2); a Host that is missing or doubled stays so.
 */
export function inOriginForm(request: HttpRequest): HttpRequest {
  if (request.target.startsWith("/")) return request;
  const [, host, rest = ""] = ABSOLUTE_FORM.exec(request.target) ?? [];
  if (host === undefined) return request;
  const rawHeaders = request.rawHeaders.map((text, index) =>
    index % 2 === 1 && request.rawHeaders[index - 1]?.toLowerCase() === "host" ? host : text,
  );
  return { ...request, rawHeaders, target: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Whether a body is there at once, and not a stream. */
export function isWhole(body: HttpBody): body is string | Uint8Array {
  return typeof body === "string" || body instanceof Uint8Array;
}
