import { expect, onTestFinished, test } from "vitest";
import { startSandbox, type Sandbox, type Store } from "../src/testing/testing.ts";

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

test("a signal ends an answer at once, and its body, as it does with fetch", async () => {
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

test("a body that breaks off fails as that of fetch does", async () => {
  const sandbox = await newSandbox();
  for (const send of [fetch, sandbox.fetch]) {
    const store = await sandbox.createStore();
    await store.faults.add({ action: "truncate" });
    const answer = await send(...create(store, aborter().signal));
    expect(answer.status).toBe(201);
    await expect(answer.text()).rejects.toThrow(new TypeError("terminated"));
  }
});
