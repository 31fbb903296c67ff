import { join } from "node:path";
import { expect, test } from "vitest";
import { openRequestFile } from "../../src/store/request/request-file.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { connect, loadUntilGone, type Load } from "../support/load.ts";
import { openControl } from "../support/control.ts";
import { startSandbox, type SandboxProcess } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KILLS = size(2, 100);
const CONNECTIONS = 16;
/** Maximum number of waiting requests before their batch is written (decision 86). */
const MAX_BATCH = 500;
/** Minimum number of answers before a kill, so that some of them must be in the log. */
const MIN_ANSWERS = MAX_BATCH + CONNECTIONS + 10;

test("the request log opens after kill -9 under load, and has lost at most its last batch", async ({
  annotate,
}) => {
  const cwd = tempFolder();
  const random = seededRandom(SEED);
  const totals = { answered: 0, kept: 0 };
  let sandbox = await start(cwd);
  for (let round = 1; round <= KILLS; round += 1) {
    const where = `seed ${SEED}, round ${round}`;
    const load = await loadAndKill(sandbox, {
      round,
      answers: MIN_ANSWERS + Math.floor(random() * 2 * MAX_BATCH),
    });
    const answered = [...load.acknowledged.keys()].map(({ orderId }) => orderId);
    const logged = readLog(sandbox);
    const kept = new Set(logged.map(({ orderId }) => orderId));
    // Answers on several connections may arrive in a different order than their requests.
    const settled = answered.slice(0, answered.length - MAX_BATCH - CONNECTIONS);
    expect(settled.length, where).toBeGreaterThan(0);
    expect(
      settled.filter((orderId) => !kept.has(orderId)),
      where,
    ).toEqual([]);
    const newest = logged[0]?.position ?? 0;
    expect(
      logged.map(({ position }) => position),
      `${where}: no gap`,
    ).toEqual(logged.map((_one, index) => newest - index));
    totals.answered += answered.length;
    totals.kept += answered.filter((orderId) => kept.has(orderId)).length;

    sandbox = await start(cwd);
    const { requests } = await openControl(sandbox.port, join(cwd, ".checkout")).call("listRequests", {
      body: { limit: 1 },
    });
    expect([requests[0]?.orderId, sandbox.output.stderr], where).toEqual([logged[0]?.orderId, ""]);
  }
  const { answered, kept } = totals;
  await annotate(`seed ${SEED}: ${KILLS} kills, ${answered} creates answered, ${kept} of them in the log`);
});

function start(cwd: string): Promise<SandboxProcess> {
  return startSandbox({ cwd, args: ["--rate-limit", "off", "--quiet"] });
}

async function loadAndKill(
  sandbox: SandboxProcess,
  { round, answers }: { readonly round: number; readonly answers: number },
): Promise<Load> {
  const service = connect(sandbox, CONNECTIONS);
  let sent = 0;
  const loading = loadUntilGone(service, {
    connections: CONNECTIONS,
    nextCreate: () => {
      sent += 1;
      return { key: `log-key-${round}-${sent}`, orderId: `log-${round}-${sent}` };
    },
  });
  await eventually("enough creates are answered", () => expect(sent).toBeGreaterThan(answers + CONNECTIONS));
  expect(await sandbox.stop("SIGKILL"), `the sandbox ended by itself: ${sandbox.output.stderr}`).toBeNull();
  const load = await loading;
  service.agent.destroy();
  return load;
}

/** Reads the log as the kill left it, newest request first. */
function readLog({ ready }: SandboxProcess) {
  const opened = openRequestFile(join(ready.data_dir ?? "", "requests.db"), {});
  if (!opened.ok) throw new Error(opened.refusal.message);
  const everything = {
    statuses: null,
    method: null,
    path: null,
    orderId: null,
    omitsDrills: false,
    after: null,
    from: null,
  };
  const logged = opened.value.list(ready.store_id, { ...everything, limit: 10 * MAX_BATCH });
  opened.value.close();
  return logged;
}
