import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { existsSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { REAL } from "../support/real.ts";
import { isTargetVariable } from "../../src/core/config/secrets.ts";
import { createProgram, listKnownVariables } from "../../src/cli/program.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { JOURNAL_FILE } from "../../src/store/journal/journal.ts";
import { NEEDED_NODE } from "../../src/version.ts";
import { createAccessLog } from "../../src/sandbox/runtime/access-log.ts";
import type { Service, World } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, type CommandOptions, type Harness, type RunningSandbox } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";
import { run, runHere, startSandbox } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

type Row = {
  readonly check: string;
  readonly status: "ok" | "warning" | "problem" | "unknown";
  readonly found: string;
  readonly next: string | null;
};
type Report = {
  readonly code: number;
  readonly ok: boolean;
  readonly checks: readonly Row[];
  readonly stdout: string;
};

/** A state folder to damage, and the harness of its sandbox. */
type Patient = {
  readonly harness: Harness;
  readonly folder: string;
  readonly file: (name: string) => string;
  readonly start: (command?: CommandOptions) => Promise<RunningSandbox>;
};

const { files } = REAL;
const RECEIVER_PORT = 3000;
const HOOKS = `http://127.0.0.1:${RECEIVER_PORT}/hooks/path-secret-1234`;

/** Creates a folder that a sandbox has served, with a journal or without; the sandbox is stopped. */
async function createPatient({ hasJournal = true } = {}): Promise<Patient> {
  // Files have real times, so the program's clock must be close to them.
  const harness = createHarness({ now: Date.now() + 60_000 });
  const folder = join(harness.cwd, ".checkout");
  const first = await harness.start();
  const create = ["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee"];
  if (hasJournal) expect((await harness.run(create)).code).toBe(0);
  await first.stop();
  return {
    harness,
    folder,
    file: (name) => join(folder, name),
    start: (command = {}) => harness.start(["--port", "0"], command),
  };
}

async function examine(
  harness: Harness,
  command: CommandOptions = {},
  args: readonly string[] = [],
): Promise<Report> {
  const { code, stdout, stderr } = await harness.run(["doctor", "--json", ...args], command);
  expect(stderr).toBe("");
  return { code, stdout, ...(JSON.parse(stdout) as Omit<Report, "code" | "stdout">) };
}

function rowOf({ checks }: Report, name: string): Row {
  const row = checks.find(({ check }) => check === name);
  if (row === undefined) throw new Error(`no check ${name}`);
  return row;
}

/** Runs the command that the pattern finds in a remedy. */
async function type({ harness }: Patient, next: string | null, pattern: RegExp): Promise<void> {
  const [line] = pattern.exec(next ?? "") ?? [];
  if (line === undefined) throw new Error(`no command in ${next}`);
  const [program, ...words] = line.split(" ");
  if (program === "checkout") {
    const { code, stderr } = await harness.run(words);
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
  } else execFileSync(program ?? "", words);
}

const addEndpoint = async ({ harness }: Patient): Promise<string> => {
  const added = await harness.run(["endpoints", "add", HOOKS, "--json"]);
  return (JSON.parse(added.stdout) as { id: string }).id;
};
/** Waits until all deliveries are listed with a result, which must fill its column: an id may contain the same text. */
const untilListed = ({ harness }: Patient, result: string): Promise<void> =>
  eventually(`the deliveries are listed with ${result}`, async () => {
    const { stdout } = await harness.run(["deliveries", "list"]);
    const [, ...rows] = stdout.trim().split("\n");
    const isIn = new RegExp(`(^|  )${result}  `);
    if (rows.length === 0 || !rows.every((row) => isIn.test(row))) throw new Error(stdout);
  });
const receiver = (status: number, body = ""): Service => ({
  answer: () => Promise.resolve({ status, headers: {}, body }),
  refuse: () => ({ status: 400, headers: {}, body: "" }),
});
const moveAside = ({ folder }: Patient): void => renameSync(folder, `${folder}.aside`);
const moveAllButJournal = ({ folder }: Patient): void => {
  mkdirSync(`${folder}.aside`);
  for (const name of readdirSync(folder))
    if (!name.startsWith("journal.db")) renameSync(join(folder, name), join(`${folder}.aside`, name));
};

type BrokenCase = {
  readonly what: string;
  /** Causes the damage; the command runs with the returned options. */
  readonly breaks: (one: Patient) => CommandOptions | void | Promise<CommandOptions | void>;
  readonly check: string;
  readonly status: Row["status"];
  /** The values of the finding, and the commands, options or variables of the remedy. */
  readonly found?: RegExp;
  readonly next?: RegExp;
  /** Follows `next`. Returns the options for the command afterwards. */
  readonly remedy: (
    one: Patient,
    next: string | null,
  ) => CommandOptions | void | Promise<CommandOptions | void>;
};

const BROKEN_CASES: readonly BrokenCase[] = [
  {
    what: "a state folder that other users can read",
    breaks: ({ folder }) => chmodSync(folder, 0o755),
    check: "folder",
    status: "problem",
    next: /chmod -R go= /,
    remedy: (one, next) => type(one, next, /chmod -R go= [^\s,]+/),
  },
  {
    what: "a state file that other users can write",
    breaks: ({ file }) => chmodSync(file("credentials.json"), 0o622),
    check: "folder",
    status: "problem",
    found: /credentials\.json/,
    next: /--trust-folder/,
    remedy: () => ({ env: { CHECKOUT_SANDBOX_TRUST_FOLDER: "1" } }),
  },
  {
    what: "a state folder that is a link",
    breaks: (one) => {
      moveAside(one);
      symlinkSync(`${one.folder}.aside`, one.folder);
    },
    check: "folder",
    status: "problem",
    next: /--dir/,
    remedy: ({ folder }) => ({ env: { CHECKOUT_DIR: `${folder}.aside` } }),
  },
  {
    what: "a state folder with another program's files",
    breaks: (one) => {
      rmSync(one.folder, { recursive: true });
      mkdirSync(one.folder, { mode: 0o700 });
      writeFileSync(one.file("thesis.txt"), "x");
    },
    check: "folder",
    status: "problem",
    found: /thesis\.txt/,
    next: /--dir/,
    remedy: moveAside,
  },
  ...(["sandbox.db", "journal.db"] as const).flatMap((name): BrokenCase[] => {
    const { filesToMoveAway } = name === "sandbox.db" ? SANDBOX_FILE : JOURNAL_FILE;
    const row = {
      check: name,
      status: "problem",
      found: inOrder(name),
      next: inOrder(filesToMoveAway),
    } as const;
    const away = (one: Patient): void =>
      name === "sandbox.db" ? moveAllButJournal(one) : renameSync(one.file(name), one.file("aside"));
    return [
      {
        ...row,
        what: `a damaged page in ${name}`,
        breaks: ({ file }) => {
          const bytes = readFileSync(file(name));
          writeFileSync(file(name), bytes.fill(0xff, 4096, 8192));
        },
        remedy: away,
      },
      {
        ...row,
        what: `an empty ${name}`,
        breaks: ({ file }) => writeFileSync(file(name), ""),
        remedy: away,
      },
      {
        ...row,
        what: `${name} with another program's content`,
        breaks: ({ file }) => writeFileSync(file(name), "GIF89a".repeat(100)),
        remedy: away,
      },
      {
        ...row,
        what: `${name} of a newer version`,
        breaks: ({ file }) => {
          const bytes = readFileSync(file(name));
          bytes.writeUInt32BE(99, 60);
          writeFileSync(file(name), bytes);
        },
        next: /--dir/,
        remedy: () => ({ env: { CHECKOUT_DIR: "another" } }),
      },
    ];
  }),
  {
    what: "a missing database next to other state files",
    breaks: ({ file }) => rmSync(file("sandbox.db")),
    check: "files",
    status: "problem",
    found: /sandbox\.db/,
    remedy: moveAside,
  },
  ...["master.key", "credentials.json", "admin.json"].map((name): BrokenCase => ({
    what: `invalid content in ${name}`,
    breaks: ({ file }) => writeFileSync(file(name), "rubbish", { mode: 0o600 }),
    check: "files",
    status: "problem",
    found: inOrder(name),
    remedy: moveAside,
  })),
  {
    what: "invalid content in run.json",
    breaks: ({ file }) => writeFileSync(file("run.json"), "rubbish", { mode: 0o600 }),
    check: "lock",
    status: "warning",
    found: /run\.json/,
    next: /^checkout sandbox start$/,
    remedy: async ({ start }) => void (await start()),
  },
  {
    what: "a sandbox that was killed",
    breaks: ({ file }) => writeRun(file("run.json"), { pid: 999_999 }),
    check: "lock",
    status: "warning",
    found: /\b999999\b/,
    next: /^checkout sandbox start$/,
    remedy: async ({ start }) => void (await start()),
  },
  {
    what: "that no sandbox is running",
    breaks: () => undefined,
    check: "health",
    status: "warning",
    next: /^checkout sandbox start$/,
    remedy: async ({ start }) => void (await start()),
  },
  {
    what: "a running sandbox whose database was deleted",
    breaks: async ({ start, file }) => {
      await start();
      rmSync(file("sandbox.db"));
    },
    check: "files",
    status: "problem",
    found: /sandbox\.db/,
    remedy: async (one) => {
      moveAside(one);
      await one.start();
    },
  },
  {
    what: "a port from the environment that another program uses",
    breaks: ({ harness }) => {
      harness.occupy(5000);
      return { env: { CHECKOUT_SANDBOX_PORT: "5000" } };
    },
    check: "port",
    status: "problem",
    found: inOrder("5000", "CHECKOUT_SANDBOX_PORT", "another-program (pid 4711)"),
    remedy: () => ({ env: { CHECKOUT_SANDBOX_PORT: "5001" } }),
  },
  {
    what: "a store's clock that is frozen",
    breaks: async ({ harness, start }) => {
      await start();
      await harness.run(["sandbox", "clock", "freeze"]);
    },
    check: "store_clock",
    status: "warning",
    found: /T\d\d:\d\d/,
    next: /^checkout sandbox clock real$/,
    remedy: (one, next) => type(one, next, /checkout .*/),
  },
  {
    what: "a store's clock that was moved",
    breaks: async ({ harness, start }) => {
      await start();
      await harness.run(["sandbox", "clock", "advance", "2h"]);
    },
    check: "store_clock",
    status: "warning",
    found: /T\d\d:\d\d/,
    next: /^checkout sandbox clock real$/,
    remedy: (one, next) => type(one, next, /checkout .*/),
  },
  ...(
    [
      [500, "500"],
      [undefined, "unreachable"],
    ] as const
  ).map(([status, found]): BrokenCase => ({
    what: `an endpoint that answers ${status ?? "no request"}`,
    breaks: async (one) => {
      if (status !== undefined) one.harness.occupy(RECEIVER_PORT, receiver(status));
      await one.start();
      await addEndpoint(one);
      await one.harness.run(["trigger", "order.created", "--order-id", "order-2"]);
      await untilListed(one, found);
    },
    check: "endpoints",
    status: "problem",
    found: inOrder("order.created", found),
    next:
      status === undefined
        ? /^checkout endpoints remove \S+ if nothing .*, then: checkout events replay /
        : /checkout events replay /,
    remedy: async (one, next) => {
      one.harness.occupy(RECEIVER_PORT, receiver(204));
      await type(one, next, /checkout events replay \S+/);
      one.harness.clock.advance(20_000);
      await untilListed(one, "204");
    },
  })),
  {
    what: "an endpoint that is disabled",
    breaks: async (one) => {
      await one.start();
      await one.harness.run(["endpoints", "disable", await addEndpoint(one)]);
    },
    check: "endpoints",
    status: "problem",
    found: /\bdisabled\b/,
    next: /^checkout endpoints enable \S+$/,
    remedy: (one, next) => type(one, next, /checkout .*/),
  },
  {
    what: "a variable that no command reads",
    breaks: () => ({ env: { CHECKOUT_SANDBOX_RATELIMIT: "5/s" } }),
    check: "variables",
    status: "warning",
    found: /CHECKOUT_SANDBOX_RATELIMIT/,
    next: /CHECKOUT_SANDBOX_RATE_LIMIT/,
    remedy: () => ({ env: { CHECKOUT_SANDBOX_RATE_LIMIT: "5/s" } }),
  },
  {
    what: "a variable with an invalid value",
    breaks: () => ({ env: { CHECKOUT_TIMEOUT: "soon" } }),
    check: "variables",
    status: "problem",
    found: /CHECKOUT_TIMEOUT/,
    next: /CHECKOUT_TIMEOUT/,
    remedy: () => ({ env: { CHECKOUT_TIMEOUT: "2s" } }),
  },
  {
    what: "a service address without an API key",
    breaks: () => ({ env: { CHECKOUT_BASE_URL: "https://pay.example/v1" } }),
    check: "service",
    status: "problem",
    found: /https:\/\/pay\.example/,
    next: /CHECKOUT_API_KEY/,
    remedy: () => ({ env: { CHECKOUT_BASE_URL: "https://pay.example/v1", CHECKOUT_API_KEY: "svc_test_x" } }),
  },
  {
    what: "a sandbox of another version",
    breaks: async ({ start }) => {
      const old = await start({ version: "0.0.9" });
      oldSandbox = old;
    },
    check: "version",
    status: "warning",
    found: /0\.0\.9/,
    remedy: async ({ start }) => {
      await oldSandbox?.stop();
      await start();
    },
  },
  {
    what: "an old Node",
    breaks: () => ({ world: { machine: machineOf("20.18.0") } }),
    check: "node",
    status: "problem",
    found: inOrder("20.18.0", NEEDED_NODE),
    remedy: () => ({ world: { machine: machineOf("24.1.0") } }),
  },
  {
    what: "a disk that is full",
    breaks: () => ({ world: { files: onDisk({ freeBytes: 1000, isWritable: true }) } }),
    check: "disk",
    status: "problem",
    found: /^0 MiB/,
    remedy: () => ({ world: { files: onDisk({ freeBytes: 1e12, isWritable: true }) } }),
  },
  {
    what: "a disk that is not writable",
    breaks: () => ({ world: { files: onDisk({ freeBytes: 1e12, isWritable: false }) } }),
    check: "disk",
    status: "problem",
    found: /\.checkout\b/,
    next: /--dir/,
    remedy: () => ({ world: { files: onDisk({ freeBytes: 1e12, isWritable: true }) } }),
  },
  {
    what: "a state folder on a network file system",
    breaks: () => ({ world: { files: onDisk({ freeBytes: 1e12, isWritable: true, fileSystem: "nfs" }) } }),
    check: "folder",
    status: "warning",
    found: /\bnfs\b/,
    next: /--dir/,
    remedy: () => ({ world: { files: onDisk({ freeBytes: 1e12, isWritable: true, fileSystem: "ext4" }) } }),
  },
  {
    what: "a machine whose clock is behind",
    breaks: ({ file }) => utimesSync(file("credentials.json"), 9e9, 9e9),
    check: "clock",
    status: "warning",
    found: /\b\d{10} s\b/,
    remedy: () => ({ world: { now: () => 9e12 } }),
  },
  {
    what: "errors in the log of a detached sandbox",
    breaks: ({ file }) =>
      writeFileSync(
        file("sandbox.log"),
        `12:00:00.000Z  200  GET /healthz  1.0 ms    id\n12:00:01.000Z  500  POST /v1/orders  1.0 ms  internal_error  id\n`,
        { mode: 0o600 },
      ),
    check: "log",
    status: "warning",
    found: /12:00:01\.000Z 500 POST/,
    next: /checkout sandbox logs/,
    remedy: ({ file }) => rmSync(file("sandbox.log")),
  },
];

let oldSandbox: RunningSandbox | undefined;

function writeRun(path: string, killed: { readonly pid: number; readonly folder?: string }): void {
  const text = JSON.stringify({
    started: "started 999999",
    port: 4242,
    control_token: "svc_control_x",
    ...killed,
  });
  writeFileSync(path, text, { mode: 0o600 });
}

function machineOf(nodeVersion: string): World["machine"] {
  return () => ({ nodeVersion, node: { path: "/usr/bin/node", isEmbedded: false }, system: "Linux" });
}

function onDisk(disk: {
  readonly freeBytes: number;
  readonly isWritable: boolean;
  readonly fileSystem?: string;
}): World["files"] {
  return { ...files, disk: () => ({ fileSystem: undefined, ...disk }) };
}

test("doctor judges an endpoint by its newest delivery, even if another delivery ended at the same time", async () => {
  const one = await createPatient();
  one.harness.occupy(RECEIVER_PORT, receiver(500));
  await one.start();
  await addEndpoint(one);
  await one.harness.run(["trigger", "order.created", "--order-id", "order-2"]);
  await untilListed(one, "500");
  const { next } = rowOf(await examine(one.harness), "endpoints");
  one.harness.occupy(RECEIVER_PORT, receiver(204));
  await type(one, next, /checkout events replay \S+/);
  await eventually("the replay has its answer", async () => {
    const { stdout } = await one.harness.run(["deliveries", "list"]);
    expect(stdout).toMatch(/(^| {2})204 {2}/m);
  });
  expect(rowOf(await examine(one.harness), "endpoints")).toMatchObject({ status: "ok", next: null });
});

test.for(BROKEN_CASES)("doctor finds $what, and the suggested remedy works", async (row) => {
  const one = await createPatient({ hasJournal: row.check.endsWith(".db") });
  const command = (await row.breaks(one)) ?? {};
  const sick = await examine(one.harness, command);
  const seen = rowOf(sick, row.check);
  expect([seen.status, seen.found]).toEqual([row.status, expect.stringMatching(row.found ?? /\S/)]);
  expect(seen.next).toMatch(row.next ?? /\S/);
  expect(sick.code).toBe(sick.checks.some(({ status }) => status === "problem") ? 1 : 0);
  expect(sick.ok).toBe(sick.code === 0);
  const cured = await examine(one.harness, (await row.remedy(one, seen.next)) ?? {});
  expect(rowOf(cured, row.check)).toMatchObject({ status: "ok", next: null });
});

test("doctor reports no problem for injected error answers, a receiver's errors in the log or a refused forged webhook", async () => {
  const one = await createPatient();
  const log = one.file("sandbox.log");
  const lines: string[] = [];
  for (const format of ["text", "json"] as const) {
    const stream = { writableNeedDrain: false, write: (text: string) => lines.push(text) };
    const access = createAccessLog({ after: () => undefined }, { format, stream });
    const request = {
      at: 0,
      status: 503,
      method: "POST",
      target: "/v1/orders",
      milliseconds: 1,
      requestId: "id",
    };
    for (const note of ["fault status", "order-1, fault status", "order-1 replayed, fault lose_answer"])
      access.add({ ...request, note });
    const sent = {
      at: 0,
      url: HOOKS,
      error: null,
      type: "order.created",
      eventId: "e",
      attempt: 1,
      cause: "event",
    } as const;
    access.add({ ...sent, status: 503, milliseconds: 1 });
    access.flush();
  }
  writeFileSync(log, lines.join(""), { mode: 0o600 });
  expect(rowOf(await examine(one.harness), "log")).toMatchObject({ status: "ok" });
  one.harness.occupy(RECEIVER_PORT, receiver(400));
  await one.start();
  await addEndpoint(one);
  await one.harness.run(["faults", "add", "bad_signature"]);
  await one.harness.run(["trigger", "order.created", "--order-id", "order-2"]);
  await untilListed(one, "400");
  expect(rowOf(await examine(one.harness), "endpoints")).toMatchObject({ status: "ok", next: null });
});

test("doctor reports that the endpoint of a stopped listener waits for its listener, and suggests checkout listen", async () => {
  const one = await createPatient();
  await one.start();
  const listening = await one.harness.launch(["listen", "--json", "--port", "0"]);
  await listening.stop();
  expect(rowOf(await examine(one.harness), "endpoints")).toMatchObject({
    status: "warning",
    next: "checkout listen",
  });
});

test("doctor finds no problem in a healthy sandbox, a stopped sandbox or an empty folder", async () => {
  const one = await createPatient();
  expect((await examine(one.harness)).code).toBe(0);
  await one.start();
  const well = await examine(one.harness, { world: { portOwner: () => undefined } });
  expect(well.checks.filter(({ status }) => status !== "ok")).toEqual([]);
  expect(well.code).toBe(0);
  expect((await examine(one.harness, { cwd: tempFolder() })).code).toBe(0);
});

test("doctor reports a running sandbox that does not answer, and a copied folder", async () => {
  const one = await createPatient();
  const sandbox = await one.start();
  one.harness.vacate(Number(new URL(sandbox.ready.base_url).port));
  const row = rowOf(await examine(one.harness), "health");
  expect(row.status).toBe("problem");
  expect(row.next).toMatch(/kill \d+; checkout sandbox start$/);
  const copy = tempFolder();
  execFileSync("cp", ["-a", one.folder, copy]);
  const lock = async (): Promise<Row> => rowOf(await examine(one.harness, { cwd: copy }), "lock");
  const copied = await lock();
  expect(copied).toMatchObject({ status: "warning", next: "checkout sandbox start" });
  // The report distinguishes the copied folder from the folder of a killed sandbox.
  writeRun(join(copy, ".checkout", "run.json"), { pid: 999_999 });
  const withoutPid = (found: string): string => found.replace(/\d+/, "PID");
  expect(withoutPid((await lock()).found)).not.toBe(withoutPid(copied.found));
});

const STATE_FILES = [
  "sandbox.db",
  "master.key",
  "credentials.json",
  "journal.db",
  "admin.json",
  "run.json",
  "sandbox.log",
];
const DAMAGE: Readonly<Record<string, (path: string) => void>> = {
  missing: () => undefined,
  empty: (path) => writeFileSync(path, "", { mode: 0o600 }),
  rubbish: (path) => writeFileSync(path, Buffer.alloc(5000, 0x9c), { mode: 0o600 }),
  folder: (path) => mkdirSync(path, { mode: 0o700 }),
  "link to nowhere": (path) => symlinkSync("nowhere", path),
  "link to itself": (path) => symlinkSync(basename(path), path),
  "half of it": (path) => writeFileSync(path, '{"pid": 1, "api_key": "svc_t', { mode: 0o600 }),
};

test("doctor gives a complete report whatever is broken, changes nothing, and sends nothing to another machine", async () => {
  const sent: string[] = [];
  const one = await createPatient();
  one.harness.setFault((request, pass) => {
    sent.push(new URL(request.url).hostname);
    return pass();
  });
  const aside = join(tempFolder(), "aside");
  for (const name of STATE_FILES) {
    const isThere = existsSync(one.file(name));
    if (isThere) renameSync(one.file(name), aside);
    for (const [how, damage] of Object.entries(DAMAGE)) {
      damage(one.file(name));
      const before = treeOf(one.harness.cwd);
      const report = await examine(one.harness, {
        env: {
          CHECKOUT_BASE_URL: "https://pay.example/v1",
          CHECKOUT_CONTROL_TOKEN: "a-control-token-of-mine",
          HTTPS_PROXY: "http://proxy.example:3128",
        },
      });
      expect([name, how, report.checks.length]).toEqual([name, how, 19]);
      expect([name, how, treeOf(one.harness.cwd)]).toEqual([name, how, before]);
      rmSync(one.file(name), { recursive: true, force: true });
    }
    if (isThere) renameSync(aside, one.file(name));
  }
  expect(sent.filter((host) => host !== "127.0.0.1")).toEqual([]);
  expect((await examine(one.harness)).code).toBe(0);
});

function treeOf(folder: string): unknown {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => {
      const path = join(folder, name);
      const facts = files.stat(path);
      const content = facts?.kind === "file" ? readFileSync(path).toString("latin1") : facts?.kind;
      return [name, content, facts?.changedAt];
    });
}

const CANARY = "canary-7f3a9c51e2";

test("doctor's report shows no secret, whichever variable, address or file has it", async () => {
  const one = await createPatient();
  const names =
    "API_KEY SIGNING_SECRET CONTROL_TOKEN ADMIN_TOKEN SANDBOX_API_KEY SANDBOX_SIGNING_SECRET SANDBOX_CONTROL_TOKEN SANDBOX_ADMIN_TOKEN MY_PASSWORD LISTEN_HEADER LISTEN_FORWARD LISTEN_CA LISTEN_ROUTE STORE_ID SANDBOX_PORT STRANGE APIKEY";
  const env = Object.fromEntries(
    names.split(" ").map((name) => [`CHECKOUT_${name}`, `${CANARY}-of-${name.toLowerCase()}`]),
  );
  const url = `http://user:${CANARY}@proxy.example:3128/${CANARY}`;
  for (const name of ["HTTP_PROXY", "https_proxy", "ALL_PROXY"]) env[name] = url;
  const sandbox = await one.start({ env: { CHECKOUT_ADMIN_TOKEN: env["CHECKOUT_ADMIN_TOKEN"] ?? "" } });
  const ready = sandbox.ready;
  one.harness.occupy(
    RECEIVER_PORT,
    receiver(500, `no ${CANARY}-of-api_key ${ready.api_key} ${ready.signing_secret}`),
  );
  await addEndpoint(one);
  await one.harness.run(["trigger", "order.created", "--order-id", "order-2"]);
  await untilListed(one, "500");
  const kept = ["admin.json", "run.json"].map((name) => readFileSync(one.file(name), "utf8"));
  const masterKey = readFileSync(one.file("master.key"), "utf8").trim();
  const tokens = kept.flatMap((text) => text.match(/svc_\w+|canary[\w-]+/g) ?? []);
  const secrets = [ready.api_key ?? "", ready.signing_secret, masterKey, ...tokens];
  expect(secrets.every((secret) => secret.length > 15) && secrets.length > 4).toBe(true);
  const line = secrets.map((secret) => `12:00:00.000Z  500  GET /x?${secret}  1 ms\n`).join("");
  writeFileSync(one.file("sandbox.log"), line, { mode: 0o600 });
  for (const base of [undefined, url, `http://127.0.0.1:1/${CANARY}`]) {
    const given = base === undefined ? env : { ...env, CHECKOUT_BASE_URL: base };
    for (const args of [[], ["--json"]]) {
      const { stdout, stderr } = await one.harness.run(["doctor", ...args], { env: given });
      expect(stdout).toContain("variables");
      const hits = [CANARY, "path-secret", ...secrets].filter((secret) =>
        `${stdout}${stderr}`.includes(secret),
      );
      expect([base, hits]).toEqual([base, []]);
    }
  }
});

test("doctor's text has at most 80 columns and no escapes, and begins with the version and the time", async () => {
  const one = await createPatient();
  chmodSync(one.file("credentials.json"), 0o644);
  writeFileSync(one.file("sandbox.log"), `12:00:00.000Z  500  GET /\u001b[31m${"x ".repeat(200)}\n`, {
    mode: 0o600,
  });
  const env = { CHECKOUT_X: "1" };
  const { stdout } = await one.harness.run(["doctor"], { env });
  const [head = ""] = stdout.split("\n");
  expect(head).toMatch(/\d+\.\d+\.\d+, 20\S+Z$/);
  const long = stdout.split("\n").filter((line) => line.length > 80 && line.trim().includes(" "));
  expect(long).toEqual([]);
  expect(stdout).not.toMatch(/[[\p{Cc}]--[\n]]/v);
  const { checks } = await examine(one.harness, { env });
  const counts = ["problem", "warning", "unknown"].map(
    (status) => checks.filter((row) => row.status === status).length,
  );
  expect(stdout.trimEnd().split("\n").at(-1)?.match(/\d+/g)?.map(Number)).toEqual(counts);
});

test("doctor of the built program reports on a running and on a killed sandbox, and changes nothing", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd });
  const env = { CHECKOUT_SANDBOX_RATE_LIMIT: "5/s", npm_command: "" };
  const live = await runHere(["doctor", "--json"], { cwd, env });
  const rows = (JSON.parse(live.stdout) as Report).checks;
  expect(rows.filter(({ status }) => status !== "ok")).toEqual([]);
  expect(live.code).toBe(0);
  await sandbox.stop("SIGKILL");
  const before = treeOf(cwd);
  const killed = await run(["doctor", "--json"], { cwd, env });
  expect(killed.code).toBe(0);
  const left = rowOf(JSON.parse(killed.stdout) as Report, "lock");
  expect(left).toMatchObject({ status: "warning", next: "checkout sandbox start" });
  expect(rowOf(JSON.parse(killed.stdout) as Report, "sandbox.db").status).toBe("ok");
  expect(treeOf(cwd)).toEqual(before);
  expect(statSync(join(cwd, ".checkout")).mode & 0o777).toBe(0o700);
});

test("doctor knows every variable of the program", async () => {
  const world = { ...REAL, argv: [] };
  const known = await listKnownVariables({ world, version: "0.0.0", exit: () => undefined });
  expect(
    (await createProgram({ world, version: "0.0.0", exit: () => undefined })).commands.length,
  ).toBeGreaterThan(10);
  const src = join(import.meta.dirname, "../../src");
  const named = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap(
      (name) =>
        readFileSync(join(src, name), "utf8").match(/(?<![A-Z_])CHECKOUT_[A-Z_]*[A-Z](?![A-Z_]*_MS)/g) ?? [],
    );
  // Prefixes of variable names, and the delimiter of a text for GitHub.
  const otherNames = new Set(["CHECKOUT_SANDBOX", "CHECKOUT_LISTEN", "CHECKOUT_END"]);
  const strange = new Set(
    named.filter((name) => !known.has(name) && !otherNames.has(name) && !isTargetVariable(name)),
  );
  expect([...strange].filter((name) => !name.startsWith("CHECKOUT_LIFETIME"))).toEqual([]);
  expect(named.length).toBeGreaterThan(20);
});
