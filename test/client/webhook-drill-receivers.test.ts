import { expect, test } from "vitest";
import { FINDINGS, UNSEEN_REASONS } from "../support/broken.table.ts";
import { BROKEN_RECEIVERS, typeOf, UNSEEN_RECEIVERS } from "../support/broken-receivers.ts";
import { part } from "../support/campaign.ts";
import { causesOf, CONSENT, notesOf, openDrillSite } from "../support/drill-site.ts";
import { eventually } from "../support/eventually.ts";
import { GOOD_RECEIVERS } from "../support/good-receivers.ts";
import { parse, right, type Receiver } from "../support/merchant-receivers.ts";
import { drillWebhooksInMemory } from "../support/webhooks-in-memory.ts";

/** The distinct values, in order. */
function sorted(texts: readonly string[]): string[] {
  return [...new Set(texts)].toSorted();
}

test("every broken or cheating receiver fails the webhook drill with exactly the expected causes", async () => {
  const found = [];
  for (const { name, make } of BROKEN_RECEIVERS) {
    const report = await drillWebhooksInMemory(make(), { consent: true });
    found.push({ name, causes: sorted(Object.values(causesOf(report))), passed: report.passed });
  }
  expect(found).toEqual(
    Object.entries(FINDINGS.webhooks).map(([name, causes]) => ({
      name,
      causes: sorted(causes),
      passed: false,
    })),
  );
});

test("every correct receiver passes the webhook drill", async () => {
  const found = [];
  for (const { name, make } of GOOD_RECEIVERS) {
    const report = await drillWebhooksInMemory(make(), { consent: true });
    found.push({ name, causes: causesOf(report), notes: sorted(Object.values(notesOf(report))) });
  }
  expect(found).toEqual(
    GOOD_RECEIVERS.map(({ name, notes = [] }) => ({ name, causes: {}, notes: sorted(notes) })),
  );
});

test("every broken receiver that is listed as undetectable passes the webhook drill", async () => {
  const found = [];
  for (const { name, make } of UNSEEN_RECEIVERS)
    found.push([name, (await drillWebhooksInMemory(make(), { consent: true })).passed]);
  expect(found).toEqual(Object.keys(UNSEEN_REASONS.webhooks).map((name) => [name, true]));
});

test("checklist run webhooks reports the expected causes, verdict and exit code for broken and good receivers", async () => {
  const site = await openDrillSite();
  await site.orderAccepted();
  const told = async ({ make }: { readonly make: () => Receiver }) => {
    site.listen(make());
    const report = await site.drill(...CONSENT);
    return [sorted(Object.values(causesOf(report))), report.verdict, report.code];
  };
  for (const one of part(BROKEN_RECEIVERS, 24)) {
    const causes = sorted(FINDINGS.webhooks[one.name] ?? []);
    expect([one.name, ...(await told(one))]).toEqual([one.name, causes, "failed", 1]);
  }
  for (const one of part([...GOOD_RECEIVERS, ...UNSEEN_RECEIVERS], 12))
    expect([one.name, ...(await told(one))]).toEqual([one.name, [], "passed", 0]);
});

test("a receiver that fails on an event type that it accepted before does not pass the webhook drill", async () => {
  const site = await openDrillSite();
  const session = async (): Promise<string> => {
    const { body } = await site.sandbox().request({
      path: "/v1/checkout-sessions",
      headers: { "Idempotency-Key": "key-of-the-session" },
      body: JSON.stringify({
        order_id: "session-1",
        amount_minor: 1999,
        currency: "EUR",
        payment_method: "alipay_plus",
      }),
    });
    return (JSON.parse(String(body)) as { readonly data: { readonly id: string } }).data.id;
  };
  for (const [at, make] of [site.order, session].entries()) {
    await site.pay(await make(), "succeeded");
    await eventually("all events are accepted", async () => {
      const { length } = await site.deliveries("?state=succeeded");
      expect(length).toBe((at + 1) * 3);
    });
    const types = new Set((await site.events()).map(({ type }) => type));
    const found: string[] = [];
    const failing = [...types].map((type, place) => ({ type, answer: place % 2 === 0 ? 500 : 409 }));
    for (const { type, answer } of failing) {
      site.listen((incoming) =>
        right(incoming) === 204 && typeOf(incoming) === type ? answer : right(incoming),
      );
      const { code, ...report } = await site.drill(...CONSENT);
      found.push(`${type} ${answer}: ${code} ${sorted(Object.values(causesOf({ ...report }))).join()}`);
    }
    site.listen(right);
    expect((await site.drill(...CONSENT)).code).toBe(0);
    expect(found).toEqual(failing.map(({ type, answer }) => `${type} ${answer}: 1 refuses_orders`));
  }
});

test("the webhook drill sends genuine events only of the newest order whose events the receiver accepted", async () => {
  const site = await openDrillSite();
  await site.pay(await site.order(), "succeeded");
  await eventually("all events are accepted", async () =>
    expect(await site.deliveries("?state=succeeded")).toHaveLength(3),
  );
  const newest = await site.order();
  await eventually("the creation is accepted", async () =>
    expect(await site.deliveries("?state=succeeded")).toHaveLength(4),
  );
  const genuine = new Set<string>();
  site.listen((incoming) => {
    const answer = right(incoming);
    if (answer === 204 && typeOf(incoming) !== "webhook.test")
      genuine.add(`${typeOf(incoming)} ${parse(incoming).data?.id}`);
    return answer;
  });
  expect((await site.drill(...CONSENT)).code).toBe(0);
  expect([...genuine]).toEqual([`order.created ${newest}`]);
});
