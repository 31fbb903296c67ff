import { expect, test } from "vitest";
import { ageText } from "../../src/core/explain/last.ts";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { COMMA, english, translatorFor, type Translator } from "../../src/core/language.ts";
import { CHECKOUTS_TEXTS } from "../../src/sandbox/pages/portal/checkout/texts.ts";
import { CLOCK_TEXTS } from "../../src/sandbox/pages/portal/store/texts.ts";
import { COMMON_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { WEBHOOK_TEXTS } from "../../src/sandbox/pages/portal/webhook/texts.ts";
import { deliveryCause } from "../support/delivery-causes.ts";
import { inOrder } from "../support/in-order.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { signedIn, textOf, type Page } from "../support/portal.ts";

const { statuses } = COMMON_TEXTS;
const { notices } = WEBHOOK_TEXTS;
const DECLINED = EXPLAIN_SENTENCES.last.declined(4);
const chinese = translatorFor("zh");
/** A declined payment as the last change of a checkout, two minutes ago. */
const declinedIn = (say: Translator): string =>
  `${say(DECLINED)} · ${ageText(120_000, say)}${say(COMMA)}${say(EXPLAIN_SENTENCES.lastBy.payer)}`;

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

test("a notice reports the result of a simulated payment once, and the head of the page shows the last change", async () => {
  const { harness, portal, checkout } = await openShop();
  expect(lastOn(await portal.get(checkout))).toBe(
    `· ${english(EXPLAIN_SENTENCES.justNow)}, ${english(EXPLAIN_SENTENCES.lastBy.merchant)}`,
  );
  const { location = "" } = await portal.post(`${checkout}/pay`, { outcome: "declined" });
  const declined = await portal.get(location);
  expect(saidOn(declined)).toMatch(
    inOrder(/^/, CHECKOUTS_TEXTS.done("{at}"), statuses.pending, DECLINED, /$/),
  );
  expect(saidOn(declined)).toContain("12:00:00.000");
  expect([saidOn(await portal.get(location)), saidOn(await portal.get(checkout))]).toEqual([
    undefined,
    undefined,
  ]);
  harness.clock.advance(120_000);
  expect(lastOn(await portal.get(checkout))).toBe(`· ${declinedIn(english)}`);
  const list = await portal.get(`${portal.home}/checkouts`);
  expect(list.text).toContain(`${english(statuses.pending)} · ${declinedIn(english)}`);
  const { stdout } = await harness.run(["orders", "list"], { terminal: true, columns: 300 });
  expect(stdout).toContain(declinedIn(english));
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
  expect(lastOn(await portal.get(checkout))).toBe(`· ${declinedIn(chinese)}`);
  const cancelled = saidOn(await portal.act(`${checkout}/pay`, { outcome: "cancelled" }));
  for (const part of ["12:02:00.000", chinese(statuses.cancelled)]) expect(cancelled).toContain(part);
});

test("a new endpoint is tested immediately, and each action on an endpoint or event has a notice with its result", async () => {
  const { harness, portal, answer, checkout } = await openShop();
  const webhooks = `${portal.home}/webhooks`;
  answer.status = 500;
  const { location: added = "" } = await portal.post(`${webhooks}/endpoints`, {
    url: "http://localhost:3000/hooks",
  });
  const page = await portal.get(added);
  const cause = (status: number): string =>
    `${status} (${english(deliveryCause(status === 503 ? "503" : "5xx"))})`;
  expect(saidOn(page)).toMatch(inOrder(/^/, notices.done.added("{at}"), cause(500), /$/));
  expect(saidOn(page)).toMatch(/12:00:00\.\d{3}/);
  expect(page.text).toContain("whsec_");
  const endpoint = added.split("?")[0] ?? "";
  answer.status = 204;
  expect(saidOn(await portal.act(`${endpoint}/test`))).toMatch(
    inOrder(/^/, notices.done.tested("{at}"), /204$/),
  );
  expect(saidOn(await portal.act(`${endpoint}/state`, { action: "pause" }))).toBe(english(notices.paused));
  expect(saidOn(await portal.act(`${endpoint}/test`))).toMatch(
    inOrder(/^/, notices.waits.tested("{at}"), /$/),
  );
  await portal.act(`${checkout}/pay`, { outcome: "declined" });
  expect(saidOn(await portal.act(`${endpoint}/state`, { action: "enable" }))).toBe(
    english(notices.enabled(3)),
  );
  await harness.clock.sleep(1000);
  const { events } = JSON.parse((await harness.run(["events", "list", "--json"])).stdout) as {
    events: { event_id: string; type: string }[];
  };
  const pending = events.find(({ type }) => type === "order.pending")?.event_id ?? "";
  answer.status = 503;
  const replayed = await portal.act(`${checkout}/events/${pending}/replay`);
  expect(saidOn(replayed)).toMatch(inOrder(/^/, notices.done.replayed("{at}"), cause(503), /$/));
  expect(saidOn(await portal.act(`${webhooks}/events/${pending}/replay`))).toMatch(
    inOrder(/^/, notices.done.replayed("{at}")),
  );
  expect(saidOn(await portal.act(`${endpoint}/state`, { action: "disable" }))).toBe(
    english(notices.disabled),
  );
  expect(saidOn(await portal.act(`${endpoint}/remove`))).toBe(
    english(notices.removed("http://localhost:3000/hooks")),
  );
});

test("the error of an unreachable receiver is shown with its cause, also on the overview", async () => {
  const { harness, portal } = await openShop();
  harness.vacate(3000);
  const added = await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3000/hooks" });
  const [, id = ""] = /\/webhooks\/endpoints\/([\w-]{36})\/test/.exec(added.html) ?? [];
  const tested = await portal.act(`${portal.home}/webhooks/endpoints/${id}/test`);
  expect(saidOn(tested)).toMatch(
    inOrder("unreachable: connect ECONNREFUSED localhost:3000 (", deliveryCause("refused"), /\)$/),
  );
  const overview = await portal.get(`${portal.home}/overview`);
  expect(overview.text).toMatch(inOrder(deliveryCause("refused"), "connect ECONNREFUSED localhost:3000"));
});

test("a notice counts several receivers by their answers, and waits at most two seconds for a slow receiver", async () => {
  const { harness, portal, answer, checkout } = await openShop();
  harness.occupy(3001, { answer: () => new Promise(() => undefined), refuse: () => answer });
  await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3000/hooks" });
  const before = harness.clock.now();
  const slow = await portal.act(`${portal.home}/webhooks/endpoints`, { url: "http://localhost:3001/hooks" });
  expect(saidOn(slow)).toMatch(inOrder(notices.noAnswerYet, /$/));
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
  expect(saidOn(replayed)).toMatch(inOrder(/^/, notices.done.replayed("{at}"), /1 × 204, 1 × \S+/));
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
  expect(going.text).toContain(`${english(CLOCK_TEXTS.movingTo)} 2026-01-15 14:00:`);
  expect(going.html).toMatch(/<progress max="72\d+" value="\d+"><\/progress>/);
  const dueDeliveries = `<a href="${portal.home}/webhooks?state=due">`;
  expect(going.html).toContain(dueDeliveries);
  const buttons = [
    ...going.html.matchAll(/action="[^"]+\/clock".*?<button type="submit" class="" (disabled)?/gs),
  ];
  expect(new Set(buttons.map(([, off]) => off))).toEqual(new Set(["disabled"]));
  expect((await portal.get(`${portal.home}/clock`)).text).toContain(english(CLOCK_TEXTS.movingTo));
  answerNow();
  for (let turn = 0; turn < 50; turn += 1) await harness.clock.sleep(0);
  const done = await portal.get(location);
  expect(done.text).not.toContain(english(CLOCK_TEXTS.movingTo));
  expect(done.html).not.toContain(dueDeliveries);
  const result = textOf(/<section class="notice good move".*?<\/section>/s.exec(done.html)?.[0] ?? "");
  const expired = `${english(CLOCK_TEXTS.became(1))} ${english(statuses.expired)}`;
  const change = `${english(statuses.created)} → ${english(statuses.expired)}`;
  const failed = `→ http://localhost:3001/hooks ${english(CLOCK_TEXTS.notDelivered(8, "500"))}`;
  const delivered = `→ http://localhost:3000/hooks ${english(CLOCK_TEXTS.delivered(1, "204"))}`;
  expect(result).toContain(`${expired} 2026-01-15 13:00:00 order-1001 ${change} ${failed} ${delivered}`);
  expect(done.html).toContain(`<a href="${portal.home}/checkouts?status=expired"`);
  expect((await portal.get(`${portal.home}/clock`)).text).not.toContain(expired);
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
