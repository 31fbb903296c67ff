import { DEFAULT_STORE } from "../../../core/control/operation.ts";
import { ERRORS } from "../../../core/errors.ts";
import { accept, refuse, type Refusal } from "../../../core/outcome.ts";
import { splitTarget } from "../../../web/http.ts";
import { languageOf } from "../../../web/language.ts";
import { assetResponse, pageResponse } from "../../../web/page.ts";
import { createRouter } from "../../../web/router.ts";
import type { HttpRequest } from "../../../world.ts";
import type { Answer } from "../../answer.ts";
import type { Area } from "../../area.ts";
import { ADMIN_ROUTES } from "./admin/routes.ts";
import { CHECKOUT_ROUTES } from "./checkout/routes.ts";
import { errorPage } from "../shared/error-page.ts";
import { PORTAL_SCRIPT_PATH, PORTAL_STYLE_PATH } from "./frame.ts";
import script from "./portal.js?raw";
import style from "./portal.css?raw";
import adminStyle from "./admin/admin.css?raw";
import checkoutStyle from "./checkout/checkout.css?raw";
import readinessStyle from "./readiness/readiness.css?raw";
import requestStyle from "./request/request.css?raw";
import storeStyle from "./store/store.css?raw";
import webhookStyle from "./webhook/webhook.css?raw";

import { READINESS_ROUTES } from "./readiness/routes.ts";
import { REQUEST_ROUTES } from "./request/routes.ts";
import { sentOn, type PortalRoute } from "./route.ts";
import { sessionOf, SIGN_IN_PATH, SIGN_IN_ROUTES } from "./sign-in.ts";
import { STORE_ROUTES } from "./store/routes.ts";
import { WEBHOOK_ROUTES } from "./webhook/routes.ts";
import type { PortalContext, Viewer } from "./view.ts";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** One file for the browser: the frame, then each room. */
const STYLES = [style, adminStyle, checkoutStyle, readinessStyle, requestStyle, storeStyle, webhookStyle];

const ROUTES: readonly PortalRoute[] = [
  {
    methods: ["GET"],
    path: "/portal",
    role: "portal merchant",
    entersStore: true,
    answer: ({ store }, call) => {
      const first = store.stores.first();
      return first === undefined
        ? refuse("not_found", "this sandbox has no store")
        : accept(sentOn(call, `/portal/${first.id}/start`));
    },
  },
  asset(PORTAL_STYLE_PATH, "text/css", STYLES.join("\n")),
  asset(PORTAL_SCRIPT_PATH, "text/javascript", script),
  ...SIGN_IN_ROUTES,
  ...STORE_ROUTES,
  ...CHECKOUT_ROUTES,
  ...WEBHOOK_ROUTES,
  ...REQUEST_ROUTES,
  ...READINESS_ROUTES,
  ...ADMIN_ROUTES,
];

const find = createRouter(ROUTES, { owner: "the portal", segments: { store_id: UUID, id: UUID } });

/** Everything under `/portal`: who is signed in, then the route. A refusal is a page too. */
export const PORTAL: Area<PortalContext, Viewer> = {
  routes: ROUTES,
  find,
  requestIds: "portal",
  admit: ({ portal }, request) => {
    const { path } = splitTarget(request.target);
    const session = sessionOf(portal, request);
    const isOpen = path === SIGN_IN_PATH || path.startsWith("/portal/assets/");
    if (session !== undefined || isOpen) return accept(session);
    return refuse("credential_missing", "nobody is signed in here: checkout open signs this browser in");
  },
  storeOf: ({ store }, request) => {
    const found = find(request.method, splitTarget(request.target).path);
    if (!found.ok || !found.value.route.entersStore) return undefined;
    const { store_id: storeId = DEFAULT_STORE } = found.value.params;
    return store.stores.names(storeId) === undefined ? undefined : storeId;
  },
  refuse: (_context, { request, requestId }, refusal) => refusalPage(request, requestId, refusal),
  fail: refusalPage,
};

function asset(path: string, contentType: string, text: string): PortalRoute {
  const answer: Answer = { ...assetResponse(contentType, text), unlogged: true };
  return { methods: ["GET"], path, role: "anyone", entersStore: true, answer: () => accept(answer) };
}

function refusalPage(request: HttpRequest, requestId: string, refusal: Refusal): Answer {
  const language = languageOf(request);
  const markup = errorPage(language, { refusal, leadsBack: undefined });
  return {
    ...pageResponse({ status: ERRORS[refusal.code].status, markup, language }, requestId),
    note: refusal.code,
  };
}
