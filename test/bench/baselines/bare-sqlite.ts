/**
 * Baseline: node:http that writes the rows of a create (checkout, idempotency key, event) with group commit and
 * synchronous=FULL, and does nothing else: no credential, no validation, no replay, no savepoint, no read.
 * Takes the path of a new database file and prints its port.
 */
import Database from "better-sqlite3";
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { v7 } from "uuid";
import { SANDBOX_FILE } from "../../../src/store/schema.ts";
import { announce } from "./announce.ts";
import {
  bareCreate,
  FINGERPRINT,
  INSERT_CHECKOUT,
  INSERT_EVENT,
  INSERT_KEY,
  LIFETIME_MS,
  type Create,
} from "./bare-create.ts";

type Job = { readonly request: Create; readonly key: string; readonly response: ServerResponse };

const SYNCHRONOUS_FULL = 2;
const RANDOM_POOL_BYTES = 4096;
const UUID_RANDOM_BYTES = 16;

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("the path of a new database file is missing");
const database = openNew(path);
const begin = database.prepare("BEGIN IMMEDIATE");
const commit = database.prepare("COMMIT");
const insertCheckout = database.prepare(INSERT_CHECKOUT);
const insertKey = database.prepare(INSERT_KEY);
const insertEvent = database.prepare(INSERT_EVENT);
let randomPool = new Uint8Array(0);
const storeId = seedStore();
let queue: Job[] = [];

const server = createServer(receive);
server.listen({ host: "127.0.0.1", port: 0 }, () => announce(server.address()));

function openNew(file: string): Database.Database {
  const opened = new Database(file);
  opened.pragma("journal_mode = WAL");
  // Not the default: better-sqlite3 is compiled to fall back to NORMAL in WAL mode.
  opened.pragma("synchronous = FULL");
  opened.pragma("foreign_keys = ON");
  if (opened.pragma("synchronous", { simple: true }) !== SYNCHRONOUS_FULL)
    throw new Error("commits would not be durable");
  for (const migration of SANDBOX_FILE.migrations) opened.exec(migration);
  return opened;
}

function seedStore(): string {
  const id = uuid();
  database.prepare("INSERT INTO merchants (id, name, created_at) VALUES (?, 'Bench', 0)").run(id);
  database
    .prepare("INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES (?, ?, 'Bench', 1, 0)")
    .run(id, id);
  return id;
}

function receive(incoming: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const request = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Create;
    queue.push({ request, key: String(incoming.headers["idempotency-key"]), response });
    if (queue.length === 1) setImmediate(flush);
  });
}

function flush(): void {
  const batch = queue;
  queue = [];
  begin.run();
  const bodies = batch.map(insertRows);
  commit.run();
  for (const [index, { response }] of batch.entries()) {
    const body = bodies[index] ?? "";
    response.writeHead(201, {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
    });
    response.end(body);
  }
}

/** Inserts the rows of one create, with bodies as long as the service's; returns the answer. */
function insertRows({ request, key }: Job): string {
  const now = Date.now();
  const { id, requestId, eventId, body, event } = bareCreate(request, { storeId, now, uuid });
  const { order_id, amount_minor, currency, payment_method } = request;
  insertCheckout.run(id, storeId, order_id, amount_minor, currency, payment_method, now, now + LIFETIME_MS);
  insertKey.run(storeId, key, FINGERPRINT, requestId, body, id, now);
  insertEvent.run(eventId, storeId, id, event, now);
  return body;
}

/** A version 7 id whose random part comes from a pool, as fast as the service's ids. */
function uuid(): string {
  if (randomPool.length < UUID_RANDOM_BYTES) randomPool = randomBytes(RANDOM_POOL_BYTES);
  const random = randomPool.subarray(0, UUID_RANDOM_BYTES);
  randomPool = randomPool.subarray(UUID_RANDOM_BYTES);
  return v7({ random });
}
