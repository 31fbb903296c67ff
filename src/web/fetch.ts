import { accept, type Outcome } from "../core/outcome.ts";
import type { HttpBody, ServerLimits, Service } from "../world.ts";
import { isWhole } from "./http.ts";
import { bodyLimit, tooLarge, type Fault } from "./server/requests.ts";

/** Statuses whose answers have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Answers a request of the Fetch standard without a socket, with the limits that a server has. Its Host is that of its
 * headers, or else of its address. As `fetch` does, it throws a TypeError where the service drops the connection, and the
 * reason of a signal as soon as that is aborted, also while the body is read. The signal is that of the request, or of
 * the one that was `asked` and has led to it.
 */
export async function answerFetch(
  service: Service,
  request: Request,
  { limits, asked = request }: { readonly limits: Partial<ServerLimits>; readonly asked?: Request },
): Promise<Response> {
  const answered = responseTo(service, request, { limits, asked });
  try {
    return await unlessAborted(asked, answered);
  } catch (error) {
    // Nobody reads what comes now.
    answered.then(({ body }) => body?.cancel()).catch(() => undefined);
    throw error;
  }
}

async function responseTo(
  service: Service,
  request: Request,
  { limits, asked }: { readonly limits: Partial<ServerLimits>; readonly asked: Request },
): Promise<Response> {
  const { method } = request;
  const { pathname, search, host } = new URL(request.url);
  const target = pathname + search;
  asked.signal.throwIfAborted();
  const body = await readBody(request, bodyLimit(target, limits));
  // What was not sent to its end is not worked on.
  asked.signal.throwIfAborted();
  const rawHeaders = [...(request.headers.has("host") ? [] : ["host", host]), ...[...request.headers].flat()];
  const answer = body.ok
    ? await service.answer({ method, target, rawHeaders, body: body.value })
    : await service.refuse({ ...body.refusal, method, target });
  if (answer.dropped === true)
    throw new TypeError("fetch failed", { cause: new Error("the connection was closed without an answer") });
  const { status, headers } = answer;
  const isEmpty = BODILESS.has(status) || method === "HEAD";
  return new Response(isEmpty ? null : bodyOf(answer.body, asked), { status, headers });
}

/**
 * What work comes to; rejects with the reason of the request's signal as soon as that is aborted. The request itself is
 * kept meanwhile: its signal alone hears of no abort once the request is collected.
 */
async function unlessAborted<Value>(request: Request, work: Value | Promise<Value>): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(request.signal.reason);
  request.signal.addEventListener("abort", abort);
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    request.signal.removeEventListener("abort", abort);
  }
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

/**
 * A body whose parts are asked for when its reader wants them, and ended when the reader goes. One that breaks off fails
 * as that of `fetch` does.
 */
function bodyOf(body: HttpBody, asked: Request): ReadableStream<Uint8Array> {
  const parts = isWhole(body) ? [Buffer.from(body)].values() : body[Symbol.asyncIterator]();
  const end = async (): Promise<void> => void (await parts.return?.());
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          asked.signal.throwIfAborted();
          const next = await unlessAborted(asked, parts.next());
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        } catch (error) {
          // Not waited for: it ends when what it waits for comes.
          end().catch(() => undefined);
          throw asked.signal.aborted ? error : new TypeError("terminated", { cause: error });
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
