import type { Objects } from "cloudflare:workers";
import type { FirstStore, HostedSettings } from "./shared/settings.ts";
import type { Dialect } from "../core/shape/dialect.ts";
import type { Outcome } from "../core/outcome.ts";
import type { NewStore } from "../sandbox/runtime/seed.ts";
import type { StoreDetails } from "../store/stores.ts";
import type { SandboxDescription } from "../core/sandbox/description.ts";
import type { Mark } from "./shared/marks.ts";

export type StoreInput = {
  readonly mark: Mark;
  readonly instanceId: string;
  readonly name: string | undefined;
  readonly dialect?: Dialect | undefined;
  readonly merchant: { readonly id: string } | undefined;
  /** The first store's id and key from the operator's disk. Default: both are generated. */
  readonly given?: FirstStore | undefined;
};

export type ObjectCalls = {
  /** Whether the object has changed rows since it started or since its last storage failure. */
  hasWritten(): boolean;
};

export type StoreCalls = ObjectCalls & {
  /**
   * Undefined if the object of the mark already has another store: the caller then draws another mark. With `given`,
   * returns the given store if a killed start created it, and refuses another store.
   */
  create(input: StoreInput): Promise<Outcome<NewStore> | undefined>;
  describe(): Promise<Outcome<SandboxDescription>>;
  /** Does nothing without a store. Refuses if requests to the store do not end in time. */
  reset(): Promise<Outcome<void>>;
  erase(): Promise<void>;
};

export type IndexCalls = ObjectCalls & {
  firstMark(): Mark | undefined;
  note(details: StoreDetails): Promise<void>;
};

export type HostedEnv = {
  readonly STORES: Objects<StoreCalls>;
  readonly INDEX: Objects<IndexCalls>;
  readonly SETTINGS: HostedSettings;
  readonly CONTROL_TOKEN: string;
  readonly ADMIN_TOKEN: string;
  readonly MASTER_KEY: string;
  readonly FIRST_STORE: string | null;
  readonly OBJECT_FILES?: {
    readonly fetch: (url: string, init: { readonly method: "HEAD" }) => Promise<Response>;
  };
};
