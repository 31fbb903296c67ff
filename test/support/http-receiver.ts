import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { onTestFinished } from "vitest";

/**
 * Listens on a port of a loopback address (default: a free port) until the test ends, which also ends all connections.
 */
export async function listenUntilEnd(server: Server, host = "127.0.0.1", port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    // A client that is killed or gives up resets the connection.
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.listen({ host, port });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A receiver of webhooks on a real socket. Returns its URL. */
export async function openHttpReceiver(answer: RequestListener, host = "127.0.0.1"): Promise<string> {
  const port = await listenUntilEnd(createServer(answer), host);
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/hooks`;
}

/** The complete body of a request; undefined if the sender left before its end. */
export async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } catch {
    // The sender is gone.
    return undefined;
  }
}
