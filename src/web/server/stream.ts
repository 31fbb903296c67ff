import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Sends a stream as the body of an answer whose head is written, and returns when it has ended or the reader has gone.
 * A reader that takes nothing for `silenceMs` milliseconds loses its connection; a stream that has nothing to send may
 * take its time. A stream behind an answer that is over, as to HEAD, is asked for nothing. Throws what the stream throws.
 */
export async function sendStream(
  body: AsyncIterable<Uint8Array>,
  to: { readonly response: ServerResponse; readonly socket: Socket; readonly silenceMs: number },
): Promise<void> {
  const { response, socket, silenceMs } = to;
  const gone = new Promise<"gone">((resolve) => void response.once("close", () => resolve("gone")));
  const chunks = body[Symbol.asyncIterator]();
  // Who went before this began is not told of again.
  const isGone = (): boolean => response.closed || socket.destroyed;
  try {
    while (!isGone() && !response.writableEnded) {
      socket.setTimeout(0);
      const next = await Promise.race([chunks.next(), gone]);
      if (next === "gone") return;
      if (next.done === true) {
        response.end();
        return;
      }
      socket.setTimeout(silenceMs);
      if (!response.write(next.value)) await Promise.race([drained(response), gone]);
    }
  } finally {
    // Not waited for: a stream that waits for something ends when that comes. What fails now has no reader to lose.
    Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => void response.once("drain", resolve));
}
