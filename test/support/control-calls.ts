import { expect } from "vitest";
import {
  CONTROL_OPERATIONS,
  OPERATION_NAMES,
  type OperationName,
} from "../../src/core/control/operations.ts";
import { duplicatesSubject } from "../../src/core/readiness/drills/drill.ts";
import { pullListenerUrl } from "../../src/core/webhook/endpoint.ts";
import { describedBy, type ControlDocument } from "./described.ts";
import type { FullAnswer } from "./harness.ts";
import { refusalText } from "./refusal-texts.ts";

const STEP = { name: "a", passed: true, expected: "b", got: "c", cause: null, reference: null };

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> & {
    readonly data?: Readonly<Record<string, unknown>>;
    readonly error?: { readonly code: string; readonly message: string };
  };
};

/** A service and two new stores, for calls of its control API. */
type ControlledService = {
  /** The store of the calls, and a store to delete. */
  readonly stores: readonly [{ readonly id: string; readonly apiKey: string }, { readonly id: string }];
  readonly tokens: Readonly<Record<"control" | "administrator", string>>;
  /** The origin of a receiver that answers. */
  readonly receiver: string;
  readonly send: (call: {
    readonly path: string;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  }) => Promise<FullAnswer>;
  /** The operations that the service refuses. */
  readonly lacks: ReadonlySet<OperationName>;
};

type Sent = { readonly method?: string; readonly body?: string };

/** Operations that answer with a document, without an envelope. */
const BARE: ReadonlySet<OperationName> = new Set(["describe", "describeConfig"]);

/**
 * Calls every operation, and the operation that stops the service last; each answer must match its description.
 * Returns the called operations.
 */
export async function callEveryOperation(service: ControlledService): Promise<readonly OperationName[]> {
  const { stores, receiver, lacks } = service;
  const [{ id: storeId, apiKey }, other] = stores;
  const { send, call } = callsOf(service);
  const STORE = `/__sandbox/stores/${storeId}`;
  const described = describedBy((await call("/__sandbox/openapi.json")).body as unknown as ControlDocument);
  const order = JSON.stringify({ order_id: "order-1", price_id: "price_bento" });
  const id = String((await send("/v1/orders", apiKey, { body: order })).body.data?.["id"]);
  const hooks = { url: `${receiver}/hooks` };
  const added = await call(`${STORE}/endpoints`, {
    body: JSON.stringify({ url: `${hooks.url}/first` }),
  });
  const endpoint = String(added.body.data?.["id"]);
  const listed = (await call(`${STORE}/events`)).body.data as {
    readonly events: { event_id: string }[];
  };
  const eventId = listed.events[0]?.event_id ?? "";
  const address = { url: pullListenerUrl("0123abcd") };
  const listener = await call(`${STORE}/listener`, { body: JSON.stringify(address) });
  await call(`${STORE}/endpoints/${String(listener.body.data?.["id"])}/test`, { body: "{}" });
  const fetching = `${STORE}/listener/requests?${new URLSearchParams(address).toString()}`;
  const fetched = (await call(`${fetching}&wait_ms=20000`)).body.data as {
    readonly requests: { id: string }[];
  };
  const held = fetched.requests[0]?.id ?? "";
  const leaseOf = async (drill: string): Promise<string> => {
    const body = JSON.stringify({ drill, timeout_ms: 60_000 });
    return String((await call(`${STORE}/leases`, { body })).body.data?.["id"]);
  };
  const [duplicates, returning] = [await leaseOf("duplicates"), await leaseOf("duplicates")];
  const subjectNow = async (): Promise<string> => {
    const { endpoints } = (await call(`${STORE}/endpoints`)).body.data as {
      readonly endpoints: readonly { id: string; url: string; kind: string }[];
    };
    return duplicatesSubject(endpoints.filter(({ kind }) => kind === "url"));
  };
  const pid = (await call("/__sandbox/sandbox")).body.data?.["pid"];
  const calls = {
    listEndpoints: [`${STORE}/endpoints`],
    addEndpoint: [`${STORE}/endpoints`, { ...hooks, event_types: ["order.*"] }],
    showEndpoint: [`${STORE}/endpoints/${endpoint}`],
    setEndpointState: [`${STORE}/endpoints/${endpoint}/state`, { action: "enable" }],
    showSecret: [`${STORE}/endpoints/${endpoint}/secret`],
    rotateSecret: [`${STORE}/endpoints/${endpoint}/secret`, { overlap_ms: 1000 }],
    testEndpoint: [`${STORE}/endpoints/${endpoint}/test`, {}],
    addFault: [`${STORE}/faults`, { action: "delay", latency_ms: 1, match: { endpoint_id: endpoint } }],
    listFaults: [`${STORE}/faults`],
    removeFault: [`${STORE}/faults/<fault>`],
    clearFaults: [`${STORE}/faults`],
    registerListener: [`${STORE}/listener`, { ...address, since: { event_id: eventId } }],
    fetchDeliveries: [`${fetching}&known=${held}&wait_ms=10`],
    answerDelivery: [`${STORE}/listener/requests/${held}`, { status: 204, body: "", retry_after: "1" }],
    listEvents: [`${STORE}/events?since=0&limit=5&wait_ms=10`],
    showEvent: [`${STORE}/events/${eventId}`],
    replayEvent: [`${STORE}/events/${eventId}/replay`, { endpoint_id: endpoint }],
    replayFailed: [`${STORE}/deliveries/replay`, { since: "2026-01-01T00:00:00Z", endpoint_id: endpoint }],
    retryDeliveries: [`${STORE}/deliveries/retry`, { endpoint_id: endpoint, order_id: "order-1" }],
    listDeliveries: [`${STORE}/deliveries?event_id=${eventId}&state=due&wait_ms=10`],
    checklist: [`${STORE}/checklist`],
    storeSummary: [STORE],
    waiveDrill: [`${STORE}/waivers`, { drill: "duplicates", reason: "by hand" }],
    recordExploration: [
      `${STORE}/explorations`,
      {
        schedules: 12,
        broken: 1,
        places: [{ place: "POST /v1/orders 1", held: ["reset"], broken: ["kill"], not_judged: [] }],
      },
    ],
    requestProduction: [`${STORE}/production-requests`, { note: "soon" }],
    adminAct: [`${STORE}/admin/acts`, { action: "disable_capability", subject: "JPY", note: "for now" }],
    adminLog: [`${STORE}/admin/acts`],
    listDrills: [`${STORE}/drills?kind=webhook&limit=5`],
    postToEndpoint: [
      `${STORE}/drills/post`,
      {
        lease_id: duplicates,
        posts: [
          {
            endpoint_id: endpoint,
            method: "PUT",
            suffix: "?x=1",
            headers: [{ name: "X-One", value: "1" }],
            body: "e30=",
            connection: "fresh",
          },
        ],
      },
    ],
    recordDrill: [`${STORE}/drills`, { kind: "duplicates", subject: "<subject>", steps: [STEP] }],
    listRetrieves: [`${STORE}/leases/${returning}/retrieves`],
    openLease: [`${STORE}/leases`, { drill: "duplicates", timeout_ms: 60_000 }],
    endLease: [`${STORE}/leases/<lease>/end`, {}],
    assumptions: [`${STORE}/assumptions`],
    listCheckouts: [`${STORE}/checkouts?q=order-1&status=created&object=order&limit=5`],
    createTestOrder: [`${STORE}/test-orders`, {}],
    inspectCheckout: [`${STORE}/checkouts/${id}`],
    pay: [`${STORE}/checkouts/${id}/pay`, { outcome: "declined" }],
    listRequests: [`${STORE}/requests?status=2xx`],
    showRequest: [`${STORE}/requests/<request>`],
    explain: [`${STORE}/explain?id=order-1`],
    saveStory: [`${STORE}/explain/page?id=order-1&language=zh`],
    showClock: [`${STORE}/clock`],
    moveClock: [`${STORE}/clock`, { action: "advance", by_ms: 7_200_000 }],
    listReturnOrigins: [`${STORE}/return-origins`],
    changeReturnOrigins: [`${STORE}/return-origins`, { action: "add", origin: "https://shop.example" }],
    createKey: [`${STORE}/keys`, { scopes: ["orders:write"] }],
    listKeys: [`${STORE}/keys`],
    revokeKey: [`${STORE}/keys/<key>/revoke`, {}],
    createToken: [`${STORE}/tokens`, { role: "viewer", valid_ms: 3_600_000 }],
    listTokens: [`${STORE}/tokens`],
    revokeToken: [`${STORE}/tokens/<token>/revoke`, {}],
    showAccess: ["/__sandbox/access"],
    listPrices: [`${STORE}/prices`],
    addPrice: [
      `${STORE}/prices`,
      { id: "tea", amount_minor: 700, currency: "GBP", payment_method: "alipay_plus", approved: false },
    ],
    retirePrice: [`${STORE}/prices/retire`, { id: "price_ticket" }],
    reset: ["/__sandbox/reset", { store: storeId }],
    createStoreSnapshot: [`${STORE}/snapshots`, { name: "one" }],
    createSnapshot: ["/__sandbox/snapshots", { name: "all" }],
    listSnapshots: ["/__sandbox/snapshots"],
    restoreStoreSnapshot: [`${STORE}/snapshots/restore`, { name: "all" }],
    restoreSnapshot: ["/__sandbox/snapshots/restore", { name: "one", all: false }],
    removeSnapshot: ["/__sandbox/snapshots/remove", { name: "one" }],
    deleteStore: [`/__sandbox/stores/${other.id}/delete`, {}],
    showConfig: ["/__sandbox/config"],
    applyConfig: [
      "/__sandbox/config",
      { stores: [{ id: "00000000-0000-4000-8000-000000000001", name: "Tea Shop" }], dry_run: true },
    ],
    describeConfig: ["/__sandbox/config.schema.json"],
    createStore: ["/__sandbox/stores", { name: "Tea Shop", merchant: "new" }],
    listStores: ["/__sandbox/stores"],
    storeAccess: [`${STORE}/access`],
    describe: ["/__sandbox/openapi.json"],
    describeSandbox: ["/__sandbox/sandbox"],
    createSignIn: ["/__sandbox/portal/sign-ins", {}],
    endPortalSessions: ["/__sandbox/portal/sessions"],
    stopSandbox: ["/__sandbox/sandbox/stop", { pid }],
  } as const satisfies Record<OperationName, readonly [string, object?]>;
  let lease = "";
  let requestId = "";
  let subject = "";
  let key = "";
  let token = "";
  let fault = "";
  const called: OperationName[] = [];
  for (const name of OPERATION_NAMES) {
    const [template, request] = calls[name];
    const path = template
      .replace("<lease>", lease)
      .replace("<request>", requestId)
      .replace("<key>", key)
      .replace("<token>", token)
      .replace("<fault>", fault);
    if (request !== undefined) expect(described(name, "request", request)).toBe("");
    const body = JSON.stringify(request)?.replace('"<subject>"', () => JSON.stringify(subject));
    called.push(name);
    const { method } = CONTROL_OPERATIONS[name];
    const answer = await call(path, body === undefined ? { method } : { body });
    const status = lacks.has(name) ? 409 : 200;
    expect([name, answer.status, described(name, status, answer.body)]).toEqual([name, status, ""]);
    if (status === 409) expect(answer.body.error?.message).toMatch(refusalText("hosted_without"));
    expect(answer.headers["Content-Type"]).toContain("application/json");
    if (!BARE.has(name)) expect(answer.headers["X-Request-Id"]).toBe(answer.body["request_id"]);
    if (name === "postToEndpoint") subject = await subjectNow();
    if (name === "listRequests") requestId = firstIdIn(answer);
    if (name === "createKey") key = String(answer.body.data?.["key_id"]);
    if (name === "createToken") token = String(answer.body.data?.["token_id"]);
    if (name === "addFault") fault = /"fault":\{"id":"([^"]*)"/.exec(JSON.stringify(answer.body))?.[1] ?? "";
    if (name === "openLease") lease = String(answer.body.data?.["id"]);
  }
  return called;
}

/** Calls of a service, with the token that each path requires. */
function callsOf({ send: sendTo, tokens }: ControlledService) {
  const send = async (path: string, token: string, { method, body }: Sent): Promise<Answer> => {
    const answer = await sendTo({
      path,
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        Authorization: `Bearer ${token}`,
        "Idempotency-Key": "an-idempotency-key",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body ?? "",
    });
    return { ...answer, body: JSON.parse(String(answer.body)) as Answer["body"] };
  };
  const call = (path: string, sent: Sent = {}): Promise<Answer> =>
    send(path, tokens[path.includes("/admin/") ? "administrator" : "control"], sent);
  return { send, call };
}

function firstIdIn({ body: { data = {} } }: Answer): string {
  const [first] = data["requests"] as readonly { readonly request_id: string }[];
  return first?.request_id ?? "";
}
