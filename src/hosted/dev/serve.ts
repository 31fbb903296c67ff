import type { Hold } from "../../core/webhook/hold.ts";
import type { HostedSettings } from "../shared/settings.ts";
import { CONTROL_ROOT } from "../../core/control/protocol.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { localOrigin, LOOPBACK_NAMES } from "../../core/loopback.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { DEFAULT_RATE_LIMIT } from "../../core/request/rate-limit.ts";
import { resolveTargetHost } from "../../core/webhook/target.ts";
import type { RunRecord } from "../../core/state-files.ts";
import type { ShellResult, World } from "../../world.ts";
import { stateFailure, usageFailure, type HostFailure } from "../../host/failure.ts";
import { stateFile, WORKER_FILE } from "../../host/folder/files.ts";
import { watchForLostFiles } from "../../host/folder/loss.ts";
import { holdFolder } from "../../host/folder/hold.ts";
import * as state from "../../host/folder/state-folder.ts";
import { readGivenSecrets } from "../../host/given-secrets.ts";
import type { HostContext } from "../../host/hosting.ts";
import { checkFirstPort, probePort, portFailure } from "../../host/listen.ts";
import { DEFAULT_PORT } from "../../core/config/settings.ts";
import type { ServeOptions } from "../../host/options.ts";
import { readyMessageOf, type ReadyMessage } from "../../host/ready.ts";
import { parseDescription } from "../../core/sandbox/description.ts";
import { storageFailure } from "../../store/connection/storage-failure.ts";
import {
  markFirstStoreReady,
  holdOfState,
  indexPath,
  keepFirstStore,
  readHostedState,
  START_COMMAND,
} from "./state.ts";
import { runWorkerd, projectTrustFault, type ServiceSecrets } from "./workerd.ts";
import { WORKERD_VERSION, workerdConfig } from "./workerd-config.ts";

type HostedHost = HostContext & { readonly world: Pick<World, "run" | "packageFolder"> };

export type HostedOptions = Pick<ServeOptions, "port" | "trustFolder" | "adopt" | "allowTarget">;

type AllowedNetwork = { readonly hosts: readonly string[]; readonly addresses: readonly string[] };

type RunningService = {
  readonly end: Promise<void>;
  /** Resolves if the folder of the objects or the database with the list of stores was deleted or replaced. */
  readonly stateLoss: Promise<HostFailure>;
  readonly hold: Hold | null;
};

type ServedFolder<Value> = {
  readonly folder: string;
  /** Aborted when the command is stopped, even while npx is still downloading workerd. */
  readonly stopSignal: AbortSignal;
  readonly announce: (ready: ReadyMessage) => Promise<void>;
  readonly use: (service: RunningService) => Promise<Value>;
};

const START_TIMEOUT_MS = 180_000;
/** Starts are repeated, because another process can take a chosen port before workerd listens. */
const MAX_PORT_ATTEMPTS = 10;
const CALL_TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Returns "stopped" if the service was stopped before it was ready. */
export async function serveHosted<Value>(
  context: HostedHost,
  options: HostedOptions,
  servedFolder: ServedFolder<Value>,
): Promise<Outcome<Value | "stopped", HostFailure>> {
  const { world } = context;
  const { folder } = servedFolder;
  const worker = world.ownFile(WORKER_FILE);
  if (worker === undefined)
    return usageFailure(
      "this build of checkout does not include the Worker; the single executable never does",
      "run it from the npm package, in its project: npx --no -- checkout hosted dev",
    );
  const secrets = readGivenSecrets(world);
  if (!secrets.ok) return secrets;
  const portCheck = await checkFirstPort(world, folder, options);
  if (!portCheck.ok) return portCheck;
  const folderResult = state.makeStateFolder(world, folder, options);
  if (!folderResult.ok) return folderResult;
  if (world.files.exists(stateFile(folder, "database")))
    return usageFailure(
      `${folder} has the state of checkout sandbox start, which a hosted service cannot use`,
      "name another folder with --dir",
    );
  const controlToken = secrets.value.controlToken?.value ?? state.newToken(world, "control");
  const hold = await holdFolder(world, folder, { control_token: controlToken });
  if (!hold.ok) return hold;
  try {
    const hostedState = readHostedState(world, folder);
    if (!hostedState.ok) return hostedState;
    const network = await resolveNetwork(world, options);
    if (!network.ok) return network;
    world.files.makeFolder(stateFile(folder, "objects"));
    const content = hostedState.value.stage === "new" ? "empty" : "filled";
    const masterKey = state.readOrCreateMasterKey(world, folder, content);
    if (!masterKey.ok) return masterKey;
    const adminToken = state.readOrCreateAdminToken(world, folder, secrets.value.adminToken?.value);
    if (!adminToken.ok) return adminToken;
    // The key of a new first store is on disk before an object can create the store.
    const firstStore = keepFirstStore(world, folder, hostedState.value);
    const keys = { controlToken, adminToken: adminToken.value, masterKey: masterKey.value, firstStore };
    world.files.write(stateFile(folder, "worker"), worker);
    world.files.createNew(stateFile(folder, "log"), "");
    const home = world.files.realPath(folder);
    const folderHold = holdOfState(hostedState.value, { path: home, adopt: options.adopt ?? false });
    const service = { home, folderHold, network: network.value, ...keys };
    for (let attempt = 1; ; attempt += 1) {
      const port = await choosePort(context, options.port);
      if (!port.ok) return port;
      const portService = { ...service, port: port.value, run: hold.value.run };
      const outcome = await serveOnPort(context, { service: portService, servedFolder });
      // Another process took the port after it was chosen. If `--port` named the port, `choosePort` refuses the port
      // in the next attempt.
      if (outcome !== "port_taken") return outcome;
      if (attempt === MAX_PORT_ATTEMPTS) return refuseWithoutPort();
    }
  } finally {
    hold.value.release();
  }
}

type Service = Pick<HostedSettings, "port" | "folderHold"> &
  ServiceSecrets & {
    readonly home: string;
    readonly network: AllowedNetwork;
    readonly run: RunRecord;
  };

async function serveOnPort<Value>(
  context: HostedHost,
  { service, servedFolder }: { readonly service: Service; readonly servedFolder: ServedFolder<Value> },
): Promise<Outcome<Value | "stopped", HostFailure> | "port_taken"> {
  const { world } = context;
  const { folder, stopSignal } = servedFolder;
  writeConfig(context, folder, service);
  const endController = new AbortController();
  let lossWatch: ReturnType<typeof watchForLostFiles> | undefined;
  const { signal } = endController;
  const { listening, result, isPortTaken } = runWorkerd(world, { ...service, folder, signal });
  try {
    const timeout = world.sleep(START_TIMEOUT_MS, AbortSignal.any([stopSignal, signal]));
    // Sends nothing before workerd listens: another program on the port would receive the token.
    const startResult = await Promise.race([listening, result, timeout]);
    if (stopSignal.aborted) return accept("stopped");
    if (startResult !== "listening") {
      if (isPortTaken()) return "port_taken";
      return explainFullDisk(world, folder, startFailure(world, startResult));
    }
    const outcome = await readReady(context, folder, service);
    if (!outcome.ok) return explainFullDisk(world, folder, outcome);
    const { store_id, version } = outcome.value;
    state.writeRunRecord(world, folder, { ...service.run, port: service.port, version, store_id });
    lossWatch = watchForLostFiles(world, [stateFile(folder, "objects"), indexPath(folder)], START_COMMAND);
    await servedFolder.announce(outcome.value);
    const end = result.then(() => undefined);
    return accept(await servedFolder.use({ end, stateLoss: lossWatch.failure, hold: service.folderHold }));
  } finally {
    lossWatch?.stop();
    endController.abort();
    await result;
  }
}

/** Judges by the free space whether a full disk made the start fail, because the runtime reports no failed writes. */
function explainFullDisk(
  { files }: Pick<World, "files">,
  folder: string,
  failure: Outcome<never, HostFailure>,
): Outcome<never, HostFailure> {
  if (files.disk(folder).freeBytes >= MIN_FREE_BYTES) return failure;
  const { code, sentence, next } = storageFailure("disk_full");
  return stateFailure({ code, message: `the service could not start in ${folder}: ${sentence}`, next });
}

const MIN_FREE_BYTES = 2 ** 18;

async function choosePort(
  { world, printer }: HostContext,
  namedPort: number | undefined,
): Promise<Outcome<number, HostFailure>> {
  const probe = await probePort(world, namedPort ?? DEFAULT_PORT);
  if (probe.ok) return probe;
  if (namedPort !== undefined) return { ok: false, refusal: portFailure(world, namedPort, probe.refusal) };
  const freePort = await probePort(world, 0);
  if (!freePort.ok) return refuseWithoutPort();
  printer.info(`Port ${DEFAULT_PORT} is taken; this service is on ${freePort.value}.`);
  return freePort;
}

function refuseWithoutPort(): Outcome<never, HostFailure> {
  return usageFailure("no port is free", "choose a port with --port");
}

/** Resolves names now, because the runtime's network rules accept only addresses. */
async function resolveNetwork(
  world: Pick<World, "resolve">,
  { allowTarget = [], port: ownPort = DEFAULT_PORT }: HostedOptions,
): Promise<Outcome<AllowedNetwork, HostFailure>> {
  // Loopback is allowed, as for a sandbox, because the service runs on this machine.
  const hosts = [...LOOPBACK_NAMES, ...allowTarget];
  const addresses: string[] = [];
  for (const host of hosts) {
    const resolution = await resolveTargetHost(host, (name) => world.resolve(name), ownPort);
    if (!resolution.ok) return usageFailure(resolution.refusal.message, "name the host of your receiver");
    addresses.push(...resolution.value);
  }
  return accept({ hosts, addresses });
}

function writeConfig(
  { world, version }: HostContext,
  folder: string,
  { port, home, folderHold, network }: Service,
): void {
  const settings: HostedSettings = {
    port,
    origin: localOrigin(port),
    rateLimit: DEFAULT_RATE_LIMIT,
    allowTargets: network.hosts,
    dataDir: folder,
    home,
    folderHold,
    logFile: stateFile(folder, "log"),
    pid: world.pid,
    startedAt: world.now(),
    version,
  };
  const objects = stateFile(folder, "objects");
  const config = workerdConfig({ settings, objects, allowAddresses: network.addresses });
  world.files.write(stateFile(folder, "workerdConfig"), config);
}

function startFailure(world: HostedHost["world"], result: ShellResult | void): Outcome<never, HostFailure> {
  const endText = result === undefined ? "did not answer" : `ended with ${result.exitCode ?? result.ending}`;
  const untrustedReason = projectTrustFault(world);
  const installText =
    untrustedReason === undefined
      ? `to install workerd in this project: npm install --save-dev --save-exact workerd@${WORKERD_VERSION}`
      : `the workerd of this project is not run, because ${untrustedReason}: correct that first`;
  return stateFailure({
    code: "workerd_unavailable",
    message: `workerd ${WORKERD_VERSION}, which runs the service, ${endText}`,
    next: `read sandbox.log in the state folder; ${installText}`,
  });
}

async function readReady(
  context: HostedHost,
  folder: string,
  service: Service,
): Promise<Outcome<ReadyMessage, HostFailure>> {
  const { world } = context;
  const storeList = await callService(context, service, "/stores");
  if (!storeList.ok) return storeList;
  const isNew = Array.isArray(storeList.value["stores"]) && storeList.value["stores"].length === 0;
  const createdStore = isNew ? await callService(context, service, "/stores", {}) : storeList;
  if (!createdStore.ok) return createdStore;
  const answer = await callService(context, service, "/sandbox");
  if (!answer.ok) return answer;
  const description = parseDescription({ data: answer.value });
  if (description === undefined) throw new Error("the service describes itself in another way");
  const keptStore = markFirstStoreReady(world, folder);
  if (!keptStore.ok) return keptStore;
  const apiKey = keptStore.value?.stores[description.storeId]?.api_key ?? null;
  const { controlToken } = service;
  return accept(
    readyMessageOf(description, { apiKey, controlToken, alreadyRunning: false, signInUrl: null }),
  );
}

async function callService(
  { world }: HostContext,
  { port, controlToken }: Service,
  path: string,
  body?: object,
): Promise<Outcome<Readonly<Record<string, unknown>>, HostFailure>> {
  const answer = await world.send({
    method: body === undefined ? "GET" : "POST",
    url: localOrigin(port) + CONTROL_ROOT + path,
    headers: { Authorization: `Bearer ${controlToken}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    timeoutMs: CALL_TIMEOUT_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
  });
  const answerBody = answer.ok ? parseJson(answer.body) : undefined;
  if (isRecord(answerBody) && isRecord(answerBody["data"])) return accept(answerBody["data"]);
  const error = isRecord(answerBody) && isRecord(answerBody["error"]) ? answerBody["error"] : {};
  const { code, message } = error;
  const text = typeof message === "string" ? message : answer.ok ? `status ${answer.status}` : answer.message;
  return stateFailure({
    code: typeof code === "string" ? code : "service_unavailable",
    message: `the service could not answer ${path}: ${text}`,
    next: "correct the cause, or read sandbox.log in the state folder, and start it again; every answered write is kept",
  });
}
