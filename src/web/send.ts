import type { IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { isIPv6, type LookupFunction } from "node:net";
import type { OutboundRequest, OutboundResult, TlsTrust } from "../world.ts";

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
  const { method, url, body, addresses, tls } = outbound;
  const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
  // An agent of its own: the shared one can be sent through a proxy by the environment, with the API key.
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
          // Node gives each address but a moment, and a busy moment is no reason to give one up.
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
    // Whatever else ends it: nobody may wait for ever.
    sent.on("close", () =>
      end({ ok: false, failure: "connection_lost", message: "the connection was closed" }),
    );
    sent.end(body);
  });
}

function trust(tls: TlsTrust): RequestOptions {
  return "ca" in tls ? { ca: tls.ca } : { rejectUnauthorized: false };
}

/** Answers every question for a name with the same addresses, so that nothing can lead elsewhere. */
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
  { maxResponseBytes, larger }: Pick<OutboundRequest, "maxResponseBytes" | "larger">,
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
    // What was read already keeps coming after the end.
    if (size > maxResponseBytes) return;
    size += chunk.length;
    chunks.push(chunk);
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
