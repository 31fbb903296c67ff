import Database from "better-sqlite3";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { CheckoutError, startSandbox } from "../../src/testing/testing.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { FULL, part, SEED, size, tell } from "../support/campaign.ts";
import { changedSnapshot } from "../support/changed-snapshot.ts";
import { controlOf, richSnapshot, type ControlCall } from "../support/rich-snapshot.ts";
import { insertion, expression, type Row } from "../support/rows.ts";

/** Tables whose rows are not restored. */
const NOT_RESTORED = new Set([
  "explore_leases",
  "home",
  "log_mark",
  "resets",
  "committed_resets",
  "erasures",
  "event_floor",
  "instance",
  "snapshot",
]);

/** Texts that no act takes for most columns, and some that one does for a few. */
const TEXTS = [
  "",
  "x",
  "\u202Egnp.exe",
  "x".repeat(3000),
  "svc_test_0123456789abcdefghijklmnopqrstuvw",
  "https://evil.example/hooks",
  "http://169.254.169.254/",
  "http://127.0.0.1:9/#x",
  "http://0x7f.1:9/",
  "http://user:password@127.0.0.1/",
  "/elsewhere",
  "//evil.example",
  "*",
  "order.paid",
  "order.succeeded",
  "{}",
  "[]",
  '{"event_id":1}',
  "no JSON",
  "default",
  "orders:write admin",
  "drop 0",
  "ZZZ",
  "00000000-0000-0000-0000-000000000000",
  "f".repeat(64),
] as const;
const NUMBERS = [-1, 0, 1, 2, 7, 1e6, 1e15, 8.64e15, 9_007_199_254_740_991, -9_007_199_254_740_991] as const;

const ORDER = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" } as const;

let rich: ReturnType<typeof richSnapshot> | undefined;
/** One snapshot for all tests of this file. */
async function richBytes(): Promise<Uint8Array> {
  rich ??= richSnapshot();
  return (await rich).bytes;
}

type Column = { readonly table: string; readonly column: string };
type Change = Column & { readonly value: unknown; readonly nth: number };

function columnsOf(bytes: Uint8Array): readonly Column[] {
  const copy = new Database(Buffer.from(bytes));
  const found = copy
    .prepare<[], Column>(
      `SELECT one.name AS "table", part.name AS "column" FROM pragma_table_list AS one, pragma_table_info(one.name) AS part
       WHERE one.schema = 'main' AND one.type = 'table' AND one.name NOT LIKE 'sqlite_%' ORDER BY 1, 2`,
    )
    .all()
    .filter(({ table }) => !NOT_RESTORED.has(table));
  const empty = [...new Set(found.map(({ table }) => table))].filter(
    (table) => copy.prepare(`SELECT count(*) FROM ${table}`).pluck().get() === 0,
  );
  copy.close();
  // A table that is added needs a row here, and a rule for each of its columns.
  expect(empty).toEqual([]);
  return found;
}

/** Puts a value into a row of a column; undefined where SQLite itself, or that nothing changes, keeps it from being one. */
function changed(bytes: Uint8Array, { table, column, value, nth }: Change): Buffer | undefined {
  let changes = 0;
  try {
    const made = changedSnapshot(bytes, (copy) => {
      copy.pragma("ignore_check_constraints = ON");
      const rows = copy.prepare<[], { readonly at: unknown }>(`SELECT ${column} AS at FROM ${table}`).all();
      const old = rows[nth % rows.length]?.at ?? null;
      changes = copy
        .prepare(`UPDATE ${table} SET ${column} = @value WHERE ${column} IS @old AND ${column} IS NOT @value`)
        .run({ value, old }).changes;
    });
    return changes === 0 ? undefined : made;
  } catch {
    return undefined;
  }
}

/** Which acts refuse what a snapshot has put into a sandbox; empty where every one takes it. */
async function refusedBy(control: ControlCall): Promise<readonly string[]> {
  const found: string[] = [];
  const expectDone = (what: string, { status }: { readonly status: number }): void => {
    if (status !== 200) found.push(`${what}: ${status}`);
  };
  const { data: shown, ...asked } = await control("config");
  expectDone("config", asked);
  const stores = shown["stores"] as readonly { readonly id: string }[];
  // One that has nothing yet: a price that is there keeps its terms.
  const fresh = await startSandbox({ port: null });
  expectDone("config applied", await controlOf(fresh)("config", { stores: shown["stores"] ?? [] }));
  await fresh.close();
  for (const { id } of stores ?? []) {
    const at = `stores/${id}`;
    for (const list of [
      "",
      "/endpoints",
      "/events",
      "/deliveries",
      "/checkouts",
      "/prices",
      "/keys",
      "/drills",
      "/return-origins",
      "/clock",
      "/readiness",
      "/checklist",
      "/assumptions",
      "/access",
      "/faults",
    ])
      expectDone(list, await control(`${at}${list}`));
    const { data: clock } = await control(`${at}/clock`);
    expectDone("clock set", await control(`${at}/clock`, { action: "set", to: clock["now"] }));
    found.push(...(await strangeEvents(control, id)));
  }
  return found;
}

async function strangeEvents(control: ControlCall, storeId: string): Promise<readonly string[]> {
  const { data } = await control(`stores/${storeId}/events?limit=1000`);
  const { data: listed } = await control(`stores/${storeId}/checkouts?limit=200`);
  const checkouts = new Map(
    (listed["checkouts"] as readonly { readonly id: string }[]).map((one) => [one.id, one as object]),
  );
  return (data["events"] as readonly Readonly<Record<string, unknown>>[]).flatMap((event) => {
    const body = JSON.parse(String(event["body"])) as Readonly<Record<string, unknown>>;
    const inside = (body["data"] ?? {}) as Readonly<Record<string, unknown>>;
    const checkout = checkouts.get(String(event["checkout_id"])) as
      | Readonly<Record<string, unknown>>
      | undefined;
    const isOfRow =
      ["event_id", "type", "created_at", "sequence"].every((name) => body[name] === event[name]) &&
      body["store_id"] === storeId;
    const isOfCheckout =
      checkout === undefined ||
      ["id", "object", "order_id", "amount_minor", "currency"].every(
        (name) => inside[name] === checkout[name],
      );
    return isOfRow && isOfCheckout ? [] : [`event ${String(event["event_id"])}`];
  });
}

test(`each value that is changed in a snapshot is refused, or what it restores passes the acts (seed ${SEED})`, async () => {
  const bytes = await richBytes();
  const columns = columnsOf(bytes);
  const target = await startSandbox({ port: null });
  const control = controlOf(target);
  onTestFinished(() => target.close());
  // As it is, it is restored: no rule refuses what the acts have written.
  await target.restore(bytes);
  expect(await refusedBy(control)).toEqual([]);
  const values = fc.sample(fc.oneof(fc.string({ unit: ANY_CHARACTER }), fc.integer(), fc.double()), {
    seed: SEED,
    numRuns: size(2, 20),
  });
  const all = columns.flatMap((one, at) =>
    [null, ...TEXTS, ...NUMBERS, ...values].map((value, nth): Change =>
      Object.assign({ value, nth: at + nth }, one),
    ),
  );
  const found: string[] = [];
  let [restored, refused] = [0, 0];
  for (const change of part(all, 121)) {
    const hostile = changed(bytes, change);
    if (hostile === undefined) continue;
    const what = `${change.table}.${change.column} = ${JSON.stringify(change.value)} (${change.nth})`;
    try {
      await target.restore(hostile);
    } catch (error) {
      refused += 1;
      if (!(error instanceof CheckoutError) || (error.status !== 400 && error.status !== 409))
        found.push(`${what}: ${String(error)}`);
      continue;
    }
    restored += 1;
    const strange = await refusedBy(control).catch((error: unknown) => [String(error)]);
    if (strange.length > 0) found.push(`${what} is restored, and refused by ${strange.join(", ")}`);
  }
  tell(found);
  expect(found).toEqual([]);
  expect([refused > restored, restored > 0]).toEqual([true, true]);
  if (FULL) expect(refused).toBeGreaterThan(2000);
});

/** Changes of a right snapshot, each with the table and the rule that its refusal names. */
const CASES: readonly (readonly [sql: string, said: RegExp])[] = [
  [
    "UPDATE events SET body = replace(body, '1999', '1')",
    /events: \S+ is not the event order\.created of its/,
  ],
  [
    "UPDATE events SET body = replace(body, '\"livemode\":false', '\"livemode\":true')",
    /events: .*not a webhook\.test/,
  ],
  ["UPDATE events SET body = '{}' WHERE sequence = 2", /events: \S+ is not the event order\.pending of its/],
  ["UPDATE events SET type = 'order.expired' WHERE type = 'order.succeeded'", /events: .*order\.succeeded/],
  ["UPDATE events SET created_at = created_at + 1 WHERE checkout_id IS NOT NULL", /events: .*order\.created/],
  ["UPDATE events SET sequence = 9 WHERE sequence = 3", /deliveries: .*its event|events: /],
  [
    "UPDATE checkouts SET status = 'failed' WHERE status = 'succeeded'",
    /attempts: .*do not lead to its status failed/,
  ],
  ["UPDATE checkouts SET status = 'pending' WHERE status = 'cancelled'", /attempts: .*pending/],
  ["UPDATE checkouts SET amount_minor = 1 WHERE amount_minor = 1999", /events: .*order\.created/],
  ["UPDATE checkouts SET expires_at = created_at + 86400001", /checkouts: .*at most 24 hours/],
  ["UPDATE attempts SET outcome = 'declined' WHERE outcome = 'succeeded'", /attempts: .*succeeded/],
  ["UPDATE late_results SET result = 'failed'", /late_results: failed was not too late/],
  ["UPDATE settlements SET due_at = due_at + 1", /settlements: .*does not settle/],
  ["UPDATE idempotency_keys SET body = replace(body, 'EUR', 'USD')", /idempotency_keys: the answer to/],
  ["UPDATE idempotency_keys SET fingerprint = hex(randomblob(32))", /idempotency_keys: the fingerprint of/],
  [
    "UPDATE endpoints SET url = 'https://evil.example/'",
    /endpoints, row "\S+", url: .*only to this machine.*--allow-target/,
  ],
  ["UPDATE endpoints SET event_types = 'order.paid'", /endpoints, row .* event_types: an event type is/],
  ["UPDATE endpoints SET reason = 'call this number'", /endpoints, row .* reason: /],
  ["UPDATE endpoints SET kind = 'listener', removed_at = NULL", /endpoints, row .*at most 1 listeners/],
  [
    "UPDATE endpoints SET url = 'http://127.0.0.1:9/one', removed_at = NULL",
    /endpoints, row .*at most 1 endpoints of/,
  ],
  ["UPDATE stores SET name = 'default'", /stores, row .* name: expected the name of a store/],
  ["UPDATE stores SET name = 'a\u202eb'", /stores, row .* name: must have 1 to 64 characters/],
  [
    "UPDATE merchants SET name = 'svc_test_0123456789abcdefghijkl'",
    /merchants, row .* name: must be free of/,
  ],
  ["UPDATE stores SET clock_offset = 8000000000000000", /stores, row .* clock_offset: /],
  ["UPDATE stores SET clock_frozen_at = 8000000000000000", /stores, row .* clock_frozen_at: expected a time/],
  ["UPDATE credentials SET scopes = 'admin'", /credentials, row .* scopes: /],
  ["UPDATE credentials SET last_four = char(27) || '[2J'", /credentials, row .* last_four: /],
  ["UPDATE return_origins SET path = '/../x' WHERE path = '/'", /return_origins, row .* path: /],
  ["UPDATE prices SET description = char(8238)", /prices, row .* description: /],
  ["UPDATE capabilities SET name = 'credit_card' WHERE name = 'wechat_pay'", /capabilities, row .* name: /],
  ["UPDATE faults SET path = '/admin' WHERE action = 'status'", /faults, row .* match\.path/],
  ["UPDATE faults SET status = NULL WHERE action = 'status'", /faults, row .* status has too few fields/],
  ["UPDATE drills SET steps = '[]', passed = 0", /drills, row .* passed: /],
  [
    "UPDATE admin_acts SET note = 'whsec_0123456789abcdefghijklmnop'",
    /admin_acts, row .* note: contains a secret/,
  ],
  ["UPDATE admin_acts SET subject = NULL WHERE action = 'approve_price'", /admin_acts, row .* act/],
  ["UPDATE deliveries SET tries = 19", /deliveries: .* after 19 attempts/],
  ["UPDATE deliveries SET in_order = 1, cause = 'replay'", /deliveries, row .* in_order: /],
  ["UPDATE delivery_attempts SET headers = 'none'", /delivery_attempts, row .* headers: is not JSON/],
  ["UPDATE signing_secrets SET retired_at = 1", /signing_secrets: store \S+ has no active signing secret/],
  [
    "UPDATE page_views SET target = 'https://evil.example/?x' WHERE target IS NOT NULL",
    /page_views, row .* target: /,
  ],
  ["UPDATE assumption_uses SET decision = decision + 10000", /assumption_uses, row .* decision: /],
];

const NTH = expression("printf('00000000-0000-7000-8000-%012d', n)");

/** Adds rows to the second store, counted by `n`. */
function added(table: Parameters<typeof insertion>[0], count: number, row: Row): string {
  const second = `stores, numbers WHERE name = 'Second' AND n <= ${count}`;
  return insertion(table, { store_id: expression("stores.id"), ...row }, second);
}

/** Statements that add rows until a store has one more than the acts allow. */
const TOO_MANY: readonly (readonly [sql: string, said: RegExp])[] = [
  [
    added("endpoints", 20, { id: NTH, url: expression("printf('http://127.0.0.1:9/n%d', n)"), in_order: 0 }),
    /endpoints, row .*at most 20 endpoints/,
  ],
  [
    added("return_origins", 21, { origin: expression("printf('https://n%d.example', n)") }),
    /return_origins, row .*at most 20 return origins/,
  ],
  [added("prices", 198, { id: expression("printf('n%d', n)") }), /prices, row .*at most 200 prices/],
  [added("faults", 101, { id: NTH }), /faults, row .*at most 100 faults/],
];

test("a refusal names table, row and rule, and nothing is restored", async () => {
  const bytes = await richBytes();
  const target = await startSandbox({ port: null });
  onTestFinished(() => target.close());
  const before = await target.snapshot();
  const stores = async (): Promise<unknown> => (await controlOf(target)("stores")).data["stores"];
  const untouched = await stores();
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 300)`;
  const cases = [...CASES, ...TOO_MANY.map(([sql, said]) => [`${numbers} ${sql}`, said] as const)];
  for (const [sql, said] of cases) {
    const hostile = changedSnapshot(bytes, (copy) =>
      expect([sql, copy.prepare(sql).run().changes > 0]).toEqual([sql, true]),
    );
    const refusal = await target.restore(hostile).catch((error: unknown) => error);
    expect([sql, refusal instanceof CheckoutError ? refusal.message : "restored"]).toEqual([
      sql,
      expect.stringMatching(said),
    ]);
    expect(await stores()).toEqual(untouched);
  }
  await target.restore(before);
});

test("a name of a store that an older version took is restored as it is, and no longer taken", async () => {
  const bytes = await richBytes();
  const target = await startSandbox({ port: null });
  onTestFinished(() => target.close());
  for (const name of [
    "Default",
    " Tea",
    "Tea  Shop",
    "D\u0435fault",
    "\uff34ea",
    "\u0420\u043e\u0441\u0430",
  ]) {
    const older = changedSnapshot(bytes, (copy) => copy.prepare("UPDATE stores SET name = ?").run(name));
    await target.restore(older);
    const { data } = await controlOf(target)("stores");
    expect(data["stores"]).toContainEqual(expect.objectContaining({ name }) as object);
    await expect(target.createStore({ name })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("name: must") as string,
    });
  }
});

type Reference = Column & { readonly parent: string };

/** All references of rows that are restored to other rows. */
function referencesOf(bytes: Uint8Array): readonly Reference[] {
  const copy = new Database(Buffer.from(bytes));
  const found = copy
    .prepare<[], Reference>(
      `SELECT one.name AS "table", reference."from" AS "column", reference."table" AS parent
       FROM pragma_table_list AS one, pragma_foreign_key_list(one.name) AS reference
       WHERE one.schema = 'main' AND one.type = 'table' AND reference."to" = 'id' ORDER BY 1, 2`,
    )
    .all()
    .filter(({ table }) => !NOT_RESTORED.has(table))
    .filter(
      ({ table, column }) => copy.prepare(`SELECT max(${column}) FROM ${table}`).pluck().get() !== null,
    );
  copy.close();
  return found;
}

test("a row that refers to none of its snapshot is damage, and nobody else's write fails of it", async () => {
  const bytes = await richBytes();
  const target = await startSandbox({ port: null });
  onTestFinished(() => target.close());
  const references = referencesOf(bytes);
  expect(references.length).toBeGreaterThan(25);
  for (const [at, { table, column, parent }] of references.entries()) {
    const hostile = changedSnapshot(bytes, (copy) => {
      copy.pragma("ignore_check_constraints = ON");
      const { changes } = copy
        .prepare(`UPDATE ${table} SET ${column} = ? WHERE ${column} = (SELECT max(${column}) FROM ${table})`)
        .run("00000000-0000-7000-8000-00000000ffff");
      expect([table, column, changes > 0]).toEqual([table, column, true]);
    });
    const [refusal, order] = await Promise.all([
      target.restore(hostile).then(() => "restored", String),
      target.store.orders.create({ ...ORDER, order_id: `beside-${at}` }),
    ]);
    const said = expect.stringContaining("it is damaged: some of its rows are missing") as string;
    expect([table, column, parent, refusal]).toEqual([table, column, parent, said]);
    expect(order.status).toBe("created");
  }
});

test("an endpoint elsewhere is restored where --allow-target allows its host, and nowhere else", async () => {
  const bytes = await richBytes();
  const hostile = changedSnapshot(bytes, (copy) =>
    copy.exec("UPDATE endpoints SET url = 'https://shop.example/hooks' WHERE url LIKE '%/second'"),
  );
  for (const allowTargets of [[], ["shop.example"]]) {
    const target = await startSandbox({ port: null, allowTargets });
    onTestFinished(() => target.close());
    const said = await target.restore(hostile).then(() => "restored", String);
    const expected =
      allowTargets.length > 0 ? "restored" : expect.stringContaining("--allow-target shop.example");
    expect([allowTargets, said]).toEqual([allowTargets, expected]);
  }
});

test("no clock goes beyond the years that a snapshot's may have", async () => {
  const sandbox = await startSandbox({ port: null });
  onTestFinished(() => sandbox.close());
  const { clock } = sandbox.store;
  await clock.set("9999-12-31T00:00:00Z");
  await expect(clock.advance("25h")).rejects.toMatchObject({ status: 400, code: "invalid_parameter" });
  await clock.advance("23h");
  expect((await clock.now()).getUTCFullYear()).toBe(9999);
  const other = await startSandbox({ port: null });
  onTestFinished(() => other.close());
  await other.restore(await sandbox.snapshot());
});
