import { DurableObject, type ObjectState } from "cloudflare:workers";
import { NEW_MERCHANT } from "../core/control/operations/stores.ts";
import type { FirstStore } from "./shared/settings.ts";
import { accept, mapValue } from "../core/outcome.ts";
import { refuseFact } from "../core/refusals.ts";
import { refuseWithoutStore } from "../sandbox/with-store.ts";
import { findStoresToErase, finishErasures } from "../sandbox/runtime/erase.ts";
import { createFailureLog } from "../sandbox/runtime/failure-log.ts";
import type { Erasure } from "../store/erasures.ts";
import type { Store } from "../store/store.ts";
import type { StoreDetails } from "../store/stores.ts";
import { createObjectAlarm } from "./alarms.ts";
import { toWorkerResponse } from "./answer.ts";
import { createConnection, toObjectFailure } from "./connection.ts";
import type { HostedEnv, IndexCalls } from "./env.ts";
import { markOfId, objectName, type Mark } from "./shared/marks.ts";
import { REFUSED_OPERATIONS, type OperationOverrides } from "./operations.ts";
import { createHostedSandbox } from "./sandbox.ts";
import { migrateTables, openObjectStore } from "./store.ts";
import { consoleStream, randomMark, workerWorld } from "./world.ts";

type OpenIndex = Awaited<ReturnType<typeof openIndex>>;

/** Lists all stores and serves operations on several stores; the data of each store is in its own object. */
export class IndexObject extends DurableObject<HostedEnv> implements IndexCalls {
  private index: OpenIndex | undefined;

  constructor(state: ObjectState, env: HostedEnv) {
    super(state, env);
    void state.blockConcurrencyWhile(async () => {
      this.index = await openIndex(state, env);
    });
  }

  async fetch(request: Request): Promise<Response> {
    const { sandbox, store } = this.requireIndex();
    const response = await toWorkerResponse(sandbox, request);
    // Throws, so that the Worker refuses the request and remembers the failure for its health check.
    const failure = store.failure();
    if (response.status === 503 && failure !== undefined) throw new Error(failure.message);
    return response;
  }

  hasWritten(): boolean {
    return this.requireIndex().store.hasWritten();
  }

  /** Repeats erasures that were interrupted or failed. */
  async alarm(): Promise<void> {
    const { store, alarm } = this.requireIndex();
    await alarm.settle(store);
    await finishInterrupted(this.requireIndex());
  }

  firstMark(): Mark | undefined {
    const firstStore = this.requireIndex().store.stores.first();
    return firstStore && markOfId(firstStore.id);
  }

  async note({ id, merchantId, merchant, store: name, active, createdAt }: StoreDetails): Promise<void> {
    const { store } = this.requireIndex();
    await store.write(() => {
      if (store.erasures.pending().some(({ storeId }) => storeId === id)) return;
      store.stores.insertMerchant({ id: merchantId, name: merchant, createdAt });
      if (store.stores.names(id) === undefined) store.stores.insert({ id, merchantId, name, createdAt });
      store.stores.rename(id, name);
      store.stores.setActive(id, active);
    });
  }

  private requireIndex(): OpenIndex {
    if (this.index === undefined) throw new Error("the index is opened before its first request");
    return this.index;
  }
}

async function openIndex({ storage }: ObjectState, env: HostedEnv) {
  migrateTables(storage);
  // Mark 0, because ids that the index creates are not routed to an object.
  const world = workerWorld(0);
  const connection = createConnection(storage);
  const alarm = createObjectAlarm(storage, world, await storage.getAlarm());
  const store = openObjectStore(connection, { storage, scheduler: world, onWrite: alarm.onWrite });
  const { home, folderHold } = env.SETTINGS;
  await store.write(() => {
    if (store.instance.id() === undefined) store.instance.renew(world.freshId());
    // The state now belongs to this folder, so its webhooks are delivered only from this folder.
    if (home !== null && folderHold === null && store.home.path() !== home) store.home.record(home);
  });
  const operations = { ...REFUSED_OPERATIONS, ...operationsOn(store, env) };
  // Forwards only deletions: the operation `reset` resets the objects itself.
  const forgetStore = async ({ storeId, kind }: Erasure): Promise<void> =>
    kind === "delete" ? storeObject(env, storeId).erase().catch(throwObjectFailure) : undefined;
  const sandbox = createHostedSandbox(world, env, { connection, store, operations, forgetStore });
  const { report } = createFailureLog(world, { format: "text", stream: consoleStream });
  const index = { store, sandbox, alarm, report };
  await finishInterrupted(index);
  return index;
}

/** If the object of a store fails, the next alarm repeats the erasure. */
async function finishInterrupted({ store, sandbox: { context }, alarm, report }: OpenIndex): Promise<void> {
  for (const { storeId } of store.erasures.pending())
    await finishErasures(context, [storeId]).catch((error: unknown) => {
      report("erasure", error);
      alarm.onWrite();
    });
}

function operationsOn(store: Store, env: HostedEnv): OperationOverrides {
  return {
    createStore: async (_context, { body: { name, merchant, dialect } }) => {
      const { stores, instance } = store;
      const id = merchant === NEW_MERCHANT ? undefined : (merchant ?? stores.first()?.merchantId);
      if (id !== undefined && !stores.hasMerchant(id)) return refuseFact("no_merchant", { merchant: id });
      const storeInput = {
        instanceId: instance.id() ?? "",
        name,
        dialect,
        merchant: id === undefined ? undefined : { id },
        given: stores.first() === undefined ? firstStoreOf(env) : undefined,
      };
      for (;;) {
        const mark = storeInput.given === undefined ? randomMark() : markOfStore(storeInput.given.id);
        const createdStore = await env.STORES.getByName(objectName(mark))
          .create({ mark, ...storeInput })
          .catch(throwObjectFailure);
        if (createdStore !== undefined)
          return mapValue(createdStore, ({ id: storeId, ...rest }) => ({ ...rest, storeId }));
      }
    },
    reset: async (context, { body }) => {
      const stores = findStoresToErase(context, body.store);
      if (!stores.ok) return stores;
      const resets = await Promise.all(
        stores.value.map(({ storeId }) => storeObject(env, storeId).reset().catch(throwObjectFailure)),
      );
      await store.write(() => store.instance.renew(context.world.freshId()));
      const refusedReset = resets.find(({ ok }) => !ok);
      return refusedReset === undefined || refusedReset.ok ? accept({ stores: stores.value }) : refusedReset;
    },
    describeSandbox: async () => {
      const firstStore = store.stores.first();
      if (firstStore === undefined) return refuseWithoutStore();
      return storeObject(env, firstStore.id).describe().catch(throwObjectFailure);
    },
  };
}

function throwObjectFailure(error: unknown): never {
  throw toObjectFailure(error);
}

function storeObject({ STORES }: HostedEnv, storeId: string) {
  return STORES.getByName(objectName(markOfStore(storeId)));
}

function markOfStore(storeId: string): Mark {
  const mark = markOfId(storeId);
  if (mark === undefined) throw new Error(`the id ${storeId} has no mark`);
  return mark;
}

function firstStoreOf({ FIRST_STORE }: HostedEnv): FirstStore | undefined {
  const givenStore: FirstStore | null = FIRST_STORE === null ? null : JSON.parse(FIRST_STORE);
  return givenStore ?? undefined;
}
