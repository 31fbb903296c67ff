import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failArgs, HAS_STRACE } from "../support/disk-faults.ts";
import { PROGRAM, run } from "../support/program.ts";
import { inOrder } from "../support/in-order.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Time until a start gets SIGKILL: a program that loops in a system call does not react to other signals. */
const KILL_MS = 20_000;

/** Starts a sandbox in a folder that must be created first; returns its exit code and output. */
function startIn(dir: string) {
  return run(["sandbox", "start", "--json", "--port", "0", "--dir", dir], {
    cwd: tempFolder(),
    timeoutMs: KILL_MS,
  });
}

test("a state folder that cannot be created is reported with the system's error", async () => {
  const file = join(tempFolder(), "file");
  writeFileSync(file, "");
  const places = [
    [file, '"state_folder_refused"'],
    [join(file, "a"), "ENOTDIR"],
    [join(file, "a/b"), "ENOTDIR"],
    [join(tempFolder(), "x".repeat(300)), "ENAMETOOLONG"],
    // Below /proc, which other systems do not have, no folder can be created.
    ...(existsSync("/proc/self") ? [["/proc/x/y/z", "mkdir '/proc/x'"] as const] : []),
  ] as const;
  for (const [dir, cause] of places) {
    const { code, stderr } = await startIn(dir);
    expect([dir, code, stderr]).toEqual([dir, 1, expect.stringContaining(cause)]);
  }
});

test("a start on a read-only disk reports the disk as read-only, even if parents of the state folder are missing", async ({
  annotate,
}) => {
  if (!HAS_STRACE) return void (await annotate("strace is not installed: no call could be made to fail"));
  const dir = join(tempFolder(), "a/b/c");
  const strace = ["-f", "-o", "/dev/null", ...failArgs("mkdir,mkdirat", "EROFS")];
  const line = [process.execPath, PROGRAM, "sandbox", "start", "--json", "--port", "0", "--dir", dir];
  const { status, stderr } = spawnSync("strace", [...strace, ...line], {
    encoding: "utf8",
    timeout: KILL_MS,
  });
  expect([status, stderr]).toEqual([1, expect.stringMatching(inOrder('"file_read_only"', "EROFS"))]);
});
