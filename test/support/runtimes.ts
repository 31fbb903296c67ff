import { join } from "node:path";
import Database from "better-sqlite3";
import type { OperationName } from "../../src/core/control/operations.ts";
import type { Service } from "../../src/world.ts";
import { createHarness, type ApiCall, type FullAnswer } from "./harness.ts";
import { perFile } from "./per-file.ts";

/** A new store for payments, with a clock that only the test moves. */
export type PaymentService = {
  /** Sends a request to v1, with the API key of the store, or to a page. */
  readonly request: (call: Partial<ApiCall> & Pick<ApiCall, "path">) => Promise<FullAnswer>;
  /** Sends a request to the control API at a path of the store. */
  readonly control: (path: string, body?: object) => Promise<FullAnswer>;
  readonly checkoutHost: string;
  readonly rows: Database.Database;
  readonly passTime: (milliseconds: number) => Promise<void>;
  readonly restart: () => Promise<PaymentService>;
  readonly close: () => Promise<void>;
};

/** Two new stores of a service, and the secrets of its operator. */
export type StorePair = {
  readonly stores: readonly [OwnedStore, OwnedStore];
  readonly tokens: Readonly<Record<"control" | "administrator", string>>;
  /** Sends a request with these headers. If the answer stays open, returns its first part. */
  readonly send: (call: Omit<ApiCall, "fromOutside">) => Promise<FullAnswer>;
  readonly host: string;
  /** The origin of a receiver that accepts everything. */
  readonly receiver: string;
  /** The paths of the databases of both stores. */
  readonly databases: ReadonlySet<string>;
  /** Opens the database of a store, for reads and writes. */
  readonly openDatabase: (storeId: string) => Database.Database;
};

/** A store, and the key of its owner. */
type OwnedStore = { readonly id: string; readonly apiKey: string };

/** A runtime of the service, which campaigns send their requests to. */
export type Runtime = {
  readonly openStores: () => Promise<StorePair>;
  readonly openPayments: (seed: number) => Promise<PaymentService>;
  /** The number of rounds to run in this runtime: fewer than `rounds` if each request takes longer. */
  readonly share: (rounds: number) => number;
  /** The operations of the control API that this runtime refuses. */
  readonly lacks: ReadonlySet<OperationName>;
  /** All rows; outside a campaign some runtimes take a part of them, which the seed and `from` select. */
  readonly some: <Row>(rows: readonly Row[], from?: number) => readonly Row[];
};

const runtime = perFile<Runtime>({
  openPayments,
  openStores,
  share: (rounds) => rounds,
  lacks: new Set(),
  some: (rows) => rows,
});

/** Replaces the runtime for the campaigns that the running file loads from now on. */
export function replaceRuntime(other: Runtime): void {
  runtime.replace(other);
}

/** The runtime of the campaigns that are registered now. */
export function runtimeHere(): Runtime {
  return runtime.now();
}

async function openPayments(seed: number): Promise<PaymentService> {
  const harness = createHarness({ seed });
  const start = async (): Promise<PaymentService> => {
    const sandbox = await harness.start(["--quiet", "--rate-limit", "off"]);
    const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
    const rows = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
    const close = async (): Promise<void> => {
      rows.close();
      await sandbox.stop();
    };
    return {
      request: sandbox.request,
      control: (path, body) =>
        sandbox.request({
          path: `/__sandbox/stores/default${path}`,
          headers: { Authorization: `Bearer ${token}` },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      checkoutHost: new URL(sandbox.ready.checkout_origin).host,
      rows,
      passTime: (milliseconds) => Promise.resolve(harness.clock.advance(milliseconds)),
      restart: async () => {
        await close();
        return start();
      },
      close,
    };
  };
  return start();
}

async function openStores(): Promise<StorePair> {
  const harness = createHarness();
  const { ready, request } = await harness.start();
  harness.occupy(3000, TAKES_ALL);
  const made = JSON.parse((await harness.run(["stores", "create", "--name", "Other", "--json"])).stdout) as {
    readonly store_id: string;
    readonly api_key: string;
  };
  const { control_token: control } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const path = join(harness.cwd, ".checkout/sandbox.db");
  return {
    stores: [
      { id: ready.store_id, apiKey: ready.api_key ?? "" },
      { id: made.store_id, apiKey: made.api_key },
    ],
    tokens: { control, administrator: harness.adminToken() },
    send: request,
    host: new URL(ready.base_url).host,
    receiver: "http://localhost:3000",
    databases: new Set([path]),
    openDatabase: () => new Database(path),
  };
}

const TAKES_ALL: Service = {
  answer: () => Promise.resolve({ status: 200, headers: {}, body: "" }),
  refuse: () => ({ status: 400, headers: {}, body: "" }),
};
