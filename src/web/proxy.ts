import type { Socket } from "node:net";
import { shownProxy } from "../core/network/proxy.ts";
import type { OutboundRequest, OutboundResult } from "../world.ts";

/** A connection to a server through a proxy, on which TLS begins; or why there is none: then nothing was sent. */
type Tunnel =
  | { readonly ok: true; readonly socket: Socket }
  | { readonly ok: false; readonly error: NodeJS.ErrnoException };

/**
 * Asks a proxy for a connection to the server of an https URL (RFC 9110 9.3.6). `signal` ends the wait, which it does
 * not with Node's own agent for proxies (decision 80).
 */
export async function openTunnel(proxy: string, url: string, signal: AbortSignal): Promise<Tunnel> {
  const { hostname, port } = new URL(url);
  const target = `${hostname}:${port === "" ? "443" : port}`;
  const { request } = await clientFor(proxy);
  const headers = { Host: target, ...authorizationOf(proxy) };
  // Without user name and password, which would be sent on as the service's.
  const asked = request(shownProxy(proxy), {
    method: "CONNECT",
    path: target,
    headers,
    agent: false,
    signal,
  });
  return new Promise((resolve) => {
    const fail = (error: Error): void => resolve({ ok: false, error });
    const refuse = (status = 0): void => fail(new Error(refusalOf(status, target)));
    asked.on("connect", ({ statusCode }, socket, head) => {
      // TLS begins with us: whoever speaks first is no server of ours.
      if (statusCode === 200 && head.length === 0) return resolve({ ok: true, socket });
      socket.destroy();
      return refuse(statusCode);
    });
    asked.on("response", (response) => {
      response.destroy();
      refuse(response.statusCode);
    });
    asked.on("error", fail);
    asked.on("close", () => fail(new Error("it closed the connection")));
    asked.end();
  });
}

/** How a request for an http URL asks a proxy: with the whole URL in its first line. */
export function askProxy(
  proxy: string,
  { url, headers }: Pick<OutboundRequest, "url" | "headers">,
): { readonly path: string; readonly headers: Readonly<Record<string, string>> } {
  return { path: url, headers: { Host: new URL(url).host, ...headers, ...authorizationOf(proxy) } };
}

/** Why a proxy has not passed a request on, by its own answer. */
export function refusalOf(status: number, target: string): string {
  return status === 407
    ? "it wants a user name and a password that it knows (407)"
    : `it refused a connection to ${target} (${status})`;
}

/** A failure before anything was sent, with the proxy that it is about. */
export function viaProxy(
  proxy: string,
  failure: Extract<OutboundResult, { ok: false }>,
): Extract<OutboundResult, { ok: false }> & { readonly sent: false } {
  const message = `by way of the proxy ${shownProxy(proxy)}: ${failure.message}`;
  return { ...failure, message, sent: false };
}

/** The HTTP client for a URL. TLS is loaded only when it is needed. */
export function clientFor(url: string): Promise<typeof import("node:https") | typeof import("node:http")> {
  if (url.startsWith("https:")) return (loaded.https ??= import("node:https"));
  return (loaded.http ??= import("node:http"));
}

/** Each import of a module, once it is bundled, makes a copy of all that it exports: 25 µs of each delivery. */
const loaded: { https?: Promise<typeof import("node:https")>; http?: Promise<typeof import("node:http")> } =
  {};

/** The header that a proxy knows its user by. */
function authorizationOf(proxy: string): Record<string, string> {
  const { username, password } = new URL(proxy);
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "Proxy-Authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}
