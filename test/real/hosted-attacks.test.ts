import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { connect as openSocket } from "node:net";
import { join } from "node:path";
import { onTestFinished, expect, test } from "vitest";
import { API_KEY_RANDOM_BYTES, formatTestKey } from "../../src/core/credential.ts";
import { likelyCause, causeMaterialOf } from "../../src/core/explain/delivery.ts";
import { markedUuid, MARK_COUNT } from "../../src/hosted/shared/marks.ts";
import { FORBIDDEN_RANGES, PRIVATE_RANGES } from "../../src/core/network/ranges.ts";
import { SEED, seededRandom, size, FULL } from "../support/campaign.ts";
import { EDITIONS, serve } from "../support/editions.ts";
import { eventually } from "../support/eventually.ts";
import { createHostedStore, databaseOf, startHosted, type HostedService } from "../support/hosted.ts";
import { connect, sendCreate, type Create } from "../support/load.ts";
import { ODD_ENDPOINTS } from "../support/odd-endpoints.ts";
import { edgesOf } from "../support/ranges.ts";
import { sendRaw } from "../support/send-raw.ts";
import { sideBySide } from "../support/side-by-side.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** The number of requests of each kind in a flood, and the workers that send them. */
const FLOOD_ROUNDS = size(60, 15_000);
const WORKERS = [1, 2, 3, 4, 5, 6, 7, 8] as const;

async function startUntilEnd(options: Parameters<typeof startHosted>[0] = {}): Promise<HostedService> {
  const service = await startHosted(options);
  onTestFinished(service.end);
  return service;
}

/** The files of the objects, without logs, which exist only while an object is in memory. */
function filesOf({ folder }: HostedService): readonly string[] {
  const names = readdirSync(join(folder, "objects"), { recursive: true }) as string[];
  return names.filter((name) => !/-(?:wal|shm)$/.test(name)).toSorted();
}

/** A request with unknown names, or a request that must be refused before any look-up. */
type RefusedRequest = {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
};

const JSON_TYPE = { "Content-Type": "application/json" };
const FORM = { "Content-Type": "application/x-www-form-urlencoded" };

/** Requests of many kinds that must be refused, with new ids, keys and names at each call. */
function refusedRequests(service: HostedService, random: () => number): readonly RefusedRequest[] {
  const { controlToken, port } = service;
  const host = { Host: `127.0.0.1:${port}` };
  const mark = Math.floor(random() * MARK_COUNT);
  const id = markedUuid(mark, 1_800_000_000_000, randomBytes(6));
  const key = { Authorization: `Bearer ${formatTestKey(randomBytes(API_KEY_RANDOM_BYTES))}` };
  const control = { Authorization: `Bearer ${controlToken}` };
  const name = randomBytes(6).toString("hex");
  const events = `/__sandbox/stores/${id}/events`;
  return [
    { method: "GET", path: `/pay/${id}`, headers: { ...host, "Sec-Fetch-Site": "cross-site" }, status: 404 },
    {
      method: "POST",
      path: `/pay/${id}/start`,
      headers: { ...host, ...FORM, "Sec-Fetch-Site": "cross-site" },
      status: 403,
    },
    { method: "GET", path: `/pay/${id}`, headers: { Host: `${name}.example` }, status: 403 },
    { method: "GET", path: events, headers: host, status: 401 },
    { method: "GET", path: events, headers: { ...host, ...control }, status: 404 },
    { method: "GET", path: events, headers: { ...control, Host: `${name}.example` }, status: 403 },
    {
      method: "GET",
      path: events,
      headers: { ...host, ...control, Origin: `http://${name}.example` },
      status: 403,
    },
    { method: "POST", path: "/v1/orders", headers: { ...host, ...key, ...JSON_TYPE }, status: 401 },
    { method: "GET", path: `/v1/checkout-sessions/${id}`, headers: { ...host, ...key }, status: 401 },
    { method: "GET", path: "/__sandbox/stores", headers: host, status: 401 },
    {
      method: "POST",
      path: "/__sandbox/stores",
      headers: { ...host, ...JSON_TYPE, Origin: "null" },
      status: 403,
    },
  ];
}

test("invented ids and keys, foreign Hosts and calls without a token create no file in a hosted service and leak no memory", async () => {
  const service = await startUntilEnd();
  await createHostedStore(service);
  const before = filesOf(service);
  const random = seededRandom(SEED);
  const agent = new Agent({ keepAlive: true, maxSockets: WORKERS.length });
  onTestFinished(() => agent.destroy());
  const wrong = new Set<string>();
  const flood = (rounds: number): Promise<void> =>
    sideBySide(
      Array.from({ length: rounds }, (_item, at) => at),
      WORKERS,
      async () => {
        for (const { method, path, headers, status } of refusedRequests(service, random)) {
          const options = { port: service.port, agent, method, path, headers };
          const answer = await sendRaw(options, method === "POST" ? "{}" : undefined);
          if (answer.status !== status) wrong.add(`${method} ${path}: ${answer.status}, not ${status}`);
        }
      },
    );
  // The runtime's heap grows to its working size in the first flood; a leak would also grow in the second flood.
  await flood(FULL ? FLOOD_ROUNDS : 5);
  const used = memoryOf(service);
  await flood(FLOOD_ROUNDS);
  expect([...wrong]).toEqual([]);
  expect(filesOf(service)).toEqual(before);
  // A small flood proves nothing about memory.
  expect(memoryOf(service)).toBeLessThan(used * (FULL ? 1.1 : 2));
});

/** The memory of the service's process, in KiB; 1 without /proc. */
function memoryOf(service: HostedService): number {
  const path = `/proc/${service.pid()}/status`;
  if (!existsSync(path)) return 1;
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(path, "utf8"))?.[1]);
}

test("workerd connects to the allowed address, and to no address in a refused range", async () => {
  const worker = join(tempFolder(), "probe.mjs");
  writeFileSync(worker, PROBE);
  const service = await startUntilEnd({ worker, allowTargets: ["127.0.0.1"] });
  const addresses = [...FORBIDDEN_RANGES, ...PRIVATE_RANGES].flatMap(edgesOf);
  const asked = [...addresses, "::ffff:7f00:1", "::ffff:a9fe:a9fe"].filter(
    (address) => address !== "127.0.0.1",
  );
  const urls = asked.map((address) => `http://${address.includes(":") ? `[${address}]` : address}:9/`);
  const told = await fetch(service.origin, { method: "POST", body: JSON.stringify(urls) });
  expect(await told.json()).toEqual(urls.map((url) => [url, "refused"]));
  const own = await fetch(service.origin, {
    method: "POST",
    body: JSON.stringify([`${service.origin}/healthz`]),
  });
  expect(await own.json()).toEqual([[`${service.origin}/healthz`, "answered"]]);
});

/** A Worker that reports for each address whether its network lets it connect. */
const PROBE = `
import { DurableObject } from "cloudflare:workers";
export class StoreObject extends DurableObject {}
export class IndexObject extends DurableObject {}
const look = async (url) => {
  try {
    await fetch(url, { signal: AbortSignal.timeout(5000) });
    return [url, "answered"];
  } catch (error) {
    return [url, /^internal error/.test(error.message) ? "refused" : String(error)];
  }
};
export default {
  fetch: async (request) =>
    request.method === "GET"
      ? new Response("ok")
      : Response.json(await Promise.all(JSON.parse(await request.text()).map(look))),
};
`;

/** Odd endpoints by their names in the shared table, each with the cause that a Worker's network allows. */
const ENDPOINT_CAUSES: readonly (readonly [name: string, code: string | undefined])[] = [
  ["nothing listens at localhost", "connection_lost"],
  ["https where nothing listens", "connection_lost"],
  ["closes at once", "connection_lost"],
  ["resets at once", "connection_lost"],
  ["ssh", "connection_lost"],
  ["half a head", "connection_lost"],
  ["http to an https port by address", "connection_lost"],
  ["a certificate signed by itself", "unreachable"],
  ["a whole answer and more", undefined],
];

test("a hosted service names the possible causes of a failed delivery, although the runtime gives no network error", async () => {
  const [, hosted] = EDITIONS;
  if (hosted === undefined) throw new Error("there are two editions");
  const { control } = await serve(hosted);
  const told: unknown[] = [];
  for (const [name] of ENDPOINT_CAUSES) {
    const [, open] = ODD_ENDPOINTS.find(([one]) => one === name) ?? [];
    const url = await open?.();
    if (url === undefined) throw new Error(`no endpoint ${name}`);
    const { id } = await control.call("addEndpoint", { body: { url } });
    const { eventId } = await control.call("testEndpoint", { id, body: {} });
    const attempt = await eventually(`${name} has a result`, async () => {
      const { deliveries } = await control.call("showEvent", { id: eventId });
      const found = deliveries[0]?.attempts.find(({ finishedAt }) => finishedAt !== null);
      if (found === undefined) throw new Error("it has none");
      return found;
    });
    told.push([name, likelyCause(causeMaterialOf(attempt))?.code]);
  }
  expect(told).toEqual(ENDPOINT_CAUSES);
});

test("an incomplete body is refused with 408, and the connection is closed", async () => {
  const service = await startUntilEnd();
  const { apiKey } = await createHostedStore(service);
  const socket = openSocket(service.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => (received += text));
  socket.write(
    `POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\nAuthorization: Bearer ${apiKey}\r\n` +
      `Content-Type: application/json\r\nIdempotency-Key: half-a-body\r\nContent-Length: 100\r\n\r\n{"order_id":`,
  );
  await once(socket, "close");
  expect(received).toMatch(/^HTTP\/1\.1 408 [\s\S]*"request_timeout"/);
});

test("on a full disk create requests are refused as unavailable, the health check fails, and no acknowledged order is lost", async () => {
  const service = await startUntilEnd({ maxFileKiB: 600 });
  const { apiKey } = await createHostedStore(service);
  const own = connect({ port: service.port, ready: { api_key: apiKey } } as Parameters<typeof connect>[0], 1);
  const health = async (): Promise<unknown> => {
    const answer = await fetch(`${service.origin}/healthz`);
    const { error } = (await answer.json()) as { readonly error?: { readonly code: string } };
    return [answer.status, error?.code];
  };
  expect(await health()).toEqual([200, undefined]);
  const acknowledged: Create[] = [];
  const refused: unknown[] = [];
  for (let at = 0; refused.length < 5; at += 1) {
    const create = { key: `full-disk-${at}`, orderId: `order-${at}` };
    const answer = await sendCreate(own, create);
    if (answer?.status === 201) acknowledged.push(create);
    else refused.push([answer?.status, JSON.parse(answer?.body ?? "{}")?.error?.code]);
  }
  own.agent.destroy();
  expect(new Set(refused.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify([503, "storage_unavailable"])]),
  );
  // The refusal of an unknown key needs no write, so the object still answers it.
  const headers = { Authorization: `Bearer ${apiKey.slice(0, -1)}${apiKey.endsWith("0") ? "1" : "0"}` };
  const unauthorized = await fetch(`${service.origin}/v1/orders`, { method: "POST", headers });
  expect(unauthorized.status).toBe(401);
  expect(await health()).toEqual([503, "storage_unavailable"]);
  await service.kill();
  await service.restart();
  expect(await health()).toEqual([200, undefined]);
  const again = connect(
    { port: service.port, ready: { api_key: apiKey } } as Parameters<typeof connect>[0],
    1,
  );
  for (const create of acknowledged) {
    const answer = await sendCreate(again, create);
    expect([answer?.status, answer?.replayed]).toEqual([201, true]);
  }
  again.agent.destroy();
  expect(service.printed()).not.toMatch(/\n\s+at /);
});

test("the health check of a hosted service fails while a store's Durable Object cannot be opened, and passes after the object answers again", async () => {
  const service = await startUntilEnd();
  await createHostedStore(service);
  const { storeId } = await createHostedStore(service);
  const path = databaseOf(service, storeId);
  const readEvents = () => service.control(`/stores/${storeId}/events`);
  const health = async (): Promise<number> => (await fetch(`${service.origin}/healthz`)).status;
  await service.kill();
  const files = [path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file));
  for (const file of files) renameSync(file, `${file}.away`);
  writeFileSync(path, "no database ".repeat(1000));
  await service.restart();
  await expect(readEvents()).rejects.toThrow(/: 503 /);
  expect(await health()).toBe(503);
  rmSync(path);
  for (const file of files) renameSync(`${file}.away`, file);
  await readEvents();
  expect(await health()).toBe(200);
});

test("deletions of hosted stores under load log no stack trace", async () => {
  const service = await startUntilEnd();
  await createHostedStore(service);
  for (let round = 0; round < size(2, 20); round += 1) {
    const { storeId, apiKey } = await createHostedStore(service);
    const own = connect(
      { port: service.port, ready: { api_key: apiKey } } as Parameters<typeof connect>[0],
      WORKERS.length,
    );
    let sent = 0;
    const buying = WORKERS.map(async () => {
      for (let status: number | undefined = 201; status === 201;) {
        const at = (sent += 1);
        status = (await sendCreate(own, { key: `deleted-${round}-${at}`, orderId: `o-${at}` }))?.status;
      }
    });
    await sendCreate(own, { key: `first-of-${round}`, orderId: "first" });
    await service.control(`/stores/${storeId}/delete`, {});
    await Promise.all(buying);
    own.agent.destroy();
  }
  expect(service.printed()).not.toMatch(/stack:|\n\s+at /);
});
