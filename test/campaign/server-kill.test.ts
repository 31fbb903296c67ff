import { setTimeout as sleep } from "node:timers/promises";
import type Database from "better-sqlite3";
import { expect, test } from "vitest";
import { checkoutResponse } from "../../src/core/checkout/wire-shapes.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import {
  connect,
  loadUntilGone,
  openRows,
  sendCreate,
  type Answer,
  type Create,
  type Load,
} from "../support/load.ts";
import { startSandbox, type SandboxProcess } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KILLS = size(2, 200);
const CONNECTIONS = 16;
const MIN_LOAD_MS = 20;
const MAX_LOAD_MS = 400;

/** The order_id and the body of every create that was answered in any round, by its key. */
type Ledger = Map<string, { readonly orderId: string; readonly body: string }>;

test("kill -9 under load loses no acknowledged order and leaves no order incomplete", async ({
  annotate,
}) => {
  const cwd = tempFolder();
  const random = seededRandom(SEED);
  const ledger: Ledger = new Map();
  const totals = { acknowledged: 0, kept: 0, absent: 0 };

  let sandbox = await start(cwd);
  for (let round = 1; round <= KILLS; round += 1) {
    const loadMs = MIN_LOAD_MS + random() * (MAX_LOAD_MS - MIN_LOAD_MS);
    const where = `seed ${SEED}, round ${round}, killed after ${loadMs.toFixed(1)} ms`;
    const load = await loadAndKill(sandbox, { round, loadMs });
    sandbox = await start(cwd);
    const found = await verifyRound(sandbox, load, ledger);
    expect(found.faults, where).toEqual([]);
    totals.acknowledged += load.acknowledged.size;
    totals.kept += found.kept;
    totals.absent += load.unanswered.length - found.kept;
  }

  expect(totals.acknowledged, "a load that nobody answered proves nothing").toBeGreaterThan(KILLS);
  expect(await sandbox.stop("SIGTERM"), `seed ${SEED}, the last stop`).toBe(0);
  verifyFile(openRows(sandbox), ledger);
  const { acknowledged, kept, absent } = totals;
  await annotate(
    `seed ${SEED}: ${KILLS} kills, ${acknowledged} creates acknowledged, ${kept + absent} unanswered (${kept} there, ${absent} absent)`,
  );
});

function start(cwd: string): Promise<SandboxProcess> {
  return startSandbox({ cwd, args: ["--rate-limit", "off", "--quiet"] });
}

async function loadAndKill(
  sandbox: SandboxProcess,
  { round, loadMs }: { readonly round: number; readonly loadMs: number },
): Promise<Load> {
  const service = connect(sandbox, CONNECTIONS);
  let sent = 0;
  const nextCreate = (): Create => {
    sent += 1;
    return { key: `kill-key-${round}-${sent}`, orderId: `kill-${round}-${sent}` };
  };
  const loading = loadUntilGone(service, { connections: CONNECTIONS, nextCreate });
  await sleep(loadMs);
  // Each connection sends its next create when the previous create is answered.
  await eventually("some creates are answered", () => expect(sent).toBeGreaterThan(CONNECTIONS + 1));
  expect(await sandbox.stop("SIGKILL"), `the sandbox ended by itself: ${sandbox.output.stderr}`).toBeNull();
  const load = await loading;
  service.agent.destroy();
  return load;
}

/**
 * Checks the rows of every create of a round as the restart left them, then sends the create again. `kept` is the
 * number of unanswered creates that were committed.
 */
async function verifyRound(
  sandbox: SandboxProcess,
  { acknowledged, unanswered }: Load,
  ledger: Ledger,
): Promise<{ readonly faults: readonly string[]; readonly kept: number }> {
  const faults: string[] = [];
  const creates = [...acknowledged.keys(), ...unanswered];
  const presence = readPresence(sandbox, creates);
  for (const [{ key }, state] of presence) if (state === "half") faults.push(`${key} is half there`);

  const service = connect(sandbox, CONNECTIONS);
  const queue = creates.values();
  const replayQueue = async (): Promise<void> => {
    for (const create of queue) {
      const answer = await sendCreate(service, create);
      const fault = judgeReplay(answer, {
        first: acknowledged.get(create),
        wasThere: presence.get(create) === "whole",
      });
      if (fault !== undefined) faults.push(`${create.key} ${fault}`);
      if (answer !== undefined) ledger.set(create.key, { orderId: create.orderId, body: answer.body });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, replayQueue));
  service.agent.destroy();
  return { faults, kept: unanswered.filter((create) => presence.get(create) === "whole").length };
}

/** The error of a replay, given the first answer and the state after the restart; undefined if it is right. */
function judgeReplay(
  answer: Answer | undefined,
  { first, wasThere }: { readonly first: Answer | undefined; readonly wasThere: boolean },
): string | undefined {
  if (first !== undefined && first.status !== 201)
    return `was refused under load: ${first.status} ${first.body}`;
  if (first?.replayed === true) return "was a replay when it was first sent";
  if (first !== undefined && !wasThere) return "was acknowledged and is lost";
  if (answer === undefined) return "got no answer when it was sent again";
  if (answer.status !== 201) return `was refused when it was sent again: ${answer.status} ${answer.body}`;
  if (answer.replayed !== wasThere)
    return wasThere ? "was there and was made again" : "was absent and was replayed";
  if (first !== undefined && answer.body !== first.body) return `was ${first.body} and is ${answer.body}`;
  return undefined;
}

type Presence = "whole" | "absent" | "half";

function readPresence(sandbox: SandboxProcess, creates: readonly Create[]): Map<Create, Presence> {
  const rows = openRows(sandbox);
  const select = rows.prepare<
    [{ storeId: string } & Create],
    { checkouts: number; keys: number; events: number }
  >(
    `WITH made AS (SELECT id FROM checkouts
       WHERE store_id = @storeId AND order_id = @orderId AND status IN ('created', 'pending', 'succeeded'))
     SELECT (SELECT count(*) FROM made) AS checkouts,
       (SELECT count(*) FROM idempotency_keys WHERE store_id = @storeId AND key = @key) AS keys,
       (SELECT count(*) FROM events WHERE checkout_id IN made AND sequence = 1) AS events`,
  );
  const storeId = sandbox.ready.store_id;
  const presence = creates.map((create): [Create, Presence] => {
    const { checkouts = -1, keys = -1, events = -1 } = select.get({ storeId, ...create }) ?? {};
    if (checkouts === 1 && keys === 1 && events === 1) return [create, "whole"];
    return [create, checkouts === 0 && keys === 0 && events === 0 ? "absent" : "half"];
  });
  rows.close();
  return new Map(presence);
}

/** Checks after all rounds that the file is sound and holds every create once, with the answer that its client got. */
function verifyFile(rows: Database.Database, ledger: Ledger): void {
  const count = (sql: string): unknown => rows.prepare(sql).pluck().get();
  expect(rows.pragma("integrity_check", { simple: true }), `seed ${SEED}`).toBe("ok");
  expect(rows.pragma("foreign_key_check"), `seed ${SEED}`).toEqual([]);
  expect(
    {
      checkouts: count("SELECT count(*) FROM checkouts"),
      keys: count("SELECT count(*) FROM idempotency_keys"),
      events: count("SELECT count(*) FROM events"),
      checkoutsWithFirstEvent: count("SELECT count(DISTINCT checkout_id) FROM events WHERE sequence = 1"),
    },
    `seed ${SEED}`,
  ).toEqual({
    checkouts: ledger.size,
    keys: ledger.size,
    events: ledger.size,
    checkoutsWithFirstEvent: ledger.size,
  });
  expect(findLost(rows, ledger), `seed ${SEED}, creates that are not as their client knows them`).toEqual([]);
}

function findLost(rows: Database.Database, ledger: Ledger): string[] {
  const select = rows.prepare<[string], { body: string; id: string; orderId: string }>(
    `SELECT idempotency_keys.body AS body, checkouts.id AS id, checkouts.order_id AS orderId
     FROM idempotency_keys JOIN checkouts ON checkouts.id = idempotency_keys.checkout_id
     WHERE idempotency_keys.store_id = (SELECT id FROM stores) AND idempotency_keys.key = ?`,
  );
  return [...ledger].flatMap(([key, { orderId, body }]) => {
    const row = select.get(key);
    const { data } = checkoutResponse.parse(JSON.parse(body));
    const same =
      row?.body === body && row.id === data.id && row.orderId === orderId && data.order_id === orderId;
    return same ? [] : [key];
  });
}
