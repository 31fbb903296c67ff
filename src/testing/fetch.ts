import { answerFetch } from "../web/fetch.ts";
import type { InProcessSandbox } from "./in-process.ts";
import type { Sandbox } from "./types.ts";

/** The status of the sandbox's redirects, which are followed with a GET. */
const SEE_OTHER = 303;
const MAX_REDIRECTS = 20;

/** `fetch` returns a redirect to any other origin instead of following it. */
export function createFetch(sandbox: InProcessSandbox): Pick<Sandbox, "fetch" | "handler"> {
  const { ready, service, limits, isClosed, closedError } = sandbox;
  const { origin } = new URL(ready.base_url);
  const hosts = new Set([origin, ready.checkout_origin]);
  const answer = async (request: Request, originalRequest = request): Promise<Response> => {
    if (isClosed()) throw new TypeError("fetch failed", { cause: closedError() });
    return answerFetch(service, request, { limits, original: originalRequest });
  };
  const send: Sandbox["fetch"] = async (input, init) => {
    const originalRequest = new Request(typeof input === "string" ? new URL(input, origin) : input, init);
    let request = originalRequest;
    for (let redirects = 0; ; redirects += 1) {
      const response = await answer(request, originalRequest);
      const { redirect, url } = request;
      const nextUrl = new URL(response.headers.get("location") ?? "", url);
      Object.defineProperty(response, "url", { value: url });
      if (response.status !== SEE_OTHER || redirect === "manual" || !hosts.has(nextUrl.origin))
        return response;
      if (redirect === "error" || redirects === MAX_REDIRECTS)
        throw new TypeError("fetch failed", { cause: new Error(`a redirect to ${nextUrl.href}`) });
      request = new Request(nextUrl, { headers: request.headers });
    }
  };
  return { fetch: send, handler: (request) => answer(request) };
}
