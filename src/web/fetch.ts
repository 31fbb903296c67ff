import { accept, type Outcome } from "../core/outcome.ts";
import type { HttpBody, ServerLimits, Service } from "../world.ts";
import { isWholeBody } from "./http.ts";
import { bodyLimit, bodyTooLargeError, LATE_REQUEST_ERROR } from "./server/requests.ts";

const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

type FetchOptions = {
  readonly limits: Partial<ServerLimits>;
  /** The request whose signal aborts the answer. Default: `request`. */
  readonly original?: Request;
  /** Resolves when the request's body takes too long, or when the signal is aborted. Default: no time limit. */
  readonly awaitTimeout?: (signal: AbortSignal) => Promise<void>;
  /** Whether complete bodies are streamed too, so that an abort can interrupt reading them. Default: true. */
  readonly isStreamed?: boolean;
};

/**
 * Like `fetch`, throws a TypeError if the service drops the connection, and the abort reason if `original` is aborted,
 * even while the body is read. Host defaults to the URL's host.
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
  // `Response` would add a Content-Type for an empty string.
  const isEmptyText = !isStreamed && isWholeBody(answer.body) && answer.body.length === 0;
  const isEmpty = BODILESS_STATUSES.has(status) || method === "HEAD" || isEmptyText;
  return new Response(isEmpty ? null : bodyOf(answer.body, { original, isStreamed }), { status, headers });
}

/** Keeps a reference to the request, whose signal would not fire once the request is garbage-collected. */
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
