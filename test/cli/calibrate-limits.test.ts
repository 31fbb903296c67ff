import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROBES } from "../../src/core/calibration/probes.ts";
import { takeToken, type Bucket } from "../../src/core/request/rate-limit.ts";
import type { OutboundResult } from "../../src/world.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { createHarness, type Harness } from "../support/harness.ts";

const CALIBRATE = ["calibrate", "--base-url", "http://127.0.0.1:4242/v1", "--yes"];
const CHECK = [...CALIBRATE, "--check", "--json"];

/** Returns an answer instead of the service's answer, or undefined to let the request pass. */
type Refusal = (request: { readonly number: number; readonly now: number }) => OutboundResult | undefined;

function refusal(status: number, headers: Readonly<Record<string, string>> = {}): OutboundResult {
  const body = `{"ok":false,"request_id":"x","error":{"code":"later","message":"later"}}`;
  return { ok: true, status, headers: { "content-type": "application/json", ...headers }, body };
}

/** Starts a sandbox as the service; `before` and `after` refuse requests before or after the sandbox handles them. */
async function openRefusing({
  before,
  after,
}: Readonly<Partial<Record<"before" | "after", Refusal>>>): Promise<
  Harness & { readonly sent: () => number }
> {
  const harness = createHarness();
  await harness.start();
  let number = 0;
  harness.setFault(async (request, pass) => {
    if (!request.url.includes("/v1/")) return pass();
    number += 1;
    const asked = { number, now: harness.clock.now() };
    const refused = before?.(asked);
    if (refused !== undefined) return refused;
    // In reality the HTTP server, which this harness lacks, refuses a large body before the sandbox sees it.
    if (String(request.body).length > 16_384) return refusal(413);
    const answer = await pass();
    return after?.(asked) ?? answer;
  });
  return { ...harness, sent: () => number };
}

function limitedTo(perSecond: number): Refusal {
  let bucket: Bucket | undefined;
  return ({ now }) => {
    const taken = takeToken({ perSecond, burst: perSecond }, bucket, now);
    bucket = taken.bucket;
    if (taken.outcome.ok) return undefined;
    return refusal(429, { "retry-after": String(taken.outcome.refusal.retryAfterSeconds ?? 1) });
  };
}

const failingAtRandom = (share: number): Refusal => {
  const random = seededRandom(SEED);
  return () => (random() < share ? refusal(503) : undefined);
};

const SERVICES: Readonly<Record<string, Parameters<typeof openRefusing>[0]>> = {
  "a limit of 1 request a second": { before: limitedTo(1) },
  "a limit of 5 requests a second": { before: limitedTo(5) },
  "a limit of 50 requests a second": { before: limitedTo(50) },
  "a random 503 before 2 % of the requests are handled": { before: failingAtRandom(0.02) },
  "a random 503 after 2 % of the requests were handled": { after: failingAtRandom(0.02) },
};

test.each(Object.entries(SERVICES))(
  "calibrate --check compares every observation and finds no difference at a service with %s",
  async (_name, service) => {
    const harness = await openRefusing(service);
    expect((await harness.run(CALIBRATE)).code).toBe(0);
    for (let checks = 0; checks < size(2, 20); checks += 1) {
      const { code, stdout } = await harness.run(CHECK);
      expect([code, JSON.parse(stdout)]).toMatchObject([0, { differences: [], not_observed: [] }]);
    }
  },
);

test("an endless rate limit is reported, but not as a difference", async () => {
  let isLimited = false;
  const harness = await openRefusing({
    before: ({ number }) =>
      isLimited && number % PROBES.length > 5 ? refusal(429, { "retry-after": "3600" }) : undefined,
  });
  await harness.run(CALIBRATE);
  isLimited = true;
  const missed = await harness.run(CHECK);
  expect([missed.code, JSON.parse(missed.stdout)]).toMatchObject([
    7,
    { differences: [], not_observed: expect.arrayContaining([6]) as unknown },
  ]);
  const shown = await harness.run(CHECK.filter((arg) => arg !== "--json"));
  expect(shown.stdout).toMatch(/^\? +6 .*429, Retry-After: 3600/m);
});

test("calibrate exits with 7 if its first create gets 503 or 429, and with 4 if the key is refused", async () => {
  const rows = [
    [503, {}, 7, "not_observed"],
    [429, { "retry-after": "120" }, 7, "not_observed"],
    [401, {}, 4, "credential_refused"],
    [403, {}, 4, "credential_refused"],
  ] as const;
  for (const [status, headers, exit, code] of rows) {
    const harness = await openRefusing({ before: () => refusal(status, headers) });
    const result = await harness.run([...CALIBRATE, "--json"]);
    expect([status, result.code, JSON.parse(result.stderr)]).toMatchObject([
      status,
      exit,
      { error: { code } },
    ]);
  }
});

test("calibrate waits for Retry-After, and spreads its requests after a 429", async () => {
  const times: number[] = [];
  const harness = await openRefusing({
    before: ({ number, now }) => {
      times.push(now);
      return number === 3 ? refusal(429, { "retry-after": "7" }) : undefined;
    },
  });
  expect((await harness.run(CALIBRATE)).code).toBe(0);
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time));
  expect(gaps.slice(0, 2)).toEqual([0, 0]);
  expect(gaps[2]).toBeGreaterThanOrEqual(7000);
  expect(gaps.slice(3).every((gap) => gap >= 250 && gap <= 2000)).toBe(true);
  expect(readFileSync(join(harness.cwd, "checkout.calibration.json"), "utf8")).toContain(
    '"title": "Idempotency"',
  );
});
