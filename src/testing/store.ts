import { checkoutWire } from "../core/checkout/wire-shapes.ts";
import { encodeAnswer, type AnswerOf, type RequestOf } from "../core/control/operations.ts";
import { decodeOrThrow } from "../core/shape/fields.ts";
import { entryLine, timedLine } from "../core/explain/span.ts";
import { isUuid, printable, printableLiteral } from "../core/text.ts";
import { checkOptions } from "./call-options.ts";
import type { Calls } from "./calls.ts";
import { CheckoutError, ignoreNotFound } from "./errors.ts";
import { faultsOf } from "./store/faults.ts";
import { deliveryLog, eventLog, requestLog } from "./store/logs.ts";
import { parseMomentOption, parseSpanOption } from "./options.ts";
import { pendingEntry, timelineEntry } from "./shapes.ts";
import { startReceiver, type Receivers } from "./receiver.ts";
import type { InProcessSandbox } from "./in-process.ts";
import type { Identities, StoreIdentity } from "./store/identities.ts";
import { restoreInto, takeSnapshotOf } from "./store/snapshots.ts";
import type { Checkout, Checkouts, Clock, Endpoint, Endpoints, Store, StoreEnv, Timeline } from "./types.ts";

type SharedParts = {
  readonly calls: Calls;
  readonly receivers: Receivers;
  readonly identities: Identities;
};

export function testStoreOf(sandbox: InProcessSandbox, sharedParts: SharedParts, storeId: string): Store {
  const { calls, receivers, identities } = sharedParts;
  const identity = (): StoreIdentity => identities.of(storeId);
  const storeContext = { calls, storeId };
  const endpoints = endpointsOf(calls, storeId);
  const { get, pay } = payerOf(calls, storeId);
  const checkouts = (path: string, object: Checkout["object"]): Checkouts => ({
    create: async (body, options = {}) => {
      checkOptions("create", options);
      const { id, apiKey } = identity();
      const { idempotencyKey = sandbox.world.uuid(`${id} keys`) } = options;
      return calls.create({ path, apiKey, idempotencyKey, body });
    },
    get,
    // Unknown fields are passed on, so that the control API refuses them.
    list: async (filter = {}) => Promise.all((await listIds(calls, storeId, { ...filter, object })).map(get)),
  });
  const forget = (): void => receivers.forget(storeId);
  const reset = async (): Promise<void> => {
    await calls.control({ name: "reset", body: { store: storeId } });
    forget();
  };
  const remove = async (): Promise<void> => {
    await calls.control({ name: "deleteStore", storeId, body: {} });
    await receivers.end(storeId);
  };
  return {
    id: storeId,
    // Getters, because a restore of another sandbox's snapshot changes these values.
    get merchantId() {
      return identity().merchantId;
    },
    get name() {
      return identity().name;
    },
    get apiKey() {
      return identity().apiKey;
    },
    get signingSecret() {
      return identity().signingSecret;
    },
    get env() {
      return envOf(sandbox, identity());
    },
    orders: checkouts("/v1/orders", "order"),
    sessions: checkouts("/v1/checkout-sessions", "checkout_session"),
    pay,
    clock: clockOf(calls, storeId),
    faults: faultsOf(calls, storeId),
    endpoints,
    events: eventLog(sandbox, storeContext),
    deliveries: deliveryLog(sandbox, storeContext),
    requests: requestLog(sandbox, storeContext),
    receiver: (options = {}) => startReceiver(sandbox, { ...storeContext, endpoints, receivers }, options),
    timeline: async (id) => {
      const body = { id, without: "durations" } as const;
      return timelineFrom(await calls.control({ name: "explain", storeId, body }));
    },
    snapshot: () => takeSnapshotOf(sandbox, { storeId }),
    restore: async (snapshot) =>
      void (await restoreInto(sandbox, { storeId }, { snapshot, forget, identities })),
    reset,
    delete: remove,
    [Symbol.asyncDispose]: async () => {
      if (!sandbox.isClosed()) await (isFirst(sandbox, storeId) ? reset() : remove().catch(ignoreNotFound));
      await receivers.end(storeId);
    },
  };
}

function payerOf(calls: Calls, storeId: string): Pick<Checkouts, "get"> & Pick<Store, "pay"> {
  const get = async (text: string): Promise<Checkout> => {
    const id = await checkoutId(calls, storeId, text);
    const answer = await calls.control({ name: "inspectCheckout", storeId, id, body: undefined });
    return checkoutWire.parse(encodeAnswer("inspectCheckout", answer));
  };
  return {
    get,
    pay: async (text, outcome = "succeeded") => {
      const id = await checkoutId(calls, storeId, text);
      await calls.control({ name: "pay", storeId, id, body: { outcome } });
      return get(id);
    },
  };
}

async function listIds(
  calls: Calls,
  storeId: string,
  filter: RequestOf<"listCheckouts">,
): Promise<readonly string[]> {
  const list = await calls.control({ name: "listCheckouts", storeId, body: filter });
  const ids = list.checkouts.map(({ id }) => id);
  if (list.nextBefore === null) return ids;
  return [...ids, ...(await listIds(calls, storeId, { ...filter, before: list.nextBefore }))];
}

/** Accepts an id or an order_id; if several checkouts have the order_id, the newest is meant. */
async function checkoutId(calls: Calls, storeId: string, text: string): Promise<string> {
  if (isUuid(text)) return text;
  const body = { orderId: text, limit: 1 };
  const [checkout] = (await calls.control({ name: "listCheckouts", storeId, body })).checkouts;
  if (checkout !== undefined) return checkout.id;
  const message = `this store has no order or session with the id or order_id ${printableLiteral(text)}`;
  throw new CheckoutError({ status: 404, code: "not_found", requestId: "", message });
}

function isFirst({ context }: InProcessSandbox, storeId: string): boolean {
  return context.store.stores.first()?.id === storeId;
}

function envOf({ baseUrl }: InProcessSandbox, { id, apiKey, signingSecret }: StoreIdentity): StoreEnv {
  return {
    CHECKOUT_BASE_URL: baseUrl,
    CHECKOUT_API_KEY: apiKey,
    CHECKOUT_STORE_ID: id,
    CHECKOUT_SIGNING_SECRET: signingSecret,
  };
}

function clockOf(calls: Calls, storeId: string): Clock {
  const move = async (body: RequestOf<"moveClock">): Promise<Date> =>
    new Date((await calls.control({ name: "moveClock", storeId, body })).now);
  return {
    now: async () => new Date((await calls.control({ name: "showClock", storeId, body: undefined })).now),
    freeze: () => move({ action: "freeze" }),
    advance: async (span) => move({ action: "advance", byMs: parseSpanOption(span) }),
    set: async (moment) => move({ action: "set", to: parseMomentOption(moment) }),
    real: () => move({ action: "real" }),
  };
}

function endpointsOf(calls: Calls, storeId: string): Endpoints {
  const setState = async (id: string, action: RequestOf<"setEndpointState">["action"]): Promise<Endpoint> =>
    endpointOf(await calls.control({ name: "setEndpointState", storeId, id, body: { action } }));
  return {
    // Unknown options are passed on, so that the control API refuses them.
    add: async (url, { events, ...options } = {}) => {
      const body = { url, eventTypes: events, ...options };
      const endpoint = await calls.control({ name: "addEndpoint", storeId, body });
      return { ...endpointOf(endpoint), signingSecret: endpoint.signingSecret };
    },
    list: async () => {
      const { endpoints } = await calls.control({ name: "listEndpoints", storeId, body: undefined });
      return endpoints.map(endpointOf);
    },
    pause: (id) => setState(id, "pause"),
    enable: (id) => setState(id, "enable"),
    remove: async (id) => void (await setState(id, "remove")),
  };
}

function endpointOf({ id, url, eventTypes, inOrder, ca, state, reason }: AnswerOf<"showEndpoint">): Endpoint {
  return { id, url, events: eventTypes, inOrder, ca, state, reason };
}

function timelineFrom({ summary, entries, pending }: AnswerOf<"explain">): Timeline {
  const timelineEntries = entries.map(({ attempts = [], ...entry }) =>
    decodeOrThrow(timelineEntry, { ...entry, attempts }),
  );
  const dueEntries = pending.map((entry) => decodeOrThrow(pendingEntry, entry));
  const lines = [
    ...timelineEntries.map(({ at, of, text }) => entryLine({ at: at.getTime(), of, text })),
    ...dueEntries.map(({ at, text }) => timedLine(at.getTime(), `due: ${text}`)),
  ];
  return {
    summary,
    entries: timelineEntries,
    pending: dueEntries,
    toString: () => [printable(summary), ...lines].join("\n"),
  };
}
