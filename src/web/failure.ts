import { MAX_FACT_SIZE, type AttemptFacts, type ConnectionFault } from "../core/network/connection-fault.ts";
import { cutText } from "../core/text.ts";
import type { OutboundResult } from "../world.ts";

export type Failure = Extract<OutboundResult, { ok: false }>;

export type ConnectionProgress = {
  readonly isTls: boolean;
  readonly isOpen: boolean;
  readonly isConnected: boolean;
  readonly receivedBytes: number;
};

type NodeError = NodeJS.ErrnoException & {
  readonly rawPacket?: Uint8Array;
  readonly errors?: readonly NodeJS.ErrnoException[];
};

/** The failure is `aborted` after an abort, otherwise `unreachable` if nothing can have been sent. */
export function describeFailure(error: NodeError, progress: ConnectionProgress): Failure {
  const message = textOf(error);
  const facts = factsOf(error, progress);
  if (error.name === "AbortError") return { ok: false, failure: "aborted", message, facts };
  if (!progress.isConnected) return { ok: false, failure: "unreachable", message, facts };
  const failure = error.code?.startsWith("HPE_") === true ? "bad_answer" : "connection_lost";
  return { ok: false, failure, message, facts };
}

function pendingFault({ isTls, isOpen, isConnected, receivedBytes }: ConnectionProgress): ConnectionFault {
  if (!isOpen) return "no_connection";
  if (isTls && !isConnected) return "tls_silent";
  return receivedBytes === 0 ? "silent" : "unfinished_head";
}

function factsOf(error: NodeError, progress: ConnectionProgress): AttemptFacts {
  if (error.name === "AbortError") return { fault: pendingFault(progress) };
  const [firstError = error] = error.errors ?? [];
  const { code = "" } = firstError;
  if (code.startsWith("HPE_")) return parserFacts(code, error.rawPacket ?? new Uint8Array());
  const fault = connectionFaultOf(firstError, code, progress);
  return fault === undefined ? {} : { fault };
}

const SYSTEM_FAULTS = new Map<string, ConnectionFault>([
  ["ECONNREFUSED", "refused"],
  ["ENOTFOUND", "no_address"],
  ["EAI_AGAIN", "no_address"],
  ["EHOSTUNREACH", "no_route"],
  ["EHOSTDOWN", "no_route"],
  ["ENETUNREACH", "no_route"],
  ["ENETDOWN", "no_route"],
  ["EADDRNOTAVAIL", "no_route"],
  ["ETIMEDOUT", "no_connection"],
  ["EACCES", "not_permitted"],
  ["EPERM", "not_permitted"],
  ["EMFILE", "too_many_files"],
  ["ENFILE", "too_many_files"],
]);

const CERTIFICATE_FAULTS = new Map<string, ConnectionFault>([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls_untrusted"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "tls_untrusted"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "tls_untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT", "tls_untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "tls_untrusted"],
  ["CERT_UNTRUSTED", "tls_untrusted"],
  ["INVALID_CA", "tls_untrusted"],
  ["CERT_HAS_EXPIRED", "tls_expired"],
  ["CERT_NOT_YET_VALID", "tls_not_yet_valid"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "tls_wrong_name"],
  ["HOSTNAME_MISMATCH", "tls_wrong_name"],
]);

const HANDSHAKE_FAULTS: readonly (readonly [RegExp, ConnectionFault])[] = [
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|RECORD_LAYER_FAILURE/, "tls_not_spoken"],
  [/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW/, "tls_version"],
  [/CERTIFICATE_REQUIRED|ALERT_BAD_CERTIFICATE|PEER_DID_NOT_RETURN/, "tls_client_certificate"],
  [/UNRECOGNIZED_NAME/, "tls_wrong_name"],
  [/HANDSHAKE_FAILURE|NO_SHARED_CIPHER|INSUFFICIENT_SECURITY/, "tls_no_agreement"],
];

function connectionFaultOf(
  error: NodeJS.ErrnoException,
  code: string,
  { isTls, isOpen, isConnected, receivedBytes }: ConnectionProgress,
): ConnectionFault | undefined {
  const certificateFault = CERTIFICATE_FAULTS.get(code);
  if (certificateFault !== undefined) return certificateFault;
  const reason = tlsReason(error.message);
  if (reason !== undefined || code.startsWith("ERR_SSL_") || code === "EPROTO") {
    const codeText = `${code} ${(reason ?? "").toUpperCase().replaceAll(" ", "_")}`;
    return HANDSHAKE_FAULTS.find(([pattern]) => pattern.test(codeText))?.[1] ?? "tls_failed";
  }
  if (code === "ECONNRESET" || code === "EPIPE") {
    if (isTls && isOpen && !isConnected) return "tls_closed";
    return receivedBytes === 0 ? "closed" : "unfinished_head";
  }
  if (error.syscall !== undefined) return SYSTEM_FAULTS.get(code);
  // Errors without a system call are certificate errors, or come from a library that mocks the network.
  return isTls && isOpen && !isConnected ? "tls_failed" : "intercepted";
}

function parserFacts(code: string, packet: Uint8Array): AttemptFacts {
  if (code === "HPE_HEADER_OVERFLOW") return { fault: "head_too_large" };
  const bytes = Buffer.from(packet);
  const beginning = bytes.toString("latin1", 0, MAX_SHOWN_BYTES);
  if (bytes[0] === 0x15 && bytes[1] === 0x03) return { fault: "expects_tls" };
  if (bytes[3] === 0x04 && bytes.subarray(5, 9).equals(Buffer.alloc(4)) && bytes.length >= 9)
    return { fault: "http2" };
  return beginning.startsWith("HTTP/1.") ? { fault: "invalid_head" } : { fault: "not_http", beginning };
}

const MAX_SHOWN_BYTES = 40;

function textOf(error: NodeError): string {
  const texts = (error.errors ?? [error]).map(({ message, code, name }) => {
    if (message === "") return code ?? name;
    const reason = tlsReason(message);
    if (reason === undefined) return message;
    const hint = reason === "wrong version number" ? "; the server may speak http, not https" : "";
    return `no TLS connection: ${reason}${hint}`;
  });
  return cutText([...new Set(texts)].join("; "), MAX_FACT_SIZE);
}

function tlsReason(message: string): string | undefined {
  return /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1];
}
