import { expect, test } from "vitest";
import { causeText } from "../../src/core/explain/delivery.ts";
import { causeOf, falseSuccessCause } from "../../src/core/explain/delivery-causes.ts";
import { DELIVERY_CAUSES } from "../../src/core/explain/delivery-sentences.ts";
import { CONNECTION_FAULTS } from "../../src/core/network/connection-fault.ts";
import { english, translatorFor } from "../../src/core/language.ts";
import { attemptResultOf } from "../../src/sandbox/webhook/send.ts";
import { attemptFactsOf, postToReceiver } from "../../src/sandbox/webhook/post.ts";
import { describeFailure } from "../../src/web/failure.ts";
import type { TlsTrust } from "../../src/world.ts";
import { CERTIFICATE } from "../support/certificate.ts";
import { send } from "../../src/world/network.ts";
import { ODD_ENDPOINTS, SLOW, TRUSTED, VAGUE } from "../support/odd-endpoints.ts";
import { createRelay } from "../../src/sandbox/webhook/relay.ts";

const NO_RELAY = createRelay(
  { after: () => undefined, freshId: () => "", monotonic: () => 0 },
  () => undefined,
);

async function attempt(url: string, code: string | undefined, deliveryTls?: TlsTrust) {
  const { result } = await postToReceiver(
    {
      world: { send, resolve: () => Promise.resolve([]), monotonic: () => performance.now() },
      targets: { allowedHosts: ["nowhere.example"], ownPort: 1 },
      deliveryTimeoutMs: SLOW.has(code ?? "") ? 500 : 20_000,
      deliveryTls,
      holdOf: () => undefined,
      relay: NO_RELAY,
    },
    { storeId: "s", url, ca: null, headers: { "Content-Type": "application/json" }, body: "{}" },
  );
  const ended = attemptResultOf(result, 0);
  return {
    url,
    status: "status" in ended ? ended.status : null,
    error: "error" in ended ? ended.error : null,
    answer: result === "forbidden" || !result.ok ? null : Buffer.from(result.body),
    facts: attemptFactsOf(result),
  };
}

test(`each of ${ODD_ENDPOINTS.length} misbehaving endpoints is reported with the right cause`, async () => {
  expect(ODD_ENDPOINTS.length).toBeGreaterThan(100);
  for (const row of ODD_ENDPOINTS) {
    const [name, open, code] = row;
    const trust = TRUSTED.includes(row) ? { ca: CERTIFICATE } : undefined;
    const outcome = await attempt(await open(), code, trust);
    const cause = causeOf(outcome) ?? falseSuccessCause(outcome);
    expect([name, cause?.code, outcome]).toEqual([name, code, outcome]);
    if (code === undefined) continue;
    expect([name, causeText({ ...outcome, fault: null }, english)]).toEqual([name, cause?.cause[0]]);
    // A missing value would be printed as one of these words.
    expect(cause?.cause.join()).not.toMatch(/undefined|null|NaN/);
    if (outcome.error !== null && code !== "target_forbidden")
      expect([name, outcome.facts?.message ?? ""]).not.toEqual([name, ""]);
  }
  const due = ODD_ENDPOINTS.flatMap(([, , code]) => code ?? []);
  const named = due.filter((code) => !VAGUE.has(code));
  expect(named.length / due.length).toBeGreaterThan(0.9);
});

/** The causes of errors of Node and OpenSSL, by the code of the error. */
const CERTIFICATE_ERRORS = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls_untrusted",
  SELF_SIGNED_CERT_IN_CHAIN: "tls_untrusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls_untrusted",
  UNABLE_TO_GET_ISSUER_CERT: "tls_untrusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls_untrusted",
  CERT_HAS_EXPIRED: "tls_expired",
  CERT_NOT_YET_VALID: "tls_not_yet_valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls_wrong_name",
  HOSTNAME_MISMATCH: "tls_wrong_name",
  INVALID_PURPOSE: "tls_failed",
  CERT_SIGNATURE_FAILURE: "tls_failed",
  CERT_CHAIN_TOO_LONG: "tls_failed",
  PATH_LENGTH_EXCEEDED: "tls_failed",
  CERT_REVOKED: "tls_failed",
  CERT_REJECTED: "tls_failed",
  UNSPECIFIED: "tls_failed",
  ERR_SSL_WRONG_VERSION_NUMBER: "tls_not_spoken",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "tls_not_spoken",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "tls_version",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "tls_version",
  "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE": "tls_no_agreement",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "tls_client_certificate",
  "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE": "tls_client_certificate",
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: "tls_wrong_name",
  ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR: "tls_failed",
  EPROTO: "tls_failed",
  ECONNRESET: "tls_closed",
} as const;
const SYSTEM_ERRORS = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "no_address",
  EAI_AGAIN: "no_address",
  EHOSTUNREACH: "no_route",
  ENETUNREACH: "no_route",
  EADDRNOTAVAIL: "no_route",
  ETIMEDOUT: "no_connection",
  EACCES: "not_permitted",
  EPERM: "not_permitted",
  EMFILE: "too_many_files",
} as const;
/** Errors of nock, MSW, undici's MockAgent and jest's fakes: none names a system call. */
const INVENTED: readonly (readonly [string | undefined, string])[] = [
  ["ENETUNREACH", 'Nock: Disallowed net connect for "127.0.0.1:3000/hooks"'],
  ["ERR_NOCK_NO_MATCH", "Nock: No match for request"],
  [
    undefined,
    '[MSW] Cannot bypass a request when using the "error" strategy for the "onUnhandledRequest" option.',
  ],
  [undefined, "Failed to fetch"],
  ["UND_MOCK_ERR_MOCK_NOT_MATCHED", "Mock dispatch not matched for path '/hooks'"],
  [undefined, "Network access is disabled in tests"],
];

test("a TLS or system error is classified by its code, and an HTTP mock's error keeps its message and is classified as intercepted", () => {
  const opened = { isTls: true, isOpen: true, isConnected: false, receivedBytes: 0 };
  const before = { ...opened, isTls: false, isOpen: false };
  const faultOf = (error: Error, progress = before) => describeFailure(error, progress).facts?.fault;
  for (const [code, fault] of Object.entries(CERTIFICATE_ERRORS))
    expect([code, faultOf(Object.assign(new Error("x"), { code }), opened)]).toEqual([code, fault]);
  for (const [code, fault] of Object.entries(SYSTEM_ERRORS)) {
    const error = Object.assign(new Error("x"), { code, syscall: "connect" });
    expect([code, faultOf(error)]).toEqual([code, fault]);
    const several = Object.assign(new AggregateError([error, error], ""), { code });
    expect([code, describeFailure(several, before)]).toMatchObject([
      code,
      { message: "x", facts: { fault } },
    ]);
  }
  for (const [code, message] of INVENTED) {
    const failure = describeFailure(
      Object.assign(new Error(message), code === undefined ? {} : { code }),
      before,
    );
    expect(failure).toEqual({ ok: false, failure: "unreachable", message, facts: { fault: "intercepted" } });
  }
});

test("every connection fault has a cause in both languages, and only a refused connection's cause says that the receiver is not running", () => {
  const chinese = translatorFor("zh");
  for (const code of CONNECTION_FAULTS) {
    const words = DELIVERY_CAUSES.get(code)?.text;
    expect([code, words === undefined ? "" : chinese(words)]).toEqual([
      code,
      expect.stringMatching(/\p{Script=Han}/u),
    ]);
    if (code !== "refused") expect([code, words]).not.toEqual([code, DELIVERY_CAUSES.get("refused")?.text]);
  }
});
