import { X509Certificate } from "node:crypto";
import { accept, refuse, type Outcome } from "../outcome.ts";
import { excerpt } from "../text.ts";

/** The maximum length of an endpoint's CA certificates, in characters. */
export const MAX_CERTIFICATES_LENGTH = 32_768;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Refuses a private key, which would be stored and shown. */
export function parseCertificates(text: string): Outcome<string> {
  if (text.length > MAX_CERTIFICATES_LENGTH)
    return refuse("invalid_parameter", [
      `must have at most ${MAX_CERTIFICATES_LENGTH} characters`,
      `至多 ${MAX_CERTIFICATES_LENGTH} 个字符`,
    ]);
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text))
    return refuse("invalid_parameter", [
      "must be certificates only, without the private key",
      "只能包含证书，不得包含私钥",
    ]);
  if (areCertificates(text)) return accept(text);
  return refuse("invalid_parameter", [
    "must be CA certificates in PEM, each from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----",
    "应为 PEM 格式的 CA 证书，每个从 -----BEGIN CERTIFICATE----- 到 -----END CERTIFICATE-----",
  ]);
}

/** Whether a text is one or more certificates in PEM. OpenSSL skips invalid parts, and would then trust no server. */
export function areCertificates(text: string): boolean {
  const blocks = text.match(CERTIFICATE) ?? [];
  return blocks.length > 0 && blocks.every((pem) => readCertificate(pem) !== undefined);
}

/** The subject of each certificate, and the beginning of its SHA-256 fingerprint. */
export function describeCertificates(text: string): string {
  const read = (text.match(CERTIFICATE) ?? []).flatMap((pem) => readCertificate(pem) ?? []);
  return read
    .map(
      ({ subject, fingerprint256 }) =>
        `${excerpt(subject.replaceAll("\n", ", "))} (SHA-256 ${fingerprint256.slice(0, 23)})`,
    )
    .join("; ");
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    // Node has no other way to check a certificate.
    return undefined;
  }
}
