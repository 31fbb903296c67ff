import type { AddressInfo } from "node:net";

/** A body as long as the service's answer to a retrieve. */
export const CONSTANT_BODY = JSON.stringify({
  ok: true,
  request_id: "0199a3c4-5d00-7000-8000-000000000001",
  data: {
    id: "0199a3c4-5d00-7000-8000-000000000002",
    object: "order",
    order_id: "bench-00000001",
    amount_minor: 1999,
    currency: "EUR",
    status: "created",
    checkout_url: "http://127.0.0.1:42420/pay/0199a3c4-5d00-7000-8000-000000000002",
    livemode: false,
  },
});

/** Prints the port on which a baseline listens, as one line of JSON. */
export function announce(address: AddressInfo | string | null): void {
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  process.stdout.write(`${JSON.stringify({ port: address.port })}\n`);
}
