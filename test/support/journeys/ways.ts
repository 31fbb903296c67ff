import { areaOf, AREAS } from "../../../src/sandbox/areas.ts";
import { createRouter, type Route, type Router } from "../../../src/web/router.ts";

/** A way into the program: a method with a path of its route tables, such as `GET /portal/{store_id}/keys`. */
export type Way = string;

/** Every way of the tables, and the way that a request takes. */
export type Ways = {
  readonly all: readonly Way[];
  /** Undefined for a request without a route. */
  readonly of: (method: string, target: string) => Way | undefined;
};

/** The addresses of the portal are below an unguessable path, which the table lacks. */
const SECRET_PATH = /^\/portal\/k-[^/]+/;

/** Reads the ways of the tables of all areas. */
export async function waysOfAllAreas(): Promise<Ways> {
  const routers = new Map<string, Router<Route>>();
  const all: Way[] = [];
  for (const { prefix, routes } of AREAS) {
    const table = await routes();
    routers.set(prefix, createRouter(table, { owner: ["this area", "此区域"] }));
    all.push(...table.flatMap(({ methods, path }) => methods.map((method) => `${method} ${path}`)));
  }
  const of = (method: string, target: string): Way | undefined => {
    const [path = ""] = target.replace(SECRET_PATH, "/portal").split("?");
    const found = routers.get(areaOf({ target: path }).prefix)?.(method, path);
    return found?.ok === true ? `${method} ${found.value.route.path}` : undefined;
  };
  return { all: [...new Set(all)], of };
}

/** The ways that no request has taken. */
export function untaken(all: readonly Way[], taken: ReadonlySet<Way>): readonly Way[] {
  return all.filter((way) => !taken.has(way));
}
