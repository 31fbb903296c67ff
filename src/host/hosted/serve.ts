// Runs a hosted service on this machine, in workerd. Its configuration: host/hosted/workerd-config.ts; the Worker:
// hosted/worker.ts; the command: cli/hosted/dev.ts.
import { join } from "node:path";
import { WORKER_FILE, type HostedSettings } from "../../core/config/hosted-settings.ts";
import { CONTROL_ROOT } from "../../core/control/protocol.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { localOrigin, LOOPBACK_NAMES, loopbackAddresses } from "../../core/loopback.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { DEFAULT_RATE_LIMIT } from "../../core/request/rate-limit.ts";
import { quote } from "../../core/shell/quote.ts";
import type { RunRecord } from "../../core/state-files.ts";
import type { ShellResult, World } from "../../world.ts";
import { stateFailure, usageFailure, type HostFailure } from "../failure.ts";
import { stateFile } from "../folder/files.ts";
import * as state from "../folder/state-folder.ts";
import { readGivenSecrets } from "../given-secrets.ts";
import type { Host } from "../hosting.ts";
import { portFailure } from "../listen.ts";
import { DEFAULT_PORT } from "../../core/config/settings.ts";
import { readyMessageOf, type ReadyMessage } from "../ready.ts";
import { SECRET_BINDINGS, WORKERD_VERSION, workerdConfig } from "./workerd-config.ts";
import { parseDescription } from "../../core/sandbox/description.ts";

/** The host of a hosted service: a command, which can run other programs. */
type HostedHost = Host & { readonly world: Pick<World, "run"> };

/** The options of a hosted service. */
export type HostedOptions = {
  readonly port?: number;
  readonly trustFolder?: boolean;
  /** Hosts to which events may be sent in addition to public addresses and this machine. */
  readonly allowTarget?: readonly string[];
};

/** The folder of a hosted service, and the functions that run while it is served. */
type Purpose<Value> = {
  readonly folder: string;
  /** Aborted when the command is stopped, also while workerd is still being fetched. */
  readonly stopping: AbortSignal;
  readonly announce: (ready: ReadyMessage) => Promise<void>;
  /** `ended` resolves if workerd ends by itself. */
  readonly use: (ended: Promise<void>) => Promise<Value>;
};

/** Timeout of a start, in milliseconds: at the first start npx fetches workerd. */
const MAX_START_MS = 180_000;
const LOOK_MS = 25;
/** The longest timeout of a Node timer: only the user ends a service. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const CALL_MS = 15_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const KEPT_OUTPUT_BYTES = 4096;

/**
 * Serves a hosted service from a folder while `use` runs. Its writes are on disk before they are answered. Returns
 * "stopped" if the command is stopped before the service is ready.
 */
export async function serveHosted<Value>(
  context: HostedHost,
  options: HostedOptions,
  purpose: Purpose<Value>,
): Promise<Outcome<Value | "stopped", HostFailure>> {
  const { world } = context;
  const { folder } = purpose;
  const worker = world.ownFile(WORKER_FILE);
  if (worker === undefined) return refuseWithoutWorker();
  const secrets = readGivenSecrets(world);
  if (!secrets.ok) return secrets;
  const made = state.makeStateFolder(world, folder, options);
  if (!made.ok) return made;
  if (world.files.exists(stateFile(folder, "database"))) return refuseOtherState(folder);
  const controlToken = secrets.value.controlToken?.value ?? state.newToken(world, "control");
  const run = state.claimFolder(world, folder, { control_token: controlToken });
  if (!run.ok) return run;
  try {
    const keys = readKeys(context, folder, secrets.value.adminToken?.value);
    if (!keys.ok) return keys;
    const port = await choosePort(context, options.port);
    if (!port.ok) return port;
    world.files.write(stateFile(folder, "worker"), worker);
    world.files.createNew(stateFile(folder, "log"), "");
    const service = { port: port.value, controlToken, ...keys.value, run: run.value };
    return await serveAt(context, options, { service, purpose });
  } finally {
    state.releaseFolder(world, folder, run.value);
  }
}

/** The service in a folder: its port and its secrets. */
type Service = {
  readonly port: number;
  readonly controlToken: string;
  readonly adminToken: string;
  readonly masterKey: Uint8Array;
  readonly run: RunRecord;
};

async function serveAt<Value>(
  context: HostedHost,
  options: HostedOptions,
  { service, purpose }: { readonly service: Service; readonly purpose: Purpose<Value> },
): Promise<Outcome<Value | "stopped", HostFailure>> {
  const { world } = context;
  const { folder } = purpose;
  await writeConfig(context, options, { folder, port: service.port });
  const ending = new AbortController();
  const ran = runWorkerd(context, { folder, service, signal: ending.signal });
  try {
    const started = await untilReady(context, service, { ran, stopping: purpose.stopping });
    if (!started.ok) return started;
    if (started.value === "stopped") return accept("stopped");
    const ready = await firstStore(context, folder, service);
    if (!ready.ok) return ready;
    const { store_id, version } = ready.value;
    state.writeRunRecord(world, folder, { ...service.run, port: service.port, version, store_id });
    await purpose.announce(ready.value);
    return accept(await purpose.use(ran.then(() => undefined)));
  } finally {
    ending.abort();
    await ran;
  }
}

function readKeys(
  { world }: Host,
  folder: string,
  given: string | undefined,
): Outcome<Pick<Service, "adminToken" | "masterKey">, HostFailure> {
  const objects = stateFile(folder, "objects");
  const masterKey = state.readOrCreateMasterKey(
    world,
    folder,
    world.files.exists(objects) ? "filled" : "empty",
  );
  if (!masterKey.ok) return masterKey;
  const adminToken = state.readOrCreateAdminToken(world, folder, given);
  if (!adminToken.ok) return adminToken;
  world.files.makeFolder(objects);
  return accept({ adminToken: adminToken.value, masterKey: masterKey.value });
}

/** A free port: the given port; otherwise the default port, or any free port if the default port is taken. */
async function choosePort(
  { world, printer }: Host,
  named: number | undefined,
): Promise<Outcome<number, HostFailure>> {
  const none = { answer: () => Promise.reject(new Error("nothing is served yet")), refuse: refuseAll };
  const wanted = named ?? DEFAULT_PORT;
  for (const port of named === undefined ? [wanted, 0] : [wanted]) {
    const listening = await world.listen(() => none, { port, addresses: [], limits: {} });
    if (!listening.ok && named !== undefined)
      return { ok: false, refusal: portFailure(world, port, listening.refusal) };
    if (!listening.ok) continue;
    await listening.value.close(0);
    if (listening.value.port !== wanted && named === undefined)
      printer.talk(`Port ${wanted} is taken; this service is on ${listening.value.port}.`);
    return accept(listening.value.port);
  }
  return usageFailure("no port is free", "choose a port with --port");
}

function refuseAll(): never {
  throw new Error("nothing is served yet");
}

/** Writes the configuration. Allowed names are looked up now, because workerd's network accepts only addresses. */
async function writeConfig(
  { world, version }: Host,
  { allowTarget = [] }: HostedOptions,
  { folder, port }: { readonly folder: string; readonly port: number },
): Promise<void> {
  // A service on this machine may send to this machine, as a sandbox does.
  const allowTargets = [...LOOPBACK_NAMES, ...allowTarget];
  const addresses = allowTargets.map(async (host) => loopbackAddresses(host) ?? world.resolve(host));
  const settings: HostedSettings = {
    port,
    origin: localOrigin(port),
    rateLimit: DEFAULT_RATE_LIMIT,
    allowTargets,
    dataDir: folder,
    logFile: stateFile(folder, "log"),
    pid: world.pid,
    startedAt: world.now(),
    version,
  };
  const allowAddresses = (await Promise.all(addresses)).flat();
  const objects = stateFile(folder, "objects");
  world.files.write(stateFile(folder, "workerdConfig"), workerdConfig({ settings, objects, allowAddresses }));
}

/** Runs workerd until the signal, or until it ends by itself. Its stderr is appended to the log of the folder. */
function runWorkerd(
  { world }: HostedHost,
  {
    folder,
    service,
    signal,
  }: { readonly folder: string; readonly service: Service; readonly signal: AbortSignal },
): Promise<ShellResult> {
  const [config, log] = [stateFile(folder, "workerdConfig"), stateFile(folder, "log")].map((path) =>
    quote(path),
  );
  return world.run({
    commandLine: `${workerdProgram(world)} serve ${config} 2>> ${log}`,
    env: {
      [SECRET_BINDINGS.CONTROL_TOKEN]: service.controlToken,
      [SECRET_BINDINGS.ADMIN_TOKEN]: service.adminToken,
      [SECRET_BINDINGS.MASTER_KEY]: Buffer.from(service.masterKey).toString("hex"),
    },
    timeoutMs: NO_TIMEOUT_MS,
    maxOutputBytes: KEPT_OUTPUT_BYTES,
    signal,
  });
}

/** The command that runs the pinned workerd: from node_modules here or in a parent folder, otherwise through npx. */
function workerdProgram({ files, cwd }: Host["world"]): string {
  for (let folder = cwd; ; folder = join(folder, "..")) {
    const modules = join(folder, "node_modules");
    const found = parseJson(files.read(join(modules, "workerd/package.json")) ?? "");
    if (isRecord(found) && found["version"] === WORKERD_VERSION) {
      const platforms = join(modules, "@cloudflare");
      const names = files.exists(platforms) ? files.list(platforms) : [];
      const own = names.find((name) => name.startsWith("workerd-"));
      if (own !== undefined) return quote(join(platforms, own, "bin/workerd"));
    }
    if (join(folder, "..") === folder) return `npx --yes workerd@${WORKERD_VERSION}`;
  }
}

async function untilReady(
  context: HostedHost,
  service: Service,
  { ran, stopping }: { readonly ran: Promise<ShellResult>; readonly stopping: AbortSignal },
): Promise<Outcome<"ready" | "stopped", HostFailure>> {
  const { world } = context;
  let ended: ShellResult | undefined;
  void ran.then((result) => (ended = result));
  for (const until = world.monotonic() + MAX_START_MS; world.monotonic() < until;) {
    if (stopping.aborted) return accept("stopped");
    if (ended !== undefined) break;
    const url = `${localOrigin(service.port)}/healthz`;
    const look = {
      method: "GET",
      url,
      headers: {},
      timeoutMs: CALL_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
      signal: stopping,
    } as const;
    const answer = await world.send(look);
    if (answer.ok && answer.status === 200) return accept("ready");
    await world.sleep(LOOK_MS, stopping);
  }
  const how = ended === undefined ? "did not answer" : `ended with ${ended.exitCode ?? ended.ending}`;
  return stateFailure({
    code: "workerd_unavailable",
    message: `workerd ${WORKERD_VERSION}, which runs the service, ${how}`,
    next: `read sandbox.log in the state folder; to install workerd in this project: npm install --save-dev --save-exact workerd@${WORKERD_VERSION}`,
  });
}

/** The ready message, with the first store; the first start creates the store. */
async function firstStore(
  context: HostedHost,
  folder: string,
  service: Service,
): Promise<Outcome<ReadyMessage, HostFailure>> {
  const { world } = context;
  const listed = await call(context, service, "/stores");
  if (Array.isArray(listed["stores"]) && listed["stores"].length === 0) {
    const made = await call(context, service, "/stores", {});
    const { store_id: id, name, api_key } = made as Readonly<Record<string, string>>;
    if (id !== undefined && name !== undefined && api_key !== undefined)
      state.writeCredentials(world, folder, { stores: { [id]: { name, api_key } } });
  }
  const description = parseDescription({ data: await call(context, service, "/sandbox") });
  if (description === undefined) throw new Error("the service describes itself in another way");
  const kept = state.readCredentials(world, folder);
  if (!kept.ok) return kept;
  const apiKey = kept.value?.stores[description.storeId]?.api_key ?? null;
  const { controlToken } = service;
  return accept(
    readyMessageOf(description, { apiKey, controlToken, alreadyRunning: false, signInUrl: null }),
  );
}

async function call(
  { world }: Host,
  { port, controlToken }: Service,
  path: string,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await world.send({
    method: body === undefined ? "GET" : "POST",
    url: localOrigin(port) + CONTROL_ROOT + path,
    headers: { Authorization: `Bearer ${controlToken}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    timeoutMs: CALL_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
  });
  const read = answer.ok ? parseJson(answer.body) : undefined;
  if (isRecord(read) && isRecord(read["data"])) return read["data"];
  throw new Error(`the service did not answer ${path}: ${answer.ok ? answer.body : answer.message}`);
}

function refuseWithoutWorker(): Outcome<never, HostFailure> {
  return usageFailure(
    "this build of checkout does not include the Worker; the single executable never does",
    "run it from the npm package, in its project: npx --no -- checkout hosted dev",
  );
}

function refuseOtherState(folder: string): Outcome<never, HostFailure> {
  return usageFailure(
    `${folder} has the state of checkout sandbox start, which a hosted service cannot use`,
    "name another folder with --dir",
  );
}
