import type { Route } from "../../src/web/router.ts";

/** What stands in the store that pages are asked for: an id for each folder of the portal's addresses. */
export type PortalIds = Readonly<Record<string, string>> & { readonly store_id: string };

/** A page of the portal, and its address in a store. */
export type PortalPage = { readonly path: string; readonly role: string; readonly address: string };

/** Paths that no page is under. */
const NO_PAGE = /^\/portal\/assets\//;

/** Every page of the portal's table. An id that nobody has named fails, so that a new page cannot escape. */
export function portalPages(routes: readonly Route[], ids: PortalIds): PortalPage[] {
  return routes
    .filter(({ methods, path }) => methods.includes("GET") && !NO_PAGE.test(path))
    .map(({ path, role }) => ({ path, role, address: addressOf(path, ids) }));
}

/** `{id}` is named by the folder that it stands in: `/checkouts/{id}`, `/requests/{id}`. */
function addressOf(path: string, ids: PortalIds): string {
  return path.replaceAll(/(\w+)\/\{(\w+)\}/g, (_all, folder: string, name: string) => {
    const key = name === "id" ? folder : name;
    const value = ids[key];
    if (value === undefined) throw new Error(`${path}: say in the test which id stands for ${key}`);
    return `${folder}/${value}`;
  });
}
