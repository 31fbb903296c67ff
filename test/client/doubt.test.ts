import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { OutboundRequest, OutboundResult, World } from "../../src/world.ts";
import { createHarness, type Harness } from "../support/harness.ts";

const CREATE = "orders create --order-id order-1 --price-id price_bento --json".split(" ");

type Said = {
  readonly code: number;
  readonly tries?: number;
  readonly replayed?: boolean;
  readonly error?: { readonly code: string };
};
/** Turns the service's answer into the result that the client gets: the answer, or a failure. */
type Damage = (answer: OutboundResult) => OutboundResult;

const keeps: Damage = (answer) => answer;
const loses: Damage = () => ({ ok: false, failure: "connection_lost", message: "socket hang up" });
const answersWith =
  (status: number, body: string): Damage =>
  () => ({ ok: true, status, headers: {}, body });
const refusesWith = (status: number, code: string): Damage =>
  answersWith(status, JSON.stringify({ ok: false, error: { code, message: "no" }, request_id: "r" }));

/** Runs the create with the service's first answers damaged in turn, and later answers intact. */
async function createThrough(harness: Harness, damages: readonly Damage[], retries: number): Promise<Said> {
  const left = [...damages];
  harness.setFault(async (request, deliver) => {
    const answer = await deliver();
    return request.method === "POST" ? (left.shift() ?? keeps)(answer) : answer;
  });
  const { code, stdout, stderr } = await harness.run([...CREATE, "--retries", String(retries)]);
  return { ...(JSON.parse(stdout || stderr) as Omit<Said, "code">), code };
}

test("a create without a clear answer stays pending in the journal, a refused create does not, and the repeated command finds the order", async () => {
  const refusal = { code: expect.any(Number) as number, error: { code: "scope_missing" } };
  const rows: readonly (readonly [string, readonly Damage[], object])[] = [
    ["an answer that is lost", [loses], { code: 7, error: { code: "outcome_unknown" } }],
    [
      "a 2xx whose body is no checkout",
      [answersWith(201, '{"data":{}}')],
      { code: 7, error: { code: "outcome_unknown" } },
    ],
    ["a 2xx without a body", [answersWith(204, "")], { code: 7, error: { code: "outcome_unknown" } }],
    ["a refusal, which the service made nothing for", [refusesWith(403, "scope_missing")], refusal],
  ];
  for (const [name, damages, said] of rows) {
    const harness = createHarness();
    await harness.start();
    expect([name, await createThrough(harness, damages, 0)]).toMatchObject([name, said]);
    const isInDoubt = "error" in said && said !== refusal;
    expect([name, stateInJournal(harness)]).toEqual([name, isInDoubt ? "pending" : "refused"]);
    expect([name, await createThrough(harness, [], 0)]).toMatchObject([name, { code: 0, replayed: true }]);
  }
});

test("a refusal after a lost answer leaves the create pending, in the same run or in a later run", async () => {
  for (const damages of [
    [[loses, refusesWith(403, "scope_missing")]],
    [[loses], [refusesWith(403, "scope_missing")]],
  ]) {
    const harness = createHarness();
    await harness.start();
    let said: unknown;
    for (const run of damages) said = await createThrough(harness, run, run.length - 1);
    const next = expect.stringContaining("--idempotency-key") as string;
    expect(said).toMatchObject({ error: { code: "scope_missing" }, next });
    expect(stateInJournal(harness)).toBe("pending");
    expect(await createThrough(harness, [], 0)).toMatchObject({ code: 0, replayed: true });
  }
});

test("a transient error is retried with the same key and body", async () => {
  const passing = [
    refusesWith(408, "request_timeout"),
    answersWith(408, ""),
    refusesWith(429, "rate_limited"),
    refusesWith(500, "internal_error"),
    refusesWith(409, "idempotency_in_progress"),
    answersWith(201, "cut"),
    loses,
  ];
  for (const [row, damage] of passing.entries()) {
    const harness = createHarness();
    await harness.start();
    const said = await createThrough(harness, [damage], 1);
    expect([row, said]).toMatchObject([row, { code: 0, tries: 2, replayed: true }]);
  }
});

test("the journal stores the key and body of a create on disk before the create is sent", async () => {
  const harness = createHarness();
  await harness.start();
  const seen: unknown[] = [];
  harness.setFault((request, deliver) => {
    if (request.method === "POST") seen.push(rowOf(harness, request));
    return deliver();
  });
  const { code } = await harness.run(CREATE);
  expect(code).toBe(0);
  const body = JSON.stringify({ order_id: "order-1", price_id: "price_bento" });
  expect(seen).toEqual([{ state: "pending", body }]);
});

/** A world whose user presses Ctrl-C when the test calls `press`. */
function keyboard(): { readonly world: Partial<World>; readonly press: () => void } {
  let stop: Parameters<World["onStop"]>[0] = () => undefined;
  const onStop: World["onStop"] = (heard) => {
    stop = heard;
    return () => undefined;
  };
  return { world: { onStop }, press: () => stop("SIGINT") };
}

test("an interrupted create stays pending, and no later run creates a second order", async () => {
  for (const isTaken of [true, false]) {
    const harness = createHarness();
    await harness.start();
    const { world, press } = keyboard();
    harness.setFault(async (request, deliver) => {
      if (request.method !== "POST") return deliver();
      if (isTaken) await deliver();
      press();
      expect(request.signal?.aborted).toBe(true);
      return { ok: false, failure: "aborted", message: "aborted" };
    });
    const { code, stderr } = await harness.run(CREATE, { world });
    expect([code, JSON.parse(stderr)]).toMatchObject([130, { error: { code: "interrupted" } }]);
    expect(stateInJournal(harness)).toBe("pending");
    harness.setFault((_request, deliver) => deliver());
    // A new attempt would create a second order at a service that does not compare order_ids.
    const again = await harness.run([...CREATE, "--new-attempt"]);
    const { idempotency_key: key } = JSON.parse(stderr) as { readonly idempotency_key: string };
    const found = { idempotency_key: key, replayed: isTaken };
    expect([again.code, JSON.parse(again.stdout)]).toMatchObject([0, found]);
  }
});

test("Ctrl-C before a retry still reports whether an earlier attempt may have created the order", async () => {
  const messages = new Set<string>();
  for (const [damage, state] of [
    [loses, "pending"],
    [refusesWith(429, "rate_limited"), "refused"],
  ] as const) {
    const harness = createHarness();
    await harness.start();
    const { world, press } = keyboard();
    let tries = 0;
    harness.setFault(async (request, deliver) => {
      if (request.method !== "POST") return deliver();
      tries += 1;
      harness.clock.after(1, press);
      return damage(await deliver());
    });
    const { code, stderr } = await harness.run(CREATE, { world });
    const { error } = JSON.parse(stderr) as { readonly error: { readonly message: string } };
    messages.add(error.message);
    expect([code, tries, stateInJournal(harness)]).toEqual([130, 1, state]);
  }
  expect(messages.size).toBe(2);
});

function journalOf({ cwd }: Harness): Database.Database {
  return new Database(join(cwd, ".checkout/journal.db"), { readonly: true });
}

/** The journal's entry for the key of a request. */
function rowOf(harness: Harness, { headers }: OutboundRequest): unknown {
  const journal = journalOf(harness);
  const row: unknown = journal
    .prepare("SELECT state, body FROM entries WHERE key = ?")
    .get(headers["Idempotency-Key"]);
  journal.close();
  return row;
}

function stateInJournal(harness: Harness): unknown {
  const journal = journalOf(harness);
  const state: unknown = journal.prepare("SELECT state FROM entries").pluck().get();
  journal.close();
  return state;
}
