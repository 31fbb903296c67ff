import * as z from "zod";
import { DEFAULT_CHECKOUT_LIFETIME_MS } from "../checkout/checkout.ts";
import type { AnswerOf } from "../control/operations.ts";
import { wireSchema } from "../control/wire-names.ts";
import { DEFAULT_RATE_LIMIT, rateLimitText } from "../rate-limit.ts";
import { rateLimitOf } from "./setting-text.ts";
import { DEFAULT_DELIVERY_TIMEOUT_MS } from "../webhook/delivery.ts";
import { ALL_EVENTS } from "../webhook/endpoint.ts";
import { configFile, paymentMethodsOf, type ConfigFile, type SandboxSettings } from "./schema.ts";

/** Where the schema is in a project that has this package. */
const SCHEMA = "./node_modules/hosted-checkout/dist/config.schema.json";

/**
 * A live sandbox as the text of a `checkout.config.json` (decision 85): without secrets, without what is so by default,
 * and without the port, which is this process's.
 */
export function exportedConfig({ settings, stores }: AnswerOf<"showConfig">): string {
  const sandbox = changedSettings(settings);
  const config: ConfigFile = {
    $schema: SCHEMA,
    ...(Object.keys(sandbox).length === 0 ? {} : { sandbox }),
    stores: stores.map(({ capabilities, prices, endpoints, ...store }) => ({
      ...store,
      prices: prices.map(({ description, approved, ...price }) => ({
        ...price,
        ...(description === "" ? {} : { description }),
        ...(approved ? {} : { approved }),
      })),
      capabilities: {
        paymentMethods: paymentMethodsOf(capabilities.paymentMethods),
        currencies: capabilities.currencies,
      },
      endpoints: endpoints.map(({ url, events }) =>
        events.includes(ALL_EVENTS) ? { url } : { url, events },
      ),
    })),
  };
  return `${JSON.stringify(z.encode(wireSchema(configFile), config), null, 2)}\n`;
}

function changedSettings(settings: AnswerOf<"showConfig">["settings"]): SandboxSettings {
  const { checkoutLifetimeMs, deliveryTimeoutMs, publicUrl } = settings;
  const { allowHosts, allowControlHosts, allowTargets, listen } = settings;
  const isDefaultRate = settings.rateLimit === rateLimitText(DEFAULT_RATE_LIMIT);
  return {
    ...(isDefaultRate ? {} : { rateLimit: rateLimitOf(settings.rateLimit) }),
    ...(checkoutLifetimeMs === DEFAULT_CHECKOUT_LIFETIME_MS ? {} : { checkoutLifetime: checkoutLifetimeMs }),
    ...(deliveryTimeoutMs === DEFAULT_DELIVERY_TIMEOUT_MS ? {} : { deliveryTimeout: deliveryTimeoutMs }),
    ...(allowHosts.length === 0 ? {} : { allowHosts }),
    ...(allowControlHosts.length === 0 ? {} : { allowControlHosts }),
    ...(allowTargets.length === 0 ? {} : { allowTargets }),
    ...(listen.length === 0 ? {} : { listen }),
    ...(publicUrl === null ? {} : { publicUrl }),
  };
}
