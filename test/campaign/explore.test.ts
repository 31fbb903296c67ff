import { expect, test } from "vitest";
import { explore } from "../../src/testing/testing.ts";
import { FINDINGS } from "../support/broken.table.ts";
import { CAREFUL_LANGUAGES, exploreCarefulShop } from "../support/careful-commands.ts";
import { FULL, part, SEED, size } from "../support/campaign.ts";
import { differenceFrom } from "../support/explored.ts";
import { hasLanguage } from "../support/machine.ts";
import { run } from "../support/program.ts";
import { newShopFolder } from "../support/whole-shops.ts";
import { BROKEN_SHOPS, CAREFUL_SHOPS, optionsFor } from "../support/explore-shops.ts";
import { exploreShop, KILLED_SHOPS, STEADY_SHOPS } from "../support/killed-shops.ts";

const EXPLORE_WHOLE =
  `explore --json --seed ${SEED} --budget 15m --receiver-path /hooks --order-view /orders/{order_id} --paid-when "paid"`.split(
    " ",
  );
const COMMANDS_OF = {
  node: ["--serve", "node shop.js", "--", "node", "shop.js", "create-order"],
  python: ["--serve", "python3 shop.py", "--", "python3", "shop.py", "create-order"],
} as const;
const WHOLE = (["node", "python"] as const).filter((name) => name === "node" || hasLanguage(name));
type Result = { readonly schedules: number; readonly held: number; readonly broken: readonly unknown[] };
const LIMITS = { budgetMs: 300_000, seed: String(SEED) };
/** Shops that only a pair of faults breaks. */
const PAIRS = new Set(
  Object.entries(FINDINGS.explore).flatMap(([name, { least }]) => (least.length === 2 ? [name] : [])),
);

/** test/kit/explore.test.ts explores some of these shops too. */
test.each(part(Object.entries(BROKEN_SHOPS), 24))(
  "explore finds how faults break the shop: %s",
  async (name, shop) => {
    const isPair = PAIRS.has(name);
    // An endpoint for successful payments alone leaves fewer places for faults.
    const events = isPair && !FULL ? { events: ["order.succeeded"] } : {};
    const options = optionsFor({ ...shop, ...events });
    const limits = { ...LIMITS, depth: isPair ? 2 : 1, maxSchedules: size(130, 600) };
    expect(differenceFrom(name, await explore({ ...options, ...limits }))).toBeNull();
  },
);

test.each(FULL ? Object.entries(CAREFUL_SHOPS) : [])(
  "explore finds no broken rule in a careful shop: %s",
  async (_name, shop) => {
    const result = await explore({ ...optionsFor(shop), ...LIMITS, maxSchedules: 1000 });
    expect([result.broken, result.held]).toEqual([[], result.schedules]);
  },
);

/** Shops in separate processes are slow, so they run only in the campaign. */
test.each(FULL ? WHOLE : [])(
  "explore finds no broken rule in the complete shop in %s, with fault pairs and kills",
  async (language) => {
    const { code, stdout } = await run([...EXPLORE_WHOLE, ...COMMANDS_OF[language]], {
      cwd: newShopFolder(language),
    });
    const { schedules, held, broken } = JSON.parse(stdout) as Result;
    expect([code, broken, held]).toEqual([0, [], schedules]);
    expect(schedules).toBeGreaterThan(100);
  },
);

/** The languages of this machine; the end of a test run says which are missing. */
const LANGUAGES = CAREFUL_LANGUAGES.filter((language) => language === "node" || hasLanguage(language));
const THOUSANDS = LANGUAGES.flatMap((language) => [
  { language, isBusy: false, cores: "all cores idle" },
  { language, isBusy: true, cores: "one core busy" },
]);

test.each(FULL ? THOUSANDS : [])(
  "explore finds no broken rule in a careful shop in $language in 1,000 schedules, with $cores",
  async ({ language, isBusy }) => {
    const { ran, broken } = await exploreCarefulShop(language, { schedules: 1000, seed: SEED, isBusy });
    expect(broken).toEqual([]);
    expect(ran).toBeGreaterThanOrEqual(1000);
  },
);

/** Outside a campaign only shops that a single fault breaks: finding a pair takes a minute. */
const KILLED = Object.keys(KILLED_SHOPS).filter(
  (name) => FULL || FINDINGS.exploreKilled[name]?.least.length === 1,
);

test.each(part(KILLED, 9))("explore finds how a kill breaks the shop: %s", async (name) => {
  const least = FINDINGS.exploreKilled[name]?.least;
  const [code, found] = await exploreShop(KILLED_SHOPS, name, least?.length ?? 1);
  expect([code, differenceFrom(name, found, "exploreKilled")]).toEqual([1, null]);
});

test.each(FULL ? Object.keys(STEADY_SHOPS) : [])(
  "explore finds no broken rule in a shop that survives kills: %s",
  async (name) => {
    const [code, { broken, held, schedules }] = await exploreShop(STEADY_SHOPS, name, 2);
    expect([code, broken, held]).toEqual([0, [], schedules]);
  },
);
