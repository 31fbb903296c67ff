import * as z from "zod";
import { givenId as existingId, storeName } from "../config/schema.ts";
import { moment, sandboxOperation, storeOperation, type DomainOf } from "./operation.ts";

/** A new merchant, in place of the id of one that is there. */
export const NEW_MERCHANT = "new";

const listed = z.object({
  storeId: z.uuid(),
  name: z.string(),
  merchantId: z.uuid(),
  merchantName: z.string(),
  active: z.boolean(),
  createdAt: moment,
});
/** A store of the sandbox, as the control API lists it. */
export type StoreEntry = DomainOf<typeof listed>;

const erasedStore = z.object({ storeId: z.uuid(), name: z.string() });

/** The operations on the stores of a sandbox (decision 90); `storeSummary` shows one. */
export const storesOperations = {
  createStore: sandboxOperation({
    method: "POST",
    path: "/stores",
    summary: "Makes a store of its own, with an API key that is shown only here",
    request: z.strictObject({
      name: storeName.optional(),
      /** Default: that of the first store. */
      merchant: z.union([z.literal(NEW_MERCHANT), existingId]).optional(),
    }),
    answer: z.object({
      storeId: z.uuid(),
      merchantId: z.uuid(),
      name: z.string(),
      apiKey: z.string(),
      signingSecret: z.string(),
    }),
    refusals: ["not_found"],
  }),
  listStores: sandboxOperation({
    method: "GET",
    path: "/stores",
    summary: "Lists the stores, the first one first",
    answer: z.object({ stores: z.array(listed) }),
  }),
  storeAccess: storeOperation({
    method: "GET",
    path: "/access",
    summary: "Tells what an application of the store needs beside its API key, which was shown once",
    answer: z.object({
      storeId: z.uuid(),
      merchantId: z.uuid(),
      name: z.string(),
      signingSecret: z.string(),
    }),
    refusals: ["state_conflict"],
  }),
  reset: sandboxOperation({
    method: "POST",
    path: "/reset",
    summary: "Deletes everything that has happened in a store, or in all, and keeps what was set up",
    request: z.strictObject({ store: z.string().min(1).optional() }),
    answer: z.object({ stores: z.array(erasedStore) }),
    refusals: ["not_found", "state_conflict"],
  }),
  deleteStore: storeOperation({
    method: "POST",
    path: "/delete",
    summary: "Deletes a store with everything that belongs to it; the first store stays",
    request: z.strictObject({}),
    answer: erasedStore,
    entersStore: false,
    refusals: ["state_conflict"],
  }),
};
