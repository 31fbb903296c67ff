import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { isLoopbackAddress, listenAddresses } from "../core/network/address.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { inOriginForm, isWhole } from "./http.ts";
import { sendStream } from "./server/stream.ts";
import type {
  HttpRequest,
  HttpResponse,
  Listener,
  ListenFailure,
  ListenOptions,
  ServerLimits,
  Service,
  Unreadable,
  World,
} from "../world.ts";

/** Default limits of a server (decision 6). */
const OWN_LIMITS: ServerLimits = { bodyBytes: 16 * 1024, connections: 1024, silenceMs: 30_000 };

/** Limits of every server (decision 58). Sizes in bytes, times in milliseconds. */
const LIMITS = {
  headBytes: 16 * 1024,
  /** So many times the largest head that a path may have are read, so that a refusal knows the path. */
  readHeads: 4,
  headerLines: 100,
  headersMs: 5000,
  requestMs: 10_000,
  keepAliveMs: 30_000,
  /** How often Node looks for late requests. */
  checkEveryMs: 500,
  /** Maximum number of unanswered requests on one connection. */
  pipelined: 128,
  /** Maximum number of requests of one connection that the service works on at once; the others wait. */
  workedOn: 8,
  /** Bytes of answers that a client may leave unread before its next requests wait. */
  unreadBytes: 64 * 1024,
  /** How long a refused connection stays open: closed at once, the client would lose the answer. */
  lingerMs: 5000,
} as const;

/** Node's parser errors that have a code of their own; all others are `invalid_request`. */
const PARSER_REFUSALS: ReadonlyMap<string, Fault> = new Map(
  Object.entries({
    HPE_HEADER_OVERFLOW: {
      code: "headers_too_large",
      message: "the request line and headers are larger than any request of this server may have",
    },
    ERR_HTTP_REQUEST_TIMEOUT: {
      code: "request_timeout",
      message: `the whole request must arrive within ${LIMITS.requestMs / 1000} s, its headers within ${LIMITS.headersMs / 1000} s`,
    },
  }),
);

/** What is wrong with a request that could not be read. */
export type Fault = Pick<Unreadable, "code" | "message">;

/**
 * Serves on 127.0.0.1, where the machine has it on ::1, and on the addresses of the options. Port 0 takes any free one.
 * The service is made once the port is known, before the first request is read.
 */
export async function serve(
  makeService: (port: number) => Service,
  options: ListenOptions & Pick<World, "after">,
): Promise<Outcome<Listener, ListenFailure>> {
  const { after, addresses = [] } = options;
  const limits = { ...OWN_LIMITS, ...options.limits };
  const servers: Server[] = [];
  let { port } = options;
  for (const { address, isOptional } of listenAddresses(addresses)) {
    const server = createHttpServer(limits);
    const failure = await bind(server, address, port);
    if (failure === undefined) {
      servers.push(server);
      port = portOf(server);
    } else if (!isOptional || failure.reason === "in_use") {
      for (const bound of servers) bound.close();
      return { ok: false, refusal: { ...failure, address } };
    }
  }
  const service = makeService(port);
  const sockets = new Set<Socket>();
  const rests = restsOf(sockets, limits);
  const isOpen = addresses.length > 0;
  for (const server of servers) attach(server, { service, sockets, rests, after, limits, isOpen });
  return accept({ port, close: (graceMs) => close(servers, sockets, { graceMs, after }) });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return address.port;
}

function createHttpServer({ silenceMs, largerHeads }: ServerLimits): Server {
  const server = createServer({
    maxHeaderSize: largerHeads === undefined ? LIMITS.headBytes : LIMITS.readHeads * largerHeads.headBytes,
    headersTimeout: LIMITS.headersMs,
    requestTimeout: LIMITS.requestMs,
    keepAliveTimeout: LIMITS.keepAliveMs,
    connectionsCheckingInterval: LIMITS.checkEveryMs,
    // The guard refuses a missing Host, in our envelope.
    requireHostHeader: false,
    noDelay: true,
  });
  // 0 means all: Node would silently drop headers over its limit.
  server.maxHeadersCount = 0;
  server.timeout = silenceMs;
  return server;
}

/** A request whose answer was not sent to its end yet. */
type Pending = {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the service works on it. */
  isServed: boolean;
};

/** What one connection has asked: all that is not answered to the end, and of that what nobody works on yet. */
type Queue = { readonly pending: Set<Pending>; readonly waiting: Pending[] };

/** The connections that nothing is done for. */
type Rests = {
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
function restsOf(sockets: Set<Socket>, { connections }: ServerLimits): Rests {
  const unheard = new Set<Socket>();
  const resting = new Set<Socket>();
  const unread = new Set<Socket>();
  const remove = (socket: Socket): void => {
    for (const all of [sockets, unheard, resting, unread]) all.delete(socket);
  };
  return {
    add: (socket) => {
      const [oldest = socket] =
        sockets.size < connections ? [] : [unheard, resting, unread].flatMap((all) => first(all));
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

/** The service, and the open connections. */
type Connections = {
  readonly service: Service;
  readonly sockets: Set<Socket>;
  readonly rests: Rests;
  readonly limits: ServerLimits;
  /** Whether other machines may reach it: then each request tells whether it came to such an address. */
  readonly isOpen: boolean;
} & Pick<World, "after">;

function welcome(socket: Socket, { rests, isOpen }: Pick<Connections, "rests" | "isOpen">): void {
  rests.add(socket);
  if (isOpen && !isLoopbackAddress(socket.localAddress ?? "")) OUTSIDE.add(socket);
  socket.on("close", () => rests.remove(socket));
  // Node removes its own error listener when it hands a connection over (CONNECT), and a reset may come at any time.
  socket.on("error", () => socket.destroy());
}

/** Whether a request of a connection is worked on. */
function isWorkedOn({ pending }: Queue): boolean {
  for (const { isServed } of pending) if (isServed) return true;
  return false;
}

/** Passes every request to the service, by whichever event Node reports it, and answers what could not be read. */
function attach(server: Server, { service, rests, after, limits, isOpen }: Connections): void {
  const queues = new WeakMap<Socket, Queue>();
  // A complete request is answered before anything after it on the connection: its work may already be done.
  const afterPending = (socket: Socket): Promise<unknown> => {
    const whole = [...(queues.get(socket)?.pending ?? [])].filter(({ incoming }) => incoming.complete);
    return Promise.all(whole.map(({ response }) => closed(response)));
  };
  const refuseUnread: RefuseUnread = async (incoming, refusal) => {
    await afterPending(incoming.socket);
    incoming.resume();
    write(incoming.socket, refusal, { after, isHead: incoming.method === "HEAD" });
  };
  // A service must not throw; if it does, or its stream fails, only the connection ends, behind what was sent.
  const work = (entry: Pending): Promise<unknown> =>
    answer(service, entry, { limits, refuseUnread, rests }).catch(() => entry.incoming.socket.destroySoon());
  const take = (incoming: IncomingMessage, response: ServerResponse): void => {
    const queue = queues.get(incoming.socket) ?? { pending: new Set(), waiting: [] };
    if (!isWorkedOn(queue)) rests.wake(incoming.socket);
    queues.set(incoming.socket, queue);
    const entry = { incoming, response, isServed: false };
    queue.pending.add(entry);
    queue.waiting.push(entry);
    response.on("close", () => {
      queue.pending.delete(entry);
      if (queue.pending.size === 0) rests.rest(incoming.socket);
      else if (!isWorkedOn(queue)) rests.wake(incoming.socket);
      workOn(queue, work);
      // This connection was busy when the server was told to stop.
      if (!server.listening) server.closeIdleConnections();
    });
    if (queue.pending.size > LIMITS.pipelined) incoming.socket.destroy();
    else workOn(queue, work);
  };
  server.on("connection", (socket: Socket) => welcome(socket, { rests, isOpen }));
  server.on("request", take);
  // While the service works nobody is silent: a long request may take its time.
  server.on("timeout", (socket: Socket) => {
    const isServed = [...(queues.get(socket)?.pending ?? [])].some((entry) => entry.isServed);
    if (!isServed) socket.destroy();
  });
  // The guard checks Expect and CONNECT too, so that a forbidden client learns nothing from them.
  server.on("checkExpectation", (incoming: IncomingMessage) => {
    rests.wake(incoming.socket);
    void service
      .answer(requestOf(incoming, NO_BODY))
      .then((sent) => refuseUnread(incoming, sent))
      .catch(() => incoming.socket.destroy());
  });
  server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
    rests.wake(socket);
    void afterPending(socket)
      .then(() => service.answer(requestOf(incoming, NO_BODY)))
      .then((sent) => write(socket, sent, { after }))
      .catch(() => socket.destroy());
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    void afterPending(socket).then(async () => {
      // Refused already: what it still sends is read to no end.
      if (socket.writableEnded && error.code !== "ECONNRESET") return;
      if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
      else
        write(socket, await service.refuse({ ...parserFault(error), method: "?", target: "?" }), { after });
    });
  });
}

/**
 * Works on what a connection asks, in its order, as far as its client reads the answers: who sends requests and reads
 * nothing gets little done, and keeps little in memory.
 */
function workOn(queue: Queue, work: (entry: Pending) => Promise<unknown>): void {
  const { pending, waiting } = queue;
  while (waiting.length > 0 && mayWork(queue)) {
    const next = waiting.shift();
    // The client has gone, and nobody has begun.
    if (next === undefined || !pending.has(next) || next.incoming.socket.destroyed) continue;
    void work(next).then(() => workOn(queue, work));
  }
}

function mayWork({ pending, waiting }: Queue): boolean {
  // Nearly always: a client that waits for each answer.
  if (pending.size === 1) return true;
  // What waits came last.
  const taken = [...pending].slice(0, pending.size - waiting.length);
  const unread = taken.reduce((bytes, { response }) => bytes + response.writableLength, 0);
  const unanswered = taken.filter(({ response }) => !response.writableEnded).length;
  return unanswered < LIMITS.workedOn && unread < LIMITS.unreadBytes;
}

/** Answers a request of which not all was read, and closes its connection. */
type RefuseUnread = (incoming: IncomingMessage, refusal: HttpResponse) => Promise<void>;

async function answer(
  service: Service,
  entry: Pending,
  {
    limits,
    refuseUnread,
    rests,
  }: Pick<Connections, "limits" | "rests"> & { readonly refuseUnread: RefuseUnread },
): Promise<void> {
  const { incoming, response } = entry;
  const bodyBytes = bodyLimit(incoming.url ?? "", limits);
  const fault = faultOf(incoming, bodyBytes) ?? headFaultOf(incoming, limits);
  const body = fault ?? (await readBody(incoming, bodyBytes));
  if (body === undefined) return;
  if (body instanceof Uint8Array) {
    entry.isServed = true;
    rests.serve(incoming.socket);
    const sent = await service.answer(requestOf(incoming, body));
    entry.isServed = false;
    await send(entry, sent, limits);
    return;
  }
  const { method = "", url: target = "", rawHeaders } = incoming;
  const refusal = await service.refuse({ ...body, method, target, rawHeaders });
  if (!incoming.complete) return refuseUnread(incoming, refusal);
  response.shouldKeepAlive = false;
  await send(entry, refusal, limits);
}

/** How many bytes the body of a request may have. */
export function bodyLimit(
  target: string,
  { bodyBytes = OWN_LIMITS.bodyBytes, larger }: Partial<ServerLimits>,
): number {
  return larger !== undefined && target === larger.path ? larger.bodyBytes : bodyBytes;
}

function requestOf(
  { method = "", url: target = "", rawHeaders, socket }: IncomingMessage,
  body: Uint8Array,
): HttpRequest {
  return inOriginForm({ method, target, rawHeaders, body, fromOutside: OUTSIDE.has(socket) });
}

/** Connections that came to an address which other machines reach. */
const OUTSIDE = new WeakSet<Socket>();

/** Faults that Node's parser does not report: HTTP version, number of headers, transfer coding, declared size. */
function faultOf(
  { httpVersion, headers, rawHeaders }: IncomingMessage,
  bodyBytes: number,
): Fault | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return { code: "invalid_request", message: `HTTP/1.1 was expected; got HTTP/${httpVersion}` };
  }
  if (rawHeaders.length > LIMITS.headerLines * 2) {
    return { code: "headers_too_large", message: `a request may have ${LIMITS.headerLines} header lines` };
  }
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    return { code: "invalid_request", message: "the only transfer coding is chunked" };
  }
  const declared = headers["content-length"];
  return declared !== undefined && Number(declared) > bodyBytes ? tooLarge(bodyBytes) : undefined;
}

/** The fault of a head that is over the limit of its path, where Node's parser reads more than that. */
function headFaultOf(
  { method = "", url = "", rawHeaders }: IncomingMessage,
  { largerHeads }: ServerLimits,
): Fault | undefined {
  if (largerHeads === undefined) return undefined;
  const { below, headBytes } = largerHeads;
  const isLarger = below.some((path) => url.startsWith(path) && /^[/?]?$/.test(url.charAt(path.length)));
  const limit = isLarger ? headBytes : LIMITS.headBytes;
  return method.length + url.length + bytesOf(rawHeaders) > limit ? headFault(limit) : undefined;
}

function headFault(limit: number): Fault {
  return { code: "headers_too_large", message: `the request line and headers may have ${limit} bytes` };
}

/** Bytes of names and values, which Node keeps as Latin-1. */
function bytesOf(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

const NO_BODY = new Uint8Array();

/** The fault of a body that is over its limit. */
export function tooLarge(bodyBytes: number): Fault {
  return { code: "body_too_large", message: `a body may have ${bodyBytes} bytes` };
}

/** The whole body; a fault if it is over the limit; undefined if the client disconnected. */
function readBody(
  incoming: IncomingMessage,
  bodyBytes: number,
): Uint8Array | Promise<Uint8Array | Fault | undefined> {
  const { headers } = incoming;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return NO_BODY;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > bodyBytes) resolve(tooLarge(bodyBytes));
      else chunks.push(chunk);
    });
    incoming.on("end", () => {
      if (bytesOf(incoming.rawTrailers) > LIMITS.headBytes) resolve(headFault(LIMITS.headBytes));
      else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    incoming.on("close", () => resolve(undefined));
  });
}

async function send(
  { incoming, response }: Pick<Pending, "incoming" | "response">,
  { status, headers, body, dropped, reset }: HttpResponse,
  { silenceMs }: ServerLimits,
): Promise<void> {
  if (dropped === true) {
    if (reset === true) incoming.socket.resetAndDestroy();
    else response.destroy();
    return;
  }
  if (isWhole(body)) {
    response.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body) });
    response.end(body);
    return;
  }
  response.writeHead(status, headers);
  // At once, so that the client sees the answer before the first bytes of the body.
  response.flushHeaders();
  if (incoming.method === "HEAD") response.end();
  await sendStream(body, { response, socket: incoming.socket, silenceMs });
}

/** What Node's parser says is wrong. */
function parserFault(error: NodeJS.ErrnoException): Fault {
  const known = PARSER_REFUSALS.get(error.code ?? "");
  return known ?? { code: "invalid_request", message: `the request is not valid HTTP/1.1: ${error.message}` };
}

/**
 * Writes an answer past Node's response, which closes the connection at once: what the client still sends would then
 * reset it, and the answer be lost. This closes our half, and reads on for a while.
 */
function write(
  socket: Socket,
  { status, headers, body }: HttpResponse,
  { after, isHead = false }: Pick<World, "after"> & { readonly isHead?: boolean },
): void {
  if (!isWhole(body)) throw new Error("what is no request is answered by a whole body");
  const lines = Object.entries({
    ...headers,
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${head}\r\n`);
  socket.end(isHead ? "" : body);
  socket.resume();
  after(LIMITS.lingerMs, () => socket.destroy());
}

function closed(response: ServerResponse): Promise<void> {
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
