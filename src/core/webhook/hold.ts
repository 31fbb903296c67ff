// A reason for delivering nothing (decisions 71, 95). Decided in sandbox/runtime/home.ts; texts in
// core/refusals/parts.ts.
import * as z from "zod/mini";
import { HOLDS } from "../refusals/parts.ts";
import type { DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";

const HOLD_NAMES = Object.keys(HOLDS) as [keyof typeof HOLDS];

export const hold = z.object({
  fact: z.enum(HOLD_NAMES),
  /** The values of the placeholders in the fact's text, by name. */
  values: z.record(z.string(), z.union([z.string(), z.int()])),
});
/** Why nothing is delivered from a sandbox, or from a store: a name, and the values of its text. */
export type Hold = DomainOf<typeof hold>;

nameSchemas({ Hold: hold });
