import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDialect } from "../../src/core/calibration/dialect-section.ts";
import type { Dialect } from "../../src/core/shape/dialect.ts";
import type { OutboundRequest, OutboundResult } from "../../src/world.ts";
import { SEED, size } from "../support/campaign.ts";
import { drawDialect } from "../support/drawn-dialect.ts";
import { contains, dialectOf, plantedTable, SERVICES } from "../support/planted-dialects.ts";
import { createHarness } from "../support/harness.ts";

const RECEIVER = "http://127.0.0.1:4300";
const SERVICE = ["--base-url", "http://127.0.0.1:4242/v1"];
/** Starts a sandbox that speaks a dialect and delivers to the receiver of calibrations. */
async function speak(dialect: Dialect) {
  const harness = createHarness();
  writeFileSync(join(harness.cwd, "like.json"), JSON.stringify(dialect));
  const sandbox = await harness.start(["--like", "like.json"]);
  await harness.run(["endpoints", "add", `${RECEIVER}/hooks`]);
  await harness.run(["return-origins", "add", RECEIVER, "--path", "/return"]);
  writeFileSync(join(harness.cwd, "secret.txt"), `${sandbox.ready.signing_secret ?? ""}\n`);
  return { harness, sandbox, dialect };
}

/** The answer of the HTTP server to a large body; this harness has no server in front of the sandbox. */
function tooLarge({ errors = {} }: Dialect): OutboundResult {
  const { code = "body_too_large", status = 413 } = errors["body_too_large"] ?? {};
  const body = JSON.stringify({ ok: false, request_id: "x", error: { code, message: "too large" } });
  return { ok: true, status, headers: { "content-type": "application/json" }, body };
}

/** Runs a calibration with a payer; returns the dialect that it writes, and its report. */
async function calibrate({ harness, sandbox, dialect }: Awaited<ReturnType<typeof speak>>) {
  let isPaid = false;
  const sleep = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    const { stdout } = await harness.run(["orders", "list", "--json"]);
    const { checkouts } = JSON.parse(stdout) as {
      readonly checkouts: readonly { id: string; order_id: string }[];
    };
    const order = checkouts.find(({ order_id: name }) => /^calibrate-[\da-f]{12}$/.test(name));
    if (order !== undefined && !isPaid) {
      isPaid = true;
      await harness.run(["sandbox", "pay", order.id, "--outcome", "declined"]);
      await harness.run(["sandbox", "pay", order.id]);
      const page = await sandbox.request({ path: `/pay/${order.id}` });
      const [, back = ""] = /href="(http:\/\/127\.0\.0\.1:4300\/[^"]+)"/.exec(String(page.body)) ?? [];
      await harness.send({ method: "GET", url: back.replaceAll("&amp;", "&"), headers: {} });
    }
    await harness.clock.sleep(milliseconds, signal);
  };
  harness.setFault((request, pass) =>
    String(request.body).length > 16_384 ? Promise.resolve(tooLarge(dialect)) : pass(),
  );
  const secret = ["--with-payer", "--secret-file", "secret.txt"];
  const args = ["calibrate", ...SERVICE, "--yes", ...secret, "--write-dialect", "found.json"];
  const ran = await harness.run(args, { world: { sleep } });
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("found.json")]);
  const found = JSON.parse(readFileSync(join(harness.cwd, "found.json"), "utf8")) as Dialect;
  return { found, said: ran.stderr };
}

/** The names of the sandbox that the report of a calibration lists as not observed. */
const namedIn = (said: string): readonly string[] => /found\.json: (.*)/.exec(said)?.[1]?.split(/,? /) ?? [];

/** The dialect in lower case, because HTTP compares header names without regard to case. */
const comparable = (dialect: Dialect): unknown => JSON.parse(JSON.stringify(dialect).toLowerCase());

const BODY = { amount_minor: 100, currency: "EUR", payment_method: "alipay_plus" };

/** The answers of a sandbox and the deliveries to its endpoint, without ids, times and signatures. */
async function recordAnswers({
  harness,
  sandbox,
}: Awaited<ReturnType<typeof speak>>): Promise<readonly string[]> {
  const said: string[] = [];
  const note = (text: string): void =>
    void said.push(
      text
        .toLowerCase()
        .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, "<id>")
        .replaceAll(/[\da-f]{64}/g, "<digest>")
        .replaceAll(/\d{4}-\d\d-\d\dt[\d:.]+z|\b\d{10,13}\b/g, "<time>"),
    );
  harness.setFault((request: OutboundRequest, pass) => {
    if (!request.url.startsWith(RECEIVER)) return pass();
    note(JSON.stringify([request.headers, String(request.body)]));
    const status = said.length % 7 === 0 ? 503 : 204;
    return Promise.resolve({ ok: true, status, headers: {}, body: "" });
  });
  const ask = async (path: string, key: string, body: object | string): Promise<void> => {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const answer = await sandbox.request({
      path: `/v1${path}`,
      headers: { "Idempotency-Key": key },
      body: sent,
    });
    note(JSON.stringify([answer.status, answer.headers, answer.body]));
  };
  const read = async (path: string): Promise<void> => {
    const { status, headers, body } = await sandbox.request({ path: `/v1${path}` });
    note(JSON.stringify([status, headers, body]));
  };
  const order = { order_id: "order-1", ...BODY };
  await ask("/orders", "key-00000001", order);
  await ask("/orders", "key-00000001", order);
  await ask("/orders", "key-00000001", { ...order, amount_minor: 7 });
  await ask("/orders", "key-00000002", order);
  await ask("/orders", "short", order);
  await ask("/orders", "key-00000003", "{");
  await ask("/orders", "key-00000004", {});
  await ask("/orders", "key-00000005", { ...order, order_id: "order-2", price_id: "price_coffee" });
  await read("/checkout-sessions/00000000-0000-4000-8000-000000000000");
  await harness.run(["sandbox", "pay", "order-1"]);
  for (const [at, outcomes] of WORKFLOWS.entries()) {
    const id = `order-${at + 3}`;
    const path = at % 2 === 0 ? "/checkout-sessions" : "/orders";
    await ask(path, `key-0000010${at}`, { ...order, order_id: id });
    for (const outcome of outcomes) await harness.run(["sandbox", "pay", id, "--outcome", outcome]);
    const { stdout } = await harness.run(["orders", "list", "--json"]);
    const { checkouts } = JSON.parse(stdout) as { checkouts: readonly { id: string; order_id: string }[] };
    await read(`/checkout-sessions/${checkouts.find(({ order_id: name }) => name === id)?.id ?? ""}`);
  }
  for (const [at, fault] of FAULTS.entries()) {
    await harness.run(["faults", "add", ...fault, "--times", "1"]);
    await ask("/orders", `key-0000020${at}`, { ...order, order_id: `order-2${at}` });
    await harness.run(["sandbox", "pay", `order-2${at}`]);
  }
  // A delivery that the receiver answered with 503 is attempted again.
  await harness.clock.sleep(10_000);
  return said;
}

/** The workflows of the scenarios: decline and pay, five declines, expiry, cancellation, and late payments. */
const WORKFLOWS = [
  ["declined", "succeeded"],
  ["declined", "declined", "declined", "declined", "declined"],
  ["expired"],
  ["cancelled"],
  ["expired", "succeeded"],
  ["cancelled", "succeeded"],
] as const;

const FAULTS = [
  ["status", "--status", "503", "--path", "/v1/orders"],
  ["status", "--status", "429", "--path", "/v1/orders"],
  ["duplicate", "--event", "order.succeeded"],
  ["reorder", "--event", "order.pending"],
  ["old_secret", "--event", "order.succeeded"],
] as const;

const seeds = Array.from({ length: size(1, 10) }, (_, at) => SEED + at);

test.each(seeds)(
  "a calibration finds the random dialect of seed %i, and a sandbox with the found dialect gives the same answers",
  async (seed) => {
    const dialect = drawDialect(seed);
    expect(parseDialect(JSON.stringify(dialect))).toMatchObject({ ok: true });
    const { found } = await calibrate(await speak(dialect));
    expect(comparable(found)).toEqual(comparable(dialect));
    const [second, third] = [
      await recordAnswers(await speak(dialect)),
      await recordAnswers(await speak(found)),
    ];
    expect(third).toEqual(second);
    expect(second.length).toBeGreaterThan(35);
  },
);

test("a calibration finds every observable planted difference, and lists the others as not observed", async () => {
  expect(SERVICES.flat().length).toBeGreaterThan(100);
  for (const service of SERVICES) {
    const { found, said } = await calibrate(await speak(dialectOf(service)));
    const isFound = ({ dialect }: (typeof service)[number]): boolean =>
      contains(comparable(found), comparable(dialect));
    expect(service.filter((one) => isFound(one) !== one.isObservable)).toEqual([]);
    const unseen = service.flatMap(({ dialect, isObservable }) =>
      isObservable ? [] : Object.keys({ ...dialect.errors, ...dialect.events }),
    );
    expect(unseen.filter((name) => !namedIn(said).includes(name))).toEqual([]);
  }
});

test("docs/scenarios.md has the table of the planted differences", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/scenarios.md"), "utf8");
  expect(page).toContain(plantedTable());
});
