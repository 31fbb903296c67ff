import * as z from "zod/mini";
import { storeShapes } from "../../config/store-fields.ts";
import { changeEntry, servedConfig } from "../../config/shapes.ts";
import { sandboxOperation } from "../operation.ts";

export const configOperations = {
  showConfig: sandboxOperation("owner", {
    part: "configuration",
    route: ["GET", "/config"],
    summary: "Exports the configuration",
    description:
      "Returns the start settings and, for each store, the prices, capabilities, return origins and endpoints, in the form of `checkout.config.json`. API keys and signing secrets are omitted.",
    answer: servedConfig,
  }),
  applyConfig: sandboxOperation("owner", {
    part: "configuration",
    route: ["POST", "/config"],
    summary: "Applies a configuration",
    description:
      "Creates and changes stores as described, in one transaction, and returns each change, with the keys of new stores. With `dry_run` it returns the changes without making them. Refuses the whole configuration if one field is invalid, or conflicts with another field or with the state.",
    request: () =>
      z.strictObject({
        stores: z.array(storeShapes().requestedStore),
        prune: z.optional(z.boolean()),
        dryRun: z.optional(z.boolean()),
      }),
    answer: () =>
      z.object({
        changes: z.array(changeEntry),
        /** The created stores. Their API keys are returned only here. */
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
  describeConfig: sandboxOperation("viewer", {
    route: ["GET", "/config.schema.json"],
    summary: "Shows the schema of the configuration file",
    description: "Returns the JSON Schema of `checkout.config.json`, for editors and validators.",
    answer: () => z.looseObject({ type: z.string() }),
    isBare: true,
  }),
};
