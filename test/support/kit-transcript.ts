import type { Sandbox, SandboxOptions } from "../../src/testing/testing.ts";

type Start = (options: SandboxOptions) => Promise<Sandbox>;

const ORDER = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" } as const;

/**
 * The results of a sequence of calls as one text: with a seed it is the same in every run. Measured times, signatures
 * and the ports of receivers are left out.
 */
export async function transcript(start: Start, options: SandboxOptions): Promise<string> {
  const sandbox = await start(options);
  const lines: unknown[] = [sandbox.baseUrl, sandbox.controlToken, sandbox.store];
  for (const name of ["One", "Two"]) {
    const store = await sandbox.createStore({ name });
    const receiver = await store.receiver({ answer: ({ type }) => (type === "order.pending" ? 500 : 204) });
    lines.push(store, store.env, await store.clock.now());
    const order = await store.orders.create({ order_id: "a", ...ORDER });
    lines.push(order, await store.pay(order.id));
    await store.deliveries.waitFor(({ type, tries }) => type === "order.pending" && tries === 1);
    lines.push(
      await store.clock.advance("1h"),
      await store.sessions.create({ order_id: "b", price_id: "price_bento" }),
    );
    lines.push(await store.orders.create({ order_id: "a", ...ORDER }).catch((error: unknown) => error));
    lines.push(await store.pay((await store.orders.create({ order_id: "c", ...ORDER })).id, "expired"));
    await receiver.waitFor("order.expired");
    await store.deliveries.waitFor("order.expired");
    const answer = await sandbox.fetch(`${sandbox.baseUrl}/orders`, {
      method: "POST",
      headers: { authorization: `Bearer ${store.apiKey}`, "content-type": "application/json" },
      body: "{}",
    });
    lines.push(answer.status, [...answer.headers], await answer.text());
    lines.push(await store.events.list(), receiver.received.map(untimed));
    const { host } = new URL(receiver.url);
    for (const { url, ...delivery } of await store.deliveries.list()) {
      const address = url?.replaceAll(host, "<receiver>");
      lines.push({ ...delivery, url: address, attempts: delivery.attempts.map(untimed) });
    }
    lines.push((await store.requests.list()).map(({ durationMs: _measured, ...request }) => request));
    lines.push(String(await store.timeline(order.id)).replaceAll(host, "<receiver>"));
    await store.reset();
    lines.push(await store.clock.now(), await store.orders.create({ order_id: "a", ...ORDER }));
  }
  await sandbox.close();
  return lines.map((line) => JSON.stringify(line)).join("\n");
}

/** An item without its URL, and without the headers that differ between runs: the signature, its time and the host. */
function untimed<Item extends { readonly headers: Readonly<Record<string, string>>; readonly url?: string }>(
  item: Item,
): Omit<Item, "url"> {
  const own = /^(checkout-timestamp|checkout-signature|host)$/i;
  const headers = Object.fromEntries(Object.entries(item.headers).filter(([name]) => !own.test(name)));
  const { url: _ofReceiver, ...others } = item;
  return { ...others, headers };
}
