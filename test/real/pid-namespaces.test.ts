import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findHiddenHolder } from "../../src/host/folder/hold.ts";
import { PROGRAM, run } from "../support/program.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Options of `unshare` for a new PID namespace whose init ends with its starter, as in a container. */
const NAMESPACE = ["--pid", "--fork", "--mount-proc", "--kill-child"];
const HAS_NAMESPACES = spawnSync("unshare", [...NAMESPACE, "true"]).status === 0;

async function startInNamespace(cwd: string) {
  const words = [...NAMESPACE, process.execPath, PROGRAM, "sandbox", "start", "--port", "0", "--json"];
  const child = spawn("unshare", words, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stderr.on("data", (text: Buffer) => (stderr += text.toString()));
  const ended = once(child, "close").then(([code]) => code as number | null);
  const ready = new Promise<void>((resolve) => {
    child.stdout.on("data", (text: Buffer) => {
      stdout += text.toString();
      if (stdout.includes("\n")) resolve();
    });
  });
  await Promise.race([ready, ended]);
  return { child, ended, isReady: stdout.includes("\n"), error: () => stderr };
}

test("a second start from another PID namespace is refused, and commands say that they cannot see the folder's process", async ({
  annotate,
}) => {
  if (!HAS_NAMESPACES) return void (await annotate("not tried: unshare makes no PID namespaces here"));
  const cwd = tempFolder();
  const first = await startInNamespace(cwd);
  expect([first.isReady, first.error()]).toEqual([true, ""]);

  const second = await startInNamespace(cwd);
  expect([second.isReady, await second.ended]).toEqual([false, 1]);
  expect(second.error()).toContain("already_running");
  const findHolder = (): Promise<string | undefined> => findHiddenHolder(REAL, join(cwd, ".checkout"));
  const holder = await findHolder();
  if (holder === undefined) throw new Error("the holder is not hidden");
  expect(holder).toMatch(/run\.json .*\b1\b/);
  expect(second.error()).toContain(holder);

  const rows: readonly (readonly [readonly string[], number])[] = [
    [["sandbox", "start", "--port", "0"], 1],
    [["sandbox", "status"], 7],
    [["sandbox", "stop"], 1],
    [["env"], 7],
    [["orders", "list"], 7],
    [["doctor"], 0],
  ];
  for (const [words, code] of rows) {
    const ended = await run(words, { cwd });
    // doctor wraps its lines.
    const said = `${ended.stdout}${ended.stderr}`.replaceAll(/\s+/g, " ");
    expect([words, ended.code, said]).toEqual([words, code, expect.stringContaining(holder)]);
  }

  // The lock ends with its process, even after a kill.
  first.child.kill("SIGKILL");
  await first.ended;
  const again = await run(["sandbox", "status"], { cwd });
  expect([again.code, await findHolder(), again.stdout.includes(holder)]).toEqual([7, undefined, false]);
  const third = await startInNamespace(cwd);
  expect(third.isReady).toBe(true);
});
