import { expect, test } from "vitest";
import { ageText } from "../../src/core/explain/last.ts";
import { english } from "../../src/core/language.ts";
import { CONNECT_TEXTS, OVERVIEW_TEXTS } from "../../src/sandbox/pages/portal/store/texts.ts";
import { COMMON_TEXTS, FRAME_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { deliveryCause } from "../support/delivery-causes.ts";
import { inOrder } from "../support/in-order.ts";
import { openDrillSite } from "../support/drill-site.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";

test("the portal starts with the Connect page until all first steps are done, and then with the overview", async () => {
  const site = await openDrillSite();
  const { harness } = site;
  const portal = await signedIn(harness, site.sandbox());
  const { get, home } = portal;
  const leads = async (): Promise<string | undefined> => (await get(`${home}/start`)).location;
  expect(await leads()).toBe(`${home}/connect`);
  const before = await get(`${home}/connect`);
  expect(before.text).toContain(english(CONNECT_TEXTS.access));
  expect(before.html).toContain(`aria-current="page"><span>${english(FRAME_TEXTS.start)}<`);
  expect(before.html).not.toContain(`href="${home}/overview"`);
  await site.orderAccepted();
  await harness.run(["trigger", "order.succeeded"]);
  await harness.clock.sleep(1000);
  expect(await leads()).toBe(`${home}/connect`);
  await site.drill();
  expect(await leads()).toBe(`${home}/overview`);
  const after = await get(`${home}/connect`);
  expect(after.html).toContain(`aria-current="page"><span>${english(FRAME_TEXTS.connect)}<`);
  expect(after.html).toContain(`href="${home}/overview"`);
});

test("the overview shows failures with causes, refusals, due work and unpaid orders", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const { get, home } = await signedIn(harness, sandbox);
  const overview = async () => await get(`${home}/overview`);
  const quiet = await overview();
  const { noEndpoint, noneRefused, noneDue, noneUnpaid, ...texts } = OVERVIEW_TEXTS;
  for (const words of [noEndpoint, noneRefused, noneDue, noneUnpaid])
    expect(quiet.text).toContain(english(words));
  await harness.run(["endpoints", "add", "http://localhost:3001/hooks"]);
  const create = (id: string, ...more: readonly string[]) =>
    harness.run(["orders", "create", "--order-id", id, ...more]);
  await create("order-1", "--price-id", "price_coffee");
  await create("order-2", "--amount-minor", "100", "--currency", "EUX", "--payment-method", "alipay_plus");
  await harness.clock.sleep(1000);
  await harness.run(["sandbox", "clock", "advance", "1m"]);
  const { text, html } = await overview();
  const { noAnswer, since, due } = COMMON_TEXTS;
  const { delivery, expiry } = texts.kinds;
  const cause = deliveryCause("refused");
  expect(text).toMatch(
    inOrder(texts.failing, "localhost:3001/hooks", noAnswer, since, cause, texts.wait("1")),
  );
  expect(text).toMatch(inOrder(texts.refused, "POST /v1/orders 403 capability_missing order-2 "));
  expect(text).toMatch(inOrder(due, delivery, "order.created → http://localhost:3001/hooks"));
  const expires = english(expiry);
  expect(text).toContain(`${expires} order-1 ${english(texts.openClock)}`);
  expect(text).toMatch(inOrder(texts.unpaidCount("1"), texts.oldest, ageText(60_000, english)));
  for (const path of ["/webhooks/endpoints/", "/requests/", "/checkouts/"])
    expect(html).toMatch(new RegExp(`href="${home}${path}[0-9a-f-]{36}"`));
  expect(html).toContain(`href="${home}/requests?status=4xx"`);
  for (const id of ["order-3", "order-4"]) await create(id, "--price-id", "price_coffee");
  const expiring = (await overview()).text;
  expect(expiring).toContain(`${expires} order-1 ${english(texts.others("2"))} `);
  expect(expiring).not.toContain(`${expires} order-3`);
});
