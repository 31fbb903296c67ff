import { accept, type Outcome } from "../core/outcome.ts";
import { portalPath } from "../core/portal/path.ts";
import type { Erasure } from "../store/erasures.ts";
import { snapshotsInMemory } from "../sandbox/snapshot/storage.ts";
import { describeProcess } from "./description.ts";
import type { HostFailure } from "./failure.ts";
import * as state from "./folder/state-folder.ts";
import { readDialectFile } from "./config/dialect-file.ts";
import { snapshotsIn } from "./folder/snapshots.ts";
import type { HostContext, SandboxSource, ServedSandbox } from "./hosting.ts";
import type { PortlessService } from "./listen.ts";
import { openLogs } from "./logs.ts";
import type { ServeOptions } from "./options.ts";
import { createKeyWriter } from "./folder/kept-keys.ts";
import { createRunFile } from "./folder/run-file.ts";
import { openFirstStore, openState, secretValues } from "./state.ts";

type OpenedService = Pick<ServedSandbox, "stopRequest"> & {
  readonly service: PortlessService;
  /** The key of the first store; null if only its hash is known. */
  readonly apiKey: string | null;
  readonly runFile: ReturnType<typeof createRunFile>;
  /** Without this call, closing leaves the state unchanged, as for a refused start. */
  readonly markUsed: () => void;
};

export async function withService<Value>(
  context: HostContext,
  options: ServeOptions,
  { heldFolder, location, tokens, secrets }: SandboxSource,
  use: (service: OpenedService) => Promise<Outcome<Value, HostFailure>>,
): Promise<Outcome<Value, HostFailure>> {
  const { world } = context;
  // Read before anything is created, so that a new key cannot replace a file that is not checkout's.
  const credentials =
    heldFolder === undefined ? accept(undefined) : state.readCredentials(world, heldFolder.path);
  if (!credentials.ok) return credentials;
  const { like } = options;
  const dialect = like === undefined ? accept(options.dialect) : await readDialectFile(world, like);
  if (!dialect.ok) return dialect;
  const openedState = openState(context, { heldFolder, secrets }, credentials.value);
  if (!openedState.ok) return openedState;
  const { store, masterKey } = openedState.value;
  const { accessLog, failureLog, requestLog } = openLogs(world, options, { heldFolder, store, location });
  const storeSettings = { startClock: options.startClock, dialect: dialect.value };
  const keyWriter = createKeyWriter(world, heldFolder?.path);
  const maker = { world, masterKey, presets: secretValues(secrets), ...storeSettings, ...keyWriter };
  let closeStore = store.leave;
  try {
    const forgetStore = (erasure: Erasure): void => {
      requestLog.forget(erasure.storeId);
      if (heldFolder !== undefined && erasure.kind === "delete")
        state.forgetStoreKey(world, heldFolder.path, erasure.storeId);
    };
    const parts = { heldFolder, store, maker, secrets, forgetStore };
    const firstStore = await openFirstStore(context, options, parts);
    if (!firstStore.ok) return firstStore;
    const { apiKey, folderHold } = firstStore.value;
    const stopRequest = Promise.withResolvers<void>();
    const runFile = createRunFile(context, heldFolder, { store, report: failureLog.report });
    const service: PortlessService = {
      ...tokens,
      store,
      log: accessLog,
      requests: requestLog,
      report: failureLog.report,
      masterKey,
      folderHold,
      requestStop: stopRequest.resolve,
      ...storeSettings,
      ...keyWriter,
      forgetStore,
      onNewInstance: runFile.renew,
      snapshotStorage: heldFolder === undefined ? snapshotsInMemory() : snapshotsIn(world, heldFolder.path),
      calibration: async () => {
        const { calibrationPath, readCalibration } = await import("./folder/calibration-record.ts");
        return readCalibration(world, calibrationPath(world, heldFolder?.path));
      },
      describe: (port, host) =>
        describeProcess(context, options, {
          port,
          host,
          location,
          portalPath: portalPath(masterKey, store.home.path()),
        }),
    };
    const markUsed = (): void => void (closeStore = store.close);
    return await use({ service, apiKey, runFile, stopRequest: stopRequest.promise, markUsed });
  } finally {
    requestLog.close();
    accessLog.flush();
    failureLog.flush();
    closeStore();
  }
}
