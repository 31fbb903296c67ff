import type { Route } from "../../src/web/router.ts";

/** The ids with which the portal's pages are requested, each by the path segment before it or by its parameter. */
export type PortalIds = Readonly<Record<string, string>> & { readonly store_id: string };

/** A page of the portal, and its address in a store. */
export type PortalPage = { readonly path: string; readonly role: string; readonly address: string };

/** Paths below which there is no page. */
const NO_PAGE = /^\/portal\/assets\//;

/** Every page of the portal's table. An id without a value throws, so that a new page cannot be missed. */
export function portalPages(routes: readonly Route[], ids: PortalIds): PortalPage[] {
  return routes
    .filter(({ methods, path }) => methods.includes("GET") && !NO_PAGE.test(path))
    .map(({ path, role }) => ({ path, role, address: addressOf(path, ids) }));
}

/**
 * The path of a page with ids for its parameters; the folder before `{id}` names the id: `/checkouts/{id}`,
 * `/requests/{id}`.
 */
function addressOf(path: string, ids: PortalIds): string {
  return path.replaceAll(/(\w+)\/\{(\w+)\}/g, (_all, folder: string, name: string) => {
    const key = name === "id" ? folder : name;
    const value = ids[key];
    if (value === undefined) throw new Error(`${path}: say in the test which id stands for ${key}`);
    return `${folder}/${value}`;
  });
}
