import { expect, test } from "vitest";
import { part } from "../support/campaign.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { BROKEN_SHOPS, GOOD_SHOPS, openOrderShop, type ShopPlan } from "../support/order-shops.ts";
import { BROKEN_PAGES, GOOD_PAGES, openReturnShop, type ReturnPage } from "../support/return-shops.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const SHOP = "http://localhost:3000";
const VIEW = ["--order-view", `${SHOP}/orders/{order_id}`, "--paid-when", "\\bpaid\\b"];
/** Concurrent waits add up on the clock of a harness, so the limits are high. */
const PATIENT = ["--settle", "60s", "--budget", "1h", "--json"];

type Report = {
  readonly broken: readonly { readonly history: string; readonly invariant: string }[];
  readonly not_judged: readonly { readonly history: string | null; readonly reason: string }[];
};

/** Judges a shop in its own sandbox; returns the exit code, and the broken and unjudged histories. */
async function judge(
  line: readonly string[],
  open: (site: Awaited<ReturnType<typeof openWebhookSite>>) => void,
) {
  const site = await openWebhookSite(EPHEMERAL);
  open(site);
  await site.addEndpoint(`${SHOP}/hooks`);
  const { code, stdout, stderr } = await site.harness.run([...line, ...VIEW, ...PATIENT]);
  await site.stop();
  const { broken, not_judged: open_ } = JSON.parse(
    stdout === "" ? '{"broken":[],"not_judged":[]}' : stdout,
  ) as Report;
  const findings = broken.map(({ history, invariant }) => `${history}: ${invariant}`);
  const unclear = open_.flatMap(({ history, reason }) => (history === null ? [] : [`${history}: ${reason}`]));
  return { code, findings, unclear, failed: stdout === "" ? stderr : "" };
}

const BOOKINGS = ["--bookings", '(?:bookings"?[:=]|paid,? |open,? |: )(\\d+)'];
const judgeShop = (plan: ShopPlan) =>
  judge(["checklist", "run", "duplicates", ...BOOKINGS], (site) => openOrderShop(site, plan));
const judgePage = (page: ReturnPage) =>
  judge(
    ["checklist", "run", "browser-return", "--return-url", `${SHOP}/thanks`, "--bookings", "bookings"],
    (site) => openReturnShop(site, page),
  );

/** Further broken shops that this judge cannot tell from correct shops, each with the reason. */
const UNFOUND: Readonly<Record<string, string>> = {
  "looks, books 50 ms later, and shows amounts with cents":
    "its view shows amounts in words, and no number of bookings",
  "looks, books 50 ms later, and counts from one":
    "its view shows no number of bookings, which the run names as a risk",
  "books each delivery three times, a second apart":
    "its view shows no number of bookings, which the run names as a risk",
};

test("every correct shop passes checklist run duplicates", async () => {
  for (const [name, plan] of part(Object.entries(GOOD_SHOPS), 12)) {
    const { findings, failed } = await judgeShop(plan);
    expect([name, findings, failed]).toEqual([name, [], ""]);
  }
});

test("every broken shop fails checklist run duplicates, except for shops whose view shows too little", async () => {
  for (const [name, plan] of part(Object.entries(BROKEN_SHOPS), 36)) {
    const { code, failed } = await judgeShop(plan);
    if (name in UNFOUND) continue;
    expect([name, code === 0, failed]).toEqual([name, false, ""]);
  }
});

test("every correct return page passes checklist run browser-return, and every broken return page fails", async () => {
  for (const [name, page] of part(Object.entries(GOOD_PAGES), 12)) {
    const { findings, failed } = await judgePage(page);
    expect([name, findings, failed]).toEqual([name, [], ""]);
  }
  for (const [name, page] of part(Object.entries(BROKEN_PAGES), 18)) {
    const { code, failed } = await judgePage(page);
    expect([name, code === 0, failed]).toEqual([name, false, ""]);
  }
});
