import { X509Certificate } from "node:crypto";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Whether a text is one or more certificates in PEM. OpenSSL skips invalid parts, and would then trust no server. */
export function areCertificates(text: string): boolean {
  const blocks = text.match(CERTIFICATE) ?? [];
  return blocks.length > 0 && blocks.every(isCertificate);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    // Node has no other way to check a certificate.
    return false;
  }
}
