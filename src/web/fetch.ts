import { accept, type Outcome } from "../core/outcome.ts";
import type { HttpBody, ServerLimits, Service } from "../world.ts";
import { isWholeBody } from "./http.ts";
import { bodyLimit, bodyTooLargeError, LATE_REQUEST_ERROR } from "./server/requests.ts";

const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

type FetchOptions = {
  readonly limits: Partial<ServerLimits>;
  /** The request whose signal aborts the answer. Default: the request itself. */
  readonly original?: Request;
  /** Resolves when a body is late, or when the signal is aborted. Default: a body may take any time. */
  readonly awaitTimeout?: (signal: AbortSignal) => Promise<void>;
  /** Whether whole bodies are streamed too, so that an abort can end them. Default: true. */
  readonly isStreamed?: boolean;
};

/**
 * The Host comes from the headers, otherwise from the address. Like `fetch`, throws a TypeError if the service drops
 * the connection, and the abort reason as soon as the signal of `original` is aborted, even while the body is read.
 */
export async function answerFetch(
  service: Service,
  request: Request,
  options: FetchOptions,
): Promise<Response> {
  const {
    original = request,
    isStreamed = true,
    awaitTimeout = () => new Promise(() => undefined),
  } = options;
  const response = responseTo(service, request, { ...options, original, isStreamed, awaitTimeout });
  try {
    return await rejectOnAbort(original, response);
  } catch (error) {
    response.then(({ body }) => body?.cancel()).catch(() => undefined);
    throw error;
  }
}

async function responseTo(
  service: Service,
  request: Request,
  { limits, original, isStreamed, awaitTimeout }: Required<FetchOptions>,
): Promise<Response> {
  const { method } = request;
  const { pathname, search, host } = new URL(request.url);
  const target = pathname + search;
  original.signal.throwIfAborted();
  const body = await readBody(request, { maxBytes: bodyLimit(target, limits), awaitTimeout });
  original.signal.throwIfAborted();
  const rawHeaders = [...(request.headers.has("host") ? [] : ["host", host]), ...[...request.headers].flat()];
  const answer = body.ok
    ? await service.answer({ method, target, rawHeaders, body: body.value })
    : await service.refuse({ ...body.refusal, method, target });
  if (answer.isDropped === true)
    throw new TypeError("fetch failed", { cause: new Error("the connection was closed without an answer") });
  const { status, headers } = answer;
  // `Response` would add a Content-Type to an empty text.
  const isEmptyText = !isStreamed && isWholeBody(answer.body) && answer.body.length === 0;
  const isEmpty = BODILESS_STATUSES.has(status) || method === "HEAD" || isEmptyText;
  return new Response(isEmpty ? null : bodyOf(answer.body, { original, isStreamed }), { status, headers });
}

/** Rejects on an abort. Keeps the request referenced: if garbage-collected, it gets no abort. */
async function rejectOnAbort<Value>(request: Request, work: Value | Promise<Value>): Promise<Value> {
  const abortion = Promise.withResolvers<never>();
  const abort = (): void => abortion.reject(request.signal.reason);
  request.signal.addEventListener("abort", abort);
  try {
    return await Promise.race([abortion.promise, work]);
  } finally {
    request.signal.removeEventListener("abort", abort);
  }
}

async function readBody(
  { body }: Request,
  { maxBytes, awaitTimeout }: { readonly maxBytes: number } & Pick<Required<FetchOptions>, "awaitTimeout">,
): Promise<Outcome<Uint8Array>> {
  if (body === null) return accept(new Uint8Array());
  const reader = body.getReader();
  const bodyController = new AbortController();
  const lateBody = awaitTimeout(bodyController.signal).then(() => undefined);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  try {
    for (let size = 0; size <= maxBytes;) {
      const part = await Promise.race([reader.read(), lateBody]);
      if (part === undefined) return { ok: false, refusal: LATE_REQUEST_ERROR };
      if (part.done) return accept(Buffer.concat(parts));
      size += part.value.byteLength;
      parts.push(part.value);
    }
    return { ok: false, refusal: bodyTooLargeError(maxBytes) };
  } finally {
    bodyController.abort();
    reader.cancel().catch(() => undefined);
  }
}

function bodyOf(
  body: HttpBody,
  { original, isStreamed }: Required<Pick<FetchOptions, "original" | "isStreamed">>,
): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (isWholeBody(body) && !isStreamed) return typeof body === "string" ? body : Uint8Array.from(body);
  const parts = isWholeBody(body) ? [Buffer.from(body)].values() : body[Symbol.asyncIterator]();
  const end = async (): Promise<void> => void (await parts.return?.());
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          original.signal.throwIfAborted();
          const next = await rejectOnAbort(original, parts.next());
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        } catch (error) {
          // Not awaited: `return` waits for the pending `next`, which may never resolve.
          end().catch(() => undefined);
          throw original.signal.aborted ? error : new TypeError("terminated", { cause: error });
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
