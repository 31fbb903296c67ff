import { EXIT } from "../../src/cli/problem.ts";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  CONTROL_OPERATIONS,
  folderTokenRole,
  OPERATION_NAMES,
  pathOf,
} from "../../src/core/control/operations.ts";
import { CONTROL_PREFIX } from "../../src/core/control/protocol.ts";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { SEED, seededRandom, size, report } from "../support/campaign.ts";
import { changedSnapshot } from "../support/changed-snapshot.ts";
import { createHarness, type FullAnswer, type Harness, type RunningSandbox } from "../support/harness.ts";
import { portalPages, type PortalIds } from "../support/portal-addresses.ts";
import { askPortal, portalHost, signIn } from "../support/portal-sign-in.ts";
import { richSnapshot } from "../support/rich-snapshot.ts";

const TEXTS = [
  "",
  "x",
  "\u202Egnp.exe",
  "x".repeat(200),
  "svc_test_0123456789abcdefghijklmnopqrstuvw",
  "https://evil.example/hooks",
  "http://[::1",
  "httpx://",
  "http://127.0.0.1:99999/",
  "https://a:99999",
  "javascript:alert(1)",
  "/elsewhere",
  "*",
  "order.paid",
  "{}",
  "[]",
  '{"event_id":1}',
  '{"fault":7}',
  "no JSON",
  "default",
  "orders:write admin",
  "drop 0",
  "\r\nX: y",
  "00000000-0000-0000-0000-000000000000",
  "f".repeat(64),
];
const NUMBERS = [-1, 0, 1, 2, 7, 99, 410, 1e6, 1e12, 2.5e14, -6e13, 2 ** 52];
/** Tables that no snapshot restores, whose rows are about the snapshot or its sandbox. */
const NOT_RESTORED =
  /^(?:lease_effects|home|log_mark|opening|resets|committed_resets|erasures|event_floor|instance|snapshot|sqlite_.*)$/;

const ABSENT = "00000000-0000-7000-8000-00000000dead";

/** Columns of ids: a snapshot is refused if one of them has a value that is not an id. */
const REFERENCES = /^(?:id|(?:first_)?request_id|(?:store|merchant|checkout|endpoint|event|delivery)_id)$/;

type Place = { readonly table: string; readonly column: string; readonly type: string };

function placesOf(bytes: Uint8Array): readonly Place[] {
  const copy = new Database(Buffer.from(bytes));
  const places = copy
    .prepare<[], Place>(
      `SELECT one.name AS "table", part.name AS "column", part.type
       FROM pragma_table_list AS one, pragma_table_info(one.name) AS part
       WHERE one.schema = 'main' AND one.type = 'table' ORDER BY 1, 2`,
    )
    .all();
  copy.close();
  return places.filter(({ table, column }) => !NOT_RESTORED.test(table) && !REFERENCES.test(column));
}

/** A snapshot with up to three changes that its tables accept, of values that operations may never write. */
function strangeSnapshot(bytes: Uint8Array, places: readonly Place[], seed: number) {
  const random = seededRandom(seed);
  const oneOf = <Value>(values: readonly Value[]): Value => {
    const value = values[Math.floor(random() * values.length)];
    if (value === undefined) throw new Error("there is nothing to choose from");
    return value;
  };
  const drawn = fc.sample(fc.string({ unit: ANY_CHARACTER, maxLength: 40 }), { seed, numRuns: 8 });
  const changes: string[] = [];
  const made = changedSnapshot(bytes, (copy) => {
    for (
      let tries = 0, wanted = 1 + Math.floor(random() * 3);
      changes.length < wanted && tries < 60;
      tries += 1
    ) {
      const { table, column, type } = oneOf(places);
      const value =
        random() < 0.1
          ? null
          : type === "BLOB"
            ? Buffer.from(oneOf(drawn))
            : oneOf<string | number>(type === "TEXT" ? [...TEXTS, ...drawn] : NUMBERS);
      const all = random() < 0.3;
      const place = Math.floor(random() * 20);
      try {
        const where = all
          ? ""
          : `WHERE ${column} IS (SELECT ${column} FROM ${table} LIMIT 1 OFFSET ${place})`;
        const { changes: count } = copy.prepare(`UPDATE ${table} SET ${column} = ? ${where}`).run(value);
        if (count > 0)
          changes.push(`${table}.${column} = ${JSON.stringify(value)}${all ? " in all rows" : ""}`);
      } catch (error) {
        // The table does not accept the value.
        if (!(error instanceof Database.SqliteError)) throw error;
      }
    }
  });
  return { bytes: made, changes };
}

/** The ids of rows, each by the path segment before it in the portal's URLs. */
function idsIn(bytes: Uint8Array, nth: number): PortalIds {
  const copy = new Database(Buffer.from(bytes));
  const stores = copy.prepare<[], string>("SELECT id FROM stores ORDER BY rowid").pluck().all();
  const store = stores[nth % stores.length] ?? "";
  const oneOf = (table: string): string => {
    const select = copy.prepare<[string], string>(
      `SELECT id FROM ${table} WHERE store_id = ? ORDER BY rowid DESC`,
    );
    const all = select.pluck().all(store);
    return all[nth % all.length] ?? ABSENT;
  };
  const found = {
    store_id: store,
    portal: store,
    admin: store,
    anything: "start",
    requests: ABSENT,
    checkouts: oneOf("checkouts"),
    events: oneOf("events"),
    endpoints: oneOf("endpoints"),
    deliveries: oneOf("deliveries"),
  };
  copy.close();
  return found;
}

/** A visitor with all credentials, who requests pages and operations that show stored values, and lets time pass. */
type Visitor = {
  readonly sandbox: RunningSandbox;
  readonly apiKey: string;
  readonly tokens: Readonly<Record<"control" | "administrator", string>>;
  readonly cookies: Readonly<Record<"portal merchant" | "administrator", string>>;
};

/** Makes the visits, and returns the answers that report an internal error. */
async function failuresOf(visitor: Visitor, ids: PortalIds, isActFirst: boolean): Promise<readonly string[]> {
  const visits = [actIn, lookByControl, lookAtPages];
  const failures: string[] = [];
  for (const visit of isActFirst ? visits : visits.toReversed())
    await visit(visitor, ids, (what, { status, body }) => {
      if (status >= 500) failures.push(`${what} is ${status}: ${String(body).slice(0, 300)}`);
    });
  return failures;
}

type Note = (what: string, answer: Pick<FullAnswer, "status" | "body">) => void;

async function lookByControl({ sandbox, tokens }: Visitor, ids: PortalIds, note: Note): Promise<void> {
  const some = [ids["checkouts"], ids["events"], ids["endpoints"], ids["deliveries"]].map((id) => id ?? "");
  for (const name of OPERATION_NAMES) {
    const { method, path } = CONTROL_OPERATIONS[name];
    if (method !== "GET") continue;
    const isById = path.includes("{id}");
    for (const id of isById || name === "explain" ? some : [""]) {
      const token = tokens[folderTokenRole(name)];
      const at = `${pathOf(name, { storeId: ids.store_id, id })}${name === "explain" ? `?id=${id}` : ""}`;
      note(name, await sandbox.request({ method, path: at, headers: { Authorization: `Bearer ${token}` } }));
    }
  }
}

async function lookAtPages({ sandbox, cookies }: Visitor, ids: PortalIds, note: Note): Promise<void> {
  const pages = portalPages(PORTAL_AREA.routes, ids).map(({ address }) => address);
  for (const path of [...pages, `/portal/${ids.store_id}/find?q=o-`]) {
    const cookie = cookies[path.startsWith("/portal/admin") ? "administrator" : "portal merchant"];
    const headers = { Authorization: "", Host: portalHost(sandbox), Cookie: cookie };
    note(path, await askPortal(sandbox, { path, headers }));
  }
  const path = `/pay/${ids["checkouts"]}`;
  note(path, await sandbox.request({ path, headers: { Authorization: "" } }));
}

async function actIn({ sandbox, apiKey, tokens }: Visitor, ids: PortalIds, note: Note): Promise<void> {
  const v1 = { Authorization: `Bearer ${apiKey}`, "Idempotency-Key": "strange-1" };
  const path = `/v1/checkout-sessions/${ids["checkouts"]}`;
  note(path, await sandbox.request({ path, headers: v1 }));
  const order = { order_id: "strange", amount_minor: 5, currency: "EUR", payment_method: "alipay_plus" };
  note("create", await sandbox.request({ path: "/v1/orders", headers: v1, body: JSON.stringify(order) }));
  const headers = { Authorization: `Bearer ${tokens.control}` };
  const at = (rest: string): string => `${CONTROL_PREFIX}stores/${ids.store_id}/${rest}`;
  const pay = { path: at(`checkouts/${ids["checkouts"]}/pay`), headers, body: '{"outcome":"succeeded"}' };
  note("pay", await sandbox.request(pay));
  const body = JSON.stringify({ action: "advance", by_ms: 3 * 3_600_000 });
  note("clock", await sandbox.request({ path: at("clock"), headers, body }));
}

/** Commands that show stored values to a person. */
const COMMANDS = [
  "orders list",
  "events list",
  "deliveries list",
  "endpoints list",
  "faults list",
  "keys list",
  "prices list",
  "checklist",
];

async function bugsOf(harness: Harness, ids: PortalIds): Promise<readonly string[]> {
  const lines = [
    ...COMMANDS.map((line) => `${line} --store ${ids.store_id}`),
    `explain ${ids["checkouts"]} --store ${ids.store_id}`,
  ];
  const bugs: string[] = [];
  for (const line of lines) {
    const { code, stderr } = await harness.run(line.split(" "));
    if (code === EXIT.failed || code === EXIT.unreachable) bugs.push(`${line}: ${stderr}`);
  }
  return bugs;
}

test(`a restored snapshot does not break answers, pages or commands, whatever values its tables accept (seed ${SEED})`, async () => {
  const { bytes, apiKey } = await richSnapshot();
  const places = placesOf(bytes);
  const harness = createHarness();
  const sandbox = await harness.start();
  const cookies = {
    "portal merchant": (await signIn(harness, sandbox, "merchant")).cookie,
    administrator: (await signIn(harness, sandbox, "administrator")).cookie,
  };
  const tokens = { control: sandbox.ready.control_token ?? "", administrator: harness.adminToken() };
  const folder = join(harness.cwd, ".checkout", "snapshots");
  mkdirSync(folder, { recursive: true });
  const control = { Authorization: `Bearer ${sandbox.ready.control_token}` };
  const found: string[] = [];
  let restored = 0;
  for (let nth = 0; nth < size(6, 1000); nth += 1) {
    const strange = strangeSnapshot(bytes, places, SEED + nth);
    writeFileSync(join(folder, "strange.snapshot"), strange.bytes);
    const body = JSON.stringify({ name: "strange", trust: true, adopt: nth % 2 === 0 });
    const { status, body: said } = await sandbox.request({
      path: `${CONTROL_PREFIX}snapshots/restore`,
      headers: control,
      body,
    });
    if (status !== 200 && status !== 400 && status !== 409)
      found.push(`${strange.changes.join(", ")}: ${status} ${String(said)}`);
    if (status !== 200) continue;
    restored += 1;
    const ids = idsIn(strange.bytes, nth);
    const failures = await failuresOf({ sandbox, apiKey, tokens, cookies }, ids, nth % 4 < 2);
    const bugs = nth % size(4, 20) === 0 ? await bugsOf(harness, ids) : [];
    const wrong = [...failures, ...bugs].map((one) => `${nth}: ${strange.changes.join(", ")}: ${one}`);
    report(wrong);
    found.push(...wrong);
  }
  expect(found).toEqual([]);
  expect(restored).toBeGreaterThan(size(6, 1000) / 3);
  expect((await sandbox.stop()).stderr).not.toMatch(/^\s+at /m);
});
