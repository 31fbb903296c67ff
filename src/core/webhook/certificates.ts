import { X509Certificate } from "node:crypto";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { excerpt } from "../text.ts";

/** The maximum length of an endpoint's CA certificates, in characters. */
export const MAX_CERTIFICATES_LENGTH = 32_768;

const CERTIFICATE_PATTERN = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Refuses a private key, which would be stored and shown. */
export function parseCertificates(text: string): Outcome<string> {
  if (text.length > MAX_CERTIFICATES_LENGTH)
    return refuseFact("ca_too_long", { most: MAX_CERTIFICATES_LENGTH });
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text)) return refuseFact("ca_with_private_key", {});
  if (areCertificates(text)) return accept(text);
  return refuseFact("ca_not_pem", {});
}

/** Whether a text has certificates in PEM, all valid. Node silently ignores an invalid one and all that follow it. */
export function areCertificates(text: string): boolean {
  const blocks = text.match(CERTIFICATE_PATTERN) ?? [];
  return blocks.length > 0 && blocks.every((pem) => readCertificate(pem) !== undefined);
}

/** The subject of each certificate, and the beginning of its SHA-256 fingerprint. */
export function describeCertificates(text: string): string {
  const certificates = (text.match(CERTIFICATE_PATTERN) ?? []).flatMap((pem) => readCertificate(pem) ?? []);
  return certificates
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
