import { rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { realWorld } from "../src/real-world.ts";
import { connect, sendCreate, type Answer } from "./support/load.ts";
import { run, startSandbox, type SandboxProcess } from "./support/program.ts";
import { tempFolder } from "./support/temp-folder.ts";

async function create(sandbox: SandboxProcess, name: string): Promise<Answer | undefined> {
  const service = connect(sandbox, 1);
  const answer = await sendCreate(service, { key: `key-of-${name}`, orderId: name });
  service.agent.destroy();
  return answer;
}

async function health({ port }: SandboxProcess): Promise<readonly [number, string]> {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
  return [answer.status, await answer.text()];
}

test("a server whose files are removed acknowledges nothing more, and says so", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd, args: ["--quiet", "--dir", "state"] });
  expect((await create(sandbox, "before"))?.status).toBe(201);
  expect(await health(sandbox)).toEqual([200, '{"ok":true}']);
  for (const ending of ["-wal", "-shm"]) rmSync(join(cwd, "state", `sandbox.db${ending}`));
  const [status, body] = await health(sandbox);
  expect([status, body]).toEqual([503, expect.stringContaining('"storage_unavailable"')]);
  expect(body).not.toContain(cwd);
  expect(await create(sandbox, "after")).toMatchObject({
    status: 503,
    body: expect.stringContaining("deleted, replaced or cut off"),
  });
  expect((await health(sandbox))[0]).toBe(503);
  await sandbox.stop("SIGTERM");
  expect(sandbox.output.stderr).not.toMatch(/\n\s+at |bug in checkout/);
});

test("the health check fails while the last write failed, and not after one succeeded", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd, args: ["--quiet", "--dir", "state"] });
  const other = new Database(join(cwd, "state", "sandbox.db"));
  other.exec("BEGIN IMMEDIATE");
  expect(await create(sandbox, "locked")).toMatchObject({
    status: 503,
    body: expect.stringContaining("another process keeps the file locked"),
  });
  expect((await health(sandbox))[0]).toBe(503);
  other.exec("COMMIT");
  other.close();
  expect((await create(sandbox, "locked"))?.status).toBe(201);
  expect((await health(sandbox))[0]).toBe(200);
  expect(await sandbox.stop("SIGTERM")).toBe(0);
});

test("a path that cannot be used is a problem with a name, not a bug", async () => {
  const cwd = tempFolder();
  const long = "x".repeat(300);
  const rows = [
    ["sandbox", "start", "--json", "--dir", long],
    ["idempotency", "list", "--json", "--dir", long],
    ["whoami", "--json", "--dir", long],
  ];
  for (const args of rows) {
    const { code, stdout, stderr } = await run(args, { cwd });
    expect([args, code]).toEqual([args, 1]);
    expect(stdout + stderr).toContain('"path_not_usable"');
    expect(stdout + stderr).not.toContain("bug in checkout");
  }
});

test("reading a file that is not there, or of a process that ended, gives nothing; other failures are said", () => {
  const { files } = realWorld();
  const folder = tempFolder();
  files.write(join(folder, "file"), "content");
  expect(files.read(join(folder, "file"))).toBe("content");
  for (const missing of ["nothing", "nothing/below", "file/below"]) {
    expect(files.read(join(folder, missing))).toBeUndefined();
    expect(files.readBytes(join(folder, missing))).toBeUndefined();
  }
  expect(() => files.read(folder)).toThrow(/EISDIR/);
  expect(() => files.read(join(folder, "x".repeat(300)))).toThrow(/ENAMETOOLONG/);
  expect(files.list(folder)).toEqual(["file"]);
});
