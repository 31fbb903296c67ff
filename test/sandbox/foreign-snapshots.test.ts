import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/testing/testing.ts";
import { changedSnapshot } from "../support/changed-snapshot.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, type CommandOptions, type Harness } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";

const ORDER = {
  order_id: "order-1",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
} as const;

/** Lets all work of the next two seconds happen. */
async function pass({ clock }: Harness): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await clock.sleep(100);
}

function create(orderId: string): readonly string[] {
  return ["orders", "create", "--order-id", orderId, "--price-id", "price_coffee"];
}

/** Two folders on one machine, and two snapshots from the first folder, whose store has an order with a due event. */
async function twoFolders() {
  const harness = createHarness();
  const received: string[] = [];
  const listens = (): void =>
    harness.occupy(3000, {
      answer: ({ body }) => {
        received.push(Buffer.from(body).toString("utf8"));
        return Promise.resolve({ status: 200, headers: {}, body: "" });
      },
      refuse: () => ({ status: 400, headers: {}, body: "" }),
    });
  const [theirs, ours] = [harness.cwd, tempFolder()];
  const run = async (
    line: string | readonly string[],
    options: CommandOptions & { readonly code?: number } = {},
  ) => {
    const words = typeof line === "string" ? line.split(" ") : line;
    const { code = 0, ...command } = options;
    const done = await harness.run(words, command);
    expect([words, done.code, done.stderr]).toEqual([words, code, done.stderr]);
    return done;
  };
  const source = await harness.start(["--port", "0"]);
  await run("endpoints add http://127.0.0.1:3000/hooks");
  // No receiver listens, so the delivery is retried later.
  await run(create("o-1"));
  await pass(harness);
  const file = join(theirs, "theirs.snapshot");
  await run(`snapshots create theirs --all --file ${file}`);
  const one = join(theirs, "one.snapshot");
  await run(`snapshots create one --file ${one}`);
  await source.stop();
  return { harness, theirs, ours, file, one, received, listens, run };
}

/** The fact in the status that says why nothing is delivered. */
async function holdOf(harness: Harness, cwd: string): Promise<unknown> {
  const { stdout } = await harness.run(["sandbox", "status", "--json"], { cwd });
  return (JSON.parse(stdout) as { readonly hold: { readonly fact: string } | null }).hold?.fact;
}

const [THIS_STORE] = PART_TEXTS.this_foreign_store;
const FOREIGN = { fact: "this_foreign_store", values: {} };

/** The lines of `explain` about waiting deliveries of an order. */
async function waitingOf(
  orderId: string,
  { harness, cwd }: { readonly harness: Harness; readonly cwd: string },
): Promise<readonly string[]> {
  const { stdout } = await harness.run(["explain", orderId], { cwd });
  return stdout.split("\n").filter((line) => line.includes(THIS_STORE));
}

test("due deliveries of another sandbox's snapshot wait until the snapshot is adopted, and the commands about deliveries say so", async () => {
  for (const adoption of ["by a restore", "by a start"]) {
    const { harness, ours: cwd, file, received, listens, run } = await twoFolders();
    const sandbox = await harness.start(["--port", "0"], { cwd });
    expect(await holdOf(harness, cwd)).toBe(undefined);
    listens();
    const restore = `snapshots restore theirs --all --file ${file} --trust`;
    const untrusted = await run(restore.replace(" --trust", ""), { cwd, code: 2 });
    expect(untrusted.stderr).toMatch(refusalText("untrusted_snapshot"));
    expect(untrusted.stderr).toContain("--trust");
    const restored = await run(`${restore} --json`, { cwd });
    expect(restored.stderr).toContain(THIS_STORE);
    expect(JSON.parse(restored.stdout)).toMatchObject({
      held_back: THIS_STORE,
      hold: FOREIGN,
      stores: [{ name: expect.stringMatching(/./) as string }],
    });
    const env = { CHECKOUT_API_KEY: apiKeyOf(harness) };
    const isQuiet = async (what: string): Promise<void> => {
      await run("sandbox clock advance 3h", { cwd });
      await pass(harness);
      expect([what, received]).toEqual([what, []]);
    };
    await isQuiet("after the restore");
    expect(await holdOf(harness, cwd)).toBe("foreign_store");
    const { endpoints } = JSON.parse((await run("endpoints list --json", { cwd })).stdout) as {
      readonly endpoints: readonly { readonly hold: unknown }[];
    };
    expect(endpoints.map(({ hold }) => hold)).toEqual([FOREIGN]);
    expect(await waitingOf("o-1", { harness, cwd })).toHaveLength(2);
    const doctor = await harness.run(["doctor", "--json"], { cwd });
    expect(doctor.stdout).toContain(THIS_STORE);
    expect((await run("checklist run webhooks", { cwd, code: 5 })).stderr).toContain("--adopt");
    await run(create("o-2"), { cwd, env });
    await isQuiet("after an order of our own, as in a copied folder");
    await sandbox.stop();
    const again = await harness.launch(["sandbox", "start", "--port", "0"], { cwd });
    expect(again.text().stderr).toContain("--adopt");
    await isQuiet("after a start");
    if (adoption === "by a restore") {
      const adopted = await run(`snapshots restore theirs --all --trust --adopt --json`, { cwd });
      expect([adopted.stderr.includes("--adopt"), JSON.parse(adopted.stdout)]).toMatchObject([
        false,
        { held_back: null, hold: null },
      ]);
      await run("sandbox clock advance 3h", { cwd });
    } else {
      await again.stop();
      const started = await harness.launch(["sandbox", "start", "--port", "0", "--adopt"], { cwd });
      expect(started.text().stderr).not.toContain("--adopt");
    }
    await pass(harness);
    expect([adoption, received.some((body) => body.includes('"o-1"'))]).toEqual([adoption, true]);
    expect(await holdOf(harness, cwd)).toBe(undefined);
  }
});

/** The key of the first folder's store. */
function apiKeyOf(harness: Harness): string {
  const { stores } = JSON.parse(harness.readState("credentials.json")) as {
    readonly stores: Readonly<Record<string, { readonly api_key: string }>>;
  };
  return Object.values(stores)[0]?.api_key ?? "";
}

test("a snapshot proves which sandbox took it, unless it was changed, has no proof or comes from a copied folder", async () => {
  const { harness, theirs, ours, file, received, listens, run } = await twoFolders();
  cpSync(join(theirs, ".checkout"), join(ours, ".checkout"), { recursive: true });
  const own = readFileSync(file);
  const copied = join(ours, "copied.snapshot");
  const adopted = await harness.start(["--port", "0", "--adopt"], { cwd: ours });
  await run(`snapshots create copied --all --file ${copied}`, { cwd: ours });
  await adopted.stop();
  const noProof = Buffer.from(own).fill(0, 76, 92);
  const foreign = {
    "with another name of its store": changedSnapshot(own, (copy) =>
      copy.exec("UPDATE stores SET name = 'Another'"),
    ),
    "without a proof": changedSnapshot(noProof, () => undefined),
    "of a copy of the folder, with the same master key": readFileSync(copied),
  };
  listens();
  for (const isLive of [true, false]) {
    for (const [what, bytes] of Object.entries(foreign)) {
      const sandbox = isLive ? await harness.start(["--port", "0"]) : undefined;
      writeFileSync(file, bytes);
      const restored = await run(`snapshots restore x --all --file ${file} --trust --json`);
      expect([what, JSON.parse(restored.stdout)]).toMatchObject([what, { hold: FOREIGN }]);
      await sandbox?.stop();
      const started = await harness.start(["--port", "0"]);
      await run("sandbox clock advance 3h");
      await pass(harness);
      expect([isLive, what, received]).toEqual([isLive, what, []]);
      await started.stop();
    }
  }
  writeFileSync(file, own);
  await harness.start(["--port", "0"]);
  const restored = await run(`snapshots restore x --all --file ${file} --json`);
  expect(JSON.parse(restored.stdout)).toMatchObject({ held_back: null });
  await run("sandbox clock advance 3h");
  await pass(harness);
  expect(received.length).toBeGreaterThan(0);
});

test("an invalid dialect in another sandbox's snapshot is refused, and a valid dialect is restored", async () => {
  const { harness, theirs, ours, file, run } = await twoFolders();
  const own = readFileSync(file);
  await harness.start(["--port", "0"], { cwd: ours });
  const rows = [
    ['{"errors":{"rate_limited":{"status":200}}}', "stores: "],
    ["{broken", "stores: "],
    ['{"times":"seconds"}', undefined],
  ] as const;
  for (const [dialect, fault] of rows) {
    const changed = changedSnapshot(own, (copy) =>
      copy.prepare("UPDATE stores SET dialect = ?").run(dialect),
    );
    writeFileSync(join(theirs, "changed.snapshot"), changed);
    const line = `snapshots restore x --all --file ${join(theirs, "changed.snapshot")} --trust`;
    const { stderr } = await run(line, { cwd: ours, code: fault === undefined ? 0 : 1 });
    expect([dialect, stderr]).toEqual([dialect, expect.stringContaining(fault ?? "")]);
  }
});

test("another sandbox's snapshot is refused if one of its in-order deliveries would wait forever for an earlier delivery", async () => {
  const { harness, theirs, ours, file, run } = await twoFolders();
  await harness.start(["--port", "0"], { cwd: ours });
  const path = join(theirs, "changed.snapshot");
  writeFileSync(
    path,
    changedSnapshot(readFileSync(file), (copy) => copy.exec("UPDATE deliveries SET is_behind = 1")),
  );
  const { stderr } = await run(`snapshots restore x --all --file ${path} --trust`, { cwd: ours, code: 1 });
  expect(stderr).toContain("deliveries: ");
});

test("only stores from another sandbox are held until adoption, whatever is reset, restored or deleted in between", async () => {
  const { harness, ours: cwd, one, received, listens, run } = await twoFolders();
  listens();
  const { ready } = await harness.start(["--port", "0"], { cwd });
  const mine = ready.store_id;
  await run("snapshots create before --all", { cwd });
  const database = new Database(join(cwd, ".checkout/sandbox.db"), { readonly: true });
  onTestFinished(() => void database.close());
  const held = (): unknown[] => database.prepare("SELECT store_id FROM held_stores").pluck().all();
  const restored = await run(`snapshots restore theirs --file ${one} --trust --json`, { cwd });
  const { stores } = JSON.parse(restored.stdout) as {
    readonly stores: readonly { readonly store_id: string }[];
  };
  const [{ store_id: theirs } = { store_id: "" }] = stores;
  expect([held(), mine === theirs]).toEqual([[theirs], false]);
  await run(`sandbox reset --store ${theirs} --yes`, { cwd });
  expect(held()).toEqual([theirs]);
  await run(`snapshots create held --store ${theirs}`, { cwd });
  await run("snapshots create both --all", { cwd });
  const both = await run("snapshots restore both --all --json", { cwd });
  expect(JSON.parse(both.stdout)).toMatchObject({ hold: FOREIGN });
  await run("snapshots restore theirs --trust --adopt", { cwd });
  expect(held()).toEqual([]);
  await run("snapshots restore held", { cwd });
  expect(held()).toEqual([theirs]);
  const late = JSON.parse((await run("stores create --name Late --json", { cwd })).stdout) as {
    store_id: string;
  };
  const keys = (): string => readFileSync(join(cwd, ".checkout/credentials.json"), "utf8");
  expect(keys()).toContain(late.store_id);
  await run("snapshots restore before --all", { cwd });
  expect(held()).toEqual([]);
  expect([keys().includes(mine), keys().includes(late.store_id)]).toEqual([true, false]);
  await run("snapshots restore held", { cwd });
  expect(held()).toEqual([theirs]);
  received.length = 0;
  await run(["endpoints", "add", "http://127.0.0.1:3000/mine", "--store", mine], { cwd });
  await run([...create("o-mine"), "--store", mine], { cwd });
  const env = { CHECKOUT_API_KEY: apiKeyOf(harness) };
  await run([...create("o-theirs"), "--store", theirs], { cwd, env });
  await pass(harness);
  expect(received.map((body) => /o-[a-z]+/.exec(body)?.[0])).toEqual(["o-mine"]);
  await run(`stores delete ${theirs} --yes`, { cwd });
  expect(held()).toEqual([]);
});

test("a restore by the test kit adopts the snapshot", async () => {
  const [source, target] = [await startSandbox({ port: null }), await startSandbox({ port: null })];
  onTestFinished(async () => {
    await source.close();
    await target.close();
  });
  const receiver = await source.store.receiver({ answer: () => 500 });
  await source.store.orders.create(ORDER);
  await receiver.waitFor("order.created");
  const snapshot = await source.snapshot();
  const before = receiver.received.length;
  const [store] = await target.restore(snapshot);
  await store?.clock.advance("1h");
  expect(receiver.received.length).toBeGreaterThan(before);
});

test("a restore of another sandbox's snapshot that contains a production approval is refused", async () => {
  const { harness, theirs, ours: cwd, run } = await twoFolders();
  const source = await harness.start(["--port", "0"], { cwd: theirs });
  await run("admin approve-credential");
  const file = join(theirs, "approved.snapshot");
  await run(`snapshots create approved --all --file ${file}`);
  // The sandbox's own snapshot may contain actions of its administrator.
  await run("snapshots restore approved --all");
  await source.stop();
  await harness.start(["--port", "0"], { cwd });
  for (const adopt of ["", " --adopt"]) {
    const line = `snapshots restore approved --all --file ${file} --trust${adopt}`;
    const { stderr } = await run(line, { cwd, code: 1 });
    expect(stderr).toContain("admin_acts: ");
  }
});

test("a restore during another process's write is refused as storage_unavailable, not as a conflict", async () => {
  const { harness, theirs, run } = await twoFolders();
  const { ready, request } = await harness.start(["--port", "0"]);
  await run(`snapshots create mine --store ${ready.store_id}`);
  const other = new Database(join(theirs, ".checkout/sandbox.db"));
  onTestFinished(() => void other.close());
  other.exec("BEGIN IMMEDIATE");
  const headers = { Authorization: `Bearer ${ready.control_token}` };
  const body = JSON.stringify({ name: "mine" });
  const answers: string[] = [];
  void request({ path: "/__sandbox/snapshots/restore", headers, body }).then(({ status, body: said }) =>
    answers.push(`${status} ${String(said)}`),
  );
  await eventually("it has waited for the lock", async () => {
    await pass(harness);
    expect(answers).toEqual([expect.stringMatching(/^503 .*"storage_unavailable"/)]);
  });
  other.exec("ROLLBACK");
});
