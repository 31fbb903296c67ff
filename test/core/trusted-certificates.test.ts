import { expect, test } from "vitest";
import {
  areCertificates,
  describeCertificates,
  MAX_CERTIFICATES_LENGTH,
  parseCertificates,
} from "../../src/core/webhook/certificates.ts";
import type { FactName } from "../../src/core/refusals.ts";
import { checkCa, type TargetPolicy } from "../../src/core/webhook/target.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";

const CUT = CERTIFICATE.slice(0, 200);
const HARMED = CERTIFICATE.replace(/\n[A-Za-z0-9+/]{20}/, "\nAAAAAAAAAAAAAAAAAAAA");

test("an endpoint's certificates are one or more undamaged PEM certificates, without a private key and below the size limit", () => {
  const rows: readonly (readonly [name: string, text: string, fact: FactName | undefined])[] = [
    ["one", CERTIFICATE, undefined],
    ["two", CERTIFICATE + CERTIFICATE, undefined],
    ["with a text before it", `# my own CA\n${CERTIFICATE}`, undefined],
    ["with the line breaks of Windows", CERTIFICATE.replaceAll("\n", "\r\n"), undefined],
    ["with a BOM", `\uFEFF${CERTIFICATE}`, undefined],
    ["nothing", "", "ca_not_pem"],
    ["a word", "certificate", "ca_not_pem"],
    ["a path", "certs/rootCA.pem", "ca_not_pem"],
    ["a certificate that was cut", CUT, "ca_not_pem"],
    ["a good one and a harmed one", CERTIFICATE + HARMED, "ca_not_pem"],
    ["DER in base64 without its lines", CERTIFICATE.replaceAll(/-----[^-]+-----/g, ""), "ca_not_pem"],
    ["a private key", CERTIFICATE_KEY, "ca_with_private_key"],
    ["a certificate and its key", CERTIFICATE + CERTIFICATE_KEY, "ca_with_private_key"],
    ["too many", CERTIFICATE.repeat(100), "ca_too_long"],
  ];
  for (const [name, text, fact] of rows) {
    const read = parseCertificates(text);
    expect([name, read.ok ? undefined : read.refusal.told?.fact]).toEqual([name, fact]);
  }
  expect(CERTIFICATE.length * 100).toBeGreaterThan(MAX_CERTIFICATES_LENGTH);
  expect(areCertificates(CERTIFICATE + CERTIFICATE_KEY)).toBe(true);
});

test("certificates are described by subject and fingerprint", () => {
  expect(describeCertificates(CERTIFICATE)).toMatch(/^CN=\S+.* \(SHA-256 (?:[0-9A-F]{2}:){7}[0-9A-F]{2}\)$/);
  expect(describeCertificates(CERTIFICATE + CERTIFICATE).split("; ")).toHaveLength(2);
});

test("CA certificates need an https address, and a hosted service refuses all CA certificates", () => {
  const local: TargetPolicy = { allowedHosts: [], ownPort: 1 };
  const hosted: TargetPolicy = { ...local, reach: "public" };
  const refusal = (url: string, ca: string | null | undefined, policy: TargetPolicy): string | undefined => {
    const checked = checkCa(url, ca, policy);
    return checked.ok ? undefined : checked.refusal.told?.fact;
  };
  expect(refusal("https://localhost/", CERTIFICATE, local)).toBeUndefined();
  expect(refusal("http://localhost/", null, local)).toBeUndefined();
  expect(refusal("https://shop.example/", undefined, hosted)).toBeUndefined();
  expect(refusal("http://localhost/", CERTIFICATE, local)).toBe("ca_without_https");
  expect(refusal("https://shop.example/", CERTIFICATE, hosted)).toBe("ca_when_public");
});
