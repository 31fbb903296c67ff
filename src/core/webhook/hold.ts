import * as z from "zod/mini";
import { HOLD_TEXTS } from "../refusals/parts.ts";
import type { DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";

const HOLD_NAMES = Object.keys(HOLD_TEXTS) as [keyof typeof HOLD_TEXTS];

export const hold = z.object({
  fact: z.enum(HOLD_NAMES),
  values: z.record(z.string(), z.union([z.string(), z.int()])),
});
export type Hold = DomainOf<typeof hold>;

nameSchemas({ Hold: hold });
