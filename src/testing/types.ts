/** Types of `hosted-checkout/testing`. What goes over the wire has the wire's names; everything else is camelCase. */
import type { CheckoutConfig } from "./config-types.ts";
import type { WebhookCheckout, WebhookCode, WebhookEvent } from "../core/webhook/webhook.ts";

/** How a sandbox is started. */
export type SandboxOptions = {
  /** Default: memory. A folder keeps its state, and `checkout` commands can read it. */
  readonly state?: "memory" | { readonly folder: string };
  /**
   * The port on loopback; 0 takes any free one. Null: no socket at all, only `sandbox.fetch` and `sandbox.handler` reach
   * it. Default: 0; with a seed null, because a free port is another one in each run.
   */
  readonly port?: number | null;
  /**
   * The same seed and the same sequence of calls give the same ids, secrets, times and bytes, but for those of a snapshot,
   * which tells when it was taken. An endpoint gets one delivery at a time (more with `deliveries_in_flight` of a
   * configuration), because which of several is answered first is a matter of time.
   */
  readonly seed?: string;
  /**
   * When the clock of every store stands still, ISO 8601; `real`: it runs. Default: `real`; with a seed
   * 2026-01-01T00:00:00Z.
   */
  readonly now?: string;
  /** Requests per second for each API key, such as `5/s`. Default: `off`. */
  readonly rateLimit?: string;
  /** How long a new checkout can be paid, from `5m` to `24h`. Default: `1h`. */
  readonly checkoutLifetime?: string;
  /** Further hosts that events may be sent to. Default: this machine only. */
  readonly allowTargets?: readonly string[];
  /** A configuration as `checkout.config.json` has it, or the path of its file. Default: none, and none is looked for. */
  readonly config?: string | CheckoutConfig;
};

/** A sandbox in this process. */
export interface Sandbox extends AsyncDisposable {
  /**
   * The address of v1, for `CHECKOUT_BASE_URL`. Without a socket it is that of the application which mounts the sandbox,
   * if the configuration has its `public_url`.
   */
  readonly baseUrl: string;
  /** Where the sandbox itself is asked, for its control API too; without a socket by `sandbox.fetch` alone. */
  readonly origin: string;
  readonly controlToken: string;
  /** Another one after each start in memory, each reset and each restore, whatever the seed. */
  readonly instanceId: string;
  /** The first store; after a restore of a snapshot that has another one, that one. */
  readonly store: Store;
  /** Makes a store of its own, with its key and its secret: one for each test. */
  createStore(options?: StoreOptions): Promise<Store>;
  /** Sends a request to this sandbox without a socket, and never anywhere else. */
  readonly fetch: typeof fetch;
  /**
   * Answers a request, so that an application can mount the sandbox; its Host has to be allowed (`allow_hosts`). Rejects
   * with a TypeError where a fault loses the answer: the application should then end the connection.
   */
  handler(request: Request): Promise<Response>;
  /** The whole sandbox as bytes, which any sandbox can restore. */
  snapshot(): Promise<Uint8Array>;
  /**
   * Puts the stores of a snapshot in place of all that are here, and returns their handles, that of the first store first.
   * Handles of stores that are in it go on; those of another sandbox's have its secrets from then on, and a new key.
   */
  restore(snapshot: Uint8Array): Promise<readonly Store[]>;
  /** Deletes what has happened in all stores, and keeps what was set up. */
  reset(): Promise<void>;
  /** Ends it with its receivers: no handle, timer, port or lock of it is left. */
  close(): Promise<void>;
}

/** A new store. */
export type StoreOptions = {
  /** Default: `Sandbox Store`. */
  readonly name?: string;
  /** The id of a merchant that is there, or `new`. Default: that of the first store. */
  readonly merchant?: string;
};

/** A store: what happens in it is seen in no other one. */
export interface Store extends AsyncDisposable {
  readonly id: string;
  readonly merchantId: string;
  readonly name: string;
  readonly apiKey: string;
  readonly signingSecret: string;
  /** The environment of an application of the store. */
  readonly env: StoreEnv;
  readonly orders: Checkouts;
  readonly sessions: Checkouts;
  /** Acts as the payer of an order or a session. Default: it succeeds. */
  pay(id: string, outcome?: PayOutcome): Promise<Checkout>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly endpoints: Endpoints;
  /** What has happened since the store was made or reset. */
  readonly events: Log<Event>;
  /** Each event to each endpoint that wants it, with its tries. */
  readonly deliveries: Log<Delivery>;
  /**
   * What v1 was asked with a key of the store, and in the first store also without a key that is known: the newest 1,000
   * requests.
   */
  readonly requests: Log<LoggedRequest>;
  /** Starts a receiver on a free loopback port, and adds it as an endpoint of the store. */
  receiver(options?: ReceiverOptions): Promise<Receiver>;
  /**
   * What happened to a request, a checkout, an event, a delivery or an order_id, as `checkout explain` tells it: in time
   * order, but each delivery stands under its event with all its tries.
   */
  timeline(id: string): Promise<Timeline>;
  /** The store as bytes. */
  snapshot(): Promise<Uint8Array>;
  /** Puts back what a snapshot of this store holds; that of another sandbox's store of this id too, with its secrets. */
  restore(snapshot: Uint8Array): Promise<void>;
  /** Deletes what has happened in the store and what its receivers got; endpoints, keys and prices stay. */
  reset(): Promise<void>;
  /** Deletes the store with everything in it, and closes its receivers. The first store can only be reset. */
  delete(): Promise<void>;
}

/** Orders, or checkout sessions, of a store; created through v1 with the key of the store. */
export type Checkouts = {
  readonly create: (
    input: CreateCheckout,
    options?: {
      /** Default: a new one. */
      readonly idempotencyKey?: string;
    },
  ) => Promise<Checkout>;
  readonly get: (id: string) => Promise<Checkout>;
};

/** The body of a create: a sum, or a price of the catalog. */
export type CreateCheckout =
  | {
      readonly order_id: string;
      readonly amount_minor: number;
      readonly currency: string;
      readonly payment_method: "alipay_plus" | "wechat_pay";
      readonly description?: string | undefined;
    }
  | { readonly order_id: string; readonly price_id: string; readonly description?: string | undefined };

/** An order or a checkout session as v1 shows it. */
export type Checkout = WebhookCheckout;

/** The body of a webhook. */
export type Event = WebhookEvent;

/** What becomes of a payment. */
export type PayOutcome = "succeeded" | "declined" | "failed" | "cancelled" | "expired";

/** The clock of a store. Each act returns what it shows then. */
export type Clock = {
  readonly now: () => Promise<Date>;
  readonly freeze: () => Promise<Date>;
  /** Moves it by a span such as `30m`, or by milliseconds, and does what falls due on the way, deliveries too. */
  readonly advance: (span: string | number) => Promise<Date>;
  readonly set: (to: string | Date) => Promise<Date>;
  /** Lets it run with the real time. */
  readonly real: () => Promise<Date>;
};

/** What goes wrong on purpose in a store. */
export type Faults = {
  readonly add: (fault: Fault | FaultProfile) => Promise<{ readonly id: string }>;
  /** Those that can still hit, oldest first. */
  readonly list: () => Promise<readonly AddedFault[]>;
  readonly remove: (id: string) => Promise<void>;
  readonly clear: () => Promise<void>;
};

/** A fault: which requests of v1, or which deliveries, and what is done to them. */
export type Fault = {
  readonly action: FaultAction;
  /** What `status` answers. Default: 500. */
  readonly status?: number;
  /**
   * How long `latency`, `slow_body`, `delay` and `reorder` take, in milliseconds. Default: 2000. The first two take real
   * time; a delivery is held back by the clock of the store, so where that stands still until it is advanced.
   */
  readonly latencyMs?: number;
  /** What `rate_limit` answers as Retry-After. Default: 1. */
  readonly retryAfterS?: number;
  readonly match?: FaultMatch;
  /** How many it hits. Default: 1, or all until its end. */
  readonly times?: number;
  readonly until?: string | Date;
  /** What its probability is decided by: the same seed hits the same ones. Default: a new one. */
  readonly seed?: string;
};

/** All faults of a name; the first one's id is returned. `webhook-storm` and `slow` hold deliveries back, as `delay` does. */
export type FaultProfile = {
  readonly profile: "lost-response" | "flaky-network" | "rate-limited" | "webhook-storm" | "slow";
  /** As that of a fault. */
  readonly seed?: string;
};

/** Which requests of v1 (`method`, `path`), or which deliveries (`eventType`, `eventId`, `endpointId`). */
export type FaultMatch = {
  readonly storeId?: string;
  readonly method?: "GET" | "POST";
  /** `*` stands for any text, as in `orderId`. */
  readonly path?: string;
  readonly eventType?: string;
  readonly eventId?: string;
  readonly endpointId?: string;
  readonly orderId?: string;
  /** The matching one that it begins with. Default: 1. */
  readonly nth?: number;
  /** The share that it hits, by the seed. */
  readonly probability?: number;
};

/** What is done to a request or its answer; from `duplicate` on, to a delivery. */
export type FaultAction =
  | "status"
  | "latency"
  | "reset"
  | "empty"
  | "truncate"
  | "slow_body"
  | "lose_answer"
  | "lose_request"
  | "rate_limit"
  | "storage_full"
  | "duplicate"
  | "reorder"
  | "delay"
  | "drop"
  | "stale"
  | "bad_signature"
  | "changed_body"
  | "old_secret";

/** A fault that was added; what it does not need is null. */
export type AddedFault = {
  readonly id: string;
  readonly action: FaultAction;
  /** What is null here does not matter. */
  readonly match: {
    readonly method: "GET" | "POST" | null;
    readonly path: string | null;
    readonly eventType: string | null;
    readonly eventId: string | null;
    readonly endpointId: string | null;
    readonly orderId: string | null;
    readonly nth: number;
    readonly probability: number | null;
  };
  readonly status: number | null;
  readonly latencyMs: number | null;
  readonly retryAfterS: number | null;
  readonly times: number | null;
  readonly until: Date | null;
  readonly seed: string;
  /** How many have matched, and how many of them it has hit. */
  readonly matched: number;
  readonly applied: number;
  /** By the clock of the store. */
  readonly createdAt: Date;
};

/** Where the events of a store are delivered. */
export type Endpoints = {
  readonly add: (
    url: string,
    options?: {
      /** Types or patterns, such as `order.*`. Default: all. */
      readonly events?: readonly string[];
      /** One event after the other, each with all its tries; otherwise several at once. */
      readonly inOrder?: boolean;
    },
  ) => Promise<Endpoint & { readonly signingSecret: string }>;
  readonly list: () => Promise<readonly Endpoint[]>;
  readonly remove: (id: string) => Promise<void>;
};

/** An endpoint. */
export type Endpoint = {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly inOrder: boolean;
  readonly state: "enabled" | "paused" | "disabled";
  /** Why it is paused or disabled. */
  readonly reason: string | null;
};

/** The variables that an application of a store reads. */
export type StoreEnv = {
  readonly CHECKOUT_BASE_URL: string;
  readonly CHECKOUT_API_KEY: string;
  readonly CHECKOUT_STORE_ID: string;
  readonly CHECKOUT_SIGNING_SECRET: string;
};

/** What is looked for: the fields that are named have these values; of an object, the fields that it names. */
export type Filter<Item> = Item extends readonly unknown[] | Date
  ? Item
  : Item extends object
    ? { readonly [Field in keyof Item]?: Filter<Item[Field]> | undefined }
    : Item;

/** A list that grows, oldest first. */
export type Log<Item> = {
  readonly list: (filter?: Filter<Item>) => Promise<Item[]>;
  /**
   * The first that matches, of what is there already or comes in time. A text is the type of an event, of a delivery that
   * has succeeded, of a received webhook, or the method and path of a request (`POST /v1/orders`), or an id. Rejects with
   * what came instead, after 5 s of real time by default.
   */
  readonly waitFor: (
    match: string | Filter<Item> | ((item: Item) => boolean),
    options?: { readonly timeoutMs?: number },
  ) => Promise<Item>;
};

/** The delivery of an event to an endpoint. Times are by the clock of the store. */
export type Delivery = {
  readonly id: string;
  readonly endpointId: string;
  readonly eventId: string;
  /** The type of the event. */
  readonly type: string;
  readonly checkoutId: string | null;
  readonly cause: "event" | "replay" | "duplicate";
  readonly state: "due" | "succeeded" | "failed" | "dropped";
  readonly tries: number;
  readonly nextAt: Date | null;
  readonly createdAt: Date;
  readonly attempts: readonly DeliveryAttempt[];
};

/** One try of a delivery. */
export type DeliveryAttempt = {
  readonly number: number;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** The status that the receiver answered; null where it did not. */
  readonly status: number | null;
  /** Why there was no answer. */
  readonly error: string | null;
  /** The beginning of the receiver's answer. */
  readonly answer: string | null;
  readonly headers: Readonly<Record<string, string>>;
};

/** A request that v1 has answered. */
export type LoggedRequest = {
  readonly requestId: string;
  /** By the store's clock. */
  readonly at: Date;
  /** The same by the real clock; in a sandbox whose clocks stand still, by that of the store. */
  readonly realAt: Date;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The code of a refusal. */
  readonly code: string | null;
  /** The message of a refusal. */
  readonly message: string | null;
  readonly orderId: string | null;
  /** Measured, so it differs from run to run. */
  readonly durationMs: number;
  /** The fault that it has met. */
  readonly fault: { readonly id: string; readonly action: FaultAction } | null;
  /** The decisions (docs/decisions.md) that its answer relied on. */
  readonly decisions: readonly number[];
};

/** How a receiver answers. */
export type ReceiverOptions = {
  /**
   * The status to answer, from 200 to 599. Default: 200 where the signature is right, else 400. Where it throws, or returns
   * something else, the answer is a 500 that says so.
   */
  readonly answer?: (webhook: Received) => number | Promise<number>;
  /** The events that it wants, as types or patterns. Default: all. */
  readonly events?: readonly string[];
};

/** A webhook that a receiver got. */
export type Received = {
  /** Whether it was signed with the secret of its endpoint, by this machine's clock. */
  readonly verified: boolean;
  /** Why it was not. */
  readonly problem: WebhookCode | null;
  /** The same in a sentence. */
  readonly message: string | null;
  /** The event of a verified webhook; null of any other. */
  readonly event: Event | null;
  /** The type of that event. */
  readonly type: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawBody: string;
};

/** A merchant's server on loopback, which verifies what it gets. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly endpointId: string;
  /** Everything that it got, in the order of arrival. */
  readonly received: readonly Received[];
  readonly waitFor: Log<Received>["waitFor"];
  /** Ends it, and removes its endpoint. */
  close(): Promise<void>;
}

/** A story, one entry for each thing that happened. */
export type Timeline = {
  readonly summary: string;
  readonly entries: readonly TimelineEntry[];
  /** What is due, soonest first. */
  readonly pending: readonly PendingEntry[];
  /** The same as lines of text. */
  readonly toString: () => string;
};

/** Something that happens by itself when the store's clock comes to it. */
export type PendingEntry = {
  readonly at: Date;
  readonly what: "delivery" | "expiry" | "settlement";
  readonly text: string;
};

/** What happened, by the clock of the store. */
export type TimelineEntry = {
  /** Of a delivery: when its event happened. */
  readonly at: Date;
  /** `clock`: the clock was set back, and times begin anew. */
  readonly what: "request" | "event" | "delivery" | "attempt" | "late_result" | "page" | "clock";
  /** The id of the request, event or delivery; null of the payer's acts, and of one line about several deliveries. */
  readonly id: string | null;
  /** The event of a delivery. */
  readonly of: string | null;
  readonly status: number | null;
  readonly text: string;
  /** The attempts of a delivery. */
  readonly attempts: readonly {
    readonly at: Date;
    readonly status: number | null;
    readonly error: string | null;
    readonly text: string;
  }[];
};
