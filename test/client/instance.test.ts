import { expect, test } from "vitest";
import { seenEventsTable } from "../../src/store/journal/seen-events.ts";
import { createMemorySeenEvents } from "../../src/client/listen/seen-events.ts";
import { JOURNAL_FILE } from "../../src/store/journal/journal.ts";
import { IN_MEMORY } from "../../src/store/connection/database.ts";
import { openWatchedDatabase } from "../../src/store/connection/watched-database.ts";
import { createHarness, type CommandOptions, type Harness } from "../support/harness.ts";
import { startListening } from "../support/listening.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SECOND = 1000;

async function told(harness: Harness, line: string, command: CommandOptions = {}) {
  const { code, stdout, stderr } = await harness.run([...line.split(" "), "--json"], command);
  const json = stdout === "" ? {} : (JSON.parse(stdout) as Readonly<Record<string, unknown>>);
  return { code, stderr, json };
}

/** The instance id of a sandbox, which must be the same in the status and in run.json. */
async function instanceOf(harness: Harness): Promise<string> {
  const status = String((await told(harness, "sandbox status")).json["instance_id"]);
  const run = JSON.parse(harness.readState("run.json")) as { instance_id: string };
  expect(status).toMatch(UUID);
  expect(run.instance_id).toBe(status);
  return status;
}

test("a folder's sandbox keeps its instance id across starts, and gets a new instance id at every reset and restore", async () => {
  const harness = createHarness();
  let sandbox = await harness.start();
  const seen = [await instanceOf(harness)];
  const restart = async (): Promise<void> => {
    await sandbox.stop();
    sandbox = await harness.start();
  };
  await restart();
  expect(await instanceOf(harness)).toBe(seen[0]);
  await harness.run(["snapshots", "create", "one"]);
  expect(await instanceOf(harness)).toBe(seen[0]);
  for (const line of [
    "sandbox reset --yes",
    "snapshots restore one",
    "sandbox reset --yes",
    "snapshots restore one",
  ]) {
    expect((await harness.run(line.split(" "))).code).toBe(0);
    const now = await instanceOf(harness);
    expect(seen).not.toContain(now);
    seen.push(now);
    await restart();
    expect(await instanceOf(harness)).toBe(now);
  }
  await sandbox.stop();
  for (const line of ["sandbox reset --yes", "snapshots restore one"]) {
    expect((await harness.run(line.split(" "))).code).toBe(0);
    sandbox = await harness.start();
    const now = await instanceOf(harness);
    expect(seen).not.toContain(now);
    seen.push(now);
    await sandbox.stop();
  }
});

/** A sandbox in memory, and the variables that `exec` gives its program. */
async function inMemory(harness: Harness) {
  const sandbox = await harness.start(["--ephemeral"]);
  const { base_url, api_key, store_id, control_token: token } = sandbox.ready;
  const env = { CHECKOUT_BASE_URL: base_url, CHECKOUT_API_KEY: api_key ?? "", CHECKOUT_STORE_ID: store_id };
  return { sandbox, env: { ...env, CHECKOUT_CONTROL_TOKEN: token } };
}

const create = (orderId: string, key?: string): string =>
  `orders create --order-id ${orderId} --price-id price_coffee${key === undefined ? "" : ` --idempotency-key ${key}`}`;

test("journal entries of an earlier instance do not count for the current instance", async () => {
  const harness = createHarness();
  await harness.start();
  const first = await told(harness, create("o-1", "own-key-1"));
  expect(first.code).toBe(0);
  const { stderr } = await told(harness, create("o-2", "own-key-1"));
  expect(stderr).toContain(`"code":"idempotency_key_taken"`);
  expect((await told(harness, create("o-3"))).json["idempotency_key"]).toMatch(/-1$/);
  await told(harness, "sandbox reset --yes");
  expect((await told(harness, create("o-2", "own-key-1"))).code).toBe(0);
  expect((await told(harness, create("o-1", "own-key-1"))).code).not.toBe(0);
  const again = await told(harness, create("o-3"));
  expect([again.code, again.json["replayed"]]).toEqual([0, false]);
});

test("every sandbox in memory is a new instance, and commands get its instance id only with the control token", async () => {
  const harness = createHarness();
  const ids: unknown[] = [];
  for (const orderId of ["o-1", "o-2"]) {
    const { sandbox, env } = await inMemory(harness);
    const made = await told(harness, create(orderId, "own-key-1"), { env });
    expect([orderId, made.code, made.stderr]).toEqual([orderId, 0, ""]);
    // Without the token the instance is unknown, and the key counts as used.
    const { CHECKOUT_CONTROL_TOKEN: _token, ...less } = env;
    const refused = await told(harness, create("o-9", "own-key-1"), { env: less });
    expect(refused.code).not.toBe(0);
    ids.push(made.json);
    await sandbox.stop();
  }
  expect(new Set(ids.map((one) => JSON.stringify(one))).size).toBe(2);
});

test("a create without an answer keeps its key, even if the control API no longer answers", async () => {
  const harness = createHarness();
  const { sandbox, env } = await inMemory(harness);
  harness.setFault(async (request, pass) => {
    const answer = await pass();
    return request.url.endsWith("/orders")
      ? { ok: false, failure: "connection_lost", message: "lost" }
      : answer;
  });
  expect((await told(harness, `${create("o-1")} --retries 0`, { env })).code).toBe(7);
  harness.setFault((request, pass) =>
    request.url.includes("/__sandbox/")
      ? Promise.resolve({ ok: false, failure: "timeout", message: "no answer" })
      : pass(),
  );
  const again = await told(harness, create("o-1"), { env });
  expect([again.code, again.json["replayed"]]).toEqual([0, true]);
  await sandbox.stop();
});

test("listen forwards an event again after a restore, because the restored sandbox is another instance", async () => {
  const site = await openWebhookSite();
  const { harness } = site;
  const shop = site.receiver(3000);
  const listening = await startListening(harness, ["--forward", "http://localhost:3000/hooks"]);
  await site.control("/clock", { action: "freeze" });
  shop.answers = () => 500;
  await site.order();
  await listening.heard(1);
  await site.advance(1);
  expect((await harness.run(["snapshots", "create", "waiting"])).code).toBe(0);
  shop.answers = () => 200;
  await site.advance(60 * SECOND);
  const before = await listening.heard(2);
  expect((await harness.run(["snapshots", "restore", "waiting"])).code).toBe(0);
  await site.advance(60 * SECOND);
  const after = await listening.heard(before.length + 1);
  const last = after.at(-1);
  expect([last?.event_id, last?.outcome]).toEqual([before[0]?.event_id, "forwarded"]);
});

test("listen remembers forwarded events for their instance, or for all instances if the instance is unknown", () => {
  const opened = openWatchedDatabase(IN_MEMORY, { kind: JOURNAL_FILE });
  if (!opened.ok) throw new Error(opened.refusal.message);
  for (const seen of [seenEventsTable(opened.value, 1), createMemorySeenEvents()]) {
    const has = (instance: string | null): boolean => seen.has({ eventId: "e", instance });
    expect([has("one"), has(null)]).toEqual([false, false]);
    seen.add({ eventId: "e", instance: "one" }, 1);
    expect([has("one"), has("two"), has(null)]).toEqual([true, false, true]);
    seen.add({ eventId: "e", instance: "two" }, 2);
    expect([has("one"), has("two"), has(null)]).toEqual([false, true, true]);
    seen.add({ eventId: "other", instance: null }, 2);
    expect(seen.has({ eventId: "other", instance: "two" })).toBe(true);
  }
  opened.value.close();
});
