import type { IncomingMessage, RequestOptions } from "node:http";
import type { OutboundRequest, OutboundResult } from "../world.ts";

type Failure = Extract<OutboundResult, { ok: false }>;

/**
 * Sends one request and collects its whole answer; follows no redirect and repeats nothing. A failure before the
 * connection stands is `unreachable`: only then is it certain that nothing was sent. `signal` ends it at any point.
 */
export async function sendHttp(outbound: OutboundRequest, signal: AbortSignal): Promise<OutboundResult> {
  // Node loads TLS only for those who need it.
  const { request } = outbound.url.startsWith("https:")
    ? await import("node:https")
    : await import("node:http");
  const { method, url, body, maxResponseBytes } = outbound;
  const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
  // An agent of its own: the shared one can be sent through a proxy by the environment, with the API key.
  const options: RequestOptions = {
    method,
    signal,
    agent: false,
    headers: { ...outbound.headers, ...length },
  };

  return new Promise((resolve) => {
    let connected = false;
    const sent = request(url, options, (response) => collect(response, maxResponseBytes, resolve));
    sent.on("socket", (socket) => {
      connected = !socket.connecting;
      socket.once(url.startsWith("https:") ? "secureConnect" : "connect", () => (connected = true));
    });
    sent.on("error", (error) => resolve(describe(error, connected)));
    sent.on("upgrade", (_response, socket) => {
      socket.destroy();
      resolve({ ok: false, failure: "bad_answer", message: "status 101 is no answer to this request" });
    });
    // Whatever else ends it: nobody may wait for ever.
    sent.on("close", () =>
      resolve({ ok: false, failure: "connection_lost", message: "the connection was closed" }),
    );
    sent.end(body);
  });
}

function collect(
  response: IncomingMessage,
  maxBytes: number,
  resolve: (result: OutboundResult) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on("data", (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size <= maxBytes) return;
    response.destroy();
    resolve({ ok: false, failure: "bad_answer", message: `the answer is larger than ${maxBytes} bytes` });
  });
  response.on("error", (error) => resolve(describe(error, true)));
  response.on("end", () => {
    const lines = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
    const body = Buffer.concat(chunks).toString("utf8");
    resolve({ ok: true, status: response.statusCode ?? 0, headers: Object.fromEntries(lines), body });
  });
}

function describe(error: NodeJS.ErrnoException, connected: boolean): Failure {
  const message = error.message === "" ? (error.code ?? error.name) : error.message;
  if (error.name === "AbortError") return { ok: false, failure: "aborted", message };
  if (!connected) return { ok: false, failure: "unreachable", message };
  const failure = error.code?.startsWith("HPE_") === true ? "bad_answer" : "connection_lost";
  return { ok: false, failure, message };
}
