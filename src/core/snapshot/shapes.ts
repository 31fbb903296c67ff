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
  problem: z.nullable(z.string()),
});
/** Facts that cannot be read are null, with the reason in `problem`. */
export type NamedSnapshot = DomainOf<typeof namedSnapshot>;
export const takenSnapshot = z.object({
  snapshot: namedSnapshot,
  replaced: z.boolean(),
});
export type TakenSnapshot = DomainOf<typeof takenSnapshot>;
export const restoreSummary = z.object({
  stores: z.array(erasedStore),
  heldBack: z.nullable(z.string()),
  hold: z.nullable(hold),
  newDialects: z.optional(z.array(z.uuid())),
});
export type RestoreSummary = DomainOf<typeof restoreSummary>;

nameSchemas({ Snapshot: namedSnapshot, TakenSnapshot: takenSnapshot, RestoredStores: restoreSummary });
