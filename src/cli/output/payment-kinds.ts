import * as z from "zod/mini";
import { requestOperations } from "../../core/control/operations/requests.ts";
import { webhookOperations } from "../../core/control/operations/webhook.ts";
import { checkoutResponse, checkoutWire } from "../../core/checkout/wire-shapes.ts";
import { text, textOrNull, texts, type OutputKind } from "./kind.ts";

const journalEntry = z.object({
  key: text,
  state: text,
  service: text,
  storeId: textOrNull,
  endpoint: text,
  orderId: text,
  attempt: z.nullable(z.int()),
  request: text,
  checkoutId: textOrNull,
  inDoubt: z.boolean(),
  code: textOrNull,
  firstSentAt: text,
  updatedAt: text,
});

const detailFact = z.object({ fact: text, values: z.array(z.unknown()) });
const cause = z.object({
  code: text,
  message: text,
  proven: z.boolean(),
  detail: z.nullable(z.union([text, detailFact])),
});

const listenReady = z.object({
  event: z.literal("ready"),
  url: text,
  sandbox: textOrNull,
  endpointId: textOrNull,
  eventTypes: texts,
  forward: textOrNull,
  routes: z.array(z.object({ type: text, url: text })),
  replayed: z.int(),
  pid: z.int(),
  version: text,
});
const listenDelivery = z.object({
  event: z.literal("delivery"),
  at: text,
  realAt: text,
  eventId: textOrNull,
  type: textOrNull,
  objectId: textOrNull,
  orderId: textOrNull,
  verified: z.boolean(),
  outcome: z.enum(["forwarded", "not_answered", "duplicate", "not_wanted", "no_target", "not_verified"]),
  code: textOrNull,
  message: textOrNull,
  causes: z.array(cause),
  injectedFault: z.unknown(),
  replay: z.boolean(),
  target: textOrNull,
  targetStatus: z.nullable(z.int()),
  answered: z.int(),
  ms: z.number(),
  nextTryAt: textOrNull,
});
const listenChange = z.object({
  event: z.enum(["disconnected", "reconnected", "disabled"]),
  at: text,
  realAt: text,
  sandbox: z.optional(text),
  reason: z.optional(text),
});

export const PAYMENT_OUTPUT_KINDS = {
  checkout: {
    about: "an order or a session as v1 returns it; after a create, with its idempotency key",
    commands: ["orders create", "sessions create", "sessions get"],
    jq: ".id",
    shape: z.extend(checkoutWire, {
      ...checkoutResponse.shape,
      idempotencyKey: z.optional(text),
      replayed: z.optional(z.boolean()),
      tries: z.optional(z.int()),
    }),
  },
  checkout_details: {
    about: "an order or a session of the sandbox: the fields of `checkout`, its attempts and its events",
    commands: ["orders get", "trigger"],
    jq: ".status",
    operations: ["inspectCheckout"],
  },
  checkouts: {
    about: "a list of orders or sessions",
    commands: ["orders list", "sessions list"],
    jq: ".checkouts[].order_id",
    operations: ["listCheckouts"],
  },
  payment: {
    about: "the status after an action of the payer, and each change of status",
    commands: ["sandbox pay"],
    jq: ".status",
    operations: ["pay"],
  },
  dry_run: {
    about: "the request that a create would send (`--dry-run`)",
    commands: ["orders create", "sessions create"],
    jq: ".body",
    shape: z.object({
      dryRun: z.literal(true),
      method: text,
      url: text,
      headers: z.record(text, text),
      body: z.unknown(),
    }),
  },
  idempotency_keys: {
    about: "the idempotency keys in this folder's journal, as an array",
    commands: ["idempotency list"],
    jq: ".[].key",
    shape: z.array(journalEntry),
  },
  idempotency_key: {
    about: "one idempotency key",
    commands: ["idempotency show"],
    jq: ".state",
    shape: journalEntry,
  },
  forgotten_key: {
    about: "the idempotency key that was removed from the journal",
    commands: ["idempotency forget"],
    jq: ".forgotten",
    shape: z.object({ forgotten: text }),
  },
  event: {
    about: "an event with its body and its deliveries",
    commands: ["events get", "endpoints test"],
    jq: ".deliveries[].state",
    operations: ["showEvent"],
  },
  events: {
    about: "a list of events, oldest first",
    commands: ["events list"],
    jq: ".events[].type",
    operations: ["listEvents"],
  },
  new_test: {
    about: "the webhook.test that was sent, without its answer",
    commands: ["endpoints test"],
    jq: ".event_id",
    operations: ["testEndpoint"],
  },
  new_tests: {
    about: "the webhook.test that was sent to each endpoint",
    commands: ["trigger"],
    jq: ".tests[].event_id",
    shape: z.object({
      tests: z.array(z.object({ endpointId: text, url: text, eventId: text })),
    }),
  },
  replay: {
    about: "the deliveries of a replay",
    commands: ["events replay"],
    jq: ".deliveries[].id",
    operations: ["replayEvent"],
  },
  replays: {
    about: "the number of events or deliveries that are sent again",
    commands: ["events replay-failed", "deliveries retry"],
    jq: ".retried",
    operations: ["replayFailed", "retryDeliveries"],
  },
  deliveries: {
    about: "a list of deliveries with their attempts, newest first",
    commands: ["deliveries list"],
    jq: ".deliveries[].state",
    operations: ["listDeliveries"],
  },
  endpoint: {
    about: "an endpoint; a new endpoint with its signing secret",
    commands: [
      "endpoints add",
      "endpoints remove",
      "endpoints enable",
      "endpoints disable",
      "endpoints pause",
    ],
    jq: ".id",
    operations: ["addEndpoint", "showEndpoint", "setEndpointState"],
  },
  endpoints: {
    about: "a list of endpoints",
    commands: ["endpoints list"],
    jq: ".endpoints[].url",
    operations: ["listEndpoints"],
  },
  endpoint_secret: {
    about: "the signing secrets of an endpoint, newest first",
    commands: ["endpoints secret", "endpoints rotate-secret"],
    jq: ".signing_secret",
    shape: z.extend(z.partial(webhookOperations.showSecret.answer, { storeTime: true }), {
      endpointId: z.string(),
      signingSecret: z.nullable(z.string()),
    }),
  },
  secret: {
    about: "the signing secret with which a sandbox signs for `listen`",
    commands: ["listen"],
    jq: ".signing_secret",
    shape: z.object({ signingSecret: text }),
  },
  listen: {
    about: "one line when `listen` is ready, for each delivery, and when the connection changes",
    commands: ["listen"],
    jq: 'select(.event == "delivery").type',
    shape: z.union([listenReady, listenDelivery, listenChange]),
  },
  signature: {
    about: "the verdict on a signature; exit 1 if it is not valid",
    commands: ["webhooks verify"],
    jq: ".valid",
    shape: z.object({
      valid: z.boolean(),
      timestamp: z.optional(z.int()),
      ageSeconds: z.optional(z.int()),
      secretOf: z.optional(text),
      endpointId: z.optional(textOrNull),
      code: z.optional(text),
      message: z.optional(text),
      causes: z.optional(z.array(cause)),
      secretsOf: z.optional(texts),
    }),
  },
  signed_headers: {
    about: "the delivery headers of a signed body",
    commands: ["webhooks sign"],
    jq: '."Checkout-Signature"',
    shape: z.record(text, text),
  },
  return_origins: {
    about: "the return origins of a store",
    commands: ["return-origins add", "return-origins list", "return-origins remove"],
    jq: ".return_origins[]",
    operations: ["listReturnOrigins", "changeReturnOrigins"],
  },
  price: {
    about: "a price of the catalog",
    commands: ["prices add", "prices retire"],
    jq: ".id",
    operations: ["addPrice", "retirePrice"],
  },
  prices: {
    about: "a list of prices",
    commands: ["prices list"],
    jq: ".prices[].id",
    operations: ["listPrices"],
  },
  faults: {
    about: "the active, added or removed faults",
    commands: ["faults add", "faults list", "faults clear"],
    jq: ".faults[].id",
    operations: ["addFault", "listFaults", "clearFaults"],
  },
  removed_fault: {
    about: "the removed fault",
    commands: ["faults remove"],
    jq: ".fault.id",
    operations: ["removeFault"],
  },
  clock: {
    about: "the time of a store, and the work done by a move of its clock",
    commands: ["show", "freeze", "advance", "set", "real"].map((verb) => `sandbox clock ${verb}`),
    jq: ".now",
    operations: ["showClock", "moveClock"],
  },
  requests: {
    about: "a list of v1 requests, oldest first",
    commands: ["requests list"],
    jq: ".requests[].request_id",
    operations: ["listRequests"],
  },
  request_line: {
    about: "one line for each request (`--follow`)",
    commands: ["requests list"],
    jq: ".path",
    shape: requestOperations.listRequests.answer.shape.requests.def.element,
  },
  request: {
    about: "a v1 request; a refused request with its headers and body",
    commands: ["requests get"],
    jq: ".status",
    operations: ["showRequest"],
  },
  explanation: {
    about: "the explanation of an object, and the next commands",
    commands: ["explain"],
    jq: ".summary",
    operations: ["explain"],
  },
  saved_story: {
    about: "the page of an order as one HTML file (`--html`)",
    commands: ["explain"],
    jq: ".html",
    operations: ["saveStory"],
  },
} as const satisfies Readonly<Record<string, OutputKind>>;
