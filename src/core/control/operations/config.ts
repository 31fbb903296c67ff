import * as z from "zod/mini";
import { resolvedStore } from "../../config/schema.ts";
import { returnOrigin } from "../../config/store-fields.ts";
import { price } from "./checkout.ts";
import { sandboxOperation, type DomainOf } from "../operation.ts";
import { servedSettings } from "./sandbox.ts";
import { nameSchemas } from "../../shape/wire-names.ts";

const shown = z.nullable(z.union([z.string(), z.number(), z.boolean()]));

const change = z.object({
  /** `unmanaged`: the item exists but is not in the file; `prune` would remove it. */
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
  /** The item's name in its store: an id, an address, the name of a capability, or the end of a key. */
  name: z.string(),
  differences: z.array(z.object({ field: z.string(), from: shown, to: shown })),
});
/** A line of a plan, in the control API. */
export type ChangeEntry = DomainOf<typeof change>;

const store = z.object({
  id: z.string(),
  name: z.string(),
  merchant: z.object({ id: z.string(), name: z.string() }),
  prices: z.array(price),
  /** The active capabilities. */
  capabilities: z.object({ paymentMethods: z.array(z.string()), currencies: z.array(z.string()) }),
  returnOrigins: z.array(returnOrigin),
  endpoints: z.array(z.object({ url: z.string(), events: z.array(z.string()), inOrder: z.boolean() })),
});

nameSchemas({ Change: change, ConfiguredStore: store });

/** The operations on the configuration of the whole sandbox (decisions 83 to 85). */
export const configOperations = {
  showConfig: sandboxOperation({
    path: "/config",
    summary: "Exports the configuration",
    description:
      "Returns the start settings and, for each store, the prices, capabilities, return origins and endpoints, in the form of `checkout.config.json`. API keys and signing secrets are omitted.",
    answer: () => z.object({ settings: servedSettings, stores: z.array(store) }),
  }),
  applyConfig: sandboxOperation({
    method: "POST",
    path: "/config",
    summary: "Applies a configuration",
    description:
      "Creates and changes stores as described, in one transaction, and returns each change, with the keys of new stores. With `dry_run` it returns the changes without making them. Refuses the whole configuration if one field is invalid, or conflicts with another field or with the state.",
    request: () =>
      z.strictObject({
        stores: z.array(resolvedStore),
        /** Whether to remove items that are missing from a described list. */
        prune: z.optional(z.boolean()),
        dryRun: z.optional(z.boolean()),
      }),
    answer: () =>
      z.object({
        changes: z.array(change),
        /** The created stores. Their keys are not shown again. */
        made: z.array(
          z.object({
            id: z.string(),
            merchantId: z.string(),
            name: z.string(),
            apiKey: z.string(),
            signingSecret: z.string(),
          }),
        ),
      }),
    refusals: ["state_conflict"],
  }),
  describeConfig: sandboxOperation({
    path: "/config.schema.json",
    summary: "Shows the schema of the configuration file",
    description: "Returns the JSON Schema of `checkout.config.json`, for editors and validators.",
    answer: () => z.looseObject({ type: z.string() }),
    bare: true,
  }),
};
