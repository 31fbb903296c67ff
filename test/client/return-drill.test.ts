import { english } from "../../src/core/language.ts";
import { expect, test } from "vitest";
import { RETURN_CAUSES } from "../../src/core/readiness/drills/browser-return.ts";
import { BROKEN, UNSEEN } from "../support/broken.table.ts";
import { BROKEN_PAGES, GOOD_PAGES, openReturnShop, UNSEEN_PAGES } from "../support/return-shops.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import type { DrillStep } from "../../src/core/readiness/drill-shapes.ts";

const SHOP = "http://localhost:3000";
const DRILL = [
  ..."checklist run browser-return --json --paid-when paid --return-url".split(" "),
  `${SHOP}/thanks`,
  "--order-view",
  `${SHOP}/orders/{order_id}`,
];

/** Drills pages, one after the other in one sandbox: of each its name, the exit code and the first cause. */
async function drillAll(pages: Readonly<Record<string, Parameters<typeof openReturnShop>[1]>>) {
  const site = await openWebhookSite(EPHEMERAL);
  await site.addEndpoint(`${SHOP}/hooks`);
  const found = [];
  for (const [name, page] of Object.entries(pages)) {
    openReturnShop(site, page);
    const { code, stdout, stderr } = await site.harness.run(DRILL);
    expect([name, stderr]).toEqual([name, ""]);
    const { steps } = JSON.parse(stdout) as { readonly steps: readonly DrillStep[] };
    found.push({ name, code, cause: steps.find(({ passed }) => !passed)?.cause });
  }
  return found;
}

test("no page passes that takes a return for a payment, and each is told why", async () => {
  expect(await drillAll(BROKEN_PAGES)).toEqual(
    Object.entries(BROKEN.browserReturn).map(([name, cause]) => ({
      name,
      code: 1,
      cause: english(RETURN_CAUSES[cause]),
    })),
  );
});

test("no right page is refused", async () => {
  expect(await drillAll(GOOD_PAGES)).toEqual(
    Object.keys(GOOD_PAGES).map((name) => ({ name, code: 0, cause: undefined })),
  );
});

test("pages that no drill can see pass, as the list of them says", async () => {
  expect(await drillAll(UNSEEN_PAGES)).toEqual(
    Object.keys(UNSEEN.browserReturn).map((name) => ({ name, code: 0, cause: undefined })),
  );
});

test("the drill of a page that waits for the webhook takes no longer than it says", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  await site.addEndpoint(`${SHOP}/hooks`);
  openReturnShop(site, () => undefined);
  const before = site.harness.clock.now();
  const { code, stderr } = await site.harness.run(DRILL.filter((word) => word !== "--json"));
  // A second after the create, three times six for a return, four for the booking, three after the last visit, and
  // a quarter until the view is read again after the webhook.
  expect([code, site.harness.clock.now() - before, stderr]).toEqual([
    0,
    26_250,
    "about 30 s, including 26 s of waiting\n",
  ]);
});
