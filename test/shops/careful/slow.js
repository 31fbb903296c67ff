// A careful shop that is slow: it waits before and after each booking. `node slow.js` serves it on PORT;
// `node slow.js create-order` creates the order CHECKOUT_ORDER_ID. It keeps its books in one file for each store.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const { CHECKOUT_BASE_URL, CHECKOUT_API_KEY, CHECKOUT_SIGNING_SECRET, CHECKOUT_ORDER_ID } = process.env;
const { CHECKOUT_STORE_ID, PORT } = process.env;
const SLOW_MS = 40;

const db = new DatabaseSync(`${CHECKOUT_STORE_ID}.db`, { timeout: 30_000 });
db.exec(`CREATE TABLE IF NOT EXISTS events (event_id TEXT PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS bookings (order_id TEXT, amount_minor INTEGER)`);
const insertEvent = db.prepare("INSERT OR IGNORE INTO events VALUES (?)");
const insertBooking = db.prepare("INSERT INTO bookings VALUES (?, ?)");
const selectOrder = db.prepare(
  "SELECT count(*) AS times, min(amount_minor) AS amount_minor FROM bookings WHERE order_id = ?",
);

async function createOrder(orderId) {
  const headers = {
    Authorization: `Bearer ${CHECKOUT_API_KEY}`,
    "Content-Type": "application/json",
    "Idempotency-Key": `shop-${createHash("sha256").update(orderId).digest("hex")}`,
  };
  const item = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
  const body = JSON.stringify({ order_id: orderId, ...item });
  for (let attempt = 0; attempt < 8; attempt += 1) {
    // Undefined if the answer was lost; an order may then exist.
    const answer = await post(headers, body).catch(() => undefined);
    if (answer?.status === 201) return answer.data.checkout_url;
    if (answer !== undefined && answer.status !== 429 && answer.status < 500)
      throw new Error(answer.error.message);
    await sleep(1000 * Number(answer?.wait ?? 2 ** attempt / 4));
  }
  throw new Error("it is unknown whether the order exists");
}

async function post(headers, body) {
  const init = { method: "POST", headers, body, signal: AbortSignal.timeout(10_000) };
  const response = await fetch(`${CHECKOUT_BASE_URL}/orders`, init);
  return { status: response.status, wait: response.headers.get("retry-after"), ...(await response.json()) };
}

function isGenuine(body, { "checkout-timestamp": timestamp = "", "checkout-signature": given = "" }) {
  const hmac = createHmac("sha256", CHECKOUT_SIGNING_SECRET).update(`${timestamp}.`).update(body);
  const [right, got] = [Buffer.from(hmac.digest("hex")), Buffer.from(given)];
  const isSigned = got.length === right.length && timingSafeEqual(got, right);
  return isSigned && Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;
}

/** Stores each event and its booking in one transaction. */
function book({ event_id: eventId, data: { order_id: orderId, status, amount_minor: amount } }) {
  db.exec("BEGIN IMMEDIATE");
  if (insertEvent.run(eventId).changes === 1 && status === "succeeded") insertBooking.run(orderId, amount);
  db.exec("COMMIT");
}

async function respond(request) {
  if (request.method === "GET") {
    const { times, amount_minor } = selectOrder.get(request.url.split("/").at(-1));
    return [200, JSON.stringify({ paid: times > 0, times, amount_minor })];
  }
  const body = Buffer.concat(await request.toArray());
  if (!isGenuine(body, request.headers)) return [400, ""];
  await sleep(SLOW_MS);
  book(JSON.parse(body));
  await sleep(SLOW_MS);
  return [204, ""];
}

if (process.argv[2] === "create-order") console.log(await createOrder(CHECKOUT_ORDER_ID));
else {
  const server = createServer((request, response) => {
    void respond(request)
      .catch(() => [500, ""])
      .then(([status, text]) => response.writeHead(status).end(text));
  });
  server.listen(Number(PORT), "127.0.0.1");
}
