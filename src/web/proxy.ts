import type { Socket } from "node:net";
import { displayProxy } from "../core/network/proxy.ts";
import type { OutboundRequest } from "../world.ts";
import type { Failure } from "./failure.ts";

type Tunnel =
  | { readonly ok: true; readonly socket: Socket }
  | { readonly ok: false; readonly error: NodeJS.ErrnoException };

/**
 * Opens a CONNECT tunnel (RFC 9110, 9.3.6). Node's proxy agent cannot be used: it ignores an abort while it waits
 * (decision 80).
 */
export async function openTunnel(proxy: string, url: string, signal: AbortSignal): Promise<Tunnel> {
  const { hostname, port } = new URL(url);
  const target = `${hostname}:${port === "" ? "443" : port}`;
  const { request } = await httpModuleFor(proxy);
  const headers = { Host: target, ...authorizationOf(proxy) };
  const connectRequest = request(displayProxy(proxy), {
    method: "CONNECT",
    path: target,
    headers,
    agent: false,
    signal,
  });
  return new Promise((resolve) => {
    const fail = (error: Error): void => resolve({ ok: false, error });
    const refuse = (status = 0): void => fail(new Error(proxyRefusal(status, target)));
    connectRequest.on("connect", ({ statusCode }, socket, head) => {
      // In TLS the client speaks first, so bytes after the head do not come from the server.
      if (statusCode === 200 && head.length === 0) return resolve({ ok: true, socket });
      socket.destroy();
      return refuse(statusCode);
    });
    connectRequest.on("response", (response) => {
      response.destroy();
      refuse(response.statusCode);
    });
    connectRequest.on("error", fail);
    connectRequest.on("close", () => fail(new Error("it closed the connection")));
    connectRequest.end();
  });
}

export function toProxyForm(
  proxy: string,
  { url, headers }: Pick<OutboundRequest, "url" | "headers">,
): { readonly path: string; readonly headers: Readonly<Record<string, string>> } {
  return { path: url, headers: { Host: new URL(url).host, ...headers, ...authorizationOf(proxy) } };
}

export function proxyRefusal(status: number, target: string): string {
  return status === 407
    ? "it requires a valid user name and password (407)"
    : `it refused a connection to ${target} (${status})`;
}

export function toProxyFailure(proxy: string, failure: Failure): Failure & { readonly wasConnected: false } {
  const message = `through the proxy ${displayProxy(proxy)}: ${failure.message}`;
  return { ...failure, message, wasConnected: false };
}

export function httpModuleFor(
  url: string,
): Promise<typeof import("node:https") | typeof import("node:http")> {
  if (url.startsWith("https:")) return (modules.https ??= import("node:https"));
  return (modules.http ??= import("node:http"));
}

/** Cached, because each import() in the bundle copies all exports, which takes 25 µs per delivery. */
const modules: { https?: Promise<typeof import("node:https")>; http?: Promise<typeof import("node:http")> } =
  {};

function authorizationOf(proxy: string): Record<string, string> {
  const { username, password } = new URL(proxy);
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "Proxy-Authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}
