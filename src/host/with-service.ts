import { accept, type Outcome } from "../core/outcome.ts";
import type { Erasure } from "../store/erasures.ts";
import type { StoreMaker } from "../sandbox/runtime/seed.ts";
import { snapshotsInMemory } from "../sandbox/snapshot/storage.ts";
import type { GuestWorld } from "../world.ts";
import { describeProcess } from "./description.ts";
import type { HostFailure } from "./failure.ts";
import * as state from "./folder/state-folder.ts";
import { dialectOfStart } from "./config/dialect-file.ts";
import { snapshotsIn } from "./folder/snapshots.ts";
import type { GivenSecrets } from "./given-secrets.ts";
import type { HeldFolder, Host, StateLocation } from "./hosting.ts";
import type { PortlessService, ControlTokens } from "./listen.ts";
import { openLogs } from "./logs.ts";
import type { ServeOptions } from "./options.ts";
import { createRunFile } from "./folder/run-file.ts";
import { openFirstStore, openState, createStoreMaker } from "./state.ts";

export type SandboxSource = {
  readonly held: HeldFolder;
  readonly place: StateLocation;
  readonly tokens: ControlTokens;
  readonly given: GivenSecrets;
};

/** A service without a port, and its resources. */
type MadeService = {
  readonly service: PortlessService;
  /** The key of the first store; null if the key was not stored. */
  readonly apiKey: string | null;
  readonly run: ReturnType<typeof createRunFile>;
  /** Resolves when the control API asks the sandbox to stop. */
  readonly stopRequested: Promise<void>;
  /** Marks the state as used; an unused state is left unchanged. */
  readonly isUsed: () => void;
};

/** Opens a state and creates its service; when `use` has returned, everything is on disk. */
export async function withService<Value>(
  context: Host,
  options: ServeOptions,
  { held, place, tokens, given }: SandboxSource,
  use: (made: MadeService) => Promise<Outcome<Value, HostFailure>>,
): Promise<Outcome<Value, HostFailure>> {
  const { world } = context;
  // Checked before anything is created, so that a new key does not replace a foreign file.
  const credentials = held === undefined ? accept(undefined) : state.readCredentials(world, held.path);
  if (!credentials.ok) return credentials;
  const dialect = await dialectOfStart(world, options);
  if (!dialect.ok) return dialect;
  const openedState = openState(context, held, { given, credentials: credentials.value });
  if (!openedState.ok) return openedState;
  const { store, masterKey } = openedState.value;
  const { lines, failures, requests } = openLogs(world, options, { held, store, place });
  const maker = createStoreMaker(world, options, { held, masterKey, given, dialect: dialect.value });
  let end = store.leave;
  try {
    const forgetStore = (erasure: Erasure): void => {
      requests.forget(erasure.storeId);
      forgetInFolder(world, held, erasure);
    };
    const parts = { held, store, maker, given, credentials: credentials.value, forgetStore };
    const firstStore = await openFirstStore(context, options, parts);
    if (!firstStore.ok) return firstStore;
    const { apiKey, folderHold } = firstStore.value;
    const stop = Promise.withResolvers<void>();
    const run = createRunFile(context, held, { store, report: failures.report });
    const service: PortlessService = {
      ...tokens,
      store,
      log: lines,
      requests,
      report: failures.report,
      masterKey,
      folderHold,
      requestStop: stop.resolve,
      ...storeCreationParts(maker),
      forgetStore,
      instanceChanged: run.renew,
      snapshotStorage: held === undefined ? snapshotsInMemory() : snapshotsIn(world, held.path),
      calibration: async () => {
        const { calibrationPath, readCalibration } = await import("./folder/calibration-record.ts");
        return readCalibration(world, calibrationPath(world, held?.path));
      },
      describe: (port, host) => describeProcess(context, options, { port, host, place, store, masterKey }),
    };
    const isUsed = (): void => void (end = store.close);
    return await use({ service, apiKey, run, stopRequested: stop.promise, isUsed });
  } finally {
    requests.close();
    lines.flush();
    failures.flush();
    end();
  }
}

/** The parts of the store maker that the control API needs to create stores. */
function storeCreationParts({ keepKey, keepKeySoon, keepName, startClock, dialect }: StoreMaker) {
  return { keepKey, keepKeySoon, keepName, startClock, dialect };
}

function forgetInFolder(world: GuestWorld, heldFolder: HeldFolder, { storeId, kind }: Erasure): void {
  if (heldFolder !== undefined && kind === "delete") state.dropStore(world, heldFolder.path, storeId);
}
