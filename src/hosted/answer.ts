import { answerFetch } from "../web/fetch.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/**
 * The answer of a sandbox to a request of a Worker. A Worker cannot close a connection without an answer: a dropped
 * answer is one whose body breaks off.
 */
export async function answerIn({ service }: Pick<Sandbox, "service">, request: Request): Promise<Response> {
  try {
    return await answerFetch(service, request, { limits: {}, isStreamed: false });
  } catch (error) {
    if (!(error instanceof TypeError) || error.message !== "fetch failed") throw error;
    return new Response(brokenBody(error), { status: 502, headers: { "Content-Length": "1" } });
  }
}

function brokenBody(error: Error): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.error(error) });
}
