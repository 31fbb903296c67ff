import { areaOf, AREAS } from "../../../src/sandbox/areas.ts";
import { createRouter, type Route, type Router } from "../../../src/web/router.ts";

/** A route into the program: a method with a path of its route tables, such as `GET /portal/{store_id}/keys`. */
export type Way = string;

/** All routes of the tables, and a function that finds the route of a request. */
export type Ways = {
  readonly all: readonly Way[];
  /** Undefined for a request without a route. */
  readonly of: (method: string, target: string) => Way | undefined;
};

/** The addresses of the portal are below an unguessable path, which the table lacks. */
const SECRET_PATH = /^\/portal\/k-[^/]+/;

/** Reads the routes of all areas from their tables. */
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

/** The routes that no request has used. */
export function untaken(all: readonly Way[], taken: ReadonlySet<Way>): readonly Way[] {
  return all.filter((way) => !taken.has(way));
}
