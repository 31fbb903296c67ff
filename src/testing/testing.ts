/**
 * `hosted-checkout/testing`: the sandbox in the process of a test suite. As a guest in that process, it reads no
 * environment variables, handles no signals, and prints nothing except a warning if it is not closed (decision 97).
 */
import { guestWorld } from "../world/real.ts";
import { fakeTimersProblem } from "../world/clock.ts";
import { createCalls, type Calls } from "./calls.ts";
import { exploreInSandbox } from "./explore/explore.ts";
import type { Exploration, ExploreOptions } from "./explore/types.ts";
import { setInternals } from "./internals.ts";
import { parseOptions } from "./options.ts";
import { StartError } from "./errors.ts";
import { createReceivers } from "./receiver.ts";
import { refuseClosed, startInProcess, type InProcessSandbox } from "./in-process.ts";
import { createFetch } from "./fetch.ts";
import { restoreInto, takeSnapshotOf } from "./store/snapshots.ts";
import { createIdentities, type StoreIdentity } from "./store/identities.ts";
import { testStoreOf } from "./store.ts";
import type { Sandbox, SandboxOptions, Store } from "./types.ts";

export { CheckoutError, StartError, WaitError } from "./errors.ts";
export type * from "./config-types.ts";
export type * from "./explore/types.ts";
export type * from "./fault-types.ts";
export type * from "./types.ts";

/** Starts a sandbox in this process. Rejects with a StartError if an option is wrong or the state cannot be used. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const timersProblem = fakeTimersProblem();
  if (timersProblem !== undefined) throw new StartError({ code: "fake_timers", ...timersProblem });
  const guest = guestWorld();
  try {
    const { world, ...parsedOptions } = await parseOptions(guest.world, options);
    const service = await startInProcess({ ...guest, world }, parsedOptions);
    const calls = createCalls(service);
    return sandboxOf(service, calls, await firstStore(service, calls));
  } catch (error) {
    guest.end();
    throw error;
  }
}

/**
 * Makes purchases with an application while faults are injected, first one at a time, then combined; each run has its
 * own store. Reports the broken invariants (docs/explore.md). Rejects if the application does not work without faults.
 */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { seed = drawSeed() } = options;
  if (options.sandbox !== undefined) return exploreInSandbox(options.sandbox, { ...options, seed });
  const sandbox = await startSandbox({ seed, port: 0 });
  try {
    return await exploreInSandbox(sandbox, { ...options, seed });
  } finally {
    await sandbox.close();
  }
}

const SEED_BYTES = 4;

function drawSeed(): string {
  const { world, end } = guestWorld();
  const seed = Buffer.from(world.randomBytes(SEED_BYTES)).toString("hex");
  end();
  return seed;
}

function sandboxOf(service: InProcessSandbox, calls: Calls, identity: StoreIdentity): Sandbox {
  const { ready } = service;
  const receivers = createReceivers();
  const identities = createIdentities(service, calls);
  const storeContext = { calls, receivers, identities };
  const add = (newIdentity: StoreIdentity): Store => {
    identities.add(newIdentity);
    return testStoreOf(service, storeContext, newIdentity.id);
  };
  let firstHandle = add(identity);
  const forget = (): void => receivers.forget();
  const { fetch: send, handler } = createFetch(service);
  // Receivers end after the sandbox, so that they still answer the deliveries in flight.
  const endPromise = service.endPromise.then(() => receivers.end()).finally(service.end);
  const close = async (): Promise<void> => {
    const timersProblem = fakeTimersProblem();
    if (timersProblem !== undefined)
      throw new Error(`the sandbox cannot be closed: ${timersProblem.message}; restore the timers first`);
    await service.close();
    await endPromise;
  };
  const sandbox: Sandbox = {
    baseUrl: service.baseUrl,
    origin: new URL(ready.base_url).origin,
    controlToken: ready.control_token,
    get store() {
      return firstHandle;
    },
    createStore: async (storeInput = {}) => {
      const { storeId: id, ...storeFields } = await calls.createStore(storeInput);
      return add({ id, ...storeFields });
    },
    fetch: send,
    handler,
    get instanceId() {
      refuseClosed(service);
      return service.context.store.instance.id() ?? "";
    },
    snapshot: () => takeSnapshotOf(service, "all"),
    restore: async (snapshot) => {
      const storeIds = await restoreInto(service, "all", { snapshot, forget, identities });
      const stores = storeIds.map((id) =>
        id === firstHandle.id ? firstHandle : testStoreOf(service, storeContext, id),
      );
      firstHandle = stores[0] ?? firstHandle;
      return stores;
    },
    reset: async () => {
      await calls.control({ name: "reset", body: {} });
      forget();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  return setInternals(sandbox, { running: service, calls });
}

/** Creates a new API key if the folder no longer has the store's key. */
async function firstStore({ ready }: InProcessSandbox, calls: Calls): Promise<StoreIdentity> {
  const { store_id: id, merchant_id: merchantId, store_name: name, signing_secret: signingSecret } = ready;
  const apiKey = ready.api_key ?? (await calls.control({ name: "createKey", storeId: id, body: {} })).apiKey;
  return { id, merchantId, name, apiKey, signingSecret };
}
