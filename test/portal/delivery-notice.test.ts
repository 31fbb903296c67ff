import { expect, test } from "vitest";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { signedIn, textOf, type Page } from "../support/portal.ts";

const TERMS = { order_id: "order-1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

/** A store with a receiver that answers as the test says, and a signed-in browser. */
async function openShop() {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const portal = await signedIn(harness, sandbox);
  const answer = { status: 204, headers: {}, body: "" };
  harness.occupy(3000, { answer: () => Promise.resolve({ ...answer }), refuse: () => answer });
  const created = await sandbox.request({
    path: "/v1/orders",
    headers: { "Idempotency-Key": "the-first-key" },
    body: JSON.stringify(TERMS),
  });
  const { data } = JSON.parse(String(created.body)) as { readonly data: { readonly id: string } };
  const checkout = `${portal.home}/checkouts/${data.id}`;
  return { harness, sandbox, portal, answer, checkout };
}

/** The notice at the top of a page. */
function saidOn({ html }: Page): string | undefined {
  const [, said] = /<div class="said">(.*?)<\/div>/s.exec(html) ?? [];
  return said === undefined ? undefined : textOf(said);
}

/** The text after the status in the head of a checkout's page. */
function lastOn({ html }: Page): string {
  return textOf(/<span class="last"\s*>.*?<\/span\s*><\/span\s*>/s.exec(html)?.[0] ?? "");
}

test("the notice reports the result of a simulated payment once, and the head of the page shows the last change", async () => {
  const { harness, portal, checkout } = await openShop();
  expect(lastOn(await portal.get(checkout))).toBe("· just now, by the merchant");
  const { location = "" } = await portal.post(`${checkout}/pay`, { outcome: "declined" });
  const declined = await portal.get(location);
  expect(saidOn(declined)).toBe("Done at 12:00:00.000 : pending · declined, 4 attempts left");
  expect([saidOn(await portal.get(location)), saidOn(await portal.get(checkout))]).toEqual([
    undefined,
    undefined,
  ]);
  harness.clock.advance(120_000);
  expect(lastOn(await portal.get(checkout))).toBe("· declined, 4 attempts left · 2 min ago, by the payer");
  const list = await portal.get(`${portal.home}/checkouts`);
  expect(list.text).toContain("pending · declined, 4 attempts left · 2 min ago, by the payer");
  const { stdout } = await harness.run(["orders", "list"], { terminal: true, columns: 140 });
  expect(stdout).toContain("declined, 4 attempts left · 2 min ago, by the payer");
  const { checkouts } = JSON.parse((await harness.run(["orders", "list", "--json"])).stdout) as {
    checkouts: { last: object }[];
  };
  expect(checkouts[0]?.last).toEqual({
    at: "2026-01-15T12:00:00.000Z",
    what: "declined",
    by: "payer",
    attempt: 1,
    attempts_left: 4,
  });
  await portal.post("/portal/preferences", { language: "zh", back: portal.home });
  expect(lastOn(await portal.get(checkout))).toBe("· 支付被拒，还可尝试 4 次 · 2 分钟前，由付款人操作");
  expect(saidOn(await portal.act(`${checkout}/pay`, { outcome: "cancelled" }))).toBe(
    "已于 12:02:00.000 完成：已取消",
  );
});

test("a new endpoint is tested immediately, and each action on an endpoint or event has a notice with its result", async () => {
  const { harness, portal, answer, checkout } = await openShop();
  const webhooks = `${portal.home}/webhooks`;
  answer.status = 500;
  const { location: added = "" } = await portal.post(`${webhooks}/endpoints`, {
    url: "http://localhost:3000/hooks",
  });
  const page = await portal.get(added);
  expect(saidOn(page)).toMatch(
    /^The endpoint was added, and webhook\.test was sent to it at 12:00:00\.\d{3} : 500 \(.+\)$/,
  );
  expect(page.text).toContain("whsec_");
  const endpoint = added.split("?")[0] ?? "";
  answer.status = 204;
  expect(saidOn(await portal.act(`${endpoint}/test`))).toMatch(/^webhook\.test was sent at 12:\S+ : 204$/);
  expect(saidOn(await portal.act(`${endpoint}/state`, { action: "pause" }))).toContain(
    "The endpoint is paused",
  );
  expect(saidOn(await portal.act(`${endpoint}/test`))).toContain("because nothing is delivered");
  await portal.act(`${checkout}/pay`, { outcome: "declined" });
  expect(saidOn(await portal.act(`${endpoint}/state`, { action: "enable" }))).toContain("are now sent: 3.");
  await harness.clock.sleep(1000);
  const { events } = JSON.parse((await harness.run(["events", "list", "--json"])).stdout) as {
    events: { event_id: string; type: string }[];
  };
  const pending = events.find(({ type }) => type === "order.pending")?.event_id ?? "";
  answer.status = 503;
  const replayed = await portal.act(`${checkout}/events/${pending}/replay`);
  expect(saidOn(replayed)).toMatch(/^Delivered again at 12:\S+ : 503 \(.+\)$/);
  expect(saidOn(await portal.act(`${webhooks}/events/${pending}/replay`))).toMatch(/^Delivered again at/);
  expect(saidOn(await portal.act(`${endpoint}/state`, { action: "disable" }))).toContain(
    "The endpoint is disabled",
  );
  expect(saidOn(await portal.act(`${endpoint}/remove`))).toBe(
    "The endpoint http://localhost:3000/hooks was removed.",
  );
});

test("the error of an unreachable receiver is shown with its cause, also on the overview", async () => {
  const { harness, portal } = await openShop();
  harness.vacate(3000);
  const added = await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3000/hooks" });
  const [, id = ""] = /\/webhooks\/endpoints\/([\w-]{36})\/test/.exec(added.html) ?? [];
  const tested = await portal.act(`${portal.home}/webhooks/endpoints/${id}/test`);
  expect(saidOn(tested)).toMatch(
    /: unreachable: connect ECONNREFUSED localhost:3000 \(nothing answers at this address.+\)$/,
  );
  const overview = await portal.get(`${portal.home}/overview`);
  expect(overview.text).toMatch(/nothing answers at this address.+ connect ECONNREFUSED localhost:3000/);
});

test("the notice counts several receivers by their answers, and waits at most two seconds for a slow receiver", async () => {
  const { harness, portal, answer, checkout } = await openShop();
  harness.occupy(3001, { answer: () => new Promise(() => undefined), refuse: () => answer });
  await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3000/hooks" });
  const before = harness.clock.now();
  const slow = await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3001/hooks" });
  expect(saidOn(slow)).toMatch(/: no answer yet$/);
  expect(harness.clock.now() - before).toBeLessThan(3000);
  harness.vacate(3001);
  harness.occupy(3001, { answer: () => Promise.resolve({ ...answer, status: 500 }), refuse: () => answer });
  harness.clock.advance(20_000);
  await portal.act(`${checkout}/pay`, { outcome: "declined" });
  await harness.clock.sleep(1000);
  const { events } = JSON.parse((await harness.run(["events", "list", "--json"])).stdout) as {
    events: { event_id: string; type: string }[];
  };
  const pending = events.find(({ type }) => type === "order.pending")?.event_id ?? "";
  const replayed = await portal.act(`${portal.home}/webhooks/events/${pending}/replay`);
  expect(saidOn(replayed)).toMatch(
    /^Delivered again at 12:\S+ : (1 × 204, 1 × \S+|1 × 204, 1 × no answer yet)/,
  );
});

test("a long clock move shows its progress after two seconds, and then its results in groups", async () => {
  const { harness, portal, answer } = await openShop();
  await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3000/hooks" });
  const { promise: answered, resolve: answerNow } = Promise.withResolvers<void>();
  harness.occupy(3001, {
    answer: () => answered.then(() => ({ ...answer, status: 500 })),
    refuse: () => answer,
  });
  await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3001/hooks" });
  const posting = portal.post(`${portal.home}/clock`, { action: "advance", by: "2h" });
  for (let turn = 0; turn < 20; turn += 1) await harness.clock.sleep(0);
  const before = harness.clock.now();
  harness.clock.advance(2000);
  const { location = "" } = await posting;
  expect(harness.clock.now() - before).toBe(2000);
  const going = await portal.get(location);
  expect(going.text).toContain("The clock is being moved to 2026-01-15 14:00:");
  expect(going.html).toMatch(/<progress max="72\d+" value="\d+"><\/progress>/);
  expect(going.text).toMatch(/\d due deliver(y is|ies are) in progress/);
  const buttons = [
    ...going.html.matchAll(/action="[^"]+\/clock".*?<button type="submit" class="" (disabled)?/gs),
  ];
  expect(new Set(buttons.map(([, off]) => off))).toEqual(new Set(["disabled"]));
  expect((await portal.get(`${portal.home}/clock`)).text).toContain("The clock is being moved to");
  answerNow();
  for (let turn = 0; turn < 50; turn += 1) await harness.clock.sleep(0);
  const done = await portal.get(location);
  expect(done.text).not.toContain("is being moved to");
  const result = textOf(/<section class="notice good move".*?<\/section>/s.exec(done.html)?.[0] ?? "");
  expect(result).toMatch(
    /^1 expired 2026-01-15 13:00:00 order-1001 created → expired → http:\/\/localhost:3001\/hooks 8 webhooks failed \(500\) → http:\/\/localhost:3000\/hooks 1 webhook was delivered \(204\)/,
  );
  expect(done.html).toContain(`<a href="${portal.home}/checkouts?status=expired"`);
  expect((await portal.get(`${portal.home}/clock`)).text).not.toContain("1 expired");
});

test("a reset waits for a clock move that continues after its page request has ended", async () => {
  const { harness, portal, answer } = await openShop();
  const { promise: answered, resolve: answerNow } = Promise.withResolvers<void>();
  harness.occupy(3001, { answer: () => answered.then(() => answer), refuse: () => answer });
  await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3001/hooks" });
  const posting = portal.post(`${portal.home}/clock`, { action: "advance", by: "2h" });
  for (let turn = 0; turn < 20; turn += 1) await harness.clock.sleep(0);
  harness.clock.advance(2000);
  await posting;
  const reset = harness.run(["sandbox", "reset", "--yes", "--json"]);
  for (let turn = 0; turn < 20; turn += 1) await harness.clock.sleep(0);
  answerNow();
  expect((await reset).code).toBe(0);
  const { stdout } = await harness.run(["sandbox", "clock", "show", "--json"]);
  expect(Date.parse((JSON.parse(stdout) as { now: string }).now) - harness.clock.now()).toBe(0);
});
