import { expect, test } from "vitest";
import { explore } from "../../src/testing/testing.ts";
import { BROKEN } from "../support/broken.table.ts";
import { FULL, part, SEED, size } from "../support/campaign.ts";
import { differenceFrom } from "../support/explored.ts";
import { BROKEN_SHOPS, CAREFUL_SHOPS, optionsFor } from "../support/explore-shops.ts";
import { exploreShop, KILLED_SHOPS, STEADY_SHOPS } from "../support/killed-shops.ts";

const LIMITS = { budgetMs: 300_000, seed: String(SEED) };
/** Shops that only a pair of faults breaks. */
const PAIRS = new Set(
  Object.entries(BROKEN.explore).flatMap(([name, { least }]) => (least.length === 2 ? [name] : [])),
);

test.each(part(Object.entries(BROKEN_SHOPS), 11))("found: %s", async (name, shop) => {
  const isPair = PAIRS.has(name);
  // An endpoint of payments alone has fewer places.
  const events = isPair && !FULL ? { events: ["order.succeeded"] } : {};
  const options = optionsFor({ ...shop, ...events });
  const limits = { ...LIMITS, depth: isPair ? 2 : 1, maxSchedules: size(130, 600) };
  expect(differenceFrom(name, await explore({ ...options, ...limits }))).toBeNull();
});

test.each(part(Object.entries(CAREFUL_SHOPS), 3))(
  "nothing is said of a careful shop: %s",
  async (_name, shop) => {
    const result = await explore({ ...optionsFor(shop), ...LIMITS, maxSchedules: size(60, 1000) });
    expect([result.broken, result.held]).toEqual([[], result.schedules]);
  },
);

test.each(part(Object.keys(KILLED_SHOPS), 9))("found by a kill: %s", async (name) => {
  const [code, found] = await exploreShop(KILLED_SHOPS, name, BROKEN.exploreKilled[name]?.least.length ?? 1);
  expect([code, differenceFrom(name, found, "exploreKilled")]).toEqual([1, null]);
});

test.each(part(Object.keys(STEADY_SHOPS), 3))(
  "nothing is said of a shop that is killed: %s",
  async (name) => {
    const [code, { broken, held, schedules }] = await exploreShop(STEADY_SHOPS, name, FULL ? 2 : 1);
    expect([code, broken, held]).toEqual([0, [], schedules]);
  },
);
