import { Buffer } from "node:buffer";
import { randomBytes, randomUUID } from "node:crypto";
import { isError } from "../core/outcome.ts";
import type { OutboundRequest, OutboundResult, World } from "../world.ts";
import { MARK_COUNT, markedKeyBytes, markedUuid, type Mark } from "./shared/marks.ts";

export type WorkerWorld = ReturnType<typeof workerWorld>;

export function workerWorld(mark: Mark) {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep,
    after: (milliseconds, run) => void setTimeout(run, milliseconds),
    soon: (run) => void setImmediate(run),
    uuid: () => markedUuid(mark, Date.now(), randomBytes(RANDOM_ID_BYTES)),
    freshId: () => randomUUID(),
    randomBytes: (length, use) =>
      use === "api key" ? markedKeyBytes(mark, randomBytes(length)) : randomBytes(length),
    random: () => Math.random(),
    send,
    // The Worker's network resolves names itself.
    resolve: (host) => Promise.resolve([host]),
  } satisfies Partial<World>;
}

export function randomMark(): Mark {
  return randomBytes(4).readUInt32BE() % MARK_COUNT;
}

const RANDOM_ID_BYTES = 6;

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * The Worker's network gives no reasons: a refused address, a missing address and an untrusted certificate look the
 * same.
 */
async function send({ url, method, headers, body, ...limits }: OutboundRequest): Promise<OutboundResult> {
  const { timeoutMs, maxResponseBytes, oversize } = limits;
  const signal = AbortSignal.timeout(timeoutMs);
  let isAnswered = false;
  try {
    const fetchOptions = {
      method,
      headers,
      redirect: "manual",
      signal,
      ...(body === undefined ? {} : { body }),
    } as const;
    const answer = await fetch(url, fetchOptions);
    isAnswered = true;
    const readBody = await readUpTo(answer, maxResponseBytes);
    if (readBody.error !== undefined) throw readBody.error;
    if (readBody.isCut && oversize !== "cut")
      return {
        ok: false,
        failure: "bad_answer",
        message: `the answer is larger than ${maxResponseBytes} bytes`,
      };
    const { status } = answer;
    return { ok: true, status, headers: Object.fromEntries(answer.headers), body: readBody.body };
  } catch (error) {
    if (signal.aborted)
      return { ok: false, failure: "timeout", message: `no whole answer within ${timeoutMs} ms` };
    const message = isError(error) ? error.message : String(error);
    // The runtime reports a lost connection and a port without a listener in the same way.
    if (isAnswered || /connection lost/i.test(message))
      return { ok: false, failure: "connection_lost", message };
    return { ok: false, failure: "unreachable", message: NO_CONNECTION_TEXT };
  }
}

const NO_CONNECTION_TEXT =
  "no connection was established: no server listens there, the name has no address, the network does not allow the address, or TLS failed";

type BodyResult = { readonly body: string; readonly isCut: boolean; readonly error?: unknown };

/** An error after all announced bytes is ignored, because the answer was complete. */
async function readUpTo({ body, headers }: Response, maxBytes: number): Promise<BodyResult> {
  const parts: Uint8Array[] = [];
  let size = 0;
  let error: unknown;
  try {
    for await (const part of body ?? []) {
      parts.push(part);
      size += part.byteLength;
      if (size > maxBytes) break;
    }
  } catch (streamError) {
    // If the body was encoded, Content-Length counts the encoded bytes, but `size` counts the decoded ones.
    const declaredLength = headers.has("content-encoding") ? null : headers.get("content-length");
    if (declaredLength === null || size < Number(declaredLength)) error = streamError;
  }
  const wholeBody = Buffer.concat(parts);
  return { body: wholeBody.toString("utf8", 0, maxBytes), isCut: size > maxBytes, error };
}

export const consoleStream = {
  writableNeedDrain: false,
  write: (text: string): void => console.error(text.trimEnd()),
};
