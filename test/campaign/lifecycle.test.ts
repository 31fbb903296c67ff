import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { remainsIn, processesIn } from "../support/left-behind.ts";
import { begin, runHere, startSandboxHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const SANDBOXES = size(6, 40);
const START = ["sandbox", "start", "--detach", "--port", "0", "--json"];
/** Maximum time until a starter is killed, which is about the time of a start. */
const KILL_WITHIN_MS = 600;

type Fate = "stopped" | "killed" | "starter killed";
const FATES: readonly Fate[] = ["stopped", "killed", "starter killed"];

test("concurrent starts, stops and kills leave no process behind, and every folder starts again", async () => {
  const random = seededRandom(SEED);
  const sandboxes = Array.from({ length: SANDBOXES }, (_item, index) => ({
    cwd: tempFolder(),
    fate: FATES[index % FATES.length] ?? "stopped",
    killAfterMs: random() * KILL_WITHIN_MS,
  }));
  onTestFinished(async () => {
    for (const { cwd } of sandboxes) for (const pid of processesIn(cwd)) process.kill(pid, "SIGKILL");
  });
  await Promise.all(sandboxes.map(startAndEnd));
  for (const { cwd, fate } of sandboxes) {
    await eventually("nothing runs", () => expect([fate, processesIn(cwd)]).toEqual([fate, []]));
    if (fate === "stopped") expect(remainsIn(join(cwd, ".checkout"))).toEqual([]);
  }
  await Promise.all(sandboxes.map(startAgain));
});

async function startAndEnd({
  cwd,
  fate,
  killAfterMs,
}: {
  readonly cwd: string;
  readonly fate: Fate;
  readonly killAfterMs: number;
}): Promise<void> {
  const starter = begin(START, { cwd });
  if (fate === "starter killed") {
    await sleep(killAfterMs);
    await starter.stop("SIGKILL");
  }
  const code = await starter.ended;
  const line = starter.output.stdout;
  if (fate !== "starter killed") expect([code, starter.output.stderr]).toEqual([0, ""]);
  const ready = line.endsWith("\n") ? (JSON.parse(line) as ReadyMessage) : undefined;
  if (fate === "killed" && ready !== undefined) process.kill(ready.pid, "SIGKILL");
  // A starter may be killed just after its start is complete, and then its sandbox keeps running.
  if (fate !== "killed")
    expect(await runHere(["sandbox", "stop"], { cwd })).toMatchObject({ code: 0, stderr: "" });
}

/** Checks that a folder is usable: a start works, and its stop leaves nothing behind. */
async function startAgain({ cwd }: { readonly cwd: string }): Promise<void> {
  expect((await runHere(["sandbox", "status"], { cwd })).code).toBe(7);
  const again = await startSandboxHere({ cwd });
  expect(again.ready).toMatchObject({ already_running: false });
  expect(await again.stop()).toBe(0);
  expect(processesIn(cwd)).toEqual([]);
  expect(existsSync(join(cwd, ".checkout")) ? remainsIn(join(cwd, ".checkout")) : []).toEqual([]);
}
