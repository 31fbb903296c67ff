import * as z from "zod/mini";
import { price } from "../checkout/shapes.ts";
import { dialectSchema } from "../calibration/dialect-section.ts";
import { lazyValue } from "../lazy.ts";
import { recordOf, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import type { SettingKindName, ServedValueOf } from "./setting-kinds.ts";
import { ALL_SETTINGS, type ServedName, type ServedValue, type SettingName } from "./settings.ts";
import { returnOrigin } from "./store-fields.ts";

const SERVED_SHAPES: { readonly [Name in SettingKindName]: z.ZodMiniType<ServedValueOf<Name>> } = {
  integer: z.int(),
  duration: z.int(),
  timeout: z.int(),
  rate: z.string(),
  schedule: z.array(z.int()),
  hosts: z.array(z.string()),
  text: z.nullable(z.string()),
  texts: z.array(z.string()),
};
type ServedShape = { readonly [Name in SettingName as ServedName<Name>]: z.ZodMiniType<ServedValue<Name>> };

export const servedSettings = z.object(
  recordOf<ServedShape>(ALL_SETTINGS.map(({ servedName, kind }) => [servedName, SERVED_SHAPES[kind.kind]])),
);

const shownValue = z.nullable(z.union([z.string(), z.number(), z.boolean()]));

export const changeEntry = z.object({
  /** `unmanaged`: the item exists but is not in the file; `prune` would remove it, unless it is a store. */
  action: z.enum(["add", "change", "keep", "remove", "unmanaged"]),
  kind: z.enum([
    "store",
    "merchant",
    "api_key",
    "payment_method",
    "currency",
    "price",
    "return_origin",
    "endpoint",
  ]),
  storeId: z.string(),
  name: z.string(),
  differences: z.array(z.object({ field: z.string(), from: shownValue, to: shownValue })),
});
export type ChangeEntry = DomainOf<typeof changeEntry>;

export const servedConfig = lazyValue(() => {
  const configuredStore = z.object({
    id: z.string(),
    name: z.string(),
    merchant: z.object({ id: z.string(), name: z.string() }),
    prices: z.array(price),
    capabilities: z.object({ paymentMethods: z.array(z.string()), currencies: z.array(z.string()) }),
    returnOrigins: z.array(returnOrigin),
    endpoints: z.array(
      z.object({
        url: z.string(),
        events: z.array(z.string()),
        inOrder: z.boolean(),
        ca: z.optional(z.string()),
      }),
    ),
  });
  nameSchemas({ ConfiguredStore: configuredStore });
  return z.object({
    settings: servedSettings,
    stores: z.array(configuredStore),
    dialect: z.optional(dialectSchema()),
  });
});
export type ServedConfig = DomainOf<ReturnType<typeof servedConfig>>;

nameSchemas({ Change: changeEntry, ServedSettings: servedSettings });
