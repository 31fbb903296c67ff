import { connect } from "node:net";
import type { AttemptFacts } from "../core/network/connection-fault.ts";
import type { OutboundRequest, OutboundResult } from "../world.ts";
import type { Failure } from "./failure.ts";
import { httpModuleFor } from "./proxy.ts";

const EXAMINATION_TIMEOUT_MS = 2000;

const MAX_HANDSHAKES = 256;

const handshakes = new Map<string, { readonly address: string; readonly answered: Promise<boolean> }>();

/**
 * Caches the result of a TLS handshake for each URL, because an http server logs a handshake as a broken request. Any
 * result other than a closed connection clears the entry.
 */
export async function findConnectionFacts(
  { url, addresses }: Pick<OutboundRequest, "url" | "addresses">,
  result: OutboundResult & Pick<Failure, "address">,
  signal: AbortSignal,
): Promise<{ readonly facts?: AttemptFacts }> {
  const { address } = result;
  const facts = result.ok ? undefined : result.facts;
  if (facts?.fault !== "closed") handshakes.delete(url);
  if (result.ok) return {};
  const { protocol, port, hostname } = new URL(url);
  const isTls = protocol === "https:";
  const portNumber = Number(port === "" ? (isTls ? 443 : 80) : port);
  if (facts?.fault === "refused") {
    const otherAddress = otherLoopback(addresses ?? []);
    if (otherAddress === undefined || !(await acceptsConnection(otherAddress, portNumber, signal))) return {};
    return { facts: { ...facts, elsewhere: otherAddress } };
  }
  const mayExpectTls = facts?.fault === "closed" && !isTls && result.wasReused !== true;
  if (!mayExpectTls || address === undefined || !LOOPBACK.test(address)) return {};
  const entry = handshakes.get(url);
  const answersTls =
    entry?.address === address ? entry.answered : speaksTls(address, { port: portNumber, hostname }, signal);
  cacheHandshake(url, { address, answered: answersTls });
  const isAnswered = await answersTls;
  if (signal.aborted) handshakes.delete(url);
  return isAnswered ? { facts: { ...facts, fault: "expects_tls" } } : {};
}

function cacheHandshake(url: string, handshake: NonNullable<ReturnType<typeof handshakes.get>>): void {
  const [oldestUrl] = handshakes.keys();
  if (oldestUrl !== undefined && handshakes.size >= MAX_HANDSHAKES) handshakes.delete(oldestUrl);
  handshakes.set(url, handshake);
}

const LOOPBACK = /^(?:127\.|::1$)/;

function otherLoopback(triedAddresses: readonly string[]): "127.0.0.1" | "::1" | undefined {
  if (triedAddresses.length === 0 || !triedAddresses.every((host) => LOOPBACK.test(host))) return undefined;
  if (!triedAddresses.includes("::1")) return "::1";
  return triedAddresses.some((triedAddress) => triedAddress.startsWith("127.")) ? undefined : "127.0.0.1";
}

function acceptsConnection(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: EXAMINATION_TIMEOUT_MS, signal });
    const end = (isAccepted: boolean): void => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket
      .on("connect", () => end(true))
      .on("timeout", () => end(false))
      .on("error", () => end(false));
  });
}

async function speaksTls(
  host: string,
  { port, hostname: servername }: { readonly port: number; readonly hostname: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { request } = await httpModuleFor("https:");
  return new Promise((resolve) => {
    // No `end()`: only the handshake is wanted, not a request.
    const client = request({
      host,
      port,
      servername: /[a-z]/i.test(servername) && !servername.includes(":") ? servername : "",
      rejectUnauthorized: false,
      agent: false,
      signal: AbortSignal.any([signal, AbortSignal.timeout(EXAMINATION_TIMEOUT_MS)]),
    });
    client.on("socket", (socket) =>
      socket.once("secureConnect", () => {
        resolve(true);
        client.destroy();
      }),
    );
    // OpenSSL's message names an alert only if the server sent one, which proves that it speaks TLS.
    client.on("error", ({ message }) => resolve(/:SSL routines:.*\balert\b/i.test(message)));
    client.on("close", () => resolve(false));
  });
}
