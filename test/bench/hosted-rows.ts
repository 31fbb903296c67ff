import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { bundleWorker } from "../../bin/build/worker.ts";
import { eventually } from "../support/eventually.ts";
import { createHostedStore, startHosted, type HostedService } from "../support/hosted.ts";
import type { Figure } from "./figures.ts";
import type { Bench } from "./processes.ts";

/** Maximum rows and index entries of an order with one endpoint and three events: created, pending, succeeded. */
const MAX_ROWS = 55;

/** The number of rows that the runtime counts for a paid order, and that a platform would bill. */
export async function measureRowsOfOrder(bench: Bench): Promise<Figure> {
  const worker = bench.newPath("counting-object.mjs");
  await bundleWorker("test/bench/baselines/counting-object.ts", "CountingService", worker);
  const receiver = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(204).end());
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  const service = await startHosted({ worker });
  try {
    const { storeId, apiKey } = await createHostedStore(service);
    await service.control(`/stores/${storeId}/endpoints`, { url: `http://127.0.0.1:${port}/` });
    const buyer = { service, storeId, apiKey };
    // The first order also writes the rows that a store writes only once.
    await buy(buyer, "first");
    const value = await buy(buyer, "second");
    return { name: "rows written for a paid order", value, unit: "rows", target: { atMost: MAX_ROWS } };
  } finally {
    receiver.close();
    await service.end();
  }
}

type Buyer = { readonly service: HostedService; readonly storeId: string; readonly apiKey: string };

/** Creates and pays an order, waits for its three deliveries, and returns the number of rows written. */
async function buy({ service, storeId, apiKey }: Buyer, orderId: string): Promise<number> {
  const headers = { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" };
  const countAnew = async (): Promise<number> => {
    const answer = await fetch(`${service.origin}/v1/rows-written`, { headers });
    const rows = Object.values((await answer.json()) as Record<string, number>);
    return rows.reduce((sum, one) => sum + one, 0);
  };
  const delivered = (count: number) =>
    eventually(`${count} deliveries`, async () => {
      const { deliveries } = await service.control(`/stores/${storeId}/deliveries?order_id=${orderId}`);
      const states = (deliveries as readonly { readonly state: string }[]).map(({ state }) => state);
      if (states.filter((state) => state === "succeeded").length < count) throw new Error(states.join());
    });
  await countAnew();
  const created = await fetch(`${service.origin}/v1/orders`, {
    method: "POST",
    headers: { ...headers, "Idempotency-Key": `key-of-${orderId}` },
    body: JSON.stringify({
      order_id: orderId,
      amount_minor: 5,
      currency: "EUR",
      payment_method: "alipay_plus",
    }),
  });
  const { data } = (await created.json()) as { readonly data: { readonly id: string } };
  await delivered(1);
  await service.control(`/stores/${storeId}/checkouts/${data.id}/pay`, { outcome: "succeeded" });
  await delivered(3);
  return countAnew();
}
