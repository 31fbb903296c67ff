import { existsSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { SEED, seededRandom, size, report } from "../support/campaign.ts";
import { begin, runHere, startSandboxHere, type Process } from "../support/program.ts";
import { sideBySide } from "../support/side-by-side.ts";
import { tempFolder } from "../support/temp-folder.ts";

const STARTS = size(4, 500);
/**
 * Maximum time from a moment of a first start to the kill; on an idle machine the next moment has come by then.
 */
const KILL_WITHIN_MS = 12;
/** The moments of a first start in order: a file exists, or the ready line is printed. */
const MOMENTS = ["sandbox.db", "master.key", "credentials.json", "ready"] as const;
/** Maximum number of polls for each of the `MOMENTS`, with pauses of at least a millisecond. */
const MAX_POLLS = 60_000;
/** Three first starts run at a time. */
const WORKERS = [1, 2, 3] as const;
const CREATE = ["orders", "create", "--order-id", "o-1", "--price-id", "price_coffee", "--json"];

const LOSSES = ["nothing", "removed", "emptied"] as const;
type Loss = (typeof LOSSES)[number];

type Case = {
  readonly at: number;
  readonly moment: (typeof MOMENTS)[number];
  readonly killAfterMs: number;
  readonly loss: Loss;
};

test("after a first start is killed at any time, the next start keeps the store, even if the write-ahead log is lost", async () => {
  const random = seededRandom(SEED);
  const cases: Case[] = Array.from({ length: STARTS }, (_item, at) => ({
    at,
    killAfterMs: random() * KILL_WITHIN_MS,
    moment: MOMENTS[at % MOMENTS.length] ?? "ready",
    loss: LOSSES[Math.floor(random() * LOSSES.length)] ?? "nothing",
  }));
  const wrong: string[] = [];
  const ready = { before: 0, after: 0 };
  await sideBySide(cases, WORKERS, async (one) => {
    const { told, found } = await startAndKill(one);
    ready[told === undefined ? "before" : "after"] += 1;
    if (found !== undefined) wrong.push(`start ${one.at}, ${JSON.stringify(one)}: ${found}`);
  });
  report([...wrong, `first starts killed before they were ready: ${ready.before}, after: ${ready.after}`]);
  expect(wrong).toEqual([]);
});

/** Kills a first start, may lose its log, and starts again; returns the first ready line and the error, if any. */
async function startAndKill({ moment, killAfterMs, loss }: Case) {
  const cwd = tempFolder();
  const first = begin(["sandbox", "start", "--json", "--port", "0"], { cwd });
  await untilReached(first, moment === "ready" ? undefined : join(cwd, ".checkout", moment));
  await sleep(killAfterMs);
  await first.stop("SIGKILL");
  const told = readyOf(first);
  const confirmed = confirmedKeys(cwd);
  lose(join(cwd, ".checkout/sandbox.db-wal"), loss);
  const again = await startSandboxHere({ cwd }).catch((error: unknown) => String(error));
  if (typeof again === "string") return { told, found: again };
  const created = await runHere(CREATE, { cwd });
  await again.stop();
  const { store_id: storeId, api_key: apiKey } = again.ready;
  if (created.code !== 0) return { told, found: `no order can be created: ${created.stderr}` };
  const known = told === undefined ? confirmed : { [told.store_id]: told.api_key };
  const isSame = known === undefined || known[storeId] === apiKey;
  return {
    told,
    found: isSame ? undefined : `store ${storeId} in the place of ${Object.keys(known).join()}`,
  };
}

/** Waits until a start has created `file`; without a file, until it has printed its ready line. */
async function untilReached({ process: child, output }: Process, file: string | undefined): Promise<void> {
  const isReached = (): boolean => (file === undefined ? output.stdout !== "" : existsSync(file));
  for (let polls = 0; !isReached(); polls += 1) {
    if (child.exitCode !== null || polls === MAX_POLLS)
      throw new Error(`the first start made no ${file ?? "ready line"}: ${output.stderr}`);
    await sleep(1);
  }
}

function readyOf({ output }: Process): ReadyMessage | undefined {
  return output.stdout.endsWith("\n") ? (JSON.parse(output.stdout) as ReadyMessage) : undefined;
}

/** The keys in credentials.json by store; undefined if the file is missing or says that the start was not ready. */
function confirmedKeys(cwd: string): Readonly<Record<string, string>> | undefined {
  try {
    const text = readFileSync(join(cwd, ".checkout/credentials.json"), "utf8");
    const { ready, stores } = JSON.parse(text) as {
      readonly ready?: false;
      readonly stores: Readonly<Record<string, { readonly api_key: string }>>;
    };
    if (ready === false) return undefined;
    return Object.fromEntries(Object.entries(stores).map(([id, { api_key: key }]) => [id, key]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function lose(log: string, loss: Loss): void {
  if (loss === "removed") rmSync(log, { force: true });
  if (loss !== "emptied") return;
  try {
    truncateSync(log);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
