import { expect, test } from "vitest";
import { eventually, runOn } from "../support/eventually.ts";
import { startListening } from "../support/listening.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { openTeam } from "../support/team.ts";

const HOOKS = "http://localhost:3000/hooks";

/** A colleague's listener with the token of a store, and an application on the colleague's machine. */
async function openListening(role = "store") {
  const team = await openTeam(role);
  const { colleague, env, run, store } = team;
  const shop = { got: [] as string[], status: 200, said: "said" };
  colleague.occupy(3000, {
    answer: ({ body, rawHeaders }) => {
      const { event_id: id } = JSON.parse(Buffer.from(body).toString()) as { readonly event_id: string };
      expect(rawHeaders.map((name) => name.toLowerCase())).toContain("checkout-signature");
      shop.got.push(id);
      return Promise.resolve({ status: shop.status, headers: { "Retry-After": "7" }, body: shop.said });
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  /** Creates an order in the store, and returns the ids of the store's events. */
  const order = async (id: string): Promise<readonly string[]> => {
    await run(`orders create --order-id ${id} --price-id price_coffee --store ${store}`);
    const { events } = JSON.parse(await run(`events list --store ${store} --json`)) as {
      readonly events: readonly { readonly event_id: string }[];
    };
    return events.map(({ event_id: eventId }) => eventId);
  };
  const listen = (more: readonly string[] = []) =>
    startListening(colleague, ["--forward", HOOKS, ...more], { env });
  return { ...team, shop, order, listen };
}

test("a listener on another machine gets the events of its store, verified and forwarded, and no events of another store", async () => {
  const { run, site, shop, order, listen } = await openListening();
  const waited = await order("before");
  const listening = await listen(["--since", "1h"]);
  expect(listening.ready).toMatchObject({ sandbox: "https://box.example", replayed: waited.length });
  await run(`orders create --order-id other --price-id price_coffee --store ${site.sandbox.ready.store_id}`);
  const events = await order("order-1001");
  const lines = await listening.heard(2);
  expect(lines).toMatchObject(
    events.map((id) => ({ event_id: id, verified: true, outcome: "forwarded", target_status: 200 })),
  );
  expect(shop.got).toEqual(events);
  const { code, stderr } = await listening.stop();
  expect([code, stderr]).toEqual([0, ""]);
  const later = await order("later");
  await runOn();
  expect(shop.got).toEqual(events);
  const again = await listen();
  await again.heard(1);
  expect(shop.got).toEqual(later);
  await again.stop();
});

test("a listener on another machine passes its target's answer back, and a failed event is sent again", async () => {
  const { owner, shop, order, listen, run, store } = await openListening();
  // An error page, of which 4 KiB are kept.
  Object.assign(shop, { status: 503, said: "<p>".repeat(10_000) });
  const listening = await listen();
  const [event = ""] = await order("order-1001");
  await listening.heard(1);
  const attempts = async () => {
    const shown = JSON.parse(await run(`deliveries list --store ${store} --json`)) as {
      readonly deliveries: readonly { readonly attempts: readonly { status: number; answer: string }[] }[];
    };
    return shown.deliveries[0]?.attempts.map(({ status, answer }) => [status, answer]);
  };
  await eventually("the answer is noted", async () =>
    expect(await attempts()).toEqual([[503, shop.said.slice(0, 4096)]]),
  );
  shop.status = 200;
  owner.clock.advance(10_000);
  await listening.heard(2);
  expect(shop.got).toEqual([event, event]);
  await listening.stop();
});

test("a lost request or answer between a listener and the sandbox neither loses nor repeats an event", async () => {
  const { owner, network, shop, order, listen } = await openListening();
  const listening = await listen();
  for (const [at, loses] of (["request", "answer"] as const).entries())
    for (const part of ["GET", "POST"]) {
      let left = 3;
      network.lost = (path) =>
        path.startsWith(part) && /\/listener\/requests/.test(path) && left-- > 0 ? loses : undefined;
      const events = await order(`order-${part}-${at}`);
      await eventually("the event is forwarded", () => {
        owner.clock.advance(1000);
        expect(new Set(shop.got)).toEqual(new Set(events));
      });
      await eventually("all was lost that was to be lost", () => expect(left).toBeLessThan(1));
    }
  await runOn();
  expect(new Set(shop.got).size).toBe(shop.got.length);
  const forwarded = listening.deliveries().filter(({ outcome }) => outcome !== "duplicate");
  expect(forwarded.map(({ event_id: id, outcome }) => [id, outcome])).toEqual(
    shop.got.map((id) => [id, "forwarded"]),
  );
  await listening.stop();
});

test("a listener on another machine connects again after an outage and after a restart of the sandbox", async () => {
  const { colleague, network, shop, order, listen, restart } = await openListening();
  const listening = await listen();
  network.isDown = true;
  const said = async (what: string): Promise<void> =>
    eventually(`it says ${what}`, () => {
      colleague.clock.advance(1000);
      expect(listening.lines().at(-1)?.event).toBe(what);
    });
  await said("disconnected");
  const missed = await order("missed");
  network.isDown = false;
  await eventually("it is back", () => {
    colleague.clock.advance(1000);
    expect(listening.lines().map(({ event }) => event)).toContain("reconnected");
  });
  await eventually("the event is forwarded", () => expect(shop.got).toEqual(missed));
  await restart();
  const events = await order("after");
  await eventually("the next event is forwarded", () => {
    colleague.clock.advance(1000);
    expect(shop.got).toEqual(events);
  });
  await listening.stop();
});

test("a listener ends within 2 seconds after its token is revoked or expires", async () => {
  for (const end of ["revoked", "expired"]) {
    const { owner, colleague, listen, revoke } = await openListening();
    const listening = await listen();
    // The request that watches the endpoint waits in the sandbox.
    colleague.clock.advance(1000);
    await runOn();
    if (end === "revoked") await revoke();
    else owner.clock.advance(3_600_000);
    owner.clock.advance(1000);
    colleague.clock.advance(1000);
    const { code, stderr } = await listening.ended;
    expect([end, code]).toEqual([end, 4]);
    expect(stderr).toContain("checkout tokens create");
  }
});

test("a viewer's token cannot listen, and a second listener takes over", async () => {
  const viewer = await openTeam("viewer");
  const refused = await viewer.type("listen");
  const roles = { needed: "store", role: "viewer" };
  expect([refused.code, refused.stderr]).toEqual([
    4,
    expect.stringMatching(refusalText("role_too_low", roles)),
  ]);
  const { colleague, env, listen, type } = await openListening();
  expect((await type("listen --port 4300")).code).toBe(2);
  const first = await listen();
  const second = await startListening(colleague, [], { env });
  colleague.clock.advance(1000);
  const { code, stderr } = await first.ended;
  expect([code, stderr]).toEqual([1, expect.stringContaining('"code":"taken_over"')]);
  await second.stop();
});

test("a delivery to a listener that has stopped fetching fails as unreachable, so that no clock move waits for the listener", async () => {
  const { owner, colleague, env, run, store, order } = await openListening();
  const killed = new AbortController();
  await startListening(colleague, [], { env, killed: killed.signal });
  killed.abort();
  await runOn();
  owner.clock.advance(26_000);
  await order("order-1001");
  const listed = await eventually("the attempt has ended", async () => {
    const text = await run(`deliveries list --store ${store} --json`);
    expect(text).toContain('"finished_at":"');
    return text;
  });
  expect(/"error":"(\w+)"/.exec(listed)?.[1]).toBe("unreachable");
});
