import * as z from "zod/mini";
import { price } from "../checkout/shapes.ts";
import type { DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import { returnOrigin } from "./store-fields.ts";

/** The settings of a sandbox that a configuration can set. */
export const servedSettings = z.object({
  port: z.int(),
  /** `5/s` or `off`. */
  rateLimit: z.string(),
  checkoutLifetimeMs: z.int(),
  deliveryTimeoutMs: z.int(),
  /** The delay before each attempt of a delivery, in milliseconds. */
  deliveryScheduleMs: z.array(z.int()),
  /** Maximum number of deliveries in flight to one endpoint. */
  deliveriesInFlight: z.int(),
  allowHosts: z.array(z.string()),
  allowControlHosts: z.array(z.string()),
  allowTargets: z.array(z.string()),
  /** Addresses in addition to loopback. */
  listen: z.array(z.string()),
  /** If null, payers reach the pages at this machine's address. */
  publicUrl: z.nullable(z.string()),
  /** If null, the portal is at `localhost`; with a public URL there is no portal. */
  portalUrl: z.nullable(z.string()),
  /** Maximum number of logged requests for each store. */
  keptRequests: z.int(),
});

/** The settings of a running sandbox, as the sandbox reports them. */
export type ServedSettings = DomainOf<typeof servedSettings>;

const shown = z.nullable(z.union([z.string(), z.number(), z.boolean()]));

/** A line of a plan. */
export const changeEntry = z.object({
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
export type ChangeEntry = DomainOf<typeof changeEntry>;

const configuredStore = z.object({
  id: z.string(),
  name: z.string(),
  merchant: z.object({ id: z.string(), name: z.string() }),
  prices: z.array(price),
  /** The active capabilities. */
  capabilities: z.object({ paymentMethods: z.array(z.string()), currencies: z.array(z.string()) }),
  returnOrigins: z.array(returnOrigin),
  endpoints: z.array(z.object({ url: z.string(), events: z.array(z.string()), inOrder: z.boolean() })),
});
/** The configuration of a running sandbox. */
export const servedConfig = z.object({ settings: servedSettings, stores: z.array(configuredStore) });
export type ServedConfig = DomainOf<typeof servedConfig>;

nameSchemas({ Change: changeEntry, ConfiguredStore: configuredStore, ServedSettings: servedSettings });
