/**
 * Baseline: a Durable Object that writes the rows of a create (checkout, idempotency key, event) into the same tables, in
 * one transaction, and does nothing else: no credential, no validation, no replay, no read. Bundled as a Worker.
 */
import { randomBytes } from "node:crypto";
import { DurableObject, WorkerEntrypoint, type ObjectState, type Objects } from "cloudflare:workers";
import { markedUuid } from "../../../src/hosted/marks.ts";
import { SANDBOX_FILE } from "../../../src/store/schema.ts";

type Create = {
  readonly order_id: string;
  readonly amount_minor: number;
  readonly currency: string;
  readonly payment_method: string;
};
type Env = { readonly STORES: Objects<object> };

const LIFETIME_MS = 3_600_000;
const FINGERPRINT = "0".repeat(64);
const INSERT_CHECKOUT = `INSERT INTO checkouts (id, store_id, object, order_id, amount_minor, currency, payment_method, status, created_at, expires_at)
  VALUES (?, ?, 'order', ?, ?, ?, ?, 'created', ?, ?)`;
const INSERT_KEY = `INSERT INTO idempotency_keys (store_id, key, fingerprint, status, request_id, body, checkout_id, created_at)
  VALUES (?, ?, ?, 201, ?, ?, ?, ?)`;
const INSERT_EVENT = `INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
  VALUES (?, ?, ?, 'order.created', 1, ?, ?)`;

const uuid = (): string => markedUuid(1, Date.now(), randomBytes(6));

/** The object with the rows. */
export class StoreObject extends DurableObject<Env> {
  private readonly storeId: string;

  constructor(state: ObjectState, env: Env) {
    super(state, env);
    const { sql } = state.storage;
    // An idle object is removed from memory, and made again.
    const isThere = sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'stores'").toArray().length > 0;
    this.storeId = isThere ? String(sql.exec("SELECT id FROM stores").raw().next().value?.[0]) : uuid();
    if (isThere) return;
    for (const migration of SANDBOX_FILE.migrations) sql.exec(migration);
    sql.exec("INSERT INTO merchants (id, name, created_at) VALUES (?, 'Bench', 0)", this.storeId);
    sql.exec(
      "INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES (?1, ?1, 'Bench', 1, 0)",
      this.storeId,
    );
  }

  async fetch(request: Request): Promise<Response> {
    const create = (await request.json()) as Create;
    const key = request.headers.get("idempotency-key") ?? "";
    const body = this.ctx.storage.transactionSync(() => this.insertRows(create, key));
    await this.ctx.storage.sync();
    return new Response(body, { status: 201, headers: { "Content-Type": "application/json" } });
  }

  /** The rows of one create, with bodies as long as the service's; returns the answer. */
  private insertRows({ order_id, amount_minor, currency, payment_method }: Create, key: string): string {
    const { sql } = this.ctx.storage;
    const { storeId } = this;
    const now = Date.now();
    const [id, requestId, eventId] = [uuid(), uuid(), uuid()];
    const checkout = {
      id,
      object: "order",
      order_id,
      amount_minor,
      currency,
      status: "created",
      checkout_url: `http://127.0.0.1:42420/pay/${id}`,
      livemode: false,
    };
    const body = JSON.stringify({ ok: true, request_id: requestId, data: checkout });
    const event = JSON.stringify({
      event_id: eventId,
      type: "order.created",
      created_at: new Date(now).toISOString(),
      api_version: "1.0.0-test",
      livemode: false,
      store_id: storeId,
      sequence: 1,
      previous_status: null,
      data: checkout,
    });
    const terms = [order_id, amount_minor, currency, payment_method] as const;
    sql.exec(INSERT_CHECKOUT, id, storeId, ...terms, now, now + LIFETIME_MS);
    sql.exec(INSERT_KEY, storeId, key, FINGERPRINT, requestId, body, id, now);
    sql.exec(INSERT_EVENT, eventId, storeId, id, event, now);
    return body;
  }
}

/** The configuration names it; nothing calls it. */
export class IndexObject extends DurableObject<Env> {}

/** Hands creates to the one object. */
export class BareService extends WorkerEntrypoint<Env> {
  fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === "/healthz") return Promise.resolve(new Response("ok"));
    return this.env.STORES.getByName("bare").fetch(request);
  }
}
