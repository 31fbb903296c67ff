import { once } from "node:events";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** The fault of one exchange through the proxy. */
type Fault = {
  /** The number of bytes of the answer that pass before the connection ends. */
  readonly answerBytes?: number;
  /** The end of the connection: closed cleanly, or reset. */
  readonly ending?: "close" | "reset";
  /** Called when the answer has arrived, before any of it is passed on. */
  readonly onAnswer?: () => void;
};

/** A running proxy, with the fault of its next exchange. */
export type FaultProxy = {
  readonly port: number;
  /** Sets the port of the service behind the proxy, on this machine. */
  readonly forwardTo: (port: number) => void;
  /** Applies a fault to the next exchange; later exchanges pass untouched. */
  readonly failNext: (fault: Fault) => void;
  /** The number of bytes of the latest answer from the service, head and body. */
  readonly latestAnswerBytes: () => number;
};

/** One request and its answer on a connection; the client sends the next request only after the answer. */
type Passage = { readonly fault: Fault; answerBytes: number };

/** A proxy on a free port that changes no byte, and cuts answers on request. It ends with the test. */
export async function startFaultProxy(): Promise<FaultProxy> {
  let servicePort = 0;
  let nextFault: Fault = {};
  let latest: Passage = { fault: {}, answerBytes: 0 };
  const clients = new Set<Socket>();
  const beginPassage = (): Passage => {
    latest = { fault: nextFault, answerBytes: 0 };
    nextFault = {};
    return latest;
  };

  const server = createServer({ noDelay: true }, (client) => {
    clients.add(client);
    client.on("close", () => clients.delete(client));
    pass(client, connect({ host: "127.0.0.1", port: servicePort, noDelay: true }), beginPassage);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const client of clients) client.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    forwardTo: (port) => (servicePort = port),
    failNext: (fault) => (nextFault = fault),
    latestAnswerBytes: () => latest.answerBytes,
  };
}

function pass(client: Socket, service: Socket, beginPassage: () => Passage): void {
  let passage: Passage | undefined;
  client.on("data", (chunk: Buffer) => {
    service.write(chunk);
    // A request may arrive in pieces; bytes after an answer begin the next request.
    if (passage === undefined || passage.answerBytes > 0) passage = beginPassage();
  });
  service.on("data", (chunk: Buffer) => {
    if (passage !== undefined) passAnswer(client, passage, chunk);
  });
  for (const [one, other] of [
    [client, service],
    [service, client],
  ] as const) {
    // An error is followed by a close, and a service that was killed is one of the faults.
    one.on("error", () => undefined);
    one.on("close", () => other.destroy());
  }
}

function passAnswer(client: Socket, passage: Passage, chunk: Buffer): void {
  const { answerBytes: limit = Infinity, ending = "close", onAnswer } = passage.fault;
  if (passage.answerBytes === 0) onAnswer?.();
  const allowed = chunk.subarray(0, Math.max(0, limit - passage.answerBytes));
  passage.answerBytes += chunk.length;
  if (passage.answerBytes < limit) {
    client.write(allowed);
    return;
  }
  const end = (): unknown => (ending === "reset" ? client.resetAndDestroy() : client.destroy());
  if (allowed.length === 0) end();
  // A reset drops unread bytes: a client in this process reads before the next turn of the loop.
  else client.write(allowed, () => setImmediate(() => setImmediate(end)));
}
