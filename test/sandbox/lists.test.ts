import { shortId } from "../../src/core/text.ts";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { PAYMENT_METHODS, STATUSES } from "../../src/core/checkout/checkout.ts";
import { openRequestFile } from "../../src/store/request/request-file.ts";
import { openStore } from "../../src/store/store.ts";
import { deliveryLines, eventLines } from "../../src/cli/webhook/report.ts";
import { checkoutLines } from "../../src/cli/order/list.ts";
import { SEED, seededRandom } from "../support/campaign.ts";
import { createHarness, type Harness, type RunningSandbox } from "../support/harness.ts";
import { aCheckoutEntry } from "../support/rows.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalText } from "../support/refusal-texts.ts";

const OBJECTS = ["order", "checkout_session"] as const;
/** The maximum number of checkouts that a search reads, and of checkouts that a list sorts to find the newest. */
const [MAX_SEARCHED, MAX_SORTED] = [20_000, 500];

/** A checkout, as in its row. */
type Row = {
  readonly id: string;
  readonly store_id: string;
  readonly object: string;
  readonly order_id: string;
  readonly payment_method: string;
  readonly description: string | null;
  readonly status: string;
  readonly created_at: number;
};
/** A list, as on the wire. */
type Page = {
  readonly checkouts: readonly { readonly id: string; readonly order_id: string; readonly status: string }[];
  readonly next_before: string | null;
  readonly searched: number | null;
  readonly searched_back_to: string | null;
};
type Query = Readonly<Record<string, string>>;

const id = (number: number): string =>
  `0199a3c4-5d00-7000-8000-${(number * 7919).toString(16).padStart(12, "0")}`;
const OTHER_STORE = "0199a3c4-5d00-7000-8000-00000000feed";

/** A sandbox with two stores; `add` writes checkouts to the database, oldest first. */
async function openLists() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const storeId = sandbox.ready.store_id;
  const file = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  onTestFinished(() => void file.close());
  file.exec(`INSERT INTO stores (id, merchant_id, name, active, created_at)
    SELECT '${OTHER_STORE}', merchant_id, 'Other', 1, created_at FROM stores`);
  const insert = file.prepare(
    `INSERT INTO checkouts (id, store_id, object, order_id, amount_minor, currency, payment_method, description,
       status, created_at, expires_at)
     VALUES (@id, @store_id, @object, @order_id, 450, 'EUR', @payment_method, @description, @status, @created_at,
       9000000000000)`,
  );
  const add = file.transaction((rows: readonly Row[]) => rows.forEach((values) => insert.run(values)));
  const ask = asker(harness, sandbox);
  return { harness, sandbox, storeId, add, ask };
}

function asker(harness: Harness, sandbox: RunningSandbox) {
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  return async (storeId: string, query: Query): Promise<{ status: number; page: Page }> => {
    const path = `/__sandbox/stores/${storeId}/checkouts?${new URLSearchParams(query).toString()}`;
    const answer = await sandbox.request({ path, headers: { Authorization: `Bearer ${token}` } });
    return { status: answer.status, page: (JSON.parse(String(answer.body)) as { data: Page }).data };
  };
}

function row(number: number, storeId: string, values: Partial<Row> = {}): Row {
  return {
    id: id(number),
    store_id: storeId,
    object: "order",
    order_id: `o-${number}`,
    payment_method: "alipay_plus",
    description: null,
    status: "succeeded",
    created_at: 1_700_000_000_000 + number,
    ...values,
  };
}

/**
 * All pages of a list, joined. Checks that no page is longer than requested, and that only a search or the last page is
 * shorter.
 */
async function readAll(ask: ReturnType<typeof asker>, storeId: string, query: Query): Promise<string[]> {
  const ids: string[] = [];
  for (let before: string | null = ""; before !== null;) {
    const { page } = await ask(storeId, before === "" ? query : { ...query, before });
    const limit = Number(query["limit"] ?? 50);
    if (page.searched === null && page.next_before !== null) expect(page.checkouts).toHaveLength(limit);
    expect(page.checkouts.length).toBeLessThanOrEqual(limit);
    ids.push(...page.checkouts.map((one) => one.id));
    before = page.next_before;
  }
  return ids;
}

test("every filter and search returns the rows that a plain scan finds, newest first, page by page", async () => {
  const { storeId, add, ask } = await openLists();
  const random = seededRandom(SEED);
  const one = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  const rows = Array.from({ length: 200 }, (_, number) => {
    const status = one(STATUSES);
    // An order_id is reused only if none of its checkouts is open or paid.
    const isOver = status === "failed" || status === "cancelled" || status === "expired";
    return row(number, one([storeId, OTHER_STORE]), {
      object: one(OBJECTS),
      order_id: isOver ? `again-${one([1, 2, 12])}` : `o-${number}`,
      payment_method: one(PAYMENT_METHODS),
      description: one([null, "Tea", "100%_tea", "A cup of TEA", "coffee"]),
      status,
    });
  });
  add(rows);
  const fits = (values: Row, query: Query): boolean =>
    Object.entries(query).every(([name, value]) => name === "q" || values[name as keyof Row] === value);
  const expected = (store: string, query: Query): string[] => {
    const own = rows.filter((values) => values.store_id === store).toReversed();
    const text = query["q"] ?? "";
    const rungs: ((values: Row) => boolean)[] = [
      (values) => values.id === text || shortId(values.id) === text,
      ({ order_id, description }) =>
        [order_id, description ?? ""].some((held) => held.toLowerCase().includes(text.toLowerCase())),
    ];
    const found = rungs.map((rung) => own.filter(rung)).find((matches) => matches.length > 0) ?? [];
    return found.filter((values) => fits(values, query)).map((values) => values.id);
  };
  const [known] = rows;
  const texts = [
    undefined,
    "o-3",
    "again-1",
    "again-12",
    "tea",
    "100%_T",
    "no such",
    id(3),
    shortId(known?.id ?? ""),
  ];
  for (const status of [undefined, ...STATUSES])
    for (const object of [undefined, ...OBJECTS])
      for (const method of [undefined, ...PAYMENT_METHODS])
        for (const q of texts) {
          const given = {
            q,
            status,
            object,
            payment_method: method,
            order_id: one([undefined, undefined, "again-1"]),
          };
          const query = Object.fromEntries(
            Object.entries(given).filter(([, value]) => value !== undefined),
          ) as Query;
          const store = one([storeId, OTHER_STORE]);
          const limit = String(one([7, 50, 200]));
          expect([query, await readAll(ask, store, { ...query, limit })]).toEqual([
            query,
            expected(store, query),
          ]);
        }
});

test("a filter finds a rare row among many through an index, and finds no row of another store", async () => {
  const { storeId, add, ask } = await openLists();
  const rare = { status: "failed", object: "checkout_session", payment_method: "wechat_pay" };
  add([row(1, storeId, rare), row(2, OTHER_STORE, rare)]);
  add(
    Array.from({ length: 3000 }, (_, number) => row(10 + number, number % 2 === 0 ? storeId : OTHER_STORE)),
  );
  for (const query of [...Object.entries(rare).map(([name, value]) => ({ [name]: value })), rare])
    expect((await ask(storeId, query)).page).toMatchObject({
      checkouts: [{ id: id(1) }],
      next_before: null,
      searched: null,
    });
  for (const before of [id(2), id(999_999)])
    expect(await ask(storeId, { before })).toMatchObject({ status: 404 });
});

test("a search says how far it searched, and can be continued from there", async () => {
  const { storeId, add, ask } = await openLists();
  add([row(0, storeId, { description: "the needle" })]);
  add(
    Array.from({ length: MAX_SEARCHED + 5 }, (_, number) =>
      row(1 + number, storeId, { order_id: `many-${number}` }),
    ),
  );
  const first = (await ask(storeId, { q: "needle" })).page;
  expect(first).toMatchObject({ checkouts: [], searched: MAX_SEARCHED, next_before: id(6) });
  expect(first.searched_back_to).toBe(new Date(1_700_000_000_006).toISOString());
  const second = (await ask(storeId, { q: "needle", before: first.next_before ?? "" })).page;
  expect(second).toMatchObject({ checkouts: [{ id: id(0) }], searched: 6, next_before: null });
  // Many order_ids begin alike: only the newest are searched, until the page is full.
  const many = (await ask(storeId, { q: "many-", limit: "3" })).page;
  expect(many).toMatchObject({ searched: 3, next_before: many.checkouts.at(-1)?.id });
  expect(many.checkouts.map(({ id: found }) => found)).toEqual([5, 4, 3].map((at) => id(MAX_SEARCHED + at)));
  // A complete order_id is found, however many begin alike and however old it is.
  const named = (await ask(storeId, { q: "many-1", limit: "3" })).page;
  expect(named.checkouts.map(({ id: found }) => found)).toEqual([id(20_000), id(19_999), id(2)]);
  expect(named.next_before).toBe(id(19_999));
});

test("a search finds the same rows, however many checkouts of another store lie between", async () => {
  const { storeId, add, ask } = await openLists();
  for (const [from, between] of [
    [0, 1],
    [100_000, MAX_SEARCHED * 3 + 10],
  ] as const) {
    add([row(from, storeId, { description: "a needle" })]);
    add(
      Array.from({ length: between }, (_, number) =>
        row(from + 1 + number, OTHER_STORE, { description: "needle" }),
      ),
    );
    add([row(from + 90_000, storeId, { description: "NEEDLES", status: "failed" })]);
  }
  const expected = [190_000, 100_000, 90_000, 0].map(id);
  expect(await readAll(ask, storeId, { q: "needle", limit: "3" })).toEqual(expected);
  expect(await readAll(ask, storeId, { q: "needle", status: "failed" })).toEqual([id(190_000), id(90_000)]);
  expect((await ask(storeId, { q: "needle", before: id(0) })).page).toEqual({
    store_id: storeId,
    checkouts: [],
    now: "2026-01-15T12:00:00.000Z",
    next_before: null,
    searched: 0,
    searched_back_to: null,
    refused: [],
  });
});

test("an order_id with very many checkouts is listed completely, page by page", async () => {
  const { storeId, add, ask } = await openLists();
  const rows = Array.from({ length: MAX_SORTED + 100 }, (_, number) =>
    row(number, storeId, { order_id: "again", status: number % 50 === 0 ? "expired" : "failed" }),
  );
  add(rows);
  const newest = rows.toReversed();
  expect(await readAll(ask, storeId, { order_id: "again" })).toEqual(newest.map((one) => one.id));
  expect(await readAll(ask, storeId, { order_id: "again", status: "expired", limit: "5" })).toEqual(
    newest.filter(({ status }) => status === "expired").map((one) => one.id),
  );
});

/** Statements that sort only few rows, such as the endpoints of a store. */
const FEW = [
  // Two parts, each with at most `@limit` rows.
  /AS dueAt, NULL AS outcome FROM checkouts/,
  /FROM endpoints WHERE store_id = \? AND removed_at IS NULL ORDER BY created_at/,
  // The deliveries of one checkout or event.
  /deliveries_of_event\s+WHERE event_id (= @eventId|IN \(SELECT id FROM events WHERE checkout_id)/,
  // Two parts, each with at most as many rows as the list.
  /is_behind = 0 AND next_at (<=|>) @now/,
];

/** Statements that read a whole small table or index: faults, of which a store has at most 100, or endpoints. */
const WHOLE = [/FROM faults$/, /FROM endpoints\) AND state IN/];

/** The index for each statement of a create, a payment or a delivery; another usable index would read more. */
const SERVED_BY: readonly (readonly [asked: RegExp, index: string])[] = [
  [
    /AS dueAt, NULL AS outcome FROM checkouts .* id LIMIT @limit /,
    "open_checkouts (store_id=? AND expires_at<?)",
  ],
  [/AND next_at <= @now ORDER BY/, "due_deliveries (endpoint_id=? AND is_behind=? AND next_at<?)"],
  [
    /FROM checkouts WHERE store_id = \? AND order_id = \?/,
    "checkouts_of_order (store_id=? AND order_id=? AND <expr>=?)",
  ],
  [/\(next_at, rowid\) >/, "due_deliveries (endpoint_id=? AND is_behind=? AND next_at>?)"],
  [/isInFlight FROM events/, "sqlite_autoindex_events_2 (checkout_id=?)"],
  [/isInFlight FROM events/, "deliveries_of_event (event_id=? AND endpoint_id=? AND in_order=?)"],
  [/isInFlight FROM deliveries/, "deliveries_of_event (event_id=? AND endpoint_id=? AND in_order=?)"],
  [/isInFlight FROM events/, "replays_of_event (event_id=? AND endpoint_id=? AND is_behind=?)"],
  [/<> 'duplicate' AND rowid/, "replays_of_event (event_id=? AND endpoint_id=? AND is_behind=? AND rowid<?)"],
  [/max\(queued\.next_at\) FROM events/, "sqlite_autoindex_events_2 (checkout_id=? AND sequence<?)"],
  [/SELECT count\(\*\) FROM deliveries/, "due_deliveries (endpoint_id=? AND is_behind=? AND next_at<?)"],
  [/^SELECT 1 FROM deliveries/, "replays_of_event (event_id=? AND endpoint_id=? AND is_behind=?)"],
  [/^SELECT sum\(status BETWEEN.* @state /, "deliveries_of_endpoint (endpoint_id=? AND state=?)"],
  [/^SELECT sum\(status BETWEEN.* 'due' /, "tried_deliveries (endpoint_id=?)"],
  [/^SELECT failed_event FROM/, "deliveries_of_endpoint (endpoint_id=? AND state=?)"],
  [
    /^SELECT failed_event FROM/,
    "deliveries_of_event (event_id=? AND endpoint_id=? AND in_order=? AND rowid>?)",
  ],
  [/^SELECT min\(next_at\) FROM/, "due_deliveries (endpoint_id=? AND is_behind=?)"],
  [/^SELECT number, started_at AS startedAt, url, milliseconds/, "(delivery_id=?)"],
  [/^SELECT requests FROM request_batches .*@term.* DESC$/, "PRIMARY KEY (store_id=? AND last>?)"],
  [
    /^SELECT requests FROM request_batches .*@before.* DESC$/,
    "PRIMARY KEY (store_id=? AND last>? AND last<?)",
  ],
  [/SELECT max\(sequence\) FROM events/, "sqlite_autoindex_events_2 (checkout_id=?)"],
  [/^SELECT position FROM events WHERE checkout_id IN/, "sqlite_autoindex_events_2 (checkout_id=?)"],
  [/^SELECT position FROM events WHERE checkout_id IN/, "checkouts_of_order (store_id=? AND order_id=?)"],
  [/FROM deliveries .* checkout_id IN/, "deliveries_of_event (event_id=?)"],
  [/FROM deliveries .* checkout_id IN/, "checkouts_of_order (store_id=? AND order_id=?)"],
];

type Explained = Database.Statement<unknown[], { readonly detail: string }>;
type Prepare = (this: Database.Database, sql: string) => Explained;

test("no SQL statement on checkouts, events or deliveries reads a whole table or sorts its rows, except for the listed statements", () => {
  // The program's connection compiles a statement at its first use, so the test compiles it to read its plan.
  const prepared = new Map<string, (sql: string) => Explained>();
  const compiled: string[] = [];
  const { prototype } = Database;
  const prepare = Reflect.get(prototype, "prepare") as Prepare;
  const before = { configurable: true, writable: true, value: prepare };
  onTestFinished(() => void Object.defineProperty(prototype, "prepare", before));
  Object.defineProperty(prototype, "prepare", {
    configurable: true,
    get: (): Prepare =>
      function compile(this: Database.Database, sql: string) {
        compiled.push(sql);
        return prepare.call(this, sql);
      },
    set(this: Database.Database, ours: Prepare) {
      const value = (sql: string) => {
        prepared.set(sql, ours.bind(this));
        return ours.call(this, sql);
      };
      Object.defineProperty(this, "prepare", { configurable: true, writable: true, value });
    },
  });
  const opened = openStore(":memory:", {
    nativeBinding: undefined,
    scheduler: { soon: setImmediate, after: () => undefined },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const store = opened.value;
  const log = openRequestFile(":memory:", { nativeBinding: undefined });
  if (!log.ok) throw new Error(log.refusal.message);
  const reads = [...prepared].filter(
    ([sql]) =>
      /\b(checkouts|events|deliveries|delivery_attempts|endpoints|faults|idempotency_keys|page_views|request_batches)\b/.test(
        sql,
      ) && /^\s*(SELECT|UPDATE|DELETE)/.test(sql),
  );
  expect(reads.length).toBeGreaterThan(40);
  const plans = reads.map(([sql, ours]) => {
    const names = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name = ""]) => [name, null]));
    const explain = ours(`EXPLAIN QUERY PLAN ${sql}`);
    const nulls = Array.from({ length: sql.split("?").length - 1 }, () => null);
    const steps = nulls.length > 0 ? explain.all(...nulls) : explain.all(names);
    return { sql, plan: steps.map(({ detail }) => detail).join("; ") };
  });
  const planned = compiled.filter((sql) => sql.startsWith("EXPLAIN"));
  expect(planned).toHaveLength(plans.length);
  // SQLite would recompile a statement at each run if its plan depended on the values.
  expect(planned.filter((sql) => /(?<!\+)(\?|@\w+\b)(?! \+ 0)|LIMIT \+/.test(sql))).toEqual([]);
  const isSlow = ({ sql, plan }: { readonly sql: string; readonly plan: string }): boolean =>
    (/SCAN (?!\(subquery|CONSTANT|json_each)/.test(plan) && !WHOLE.some((whole) => whole.test(sql))) ||
    (plan.includes("TEMP B-TREE") && !FEW.some((few) => few.test(sql)));
  expect(plans.filter(isSlow)).toEqual([]);
  for (const [asked, index] of SERVED_BY) {
    const asking = plans.filter(({ sql }) => asked.test(sql.replaceAll(/\s+/g, " ")));
    expect(asking).toEqual([
      { sql: expect.any(String) as string, plan: expect.stringContaining(index) as string },
    ]);
  }
  store.close();
  log.value.close();
});

test("deliveries are listed page by page, also deliveries to removed endpoints", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const ask = (line: string) => harness.ask(line);
  const removed = String((await ask("endpoints add http://localhost:3000/"))["id"]);
  await ask("endpoints add http://localhost:3001/");
  for (const order of ["a", "b", "c"])
    await ask(`orders create --order-id order-${order} --price-id price_coffee`);
  await ask(`endpoints remove ${removed}`);
  type Part = {
    readonly deliveries: readonly { readonly id: string }[];
    readonly next_before: string | null;
  };
  const whole = (await ask("deliveries list")) as unknown as Part;
  expect(whole.deliveries).toHaveLength(6);
  expect(whole.next_before).toBeNull();
  for (const limit of [1, 2, 4, 5]) {
    const ids: string[] = [];
    for (let next: string | null = ""; next !== null;) {
      const more = next === "" ? "" : ` --before ${next}`;
      const part = (await ask(`deliveries list --limit ${limit}${more}`)) as unknown as Part;
      ids.push(...part.deliveries.map((one) => one.id));
      next = part.next_before;
    }
    expect(ids).toEqual(whole.deliveries.map((one) => one.id));
  }
  const lost = await harness.run(["deliveries", "list", "--before", id(1)]);
  expect([lost.code, lost.stderr]).toEqual([
    1,
    expect.stringMatching(refusalText("no_delivery_before", { delivery: id(1) })),
  ]);
  await sandbox.stop();
});

test("events list and deliveries list --order-id show the rows of all checkouts with that order_id in the store", async () => {
  const harness = createHarness();
  await harness.start();
  type Entry = Readonly<Record<string, string>>;
  const ask = (line: string) => harness.ask(line);
  const list = async (line: string): Promise<readonly Entry[]> => {
    return Object.values(await ask(line)).find((value) => Array.isArray(value)) as readonly Entry[];
  };
  const price = "--price-id price_coffee";
  const [one, two] = [
    await ask("endpoints add http://localhost:3000/"),
    await ask("endpoints add http://localhost:3001/"),
  ];
  await ask("stores create --name Tea");
  const checkouts: unknown[] = [];
  for (const command of ["orders create", "orders create --new-attempt", "sessions create"]) {
    const { data } = (await ask(`${command} --order-id again ${price}`)) as { data: Entry };
    checkouts.push(data["id"]);
    await ask(`sandbox pay ${data["id"]} --outcome failed`);
    await ask(`orders create --order-id again-${checkouts.length} ${price}`);
  }
  await ask(`orders create --order-id again ${price} --store Tea`);
  const isOf = (entry: Entry): boolean => checkouts.includes(entry["checkout_id"]);

  const events = (await list("events list")).filter(isOf);
  expect(events.map(({ type }) => type)).toHaveLength(9);
  expect(await list("events list --order-id again")).toEqual(events);
  const failed = events.filter(({ type }) => type === "order.failed");
  expect(await list("events list --order-id again --type order.failed")).toEqual(failed);
  expect(await list("events list --order-id again --limit 4")).toEqual(events.slice(-4));
  const since = `--since ${events[2]?.["event_id"]}`;
  expect(await list(`events list --order-id again ${since} --limit 4`)).toEqual(events.slice(3, 7));
  expect(await list(`events list --order-id again ${since} --wait`)).toEqual(events.slice(3));
  expect(await list("events list --order-id agai")).toEqual([]);
  expect(await list("events list --order-id again --store Tea")).toHaveLength(1);

  const deliveries = (await list("deliveries list")).filter(isOf);
  expect(deliveries).toHaveLength(18);
  expect(await list("deliveries list --order-id again")).toEqual(deliveries);
  const parts: Entry[] = [];
  for (let before: string | null = ""; before !== null;) {
    const more = before === "" ? "" : ` --before ${before}`;
    const part = await ask(`deliveries list --order-id again --limit 7${more}`);
    parts.push(...(part["deliveries"] as Entry[]));
    before = part["next_before"] as string | null;
  }
  expect(parts).toEqual(deliveries);
  for (const [flag, field, value] of [
    ["--endpoint", "endpoint_id", one["id"]],
    ["--endpoint", "endpoint_id", two["id"]],
    ["--event", "event_id", events[4]?.["event_id"]],
    ["--state", "state", "due"],
    ["--state", "state", "succeeded"],
  ] as const)
    expect(await list(`deliveries list --order-id again ${flag} ${String(value)}`)).toEqual(
      deliveries.filter((entry) => entry[field] === value),
    );
  expect(await list("deliveries list --order-id again --store Tea")).toEqual([]);

  for (const command of ["events list", "deliveries list"]) {
    const both = await harness.run([...command.split(" "), "--checkout", id(1), "--order-id", "again"]);
    expect([command, both.code, both.stdout]).toEqual([command, 2, ""]);
    expect(both.stderr).toMatch(inOrder("--checkout", "--order-id"));
  }
});

test("a filter by checkout and order_id returns the rows that match both", async () => {
  const { harness, sandbox } = await openLists();
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  await harness.run(["endpoints", "add", "http://localhost:3000/"]);
  const { id: checkout } = await harness.order("a");
  const found = async (list: string, orderId: string): Promise<number> => {
    const path = `/__sandbox/stores/default/${list}?checkout_id=${checkout}&order_id=${orderId}`;
    const answer = await sandbox.request({ path, headers: { Authorization: `Bearer ${token}` } });
    const { data } = JSON.parse(String(answer.body)) as {
      data: Readonly<Record<string, readonly unknown[]>>;
    };
    return data[list]?.length ?? -1;
  };
  for (const list of ["events", "deliveries"])
    expect([list, await found(list, "a"), await found(list, "b")]).toEqual([list, 1, 0]);
});

test("orders and sessions are listed, filtered and continued, newest first, with short ids", async () => {
  const harness = createHarness();
  await harness.start();
  const type = (line: string) => harness.run(line.split(" "));
  expect(JSON.parse((await type("orders list --json")).stdout)).toMatchObject({ checkouts: [] });
  for (const number of [1, 2, 3]) {
    await type(`orders create --order-id order-100${number} --price-id price_coffee`);
    harness.clock.advance(1000);
  }
  await type("sessions create --order-id cart-7 --price-id price_bento");
  const listed = (await type("orders list")).stdout;
  const [, ...rows] = listed.trimEnd().split("\n");
  expect(rows).toEqual(
    ["order-1003  1 s", "order-1002  2 s", "order-1001  3 s"].map((order) =>
      expect.stringMatching(new RegExp(`^[0-9a-f]{8}  created  4\\.50 EUR  ${order} `)),
    ),
  );
  const whole = JSON.parse((await type("orders list --json")).stdout) as Page;
  const [third, second, first] = whole.checkouts.map((one) => one.id);
  expect(Object.keys(whole)).toEqual([
    "store_id",
    "checkouts",
    "now",
    "next_before",
    "searched",
    "searched_back_to",
    "refused",
  ]);
  expect(listed.match(/^[0-9a-f]{8}/gm)).toEqual([third, second, first].map((one) => shortId(one ?? "")));
  const part = await type("orders list --limit 2");
  expect(part.stdout).toContain(`\n  checkout orders list --limit 2 --before ${second}\n`);
  const rest = JSON.parse(
    (await type(`orders list --before ${shortId(second ?? "")} --json`)).stdout,
  ) as Page;
  expect(rest.checkouts.map((one) => one.id)).toEqual([first]);
  const session = JSON.parse((await type("sessions list --json")).stdout) as Page;
  expect(session.checkouts).toMatchObject([{ order_id: "cart-7", object: "checkout_session" }]);

  const short = shortId(third ?? "");
  expect((await type(`sandbox pay ${short} --outcome succeeded`)).code).toBe(0);
  expect((await type("orders list --status succeeded")).stdout).toContain("order-1003");
  expect((await type("orders list --order-id order-1001")).stdout).not.toContain("order-1003");
  const shown = await type(`orders get ${short.toUpperCase()}`);
  expect(shown.stdout).toContain(`  id              ${third}\n`);
  expect(shown.stdout).toMatch(/ order\.succeeded +[0-9a-f]{8}\n/);
  const [eventEnd = ""] = / order\.succeeded +([0-9a-f]{8})\n/.exec(shown.stdout)?.slice(1) ?? [];
  expect((await type(`events get ${eventEnd}`)).stdout).toContain("order.succeeded");
  expect((await type(`sessions get ${short}`)).stdout).toContain(third);
  expect((await type(`events list --checkout ${short}`)).stdout).toContain("order.succeeded");
  expect(JSON.parse((await type(`orders get ${third} --json`)).stdout)).toMatchObject({
    id: third,
    payment_method: "alipay_plus",
    events: [{}, {}, {}],
  });
});

test("an ambiguous short id is refused with both ids, an unknown short id is not found, and at another service short ids and lists are refused", async () => {
  const { harness, storeId, add } = await openLists();
  const twin = (head: string): string => `${head}99a3c4-5d00-7000-8000-0000cafe0001`;
  add([
    row(1, storeId, { id: twin("01") }),
    row(2, storeId, { id: twin("02"), order_id: "o-twin" }),
    row(3, OTHER_STORE, { id: twin("03").replace("cafe0001", "beef0001") }),
  ]);
  const type = (line: string, env = {}) => harness.run(line.split(" "), { env });
  for (const command of [
    "orders get",
    "sandbox pay --outcome succeeded",
    "sessions get",
    "events list --checkout",
  ]) {
    const twins = await type(`${command} cafe0001`);
    expect([command, twins.code, twins.stdout]).toEqual([command, 2, ""]);
    expect(twins.stderr).toMatch(
      new RegExp(`\n  ${twin("02")}  order "o-twin".*\n  ${twin("01")}  order "o-1"`),
    );
    const foreign = await type(`${command} beef0001`);
    expect([command, foreign.code, foreign.stdout]).toEqual([command, 1, ""]);
    expect(foreign.stderr).toContain("1000");
  }
  const named = { CHECKOUT_BASE_URL: "https://pay.example/v1" };
  const other = ["--base-url", "http://127.0.0.1:1/v1", ".checkout", "http://127.0.0.1:4242/v1"];
  for (const [line, env, said] of [
    ["orders list", named, []],
    ["sessions list", named, []],
    ["orders get cafe0001", named, []],
    ["orders list --base-url http://127.0.0.1:1/v1", {}, other],
    ["orders list --target staging", {}, ["staging"]],
  ] as const) {
    const refused = await type(line, env);
    expect([line, refused.code, refused.stdout]).toEqual([line, 2, ""]);
    expect(refused.stderr).toMatch(inOrder(...said));
  }
});

test("a table drops columns to fit, then truncates the widest column, and shows short ids", async () => {
  const entry = aCheckoutEntry({
    id: id(1),
    orderId: "order-1001",
    amountMinor: 123_456_789,
    status: "succeeded",
    last: { at: 0, what: "succeeded", by: "payer", attempt: 1, attemptsLeft: null },
  });
  const long = { ...entry, orderId: "注文".repeat(16) };
  const attempt = {
    url: "http://localhost:3000/a/long/path/of/hooks",
    status: 500,
    startedAt: 0,
    finishedAt: 1,
    fault: null,
  };
  const delivery = {
    attempts: [attempt],
    tries: 1,
    state: "due",
    nextAt: 1000,
    cause: "event",
    type: "order.created",
    orderId: "order-1001",
    url: attempt.url,
  };
  const event = { eventId: id(2), type: "checkout_session.succeeded", createdAt: 0, body: "{}" };
  const tables = (width: number): Promise<string>[] => [
    checkoutLines({ checkouts: [entry, long], now: 120_000 }, { width }),
    checkoutLines({ checkouts: [entry], now: 120_000 }, { width }),
    deliveryLines([{ ...delivery, eventId: id(2) }] as unknown as Parameters<typeof deliveryLines>[0], {
      width,
    }),
    eventLines([event] as unknown as Parameters<typeof eventLines>[0], width),
  ];
  const { default: widthOf } = await import("string-width");
  for (const width of [60, 80, 200]) {
    for (const text of await Promise.all(tables(width)))
      for (const line of text.split("\n"))
        expect([width, line, widthOf(line) <= width]).toEqual([width, line, true]);
  }
  const headings = (text = ""): number => (text.split("\n")[0] ?? "").split(/ {2,}/).length;
  expect(headings(await tables(200)[1])).toBe(7);
  expect((await tables(200)[1]) ?? "").toMatch(/\n00001eef .* 2 min /);
  expect(headings(await tables(80)[1])).toBe(5);
  expect((await tables(0)[1]) ?? "").toBe(await tables(80)[1]);
  expect((await tables(80)[0]) ?? "").toMatch(/\n.*\n.* (注文)+注?…$/);
  expect(headings(await tables(80)[0])).toBe(4);
  expect(headings(await tables(200)[2])).toBe(10);
  expect(headings(await tables(80)[2])).toBe(6);
  expect((await tables(80)[2]) ?? "").toMatch(/\n.*…[^ ]+$/);
});
