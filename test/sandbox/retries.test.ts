import { expect, test } from "vitest";
import { MAX_RETRIES } from "../../src/sandbox/webhook/replays.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite, type Received } from "../support/webhook-site.ts";
import type { WireAnswerOf } from "../support/wire.ts";
import { inOrder } from "../support/in-order.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";
import { refusalMessage, refusalText } from "../support/refusal-texts.ts";

const HOUR = 3_600_000;
type Retried = WireAnswerOf<"retryDeliveries">;
type Replayed = WireAnswerOf<"replayFailed">;

const types = (got: readonly Received[]): string[] => got.map(({ event }) => event.type);

/** A site whose receiver refused the events of paid orders, and accepts everything now. */
async function repairedSite(orders = 1, args: readonly string[] = EPHEMERAL) {
  const site = await openWebhookSite(args);
  const shop = site.receiver(3000);
  shop.answers = () => 500;
  const { id: endpointId } = await site.addEndpoint(shop.url);
  const ids: string[] = [];
  for (let count = 0; count < orders; count += 1) {
    const id = await site.order();
    await site.pay(id, "succeeded");
    ids.push(id);
  }
  await site.advance(HOUR);
  shop.answers = () => 200;
  shop.got.length = 0;
  const retry = async (body: object = {}) => (await site.control<Retried>("/deliveries/retry", body)).data;
  return { ...site, shop, endpointId, orders: ids, retry };
}

test("a retry immediately sends all waiting deliveries, every event once, and the events of each checkout in order", async () => {
  const site = await repairedSite(4);
  expect(await site.retry()).toEqual({ retried: 12, more: false });
  await site.advance(1);
  expect(site.shop.got).toHaveLength(12);
  for (const id of site.orders) {
    const ofOrder = site.shop.got.filter(({ event }) => event.data.id === id);
    expect(types(ofOrder)).toEqual(["order.created", "order.pending", "order.succeeded"]);
  }
  expect(await site.retry()).toEqual({ retried: 0, more: false });
  expect(await site.advance(200 * HOUR)).toEqual([]);
});

test("a retry can be limited to an order_id or an endpoint, and counts as an attempt of the schedule", async () => {
  const site = await repairedSite(2);
  const other = site.receiver(3001);
  const second = await site.addEndpoint(other.url);
  expect(await site.retry({ endpoint_id: second.id })).toEqual({ retried: 0, more: false });
  expect(await site.retry({ order_id: "order-2" })).toEqual({ retried: 3, more: false });
  expect(await site.retry({ order_id: "order-3" })).toEqual({ retried: 0, more: false });
  await site.advance(1);
  const [first = "", wanted = ""] = site.orders;
  expect(site.shop.got.map(({ event }) => event.data.id)).toEqual([wanted, wanted, wanted]);
  site.shop.answers = () => 500;
  const before = (await site.deliveries(`?checkout_id=${first}`)).find(({ tries }) => tries > 0);
  await site.retry({ endpoint_id: site.endpointId });
  await site.advance(1);
  const after = (await site.deliveries(`?checkout_id=${first}`)).find(({ id }) => id === before?.id);
  expect([after?.state, after?.tries]).toEqual(["due", (before?.tries ?? 0) + 1]);
});

test("a retry says why an endpoint gets nothing, and skips endpoints that are not enabled", async () => {
  const site = await repairedSite();
  for (const [action, why] of [
    ["pause", refusalText("endpoint_paused", { why: PART_TEXTS.by_request[0] })],
    ["disable", refusalText("endpoint_disabled", { why: PART_TEXTS.switched_off[0] })],
  ] as const) {
    await site.control(`/endpoints/${site.endpointId}/state`, { action });
    const named = await site.control("/deliveries/retry", { endpoint_id: site.endpointId });
    expect([named.error?.code, named.error?.message]).toEqual(["state_conflict", expect.stringMatching(why)]);
    expect(await site.retry()).toEqual({ retried: 0, more: false });
  }
  const unknown = await site.control("/deliveries/retry", { endpoint_id: site.orders[0] });
  expect(unknown.error?.code).toBe("not_found");
});

test("deliveries beyond the limit of one retry are sent by the next retry", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  shop.answers = () => 500;
  const { id } = await site.addEndpoint(shop.url);
  for (let count = 0; count <= MAX_RETRIES; count += 1) await site.control(`/endpoints/${id}/test`, {});
  await site.advance(1);
  shop.answers = () => 200;
  const retry = async () => (await site.control<Retried>("/deliveries/retry", {})).data;
  expect(await retry()).toEqual({ retried: MAX_RETRIES, more: true });
  expect(await retry()).toEqual({ retried: 1, more: false });
});

test("an accepted replay settles the waiting delivery, and the later events of the order follow immediately", async () => {
  const site = await repairedSite();
  const [created] = await site.events();
  await site.control(`/events/${created?.event_id ?? ""}/replay`, {});
  await site.advance(1);
  expect(types(site.shop.got)).toEqual(["order.created", "order.pending", "order.succeeded"]);
  const deliveries = await site.deliveries(`?event_id=${created?.event_id ?? ""}`);
  const [replay, waited] = deliveries;
  expect(deliveries.map(({ cause, state }) => [cause, state])).toEqual([
    ["replay", "succeeded"],
    ["event", "succeeded"],
  ]);
  const made = waited?.attempts.at(-1);
  const { number: _own, by: _by, ...sent } = replay?.attempts[0] ?? {};
  expect(made).toMatchObject({ ...sent, by: "replay" });
  expect(waited?.attempts.slice(0, -1).map(({ status, by }) => [status, by])).toEqual(
    Array.from({ length: waited?.tries ?? 0 }, () => [500, null]),
  );
  expect(await site.advance(200 * HOUR)).toEqual([]);
  expect(site.shop.got).toHaveLength(3);
});

test("a refused replay settles no delivery, and an accepted replay settles no later replay", async () => {
  const site = await repairedSite();
  const [created] = await site.events();
  const replay = () => site.control(`/events/${created?.event_id ?? ""}/replay`, {});
  site.shop.answers = () => 500;
  await replay();
  await site.advance(1);
  expect((await site.deliveries("?state=due")).map(({ cause }) => cause).toSorted()).toEqual([
    "event",
    "event",
    "event",
    "replay",
  ]);
  site.shop.answers = () => 200;
  site.shop.got.length = 0;
  await replay();
  await replay();
  await site.advance(1);
  expect(types(site.shop.got).filter((type) => type === "order.created")).toHaveLength(2);
  expect(await site.deliveries("?state=due")).toEqual([]);
});

test("replay-failed also sends and counts deliveries that wait after a failed attempt", async () => {
  const site = await repairedSite(4);
  const since = "2020-01-01T00:00:00Z";
  const replayed = async () => (await site.control<Replayed>("/deliveries/replay", { since })).data;
  expect(await replayed()).toEqual({ replayed: 0, retried: 4, more: false });
  await site.advance(1);
  expect(site.shop.got).toHaveLength(12);
  expect(await replayed()).toEqual({ replayed: 0, retried: 0, more: false });
});

const FAILED = { since: "2020-01-01T00:00:00Z" };

test("replay-failed neither retries nor counts the waiting deliveries of a paused endpoint", async () => {
  const site = await repairedSite();
  await site.control(`/endpoints/${site.endpointId}/state`, { action: "pause" });
  const { data } = await site.control<Replayed>("/deliveries/replay", FAILED);
  expect(data).toEqual({ replayed: 0, retried: 0, more: false });
});

test("a store whose deliveries wait for adoption refuses retry and replay-failed, and says why", async () => {
  const site = await repairedSite(1, []);
  const database = site.database();
  database.prepare("INSERT INTO held_stores (store_id) SELECT id FROM stores").run();
  database.close();
  await site.restart();
  for (const [verb, body] of [
    ["retry", {}],
    ["replay", FAILED],
  ] as const) {
    const { error } = await site.control(`/deliveries/${verb}`, body);
    expect([verb, error?.code, error?.message]).toEqual([
      verb,
      "state_conflict",
      refusalMessage("nothing_delivered", { hold: PART_TEXTS.this_foreign_store[0] }),
    ]);
  }
  await site.advance(HOUR);
  expect(site.shop.got).toEqual([]);
});

test("deliveries retry and events replay-failed say what is sent, and where to look if nothing waits", async () => {
  const site = await repairedSite();
  const run = async (...words: string[]) =>
    (await site.harness.run(["deliveries", "retry", ...words])).stdout;
  const unknown = await site.harness.run(["deliveries", "retry", "--order-id", "order-2"]);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("order-2")]);
  expect(await run("--endpoint", site.endpointId.slice(-8))).toMatch(inOrder(3, "checkout deliveries list"));
  expect(await run("--json")).toBe('{"retried":0,"more":false}\n');
  expect(await run()).toContain("checkout endpoints list");
});
