import { expect, onTestFinished, test } from "vitest";
import { startSandbox, type Sandbox, type Store } from "../../src/testing/testing.ts";

const ORDER = { order_id: "order-1", price_id: "price_coffee" } as const;
/** Longer than any test waits. */
const LONG_MS = 300_000;

/** A create as an application sends it. */
function create(store: Store, signal: AbortSignal): readonly [string, RequestInit] {
  const headers = {
    Authorization: `Bearer ${store.apiKey}`,
    "Content-Type": "application/json",
    "Idempotency-Key": "order-key-1",
  };
  const url = `${store.env["CHECKOUT_BASE_URL"]}/orders`;
  return [url, { method: "POST", headers, body: JSON.stringify(ORDER), signal }];
}

function aborter(): AbortController {
  return new AbortController();
}

async function newSandbox(): Promise<Sandbox> {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  return sandbox;
}

test("an abort signal ends a request or its body immediately, as with the built-in fetch", async () => {
  const sandbox = await newSandbox();
  for (const send of [fetch, sandbox.fetch]) {
    const store = await sandbox.createStore();
    const reason = new Error("enough");
    const [late, slow, unread, read] = [aborter(), aborter(), aborter(), aborter()];

    await store.faults.add({ action: "latency", latencyMs: LONG_MS });
    const answer = send(...create(store, late.signal));
    await store.events.waitFor("order.created");
    late.abort(reason);
    await expect(answer).rejects.toBe(reason);

    await store.faults.add({ action: "slow_body", latencyMs: LONG_MS });
    const body = (await send(...create(store, slow.signal))).text();
    slow.abort(reason);
    await expect(body).rejects.toBe(reason);

    const whole = await send(...create(store, unread.signal));
    unread.abort(reason);
    await expect(whole.text()).rejects.toBe(reason);

    const done = await send(...create(store, read.signal));
    expect(await done.json()).toMatchObject({ data: { order_id: "order-1" } });
    read.abort(reason);
    expect((await store.events.list()).length).toBe(1);
  }
});

test("reading a truncated body fails as with the built-in fetch", async () => {
  const sandbox = await newSandbox();
  for (const send of [fetch, sandbox.fetch]) {
    const store = await sandbox.createStore();
    await store.faults.add({ action: "truncate" });
    const answer = await send(...create(store, aborter().signal));
    expect(answer.status).toBe(201);
    await expect(answer.text()).rejects.toThrow(new TypeError("terminated"));
  }
});

test("a sandbox without a socket has the application's address, and redirects to that address stay in the sandbox", async () => {
  const config = { sandbox: { public_url: "http://127.0.0.1:3000" } };
  for (const port of [null, 0]) {
    const sandbox = await startSandbox({ port, config });
    onTestFinished(() => sandbox.close());
    const { store, baseUrl, origin } = sandbox;
    const expected = port === null ? "http://127.0.0.1:3000/v1" : `${origin}/v1`;
    expect([baseUrl, store.env["CHECKOUT_BASE_URL"]]).toEqual([expected, expected]);
    expect((await sandbox.fetch(...create(store, aborter().signal))).status).toBe(201);
    const order = await store.orders.create({ ...ORDER, order_id: "order-2" });
    expect(order.checkout_url.startsWith("http://127.0.0.1:3000/pay/")).toBe(true);
    const page = await (await sandbox.fetch(order.checkout_url)).text();
    const [, action = ""] = /action="([^"]+\/start)"/.exec(page) ?? [];
    const [, token = ""] = /name="token" value="([^"]+)"/.exec(page) ?? [];
    const started = await sandbox.fetch(new URL(action, order.checkout_url), {
      method: "POST",
      headers: { Origin: "http://127.0.0.1:3000" },
      body: new URLSearchParams({ token }),
    });
    expect([started.status, started.url]).toEqual([200, order.checkout_url]);
    expect((await store.orders.get(order.id)).status).toBe("pending");
  }
});
