import { expect, test } from "vitest";
import { postToReceiver } from "../../src/sandbox/webhook/post.ts";
import { send } from "../../src/world/network.ts";
import { openRawReceiver } from "../support/raw-receiver.ts";
import { createRelay } from "../../src/sandbox/webhook/relay.ts";

const NO_RELAY = createRelay(
  { after: () => undefined, freshId: () => "", monotonic: () => 0 },
  () => undefined,
);

const TLS_HANDSHAKE = 0x16;

/**
 * A receiver that closes each connection without an answer until the test sets an answer, and a log of the clock reads,
 * requests and handshakes in order.
 */
async function closingReceiver() {
  const happened: string[] = [];
  const receiver = {
    says: "",
    post: (url: string, signal?: AbortSignal) =>
      postToReceiver(
        {
          world: { send, resolve: () => Promise.resolve([]), monotonic: () => happened.push("time") },
          targets: { allowedHosts: [], ownPort: 1 },
          deliveryTimeoutMs: 20_000,
          holdOf: () => undefined,
          relay: NO_RELAY,
        },
        { storeId: "s", url, ca: null, headers: {}, body: "{}", signal },
      ),
  };
  const { url } = await openRawReceiver(
    (socket) => {
      socket.once("data", (bytes) => {
        happened.push(bytes[0] === TLS_HANDSHAKE ? "handshake" : "request");
        socket.end(receiver.says);
      });
    },
    { onConnect: true },
  );
  return { happened, receiver, url };
}

test("after a failed delivery attempt, one TLS handshake tests the receiver's port, and is repeated only after a different answer", async () => {
  const { happened, receiver, url } = await closingReceiver();
  const attempt = async () => {
    happened.length = 0;
    const { result } = await receiver.post(url);
    return [happened.join(), result !== "forbidden" && result.ok];
  };
  expect(await attempt()).toEqual(["time,request,time,handshake", false]);
  expect(await attempt()).toEqual(["time,request,time", false]);
  receiver.says = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  expect(await attempt()).toEqual(["time,request,time", true]);
  receiver.says = "";
  expect(await attempt()).toEqual(["time,request,time,handshake", false]);
  expect(await attempt()).toEqual(["time,request,time", false]);
});

test("an aborted TLS test of a receiver's port ends immediately, keeps the result of the attempt, and is repeated by the next attempt", async () => {
  const stop = new AbortController();
  let handshakes = 0;
  const { url } = await openRawReceiver(
    (socket) => {
      socket.on("error", () => undefined);
      socket.once("data", (bytes) => {
        if (bytes[0] !== TLS_HANDSHAKE) return void socket.end();
        handshakes += 1;
        if (stop.signal.aborted) return void socket.end();
        stop.abort();
      });
    },
    { onConnect: true },
  );
  const limits = { method: "POST", headers: {}, timeoutMs: 20_000, maxResponseBytes: 100 } as const;
  const attempt = (signal?: AbortSignal) => send({ ...limits, url, body: "{}", examine: true, signal });
  const closed = { ok: false, failure: "connection_lost", facts: { fault: "closed" } };
  expect(await attempt(stop.signal)).toMatchObject(closed);
  expect(await attempt()).toMatchObject(closed);
  expect(handshakes).toBe(2);
});
