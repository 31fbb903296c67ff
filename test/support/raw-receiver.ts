import { createServer, type Socket } from "node:net";
import { listenUntilEnd } from "./http-receiver.ts";

/** A receiver's reaction to a connection. */
type Manner = (socket: Socket) => void;

/** A receiver without HTTP, which treats all connections alike. */
type RawReceiver = {
  readonly url: string;
  /** The times of all requests, by `performance.now()`; empty with `onConnect`. */
  readonly requests: readonly number[];
  /** The number of bytes from the receiver that the system has accepted, over all connections. */
  readonly taken: () => number;
};

/** Opens a raw receiver, which acts at the first bytes of a request, or with `onConnect` when a connection opens. */
export async function openRawReceiver(manner: Manner, { onConnect = false } = {}): Promise<RawReceiver> {
  const sockets: Socket[] = [];
  const requests: number[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    if (onConnect) manner(socket);
    else
      socket.once("data", () => {
        requests.push(performance.now());
        manner(socket);
      });
  });
  const port = await listenUntilEnd(server);
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    requests,
    taken: () =>
      sockets.reduce((sum, { bytesWritten, writableLength }) => sum + bytesWritten - writableLength, 0),
  };
}

/** Sends a text, and closes. */
export function says(text: string): Manner {
  return (socket) => void socket.end(text);
}

/** Sends `head`, then a byte every 100 ms. */
export function drips(head: string, byte: string): Manner {
  return (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(byte), 100);
    socket.on("close", () => clearInterval(timer));
  };
}

/** Sends `head`, and then pieces while the client reads, up to a number of bytes. */
export function floods(head: string, piece: string, bytes: number): Manner {
  return (socket) => {
    // In one write with the head, so that the client's first read is large.
    let next = head + piece;
    let left = bytes;
    const pour = (): void => {
      while (left > 0 && !socket.destroyed) {
        const isTaken = socket.write(next);
        left -= piece.length;
        next = piece;
        if (!isTaken) {
          socket.once("drain", pour);
          return;
        }
      }
      socket.end();
    };
    pour();
  };
}
