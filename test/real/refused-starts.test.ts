import { randomBytes } from "node:crypto";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { newApiKey } from "../../src/sandbox/runtime/keys.ts";
import { connect, sendCreate } from "../support/load.ts";
import { runHere, startSandbox } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A reason for refusing a start, and its cause: in the folder, in the environment, or in the options. */
type RefusedStart = {
  readonly what: string;
  readonly code: string;
  readonly spoil?: (file: (name: string) => string) => void;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
};

const OTHER_KEY = "0".repeat(64);

function text(name: string, content: string) {
  return (file: (name: string) => string): void => writeFileSync(file(name), content, { mode: 0o600 });
}

const REFUSED: readonly RefusedStart[] = [
  { what: "no master.key", code: "state_file_missing", spoil: (file) => rmSync(file("master.key")) },
  { what: "an empty master.key", code: "state_file_unreadable", spoil: text("master.key", "") },
  { what: "a torn master.key", code: "state_file_unreadable", spoil: text("master.key", "0a1b2c") },
  { what: "a foreign master.key", code: "master_key_foreign", spoil: text("master.key", OTHER_KEY) },
  {
    what: "a foreign master.key, adopting",
    code: "master_key_foreign",
    spoil: text("master.key", OTHER_KEY),
    args: ["--adopt"],
  },
  { what: "a torn credentials.json", code: "state_file_unreadable", spoil: text("credentials.json", "{") },
  { what: "a torn admin.json", code: "state_file_unreadable", spoil: text("admin.json", "{") },
  {
    what: "another API key",
    code: "usage",
    env: { CHECKOUT_SANDBOX_API_KEY: newApiKey({ randomBytes: (length) => randomBytes(length) }) },
  },
  {
    what: "another signing secret",
    code: "usage",
    env: { CHECKOUT_SANDBOX_SIGNING_SECRET: `whsec_${"A".repeat(43)}` },
  },
  {
    what: "another admin token",
    code: "usage",
    env: { CHECKOUT_SANDBOX_ADMIN_TOKEN: "another-token-of-an-administrator" },
  },
  // Node's recursive mkdir loops forever below /proc; other systems have no /proc, or refuse to write there.
  {
    what: "a folder below /proc",
    code: process.platform === "linux" ? "file_missing" : "file_",
    args: ["--dir", "/proc/none/state"],
  },
  { what: "a database of nothing", code: "database_zero_bytes", spoil: text("sandbox.db", "") },
  {
    what: "a database of another program",
    code: "database_foreign",
    spoil: text("sandbox.db", "x".repeat(5000)),
  },
  {
    what: "a database that is cut off",
    code: "database_damaged",
    spoil: (file) => truncateSync(file("sandbox.db"), 99),
  },
  {
    what: "a newer database",
    code: "database_newer",
    spoil: (file) => {
      const bytes = readFileSync(file("sandbox.db"));
      bytes.writeInt32BE(999, 60);
      writeFileSync(file("sandbox.db"), bytes);
      rmSync(file("sandbox.db-wal"), { force: true });
    },
  },
  {
    what: "the log of another database with its file of openings",
    code: "database_foreign_log",
    spoil: (file) => {
      const other = new Database(join(tempFolder(), "other.db"));
      other.pragma("journal_mode = WAL");
      other.exec("CREATE TABLE a (x)");
      writeFileSync(file("sandbox.db-wal"), readFileSync(`${other.name}-wal`));
      writeFileSync(file("sandbox.db-opening"), `4096 4096 1 ${"5a".repeat(32)}\n`);
      other.close();
    },
  },
  {
    what: "a configuration that cannot be",
    code: "config_invalid",
    args: ["--config", "wrong.config.json"],
  },
];

/**
 * The bytes of all files of a folder, except the run file, which the start itself writes, the -shm, which is only an
 * index of the log, and an empty log, which SQLite creates to read a database.
 */
function bytesOf(folder: string): Readonly<Record<string, string>> {
  // A kill can leave a folder with an unfinished file.
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .filter((name) => name !== "run.json" && !name.endsWith("-shm"))
    .toSorted()
    .map((name) => [name, readFileSync(join(folder, name)).toString("base64")] as const);
  return Object.fromEntries(files.filter(([name, bytes]) => !name.endsWith("-wal") || bytes !== ""));
}

test("a refused start does not change files of the state folder, whether the last run was killed or stopped", async () => {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    const made = tempFolder();
    const sandbox = await startSandbox({ cwd: made, args: ["--quiet", "--dir", "state"] });
    const service = connect(sandbox, 1);
    expect((await sendCreate(service, { key: "key-of-one", orderId: "one" }))?.status).toBe(201);
    service.agent.destroy();
    await sandbox.stop(signal);
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const rows = [
      ...REFUSED,
      { what: "a port that is taken", code: "port_unavailable", args: ["--port", `${port}`] },
    ];
    for (const { what, code, spoil, env = {}, args = [] } of rows as readonly RefusedStart[]) {
      const cwd = tempFolder();
      cpSync(join(made, "state"), join(cwd, "state"), { recursive: true });
      writeFileSync(join(cwd, "wrong.config.json"), '{ "stores": 1 }');
      const file = (name: string): string => join(cwd, "state", name);
      spoil?.(file);
      const before = bytesOf(join(cwd, "state"));
      const words = ["sandbox", "start", "--json", "--dir", "state", "--port", "0", ...args];
      const found = await runHere(words, { cwd, env });
      expect([signal, what, found.code === 0, found.stderr]).toEqual([
        signal,
        what,
        false,
        expect.stringContaining(`"code":"${code}`),
      ]);
      const after = bytesOf(join(cwd, "state"));
      expect([signal, what, Object.keys(after)]).toEqual([signal, what, Object.keys(before)]);
      const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
      expect([signal, what, changed]).toEqual([signal, what, []]);
    }
    taken.close();
  }
});
