import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isLoopbackAddress } from "../../core/network/address.ts";
import type { ServerLimits } from "../../world.ts";
import { SERVER_LIMITS } from "./limits.ts";

export type PendingRequest = {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  isServed: boolean;
  /** Refused before its body was read: the connection ends after the answer, and later requests on it are dropped. */
  isLast: boolean;
};

export type RequestQueue = {
  readonly pendingRequests: Set<PendingRequest>;
  readonly waitingRequests: PendingRequest[];
};

export type IdleConnections = ReturnType<typeof createIdleConnections>;

/**
 * When a new connection exceeds the limit, the oldest one without complete headers is closed, otherwise the longest
 * idle, otherwise the oldest with an incomplete body, otherwise the new one (decision 58).
 */
export function createIdleConnections(sockets: Set<Socket>, { connections }: ServerLimits) {
  const newSockets = new Set<Socket>();
  const idleSockets = new Set<Socket>();
  const readingSockets = new Set<Socket>();
  const remove = (socket: Socket): void => {
    for (const group of [sockets, newSockets, idleSockets, readingSockets]) group.delete(socket);
  };
  return {
    add: (socket: Socket): void => {
      const [oldest = socket] =
        sockets.size < connections ? [] : [newSockets, idleSockets, readingSockets].flatMap(firstMember);
      sockets.add(socket);
      newSockets.add(socket);
      if (sockets.size <= connections) return;
      remove(oldest);
      oldest.destroy();
    },
    /** Call when a request's headers are complete and no other request of the connection is in progress. */
    markReading: (socket: Socket): void => {
      newSockets.delete(socket);
      idleSockets.delete(socket);
      if (sockets.has(socket)) readingSockets.add(socket);
    },
    markBusy: (socket: Socket): void => void readingSockets.delete(socket),
    markIdle: (socket: Socket): void => {
      readingSockets.delete(socket);
      if (sockets.has(socket)) idleSockets.add(socket);
    },
    remove,
  };
}

function firstMember<Member>(members: ReadonlySet<Member>): Member[] {
  for (const member of members) return [member];
  return [];
}

export function setUpConnection(
  socket: Socket,
  { idleConnections, isExposed }: { readonly idleConnections: IdleConnections; readonly isExposed: boolean },
): void {
  idleConnections.add(socket);
  if (isExposed && !isLoopbackAddress(socket.localAddress ?? "")) OUTSIDE_SOCKETS.add(socket);
  socket.on("close", () => idleConnections.remove(socket));
  // Node removes its error listener when it hands over a connection (CONNECT), and a reset may come at any time.
  socket.on("error", () => socket.destroy());
}

const OUTSIDE_SOCKETS = new WeakSet<Socket>();

export function isFromOutside(socket: Socket): boolean {
  return OUTSIDE_SOCKETS.has(socket);
}

export function isBusy({ pendingRequests }: RequestQueue): boolean {
  for (const { isServed } of pendingRequests) if (isServed) return true;
  return false;
}

/** Limits work and memory for a client that sends requests without reading the answers. */
export function processInOrder(queue: RequestQueue, work: (entry: PendingRequest) => Promise<unknown>): void {
  const { pendingRequests, waitingRequests } = queue;
  while (waitingRequests.length > 0 && mayWork(queue)) {
    const next = waitingRequests.shift();
    if (next === undefined || !pendingRequests.has(next) || !next.incoming.socket.writable) continue;
    void work(next).then(() => processInOrder(queue, work));
  }
}

function mayWork({ pendingRequests, waitingRequests }: RequestQueue): boolean {
  if (pendingRequests.size === 1) return true;
  for (const { isLast } of pendingRequests) if (isLast) return false;
  const startedEntries = [...pendingRequests].slice(0, pendingRequests.size - waitingRequests.length);
  const unreadBytes = startedEntries.reduce((bytes, { response }) => bytes + response.writableLength, 0);
  const count = startedEntries.filter(({ response }) => !response.writableEnded).length;
  return count < SERVER_LIMITS.concurrentRequests && unreadBytes < SERVER_LIMITS.unreadBytes;
}
