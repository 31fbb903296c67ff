import { join } from "node:path";
import { expect, test } from "vitest";
import type { AttemptResult } from "../../src/core/checkout/payment.ts";
import { PAY_OUTCOMES } from "../../src/core/checkout/reserved-order-id.ts";
import type { FullAnswer } from "../support/harness.ts";
import { seededRandom, SEED, size } from "../support/campaign.ts";
import type { ApiCall } from "../support/harness.ts";
import {
  brokenPromises,
  lastStatuses,
  paymentRows,
  PROMISES,
  type PaymentRow,
} from "../support/payment-invariants.ts";
import { DAMAGE, openUnguarded } from "../support/payment-damage.ts";
import {
  timeEffects,
  endIn,
  endsOf,
  formOf,
  formTokenIn,
  isEnd,
  type Act,
  type Payment,
} from "../support/payment-model.ts";
import { runtimeHere, type PaymentService } from "../support/runtimes.ts";
import { tempFolder } from "../support/temp-folder.ts";

const RUNTIME = runtimeHere();
const HISTORIES = RUNTIME.share(size(6, 400));
/** Number of runs of each race; at least 6, because each race must end in several ways. */
const RACES_OF_EACH = Math.max(6, RUNTIME.share(size(6, 1000)));
const STEPS = 60;
const ORDERS = ["order-0", "order-1", "order-2", "order-3", ...PAY_OUTCOMES.map((one) => `order-4~${one}`)];
const MAX_ADVANCE_MS = 3_500_000;
/** Number of checkouts that one look reads. */
const CHECKOUTS_PER_LOOK = 4;
/** If a kind of step never changes anything in this many attempts, this test is wrong. */
const ENOUGH = 50;
const RESULTS = ["succeeded", "declined", "failed"] as const satisfies readonly AttemptResult[];
const FORM = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" };

/** The service as its callers see it, and its tables. */
type Site = {
  readonly random: () => number;
  /** The token of each checkout's forms, from its first page. */
  readonly tokens: Map<string, string>;
  service: PaymentService;
  keys: number;
  /** The number of inspections of a checkout's views. */
  looks: number;
};

/** The name of a step, and the states that it allows for each earlier checkout. */
type Step = { readonly did: string; readonly allows: (id: string, before: PaymentRow) => readonly Payment[] };

const PASSIVE = new Set(["look", "restart", "walk_away"]);
const unchanged: Step["allows"] = (_id, before) => [before];
const aged: Step["allows"] = (_id, before) => timeEffects(before, before.settles);

test("the statuses, events and attempts of payments follow decision 10 under random commands and restarts", async ({
  annotate,
}) => {
  const counts = new Map<string, { done: number; effective: number }>();
  const checkouts: Payment[] = [];
  for (let round = 0; round < HISTORIES; round += 1) {
    const site = await openSite(SEED + round);
    for (let number = 0; number < STEPS; number += 1) {
      const where = `seed ${SEED + round}, step ${number}`;
      const before = paymentRows(site.service.rows);
      const step = await takeStep(site, before);
      const said = await retrieveAll(site);
      const after = paymentRows(site.service.rows);
      for (const [id, row] of before)
        expect(
          step.allows(id, row).map((one) => paymentOf(one)),
          `${where}: ${step.did} on ${JSON.stringify(row)}`,
        ).toContainEqual(paymentOf(after.get(id)));
      for (const [id, row] of after)
        if (!before.has(id)) expect(paymentOf(row), `${where}: ${step.did} made ${id}`).toEqual(CREATED);
      const statuses = new Map([...after].map(([id, { status }]) => [id, status]));
      expect(said, where).toEqual(statuses);
      expect(lastStatuses(site.service.rows), where).toEqual(statuses);
      const { done = 0, effective = 0 } = counts.get(step.did) ?? {};
      counts.set(step.did, { done: done + 1, effective: effective + (isSame(before, after) ? 0 : 1) });
    }
    expect(brokenPromises(site.service.rows), `seed ${SEED + round}`).toEqual([]);
    checkouts.push(...paymentRows(site.service.rows).values());
    await site.service.close();
  }
  const idle = [...counts].flatMap(([did, { done, effective }]) =>
    effective === 0 && done >= ENOUGH ? [did] : [],
  );
  expect(
    idle.filter((did) => !PASSIVE.has(did)),
    "what never changed anything",
  ).toEqual([]);
  const did = [...counts].map(([name, { done, effective }]) => `${name} ${effective} of ${done}`);
  const late = checkouts.filter((one) => one.late.length > 0).length;
  const worn = checkouts.filter(
    ({ status, attempts }) => status === "failed" && attempts[4] === "declined",
  ).length;
  await annotate(
    `seed ${SEED}: ${checkouts.length} checkouts, ${late} with late results, ${worn} declined five times; steps that changed something: ${did.toSorted().join(", ")}`,
  );
});

const PAY: Act = { kind: "finish", attempt: 1, result: "succeeded" };
const CREATED: Payment = { status: "created", attempts: [], late: [], events: 1 };
const START: Act = { kind: "start" };
const CANCEL: Act = { kind: "cancel", attempt: null };
const outcome = (one: (typeof PAY_OUTCOMES)[number]): Act => ({ kind: "pay", outcome: one });

/** Races between two payers; each payer takes the listed actions in order. */
const RACES: readonly (readonly [what: string, left: readonly Act[], right: readonly Act[]])[] = [
  ["success/expire", [outcome("succeeded")], [outcome("expired")]],
  ["success/cancel", [outcome("succeeded")], [outcome("cancelled")]],
  ["success/fail", [outcome("succeeded")], [outcome("failed")]],
  ["success/success", [outcome("succeeded")], [outcome("succeeded")]],
  ["two tabs: pay/pay", [START, PAY], [START, PAY]],
  ["two tabs: pay/cancel on the page", [START, PAY], [START, CANCEL]],
  ["two tabs: pay/cancel in the wallet", [START, PAY], [START, { kind: "cancel", attempt: 1 }]],
  ["two tabs: pay/walk away", [START, PAY], [START, { kind: "walk_away", attempt: 1 }]],
  ["two tabs: pay/late", [START, PAY], [START, { kind: "late", attempt: 1 }]],
  ["two tabs: pay/decline", [START, PAY], [START, { kind: "finish", attempt: 1, result: "declined" }]],
  ["two tabs: pay/expire from outside", [START, PAY], [START, outcome("expired")]],
];

test("two racing payers get the result of some sequential order of their commands", async ({ annotate }) => {
  const site = await openSite(SEED);
  const seen = new Map<string, Set<string>>();
  for (let round = 0; round < RACES_OF_EACH * RACES.length; round += 1) {
    const [what, left, right] = RACES[round % RACES.length] ?? ["none", [], []];
    const id = await create(site, `race-${round}`);
    if (id === undefined) throw new Error(`race-${round} was not created`);
    const run = Math.floor(round / RACES.length);
    const racers = run % 2 === 0 ? [left, right] : [right, left];
    // In the first two runs each side starts first once; later, chance decides.
    const maxTurns = run < 2 ? 0 : 3;
    const answers = await Promise.all(racers.map((acts) => actInOrder(site, { id, acts, maxTurns })));
    const ended = paymentOf(paymentRows(site.service.rows, id).get(id));
    const where = `seed ${SEED}, round ${round}, ${what}`;
    expect(endsOf(CREATED, racers), where).toContainEqual(ended);
    const told = answers.flat().map((answer) => statusIn(answer) ?? "");
    expect(new Set([ended.status, ...told.filter(isEnd)]).size, `${where}: ${told.join()}`).toBe(1);
    expect(await retrieve(site, id), where).toBe(ended.status);
    seen.set(what, (seen.get(what) ?? new Set()).add(JSON.stringify(ended)));
  }
  expect(brokenPromises(site.service.rows)).toEqual([]);
  for (const [what, left, right] of RACES) {
    const possible = new Set(endsOf(CREATED, [left, right]).map((one) => JSON.stringify(one)));
    // A race that always ends in the same way would test nothing.
    expect(seen.get(what)?.size, what).toBeGreaterThanOrEqual(Math.min(2, possible.size));
  }
  const ends = [...seen].map(([what, { size: different }]) => `${what} ${different}`);
  await annotate(`seed ${SEED}, ${RACES_OF_EACH} rounds each, different ends: ${ends.join(", ")}`);
});

test("brokenPromises, the check of these tests, finds a violation of each rule for payments", async () => {
  const site = await openSite(SEED);
  const id = await create(site, "order-1");
  const late: Act = { kind: "late", attempt: 1 };
  const decline: Act = { kind: "finish", attempt: 1, result: "declined" };
  const pay: Act = { kind: "finish", attempt: 2, result: "succeeded" };
  await actInOrder(site, { id: id ?? "", acts: [START, decline, START, pay, late], maxTurns: 0 });
  const copy = join(tempFolder(), "copy.db");
  site.service.rows.prepare("VACUUM INTO ?").run(copy);
  const rows = openUnguarded(copy);
  expect(brokenPromises(rows)).toEqual([]);
  for (const [promise, sql] of DAMAGE) {
    rows.exec("BEGIN");
    rows.exec(sql);
    expect(
      brokenPromises(rows).map((broken) => broken.replace(/^[^:]*: /, "")),
      sql,
    ).toContain(promise);
    rows.exec("ROLLBACK");
  }
  rows.close();
  expect(new Set(DAMAGE.map(([promise]) => promise))).toEqual(new Set(Object.keys(PROMISES)));
});

/** Takes a random action of a merchant, a payer, the clock or an operator. */
async function takeStep(site: Site, before: ReadonlyMap<string, PaymentRow>): Promise<Step> {
  const { random } = site;
  const choice = random();
  // Mostly an open checkout, preferably an old one, so that some checkouts take many steps.
  const open = [...before].filter(([, { status }]) => !isEnd(status));
  const [id, row] = pick(() => random() ** 2, open.length > 0 && random() < 0.8 ? open : [...before]) ?? [];
  if (choice < 0.14 || id === undefined || row === undefined) return createStep(site, before);
  if (choice < 0.66) {
    const act = randomAct(random, row);
    await perform(site, id, act);
    return { did: nameOf(act), allows: (one, was) => (one === id ? endsOf(was, [[act]]) : [was]) };
  }
  if (choice < 0.72) {
    const payers = Array.from({ length: 2 + Math.floor(random() * 2) }, () => [randomAct(random, row)]);
    await Promise.all(payers.flat().map((act) => perform(site, id, act)));
    return { did: "at once", allows: (one, was) => (one === id ? endsOf(was, payers) : [was]) };
  }
  if (choice < 0.8) {
    await site.service.passTime(someTime(random));
    // Sometimes a page is the first to notice that something is due.
    if (random() < 0.5) await lookAround(site, [...before.keys()]);
    return { did: "time", allows: aged };
  }
  if (choice < 0.88) {
    const advance = { action: "advance", by_ms: someTime(random) };
    const clock = pick(random, [advance, advance, { action: "freeze" }, { action: "real" }]);
    await control(site, "/clock", clock ?? {});
    return { did: "clock", allows: aged };
  }
  if (choice < 0.93) {
    await lookAround(site, [...before.keys()]);
    return { did: "look", allows: unchanged };
  }
  site.service = await site.service.restart();
  return { did: "restart", allows: aged };
}

async function createStep(site: Site, before: ReadonlyMap<string, PaymentRow>): Promise<Step> {
  const orderId = pick(site.random, ORDERS) ?? "";
  const isTaken = [...before.values()].some(
    (row) => row.orderId === orderId && ["created", "pending", "succeeded"].includes(row.status),
  );
  const id = await create(site, orderId);
  expect(id === undefined, `${orderId} is ${isTaken ? "taken" : "free"}`).toBe(isTaken);
  return { did: "create", allows: unchanged };
}

/** A random action, valid or too late: on the open attempt, on an old attempt, or on an attempt that never existed. */
function randomAct(random: () => number, { attempts }: Payment): Act {
  const attempt =
    random() < 0.6 ? Math.max(1, attempts.length) : 1 + Math.floor(random() * (attempts.length + 1));
  const last = attempts.length;
  // Sometimes a payer continues until the fifth attempt is declined.
  if (random() < 0.5)
    return attempts.includes(null) ? { kind: "finish", attempt: last, result: "declined" } : START;
  const choice = random();
  if (choice < 0.25) return START;
  if (choice < 0.28) return CANCEL;
  if (choice < 0.31) return { kind: "cancel", attempt };
  if (choice < 0.68) return { kind: "finish", attempt, result: pick(random, RESULTS) ?? "declined" };
  if (choice < 0.76) return { kind: "late", attempt };
  if (choice < 0.82) return { kind: "walk_away", attempt };
  return outcome(pick(random, PAY_OUTCOMES) ?? "declined");
}

/** A random time in milliseconds: mostly short, so that payments continue; sometimes most of a lifetime. */
function someTime(random: () => number): number {
  return 1 + Math.floor(random() ** 3 * MAX_ADVANCE_MS);
}

function nameOf(act: Act): string {
  if (act.kind === "finish") return act.result;
  return act.kind === "pay" ? `pay ${act.outcome}` : act.kind;
}

/** Takes the actions in order, each up to `maxTurns` turns of the event loop after the previous action. */
async function actInOrder(
  site: Site,
  { id, acts, maxTurns }: { readonly id: string; readonly acts: readonly Act[]; readonly maxTurns: number },
): Promise<FullAnswer[]> {
  const answers: FullAnswer[] = [];
  for (const act of acts) {
    const turns = Math.floor(site.random() * (maxTurns + 1));
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    answers.push(await perform(site, id, act));
  }
  return answers;
}

/** Takes an action of a payer: with a form of the page, by closing the wallet, or over the control API. */
async function perform(site: Site, id: string, act: Act): Promise<FullAnswer> {
  if (act.kind === "pay") return control(site, `/checkouts/${id}/pay`, { outcome: act.outcome });
  if (act.kind === "walk_away") return visit(site, `/pay/${id}/wallet/${act.attempt}/closed`);
  const { path, outcome: said } = formOf(id, act);
  const form = new URLSearchParams({ token: site.tokens.get(id) ?? "", ...(said && { outcome: said }) });
  const answer = await visit(site, path, { method: "POST", headers: FORM, body: String(form) });
  expect([path, answer.status]).toEqual([path, 303]);
  return answer;
}

/** Reads views of some checkouts, which must change nothing. */
async function lookAround(site: Site, ids: readonly string[]): Promise<void> {
  const first = Math.floor(site.random() * ids.length);
  for (const id of ids.slice(first, first + CHECKOUTS_PER_LOOK)) {
    const token = site.tokens.get(id) ?? "";
    const shown = endIn(String((await visit(site, `/pay/${id}`)).body));
    const asked = ["", "?outcome=succeeded&status=succeeded", `?token=${token}&outcome=succeeded`];
    const wallets = [1, 2, 3, 4, 5, 6].flatMap((attempt) => [
      `/wallet/${attempt}`,
      `/wallet/${attempt}?token=${token}&outcome=succeeded`,
      `/wallet/${attempt}/closed`,
    ]);
    for (const path of RUNTIME.some([...asked, "/start", "/cancel", ...wallets], (site.looks += 1))) {
      await visit(site, `/pay/${id}${path}`);
      await visit(site, `/pay/${id}${path}`, { method: "HEAD" });
    }
    await control(site, `/checkouts/${id}`);
    const status = (await retrieve(site, id)) ?? "";
    expect([id, shown]).toEqual([id, isEnd(status) ? status : undefined]);
  }
  await control(site, "/clock");
}

async function openSite(seed: number): Promise<Site> {
  const service = await RUNTIME.openPayments(seed);
  return { random: seededRandom(seed), tokens: new Map(), keys: 0, looks: 0, service };
}

/** Creates an order and opens its page. Undefined if the order is open or paid. */
async function create(site: Site, orderId: string): Promise<string | undefined> {
  site.keys += 1;
  const answer = await send(site, {
    path: "/v1/orders",
    headers: { "Idempotency-Key": `model-key-${site.keys}` },
    body: JSON.stringify({ order_id: orderId, price_id: "price_bento" }),
  });
  if (answer.status === 409) return undefined;
  const { data } = JSON.parse(String(answer.body)) as { readonly data: { readonly id: string } };
  const token = formTokenIn(String((await visit(site, `/pay/${data.id}`)).body));
  if (token === undefined) throw new Error(`the page of ${data.id} has no form`);
  site.tokens.set(data.id, token);
  return data.id;
}

/** The status of every checkout as v1 reports it; a retrieve does due work first. */
async function retrieveAll(site: Site): Promise<Map<string, string | undefined>> {
  const said = new Map<string, string | undefined>();
  for (const id of paymentRows(site.service.rows).keys()) said.set(id, await retrieve(site, id));
  return said;
}

async function retrieve(site: Site, id: string): Promise<string | undefined> {
  return statusIn(await send(site, { path: `/v1/checkout-sessions/${id}` }));
}

async function control({ service }: Site, path: string, body?: object): Promise<FullAnswer> {
  return expectNoFailure(path, await service.control(path, body));
}

/** Requests a page as a browser does. */
function visit(site: Site, path: string, call: Partial<ApiCall> = {}): Promise<FullAnswer> {
  const headers = { Host: site.service.checkoutHost, Authorization: "", ...call.headers };
  return send(site, { ...call, path, headers });
}

async function send({ service }: Site, call: Partial<ApiCall> & Pick<ApiCall, "path">): Promise<FullAnswer> {
  return expectNoFailure(`${call.method ?? ""} ${call.path}`, await service.request(call));
}

function expectNoFailure(what: string, answer: FullAnswer): FullAnswer {
  expect(answer.status, `${what}: ${String(answer.body)}`).toBeLessThan(500);
  return answer;
}

/** The status in a JSON answer; undefined for refusals and pages. */
function statusIn({ headers, body }: FullAnswer): string | undefined {
  if (headers["Content-Type"]?.startsWith("application/json") !== true) return undefined;
  const { data } = JSON.parse(String(body)) as { readonly data?: { readonly status: string } };
  return data?.status;
}

function isSame(before: ReadonlyMap<string, Payment>, after: ReadonlyMap<string, Payment>): boolean {
  const [left, right] = [before, after].map((all) =>
    JSON.stringify([...all.values()].map((one) => paymentOf(one))),
  );
  return left === right;
}

function paymentOf(row: Payment | undefined): Payment {
  if (row === undefined) throw new Error("a checkout is gone");
  const { status, attempts, late, events } = row;
  return { status, attempts, late, events };
}

function pick<Value>(random: () => number, values: readonly Value[]): Value | undefined {
  return values[Math.floor(random() * values.length)];
}
