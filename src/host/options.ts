import { DEFAULT_CHECKOUT_LIFETIME_MS } from "../core/checkout/checkout.ts";
import type { PlannedChange } from "../core/config/plan.ts";
import type { RequestedStore } from "../core/config/schema.ts";
import type { StoreClock } from "../core/clock.ts";
import type { ListenAddress } from "../core/network/address.ts";
import type { Refusal } from "../core/outcome.ts";
import { DEFAULT_RATE_LIMIT, rateLimitText, type RateLimit } from "../core/request/rate-limit.ts";
import {
  DEFAULT_DELIVERY_SCHEDULE,
  DEFAULT_DELIVERIES_IN_FLIGHT,
  DEFAULT_DELIVERY_TIMEOUT_MS,
  type DeliverySchedule,
} from "../core/webhook/delivery.ts";
import type { LogFormat } from "../sandbox/runtime/access-log.ts";
import { DEFAULT_KEPT_REQUESTS } from "../core/request/logged-request.ts";
import type { HostFailure } from "./failure.ts";
import type { SandboxDescription } from "../core/sandbox/description.ts";

/** The settings of a sandbox; each has a default. */
export type ServeOptions = {
  readonly port?: number;
  readonly adopt?: boolean;
  readonly trustFolder?: boolean;
  readonly rateLimit?: RateLimit | "off";
  readonly checkoutLifetime?: number;
  readonly allowHost?: readonly string[];
  readonly allowControlHost?: readonly string[];
  readonly allowTarget?: readonly string[];
  /** Addresses in addition to loopback. */
  readonly listen?: readonly ListenAddress[];
  /** The origin at which payers reach the pages. */
  readonly publicUrl?: string;
  /** The origin at which a browser reaches the portal. */
  readonly portalUrl?: string;
  readonly deliveryTimeout?: number;
  readonly deliverySchedule?: DeliverySchedule;
  /** Maximum number of deliveries in flight to one endpoint. */
  readonly deliveriesInFlight?: number;
  /** Maximum number of logged requests for each store. */
  readonly keptRequests?: number;
  readonly logFormat?: LogFormat;
  readonly quiet?: boolean;
  /** The clock of a new or reset store; default: real time. */
  readonly startClock?: StoreClock;
  /** The stores of a configuration, set up before the sandbox is ready. */
  readonly setup?: StoreSetup;
};

/** The stores of a configuration file, and a function that adds the position in the file to a refusal. */
export type StoreSetup = {
  readonly stores: readonly RequestedStore[];
  readonly problem: (refusal: Refusal) => HostFailure;
  /** Called with the changes after they are applied. */
  readonly applied: (changes: readonly PlannedChange[]) => void;
};

/** The default port (decision 1). Clients do not use it as a default. */
export const DEFAULT_PORT = 4242;

/** The settings of a sandbox, with defaults for missing options. */
export function settingsOf(options: ServeOptions): Omit<SandboxDescription["settings"], "port"> {
  return {
    rateLimit: rateLimitText(options.rateLimit ?? DEFAULT_RATE_LIMIT),
    checkoutLifetimeMs: options.checkoutLifetime ?? DEFAULT_CHECKOUT_LIFETIME_MS,
    allowHosts: options.allowHost ?? [],
    allowControlHosts: options.allowControlHost ?? [],
    allowTargets: options.allowTarget ?? [],
    listen: options.listen ?? [],
    publicUrl: options.publicUrl ?? null,
    portalUrl: options.portalUrl ?? null,
    keptRequests: options.keptRequests ?? DEFAULT_KEPT_REQUESTS,
    deliveryTimeoutMs: options.deliveryTimeout ?? DEFAULT_DELIVERY_TIMEOUT_MS,
    deliveryScheduleMs: options.deliverySchedule ?? DEFAULT_DELIVERY_SCHEDULE,
    deliveriesInFlight: options.deliveriesInFlight ?? DEFAULT_DELIVERIES_IN_FLIGHT,
    logFormat: options.logFormat ?? "text",
    quiet: options.quiet ?? false,
  };
}
