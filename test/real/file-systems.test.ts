import fs, { copyFileSync, renameSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readOrCreateAdminToken, readOrCreateMasterKey } from "../../src/host/folder/state-folder.ts";
import { files } from "../../src/world/files.ts";
import { startSandbox, run } from "../support/program.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Errors of file systems without hard links: exFAT, SMB, shared folders of virtual machines, FUSE. */
const WITHOUT_LINKS = [
  "EPERM",
  "EACCES",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EXDEV",
  "EINVAL",
  "EIO",
];
const REFUSE_CALLS = join(import.meta.dirname, "../support/refuse-calls.cjs");

function refuse(call: "linkSync" | "openSync" | "rmSync", code: string): void {
  const before = fs[call];
  const error = Object.assign(new Error(`${code}: refused by the test`), { code });
  Object.assign(fs, {
    [call]: () => {
      throw error;
    },
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { [call]: before });
    syncBuiltinESMExports();
  });
}

test.each(WITHOUT_LINKS)("createNew creates a file only once, even if hard links fail with %s", (code) => {
  const folder = tempFolder();
  const path = join(folder, "master.key");
  refuse("linkSync", code);
  expect(files.createNew(path, "one")).toBe(true);
  expect(files.createNew(path, "two")).toBe(false);
  expect([files.read(path), files.stat(path)?.openTo, files.list(folder)]).toEqual([
    "one",
    "nobody",
    ["master.key"],
  ]);
});

test("the master key and the admin token are first written to temporary files, even without hard links", () => {
  const folder = tempFolder();
  refuse("linkSync", "EPERM");
  const opened: string[] = [];
  const { openSync } = fs;
  Object.assign(fs, {
    openSync: (...given: Parameters<typeof openSync>) => {
      if (given[1] === "wx") opened.push(basename(String(given[0])));
      return openSync(...given);
    },
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { openSync });
    syncBuiltinESMExports();
  });
  expect(readOrCreateMasterKey(REAL, folder, "empty").ok).toBe(true);
  const token = { ok: true, value: "administrator-of-the-test" };
  expect(readOrCreateAdminToken(REAL, folder, token.value)).toEqual(token);
  expect(readOrCreateAdminToken(REAL, folder, "another-administrator")).toEqual(token);
  expect(files.list(folder).toSorted()).toEqual(["admin.json", "master.key"]);
  expect(opened.map((name) => name.replace(/\.\d+\.new-\w+$/, ".new"))).toEqual([
    "master.key.new",
    "admin.json.new",
  ]);
});

test("creating a folder fails, and does not loop, if no parent folder exists", () => {
  const { existsSync } = fs;
  // On Windows the root of a drive may be missing.
  Object.assign(fs, { existsSync: () => false });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { existsSync });
    syncBuiltinESMExports();
  });
  const file = join(tempFolder(), "file");
  files.write(file, "");
  expect(() => files.makeFolder(join(file, "a/b"))).toThrow(/^E(?:NOTDIR|EXIST)/);
});

test("a failure to remove a temporary path is ignored", () => {
  const { path, remove } = REAL.temporaryPath();
  files.write(path, "");
  onTestFinished(() => files.remove(path));
  refuse("rmSync", "EBUSY");
  remove();
  expect(files.exists(path)).toBe(true);
});

test("if neither a hard link nor the file can be created, the reported error is about the file, not about the link", () => {
  refuse("linkSync", "EPERM");
  expect(() => files.createNew(join(tempFolder(), "nowhere", "run.json"), "")).toThrow(/^ENOENT/);
});

test("a sandbox starts, stops and starts again without hard links, and a second start is refused", async () => {
  const cwd = tempFolder();
  const env = { NODE_OPTIONS: `--require ${REFUSE_CALLS}`, REFUSED_CALLS: "linkSync=EPERM" };
  const started = await startSandbox({ cwd, env });
  const create = ["orders", "create", "--order-id", "order-1001", "--price-id", "price_coffee"];
  expect((await run(create, { cwd, env })).code).toBe(0);
  const second = await run(["sandbox", "start", "--json", "--port", "0"], { cwd, env });
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('"already_running"')]);
  expect((await run(["sandbox", "stop"], { cwd, env })).code).toBe(0);
  await started.ended;
  const again = await startSandbox({ cwd, env });
  expect(again.ready.store_id).toBe(started.ready.store_id);
  await again.stop("SIGTERM");
});

/** Ways to lose the folder, as by `git clean -ffdx`, or only the database, which a copy may replace. */
const LOSSES: readonly (readonly [string, (folder: string) => void])[] = [
  ["its state folder is deleted", (folder) => rmSync(folder, { recursive: true })],
  ["its state folder is renamed", (folder) => renameSync(folder, `${folder}-away`)],
  ["its database is deleted", (folder) => rmSync(join(folder, "sandbox.db"))],
  [
    "its database is replaced",
    (folder) => {
      const path = join(folder, "sandbox.db");
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
];

test.for(LOSSES)("a sandbox ends when %s, and logs the reason", async ([, lose]) => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd });
  lose(join(cwd, ".checkout"));
  expect([await sandbox.ended, sandbox.output.stderr]).toEqual([
    1,
    expect.stringMatching(/"state_lost".*sandbox\.db/),
  ]);
  expect(sandbox.output.stderr).not.toMatch(/\n\s+at /);
});
