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
  /** The instance id of the service (decision 96). */
  readonly instanceId: string;
  readonly name: string | undefined;
  readonly dialect?: Dialect | undefined;
  /** An existing merchant; undefined for a new one. */
  readonly merchant: { readonly id: string } | undefined;
  /** The id and the key of the first store, if they are already on the operator's disk. Default: generated. */
  readonly given?: FirstStore | undefined;
};

export type ObjectCalls = {
  /** Whether a write has changed a row since the object was started, or since its disk last failed. */
  hasWritten(): boolean;
};

export type StoreCalls = ObjectCalls & {
  /**
   * Creates the store and adds it to the index; undefined if the object already has another store, so that another mark
   * must be drawn. A given store is returned if a killed start has created it, and refused with `state_conflict` if its
   * object has another store.
   */
  create(input: StoreInput): Promise<Outcome<NewStore> | undefined>;
  describe(): Promise<Outcome<SandboxDescription>>;
  /** Deletes the store's history. Does nothing if there is no store. Refuses like `resetStores`. */
  reset(): Promise<Outcome<void>>;
  /** Deletes all rows and the alarm. Does nothing if there is no store. */
  erase(): Promise<void>;
};

export type IndexCalls = ObjectCalls & {
  /** The mark of the first store, which the path segment `default` selects; undefined if there is no store. */
  firstMark(): Mark | undefined;
  /** Adds or updates the entry of a store. */
  note(details: StoreDetails): Promise<void>;
};

/** The bindings of the Worker: its objects, settings and secrets. */
export type HostedEnv = {
  readonly STORES: Objects<StoreCalls>;
  readonly INDEX: Objects<IndexCalls>;
  readonly SETTINGS: HostedSettings;
  readonly CONTROL_TOKEN: string;
  readonly ADMIN_TOKEN: string;
  /** The key for signing secrets and form tokens, in hexadecimal. */
  readonly MASTER_KEY: string;
  /** The first store that a service without a store creates, as JSON; null if the service generates id and key. */
  readonly FIRST_STORE: string | null;
  /** Serves the objects' files of this machine by path; missing on a platform, which keeps no file for an empty object. */
  readonly OBJECT_FILES?: {
    readonly fetch: (url: string, init: { readonly method: "HEAD" }) => Promise<Response>;
  };
};
