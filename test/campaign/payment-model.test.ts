import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { PAY_OUTCOMES, type PayOutcome } from "../../src/core/reserved-order-id.ts";
import { seededRandom, SEED, size } from "../support/campaign.ts";
import { createHarness, type Harness, type RunningSandbox } from "../support/harness.ts";

const FINAL = new Set(["succeeded", "failed", "cancelled", "expired"]);
const STEPS = 60;
const ORDERS = 4;

type Answer = { readonly status: number; readonly data: { readonly id?: string; readonly status?: string } };

/** The service as its callers see it, and how to restart it. */
type Site = { readonly harness: Harness; sandbox: RunningSandbox; token: string; keys: number };

test("random commands with restarts at any step keep every promise of decision 10", async () => {
  const rounds = size(12, 400);
  for (let round = 0; round < rounds; round += 1) {
    const seed = SEED + round;
    const random = seededRandom(seed);
    const site = await openSite(seed);
    const known = new Map<string, string>();
    for (let step = 0; step < STEPS; step += 1) {
      const said = await act(site, random, [...known.keys()]);
      if (said?.data.id !== undefined && !known.has(said.data.id)) known.set(said.data.id, "created");
      for (const [id, before] of known) {
        const { data } = await retrieve(site, id);
        const now = data.status ?? "";
        if (FINAL.has(before)) expect([seed, step, id, now]).toEqual([seed, step, id, before]);
        known.set(id, now);
        expect([seed, step, lastStatus(site, id)]).toEqual([seed, step, now]);
      }
    }
    expect([seed, ...brokenPromises(site)]).toEqual([seed]);
    await site.sandbox.stop();
  }
});

test("in a race two commands never both win", async () => {
  const races: readonly (readonly [PayOutcome, PayOutcome])[] = [
    ["succeeded", "expired"],
    ["succeeded", "cancelled"],
    ["succeeded", "failed"],
    ["succeeded", "succeeded"],
  ];
  const site = await openSite(SEED);
  for (let round = 0; round < size(80, 4000); round += 1) {
    const [left, right] = races[round % races.length] ?? ["succeeded", "expired"];
    const created = await create(site, `race-${round}`);
    const id = created.data.id ?? "";
    const both = round % 2 === 0 ? [left, right] : [right, left];
    const answers = await Promise.all(both.map((outcome) => pay(site, id, outcome)));
    const { data } = await retrieve(site, id);
    const winners = new Set(
      answers.filter(({ status }) => status === 200).map((answer) => answer.data.status),
    );
    expect([round, both, [...winners]]).toEqual([round, both, [data.status]]);
  }
  expect(brokenPromises(site)).toEqual([]);
});

/** Does one thing that a merchant, a payer, the clock or an operator can do. */
async function act(site: Site, random: () => number, ids: readonly string[]): Promise<Answer | undefined> {
  const one = <Value>(values: readonly Value[]): Value | undefined =>
    values[Math.floor(random() * values.length)];
  const choice = random();
  if (choice < 0.3) return create(site, `order-${Math.floor(random() * ORDERS)}`);
  const id = one(ids);
  const outcome = one(PAY_OUTCOMES);
  if (choice < 0.7 && id !== undefined && outcome !== undefined) {
    await pay(site, id, outcome);
  } else if (choice < 0.8) {
    site.harness.clock.advance(Math.floor(random() * 2_400_000));
  } else if (choice < 0.9) {
    const by = 1 + Math.floor(random() * 2_400_000);
    await control(
      site,
      "/clock",
      one([{ action: "advance", by_ms: by }, { action: "freeze" }, { action: "real" }]) ?? {},
    );
  } else {
    await restart(site);
  }
  return undefined;
}

async function openSite(seed: number): Promise<Site> {
  const harness = createHarness({ seed });
  const sandbox = await harness.start(["--quiet", "--rate-limit", "off"]);
  return { harness, sandbox, token: tokenOf(harness), keys: 0 };
}

async function restart(site: Site): Promise<void> {
  await site.sandbox.stop();
  site.sandbox = await site.harness.start(["--quiet", "--rate-limit", "off"]);
  site.token = tokenOf(site.harness);
}

function tokenOf(harness: Harness): string {
  const run = JSON.parse(harness.readState("run.json")) as { readonly admin_token: string };
  return run.admin_token;
}

function create(site: Site, orderId: string): Promise<Answer> {
  site.keys += 1;
  const headers = { "Idempotency-Key": `model-key-${site.keys}` };
  return send(site, "/v1/orders", { headers, body: { order_id: orderId, price_id: "price_bento" } });
}

function retrieve(site: Site, id: string): Promise<Answer> {
  return send(site, `/v1/checkout-sessions/${id}`, {});
}

function pay(site: Site, id: string, outcome: PayOutcome): Promise<Answer> {
  return control(site, `/checkouts/${id}/pay`, { outcome });
}

function control(site: Site, path: string, body: object): Promise<Answer> {
  return send(site, `/__sandbox${path}`, { headers: { Authorization: `Bearer ${site.token}` }, body });
}

async function send(
  { sandbox }: Site,
  path: string,
  { headers = {}, body }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: object },
): Promise<Answer> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await sandbox.request({ path, headers, ...sent });
  const { data = {} } = JSON.parse(String(answer.body)) as { readonly data?: Answer["data"] };
  return { status: answer.status, data };
}

function query<Row>({ harness }: Site, sql: string, ...values: string[]): Row[] {
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
  const rows = database.prepare<string[], Row>(sql).all(...values);
  database.close();
  return rows;
}

function lastStatus(site: Site, id: string): string | undefined {
  const sql = "SELECT type FROM events WHERE checkout_id = ? ORDER BY sequence DESC LIMIT 1";
  return query<{ type: string }>(site, sql, id)[0]?.type.replace("order.", "");
}

/** What the tables say against the promises: events without gaps that replay the state, one end, one success. */
function brokenPromises(site: Site): string[] {
  const events = query<{ id: string; status: string; sequence: number; body: string }>(
    site,
    `SELECT checkouts.id, status, sequence, body FROM checkouts JOIN events ON checkout_id = checkouts.id
     ORDER BY checkouts.id, sequence`,
  );
  const broken: string[] = [];
  const stateOf = new Map<string, { sequence: number; status: string | null; ends: number }>();
  for (const { id, sequence, body } of events) {
    const before = stateOf.get(id) ?? { sequence: 0, status: null, ends: 0 };
    const { data, previous_status: previous } = JSON.parse(body) as {
      readonly data: { readonly status: string };
      readonly previous_status: string | null;
    };
    if (sequence !== before.sequence + 1) broken.push(`${id}: ${sequence} follows ${before.sequence}`);
    if (previous !== before.status)
      broken.push(`${id}: event ${sequence} comes from ${previous ?? "nothing"}`);
    stateOf.set(id, { sequence, status: data.status, ends: before.ends + (FINAL.has(data.status) ? 1 : 0) });
  }
  for (const { id, status } of events) {
    const replayed = stateOf.get(id);
    if (replayed?.status !== status)
      broken.push(`${id} is ${status}, its events say ${replayed?.status ?? "nothing"}`);
    if (replayed?.ends !== (FINAL.has(status) ? 1 : 0))
      broken.push(`${id} ended ${replayed?.ends ?? 0} times`);
  }
  const twice = query<{ order_id: string }>(
    site,
    "SELECT order_id FROM checkouts WHERE status = 'succeeded' GROUP BY order_id HAVING count(*) > 1",
  );
  return [...broken, ...twice.map((row) => `${row.order_id} succeeded twice`)];
}
