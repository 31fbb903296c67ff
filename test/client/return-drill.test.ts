import { expect, test } from "vitest";
import { RETURN_CAUSES } from "../../src/core/readiness/drills/browser-return.ts";
import type { DrillStep } from "../../src/core/control/drills.ts";
import { BROKEN, UNSEEN } from "../support/broken.table.ts";
import { BROKEN_PAGES, GOOD_PAGES, openReturnShop, UNSEEN_PAGES } from "../support/return-shops.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const SHOP = "http://localhost:3000";
const DRILL = [
  ..."checklist run browser-return --json --paid-when paid --return-url".split(" "),
  `${SHOP}/thanks`,
  "--order-view",
  `${SHOP}/orders/{order_id}`,
];

/** The exit code of the drill of a page, and its first cause. */
async function drill(page: Parameters<typeof openReturnShop>[1]) {
  const site = await openWebhookSite();
  openReturnShop(site, page);
  await site.addEndpoint(`${SHOP}/hooks`);
  const { code, stdout, stderr } = await site.harness.run(DRILL);
  expect(stderr).toBe("");
  const { steps } = JSON.parse(stdout) as { readonly steps: readonly DrillStep[] };
  return { code, cause: steps.find(({ passed }) => !passed)?.cause };
}

test("no page passes that takes a return for a payment, and each is told why", async () => {
  const found = [];
  for (const [name, page] of Object.entries(BROKEN_PAGES)) found.push({ name, ...(await drill(page)) });
  expect(found).toEqual(
    Object.entries(BROKEN.browserReturn).map(([name, cause]) => ({
      name,
      code: 1,
      cause: RETURN_CAUSES[cause],
    })),
  );
});

test("no right page is refused", async () => {
  const found = [];
  for (const [name, page] of Object.entries(GOOD_PAGES)) found.push({ name, ...(await drill(page)) });
  expect(found).toEqual(Object.keys(GOOD_PAGES).map((name) => ({ name, code: 0, cause: undefined })));
});

test("pages that no drill can see pass, as the list of them says", async () => {
  const found = [];
  for (const [name, page] of Object.entries(UNSEEN_PAGES)) found.push({ name, ...(await drill(page)) });
  expect(found).toEqual(
    Object.keys(UNSEEN.browserReturn).map((name) => ({ name, code: 0, cause: undefined })),
  );
});
