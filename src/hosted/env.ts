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
  /** The first store's id and key, as saved on the operator's disk. Default: id and key are generated. */
  readonly given?: FirstStore | undefined;
};

export type ObjectCalls = {
  /** Counts since the object was started, or since its disk last failed. */
  hasWritten(): boolean;
};

export type StoreCalls = ObjectCalls & {
  /**
   * Undefined if the object already has another store, so that another mark must be drawn. A given store is returned if
   * a killed start has created it, and refused with `state_conflict` if its object has another store.
   */
  create(input: StoreInput): Promise<Outcome<NewStore> | undefined>;
  describe(): Promise<Outcome<SandboxDescription>>;
  /** Does nothing if there is no store. Refuses like `resetStores`. */
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
