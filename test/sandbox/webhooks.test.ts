import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  decideAfterAttempt,
  DEFAULT_DELIVERY_SCHEDULE,
  hasFailedTooLong,
  jitterOf,
} from "../../src/core/webhook/delivery.ts";
import type { DeliveryAction } from "../../src/core/fault/actions.ts";
import type { HttpResponse } from "../../src/world.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { eventually } from "../support/eventually.ts";
import { openWebhookSite, signatureHeader, type Received, type Receiver } from "../support/webhook-site.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000];
const MAX_ATTEMPTS = DEFAULT_DELIVERY_SCHEDULE.length;
const types = (got: readonly Received[]): string[] => got.map(({ event }) => event.type);

test("every change of a checkout is delivered once, in order, signed over the stored bytes", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  await site.addEndpoint(shop.url);
  const id = await site.order();
  await site.pay(id, "succeeded");
  await site.advance(1);
  expect(types(shop.got)).toEqual(["order.created", "order.pending", "order.succeeded"]);
  expect(shop.got.map(({ verdict }) => verdict)).toEqual(["ok", "ok", "ok"]);
  expect(shop.got.map(({ event }) => event.sequence)).toEqual([1, 2, 3]);
  const events = await site.events();
  expect(shop.got.map(({ body }) => body)).toEqual(events.map(({ body }) => body));
  const [first] = shop.got;
  expect(first?.headers["Content-Type"]).toBe("application/json");
  expect(first?.headers["Checkout-Event-Id"]).toBe(events[0]?.event_id);
  expect(first?.headers["Checkout-Timestamp"]).toBe(String(Math.floor((first?.at ?? 0) / 1000)));
  expect(await site.advance(200 * HOUR)).toEqual([]);
});

test("an endpoint gets only its event types, and no event from before it was added", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  await site.order();
  const [all, paid] = [site.receiver(3000), site.receiver(3001)];
  await site.addEndpoint(all.url, ["order.*"]);
  await site.addEndpoint(paid.url, ["order.succeeded", "checkout_session.succeeded"]);
  await site.pay(await site.order(), "succeeded");
  await site.advance(1);
  expect(types(all.got)).toEqual(["order.created", "order.pending", "order.succeeded"]);
  expect(types(paid.got)).toEqual(["order.succeeded"]);
});

test("an advanced clock runs the whole delivery schedule, with recorded waits within 20% of the scheduled delays", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  shop.answers = () => ({ status: 500, body: "x".repeat(10_000) });
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  const order = await site.order();
  const tried = await site.advance(40 * HOUR);
  const [delivery] = await site.deliveries(`?endpoint_id=${id}`);
  expect([shop.got.length, delivery?.state, delivery?.tries, delivery?.next_at]).toEqual([
    MAX_ATTEMPTS,
    "failed",
    MAX_ATTEMPTS,
    null,
  ]);
  const attempts = delivery?.attempts ?? [];
  expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const times = attempts.map(({ started_at: at }) => Date.parse(at));
  const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  const bases = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
  waits.forEach((wait, index) => {
    const base = bases[index] ?? 0;
    expect(wait).toBeGreaterThanOrEqual(base * 0.8);
    expect(wait).toBeLessThanOrEqual(base * 1.2);
  });
  expect(new Set(waits.map((wait, index) => wait / (bases[index] ?? 1))).size).toBeGreaterThan(3);
  expect(attempts.map(({ next_at: next }) => next)).toEqual([
    ...times.slice(1).map((at) => new Date(at).toISOString()),
    null,
  ]);
  for (const { status, error, answer, headers, body_sha256: hash, url } of attempts) {
    expect([status, error, answer?.length, url]).toEqual([500, null, 4096, shop.url]);
    expect(headers["Checkout-Signature"]).toBeUndefined();
    expect(headers["Checkout-Event-Id"]).toBe(delivery?.event_id);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
  }
  expect(tried.filter(({ event_id: event }) => event === delivery?.event_id).length).toBeGreaterThanOrEqual(
    MAX_ATTEMPTS - 1,
  );
  expect(await site.statusOf(order)).toBe("expired");
  expect(new Set(shop.got.map(({ body }) => body)).size).toBe(1);
});

test("the receiver's answer decides whether a delivery ends or is retried", () => {
  const at = (result: Parameters<typeof decideAfterAttempt>[0], tries = 1, jitter = 0.5) => {
    const schedule = DEFAULT_DELIVERY_SCHEDULE;
    const verdict = decideAfterAttempt(result, { tries, schedule, jitter, now: 1_000_000 });
    return verdict.state === "due" ? verdict.nextAt - 1_000_000 : verdict;
  };
  const answer = (status: number, retryAfterMs = 0) => ({ status, retryAfterMs });
  const rows = [
    [at(answer(200)), { state: "succeeded" }],
    [at(answer(299)), { state: "succeeded" }],
    [at(answer(301)), 5000],
    [at(answer(404)), 5000],
    [at(answer(410)), { state: "failed", isGone: true }],
    [at({ error: "timeout" }), 5000],
    [at(answer(503, 7000)), 7000],
    [at(answer(503, 1000)), 5000],
    [at(answer(503, 60_000)), 10_000],
    [at(answer(429, 400_000), 2), 400_000],
    [at(answer(500), 1, 0), 4000],
    [at(answer(500), 7), 10 * HOUR],
    [at(answer(500), 8), { state: "failed", isGone: false }],
  ] as const;
  for (const [got, expected] of rows) expect(got).toEqual(expected);
  expect([hasFailedTooLong(1, 120 * HOUR), hasFailedTooLong(1, 120 * HOUR + 1)]).toEqual([false, true]);
});

/** Seconds between the attempts, and the state after the last attempt. */
async function waitsOf(site: Awaited<ReturnType<typeof openWebhookSite>>) {
  const [delivery] = await site.deliveries();
  const times = (delivery?.attempts ?? []).map(({ started_at: at }) => Date.parse(at));
  const waits = times.slice(1).map((at, index) => (at - (times[index] ?? 0)) / SECOND);
  return { waits, tries: delivery?.tries, state: delivery?.state, nextAt: delivery?.next_at };
}

test("an order settles or expires at its time, and its event is sent, without any request", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  await site.addEndpoint(shop.url, ["order.cancelled", "order.expired"]);
  await site.order("order-1");
  await site.order("order-2~cancelled");
  site.harness.clock.advance(SECOND);
  await eventually("the reserved one is settled", () => expect(types(shop.got)).toEqual(["order.cancelled"]));
  site.harness.clock.advance(24 * HOUR);
  await eventually("the other one expires", () =>
    expect(types(shop.got)).toEqual(["order.cancelled", "order.expired"]),
  );
});

test("a custom delivery schedule is followed to its end, with waits within 20% of the scheduled delays", async () => {
  const site = await openWebhookSite([...EPHEMERAL, "--delivery-schedule", "0s,10s,1m,500ms"]);
  const shop = site.receiver(3000);
  shop.answers = () => 500;
  await site.addEndpoint(shop.url, ["order.created"]);
  await site.order();
  await site.advance(HOUR);
  const { waits, ...end } = await waitsOf(site);
  expect([shop.got.length, end]).toEqual([4, { tries: 4, state: "failed", nextAt: null }]);
  for (const [index, delay] of [10, 60, 0.5].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(delay * 0.8);
    expect(waits[index]).toBeLessThanOrEqual(delay * 1.2);
  }
});

test("a waiting delivery keeps its time when the delivery schedule changes, and then follows the new schedule", async () => {
  const [before, shorter, longer] = ["0s,10m,10m,10m,10m", "0s,1m", "0s,1m,1m,1m,1m,1m,1m"];
  for (const [now, tries] of [
    [shorter, 3],
    [longer, 7],
  ] as const) {
    const args = ["--delivery-schedule", before];
    const site = await openWebhookSite(args);
    const shop = site.receiver(3000);
    shop.answers = () => 500;
    await site.addEndpoint(shop.url, ["order.created"]);
    await site.order();
    await site.advance(13 * MINUTE);
    const waiting = await waitsOf(site);
    expect([waiting.tries, waiting.state]).toEqual([2, "due"]);
    args[1] = now;
    await site.restart();
    expect(await waitsOf(site)).toEqual(waiting);
    await site.advance(HOUR);
    const { waits, ...end } = await waitsOf(site);
    expect(end).toEqual({ tries, state: "failed", nextAt: null });
    expect(waits.slice(2).every((wait) => wait >= 48 && wait <= 72)).toBe(true);
  }
});

test("events wait only for earlier events of the same checkout", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const blocked = new Set<string>();
  shop.answers = (_number, { event }) => (blocked.has(event.data.id ?? "") ? 503 : 200);
  await site.addEndpoint(shop.url);
  const slow = await site.order();
  blocked.add(slow);
  await site.pay(slow, "succeeded");
  const quick = await site.order();
  await site.pay(quick, "cancelled");
  await site.advance(1);
  const ofSlow = (): string[] => types(shop.got.filter(({ event }) => event.data.id === slow));
  expect(types(shop.got.filter(({ event }) => event.data.id === quick))).toEqual([
    "order.created",
    "order.cancelled",
  ]);
  blocked.clear();
  const before = ofSlow().length;
  await site.advance(10 * MINUTE);
  expect(
    ofSlow()
      .slice(0, before)
      .every((type) => type === ofSlow()[0]),
  ).toBe(true);
  expect([...new Set(ofSlow())]).toEqual(["order.created", "order.pending", "order.succeeded"]);
});

/** Makes a receiver hold its answers; the returned function answers all waiting requests. */
function holdAnswers(receiver: Receiver): () => void {
  const waiting: ((response: HttpResponse) => void)[] = [];
  receiver.answers = () => new Promise<HttpResponse>((resolve) => void waiting.push(resolve));
  return () => waiting.splice(0).forEach((answer) => answer({ status: 200, headers: {}, body: "" }));
}

test("a silent endpoint does not delay other endpoints, and has at most the allowed number of deliveries in flight", async () => {
  const orders = 12;
  for (const [args, inOrder, atOnce] of [
    [[], false, 8],
    [["--deliveries-in-flight", "3"], false, 3],
    [["--deliveries-in-flight", "32"], false, orders],
    [[], true, 1],
  ] as const) {
    const site = await openWebhookSite([...EPHEMERAL, ...args]);
    const [stuck, swift] = [site.receiver(3000), site.receiver(3001)];
    const release = holdAnswers(stuck);
    await site.addEndpoint(stuck.url, ["*"], { inOrder });
    const { id } = await site.addEndpoint(swift.url);
    for (let count = 0; count < orders; count += 1) await site.order();
    const succeeded = Array.from({ length: orders }, () => "succeeded");
    await eventually("the swift one has all", async () =>
      expect((await site.deliveries(`?endpoint_id=${id}`)).map(({ state }) => state)).toEqual(succeeded),
    );
    await eventually("the stuck one has what is allowed", () => expect(stuck.got).toHaveLength(atOnce));
    const created = swift.got.map(({ event }) => event.event_id);
    for (let had = atOnce; had < orders; had += Math.min(atOnce, orders - had)) {
      expect(stuck.got).toHaveLength(had);
      release();
      const next = Math.min(had + atOnce, orders);
      await eventually("the stuck one has the next ones", () => expect(stuck.got).toHaveLength(next));
    }
    release();
    expect(stuck.got.map(({ event }) => event.event_id)).toEqual(created);
  }
});

test("attempts that end at nearly the same time are recorded together, and the next attempts are sent together", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const waiting: (() => void)[] = [];
  let answered = 0;
  const answeredBefore: number[] = [];
  shop.answers = async () => {
    answeredBefore.push(answered);
    await new Promise<void>((resolve) => void waiting.push(resolve));
    answered += 1;
    return { status: 200, headers: {}, body: "" };
  };
  await site.addEndpoint(shop.url);
  for (let count = 0; count < 16; count += 1) await site.order();
  await eventually("as many are in flight as are allowed", () => expect(waiting).toHaveLength(8));
  for (const answer of waiting.splice(0)) {
    answer();
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  }
  await eventually("the others are in flight", () => expect(waiting).toHaveLength(8));
  expect(answeredBefore).toEqual([0, 8].flatMap((before) => Array.from({ length: 8 }, () => before)));
  waiting.splice(0).forEach((answer) => answer());
});

test("attempts of one checkout never overlap at an endpoint, including duplicates and replays", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id: endpointId } = await site.addEndpoint(shop.url);
  const release = holdAnswers(shop);
  await site.control("/faults", { action: "duplicate", match: { endpoint_id: endpointId }, times: 2 });
  const { data: tested } = await site.control<{ event_id: string }>(`/endpoints/${endpointId}/test`, {});
  await eventually("the test has come", () => expect(shop.got).toHaveLength(1));
  const order = await site.order();
  await site.pay(order, "succeeded");
  const [created] = await site.events(`?checkout_id=${order}&type=order.created`);
  await eventually("the order has come", () => expect(shop.got).toHaveLength(2));
  await site.control(`/events/${created?.event_id}/replay`, {});
  await site.control(`/events/${tested.event_id}/replay`, {});
  const other = await site.order();
  await eventually("another order has come", () => expect(shop.got).toHaveLength(3));

  const seen = new Map<string, string[]>();
  for (let had = 0; had < shop.got.length;) {
    const fresh = shop.got.slice(had);
    had = shop.got.length;
    const lanes = fresh.map(({ event }) => event.data.id ?? event.event_id);
    expect(new Set(lanes).size).toBe(lanes.length);
    for (const [index, lane] of lanes.entries())
      seen.set(lane, [...(seen.get(lane) ?? []), fresh[index]?.event.type ?? ""]);
    release();
    await eventually("something comes, or nothing is left", async () => {
      const isOver = (await site.deliveries()).every(({ state }) => state === "succeeded");
      expect(isOver || shop.got.length > had).toBe(true);
    });
  }
  expect(seen.get(tested.event_id)).toEqual(["webhook.test", "webhook.test", "webhook.test"]);
  expect(seen.get(other)).toEqual(["order.created"]);
  const ofOrder = seen.get(order) ?? [];
  expect(ofOrder.filter((type) => type === "order.created")).toHaveLength(3);
  expect([...new Set(ofOrder)]).toEqual(["order.created", "order.pending", "order.succeeded"]);
});

test("a delivery that waits for its retry does not take an in-flight slot, nor do the later events of its checkout", async () => {
  const site = await openWebhookSite([...EPHEMERAL, "--deliveries-in-flight", "2"]);
  const shop = site.receiver(3000);
  await site.addEndpoint(shop.url);
  shop.answers = () => 500;
  const failing = [await site.order(), await site.order(), await site.order()];
  for (const order of failing) await site.pay(order, "succeeded");
  await eventually("all were refused", () => expect(shop.got).toHaveLength(failing.length));
  shop.answers = () => 200;
  const others = [await site.order(), await site.order(), await site.order()];
  await eventually("the others came", () =>
    expect(shop.got.slice(failing.length).map(({ event }) => event.data.id)).toEqual(others),
  );
});

test("the pause before a retry depends only on the delivery and its number of attempts", () => {
  const ids = Array.from({ length: 200 }, (_unused, index) => `delivery-${index}`);
  const values = ids.map((id) => jitterOf(id, 1));
  expect(values).toEqual(ids.map((id) => jitterOf(id, 1)));
  expect(jitterOf("delivery-1", 2)).not.toBe(jitterOf("delivery-1", 1));
  expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
  for (const quarter of [0, 0.25, 0.5, 0.75])
    expect(values.filter((value) => value >= quarter && value < quarter + 0.25).length).toBeGreaterThan(25);
});

test("a 410, or 120 hours without success, disables an endpoint, which misses later events and can be enabled", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  shop.answers = () => 410;
  await site.order();
  await site.advance(1);
  expect(await site.endpoint(id)).toMatchObject({ state: "disabled", reason: PART_TEXTS.gone[0] });
  await site.order();
  await site.advance(HOUR);
  expect(shop.got.length).toBe(1);

  shop.answers = () => 500;
  await site.control(`/endpoints/${id}/state`, { action: "enable" });
  for (let day = 0; day < 5; day += 1) {
    await site.order();
    await site.advance(24 * HOUR);
  }
  expect((await site.endpoint(id)).state).toBe("enabled");
  await site.order();
  await site.advance(HOUR);
  expect(await site.endpoint(id)).toMatchObject({
    state: "disabled",
    reason: PART_TEXTS.no_success[0],
  });

  shop.answers = () => 200;
  await site.control(`/endpoints/${id}/state`, { action: "enable" });
  await site.order();
  await site.advance(HOUR);
  expect(await site.endpoint(id)).toMatchObject({ state: "enabled", failing_since: null });
});

test("events from a time when an endpoint was disabled are never delivered to that endpoint", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  const turn = (action: "enable" | "disable") => site.control(`/endpoints/${id}/state`, { action });
  const told: string[] = [];
  told.push(await site.order());
  await eventually("the first came", () => expect(shop.got).toHaveLength(1));
  await turn("disable");
  await site.order();
  await turn("enable");
  told.push(await site.order());
  await site.advance(24 * HOUR);
  await eventually("no delivery is due", async () => expect(await site.deliveries("?state=due")).toEqual([]));
  expect(shop.got.map(({ event }) => event.data.id)).toEqual(told);
});

test("one successful delivery restarts an endpoint's count of failing hours", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  for (let day = 0; day < 10; day += 1) {
    shop.answers = () => (day === 4 ? 200 : 500);
    await site.order();
    await site.advance(24 * HOUR);
    expect([day, (await site.endpoint(id)).state]).toEqual([day, day < 9 ? "enabled" : "enabled"]);
  }
  expect((await site.endpoint(id)).failing_since).not.toBeNull();
});

test("a replay has the same event_id and bytes with a new timestamp and signature, and changes no state", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const [shop, other] = [site.receiver(3000), site.receiver(3001)];
  await site.addEndpoint(shop.url);
  const second = await site.addEndpoint(other.url, ["order.created"]);
  const order = await site.order();
  await site.pay(order, "succeeded");
  await site.advance(1);
  const succeeded = shop.got.at(-1);
  const count = (await site.events()).length;
  site.harness.clock.advance(MINUTE);
  const replayed = await site.control(`/events/${succeeded?.event.event_id ?? ""}/replay`, {});
  expect(replayed.ok).toBe(true);
  await site.advance(1);
  expect(types(shop.got)).toEqual(["order.created", "order.pending", "order.succeeded", "order.succeeded"]);
  const again = shop.got.at(-1);
  expect([again?.body, again?.verdict]).toEqual([succeeded?.body, "ok"]);
  expect(again?.headers["Checkout-Timestamp"]).not.toBe(succeeded?.headers["Checkout-Timestamp"]);
  expect(again && signatureHeader(again)).not.toBe(succeeded && signatureHeader(succeeded));
  expect([other.got.length, (await site.events()).length, await site.statusOf(order)]).toEqual([
    1,
    count,
    "succeeded",
  ]);
  // A replay goes to a named endpoint regardless of its event types.
  await site.control(`/events/${succeeded?.event.event_id ?? ""}/replay`, { endpoint_id: second.id });
  await site.advance(1);
  expect(types(other.got)).toEqual(["order.created", "order.succeeded"]);
  const causes = (await site.deliveries()).map(({ cause }) => cause);
  expect(causes.filter((cause) => cause === "replay")).toHaveLength(2);
});

test("after a rotation the old secret also signs during the overlap, and the store's secret stays", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const [shop, other] = [site.receiver(3000), site.receiver(3001)];
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  await site.addEndpoint(other.url, ["order.created"]);
  const secrets = async (): Promise<readonly string[]> =>
    (await site.control<{ readonly in_force: readonly string[] }>(`/endpoints/${id}/secret`)).data.in_force;
  const [first = ""] = await secrets();
  const send = async (): Promise<Received | undefined> => {
    await site.order();
    await site.advance(1);
    return shop.got.at(-1);
  };
  await site.control(`/endpoints/${id}/secret`, { overlap_ms: HOUR });
  const [second = "", ...rest] = await secrets();
  expect([second === first, rest]).toEqual([false, [first]]);
  const both = await send();
  expect([both?.verdict, both && signatureHeader(both).split(",").length]).toEqual(["ok", 2]);
  site.setSecrets(shop.url, [second]);
  expect((await send())?.verdict).toBe("ok");
  await site.advance(HOUR);
  expect(await secrets()).toEqual([second]);
  const single = await send();
  expect([single?.verdict, single && signatureHeader(single).includes(",")]).toEqual(["ok", false]);
  site.setSecrets(shop.url, [first]);
  expect((await send())?.verdict).toBe("signature_mismatch");
  expect(other.got.every(({ verdict }) => verdict === "ok")).toBe(true);
  await site.control(`/endpoints/${id}/secret`, { overlap_ms: HOUR });
  await site.control(`/endpoints/${id}/secret`, { overlap_ms: 0 });
  expect(await secrets()).toHaveLength(1);
  // Four secrets at once would be one too many for the header.
  for (let turn = 0; turn < 4; turn += 1) await site.control(`/endpoints/${id}/secret`, { overlap_ms: HOUR });
  expect(await secrets()).toHaveLength(3);
});

test("deliveries survive a restart, and an attempt that the restart interrupted is recorded and repeated", async () => {
  const site = await openWebhookSite();
  const shop = site.receiver(3000);
  shop.answers = () => new Promise<HttpResponse>(() => undefined);
  await site.addEndpoint(shop.url);
  await site.order();
  await eventually("a delivery is under way", () => expect(shop.got).toHaveLength(1));
  await site.restart();
  shop.answers = () => 200;
  await site.advance(1);
  const delivery = await eventually("it is made again", async () => {
    const [only] = await site.deliveries();
    expect(only?.state).toBe("succeeded");
    return only;
  });
  expect(shop.got).toHaveLength(2);
  expect(delivery?.attempts.map(({ error, status }) => error ?? status)).toEqual(["interrupted", 200]);
  expect(delivery?.tries).toBe(1);
});

test("a listener that disconnects is paused without using up an attempt, and gets all its events when it returns", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const listener = site.receiver(5000);
  const register = (body: object = {}) =>
    site.control<{ readonly id: string; readonly signing_secrets: string[]; readonly replayed: number }>(
      "/listener",
      {
        url: listener.url,
        ...body,
      },
    );
  const first = await register();
  const id = first.data.id;
  await site.order("order-1");
  await site.advance(1);
  site.harness.vacate(5000);
  await site.order("order-2");
  await site.advance(1);
  expect((await site.endpoint(id)).state).toBe("paused");
  await site.order("order-3");
  await site.advance(48 * HOUR);
  const back = site.receiver(5001);
  const again = await register({ url: back.url });
  expect([again.data.id, again.data.signing_secrets]).toEqual([id, first.data.signing_secrets]);
  await site.advance(1);
  expect(types(back.got).toSorted()).toEqual([
    "order.created",
    "order.created",
    "order.expired",
    "order.expired",
    "order.expired",
  ]);
  expect((await site.deliveries("?state=due")).length).toBe(0);
  expect((await site.deliveries()).every(({ tries }) => tries === 1)).toBe(true);
});

test("a listener can ask for earlier events, after an event or since a time", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  for (let count = 0; count < 3; count += 1) {
    await site.order();
    site.harness.clock.advance(MINUTE);
  }
  const [first, second] = await site.events();
  const listener = site.receiver(5000);
  const register = (since: object) =>
    site.control<{ readonly replayed: number }>("/listener", { url: listener.url, since });
  expect((await register({ event_id: first?.event_id })).data.replayed).toBe(2);
  await site.advance(1);
  expect(listener.got.map(({ verdict }) => verdict)).toEqual(["ok", "ok"]);
  expect((await register({ at: second?.created_at })).data.replayed).toBe(2);
  await site.advance(1);
  expect(listener.got).toHaveLength(4);
  expect((await register({ event_id: "00000000-0000-7000-8000-00000000ffff" })).error?.code).toBe(
    "not_found",
  );
});

test("every delivery fault has its effect once, and later deliveries are unchanged", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id } = await site.addEndpoint(shop.url, ["order.created", "order.cancelled"]);
  const after = async (action: string, act: () => Promise<unknown>): Promise<readonly Received[]> => {
    await site.control("/faults", { action, match: { endpoint_id: id } });
    const before = shop.got.length;
    await act();
    await site.advance(1);
    await site.advance(10 * SECOND);
    return shop.got.slice(before);
  };
  const order = () => site.order();
  const cancelled = async () => site.pay(await site.order(), "cancelled");
  const verdicts = async (action: string): Promise<string[]> =>
    (await after(action, order)).map(({ verdict }) => verdict);
  // A fault without a check here does not compile.
  const shown: Readonly<Record<DeliveryAction, () => Promise<void>>> = {
    bad_signature: async () => expect(await verdicts("bad_signature")).toEqual(["signature_mismatch"]),
    changed_body: async () => {
      expect(await verdicts("changed_body")).toEqual(["signature_mismatch"]);
      expect(shop.got.at(-1)?.event.data.amount_minor).toBe(550);
    },
    stale: async () => expect(await verdicts("stale")).toEqual(["timestamp_too_old"]),
    old_secret: async () => expect(await verdicts("old_secret")).toEqual(["signature_mismatch"]),
    drop: async () => {
      expect(await verdicts("drop")).toEqual([]);
      expect((await site.deliveries("?state=dropped")).length).toBe(1);
    },
    duplicate: async () => {
      const doubled = await after("duplicate", order);
      expect([doubled.length, new Set(doubled.map(({ event }) => event.event_id)).size]).toEqual([2, 1]);
    },
    reorder: async () =>
      expect(types(await after("reorder", cancelled))).toEqual(["order.cancelled", "order.created"]),
    delay: async () => {
      const [created] = await after("delay", cancelled);
      expect(created?.event.type).toBe("order.created");
      expect(types(await after("delay", order))).toEqual(["order.created"]);
    },
  };
  for (const show of Object.values(shown)) await show();
  const before = shop.got.length;
  await site.order();
  await site.advance(1);
  expect(shop.got.slice(before).map(({ verdict }) => verdict)).toEqual(["ok"]);
  const told = (await site.deliveries()).flatMap(({ attempts }) =>
    attempts.flatMap(({ fault }) => fault ?? []),
  );
  expect(new Set(told)).toEqual(
    new Set(["duplicate", "stale", "bad_signature", "changed_body", "old_secret"]),
  );
});

test("a delivery fault can match one event, and a removed fault is not applied", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  const add = (body: object) => site.control<{ readonly fault: { readonly id: string } }>("/faults", body);
  const left = async () =>
    (await site.control<{ readonly faults: readonly unknown[] }>("/faults")).data.faults;
  await site.order();
  await site.advance(1);
  const event = shop.got[0]?.event.event_id ?? "";
  await add({ action: "bad_signature", match: { endpoint_id: id, event_id: event } });
  await site.order();
  await site.control(`/events/${event}/replay`, {});
  await site.advance(1);
  expect(shop.got.map(({ verdict }) => verdict).toSorted()).toEqual(["ok", "ok", "signature_mismatch"]);
  const { data } = await add({ action: "stale", match: { endpoint_id: id }, times: 2 });
  expect(await left()).toMatchObject([{ id: data.fault.id, times: 2, applied: 0 }]);
  await site.remove(`/faults/${data.fault.id}`);
  expect(await left()).toEqual([]);
  await site.order();
  await site.advance(1);
  expect(shop.got.at(-1)?.verdict).toBe("ok");
});

test("an endpoint test sends webhook.test only to the tested endpoint, whatever its event types, and is refused if the endpoint is disabled", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const [shop, other] = [site.receiver(3000), site.receiver(3001)];
  const { id } = await site.addEndpoint(shop.url, ["order.succeeded"]);
  await site.addEndpoint(other.url);
  const tested = await site.control<{ readonly event_id: string }>(`/endpoints/${id}/test`, {});
  await site.advance(1);
  expect(shop.got.map(({ event, verdict }) => [event.event_id, event.type, verdict])).toEqual([
    [tested.data.event_id, "webhook.test", "ok"],
  ]);
  expect(other.got).toEqual([]);
  await site.control(`/endpoints/${id}/state`, { action: "disable" });
  expect((await site.control(`/endpoints/${id}/test`, {})).error?.code).toBe("state_conflict");
});

test("a removed endpoint gets nothing more, and its deliveries stay listed", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  shop.answers = () => 500;
  const { id } = await site.addEndpoint(shop.url);
  await site.order();
  await site.advance(1);
  expect((await site.control(`/endpoints/${id}/state`, { action: "remove" })).ok).toBe(true);
  await site.order();
  await site.advance(100 * HOUR);
  expect(shop.got).toHaveLength(1);
  expect(
    (await site.deliveries(`?endpoint_id=${id}`)).map(({ state, attempts }) => [state, attempts.length]),
  ).toEqual([["dropped", 1]]);
  expect((await site.control(`/endpoints/${id}`)).error?.code).toBe("not_found");
});

test("a dead kept-alive connection does not use up an attempt", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  await site.addEndpoint(shop.url, ["order.created"]);
  let dead = MAX_ATTEMPTS + 2;
  site.harness.setFault((request, deliver) => {
    if (!request.url.startsWith(shop.url) || dead === 0) return deliver();
    dead -= 1;
    return Promise.resolve({ ok: false, failure: "connection_lost", message: "closed", wasReused: true });
  });
  await site.order();
  for (let turn = 0; turn < 20 && shop.got.length === 0; turn += 1) await site.advance(1);
  expect(shop.got).toHaveLength(1);
  expect((await site.deliveries()).map(({ state, tries }) => [state, tries])).toEqual([["succeeded", 1]]);
});

test("a client can wait for events after a position, and gets them in order", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  await site.order("order-1");
  const [first] = await site.events("?since=0");
  expect(await site.events(`?since=${first?.position ?? 0}`)).toEqual([]);
  expect(await site.events(`?since=${first?.position ?? 0}&wait_ms=1000`)).toEqual([]);
  const waiting = site.events(`?since=${first?.position ?? 0}&wait_ms=20000`);
  await site.order("order-2");
  expect((await waiting).map(({ type }) => type)).toEqual(["order.created"]);
  expect(await site.events("?type=order.cancelled")).toEqual([]);
  const newest = (await site.events()).at(-1);
  expect((await site.events("?type=order.created&limit=1")).map(({ event_id: id }) => id)).toEqual([
    newest?.event_id,
  ]);
  expect((await site.control("/events?wait_ms=99999999")).error?.code).toBe("invalid_parameter");
  expect((await site.control("/events?since=1&since=2")).error?.code).toBe("invalid_parameter");
  expect((await site.control("/endpoints?what=1")).error?.code).toBe("invalid_parameter");
});

test("events behind an earlier event of their order are due no sooner than that event", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  shop.answers = () => 500;
  await site.addEndpoint(shop.url);
  const id = await site.order("failing");
  await site.pay(id, "succeeded");
  await site.advance(1);
  const ofOrder = async (orderId: string) => {
    const deliveries = await site.deliveries(`?order_id=${orderId}`);
    return deliveries.map(({ type, tries, next_at: next }) => ({ type, tries, next }));
  };
  const failing = await ofOrder("failing");
  const first = failing.find(({ type }) => type === "order.created");
  expect(failing.map(({ tries }) => tries)).toEqual([0, 0, 1]);
  expect(new Set(failing.map(({ next }) => next))).toEqual(new Set([first?.next]));
  await site.control("/faults", { action: "delay", latency_ms: 60_000, match: { order_id: "late" } });
  shop.answers = () => 200;
  await site.pay(await site.order("late"), "succeeded");
  const late = await ofOrder("late");
  expect(late.map(({ tries }) => tries)).toEqual([0, 0, 0]);
  expect(new Set(late.map(({ next }) => next)).size).toBe(1);
  await site.advance(120_000);
  expect((await ofOrder("late")).map(({ tries }) => tries)).toEqual([1, 1, 1]);
});

test("a client can wait for a delivery in a given state", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  expect(await site.deliveries("?wait_ms=1000")).toEqual([]);
  await site.addEndpoint(shop.url, ["order.created"]);
  const waiting = site.deliveries("?state=succeeded&wait_ms=20000");
  await site.order("order-1");
  expect((await waiting).map(({ type, state }) => [type, state])).toEqual([["order.created", "succeeded"]]);
  expect((await site.control("/deliveries?wait_ms=99999999")).error?.code).toBe("invalid_parameter");
});

test("a listener that asks for the events after an unknown event is refused and not stored", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const listener = site.receiver(5000);
  const first = await site.control<{ readonly id: string }>("/listener", { url: listener.url });
  const since = { event_id: "00000000-0000-7000-8000-00000000ffff" };
  const refused = await site.control("/listener", {
    url: "http://localhost:5001/",
    event_types: ["webhook.test"],
    since,
  });
  expect(refused.error?.code).toBe("not_found");
  expect(await site.endpoint(first.data.id)).toMatchObject({ url: listener.url, event_types: ["*"] });
});

test("the newest secret of an endpoint is listed first, even after the clock went back", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const { id } = await site.addEndpoint(site.receiver(3000).url);
  await site.advance(240 * HOUR);
  for (let turn = 0; turn < 3; turn += 1)
    await site.control(`/endpoints/${id}/secret`, { overlap_ms: 720 * HOUR });
  await site.control("/clock", { action: "real" });
  type Secrets = { readonly in_force: readonly string[] };
  const before = (await site.control<Secrets>(`/endpoints/${id}/secret`)).data.in_force;
  const [newest = ""] = (await site.control<Secrets>(`/endpoints/${id}/secret`, { overlap_ms: HOUR })).data
    .in_force;
  expect(before).not.toContain(newest);
});

test("a failed replay does not delay other deliveries, and a successful replay does not send waiting deliveries early", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id } = await site.addEndpoint(shop.url);
  const order = await site.order();
  await site.advance(1);
  const created = shop.got[0]?.event.event_id ?? "";
  shop.answers = () => 500;
  await site.control(`/events/${created}/replay`, {});
  await site.advance(1);
  shop.answers = () => 200;
  await site.pay(order, "cancelled");
  await site.advance(1);
  expect(types(shop.got)).toEqual(["order.created", "order.created", "order.cancelled"]);
  const other = await site.order();
  await site.advance(1);
  await site.control("/faults", { action: "delay", latency_ms: HOUR, match: { endpoint_id: id } });
  await site.pay(other, "cancelled");
  await site.advance(1);
  await site.control(`/events/${shop.got.at(-1)?.event.event_id ?? ""}/replay`, {});
  await site.advance(MINUTE);
  expect(types(shop.got).slice(3)).toEqual(["order.created", "order.created", "order.created"]);
  await site.advance(HOUR);
  expect(types(shop.got).at(-1)).toBe("order.cancelled");
});
