import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { RequestOptions } from "node:https";
import { isIPv6, type LookupFunction, type Socket } from "node:net";
import { toProxyForm, httpModuleFor, openTunnel, proxyRefusal, toProxyFailure } from "./proxy.ts";
import { loopbackAddresses } from "../core/loopback.ts";
import { displayProxy } from "../core/network/proxy.ts";
import type { AttemptFacts, ConnectionFault } from "../core/network/connection-fault.ts";
import type { OutboundRequest, OutboundResult, TlsTrust } from "../world.ts";
import { describeFailure, type Failure, type ConnectionProgress } from "./failure.ts";
import { findConnectionFacts } from "./examine.ts";

/**
 * Sends one request, without redirects or retries. `unreachable` means that nothing was sent; after other failures the
 * server may have received the request. `lacksIpv4`: this machine has no 127.0.0.0/8 address.
 */
export async function sendHttp(
  outbound: OutboundRequest,
  signal: AbortSignal,
  lacksIpv4 = (): boolean => false,
): Promise<SentResult> {
  const { proxy } = outbound;
  const result =
    proxy === undefined
      ? await sendDirectly(outbound, signal, lacksIpv4)
      : await sendThroughProxy(proxy, outbound, signal);
  outbound.onEnd?.();
  const isExamined = outbound.examine === true && proxy === undefined;
  return isExamined ? { ...result, ...(await findConnectionFacts(outbound, result, signal)) } : result;
}

async function sendDirectly(
  outbound: OutboundRequest,
  signal: AbortSignal,
  lacksIpv4: () => boolean,
): Promise<SentResult> {
  const { url, connection } = outbound;
  const route = { signal, ...(connection === undefined ? {} : await findKeptRoute(outbound)) };
  const result = await sendTo(url, outbound, route);
  const ipv6 = result.ok || result.facts?.fault !== "no_route" ? undefined : ipv6Of(url);
  return ipv6 !== undefined && lacksIpv4() ? sendTo(ipv6, withHostOf(outbound), route) : result;
}

async function sendThroughProxy(
  proxy: string,
  outbound: OutboundRequest,
  signal: AbortSignal,
): Promise<SentResult> {
  const { url } = outbound;
  if (!url.startsWith("https:"))
    return sendTo(displayProxy(proxy), outbound, { signal, ...toProxyForm(proxy, outbound) });
  const tunnel = await openTunnel(proxy, url, signal);
  if (tunnel.ok) return sendTo(url, outbound, { signal, socket: tunnel.socket });
  return toProxyFailure(proxy, describeFailure(tunnel.error, NO_PROGRESS));
}

/** For machines without 127.0.0.1 (decision 79). Undefined if the URL has another host. */
function ipv6Of(url: string): string | undefined {
  const ipv6Url = new URL(url);
  if (ipv6Url.hostname !== "127.0.0.1") return undefined;
  ipv6Url.hostname = "[::1]";
  return ipv6Url.href;
}

function withHostOf(outbound: OutboundRequest): OutboundRequest {
  return { ...outbound, headers: { Host: new URL(outbound.url).host, ...outbound.headers } };
}

export function timeoutResult(
  { timeoutMs, proxy }: Pick<OutboundRequest, "timeoutMs" | "proxy">,
  result: SentResult,
): OutboundResult {
  const { address, wasConnected } = result;
  const common = { ok: false, facts: result.ok ? undefined : result.facts, address } as const;
  if (wasConnected || (proxy === undefined && address !== undefined))
    return { ...common, failure: "timeout", message: `no whole answer within ${timeoutMs} ms` };
  const message = `no connection within ${timeoutMs} ms`;
  const failure: Failure = { ...common, failure: "unreachable", message };
  return proxy === undefined ? failure : toProxyFailure(proxy, failure);
}

type SentResult = OutboundResult & { readonly wasConnected: boolean };

async function sendTo(hop: string, outbound: OutboundRequest, route: Route): Promise<SentResult> {
  const { request } = await httpModuleFor(hop);
  const { url, proxy } = outbound;
  return new Promise((resolve) => {
    const progress = { ...NO_PROGRESS, isTls: hop.startsWith("https:") };
    let address: string | undefined;
    let isKept = false;
    let countReceivedBytes = (): number => 0;
    let failAnswer: ((failure: Failure) => void) | undefined;
    const end = (result: OutboundResult): void =>
      resolve({
        ...result,
        ...(result.ok ? {} : { wasReused: isKept }),
        address,
        wasConnected: progress.isConnected,
      });
    const fail = (failure: Failure): void =>
      end(proxy === undefined || progress.isConnected ? failure : toProxyFailure(proxy, failure));
    const clientRequest = request(hop, optionsOf(outbound, route), (response) => {
      const isFromProxy = proxy !== undefined && route.socket === undefined;
      if (isFromProxy && response.statusCode === 407) {
        response.destroy();
        progress.isConnected = false;
        return fail({ ok: false, failure: "unreachable", message: proxyRefusal(407, new URL(url).host) });
      }
      failAnswer = collectAnswer(response, outbound, (result) =>
        end(isFromProxy && result.ok ? { ...result, proxy: displayProxy(proxy) } : result),
      );
    });
    clientRequest.on("socket", (socket) => {
      const bytesBefore = socket.bytesRead;
      isKept = clientRequest.reusedSocket;
      progress.isOpen = isKept || !socket.connecting;
      progress.isConnected = isKept || (!progress.isTls && progress.isOpen);
      address = socket.remoteAddress;
      countReceivedBytes = () => socket.bytesRead - bytesBefore;
      if (progress.isConnected) return;
      socket.once("connect", () => {
        progress.isOpen = true;
        address = socket.remoteAddress;
      });
      socket.once(progress.isTls ? "secureConnect" : "connect", () => (progress.isConnected = true));
    });
    clientRequest.on("upgrade", (_response, upgradedSocket) => {
      upgradedSocket.destroy();
      end(UPGRADE_FAILURE);
    });
    clientRequest.on("error", (error) => {
      const failure = describeFailure(error, { ...progress, receivedBytes: countReceivedBytes() });
      (failAnswer ?? fail)(failure);
    });
    // Settles the promise if the connection closes without any other event.
    clientRequest.on("close", () => failAnswer ?? end(CLOSED_FAILURE));
    void sendBody(clientRequest, outbound);
  });
}

async function sendBody(
  clientRequest: ClientRequest,
  { body, awaitBetweenParts }: Pick<OutboundRequest, "body" | "awaitBetweenParts">,
): Promise<void> {
  if (body === undefined || awaitBetweenParts === undefined) return void clientRequest.end(body);
  const bytes = Buffer.from(body);
  const middle = bytes.findIndex((byte) => byte >= 0xc0) + 1 || Math.floor(bytes.length / 2);
  clientRequest.write(bytes.subarray(0, middle));
  await awaitBetweenParts();
  if (!clientRequest.destroyed) clientRequest.end(bytes.subarray(middle));
}

const NO_PROGRESS: ConnectionProgress = { isTls: false, isOpen: false, isConnected: false, receivedBytes: 0 };

const UPGRADE_FAILURE: Failure = {
  ok: false,
  failure: "bad_answer",
  message: "status 101 is not an answer to this request",
  facts: { fault: "upgrade" },
};

type Route = Partial<ReturnType<typeof toProxyForm>> & {
  readonly signal: AbortSignal;
  readonly socket?: Socket;
  readonly agent?: Agent;
};

/** Shorter than the idle timeout of most servers, so that a server rarely closes a connection that is being reused. */
const KEEP_ALIVE_TIMEOUT_MS = 1000;
const MAX_KEPT_CONNECTIONS = 32;
const MAX_AGENTS = 256;

const agents = new Map<string, Agent>();

async function findKeptRoute(outbound: OutboundRequest): Promise<Pick<Route, "agent">> {
  const { url, addresses, tls, connection } = outbound;
  const { Agent } = await httpModuleFor(url);
  const options = { keepAlive: true, timeout: KEEP_ALIVE_TIMEOUT_MS, maxFreeSockets: MAX_KEPT_CONNECTIONS };
  const key = JSON.stringify([url.startsWith("https:"), addresses, tls]);
  const knownAgent = agents.get(key);
  if (knownAgent !== undefined && connection === "kept") return { agent: knownAgent };
  const agent = closeOnStrayBytes(new Agent(options));
  // Connections of a dropped agent close when they are idle.
  const [oldestKey] = agents.keys();
  if (oldestKey !== undefined && agents.size >= MAX_AGENTS) agents.delete(oldestKey);
  agents.set(key, agent);
  return { agent };
}

/** Unexpected bytes on a kept connection would be read as the next answer. */
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
  { url, method, headers, lines, body, tls, timeoutMs, ...outbound }: OutboundRequest,
  route: Route,
): RequestOptions {
  const addresses = outbound.addresses ?? localhostAddresses(url);
  const isChunked = "Transfer-Encoding" in headers;
  const length = body === undefined || isChunked ? {} : { "Content-Length": Buffer.byteLength(body) };
  return {
    // Not the global agent, which can send requests with the API key through a proxy from the environment.
    agent: false,
    ...route,
    method,
    headers: { ...headers, ...linesOf(lines), ...route.headers, ...length },
    ...(addresses === undefined
      ? {}
      : {
          lookup: createPinnedLookup(addresses),
          autoSelectFamily: true,
          // Node's default timeout for each address is too short for a busy machine.
          autoSelectFamilyAttemptTimeout: timeoutMs,
        }),
    ...(tls === undefined ? {} : trustOptions(tls)),
  };
}

/** Not every system resolves names below localhost. */
function localhostAddresses(url: string): readonly string[] | undefined {
  const { hostname } = new URL(url);
  return hostname.endsWith(".localhost") ? loopbackAddresses(hostname) : undefined;
}

function linesOf(lines: OutboundRequest["lines"] = {}): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(lines).map(([name, values]) => [name, [...values]]));
}

function trustOptions(tls: TlsTrust): RequestOptions {
  return "ca" in tls ? { ca: tls.ca } : { rejectUnauthorized: false };
}

/** Resolves every name to these addresses, so that a connection cannot go anywhere else. */
function createPinnedLookup(addresses: readonly string[]): LookupFunction {
  const records = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const [record] = records;
  return (_host, { all }, answer) => {
    if (all === true) answer(null, records);
    else answer(null, record?.address ?? "", record?.family);
  };
}

/** Call the returned function when the connection fails. */
function collectAnswer(
  response: IncomingMessage,
  { maxResponseBytes, oversize, onPart }: Pick<OutboundRequest, "maxResponseBytes" | "oversize" | "onPart">,
  end: (result: OutboundResult) => void,
): (failure: Failure) => void {
  const chunks: Buffer[] = [];
  let size = 0;
  let connectionFailure: Failure | undefined;
  const answer = (): void => {
    const lines = Object.entries(response.headers).map(([name, value]) => [name, headerText(value)] as const);
    const body = Buffer.concat(chunks).subarray(0, maxResponseBytes).toString("utf8");
    end({ ok: true, status: response.statusCode ?? 0, headers: Object.fromEntries(lines), body });
  };
  const unfinishedFailure = (failure: Failure): Failure => ({
    ...failure,
    facts: unfinishedFacts(failure, response, size),
  });
  response.on("data", (chunk: Buffer) => {
    if (size > maxResponseBytes) return;
    size += chunk.length;
    chunks.push(chunk);
    onPart?.(chunk);
    if (size <= maxResponseBytes) return;
    if (oversize === "cut") answer();
    else end(tooLargeFailure(maxResponseBytes));
    response.destroy();
  });
  response.on("error", (error) => (connectionFailure ??= { ...CLOSED_FAILURE, message: error.message }));
  response.on("end", answer);
  response.on("close", () =>
    response.complete ? answer() : end(unfinishedFailure(connectionFailure ?? CLOSED_FAILURE)),
  );
  return (failure) => {
    connectionFailure = failure;
    // After an abort, Node ends a body without an announced length as if the server had closed the connection.
    if (failure.failure === "aborted" && !response.complete) end(unfinishedFailure(failure));
  };
}

const CLOSED_FAILURE: Failure = {
  ok: false,
  failure: "connection_lost",
  message: "the connection was closed",
  facts: { fault: "closed" },
};

function tooLargeFailure(maxBytes: number): Failure {
  const message = `the answer is larger than ${maxBytes} bytes`;
  return { ok: false, failure: "bad_answer", message, facts: { fault: "body_too_large" } };
}

function unfinishedFacts(
  { failure }: Failure,
  { statusCode = 0, headers }: IncomingMessage,
  receivedBytes: number,
): AttemptFacts {
  const length = Number(headers["content-length"] ?? Number.NaN);
  return {
    fault: UNFINISHED_FAULTS[failure],
    unfinishedStatus: statusCode,
    receivedBytes,
    ...(Number.isSafeInteger(length) && length >= 0 ? { announcedBytes: length } : {}),
  };
}

const UNFINISHED_FAULTS = {
  aborted: "slow_body",
  bad_answer: "invalid_body",
  connection_lost: "unfinished_body",
  timeout: "slow_body",
  unreachable: "unfinished_body",
} as const satisfies Record<Failure["failure"], ConnectionFault>;

/** Node returns only `Set-Cookie` as a list: its lines cannot be joined by commas. */
function headerText(value: string | readonly string[] | undefined): string {
  return typeof value === "object" ? value.join("\n") : (value ?? "");
}
