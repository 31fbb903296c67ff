import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { redactHeaders, redactBody } from "../../src/core/request/logged-request.ts";
import { isSecretHeader, redactStored } from "../../src/core/request/redaction.ts";
import { DEFAULT_HEADER_NAMES } from "../../src/core/webhook/signature.ts";
import type { Service } from "../../src/world.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { createHarness } from "../support/harness.ts";

const random = seededRandom(SEED);
const upTo = (limit: number): number => Math.floor(random() * limit);
const oneOf = <Value>(values: readonly Value[]): Value => values[upTo(values.length)] as Value;
const digits = (length: number): string => Array.from({ length }, () => upTo(10)).join("");
const hex = (length: number): string => Array.from({ length }, () => upTo(16).toString(16)).join("");

/** The first digits of card numbers, by issuer. */
const ISSUERS = [
  "4",
  "51",
  "55",
  "2221",
  "2720",
  "2200",
  "34",
  "37",
  "36",
  "300",
  "3528",
  "6011",
  "62",
  "65",
  "81",
];
const SPACES = [" ", "-", "\u00a0", "\u202f", "\u2011", "\u2013", "+", "%20", "_", " - ", "  "];
/** The lengths of a number's groups; the last group takes the rest. */
const GROUPS = [[4, 4, 4, 4, 4], [4, 6, 9], [4, 4, 11], [6, 13], [4, 3, 3, 9], [19]] as const;

function cardNumber(length = 13 + upTo(7)): string {
  const issuer = oneOf(ISSUERS);
  const body = `${issuer}${digits(length - issuer.length - 1)}`;
  const isRight = (number: string): boolean => {
    const values = Array.from(number)
      .toReversed()
      .map((digit, at) => Number(digit) * (at % 2 === 0 ? 1 : 2));
    return values.reduce((sum, value) => sum + (value > 9 ? value - 9 : value), 0) % 10 === 0;
  };
  return Array.from({ length: 10 }, (_, last) => `${body}${last}`).find(isRight) ?? "";
}

/** A number in one of the forms that people write. */
function written(card: string): string {
  const gap = oneOf(SPACES);
  const groups: string[] = [];
  let rest = card;
  for (const length of oneOf(GROUPS)) {
    groups.push(rest.slice(0, length));
    rest = rest.slice(length);
    if (rest === "") break;
  }
  const text = groups.join(gap);
  return upTo(4) > 0 || gap.includes("%")
    ? text
    : text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)));
}

/** The digits of a text, without their separators. */
const digitsIn = (text: string): string =>
  text
    .replace(/%(?:20|2b|2d|22|3d)/gi, "")
    .replace(/[０-９]/g, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replace(/\D/g, "");

const AROUND = [
  ["", ""],
  ["card ", ""],
  ["card", "."],
  ['{"pan":"', '"}'],
  ['{"pan":', "}"],
  ["a=", "&b=c"],
  ["a%3D", "%26b"],
  ["%22", "%22"],
  ["/v1/", "/x"],
  ["(", ")"],
  ["x,", ";"],
  ["中", "文"],
] as const;

/** Texts of all kinds without a card number. */
const OTHERS: readonly (() => string)[] = [
  () =>
    `${hex(8)}-${hex(4)}-${oneOf(["4", "7"])}${hex(3)}-${oneOf(["8", "9", "a", "b"])}${hex(3)}-${hex(12)}`,
  () => `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`,
  () => `a${hex(63)}`,
  () => `1${digits(12)}`,
  () => `1${digits(15)}`,
  () => `2026${digits(4)}-${digits(6)}`,
  () => `2026-0${digits(1)}-1${digits(1)}T1${digits(1)}:${digits(2)}:${digits(2)}.${digits(3)}Z`,
  () => String(random()),
  () => `51.${digits(14)}`,
  () => `{"amount_minor":4${digits(14)},"currency":"IDR"}`,
  () => `{"amount_minor": ${digits(12)}}`,
  () => `4${digits(11)}`,
  () => `4${digits(19)}`,
  () => `order-${digits(9)}`,
  () => `{"a":[${Array.from({ length: 9 }, () => digits(4)).join(",")}]}`,
  () => `198.51.100.${digits(2)} 41 11 11 11 11 11 11 11`,
];

test("only the last four digits of a card number are stored, whatever its form and place", () => {
  for (let run = 0; run < size(2000, 200_000); run += 1) {
    const card = cardNumber();
    const [before, after] = oneOf(AROUND);
    const text = `${before}${written(card)}${after}`;
    const kept = redactStored(text);
    expect([SEED, text, kept]).toEqual([SEED, text, `${before}…${card.slice(-4)}${after}`]);
    expect(digitsIn(kept)).not.toContain(card.slice(0, 12));
    expect(redactStored(kept)).toBe(kept);
  }
});

test("a text without a card number is stored byte for byte", () => {
  for (let run = 0; run < size(2000, 200_000); run += 1) {
    const text = oneOf(OTHERS)();
    expect([SEED, redactStored(text)]).toEqual([SEED, text]);
  }
  // With a wrong check digit or length, a number is not a card number.
  for (const text of ["4111111111111112", "4111 1111 1111 1112", "411111111111", "41111111111111111111"])
    expect(redactStored(text)).toBe(text);
});

test("every card number in a text is redacted, even among other numbers", () => {
  const rows = [
    ["4111111111111111 5555555555554444", "…1111 …4444"],
    ["1999 4111 1111 1111 1111 2026", "1999 …1111 2026"],
    ["4111 1111 1111 1111, exp 12/27, cvc 123", "…1111, exp 12/27, cvc 123"],
    [
      "0199a3c4-5d00-7000-8000-000000000001 4111-1111-1111-1111",
      "0199a3c4-5d00-7000-8000-000000000001 …1111",
    ],
    ["svc_test_abcdefgh 4111111111111111 http://me:pw@x", "svc_test_… …1111 http://…@x"],
  ] as const;
  for (const [text, kept] of rows) expect(redactStored(text)).toBe(kept);
});

test("a card-like number in an order_id is kept, because it identifies an order", () => {
  for (const orderId of ["4111111111111111", "O-4111111111111111", "4111-1111-1111-1111"]) {
    const body = (text: string): string => JSON.stringify({ order_id: orderId, description: text });
    expect(redactStored(body("5555555555554444"), orderId)).toBe(body("…4444"));
    expect(redactStored(`order_id ${orderId} is open`, orderId)).toBe(`order_id ${orderId} is open`);
  }
  expect(redactStored("4111111111111111", "41")).toBe("…1111");
  expect(redactStored("4111111111111111", "")).toBe("…1111");
});

test("a card number in JSON escapes is redacted", () => {
  const rows = ["4111\\u00a01111\\u20111111\\u30001111", "\\uff14111111111111111", "\\u0034111111111111111"];
  for (const row of rows)
    expect(redactBody(`{"d":"${row}"}`, (text) => redactStored(text))).toBe('{"d":"…1111"}');
  const other = String.raw`{"d":"\u4e2d \u00a0 \u0041"}`;
  expect(redactBody(other, (text) => redactStored(text))).toBe(other);
});

test("a header with a secret name is stored without its value", () => {
  const names = ["key", "token", "secret", "auth", "password", "signature", "cookie"];
  const secret = (): string => `${hex(6)} ${hex(6)}; ${hex(6)}=${hex(6)}`;
  for (let run = 0; run < size(300, 20_000); run += 1) {
    const word = oneOf(names);
    const cased = oneOf([word, word.toUpperCase(), `${word[0]?.toUpperCase()}${word.slice(1)}`]);
    const name = `${oneOf(["X-", "", "My_", "x"])}${cased}${oneOf(["", "-Id", "s", "_2"])}`;
    const value = secret();
    const [, kept] = redactHeaders([name, value], redactStored);
    expect([SEED, name, value, kept]).toEqual([SEED, name, value, "…"]);
  }
  const rows = [
    ["Authorization", "Bearer abc", "Bearer …"],
    ["authorization", "my passphrase here", "…"],
    ["Proxy-Authorization", "Basic abc", "Basic …"],
    ["Cookie", "session=abc; theme=dark", "…"],
    ["X-Auth", "Bearer abc", "…"],
    ["Idempotency-Key", "order-1001", "order-1001"],
    ["X-Card", "4111 1111 1111 1111", "…1111"],
    ["Referer", "http://shop/?pan=4111+1111+1111+1111", "http://shop/?pan=…1111"],
    ["Accept", "*/*", "*/*"],
  ] as const;
  for (const [name, value, kept] of rows)
    expect(redactHeaders([name, value], redactStored)).toEqual([name, kept]);
  for (const name of [
    ...Object.values(DEFAULT_HEADER_NAMES),
    "Idempotency-Key",
    "Content-Type",
    "Keep-Alive",
  ])
    expect([name, isSecretHeader(name)]).toEqual([name, false]);
});

/** A receiver that answers each webhook with 500 and a text. */
function talkative(text: string): Service {
  const answer = () => Promise.resolve({ status: 500, headers: {}, body: text });
  return { answer, refuse: () => ({ status: 400, headers: {}, body: "" }) };
}

test("secret headers and card numbers are in no file, log or output", async () => {
  const harness = createHarness();
  const cards = ["4111111111111111", "5555-5555-5555-4444", "3782 822463 10005"];
  const [pan = "", dashed = "", amex = ""] = cards;
  const secret = "a-secret-of-another-service";
  // The kept part of the answer ends within the second number.
  harness.occupy(3000, talkative(`${amex} ${"x".repeat(4060)} ${pan} ${"x".repeat(9000)}`));
  const sandbox = await harness.start();
  const { ready } = sandbox;
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  const headers = {
    Authorization: `Bearer ${ready.api_key ?? ""}`,
    "Content-Type": "application/json",
    "Idempotency-Key": "the-first-key",
    "X-Api-Key": secret,
    Cookie: `a=${secret}; b=${secret}`,
    "X-Other": `paid with ${amex}`,
    Referer: `http://shop.example/?pan=${pan}`,
  };
  const terms = { order_id: "order-1", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
  const post = async (body: object | string, path = "/v1/orders") => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const answer = await sandbox.request({ method: "POST", path, headers, body: text });
    return (JSON.parse(String(answer.body)) as { request_id: string }).request_id;
  };
  await post(terms);
  const reused = await post({ ...terms, amount_minor: 2999, description: `card ${dashed}` });
  const ids = [
    reused,
    await post({ ...terms, card: pan }),
    await post({ ...terms, order_id: "order-2", description: `${pan} ${"x".repeat(200)}` }),
    await post(`{"card": ${pan}}`),
    await post(`no JSON ${pan}`),
    await post(terms, `/v1/orders/${pan}?card=${dashed}`),
  ];
  await sandbox.request({ path: `/v1/checkout-sessions/${pan}?card=${dashed}`, headers });
  await harness.clock.sleep(200);
  const said: string[] = [];
  for (const id of ids)
    for (const words of [
      ["requests", "get", id],
      ["explain", id],
      ["explain", id, "--json"],
    ])
      said.push((await harness.run(words)).stdout);
  for (const words of ["requests list --json", "deliveries list --json", "explain order-1"])
    said.push((await harness.run(words.split(" "))).stdout);
  const deliveries = JSON.parse((await harness.run(["deliveries", "list", "--json"])).stdout) as {
    readonly deliveries: readonly { readonly id: string }[];
  };
  expect(deliveries.deliveries).toHaveLength(1);
  for (const { id } of deliveries.deliveries) {
    const { stdout } = await harness.run(["explain", id]);
    expect(stdout).toMatch(/…0005 x+/);
    said.push(stdout);
  }
  const reusedText = (await harness.run(["explain", reused])).stdout;
  expect(reusedText).toMatch(/^amount_minor +1999 +2999$/m);
  expect(reusedText).toMatch(/^description +\S+ +card …4444$/m);
  const { stderr } = await sandbox.stop();
  const folder = join(harness.cwd, ".checkout");
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  expect(said.join("\n")).toContain("…1111");
  expect(files.join("\n")).toContain("…1111");
  expect(stderr).toContain("…1111");
  for (const text of [...said, ...files, stderr])
    for (const one of [...cards, secret]) expect(text).not.toContain(one);
});

test("a refusal has the same explanation with and without secrets in the request", async () => {
  const terms = { order_id: "4111111111111111", amount_minor: 4_111_111_111_111_111, currency: "EUR" };
  const full = { ...terms, payment_method: "alipay_plus" };
  const refusals: readonly (readonly [string, object, Record<string, string>])[] = [
    ["idempotency_key_reused", { ...full, amount_minor: 2999 }, {}],
    ["order_conflict", full, { "Idempotency-Key": "another-key" }],
    ["unknown_parameter", { ...full, colour: "red" }, {}],
    ["missing_parameter", terms, {}],
    ["invalid_parameter", { ...full, currency: "Euro" }, {}],
    ["conflicting_parameters", { ...full, price_id: "price_coffee" }, {}],
    ["capability_missing", { ...full, currency: "XXX", order_id: "o" }, { "Idempotency-Key": "third-key" }],
    ["idempotency_key_invalid", full, { "Idempotency-Key": "short" }],
    ["unsupported_content_type", full, { "Content-Type": "text/plain" }],
    ["origin_not_allowed", full, { Origin: "http://evil.example" }],
    ["host_not_allowed", full, { Host: "evil.example" }],
    ["credential_invalid", full, { Authorization: "Bearer svc_test_wrong" }],
    ["not_found", full, { path: "/v1/nothing" }],
  ];
  const harness = createHarness();
  const sandbox = await harness.start();
  const explained = async (body: object, own: Record<string, string>): Promise<Record<string, unknown>> => {
    const { path = "/v1/orders", ...more } = own;
    const answer = await sandbox.request({
      method: "POST",
      path,
      headers: {
        Authorization: `Bearer ${sandbox.ready.api_key ?? ""}`,
        "Content-Type": "application/json",
        "Idempotency-Key": "the-first-key",
        ...more,
      },
      body: JSON.stringify(body),
    });
    const { request_id: id } = JSON.parse(String(answer.body)) as { request_id: string };
    const { stdout } = await harness.run(["explain", id, "--json"]);
    const said = JSON.parse(stdout) as Record<string, unknown>;
    return { ...said, id: "", entries: [] };
  };
  await explained(full, {});
  const secrets = { "X-Api-Key": "abc", Cookie: "a=b; c=d", "X-Card": "5555555555554444" };
  for (const [code, body, own] of refusals) {
    const plain = await explained(body, own);
    expect([code, plain.summary]).toEqual([code, expect.stringContaining(code)]);
    expect(await explained(body, { ...own, ...secrets })).toEqual(plain);
    expect(JSON.stringify(plain)).not.toContain("…1111");
  }
  const reused = await explained({ ...full, amount_minor: 2999 }, {});
  expect(reused).toMatchObject({
    differences: [{ field: "amount_minor", first: "4111111111111111", this: "2999" }],
  });
  const described = await explained({ ...full, description: "5555 5555 5555 4444" }, {});
  expect(described).toMatchObject({ differences: [{ field: "description", first: null, this: "…4444" }] });
});
