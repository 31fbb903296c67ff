import { CONTROL_PREFIX } from "../core/control/protocol.ts";
import type { AllowedHosts } from "../core/loopback.ts";
import { accept, type Refusal } from "../core/outcome.ts";
import { refuseFact } from "../core/refusals.ts";
import { jsonHeaders } from "../web/answer.ts";
import { createRouter, type Route } from "../web/router.ts";
import type { HttpRequest } from "../world.ts";
import { answerRefusal, storageRefusal, type Answer } from "./answer.ts";
import { answerInArea, type Area, type AreaRoute } from "./area.ts";
import { V1_AREA, type ApiContext } from "./api/v1.ts";
import type { ServiceContext } from "./context.ts";
import type { ControlContext } from "./control/control-api.ts";
import type { PaymentAreaContext } from "./pages/payment/routes.ts";
import type { PortalContext } from "./pages/portal/view.ts";

export type AreasContext = ApiContext & ControlContext & PaymentAreaContext & PortalContext & FallbackContext;

/** Each audience is served under its own host names. */
type Audience = "merchant" | "control" | "portal" | "browser";

export type HostsByAudience = Readonly<
  Record<Audience, { readonly local: AllowedHosts; readonly remote: AllowedHosts }>
>;

type MountedArea = ReturnType<typeof mount>;

type FallbackContext = ServiceContext &
  Pick<PaymentAreaContext, "localOrigin"> &
  Pick<PortalContext, "portal"> & {
    readonly isReady: () => Promise<boolean>;
  };

const FALLBACK_ROUTES: readonly AreaRoute<FallbackContext>[] = [
  {
    methods: ["GET"],
    path: "/",
    role: "anyone",
    answer: async (context, call) => {
      const { homeAnswer } = await import("./pages/shared/home-page.ts");
      return accept(homeAnswer(call, context));
    },
  },
  {
    methods: ["GET"],
    path: "/healthz",
    role: "anyone",
    // The health check needs no key, so it says only whether the service is ready, and why not (decision 43).
    answer: async ({ store, isReady }, { requestId }) => {
      if (!(await isReady())) return refuseFact("starting", {}, { retryAfterSeconds: 1 });
      const failure = store.failure();
      if (failure !== undefined) return { ok: false, refusal: storageRefusal(failure) };
      return accept({ status: 200, headers: jsonHeaders(requestId), body: '{"ok":true}' });
    },
  },
];

const FALLBACK_ROUTES_AREA: Area<FallbackContext> = {
  routes: FALLBACK_ROUTES,
  find: createRouter(FALLBACK_ROUTES, {
    owner: ["the API is under /v1; this server", "API 在 /v1 下；本服务器"],
  }),
  requestIdStream: "rest",
  admit: () => accept(undefined),
  storeIdOf: () => undefined,
  refuse: (_context, { requestId }, refusal) => answerRefusal(requestId, refusal),
  fail: (_request, requestId, refusal) => answerRefusal(requestId, refusal),
};

const FALLBACK_AREA = mount("/", "merchant", () => FALLBACK_ROUTES_AREA);

/**
 * Pages and the control API are loaded at their first request, so that a start does not wait for them. The first
 * matching prefix wins.
 */
export const AREAS: readonly MountedArea[] = [
  mount("/v1/", "merchant", () => V1_AREA),
  mount(CONTROL_PREFIX, "control", async () => (await import("./control/control-api.ts")).CONTROL_AREA),
  mount("/pay/", "merchant", loadPages),
  mount("/assets/", "browser", loadPages),
  mount("/portal", "portal", async () => (await import("./pages/portal/portal.ts")).PORTAL_AREA),
  FALLBACK_AREA,
];

export function areaOf({ target }: Pick<HttpRequest, "target">): MountedArea {
  return AREAS.find(({ prefix }) => target.startsWith(prefix)) ?? FALLBACK_AREA;
}

function mount<AreaCaller>(
  prefix: string,
  audience: Audience,
  load: () => Area<AreasContext, AreaCaller> | Promise<Area<AreasContext, AreaCaller>>,
) {
  // Cached, because in the bundle each dynamic import copies the exports of its module.
  let area: Area<AreasContext, AreaCaller> | undefined;
  const getArea = async (): Promise<Area<AreasContext, AreaCaller>> => (area ??= await load());
  return {
    prefix,
    audience,
    routes: async (): Promise<readonly Route[]> => (await getArea()).routes,
    answer: (context: AreasContext, request: HttpRequest): Promise<Answer> =>
      area === undefined
        ? getArea().then((loadedArea) => answerTranslated(loadedArea, context, request))
        : answerTranslated(area, context, request),
    fail: async (
      context: AreasContext,
      { request, requestId }: { readonly request: HttpRequest; readonly requestId: string },
      refusal: Refusal,
    ): Promise<Answer> => {
      const { translate, fail } = await getArea();
      const answerFailure = (innerRequest: HttpRequest): Answer => fail(innerRequest, requestId, refusal);
      return translate === undefined ? answerFailure(request) : translate(context, request, answerFailure);
    },
  };
}

function answerTranslated<AreaCaller>(
  area: Area<AreasContext, AreaCaller>,
  context: AreasContext,
  request: HttpRequest,
): Promise<Answer> {
  if (area.translate === undefined) return answerInArea(area, context, request);
  return area.translate(context, request, (innerRequest) => answerInArea(area, context, innerRequest));
}

async function loadPages(): Promise<Area<PaymentAreaContext>> {
  return (await import("./pages/payment/routes.ts")).PAGES_AREA;
}
