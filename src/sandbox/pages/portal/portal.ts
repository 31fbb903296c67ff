import { DEFAULT_STORE } from "../../../core/control/protocol.ts";
import { hostHeaders } from "../../../core/network/public-url.ts";
import { accept, resultOrUndefined, type Outcome } from "../../../core/outcome.ts";
import { refuseFact } from "../../../core/refusals.ts";
import { printableLiteral, UUID_SOURCE } from "../../../core/text.ts";
import { refuseForeignPages } from "../../../web/guard.ts";
import { readForwardedHosts, headerLines, splitTarget } from "../../../web/http.ts";
import type { Asset } from "../../../web/asset.ts";
import { createRouter } from "../../../web/router.ts";
import type { HttpRequest } from "../../../world.ts";
import {
  callerOfSession,
  defaultStoreOf,
  hasAccessToExistingStore,
  requireRole,
  requireStoreAccess,
} from "../../access/caller.ts";
import { withoutSecrets } from "../../access/redaction.ts";
import type { Area, AreaRequest } from "../../area.ts";
import type { PortalSession } from "../../runtime/portal-access.ts";
import { assetRoute } from "../shared/assets.ts";
import { PORTAL_ASSETS } from "./assets.ts";
import { translatePortalPath } from "./edge.ts";
import { portalRoute, redirectTo, type PortalRoute } from "./route.ts";
import { SIGNED_IN_ROUTES } from "./routes.ts";
import { failurePage, portalRefusalPage } from "./sign-in/refusal-page.ts";
import { roleOfPath, sessionOf } from "./sign-in/session-cookie.ts";
import { SIGN_IN_ROUTES } from "./sign-in/sign-in.ts";
import type { PermissionCheck, PortalContext, Viewer } from "./view.ts";

const UNGUARDED_ROUTES: readonly PortalRoute[] = [
  firstStoreRoute("/portal"),
  ...PORTAL_ASSETS.map(portalAssetRoute),
  ...SIGN_IN_ROUTES,
  ...SIGNED_IN_ROUTES,
  firstStoreRoute("/portal/{anything}"),
];

const ROUTES = UNGUARDED_ROUTES.map(guardRoute);

/** Names directly below `/portal`, which must not be searched as ids. */
const RESERVED_NAMES = new Set(ROUTES.flatMap(({ path }) => /^\/portal\/([\w-]+)$/.exec(path)?.[1] ?? []));

const find = createRouter(ROUTES, {
  owner: ["the portal", "控制台"],
  segments: {
    store_id: UUID_SOURCE,
    id: UUID_SOURCE,
    anything: `(?!(?:${[...RESERVED_NAMES].join("|")})$)[^/]+`,
  },
});

export const PORTAL_AREA: Area<PortalContext, Viewer> = {
  routes: ROUTES,
  find,
  requestIdStream: "portal",
  admit: ({ portal }, request) => {
    const hostCheck = requirePortalHost(portal, request);
    if (!hostCheck.ok) return hostCheck;
    const { path } = splitTarget(request.target);
    const match = find(request.method, path);
    const route = match.ok ? match.value.route : undefined;
    const access = route?.isOwnPagesOnly === true ? "from its own pages" : "from anywhere";
    const pageCheck = refuseForeignPages(request, { opens: access });
    if (!pageCheck.ok) return pageCheck;
    const viewer = viewerOf(portal, request);
    if (viewer !== undefined || route?.role === "anyone") return accept(viewer);
    return refuseFact("not_signed_in", {});
  },
  storeIdOf: ({ store }, request) => {
    const match = find(request.method, splitTarget(request.target).path);
    if (!match.ok || !match.value.route.entersStore) return undefined;
    const { store_id: storeId = DEFAULT_STORE } = match.value.params;
    return store.stores.names(storeId) === undefined ? undefined : storeId;
  },
  refuse: (context, page, refusal) =>
    portalRefusalPage(context, { ...page, viewer: viewerOf(context.portal, page.request) }, refusal),
  fail: (request, requestId, refusal) => failurePage({ request, requestId }, refusal),
  translate: translatePortalPath,
};

function guardRoute(route: PortalRoute): PortalRoute {
  return {
    ...route,
    answer: async (context, call) => {
      const { caller: session, params } = call;
      const permission = permitRoute(session, { route, params });
      if (!permission.ok) return permission;
      const answer = await route.answer(context, call);
      const isForViewer = route.minRole !== null && session?.limit?.role === "viewer";
      if (!answer.ok || typeof answer.value.body !== "string" || !isForViewer) return answer;
      return accept({ ...answer.value, body: withoutSecrets(answer.value.body, context.secrets) });
    },
  };
}

/** `may` lets pages omit forms and links that would be refused. */
function viewerOf(portal: PortalContext["portal"], request: HttpRequest): Viewer {
  const session = sessionOf(portal, request, roleOfPath(splitTarget(request.target).path));
  const mayOpen: PermissionCheck = (method, address) => {
    const match = find(method, address.replace(/[?#].*/s, ""));
    return match.ok && permitRoute(session, match.value).ok;
  };
  return session && { ...session, may: mayOpen };
}

function permitRoute(
  session: PortalSession | undefined,
  { route, params }: Pick<AreaRequest, "params"> & { readonly route: PortalRoute },
): Outcome<void> {
  const { minRole } = route;
  if (minRole === null) return accept(undefined);
  if (session === undefined) return refuseFact("not_signed_in", {});
  const caller = callerOfSession(session);
  const permission = requireRole(caller, minRole, "this page");
  return permission.ok ? requireStoreAccess(caller, params["store_id"]) : permission;
}

/**
 * Accepts only the portal's host names, also in forwarded headers, because payment pages have other hosts (decision 1).
 */
function requirePortalHost({ origin, port }: PortalContext["portal"], request: HttpRequest): Outcome<void> {
  const [host = ""] = headerLines(request, "host");
  if (/^(127\.0\.0\.1|\[::1\])(:|$)/.test(host)) return refuseFact("portal_elsewhere", { origin });
  const { host: ownHost } = new URL(origin);
  const hosts = new Set([...hostHeaders(origin), `${ownHost}:443`, `${ownHost}:80`, `localhost:${port}`]);
  const foreignHost = readForwardedHosts(request).find((name) => !hosts.has(name));
  if (foreignHost === undefined) return accept(undefined);
  return refuseFact("portal_wrong_host", { origin, received: printableLiteral(foreignHost) });
}

function firstStoreRoute(path: "/portal" | "/portal/{anything}"): PortalRoute {
  return portalRoute({ path, minRole: "viewer" }, ({ store }, call) => {
    const { anything = "start" } = call.params;
    const caller = callerOfSession(call.caller);
    if (hasAccessToExistingStore(store, caller, anything))
      return accept(redirectTo(call, `/portal/${anything}/start`));
    const defaultStoreId = defaultStoreOf(store, caller);
    if (defaultStoreId === undefined) return refuseFact("no_store_at_all", {});
    const page = `/portal/${defaultStoreId}/${anything}`;
    const isPage = find("GET", page).ok;
    const query = call.query === "" ? "" : `?${call.query}`;
    const findPath = `/portal/${defaultStoreId}/find?q=${encodeURIComponent(resultOrUndefined(() => decodeURIComponent(anything)) ?? anything)}`;
    return accept(redirectTo(call, isPage ? `${page}${query}` : findPath));
  });
}

function portalAssetRoute(asset: Asset): PortalRoute {
  return { ...assetRoute(asset), minRole: null, entersStore: false, isOwnPagesOnly: true };
}
