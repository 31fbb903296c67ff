import { X509Certificate } from "node:crypto";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { excerpt } from "../text.ts";

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

export function areCertificates(text: string): boolean {
  const blocks = text.match(CERTIFICATE_PATTERN) ?? [];
  return blocks.length > 0 && blocks.every((pem) => readCertificate(pem) !== undefined);
}

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
    return undefined;
  }
}
