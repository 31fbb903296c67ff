/**
 * Baseline: a Durable Object that writes the rows of a create (checkout, idempotency key, event) into the same tables,
 * in one transaction, and does nothing else: no credential, no validation, no replay, no read. Bundled as a Worker.
 */
import { randomBytes } from "node:crypto";
import { DurableObject, WorkerEntrypoint, type ObjectState, type Objects } from "cloudflare:workers";
import { markedUuid } from "../../../src/hosted/shared/marks.ts";
import { SANDBOX_FILE } from "../../../src/store/schema.ts";
import {
  bareCreate,
  FINGERPRINT,
  INSERT_CHECKOUT,
  INSERT_EVENT,
  INSERT_KEY,
  LIFETIME_MS,
  type Create,
} from "./bare-create.ts";

type Env = { readonly STORES: Objects<object> };

const uuid = (): string => markedUuid(1, Date.now(), randomBytes(6));

export class StoreObject extends DurableObject<Env> {
  private readonly storeId: string;

  constructor(state: ObjectState, env: Env) {
    super(state, env);
    const { sql } = state.storage;
    // An idle object is evicted from memory and constructed again later.
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

  /** Inserts the rows of one create, with bodies as long as the service's; returns the answer. */
  private insertRows(create: Create, key: string): string {
    const { sql } = this.ctx.storage;
    const { storeId } = this;
    const now = Date.now();
    const { id, requestId, eventId, body, event } = bareCreate(create, { storeId, now, uuid });
    const { order_id, amount_minor, currency, payment_method } = create;
    const terms = [order_id, amount_minor, currency, payment_method] as const;
    sql.exec(INSERT_CHECKOUT, id, storeId, ...terms, now, now + LIFETIME_MS);
    sql.exec(INSERT_KEY, storeId, key, FINGERPRINT, requestId, body, id, now);
    sql.exec(INSERT_EVENT, eventId, storeId, id, event, now);
    return body;
  }
}

/** A class that the Worker's configuration names; nothing calls it. */
export class IndexObject extends DurableObject<Env> {}

/** Passes every request except /healthz to the same object. */
export class BareService extends WorkerEntrypoint<Env> {
  fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === "/healthz") return Promise.resolve(new Response("ok"));
    return this.env.STORES.getByName("bare").fetch(request);
  }
}
