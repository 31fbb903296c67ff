import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { makeStateFolder } from "../../src/host/folder/state-folder.ts";
import { REAL } from "../support/real.ts";
import type { PathFacts, Service } from "../../src/world.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { inOrder } from "../support/in-order.ts";
import { movedLogWarning } from "../../src/host/failure.ts";
import { START_SANDBOX } from "../../src/cli/problem.ts";

const START = ["sandbox", "start", "--json", "--port", "0"];
const CREATE = ["orders", "create", "--order-id", "o-1", "--price-id", "price_coffee", "--json"];
/** Commands that find their sandbox, their key or their journal in the folder. */
const READERS = [
  ["whoami"],
  ["endpoints", "list"],
  ["sandbox", "clock", "show"],
  ["stores", "show"],
  ["checklist"],
  ["admin", "log"],
  ["events", "list"],
  ["listen"],
  ["idempotency", "list"],
]
  .map((args) => args.concat("--json"))
  .concat([CREATE]);

const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

/** Creates a private folder beside the state folder. */
function beside(harness: Harness, name: string): string {
  const folder = join(harness.cwd, name);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

async function usedFolder(): Promise<{ readonly harness: Harness; readonly folder: string }> {
  const harness = createHarness();
  const sandbox = await harness.start(["--port", "0"]);
  expect((await harness.run(CREATE)).code).toBe(0);
  await sandbox.stop();
  return { harness, folder: join(harness.cwd, ".checkout") };
}

function contentOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder)
      .filter((name) => statSync(join(folder, name)).isFile())
      .map((name) => [name, readFileSync(join(folder, name), "latin1")]),
  );
}

test("no command in a copied folder uses the original's sandbox, and a start there starts another sandbox", async () => {
  const harness = createHarness();
  const original = await harness.start(["--port", "0"]);
  const cwd = beside(harness, "copy");
  cpSync(join(harness.cwd, ".checkout"), join(cwd, ".checkout"), { recursive: true });

  for (const args of READERS.filter(
    ([group]) => !["whoami", "idempotency", "orders"].includes(group ?? ""),
  )) {
    const { code, stderr } = await harness.run(args, { cwd });
    expect([args, code, stderr]).toEqual([args, 7, expect.stringContaining('"no_sandbox"')]);
  }
  expect((await harness.run(["whoami", "--json"], { cwd })).stdout).not.toContain(original.ready.base_url);
  expect((await harness.run(CREATE, { cwd })).code).toBe(7);

  const own = await harness.start(["--port", "0"], { cwd });
  expect(own.ready.base_url).not.toBe(original.ready.base_url);
  const shown = json((await harness.run(["whoami", "--json"], { cwd })).stdout);
  expect(shown).toMatchObject({ base_url: { value: own.ready.base_url } });
  expect((await harness.run(CREATE, { cwd })).stdout).toContain(own.ready.checkout_origin);
  expect((await harness.run(START, { cwd })).stderr).toContain('"already_running"');
  expect((await harness.run(["events", "list", "--json"])).stdout).toContain('"events":[]');
  await own.stop();
  expect(existsSync(join(cwd, ".checkout/run.json"))).toBe(false);
  expect((await harness.run(START)).stderr).toContain('"already_running"');
});

test("a state folder that is moved while its sandbox runs is still served by that sandbox", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(["--port", "0"]);
  const cwd = beside(harness, "moved");
  renameSync(join(harness.cwd, ".checkout"), join(cwd, ".checkout"));
  const shown = await harness.run(["whoami", "--json"], { cwd });
  expect(json(shown.stdout)).toMatchObject({ base_url: { value: sandbox.ready.base_url } });
  expect((await harness.run(START, { cwd })).stderr).toContain('"already_running"');
});

test("no command uses a run.json without the field folder, but the file still prevents a second start", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(["--port", "0"]);
  const path = join(harness.cwd, ".checkout/run.json");
  const { folder, ...old } = json(readFileSync(path, "utf8"));
  expect(folder).toMatch(/^\d+:\d+$/);
  writeFileSync(path, JSON.stringify(old));
  expect((await harness.run(["whoami", "--json"])).stdout).not.toContain(sandbox.ready.base_url);
  expect((await harness.run(["endpoints", "list", "--json"])).stderr).toContain('"no_sandbox"');
  expect((await harness.run(START)).stderr).toContain('"already_running"');
});

/** A change of a used folder, and the path that the refusal names. */
const OPENED: readonly (readonly [name: string, act: (folder: string) => void, reason: string])[] = [
  ["modes as git and zip set them", (folder) => openAll(folder, 0o755, 0o644), ""],
  ["readable folder", (folder) => chmodSync(folder, 0o750), ""],
  ["writable folder", (folder) => chmodSync(folder, 0o777), ""],
  ...["sandbox.db", "master.key", "credentials.json", "admin.json", "journal.db"].flatMap((name) => [
    [`readable ${name}`, (folder: string) => chmodSync(join(folder, name), 0o640), name] as const,
    [`writable ${name}`, (folder: string) => chmodSync(join(folder, name), 0o602), name] as const,
  ]),
  ...(process.getuid?.() === 0
    ? ([
        ["another user's folder", (folder: string) => chownSync(folder, 12_345, 0), ""],
        [
          "another user's file",
          (folder: string) => chownSync(join(folder, "admin.json"), 12_345, 0),
          "admin.json",
        ],
      ] as const)
    : []),
];

function openAll(folder: string, folderMode: number, fileMode: number): void {
  chmodSync(folder, folderMode);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), fileMode);
}

test.for(OPENED)(
  "a state folder that other users own or can read or write is not trusted: %s",
  async ([, act, reason]) => {
    const { harness, folder } = await usedFolder();
    act(folder);
    const before = [contentOf(folder), statSync(folder).mode, statSync(join(folder, "sandbox.db")).mode];
    for (const args of [START, ...READERS]) {
      const { code, stderr, stdout } = await harness.run(args);
      expect([args, code, stdout]).toEqual([args, 1, ""]);
      expect(json(stderr)).toMatchObject({
        error: { code: "state_folder_refused", message: expect.stringContaining(`${join(folder, reason)} `) },
        next: expect.stringContaining("--trust-folder (CHECKOUT_SANDBOX_TRUST_FOLDER=1)"),
      });
    }
    expect([contentOf(folder), statSync(folder).mode, statSync(join(folder, "sandbox.db")).mode]).toEqual(
      before,
    );
    const env = { CHECKOUT_SANDBOX_TRUST_FOLDER: "1" };
    expect((await harness.run(["whoami", "--json", "--trust-folder"])).code).toBe(0);
    const sandbox = await harness.start(["--port", "0"], { env });
    expect((await harness.run(CREATE, { env })).code).toBe(0);
    await sandbox.stop();
    // The modes are unchanged: a person who shares a folder on purpose has set them.
    expect(statSync(folder).mode).toBe(before[1]);
  },
);

test("a symbolic link in a state folder is refused, even with --trust-folder, and its target stays unchanged", async () => {
  const names = ["sandbox.db", "sandbox.db-wal", "journal.db", "master.key", "admin.json", "run.json"];
  for (const name of [...names, "credentials.json", ".gitignore", "sandbox.db-shm", "run.json.1.new-x"]) {
    const { harness, folder } = await usedFolder();
    const target = join(tempFolder(), "of-somebody-else");
    writeFileSync(target, "untouched");
    chmodSync(target, 0o644);
    rmSync(join(folder, name), { force: true });
    symlinkSync(target, join(folder, name));
    for (const args of [START, [...START, "--trust-folder"], ...READERS]) {
      const { code, stderr } = await harness.run(args);
      expect([name, args, code]).toEqual([name, args, 1]);
      expect(stderr).toContain(`${join(folder, name)} `);
    }
    expect([readFileSync(target, "utf8"), statSync(target).mode & 0o777]).toEqual(["untouched", 0o644]);
  }
  const { harness, folder } = await usedFolder();
  const cwd = beside(harness, "linked");
  symlinkSync(folder, join(cwd, ".checkout"));
  const { stderr } = await harness.run([...START, "--trust-folder"], { cwd });
  expect(stderr).toContain(`${join(cwd, ".checkout")} `);
});

test("an empty state folder is made private; on a file system without modes the refusal states the remedy", () => {
  const folder = join(tempFolder(), "empty");
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  const { files } = REAL;
  expect(makeStateFolder({ files }, folder, {}).ok).toBe(true);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const stat = (path: string): PathFacts | undefined => {
    const facts = files.stat(path);
    return facts && { ...facts, openTo: "writers" };
  };
  const modeless = { files: { ...files, stat } };
  const other = join(tempFolder(), "new");
  const refused = makeStateFolder(modeless, other, {});
  expect(refused.ok ? "" : refused.refusal.next).toContain("CHECKOUT_SANDBOX_TRUST_FOLDER=1");
  expect(makeStateFolder(modeless, other, { trustFolder: true }).ok).toBe(true);
});

test("stray files in a state folder are ignored, and a folder with project files is refused, with their names", async () => {
  const { harness, folder } = await usedFolder();
  for (const name of [".DS_Store", "note.txt", "._sandbox.db", "Thumbs.db"])
    writeFileSync(join(folder, name), "x", { mode: 0o644 });
  mkdirSync(join(folder, "lost+found"));
  const sandbox = await harness.start(["--port", "0"]);
  expect((await harness.run(CREATE)).code).toBe(0);
  await sandbox.stop();
  expect(existsSync(join(folder, "note.txt"))).toBe(true);

  const volume = beside(harness, "volume");
  mkdirSync(join(volume, "lost+found"));
  // In the container image, the state folder is also the user's home folder.
  mkdirSync(join(volume, ".cache/hosted-checkout/compiled"), { recursive: true });
  await (await harness.start(["--port", "0", "--dir", volume])).stop();

  const project = beside(harness, "project");
  writeFileSync(join(project, "package.json"), "{}");
  const refused = await harness.run([...START, "--dir", project]);
  expect(refused.stderr).toContain(join(project, "package.json"));
  expect(readdirSync(project)).toEqual(["package.json"]);
});

test("a database or key that is missing next to other state files is reported, and never recreated", async () => {
  const rows = [
    ["sandbox.db", ["sandbox.db"]],
    ["sandbox.db", ["sandbox.db", "credentials.json"]],
    ["sandbox.db", ["sandbox.db", "master.key"]],
    ["master.key", ["master.key"]],
    ["master.key", ["master.key", "credentials.json", "admin.json"]],
  ] as const;
  for (const [named, removed] of rows) {
    const { harness, folder } = await usedFolder();
    for (const name of removed) rmSync(join(folder, name));
    for (let time = 0; time < 2; time += 1) {
      const { code, stderr } = await harness.run(START);
      expect([removed, code]).toEqual([removed, 1]);
      expect(json(stderr)).toMatchObject({
        error: {
          code: "state_file_missing",
          message: expect.stringContaining(`${join(folder, named)} `),
        },
      });
    }
    for (const name of ["sandbox.db", "master.key"])
      expect([removed, name, existsSync(join(folder, name))]).toEqual([
        removed,
        name,
        !(removed as readonly string[]).includes(name),
      ]);
  }
});

test("the sandbox and the client move aside a log from another folder's database, and lose no data", async () => {
  const { harness, folder } = await usedFolder();
  const other = createHarness();
  const running = await other.start(["--port", "0"]);
  expect((await other.run(CREATE)).code).toBe(0);
  // The client's log is gone when its command ends, so the sandbox's log serves for both.
  const log = readFileSync(join(other.cwd, ".checkout/sandbox.db-wal"));
  for (const name of ["sandbox.db", "journal.db"])
    writeFileSync(join(folder, `${name}-wal`), log, { mode: 0o600 });
  await running.stop();
  const warning = (name: string): string =>
    movedLogWarning(join(folder, name), join(folder, `${name}-wal.aside-1`));
  const listed = await harness.run(["idempotency", "list"]);
  expect([listed.stdout, listed.stderr]).toEqual([
    expect.stringContaining("o-1"),
    expect.stringContaining(warning("journal.db")),
  ]);
  const sandbox = await harness.start(["--port", "0"]);
  expect((await harness.run(["events", "list", "--json"])).stdout).toContain('\\"o-1\\"');
  expect((await sandbox.stop()).stderr).toContain(warning("sandbox.db"));
  for (const name of ["sandbox.db", "journal.db"])
    expect(readFileSync(join(folder, `${name}-wal.aside-1`)).equals(log)).toBe(true);
});

test.each([
  [99, "newer"],
  [2, "development_version"],
])(
  "the sandbox and the client report state files of schema version %i as %s, and do not change them",
  async (version, reason) => {
    const { harness, folder } = await usedFolder();
    for (const [file, kind, args] of [
      ["sandbox.db", "database", START],
      ["journal.db", "journal", ["idempotency", "list", "--json"]],
    ] as const) {
      const path = join(folder, file);
      const database = new Database(path);
      database.pragma(`user_version = ${version}`);
      database.close();
      const before = readFileSync(path);
      const { code, stdout, stderr } = await harness.run(args);
      expect([file, code, stdout]).toEqual([file, 1, ""]);
      const message = expect.stringMatching(inOrder(path, version)) as string;
      expect(json(stderr)).toMatchObject({ error: { code: `${kind}_${reason}`, message } });
      expect(readFileSync(path).equals(before)).toBe(true);
    }
  },
);

/** A state with an endpoint that accepted one event, and the requests to its receiver. */
async function delivering(): Promise<{
  readonly harness: Harness;
  readonly folder: string;
  readonly received: string[];
}> {
  const harness = createHarness();
  const received: string[] = [];
  const receiver: Service = {
    answer: async ({ body }) => {
      received.push(Buffer.from(body).toString("utf8"));
      return { status: 200, headers: {}, body: "" };
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  };
  harness.occupy(3000, receiver);
  const sandbox = await harness.start(["--port", "0"]);
  await harness.run(["endpoints", "add", "http://127.0.0.1:3000/hooks"]);
  await harness.run(CREATE);
  await pass(harness);
  expect(received.length).toBe(1);
  await sandbox.stop();
  return { harness, folder: join(harness.cwd, ".checkout"), received };
}

async function pass({ clock }: Harness): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await clock.sleep(100);
}

/** Why nothing is delivered to each endpoint of a folder's sandbox. */
async function holdsOf(harness: Harness, cwd: string): Promise<readonly unknown[]> {
  const { stdout } = await harness.run(["endpoints", "list", "--json"], { cwd });
  return (JSON.parse(stdout) as { readonly endpoints: readonly { readonly hold: unknown }[] }).endpoints.map(
    ({ hold }) => hold,
  );
}

test("a copied or moved state folder delivers no events and reports this until it is adopted", async () => {
  for (const take of ["copied", "moved"] as const) {
    for (const adoption of [{ args: ["--adopt"] }, { env: { CHECKOUT_SANDBOX_ADOPT: "1" } }]) {
      const { harness, folder, received } = await delivering();
      const cwd = beside(harness, take);
      if (take === "copied") cpSync(folder, join(cwd, ".checkout"), { recursive: true });
      else renameSync(folder, join(cwd, ".checkout"));
      const held = await harness.launch(START, { cwd });
      const { stderr } = held.text();
      expect(stderr).toContain(folder);
      expect(stderr).toContain("checkout sandbox start --adopt");
      await harness.run(
        CREATE.map((word) => (word === "o-1" ? "o-2" : word)),
        { cwd },
      );
      await harness.run(["sandbox", "clock", "advance", "1h"], { cwd });
      await pass(harness);
      expect(received.length).toBe(1);
      expect(await holdsOf(harness, cwd)).toEqual([
        { fact: "other_folder", values: { folder, start: START_SANDBOX } },
      ]);
      const drill = await harness.run(["checklist", "run", "webhooks"], { cwd });
      expect(drill.stderr).toContain("checkout sandbox start --adopt");
      const view = ["--order-view", "http://localhost:3000/{order_id}", "--paid-when", "never"];
      const duplicates = await harness.run(["checklist", "run", "duplicates", ...view], { cwd });
      expect(duplicates.stderr).toContain("checkout sandbox start --adopt");
      // Requests about the shop's orders are not deliveries.
      expect(received.filter((body) => body !== "")).toHaveLength(1);
      await held.stop();

      const adopted = await harness.start(["--port", "0", ...(adoption.args ?? [])], { cwd, ...adoption });
      await pass(harness);
      expect(received.filter((body) => body.includes('"o-2"')).length).toBeGreaterThan(0);
      expect(await holdsOf(harness, cwd)).toEqual([undefined]);
      expect((await adopted.stop()).stderr).not.toContain(folder);
      const later = await harness.start(["--port", "0"], { cwd });
      expect((await later.stop()).stderr).not.toContain("--adopt");
    }
  }
});
