import { Buffer } from "node:buffer";
import type { HostedSettings } from "./shared/settings.ts";
import { servedSettingsOf } from "../core/config/settings.ts";
import { SILENT_LOG } from "../sandbox/runtime/access-log.ts";
import { createFailureLog } from "../sandbox/runtime/failure-log.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "../sandbox/sandbox.ts";
import { snapshotsInMemory } from "../sandbox/snapshot/storage.ts";
import type { Connection } from "../store/connection/connection.ts";
import type { Store } from "../store/store.ts";
import type { HostedEnv } from "./env.ts";
import { openRequestLog } from "./request-log.ts";
import { consoleStream, type WorkerWorld } from "./world.ts";
import type { ProcessDescription } from "../core/sandbox/description.ts";

type SandboxParts = {
  readonly connection: Connection;
  readonly store: Store;
  readonly operations: SandboxOptions["operations"] & {};
  /** Deletes the store's data outside this database. Default: there is none. */
  readonly forgetStore?: SandboxOptions["forgetStore"];
};

export function createHostedSandbox(world: WorkerWorld, env: HostedEnv, parts: SandboxParts): Sandbox {
  const { connection, store, operations, forgetStore } = parts;
  const { SETTINGS, CONTROL_TOKEN, ADMIN_TOKEN } = env;
  const failureLog = createFailureLog(world, { format: "text", stream: consoleStream });
  const requestLog = openRequestLog(world, { connection, store, report: failureLog.report });
  const description = describe(SETTINGS);
  const sandbox = createSandbox(world, {
    ...description.settings,
    ...storeCreationContextOf(env),
    store,
    ...hostedHosts(SETTINGS),
    rateLimit: SETTINGS.rateLimit,
    targetReach: "public",
    folderHold: SETTINGS.folderHold ?? undefined,
    log: SILENT_LOG,
    requests: requestLog,
    controlToken: CONTROL_TOKEN,
    adminToken: ADMIN_TOKEN,
    description,
    requestStop: () => undefined,
    version: SETTINGS.version,
    forgetStore: async (erasure) => {
      requestLog.forget(erasure.storeId);
      await forgetStore?.(erasure);
    },
    onNewInstance: () => undefined,
    snapshotStorage: snapshotsInMemory(),
    calibration: () => Promise.resolve(undefined),
    operations,
    report: failureLog.report,
  });
  sandbox.markAnnounced();
  return {
    ...sandbox,
    stop: async (graceMs) => {
      await sandbox.stop(graceMs);
      // Requests that are still open are not logged, because their store is about to be deleted.
      requestLog.close();
    },
  };
}

export function hostedHosts({ port, origin }: Pick<HostedSettings, "port" | "origin">) {
  return {
    port,
    addresses: [],
    allowHosts: [],
    allowControlHosts: [new URL(origin).host],
    publicUrl: origin,
    // A hosted service has no portal, which would need its own origin.
    portalUrl: undefined,
  };
}

/** Keeps no copy of new keys: only the caller receives a key. */
export function storeCreationContextOf({ MASTER_KEY }: Pick<HostedEnv, "MASTER_KEY">) {
  return {
    masterKey: Buffer.from(MASTER_KEY, "hex"),
    keepKey: () => undefined,
    keepKeySoon: () => Promise.resolve(),
    keepName: () => undefined,
  };
}

function describe(settings: HostedSettings): ProcessDescription {
  const { port, origin, rateLimit, allowTargets, dataDir, logFile, pid, startedAt, version } = settings;
  return {
    baseUrl: `${origin}/v1`,
    portalUrl: null,
    checkoutOrigin: origin,
    dataDir,
    ephemeral: false,
    pid,
    version,
    startedAt,
    logFile,
    settings: {
      ...servedSettingsOf({
        port,
        rateLimit,
        allowControlHost: [new URL(origin).host],
        allowTarget: allowTargets,
        publicUrl: origin,
      }),
      logFormat: "text",
      quiet: true,
    },
  };
}
