/**
 * Types of `hosted-checkout/testing`. Bodies of v1 and of webhooks have snake_case fields, as in HTTP; the kit's own
 * options and results have camelCase fields.
 */
import type { DomainOf } from "../core/shape/fields.ts";
import type { Dialect } from "../core/shape/dialect.ts";
import type { CheckoutConfig } from "./config-types.ts";
import type { Faults } from "./fault-types.ts";
import type {
  createCheckout,
  delivery,
  deliveryAttempt,
  eventType,
  loggedRequest,
  payOutcome,
  pendingEntry,
  timelineEntry,
} from "./shapes.ts";
import type { WebhookCheckout, WebhookCode, WebhookEvent } from "../core/webhook/webhook.ts";

export type SandboxOptions = {
  /** Where the state is kept. A folder outlives the process and works with `checkout` commands. Default: `memory`. */
  readonly state?: "memory" | { readonly folder: string };
  /**
   * The port on loopback, or 0 for any free port. With null, there is no socket, and only `sandbox.fetch` and
   * `sandbox.handler` reach the sandbox. An application that sends requests itself needs a port, even with a seed.
   * Default: 0; with a seed, null, because a free port differs from run to run.
   */
  readonly port?: number | null;
  /**
   * Makes runs repeatable: the same seed and the same calls give the same ids, secrets and store times. Timestamps and
   * signatures of webhooks, and snapshots, still depend on the real time. A folder with existing state gets random ids.
   * With a seed, an endpoint gets one delivery at a time, unless the configuration sets `deliveries_in_flight`.
   * Default: random.
   */
  readonly seed?: string;
  /**
   * The time at which the clock of each new or reset store is frozen, in ISO 8601 with a zone, or `real` for running
   * clocks. Default: `real`; with a seed, `2026-01-01T00:00:00Z`.
   */
  readonly now?: string;
  /**
   * Requests per second for each API key, such as `5/s`, with bursts of twice as many. A request above the limit is
   * refused before a fault can apply to it. Default: `off`.
   */
  readonly rateLimit?: string;
  /** How long a new checkout can be paid, from `5m` to `24h`. Default: `1h`. */
  readonly checkoutLifetime?: string;
  /** Hosts to which events may be sent in addition to this machine. Default: none. */
  readonly allowTargets?: readonly string[];
  /**
   * A configuration in the form of `checkout.config.json`, or the path of such a file. The other options override its
   * settings. Default: none, even if the working directory has a `checkout.config.json`.
   */
  readonly config?: string | CheckoutConfig;
  /**
   * The default timeout of `waitFor`, in milliseconds. Default: 5000; 4000 in `createStoreTest` of vitest and jest,
   * whose tests time out after 5 s.
   */
  readonly waitTimeoutMs?: number;
};

/** A sandbox in this process. */
export interface Sandbox extends AsyncDisposable {
  /**
   * The base URL of v1, for `CHECKOUT_BASE_URL`. Without a socket, it starts with the configuration's `public_url`, if
   * set, which is the origin of an application that mounts the sandbox.
   */
  readonly baseUrl: string;
  /** The origin of v1 and of the control API. Without a socket, requests to it must go through `sandbox.fetch`. */
  readonly origin: string;
  /** The bearer token of the control API. */
  readonly controlToken: string;
  /** Identifies the current data: each start in memory, each reset and each restore changes it, even with a seed. */
  readonly instanceId: string;
  /** The first store; after a restore of the whole sandbox, the first store of the snapshot. */
  readonly store: Store;
  /** Creates an isolated store with its own API key and signing secret, for example one for each test. */
  createStore(options?: StoreOptions): Promise<Store>;
  /** Sends a request to this sandbox without a socket. Relative URLs refer to `origin`. No other server is reached. */
  readonly fetch: typeof fetch;
  /**
   * Answers a request, so that an application can mount the sandbox. The request's Host must be allowed
   * (`allow_hosts`). Rejects with a TypeError if a fault loses the answer; the application should then close the
   * connection.
   */
  handler(request: Request): Promise<Response>;
  /** Takes a snapshot of all stores, which another sandbox can restore as well. */
  snapshot(): Promise<Uint8Array>;
  /**
   * Replaces all stores with the stores of a snapshot, and returns their handles, the first store first. Existing
   * handles of these stores stay valid. Stores from another sandbox's snapshot have its signing secrets, and get new
   * API keys.
   */
  restore(snapshot: Uint8Array): Promise<readonly Store[]>;
  /**
   * Deletes the orders, events and all other history of all stores; keeps keys, prices, endpoints and other settings.
   */
  reset(): Promise<void>;
  /** Stops the sandbox and its receivers, and releases their ports, timers and locks. */
  close(): Promise<void>;
}

export type StoreOptions = {
  /** Default: `Sandbox Store`. */
  readonly name?: string;
  /** The id of an existing merchant, or `new`. Default: the merchant of the first store. */
  readonly merchant?: string;
  /**
   * The names and formats of another service, as `calibrate --write-dialect` writes them. Default: the sandbox's
   * dialect.
   */
  readonly dialect?: Dialect;
};

/** A store, isolated from all other stores. */
export interface Store extends AsyncDisposable {
  readonly id: string;
  readonly merchantId: string;
  readonly name: string;
  readonly apiKey: string;
  readonly signingSecret: string;
  /** The environment variables of an application that uses the store. */
  readonly env: StoreEnv;
  readonly orders: Checkouts;
  readonly sessions: Checkouts;
  /**
   * Simulates a payment of an order or session, given by its id or order_id; if several have the order_id, of the
   * newest. Default outcome: `succeeded`.
   */
  pay(id: string, outcome?: PayOutcome): Promise<Checkout>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly endpoints: Endpoints;
  /** The events of the store since its creation or last reset. */
  readonly events: Log<Event, EventType>;
  /** The deliveries of events to endpoints, with their attempts. */
  readonly deliveries: Log<Delivery, EventType>;
  /**
   * The newest 1,000 requests that v1 received with an API key of the store. The first store also has requests without
   * a known key.
   */
  readonly requests: Log<LoggedRequest>;
  /** Starts a receiver on a free loopback port, and adds it as an endpoint of the store. */
  receiver(options?: ReceiverOptions): Promise<Receiver>;
  /**
   * The timeline of a request, a checkout, an event, a delivery or an order_id, as shown by `checkout explain`. It is
   * in chronological order, except that each delivery, with all its attempts, directly follows its event.
   */
  timeline(id: string): Promise<Timeline>;
  /** Takes a snapshot of the store, for `restore`. */
  snapshot(): Promise<Uint8Array>;
  /** Restores a snapshot that contains this store. If another sandbox took it, the store gets its signing secret. */
  restore(snapshot: Uint8Array): Promise<void>;
  /**
   * Deletes the store's history and the webhooks that its receivers have received; keeps endpoints, keys, prices and
   * other settings.
   */
  reset(): Promise<void>;
  /** Deletes the store with everything in it, and closes its receivers. The first store can only be reset. */
  delete(): Promise<void>;
}

/** The orders or the checkout sessions of a store; they are created through v1 with the API key of the store. */
export type Checkouts = {
  readonly create: (
    input: CreateCheckout,
    options?: {
      /** Default: a new key. */
      readonly idempotencyKey?: string;
    },
  ) => Promise<Checkout>;
  /** Finds an order or session by its id or order_id; if several have the order_id, the newest. */
  readonly get: (id: string) => Promise<Checkout>;
  /** All orders, or all sessions, of the store, newest first. */
  readonly list: (filter?: CheckoutFilter) => Promise<readonly Checkout[]>;
};

export type CheckoutFilter = { readonly status?: Checkout["status"]; readonly orderId?: string };

/** The body of a create request, with an amount or with a price of the catalog. */
export type CreateCheckout = DomainOf<typeof createCheckout>;

/** An order or a checkout session, in the form of v1. */
export type Checkout = WebhookCheckout;

/** The body of a webhook. */
export type Event = WebhookEvent;

export type EventType = DomainOf<typeof eventType>;

/**
 * The outcome of a payment. `pending`: an attempt begins and stays open. `declined`: the attempt fails without an event
 * of its own, and the checkout stays pending; the fifth decline fails the checkout.
 */
export type PayOutcome = DomainOf<typeof payOutcome>;

/** The clock of a store. Each function resolves to the clock's time after the call. */
export type Clock = {
  readonly now: () => Promise<Date>;
  readonly freeze: () => Promise<Date>;
  /**
   * Advances the clock by a span such as `30m`, or by milliseconds, and processes everything that becomes due,
   * including deliveries.
   */
  readonly advance: (span: string | number) => Promise<Date>;
  readonly set: (to: string | Date) => Promise<Date>;
  /** Returns the clock to real time. */
  readonly real: () => Promise<Date>;
};

/** The endpoints to which the events of a store are delivered. */
export type Endpoints = {
  readonly add: (
    url: string,
    options?: {
      /** Event types or patterns such as `order.*`. Default: all. */
      readonly events?: readonly string[];
      /** Delivers one event at a time, and the next one only after all its attempts. Default: false. */
      readonly inOrder?: boolean;
      /** CA certificates in PEM to trust for an https URL. Default: the CAs of the sandbox. */
      readonly ca?: string;
    },
  ) => Promise<Endpoint & { readonly signingSecret: string }>;
  readonly list: () => Promise<readonly Endpoint[]>;
  /** Holds the deliveries to an endpoint until `enable`. */
  readonly pause: (id: string) => Promise<Endpoint>;
  /** Enables a paused or disabled endpoint; waiting deliveries are sent. */
  readonly enable: (id: string) => Promise<Endpoint>;
  readonly remove: (id: string) => Promise<void>;
};

export type Endpoint = {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly inOrder: boolean;
  /** The endpoint's own CA certificates in PEM; null if it has none. */
  readonly ca: string | null;
  readonly state: "enabled" | "paused" | "disabled";
  /** Why the endpoint is paused or disabled. */
  readonly reason: string | null;
};

/** The environment variables that an application of a store reads. */
export type StoreEnv = {
  readonly CHECKOUT_BASE_URL: string;
  readonly CHECKOUT_API_KEY: string;
  readonly CHECKOUT_STORE_ID: string;
  readonly CHECKOUT_SIGNING_SECRET: string;
};

/** Matches items that have the given values in the given fields. Nested objects match in the same way. */
export type Filter<Item> = Item extends readonly unknown[] | Date
  ? Item
  : Item extends object
    ? { readonly [Field in keyof Item]?: Filter<Item[Field]> | undefined }
    : Item;

/** A string for `waitFor`: an event type, which editors can complete, or any other string such as an id. */
export type MatchText<Type extends string> = Type | (string & { readonly length: number });

/** A growing list, oldest item first. `Type`: the event types that `waitFor` suggests. */
export type Log<Item, Type extends string = string> = {
  readonly list: (filter?: Filter<Item>) => Promise<Item[]>;
  /**
   * Resolves to the first matching item (with `count: 2`, the second), which may already be in the log or arrive later.
   * A string matches an id, the type of an event, of a received webhook or of a successful delivery, or the method and
   * path of a request (`POST /v1/orders`). Rejects with a CheckoutError for an unknown event type, and after `timeoutMs`
   * of real time (default: `waitTimeoutMs` of the sandbox) with a WaitError that lists the newest items.
   */
  readonly waitFor: (
    match: MatchText<Type> | Filter<Item> | ((item: Item) => boolean),
    options?: { readonly timeoutMs?: number; readonly count?: number },
  ) => Promise<Item>;
};

/** The delivery of an event to an endpoint. Times are by the clock of the store. */
export type Delivery = DomainOf<typeof delivery>;

export type DeliveryAttempt = DomainOf<typeof deliveryAttempt>;

/** A request that v1 has received. */
export type LoggedRequest = DomainOf<typeof loggedRequest>;

export type ReceiverOptions = {
  /**
   * Returns the status of the answer, from 200 to 599. If it throws or returns anything else, the receiver answers 500
   * with the reason in the body. Default: 200 for a verified webhook, otherwise 400.
   */
  readonly answer?: (webhook: Received) => number | Promise<number>;
  /** Event types or patterns such as `order.*`. Default: all. */
  readonly events?: readonly string[];
};

/** A request that a receiver has received, verified or not. */
export type Received = {
  /** Whether the signature, the timestamp and the event are valid. The timestamp is compared with `Date.now()`. */
  readonly verified: boolean;
  /** The code of a failed verification; otherwise null. */
  readonly problem: WebhookCode | null;
  /** The reason for a failed verification, in a sentence; otherwise null. */
  readonly message: string | null;
  /** The event of a verified webhook; otherwise null. */
  readonly event: Event | null;
  /** The type of `event`; null if `event` is null. */
  readonly type: EventType | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawBody: string;
};

/** A merchant's server on loopback, which verifies the webhooks that it receives. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly endpointId: string;
  /** The webhooks received since the last reset or restore of the store, in the order of arrival. */
  readonly received: readonly Received[];
  readonly waitFor: Log<Received, EventType>["waitFor"];
  /** Stops the receiver, and removes its endpoint. */
  close(): Promise<void>;
}

/** A timeline with one entry for each request, event, delivery and other change. */
export type Timeline = {
  readonly summary: string;
  readonly entries: readonly TimelineEntry[];
  /** All changes that become due later, soonest first. */
  readonly pending: readonly PendingEntry[];
  /** The timeline as lines of text. */
  readonly toString: () => string;
};

/** A change that happens automatically when the store's clock reaches its time. */
export type PendingEntry = DomainOf<typeof pendingEntry>;

/** An entry of a timeline. Times are by the store's clock. */
export type TimelineEntry = DomainOf<typeof timelineEntry>;
