import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { LoopbackHost } from "../../core/loopback.ts";
import { listenAddresses } from "../../core/network/address.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Listener, ListenFailure, ListenOptions, ServerLimits, Service, World } from "../../world.ts";
import { answerRequest, writeToSocket, type RefuseUnread } from "./answer.ts";
import {
  isBusy,
  createIdleConnections,
  setUpConnection,
  processInOrder,
  type PendingRequest,
  type RequestQueue,
  type IdleConnections,
} from "./connections.ts";
import { SERVER_LIMITS, DEFAULT_LIMITS } from "./limits.ts";
import { EMPTY_BODY, parserError, requestOf } from "./requests.ts";

/**
 * Needs 127.0.0.1 or ::1. Port 0 selects a free port, so `makeService` is called once the port is known, before the
 * first request is read.
 */
export async function serveHttp(
  makeService: (port: number, host: LoopbackHost) => Service,
  options: ListenOptions & Pick<World, "after">,
): Promise<Outcome<Listener, ListenFailure>> {
  const { after, addresses = [] } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  let binding = await bindAddresses(options, limits);
  for (let draw = 1; draw < MAX_PORT_ATTEMPTS && isPortTaken(binding) && options.port === 0; draw += 1)
    binding = await bindAddresses(options, limits);
  if (!binding.ok) return binding;
  const { servers, port, host } = binding.value;
  const service = makeService(port, host);
  const sockets = new Set<Socket>();
  const idleConnections = createIdleConnections(sockets, limits);
  const isExposed = addresses.length > 0;
  for (const server of servers) attach(server, { service, idleConnections, after, limits, isExposed });
  return accept({
    port,
    close: (graceMs) => close(servers, sockets, { graceMs, after }),
    keepRunning: (shouldKeep) => {
      for (const server of servers) {
        if (shouldKeep) server.ref();
        else server.unref();
      }
    },
  });
}

const MAX_PORT_ATTEMPTS = 20;

type BoundServers = {
  readonly servers: readonly Server[];
  readonly port: number;
  readonly host: LoopbackHost;
};

function isPortTaken(binding: Outcome<BoundServers, ListenFailure>): boolean {
  return !binding.ok && binding.refusal.reason === "in_use";
}

/** An optional address may be missing, but its port must not be in use. */
async function bindAddresses(
  { port: wantedPort, addresses = [] }: ListenOptions,
  limits: ServerLimits,
): Promise<Outcome<BoundServers, ListenFailure>> {
  const servers: Server[] = [];
  let port = wantedPort;
  let host: LoopbackHost = "127.0.0.1";
  let ipv4Failure: ListenFailure | undefined;
  const refuse = (refusal: ListenFailure): Outcome<never, ListenFailure> => {
    for (const server of servers) server.close();
    return { ok: false, refusal };
  };
  for (const { address, isOptional } of listenAddresses(addresses)) {
    const server = createHttpServer(limits);
    const failure = await bind(server, address, port);
    if (failure === undefined) {
      servers.push(server);
      port = portOf(server);
      if (address === "::1" || address === "::") ipv4Failure = undefined;
    } else if (address === "127.0.0.1" && failure.reason === "no_such_address") {
      host = "[::1]";
      ipv4Failure = { ...failure, address };
    } else if (!isOptional || failure.reason === "in_use") return refuse({ ...failure, address });
  }
  return ipv4Failure === undefined ? accept({ servers, port, host }) : refuse(ipv4Failure);
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return address.port;
}

function createHttpServer({ silenceMs, largerHeads }: ServerLimits): Server {
  const server = createServer({
    maxHeaderSize:
      largerHeads === undefined ? SERVER_LIMITS.headBytes : SERVER_LIMITS.headFactor * largerHeads.headBytes,
    headersTimeout: SERVER_LIMITS.headersTimeoutMs,
    requestTimeout: SERVER_LIMITS.requestTimeoutMs,
    keepAliveTimeout: SERVER_LIMITS.keepAliveTimeoutMs,
    connectionsCheckingInterval: SERVER_LIMITS.checkIntervalMs,
    // The service refuses a missing Host itself, in its own error format.
    requireHostHeader: false,
    noDelay: true,
  });
  // 0 means no limit; above a limit, Node silently drops headers.
  server.maxHeadersCount = 0;
  server.timeout = silenceMs;
  return server;
}

type AttachOptions = {
  readonly service: Service;
  readonly idleConnections: IdleConnections;
  readonly limits: ServerLimits;
  readonly isExposed: boolean;
} & Pick<World, "after">;

function attach(server: Server, { service, idleConnections, after, limits, isExposed }: AttachOptions): void {
  const queues = new WeakMap<Socket, RequestQueue>();
  // A complete request is answered before its connection is refused, because the request's work may be done already.
  const awaitPending = (socket: Socket): Promise<unknown> => {
    const requests = [...(queues.get(socket)?.pendingRequests ?? [])];
    const completeRequests = requests.filter(({ incoming }) => incoming.complete);
    return Promise.all(completeRequests.map(({ response }) => awaitClose(response)));
  };
  const refuseUnread: RefuseUnread = async (incoming, refusal) => {
    await awaitPending(incoming.socket);
    incoming.resume();
    writeToSocket(incoming.socket, refusal, { after, isHead: incoming.method === "HEAD" });
  };
  const work = (entry: PendingRequest): Promise<unknown> =>
    answerRequest(service, entry, { limits, refuseUnread, idleConnections }).catch(() =>
      entry.incoming.socket.destroySoon(),
    );
  const take = (incoming: IncomingMessage, response: ServerResponse): void => {
    const queue = queues.get(incoming.socket) ?? { pendingRequests: new Set(), waitingRequests: [] };
    if (!isBusy(queue)) idleConnections.markReading(incoming.socket);
    queues.set(incoming.socket, queue);
    const entry = { incoming, response, isServed: false, isLast: false };
    queue.pendingRequests.add(entry);
    queue.waitingRequests.push(entry);
    response.on("close", () => {
      queue.pendingRequests.delete(entry);
      if (queue.pendingRequests.size === 0) idleConnections.markIdle(incoming.socket);
      else if (!isBusy(queue)) idleConnections.markReading(incoming.socket);
      processInOrder(queue, work);
      if (!server.listening) server.closeIdleConnections();
    });
    if (queue.pendingRequests.size > SERVER_LIMITS.pendingRequests) incoming.socket.destroy();
    else processInOrder(queue, work);
  };
  server.on("connection", (socket: Socket) => setUpConnection(socket, { idleConnections, isExposed }));
  server.on("request", take);
  // No timeout applies while the service works on a request, which may take long.
  server.on("timeout", (socket: Socket) => {
    const isServed = [...(queues.get(socket)?.pendingRequests ?? [])].some((entry) => entry.isServed);
    if (!isServed) socket.destroy();
  });
  // `Expect` and CONNECT go through the service too, so that its guard checks the Host before a client learns that the
  // sandbox supports neither.
  server.on("checkExpectation", (incoming: IncomingMessage) => {
    idleConnections.markReading(incoming.socket);
    void service
      .answer(requestOf(incoming, EMPTY_BODY))
      .then((answer) => refuseUnread(incoming, answer))
      .catch(() => incoming.socket.destroy());
  });
  server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
    idleConnections.markReading(socket);
    void awaitPending(socket)
      .then(() => service.answer(requestOf(incoming, EMPTY_BODY)))
      .then((answer) => writeToSocket(socket, answer, { after }))
      .catch(() => socket.destroy());
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    void awaitPending(socket).then(async () => {
      if (socket.writableEnded && error.code !== "ECONNRESET") return;
      if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
      const refusal = await service.refuse({ ...parserError(error), method: "?", target: "?" });
      return writeToSocket(socket, refusal, { after });
    });
  });
}

function awaitClose(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => void response.once("close", resolve));
}

function bind(server: Server, host: string, port: number): Promise<ListenFailure | undefined> {
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      resolve({ reason: reasonOf(error), message: error.message });
    });
    server.listen({ host, port, ipv6Only: host.includes(":") }, () => resolve(undefined));
  });
}

function reasonOf(error: NodeJS.ErrnoException): ListenFailure["reason"] {
  if (error.code === "EADDRINUSE") return "in_use";
  if (error.code === "EADDRNOTAVAIL") return "no_such_address";
  return error.code === "EACCES" ? "not_permitted" : "other";
}

async function close(
  servers: readonly Server[],
  sockets: ReadonlySet<Socket>,
  { graceMs, after }: { readonly graceMs: number } & Pick<World, "after">,
): Promise<void> {
  after(graceMs, () => sockets.forEach((socket) => socket.destroy()));
  const closeServer = (server: Server): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
  await Promise.all(servers.map(closeServer));
}
