import { expect, test } from "vitest";
import {
  areCertificates,
  describeCertificates,
  MAX_CERTIFICATES_LENGTH,
  parseCertificates,
} from "../../src/core/webhook/certificates.ts";
import { checkCa, type TargetPolicy } from "../../src/core/webhook/target.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";

const CUT = CERTIFICATE.slice(0, 200);
const HARMED = CERTIFICATE.replace(/\n[A-Za-z0-9+/]{20}/, "\nAAAAAAAAAAAAAAAAAAAA");

test("an endpoint's certificates are one or more undamaged PEM certificates, without a private key and below the size limit", () => {
  const rows: readonly (readonly [name: string, text: string, refusal: RegExp | undefined])[] = [
    ["one", CERTIFICATE, undefined],
    ["two", CERTIFICATE + CERTIFICATE, undefined],
    ["with a text before it", `# my own CA\n${CERTIFICATE}`, undefined],
    ["with the line breaks of Windows", CERTIFICATE.replaceAll("\n", "\r\n"), undefined],
    ["with a BOM", `\uFEFF${CERTIFICATE}`, undefined],
    ["nothing", "", /in PEM/],
    ["a word", "certificate", /in PEM/],
    ["a path", "certs/rootCA.pem", /in PEM/],
    ["a certificate that was cut", CUT, /in PEM/],
    ["a good one and a harmed one", CERTIFICATE + HARMED, /in PEM/],
    ["DER in base64 without its lines", CERTIFICATE.replaceAll(/-----[^-]+-----/g, ""), /in PEM/],
    ["a private key", CERTIFICATE_KEY, /without the private key/],
    ["a certificate and its key", CERTIFICATE + CERTIFICATE_KEY, /without the private key/],
    ["too many", CERTIFICATE.repeat(100), /32768/],
  ];
  for (const [name, text, refusal] of rows) {
    const read = parseCertificates(text);
    const said = read.ok ? undefined : read.refusal.message;
    if (refusal === undefined) expect([name, said]).toEqual([name, undefined]);
    else expect([name, said]).toEqual([name, expect.stringMatching(refusal)]);
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
    return checked.ok ? undefined : checked.refusal.message;
  };
  expect(refusal("https://localhost/", CERTIFICATE, local)).toBeUndefined();
  expect(refusal("http://localhost/", null, local)).toBeUndefined();
  expect(refusal("https://shop.example/", undefined, hosted)).toBeUndefined();
  expect(refusal("http://localhost/", CERTIFICATE, local)).toMatch(/https address/);
  expect(refusal("https://shop.example/", CERTIFICATE, hosted)).toMatch(/service trusts public/);
});
