import { DEFAULT_CHECKOUT_LIFETIME_MS } from "../../core/checkout/checkout.ts";
import { CONFIG_PATH } from "../../core/config/file-name.ts";
import type { PlannedChange } from "../../core/config/plan.ts";
import type { WantedStore } from "../../core/config/schema.ts";
import type { SandboxDescription } from "../../core/control/sandbox.ts";
import type { StoreClock } from "../../core/clock.ts";
import { localOrigin } from "../../core/loopback.ts";
import { isLoopbackAddress, type ListenAddress } from "../../core/network/address.ts";
import { portalOrigin } from "../../core/network/public-url.ts";
import { accept, type Outcome, type Refusal } from "../../core/outcome.ts";
import { portalPath } from "../../core/portal/path.ts";
import { DEFAULT_RATE_LIMIT, rateLimitText, type RateLimit } from "../../core/rate-limit.ts";
import { MASTER_KEY_BYTES, type Credentials, type Run } from "../../core/state-files.ts";
import { printable } from "../../core/text.ts";
import {
  DEFAULT_DELIVERY_SCHEDULE,
  DEFAULT_DELIVERIES_IN_FLIGHT,
  DEFAULT_DELIVERY_TIMEOUT_MS,
  type DeliverySchedule,
} from "../../core/webhook/delivery.ts";
import {
  createAccessLog,
  SILENT_LOG,
  type LogFormat,
  type LogStream,
} from "../../sandbox/runtime/access-log.ts";
import { finishErasures } from "../../sandbox/runtime/erase.ts";
import { countFaults } from "../../sandbox/fault/active.ts";
import { createFailureLog } from "../../sandbox/runtime/failure-log.ts";
import { signInLink, type PortalAccess } from "../../sandbox/runtime/portal-access.ts";
import { formerOwner } from "../../sandbox/api/caller.ts";
import { createRequestLog, type RequestLog } from "../../sandbox/runtime/request-log.ts";
import { openRequestFile } from "../../store/request/request-file.ts";
import { DEFAULT_KEPT_REQUESTS } from "../../core/request/logged-request.ts";
import { ownSecretsOf } from "../../sandbox/webhook/endpoint-secrets.ts";
import { holdOfSandbox, settleHome } from "../../sandbox/runtime/home.ts";
import {
  refusalOfFirst,
  seed,
  type BeforeSeed,
  type SeededStore,
  type SeedRefusal,
  type StoreMaker,
} from "../../sandbox/runtime/seed.ts";
import { shelfInMemory } from "../../sandbox/snapshot/shelf.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../sandbox/sandbox.ts";
import { IN_MEMORY } from "../../store/connection/database.ts";
import { StorageUnavailable } from "../../store/connection/storage-failure.ts";
import type { Erasure } from "../../store/erasures.ts";
import { openStore, type Store } from "../../store/store.ts";
import type { GuestWorld, Listener } from "../../world.ts";
import { isTerminal, type Printer } from "../printer.ts";
import { stateFile } from "../../host/folder/files.ts";
import { snapshotsIn } from "../../host/folder/snapshots.ts";
import { lostLog } from "../../host/folder/lost-log.ts";
import * as state from "../../host/folder/state-folder.ts";
import { EXIT, fail, failUsage, fileProblem, type Ending, type Problem } from "../problem.ts";
import { givenSecrets, otherSecret, type GivenSecrets } from "../../host/given-secrets.ts";
import { keptKeys } from "../../host/folder/kept-keys.ts";
import { shortId } from "../table.ts";
import { portProblem } from "../../host/port-failure.ts";
import { readyOf, type Ready } from "./ready.ts";

/** How a sandbox is served; each setting has its default. */
export type ServeOptions = {
  readonly port?: number;
  readonly adopt?: boolean;
  readonly trustFolder?: boolean;
  readonly rateLimit?: RateLimit | "off";
  readonly checkoutLifetime?: number;
  readonly allowHost?: readonly string[];
  readonly allowControlHost?: readonly string[];
  readonly allowTarget?: readonly string[];
  /** Addresses beside loopback. */
  readonly listen?: readonly ListenAddress[];
  /** The origin that payers reach the pages at. */
  readonly publicUrl?: string;
  /** The origin that a browser reaches the portal at. */
  readonly portalUrl?: string;
  readonly deliveryTimeout?: number;
  readonly deliverySchedule?: DeliverySchedule;
  /** Maximum number of deliveries in flight to one endpoint. */
  readonly deliveriesInFlight?: number;
  /** How many requests of each store are logged. */
  readonly keptRequests?: number;
  readonly logFormat?: LogFormat;
  readonly quiet?: boolean;
  /** The clock of a new store, and of one that was reset; default: real time. */
  readonly startClock?: StoreClock;
  /** The stores of a configuration, which are set up before the sandbox is ready. */
  readonly setup?: Setup;
};

/** The stores of a configuration file, and a refusal of one of them as a problem with its place in the file. */
type Setup = {
  readonly stores: readonly WantedStore[];
  readonly problem: (refusal: Refusal) => Problem;
  /** Called with what was changed. */
  readonly applied: (changes: readonly PlannedChange[]) => void;
};

/** A sandbox that answers requests. */
export type Served = {
  readonly ready: Ready;
  readonly description: SandboxDescription;
  /** Why no events are delivered (decision 71); undefined if they are. */
  readonly heldBack: string | undefined;
  /** The secrets that came from outside (decision 78). */
  readonly given: GivenSecrets;
  readonly sandbox: Pick<Sandbox, "context">;
  /** Resolves when the control API asks the sandbox to stop. */
  readonly stopRequested: Promise<void>;
};

/** Where a sandbox keeps its state, and where its log goes. */
type Place = {
  /** The state folder; undefined: in memory only. */
  readonly folder: string | undefined;
  readonly log: LogStream;
  /** The file that the log goes to; undefined: to a terminal, or wherever stderr leads. */
  readonly logFile?: string;
};

/** Who serves a sandbox: a command, or a program of the user's. */
export type Host = {
  readonly world: GuestWorld;
  readonly printer: Pick<Printer, "talk" | "trace">;
  readonly version: string;
  /** Whether it is a program of the user's. Default: a command. */
  readonly isGuest?: boolean;
};

/** What a sandbox runs for: it is stopped when this has returned. */
type Use = (served: Served) => Promise<Ending>;

/** The port of a sandbox that was asked for none (decision 1). No client has it as a default. */
export const DEFAULT_PORT = 4242;
/** Requests in flight get this long to finish after a stop signal; the whole stop takes under 1 s. */
const DRAIN_MS = 800;
/** Maximum number of tries to write to a locked database at the start. */
const MAX_LOCKED_TRIES = 5;
/** A default port that is taken moves up at most this far. */
const MAX_PORT_MOVES = 20;

/**
 * Only a configuration is larger than what a merchant sends (decision 6). A browser sends the cookies of all programs on
 * this machine with each request for a page (decision 58).
 */
const LIMITS = {
  larger: { path: CONFIG_PATH, bodyBytes: 2 * 1024 * 1024 },
  largerHeads: { below: ["/portal", "/pay", "/assets"], headBytes: 64 * 1024 },
};

/** Serves a sandbox while `use` runs. When this returns, everything is on disk and the folder is given back. */
export async function serveSandbox(
  context: Host,
  options: ServeOptions,
  { place, use }: { readonly place: Place; readonly use: Use },
): Promise<Ending> {
  const { world, isGuest } = context;
  const { folder } = place;
  const apart = requireOwnHost(options);
  if (!apart.ok) return apart;
  const opened = noteOpened(context, options);
  if (!opened.ok) return opened;
  const secrets = givenSecrets(world);
  if (!secrets.ok) return secrets;
  const given = secrets.value;
  // Random for each run, unless the environment sets it: an ephemeral sandbox has no run.json to read it from.
  const controlToken = given.controlToken?.value ?? state.newToken(world, "control");
  if (folder === undefined) {
    const adminToken = given.adminToken?.value ?? state.newToken(world, "administrator");
    const tokens = { controlToken, adminToken };
    return serveFolder(context, options, { held: undefined, place, tokens, given, use });
  }
  const made = state.makeStateFolder(world, folder, options);
  if (!made.ok) return made;
  const lost = lostLog(world, folder);
  const run = state.claimFolder(world, folder, { control_token: controlToken, is_guest: isGuest });
  if (!run.ok) return run;
  if (lost !== undefined) context.printer.trace(lost);
  const held = { path: folder, run: run.value };
  try {
    const adminToken = state.adminToken(world, folder, given.adminToken?.value);
    if (!adminToken.ok) return adminToken;
    if (given.adminToken !== undefined && given.adminToken.value !== adminToken.value)
      return otherSecret(given.adminToken, "admin token");
    const tokens = { controlToken, adminToken: adminToken.value };
    return await serveFolder(context, options, { held, place, tokens, given, use });
  } finally {
    state.releaseFolder(world, folder, run.value);
  }
}

/** The credentials of the control API. */
type Tokens = Pick<SandboxOptions, "controlToken" | "adminToken">;

/** The folder that this process holds, or undefined where nothing is kept. */
type Held = { readonly path: string; readonly run: Run } | undefined;

/** What a sandbox is served from, with what, and for what. */
type Serving = {
  readonly held: Held;
  readonly place: Place;
  readonly tokens: Tokens;
  readonly given: GivenSecrets;
  readonly use: Use;
};

async function serveFolder(
  context: Host,
  options: ServeOptions,
  { held, place, tokens, given, use }: Serving,
): Promise<Ending> {
  const { world } = context;
  // Looked at before anything is made: a new key must not replace a file that is not ours.
  const credentials = held === undefined ? accept(undefined) : state.readCredentials(world, held.path);
  if (!credentials.ok) return credentials;
  const opened = openState(world, held, { given, credentials: credentials.value });
  if (!opened.ok) return opened;
  const { store, masterKey } = opened.value;
  const { lines, failures, requests } = openLogs(world, options, { held, store, stream: place.log });
  const maker = storeMaker(world, options, { held, masterKey, given });
  let end = store.leave;
  try {
    const forgetStore = (erasure: Erasure): void => {
      requests.forget(erasure.storeId);
      forgetInFolder(world, held, erasure);
    };
    const found = { held, store, maker, given, credentials: credentials.value, forgetStore };
    const first = await firstStore(context, options, found);
    if (!first.ok) return first;
    const { seeded, apiKey, folderHold } = first.value;
    const stop = Promise.withResolvers<void>();
    const run = runFile(context, held, { store, report: failures.report });
    const service = {
      ...tokens,
      store,
      log: lines,
      requests,
      report: failures.report,
      masterKey,
      folderHold,
      requestStop: stop.resolve,
      ...ofNewStores(maker),
      forgetStore,
      instanceChanged: run.renew,
      snapshotShelf: held === undefined ? shelfInMemory() : snapshotsIn(world, held.path),
      describe: (port: number) =>
        describe(context, options, { port, place, seeded, store, masterKey, folderHold }),
    };
    const listening = await listen(context, options, service);
    if (!listening.ok) return listening;
    const { listener, sandbox, description } = listening.value;
    const awake = await retryWhileLocked(sandbox.start);
    if (!awake.ok) return awake;
    const signInUrl = newSignInUrl(sandbox.context.portal);
    const ready = readyOf(description, {
      apiKey,
      controlToken: tokens.controlToken,
      alreadyRunning: false,
      signInUrl,
    });
    run.write(listener.port);
    end = store.close;
    try {
      const heldBack = description.heldBack ?? undefined;
      return await use({ ready, description, heldBack, given, sandbox, stopRequested: stop.promise });
    } finally {
      await Promise.all([sandbox.stop(DRAIN_MS), listener.close(DRAIN_MS)]);
    }
  } finally {
    requests.close();
    lines.flush();
    failures.flush();
    end();
  }
}

/** A link that signs a browser in to the portal, once; null where there is none. */
function newSignInUrl(portal: PortalAccess): string | null {
  return portal.isOff ? null : signInLink(portal, portal.issueCode().code);
}

/** What this sandbox says of itself when its port is known. */
function describe(
  { world, version }: Host,
  options: ServeOptions,
  found: { readonly port: number; readonly place: Place; readonly seeded: SeededStore } & {
    readonly store: Store;
    readonly masterKey: Uint8Array;
    readonly folderHold: string | undefined;
  },
): SandboxDescription {
  const { port, place, seeded, store, masterKey } = found;
  const { folder = null, logFile = null } = place;
  const { merchantId, id, signingSecret } = seeded;
  const origin = localOrigin(port);
  const { publicUrl, portalUrl } = options;
  const portal = portalOrigin(port, { publicUrl, portalUrl });
  return {
    // Always this machine's own, so that who reads it here reaches it (decision 79).
    baseUrl: `${origin}/v1`,
    portalUrl: portal === undefined ? null : portal + portalPath(masterKey, store.home.path()),
    checkoutOrigin: options.publicUrl ?? origin,
    merchantId,
    storeId: id,
    storeName: store.stores.names(id)?.store ?? "",
    signingSecret,
    ownSecrets: ownSecretsOf(store, id),
    dataDir: folder,
    ephemeral: folder === null,
    instanceId: store.instance.id() ?? "",
    pid: world.pid,
    version,
    startedAt: world.now(),
    logFile,
    heldBack: holdOfSandbox(found) ?? null,
    activeFaults: countFaults({ store, world }),
    settings: { port, ...settingsOf(options) },
  };
}

/** How a sandbox is served where the options say nothing else. */
function settingsOf(options: ServeOptions): Omit<SandboxDescription["settings"], "port"> {
  return {
    rateLimit: rateLimitText(options.rateLimit ?? DEFAULT_RATE_LIMIT),
    checkoutLifetimeMs: options.checkoutLifetime ?? DEFAULT_CHECKOUT_LIFETIME_MS,
    allowHosts: options.allowHost ?? [],
    allowControlHosts: options.allowControlHost ?? [],
    allowTargets: options.allowTarget ?? [],
    listen: options.listen ?? [],
    publicUrl: options.publicUrl ?? null,
    portalUrl: options.portalUrl ?? null,
    keptRequests: options.keptRequests ?? DEFAULT_KEPT_REQUESTS,
    deliveryTimeoutMs: options.deliveryTimeout ?? DEFAULT_DELIVERY_TIMEOUT_MS,
    deliveryScheduleMs: options.deliverySchedule ?? DEFAULT_DELIVERY_SCHEDULE,
    deliveriesInFlight: options.deliveriesInFlight ?? DEFAULT_DELIVERIES_IN_FLIGHT,
    logFormat: options.logFormat ?? "text",
    quiet: options.quiet ?? false,
  };
}

/** Waits while another process keeps the database locked: each try of a write waits 2 s. */
async function retryWhileLocked<Value>(write: () => Promise<Value>): Promise<Outcome<Value, Problem>> {
  for (let tries = 1; ; tries += 1) {
    try {
      return accept(await write());
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (tries === MAX_LOCKED_TRIES) return fail(unavailable(error));
    }
  }
}

function unavailable({ failure, message }: StorageUnavailable): Problem {
  return {
    exitCode: EXIT.failed,
    code: failure.code,
    message: `sandbox.db cannot be used: ${message}`,
    next: failure.next,
  };
}

/** What the first store is made or read with. */
type Found = {
  readonly held: Held;
  readonly store: Store;
  readonly maker: StoreMaker;
  readonly given: GivenSecrets;
  readonly credentials: Credentials | undefined;
  readonly forgetStore: (erasure: Erasure) => void;
};

/** The store that the sandbox shows, its API key (null where nobody has kept it), and why nothing is delivered. */
async function firstStore(
  context: Host,
  options: ServeOptions,
  { held, store, maker, given, credentials, forgetStore }: Found,
) {
  const { before, done } = await setUp(options, { ...maker, store });
  const made = await retryWhileLocked(async () => {
    await finishErasures({ ...maker, store, forgetStore, assumptions: NO_ASSUMPTIONS });
    return Promise.all([seed(store, maker, before), settleFolder(context, options, { held, store })]);
  });
  if (!made.ok) return made;
  const [seeding, folderHold] = made.value;
  if (!seeding.ok) return refusedSeed(seeding.refusal, { held, given, setup: options.setup });
  done?.();
  const seeded = seeding.value;
  const confirmed = await confirmStore(context.world, held, store);
  if (!confirmed.ok) return confirmed;
  const apiKey = seeded.apiKey ?? credentials?.stores[seeded.id]?.api_key ?? null;
  return accept({ seeded, apiKey, folderHold });
}

/** Puts a new store into `sandbox.db` itself before anything says ready: a lost log can never lose it (decision 54). */
async function confirmStore(world: GuestWorld, held: Held, store: Store): Promise<Outcome<void, Problem>> {
  const kept = held === undefined ? accept(undefined) : state.readCredentials(world, held.path);
  if (!kept.ok) return kept;
  if (held === undefined || kept.value?.ready !== false) return accept(undefined);
  const copied = await retryWhileLocked(store.checkpoint);
  if (copied.ok) state.writeCredentials(world, held.path, { stores: kept.value.stores });
  return copied;
}

function openState(
  world: GuestWorld,
  held: Held,
  { given, credentials }: Pick<Found, "given" | "credentials">,
): Outcome<{ readonly store: Store; readonly masterKey: Uint8Array }, Problem> {
  const path = held === undefined ? IN_MEMORY : stateFile(held.path, "database");
  const hasFile = held === undefined ? accept(undefined) : state.checkDatabaseIsThere(world, held.path);
  if (!hasFile.ok) return hasFile;
  const opened = openStore(path, {
    nativeBinding: world.sqliteAddon(),
    pid: world.pid,
    scheduler: world,
  });
  if (!opened.ok) return fail(fileProblem("database", opened.refusal));
  const store = opened.value;
  const isEmpty = store.stores.first() === undefined;
  const isThere =
    held !== undefined && isEmpty ? state.checkStoreIsThere(held.path, credentials) : accept(undefined);
  const key = isThere.ok ? checkedKey(world, { held, store, given }) : isThere;
  if (key.ok) return accept({ store, masterKey: key.value });
  store.leave();
  return key;
}

/** The lines of requests, our failures, and what v1 was asked. */
function openLogs(
  world: GuestWorld,
  { logFormat: format = "text", quiet = false, keptRequests: kept, startClock }: ServeOptions,
  { held, store, stream }: { readonly held: Held; readonly store: Store; readonly stream: LogStream },
) {
  const failures = createFailureLog(world, { format, stream });
  // In a terminal a line fits 80 columns, and commands take the short id; a file is searched for the whole one.
  const ids = isTerminal(stream) ? { shownId: shortId } : {};
  return {
    lines: quiet ? SILENT_LOG : createAccessLog(world, { format, stream, ...ids }),
    failures,
    requests: requestLogOf(world, held, { store, report: failures.report, kept, startClock }),
  };
}

function requestLogOf(
  world: GuestWorld,
  held: Held,
  {
    store,
    report,
    kept = DEFAULT_KEPT_REQUESTS,
    startClock,
  }: {
    readonly store: Store;
    readonly report: (work: string, error: unknown) => void;
    readonly kept: number | undefined;
    readonly startClock: StoreClock | undefined;
  },
): RequestLog {
  const path = held === undefined ? IN_MEMORY : stateFile(held.path, "requests");
  const say = (problem: unknown): void => report("request log", problem);
  return createRequestLog(world, {
    open: () => openRequestFile(path, { nativeBinding: world.sqliteAddon(), pid: world.pid, report: say }),
    ownerOf: (request) => formerOwner(store, request) ?? { storeId: store.stores.first()?.id },
    kept,
    startClock,
    report: say,
  });
}

/** The master key; refuses one that does not open the first store, and a store with other secrets than were given. */
function checkedKey(
  world: GuestWorld,
  { held, store, given }: { readonly held: Held; readonly store: Store; readonly given: GivenSecrets },
): Outcome<Uint8Array, Problem> {
  const key = masterKeyOf(world, held, store);
  if (!key.ok) return key;
  const refusal = refusalOfFirst(store, { masterKey: key.value, given: secretsOf(given) });
  return refusal === undefined ? key : refusedStore(refusal, { held, given });
}

function masterKeyOf(world: GuestWorld, held: Held, store: Store): Outcome<Uint8Array, Problem> {
  if (held === undefined) return accept(world.randomBytes(MASTER_KEY_BYTES));
  return state.masterKey(world, held.path, store.stores.first() === undefined ? "empty" : "filled");
}

/** Why nothing may be delivered from this folder; undefined if all may, and always where nothing is kept. */
async function settleFolder(
  { world }: Host,
  { adopt = false }: ServeOptions,
  { held, store }: { readonly held: Held; readonly store: Store },
): Promise<string | undefined> {
  if (held === undefined) return undefined;
  return settleHome(store, { path: world.files.realPath(held.path), adopt });
}

function storeMaker(
  world: GuestWorld,
  { startClock }: ServeOptions,
  {
    held,
    masterKey,
    given,
  }: { readonly held: Held; readonly masterKey: Uint8Array; readonly given: GivenSecrets },
): StoreMaker {
  return { world, masterKey, given: secretsOf(given), startClock, ...keptKeys(world, held?.path) };
}

function secretsOf({ apiKey, signingSecret }: GivenSecrets): NonNullable<StoreMaker["given"]> {
  return { apiKey: apiKey?.value, signingSecret: signingSecret?.value };
}

/** What the control API makes stores with, beside what it has itself. */
function ofNewStores({ keepKey, keepKeySoon, keepName, startClock }: StoreMaker) {
  return { keepKey, keepKeySoon, keepName, startClock };
}

/** What sets up the stores of the configuration, in the transaction of the seed. Loaded only where there is one. */
async function setUp(
  { setup, port = DEFAULT_PORT, allowTarget = [] }: ServeOptions,
  maker: StoreMaker & { readonly store: Store },
): Promise<{ readonly before?: BeforeSeed; readonly done?: () => void }> {
  if (setup === undefined) return {};
  const { applyConfig } = await import("../../sandbox/config/apply.ts");
  const targets = { allowedHosts: allowTarget, ownPort: port };
  let changes: readonly PlannedChange[] = [];
  const before: BeforeSeed = () => {
    const applied = applyConfig({ ...maker, targets }, { stores: setup.stores, prune: false });
    if (!applied.ok) return applied;
    changes = applied.value.changes;
    return accept(applied.value.made);
  };
  // Only now is it on disk; the transaction may have run twice.
  return { before, done: () => setup.applied(changes) };
}

/**
 * The `run.json` of a folder that is held. `renew` writes it again where a reset or a restore has changed what it tells;
 * a failure of that is reported, because what it follows from is done.
 */
function runFile(
  { world, version }: Pick<Host, "world" | "version">,
  held: Held,
  { store, report }: { readonly store: Store; readonly report: (work: string, error: unknown) => void },
) {
  let served: Pick<Run, "port"> | undefined;
  const write = (): void => {
    if (held === undefined || served === undefined) return;
    const told = { version, store_id: store.stores.first()?.id, instance_id: store.instance.id() };
    state.writeRun(world, held.path, { ...held.run, ...served, ...told });
  };
  return {
    write: (port: number): void => {
      // Null where there is no socket: nobody else can ask it anything.
      served = { port: port === 0 ? null : port };
      write();
    },
    renew: (): void => {
      try {
        write();
      } catch (error) {
        report("run.json", error);
      }
    },
  };
}

/** Forgets what the files beside the database keep of a store. */
function forgetInFolder(world: GuestWorld, held: Held, { storeId, kind }: Erasure): void {
  if (held !== undefined && kind === "delete") state.dropStore(world, held.path, storeId);
}

/** Nothing is noted before the sandbox answers. */
const NO_ASSUMPTIONS = { forget: () => undefined };

function refusalProblem({ code, message }: Refusal): Problem {
  return { exitCode: EXIT.failed, code, message, next: "correct it and start again" };
}

/** A service without what follows from its port. */
type PortlessService = Pick<
  SandboxOptions,
  | "store"
  | "log"
  | "requests"
  | "report"
  | "masterKey"
  | "folderHold"
  | "requestStop"
  | "keepKey"
  | "keepKeySoon"
  | "keepName"
  | "startClock"
  | "forgetStore"
  | "instanceChanged"
  | "snapshotShelf"
> &
  Tokens & { readonly describe: (port: number) => SandboxDescription };

/** A sandbox on its port. */
type Listening = {
  readonly listener: Listener;
  readonly sandbox: Sandbox;
  readonly description: SandboxDescription;
};

/** A page of the portal and one that payers see never have one host: cookies know no ports (decision 99). */
function requireOwnHost({ portalUrl, publicUrl, allowHost = [] }: ServeOptions): Outcome<void, Problem> {
  if (portalUrl === undefined) return accept(undefined);
  const { hostname } = new URL(portalUrl);
  const shared = [...(publicUrl === undefined ? [] : [new URL(publicUrl).host]), ...allowHost];
  if (shared.every((host) => host.replace(/:\d+$/, "").toLowerCase() !== hostname)) return accept(undefined);
  const message = `--portal-url ${portalUrl} has a host that payers reach the payment pages at`;
  return failUsage(message, "name another host for the portal, or leave --portal-url out");
}

/**
 * Says which addresses other machines reach. Refuses to open one under no name of its own: nobody could use it, and a
 * name is what tells a merchant's request from one that a page sends by DNS rebinding (decision 79).
 */
function noteOpened(
  { printer }: Pick<Host, "printer">,
  { listen: addresses = [], allowHost = [], allowControlHost = [], publicUrl, portalUrl }: ServeOptions,
): Outcome<void, Problem> {
  const open = addresses.filter((address) => !isLoopbackAddress(address));
  if (open.length === 0) return accept(undefined);
  const names = [...allowHost, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])];
  if (names.length === 0) {
    const message = `--listen ${open.join(", ")} opens the sandbox to other machines, and no name of it is allowed`;
    return failUsage(message, "add --allow-host with the HOST that they call it by, or --public-url");
  }
  const control = allowControlHost.length === 0 ? "this machine only" : allowControlHost.join(", ");
  printer.trace(
    `warning: other machines reach the v1 API and the payment pages at ${open.join(", ")}, as ${names.join(", ")}; the control API: ${control}; the portal: ${portalUrl ?? "this machine only"}`,
  );
  return accept(undefined);
}

/** An explicit port is taken or refused; the default one moves up where it is taken, and says so. */
async function listen(
  { world, printer, version }: Host,
  options: ServeOptions,
  { describe: describePort, ...service }: PortlessService,
): Promise<Outcome<Listening, Problem>> {
  let made: Omit<Listening, "listener"> | undefined;
  const makeService = (port: number) => {
    const description = describePort(port);
    const rateLimit = options.rateLimit ?? DEFAULT_RATE_LIMIT;
    const sandbox = createSandbox(world, {
      ...service,
      ...description.settings,
      addresses: options.listen ?? [],
      publicUrl: options.publicUrl,
      portalUrl: options.portalUrl,
      rateLimit,
      description,
      version,
    });
    made = { sandbox, description };
    return sandbox.service;
  };
  const { port: named, listen: addresses = [], publicUrl, portalUrl } = options;
  const wanted = named ?? DEFAULT_PORT;
  // What leads from such a URL to the sandbox would not find it on another port.
  const isLedTo = publicUrl !== undefined || portalUrl !== undefined;
  const last = named === undefined && !isLedTo ? wanted + MAX_PORT_MOVES : wanted;
  for (let port = wanted; ; port += 1) {
    const listener = await world.listen(makeService, { port, addresses, limits: LIMITS });
    if (listener.ok) {
      if (port !== wanted)
        printer.talk(`Port ${wanted} is used by ${ownerOf(world, wanted)}; this sandbox is on ${port}.`);
      if (made === undefined) throw new Error("a listener makes its service");
      return accept({ listener: listener.value, ...made });
    }
    if (listener.refusal.reason === "in_use" && port < last) continue;
    return fail(portProblem(world, port, listener.refusal));
  }
}

function ownerOf(world: GuestWorld, port: number): string {
  return printable(world.portOwner(port) ?? "another process");
}

/** Why nothing is served: the configuration is refused, or the store of this state. */
function refusedSeed(
  refusal: SeedRefusal | Refusal,
  found: { readonly held: Held; readonly given: GivenSecrets; readonly setup: Setup | undefined },
): Outcome<never, Problem> {
  if (typeof refusal === "string") return refusedStore(refusal, found);
  return fail(found.setup?.problem(refusal) ?? refusalProblem(refusal));
}

/** Why the store of this state is not served. */
function refusedStore(
  refusal: SeedRefusal,
  { held, given: { apiKey, signingSecret } }: { readonly held: Held; readonly given: GivenSecrets },
): Outcome<never, Problem> {
  if (refusal === "other_api_key" && apiKey !== undefined) return otherSecret(apiKey, "API key");
  if (refusal === "other_signing_secret" && signingSecret !== undefined)
    return otherSecret(signingSecret, "signing secret");
  const path = held === undefined ? "the master key" : stateFile(held.path, "masterKey");
  return fail({
    exitCode: EXIT.failed,
    code: "master_key_foreign",
    message: `${path} cannot decrypt the signing secret in the database`,
    next: "restore the master.key that belongs to this sandbox.db, or move the folder away and start again",
  });
}
