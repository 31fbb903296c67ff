import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Closes the connection if the reader accepts nothing for `silenceMs`; a silent stream is allowed. Does not read the
 * stream of a complete answer (HEAD). Throws the stream's errors.
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
    // Not awaited: `return` waits for a pending `next`. Errors after the end of the answer are ignored.
    Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}

function awaitDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => void response.once("drain", resolve));
}
