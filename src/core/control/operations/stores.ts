import * as z from "zod/mini";
import { dialectSchema } from "../../calibration/dialect-section.ts";
import { requestedId as existingId, storeName } from "../../config/store-fields.ts";
import { namedSnapshot, restoreSummary, takenSnapshot } from "../../snapshot/shapes.ts";
import { SNAPSHOT_NAME_PATTERN } from "../../snapshot/snapshot.ts";
import { erasedStore, storeEntry } from "../../store/shapes.ts";
import { sandboxOperation, storeOperation } from "../operation.ts";

export const NEW_MERCHANT = "new";

const snapshotName = z
  .string()
  .check(
    z.regex(SNAPSHOT_NAME_PATTERN, "must have 1 to 64 of a-z, 0-9, . _ - and begin with a letter or a digit"),
  );
const snapshotRequest = z.strictObject({ name: snapshotName });
const restoreRequest = z.extend(snapshotRequest, {
  /** Whether to restore a snapshot that another sandbox took, or that was changed (decision 95). Default: false. */
  trust: z.optional(z.boolean()),
  /** Whether to deliver due events from another sandbox's snapshot (decision 95). Default: false, which holds them. */
  adopt: z.optional(z.boolean()),
});
const restoreCodes = ["missing_parameter", "invalid_parameter", "not_found", "state_conflict"] as const;

export const storesOperations = {
  createStore: sandboxOperation("owner", {
    route: ["POST", "/stores"],
    summary: "Creates a store",
    description:
      "Creates a store with the default catalog, and returns its ids, its API key and its signing secret. The key is shown only once. Refuses an unknown merchant.",
    request: () =>
      z.strictObject({
        name: z.optional(storeName),
        /** Default: the merchant of the first store. */
        merchant: z.optional(z.union([z.literal(NEW_MERCHANT), existingId])),
        /** The names of another service (decision 148). Default: the dialect with which the sandbox was started. */
        dialect: z.optional(dialectSchema()),
      }),
    answer: () =>
      z.object({
        storeId: z.uuid(),
        merchantId: z.uuid(),
        name: z.string(),
        apiKey: z.string(),
        signingSecret: z.string(),
      }),
    refusals: ["not_found"],
  }),
  listStores: sandboxOperation("viewer", {
    route: ["GET", "/stores"],
    summary: "Lists the stores",
    description:
      "Returns every store, oldest first, with its merchant, and whether it is active. The first store is `default`.",
    answer: () => z.object({ stores: z.array(storeEntry) }),
  }),
  storeAccess: storeOperation("store", {
    route: ["GET", "/access"],
    summary: "Shows the settings that an application of the store needs",
    description:
      "Returns the signing secret of a store, with its ids and its name. The API key, which the application also needs, was shown when it was created. Refuses if the master key of the folder cannot decrypt the secret.",
    answer: () =>
      z.object({
        storeId: z.uuid(),
        merchantId: z.uuid(),
        name: z.string(),
        signingSecret: z.string(),
        ownSecrets: z.optional(z.int()),
      }),
    refusals: ["state_conflict"],
  }),
  reset: sandboxOperation("store", {
    route: ["POST", "/reset"],
    summary: "Resets one store or all stores",
    description:
      "Deletes the checkouts, events, deliveries and logs of one store or all stores, and returns the stores that were reset. API keys, prices and endpoints are kept. Refuses an unknown store, and a name that several stores have.",
    request: () => z.strictObject({ store: z.optional(z.string().check(z.minLength(1))) }),
    answer: () => z.object({ stores: z.array(erasedStore) }),
    refusals: ["not_found", "state_conflict"],
  }),
  createStoreSnapshot: storeOperation("store", {
    part: "snapshots",
    route: ["POST", "/snapshots"],
    summary: "Takes a snapshot of a store",
    description:
      "Writes one store to a file in the state folder, replacing an existing snapshot of the same name, and returns the file's size.",
    request: () => snapshotRequest,
    answer: () => takenSnapshot,
  }),
  createSnapshot: sandboxOperation("owner", {
    part: "snapshots",
    route: ["POST", "/snapshots"],
    summary: "Takes a snapshot of the whole sandbox",
    description:
      "Writes all stores to a file in the state folder, replacing an existing snapshot of the same name, and returns the file's size.",
    request: () => snapshotRequest,
    answer: () => takenSnapshot,
  }),
  listSnapshots: sandboxOperation("store", {
    part: "snapshots",
    route: ["GET", "/snapshots"],
    summary: "Lists the snapshots",
    description:
      "Returns every snapshot, of a store or of the whole sandbox, with its size and, if it cannot be restored, the reason. Each file is read and checked.",
    answer: () => z.object({ snapshots: z.array(namedSnapshot) }),
  }),
  restoreStoreSnapshot: storeOperation("store", {
    part: "snapshots",
    route: ["POST", "/snapshots/restore"],
    summary: "Restores a store from a snapshot",
    description:
      "Replaces one store with its state in a snapshot, in one transaction; other stores stay unchanged. Refuses an unknown snapshot, a damaged snapshot, another sandbox's snapshot without `trust`, and a snapshot that does not contain this store.",
    request: () => restoreRequest,
    answer: () => restoreSummary,
    entersStore: false,
    refusals: restoreCodes,
  }),
  restoreSnapshot: sandboxOperation("owner", {
    part: "snapshots",
    route: ["POST", "/snapshots/restore"],
    summary: "Restores a snapshot",
    description:
      "Replaces one store, which is created if it does not exist, or all stores with their state in a snapshot, in one transaction, and returns the restored stores. Refuses an unknown or damaged snapshot, another sandbox's snapshot without `trust`, and with `all` the snapshot of a single store.",
    request: () =>
      z.extend(restoreRequest, {
        all: z.optional(z.boolean()),
      }),
    answer: () => restoreSummary,
    refusals: restoreCodes,
  }),
  removeSnapshot: sandboxOperation("store", {
    part: "snapshots",
    route: ["POST", "/snapshots/remove"],
    summary: "Removes a snapshot",
    description:
      "Deletes the file of a snapshot, and returns the snapshot's name. State that was restored from the snapshot is kept. Refuses a name that no snapshot has.",
    request: () => snapshotRequest,
    answer: () => z.object({ name: z.string() }),
    refusals: ["not_found"],
  }),
  deleteStore: storeOperation("owner", {
    route: ["POST", "/delete"],
    summary: "Deletes a store",
    description:
      "Deletes a store and everything that belongs to it, and returns its id and name. Refuses the first store and an unknown store.",
    request: () => z.strictObject({}),
    answer: () => erasedStore,
    entersStore: false,
    refusals: ["state_conflict"],
  }),
};
