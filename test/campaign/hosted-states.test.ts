import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { parseCredentials } from "../../src/core/state-files.ts";
import { indexPath } from "../../src/hosted/dev/state.ts";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { part, SEED, seededRandom, size, report } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import {
  beginHostedFolder,
  digestsOf,
  putFolder,
  readyOf,
  startHostedFolder,
} from "../support/hosted-folder.ts";
import { openHttpReceiver } from "../support/http-receiver.ts";
import { runHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { isStorageFailureCode } from "../../src/store/connection/storage-failure.ts";

/** A state with two stores and due deliveries whose process was killed; `posts` counts all requests to its receiver. */
type KilledState = {
  /** The folder in which the state was served, and to which it belongs. */
  readonly folder: string;
  /** A copy of the folder as the kill left it. */
  readonly kept: string;
  readonly ready: ReadyMessage;
  readonly posts: () => number;
};

async function createKilledState(): Promise<KilledState> {
  const [folder, kept] = [join(tempFolder(), ".checkout"), join(tempFolder(), "kept")];
  let posts = 0;
  const url = await openHttpReceiver((_request, response) => {
    posts += 1;
    response.writeHead(500).end();
  });
  const { ready, stop } = await startHostedFolder(folder);
  if (ready === undefined) throw new Error("the first start is served");
  await command(folder, `endpoints add ${url}`);
  await command(folder, "stores create --name Second --json");
  await command(folder, "orders create --order-id order-1 --price-id price_coffee --json");
  await eventually("an event was refused once", () => expect(posts).toBeGreaterThan(0));
  await stop("SIGKILL");
  putFolder(folder, kept);
  return { folder, kept, ready, posts: () => posts };
}

/** Runs a command on a folder; returns its output. */
async function command(folder: string, line: string): Promise<string> {
  const { code, stdout, stderr } = await runHere([...line.split(" "), "--dir", folder], {
    cwd: tempFolder(),
  });
  expect([line, code], stderr).toEqual([line, 0]);
  return stdout;
}

/** The files that the start of a state needs. */
const FILES = ["credentials.json", "master.key", "admin.json"] as const;
const DATABASES = ["index", "first store", "second store", "index alarms", "store alarms"] as const;
const FOLDERS = ["objects", "objects/index", "objects/stores"] as const;
const FORMS = ["removed", "emptied", "cut", "foreign", "a link"] as const;
const LOGS = ["with its log", "without its log", "with an empty log"] as const;

type Damage = {
  readonly part: string;
  readonly form: (typeof FORMS)[number];
  readonly log: (typeof LOGS)[number];
};

const DAMAGES: readonly Damage[] = [
  ...FILES.flatMap((name) => FORMS.map((form) => ({ part: name, form, log: LOGS[0] }))),
  ...DATABASES.flatMap((name) => FORMS.flatMap((form) => LOGS.map((log) => ({ part: name, form, log })))),
  ...FOLDERS.flatMap((name) =>
    (["removed", "emptied", "a link"] as const).map((form) => ({ part: name, form, log: LOGS[0] })),
  ),
];

/** Number of rounds over all damages; each round truncates the files at different bytes. */
const ROUNDS = size(1, 2);

test("a start with a damaged state serves the same stores, or changes nothing and names the file to restore", async () => {
  const random = seededRandom(SEED);
  const wrong: string[] = [];
  const ends = { served: 0, refused: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const state = await createKilledState();
    for (const damage of part(DAMAGES, 24)) {
      putFolder(state.kept, state.folder);
      damageState(state.folder, damage, random());
      const { isServed, found } = await startDamaged(state, damage);
      ends[isServed ? "served" : "refused"] += 1;
      if (found !== undefined) wrong.push(`${JSON.stringify(damage)}: ${found}`);
    }
  }
  report([...wrong, `damaged starts: ${JSON.stringify(ends)}`]);
  expect(wrong).toEqual([]);
  expect(ends.refused).toBeGreaterThan(0);
});

type Problem = { readonly error: { readonly code: string }; readonly next: string };
/** Matches the code of a refusal of a part of the state folder. */
const STATE_REFUSAL = /^(state|master_key|database|journal)_/;

/** Starts a damaged state; returns whether it is served, and the first error. */
async function startDamaged({ folder, ready, posts }: KilledState, { part: name, form }: Damage) {
  const before = { files: digestsOf(folder), posts: posts() };
  const started = await startHostedFolder(folder);
  if (started.ready === undefined) {
    const { stderr } = started.output;
    const { error, next } = JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as Problem;
    const isOfState = STATE_REFUSAL.test(error.code) || isStorageFailureCode(error.code);
    const isClear = isOfState && stderr.includes(folder) && next !== "";
    const made = Object.entries(digestsOf(folder)).filter(([file, digest]) => before.files[file] !== digest);
    const faults = [
      ...(isClear ? [] : [`not clear: ${stderr}`]),
      ...made.map(([file]) => `made or changed ${file}`),
      ...(posts() === before.posts ? [] : ["sent events"]),
      ...((await doctor(folder)).includes('"status":"problem"') ? [] : ["no problem for doctor"]),
    ];
    return { isServed: false, found: faults[0] };
  }
  const stores = JSON.parse(await command(folder, "stores list --json")) as { readonly stores: unknown[] };
  await started.stop("SIGKILL");
  const key = name === "credentials.json" && form === "removed" ? null : ready.api_key;
  const got = [started.ready.store_id, started.ready.api_key, stores.stores.length];
  const isSame = JSON.stringify(got) === JSON.stringify([ready.store_id, key, 2]);
  return { isServed: true, found: isSame ? undefined : `served ${JSON.stringify(got)}` };
}

async function doctor(folder: string): Promise<string> {
  return (await runHere(["doctor", "--json", "--dir", folder], { cwd: tempFolder() })).stdout;
}

function damageState(folder: string, { part: name, form, log }: Damage, random: number): void {
  const path = pathOf(folder, name);
  const isFolder = statSync(path).isDirectory();
  if (log === "without its log") for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
  if (log === "with an empty log" && existsSync(`${path}-wal`)) truncateSync(`${path}-wal`);
  if (form === "a link") {
    const away = join(tempFolder(), "away");
    renameSync(path, away);
    symlinkSync(away, path);
    return;
  }
  if (isFolder || form === "removed") rmSync(path, { recursive: true });
  if (isFolder && form === "emptied") mkdirSync(path, { mode: 0o700 });
  if (isFolder || form === "removed") return;
  if (form === "emptied") truncateSync(path);
  if (form === "cut") truncateSync(path, Math.floor(statSync(path).size * random));
  if (form === "foreign") writeFileSync(path, "no database ".repeat(1000));
}

/** The path of a part of a state. The stores' databases are in the order of their file names, which is arbitrary. */
function pathOf(folder: string, name: string): string {
  const databases = (kind: string): readonly string[] =>
    readdirSync(join(folder, "objects", kind))
      .filter((file) => file.endsWith(".sqlite") && file !== ALARMS)
      .map((file) => join(folder, "objects", kind, file));
  const [index = "", first = "", second = ""] = [...databases("index"), ...databases("stores")];
  const named: Readonly<Record<string, string>> = {
    index,
    "first store": first,
    "second store": second,
    "index alarms": join(folder, "objects/index", ALARMS),
    "store alarms": join(folder, "objects/stores", ALARMS),
  };
  return named[name] ?? join(folder, name);
}

const ALARMS = "metadata.sqlite";

/** Changes with which the author of a repository can make a copied state look new. */
const CRAFTS: readonly ((folder: string) => void)[] = [
  () => undefined,
  (folder) => {
    const rows = new Database(pathOf(folder, "index"));
    rows.exec("DELETE FROM home");
    rows.close();
  },
  (folder) => {
    const path = join(folder, "credentials.json");
    const kept = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ready: false, ...kept }));
  },
];

test("a copied state delivers nothing until it is adopted, even if it was edited to look new, and the original still delivers", async () => {
  const { folder, kept, posts } = await createKilledState();
  const copy = join(tempFolder(), ".checkout");
  const before = posts();
  for (const craft of CRAFTS) {
    putFolder(kept, copy);
    craft(copy);
    const held = await startHostedFolder(copy);
    await eventually("the start says that it holds the events", () =>
      expect(held.output.stderr).toMatch(/hosted dev --adopt/),
    );
    await command(copy, "sandbox clock advance 1h --json");
    expect(await command(copy, "endpoints list --json")).toContain("--adopt");
    await held.stop("SIGINT");
    expect(posts()).toBe(before);
  }
  const original = await startHostedFolder(folder);
  expect(original.output.stderr).toBe("");
  await eventually("the original delivers", () => expect(posts()).toBeGreaterThan(before));
  await original.stop("SIGINT");
  const sent = posts();
  const adopted = await startHostedFolder(copy, ["--adopt"]);
  expect(adopted.output.stderr).toBe("");
  await command(copy, "orders list --json");
  await eventually("the adopted copy delivers", () => expect(posts()).toBeGreaterThan(sent));
  await adopted.stop("SIGINT");
  const again = await startHostedFolder(copy);
  expect(again.output.stderr).toBe("");
});

test("a start succeeds if an earlier first start was killed when only the empty index existed", async () => {
  const folder = join(tempFolder(), ".checkout");
  const path = indexPath(folder);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, "", { mode: 0o600 });
  const started = await startHostedFolder(folder);
  expect([started.ready?.api_key, started.output.stderr]).toEqual([expect.stringMatching(/^svc_test_/), ""]);
  await started.stop("SIGKILL");
  const [kept] = Object.values(
    parseCredentials(readFileSync(join(folder, "credentials.json"), "utf8"))?.stores ?? {},
  );
  expect(kept?.api_key).toBe(started.ready?.api_key);
});

const KILLS = size(2, 45);
/** Maximum time until a kill, which is about the time of a first start. */
const KILL_WITHIN_MS = 1500;

test("a first start that is killed at any time loses no key and makes no second store", async () => {
  const random = seededRandom(SEED);
  const wrong: string[] = [];
  for (let at = 0; at < KILLS; at += 1) {
    const folder = join(tempFolder(), ".checkout");
    const cycles = 1 + Math.floor(random() * 3);
    const shown = new Map<string, string | null>();
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const started = beginHostedFolder(folder);
      await sleep(random() * KILL_WITHIN_MS);
      await started.stop("SIGKILL");
      const ready = readyOf(started);
      if (ready !== undefined) shown.set(ready.store_id, ready.api_key);
    }
    const last = await startHostedFolder(folder);
    if (last.ready === undefined) {
      wrong.push(`start ${at} is refused: ${last.output.stderr}`);
      continue;
    }
    shown.set(last.ready.store_id, last.ready.api_key);
    const created = await runHere(
      ["orders", "create", "--order-id", "o-1", "--price-id", "price_coffee", "--dir", folder, "--json"],
      { cwd: tempFolder() },
    );
    const stores = JSON.parse(await command(folder, "stores list --json")) as { readonly stores: unknown[] };
    await last.stop("SIGKILL");
    const isOne = shown.size === 1 && last.ready.api_key !== null && stores.stores.length === 1;
    if (!isOne || created.code !== 0)
      wrong.push(
        `start ${at}: ${JSON.stringify([...shown])}, ${stores.stores.length} stores, ${created.stderr}`,
      );
  }
  report(wrong);
  expect(wrong).toEqual([]);
});
