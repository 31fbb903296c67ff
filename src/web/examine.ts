import { connect } from "node:net";
import type { AttemptFacts } from "../core/network/connection-fault.ts";
import type { OutboundRequest } from "../world.ts";
import type { Failure } from "./failure.ts";
import { clientFor } from "./proxy.ts";

/** Maximum duration of an examination, in milliseconds: it connects to this machine. */
const EXAMINATION_MS = 2000;

/**
 * More facts about a failed request to this machine, from a second connection to which nothing is sent: whether the
 * loopback address of the other family accepts connections, and whether the port answers a TLS handshake.
 */
export async function examineFailure(
  { url, addresses }: Pick<OutboundRequest, "url" | "addresses">,
  { facts, onKept, address }: Pick<Failure, "facts" | "onKept" | "address">,
): Promise<{ readonly facts?: AttemptFacts }> {
  const { protocol, port, hostname } = new URL(url);
  const isTls = protocol === "https:";
  const portNumber = Number(port === "" ? (isTls ? 443 : 80) : port);
  if (facts?.fault === "refused") {
    const elsewhere = otherLoopback(addresses ?? []);
    if (elsewhere === undefined || !(await accepts(elsewhere, portNumber))) return {};
    return { facts: { ...facts, elsewhere } };
  }
  const mayExpectTls = facts?.fault === "closed" && !isTls && onKept !== true;
  if (!mayExpectTls || address === undefined || !LOOPBACK.test(address)) return {};
  return (await speaksTls(address, portNumber, hostname))
    ? { facts: { ...facts, fault: "expects_tls" } }
    : {};
}

const LOOPBACK = /^(?:127\.|::1$)/;

/** The loopback address of the family that was not tried; undefined if there is none. */
function otherLoopback(tried: readonly string[]): "127.0.0.1" | "::1" | undefined {
  if (tried.length === 0 || !tried.every((one) => LOOPBACK.test(one))) return undefined;
  if (!tried.includes("::1")) return "::1";
  return tried.some((one) => one.startsWith("127.")) ? undefined : "127.0.0.1";
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: EXAMINATION_MS });
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

/** Whether a port answers a handshake with TLS, whatever its certificate. */
async function speaksTls(host: string, port: number, servername: string): Promise<boolean> {
  const { request } = await clientFor("https:");
  return new Promise((resolve) => {
    // Without `end`, the client sends no request after the handshake.
    const client = request({
      host,
      port,
      servername: /[a-z]/i.test(servername) && !servername.includes(":") ? servername : "",
      rejectUnauthorized: false,
      agent: false,
      signal: AbortSignal.timeout(EXAMINATION_MS),
    });
    client.on("socket", (socket) =>
      socket.once("secureConnect", () => {
        resolve(true);
        client.destroy();
      }),
    );
    // An alert is an answer with TLS, except that of our own side about bytes that are not TLS.
    client.on("error", ({ message }) => resolve(/:SSL routines:.*\balert\b/i.test(message)));
    client.on("close", () => resolve(false));
  });
}
