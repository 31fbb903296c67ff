// A shop for courses in two processes. It has its own order numbers: a cart becomes an order E-1001, E-1002, …
// `node courses.mjs` serves it on PORT; `node courses.mjs create` orders the cart CHECKOUT_ORDER_ID. MISTAKE names a
// mistake of test/shops/unseen.ts.
import cluster from "node:cluster";
import { createHmac, timingSafeEqual } from "node:crypto";
import http from "node:http";
import { DatabaseSync } from "node:sqlite";

const { CHECKOUT_BASE_URL: BASE, CHECKOUT_API_KEY: KEY, CHECKOUT_SIGNING_SECRET: SECRET } = process.env;
const { CHECKOUT_ORDER_ID: CART, MISTAKE, PORT = "3000" } = process.env;
const COURSE = { amount_minor: 7900, currency: "EUR" };
const isMistake = (...names) => names.includes(MISTAKE);
const MAKES_ORDERS = isMistake("makes_an_order_for_each_press");
const db = new DatabaseSync("courses.db", {
  timeout: isMistake("takes_a_busy_database_for_a_duplicate") ? 0 : 20_000,
});
db.exec(`PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY AUTOINCREMENT, cart TEXT,
    UNIQUE (${MAKES_ORDERS ? "number" : "cart"}));
  CREATE TABLE IF NOT EXISTS payments (id TEXT PRIMARY KEY, number INTEGER, state TEXT, sequence INTEGER);
  CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS enrolments (payment TEXT, number INTEGER, amount INTEGER)`);
const one = (sql, ...a) => db.prepare(sql).get(...a);
const run = (sql, ...a) => db.prepare(sql).run(...a);
const sleep = (ms) =>
  new Promise((done) => {
    setTimeout(done, ms);
  });
const name = (number) => `E-${1000 + number}`;
const numberOf = (text) => (/^E-[1-9][0-9]{3,8}$/.test(text) ? Number(text.slice(2)) - 1000 : -1);

// Buying

async function orderOf(cart) {
  if (MAKES_ORDERS) {
    const known = one("SELECT number FROM orders WHERE cart = ?", cart);
    if (known) return known.number;
    // The stock system.
    await sleep(40);
    return Number(run("INSERT INTO orders (cart) VALUES (?)", cart).lastInsertRowid);
  }
  run("INSERT OR IGNORE INTO orders (cart) VALUES (?)", cart);
  return one("SELECT number FROM orders WHERE cart = ?", cart).number;
}

async function create(cart) {
  const number = await orderOf(cart);
  if (one("SELECT 1 FROM enrolments WHERE number = ?", number)) throw new Error("this cart is paid");
  const ended =
    "SELECT count(*) AS n FROM payments WHERE number = ? AND state IN ('failed','cancelled','expired')";
  const headers = {
    authorization: `Bearer ${KEY}`,
    "content-type": "application/json",
    "idempotency-key": `course-${name(number)}-try-${one(ended, number).n + 1}`,
  };
  const body = JSON.stringify({ order_id: name(number), ...COURSE, payment_method: "alipay_plus" });
  for (let i = 0; i < 7; i += 1) {
    let answer;
    let json;
    try {
      const signal = AbortSignal.timeout(8000);
      answer = await fetch(`${BASE}/orders`, { method: "POST", headers, body, signal });
      json = await answer.json();
      if (answer.status === 201) return { order: name(number), url: json.data.checkout_url };
    } catch {
      answer = undefined;
    }
    if (answer && answer.status < 500 && answer.status !== 429 && answer.status !== 408)
      throw new Error(`refused: ${json.error?.code}`);
    await sleep(Math.max(200 * 2 ** i, 1000 * Number(answer?.headers.get("retry-after") ?? 0)));
  }
  throw new Error("no answer from the payment service");
}

// Webhooks

function genuine(raw, h) {
  const stamp = h["checkout-timestamp"] ?? "";
  const given = h["checkout-signature"] ?? "";
  if (!/^[1-9][0-9]{9}$/.test(stamp) || !/^[0-9a-f]{64}(,[0-9a-f]{64}){0,2}$/.test(given)) return false;
  if (Math.abs(Date.now() / 1000 - Number(stamp)) > 300) return false;
  const mine = Buffer.from(createHmac("sha256", SECRET).update(`${stamp}.`).update(raw).digest("hex"));
  return given.split(",").some((s) => timingSafeEqual(Buffer.from(s), mine));
}

/** Events that this process has handled, for a mistake. */
const handled = new Set();

function isNew(id) {
  if (isMistake("keeps_event_ids_in_each_process")) return !handled.has(id);
  return run("INSERT OR IGNORE INTO events VALUES (?)", id).changes === 1;
}

function handle(event) {
  const number = numberOf(event.data.order_id ?? "");
  try {
    db.exec("BEGIN IMMEDIATE");
    if (isNew(event.event_id)) record(event, number);
    db.exec("COMMIT");
    handled.add(event.event_id);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    if (!isMistake("takes_a_busy_database_for_a_duplicate")) throw error;
    console.error("known event", event.event_id, error.message);
  }
}

function record(event, number) {
  const { id, status, amount_minor: amount, currency } = event.data;
  if (!one("SELECT 1 FROM orders WHERE number = ?", number)) return;
  if (amount !== COURSE.amount_minor || currency !== COURSE.currency) return;
  if (!/^(order|checkout_session)\.(created|pending|succeeded|failed|cancelled|expired)$/.test(event.type))
    return;
  const upsert = `INSERT INTO payments VALUES (?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, sequence = excluded.sequence
    WHERE excluded.sequence > payments.sequence`;
  run(upsert, id, number, status, event.sequence);
  if (status === "succeeded") run("INSERT INTO enrolments VALUES (?, ?, ?)", id, number, amount);
}

// Pages

async function read(req) {
  const parts = [];
  for await (const p of req) parts.push(p);
  return Buffer.concat(parts);
}

async function respond(req, send) {
  const url = new URL(req.url, "http://shop");
  const raw = await read(req);
  if (req.method === "POST" && url.pathname === "/hooks") {
    if (!genuine(raw, req.headers)) return send(400);
    handle(JSON.parse(raw));
    return send(200);
  }
  if (url.pathname === "/thanks")
    return send(200, "Thank you. You will find the course in your account when the payment has arrived.");
  if (url.pathname.startsWith("/order/")) {
    const number = numberOf(decodeURIComponent(url.pathname.slice(7)));
    if (!one("SELECT 1 FROM orders WHERE number = ?", number)) return send(404);
    const enrolments = "SELECT count(*) AS times, max(amount) AS amount FROM enrolments WHERE number = ?";
    const { times, amount } = one(enrolments, number);
    return send(200, JSON.stringify({ paid: times > 0, times, amount_minor: amount }));
  }
  return send(404);
}

function serve() {
  const server = http.createServer((req, res) => {
    const send = (code, body = "") => {
      res.writeHead(code);
      res.end(body);
    };
    void respond(req, send).catch((error) => {
      console.error(error.message);
      send(500);
    });
  });
  server.listen(Number(PORT), "127.0.0.1");
}

if (process.argv[2] === "create") {
  try {
    console.log(JSON.stringify(await create(CART)));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
} else if (cluster.isPrimary) {
  for (let i = 0; i < 2; i += 1) cluster.fork();
  cluster.on("exit", () => cluster.fork());
  process.on("SIGTERM", () => process.exit(0));
} else serve();
