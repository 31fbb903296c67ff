import { expect, onTestFinished, test } from "vitest";
import type { HttpResponse, OutboundResult } from "../../src/world.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { eventually, runOn } from "../support/eventually.ts";
import { openWebhookSite, type Received, type Receiver } from "../support/webhook-site.ts";

const [SECOND, HOUR] = [1000, 3_600_000];
const types = (got: readonly Received[]): string[] => got.map(({ event }) => event.type);

type Site = Awaited<ReturnType<typeof openWebhookSite>>;

/** Advances real time, and lets begun work end before and after. */
async function pass({ harness }: Site, milliseconds: number): Promise<void> {
  await runOn();
  harness.clock.advance(milliseconds);
  await runOn();
}

/** Makes a receiver answer only when the test calls the returned function. */
function holdAnswer(receiver: Receiver): (status: number) => void {
  let answer = (_answer: HttpResponse): void => undefined;
  receiver.answers = () => new Promise<HttpResponse>((resolve) => void (answer = resolve));
  return (status) => answer({ status, headers: {}, body: "" });
}

/** Holds the lock of the database as another process does, until the returned function is called. */
function lock(site: Site): () => void {
  const other = site.database();
  onTestFinished(() => void other.close());
  other.exec("BEGIN IMMEDIATE");
  return () => void other.exec("ROLLBACK");
}

test("a delivery that came due while the database was locked is sent after the lock, even if no other event happens", async () => {
  const site = await openWebhookSite();
  const shop = site.receiver(3000);
  shop.answers = (number) => (number === 1 ? 500 : 200);
  await site.addEndpoint(shop.url, ["order.created"]);
  await site.order();
  await eventually("the first attempt is recorded", async () =>
    expect((await site.deliveries())[0]?.tries).toBe(1),
  );
  const unlock = lock(site);
  // The first pass ends after the delivery is due, and the second is longer than any write waits for the lock.
  await pass(site, 10 * SECOND);
  await pass(site, 10 * SECOND);
  expect(shop.got).toHaveLength(1);
  unlock();
  await pass(site, 2 * SECOND);
  expect(types(shop.got)).toEqual(["order.created", "order.created"]);
});

test("an answer that could not be recorded while the database was locked is recorded later, and nothing is sent twice", async () => {
  const site = await openWebhookSite();
  const shop = site.receiver(3000);
  const answer = holdAnswer(shop);
  await site.addEndpoint(shop.url, ["order.created"]);
  await site.order();
  await eventually("it is under way", () => expect(shop.got).toHaveLength(1));
  const unlock = lock(site);
  answer(200);
  await pass(site, 10 * SECOND);
  unlock();
  await pass(site, 2 * SECOND);
  await site.advance(HOUR);
  const [delivery] = await site.deliveries();
  expect([shop.got.length, delivery?.state, delivery?.tries]).toEqual([1, "succeeded", 1]);
});

test("a delivery whose endpoint is removed during an attempt stays dropped, whatever the receiver answers", async () => {
  for (const status of [200, 500, 410]) {
    const site = await openWebhookSite(EPHEMERAL);
    const shop = site.receiver(3000);
    const answer = holdAnswer(shop);
    const { id } = await site.addEndpoint(shop.url, ["order.created"]);
    await site.order();
    await eventually("it is under way", () => expect(shop.got).toHaveLength(1));
    await site.control(`/endpoints/${id}/state`, { action: "remove" });
    answer(status);
    const delivery = await eventually("its end is recorded", async () => {
      const [only] = await site.deliveries(`?endpoint_id=${id}`);
      expect(only?.attempts[0]?.status).toBe(status);
      return only;
    });
    const end = { state: "dropped", next_at: null, attempts: [{ next_at: null }] };
    expect([status, delivery]).toMatchObject([status, end]);
    await site.advance(100 * HOUR);
    expect([status, shop.got.length]).toEqual([status, 1]);
  }
});

test("a failing endpoint does not delay other endpoints, and its answer 410 does not disable them", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const [broken, swift] = [site.receiver(3000), site.receiver(3001)];
  broken.answers = () => 500;
  // The failing endpoint is added first, so that its deliveries are read first.
  const [failing, sound] = [await site.addEndpoint(broken.url), await site.addEndpoint(swift.url)];
  await site.pay(await site.order(), "succeeded");
  const whole = ["order.created", "order.pending", "order.succeeded"];
  await eventually("the other one has all", () => expect(types(swift.got)).toEqual(whole));
  await eventually("all of it is recorded", async () => {
    const delivered = await site.deliveries(`?endpoint_id=${sound.id}`);
    expect(delivered.map(({ state, tries }) => [state, tries])).toEqual(whole.map(() => ["succeeded", 1]));
  });
  expect(types(broken.got)).toEqual(["order.created"]);
  expect((await site.endpoint(failing.id)).failing_since).not.toBeNull();
  expect(await site.endpoint(sound.id)).toMatchObject({ state: "enabled", failing_since: null });
  broken.answers = () => 410;
  await site.advance(10 * SECOND);
  const states = async () =>
    Promise.all([failing, sound].map(async ({ id }) => (await site.endpoint(id)).state));
  expect(await states()).toEqual(["disabled", "enabled"]);
  await site.pay(await site.order(), "cancelled");
  await site.advance(1);
  expect(types(swift.got).slice(3)).toEqual(["order.created", "order.cancelled"]);
});

test("deliveries that wait for an in-flight slot are not postponed by another failing endpoint", async () => {
  const site = await openWebhookSite([...EPHEMERAL, "--deliveries-in-flight", "1"]);
  const [broken, swift] = [site.receiver(3000), site.receiver(3001)];
  await site.addEndpoint(broken.url);
  await site.addEndpoint(swift.url);
  const fail = holdAnswer(broken);
  const order = await site.order();
  await eventually("both have its first event", () =>
    expect([broken.got.length, swift.got.length]).toEqual([1, 1]),
  );
  const take = holdAnswer(swift);
  await site.order();
  await eventually("another order takes the place", () => expect(swift.got).toHaveLength(2));
  await site.pay(order, "cancelled");
  fail(500);
  await runOn();
  take(200);
  await eventually("the later event of the first order comes at once", () =>
    expect(types(swift.got)).toEqual(["order.created", "order.created", "order.cancelled"]),
  );
});

test("a stopping sandbox sends nothing more and records the last answers, and the next start continues with the next events", async () => {
  const site = await openWebhookSite();
  const shop = site.receiver(3000);
  const answer = holdAnswer(shop);
  await site.addEndpoint(shop.url);
  const order = await site.order();
  await site.pay(order, "cancelled");
  await eventually("the first event is under way", () => expect(shop.got).toHaveLength(1));
  const stopped = site.stop();
  answer(200);
  await stopped;
  await runOn();
  expect(types(shop.got)).toEqual(["order.created"]);
  shop.answers = () => 200;
  await site.restart();
  await site.advance(1);
  expect(types(shop.got)).toEqual(["order.created", "order.cancelled"]);
  const tries = (await site.deliveries()).map(({ attempts }) =>
    attempts.map(({ error, status }) => error ?? status),
  );
  expect(tries).toEqual([[200], [200]]);
});

test("a retry uses a fresh connection after a lost connection or an invalid answer, and may reuse the connection after a timeout or an error status", async () => {
  const failure = (
    kind: "connection_lost" | "bad_answer" | "timeout",
    wasReused: boolean,
  ): OutboundResult => ({
    ok: false,
    failure: kind,
    message: "closed",
    wasReused,
  });
  const rows: readonly (readonly [string, OutboundResult, string, number])[] = [
    ["a kept one that was closed", failure("connection_lost", true), "fresh", 1],
    ["a kept one that said too much", failure("bad_answer", true), "fresh", 1],
    ["a fresh one that was closed", failure("connection_lost", false), "fresh", 2],
    ["a fresh one that said nonsense", failure("bad_answer", false), "fresh", 2],
    ["a kept one that took too long", failure("timeout", true), "kept", 2],
    ["an answer", { ok: true, status: 500, headers: {}, body: "" }, "kept", 2],
  ];
  for (const [what, first, next, tries] of rows) {
    const site = await openWebhookSite(EPHEMERAL);
    const shop = site.receiver(3000);
    await site.addEndpoint(shop.url, ["order.created"]);
    const connections: unknown[] = [];
    site.harness.setFault((request, deliver) => {
      if (!request.url.startsWith(shop.url)) return deliver();
      connections.push(request.connection);
      return connections.length === 1 ? Promise.resolve(first) : deliver();
    });
    await site.order();
    await site.advance(10 * SECOND);
    await eventually("it has come", () => expect(shop.got).toHaveLength(1));
    const [delivery] = await site.deliveries();
    expect([what, connections, delivery?.tries]).toEqual([what, ["kept", next], tries]);
  }
});

test("a 410 to an attempt that began before a pause does not disable the endpoint", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const answer = holdAnswer(shop);
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  await site.order();
  await eventually("it is under way", () => expect(shop.got).toHaveLength(1));
  await site.control(`/endpoints/${id}/state`, { action: "pause" });
  answer(410);
  await eventually("its end is recorded", async () =>
    expect((await site.deliveries())[0]?.state).toBe("failed"),
  );
  expect(await site.endpoint(id)).toMatchObject({ state: "paused", failing_since: null });
});

test("a failed attempt at a listener's old address does not pause its new registration", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const [old, fresh] = [site.receiver(5000), site.receiver(5001)];
  const register = async ({ url }: { readonly url: string }) =>
    (await site.control<{ readonly id: string }>("/listener", { url })).data.id;
  const id = await register(old);
  let fail = (): void => undefined;
  const lost = new Promise<OutboundResult>(
    (resolve) => (fail = () => resolve({ ok: false, failure: "unreachable", message: "refused" })),
  );
  let asked = 0;
  site.harness.setFault((request, deliver) => {
    if (!request.url.startsWith(old.url)) return deliver();
    asked += 1;
    return lost;
  });
  await site.order();
  await eventually("it is under way to the old one", () => expect(asked).toBe(1));
  expect(await register(fresh)).toBe(id);
  fail();
  await site.advance(10 * SECOND);
  await eventually("it comes to the new one", () => expect(types(fresh.got)).toEqual(["order.created"]));
  expect((await site.endpoint(id)).state).toBe("enabled");
});

test("a delivery is sent even if more dropped deliveries precede it than one search reads, and no other event happens", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  await site.control(`/endpoints/${id}/state`, { action: "pause" });
  const dropped = 120;
  await site.control("/faults", { action: "drop", match: { endpoint_id: id }, times: dropped });
  const orders: string[] = [];
  for (let count = 0; count <= dropped; count += 1) orders.push(await site.order());
  await site.control(`/endpoints/${id}/state`, { action: "enable" });
  await runOn();
  // Other writes get their turn before the rest is read.
  const first = await site.deliveries("?state=dropped&limit=1000");
  expect([first.length, new Set(first.map(({ fault }) => fault?.action))]).toEqual([100, new Set(["drop"])]);
  for (let turn = 0; turn < 5; turn += 1) await pass(site, 1);
  expect(shop.got.map(({ event }) => event.data.id)).toEqual(orders.slice(-1));
  // An idle sandbox sets no timer for work that is already due: such a timer would poll forever.
  const now = site.harness.clock.now();
  expect(site.harness.clock.pending().filter((at) => at <= now)).toEqual([]);
});

test("the in-flight slot of a dropped delivery is taken by exactly one other delivery", async () => {
  const site = await openWebhookSite([...EPHEMERAL, "--deliveries-in-flight", "2"]);
  const shop = site.receiver(3000);
  holdAnswer(shop);
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  await site.control(`/endpoints/${id}/state`, { action: "pause" });
  for (let count = 1; count <= 6; count += 1) await site.order(`o-${count}`);
  await site.control("/faults", { action: "drop", match: { order_id: "o-2" } });
  await site.control(`/endpoints/${id}/state`, { action: "enable" });
  await runOn();
  expect(shop.got).toHaveLength(2);
});

test("neither an unreachable endpoint nor a listener that closes the connection is paused, and their deliveries wait for a retry", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const nobody = await site.addEndpoint("http://localhost:3999/hooks", ["order.created"]);
  const { url } = site.receiver(5000);
  const listener = await site.control<{ readonly id: string }>("/listener", { url });
  site.harness.setFault((request, deliver) =>
    request.url === url
      ? Promise.resolve({ ok: false, failure: "connection_lost", message: "closed", wasReused: false })
      : deliver(),
  );
  await site.order();
  await site.advance(1);
  for (const id of [nobody.id, listener.data.id]) {
    const failing = { state: "enabled", failing_since: expect.any(String) as string };
    expect(await site.endpoint(id)).toMatchObject(failing);
    expect(await site.deliveries(`?endpoint_id=${id}`)).toMatchObject([{ state: "due", tries: 1 }]);
  }
});

test("an attempt is recorded with the receiver's IP address, and a forbidden attempt without an address", async () => {
  const site = await openWebhookSite([...EPHEMERAL, "--allow-target", "shop.example"]);
  const address = "10.1.2.3";
  site.harness.name("shop.example", [address]);
  const asked: string[] = [];
  site.harness.setFault((request, deliver) => {
    if (!request.url.startsWith("http://shop.example")) return deliver();
    asked.push(request.url);
    return Promise.resolve({ ok: true, status: 200, headers: {}, body: "thanks", address });
  });
  await site.addEndpoint("http://shop.example/hooks", ["order.created"]);
  await site.order();
  await site.advance(1);
  const [sent] = await site.deliveries();
  expect(sent).toMatchObject({ state: "succeeded", attempts: [{ status: 200, address, answer: "thanks" }] });
  site.harness.name("shop.example", ["169.254.169.254"]);
  await site.order();
  await site.advance(1);
  const [forbidden] = await site.deliveries();
  const attempt = { status: null, error: "target_forbidden", address: null, answer: null };
  expect([asked.length, forbidden]).toMatchObject([1, { state: "due", tries: 1, attempts: [attempt] }]);
});

test("a dead kept-alive connection does not count as a failure of the endpoint", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const answer = holdAnswer(shop);
  const { id } = await site.addEndpoint(shop.url, ["order.created"]);
  let isDead = true;
  site.harness.setFault((request, deliver) => {
    if (!request.url.startsWith(shop.url) || !isDead) return deliver();
    isDead = false;
    return Promise.resolve({ ok: false, failure: "connection_lost", message: "closed", wasReused: true });
  });
  await site.order();
  await eventually("it is under way again", () => expect(shop.got).toHaveLength(1));
  expect(await site.endpoint(id)).toMatchObject({ state: "enabled", failing_since: null });
  answer(200);
});

test("a failed or delayed replay does not postpone waiting events", async () => {
  for (const how of ["fails", "is delayed"]) {
    const site = await openWebhookSite(EPHEMERAL);
    const shop = site.receiver(3000);
    const { id } = await site.addEndpoint(shop.url);
    const order = await site.order();
    await site.advance(1);
    const created = shop.got[0]?.event.event_id ?? "";
    const [match, done] = [{ endpoint_id: id, event_id: created }, { ok: true }];
    shop.answers = () => 500;
    await site.pay(order, "cancelled");
    // The delivery has its second attempt 4 to 6 s after its first, and the replay 4 to 6 s after its own first
    // attempt.
    await site.advance(3 * SECOND);
    if (how === "is delayed")
      expect(await site.control("/faults", { action: "delay", latency_ms: HOUR, match })).toMatchObject(done);
    await site.control(`/events/${created}/replay`, {});
    await site.advance(1);
    shop.answers = () => 200;
    await site.advance(3 * SECOND + 200);
    const came = types(shop.got).filter((type) => type === "order.cancelled");
    expect([how, came.length]).toEqual([how, 2]);
  }
});

test("events behind a delayed event have their next attempt at the end of the delay", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  const { id } = await site.addEndpoint(shop.url);
  await site.control(`/endpoints/${id}/state`, { action: "pause" });
  await site.pay(await site.order(), "succeeded");
  await site.control("/faults", { action: "delay", latency_ms: HOUR });
  await site.control(`/endpoints/${id}/state`, { action: "enable" });
  await runOn();
  const until = new Date(site.harness.clock.now() + HOUR).toISOString();
  expect((await site.deliveries()).map(({ next_at: at }) => at)).toEqual([until, until, until]);
});

test("after the clock went back, events behind a sent or dropped event do not wait for that event's old due time", async () => {
  const site = await openWebhookSite([...EPHEMERAL, "--deliveries-in-flight", "1"]);
  const shop = site.receiver(3000);
  const answer = holdAnswer(shop);
  await site.addEndpoint(shop.url);
  await site.order("taken");
  await eventually("the first one is under way", () => expect(shop.got).toHaveLength(1));
  await site.order("dropped");
  let isMoved = false;
  void site.advance(HOUR).then(() => (isMoved = true));
  await eventually("the clock was moved", async () => {
    await pass(site, SECOND);
    expect(isMoved).toBe(true);
  });
  await site.control("/clock", { action: "real" });
  const match = { order_id: "dropped", event_type: "order.created" };
  await site.control("/faults", { action: "drop", match });
  shop.answers = () => 200;
  answer(200);
  await eventually("both have expired for the shop", () =>
    expect(types(shop.got)).toEqual(["order.created", "order.expired", "order.expired"]),
  );
});

test("a delivery is not retried while the store's clock is frozen, and is retried when the clock moves", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  shop.answers = (number) => (number === 1 ? 500 : 200);
  await site.addEndpoint(shop.url, ["order.created"]);
  await site.control("/clock", { action: "freeze" });
  await site.order();
  await eventually("the first attempt is recorded", async () =>
    expect((await site.deliveries())[0]?.tries).toBe(1),
  );
  await pass(site, HOUR);
  expect(shop.got).toHaveLength(1);
  await site.advance(10 * SECOND);
  expect((await site.deliveries())[0]).toMatchObject({ state: "succeeded", tries: 2 });
});

test("a clock move lists its attempts in the order in which they started, not ended", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const [slow, swift] = [site.receiver(3000), site.receiver(3001)];
  const ids: string[] = [];
  for (const { url } of [slow, swift]) ids.push((await site.addEndpoint(url, ["order.expired"])).id);
  await site.order();
  const answer = holdAnswer(slow);
  const moved = site.advance(2 * HOUR);
  await eventually("the second one is answered", () =>
    expect([slow.got.length, swift.got.length]).toEqual([1, 1]),
  );
  await runOn();
  answer(200);
  expect((await moved).map(({ endpoint_id: id, status }) => [id, status])).toEqual(
    ids.map((id) => [id, 200]),
  );
});

test("a clock move waits 20 s for a silent receiver, and lists the other attempts", async () => {
  const site = await openWebhookSite([...EPHEMERAL, "--delivery-timeout", "60s"]);
  const [stuck, swift] = [site.receiver(3000), site.receiver(3001)];
  const ids: string[] = [];
  for (const { url } of [stuck, swift]) ids.push((await site.addEndpoint(url, ["order.expired"])).id);
  await site.order();
  const answer = holdAnswer(stuck);
  let delivered: Awaited<ReturnType<Site["advance"]>> | undefined;
  const moved = site.advance(2 * HOUR).then((attempts) => (delivered = attempts));
  await eventually("both have the event", () => expect([stuck.got.length, swift.got.length]).toEqual([1, 1]));
  await pass(site, 19 * SECOND);
  expect(delivered).toBeUndefined();
  await pass(site, SECOND);
  await moved;
  expect(delivered?.map(({ endpoint_id: id }) => id)).toEqual(ids.slice(1));
  answer(200);
  await eventually("the answer counts nevertheless", async () =>
    expect((await site.deliveries()).map(({ state }) => state)).toEqual(["succeeded", "succeeded"]),
  );
});

test("a clock move waits only for due attempts, not for attempts of later events", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const [busy, failing, other] = [site.receiver(3000), site.receiver(3001), site.receiver(3002)];
  await site.addEndpoint(busy.url, ["order.created", "order.expired"]);
  await site.addEndpoint(failing.url, ["order.expired"]);
  await site.addEndpoint(other.url, ["order.created"]);
  for (let count = 0; count < 2; count += 1) await site.order();
  await eventually("both orders are known", () =>
    expect([busy.got.length, other.got.length]).toEqual([2, 2]),
  );
  let isOver = false;
  busy.answers = async () => {
    if (!isOver) await site.order();
    return { status: 200, headers: {}, body: "" };
  };
  failing.answers = () => 500;
  const delivered = await site.advance(HOUR + SECOND);
  isOver = true;
  const expired = delivered.filter(({ type }) => type === "order.expired");
  const withStatus = (wanted: number): number => expired.filter(({ status }) => status === wanted).length;
  expect([withStatus(200), withStatus(500), expired.length]).toEqual([2, 2, 4]);
});

test("a start immediately repeats the attempts that the last stop interrupted, and records them at the store's time", async () => {
  const site = await openWebhookSite();
  const shop = site.receiver(3000);
  holdAnswer(shop);
  await site.addEndpoint(shop.url, ["order.created"]);
  await site.advance(48 * HOUR);
  await site.order();
  await eventually("it is under way", () => expect(shop.got).toHaveLength(1));
  shop.answers = () => 200;
  await site.restart();
  await eventually("it is made again", () => expect(shop.got).toHaveLength(2));
  const [delivery] = await site.deliveries();
  const [first, second] = delivery?.attempts ?? [];
  expect(first?.error).toBe("interrupted");
  expect(
    [first?.finished_at, second?.started_at].every((at) => (at ?? "") >= (first?.started_at ?? "~")),
  ).toBe(true);
});
