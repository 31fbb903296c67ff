import { once } from "node:events";
import { Agent, createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_DELIVERIES_IN_FLIGHT } from "../../src/core/webhook/delivery.ts";
import { SEED, seededRandom } from "../support/campaign.ts";
import { openControl, type Control } from "../support/control.ts";
import { median, medianRatio, type Figure } from "./figures.ts";
import { measureIdle } from "./idle.ts";
import { PROGRAM, type Bench, type Sandbox } from "./processes.ts";

const CONNECTIONS = 32;
/** A rate that the dispatcher can keep up with: in a growing outbox the times would depend on its length. */
const MODERATE_PER_SECOND = 200;
/** Short rounds: a figure is the median of its rounds, so that a busy moment of the machine affects one round only. */
const ROUNDS = 5;
const SINGLE_SAMPLES = 100;
const MODERATE_SAMPLES = 200;
const WARM_UP_CREATES = 2000;
const OUTBOX_EVENTS = 10_000;
const BARE_POSTS = 2000;
/** The time that a slow receiver works on each event, and its number of events in each round. */
const SLOW_MS = 50;
const SLOW_EVENTS = 400;
/** Maximum ratio to the time that a slow receiver needs for its events with the maximum in flight. */
const MAX_SLOW_RATIO = 1.35;
/** Maximum time until deliveries in flight have arrived after a pause. */
const PAUSE_MS = 100;
/**
 * Minimum ratio to the rate of a bare client with the same rows, requests in flight and kept-alive connections. The
 * bare client does not read the event, decrypt the secret, sign, keep events in order, or judge answers.
 */
const MIN_DRAIN_RATIO = 0.8;
/** Maximum time to wait for events before the run fails. */
const MAX_WAIT_MS = 120_000;

/** A receiver in this process. */
type Receiver = {
  readonly url: string;
  /** Sets how long the receiver works on each later event, in milliseconds. */
  readonly slow: (milliseconds: number) => void;
  /** Waits for `count` events, removes all received events, and returns the milliseconds that each was on its way. */
  readonly take: (count: number) => Promise<number[]>;
  readonly close: () => void;
};

/** A sandbox with one endpoint. */
type Site = {
  readonly sandbox: Sandbox;
  readonly control: Control;
  readonly endpointId: string;
  readonly receiver: Receiver;
  readonly agent: Agent;
};

/**
 * The time from commit to receipt, and the rate of draining an outbox, over loopback to a receiver in this process.
 *
 * The time begins with the `created_at` of the event, which its transaction reads before it commits, and ends
 * when the receiver has the whole request. `created_at` is whole milliseconds, rounded down, so figures are up to 1 ms
 * longer than the actual times.
 */
export async function measureWebhooks(bench: Bench): Promise<Figure[]> {
  const site = await openSite(bench);
  try {
    const idle = await measureIdle(site.sandbox, "with an endpoint");
    await createAll(site, WARM_UP_CREATES);
    await site.receiver.take(WARM_UP_CREATES);
    const [single, moderate]: [number[][], number[][]] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      single.push(await measureSingle(site));
      moderate.push(await measureModerate(site));
    }
    const listened = await measureListened(bench, site);
    return [
      ...latencies("one at a time", single),
      ...latencies("one at a time, through listen", listened),
      ...latencies(`${MODERATE_PER_SECOND}/s on ${CONNECTIONS} connections`, moderate),
      ...(await measureDrain(bench, site)),
      ...(await measureSlow(site)),
      ...idle,
    ];
  } finally {
    site.agent.destroy();
    site.receiver.close();
  }
}

async function openSite(bench: Bench): Promise<Site> {
  const receiver = await openReceiver();
  const sandbox = await bench.startSandbox(bench.newPath("webhooks"));
  const control = openControl(sandbox.port, sandbox.folder);
  const { id: endpointId } = await control.call("addEndpoint", { body: { url: receiver.url } });
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const site = { sandbox, control, endpointId, receiver, agent };
  // The idle work of an endpoint begins with its first delivery.
  await createAll(site, 1);
  await receiver.take(1);
  return site;
}

async function measureSingle(site: Site): Promise<number[]> {
  const times: number[] = [];
  while (times.length < SINGLE_SAMPLES) {
    await create(site);
    times.push(...(await site.receiver.take(1)));
  }
  return times;
}

/** Each connection pauses for a random time before each create, so that some creates coincide, as in a real shop. */
async function measureModerate(site: Site): Promise<number[]> {
  const meanRestMs = (CONNECTIONS * 1000) / MODERATE_PER_SECOND;
  let left = MODERATE_SAMPLES;
  await onConnections(async () => {
    while (left > 0) {
      left -= 1;
      await sleep(-Math.log(1 - random()) * meanRestMs);
      await create(site);
    }
  });
  return site.receiver.take(MODERATE_SAMPLES);
}

/** One event at a time, with `listen` between the sandbox and the receiver; the difference is the cost of `listen`. */
async function measureListened(bench: Bench, site: Site): Promise<number[][]> {
  const { control, endpointId: id, receiver, sandbox } = site;
  await control.call("setEndpointState", { id, body: { action: "disable" } });
  const line = [PROGRAM, "listen", "--json", "--forward", receiver.url, "--dir", sandbox.folder];
  const between = await bench.startServer(line);
  const rounds: number[][] = [];
  // The first event makes `listen` load the code that forwards events.
  await create(site);
  await receiver.take(1);
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measureSingle(site));
  await between.stop();
  await control.call("setEndpointState", { id, body: { action: "enable" } });
  return rounds;
}

/** Clients with the same receiver, requests in flight and kept-alive connections, with durable rows or without. */
const BARE_CLIENTS = ["bare POST with rows", "bare POST"] as const;
type BareClient = (typeof BARE_CLIENTS)[number];

/** Requests per second of all senders, one value for each round. */
type Rates = Record<"outbox" | BareClient, number[]>;

/**
 * Fills the outbox while the endpoint is paused, and measures the rate at which it is drained, a part in each round.
 * The bare clients send between the parts: on a busy machine only measurements in direct succession can be compared.
 */
async function measureDrain(bench: Bench, site: Site): Promise<Figure[]> {
  const { control, endpointId: id } = site;
  const rates: Rates = {
    outbox: [],
    "bare POST with rows": [],
    "bare POST": [],
  };
  await control.call("setEndpointState", { id, body: { action: "pause" } });
  await createAll(site, OUTBOX_EVENTS);
  for (let left = OUTBOX_EVENTS; left > 0;) {
    const startedAt = performance.now();
    await control.call("setEndpointState", { id, body: { action: "enable" } });
    const { length: taken } = await site.receiver.take(Math.min(left, OUTBOX_EVENTS / ROUNDS));
    rates.outbox.push((taken * 1000) / (performance.now() - startedAt));
    await control.call("setEndpointState", { id, body: { action: "pause" } });
    left -= taken + (await takeRest(site.receiver));
    for (const client of BARE_CLIENTS) rates[client].push(await postBare(bench, site.receiver, client));
  }
  const drainFigure = (baseline: BareClient, target?: Figure["target"]): Figure => ({
    name: `outbox of ${OUTBOX_EVENTS.toLocaleString("en")} drained`,
    value: median(rates.outbox),
    unit: "/s",
    baseline,
    ratio: medianRatio(rates.outbox, rates[baseline]),
    ...(target === undefined ? {} : { target }),
  });
  return [
    ...BARE_CLIENTS.map((name) => ({ name, value: median(rates[name]), unit: "/s" }) as const),
    drainFigure("bare POST with rows", { atLeast: MIN_DRAIN_RATIO }),
    drainFigure("bare POST"),
  ];
}

/** Measures the time until an outbox is drained to a receiver that works on each event for a while. */
async function measureSlow(site: Site): Promise<Figure[]> {
  const { control, endpointId: id, receiver } = site;
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await control.call("setEndpointState", { id, body: { action: "pause" } });
    await createAll(site, SLOW_EVENTS);
    receiver.slow(SLOW_MS);
    const startedAt = performance.now();
    await control.call("setEndpointState", { id, body: { action: "enable" } });
    await receiver.take(SLOW_EVENTS);
    times.push(performance.now() - startedAt);
    receiver.slow(0);
  }
  const needed = (SLOW_EVENTS * SLOW_MS) / DEFAULT_DELIVERIES_IN_FLIGHT;
  return [
    {
      name: `outbox of ${SLOW_EVENTS} drained to a receiver that takes ${SLOW_MS} ms`,
      value: median(times),
      unit: "ms",
      baseline: `${SLOW_EVENTS} x ${SLOW_MS} ms / ${DEFAULT_DELIVERIES_IN_FLIGHT} in flight`,
      ratio: median(times) / needed,
      target: { atMost: MAX_SLOW_RATIO },
    },
  ];
}

/** The number of events that arrived after the last awaited event, before the pause took effect. */
async function takeRest({ take }: Receiver): Promise<number> {
  await sleep(PAUSE_MS);
  return (await take(0)).length;
}

/** Requests per second of a bare client in a separate process. */
async function postBare(bench: Bench, { url, take }: Receiver, client: BareClient): Promise<number> {
  const rows = client === "bare POST with rows" ? [bench.newPath("outbox.db")] : [];
  const file = join(import.meta.dirname, "baselines/bare-post.ts");
  const { ready } = await bench.startServer([
    file,
    url,
    String(BARE_POSTS),
    String(DEFAULT_DELIVERIES_IN_FLIGHT),
    ...rows,
  ]);
  await take(BARE_POSTS);
  return Number(ready["perSecond"]);
}

async function createAll(site: Site, count: number): Promise<void> {
  let left = count;
  await onConnections(async () => {
    while (left > 0) {
      left -= 1;
      await create(site);
    }
  });
}

async function onConnections(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

const random = seededRandom(SEED);
/** The number of creates over all runs, so that each creates a new order. */
let serial = 0;

function create({ sandbox: { port, apiKey }, agent }: Site): Promise<void> {
  serial += 1;
  const orderId = `webhook-bench-${serial}`;
  const body = JSON.stringify({ order_id: orderId, price_id: "price_coffee" });
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    "Content-Type": "application/json",
    "Content-Length": body.length,
    "Idempotency-Key": orderId,
  };
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port, agent, method: "POST", path: "/v1/orders", headers },
      (response) => {
        if (response.statusCode !== 201) reject(new Error(`a create was answered ${response.statusCode}`));
        response.resume().on("end", resolve).on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

async function openReceiver(): Promise<Receiver> {
  const times: number[] = [];
  let slowMs = 0;
  let look: () => void = () => undefined;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const now = performance.timeOrigin + performance.now();
      const [, createdAt = ""] = /"created_at":"([^"]+)"/.exec(Buffer.concat(chunks).toString()) ?? [];
      const answer = (): void => {
        times.push(now - Date.parse(createdAt));
        response.writeHead(204).end();
        look();
      };
      if (slowMs === 0) answer();
      else setTimeout(answer, slowMs);
    });
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}/hooks`,
    slow: (milliseconds) => void (slowMs = milliseconds),
    take: async (count) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      look = () => void (times.length >= count && resolve());
      look();
      const tooLate = (): void =>
        reject(new Error(`${times.length} of ${count} events came in ${MAX_WAIT_MS} ms`));
      const timer = setTimeout(tooLate, MAX_WAIT_MS);
      await promise.finally(() => clearTimeout(timer));
      return times.splice(0);
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function latencies(when: string, rounds: readonly (readonly number[])[]): Figure[] {
  const quantile = (part: number): number =>
    median(
      rounds.map(
        (times) => times.toSorted((left, right) => left - right)[Math.floor(times.length * part)] ?? 0,
      ),
    );
  const name = `webhook, commit to received, ${when}`;
  return [
    { name: `${name}, p50`, value: quantile(0.5), unit: "ms", target: { below: 10 } },
    { name: `${name}, p99`, value: quantile(0.99), unit: "ms" },
  ];
}
