import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createOrderIds, orderIdLike } from "../../src/core/readiness/drilled-order-ids.ts";
import { english } from "../../src/core/language.ts";
import { IDEMPOTENCY_CAUSES } from "../../src/core/readiness/idempotency-causes.ts";
import { TOTAL_WAIT_MS } from "../../src/client/drills/idempotency.ts";
import { BROKEN, UNSEEN } from "../support/broken.table.ts";
import { SEED, size } from "../support/campaign.ts";
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
import type { DrillStep } from "../../src/core/readiness/drill-shapes.ts";

type Judged = { readonly drill_id: string | null; readonly steps: readonly DrillStep[] };

/** Drills a client in process: its exit code, and the beginning of the cause of each step that failed. */
async function drill(
  harness: Harness,
  client: Client,
): Promise<readonly [code: number, faults: Record<string, string>]> {
  installClient(harness, client);
  const { code, stdout } = await harness.run([
    "checklist",
    "run",
    "idempotency",
    "--client-command",
    "client",
    "--json",
  ]);
  const { steps } = JSON.parse(stdout) as Judged;
  const failed = steps.filter(({ passed }) => !passed);
  return [code, Object.fromEntries(failed.map(({ name, cause }) => [name, cause?.slice(0, 24) ?? ""]))];
}

test("no broken client passes, no right one is refused, and each cause is the right one", async () => {
  const harness = createHarness();
  await harness.start();
  const found = [];
  for (const { name, client } of [...GOOD_CLIENTS, ...BROKEN_CLIENTS])
    found.push([name, ...(await drill(harness, client))]);
  expect(found).toEqual([
    ...GOOD_CLIENTS.map(({ name }) => [name, 0, {}]),
    ...Object.entries(BROKEN.idempotency).map(([name, faults]) => [name, 1, faults]),
  ]);
});

test("wrong clients that no drill can see are those of the list, which the documents have", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  const found = [];
  for (const { name, client } of UNSEEN_CLIENTS) found.push([name, ...(await drill(harness, client))]);
  expect(found).toEqual(Object.keys(UNSEEN.idempotency).map((name) => [name, 0, {}]));
});

test("a command that ends before its create is sent is named as a queue, and shows nothing", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  installClient(harness, ({ later, post, orderId }) => {
    later(1000, () => void post(`order:${orderId}`));
    return Promise.resolve(0);
  });
  const { code, stdout } = await harness.run([
    "checklist",
    "run",
    "idempotency",
    "--client-command",
    "client",
    "--json",
  ]);
  const { drill_id: id, steps } = JSON.parse(stdout) as Judged;
  expect([code, id, steps.map(({ cause }) => cause?.slice(0, 31))]).toEqual([
    3,
    null,
    ["ends before its create is sent,"],
  ]);
});

test("the drill of a client that makes no mistake takes no longer than it says", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  installClient(harness, rightClient);
  const since = harness.clock.now();
  await harness.run("checklist run idempotency --json --client-command client".split(" "));
  // A silence of 3 s, a second after the 429, and the pause before the restart.
  expect([harness.clock.now() - since, TOTAL_WAIT_MS]).toEqual([3000 + 1000 + 1100, 5000]);
});

test("it is said whether the other attempts came when the command was run again", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  const said = async (client: Client) => {
    installClient(harness, client);
    const line = "checklist run idempotency --json --client-command client".split(" ");
    const { steps } = JSON.parse((await harness.run(line)).stdout) as Judged;
    return steps.find(({ name }) => name === "tried_again")?.got;
  };
  expect(await said(rightClient)).toBe("2 more");
  expect(await said(async ({ post, orderId }) => Number((await post(`order:${orderId}`)) !== 201))).toBe(
    "2 more, when the command was run again",
  );
});

test("what it did not come to is no step", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  installClient(harness, ({ post }) => post("one-key-for-all").then((status) => Number(status !== 201)));
  const line = "checklist run idempotency --json --client-command client".split(" ");
  const { stdout } = await harness.run(line);
  const names = (JSON.parse(stdout) as Judged).steps.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["answer_lost", "own_key"]));
  expect(names).not.toContain("alike_keys");
});

test("a command that there is not is named as such", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  installClient(harness, () => Promise.resolve(127));
  const line = "checklist run idempotency --json --client-command client".split(" ");
  const { code, stdout } = await harness.run(line);
  const { steps } = JSON.parse(stdout) as Judged;
  const { unknown_command: cause } = IDEMPOTENCY_CAUSES;
  expect([code, steps.map((step) => step.cause)]).toEqual([3, [english(cause)]]);
});

test("a command that ends with 0 and sends nothing may have left its create to a queue, which is said", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  installClient(harness, () => Promise.resolve(0));
  const line = "checklist run idempotency --json --client-command client".split(" ");
  const { code, stdout } = await harness.run(line);
  const { steps } = JSON.parse(stdout) as Judged;
  expect([code, steps.map(({ cause }) => cause)]).toEqual([
    3,
    [
      expect.stringMatching(
        /^sends its creates elsewhere, or sends none: .*hands them to a queue or a daemon/,
      ),
    ],
  ]);
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
    // Without a second attempt there is no key after the first.
    part: { after, tries: 2 },
  })),
  ...WRONG_PARTS.afterwards.map(([name, afterwards]) => ({
    name: `afterwards: ${name}`,
    part: { afterwards },
  })),
  ...WRONG_PARTS.ends.map(([name, ends]) => ({ name: `ends: ${name}`, part: { ends, tries: 2 } })),
);

/** The values of the parts that were drawn. */
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

test("a client of right parts passes, and with one wrong part among them never", async () => {
  const harness = createHarness();
  await harness.start(EPHEMERAL);
  await fc.assert(
    fc.asyncProperty(right, wrong, async (parts, { name, part }) => {
      expect(await drill(harness, clientOf(partsOf(parts)))).toEqual([0, {}]);
      const [code] = await drill(harness, clientOf({ ...partsOf(parts), ...part }));
      expect([name, code]).toEqual([name, 1]);
    }),
    { seed: SEED, numRuns: size(20, 1000) },
  );
});

test("order_ids of a drill look like the store's own, differ in little, and fit", () => {
  fc.assert(
    fc.property(
      fc.option(fc.string({ maxLength: 32 }), { nil: undefined }),
      fc.uint8Array({ minLength: 10, maxLength: 10 }),
      (like, random) => {
        const { first, second, third, alike } = createOrderIds(like, random);
        const all = [first, second, third, ...alike];
        expect(new Set(all).size).toBe(all.length);
        for (const one of all) {
          expect(Array.from(one).length).toBeLessThanOrEqual(32);
          expect(all.filter((other) => other !== one && other.startsWith(one))).toEqual([]);
        }
        expect(Array.from(second).toSorted()).toEqual(Array.from(first).toSorted());
        expect(second.slice(-4)).toBe(first.slice(-4));
        expect(third.slice(0, -1)).toBe(first.slice(0, -1));
        expect(alike[0]?.toLowerCase()).toBe(first.toLowerCase());
        expect(Number(alike[1]?.replaceAll(/\D/g, ""))).toBe(Number(first.replaceAll(/\D/g, "")));
      },
    ),
    { seed: SEED },
  );
  expect(createOrderIds("order-1001", new Uint8Array(10)).first).toBe("order-1500000000");
  expect(createOrderIds(undefined, new Uint8Array(10)).first).toMatch(/^order-\d{10}$/);
  expect(createOrderIds("SO-2026-17", new Uint8Array(10)).first).toMatch(/^SO-\d{10}$/);
});

test("an order_id of a merchant's shape has other digits, and fits", () => {
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
    const made = orderIdLike(like, random);
    if (shape === undefined) expect([like, made]).toEqual([like, undefined]);
    else expect([like, made]).toEqual([like, expect.stringMatching(shape)]);
    expect(made).not.toBe(like);
  }
});
