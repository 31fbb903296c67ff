import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { LoopbackHost } from "../../core/loopback.ts";
import { listenAddresses } from "../../core/network/address.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Listener, ListenFailure, ServerOptions, ServerLimits, Service, World } from "../../world.ts";
import { answerRequest, writeToSocket, type RefuseUnread } from "./answer.ts";
import {
  isBusy,
  idleConnectionsOf,
  setUpConnection,
  processInOrder,
  type PendingRequest,
  type RequestQueue,
  type IdleConnections,
} from "./connections.ts";
import { SERVER_LIMITS, DEFAULT_LIMITS } from "./limits.ts";
import { NO_BODY, parserError, requestOf } from "./requests.ts";

/**
 * Serves on 127.0.0.1 and ::1, of which the machine must have one, and on the addresses of the options. Port 0 selects
 * any free port. The service is created when the port is known, before the first request is read.
 */
export async function serveHttp(
  makeService: (port: number, host: LoopbackHost) => Service,
  options: ServerOptions & Pick<World, "after">,
): Promise<Outcome<Listener, ListenFailure>> {
  const { after, addresses = [] } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  let binding = await bindAll(options, limits);
  // A port that is free at one address may be used at the next.
  for (let draws = 1; draws < MAX_DRAWS && isTaken(binding) && options.port === 0; draws += 1)
    binding = await bindAll(options, limits);
  if (!binding.ok) return binding;
  const { servers, port, host } = binding.value;
  const service = makeService(port, host);
  const sockets = new Set<Socket>();
  const rests = idleConnectionsOf(sockets, limits);
  const isOpen = addresses.length > 0;
  for (const server of servers) attach(server, { service, rests, after, limits, isOpen });
  return accept({
    port,
    close: (graceMs) => close(servers, sockets, { graceMs, after }),
    keepRunning: (keeps) => {
      for (const server of servers) {
        if (keeps) server.ref();
        else server.unref();
      }
    },
  });
}

/** How often a free port is drawn. */
const MAX_DRAWS = 20;

type Bound = { readonly servers: readonly Server[]; readonly port: number; readonly host: LoopbackHost };

function isTaken(binding: Outcome<Bound, ListenFailure>): boolean {
  return !binding.ok && binding.refusal.reason === "in_use";
}

/** Binds a server to each address; none if one of them fails. */
async function bindAll(
  { port: wantedPort, addresses = [] }: ServerOptions,
  limits: ServerLimits,
): Promise<Outcome<Bound, ListenFailure>> {
  const servers: Server[] = [];
  let port = wantedPort;
  let host: LoopbackHost = "127.0.0.1";
  let withoutIpv4: ListenFailure | undefined;
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
      if (address === "::1" || address === "::") withoutIpv4 = undefined;
    } else if (address === "127.0.0.1" && failure.reason === "no_such_address") {
      host = "[::1]";
      withoutIpv4 = { ...failure, address };
    } else if (!isOptional || failure.reason === "in_use") return refuse({ ...failure, address });
  }
  return withoutIpv4 === undefined ? accept({ servers, port, host }) : refuse(withoutIpv4);
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return address.port;
}

function createHttpServer({ silenceMs, largerHeads }: ServerLimits): Server {
  const server = createServer({
    maxHeaderSize:
      largerHeads === undefined ? SERVER_LIMITS.headBytes : SERVER_LIMITS.readHeads * largerHeads.headBytes,
    headersTimeout: SERVER_LIMITS.headersMs,
    requestTimeout: SERVER_LIMITS.requestMs,
    keepAliveTimeout: SERVER_LIMITS.keepAliveMs,
    connectionsCheckingInterval: SERVER_LIMITS.checkEveryMs,
    // The guard refuses a missing Host, in our envelope.
    requireHostHeader: false,
    noDelay: true,
  });
  // 0 means no limit: Node would silently drop headers over its limit.
  server.maxHeadersCount = 0;
  server.timeout = silenceMs;
  return server;
}

type Connections = {
  readonly service: Service;
  readonly rests: IdleConnections;
  readonly limits: ServerLimits;
  /** Whether other machines can reach the server; each request then says whether it came from outside. */
  readonly isOpen: boolean;
} & Pick<World, "after">;

/** Passes every request to the service, whichever of Node's events reports it, and answers unreadable requests. */
function attach(server: Server, { service, rests, after, limits, isOpen }: Connections): void {
  const queues = new WeakMap<Socket, RequestQueue>();
  // A complete request is answered before anything after it on the connection, because its work may already be done.
  const afterPending = (socket: Socket): Promise<unknown> => {
    const queue = [...(queues.get(socket)?.pending ?? [])].filter(({ incoming }) => incoming.complete);
    return Promise.all(queue.map(({ response }) => awaitClose(response)));
  };
  const refuseUnread: RefuseUnread = async (incoming, refusal) => {
    await afterPending(incoming.socket);
    incoming.resume();
    writeToSocket(incoming.socket, refusal, { after, isHead: incoming.method === "HEAD" });
  };
  // A service must not throw. If it does, or its stream fails, only the connection ends, after the bytes already sent.
  const work = (entry: PendingRequest): Promise<unknown> =>
    answerRequest(service, entry, { limits, refuseUnread, rests }).catch(() =>
      entry.incoming.socket.destroySoon(),
    );
  const take = (incoming: IncomingMessage, response: ServerResponse): void => {
    const queue = queues.get(incoming.socket) ?? { pending: new Set(), waiting: [] };
    if (!isBusy(queue)) rests.wake(incoming.socket);
    queues.set(incoming.socket, queue);
    const entry = { incoming, response, isServed: false, isLast: false };
    queue.pending.add(entry);
    queue.waiting.push(entry);
    response.on("close", () => {
      queue.pending.delete(entry);
      if (queue.pending.size === 0) rests.rest(incoming.socket);
      else if (!isBusy(queue)) rests.wake(incoming.socket);
      processInOrder(queue, work);
      // This connection was busy when the server was told to stop.
      if (!server.listening) server.closeIdleConnections();
    });
    if (queue.pending.size > SERVER_LIMITS.pipelined) incoming.socket.destroy();
    else processInOrder(queue, work);
  };
  server.on("connection", (socket: Socket) => setUpConnection(socket, { rests, isOpen }));
  server.on("request", take);
  // While the service is working, no timeout applies: a long request may take its time.
  server.on("timeout", (socket: Socket) => {
    const isServed = [...(queues.get(socket)?.pending ?? [])].some((entry) => entry.isServed);
    if (!isServed) socket.destroy();
  });
  // The guard checks Expect and CONNECT too, so that a forbidden client learns nothing from them.
  server.on("checkExpectation", (incoming: IncomingMessage) => {
    rests.wake(incoming.socket);
    void service
      .answer(requestOf(incoming, NO_BODY))
      .then((answer) => refuseUnread(incoming, answer))
      .catch(() => incoming.socket.destroy());
  });
  server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
    rests.wake(socket);
    void afterPending(socket)
      .then(() => service.answer(requestOf(incoming, NO_BODY)))
      .then((answer) => writeToSocket(socket, answer, { after }))
      .catch(() => socket.destroy());
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    void afterPending(socket).then(async () => {
      // The request was already refused; the rest of its bytes is ignored.
      if (socket.writableEnded && error.code !== "ECONNRESET") return;
      if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
      else
        writeToSocket(socket, await service.refuse({ ...parserError(error), method: "?", target: "?" }), {
          after,
        });
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

/** Waits a while for requests in flight, then closes every connection. */
async function close(
  servers: readonly Server[],
  sockets: ReadonlySet<Socket>,
  { graceMs, after }: { readonly graceMs: number } & Pick<World, "after">,
): Promise<void> {
  after(graceMs, () => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(
    servers.map(
      (server) =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeIdleConnections();
        }),
    ),
  );
}
