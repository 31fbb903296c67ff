import { accept, refuse, type Outcome } from "../core/outcome.ts";
import { printableLiteral } from "../core/text.ts";

/** What every row of a routing table has. */
export type Route = {
  readonly methods: readonly string[];
  /** `/pay/{checkout_id}/start`: a name in braces stands for one segment. */
  readonly path: string;
  /** The role that it requires. */
  readonly role: string;
};

/** The row of a request, and the named segments of its path. */
export type Found<Row> = { readonly route: Row; readonly params: Readonly<Record<string, string>> };

/** Finds the row of a request. Refuses with `not_found`, or with `method_not_allowed` and the allowed methods. */
export type Router<Row> = (method: string, path: string) => Outcome<Found<Row>>;

/**
 * A router of one table. `segments` are regular expressions for named segments that are restricted; `owner` is named in
 * the refusal of an unknown path.
 */
export function createRouter<Row extends Route>(
  routes: readonly Row[],
  { owner, segments = {} }: { readonly owner: string; readonly segments?: Readonly<Record<string, string>> },
): Router<Row> {
  const patterns = routes.map((route) => ({ route, pattern: patternOf(route.path, segments) }));
  return (method, path) => {
    const fitting = patterns.flatMap(({ route, pattern }) => {
      const match = pattern.exec(path);
      return match === null ? [] : [{ route, params: { ...match.groups } }];
    });
    if (fitting.length === 0) return refuse("not_found", `${owner} has no ${printableLiteral(path)}`);
    const found = fitting.find(({ route }) => route.methods.includes(method));
    if (found !== undefined) return accept(found);
    const allow = fitting.flatMap(({ route }) => route.methods).join(", ");
    const message = `${printableLiteral(path)} takes ${allow}; got ${printableLiteral(method)}`;
    return refuse("method_not_allowed", message, { allow });
  };
}

function patternOf(path: string, segments: Readonly<Record<string, string>>): RegExp {
  const parts = path.split(/\{(\w+)\}/).map((part, index) => {
    const isName = index % 2 === 1;
    return isName ? `(?<${part}>${segments[part] ?? "[^/]+"})` : part.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`);
}
