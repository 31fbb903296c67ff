import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { calibrationRecord, type Calibration } from "../../src/core/calibration/calibration.ts";
import { PROBES } from "../../src/core/calibration/probes.ts";
import { signHeaders } from "../../src/core/webhook/signature.ts";
import type { OutboundRequest } from "../../src/world.ts";
import { DRIFTS } from "../support/drifting-service.ts";
import { createHarness, type Harness, type Result, type RunningSandbox } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";

const RECEIVER = "http://127.0.0.1:4300";
const AT_SANDBOX = ["--base-url", "http://127.0.0.1:4242/v1"];
const WITH_PAYER = ["calibrate", ...AT_SANDBOX, "--yes", "--with-payer", "--secret-file", "secret.txt"];
const BY_PAYMENT = [10, 11, 12, 13, 16, 19, 88];
type Verdicts = Readonly<Record<number, string>>;

/** Changes a delivery on its way from the sandbox to the receiver. */
type Drift = (request: OutboundRequest, secret: string) => OutboundRequest;

/** Starts a sandbox with the receiver as endpoint and return origin, and records the requests to its API. */
async function openPaid({
  drift,
  start = [],
}: { readonly drift?: Drift; readonly start?: readonly string[] } = {}) {
  const harness = createHarness();
  const sandbox = await harness.start(start);
  await harness.run(["endpoints", "add", `${RECEIVER}/hooks`]);
  await harness.run(["return-origins", "add", RECEIVER, "--path", "/return"]);
  writeFileSync(join(harness.cwd, "secret.txt"), `${sandbox.ready.signing_secret ?? ""}\n`);
  const sent: OutboundRequest[] = [];
  harness.setFault((request, pass) => {
    if (request.url.includes("/v1/")) sent.push(request);
    if (!request.url.startsWith(RECEIVER)) return pass();
    const changed = drift?.(request, sandbox.ready.signing_secret ?? "");
    // `pass` sends this request object, so it is changed in place.
    Object.assign(request, changed);
    return pass();
  });
  return { harness, sandbox, sent };
}

type Order = { readonly id: string; readonly order_id: string };
type Person = (harness: Harness, sandbox: RunningSandbox, order: Order) => Promise<void>;

/** Declines, pays, and follows the link back to the shop, as a person does. */
const payAndReturn: Person = async (harness, sandbox, { id }) => {
  await harness.run(["sandbox", "pay", id, "--outcome", "declined"]);
  await harness.clock.sleep(2000);
  await harness.run(["sandbox", "pay", id]);
  const page = await sandbox.request({ path: `/pay/${id}` });
  const [, back = ""] = /href="(http:\/\/127\.0\.0\.1:4300\/[^"]+)"/.exec(String(page.body)) ?? [];
  await harness.send({ method: "GET", url: back.replaceAll("&amp;", "&"), headers: {} });
};

/** Runs a calibration; `person` acts once while it waits. */
async function calibrate(
  { harness, sandbox }: { readonly harness: Harness; readonly sandbox: RunningSandbox },
  person: Person,
  args: readonly string[] = WITH_PAYER,
): Promise<Result> {
  let order: Order | undefined;
  const sleep = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    if (order === undefined) {
      const { stdout } = await harness.run(["orders", "list", "--json"]);
      const { checkouts } = JSON.parse(stdout) as { readonly checkouts: readonly Order[] };
      [order] = checkouts;
      if (order !== undefined) await person(harness, sandbox, order);
    }
    await harness.clock.sleep(milliseconds, signal);
  };
  const result = await harness.run(args, { world: { sleep } });
  expect(result.stderr).toContain(`http://127.0.0.1:4242/pay/${order?.id}`);
  return result;
}

const recordText = ({ cwd }: Harness): string => readFileSync(join(cwd, "checkout.calibration.json"), "utf8");

function verdictsOf(harness: Harness): Verdicts {
  const { assumptions } = calibrationRecord.parse(JSON.parse(recordText(harness)));
  const shown = assumptions.filter(({ decision }) => BY_PAYMENT.includes(decision));
  return Object.fromEntries(shown.map(({ decision, verdict }) => [decision, verdict]));
}

const all = (verdict: string): Verdicts => Object.fromEntries(BY_PAYMENT.map((one) => [one, verdict]));

test("a calibration with a payer confirms the seven assumptions about payments in at most 25 requests", async () => {
  const paid = await openPaid();
  const result = await calibrate(paid, payAndReturn);
  expect([result.code, result.stdout]).toEqual([0, expect.stringMatching(/^✓ 88 /m)]);
  expect(verdictsOf(paid.harness)).toEqual(all("confirmed"));
  expect(paid.sent.length).toBeGreaterThan(PROBES.length);
  expect(paid.sent.length).toBeLessThanOrEqual(25);
  expect(paid.sent.filter(({ method }) => method === "POST")).toHaveLength(
    PROBES.filter(({ buildRequest }) => buildRequest("", new Map())?.method === "POST").length,
  );
});

test("two calibrations with a payer record the same evidence, without ids, addresses, times or secrets", async () => {
  const texts: string[] = [];
  for (let runs = 0; runs < 2; runs += 1) {
    const { harness, sandbox } = await openPaid();
    await harness.clock.sleep(runs * 3_600_000);
    expect(await calibrate({ harness, sandbox }, payAndReturn)).toMatchObject({ code: 0 });
    texts.push(recordText(harness).replace(/"at": ".*"/, ""));
    for (const secret of [sandbox.ready.signing_secret, sandbox.ready.api_key])
      expect(texts.at(-1)).not.toContain(secret);
  }
  expect(texts[1]).toBe(texts[0]);
  const [, evidence = ""] = texts[0]?.split('"assumptions"') ?? [];
  expect(evidence).not.toMatch(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}|https?:|[\da-f]{32}|\d{10}|20\d\d-/);
});

test("calibrate --check compares the assumptions about payments only with a payer", async () => {
  const paid = await openPaid();
  await calibrate(paid, payAndReturn);
  const check = await paid.harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--check"]);
  expect(check).toMatchObject({ code: 0, stdout: expect.stringMatching(/^✓ .*Z\n$/) as string });
  const nobody = await openPaid();
  writeFileSync(join(nobody.harness.cwd, "checkout.calibration.json"), recordText(paid.harness));
  const result = await calibrate(nobody, () => Promise.resolve(), [...WITH_PAYER, "--check", "--json"]);
  const compared = JSON.parse(result.stdout) as Readonly<Record<string, unknown>>;
  const missed = expect.arrayContaining([10, 19, 88]) as unknown;
  expect([result.code, compared["differences"], compared["not_observed"]]).toEqual([7, [], missed]);
});

type Signing = { readonly secret: string; readonly body?: string; readonly lateBySeconds?: number };

/** Returns the delivery, signed again with the secret, the body if given, and a timestamp `lateBySeconds` earlier. */
function signAgain(request: OutboundRequest, { secret, body, lateBySeconds = 0 }: Signing): OutboundRequest {
  const rawBody = Buffer.from(body ?? request.body ?? "");
  const { event_id: eventId } = JSON.parse(rawBody.toString("utf8")) as { readonly event_id: string };
  const timestamp = Number(request.headers["Checkout-Timestamp"]) - lateBySeconds;
  const headers = { ...request.headers, ...signHeaders([secret], { eventId, timestamp, rawBody }) };
  return { ...request, headers, body: rawBody };
}

const renamed = ({ headers }: OutboundRequest) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace("Checkout-", "X-Pay-"), value]),
  );

const visiting =
  (path: (order: Order) => string): Person =>
  async (harness, _sandbox, order) => {
    await harness.run(["sandbox", "pay", order.id]);
    await harness.send({ method: "GET", url: RECEIVER + path(order), headers: {} });
  };

/** Services that differ from the sandbox, and the verdicts of their calibration. */
const DIFFERENT_SERVICES: Readonly<
  Record<
    string,
    {
      readonly drift?: (request: OutboundRequest, secret: string) => OutboundRequest;
      readonly start?: readonly string[];
      readonly person?: Person;
      readonly verdicts: Verdicts;
    }
  >
> = {
  "headers with other names": {
    drift: (request) => ({ ...request, headers: renamed(request) }),
    verdicts: { 12: "contradicted", 16: "not_observed" },
  },
  "a signing key without whsec_": {
    drift: (request, secret) => signAgain(request, { secret: secret.replace("whsec_", "") }),
    verdicts: { 12: "not_observed", 16: "contradicted" },
  },
  "the timestamp of the event instead of the attempt": {
    drift: (request, secret) => signAgain(request, { secret, lateBySeconds: 301 }),
    verdicts: { 12: "contradicted" },
  },
  "another event type": {
    drift: (request, secret) =>
      signAgain(request, {
        secret,
        body: String(request.body).replace('"type":"order.', '"type":"payment.'),
      }),
    verdicts: { 11: "contradicted" },
  },
  "another schedule": { start: ["--delivery-schedule", "0s,40s"], verdicts: { 13: "contradicted" } },
  "a return with a status": {
    person: visiting(
      ({ id, order_id: order }) => `/return?order_id=${order}&session_id=${id}&status=succeeded`,
    ),
    verdicts: { 19: "contradicted" },
  },
  "a return to the root": {
    person: visiting(({ id, order_id: order }) => `/?order_id=${order}&session_id=${id}`),
    verdicts: { 88: "contradicted" },
  },
  "no return": {
    person: async (harness, _sandbox, { id }) => void (await harness.run(["sandbox", "pay", id])),
    verdicts: { 19: "not_observed", 88: "not_observed" },
  },
  "a lifetime of ten minutes": {
    start: ["--checkout-lifetime", "10m"],
    person: () => Promise.resolve(),
    verdicts: { 10: "contradicted", 19: "not_observed", 88: "not_observed" },
  },
  "no payment": {
    person: () => Promise.resolve(),
    verdicts: { 10: "not_observed", 19: "not_observed", 88: "not_observed" },
  },
};

test.each(Object.entries(DIFFERENT_SERVICES))(
  "a calibration with a payer records exactly the expected verdicts: %s",
  async (_name, otherwise) => {
    const { drift, start = [], person = payAndReturn, verdicts } = otherwise;
    const paid = await openPaid({ start, ...(drift === undefined ? {} : { drift }) });
    expect(await calibrate(paid, person)).toMatchObject({ code: 0 });
    expect(verdictsOf(paid.harness)).toEqual({ ...all("confirmed"), ...verdicts });
  },
);

const byPayment = Object.entries(DRIFTS).filter(([, { found }]) => found.by === "payment");

test.each(byPayment)(
  "calibrate --check with a payer finds the drift: %s",
  async (_name, { delivery, found }) => {
    const record = await openPaid();
    await calibrate(record, payAndReturn);
    const paid = await openPaid({
      drift: (request, secret) =>
        signAgain(request, { secret, body: delivery?.(String(request.body)) ?? "" }),
    });
    writeFileSync(join(paid.harness.cwd, "checkout.calibration.json"), recordText(record.harness));
    const { code, stdout } = await calibrate(paid, payAndReturn, [...WITH_PAYER, "--check", "--json"]);
    const { differences, assumptions } = JSON.parse(stdout) as Calibration & {
      readonly differences: readonly number[];
    };
    expect([code, { by: "payment", decisions: differences }]).toEqual([3, found]);
    expect(assumptions.find(({ decision }) => decision === differences[0])?.verdict).toBe("contradicted");
  },
);

test("without the signing secret a calibration observes no assumption about signatures, and without an endpoint no assumption about webhooks", async () => {
  const paid = await openPaid();
  await calibrate(paid, payAndReturn, ["calibrate", ...AT_SANDBOX, "--yes", "--with-payer"]);
  expect(verdictsOf(paid.harness)).toEqual({ ...all("confirmed"), 12: "not_observed", 16: "not_observed" });
  const harness = createHarness();
  const sandbox = await harness.start();
  await harness.run(["return-origins", "add", RECEIVER, "--path", "/return"]);
  await calibrate({ harness, sandbox }, payAndReturn, ["calibrate", ...AT_SANDBOX, "--yes", "--with-payer"]);
  expect(verdictsOf(harness)).toEqual({
    ...all("not_observed"),
    10: "confirmed",
    19: "confirmed",
    88: "confirmed",
  });
});

test("the calibration receiver refuses foreign hosts and browser posts, and ignores events and returns of other orders", async () => {
  const answers: unknown[] = [];
  const paid = await openPaid();
  const send = async (
    path: string,
    headers: Readonly<Record<string, string>>,
    method: "GET" | "POST" = "POST",
  ) => {
    const answer = await paid.harness.send({ method, url: RECEIVER + path, headers });
    answers.push(answer.ok ? answer.status : answer.failure);
  };
  await calibrate(paid, async () => {
    await send("/hooks", {});
    await send("/hooks", { Host: "evil.example" });
    await send("/hooks", { Origin: "http://127.0.0.1:4300" });
    await send("/", {});
    await send("/", {}, "GET");
    await send("/return", {}, "GET");
    await send("/return?order_id=another&session_id=x", {}, "GET");
  });
  expect(answers).toEqual([204, 403, 403, 404, 404, 200, 200]);
  expect(verdictsOf(paid.harness)).toMatchObject({ 19: "not_observed", 88: "not_observed" });
});

test("calibrate sends nothing if consent is refused, if --secret-file is given without --with-payer, or if the port of the webhook receiver is taken", async () => {
  const { harness, sent } = await openPaid();
  const no = await harness.run(["calibrate", ...AT_SANDBOX, "--with-payer"], {
    typed: [["(y/N)", "n"]],
  });
  expect([no.code, no.stderr]).toEqual([130, expect.stringContaining(`${RECEIVER}/hooks`)]);
  const lone = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--secret-file", "secret.txt"]);
  expect([lone.code, lone.stderr]).toEqual([
    2,
    expect.stringMatching(inOrder("--secret-file", "--with-payer")),
  ]);
  harness.occupy(4300);
  const taken = await harness.run(WITH_PAYER);
  expect([taken.code, taken.stderr]).toEqual([
    1,
    expect.stringMatching(inOrder("4300", "another-program (pid 4711)")),
  ]);
  expect(sent).toEqual([]);
});
