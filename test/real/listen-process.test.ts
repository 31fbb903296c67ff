import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_DELIVERIES_IN_FLIGHT } from "../../src/core/webhook/delivery.ts";
import { signHeaders } from "../../src/core/webhook/signature.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";
import { eventually } from "../support/eventually.ts";
import type { ListenLine } from "../support/listening.ts";
import {
  launch,
  launchHere,
  startSandbox,
  startSandboxHere,
  type Process,
  type SandboxHere,
} from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

type Event = { readonly event_id: string; readonly sequence: number; readonly data: { readonly id: string } };

const SECRET = "whsec_dGhpcy1pcy1hLXNlY3JldC1vZi1hLXRlc3QtYW5kLW5vLW90aGVy";
const body = async (incoming: IncomingMessage): Promise<string> =>
  Buffer.concat((await incoming.toArray()) as Uint8Array[]).toString("utf8");

/** Serves on a free port of an address until the test ends; returns the port. */
async function serve(server: Server, host: string): Promise<number> {
  server.listen(0, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** An application that accepts events, and keeps them in the order of their arrival. */
async function startApplication(host = "127.0.0.1") {
  const got: Event[] = [];
  const answer: RequestListener = (incoming, response) =>
    void body(incoming).then((text) => {
      got.push(JSON.parse(text) as Event);
      response.end();
    });
  return { got, port: await serve(createServer(answer), host) };
}

function lines({ output }: Pick<Process, "output">): ListenLine[] {
  return output.stdout
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as ListenLine);
}

function deliveries(running: Pick<Process, "output">): ListenLine[] {
  return lines(running).filter(({ event }) => event === "delivery");
}

/** Creates an order and pays it: three events. */
async function sell({ ready }: SandboxHere, cwd: string, orderId: string): Promise<void> {
  const post = async (path: string, headers: Record<string, string>, sent: object): Promise<Event> => {
    const answer = await fetch(new URL(path, ready.base_url), {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(sent),
    });
    return (await answer.json()) as Event;
  };
  const { control_token: token } = JSON.parse(readFileSync(join(cwd, ".checkout/run.json"), "utf8")) as {
    readonly control_token: string;
  };
  const key = { Authorization: `Bearer ${ready.api_key ?? ""}`, "Idempotency-Key": `key-of-${orderId}` };
  const { data } = await post("/v1/orders", key, { order_id: orderId, price_id: "price_coffee" });
  const admin = { Authorization: `Bearer ${token}` };
  await post(`/__sandbox/stores/default/checkouts/${data.id}/pay`, admin, { outcome: "succeeded" });
}

/** Whether each object's events came in their order, apart from repeated events. */
function isInOrder(got: readonly Event[]): boolean {
  const last = new Map<string, number>();
  const first = got.filter(({ event_id: id }, at) => got.findIndex((other) => other.event_id === id) === at);
  return first.every(({ data, sequence }) => {
    const before = last.get(data.id) ?? 0;
    last.set(data.id, sequence);
    return sequence === before + 1;
  });
}

test("a listener that is killed and restarted misses no event, and keeps the order of each checkout's events", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandboxHere({ cwd });
  const application = await startApplication();
  const listen = (): Promise<Process> =>
    launch(["listen", "--json", "--forward", `http://localhost:${application.port}/hooks`], { cwd });
  const rounds = 3;
  const perRound = 5;
  for (let round = 0; round < rounds; round += 1) {
    const listening = await listen();
    const selling = Array.from({ length: perRound }, (_, n) => sell(sandbox, cwd, `order-${round}-${n}`));
    await eventually(`${round + 1} deliveries are told`, () =>
      expect(deliveries(listening).length).toBeGreaterThan(round),
    );
    expect(await listening.stop("SIGKILL")).toBeNull();
    await Promise.all(selling);
    await sell(sandbox, cwd, `order-${round}-meanwhile`);
  }
  const last = await listen();
  const expected = rounds * (perRound + 1) * 3;
  const ids = (): Set<string> => new Set(application.got.map(({ event_id: id }) => id));
  await eventually("every event has come", () => expect(ids().size).toBe(expected));
  expect(isInOrder(application.got)).toBe(true);
  // Only deliveries in flight at a kill can be forwarded twice: accepted by the application, but not yet recorded.
  expect(application.got.length).toBeLessThanOrEqual(expected + rounds * DEFAULT_DELIVERIES_IN_FLIGHT);
  expect(await last.stop("SIGINT")).toBe(0);
  expect(last.output.stderr).toBe("");
});

test("listen finds a killed sandbox again on another port", async () => {
  const cwd = tempFolder();
  const first = await startSandbox({ cwd });
  const application = await startApplication();
  const listening = await launchHere(
    ["listen", "--json", "--forward", `http://localhost:${application.port}/`],
    {
      cwd,
    },
  );
  await first.stop("SIGKILL");
  await eventually("the sandbox is missed", () =>
    expect(lines(listening).at(-1)?.event).toBe("disconnected"),
  );
  const second = await startSandboxHere({ cwd });
  await eventually("the sandbox is found", () => expect(lines(listening).at(-1)?.event).toBe("reconnected"));
  expect(lines(listening).at(-1)?.sandbox).toBe(`http://127.0.0.1:${second.port}`);
  await sell(second, cwd, "order-1");
  await eventually("the order has come", () => expect(application.got).toHaveLength(3));
  expect(await listening.stop()).toBe(0);
});

test("listen handles targets that are only on ::1, use TLS, answer endlessly or do not answer", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandboxHere({ cwd });
  writeFileSync(join(cwd, "ca.pem"), CERTIFICATE);
  const six = await startApplication("::1");
  const tls = createTlsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (_, response) => response.end());
  const secure = `https://localhost:${await serve(tls, "127.0.0.1")}/`;
  const endless = createServer((_, response) => {
    response.writeHead(200);
    const pour = (): void => {
      while (response.writable && response.write(Buffer.alloc(64 * 1024))) continue;
    };
    response.on("drain", pour);
    pour();
  });
  const silent = createServer(() => undefined);
  const [endlessPort, silentPort] = [await serve(endless, "127.0.0.1"), await serve(silent, "127.0.0.1")];
  const rows = [
    [[`http://localhost:${six.port}/`], "forwarded", 200, null],
    [[secure], "not_answered", null, "unreachable"],
    [[secure, "--ca", "ca.pem"], "forwarded", 200, null],
    [[secure, "--insecure"], "forwarded", 200, null],
    [[`http://localhost:${endlessPort}/`], "forwarded", 200, null],
    [[`http://localhost:${silentPort}/`, "--timeout", "200ms"], "not_answered", null, "timeout"],
  ] as const;
  for (const [index, [args, outcome, status, code]] of rows.entries()) {
    const line = ["listen", "--json", "--forward", ...args, "--events", "order.created"];
    const listening = await launchHere(line, { cwd });
    await sell(sandbox, cwd, `order-${index}`);
    const mine = (): ListenLine | undefined =>
      deliveries(listening).find(({ order_id: orderId }) => orderId === `order-${index}`);
    await eventually(`order-${index} is told`, () => expect(mine()).toBeDefined());
    expect([args, mine()?.outcome]).toEqual([args, outcome]);
    expect([args, mine()?.target_status, mine()?.code]).toEqual([args, status, code]);
    expect(mine()?.next_try_at === null).toBe(status === 200);
    expect(listening.output.stderr.includes("--insecure")).toBe(args.includes("--insecure" as never));
    await listening.stop();
  }
});

test("listen accepts bodies of up to 1 MiB from a service, over real sockets", async () => {
  const cwd = tempFolder();
  const application = await startApplication();
  const free = await serve(createServer(), "127.0.0.2");
  const args = ["--port", String(free), "--forward", `http://127.0.0.1:${application.port}/hooks`];
  const env = { CHECKOUT_SIGNING_SECRET: SECRET };
  const listening = await launchHere(["listen", "--json", ...args], { cwd, env });
  const send = (size: number): Promise<number> => {
    const event = JSON.stringify({
      event_id: `of-${size}`,
      type: "order.created",
      sequence: 1,
      data: { id: "x" },
    });
    const rawBody = Buffer.from(event + " ".repeat(size - event.length));
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      ...signHeaders([SECRET], { eventId: `of-${size}`, timestamp, rawBody }),
      "Content-Length": size,
    };
    return new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port: free, path: "/hooks", method: "POST", headers });
      sent.on("response", (response) => resolve(response.resume().statusCode ?? 0)).on("error", reject);
      sent.end(rawBody);
    });
  };
  expect([await send(1000), await send(1024 * 1024), await send(1024 * 1024 + 1)]).toEqual([200, 200, 413]);
  expect(application.got.map(({ event_id: id }) => id)).toEqual(["of-1000", `of-${1024 * 1024}`]);
  expect(await listening.stop()).toBe(0);
  expect(existsSync(join(cwd, ".checkout"))).toBe(false);
});
