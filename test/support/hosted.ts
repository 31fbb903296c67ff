import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { markedKeyBytes, markOfId } from "../../src/hosted/shared/marks.ts";
import { heldPort } from "./ports.ts";
import { createSeeded, type Site } from "./raw-requests.ts";
import { sendRaw } from "./send-raw.ts";
import type { V1Sandbox } from "./v1-sandboxes.ts";
import { API_KEY_RANDOM_BYTES, formatTestKey, hashKey } from "../../src/core/credential.ts";
import { WORKER_FILE } from "../../src/host/folder/files.ts";
import type { FirstStore } from "../../src/hosted/shared/settings.ts";
import { stateFile } from "../../src/host/folder/files.ts";
import { SECRET_BINDINGS, workerdConfig } from "../../src/hosted/dev/workerd-config.ts";

const ROOT = join(import.meta.dirname, "../..");
const START_TIMEOUT_MS = 20_000;

/** A hosted service in workerd, and the secrets of its operator. */
export type HostedService = {
  readonly folder: string;
  readonly port: number;
  readonly origin: string;
  readonly controlToken: string;
  readonly adminToken: string;
  /** Calls an operation of the control API, and returns its data. Throws if it is refused. */
  readonly control: (path: string, body?: unknown) => Promise<Readonly<Record<string, unknown>>>;
  /** The output of workerd. */
  readonly printed: () => string;
  readonly pid: () => number;
  /** Kills the process as SIGKILL does. */
  readonly kill: () => Promise<void>;
  /** Starts the process again on the same state and port, optionally with another first store. */
  readonly restart: (first?: FirstStore) => Promise<void>;
  readonly end: () => Promise<void>;
};

export type HostedStore = { readonly storeId: string; readonly merchantId: string; readonly apiKey: string };

/** Starts `workerd serve` with the built Worker, in a new folder, which is removed at the end. */
export async function startHosted({
  allowTargets = ["127.0.0.1"],
  worker = join(ROOT, "dist", WORKER_FILE),
  maxFileKiB,
  firstStore,
}: {
  readonly allowTargets?: readonly string[];
  /** Maximum size of a file that the first process writes; the process after a restart has no limit. */
  readonly maxFileKiB?: number;
  /** The path of another Worker, with the same classes of objects. */
  readonly worker?: string;
  /** The first store, if the operator already has it on disk. Default: the index generates it. */
  readonly firstStore?: FirstStore;
} = {}): Promise<HostedService> {
  const folder = mkdtempSync(join(tmpdir(), "checkout-test-"));
  const port = await heldPort();
  const origin = `http://127.0.0.1:${port}`;
  const [controlToken, adminToken] = ["svc_control_", "svc_admin_"].map(
    (prefix) => prefix + randomBytes(24).toString("hex"),
  ) as [string, string];
  const about = {
    dataDir: folder,
    home: folder,
    folderHold: null,
    logFile: null,
    pid: 1,
    startedAt: 0,
    version: "0.1.0",
  };
  const settings = { port, origin, rateLimit: "off", allowTargets, ...about } as const;
  mkdirSync(stateFile(folder, "objects"));
  copyFileSync(worker, stateFile(folder, "worker"));
  writeFileSync(
    stateFile(folder, "workerdConfig"),
    workerdConfig({ settings, objects: stateFile(folder, "objects"), allowAddresses: allowTargets }),
  );
  const env = {
    [SECRET_BINDINGS.CONTROL_TOKEN]: controlToken,
    [SECRET_BINDINGS.ADMIN_TOKEN]: adminToken,
    [SECRET_BINDINGS.MASTER_KEY]: randomBytes(32).toString("hex"),
    [SECRET_BINDINGS.FIRST_STORE]: JSON.stringify(firstStore ?? null),
  };
  let printed = "";
  const start = async (limit?: number): Promise<ChildProcess> => {
    // The program inherits the ignored signal, so a write beyond the limit fails and does not end the program.
    const limited = `trap "" XFSZ; ulimit -f ${(limit ?? 0) * 2}; exec "$@"`;
    const args = ["serve", stateFile(folder, "workerdConfig")];
    const isLimited = limit !== undefined;
    const program = isLimited ? "sh" : workerd();
    const child = spawn(program, isLimited ? ["-c", limited, "sh", workerd(), ...args] : args, {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => (printed += String(part)));
    await untilReady(origin, child, () => printed);
    return child;
  };
  let child = await start(maxFileKiB);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  };
  return {
    folder,
    port,
    origin,
    controlToken,
    adminToken,
    control: (path, body) => callControl({ origin, controlToken }, path, body),
    printed: () => printed,
    pid: () => child.pid ?? 0,
    kill,
    restart: async (first) => {
      if (first !== undefined) env[SECRET_BINDINGS.FIRST_STORE] = JSON.stringify(first);
      child = await start();
    },
    end: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The databases of the objects of a class, without the list of their alarms. */
export function objectDatabases({ folder }: HostedService, kind: "stores" | "index"): readonly string[] {
  const objects = join(stateFile(folder, "objects"), kind);
  return readdirSync(objects)
    .filter((name) => name.endsWith(".sqlite") && name !== ALARMS)
    .map((name) => join(objects, name));
}

export function databaseOf(service: HostedService, storeId: string): string {
  const found = objectDatabases(service, "stores").find((path) =>
    readDatabase(path, (rows) => {
      const hasStores = rows.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'stores'").get() !== undefined;
      return hasStores && rows.prepare("SELECT 1 FROM stores WHERE id = ?").get(storeId) !== undefined;
    }),
  );
  if (found === undefined) throw new Error(`no object has the store ${storeId}`);
  return found;
}

/** The number of alarms that the objects of a class have set. */
export function countAlarms({ folder }: HostedService, kind: "stores" | "index"): number {
  const path = join(stateFile(folder, "objects"), kind, ALARMS);
  return readDatabase(path, (rows) => Number(rows.prepare("SELECT count(*) FROM _cf_ALARM").pluck().get()));
}

/** Reads a database while the service runs. */
export function readDatabase<Value>(path: string, read: (rows: Database.Database) => Value): Value {
  const rows = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return read(rows);
  } finally {
    rows.close();
  }
}

/** The file in which workerd keeps the alarms of a class of objects. */
const ALARMS = "metadata.sqlite";

/** A new store of a service, for the tests of v1. Its clock is frozen at `now`. */
export async function hostedV1(service: HostedService, now: string): Promise<V1Sandbox> {
  const { port } = service;
  const { storeId, apiKey } = await createHostedStore(service);
  const moveClock = (body: unknown) => service.control(`/stores/${storeId}/clock`, body);
  await moveClock({ action: "freeze" });
  await moveClock({ action: "set", to: now });
  return {
    storeId,
    get database() {
      return databaseOf(service, storeId);
    },
    advance: async (milliseconds) => void (await moveClock({ action: "advance", by_ms: milliseconds })),
    request: ({ method, path, headers = {}, body }) => {
      const sent = {
        Authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      };
      return sendRaw(
        { port, method: method ?? (body === undefined ? "GET" : "POST"), path, headers: sent },
        body,
      );
    },
  };
}

/**
 * A store for the bad requests: it has an open order, and so has a second, inactive store. Rows that no operation
 * creates are written into the database while the service runs.
 */
export async function openHostedSite(service: HostedService): Promise<Site> {
  const [{ storeId, apiKey }, inactive] = [
    await createHostedStore(service),
    await createHostedStore(service),
  ];
  const newKey = (id: string): string =>
    formatTestKey(markedKeyBytes(markOfId(id) ?? 0, randomBytes(API_KEY_RANDOM_BYTES)));
  const words: Record<string, string> = {
    host: `127.0.0.1:${service.port}`,
    port: String(service.port),
    apiKey,
    mistypedKey: apiKey.slice(0, -1) + (apiKey.endsWith("0") ? "1" : "0"),
    cutKey: apiKey.slice(0, -1),
    shoutedKey: apiKey.replace("svc_test_", "SVC_TEST_"),
    signingSecret: "whsec_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
    inactiveKey: inactive.apiKey,
    scopelessKey: newKey(inactive.storeId),
    unknownKey: newKey(storeId),
  };
  const served = {
    sandbox: { port: service.port },
    database: databaseOf(service, storeId),
    words,
    requestIds: [],
  };
  // The requests need only the port of a sandbox.
  const site = served as unknown as Site;
  await createSeeded(site, apiKey);
  words["foreignSession"] = await createSeeded(site, inactive.apiKey);
  const rows = new Database(databaseOf(service, inactive.storeId), { fileMustExist: true });
  const scopeless = words["scopelessKey"] ?? "";
  rows
    .prepare(
      `INSERT INTO credentials (id, store_id, key_hash, last_four, scopes, created_at, for_drill)
       VALUES ('scopeless', ?, ?, ?, '', 0, 0)`,
    )
    .run(inactive.storeId, hashKey(scopeless), scopeless.slice(-4));
  rows.prepare("UPDATE stores SET active = 0").run();
  rows.close();
  return site;
}

export async function createHostedStore({ control }: HostedService, name = "A store"): Promise<HostedStore> {
  const made = await control("/stores", { name });
  return {
    storeId: String(made["store_id"]),
    merchantId: String(made["merchant_id"]),
    apiKey: String(made["api_key"]),
  };
}

async function callControl(
  { origin, controlToken }: Pick<HostedService, "origin" | "controlToken">,
  path: string,
  body: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${origin}/__sandbox${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { Authorization: `Bearer ${controlToken}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { readonly ok: boolean; readonly data: Record<string, unknown> };
  if (!answer.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer.data;
}

/** The path of this platform's workerd, without its wrapper script. */
function workerd(): string {
  const [path] = globSync("node_modules/@cloudflare/workerd-*/bin/workerd*", { cwd: ROOT });
  if (path === undefined) throw new Error("workerd is not installed: type npm ci");
  return join(ROOT, path);
}

async function untilReady(origin: string, child: ChildProcess, printed: () => string): Promise<void> {
  for (const until = performance.now() + START_TIMEOUT_MS; performance.now() < until;) {
    if (child.exitCode !== null) throw new Error(`workerd ended: ${printed()}`);
    const answer = await fetch(`${origin}/healthz`).catch(() => undefined);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`workerd is not ready: ${printed()}`);
}
