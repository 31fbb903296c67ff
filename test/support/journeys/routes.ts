import { areaOf, AREAS } from "../../../src/sandbox/areas.ts";
import { createRouter, type Route, type Router } from "../../../src/web/router.ts";

/** A route into the program: a method with a path of its route tables, such as `GET /portal/{store_id}/keys`. */
export type RouteName = string;

/** All routes of the tables, and a function that finds the route of a request. */
export type RouteTable = {
  readonly all: readonly RouteName[];
  /** Undefined for a request without a route. */
  readonly of: (method: string, target: string) => RouteName | undefined;
};

/** The addresses of the portal are below an unguessable path, which the table lacks. */
const SECRET_PATH = /^\/portal\/k-[^/]+/;

/** Reads the routes of all areas from their tables. */
export async function readRouteTable(): Promise<RouteTable> {
  const routers = new Map<string, Router<Route>>();
  const all: RouteName[] = [];
  for (const { prefix, routes } of AREAS) {
    const table = await routes();
    routers.set(prefix, createRouter(table, { owner: ["this area", "此区域"] }));
    all.push(...table.flatMap(({ methods, path }) => methods.map((method) => `${method} ${path}`)));
  }
  const of = (method: string, target: string): RouteName | undefined => {
    const [path = ""] = target.replace(SECRET_PATH, "/portal").split("?");
    const found = routers.get(areaOf({ target: path }).prefix)?.(method, path);
    return found?.ok === true ? `${method} ${found.value.route.path}` : undefined;
  };
  return { all: [...new Set(all)], of };
}

/** The routes that no request has used. */
export function unusedRoutes(all: readonly RouteName[], used: ReadonlySet<RouteName>): readonly RouteName[] {
  return all.filter((route) => !used.has(route));
}
