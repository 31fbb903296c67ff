import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { ENDPOINT_REASONS } from "../../src/core/refusals/parts.ts";
import { COMMON_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { FAULT_SIGNATURES, WEBHOOK_TEXTS } from "../../src/sandbox/pages/portal/webhook/texts.ts";
import { deliveryCause } from "../support/delivery-causes.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { eventually } from "../support/eventually.ts";
import { HOSTILE_TEXTS } from "../support/hostile-texts.ts";
import { signedIn } from "../support/portal.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const SECRET = /whsec_[\w-]{43}/;
const UNKNOWN = "00000000-0000-7000-8000-00000000dead";
const DAY_MS = 86_400_000;
/** More deliveries than a page reads. */
const BACKLOG = 120;

async function openSite(args = EPHEMERAL) {
  const site = await openWebhookSite(args);
  const portal = await signedIn(site.harness, site.sandbox());
  const webhooks = `${portal.home}/webhooks`;
  /** All deliveries, once none is in flight. */
  const settled = (query = "") =>
    eventually("the deliveries have ended", async () => {
      const deliveries = await site.deliveries(query);
      for (const { attempts } of deliveries)
        for (const { finished_at } of attempts) expect(finished_at).not.toBeNull();
      expect(deliveries.some(({ state, tries }) => state === "due" && tries === 0)).toBe(false);
      return deliveries;
    });
  return { ...site, portal, webhooks, settled };
}

test("the portal adds an endpoint with its event types, and shows its secret once, and again only on request", async () => {
  const { portal, webhooks, harness, settled, receiver } = await openSite();
  const empty = await portal.get(webhooks);
  expect(empty.text).toContain("checkout endpoints add http://localhost:3000/hooks");
  const hooks = receiver(3000);
  const added = await portal.post(`${webhooks}/endpoints`, {
    url: hooks.url,
    "type order.succeeded": "on",
    "type webhook.test": "on",
  });
  expect(added.status).toBe(303);
  const first = await portal.get(added.location ?? "");
  const [secret = ""] = SECRET.exec(first.html) ?? [];
  expect(secret).not.toBe("");
  expect(first.text).toContain("order.succeeded, webhook.test");
  const again = await portal.get(added.location ?? "");
  expect(again.status).toBe(200);
  for (const path of [added.location ?? "", webhooks, `${webhooks}/events`])
    expect((await portal.get(path)).html).not.toMatch(SECRET);
  const at = (added.location ?? "").split("?")[0] ?? "";
  expect((await portal.act(`${at}/secret`)).html).toContain(secret);
  expect((await harness.run(["endpoints", "secret"])).stdout.trim()).toBe(secret);
  const tested = await portal.act(`${at}/test`);
  expect(tested.text).toContain("webhook.test");
  await settled();
  const [{ headers, body } = { headers: {} as Record<string, string>, body: "" }] = hooks.got;
  const hmac = createHmac("sha256", secret).update(`${headers["Checkout-Timestamp"] ?? ""}.${body}`);
  expect(headers["Checkout-Signature"]).toBe(hmac.digest("hex"));
});

test("the portal rotates an endpoint's secret, pauses, disables, enables and removes the endpoint, and shows the reason of its state", async () => {
  const { portal, webhooks, addEndpoint, receiver, endpoint, control, harness } = await openSite();
  const { id } = await addEndpoint(receiver(3000).url);
  const at = `${webhooks}/endpoints/${id}`;
  const before = (await control<{ in_force: string[] }>(`/endpoints/${id}/secret`)).data.in_force;
  const rotated = await portal.act(`${at}/rotate`, { overlap_ms: "3600000" });
  const after = (await control<{ in_force: string[] }>(`/endpoints/${id}/secret`)).data.in_force;
  expect(after).toHaveLength(2);
  expect(after[1]).toBe(before[0]);
  expect(rotated.html).toContain(after[0]);
  expect(rotated.html).not.toContain(after[1]);
  const both = await portal.act(`${at}/secret`);
  for (const secret of after) expect(both.html).toContain(secret);
  const paused = await portal.act(`${at}/state`, { action: "pause" });
  const { endpointStates, pausedBy } = WEBHOOK_TEXTS;
  expect(paused.text).toMatch(inOrder(endpointStates.paused, pausedBy.request, ENDPOINT_REASONS.by_request));
  expect((await endpoint(id)).state).toBe("paused");
  await portal.act(`${at}/state`, { action: "enable" });
  const typed = await harness.run(["endpoints", "pause", id]);
  expect([typed.code, typed.stdout]).toEqual([
    0,
    expect.stringContaining("http://localhost:3000/hooks") as string,
  ]);
  expect((await endpoint(id)).state).toBe("paused");
  const disabled = await portal.act(`${at}/state`, { action: "disable" });
  const switchedOff = `${english(endpointStates.disabled)} ${english(ENDPOINT_REASONS.switched_off)}`;
  expect(disabled.text).toContain(switchedOff);
  expect((await portal.get(webhooks)).text).toContain(switchedOff);
  expect((await portal.act(`${at}/state`, { action: "enable" })).text).toContain(
    english(endpointStates.enabled),
  );
  const removed = await portal.act(`${at}/remove`);
  expect(removed.html).not.toContain(id);
  expect((await portal.get(at)).status).toBe(404);
  expect(paused.text).toContain(english(WEBHOOK_TEXTS.removeAsk));
});

test("a refused form of an endpoint, event or delivery is answered with a page with the reason, and changes nothing", async () => {
  const { portal, webhooks, addEndpoint, control } = await openSite();
  const { id } = await addEndpoint("http://localhost:3000/hooks");
  const rows = [
    [`${webhooks}/endpoints`, { url: "http://localhost:3000/hooks" }, 409, refusalText("endpoint_exists")],
    [`${webhooks}/endpoints`, { url: "https://example.com/hooks" }, 400, refusalText("target_not_local")],
    [
      `${webhooks}/endpoints`,
      { url: "http://localhost:3009", "type order.nothing": "on" },
      400,
      refusalText("not_event_type"),
    ],
    [`${webhooks}/endpoints`, {}, 400, refusalText("target_not_url")],
    [`${webhooks}/endpoints/${id}/rotate`, { overlap_ms: "-1" }, 400, "overlap_ms"],
    [`${webhooks}/endpoints/${id}/rotate`, { overlap_ms: "x" }, 400, "overlap_ms"],
    [`${webhooks}/endpoints/${id}/state`, { action: "explode" }, 400, "action"],
    [`${webhooks}/endpoints/${UNKNOWN}/test`, {}, 404, UNKNOWN],
    [`${webhooks}/events/${UNKNOWN}/replay`, {}, 404, UNKNOWN],
    [`${webhooks}/deliveries/replay`, { since: "yesterday" }, 400, "since"],
    [`${webhooks}/deliveries/retry`, { endpoint_id: UNKNOWN }, 404, UNKNOWN],
  ] as const;
  for (const [path, fields, status, said] of rows) {
    const refused = await portal.post(path, fields);
    expect([path, refused.status, refused.headers["Content-Type"]]).toEqual([
      path,
      status,
      "text/html; charset=utf-8",
    ]);
    expect([path, refused.text]).toEqual([path, expect.stringMatching(said)]);
  }
  await portal.act(`${webhooks}/endpoints/${id}/state`, { action: "disable" });
  expect((await portal.post(`${webhooks}/endpoints/${id}/test`)).status).toBe(409);
  for (const query of ["state=broken", "type=order.nothing", `before=${UNKNOWN}`])
    expect([400, 404]).toContain((await portal.get(`${webhooks}?${query}`)).status);
  const { data } = await control<{ endpoints: unknown[] }>("/endpoints");
  expect(data.endpoints).toHaveLength(1);
});

test("the page of a delivery shows every attempt as it was sent, the cause of a failure, and the next attempt", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, settled, advance, harness } = await openSite();
  const hooks = receiver(3000);
  hooks.answers = (number) => (number === 1 ? { status: 500, body: "TypeError: order is undefined" } : 204);
  await addEndpoint(hooks.url);
  await order("order-7");
  const [{ id, event_id: eventId } = { id: "", event_id: "" }] = await settled();
  const list = await portal.get(webhooks);
  expect(list.text).toMatch(/5xx × 1/);
  expect(list.text).toContain(english(WEBHOOK_TEXTS.dueCount("1")));
  const failed = await portal.get(`${webhooks}/deliveries/${id}`);
  const [sent] = hooks.got;
  for (const [name, value] of Object.entries(sent?.headers ?? {}))
    if (/^(Checkout-|Content-Type|User-Agent)/.test(name)) expect(failed.text).toContain(`${name}: ${value}`);
  expect(failed.html).toContain((sent?.body ?? "").replaceAll('"', "&quot;"));
  expect(failed.text).toContain("TypeError: order is undefined");
  const { nextAttempt, signedBy, verifies } = WEBHOOK_TEXTS;
  for (const words of [deliveryCause("5xx"), signedBy.store, verifies, nextAttempt])
    expect(failed.text).toContain(english(words));
  await advance(10_000);
  await settled();
  const taken = await portal.get(`${webhooks}/deliveries/${id}`);
  expect(taken.text).toContain(english(WEBHOOK_TEXTS.tryNumber(2)));
  expect(taken.text).toContain(english(WEBHOOK_TEXTS.nextOf.succeeded));
  const [, line = ""] = /(checkout webhooks verify [^<]+)</.exec(taken.html) ?? [];
  const body = (await harness.run(["events", "get", eventId, "--body"])).stdout;
  const { writeFileSync } = await import("node:fs");
  writeFileSync(`${harness.cwd}/body.json`, body);
  const verified = await harness.run([...line.split(" ").slice(1), "--json"]);
  expect([line, verified.code, JSON.parse(verified.stdout)]).toMatchObject([line, 0, { valid: true }]);
  const replayed = await portal.act(`${webhooks}/events/${eventId}/replay`, { endpoint_id: "" });
  const cause = `${english(WEBHOOK_TEXTS.causeOf)} ${english(WEBHOOK_TEXTS.causes.replay)}`;
  expect(replayed.text).toContain(cause);
  await settled();
  expect(hooks.got).toHaveLength(3);
  expect(hooks.got[2]?.body).toBe(hooks.got[0]?.body);
});

test("an endpoint's answers are still shown when many of its deliveries are waiting", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, settled, control } = await openSite();
  const hooks = receiver(3000);
  hooks.answers = () => 500;
  await addEndpoint(hooks.url);
  await order("failing");
  await settled();
  const { data } = await control<{ endpoints: { id: string }[] }>("/endpoints");
  const path = `${webhooks}/endpoints/${data.endpoints[0]?.id ?? ""}`;
  const { endpointStates, failing, failingSince } = WEBHOOK_TEXTS;
  const failure = `${english(failing)} ${english(COMMON_TEXTS.since)} 2026-`;
  for (const at of [path, webhooks]) expect((await portal.get(at)).text).toContain(failure);
  // The badge shows the failure instead of the state.
  expect((await portal.get(path)).text).not.toContain(
    `${english(endpointStates.enabled)} ${english(failingSince)}`,
  );
  await portal.act(`${path}/state`, { action: "pause" });
  for (let number = 0; number < BACKLOG; number += 1) await order(`waiting-${number}`);
  const page = await portal.get(path);
  expect(page.text).toContain(english(WEBHOOK_TEXTS.dueCount("99+")));
  expect(page.text).toContain("5xx × 1");
});

test("a delivery's page recomputes the signature with the secret of the attempt, and shows no signature if that secret is unknown", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, settled, harness, control } = await openSite();
  const hooks = receiver(3000);
  const { id: endpointId } = await addEndpoint(hooks.url);
  const rotate = (overlapMs: number) => control(`/endpoints/${endpointId}/secret`, { overlap_ms: overlapMs });
  await order("order-1");
  await settled();
  harness.clock.advance(1000);
  await rotate(60_000);
  harness.clock.advance(1000);
  await order("order-2");
  await settled();
  harness.clock.advance(61_000);
  await order("order-3");
  await settled();
  // The clock is frozen, so the secret is rotated at the moment of the attempt.
  harness.clock.advance(1000);
  await control("/clock", { action: "freeze" });
  await order("order-4");
  await settled();
  await rotate(0);
  const deliveries = (await settled()).toReversed();
  const said = [
    WEBHOOK_TEXTS.signedBy.store,
    WEBHOOK_TEXTS.signedByBoth(2),
    WEBHOOK_TEXTS.signedBy.endpoint,
    WEBHOOK_TEXTS.signingUnknown.rotated,
  ].map(english);
  expect(deliveries).toHaveLength(4);
  for (const [index, { id }] of deliveries.entries()) {
    const shown = await portal.get(`${webhooks}/deliveries/${id}`);
    expect(shown.text).toContain(said[index]);
    const signature = hooks.got[index]?.headers["Checkout-Signature"] ?? "";
    expect([index, shown.text.includes(`Checkout-Signature: ${signature}`)]).toEqual([index, index < 3]);
    expect(shown.html).not.toMatch(SECRET);
  }
});

test.for([
  ["bad_signature", ""],
  ["stale", "3600 s"],
  ["changed_body", ""],
  ["old_secret", ""],
] as const)("a delivery's page says how fault %s breaks the signature", async ([action, reason]) => {
  const { portal, webhooks, addEndpoint, receiver, order, settled, control } = await openSite();
  const hooks = receiver(3000);
  await addEndpoint(hooks.url);
  await control("/faults", { action, times: 1 });
  await order();
  const [{ id } = { id: "" }] = await settled();
  const shown = await portal.get(`${webhooks}/deliveries/${id}`);
  const invalid = WEBHOOK_TEXTS.verifiesNot("{before}" + reason + "{after}");
  expect(shown.text).toMatch(inOrder(FAULT_SIGNATURES[action], invalid));
  const [sent] = hooks.got;
  expect(shown.text).toContain(`Checkout-Signature: ${sent?.headers["Checkout-Signature"]}`);
  expect(shown.html).toContain((sent?.body ?? "").replaceAll('"', "&quot;"));
});

test("answers of hostile receivers are escaped", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, settled } = await openSite();
  const hooks = receiver(3000);
  const answers = [
    ...HOSTILE_TEXTS,
    `<script>${"x".repeat(65_536)}</script>`,
    "\u0000\u0001\u202e\u2066",
    '{"a":"<script>alert(1)</script>"}',
    // Indented, each of these would make a page of megabytes.
    "[".repeat(2000) + "]".repeat(2000),
    '{"a":'.repeat(600) + "1" + "}".repeat(600),
  ];
  hooks.answers = (number) => ({
    status: 400,
    body: answers[number - 1] ?? "",
    headers: { "X-<script>": "<img src=x onerror=alert(1)>" },
  });
  await addEndpoint(hooks.url);
  for (const [index] of answers.entries()) await order(`order-${index}`);
  for (const { id } of await settled("?limit=200")) {
    const { html, status } = await portal.get(`${webhooks}/deliveries/${id}`);
    expect(status).toBe(200);
    expect(html.length).toBeLessThan(60_000);
    // Except for our own scripts, the page has none of these elements.
    expect(html.replaceAll(/<script src="\/[\w/.?=-]+" defer><\/script>/g, "")).not.toMatch(
      /<script|<img|<svg|<iframe|<base/i,
    );
    // eslint-disable-next-line no-control-regex
    expect(html).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e\u2066-\u2069\u200b]/u);
  }
});

test("deliveries are filtered by endpoint, state and type, page by page", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, settled, pay, deliveries, control } =
    await openSite();
  const [one, two] = [receiver(3000), receiver(3001)];
  two.answers = () => 500;
  const { id: first } = await addEndpoint(one.url);
  const { id: second } = await addEndpoint(two.url, ["order.succeeded"]);
  for (let number = 1; number <= 60; number += 1) {
    const id = await order();
    if (number % 20 === 0) await pay(id, "succeeded");
  }
  await settled("?limit=1000");
  const idsOn = (html: string): string[] =>
    [...html.matchAll(/webhooks\/deliveries\/([\da-f-]{36})"/g)].map(([, id = ""]) => id);
  const readAll = async (query: string): Promise<string[]> => {
    const ids: string[] = [];
    for (let path: string | undefined = `${webhooks}?${query}`; path !== undefined;) {
      const { html } = await portal.get(path);
      const shown = idsOn(html);
      expect(shown.length).toBeLessThanOrEqual(50);
      ids.push(...shown);
      path = /<a href="([^"]+)"\s+rel="next"/.exec(html)?.[1]?.replaceAll("&amp;", "&");
    }
    return ids;
  };
  const expected = async (query: string, type?: string): Promise<string[]> =>
    (await deliveries(`?limit=1000${query}`)).flatMap((one_) =>
      type === undefined || one_.type === type ? [one_.id] : [],
    );
  for (const [asked, query, type] of [
    ["", "", undefined],
    [`endpoint=${first}`, `&endpoint_id=${first}`, undefined],
    [`endpoint=${second}&state=due`, `&endpoint_id=${second}&state=due`, undefined],
    ["state=succeeded", "&state=succeeded", undefined],
    ["type=order.succeeded", "", "order.succeeded"],
    [`endpoint=${first}&type=order.created`, `&endpoint_id=${first}`, "order.created"],
    ["type=checkout_session.expired", "", "checkout_session.expired"],
  ] as const) {
    const all = await readAll(asked);
    expect([asked, all]).toEqual([asked, await expected(query, type)]);
  }
  expect((await portal.get(`${webhooks}?state=dropped`)).text).toContain(english(COMMON_TEXTS.noMatch));
  expect((await control("/endpoints")).ok).toBe(true);
});

test("a button sends waiting deliveries, and a delivery that a replay settled shows the replay's attempt", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, advance, deliveries } = await openSite();
  const hooks = receiver(3000);
  hooks.answers = () => 500;
  const { id } = await addEndpoint(hooks.url, ["order.created"]);
  await order("order-1");
  await order("order-2");
  await advance(1);
  hooks.answers = () => 200;
  const [, first] = await deliveries();
  await portal.act(`${webhooks}/events/${first?.event_id ?? ""}/replay`, { endpoint_id: "" });
  const page = await portal.get(`${webhooks}/deliveries/${first?.id ?? ""}`);
  const { causes, notices, states, tryNumber } = WEBHOOK_TEXTS;
  expect(page.text).toMatch(inOrder(states.succeeded, tryNumber(2), causes.replay));
  for (const at of [webhooks, `${webhooks}/endpoints/${id}`])
    expect((await portal.get(at)).html).toContain(`action="${webhooks}/deliveries/retry"`);
  const sent = await portal.act(`${webhooks}/deliveries/retry`, { endpoint_id: id });
  expect(sent.text).toContain(english(notices.retried(1, false)));
  await advance(1);
  expect(await deliveries("?state=due")).toEqual([]);
  const none = await portal.act(`${webhooks}/deliveries/retry`);
  expect(none.text).toContain(english(notices.retried(0, false)));
});

test("replaying failed deliveries sends exactly the deliveries that failed since a time", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, settled, advance, harness } = await openSite([
    "--delivery-schedule",
    "0s",
  ]);
  const hooks = receiver(3000);
  hooks.answers = () => 500;
  await addEndpoint(hooks.url);
  await order("order-1");
  await settled();
  await advance(2 * DAY_MS);
  const moment = new Date(harness.clock.now() + 2 * DAY_MS - 3_600_000).toISOString();
  for (const name of ["order-2", "order-3"]) await order(name);
  await settled();
  hooks.answers = () => 200;
  await order("order-4");
  await settled();
  hooks.got.length = 0;
  const form = await portal.get(webhooks);
  expect(form.html).toContain(`action="${webhooks}/deliveries/replay"`);
  const replayed = await portal.act(`${webhooks}/deliveries/replay`, { since: moment });
  expect(replayed.text).toContain(english(WEBHOOK_TEXTS.replayedCount("2")));
  await settled();
  expect(hooks.got.map(({ event }) => event.data)).toMatchObject([
    { order_id: "order-2" },
    { order_id: "order-3" },
  ]);
  const none = await portal.act(`${webhooks}/deliveries/replay`, { since: moment });
  const nothingFailed = english(WEBHOOK_TEXTS.nothingFailed);
  expect(none.text).toContain(nothingFailed);
  expect((await portal.get(webhooks)).text).not.toContain(nothingFailed);
  const typed = await harness.run(["events", "replay-failed", "--since", "7d"]);
  expect([typed.code, typed.stdout]).toEqual([
    0,
    expect.stringMatching(/ 2 .*\n.*checkout deliveries list\n$/) as string,
  ]);
  await settled();
  expect(hooks.got).toHaveLength(4);
  const nothing = await harness.run(["events", "replay-failed", "--json"]);
  expect(JSON.parse(nothing.stdout)).toEqual({ replayed: 0, retried: 0, more: false });
});

test("more than 1,000 failed deliveries are sent again in several requests, but not to a disabled endpoint", async () => {
  const { addEndpoint, receiver, order, settled, control, database, portal, webhooks } = await openSite([
    "--delivery-schedule",
    "0s",
  ]);
  const hooks = receiver(3000);
  hooks.answers = () => 500;
  const { id } = await addEndpoint(hooks.url);
  await order();
  await settled();
  await control(`/endpoints/${id}/state`, { action: "pause" });
  const file = database();
  file.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
    INSERT INTO events (position, id, store_id, checkout_id, type, sequence, body, created_at)
      SELECT position + i, printf('00000000-0000-7000-8000-%012d', i), store_id, NULL, 'webhook.test', 1, '{}', created_at
      FROM n, (SELECT * FROM events LIMIT 1);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
    INSERT INTO deliveries (id, store_id, endpoint_id, event_id, checkout_id, sequence, cause, in_order, state, next_at, created_at)
      SELECT printf('00000000-0000-7000-9000-%012d', i), store_id, endpoint_id, printf('00000000-0000-7000-8000-%012d', i),
        NULL, 1, 'event', 1, 'failed', next_at, created_at FROM n, (SELECT * FROM deliveries LIMIT 1);`);
  file.close();
  const since = "2026-01-01T00:00:00Z";
  const first = await portal.act(`${webhooks}/deliveries/replay`, { since });
  expect(first.text).toContain(english(WEBHOOK_TEXTS.replayedCount("1000+")));
  expect((await control("/deliveries/replay", { since })).data).toEqual({
    replayed: 101,
    retried: 0,
    more: false,
  });
  await control(`/endpoints/${id}/state`, { action: "disable" });
  expect((await control("/deliveries/replay", { since })).data).toEqual({
    replayed: 0,
    retried: 0,
    more: false,
  });
  const named = await control("/deliveries/replay", { since, endpoint_id: id });
  expect(named.error?.code).toBe("state_conflict");
});

test("the page of an event shows its bytes and deliveries, and every type has a parsable sample", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, settled, events } = await openSite();
  expect((await portal.get(`${webhooks}/events`)).text).toContain("checkout trigger order.succeeded");
  const hooks = receiver(3000);
  await addEndpoint(hooks.url);
  for (let number = 0; number < 55; number += 1) await order(`order-${number}`);
  await settled("?limit=200");
  const list = await portal.get(`${webhooks}/events`);
  expect(list.text).toContain("order-54");
  expect(list.text).not.toContain("order-4 ");
  const [, older = ""] = /<a href="([^"]+)" rel="next"/.exec(list.html) ?? [];
  expect((await portal.get(older)).text).toContain("order-4 ");
  expect((await portal.get(`${webhooks}/events?before=x`)).status).toBe(400);
  const [event] = await events();
  const shown = await portal.get(`${webhooks}/events/${event?.event_id}`);
  expect(shown.html).toContain((event?.body ?? "").replaceAll('"', "&quot;"));
  expect(shown.text).toContain("Checkout-Signature: ");
  const asSent = english(COMMON_TEXTS.asSent);
  const bodies = [
    ...list.html.matchAll(
      new RegExp(
        String.raw`<summary>((?:order|checkout_session|webhook)\.\w+)</summary>[^]*?${asSent}[^]*?<pre[^>]*><code[^>]*>([^<]+)<`,
        "g",
      ),
    ),
  ];
  expect(bodies).toHaveLength(13);
  const samples = bodies.map(([, type = "", body = ""]) => [
    type,
    JSON.parse(body.replaceAll("&quot;", '"')) as { readonly type: string },
  ]);
  for (const [type, sample] of samples) expect(sample).toMatchObject({ type });
});

test("events, deliveries and endpoints of another store are unknown", async () => {
  const { portal, webhooks, addEndpoint, receiver, order, settled, harness, sandbox } = await openSite();
  await addEndpoint(receiver(3000).url);
  await order();
  const [delivery] = await settled();
  const made = await harness.run(["stores", "create", "--name", "Other", "--json"]);
  const { store_id: other = "" } = JSON.parse(made.stdout) as { readonly store_id?: string };
  const elsewhere = `/portal/${other}/webhooks`;
  expect((await portal.get(elsewhere)).status).toBe(200);
  const endpoint = delivery?.endpoint_id ?? "";
  for (const path of [
    `deliveries/${delivery?.id}`,
    `events/${delivery?.event_id}`,
    `endpoints/${endpoint}`,
    `deliveries/${UNKNOWN}`,
  ])
    expect([path, (await portal.get(`${elsewhere}/${path}`)).status]).toEqual([path, 404]);
  expect((await portal.get(`${elsewhere}?before=${delivery?.id}`)).status).toBe(404);
  expect((await portal.get(`${elsewhere}?endpoint=${endpoint}`)).html).not.toContain(delivery?.id);
  for (const act of ["state", "remove", "test", "secret", "rotate"])
    expect(
      (await portal.post(`${elsewhere}/endpoints/${endpoint}/${act}`, { action: "disable", overlap_ms: "0" }))
        .status,
    ).toBe(404);
  expect((await portal.post(`${elsewhere}/events/${delivery?.event_id}/replay`)).status).toBe(404);
  expect((await portal.get(webhooks)).text).toContain(english(WEBHOOK_TEXTS.endpointStates.enabled));
  await sandbox().stop();
});
