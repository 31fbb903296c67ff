import { DurableObject, type ObjectState, type ObjectStorage } from "cloudflare:workers";
import type { FirstStore } from "./shared/settings.ts";
import { CONTROL_PREFIX } from "../core/control/protocol.ts";
import { INDEX_NAME } from "./shared/marks.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { refuseFact } from "../core/refusals.ts";
import { OWNER } from "../sandbox/access/caller.ts";
import { refuseWithoutStore } from "../sandbox/with-store.ts";
import { runOperation } from "../sandbox/control/handlers.ts";
import { finishErasures, resetStores } from "../sandbox/runtime/erase.ts";
import { insertStore, type NewStore } from "../sandbox/runtime/seed.ts";
import { createObjectAlarm } from "./alarms.ts";
import { toWorkerResponse } from "./answer.ts";
import { createConnection } from "./connection.ts";
import type { HostedEnv, StoreCalls, StoreInput } from "./env.ts";
import { createStorelessSandbox } from "./nowhere.ts";
import { REFUSED_OPERATIONS } from "./operations.ts";
import { createHostedSandbox, storeCreationContextOf } from "./sandbox.ts";
import { hasTables, migrateTables, openObjectStore } from "./store.ts";
import { workerWorld } from "./world.ts";
import type { SandboxDescription } from "../core/sandbox/description.ts";

type OpenStore = Awaited<ReturnType<typeof openStore>>;

export class StoreObject extends DurableObject<HostedEnv> implements StoreCalls {
  private openedStore: OpenStore | undefined;
  private lastReport: Promise<void> = Promise.resolve();

  constructor(state: ObjectState, env: HostedEnv) {
    super(state, env);
    void state.blockConcurrencyWhile(async () => {
      if (hasTables(state.storage)) this.openedStore = await openStore(state.storage, env);
    });
  }

  async fetch(request: Request): Promise<Response> {
    const { openedStore } = this;
    if (openedStore === undefined) return toWorkerResponse(createStorelessSandbox(this.env), request);
    const { method, headers, url } = request;
    const response = await toWorkerResponse(openedStore.sandbox, request);
    // The store was deleted during the request, so the client gets the answer for an unknown store.
    if (this.openedStore !== openedStore && response.status >= 500)
      return toWorkerResponse(createStorelessSandbox(this.env), new Request(url, { method, headers }));
    // Throws, so that the Worker refuses the request and remembers the failure for its health check.
    const failure = openedStore.store.failure();
    if (response.status === 503 && failure !== undefined) throw new Error(failure.message);
    if (method !== "GET" && new URL(url).pathname.startsWith(CONTROL_PREFIX))
      await this.reportToIndex().catch(openedStore.alarm.onWrite);
    return response;
  }

  hasWritten(): boolean {
    return this.openedStore?.store.hasWritten() ?? false;
  }

  async alarm(): Promise<void> {
    await this.reportToIndex();
    await this.openedStore?.alarm.settle(this.openedStore.store);
  }

  async create(input: StoreInput): Promise<Outcome<NewStore> | undefined> {
    const { storage } = this.ctx;
    if (this.openedStore !== undefined) return input.given && this.findGivenStore(input.given);
    const createdStore = storage.transactionSync(() => insertNewStore(storage, this.env, input));
    // The alarm is committed with the rows: after a crash, it reports the store to the index.
    createObjectAlarm(storage, workerWorld(input.mark), null).onWrite();
    this.openedStore = await openStore(storage, this.env);
    await this.reportToIndex();
    return accept(createdStore);
  }

  private async findGivenStore(given: FirstStore): Promise<Outcome<NewStore>> {
    const description = await this.describe();
    if (!description.ok) return description;
    const { storeId, merchantId, storeName: name, signingSecret } = description.value;
    if (storeId !== given.id) return refuseFact("first_store_differs", { store: storeId, first: given.id });
    this.ctx.storage.sql.exec("UPDATE hosted_store SET told = NULL");
    await this.reportToIndex();
    return accept({ ...given, merchantId, name, signingSecret });
  }

  async describe(): Promise<Outcome<SandboxDescription>> {
    const { openedStore } = this;
    if (openedStore === undefined) return refuseWithoutStore();
    const call = { storeId: openedStore.storeId, id: "", requestId: "", caller: OWNER, body: undefined };
    return runOperation(openedStore.sandbox.context, "describeSandbox", call);
  }

  async reset(): Promise<Outcome<void>> {
    const { openedStore } = this;
    if (openedStore === undefined) return accept(undefined);
    const reset = await resetStores(openedStore.sandbox.context, undefined);
    if (!reset.ok) return reset;
    await openedStore.sandbox.context.wakeStores([openedStore.storeId]);
    return accept(undefined);
  }

  async erase(): Promise<void> {
    const { openedStore } = this;
    const { storage } = this.ctx;
    await Promise.allSettled([this.lastReport]);
    this.openedStore = undefined;
    await openedStore?.sandbox.stop(0);
    await storage.deleteAlarm();
    await storage.deleteAll();
  }

  private async reportToIndex(): Promise<void> {
    const { openedStore, env } = this;
    const { sql } = this.ctx.storage;
    const details = openedStore?.store.stores.details(openedStore.storeId);
    if (details === undefined) return;
    const text = JSON.stringify(details);
    if (sql.exec("SELECT told FROM hosted_store").raw().next().value?.[0] === text) return;
    this.lastReport = env.INDEX.getByName(INDEX_NAME)
      .note(details)
      .then(() => void sql.exec("UPDATE hosted_store SET told = ?", text));
    await this.lastReport;
  }
}

/** `told`: the details that were last reported to the index, as JSON. */
const HOSTED_DDL = "CREATE TABLE hosted_store (mark INTEGER NOT NULL, told TEXT) STRICT";

function insertNewStore(
  storage: ObjectStorage,
  env: HostedEnv,
  { mark, instanceId, name, dialect, merchant, given }: StoreInput,
): NewStore {
  migrateTables(storage);
  storage.sql.exec(HOSTED_DDL);
  storage.sql.exec("INSERT INTO hosted_store (mark) VALUES (?)", mark);
  const world = workerWorld(mark);
  const options = { storage, scheduler: world, onWrite: () => undefined };
  const store = openObjectStore(createConnection(storage), options);
  store.instance.renew(instanceId);
  const maker = { world, ...storeCreationContextOf(env) };
  return insertStore(store, maker, { ...given, ...(name && { name }), dialect, merchant });
}

async function openStore(storage: ObjectStorage, env: HostedEnv) {
  migrateTables(storage);
  const mark = Number(storage.sql.exec("SELECT mark FROM hosted_store").raw().next().value?.[0]);
  const world = workerWorld(mark);
  const connection = createConnection(storage);
  const alarm = createObjectAlarm(storage, world, await storage.getAlarm());
  const store = openObjectStore(connection, { storage, scheduler: world, onWrite: alarm.onWrite });
  const sandbox = createHostedSandbox(world, env, { connection, store, operations: REFUSED_OPERATIONS });
  await finishErasures(sandbox.context);
  await sandbox.start();
  const storeId = store.stores.first()?.id;
  if (storeId === undefined) throw new Error("an object with tables has a store");
  return { storeId, store, sandbox, alarm };
}
