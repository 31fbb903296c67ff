import * as fc from "fast-check";
import { expect, test } from "vitest";
import { similarOrderId } from "../../src/core/readiness/drilled-order-ids.ts";
import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import { causeName } from "../support/drill-site.ts";
import { FINDINGS, UNSEEN_REASONS } from "../support/broken.table.ts";
import { part, SEED, size } from "../support/campaign.ts";
import { createHarness, EPHEMERAL, type Harness } from "../support/harness.ts";
import {
  BROKEN_CLIENTS,
  clientOf,
  GOOD_CLIENTS,
  installClient,
  RIGHT_PARTS,
  rightClient,
  UNSEEN_CLIENTS,
  WRONG_PARTS,
  type Client,
  type Parts,
} from "../support/shop-clients.ts";
import type { ShownStep } from "../../src/core/readiness/drill-shapes.ts";

type Report = {
  readonly broken: readonly { readonly history: string; readonly invariant: string }[];
  readonly not_judged: readonly { readonly history: string | null; readonly reason: string }[];
  readonly drill_id?: string | null;
  readonly steps?: readonly ShownStep[];
};
const LINE = "checklist run idempotency --client-command client --budget 1h --json".split(" ");

/** Judges a client in process; returns the exit code, the broken invariant of each history, and the report. */
async function drill(
  harness: Harness,
  client: Client,
): Promise<readonly [code: number, faults: Record<string, string>, report: Report]> {
  installClient(harness, client);
  // Requests of the previous client no longer count for the rate limit.
  harness.clock.advance(1000);
  const { code, stdout, stderr } = await harness.run(LINE);
  expect([stdout === "" ? stderr : ""]).toEqual([""]);
  const report = JSON.parse(stdout) as Report;
  return [
    code,
    Object.fromEntries(report.broken.map(({ history, invariant }) => [history, invariant])),
    report,
  ];
}

test("the idempotency drill finds the broken rules of every broken client, and passes every correct client", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  expect(BROKEN_CLIENTS.map(({ name }) => name)).toEqual(Object.keys(FINDINGS.idempotency));
  const [good, broken] = [part(GOOD_CLIENTS, 8), part(BROKEN_CLIENTS, 8)];
  const found = [];
  for (const { name, client } of [...good, ...broken])
    found.push([name, ...(await drill(harness, client)).slice(0, 2)]);
  expect(found).toEqual([
    ...good.map(({ name }) => [name, 0, {}]),
    ...broken.map(({ name }) => [name, 1, expect.objectContaining(FINDINGS.idempotency[name] ?? {})]),
  ]);
});

test("every broken client that is listed as undetectable passes the idempotency drill", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  const found = [];
  for (const { name, client } of UNSEEN_CLIENTS)
    found.push([name, ...(await drill(harness, client)).slice(0, 2)]);
  expect(found).toEqual(Object.keys(UNSEEN_REASONS.idempotency).map((name) => [name, 0, {}]));
});

test.each([
  ["ends before its create is sent", 0, true],
  ["sends nothing", 0, false],
  ["does not exist", 127, false],
] as const)(
  "the idempotency drill does not judge a client command that %s",
  async (_what, exitCode, isLate) => {
    const harness = createHarness();
    await harness.start(EPHEMERAL);
    const [code, faults, report] = await drill(harness, ({ later, post, orderId }) => {
      if (isLate) later(1000, () => void post(`order:${orderId}`));
      return Promise.resolve(exitCode);
    });
    expect([code, faults]).toEqual([3, {}]);
    expect(report.not_judged[0]).toMatchObject({
      history: "plain_purchase",
      reason: englishOf(factOf("no_order", factOf("exited", String(exitCode)))),
    });
  },
);

test("six broken clients fail the idempotency drill in the expected history with the expected cause, and each drill is recorded", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  const rows = [
    ["a new key per attempt", "answer_lost", "new_key"],
    ["the attempt number in the body", "answer_lost", "other_body"],
    ["the order id in lower case is the key", "keys_case", "alike"],
    ["gives up, and reports success", "answer_lost", "claims_success"],
    ["no key from the second attempt on", "answer_lost", "no_key"],
    ["no key", "plain_purchase", "no_key"],
  ] as const;
  for (const [name, history, cause] of rows) {
    const found = BROKEN_CLIENTS.find((one) => one.name === name);
    const [, , { steps = [], drill_id: id }] = await drill(harness, found?.client ?? rightClient);
    const step = steps.find((one) => one.name === history);
    expect([name, id, causeName(step?.cause ?? "")]).toEqual([name, expect.any(String), cause]);
  }
});

test("a client that does not wait after a 429 passes the idempotency drill with a note", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  const hasty = GOOD_CLIENTS.find(({ name }) => name === "does not wait after a 429");
  const [code, , { steps = [] }] = await drill(harness, hasty?.client ?? rightClient);
  const notes = steps.flatMap(({ name, cause }) => (cause === null ? [] : [[name, causeName(cause)]]));
  expect([code, notes]).toEqual([0, [["create_429", "hasty"]]]);
});

const drawn = <Name extends keyof Parts>(name: Name): fc.Arbitrary<readonly [string, Parts[Name]]> =>
  fc.constantFrom(...RIGHT_PARTS[name]);
const right = fc.record({
  keyOf: drawn("keyOf"),
  after: drawn("after"),
  tries: drawn("tries"),
  waits: drawn("waits"),
  afterwards: drawn("afterwards"),
  ends: drawn("ends"),
});
const wrong = fc.constantFrom(
  ...WRONG_PARTS.keyOf.map(([name, keyOf]) => ({ name: `keyOf: ${name}`, part: { keyOf } })),
  ...WRONG_PARTS.after.map(([name, after]) => ({
    name: `after: ${name}`,
    // Only a second attempt uses the key that this part chooses.
    part: { after, tries: 2 },
  })),
  ...WRONG_PARTS.afterwards.map(([name, afterwards]) => ({
    name: `afterwards: ${name}`,
    part: { afterwards },
  })),
  ...WRONG_PARTS.ends.map(([name, ends]) => ({ name: `ends: ${name}`, part: { ends, tries: 2 } })),
);

/** The drawn parts without their names. */
function partsOf({
  keyOf,
  after,
  tries,
  waits,
  afterwards,
  ends,
}: typeof right extends fc.Arbitrary<infer One> ? One : never): Parts {
  return {
    keyOf: keyOf[1],
    after: after[1],
    tries: tries[1],
    waits: waits[1],
    afterwards: afterwards[1],
    ends: ends[1],
  };
}

test("a client that consists of correct parts passes the idempotency drill, and a client with one wrong part fails", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  await fc.assert(
    fc.asyncProperty(right, wrong, async (parts, { name, part: changed }) => {
      expect((await drill(harness, clientOf(partsOf(parts)))).slice(0, 2)).toEqual([0, {}]);
      const [code] = await drill(harness, clientOf({ ...partsOf(parts), ...changed }));
      expect([name, code]).toEqual([name, 1]);
    }),
    { seed: SEED, numRuns: size(4, 1000) },
  );
});

test("a generated order_id has the form of the merchant's order_id, and no order_id is generated for a reserved or too long form", () => {
  const random = Uint8Array.from({ length: 64 }, (_, at) => at * 37 + 11);
  const rows: readonly (readonly [like: string, shape: RegExp | undefined])[] = [
    ["order-10010203", /^order-\d{8}$/],
    ["INV20260131", /^INV\d{8}$/],
    ["SO-2026-0019", /^SO-\d{4}-\d{4}$/],
    ["7", /^\d{8}$/],
    ["basket", /^basket\d{8}$/],
    ["019bc1f04e207aaa8000000000000004", /^[0-9a-f]{32}$/],
    ["V1StGXR8_Z5jdHi6B-myT", /^[A-Z]\d[A-Z][a-z][A-Z]{3}\d_[A-Z]\d[a-z]{2}[A-Z][a-z]\d[A-Z]-myT\d{4}$/],
    ["order-1001~succeeded", undefined],
    ["a-name-of-thirty-two-characters-", undefined],
  ];
  for (const [like, shape] of rows) {
    const made = similarOrderId(like, random);
    if (shape === undefined) expect([like, made]).toEqual([like, undefined]);
    else expect([like, made]).toEqual([like, expect.stringMatching(shape)]);
    expect(made).not.toBe(like);
  }
});
