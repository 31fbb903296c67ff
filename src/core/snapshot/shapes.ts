import * as z from "zod/mini";
import { hold } from "../webhook/hold.ts";
import { moment, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import { erasedStore } from "../store/shapes.ts";

export const namedSnapshot = z.object({
  name: z.string(),
  /** Null for the whole sandbox. */
  storeId: z.nullable(z.uuid()),
  takenAt: z.nullable(moment),
  format: z.nullable(z.int()),
  bytes: z.int(),
  /** Why the snapshot cannot be restored; null if it can. */
  problem: z.nullable(z.string()),
});
/** A named snapshot. Facts that cannot be read are null, with the reason in `problem`. */
export type NamedSnapshot = DomainOf<typeof namedSnapshot>;
export const takenSnapshot = z.object({
  snapshot: namedSnapshot,
  replaced: z.boolean(),
});
export type TakenSnapshot = DomainOf<typeof takenSnapshot>;
export const restoreSummary = z.object({
  stores: z.array(erasedStore),
  /** Why the deliveries of these stores are held; null if they are not held. */
  heldBack: z.nullable(z.string()),
  /** `heldBack` as a fact. */
  hold: z.nullable(hold),
  /** The stores whose dialect has changed; missing if there are none. */
  newDialects: z.optional(z.array(z.uuid())),
});
export type RestoreSummary = DomainOf<typeof restoreSummary>;

nameSchemas({ Snapshot: namedSnapshot, TakenSnapshot: takenSnapshot, RestoredStores: restoreSummary });
