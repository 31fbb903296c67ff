import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { CheckoutError, startSandbox } from "../../src/testing/testing.ts";
import { EVIDENCE_TABLES } from "../../src/store/snapshot/rows.ts";
import { changedSnapshot } from "../support/changed-snapshot.ts";
import { controlOf, richSnapshot } from "../support/rich-snapshot.ts";
import { inOrder } from "../support/in-order.ts";

/** Tables whose rows are not restored. */
const NOT_RESTORED = new Set([
  "lease_effects",
  "home",
  "log_mark",
  "resets",
  "committed_resets",
  "erasures",
  "event_floor",
  "instance",
  "snapshot",
]);

const ORDER = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" } as const;

let rich: ReturnType<typeof richSnapshot> | undefined;
/** One snapshot for all tests of this file. */
async function richBytes(): Promise<Uint8Array> {
  rich ??= richSnapshot();
  return (await rich).bytes;
}

type Column = { readonly table: string; readonly column: string };
/** Changes of a valid snapshot, each with its refusal. */
const CASES: readonly (readonly [sql: string, said: RegExp])[] = [
  ["UPDATE checkouts SET expires_at = 8640000000000001", inOrder("checkouts", "expires_at")],
  ["UPDATE deliveries SET next_at = -99999999999999999", inOrder("deliveries", "next_at")],
  ["UPDATE stores SET clock_offset = 8000000000000000", inOrder("stores", 9999)],
  ["UPDATE stores SET clock_frozen_at = 8000000000000000", inOrder("stores", "clock_frozen_at")],
  ["UPDATE deliveries SET tries = 9007199254740993", inOrder("deliveries", "tries")],
  ["UPDATE faults SET id = 'x' || char(13) || substr(id, 3)", inOrder("faults", "id")],
  ["UPDATE idempotency_keys SET request_id = upper(request_id)", inOrder("idempotency_keys", "request_id")],
  ["UPDATE signing_secrets SET retired_at = 1", inOrder("signing_secrets")],
  ["UPDATE signing_secrets SET sealed = zeroblob(40)", /^(?!restored$)/],
  ["UPDATE checkouts SET status = 'paid'", inOrder("CHECK", "checkouts")],
];

test("a hostile snapshot is refused with the reason, and nothing is restored", async () => {
  const bytes = await richBytes();
  const target = await startSandbox({ port: null });
  onTestFinished(() => target.close());
  const stores = async (): Promise<unknown> => (await controlOf(target)("stores")).data["stores"];
  const untouched = await stores();
  for (const [sql, said] of CASES) {
    const hostile = changedSnapshot(bytes, (copy) => {
      copy.pragma("ignore_check_constraints = ON");
      expect([sql, copy.prepare(sql).run().changes > 0]).toEqual([sql, true]);
    });
    const refusal = await target.restore(hostile).catch((error: unknown) => error);
    expect([sql, refusal instanceof CheckoutError ? refusal.message : "restored"]).toEqual([
      sql,
      expect.stringMatching(said),
    ]);
    expect(await stores()).toEqual(untouched);
  }
});

test("checklist evidence is restored only from the sandbox's own snapshot", async () => {
  const bytes = await richBytes();
  const target = await startSandbox({ port: null });
  onTestFinished(() => target.close());
  const evidence = (snapshot: Uint8Array): readonly number[] => {
    const copy = new Database(Buffer.from(snapshot));
    const counts = [...EVIDENCE_TABLES].map((name) =>
      Number(copy.prepare(`SELECT count(*) FROM ${name}`).pluck().get()),
    );
    copy.close();
    return counts;
  };
  expect(evidence(bytes)).not.toContain(0);
  await target.restore(bytes);
  expect(evidence(await target.snapshot())).toEqual([0, 0, 0, 0, 0]);
  const { status } = await controlOf(target)("stores/default/waivers", {
    drill: "duplicates",
    reason: "own",
  });
  expect(status).toBe(200);
  const own = await target.snapshot();
  await target.reset();
  await target.restore(own);
  expect(evidence(await target.snapshot())).toEqual([0, 0, 1, 0, 0]);
});

test("a store name that an older version accepted is restored unchanged, but not accepted for a new store", async () => {
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

/** The foreign keys of restored tables that have at least one value. */
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

test("a snapshot with a dangling reference is refused as damaged, and other writes still work", async () => {
  const bytes = await richBytes();
  const target = await startSandbox({ port: null });
  onTestFinished(() => target.close());
  const references = referencesOf(bytes);
  expect(references.length).toBeGreaterThan(25);
  const refusals = new Set<string>();
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
    refusals.add(refusal);
    expect([table, column, parent, refusal]).not.toEqual([table, column, parent, "restored"]);
    expect(order.status).toBe("created");
  }
  expect(refusals.size).toBe(1);
});

test("an endpoint with a forbidden or invalid URL or an invalid certificate is restored, and no attempt is sent to it", async () => {
  const bytes = await richBytes();
  const strange: readonly (readonly [url: string, ca: string | null])[] = [
    ["https://evil.example/hooks", null],
    ["http://169.254.169.254/", null],
    ["http://[::1", null],
    ["httpx://none", null],
    ["https://127.0.0.1:9/", "no certificate"],
  ];
  for (const address of strange) {
    const hostile = changedSnapshot(bytes, (copy) =>
      copy.prepare("UPDATE endpoints SET url = ?, ca = ? WHERE url LIKE '%/second'").run(...address),
    );
    const target = await startSandbox({ port: null });
    onTestFinished(() => target.close());
    const second = (await target.restore(hostile)).find(({ name }) => name === "Second");
    await second?.orders.create({ ...ORDER, order_id: "after" });
    await second?.clock.advance("1m");
    const sent = (await second?.deliveries.list())?.flatMap(({ attempts }) => attempts) ?? [];
    expect([address, new Set(sent.map(({ error }) => error))]).toEqual([
      address,
      new Set(["target_forbidden"]),
    ]);
  }
});

test("a store's clock cannot move beyond the year 9999, the last year that a snapshot allows", async () => {
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
