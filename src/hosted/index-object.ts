import { DurableObject, type ObjectState } from "cloudflare:workers";
import { NEW_MERCHANT } from "../core/control/stores.ts";
import { accept, refuse, type Outcome } from "../core/outcome.ts";
import { finishErasures } from "../sandbox/runtime/erase.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Erasure } from "../store/erasures.ts";
import type { Store } from "../store/store.ts";
import type { StoreDetails } from "../store/stores.ts";
import { createObjectAlarm, type ObjectAlarm } from "./alarms.ts";
import { toWorkerResponse } from "./answer.ts";
import { createConnection } from "./connection.ts";
import type { HostedEnv, IndexCalls } from "./env.ts";
import { markOfId, objectName, type Mark } from "./marks.ts";
import { REFUSED_OPERATIONS, type OperationOverrides } from "./operations.ts";
import { createHostedSandbox } from "./sandbox.ts";
import { migrate, openObjectStore } from "./store.ts";
import { drawMark, workerWorld } from "./world.ts";

/**
 * The index of all stores, for the operator: a sandbox whose stores are only entries, and which erases a store in the
 * store's own object. It handles no v1 request, webhook or page.
 */
export class IndexObject extends DurableObject<HostedEnv> implements IndexCalls {
  private list: { readonly store: Store; readonly sandbox: Sandbox; readonly alarm: ObjectAlarm } | undefined;

  constructor(state: ObjectState, env: HostedEnv) {
    super(state, env);
    void state.blockConcurrencyWhile(async () => {
      this.list = await openIndex(state, env);
    });
  }

  fetch(request: Request): Promise<Response> {
    return toWorkerResponse(this.opened().sandbox, request);
  }

  /** Called by the durable alarm, after the constructor has finished interrupted work. */
  async alarm(): Promise<void> {
    const { store, alarm } = this.opened();
    await alarm.settle(store);
  }

  first(): Mark | undefined {
    const first = this.opened().store.stores.first();
    return first && markOfId(first.id);
  }

  async note({ id, merchantId, merchant, store: name, active, createdAt }: StoreDetails): Promise<void> {
    const { store } = this.opened();
    await store.write(() => {
      if (store.erasures.pending().some(({ storeId }) => storeId === id)) return;
      store.stores.insertMerchant({ id: merchantId, name: merchant, createdAt });
      if (store.stores.names(id) === undefined) store.stores.insert({ id, merchantId, name, createdAt });
      store.stores.rename(id, name);
      store.stores.setActive(id, active);
    });
  }

  private opened(): NonNullable<typeof this.list> {
    if (this.list === undefined) throw new Error("the index is opened before its first request");
    return this.list;
  }
}

async function openIndex({ storage }: ObjectState, env: HostedEnv) {
  migrate(storage);
  // Ids drawn by the index name no object.
  const world = workerWorld(0);
  const connection = createConnection(storage);
  const alarm = createObjectAlarm(storage, world, await storage.getAlarm());
  const store = openObjectStore(connection, { storage, scheduler: world, wrote: alarm.wrote });
  await store.write(() => {
    if (store.instance.id() === undefined) store.instance.renew(world.freshId());
  });
  const operations = { ...REFUSED_OPERATIONS, ...operationsOn(store, env) };
  const forgetStore = (erasure: Erasure): Promise<void> => forgetIn(env, erasure);
  const sandbox = createHostedSandbox(world, env, { connection, store, operations, forgetStore });
  await finishErasures(sandbox.context);
  return { store, sandbox, alarm };
}

/** The operations whose work is done in the object of a store. */
function operationsOn(store: Store, env: HostedEnv): OperationOverrides {
  return {
    createStore: async (_context, { body: { name, merchant } }) => {
      const { stores, instance } = store;
      const id = merchant === NEW_MERCHANT ? undefined : (merchant ?? stores.first()?.merchantId);
      if (id !== undefined && !stores.hasMerchant(id))
        return refuse("not_found", `there is no merchant ${id}`);
      const wanted = {
        instanceId: instance.id() ?? "",
        name,
        merchant: id === undefined ? undefined : { id },
      };
      for (;;) {
        const mark = drawMark();
        const made = await env.STORES.getByName(objectName(mark)).create({ mark, ...wanted });
        if (made === undefined) continue;
        const { id: storeId, ...rest } = made;
        return accept({ ...rest, storeId });
      }
    },
    describeSandbox: (): Promise<Outcome<never>> | ReturnType<ReturnType<typeof objectOf>["describe"]> => {
      const first = store.stores.first();
      if (first === undefined) return Promise.resolve(refuse("not_found", "there is no store yet"));
      return objectOf(env, first.id).describe();
    },
  };
}

/**
 * Deletes or resets a store in its object. If this was interrupted, it is called again at the next start; the object
 * may then have finished.
 */
async function forgetIn(env: HostedEnv, { storeId, kind }: Erasure): Promise<void> {
  const object = objectOf(env, storeId);
  await (kind === "reset" ? object.reset() : object.erase());
}

function objectOf({ STORES }: HostedEnv, storeId: string) {
  const mark = markOfId(storeId);
  if (mark === undefined) throw new Error(`the id ${storeId} has no mark`);
  return STORES.getByName(objectName(mark));
}
