import type { HttpRequest } from "../world.ts";

/** All values of a header, one for each header line. */
export function headerLines(request: HttpRequest, lowerCaseName: string): string[] {
  const values: string[] = [];
  const { rawHeaders } = request;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length !== lowerCaseName.length || name.toLowerCase() !== lowerCaseName) continue;
    values.push(rawHeaders[index + 1] ?? "");
  }
  return values;
}

/** The path and the query of a request target in origin form: `/v1/orders?a=1`. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const mark = target.indexOf("?");
  return mark === -1
    ? { path: target, query: "" }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
