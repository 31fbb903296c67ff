import type { Connection, Statement } from "../store/connection/connection.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { HostedEnv } from "./env.ts";
import { REFUSED_OPERATIONS } from "./operations.ts";
import { createHostedSandbox } from "./sandbox.ts";
import { openObjectStore } from "./store.ts";
import { workerWorld } from "./world.ts";

/**
 * For requests without a store: serves static files, and refuses other requests with the usual errors. Create one for
 * each request, because a Worker's timers end with the request.
 */
export function createStorelessSandbox(env: HostedEnv): Sandbox {
  const world = workerWorld(0);
  const storage = { transactionSync: <Value>(work: () => Value) => work(), sync: () => Promise.resolve() };
  const store = openObjectStore(EMPTY_DB, { storage, scheduler: world, onWrite: () => undefined });
  return createHostedSandbox(world, env, { connection: EMPTY_DB, store, operations: REFUSED_OPERATIONS });
}

const EMPTY_STATEMENT: Statement = {
  run: () => ({ changes: 0 }),
  get: () => undefined,
  all: () => [],
  iterate: () => [].values(),
  pluck: () => EMPTY_STATEMENT,
  raw: () => EMPTY_STATEMENT,
};

const EMPTY_DB = {
  prepare: () => EMPTY_STATEMENT,
  exec: () => undefined,
  transaction: <Values extends unknown[], Value>(work: (...values: Values) => Value) =>
    Object.assign((...values: Values) => work(...values), { immediate: work }),
} as Connection;
