import { DRILL_BODY_LIMIT } from "../core/control/protocol.ts";
import { refuseFact } from "../core/refusals.ts";
import { answerFetch } from "../web/fetch.ts";
import { isWholeBody } from "../web/http.ts";
import { SERVER_LIMITS } from "../web/server/limits.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { HttpRequest } from "../world.ts";
import { sleep } from "./world.ts";

const OPTIONS = {
  limits: { bodyLimits: [DRILL_BODY_LIMIT] },
  isStreamed: false,
  // The Workers runtime itself would wait for a late body as long as the connection is open.
  awaitTimeout: (signal: AbortSignal) => sleep(SERVER_LIMITS.requestTimeoutMs, signal),
};

/** A Worker cannot close a connection without an answer, so a dropped answer becomes a truncated body. */
export async function toWorkerResponse(
  { service }: Pick<Sandbox, "service">,
  request: Request,
): Promise<Response> {
  try {
    return await answerFetch(service, request, OPTIONS);
  } catch (error) {
    if (!(error instanceof TypeError) || error.message !== "fetch failed") throw error;
    const brokenBody = new ReadableStream({ start: (controller) => controller.error(error) });
    return new Response(brokenBody, { status: 502, headers: { "Content-Length": "1" } });
  }
}

/** For a request without a valid URL, because its Host or target is invalid. */
export async function refuseUnreadable(
  { service }: Pick<Sandbox, "service">,
  { method }: Pick<Request, "method">,
): Promise<Response> {
  const { refusal } = refuseFact("unreadable_target", {});
  const { status, headers, body } = await service.refuse({ ...refusal, method, target: "/" });
  return new Response(isWholeBody(body) ? body.toString() : null, { status, headers });
}

export async function failedResponse(
  sandbox: Pick<Sandbox, "fail">,
  request: Request,
  error: unknown,
): Promise<Response> {
  const fail = (failedRequest: HttpRequest) => sandbox.fail(failedRequest, error);
  return toWorkerResponse({ service: { answer: fail, refuse: refuseNothing } }, request);
}

function refuseNothing(): never {
  throw new Error("a request without a body is always read");
}
