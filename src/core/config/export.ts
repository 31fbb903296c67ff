import * as z from "zod/mini";
import { wireSchema } from "../shape/wire-names.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { ALL_EVENTS } from "../checkout/event-types.ts";
import { configFile, MAX_FILE_LENGTH, MAX_STORES, paymentMethodsOf, type ConfigFile } from "./schema.ts";
import type { ServedConfig } from "./shapes.ts";
import { selectChangedSettings } from "./settings.ts";

const SCHEMA_PATH = "./node_modules/hosted-checkout/dist/config.schema.json";

/** The exported file omits secrets, default values and the port (decision 85). */
export function exportConfig({ settings, stores, dialect }: ServedConfig): Outcome<string> {
  if (stores.length > MAX_STORES)
    return refuseFact("too_many_stores_for_file", { most: MAX_STORES, count: stores.length });
  const { like, ...otherSettings } = selectChangedSettings(settings);
  // The file contains the dialect itself, so it must not also name the dialect's file.
  const sandbox = dialect === undefined && like !== undefined ? { ...otherSettings, like } : otherSettings;
  const config: ConfigFile = {
    $schema: SCHEMA_PATH,
    ...(Object.keys(sandbox).length === 0 ? {} : { sandbox }),
    ...(dialect && { dialect }),
    stores: stores.map(({ capabilities, prices, endpoints, ...store }) => ({
      ...store,
      prices: prices.map(({ description, billingModel, approved, retired, ...price }) => ({
        ...price,
        ...(description === "" ? {} : { description }),
        ...(billingModel === "one_time" ? {} : { billingModel }),
        ...(approved ? {} : { approved }),
        ...(retired ? { retired } : {}),
      })),
      capabilities: {
        paymentMethods: paymentMethodsOf(capabilities.paymentMethods),
        currencies: capabilities.currencies,
      },
      endpoints: endpoints.map(({ url, events, inOrder, ca }) => ({
        url,
        ...(events.includes(ALL_EVENTS) ? {} : { events }),
        ...(inOrder ? { inOrder } : {}),
        ...(ca === undefined ? {} : { ca }),
      })),
    })),
  };
  const text = `${JSON.stringify(z.encode(wireSchema(configFile), config), null, 2)}\n`;
  return text.length > MAX_FILE_LENGTH
    ? refuseFact("file_too_large", { most: MAX_FILE_LENGTH, count: text.length })
    : accept(text);
}
