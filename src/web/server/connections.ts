import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isLoopbackAddress } from "../../core/network/address.ts";
import type { ServerLimits } from "../../world.ts";
import { SERVER_LIMITS } from "./limits.ts";

/** A request whose answer has not been sent completely. */
export type PendingRequest = {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  isServed: boolean;
  /** Whether the answer ends the connection; later requests are then dropped. */
  isLast: boolean;
};

/** The requests of one connection: all unanswered ones, and those among them that have not been started. */
export type RequestQueue = { readonly pending: Set<PendingRequest>; readonly waiting: PendingRequest[] };

/** Tracks idle connections, which can be closed to make room. */
export type IdleConnections = {
  /** Adds a new connection, which may close another one. */
  readonly add: (socket: Socket) => void;
  /** Called when all headers of a request have arrived, and no other request of the connection is in progress. */
  readonly wake: (socket: Socket) => void;
  /** Called when a complete request is in progress. */
  readonly serve: (socket: Socket) => void;
  /** Called when all requests of the connection are answered. */
  readonly rest: (socket: Socket) => void;
  readonly remove: (socket: Socket) => void;
};

/**
 * Limits the number of connections. A connection above the limit closes the oldest one on which no request has finished
 * its headers; otherwise the one that has been idle longest; otherwise the oldest whose body is incomplete; if all are
 * busy, the new one (decision 58).
 */
export function idleConnectionsOf(sockets: Set<Socket>, { connections }: ServerLimits): IdleConnections {
  const newcomers = new Set<Socket>();
  const idlers = new Set<Socket>();
  const readers = new Set<Socket>();
  const remove = (socket: Socket): void => {
    for (const group of [sockets, newcomers, idlers, readers]) group.delete(socket);
  };
  return {
    add: (socket) => {
      const [oldest = socket] = sockets.size < connections ? [] : [newcomers, idlers, readers].flatMap(first);
      sockets.add(socket);
      newcomers.add(socket);
      if (sockets.size <= connections) return;
      remove(oldest);
      oldest.destroy();
    },
    wake: (socket) => {
      newcomers.delete(socket);
      idlers.delete(socket);
      if (sockets.has(socket)) readers.add(socket);
    },
    serve: (socket) => void readers.delete(socket),
    rest: (socket) => {
      readers.delete(socket);
      if (sockets.has(socket)) idlers.add(socket);
    },
    remove,
  };
}

/** The member that was added first, if there is one. */
function first<Member>(members: ReadonlySet<Member>): Member[] {
  for (const member of members) return [member];
  return [];
}

/** Sets up a new connection. `isOpen`: other machines may reach the server. */
export function setUpConnection(
  socket: Socket,
  { rests, isOpen }: { readonly rests: IdleConnections; readonly isOpen: boolean },
): void {
  rests.add(socket);
  if (isOpen && !isLoopbackAddress(socket.localAddress ?? "")) OUTSIDE_SOCKETS.add(socket);
  socket.on("close", () => rests.remove(socket));
  // Node removes its own error listener when it hands a connection over (CONNECT), and a reset may come at any time.
  socket.on("error", () => socket.destroy());
}

/** Connections that arrived at an address that other machines can reach. */
const OUTSIDE_SOCKETS = new WeakSet<Socket>();

/** Whether a connection arrived at an address that other machines can reach. */
export function isFromOutside(socket: Socket): boolean {
  return OUTSIDE_SOCKETS.has(socket);
}

export function isBusy({ pending }: RequestQueue): boolean {
  for (const { isServed } of pending) if (isServed) return true;
  return false;
}

/** A client that sends requests without reading answers gets little work done, and takes little memory. */
export function processInOrder(queue: RequestQueue, work: (entry: PendingRequest) => Promise<unknown>): void {
  const { pending, waiting } = queue;
  while (waiting.length > 0 && mayWork(queue)) {
    const next = waiting.shift();
    // The client has disconnected or can no longer be answered, and the request was not started.
    if (next === undefined || !pending.has(next) || !next.incoming.socket.writable) continue;
    void work(next).then(() => processInOrder(queue, work));
  }
}

function mayWork({ pending, waiting }: RequestQueue): boolean {
  // The usual case: a client that waits for each answer.
  if (pending.size === 1) return true;
  for (const { isLast } of pending) if (isLast) return false;
  // The waiting requests are the last in `pending`.
  const takenEntries = [...pending].slice(0, pending.size - waiting.length);
  const unreadBytes = takenEntries.reduce((bytes, { response }) => bytes + response.writableLength, 0);
  const count = takenEntries.filter(({ response }) => !response.writableEnded).length;
  return count < SERVER_LIMITS.workedOn && unreadBytes < SERVER_LIMITS.unreadBytes;
}
