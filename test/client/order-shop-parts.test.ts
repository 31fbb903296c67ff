import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SEED, size } from "../support/campaign.ts";
import { drillInMemory } from "../support/duplicates-in-memory.ts";
import {
  orderShopOf,
  RIGHT_SHOP_PARTS,
  WRONG_SHOP_PARTS,
  type OrderShopParts,
} from "../support/order-shop-parts.ts";

/** The verdict of the drill of a shop, and the causes of what failed. */
async function drill(parts: OrderShopParts) {
  const { verdict, steps } = await drillInMemory(orderShopOf(parts));
  const failed = steps.flatMap(({ passed, name, cause }) => (passed ? [] : [`${name}: ${cause}`]));
  return { verdict, failed };
}

const drawn = <Name extends keyof OrderShopParts>(
  name: Name,
): fc.Arbitrary<readonly [string, OrderShopParts[Name]]> => fc.constantFrom(...RIGHT_SHOP_PARTS[name]);

const right = fc.record({
  isNew: drawn("isNew"),
  books: drawn("books"),
  others: drawn("others"),
  answers: drawn("answers"),
  refuses: drawn("refuses"),
  shows: drawn("shows"),
});

const wrong = fc.constantFrom(
  ...WRONG_SHOP_PARTS.isNew.map(([name, isNew]) => ({ name: `isNew: ${name}`, part: { isNew } })),
  ...WRONG_SHOP_PARTS.others.map(([name, others]) => ({ name: `others: ${name}`, part: { others } })),
  ...WRONG_SHOP_PARTS.answers.map(([name, answers]) => ({ name: `answers: ${name}`, part: { answers } })),
  ...WRONG_SHOP_PARTS.refuses.map(([name, refuses]) => ({ name: `refuses: ${name}`, part: { refuses } })),
);

test("a shop of right parts passes, and with one wrong part among them never", async () => {
  await fc.assert(
    fc.asyncProperty(right, wrong, async (drawnParts, { name, part }) => {
      const { isNew, books, others, answers, refuses, shows } = drawnParts;
      const parts = {
        isNew: isNew[1],
        books: books[1],
        others: others[1],
        answers: answers[1],
        refuses: refuses[1],
        shows: shows[1],
      };
      expect(await drill(parts)).toEqual({ verdict: "passed", failed: [] });
      const { verdict, failed } = await drill({ ...parts, ...part });
      expect([name, verdict, failed.length > 0]).toEqual([name, "failed", true]);
    }),
    { seed: SEED, numRuns: size(20, 1000) },
  );
});
