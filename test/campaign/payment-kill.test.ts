import { readFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Status } from "../../src/core/checkout/checkout.ts";
import { PAY_OUTCOMES } from "../../src/core/checkout/reserved-order-id.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { connect, openRows, type Service } from "../support/load.ts";
import { brokenPromises, lastStatuses, paymentRows, type PaymentRow } from "../support/payment-invariants.ts";
import { endIn, formOf, formTokenIn, isEnd, type FormAct } from "../support/payment-model.ts";
import { startSandbox, type SandboxProcess } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CYCLES = size(2, 100);
const CONNECTIONS = 8;
/** Minimum number of answers before a kill, which then comes within MAX_LOAD_MS. */
const MIN_ANSWERS = 100;
const MAX_LOAD_MS = 400;
/** Number of order_ids in a cycle; each is bought repeatedly, and some settle automatically. */
const ORDERS = 24;
/** Number of newest checkouts on which payers mostly act. */
const RECENT = 16;
const MAX_ADVANCE_MS = 3_500_000;
const FORM = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" };

/** A promise that an answer made about a checkout, and that must hold after every later restart. */
type Fact = { readonly id: string; readonly what: string; readonly holds: (row: PaymentRow) => boolean };

/** Promises and observations of all cycles so far. */
type Ledger = {
  readonly facts: Fact[];
  /** The ids of all events that answers named. */
  readonly events: Set<string>;
  /** The token of each checkout's forms. */
  readonly tokens: Map<string, string>;
  /** The last attempt that a page of each checkout has shown. */
  readonly attempts: Map<string, number>;
  /** All checkouts, oldest first. */
  readonly ids: string[];
};

/** A load on a service: its requests, their results and the faults that it found. */
type Load = {
  readonly cycle: number;
  readonly service: Service;
  readonly controlToken: string;
  readonly random: () => number;
  readonly ledger: Ledger;
  readonly answered: Map<Kind, number>;
  /** The requests in flight at the kill, with their keys if they are creates. */
  readonly inFlight: { readonly kind: Kind; readonly key: string | undefined }[];
  readonly faults: string[];
  isKilled: boolean;
  isGone: boolean;
  creates: number;
};

type Call = {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};
type Answer = { readonly status: number; readonly body: string };

/** The expected statuses of each kind of request. */
const EXPECTED = {
  create: [201, 409],
  pay: [200, 409],
  clock: [200],
  form: [303],
  page: [200],
  retrieve: [200],
} as const satisfies Readonly<Record<string, readonly number[]>>;
type Kind = keyof typeof EXPECTED;

test("after kill -9, the statuses, events and attempts of payments still follow decision 10, and nothing acknowledged is lost", async ({
  annotate,
}) => {
  const cwd = tempFolder();
  const random = seededRandom(SEED);
  const ledger: Ledger = { facts: [], events: new Set(), tokens: new Map(), attempts: new Map(), ids: [] };
  const totals = { answered: new Map<string, number>(), inFlight: 0, hit: 0, kept: 0, absent: 0 };

  let sandbox = await start(cwd);
  for (let cycle = 1; cycle <= CYCLES; cycle += 1) {
    const loadMs = random() * MAX_LOAD_MS;
    const where = `seed ${SEED}, cycle ${cycle}, killed ${loadMs.toFixed(1)} ms after ${MIN_ANSWERS} answers`;
    const load = await loadAndKill(sandbox, { cycle, loadMs, random, ledger });
    expect(load.faults, where).toEqual([]);
    sandbox = await start(cwd);
    expect(await verify(sandbox, load), where).toEqual([]);

    for (const [kind, count] of load.answered)
      totals.answered.set(kind, (totals.answered.get(kind) ?? 0) + count);
    const kept = countKept(sandbox, load);
    totals.inFlight += load.inFlight.length;
    totals.hit += load.inFlight.length > 0 ? 1 : 0;
    totals.kept += kept;
    totals.absent += load.inFlight.filter(({ key }) => key !== undefined).length - kept;
  }
  expect(await sandbox.stop("SIGTERM"), `seed ${SEED}, the last stop`).toBe(0);

  const rows = openRows(sandbox);
  expect(rows.pragma("integrity_check", { simple: true }), `seed ${SEED}`).toBe("ok");
  expect(rows.pragma("foreign_key_check"), `seed ${SEED}`).toEqual([]);
  expect(brokenPromises(rows), `seed ${SEED}`).toEqual([]);
  const payments = [...paymentRows(rows).values()];

  expect(sum(totals.answered.values()), "answers").toBeGreaterThanOrEqual(CYCLES * MIN_ANSWERS);
  expect(new Set(totals.answered.keys()), "kinds of requests").toEqual(new Set(Object.keys(EXPECTED)));
  expect(ledger.events.size, "moves that answers named").toBeGreaterThan(CYCLES);
  expect(new Set(payments.map(({ status }) => status)).size, "different statuses").toBeGreaterThan(3);
  expect(totals.hit, "kills that hit a request on its way").toBeGreaterThan(0);
  await annotate(
    `seed ${SEED}: ${totals.hit} of ${CYCLES} kills hit ${totals.inFlight} requests on their way (creates: ${totals.kept} there, ${totals.absent} absent); ` +
      `answered: ${[...totals.answered].map(([kind, count]) => `${count} ${kind}`).join(", ")}; ` +
      `${ledger.facts.length} facts and ${ledger.events.size} events acknowledged, all kept; ` +
      `${payments.length} checkouts: ${countBy(payments.map(({ status }) => status))}; ` +
      `${payments.flatMap(({ attempts }) => attempts).length} attempts, ${payments.flatMap(({ late }) => late).length} late results`,
  );
});

function start(cwd: string): Promise<SandboxProcess> {
  return startSandbox({ cwd, args: ["--rate-limit", "off", "--quiet"] });
}

/** Takes random actions on all connections at once, and kills the sandbox after some time. */
async function loadAndKill(
  sandbox: SandboxProcess,
  options: Pick<Load, "cycle" | "random" | "ledger"> & { readonly loadMs: number },
): Promise<Load> {
  const load = openLoad(sandbox, options);
  const work = async (): Promise<void> => {
    while (!load.isGone) await takeRandomAction(load);
  };
  const working = Promise.all(Array.from({ length: CONNECTIONS }, work));
  await eventually(`${MIN_ANSWERS} answers have come`, () => {
    const answers = sum(load.answered.values());
    if (!load.isGone) expect(answers).toBeGreaterThanOrEqual(MIN_ANSWERS);
  });
  await sleep(options.loadMs);
  load.isKilled = true;
  expect(await sandbox.stop("SIGKILL"), `the sandbox ended by itself: ${sandbox.output.stderr}`).toBeNull();
  await working;
  load.service.agent.destroy();
  return load;
}

function openLoad(sandbox: SandboxProcess, options: Pick<Load, "cycle" | "random" | "ledger">): Load {
  const run = readFileSync(join(sandbox.ready.data_dir ?? "", "run.json"), "utf8");
  const { control_token: controlToken } = JSON.parse(run) as { readonly control_token: string };
  const { cycle, random, ledger } = options;
  return {
    cycle,
    random,
    ledger,
    controlToken,
    service: connect(sandbox, CONNECTIONS),
    answered: new Map(),
    inFlight: [],
    faults: [],
    isKilled: false,
    isGone: false,
    creates: 0,
  };
}

/** Takes a random action of a merchant, a payer, the clock or an operator. */
async function takeRandomAction(load: Load): Promise<void> {
  const { random, ledger } = load;
  const choice = random();
  const id =
    random() < 0.9
      ? ledger.ids.at(-1 - Math.floor(random() * Math.min(RECENT, ledger.ids.length)))
      : pick(random, ledger.ids);
  if (choice < 0.2 || id === undefined) return create(load);
  if (choice < 0.35) return pay(load, id);
  if (choice < 0.4) return moveClock(load);
  if (choice < 0.75) return payOnPage(load, id);
  if (choice < 0.88) return sendForm(load, id, randomAct(random, 1 + Math.floor(random() ** 2 * 6)));
  await retrieve(load, id);
}

async function create(load: Load): Promise<void> {
  const { cycle, random, ledger } = load;
  load.creates += 1;
  const key = `kill-${cycle}-${load.creates}`;
  const number = Math.floor(random() * ORDERS);
  const suffix = PAY_OUTCOMES[number] === undefined ? "" : `~${PAY_OUTCOMES[number]}`;
  const answer = await send(load, "create", {
    path: random() < 0.5 ? "/v1/orders" : "/v1/checkout-sessions",
    headers: { ...bearer(load.service.apiKey), "Idempotency-Key": key },
    body: JSON.stringify({ order_id: `kill-${cycle}-${number}${suffix}`, price_id: "price_bento" }),
  });
  if (answer?.status !== 201) return;
  const { id } = dataIn(answer) as { readonly id: string };
  ledger.ids.push(id);
  acknowledge(load, id, "created");
}

async function pay(load: Load, id: string): Promise<void> {
  const outcome = pick(load.random, [...PAY_OUTCOMES, "declined", "declined"]);
  const answer = await control(load, "pay", { path: `/checkouts/${id}/pay`, body: { outcome } });
  if (answer?.status !== 200) return;
  const { status, moves } = dataIn(answer) as { readonly status: Status; readonly moves: readonly Move[] };
  acknowledge(load, id, status);
  acknowledgeMoves(load, moves);
}

async function moveClock(load: Load): Promise<void> {
  const advance = { action: "advance", by_ms: 1 + Math.floor(load.random() ** 3 * MAX_ADVANCE_MS) };
  const body = pick(load.random, [advance, advance, { action: "freeze" }, { action: "real" }]);
  const answer = await control(load, "clock", { path: "/clock", body });
  if (answer !== undefined)
    acknowledgeMoves(load, (dataIn(answer) as { readonly fired: readonly Move[] }).fired);
}

/** Opens the page and takes the step that it offers. */
async function payOnPage(load: Load, id: string): Promise<void> {
  const page = await openPage(load, id);
  if (page === undefined || endIn(page) !== undefined) return;
  const attempt = attemptIn(page);
  await sendForm(load, id, attempt === undefined ? { kind: "start" } : randomAct(load.random, attempt));
}

async function openPage(load: Load, id: string): Promise<string | undefined> {
  const { tokens, attempts } = load.ledger;
  const page = await send(load, "page", { path: `/pay/${id}` });
  if (page === undefined) return undefined;
  const end = endIn(page.body);
  if (end !== undefined) acknowledge(load, id, end);
  const token = formTokenIn(page.body);
  if (token !== undefined) tokens.set(id, token);
  attempts.set(id, Math.max(attempts.get(id) ?? 0, attemptIn(page.body) ?? 0));
  return page.body;
}

/** The number of the attempt to whose wallet a page leads. */
function attemptIn(page: string): number | undefined {
  const [, attempt] = /\/wallet\/([1-5])"/.exec(page) ?? [];
  return attempt === undefined ? undefined : Number(attempt);
}

/** Sends a form of a page that may be out of date. Without a token, which only an open page has, it sends no form. */
async function sendForm(load: Load, id: string, act: FormAct): Promise<void> {
  const { tokens, attempts, facts } = load.ledger;
  if (!tokens.has(id)) await openPage(load, id);
  const token = tokens.get(id);
  if (token === undefined) return;
  const { path, outcome } = formOf(id, act);
  const body = new URLSearchParams({ token, ...(outcome !== undefined && { outcome }) });
  const lastSeen = attempts.get(id) ?? 0;
  const answer = await send(load, "form", { path, headers: FORM, body: String(body) });
  if (answer === undefined) return;
  facts.push({ id, what: `answered ${JSON.stringify(act)}`, holds: afterForm(act, lastSeen) });
}

/** The condition that holds after a form is answered; `lastSeen` is the last attempt before the form was sent. */
function afterForm(act: FormAct, lastSeen: number): Fact["holds"] {
  switch (act.kind) {
    case "start":
      return ({ status, attempts }) => attempts.length > 0 || isEnd(status);
    case "cancel": {
      const { attempt } = act;
      if (attempt === null) return ({ status }) => isEnd(status);
      return ({ attempts }) => attempt > lastSeen || attempts[attempt - 1] !== null;
    }
    case "finish":
    case "late":
      return ({ attempts }) => act.attempt > lastSeen || attempts[act.attempt - 1] !== null;
  }
}

function randomAct(random: () => number, attempt: number): FormAct {
  const choice = random();
  if (choice < 0.1) return { kind: "cancel", attempt: random() < 0.5 ? attempt : null };
  if (choice < 0.2) return { kind: "late", attempt };
  if (choice < 0.25) return { kind: "start" };
  const result = pick(random, ["succeeded", "failed", "declined", "declined", "declined"] as const);
  return { kind: "finish", attempt, result: result ?? "declined" };
}

async function retrieve(load: Load, id: string): Promise<string | undefined> {
  const answer = await send(load, "retrieve", {
    path: `/v1/checkout-sessions/${id}`,
    headers: bearer(load.service.apiKey),
  });
  if (answer?.status !== 200) return undefined;
  const { status } = dataIn(answer) as { readonly status: Status };
  acknowledge(load, id, status);
  return status;
}

type Move = { readonly checkout_id: string; readonly to: Status; readonly event_id: string };

function acknowledgeMoves(load: Load, moves: readonly Move[]): void {
  for (const { checkout_id: id, to, event_id: eventId } of moves) {
    acknowledge(load, id, to);
    load.ledger.events.add(eventId);
  }
}

/** Records an answered status as a fact: later rows have this status, or one that may follow it (decision 10). */
function acknowledge({ ledger }: Load, id: string, told: Status): void {
  const holds = ({ status }: PaymentRow): boolean => {
    if (isEnd(told)) return status === told;
    return told === "created" || status !== "created";
  };
  ledger.facts.push({ id, what: `was ${told}`, holds });
}

/** Checks rows and answers after a restart; returns a line for each that is lost, unfinished or contradictory. */
async function verify(sandbox: SandboxProcess, { cycle, random, ledger }: Load): Promise<string[]> {
  const rows = openRows(sandbox);
  const payments = paymentRows(rows);
  const events = new Set(rows.prepare<[], string>("SELECT id FROM events").pluck().all());
  const faults = [
    ...brokenPromises(rows),
    ...ledger.facts.flatMap(({ id, what, holds }) => {
      const row = payments.get(id);
      if (row === undefined) return [`${id} ${what} and is lost`];
      return holds(row) ? [] : [`${id} ${what} and is ${JSON.stringify(row)}`];
    }),
    ...[...ledger.events].filter((id) => !events.has(id)).map((id) => `event ${id} was told and is lost`),
  ];

  const load = openLoad(sandbox, { cycle, random, ledger: { ...ledger, facts: [] } });
  // A frozen clock lets nothing become due between reading a row and retrieving its checkout.
  await control(load, "clock", { path: "/clock", body: { action: "freeze" } });
  const said = new Map<string, string | undefined>();
  const queue = payments.keys();
  const askQueue = async (): Promise<void> => {
    for (const id of queue) said.set(id, await retrieve(load, id));
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, askQueue));
  load.service.agent.destroy();
  for (const [id, status] of lastStatuses(rows))
    if (said.get(id) !== status)
      faults.push(`${id}: retrieve says ${said.get(id)}, its last event ${status}`);
  rows.close();
  ledger.ids.splice(0, Infinity, ...payments.keys());
  return [...faults, ...load.faults];
}

/** The number of creates in flight at the kill that were committed. */
function countKept(sandbox: SandboxProcess, { inFlight }: Load): number {
  const rows = openRows(sandbox);
  const select = rows.prepare<[string], number>("SELECT 1 FROM idempotency_keys WHERE key = ?").pluck();
  const kept = inFlight.filter(({ key }) => key !== undefined && select.get(key) === 1);
  rows.close();
  return kept.length;
}

function control(
  load: Load,
  kind: Kind,
  { path, body }: { readonly path: string; readonly body: unknown },
): Promise<Answer | undefined> {
  const headers = bearer(load.controlToken);
  return send(load, kind, { path: `/__sandbox/stores/default${path}`, headers, body: JSON.stringify(body) });
}

function bearer(credential: string): Readonly<Record<string, string>> {
  return { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" };
}

/** Sends one request and records its result. Undefined without a complete answer. */
async function send(load: Load, kind: Kind, call: Call): Promise<Answer | undefined> {
  const wasKilled = load.isKilled;
  const answer = await exchange(load.service, call);
  if (answer === undefined) {
    load.isGone = true;
    if (!wasKilled) load.inFlight.push({ kind, key: call.headers?.["Idempotency-Key"] });
    return undefined;
  }
  load.answered.set(kind, (load.answered.get(kind) ?? 0) + 1);
  const expected: readonly number[] = EXPECTED[kind];
  if (!expected.includes(answer.status))
    load.faults.push(`${call.path} was answered ${answer.status}: ${answer.body}`);
  return answer;
}

function exchange({ port, agent }: Service, call: Call): Promise<Answer | undefined> {
  const { path, body = "", method = body === "" ? "GET" : "POST" } = call;
  const headers = { ...call.headers, "Content-Length": Buffer.byteLength(body) };
  return new Promise((resolve) => {
    const sent = request({ host: "127.0.0.1", port, agent, method, path, headers }, (response) =>
      readAnswer(response, resolve),
    );
    sent.on("error", () => resolve(undefined));
    sent.end(body);
  });
}

function readAnswer(response: IncomingMessage, resolve: (answer: Answer | undefined) => void): void {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("error", () => resolve(undefined));
  response.on("end", () =>
    resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
  );
}

function dataIn({ body }: Answer): unknown {
  return (JSON.parse(body) as { readonly data: unknown }).data;
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}

function countBy(values: readonly string[]): string {
  const groups = Object.entries(Object.groupBy(values, (value) => value));
  return groups.map(([value, all = []]) => `${all.length} ${value}`).join(", ");
}

function pick<Value>(random: () => number, values: readonly Value[]): Value | undefined {
  return values[Math.floor(random() * values.length)];
}
