import type { Agent, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { RequestOptions } from "node:https";
import { isIPv6, type LookupFunction, type Socket } from "node:net";
import { toProxyForm, clientFor, openTunnel, proxyRefusal, toProxyFailure } from "./proxy.ts";
import { displayProxy } from "../core/network/proxy.ts";
import type { OutboundRequest, OutboundResult, TlsTrust } from "../world.ts";

type Failure = Extract<OutboundResult, { ok: false }>;

/**
 * Sends one request and reads its whole answer, without redirects or retries. A failure before the connection is
 * established is `unreachable`: only then is it certain that nothing was sent. `signal` aborts the request.
 */
export async function sendHttp(outbound: OutboundRequest, signal: AbortSignal): Promise<SentResult> {
  const { url, proxy, connection } = outbound;
  if (proxy === undefined)
    return sendTo(url, outbound, {
      signal,
      ...(connection === undefined ? {} : await findKeptRoute(outbound)),
    });
  if (!url.startsWith("https:"))
    return sendTo(displayProxy(proxy), outbound, { signal, ...toProxyForm(proxy, outbound) });
  const tunnel = await openTunnel(proxy, url, signal);
  if (tunnel.ok) return sendTo(url, outbound, { signal, socket: tunnel.socket });
  return toProxyFailure(proxy, describe(tunnel.error, false));
}

/**
 * The result of a request without a whole answer in time. If there was no connection to the next hop, nothing was sent.
 */
export function timeoutResult(
  { timeoutMs, proxy }: Pick<OutboundRequest, "timeoutMs" | "proxy">,
  result: SentResult,
): OutboundResult {
  const { address, sent } = result;
  if (sent || (proxy === undefined && address !== undefined))
    return { ok: false, failure: "timeout", message: `no whole answer within ${timeoutMs} ms`, address };
  const message = `no connection within ${timeoutMs} ms`;
  const failure: Failure = { ok: false, failure: "unreachable", message, address };
  return proxy === undefined ? failure : toProxyFailure(proxy, failure);
}

/** The result of a request. `sent`, after an abort: whether a connection existed. */
type SentResult = OutboundResult & { readonly sent: boolean };

/** Sends to the first hop: the server of the URL, or a proxy. */
async function sendTo(hop: string, outbound: OutboundRequest, route: Route): Promise<SentResult> {
  const isTls = hop.startsWith("https:");
  const { request } = await clientFor(hop);
  const { url, body, proxy } = outbound;
  return new Promise((resolve) => {
    let connected = false;
    let address: string | undefined;
    let onKept = false;
    const end = (result: OutboundResult): void =>
      resolve({ ...result, ...(result.ok ? {} : { onKept }), address, sent: connected });
    const fail = (failure: Failure): void =>
      end(proxy === undefined || connected ? failure : toProxyFailure(proxy, failure));
    let answer: Collected | undefined;
    const sent = request(hop, optionsOf(outbound, route), (response) => {
      const isProxys = proxy !== undefined && route.socket === undefined;
      if (isProxys && response.statusCode === 407) {
        response.destroy();
        connected = false;
        return fail({ ok: false, failure: "unreachable", message: proxyRefusal(407, new URL(url).host) });
      }
      answer = collect(response, outbound, (result) =>
        end(isProxys && result.ok ? { ...result, proxy: displayProxy(proxy) } : result),
      );
    });
    sent.on("socket", (socket) => {
      // With TLS, the server can get the request only after the handshake.
      onKept = sent.reusedSocket;
      connected = onKept || (!isTls && !socket.connecting);
      address = socket.remoteAddress;
      if (connected) return;
      socket.once("connect", () => (address = socket.remoteAddress));
      socket.once(isTls ? "secureConnect" : "connect", () => (connected = true));
    });
    sent.on("error", (error) => {
      const failure = describe(error, connected);
      if (answer === undefined) fail(failure);
      else answer.fail(failure);
    });
    sent.on("upgrade", (_response, upgraded) => {
      upgraded.destroy();
      end({ ok: false, failure: "bad_answer", message: "status 101 is not an answer to this request" });
    });
    // Any other end of the connection, so that the caller does not wait for ever.
    sent.on("close", () => answer ?? end(CLOSED));
    sent.end(body);
  });
}

/** The route of a request to its first hop. */
type Route = Partial<ReturnType<typeof toProxyForm>> & {
  readonly signal: AbortSignal;
  /** An established connection through a proxy. */
  readonly socket?: Socket;
  /** The agent that keeps connections; default: connections are not kept. */
  readonly agent?: Agent;
};

/**
 * How long a kept connection may be idle, in milliseconds: less than the timeout of any server that keeps connections.
 */
const KEPT_MS = 1000;
/** Maximum number of kept connections to the same addresses. */
const MAX_KEPT = 32;
/** Maximum number of address sets with kept connections. */
const MAX_AGENTS = 256;

/**
 * Agents with kept connections, one for each combination of scheme, addresses and trust, so that a name with new
 * addresses never gets an old connection.
 */
const agents = new Map<string, Agent>();

async function findKeptRoute({
  url,
  addresses,
  tls,
  connection,
}: OutboundRequest): Promise<Pick<Route, "agent">> {
  const { Agent } = await clientFor(url);
  const options = { keepAlive: true, timeout: KEPT_MS, maxFreeSockets: MAX_KEPT };
  const key = JSON.stringify([url.startsWith("https:"), addresses, tls]);
  const known = agents.get(key);
  if (known !== undefined && connection === "kept") return { agent: known };
  const agent = closeOnStrayBytes(new Agent(options));
  // A dropped agent closes by itself when its connections are idle.
  const [oldest] = agents.keys();
  if (oldest !== undefined && agents.size >= MAX_AGENTS) agents.delete(oldest);
  agents.set(key, agent);
  return { agent };
}

/** Closes a kept connection on which unexpected bytes arrive, because they would be mistaken for the next answer. */
function closeOnStrayBytes(agent: Agent): Agent {
  const [keep, reuse] = [agent.keepSocketAlive.bind(agent), agent.reuseSocket.bind(agent)];
  const closers = new WeakMap<Parameters<typeof keep>[0], () => void>();
  agent.keepSocketAlive = (socket) => {
    const close = (): void => void socket.destroy();
    closers.set(socket, close);
    socket.on("data", close);
    return keep(socket);
  };
  agent.reuseSocket = (socket, request) => {
    socket.off("data", closers.get(socket) ?? (() => undefined));
    reuse(socket, request);
  };
  return agent;
}

function optionsOf(
  { method, headers, lines, body, addresses, tls, timeoutMs }: OutboundRequest,
  route: Route,
): RequestOptions {
  const isChunked = "Transfer-Encoding" in headers;
  const length = body === undefined || isChunked ? {} : { "Content-Length": Buffer.byteLength(body) };
  return {
    // A separate agent: the environment could route the global agent, and with it the API key, through a proxy.
    agent: false,
    ...route,
    method,
    headers: { ...headers, ...linesOf(lines), ...route.headers, ...length },
    ...(addresses === undefined
      ? {}
      : {
          lookup: createPinnedLookup(addresses),
          autoSelectFamily: true,
          // Node's default timeout for each address is short; a busy machine may need longer.
          autoSelectFamilyAttemptTimeout: timeoutMs,
        }),
    ...(tls === undefined ? {} : trust(tls)),
  };
}

function linesOf(lines: OutboundRequest["lines"] = {}): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(lines).map(([name, values]) => [name, [...values]]));
}

function trust(tls: TlsTrust): RequestOptions {
  return "ca" in tls ? { ca: tls.ca } : { rejectUnauthorized: false };
}

/** Resolves every name to these addresses, so that the connection cannot go elsewhere. */
function createPinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const [first] = found;
  return (_host, { all }, answer) => {
    if (all === true) answer(null, found);
    else answer(null, first?.address ?? "", first?.family);
  };
}

/** An answer whose head has arrived. */
type Collected = {
  /** Called with the error of the connection, or of bytes on it. */
  readonly fail: (failure: Failure) => void;
};

/**
 * Reads an answer to its end. An answer is complete with its announced body: the status counts whatever comes after
 * it, such as the body of a 204 or a reset. A body without an announced length ends with the connection.
 */
function collect(
  response: IncomingMessage,
  { maxResponseBytes, larger, onPart }: Pick<OutboundRequest, "maxResponseBytes" | "larger" | "onPart">,
  end: (result: OutboundResult) => void,
): Collected {
  const chunks: Buffer[] = [];
  let size = 0;
  let lost: Failure = CLOSED;
  const answer = (): void => {
    const lines = Object.entries(response.headers).map(([name, value]) => [name, lineOf(value)] as const);
    const body = Buffer.concat(chunks).subarray(0, maxResponseBytes).toString("utf8");
    end({ ok: true, status: response.statusCode ?? 0, headers: Object.fromEntries(lines), body });
  };
  response.on("data", (chunk: Buffer) => {
    // Data that was already read can still arrive after the end.
    if (size > maxResponseBytes) return;
    size += chunk.length;
    chunks.push(chunk);
    onPart?.(chunk);
    if (size <= maxResponseBytes) return;
    if (larger === "cut") answer();
    else
      end({
        ok: false,
        failure: "bad_answer",
        message: `the answer is larger than ${maxResponseBytes} bytes`,
      });
    response.destroy();
  });
  // The cause of this error reaches the request.
  response.on("error", (error) => (lost = lost === CLOSED ? describe(error, true) : lost));
  response.on("end", answer);
  response.on("close", () => (response.complete ? answer() : end(lost)));
  return {
    fail: (failure) => {
      lost = failure;
      // After an abort, Node ends a body without an announced length as if the connection had been closed.
      if (failure.failure === "aborted" && !response.complete) end(failure);
    },
  };
}

const CLOSED: Failure = { ok: false, failure: "connection_lost", message: "the connection was closed" };

function describe(error: NodeJS.ErrnoException, connected: boolean): Failure {
  const message =
    error.message === "" ? (error.code ?? error.name) : (tlsFault(error.message) ?? error.message);
  if (error.name === "AbortError") return { ok: false, failure: "aborted", message };
  if (!connected) return { ok: false, failure: "unreachable", message };
  const failure = error.code?.startsWith("HPE_") === true ? "bad_answer" : "connection_lost";
  return { ok: false, failure, message };
}

/** OpenSSL's reason for bytes that are not TLS, without the position in its sources; undefined for all other texts. */
function tlsFault(message: string): string | undefined {
  const [, reason] = /:SSL routines:[^:]*:([^:]+):/.exec(message) ?? [];
  if (reason === undefined) return undefined;
  const hint = reason === "wrong version number" ? "; the server may speak http, not https" : "";
  return `no TLS connection: ${reason}${hint}`;
}

/** A header as text. Node gives only `Set-Cookie` as a list, whose lines cannot be joined by commas. */
function lineOf(value: string | readonly string[] | undefined): string {
  return typeof value === "object" ? value.join("\n") : (value ?? "");
}
