import { expect, test } from "vitest";
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
  expect(before.text).toMatch(/Values that your application needs/);
  expect(before.html).toMatch(/aria-current="page"><span>Start</);
  expect(before.html).not.toContain(`href="${home}/overview"`);
  await site.orderAccepted();
  await harness.run(["trigger", "order.succeeded"]);
  await harness.clock.sleep(1000);
  expect(await leads()).toBe(`${home}/connect`);
  await site.drill();
  expect(await leads()).toBe(`${home}/overview`);
  const after = await get(`${home}/connect`);
  expect(after.html).toMatch(/aria-current="page"><span>Connect</);
  expect(after.html).toContain(`href="${home}/overview"`);
});

test("the overview shows failures with causes, refusals, due work and unpaid orders", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const { get, home } = await signedIn(harness, sandbox);
  const overview = async () => await get(`${home}/overview`);
  const quiet = await overview();
  for (const words of [
    "No endpoint is registered, so events are not delivered.",
    "No recent request was refused.",
    "Nothing becomes due within 24 hours.",
    "No checkout is waiting for a payment.",
  ])
    expect(quiet.text).toContain(words);
  await harness.run(["endpoints", "add", "http://localhost:3001/hooks"]);
  const create = (id: string, ...more: readonly string[]) =>
    harness.run(["orders", "create", "--order-id", id, ...more]);
  await create("order-1", "--price-id", "price_coffee");
  await create("order-2", "--amount-minor", "100", "--currency", "EUX", "--payment-method", "alipay_plus");
  await harness.clock.sleep(1000);
  await harness.run(["sandbox", "clock", "advance", "1m"]);
  const { text, html } = await overview();
  expect(text).toMatch(
    /Failing now .* localhost:3001\/hooks no answer since \S+ nothing answers at this address: .* 1 delivery waits/,
  );
  expect(text).toMatch(/Recently refused .* POST \/v1\/orders 403 capability_missing order-2 /);
  expect(text).toMatch(/Due next .* next attempt order\.created → http:\/\/localhost:3001\/hooks/);
  expect(text).toMatch(/\S+ expires order-1 Open the clock/);
  expect(text).toMatch(/1 checkout is waiting for a payment ; oldest created 1 min ago/);
  for (const path of ["/webhooks/endpoints/", "/requests/", "/checkouts/"])
    expect(html).toMatch(new RegExp(`href="${home}${path}[0-9a-f-]{36}"`));
  expect(html).toContain(`href="${home}/requests?status=4xx"`);
  for (const id of ["order-3", "order-4"]) await create(id, "--price-id", "price_coffee");
  const expiring = (await overview()).text;
  expect(expiring).toMatch(/\S+ expires order-1 and 2 more /);
  expect(expiring).not.toContain("expires order-3");
});
