import { join } from "node:path";
import Database from "better-sqlite3";
import { has } from "./breakage.js";
import { AMOUNT_MINOR, CURRENCY } from "./service.js";

const TABLES = `
  CREATE TABLE IF NOT EXISTS purchases (order_id TEXT PRIMARY KEY, idempotency_key TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, status TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS events (event_id TEXT PRIMARY KEY) STRICT;
  CREATE TABLE IF NOT EXISTS fulfilments (order_id TEXT NOT NULL, at TEXT NOT NULL DEFAULT current_timestamp) STRICT;
`;

/** A status never moves back, although events can arrive late and out of order. */
const RANKS = { created: 0, pending: 1, failed: 2, cancelled: 2, expired: 2, succeeded: 2 };

/** The shop's books, in a file of its folder: purchases, the known facts about their payments, and delivered goods. */
export function openBooks(folder) {
  const db = new Database(join(folder, "books.db"));
  db.pragma("journal_mode = WAL");
  db.exec(TABLES);
  const insertPurchase = db.prepare("INSERT OR IGNORE INTO purchases VALUES (?, ?)");
  const selectKey = db.prepare("SELECT idempotency_key FROM purchases WHERE order_id = ?").pluck();
  const insertEvent = db.prepare("INSERT OR IGNORE INTO events VALUES (?)");
  const selectStatus = db.prepare("SELECT status FROM orders WHERE order_id = ?").pluck();
  const upsertStatus = db.prepare("INSERT OR REPLACE INTO orders VALUES (?, ?)");
  const fulfil = db.prepare("INSERT INTO fulfilments (order_id) VALUES (?)");
  const countFulfilments = db.prepare("SELECT count(*) FROM fulfilments WHERE order_id = ?").pluck();

  const setStatus = (orderId, status) => {
    if (RANKS[status] >= RANKS[selectStatus.get(orderId) ?? "created"]) upsertStatus.run(orderId, status);
  };

  return {
    /** The idempotency key of a purchase: always the key that was stored first. */
    keyOf(orderId, newKey) {
      insertPurchase.run(orderId, newKey);
      return selectKey.get(orderId);
    },
    setStatus,
    /** Books an event once, however often it is delivered. */
    book: db.transaction(({ event_id: eventId, type, data }) => {
      const isNew = insertEvent.run(eventId).changes === 1;
      if (!isNew && !has("books_each_delivery")) return;
      // Another system may use the order_id for another amount or currency.
      const isOurPrice = data.amount_minor === AMOUNT_MINOR && data.currency === CURRENCY;
      if (data.status === undefined || !isOurPrice) return;
      setStatus(data.order_id, data.status);
      if (type.endsWith(".succeeded")) fulfil.run(data.order_id);
    }),
    /** The shop's record of an order; undefined if there is none. */
    order(orderId) {
      const status = selectStatus.get(orderId);
      if (status === undefined && selectKey.get(orderId) === undefined) return undefined;
      const shown = status === "succeeded" ? "paid" : (status ?? "created");
      return { order_id: orderId, status: shown, times: countFulfilments.get(orderId) };
    },
  };
}
