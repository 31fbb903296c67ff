import type { Words } from "../core/language.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { refuseFact } from "../core/refusals.ts";
import { printableLiteral } from "../core/text.ts";

export type Route = {
  /** GET includes HEAD, which gets the same answer without the body (RFC 9110, section 9.3.2). */
  readonly methods: readonly string[];
  /** For example `/pay/{checkout_id}/start`; a name in braces matches one segment. */
  readonly path: string;
  readonly role: string;
};

type RouteMatch<Row> = { readonly route: Row; readonly params: Readonly<Record<string, string>> };

/** Refuses with `not_found`, or with `method_not_allowed` and the allowed methods. */
export type Router<Row> = (method: string, path: string) => Outcome<RouteMatch<Row>>;

/**
 * `segments`: a regular expression for a named segment. `owner`: the name of the service in the refusal of an unknown
 * path.
 */
export function createRouter<Row extends Route>(
  routes: readonly Row[],
  { owner, segments = {} }: { readonly owner: Words; readonly segments?: Readonly<Record<string, string>> },
): Router<Row> {
  const compiledRoutes = routes.map((route) => ({
    route,
    routeMethods: route.methods.includes("GET") ? [...route.methods, "HEAD"] : route.methods,
    readParams: createPathReader(route.path, segments),
  }));
  return (method, path) => {
    for (const { route, routeMethods, readParams } of compiledRoutes) {
      const params = routeMethods.includes(method) ? readParams(path) : undefined;
      if (params !== undefined) return accept({ route, params });
    }
    const shownPath = printableLiteral(path);
    const allowedMethods = compiledRoutes.flatMap(({ routeMethods, readParams }) =>
      readParams(path) === undefined ? [] : routeMethods,
    );
    if (allowedMethods.length === 0)
      return refuseFact("unknown_path", { owner: owner[0], chinese: owner[1], received: shownPath });
    const methods = [...allowedMethods, "OPTIONS"];
    const values = { path: shownPath, methods, received: printableLiteral(method) };
    return refuseFact("method_not_allowed", values, { allow: methods.join(", ") });
  };
}

type Params = Readonly<Record<string, string>>;

const NO_PARAMS: Params = {};

function createPathReader(pattern: string, segments: Params): (path: string) => Params | undefined {
  const [prefix = "", ...otherParts] = pattern.split(/\{(\w+)\}/);
  if (otherParts.length === 0) return (path) => (path === pattern ? NO_PARAMS : undefined);
  const sourceParts = otherParts.map((part, index) =>
    index % 2 === 0 ? `(?<${part}>${segments[part] ?? "[^/]+"})` : escapeLiteral(part),
  );
  const expression = new RegExp(`^${escapeLiteral(prefix)}${sourceParts.join("")}$`);
  return (path) => (path.startsWith(prefix) ? expression.exec(path)?.groups : undefined);
}

function escapeLiteral(text: string): string {
  return text.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&");
}
