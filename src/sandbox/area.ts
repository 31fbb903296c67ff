import { accept, type Outcome, type Refusal } from "../core/outcome.ts";
import { splitTarget } from "../web/http.ts";
import type { Route, Router } from "../web/router.ts";
import type { HttpRequest } from "../world.ts";
import type { Answer } from "./answer.ts";
import type { ServiceContext } from "./context.ts";

export type AreaRequest<Caller = void> = {
  readonly request: HttpRequest;
  readonly requestId: string;
  readonly path: string;
  readonly query: string;
  readonly params: Readonly<Record<string, string>>;
  readonly caller: Caller;
};

export type AreaRoute<Context, Caller = void> = Route & {
  readonly answer: (
    context: Context,
    call: AreaRequest<Caller>,
  ) => Outcome<Answer> | Promise<Outcome<Answer>>;
};

export type Area<Context, Caller = void> = {
  readonly routes: readonly AreaRoute<Context, Caller>[];
  readonly find: Router<AreaRoute<Context, Caller>>;
  /** Each stream has its own sequence of ids, so that control requests do not change the seeded ids of v1 requests. */
  readonly requestIdStream: string;
  /** Refuses before routing, so that refusals do not reveal whether a route exists (decision 3). */
  readonly admit: (context: Context, request: HttpRequest) => Outcome<Caller>;
  /** The store whose erasure waits for this request; undefined if the request is about no store. */
  readonly storeIdOf: (context: Context, request: HttpRequest) => string | undefined;
  readonly refuse: (
    context: Context,
    call: { readonly request: HttpRequest; readonly requestId: string },
    refusal: Refusal,
  ) => Answer;
  readonly fail: (request: HttpRequest, requestId: string, refusal: Refusal) => Answer;
  readonly translate?: (
    context: Context,
    request: HttpRequest,
    answer: (request: HttpRequest) => Answer | Promise<Answer>,
  ) => Promise<Answer>;
};

/** Waits while the store of the request is being erased. A refusal has the area's format. */
export async function answerInArea<Context extends Pick<ServiceContext, "world" | "storeGate">, Caller>(
  area: Area<Context, Caller>,
  context: Context,
  request: HttpRequest,
): Promise<Answer> {
  const { storeGate, world } = context;
  const requestId = world.uuid(area.requestIdStream);
  const readStoreId = (): string | undefined => area.storeIdOf(context, request);
  const opening = storeGate.enter(readStoreId);
  if (opening !== undefined) await opening;
  try {
    const outcome = await answerByRoute(area, context, { request, requestId });
    return outcome.ok ? outcome.value : area.refuse(context, { request, requestId }, outcome.refusal);
  } finally {
    storeGate.leave(readStoreId);
  }
}

function answerByRoute<Context, Caller>(
  { admit, find }: Area<Context, Caller>,
  context: Context,
  { request, requestId }: { readonly request: HttpRequest; readonly requestId: string },
): Outcome<Answer> | Promise<Outcome<Answer>> {
  const caller = admit(context, request);
  if (!caller.ok) return caller;
  const { path, query } = splitTarget(request.target);
  const match = find(request.method, path);
  if (!match.ok) return request.method === "OPTIONS" ? answerOptions(requestId, match) : match;
  const { route, params } = match.value;
  return route.answer(context, { request, requestId, path, query, params, caller: caller.value });
}

function answerOptions(
  requestId: string,
  noMatch: { readonly ok: false; readonly refusal: Refusal },
): Outcome<Answer> {
  const { allow } = noMatch.refusal;
  if (allow === undefined) return noMatch;
  const headers = { Allow: allow, "Cache-Control": "no-store", "X-Request-Id": requestId };
  return accept({ status: 200, headers, body: "" });
}
