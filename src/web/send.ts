import type { IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { isIPv6, type LookupFunction } from "node:net";
import type { OutboundRequest, OutboundResult, TlsTrust } from "../world.ts";

type Failure = Extract<OutboundResult, { ok: false }>;

/**
 * Sends one request and reads its whole answer; follows no redirect and repeats nothing. A failure before the
 * connection is established is `unreachable`: only then it is certain that nothing was sent. `signal` aborts it.
 */
export async function sendHttp(outbound: OutboundRequest, signal: AbortSignal): Promise<OutboundResult> {
  // TLS is loaded only when it is needed.
  const { request } = outbound.url.startsWith("https:")
    ? await import("node:https")
    : await import("node:http");
  const { method, url, body, addresses, tls } = outbound;
  const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
  // A separate agent: the environment could send the global one, and so the API key, through a proxy.
  const options: RequestOptions = {
    method,
    signal,
    agent: false,
    headers: { ...outbound.headers, ...length },
    ...(addresses === undefined
      ? {}
      : {
          lookup: pinnedLookup(addresses),
          autoSelectFamily: true,
          // Node's default timeout for each address is short; a busy machine may need longer.
          autoSelectFamilyAttemptTimeout: outbound.timeoutMs,
        }),
    ...(tls === undefined ? {} : trust(tls)),
  };

  return new Promise((resolve) => {
    let connected = false;
    let address: string | undefined;
    const end = (result: OutboundResult): void => resolve({ ...result, address });
    const sent = request(url, options, (response) => collect(response, outbound, end));
    sent.on("socket", (socket) => {
      connected = !socket.connecting;
      socket.once("connect", () => (address = socket.remoteAddress));
      socket.once(url.startsWith("https:") ? "secureConnect" : "connect", () => (connected = true));
    });
    sent.on("error", (error) => end(describe(error, connected)));
    sent.on("upgrade", (_response, upgraded) => {
      upgraded.destroy();
      end({ ok: false, failure: "bad_answer", message: "status 101 is no answer to this request" });
    });
    // Any other end of the connection: the caller must not wait for ever.
    sent.on("close", () =>
      end({ ok: false, failure: "connection_lost", message: "the connection was closed" }),
    );
    sent.end(body);
  });
}

function trust(tls: TlsTrust): RequestOptions {
  return "ca" in tls ? { ca: tls.ca } : { rejectUnauthorized: false };
}

/** Resolves every name to these addresses, so that the connection cannot go elsewhere. */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, { all }, answer) => {
    const [first] = found;
    if (all === true) answer(null, found);
    else answer(null, first?.address ?? "", first?.family);
  };
}

function collect(
  response: IncomingMessage,
  { maxResponseBytes, larger, onPart }: Pick<OutboundRequest, "maxResponseBytes" | "larger" | "onPart">,
  end: (result: OutboundResult) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const answer = (): void => {
    const lines = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
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
    response.destroy();
    if (larger === "cut") answer();
    else
      end({
        ok: false,
        failure: "bad_answer",
        message: `the answer is larger than ${maxResponseBytes} bytes`,
      });
  });
  response.on("error", (error) => end(describe(error, true)));
  response.on("end", answer);
}

function describe(error: NodeJS.ErrnoException, connected: boolean): Failure {
  const message = error.message === "" ? (error.code ?? error.name) : error.message;
  if (error.name === "AbortError") return { ok: false, failure: "aborted", message };
  if (!connected) return { ok: false, failure: "unreachable", message };
  const failure = error.code?.startsWith("HPE_") === true ? "bad_answer" : "connection_lost";
  return { ok: false, failure, message };
}
