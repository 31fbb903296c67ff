import { hash } from "node:crypto";
import { expect, test } from "vitest";
import type { StoredResponse } from "../../src/core/checkout/idempotency-key.ts";
import type { PageView } from "../../src/core/checkout/page-view.ts";
import type { Credential } from "../../src/core/credential.ts";
import type { AdminAction } from "../../src/core/readiness/admin-action.ts";
import type { RecordedDrill } from "../../src/core/readiness/drills/drill.ts";
import type { SealedSecret } from "../../src/core/webhook/sealed-secret.ts";
import type { Endpoint } from "../../src/core/webhook/endpoint.ts";
import type { Fault } from "../../src/core/fault/fault.ts";
import type { StoredEvent } from "../../src/store/checkout/events.ts";
import type { AssumptionUse } from "../../src/store/readiness/assumption-uses.ts";
import type { IdempotencyUse } from "../../src/store/readiness/idempotency-uses.ts";
import { IN_MEMORY } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { EXPLORATIONS_DDL, explorationsTable } from "../../src/store/readiness/explorations.ts";
import { LEASE_EFFECTS_DDL, leaseEffectsTable } from "../../src/store/readiness/lease-effects.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { STORE_DIALECT_NAMES_MIGRATION } from "../../src/store/stores.ts";
import { TOKENS_DDL, tokensTable } from "../../src/store/tokens.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import type { Delivery } from "../../src/store/webhook/deliveries.ts";
import type { RecordedAttemptResult, DeliveryAttempt } from "../../src/store/webhook/delivery-attempts.ts";
import type { Attempt, Price } from "../../src/core/checkout/shapes.ts";
import type { Exploration } from "../../src/core/readiness/shapes.ts";
import type { Waiver } from "../../src/core/readiness/shapes.ts";
import { aCheckout, insertion } from "../support/rows.ts";

// A distinct value for each field, so that a field in the wrong column is noticed.
const uuid = (last: number): string => `0199a3c4-5d00-7000-8000-${String(last).padStart(12, "0")}`;
const [storeId, endpointId, checkoutId] = [uuid(1), uuid(2), uuid(3)];
const [eventId, deliveryId] = [uuid(4), uuid(5)];
const checkout = aCheckout({
  id: checkoutId,
  storeId,
  object: "checkout_session",
  orderId: "order-1",
  amountMinor: 450,
  currency: "EUR",
  paymentMethod: "wechat_pay",
  description: "A coffee",
  priceId: "price_coffee",
  status: "pending",
  createdAt: 11,
  expiresAt: 12,
});
const response: StoredResponse = { fingerprint: "f".repeat(64), status: 201, requestId: uuid(6), body: "{}" };
const event: Omit<StoredEvent, "position"> = {
  id: eventId,
  storeId,
  checkoutId,
  type: "order.created",
  sequence: 2,
  body: "[]",
  createdAt: 13,
};
const attempt: Attempt = { number: 1, startedAt: 14, outcome: "declined", finishedAt: 15 };
const view: PageView = { kind: "returned", at: 17, target: "https://shop.example" };
const price: Price = {
  id: "price_coffee",
  description: "A coffee",
  amountMinor: 450,
  currency: "EUR",
  paymentMethod: "alipay_plus",
  billingModel: "one_time",
  approved: true,
  retired: false,
};
const otherPrice: Price = { ...price, id: "price_other", approved: false, retired: true };
const endpoint: Endpoint = {
  id: endpointId,
  storeId,
  kind: "listener",
  url: "http://localhost:1/",
  eventTypes: ["order.*", "*"],
  inOrder: true,
  ca: null,
  state: "paused",
  reason: "it is away",
  failingSince: 16,
  createdAt: 17,
};
const secret: SealedSecret = {
  id: uuid(7),
  storeId,
  nonce: Buffer.alloc(12, 1),
  sealed: Buffer.alloc(32, 2),
};
const delivery: Omit<Delivery, "state" | "tries" | "fault"> = {
  id: deliveryId,
  storeId,
  endpointId,
  eventId,
  checkoutId,
  sequence: 2,
  cause: "replay",
  inOrder: false,
  nextAt: 18,
  createdAt: 19,
};
const sent: Omit<DeliveryAttempt, keyof RecordedAttemptResult | "madeBy"> = {
  deliveryId,
  number: 1,
  startedAt: 20,
  url: "http://localhost:1/",
  headers: "{}",
  bodyHash: "b".repeat(64),
  fault: "delay",
};
const end: RecordedAttemptResult = {
  finishedAt: 21,
  milliseconds: 22,
  address: "127.0.0.1",
  status: 503,
  error: null,
  answer: Buffer.from("no"),
  facts: { location: "/hooks/" },
  nextAt: 23,
};
const fault: Fault = {
  id: uuid(8),
  storeId,
  action: "drop",
  match: {
    method: "GET",
    path: "/v1/*",
    eventType: "order.*",
    eventId,
    endpointId,
    orderId: "order-*",
    nth: 24,
    probability: 0.25,
  },
  seed: "seed",
  status: 502,
  latencyMs: 25,
  retryAfterS: 26,
  times: 27,
  until: 28,
  matched: 29,
  applied: 26,
  createdAt: 26,
};
const exploration: Exploration = {
  schedules: 12,
  broken: 1,
  places: [{ place: "POST /v1/orders 1", held: ["reset"], broken: ["kill"], notJudged: [] }],
  at: 32,
};
const waiver: Waiver = { drill: "duplicates", reason: "by hand", at: 31 };
const act: AdminAction = {
  storeId,
  actor: "administrator",
  action: "enable_capability",
  subject: "EUR",
  note: "n",
  at: 27,
};
const drill: RecordedDrill = {
  id: uuid(9),
  storeId,
  kind: "webhook",
  subject: `${endpointId} http://localhost:1/`,
  passed: true,
  steps: [{ name: "replay", passed: true, expected: "200", got: "200", cause: null, reference: eventId }],
  at: 28,
};
const use: IdempotencyUse = { storeId, key: "key-0001", kind: "replayed", requestId: uuid(6), at: 29 };
const assumption: AssumptionUse = { storeId, decision: 5, firstRequestId: uuid(6), firstAt: 30 };
const credential: Credential = {
  id: uuid(10),
  storeId,
  scopes: ["orders:write", "checkout_sessions:read"],
};

const shownKey = {
  id: credential.id,
  lastFour: "last",
  scopes: credential.scopes,
  createdAt: 5,
  revokedAt: null,
};

function openInMemory(): Store {
  const opened = openStore(":memory:", {
    nativeBinding: undefined,
    scheduler: { soon: (run) => void setImmediate(run), after: (ms, run) => void setTimeout(run, ms) },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

test("every table returns each stored value in its own field", async () => {
  const store = openInMemory();
  const recorded = await store.write(() => {
    store.stores.insertMerchant({ id: "m", name: "Merchant", createdAt: 1 });
    store.stores.insert({ id: storeId, merchantId: "m", name: "Store", createdAt: 2 });
    store.clocks.set(storeId, { offsetMs: 3, frozenAt: 4 });
    store.capabilities.insert(storeId, { kind: "currency", name: "EUR" });
    store.capabilities.insert(storeId, { kind: "payment_method", name: "wechat_pay" });
    store.credentials.insert({
      ...credential,
      lastFour: "last",
      keyHash: hash("sha256", "an API key"),
      createdAt: 5,
    });
    store.prices.put(storeId, price);
    store.prices.put(storeId, otherPrice);
    store.checkouts.insert(checkout);
    store.idempotencyKeys.insert({ ...response, storeId, key: "key-0001", checkoutId, createdAt: 6 });
    store.events.insert(event);
    store.attempts.save(checkoutId, attempt);
    store.attempts.recordLateResult({ checkoutId, attempt: 1, result: "failed", recordedAt: 7 });
    store.pageViews.keep(checkoutId, view);
    store.settlements.insert({ checkoutId, storeId, outcome: "cancelled", dueAt: 8 });
    store.endpoints.insert(endpoint);
    store.signingSecrets.insert(secret, { createdAt: 9, endpointId, retiredAt: 10 });
    store.deliveries.insert(delivery);
    store.deliveryAttempts.start(sent);
    store.deliveryAttempts.finish(sent, end);
    store.faults.insert(fault);
    store.drills.insert(drill);
    store.waivers.insert({ ...waiver, storeId, reason: "an older one" });
    store.waivers.insert({ ...waiver, storeId });
    store.explorations.record({ ...exploration, schedules: 1, storeId });
    store.explorations.record({ ...exploration, storeId });
    store.idempotencyUses.insert(use);
    store.assumptionUses.note(assumption);
    return store.adminActions.insert(act);
  });

  const filter = { storeId, endpointId, eventId, checkoutId, limit: 9 };
  const rows: readonly (readonly [unknown, unknown])[] = [
    [store.stores.first(), { id: storeId, merchantId: "m" }],
    [store.stores.names(storeId), { merchant: "Merchant", store: "Store" }],
    [
      store.stores.details(storeId),
      { id: storeId, merchantId: "m", merchant: "Merchant", store: "Store", active: true, createdAt: 2 },
    ],
    [
      store.stores.facts(storeId),
      {
        id: storeId,
        active: true,
        paymentMethods: ["wechat_pay"],
        currencies: ["EUR"],
        clock: { offsetMs: 3, frozenAt: 4 },
      },
    ],
    [store.clocks.of(storeId), { offsetMs: 3, frozenAt: 4 }],
    [store.capabilities.of(storeId).at(-1), { kind: "currency", name: "EUR", active: true }],
    [store.credentials.of(storeId), [shownKey]],
    [
      store.credentials.byApiKey("an API key"),
      {
        id: credential.id,
        storeId,
        scopes: credential.scopes,
        clock: { offsetMs: 3, frozenAt: 4 },
        isErased: false,
      },
    ],
    [store.prices.find(storeId, price.id), price],
    [store.prices.of(storeId), [price, otherPrice]],
    [store.checkouts.find(storeId, checkoutId), checkout],
    [store.checkouts.findInAnyStore(checkoutId), checkout],
    [store.checkouts.findBlocker(storeId, "order-1"), checkout],
    [store.idempotencyKeys.findAnswer(storeId, "key-0001", 7), { ...response, checkoutId, createdAt: 6 }],
    [store.events.find(eventId), { ...event, position: 1 }],
    [store.attempts.of(checkoutId), [attempt]],
    [store.attempts.lateResults(checkoutId), [{ checkoutId, attempt: 1, result: "failed", recordedAt: 7 }]],
    [store.pageViews.of(checkoutId), [view]],
    [
      store.idempotencyKeys.ofCheckout(checkoutId),
      [{ key: "key-0001", fingerprint: "f".repeat(64), requestId: uuid(6), body: "{}" }],
    ],
    [store.settlements.of(checkoutId), { checkoutId, outcome: "cancelled", dueAt: 8 }],
    [store.endpoints.find(endpointId), endpoint],
    [store.endpoints.of(storeId), [endpoint]],
    [store.signingSecrets.ofEndpoint(endpointId), [{ ...secret, endpointId, createdAt: 9, retiredAt: 10 }]],
    [store.deliveries.find(deliveryId), { ...delivery, state: "due", tries: 0, fault: null }],
    [store.deliveries.list(filter), [{ ...delivery, state: "due", tries: 0, fault: null }]],
    [store.deliveryAttempts.of(deliveryId), [{ ...sent, ...end, madeBy: null }]],
    [store.faults.readUncached(storeId), [fault]],
    [store.faults.of(storeId), [fault]],
    [store.faults.all(), [fault]],
    [store.adminActions.of(storeId), [{ ...act, number: 1 }]],
    [recorded, { ...act, number: 1 }],
    [store.drills.latest(storeId, "webhook"), drill],
    [store.drills.latestOfEndpoint(endpoint), drill],
    [store.drills.list({ storeId, kind: null, limit: 9 }), [drill]],
    [store.waivers.of(storeId), [waiver]],
    [store.explorations.of(storeId), exploration],
    [store.idempotencyUses.latest(storeId, "replayed"), use],
    [store.assumptionUses.of(storeId), [assumption]],
  ];
  for (const [read, written] of rows) expect(read).toStrictEqual(written);
  store.close();
});

test("a revoked key is refused immediately and stays in the list", async () => {
  const store = openInMemory();
  const inForce = (): boolean => store.credentials.byApiKey("key of the merchant") !== undefined;
  await store.write(() => {
    store.stores.insertMerchant({ id: "m", name: "Merchant", createdAt: 1 });
    store.stores.insert({ id: storeId, merchantId: "m", name: "Store", createdAt: 2 });
    store.credentials.insert({
      id: "merchant",
      storeId,
      scopes: ["orders:write"],
      keyHash: hash("sha256", "key of the merchant"),
      lastFour: "last",
      createdAt: 1,
    });
  });
  expect(inForce()).toBe(true);
  await store.write(() => store.credentials.revoke("merchant", 4));
  expect(inForce()).toBe(false);
  await store.write(() => store.credentials.revoke("merchant", 5));
  expect(store.credentials.of(storeId)).toMatchObject([{ id: "merchant", revokedAt: 4 }]);
  store.close();
});

test("the migration for effects of leases keeps the leases of stores that are being explored", () => {
  const opened = openDatabase(IN_MEMORY, {
    kind: { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 15) },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  connection.exec("INSERT INTO explore_leases (store_id) VALUES ('s')");
  connection.exec(LEASE_EFFECTS_DDL);
  const table = leaseEffectsTable(connection);
  const explored = { leaseId: "s", storeId: "s", faultId: "" };
  expect(table.all()).toEqual([explored]);
  const ofRun = ["f", "g"].map((faultId) => ({ leaseId: "l", storeId: "s", faultId }));
  for (const effect of ofRun) table.note(effect);
  expect(table.all()).toEqual(expect.arrayContaining([explored, ...ofRun]));
  table.end("l");
  expect(table.all()).toEqual([explored]);
  connection.close();
});

test("a migration renames the fields of stored dialects, but not the names that a service uses", () => {
  const { length } = SANDBOX_FILE.migrations;
  const opened = openDatabase(IN_MEMORY, {
    kind: { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, length - 2) },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  const names = { events: { "order.succeeded": 'it "eventFields": paid' }, replay: { status: 200 } };
  const old = {
    ...names,
    eventFields: { sequence: null },
    headers: { eventId: "X-Id" },
    signatureForm: "hex",
    unknownSession: 400,
    bothForms: "amount",
  };
  connection.exec(insertion("merchants") + insertion("stores", { dialect: JSON.stringify(old) }));
  connection.exec(STORE_DIALECT_NAMES_MIGRATION);
  const { dialect } = connection.prepare<[], { dialect: string }>("SELECT dialect FROM stores").get() ?? {};
  expect(JSON.parse(dialect ?? "")).toEqual({
    ...names,
    event_fields: { sequence: null },
    headers: { event_id: "X-Id" },
    signature_form: "hex",
    unknown_session: 400,
    both_forms: "amount",
  });
  connection.close();
});

test("the migration for tokens adds a table in which a token's rights never change and no token is deleted before its store", () => {
  const opened = openDatabase(IN_MEMORY, {
    kind: { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 11) },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  connection.exec(insertion("merchants") + insertion("stores"));
  connection.exec(TOKENS_DDL);
  const table = tokensTable(connection);
  expect(table.of("s")).toEqual([]);
  const given = { storeId: "s", role: "viewer", createdAt: 1, expiresAt: 9 } as const;
  const hashOf = (letter: string): string => letter.repeat(64);
  table.insert({ ...given, tokenId: "l", kind: "link", hash: hashOf("a"), sessionMs: 5, linkId: null });
  table.insert({ ...given, tokenId: "b", kind: "session", hash: hashOf("b"), sessionMs: null, linkId: "l" });
  table.insert({ ...given, tokenId: "t", kind: "token", hash: hashOf("c"), sessionMs: null, linkId: null });
  table.recordUse("t", 3);
  table.revoke("l", 4);
  table.revoke("b", 5);
  expect(table.of("s").map(({ tokenId, usedAt, revokedAt }) => [tokenId, usedAt, revokedAt])).toEqual([
    ["b", null, 4],
    ["l", null, 4],
    ["t", 3, null],
  ]);
  expect(table.byHash(hashOf("c"))?.tokenId).toBe("t");
  for (const change of ["role = 'store'", "expires_at = 99", "store_id = 'x'", "hash = 'd'"])
    expect(() => connection.exec(`UPDATE tokens SET ${change} WHERE id = 't'`)).toThrow(/keeps its rights/);
  expect(() => connection.exec("UPDATE tokens SET revoked_at = NULL WHERE id = 'l'")).toThrow(
    /stays revoked/,
  );
  expect(() => connection.exec("DELETE FROM tokens")).toThrow(/as long as their store/);
  connection.close();
});

test("the migration for explorations adds an empty table", () => {
  const opened = openDatabase(IN_MEMORY, {
    kind: { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 2) },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  connection.exec(insertion("merchants") + insertion("stores"));
  connection.exec(EXPLORATIONS_DDL);
  const table = explorationsTable(connection);
  expect(table.of("s")).toBeUndefined();
  table.record({ ...exploration, storeId: "s" });
  expect(table.of("s")).toStrictEqual(exploration);
  expect(() => table.record({ ...exploration, schedules: 0, storeId: "s" })).toThrow(/CHECK/);
  connection.close();
});
