import { accept, type Outcome } from "../core/outcome.ts";
import type { HttpBody, ServerLimits, Service } from "../world.ts";
import { bodyLimit, tooLarge, type Fault } from "./server.ts";

/** Statuses whose answers have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Answers a request of the Fetch standard without a socket, with the limits that a server has. Its Host is that of its
 * headers, or else of its address. Throws a TypeError where the service drops the connection, as `fetch` does, and the
 * reason of a signal that is aborted.
 */
export async function answerFetch(
  service: Service,
  request: Request,
  limits: Partial<ServerLimits>,
): Promise<Response> {
  const { method, signal } = request;
  const { pathname, search, host } = new URL(request.url);
  const target = pathname + search;
  signal.throwIfAborted();
  const body = await readBody(request, bodyLimit(target, limits));
  signal.throwIfAborted();
  const rawHeaders = [...(request.headers.has("host") ? [] : ["host", host]), ...[...request.headers].flat()];
  const answer = body.ok
    ? await service.answer({ method, target, rawHeaders, body: body.value })
    : service.refuse({ ...body.refusal, method, target });
  signal.throwIfAborted();
  if (answer.dropped === true)
    throw new TypeError("fetch failed", { cause: new Error("the connection was closed without an answer") });
  const { status, headers } = answer;
  const isEmpty = BODILESS.has(status) || method === "HEAD";
  return new Response(isEmpty ? null : bodyOf(answer.body), { status, headers });
}

async function readBody(request: Request, maxBytes: number): Promise<Outcome<Uint8Array, Fault>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body ?? []) {
    size += part.byteLength;
    if (size > maxBytes) return { ok: false, refusal: tooLarge(maxBytes) };
    parts.push(part);
  }
  return accept(Buffer.concat(parts));
}

/** A stream of ours is asked for its next part when its reader wants it, and ended when the reader goes. */
function bodyOf(body: HttpBody): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return new Uint8Array(body);
  const parts = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await parts.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => void (await parts.return?.()),
  });
}
