import { X509Certificate } from "node:crypto";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Whether a text is one certificate or more in PEM. OpenSSL passes over what it cannot read, and then nobody is believed. */
export function areCertificates(text: string): boolean {
  const blocks = text.match(CERTIFICATE) ?? [];
  return blocks.length > 0 && blocks.every(isCertificate);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    // Node has no other way to say that it is none.
    return false;
  }
}
