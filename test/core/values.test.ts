import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERROR_CODES, ERRORS } from "../../src/core/errors.ts";
import { expect, test } from "vitest";
import { openCheckout, type StoreFacts, type PurchaseTerms } from "../../src/core/checkout/checkout.ts";
import {
  formatTestKey,
  parseAuthorization,
  redactKey,
  refuseUnknownKey,
  requireScope,
} from "../../src/core/credential.ts";
import {
  deriveIdempotencyKey,
  fingerprint,
  LOCAL_SANDBOX_SERVICE,
  parseIdempotencyKey,
  replayStoredResponse,
  type LogicalCreate,
} from "../../src/core/checkout/idempotency-key.ts";
import { chooseKey, type CreateIntent } from "../../src/core/checkout/journal.ts";
import { formatAmount, isCurrency, parseDecimalAmount } from "../../src/core/money.ts";
import { takeToken, type Bucket } from "../../src/core/request/rate-limit.ts";
import { formatSigningSecret, openSecret, sealSecret } from "../../src/core/webhook/sealed-secret.ts";
import {
  decodePrintable,
  containsSecretInAddress,
  printable,
  printableLiteral,
} from "../../src/core/text.ts";
import { pastedForms } from "../../src/core/webhook/diagnosis/pasted-secrets.ts";
import { retryDelayMs } from "../../src/client/api/retry.ts";
import { parseRetryAfter } from "../../src/core/network/headers.ts";
import { seededRandom } from "../support/campaign.ts";
import { someTerms } from "../support/rows.ts";

const random = seededRandom(7);
const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => Math.floor(random() * 256));

test("a create is refused for an inactive store first, then for a missing capability, then for a conflict", () => {
  const store: StoreFacts = { id: "s", active: true, paymentMethods: ["alipay_plus"], currencies: ["EUR"] };
  const terms = someTerms();
  const live = { id: "c", object: "order", status: "created" } as const;
  const check = (
    change: Partial<StoreFacts>,
    bought: Partial<PurchaseTerms>,
    open: typeof live | undefined,
  ): string => {
    const input = {
      id: "n",
      object: "order",
      terms: { ...terms, ...bought },
      store: { ...store, ...change },
      blocker: open,
      lifetimeMs: 300_000,
    } as const;
    const outcome = openCheckout(input, 1000);
    return outcome.ok ? `${outcome.value.status} until ${outcome.value.expiresAt}` : outcome.refusal.code;
  };
  const all = { currency: "USD", paymentMethod: "wechat_pay" } as const;
  expect(check({}, {}, undefined)).toBe("created until 301000");
  expect(check({ active: false }, all, live)).toBe("store_inactive");
  expect(check({}, all, live)).toBe("capability_missing");
  expect(check({}, { currency: "USD" }, live)).toBe("capability_missing");
  expect(check({}, {}, live)).toBe("order_conflict");
});

test("a test key is accepted, a single wrong character in the key is recognised, and other credentials are refused", () => {
  const key = formatTestKey(bytes(20));
  expect(key).toMatch(/^svc_test_[0-9A-Za-z]{33}$/);
  const check = (...lines: string[]): string => {
    const outcome = parseAuthorization(lines);
    return outcome.ok ? outcome.value.kind : outcome.refusal.code;
  };
  expect(check(`Bearer ${key}`)).toBe("test");
  expect(check(`bEARER   ${key}`)).toBe("test");
  expect(check(`Bearer svc_live_${key.slice(9)}`)).toBe("live");
  expect(check()).toBe("credential_missing");
  const why = (unknown: string): string | undefined => {
    const refused = refuseUnknownKey(unknown);
    return refused.ok ? "" : refused.refusal.told?.fact;
  };
  expect(why(key)).toBe("unknown_key");
  for (let at = 9; at < key.length; at += 1) {
    const wrong = key.slice(0, at) + (key[at] === "a" ? "b" : "a") + key.slice(at + 1);
    expect([at, why(wrong)]).toEqual([at, "mistyped_key"]);
  }
  const rows = [
    [key],
    ["Basic eDp5"],
    ["Bearer"],
    [`Bearer ${key} `],
    [`Bearer ${key.slice(0, -1)}`],
    [`Bearer ${key}`, `Bearer ${key}`],
  ];
  for (const lines of rows) expect([lines, check(...lines)]).toEqual([lines, "credential_invalid"]);
  expect(redactKey(key)).toBe(`svc_test_…${key.slice(-4)}`);
  expect(redactKey("short")).toBe("…");
});

test("a credential permits only its scopes", () => {
  const credential = { id: "c", storeId: "s", scopes: ["orders:write"] } as const;
  expect(requireScope(credential, "orders:write").ok).toBe(true);
  expect(requireScope(credential, "checkout_sessions:read")).toMatchObject({
    refusal: { code: "scope_missing" },
  });
  expect(requireScope({ ...credential, scopes: [] }, "orders:write")).toMatchObject({ ok: false });
});

test("an idempotency key is one header with 8 to 128 printable ASCII characters", () => {
  const check = (...lines: string[]): string => {
    const outcome = parseIdempotencyKey(lines);
    return outcome.ok ? "ok" : outcome.refusal.code;
  };
  expect([check("x".repeat(8)), check("x".repeat(128)), check("a b c d e")]).toEqual(["ok", "ok", "ok"]);
  for (const key of ["x".repeat(7), "x".repeat(129), "ümlaut-key", "tab\tkey-1", "", "\u007fdelete-key"]) {
    expect([key, check(key)]).toEqual([key, "idempotency_key_invalid"]);
  }
  expect(check()).toBe("idempotency_key_missing");
  expect(check("same-key-1", "same-key-1")).toBe("idempotency_key_invalid");
});

test("a refused idempotency key is answered with the expected and the received value, without a secret", () => {
  const secret = formatTestKey(new Uint8Array(20).fill(7));
  const rows = [
    [[], "idempotency_key_missing", "idempotency_key_missing", undefined],
    [["key-number-1", "key-number-2"], "idempotency_key_invalid", "key_lines", "2"],
    [["short"], "idempotency_key_invalid", "key_form", '5: "short"'],
    [[`my ${secret}`], "idempotency_key_invalid", "key_with_secret", undefined],
  ] as const;
  for (const [values, code, fact, received] of rows) {
    const refused = parseIdempotencyKey(values);
    const told = { fact, values: received === undefined ? {} : { received } };
    expect(refused).toMatchObject({ refusal: { code, told } });
    expect(JSON.stringify(refused)).not.toContain(secret);
  }
});

test("a request's fingerprint is the same in every version, so that replays survive an update", () => {
  // Golden: users' databases have these values, so they never change (decision 5).
  const inline = {
    order_id: "order-1001",
    amount_minor: 1999,
    currency: "EUR",
    payment_method: "alipay_plus",
  } as const;
  expect(fingerprint("/v1/orders", inline)).toBe(
    "9d123ce8e2aa41275b65890557a1995758ff6a721233f11e60018425ab5a3b3e",
  );
  const priced = { order_id: "é😀", price_id: "price_coffee", description: 'a "b"' } as const;
  expect(fingerprint("/v1/checkout-sessions", priced)).toBe(
    "700aba1cbc69ff11bc4335938289e118309e6ba1562df4c8f23ff09ad06d0981",
  );
});

test("a create's fingerprint depends on its path and field values, not on their order; a key is refused with another fingerprint", () => {
  const request = { order_id: "o", amount_minor: 1, currency: "EUR", payment_method: "alipay_plus" } as const;
  const fields = Object.entries(request);
  const means = fingerprint("/v1/orders", request);
  for (let turn = 1; turn < fields.length; turn += 1)
    for (const order of [[...fields.slice(turn), ...fields.slice(0, turn)], fields.toReversed()])
      expect(fingerprint("/v1/orders", Object.fromEntries(order) as typeof request)).toBe(means);
  expect(fingerprint("/v1/checkout-sessions", request)).not.toBe(means);
  expect(fingerprint("/v1/orders", { ...request, amount_minor: 2 })).not.toBe(means);
  const stored = { fingerprint: means, status: 201, requestId: "r", body: "{}" } as const;
  expect(replayStoredResponse(stored, { key: "key-number-1", fingerprint: means })).toEqual({
    ok: true,
    value: stored,
  });
  expect(replayStoredResponse(stored, { key: "key-number-1", fingerprint: "another" })).toMatchObject({
    refusal: {
      code: "idempotency_key_reused",
      told: { fact: "idempotency_key_reused", values: { key: '"key-number-1"' } },
    },
  });
});

test("a managed idempotency key differs exactly if an identifying field of the create differs", () => {
  const create: LogicalCreate = {
    service: "http://a/v1",
    storeId: "s",
    endpoint: "orders",
    orderId: "o",
    attempt: 1,
  };
  const key = deriveIdempotencyKey(create);
  expect(key).toBe(deriveIdempotencyKey({ ...create }));
  expect(parseIdempotencyKey([key]).ok).toBe(true);
  const changed: Partial<LogicalCreate>[] = [
    { service: "http://b/v1" },
    { storeId: null },
    { endpoint: "checkout-sessions" },
    { orderId: "o2" },
    { attempt: 2 },
  ];
  const keys = changed.map((change) => deriveIdempotencyKey({ ...create, ...change }));
  expect(new Set([key, ...keys]).size).toBe(changed.length + 1);
});

test("a managed idempotency key is the same in every version, so that a client without its journal finds its order", () => {
  const create = { storeId: "store-1", endpoint: "orders", orderId: "order-1", attempt: 1 };
  const key = deriveIdempotencyKey({ ...create, service: LOCAL_SANDBOX_SERVICE });
  expect(key).toBe("co-1e9154bbd1480146508c026a6f1df987a7604889-1");
});

test("only --new-attempt uses the number after the latest attempt, and only if that attempt is settled", () => {
  const created = (attempt: number) => ({ attempt, state: "created" }) as const;
  const pending = (attempt: number) => ({ attempt, state: "pending" }) as const;
  const intent: CreateIntent = {
    service: "s",
    storeId: null,
    instance: null,
    endpoint: "orders",
    orderId: "o",
    isNewAttempt: false,
    idempotencyKey: null,
  };
  const rows = [
    [intent, undefined, 1],
    [intent, created(3), 3],
    [intent, pending(3), 3],
    [{ ...intent, isNewAttempt: true }, pending(3), 3],
    [{ ...intent, isNewAttempt: true }, undefined, 2],
    [{ ...intent, isNewAttempt: true }, created(3), 4],
    [{ ...intent, idempotencyKey: "my-own-key" }, created(3), null],
  ] as const;
  for (const [meant, latest, attempt] of rows) expect(chooseKey(meant, latest).attempt).toBe(attempt);
});

test("amounts are shown with the decimals of their currency", () => {
  const rows = [
    [1999, "EUR", "19.99 EUR"],
    [5, "EUR", "0.05 EUR"],
    [100, "CNY", "1.00 CNY"],
    [1200, "JPY", "1200 JPY"],
    [5000, "KRW", "5000 KRW"],
    [1, "KWD", "0.001 KWD"],
    [123, "HUF", "1.23 HUF"],
    [9_007_199_254_740_991, "USD", "90071992547409.91 USD"],
  ] as const;
  for (const [amount, currency, shown] of rows) expect(formatAmount(amount, currency)).toBe(shown);
  // A code of no currency is shown as it is, and the amount without decimals.
  const shownAmount = formatAmount(7, "e\u001b");
  expect([shownAmount.split(" ")[0], shownAmount.endsWith("e\u001b")]).toEqual(["7", true]);
});

test("a token bucket gives its burst, then its rate, and nothing after the clock goes back", () => {
  const limit = { perSecond: 5, burst: 10 };
  let bucket: Bucket | undefined;
  const take = (now: number): string => {
    const taken = takeToken(limit, bucket, now);
    bucket = taken.bucket;
    return taken.outcome.ok ? "ok" : `wait ${taken.outcome.refusal.retryAfterSeconds ?? "?"}`;
  };
  for (let index = 0; index < 10; index += 1) expect(take(0)).toBe("ok");
  expect(take(0)).toBe("wait 1");
  expect(take(199)).toBe("wait 1");
  expect(take(200)).toBe("ok");
  expect(take(-5000)).toBe("wait 1");
  expect(take(10_000)).toBe("ok");
});

test("retry pauses grow up to 5 s, are at least as long as Retry-After, and are randomized", () => {
  const waits = [1, 2, 3, 4, 5, 6, 20].map((tries) => retryDelayMs(tries, { random: 1, retryAfterMs: 0 }));
  expect(waits).toEqual([200, 400, 800, 1600, 3200, 5000, 5000]);
  expect(retryDelayMs(1, { random: 0, retryAfterMs: 0 })).toBe(100);
  expect(retryDelayMs(1, { random: 0.5, retryAfterMs: 3000 })).toBe(3000);
  const now = Date.UTC(2026, 0, 1);
  const rows = [
    ["7", 7000],
    ["0", 0],
    [undefined, 0],
    ["soon", 0],
    ["-1", 0],
    ["1.5", 0],
    ["Thu, 01 Jan 2026 00:00:30 GMT", 30_000],
    ["Wed, 31 Dec 2025 00:00:30 GMT", 0],
  ] as const;
  for (const [header, wait] of rows) expect([header, parseRetryAfter(header, now)]).toEqual([header, wait]);
});

test("an encrypted signing secret opens only with its master key, its id, its store and all of its bytes", () => {
  const masterKey = bytes(32);
  const place = { id: "secret", storeId: "store", nonce: bytes(12) };
  const secret = formatSigningSecret(bytes(32));
  const sealed = sealSecret(secret, place, masterKey);
  expect(openSecret(sealed, masterKey)).toBe(secret);
  expect(Buffer.from(sealed.sealed).includes(secret)).toBe(false);
  const flipped = sealed.sealed.map((byte, index) => (index === 3 ? byte ^ 1 : byte));
  const wrong = [
    openSecret(sealed, bytes(32)),
    openSecret({ ...sealed, storeId: "another" }, masterKey),
    openSecret({ ...sealed, id: "another" }, masterKey),
    openSecret({ ...sealed, sealed: flipped }, masterKey),
    openSecret({ ...sealed, sealed: sealed.sealed.subarray(0, -4) }, masterKey),
    openSecret({ ...sealed, sealed: new Uint8Array(4) }, masterKey),
  ];
  expect(wrong).toEqual(wrong.map(() => undefined));
});

test("printable escapes control, bidi and invisible characters, and printableLiteral cuts a long value", () => {
  expect(printable("a\u001b[31mb\u202ec\u200bd\u0000é漢😀")).toBe(
    "a\\u{1b}[31mb\\u{202e}c\\u{200b}d\\u{0}é漢😀",
  );
  expect(printableLiteral("x".repeat(100))).toMatch(/^"x{59}… \(102 characters\)$/);
  expect(printableLiteral(undefined)).toBe("undefined");
});

test("decision 4 lists exactly the error codes, each under its status", () => {
  const decisions = readFileSync(join(import.meta.dirname, "../../docs/decisions.md"), "utf8");
  const [, text = ""] = /^\*\*4\. Error codes\.\*\*(.*?)^\*\*5\./ms.exec(decisions) ?? [];
  const listed = [...text.matchAll(/^\| (\d{3}) \| (.*) \|$/gm)].flatMap(([, status, codes = ""]) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => [code, Number(status)]),
  );
  expect(listed.length).toBeGreaterThan(30);
  expect(Object.fromEntries(listed)).toEqual(
    Object.fromEntries(ERROR_CODES.map((code) => [code, ERRORS[code].status])),
  );
});

test("exactly the currencies of ISO 4217, funds included, are accepted", () => {
  const codes = [...Intl.supportedValuesOf("currency"), "CLF", "UYW", "CHE", "MXV", "XAU"];
  expect(codes.filter((code) => !isCurrency(code))).toEqual([]);
  const others = ["eur", "EURO", "EU", "XYZ", "AAA", "", "€", "__proto__"];
  expect(others.filter(isCurrency)).toEqual([]);
});

test("an amount with decimals is converted to minor units exactly, or not at all", () => {
  const rows: readonly (readonly [text: string, currency: string, minor: number | undefined])[] = [
    ["19.99", "EUR", 1999],
    ["19,99", "EUR", 1999],
    ["1.5", "EUR", 150],
    ["19.00", "EUR", 1900],
    ["0.07", "EUR", 7],
    ["1200.00", "JPY", 1200],
    ["12.5", "JPY", undefined],
    ["1.500", "KWD", 1500],
    ["1.2345", "KWD", undefined],
    ["9007199254740.99", "EUR", 900_719_925_474_099],
    ["19", "EUR", undefined],
    ["19.", "EUR", undefined],
    ["-1.00", "EUR", undefined],
    ["1.999.99", "EUR", undefined],
    ["19.99", "euro", undefined],
  ];
  for (const [text, currency, minor] of rows)
    expect([text, currency, parseDecimalAmount(text, currency)]).toEqual([text, currency, minor]);
});

test("a secret is found in an address even if some of its characters are percent-encoded", () => {
  expect(decodePrintable("whsec%5Fa%62c%00%e4%B8%ad%zz")).toBe("whsec_abc%00%e4%B8%ad%zz");
  const secret = `whsec_${"a1".repeat(16)}`;
  const encoded = secret.replace("_", "%5F").replace("a", "%61");
  expect(containsSecretInAddress(`https://localhost/${encoded}`)).toBe(true);
  expect(pastedForms(encoded).map(([code, , text]) => [code, text])).toEqual([["secret_wrapped", secret]]);
});
