import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * A reader that accepts nothing for `silenceMs` milliseconds loses the connection; a stream that has nothing
 * to send may be silent. If the answer is already complete, as for HEAD, the stream is not read. Throws the
 * errors of the stream.
 */
export async function sendStream(
  body: AsyncIterable<Uint8Array>,
  client: { readonly response: ServerResponse; readonly socket: Socket; readonly silenceMs: number },
): Promise<void> {
  const { response, socket, silenceMs } = client;
  const closeEvent = new Promise<"gone">((resolve) => void response.once("close", () => resolve("gone")));
  const chunks = body[Symbol.asyncIterator]();
  const isGone = (): boolean => response.closed || socket.destroyed;
  try {
    while (!isGone() && !response.writableEnded) {
      socket.setTimeout(0);
      const next = await Promise.race([chunks.next(), closeEvent]);
      if (next === "gone") return;
      if (next.done === true) {
        response.end();
        return;
      }
      socket.setTimeout(silenceMs);
      if (!response.write(next.value)) await Promise.race([awaitDrain(response), closeEvent]);
    }
  } finally {
    // Not awaited, because `return` waits for the pending `next`. Without a reader, its errors do not matter.
    Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}

function awaitDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => void response.once("drain", resolve));
}
