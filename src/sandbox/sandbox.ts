import { refuse } from "../core/outcome.ts";
import { printableLiteral } from "../core/text.ts";
import type { RateLimit } from "../core/rate-limit.ts";
import { StorageUnavailable, asUnavailable } from "../store/group-commit.ts";
import type { Store } from "../store/store.ts";
import { jsonHeaders, refusalResponse } from "../web/answer.ts";
import { allowedHosts, checkHost } from "../web/guard.ts";
import { splitTarget } from "../web/http.ts";
import type { Handler, HttpRequest, World } from "../world.ts";
import type { AccessLog } from "./access-log.ts";
import { answerV1, type Answer, type ApiContext } from "./api-v1.ts";
import { answerControl, CONTROL_PREFIX, type ControlContext } from "./control-api.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import { createTimekeeper, type Timekeeper } from "./timekeeper.ts";

export type SandboxOptions = {
  readonly store: Store;
  readonly port: number;
  readonly rateLimit: RateLimit | "off";
  /** Names beside the loopback ones that a Host header may carry. */
  readonly allowHosts: readonly string[];
  readonly log: AccessLog;
  /** The credential of the control API. */
  readonly adminToken: string;
  /** Told about failures that are ours, with the request_id that the caller got. */
  readonly report: (requestId: string, error: unknown) => void;
};

export type Sandbox = { readonly handler: Handler; readonly timekeeper: Timekeeper };

/** The whole service as one function of a request, and what it does by itself. Every request passes the guard first and is logged last. */
export function createSandbox(world: World, options: SandboxOptions): Sandbox {
  const hosts = allowedHosts(options.port, options.allowHosts);
  const context: ApiContext & ControlContext = {
    store: options.store,
    world,
    checkoutOrigin: `http://127.0.0.1:${options.port}`,
    rateLimiter: createRateLimiter(options.rateLimit),
    adminToken: options.adminToken,
    wake: () => timekeeper.wake(),
    expectDue: (realTime) => timekeeper.expect(realTime),
  };
  const timekeeper = createTimekeeper(world, {
    context: () => context,
    report: (error) => options.report("timer", error),
  });

  const handler: Handler = async (request) => {
    const startedAt = world.monotonic();
    const answer = await answerSafely(request);
    options.log.add({
      at: world.now(),
      method: request.method,
      target: request.target,
      status: answer.status,
      milliseconds: world.monotonic() - startedAt,
      requestId: answer.headers["X-Request-Id"] ?? "",
      note: answer.note ?? "",
    });
    return answer;
  };
  return { handler, timekeeper };

  /** The one catch of the service: an accident becomes 503 where the disk failed, 500 elsewhere. */
  async function answerSafely(request: HttpRequest): Promise<Answer> {
    try {
      const host = checkHost(request, hosts);
      return host.ok ? await route(context, request) : refused(context, host.refusal);
    } catch (error) {
      const requestId = context.world.uuid();
      options.report(requestId, error);
      const refusal =
        asUnavailable(error) instanceof StorageUnavailable
          ? refuse(
              "storage_unavailable",
              "the database cannot be used right now; try again with the same key",
            )
          : refuse("internal_error", `the sandbox failed; its log says why, under ${requestId}`);
      return { ...refusalResponse(requestId, refusal.refusal), note: refusal.refusal.code };
    }
  }
}

function route(context: ApiContext & ControlContext, request: HttpRequest): Promise<Answer> | Answer {
  const { path } = splitTarget(request.target);
  if (path.startsWith("/v1/")) return answerV1(context, request);
  if (path.startsWith(CONTROL_PREFIX)) return answerControl(context, request);
  if (path === "/healthz") return health(context, request);
  const { refusal } = refuse(
    "not_found",
    `there is no ${request.method} ${printableLiteral(path)}; the API is under /v1`,
  );
  return refused(context, refusal);
}

/** Says that the service is ready, and nothing else (design section 7). */
function health(context: ApiContext, { method }: HttpRequest): Answer {
  if (method === "GET")
    return { status: 200, headers: jsonHeaders(context.world.uuid()), body: '{"ok":true}' };
  const { refusal } = refuse("method_not_allowed", `/healthz takes GET; got ${printableLiteral(method)}`, {
    allow: "GET",
  });
  return refused(context, refusal);
}

function refused(context: ApiContext, refusal: Parameters<typeof refusalResponse>[1]): Answer {
  return { ...refusalResponse(context.world.uuid(), refusal), note: refusal.code };
}
