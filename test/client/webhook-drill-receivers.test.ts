import { expect, test } from "vitest";
import { BROKEN, UNSEEN } from "../support/broken.table.ts";
import { BROKEN_RECEIVERS, UNSEEN_RECEIVERS } from "../support/broken-receivers.ts";
import { causesOf, CONSENT, notesOf, openDrillSite } from "../support/drill-site.ts";
import { GOOD_RECEIVERS } from "../support/good-receivers.ts";

/** The different values, in order. */
function sorted(texts: readonly string[]): string[] {
  return [...new Set(texts)].toSorted();
}

test("no broken or cheating receiver passes, and each is told its causes and no others", async () => {
  const site = await openDrillSite();
  await site.orderAccepted();
  const found = [];
  for (const { name, make } of BROKEN_RECEIVERS) {
    site.listen(make());
    const report = await site.drill(...CONSENT);
    found.push({
      name,
      causes: sorted(Object.values(causesOf(report))),
      verdict: report.verdict,
      code: report.code,
    });
  }
  expect(found).toEqual(
    Object.entries(BROKEN.webhooks).map(([name, causes]) => ({
      name,
      causes: sorted(causes),
      verdict: "failed",
      code: 1,
    })),
  );
});

test("no right receiver is refused, whatever its make", async () => {
  const site = await openDrillSite();
  await site.orderAccepted();
  const found = [];
  for (const { name, make } of GOOD_RECEIVERS) {
    site.listen(make());
    const report = await site.drill(...CONSENT);
    found.push({
      name,
      causes: causesOf(report),
      notes: sorted(Object.values(notesOf(report))),
      code: report.code,
    });
  }
  expect(found).toEqual(
    GOOD_RECEIVERS.map(({ name, notes = [] }) => ({ name, causes: {}, notes: sorted(notes), code: 0 })),
  );
});

test("receivers that no drill can see pass, as the list of them says", async () => {
  const site = await openDrillSite();
  await site.orderAccepted();
  const found = [];
  for (const { name, make } of UNSEEN_RECEIVERS) {
    site.listen(make());
    const { code } = await site.drill(...CONSENT);
    found.push([name, code]);
  }
  expect(found).toEqual(Object.keys(UNSEEN.webhooks).map((name) => [name, 0]));
});
