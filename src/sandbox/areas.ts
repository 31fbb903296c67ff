import { accept, type Refusal } from "../core/outcome.ts";
import { jsonHeaders } from "../web/answer.ts";
import { splitTarget } from "../web/http.ts";
import { createRouter, type Route } from "../web/router.ts";
import type { HttpRequest } from "../world.ts";
import { answerRefusal, type Answer } from "./answer.ts";
import { answerIn, type Area, type AreaRoute } from "./area.ts";
import { V1, type ApiContext } from "./api/v1.ts";
import type { ServiceContext } from "./context.ts";
import { CONTROL, CONTROL_PREFIX, type ControlContext } from "./control/control-api.ts";
import type { PagesContext } from "./pages/payment/routes.ts";

/** What all handlers together need. */
export type AreasContext = ApiContext & ControlContext & PagesContext;

/** An area at its place, whatever its handlers know of their callers. */
type MountedArea = {
  readonly prefix: string;
  /** Its table; what reads all tables sees every way into this server. */
  readonly routes: () => Promise<readonly Route[]>;
  readonly answer: (context: AreasContext, request: HttpRequest) => Promise<Answer>;
  readonly fail: (request: HttpRequest, requestId: string, refusal: Refusal) => Promise<Answer>;
};

const HEALTH: readonly AreaRoute<ServiceContext>[] = [
  {
    methods: ["GET"],
    path: "/healthz",
    role: "anyone",
    // That the service is ready, and nothing else (decision 43).
    answer: (_context, { requestId }) =>
      accept({ status: 200, headers: jsonHeaders(requestId), body: '{"ok":true}' }),
  },
];

/** What is in no other area: the health check, and the refusal of everything else. */
const REST: Area<ServiceContext> = {
  routes: HEALTH,
  find: createRouter(HEALTH, { owner: "the API is under /v1; this server" }),
  admit: () => accept(undefined),
  refuse: (_context, { requestId }, refusal) => answerRefusal(requestId, refusal),
  fail: (_request, requestId, refusal) => answerRefusal(requestId, refusal),
};

const REST_AREA = mount("/", () => REST);

/** Everything that the server answers, by the beginning of its path; the first that fits is asked. */
export const AREAS: readonly MountedArea[] = [
  mount("/v1/", () => V1),
  mount(CONTROL_PREFIX, () => CONTROL),
  mount("/pay/", pages),
  mount("/assets/", pages),
  REST_AREA,
];

/** The area that answers a request. */
export function areaOf({ target }: Pick<HttpRequest, "target">): MountedArea {
  const { path } = splitTarget(target);
  return AREAS.find(({ prefix }) => path.startsWith(prefix)) ?? REST_AREA;
}

function mount<Caller>(
  prefix: string,
  load: () => Area<AreasContext, Caller> | Promise<Area<AreasContext, Caller>>,
): MountedArea {
  return {
    prefix,
    routes: async () => (await load()).routes,
    answer: async (context, request) => answerIn(await load(), context, request),
    fail: async (request, requestId, refusal) => (await load()).fail(request, requestId, refusal),
  };
}

/** Loaded with the first page that somebody opens: a start need not wait for them. */
async function pages(): Promise<Area<PagesContext>> {
  return (await import("./pages/pages.ts")).PAGES;
}
