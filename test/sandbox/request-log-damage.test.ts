import { copyFileSync, existsSync, readFileSync, renameSync, statSync } from "node:fs";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { ownerOfName } from "../../src/host/folder/files.ts";
import { parseRequestLine } from "../../src/core/request/read-request.ts";
import { openRequestFile } from "../../src/store/request/request-file.ts";
import { part, seededRandom, SEED } from "../support/campaign.ts";
import { createHarness, type Harness, type RunningSandbox } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { aLoggedRequest } from "../support/rows.ts";

/** Damage to the log by another program; `aside`: whether the file is set aside. */
type Spoiling = { readonly what: string; readonly aside: boolean; readonly spoil: (path: string) => void };

const REQUEST = aLoggedRequest({
  requestId: "0199a3c4-5d00-7000-8000-000000000001",
  status: 400,
  code: "invalid_json",
  decisions: [3],
  refused: { message: "no", headers: ["A", "b"], body: "{" },
});

/** Lines that are not requests: no JSON, other JSON, or a request with a missing or wrong field. */
const BAD_LINES: readonly string[] = [
  "",
  "no json",
  "{",
  "null",
  "5",
  '"text"',
  "[]",
  "{}",
  ...Object.keys(REQUEST).flatMap((name) =>
    [undefined, {}, [{}], "text", 1e300, true, { headers: 1 }]
      .filter((value) => !(name === "fault" && value === undefined))
      .filter(
        (value) => !(typeof value === "string" && ["requestId", "method", "path", "orderId"].includes(name)),
      )
      .filter((value) => !(typeof value === "number" && name === "durationMs"))
      .map((value) => JSON.stringify({ ...REQUEST, [name]: value })),
  ),
];

function rows(path: string, change: (database: Database.Database) => void): void {
  const database = new Database(path);
  change(database);
  database.close();
}

function rubbish(path: string): void {
  const random = seededRandom(SEED);
  const bytes = Buffer.from(Array.from({ length: statSync(path).size }, () => random() * 256));
  writeFileSync(path, bytes);
}

/** Replaces the log with another file. */
function replaced(path: string, make: (other: string) => void): void {
  const other = join(tempFolder(), "other.db");
  make(other);
  renameSync(other, path);
}

const SPOILINGS: readonly Spoiling[] = [
  // The file has two pages, and the first row is at the end of the second page.
  ...[0, 1, 50, 99, 100, 1000, 4096, 8191].map((bytes) => ({
    what: `its file truncated to ${bytes} bytes`,
    aside: bytes <= 4096,
    spoil: (path: string): void => truncateSync(path, bytes),
  })),
  {
    what: "a text as content",
    aside: true,
    spoil: (path) => writeFileSync(path, "a text of somebody else, longer than a header"),
  },
  { what: "random bytes as content", aside: true, spoil: rubbish },
  {
    what: "invalid bytes after the first page",
    aside: true,
    spoil: (path) => writeFileSync(path, readFileSync(path).fill(0xa5, 4096)),
  },
  {
    what: "an invalid header",
    aside: true,
    spoil: (path) => writeFileSync(path, readFileSync(path).fill(0x7f, 44, 60)),
  },
  {
    what: "its file replaced by a text",
    aside: true,
    spoil: (path) => replaced(path, (other) => writeFileSync(other, "a text of somebody else")),
  },
  {
    what: "its file replaced by another program's database",
    aside: true,
    spoil: (path) =>
      replaced(path, (other) => rows(other, (database) => database.exec("CREATE TABLE a (x)"))),
  },
  {
    what: "its file replaced by the sandbox's database",
    aside: true,
    spoil: (path) =>
      replaced(path, (other) => copyFileSync(path.replace("requests.db", "sandbox.db"), other)),
  },
  {
    what: "its file overwritten with the sandbox's database",
    aside: true,
    spoil: (path) => writeFileSync(path, readFileSync(path.replace("requests.db", "sandbox.db"))),
  },
  {
    what: "its file replaced by a log without a table",
    aside: true,
    spoil: (path) =>
      replaced(path, (other) => {
        const opened = openRequestFile(other, {});
        if (opened.ok) opened.value.close();
        rows(other, (database) => database.exec("DROP TABLE request_batches"));
      }),
  },
  {
    what: "its table dropped",
    aside: true,
    spoil: (path) => rows(path, (database) => database.exec("DROP TABLE request_batches")),
  },
  ...BAD_LINES.map((line) => ({
    what: `the line ${line.slice(0, 200)}`,
    aside: false,
    spoil: (path: string): void =>
      rows(path, (database) =>
        database.prepare("UPDATE request_batches SET requests = ? || char(10) || requests").run(line),
      ),
  })),
  ...[0, 20, 32, 60, 4200].map((bytes) => ({
    what: `its -wal truncated to ${bytes} bytes`,
    aside: false,
    spoil: (path: string): void => {
      if (existsSync(`${path}-wal`)) truncateSync(`${path}-wal`, bytes);
    },
  })),
  {
    what: "random bytes in its -wal",
    aside: false,
    spoil: (path) => {
      if (existsSync(`${path}-wal`)) rubbish(`${path}-wal`);
    },
  },
];

const EVERYTHING = SPOILINGS.flatMap((one) => [
  { ...one, when: "while the sandbox runs" },
  { ...one, when: "between runs" },
]);

test.for(part(EVERYTHING, 13))(
  "no reader of a damaged request log fails, and new requests are logged: $what, $when",
  async (row) => {
    const harness = createHarness();
    const path = join(harness.cwd, ".checkout/requests.db");
    let sandbox = await harness.start();
    const id = await post(sandbox, "order-1");
    harness.clock.advance(1000);
    expect((await harness.run(["requests", "get", id, "--json"])).code).toBe(0);
    const stopped = row.when === "between runs" ? await sandbox.stop() : undefined;
    row.spoil(path);
    const doctor = await harness.run(["doctor", "--json"]);
    const { checks } = JSON.parse(doctor.stdout) as { checks: { check: string; status: string }[] };
    const judged = checks.find(({ check }) => check === "requests.db")?.status;
    if (stopped !== undefined) sandbox = await harness.start();
    await look(harness, sandbox, id);
    await post(sandbox, "order-2");
    harness.clock.advance(1000);
    const listed = await harness.run(["requests", "list", "--json"]);
    expect(orders(listed.stdout)).toContain("order-2");
    expect(orders(listed.stdout).filter((order) => order !== "order-1" && order !== "order-2")).toEqual([]);
    const { stderr } = await sandbox.stop();
    expect(stderr).not.toMatch(/\n\s+at |internal_error| 50\d /);
    const times = stderr.split(`${path}.damaged`).length - 1;
    expect([times, existsSync(`${path}.damaged`)]).toEqual([times > 0 ? 1 : 0, times > 0]);
    expect(ownerOfName("requests.db.damaged")).toBe("checkout");
    if (row.when === "between runs" && row.aside) expect([times, judged]).toEqual([1, "warning"]);
    if (row.what.startsWith("the line")) expect([times, judged]).toEqual([0, "warning"]);
    expect((await harness.run(["doctor", "--json"])).stdout).not.toMatch(/"status":"problem"/);
  },
);

async function post(sandbox: RunningSandbox, orderId: string): Promise<string> {
  const answer = await sandbox.request({
    path: "/v1/orders",
    method: "POST",
    headers: { "Idempotency-Key": `key-of-${orderId}` },
    body: JSON.stringify({
      order_id: orderId,
      amount_minor: 1,
      currency: "EUR",
      payment_method: "alipay_plus",
    }),
  });
  expect(answer.status).toBe(201);
  return answer.headers["X-Request-Id"] ?? "";
}

/** Uses readers of the log: each finds the other requests, or reports that a request is missing. */
async function look(harness: Harness, sandbox: RunningSandbox, id: string): Promise<void> {
  const found = await harness.run(["requests", "get", id, "--json"]);
  expect([0, 1]).toContain(found.code);
  if (found.code === 1) expect(found.stdout + found.stderr).toContain('"not_found"');
  const explained = await harness.run(["explain", id, "--json"]);
  expect([0, 1]).toContain(explained.code);
  for (const words of [
    ["requests", "list"],
    ["requests", "list", "--status", "2xx"],
    ["requests", "list", "--order-id", "order-1"],
    ["explain", "order-1"],
  ])
    expect([words, (await harness.run([...words, "--json"])).code]).toEqual([words, 0]);
  const portal = await signedIn(harness, sandbox);
  for (const page of ["", "/requests", "/requests?status=2xx", `/find?q=${id.slice(-8)}`, "/connect"])
    expect([page, (await portal.get(portal.home + page)).status < 400]).toEqual([page, true]);
  expect([200, 404]).toContain((await portal.get(`${portal.home}/requests/${id}`)).status);
}

function orders(stdout: string): readonly unknown[] {
  const { requests } = JSON.parse(stdout) as { requests: { order_id: string }[] };
  return requests.map(({ order_id: orderId }) => orderId);
}

test("a line of the request log with a missing or wrong field is skipped", () => {
  for (const fault of [null, { id: "0199a3c4-5d00-7000-8000-000000000001", action: "status" }])
    expect(parseRequestLine(JSON.stringify({ ...REQUEST, fault }))).toBeDefined();
  const { fault: _none, ...older } = REQUEST;
  expect(parseRequestLine(JSON.stringify(older))).toBeUndefined();
  expect(BAD_LINES.filter((line) => parseRequestLine(line) !== undefined)).toEqual([]);
});

test("a reset deletes a damaged request log that was set aside", async () => {
  const harness = createHarness();
  const path = join(harness.cwd, ".checkout/requests.db");
  let sandbox = await harness.start();
  await post(sandbox, "order-1");
  await sandbox.stop();
  truncateSync(path, 5000);
  sandbox = await harness.start();
  await post(sandbox, "order-2");
  harness.clock.advance(1000);
  expect(readFileSync(`${path}.damaged`)).toHaveLength(5000);
  expect((await harness.run(["sandbox", "reset", "--yes", "--json"])).code).toBe(0);
  expect(existsSync(`${path}.damaged`)).toBe(false);
  await sandbox.stop();
});
