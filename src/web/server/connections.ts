import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isLoopbackAddress } from "../../core/network/address.ts";
import type { ServerLimits } from "../../world.ts";
import { LIMITS } from "./limits.ts";

/** A request whose answer was not sent to its end yet. */
export type Pending = {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the service works on it. */
  isServed: boolean;
  /** Whether its answer ends the connection: what was sent behind it is not worked on, for nobody could hear of it. */
  isLast: boolean;
};

/** What one connection has asked: all that is not answered to the end, and of that what nobody works on yet. */
export type Queue = { readonly pending: Set<Pending>; readonly waiting: Pending[] };

/** The connections that nothing is done for. */
export type Rests = {
  /** A new connection; where there are too many, another one is closed for it. */
  readonly add: (socket: Socket) => void;
  /** All headers of a request have come, and no request of the connection is worked on. */
  readonly wake: (socket: Socket) => void;
  /** A whole request is worked on. */
  readonly serve: (socket: Socket) => void;
  /** All requests of the connection are answered. */
  readonly rest: (socket: Socket) => void;
  readonly remove: (socket: Socket) => void;
};

/**
 * Keeps the number of connections. One too many closes the oldest connection on which no request has finished its
 * headers; without such, the kept connection that has rested longest, then the oldest whose body has not come; if all
 * of them are at work, the new one (decision 58).
 */
export function restsOf(sockets: Set<Socket>, { connections }: ServerLimits): Rests {
  const unheard = new Set<Socket>();
  const resting = new Set<Socket>();
  const unread = new Set<Socket>();
  const remove = (socket: Socket): void => {
    for (const all of [sockets, unheard, resting, unread]) all.delete(socket);
  };
  return {
    add: (socket) => {
      const [oldest = socket] = sockets.size < connections ? [] : [unheard, resting, unread].flatMap(first);
      sockets.add(socket);
      unheard.add(socket);
      if (sockets.size <= connections) return;
      remove(oldest);
      oldest.destroy();
    },
    wake: (socket) => {
      unheard.delete(socket);
      resting.delete(socket);
      if (sockets.has(socket)) unread.add(socket);
    },
    serve: (socket) => void unread.delete(socket),
    rest: (socket) => {
      unread.delete(socket);
      if (sockets.has(socket)) resting.add(socket);
    },
    remove,
  };
}

/** The member that was added first, if there is one. */
function first<Member>(members: ReadonlySet<Member>): Member[] {
  for (const member of members) return [member];
  return [];
}

/** Begins with a new connection. `isOpen`: other machines may reach the server. */
export function welcome(
  socket: Socket,
  { rests, isOpen }: { readonly rests: Rests; readonly isOpen: boolean },
): void {
  rests.add(socket);
  if (isOpen && !isLoopbackAddress(socket.localAddress ?? "")) OUTSIDE.add(socket);
  socket.on("close", () => rests.remove(socket));
  // Node removes its own error listener when it hands a connection over (CONNECT), and a reset may come at any time.
  socket.on("error", () => socket.destroy());
}

/** Connections that came to an address which other machines reach. */
const OUTSIDE = new WeakSet<Socket>();

/** Whether a connection came to an address which other machines reach. */
export function isFromOutside(socket: Socket): boolean {
  return OUTSIDE.has(socket);
}

/** Whether a request of a connection is worked on. */
export function isWorkedOn({ pending }: Queue): boolean {
  for (const { isServed } of pending) if (isServed) return true;
  return false;
}

/**
 * Works on what a connection asks, in its order, as far as its client reads the answers: who sends requests and reads
 * nothing gets little done, and keeps little in memory.
 */
export function workOn(queue: Queue, work: (entry: Pending) => Promise<unknown>): void {
  const { pending, waiting } = queue;
  while (waiting.length > 0 && mayWork(queue)) {
    const next = waiting.shift();
    // The client has gone or cannot be answered any more, and nobody has begun.
    if (next === undefined || !pending.has(next) || !next.incoming.socket.writable) continue;
    void work(next).then(() => workOn(queue, work));
  }
}

function mayWork({ pending, waiting }: Queue): boolean {
  // Nearly always: a client that waits for each answer.
  if (pending.size === 1) return true;
  for (const { isLast } of pending) if (isLast) return false;
  // What waits came last.
  const taken = [...pending].slice(0, pending.size - waiting.length);
  const unread = taken.reduce((bytes, { response }) => bytes + response.writableLength, 0);
  const unanswered = taken.filter(({ response }) => !response.writableEnded).length;
  return unanswered < LIMITS.workedOn && unread < LIMITS.unreadBytes;
}
