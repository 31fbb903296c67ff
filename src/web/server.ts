import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { accept, refuse, type Outcome, type Refusal } from "../core/outcome.ts";
import type { Handler, HttpResponse, Listener, ListenFailure, World } from "../world.ts";
import { refusalResponse } from "./answer.ts";

/** Limits of one server (decision 6, design section 8). Sizes in bytes, times in milliseconds. */
export const LIMITS = {
  headerBytes: 16 * 1024,
  headerLines: 100,
  bodyBytes: 16 * 1024,
  headersMs: 5000,
  requestMs: 10_000,
  keepAliveMs: 30_000,
  /** Node looks for late requests only this often. */
  checkEveryMs: 500,
  connections: 1024,
} as const;

/** Node's parser errors that have a code of their own; all others are `invalid_request`. */
const PARSER_REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    code: "headers_too_large",
    message: `the request line and headers may have ${LIMITS.headerBytes} bytes`,
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: "request_timeout",
    message: `the whole request must arrive within ${LIMITS.requestMs / 1000} s, its headers within ${LIMITS.headersMs / 1000} s`,
  },
};

/**
 * Serves on 127.0.0.1 and, where the machine has it, on ::1. Port 0 takes any free one. The handler is made once the
 * port is known, before the first request is read.
 */
export async function serve(
  makeHandler: (port: number) => Handler,
  options: { readonly port: number } & Pick<World, "uuid" | "after">,
): Promise<Outcome<Listener, ListenFailure>> {
  const servers = [createHttpServer(), createHttpServer()] as const;
  const [ipv4, ipv6] = servers;
  const failure = await bind(ipv4, "127.0.0.1", options.port);
  if (failure !== undefined) return { ok: false, refusal: failure };
  const address = ipv4.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  const { port } = address;
  const second = await bind(ipv6, "::1", port);
  if (second?.reason === "in_use") {
    await closeServer(ipv4, 0, options.after);
    return { ok: false, refusal: second };
  }
  const handler = makeHandler(port);
  for (const server of servers) attach(server, handler, options.uuid);
  return accept({
    port,
    close: async (graceMs) => {
      await Promise.all(
        servers
          .filter(({ listening }) => listening)
          .map((server) => closeServer(server, graceMs, options.after)),
      );
    },
  });
}

function createHttpServer(): Server {
  const server = createServer({
    maxHeaderSize: LIMITS.headerBytes,
    headersTimeout: LIMITS.headersMs,
    requestTimeout: LIMITS.requestMs,
    keepAliveTimeout: LIMITS.keepAliveMs,
    connectionsCheckingInterval: LIMITS.checkEveryMs,
    // The guard answers for a missing Host, in our envelope.
    requireHostHeader: false,
    noDelay: true,
  });
  // 0 means all: Node would drop the headers past its own limit, and with them what we have to see.
  server.maxHeadersCount = 0;
  server.maxConnections = LIMITS.connections;
  return server;
}

/** A request that is not answered yet. */
type Pending = { readonly incoming: IncomingMessage; readonly response: ServerResponse };

/** Gives every request to the handler, in whichever way Node announces it, and answers what it could not read. */
function attach(server: Server, handler: Handler, uuid: World["uuid"]): void {
  const pendingOf = new WeakMap<Socket, Set<Pending>>();
  const take = (incoming: IncomingMessage, response: ServerResponse): void => {
    const pending = pendingOf.get(incoming.socket) ?? new Set();
    const entry = { incoming, response };
    pendingOf.set(incoming.socket, pending.add(entry));
    response.on("close", () => pending.delete(entry));
    void answer(handler, uuid, entry);
  };
  server.on("request", take);
  // The guard looks at Expect and at CONNECT: whoever may not speak here learns no more from them.
  server.on("checkExpectation", take);
  server.on("connect", ({ method = "", url = "", rawHeaders }: IncomingMessage, socket: Socket) => {
    void handler({ method, target: url, rawHeaders, body: new Uint8Array() }).then((sent) =>
      write(socket, sent),
    );
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const refusal = refusalResponse(uuid(), refusalOf(error));
    // What came whole before the fault is answered first: its work may be done already.
    const whole = [...(pendingOf.get(socket) ?? [])].filter(({ incoming }) => incoming.complete);
    void Promise.all(whole.map(({ response }) => closed(response))).then(() => write(socket, refusal));
  });
}

async function answer(handler: Handler, uuid: World["uuid"], { incoming, response }: Pending): Promise<void> {
  const message = checkMessage(incoming);
  const body = message.ok ? await readBody(incoming) : message;
  if (body === undefined) return;
  if (!body.ok) {
    response.shouldKeepAlive = false;
    send(response, refusalResponse(uuid(), body.refusal));
    return;
  }
  const { method = "", url = "", rawHeaders } = incoming;
  send(response, await handler({ method, target: url, rawHeaders, body: body.value }));
}

/** What Node's parser lets pass, and no server of HTTP/1.1 may guess about. */
function checkMessage({ httpVersion, headers, rawHeaders }: IncomingMessage): Outcome<void> {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return refuse("invalid_request", `HTTP/1.1 was expected; got HTTP/${httpVersion}`);
  }
  if (rawHeaders.length > LIMITS.headerLines * 2) {
    return refuse("headers_too_large", `a request may have ${LIMITS.headerLines} header lines`);
  }
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    return refuse("invalid_request", "the only transfer coding is chunked");
  }
  return accept(undefined);
}

const NO_BODY = accept(new Uint8Array());

/** The whole body, a refusal where it is over the limit, or undefined where the client went away. */
function readBody(incoming: IncomingMessage): Outcome<Uint8Array> | Promise<Outcome<Uint8Array> | undefined> {
  const { headers } = incoming;
  const declared = headers["content-length"];
  if (declared === undefined && headers["transfer-encoding"] === undefined) return NO_BODY;
  if (declared !== undefined && Number(declared) > LIMITS.bodyBytes) return tooLarge();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > LIMITS.bodyBytes) resolve(tooLarge());
      else chunks.push(chunk);
    });
    incoming.on("end", () =>
      resolve(accept(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))),
    );
    incoming.on("close", () => resolve(undefined));
  });
}

function tooLarge(): Outcome<never> {
  return refuse("body_too_large", `a body may have ${LIMITS.bodyBytes} bytes`);
}

function send(response: ServerResponse, sent: HttpResponse): void {
  const length = typeof sent.body === "string" ? Buffer.byteLength(sent.body) : sent.body.length;
  response.writeHead(sent.status, { ...sent.headers, "Content-Length": length });
  response.end(sent.body);
}

/** Node's parser errors, as refusals. */
function refusalOf(error: NodeJS.ErrnoException): Refusal {
  const known = PARSER_REFUSALS[error.code ?? ""];
  return known ?? { code: "invalid_request", message: `the request is not valid HTTP/1.1: ${error.message}` };
}

/** Writes an answer where Node made no response object, and ends the connection. */
function write(socket: Socket, { status, headers, body }: HttpResponse): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const lines = Object.entries({
    ...headers,
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${head}\r\n`);
  socket.end(body);
}

function closed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => void response.once("close", resolve));
}

function bind(server: Server, host: string, port: number): Promise<ListenFailure | undefined> {
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      resolve({ reason: reasonOf(error), message: error.message });
    });
    server.listen({ host, port, ipv6Only: host === "::1" }, () => resolve(undefined));
  });
}

function reasonOf(error: NodeJS.ErrnoException): ListenFailure["reason"] {
  if (error.code === "EADDRINUSE") return "in_use";
  return error.code === "EACCES" ? "not_permitted" : "other";
}

function closeServer(server: Server, graceMs: number, after: World["after"]): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    after(graceMs, () => server.closeAllConnections());
  });
}
