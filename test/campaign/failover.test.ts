import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { backUpByPage } from "../support/backup.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { openControl, type Control } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { openHttpReceiver, readBody } from "../support/http-receiver.ts";
import { connect, openRows, sendCreate, type Answer, type Create } from "../support/load.ts";
import { startSandbox, type SandboxProcess } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const FAILOVERS = size(2, 25);
const CONNECTIONS = 4;
/** Number of creates of each kind that are repeated after a restore. */
const REPEATED = 40;

type EventRow = { readonly id: string; readonly place: string; readonly body: string };

type AcknowledgedCreate = { readonly create: Create; readonly answer: Answer; readonly id: string };

test("after a kill, a backup made under load restores the orders up to the backup", async ({ annotate }) => {
  const random = seededRandom(SEED);
  const hooks = await openEventLog();
  let cwd = tempFolder();
  let sandbox = await start(cwd);
  const { store_id, merchant_id, api_key, signing_secret } = sandbox.ready;
  await controlOf(sandbox).call("addEndpoint", { body: { url: hooks.url } });
  const totals = { bought: 0, lost: 0, backupMs: 0 };

  for (let number = 1; number <= FAILOVERS; number += 1) {
    const where = `seed ${SEED}, failover ${number}`;
    const bought: AcknowledgedCreate[] = [];
    const buying = buyUntilGone(sandbox, { random, bought, number });
    await sleep(100 + random() * 200);
    await eventually("some orders are there", () => expect(bought.length).toBeGreaterThan(5));
    const before = bought.length;
    const since = performance.now();
    const backup = await backUpByPage("docs/team.md", cwd);
    totals.backupMs = Math.max(totals.backupMs, performance.now() - since);
    // Creates in flight may still be part of the backup.
    const after = bought.length + CONNECTIONS;
    await eventually("some orders come later", () => expect(bought.length).toBeGreaterThan(after + 5));
    await sandbox.stop("SIGKILL");
    await buying;

    cwd = backup;
    sandbox = await start(cwd);
    expect(sandbox.ready, where).toMatchObject({ store_id, merchant_id, api_key, signing_secret });
    const rows = openRows(sandbox);
    const kept = new Set(rows.prepare<[], string>("SELECT id FROM checkouts").pluck().all());
    const lost = bought.filter(({ id }) => !kept.has(id));
    expect(
      lost.filter((one) => bought.indexOf(one) < before),
      `${where}: lost from before the backup`,
    ).toEqual([]);
    expect(
      bought.slice(after).filter(({ id }) => kept.has(id)),
      `${where}: kept from after it`,
    ).toEqual([]);
    const counts = ["checkouts", "idempotency_keys", "events WHERE sequence = 1"].map((table) =>
      rows.prepare(`SELECT count(*) FROM ${table}`).pluck().get(),
    );
    expect(new Set(counts).size, where).toBe(1);
    expect(rows.pragma("integrity_check", { simple: true }), where).toBe("ok");
    await repeat(sandbox, { kept: bought.filter(({ id }) => kept.has(id)), lost, where });
    await eventually("everything due is delivered", () =>
      expect(rows.prepare("SELECT count(*) FROM deliveries WHERE state = 'due'").pluck().get()).toBe(0),
    );
    // Each event of the backup keeps its id and its body after the failover.
    const events = rows
      .prepare<[], EventRow>("SELECT id, checkout_id || ' ' || sequence AS place, body FROM events")
      .all();
    expect(
      events.filter(({ id, body }) => hooks.bodies.get(id) !== body),
      where,
    ).toEqual([]);
    const idAt = new Map(events.map(({ place, id }) => [place, id]));
    const others = [...hooks.places].filter(([id, place]) => (idAt.get(place) ?? id) !== id);
    expect(others, `${where}: sent with another id`).toEqual([]);
    expect(hooks.faults, where).toEqual([]);
    rows.close();
    totals.bought += bought.length;
    totals.lost += lost.length;
  }
  expect(totals.lost).toBeGreaterThan(FAILOVERS);
  await annotate(
    `seed ${SEED}: ${FAILOVERS} failovers, ${totals.lost} of ${totals.bought} orders came after the backup, which took ${Math.ceil(totals.backupMs)} ms at most`,
  );
});

function start(cwd: string): Promise<SandboxProcess> {
  // A restored folder with another path delivers only after `--adopt`; a container would keep the path.
  return startSandbox({ cwd, args: ["--adopt", "--rate-limit", "off", "--quiet"] });
}

function controlOf({ port, ready }: SandboxProcess): Control {
  return openControl(port, ready.data_dir ?? "");
}

/** Creates orders, and pays some of them, until the sandbox is gone. */
async function buyUntilGone(
  sandbox: SandboxProcess,
  {
    random,
    bought,
    number,
  }: {
    readonly random: () => number;
    readonly bought: AcknowledgedCreate[];
    readonly number: number;
  },
): Promise<void> {
  const service = connect(sandbox, CONNECTIONS);
  const control = controlOf(sandbox);
  let sent = 0;
  const buy = async (): Promise<void> => {
    for (;;) {
      const create = { key: `failover-${number}-key-${(sent += 1)}`, orderId: `failover-${number}-${sent}` };
      const answer = await sendCreate(service, create);
      if (answer === undefined) return;
      const { data } = JSON.parse(answer.body) as { readonly data: { readonly id: string } };
      bought.push({ create, answer, id: data.id });
      if (random() < 0.3) await control.attempt("pay", { id: data.id, body: { outcome: "succeeded" } });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, buy));
  service.agent.destroy();
}

/** Sends creates again, as their client does: stored creates are replayed, lost orders are created again. */
async function repeat(
  sandbox: SandboxProcess,
  {
    kept,
    lost,
    where,
  }: { readonly kept: AcknowledgedCreate[]; readonly lost: AcknowledgedCreate[]; readonly where: string },
): Promise<void> {
  const service = connect(sandbox, CONNECTIONS);
  for (const { create, answer } of kept.slice(-REPEATED)) {
    const again = await sendCreate(service, create);
    expect([again?.replayed, again?.body], where).toEqual([true, answer.body]);
  }
  for (const { create, id } of lost.slice(0, REPEATED)) {
    const again = await sendCreate(service, create);
    expect([again?.status, again?.replayed, again?.body.includes(id)], where).toEqual([201, false, false]);
  }
  service.agent.destroy();
}

/** A receiver that records the body of each event; an event that comes again with another body is a fault. */
async function openEventLog() {
  const bodies = new Map<string, string>();
  /** The checkout and the sequence number of each event, by its id. */
  const places = new Map<string, string>();
  const faults: string[] = [];
  const url = await openHttpReceiver((request, response) => {
    void readBody(request).then((bytes) => {
      if (bytes === undefined) return;
      const id = String(request.headers["checkout-event-id"]);
      const body = String(bytes);
      if ((bodies.get(id) ?? body) !== body) faults.push(`${id} came with other bytes`);
      bodies.set(id, body);
      const { data, sequence } = JSON.parse(body) as { data: { id: string }; sequence: number };
      places.set(id, `${data.id} ${sequence}`);
      response.end();
    });
  });
  return { url, bodies, places, faults };
}
