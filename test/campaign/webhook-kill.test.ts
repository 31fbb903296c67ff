import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { buildCreateRequest } from "../../src/client/api/client.ts";
import { DEFAULT_DELIVERIES_IN_FLIGHT } from "../../src/core/webhook/delivery.ts";
import { PAY_OUTCOMES } from "../../src/core/checkout/reserved-order-id.ts";
import { checkoutResponse } from "../../src/core/checkout/wire-shapes.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { NETWORK } from "../support/control.ts";
import {
  auditFaults,
  openWitness,
  type AuditedEndpoint,
  type Reply,
  type Witness,
} from "../support/delivery-audit.ts";
import { eventually } from "../support/eventually.ts";
import { purchase } from "../support/load.ts";
import { startServiceProcess, type ServiceProcess } from "../support/service-process.ts";

const CYCLES = size(3, 100);
const SHOPPERS = 3;
/** Maximum pause between two orders, which lets the deliveries nearly keep up. */
const MAX_PAUSE_MS = 8;
const MIN_LOAD_MS = 20;
const MAX_LOAD_MS = 400;
/** Maximum number of refusals of an event: fewer than the attempts of a delivery. */
const MAX_REFUSALS = 3;
const HOUR_MS = 3_600_000;

/** The moment of the kill: any moment, or when a receiver gets a request, or when it has just answered a request. */
const MOMENTS = ["any", "request", "answer"] as const;

/** An endpoint with its maximum number of deliveries in flight. */
type Endpoint = AuditedEndpoint & { readonly atOnce: number };

/** A running service, and the random numbers of its shoppers in a cycle. */
type Shop = {
  readonly service: ServiceProcess;
  readonly random: () => number;
  readonly cycle: number;
};

test("after kill -9, every event is delivered at least once, in order for each checkout, and every attempt is recorded", async ({
  annotate,
}) => {
  const random = seededRandom(SEED);
  const acknowledged = new Set<string>();
  let service = await startServiceProcess();
  const endpoints = await addEndpoints(service, random);
  let interrupted = countInterrupted(service, endpoints);
  let hit = 0;

  for (let cycle = 1; cycle <= CYCLES; cycle += 1) {
    const moment = MOMENTS[cycle % MOMENTS.length] ?? "any";
    const loadMs = MIN_LOAD_MS + random() * (MAX_LOAD_MS - MIN_LOAD_MS);
    const where = `seed ${SEED}, cycle ${cycle}, killed after ${loadMs.toFixed(1)} ms, moment: ${moment}`;
    const shop = { service, random, cycle };
    await tradeAndKill(shop, {
      moment,
      loadMs,
      acknowledged,
      witnesses: endpoints.map(({ witness }) => witness),
    });
    for (const { witness } of endpoints) witness.nextRun();
    service = await service.restart();

    const before = interrupted;
    interrupted = countInterrupted(service, endpoints);
    const cut = interrupted.map((count, index) => count - (before[index] ?? 0));
    for (const [index, { name, atOnce }] of endpoints.entries())
      expect(cut[index], `${where}: attempts that the kill cut off at ${name}`).toBeLessThanOrEqual(atOnce);
    hit += Math.min(1, Math.max(...cut));
    await service.control.call("moveClock", { body: { action: "advance", byMs: 1 } });
    expect(
      endpoints.flatMap(({ witness }) => witness.faults),
      where,
    ).toEqual([]);
  }

  const rows = service.openRows();
  const count = (table: string): number =>
    rows.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  for (let hours = 0; count("deliveries WHERE state = 'due'") > 0 && hours < 5; hours += 1)
    await service.control.call("moveClock", { body: { action: "advance", byMs: HOUR_MS } });
  await service.stop();
  const faults = [...endpoints.flatMap(({ witness }) => witness.faults), ...auditFaults(rows, endpoints)];
  expect(faults, `seed ${SEED}`).toEqual([]);
  expect(countInterrupted(service, endpoints), `seed ${SEED}, nothing else cuts off`).toEqual(interrupted);
  const created = rows.prepare<[], string>("SELECT checkout_id FROM events WHERE sequence = 1").pluck().all();
  expect(
    [...acknowledged].filter((id) => !created.includes(id)),
    `seed ${SEED}, lost`,
  ).toEqual([]);
  expect(rows.pragma("integrity_check", { simple: true }), `seed ${SEED}`).toBe("ok");
  expect(rows.pragma("foreign_key_check"), `seed ${SEED}`).toEqual([]);
  expect(acknowledged.size, "a load that nobody answered proves nothing").toBeGreaterThan(CYCLES);
  expect(hit, "kills that cut off a delivery").toBeGreaterThan(0);
  const had = endpoints.map(({ atOnce, witness }) => ({ several: atOnce > 1, most: witness.mostAtOnce() }));
  expect(
    had.filter(({ several, most }) => !several && most > 1),
    "several where one was asked for",
  ).toEqual([]);
  // Not every endpoint: a busy machine does not reach enough load in the few kills of a small run.
  expect(
    had.some(({ several, most }) => several && most > 1),
    "several at once, somewhere",
  ).toBe(true);

  const seen = endpoints.flatMap(({ witness }) => Array.from(witness.seen.values()));
  const requests = seen.reduce((sum, one) => sum + one.requests, 0);
  const refused = seen.reduce(
    (sum, { answered }) => sum + answered.filter((status) => status !== 200).length,
    0,
  );
  await annotate(
    `seed ${SEED}: ${hit} of ${CYCLES} kills cut off ${interrupted.join(" + ")} attempts; ${acknowledged.size} checkouts acknowledged, ` +
      `${count("events")} events, ${count("deliveries")} deliveries in ${count("delivery_attempts")} attempts; ` +
      `${requests} requests received, ${refused} refused, ${seen.filter(({ answered }) => wasAcceptedTwice(answered)).length} events taken twice`,
  );
});

/** Adds endpoints with receivers that answer at once, answer slowly, or sometimes refuse or delay. */
async function addEndpoints(
  { control, signingSecret: secret }: ServiceProcess,
  random: () => number,
): Promise<Endpoint[]> {
  const capricious = (refusals: number): Reply => {
    const choice = random();
    if (choice < 0.15 && refusals < MAX_REFUSALS) return { status: 500, afterMs: 0 };
    return { status: 200, afterMs: choice > 0.8 ? random() * 50 : 0 };
  };
  const slow = (): Reply => ({ status: 200, afterMs: random() * 20 });
  const wanted = [
    {
      name: "steady",
      inOrder: true,
      eventTypes: ["order.*"],
      reply: (): Reply => ({ status: 200, afterMs: 0 }),
    },
    { name: "slow", inOrder: false, eventTypes: ["*"], reply: slow },
    { name: "capricious", inOrder: false, eventTypes: ["*"], reply: capricious },
  ];
  const added: Endpoint[] = [];
  for (const { name, inOrder, eventTypes, reply } of wanted) {
    const atOnce = inOrder ? 1 : DEFAULT_DELIVERIES_IN_FLIGHT;
    const witness = await openWitness({ name, secret, atOnce, reply });
    const body = { url: witness.url, eventTypes, inOrder };
    const { id } = await control.call("addEndpoint", { body });
    added.push({ name, id, eventTypes, witness, atOnce });
  }
  return added;
}

/** Creates and pays checkouts until the kill; in a third of the cycles the clock moves, to interrupt retries too. */
async function tradeAndKill(
  shop: Shop,
  options: {
    readonly moment: (typeof MOMENTS)[number];
    readonly loadMs: number;
    readonly acknowledged: Set<string>;
    readonly witnesses: readonly Witness[];
  },
): Promise<void> {
  const { service, random } = shop;
  const { moment, loadMs, acknowledged, witnesses } = options;
  const before = acknowledged.size;
  const work = Array.from({ length: SHOPPERS }, (_unused, shopper) => trade(shop, { shopper, acknowledged }));
  await sleep(loadMs / 2);
  const body = { action: "advance", byMs: 1 + Math.floor(random() * HOUR_MS) } as const;
  const moving = random() < 1 / 3 ? service.control.attempt("moveClock", { body }) : undefined;
  await sleep(loadMs / 2);
  await eventually("some checkouts are made", () => expect(acknowledged.size).toBeGreaterThan(before + 1));
  if (moment !== "any") await runAtNext(moment, witnesses, service.kill);
  else await service.kill();
  await Promise.all([...work, moving]);
}

/** Runs `act` when a receiver gets its next request, or has answered it. */
async function runAtNext(
  moment: "request" | "answer",
  witnesses: readonly Witness[],
  act: () => Promise<void>,
): Promise<void> {
  let acted: Promise<void> | undefined;
  const watch: Witness["watch"] = (now) => {
    if (now !== moment) return;
    for (const witness of witnesses) witness.watch = () => undefined;
    acted = act();
  };
  for (const witness of witnesses) witness.watch = watch;
  await eventually(`a receiver has its next ${moment}`, () => expect(acted).toBeDefined());
  await acted;
}

/** Creates and pays checkouts until the sandbox is gone. */
async function trade(
  { service, random, cycle }: Shop,
  { shopper, acknowledged }: { readonly shopper: number; readonly acknowledged: Set<string> },
): Promise<void> {
  const { baseUrl, apiKey, control } = service;
  const target = { baseUrl, apiKey, service: "", storeId: null };
  for (let turn = 1; ; turn += 1) {
    const endpoint = random() < 0.7 ? "orders" : "checkout-sessions";
    const key = `webhook-kill-${cycle}-${shopper}-${turn}`;
    const request = buildCreateRequest(target, { endpoint, key, body: JSON.stringify(purchase(key)) });
    const answer = await NETWORK.send({ ...request, timeoutMs: 60_000, maxResponseBytes: 64 * 1024 });
    if (!answer.ok) return;
    expect(answer.status, answer.body).toBe(201);
    const { id } = checkoutResponse.parse(JSON.parse(answer.body)).data;
    acknowledged.add(id);
    const outcome = PAY_OUTCOMES[Math.floor(random() * PAY_OUTCOMES.length * 1.5)];
    if (outcome !== undefined) await control.attempt("pay", { id, body: { outcome } });
    await sleep(random() * MAX_PAUSE_MS);
  }
}

/** The number of attempts at each endpoint that were interrupted by the end of a process. */
function countInterrupted({ openRows }: ServiceProcess, endpoints: readonly AuditedEndpoint[]): number[] {
  const rows = openRows();
  const select = rows.prepare<[string], number>(
    `SELECT count(*) FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
     WHERE error = 'interrupted' AND endpoint_id = ?`,
  );
  const counts = endpoints.map(({ id }) => select.pluck().get(id) ?? 0);
  rows.close();
  return counts;
}

function wasAcceptedTwice(answered: readonly number[]): boolean {
  return answered.filter((status) => status === 200).length > 1;
}
