import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { PROGRAM, startSandbox } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROUNDS = size(1, 60);
const STARTERS = 6;

test("of several concurrent starts after a kill, exactly one serves the folder", async () => {
  const cwd = tempFolder();
  await (await startSandbox({ cwd })).stop("SIGKILL");
  const dead = { pid: 2 ** 22 + 1, started: "1", port: 4242, control_token: "token" };
  for (let round = 1; round <= ROUNDS; round += 1) {
    writeFileSync(join(cwd, ".checkout/run.json"), JSON.stringify(dead), { mode: 0o600 });
    const starters = Array.from({ length: STARTERS }, () => start(cwd));
    await eventually("every starter is ready or has ended", async () =>
      expect(starters.map(({ state }) => state.ready || state.code !== undefined)).not.toContain(false),
    );
    const states = starters.map(({ state }) => (state.ready ? "ready" : `exit ${state.code}`));
    expect([round, ...states.toSorted()]).toEqual([
      round,
      ...Array.from({ length: STARTERS - 1 }, () => "exit 1"),
      "ready",
    ]);
    for (const { stop } of starters) await stop();
    expect(readdirSync(join(cwd, ".checkout")).filter((name) => name.startsWith("run.json"))).toEqual([]);
  }
});

function start(cwd: string) {
  const child = spawn(process.execPath, [PROGRAM, "sandbox", "start", "--port", "0", "--json", "--quiet"], {
    cwd,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const state: { ready: boolean; code: number | null | undefined } = { ready: false, code: undefined };
  child.stdout.on("data", (text: Buffer) => (state.ready ||= text.includes("\n")));
  const gone = once(child, "close").then(([code]) => (state.code = code as number | null));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await gone;
  };
  onTestFinished(stop);
  return { state, stop };
}
