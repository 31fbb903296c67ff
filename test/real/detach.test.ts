import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { eventually } from "../support/eventually.ts";
import { isTaken, remainsIn, processesIn } from "../support/left-behind.ts";
import { heldPort } from "../support/ports.ts";
import { begin, run, runHere, startSandboxHere, type Result } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const START = ["sandbox", "start", "--detach", "--port", "0", "--json"];
const MAX_LOG_BYTES = 10 * 1024 * 1024;

/** Creates a folder; a sandbox that runs in it is stopped at the end of the test. */
function createFolder(): { readonly cwd: string; readonly state: string; readonly log: string } {
  const cwd = tempFolder();
  onTestFinished(async () => void (await runHere(["sandbox", "stop"], { cwd })));
  const state = join(cwd, ".checkout");
  return { cwd, state, log: join(state, "sandbox.log") };
}

const readyIn = ({ stdout }: Result): ReadyMessage => JSON.parse(stdout) as ReadyMessage;

test("a detached sandbox has its own session, keeps no stream of its parent process open, and stops cleanly", async () => {
  const { cwd, state, log } = createFolder();
  // `run` waits until no process holds the starter's streams.
  const started = await run([...START.slice(0, -2), `${await heldPort()}`, "--json"], { cwd });
  expect([started.code, started.stderr]).toEqual([0, ""]);
  const { pid, base_url } = readyIn(started);
  const port = Number(new URL(base_url).port);
  if (existsSync("/proc/self/stat")) {
    const [, , session] = (readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1] ?? "")
      .split(" ")
      .slice(1);
    expect(Number(session)).toBe(pid);
  }
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  expect(statSync(log).mode & 0o777).toBe(0o600);
  expect((await runHere(["sandbox", "stop"], { cwd })).code).toBe(0);
  expect([processesIn(cwd), await isTaken(port), remainsIn(state)]).toEqual([[], false, []]);
  const gone = await runHere(["sandbox", "wait", "--timeout", "1s", "--base-url", base_url], { cwd });
  expect([gone.code, gone.stderr]).toMatchObject([7, expect.stringContaining("ECONNREFUSED")]);
  const logs = await runHere(["sandbox", "logs"], { cwd });
  expect(logs.stdout).toContain("GET /healthz");
  expect(readFileSync(log, "utf8")).toBe(logs.stdout);
});

test("a starter that is killed or interrupted before the ready line leaves no process and no run.json behind", async () => {
  for (const signal of ["SIGKILL", "SIGINT"] as const) {
    const { cwd, state, log } = createFolder();
    const starter = begin(START, { cwd });
    await eventually("the process was started", () => expect(existsSync(log)).toBe(true));
    const code = await starter.stop(signal);
    if (signal !== "SIGKILL" && starter.output.stdout === "") expect(code).toBe(130);
    if (starter.output.stdout !== "") continue;
    await eventually("nothing runs", () => expect([signal, processesIn(cwd)]).toEqual([signal, []]));
    expect([signal, remainsIn(state)]).toEqual([signal, []]);
    await startSandboxHere({ cwd });
  }
});

test("the starter reports a sandbox that was killed before it was ready, and the next start works", async ({
  annotate,
}) => {
  if (!existsSync("/proc/self/cwd")) return void (await annotate("processes cannot be found here"));
  // On a busy machine the sandbox may be ready before the kill.
  let { cwd, starter } = await startAndKill();
  for (let tries = 1; starter.process.exitCode === 0 && tries < 20; tries += 1)
    ({ cwd, starter } = await startAndKill());
  const { stderr } = starter.output;
  expect([starter.process.exitCode, starter.output.stdout]).toEqual([1, ""]);
  expect(stderr).toContain("SIGKILL");
  await startSandboxHere({ cwd });
});

/** A background start whose sandbox is killed as soon as it runs. */
async function startAndKill() {
  const { cwd } = createFolder();
  const starter = begin(START, { cwd });
  const sandboxes = (): number[] => processesIn(cwd).filter((pid) => pid !== starter.process.pid);
  await eventually("the process was started", () => expect(sandboxes().length).toBeGreaterThan(0));
  for (const pid of sandboxes()) process.kill(pid, "SIGKILL");
  await starter.ended;
  return { cwd, starter };
}

test("a stop during a detached start leaves no process and no run.json behind", async () => {
  const { cwd, state } = createFolder();
  const starter = begin(START, { cwd });
  await eventually("the folder is taken", () => expect(existsSync(join(state, "run.json"))).toBe(true));
  expect((await runHere(["sandbox", "stop"], { cwd })).code).toBe(0);
  await starter.ended;
  expect([processesIn(cwd), remainsIn(state)]).toEqual([[], []]);
});

test("two concurrent starts start one sandbox, which rotates a full log; sandbox logs ends when its output is closed", async () => {
  const { cwd, state, log } = createFolder();
  const started = await Promise.all([run(START, { cwd }), run(START, { cwd })]);
  expect(started.map(({ code, stderr }) => [code, stderr])).toEqual(started.map(() => [0, ""]));
  const lines = started.map(readyIn);
  expect(new Set(lines.map(({ pid }) => pid)).size).toBe(1);
  expect(lines.filter(({ already_running }) => !already_running)).toHaveLength(1);
  const [{ base_url, pid } = { base_url: "", pid: 0 }] = lines;
  const { origin } = new URL(base_url);
  const olderLog = join(state, "sandbox.log.1");
  // Once with an older log file, and once with a folder in its place, which cannot be replaced.
  for (const older of ["a file", "in the way"] as const) {
    if (older === "in the way") {
      rmSync(olderLog);
      mkdirSync(join(olderLog, "x"), { recursive: true });
    }
    const before = `${readFileSync(log, "utf8")}${"x".repeat(MAX_LOG_BYTES - 500)}\n`;
    writeFileSync(log, before);
    for (let count = 0; count < 20; count += 1) expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    await eventually("the log has started anew", () => expect(statSync(log).size).toBeLessThan(10_000));
    if (older === "a file") {
      const moved = readFileSync(olderLog, "utf8");
      expect([moved.startsWith(before), moved.length <= MAX_LOG_BYTES]).toEqual([true, true]);
      expect(statSync(olderLog).mode & 0o777).toBe(0o600);
    }
    expect(remainsIn(state)).toEqual(["run.json"]);
    process.kill(pid, 0);
  }
  rmSync(olderLog, { recursive: true });
  writeFileSync(log, "line\n".repeat(200_000));
  const following = begin(["sandbox", "logs", "--follow"], { cwd });
  await eventually("something was read", () => expect(following.output.stdout).toContain("line"));
  following.process.stdout?.destroy();
  writeFileSync(log, "line\n".repeat(200_100));
  await eventually("it has ended", () => expect(following.process.exitCode).toBe(0));
  process.kill(pid, "SIGTERM");
  await eventually("the sandbox has ended", () => expect(remainsIn(state)).toEqual([]));
});
