import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_HEADER_NAMES, signatureOf } from "../../src/core/webhook/signature.ts";
import { createHarness, type Harness, type Result } from "../support/harness.ts";
import { run } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const SECRET = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const OTHER = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const BODY = '{"event_id":"019b76da-a800-7000-8000-000000000001","description":"Grüße"}';
const ENV = { CHECKOUT_SIGNING_SECRET: SECRET };
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

/** A harness with the body in `body.json`, and its valid headers. */
function prepare() {
  const harness = createHarness();
  const write = (name: string, content: string | Uint8Array): void =>
    writeFileSync(join(harness.cwd, name), content);
  write("body.json", BODY);
  write("secret.txt", `${SECRET}\n`);
  const timestamp = String(Math.floor(harness.clock.now() / 1000));
  const signature = signatureOf(SECRET, { timestamp, rawBody: Buffer.from(BODY) });
  const verify = (flags: Readonly<Record<string, string | undefined>>, env: Record<string, string> = ENV) =>
    runVerify(harness, { "payload-file": "body.json", timestamp, signature, ...flags }, env);
  return { harness, write, timestamp, signature, verify };
}

function runVerify(
  harness: Harness,
  flags: Readonly<Record<string, string | undefined>>,
  env: Record<string, string>,
): Promise<Result> {
  const given = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : value === "" ? [`--${name}`] : [`--${name}=${value}`],
  );
  return harness.run(["webhooks", "verify", ...given], { env });
}

test("webhooks verify exits with 0 if the signature is valid and 1 if not, and prints only the result", async () => {
  const { harness, verify, timestamp } = prepare();
  const valid = await verify({});
  expect(valid).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^✓ .*\b0 s\b.*\n$/) as string,
    stderr: "",
  });
  harness.clock.advance(12_000);
  const inJson = await verify({ json: "" });
  expect([inJson.code, inJson.stderr, json(inJson.stdout)]).toEqual([
    0,
    "",
    { valid: true, timestamp: Number(timestamp), age_seconds: 12 },
  ]);
  const wrong = await verify({ signature: "0".repeat(64), json: "" });
  expect([wrong.code, wrong.stderr, wrong.stdout.split("\n").length]).toEqual([1, "", 2]);
  expect(json(wrong.stdout)).toEqual({
    valid: false,
    code: "signature_mismatch",
    message: expect.any(String) as string,
    causes: [{ code: "unexplained", message: expect.any(String) as string, proven: false, detail: null }],
  });
});

test("webhooks verify prints the causes, and shows no secret or correct signature", async () => {
  const { harness, write, verify, signature, timestamp } = prepare();
  write("pretty.json", JSON.stringify(JSON.parse(BODY), null, 2));
  write("newline.json", `${BODY}\n`);
  write("latin1.json", Buffer.from(BODY, "latin1"));
  const rows: readonly (readonly [
    cause: string,
    flags: Record<string, string>,
    env?: Record<string, string>,
  ])[] = [
    ["body_reserialised", { "payload-file": "pretty.json" }],
    ["body_whitespace_added", { "payload-file": "newline.json" }],
    ["body_charset", { "payload-file": "latin1.json" }],
    ["body_empty", { "payload-file": "empty.json" }],
    ["signature_upper_case", { signature: signature.toUpperCase() }],
    ["signature_prefixed", { signature: `sha256=${signature}` }],
    ["signature_base64", { signature: Buffer.from(signature, "hex").toString("base64") }],
    ["timestamp_milliseconds", { timestamp: `${timestamp}000` }],
    ["other_timestamp", { timestamp: String(Number(timestamp) - 5) }],
    ["secret_prefix", {}, { CHECKOUT_SIGNING_SECRET: SECRET.slice(6) }],
    ["secret_whitespace", {}, { CHECKOUT_SIGNING_SECRET: `${SECRET}\n` }],
    ["secret_quoted", {}, { CHECKOUT_SIGNING_SECRET: `"${SECRET}"` }],
    ["secret_is_api_key", {}, { CHECKOUT_SIGNING_SECRET: `svc_test_${"0".repeat(33)}` }],
    ["clock_skew", { now: String(Number(timestamp) + 400) }],
    ["clock_skew", { tolerance: "0s", now: String(Number(timestamp) - 1) }],
    ["stale_replay", { now: "2027-01-15T12:00:00Z" }],
    ["unexplained", {}, { CHECKOUT_SIGNING_SECRET: OTHER }],
  ];
  write("empty.json", "");
  for (const [cause, flags, env] of rows) {
    const human = await verify(flags, env ?? ENV);
    const [verdict = "", first = ""] = human.stdout.split("\n");
    expect([cause, human.code, human.stderr]).toEqual([cause, 1, ""]);
    expect(verdict).toMatch(/^✗ .+ \([a-z_]+\)$/);
    expect(first).toMatch(/^ {2}→ .+ \([a-z_0-9]+\)$/);
    expect(first).toContain(`(${cause})`);
    const inJson = await verify({ ...flags, json: "" }, env ?? ENV);
    expect(json(inJson.stdout)).toMatchObject({
      valid: false,
      causes: [{ code: cause }, ...laterCauses(inJson)],
    });
    for (const { stdout } of [human, inJson])
      expect(stdout).not.toMatch(new RegExp(`${SECRET.slice(6)}|${signature}`, "i"));
  }
  expect(harness.opened).toEqual([]);
});

function laterCauses({ stdout }: Result): readonly unknown[] {
  return (json(stdout)["causes"] as readonly unknown[]).slice(1);
}

test("webhooks verify reads secrets from a file, one per line, and the file wins over the environment", async () => {
  const { write, verify } = prepare();
  write("both.txt", `${OTHER}\r\n\r\n${SECRET}\r\n`);
  write("wrong.txt", OTHER);
  const codes = [
    await verify({ "secret-file": "secret.txt" }, {}),
    await verify({ "secret-file": "both.txt" }, {}),
    await verify({ "secret-file": "wrong.txt" }),
  ].map(({ code }) => code);
  expect(codes).toEqual([0, 0, 1]);
});

test("a missing or invalid argument of webhooks verify or webhooks sign is a usage error that names the argument", async () => {
  const { harness, write, verify } = prepare();
  write("empty.txt", "\n");
  const rows: readonly (readonly [named: string, result: Promise<Result>])[] = [
    ["--payload-file, --timestamp, --signature", harness.run(["webhooks", "verify"], { env: ENV })],
    ["--signature", verify({ signature: undefined })],
    ["--payload-file", harness.run(["webhooks", "sign"], { env: ENV })],
    ["CHECKOUT_SIGNING_SECRET", verify({}, {})],
    ["--secret-file", verify({}, {})],
    ["CHECKOUT_SIGNING_SECRET", verify({}, { CHECKOUT_SIGNING_SECRET: "" })],
    ["--secret-file", verify({ "secret-file": "empty.txt" })],
    ["--secret-file: nowhere.txt", verify({ "secret-file": "nowhere.txt" })],
    ["--payload-file: nowhere.json", verify({ "payload-file": "nowhere.json" })],
    ["--payload-file: .", verify({ "payload-file": "." })],
    ["--payload-file", verify({ "payload-file": "-", "secret-file": "-" })],
    ["--tolerance", verify({ tolerance: "500ms" })],
    ["--tolerance", verify({ tolerance: "-1s" })],
    ["--now", verify({ now: "yesterday" })],
    ["--now", verify({ now: "2026-02-30T00:00:00Z" })],
    ["'--secret'", verify({ secret: SECRET })],
    ["--timestamp", harness.run(["webhooks", "sign", "--timestamp", "1"], { env: ENV })],
    ["--event-id", harness.run(["webhooks", "sign", "--event-id", "a b"], { env: ENV })],
    [
      "whsec_…",
      harness.run(["webhooks", "sign", "--payload-file", "body.json"], {
        env: { CHECKOUT_SIGNING_SECRET: `svc_test_${"0".repeat(33)}` },
      }),
    ],
  ];
  for (const [named, running] of rows) {
    const { code, stdout, stderr } = await running;
    expect([named, code, stdout, stderr]).toEqual([named, 2, "", expect.stringContaining(named)]);
  }
});

test("webhooks verify without a secret tries the running sandbox's secrets, and reports the matching secret", async () => {
  const { harness, verify, timestamp, signature } = prepare();
  const { ready } = await harness.start();
  const signedBy = (key: string): string => signatureOf(key, { timestamp, rawBody: Buffer.from(BODY) });
  const stores = await verify({ signature: signedBy(ready.signing_secret), json: "" }, {});
  expect([stores.code, json(stores.stdout)]).toEqual([
    0,
    {
      valid: true,
      timestamp: Number(timestamp),
      age_seconds: 0,
      secret_of: expect.stringContaining("Sandbox Store") as string,
      endpoint_id: null,
    },
  ]);
  const added = await harness.run(["endpoints", "add", "http://localhost:3000/hooks", "--json"]);
  const { id = "" } = json(added.stdout) as Readonly<Record<string, string>>;
  const rotate = async (): Promise<string> => {
    const { stdout } = await harness.run(["endpoints", "rotate-secret", id, "--overlap", "0s", "--json"]);
    return String(json(stdout)["signing_secret"]);
  };
  const secret = await rotate();
  const endpoints = await verify({ signature: signedBy(secret) }, {});
  expect(endpoints.stdout).toMatch(/^✓ .* http:\/\/localhost:3000\/hooks\n$/);
  await rotate();
  const rotated = await verify({ signature: signedBy(secret) }, {});
  expect(rotated.code).toBe(1);
  const [, tried = "", cause = ""] = rotated.stdout.split("\n");
  expect(tried).toMatch(/http:\/\/localhost:3000\/hooks, .*Sandbox Store$/);
  expect(cause).toMatch(/^ {2}→ .*http:\/\/localhost:3000\/hooks.* \(retired_secret\)$/);
  for (const { stdout } of [rotated, endpoints]) expect(stdout).not.toContain(secret);
  expect((await verify({ signature: signedBy(secret) })).code).toBe(1);
  expect((await verify({ signature })).code).toBe(0);
});

test("webhooks verify accepts another service's header names", async () => {
  const { verify } = prepare();
  const named = await verify({ "header-names": "timestamp=X-Time,signature=X-Sign", timestamp: "soon" });
  expect(named.stdout).toMatch(/^✗ .*X-Time.* \(timestamp_malformed\)\n/);
  expect((await verify({ "header-names": "signature=X-Sign" })).code).toBe(0);
  for (const wrong of [
    "",
    "X-Time",
    "time=X-Time",
    "timestamp=",
    "timestamp=a b",
    "timestamp=X,timestamp=Y",
    "timestamp=X,signature=x",
  ]) {
    const refused = await verify({ "header-names": ` ${wrong}` });
    expect([wrong, refused.code, refused.stdout]).toEqual([wrong, 2, ""]);
    expect(refused.stderr).toContain("timestamp=X-Timestamp,signature=X-Signature");
  }
});

test("webhooks sign prints headers that webhooks verify accepts, with a new id if the body has none, and one signature per secret", async () => {
  const { harness, write, verify, timestamp, signature } = prepare();
  const sign = (...flags: string[]) =>
    harness.run(["webhooks", "sign", "--payload-file", "body.json", "--secret-file", "secret.txt", ...flags]);
  const human = await sign();
  expect(human).toEqual({
    code: 0,
    stdout: `Checkout-Event-Id: 019b76da-a800-7000-8000-000000000001\nCheckout-Timestamp: ${timestamp}\nCheckout-Signature: ${signature}\n`,
    stderr: "",
  });
  const early = json((await sign("--timestamp", "1700000000", "--event-id", "e-1", "--json")).stdout);
  expect(early).toEqual({
    [DEFAULT_HEADER_NAMES.eventId]: "e-1",
    [DEFAULT_HEADER_NAMES.timestamp]: "1700000000",
    [DEFAULT_HEADER_NAMES.signature]: signatureOf(SECRET, {
      timestamp: "1700000000",
      rawBody: Buffer.from(BODY),
    }),
  });
  const back = {
    timestamp: "1700000000",
    signature: String(early[DEFAULT_HEADER_NAMES.signature]),
    now: "1700000000",
  };
  expect((await verify(back)).code).toBe(0);
  write("body.json", "[]");
  write("secret.txt", `${OTHER}\n${SECRET}\n`);
  const rotated = json((await sign("--json")).stdout);
  expect(rotated[DEFAULT_HEADER_NAMES.eventId]).toMatch(/^[0-9a-f-]{36}$/);
  expect(rotated[DEFAULT_HEADER_NAMES.signature]).toMatch(/^[0-9a-f]{64},[0-9a-f]{64}$/);
});

test("webhooks sign reads the payload or the secret from standard input, and the payload byte for byte", async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, "secret.txt"), SECRET);
  writeFileSync(join(folder, "body.bin"), Buffer.from([0xff, 0x00, 0x0d, 0x0a]));
  const sign = ["webhooks", "sign", "--json", "--timestamp", "1700000000"];
  const signed = await run([...sign, "--payload-file", "body.bin", "--secret-file", "-"], {
    cwd: folder,
    input: `${SECRET}\n`,
  });
  const rawBody = Buffer.from([0xff, 0x00, 0x0d, 0x0a]);
  expect(json(signed.stdout)).toMatchObject({
    [DEFAULT_HEADER_NAMES.signature]: signatureOf(SECRET, { timestamp: "1700000000", rawBody }),
  });
  const piped = await run([...sign, "--payload-file", "-", "--secret-file", "secret.txt"], {
    cwd: folder,
    input: `${BODY}\n`,
  });
  expect(json(piped.stdout)).toMatchObject({
    [DEFAULT_HEADER_NAMES.signature]: signatureOf(SECRET, {
      timestamp: "1700000000",
      rawBody: Buffer.from(`${BODY}\n`),
    }),
  });
});
