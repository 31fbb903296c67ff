// A shop in the manner of a WooCommerce gateway: the webhook and the thank-you page both confirm a payment.
// `node gateway.mjs` serves it on PORT. MISTAKE names a mistake or a right variant of test/shops/unseen.ts.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import http from "node:http";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const { CHECKOUT_BASE_URL: BASE, CHECKOUT_API_KEY: KEY, CHECKOUT_SIGNING_SECRET: SECRETS = "" } = process.env;
const { MISTAKE, PORT = "3000" } = process.env;
const PRICE = { amount_minor: 2490, currency: "EUR", payment_method: "alipay_plus" };
const FINAL = new Set(["succeeded", "failed", "cancelled", "expired"]);
const isMistake = (...names) => names.includes(MISTAKE);
const SAVES_WHOLE_ORDERS = isMistake("saves_an_old_order_at_a_purchase", "saves_an_old_order_in_a_return");

/** The unique column of the bookings; mistakes guard them elsewhere. */
function uniqueColumn() {
  if (isMistake("takes_the_order_from_a_cookie")) return "order_id";
  const isGuarded = isMistake(
    "books_after_the_warehouse",
    "guards_only_the_state_paid",
    "guards_bookings_in_memory",
    "books_at_a_start_too",
  );
  return isGuarded ? "rowid" : "checkout_id";
}

const db = new DatabaseSync("shop.db", { timeout: 30_000 });
db.exec(`PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, state TEXT DEFAULT 'pending', paid_at INTEGER,
    times INTEGER DEFAULT 0, amount_minor INTEGER, seen_at INTEGER);
  CREATE TABLE IF NOT EXISTS attempts (order_id TEXT, n INTEGER, key TEXT, checkout_id TEXT UNIQUE, url TEXT,
    status TEXT DEFAULT 'created', at INTEGER, PRIMARY KEY (order_id, n));
  CREATE TABLE IF NOT EXISTS events (event_id TEXT PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS bookings (rowid INTEGER PRIMARY KEY, order_id TEXT, checkout_id TEXT,
    amount_minor INTEGER, UNIQUE (${uniqueColumn()}))`);
const q = (sql, ...args) => db.prepare(sql).get(...args);
const run = (sql, ...args) => db.prepare(sql).run(...args).changes;

function tx(work) {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

async function api(path, init = {}) {
  const headers = { Authorization: `Bearer ${KEY}`, ...init.headers };
  const response = await fetch(BASE + path, { ...init, headers, signal: AbortSignal.timeout(10_000) });
  return {
    status: response.status,
    wait: response.headers.get("retry-after"),
    body: await response.json(),
  };
}

const ask = (id) => api(`/checkout-sessions/${encodeURIComponent(id)}`).catch(() => undefined);
const load = (orderId) => q("SELECT * FROM orders WHERE order_id = ?", orderId);
const latest = (orderId) => q("SELECT * FROM attempts WHERE order_id = ? ORDER BY n DESC LIMIT 1", orderId);

function save({ order_id: orderId, state, times, amount_minor: amount, seen_at: seenAt }) {
  const update = "UPDATE orders SET state = ?, times = ?, amount_minor = ?, seen_at = ? WHERE order_id = ?";
  run(update, state, times, amount, seenAt, orderId);
}

function isPaid(orderId) {
  if (SAVES_WHOLE_ORDERS) return (load(orderId)?.times ?? 0) > 0;
  return q("SELECT 1 AS one FROM bookings WHERE order_id = ?", orderId) !== undefined;
}

/** Applies what is known of a checkout: a final status never changes, and a success books the order once. */
function settle(data) {
  return tx(() => {
    if (data.amount_minor !== PRICE.amount_minor || data.currency !== PRICE.currency) return undefined;
    if (load(data.order_id) === undefined) return undefined;
    let attempt = q("SELECT * FROM attempts WHERE checkout_id = ?", data.id);
    if (attempt === undefined) {
      const update = "UPDATE attempts SET checkout_id = ? WHERE order_id = ? AND checkout_id IS NULL";
      run(update, data.id, data.order_id);
      attempt = q("SELECT * FROM attempts WHERE checkout_id = ?", data.id);
    }
    if (attempt === undefined || attempt.order_id !== data.order_id || isSettled(attempt, data))
      return undefined;
    if (attempt.status === "pending" && data.status === "created") return undefined;
    if (data.status === "succeeded" && isMistake("books_after_the_warehouse")) return paymentComplete(data);
    run("UPDATE attempts SET status = ? WHERE checkout_id = ?", data.status, data.id);
    if (data.status === "succeeded") book(data);
    return undefined;
  });
}

function isSettled(attempt, { order_id: orderId, status }) {
  if (isMistake("guards_only_the_state_paid") && status === "succeeded")
    return load(orderId).state === "paid";
  if (isMistake("guards_bookings_in_memory") && status === "succeeded") return false;
  return FINAL.has(attempt.status);
}

/** Checkouts whose payment was completed, for a mistake. */
const transients = new Set();

function book({ order_id: orderId, id, amount_minor: amount }) {
  if (isMistake("guards_bookings_in_memory")) {
    if (transients.has(id)) return;
    transients.add(id);
  }
  const order = load(orderId);
  if (SAVES_WHOLE_ORDERS)
    save({ ...order, state: "processing", times: order.times + 1, amount_minor: amount });
  else insertBooking(orderId, id, amount);
  if (isMistake("fails_a_paid_order"))
    run("UPDATE orders SET state = 'processing' WHERE order_id = ?", orderId);
  if (isMistake("guards_only_the_state_paid"))
    run("UPDATE orders SET state = 'paid', paid_at = ? WHERE order_id = ?", Date.now(), orderId);
}

function insertBooking(orderId, id, amount) {
  const insert = "INSERT OR IGNORE INTO bookings (order_id, checkout_id, amount_minor) VALUES (?, ?, ?)";
  run(insert, orderId, id, amount);
}

/** Reserves the stock at the warehouse, and then writes the booking. */
async function paymentComplete({ order_id: orderId, id, status, amount_minor: amount }) {
  await sleep(60);
  run("UPDATE attempts SET status = ? WHERE checkout_id = ?", status, id);
  insertBooking(orderId, id, amount);
}

// Buying

/** A header that sets a cookie, for mistakes. */
function cookieOf(orderId, cart) {
  if (isMistake("takes_the_order_from_a_cookie"))
    return { "Set-Cookie": `wc_order=${encodeURIComponent(orderId)}; Path=/; HttpOnly` };
  if (isMistake("takes_the_key_from_a_cookie")) return { "Set-Cookie": `cart=${cart}; Path=/; HttpOnly` };
  return {};
}

function keyOf(orderId, n, cart) {
  if (isMistake("joins_the_order_and_the_attempt"))
    return `wc_order_${encodeURIComponent(orderId).slice(-110)}${n > 1 ? n : ""}`;
  if (isMistake("takes_the_key_from_a_cookie")) return `wc-${cart}-${n}`;
  return `wc-${Buffer.from(orderId).toString("hex").slice(-90)}-${n}`;
}

async function buy(form, cookies) {
  const orderId = form.get("order_id");
  const cart = /(?:^|; )cart=([0-9a-f-]{36})/.exec(cookies)?.[1] ?? randomUUID();
  const cookie = cookieOf(orderId, cart);
  if (isPaid(orderId) && isMistake("refuses_events_of_a_locked_order"))
    return [303, `/orders/${encodeURIComponent(orderId)}`];
  if (isPaid(orderId)) return [409, "This order is paid."];
  const order = load(orderId);
  const before = latest(orderId);
  if (before?.checkout_id && !FINAL.has(before.status)) {
    const now = await ask(before.checkout_id);
    if (order && isMistake("saves_an_old_order_at_a_purchase")) save({ ...order, seen_at: Date.now() });
    if (now?.status === 200) await settle(now.body.data);
    if (isPaid(orderId)) return [409, "This order is paid."];
  }
  const attempt = tx(() => {
    run("INSERT OR IGNORE INTO orders (order_id) VALUES (?)", orderId);
    const last = latest(orderId);
    if (last !== undefined && !FINAL.has(last.status)) return last;
    const n = (last?.n ?? 0) + 1;
    const insert = "INSERT INTO attempts (order_id, n, at, key) VALUES (?, ?, ?, ?)";
    run(insert, orderId, n, Date.now(), keyOf(orderId, n, cart));
    return latest(orderId);
  });
  if (attempt.url) return [303, attempt.url, cookie];
  return sendCreate(attempt, form.get("payment_method"), cookie);
}

function bodyOf(orderId, method) {
  const body = { order_id: orderId, ...PRICE, description: `Order ${orderId}` };
  if (isMistake("describes_the_time")) body.description += `, sent ${new Date().toISOString()}`;
  if (isMistake("keeps_the_key_of_another_method") && method === "wechat_pay") body.payment_method = method;
  return JSON.stringify(body);
}

async function sendCreate(attempt, method, cookie) {
  const { order_id: orderId, n, key } = attempt;
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
  // The customer can press the button again.
  const tries = isMistake("keeps_the_key_of_another_method") ? 1 : 7;
  for (let i = 0; i < tries; i += 1) {
    const body = bodyOf(orderId, method);
    const answer = await api("/orders", { method: "POST", headers, body }).catch(() => undefined);
    if (answer?.status === 201) {
      const { id, checkout_url: url } = answer.body.data;
      run("UPDATE attempts SET checkout_id = ?, url = ? WHERE order_id = ? AND n = ?", id, url, orderId, n);
      return [303, url, cookie];
    }
    if (answer !== undefined && answer.status !== 429 && answer.status < 500)
      return [502, answer.body.error?.message ?? "refused"];
    if (tries > 1) await sleep(answer?.wait ? 1000 * Number(answer.wait) : 250 * 2 ** i);
  }
  return [503, "Please try again."];
}

// Webhooks and returns

function isGenuine(body, headers) {
  const timestamp = headers["checkout-timestamp"] ?? "";
  const given = headers["checkout-signature"] ?? "";
  if (!/^[1-9]\d{9}$/.test(timestamp) || !/^[0-9a-f]{64}(,[0-9a-f]{64}){0,2}$/.test(given)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const secrets = SECRETS.split(/\s+/).filter((one) => one !== "");
  return secrets.some((secret) => {
    const right = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
    return given.split(",").some((one) => timingSafeEqual(Buffer.from(one), Buffer.from(right)));
  });
}

/** Orders that a return page is processing. */
const locks = new Set();
const LOCKS_RETURNS = isMistake("drops_events_of_a_locked_order", "refuses_events_of_a_locked_order");

async function hook(body, headers) {
  if (!isGenuine(body, headers)) return [400, "no"];
  const event = JSON.parse(body);
  if (!/^(order|checkout_session)\.(created|pending|succeeded|failed|cancelled|expired)$/.test(event.type))
    return [204, ""];
  if (q("SELECT 1 AS one FROM events WHERE event_id = ?", event.event_id)) return [204, ""];
  if (locks.has(event.data.order_id))
    return isMistake("drops_events_of_a_locked_order") ? [200, "already processing"] : [503, "try again"];
  await settle(event.data);
  if (isMistake("fails_a_paid_order")) failOrder(event.data);
  run("INSERT OR IGNORE INTO events VALUES (?)", event.event_id);
  return [204, ""];
}

/** Fails the order of an attempt without success, and releases its stock. */
function failOrder({ order_id: orderId, status, amount_minor: amount, currency }) {
  if (!["failed", "cancelled", "expired"].includes(status)) return;
  if (amount !== PRICE.amount_minor || currency !== PRICE.currency) return;
  run("UPDATE orders SET state = 'failed' WHERE order_id = ?", orderId);
}

async function thanks(query, cookies) {
  const orderId = query.get("order_id");
  const sessionId = query.get("session_id");
  if (!sessionId) return [200, "Thank you. We wait for your payment."];
  if (isMistake("takes_the_order_from_a_cookie")) return thanksWithCookie(orderId, sessionId, cookies);
  if (locks.has(orderId)) return [200, "We are processing your payment."];
  if (LOCKS_RETURNS) locks.add(orderId);
  const answer = await ask(sessionId).finally(() => locks.delete(orderId));
  if (answer?.status !== 200 || answer.body.data.order_id !== orderId)
    return [200, "We wait for your payment."];
  await settle(answer.body.data);
  if (isMistake("saves_an_old_order_in_a_return")) await sendToCrm(orderId);
  return thanksFor(answer.body.data);
}

function thanksFor({ status }) {
  return [200, status === "succeeded" ? "Thank you, your order is paid." : "We wait for your payment."];
}

/** Sends an order once to the customer relations service, and then saves the order. */
async function sendToCrm(orderId) {
  const order = load(orderId);
  if (!order || order.seen_at) return;
  await sleep(1200);
  save({ ...order, seen_at: Date.now() });
}

/** Takes the order from the browser, and the payment from the address. */
async function thanksWithCookie(orderIdOfAddress, sessionId, cookies) {
  const ofBrowser = /(?:^|; )wc_order=([^;]*)/.exec(cookies)?.[1];
  const orderId = ofBrowser ? decodeURIComponent(ofBrowser) : orderIdOfAddress;
  const answer = await ask(sessionId);
  if (answer?.status !== 200) return [200, "We wait for your payment."];
  const { data } = answer.body;
  if (data.amount_minor !== PRICE.amount_minor || data.currency !== PRICE.currency)
    return [200, "We wait for your payment."];
  await settle(data);
  if (data.status === "succeeded" && (ofBrowser || data.order_id === orderId) && latest(orderId))
    insertBooking(orderId, data.id, data.amount_minor);
  return thanksFor(data);
}

// Pages

function view(orderId) {
  const order = load(orderId);
  if (order === undefined) return [404, "{}"];
  const bookings =
    "SELECT count(*) AS times, max(amount_minor) AS amount_minor FROM bookings WHERE order_id = ?";
  const { times, amount_minor: amount } = SAVES_WHOLE_ORDERS ? order : q(bookings, orderId);
  return [200, JSON.stringify({ status: statusOf(order, times), times, amount_minor: amount })];
}

function statusOf({ order_id: orderId, state }, times) {
  const open = latest(orderId)?.status ?? "created";
  if (isMistake("fails_a_paid_order")) {
    if (state === "processing") return "paid";
    return state === "failed" ? "failed" : open;
  }
  if (isMistake("guards_only_the_state_paid")) return state === "pending" ? open : "paid";
  return times > 0 ? "paid" : open;
}

async function respond(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const url = new URL(request.url, "http://shop");
  const cookies = request.headers.cookie ?? "";
  if (request.method === "POST" && url.pathname === "/buy")
    return buy(new URLSearchParams(body.toString()), cookies);
  if (request.method === "POST" && url.pathname === "/hooks") return hook(body, request.headers);
  if (url.pathname === "/thanks") return thanks(url.searchParams, cookies);
  if (url.pathname.startsWith("/orders/")) return view(decodeURIComponent(url.pathname.slice(8)));
  return [404, ""];
}

// Timers and starts, for mistakes

/** Asks about the open payments of the last two minutes, and fails those that the API does not show. */
async function askAboutOpenPayments() {
  const open = db.prepare(`SELECT checkout_id FROM attempts WHERE checkout_id IS NOT NULL
    AND status IN ('created', 'pending') AND at BETWEEN ? AND ? LIMIT 30`);
  for (const { checkout_id: id } of open.all(Date.now() - 120_000, Date.now() - 1500)) {
    const answered = await ask(id);
    const fail =
      "UPDATE attempts SET status = 'failed' WHERE checkout_id = ? AND status IN ('created', 'pending')";
    if (answered?.status === 200) await settle(answered.body.data);
    else run(fail, id);
  }
}

/** Books payments whose webhook may have been lost. */
function bookMissedPayments() {
  const open = db.prepare(`SELECT * FROM attempts WHERE checkout_id IS NOT NULL
    AND status IN ('created', 'pending') ORDER BY rowid DESC LIMIT 20`);
  for (const { checkout_id: id, order_id: orderId } of open.all())
    void ask(id).then((answered) => {
      if (answered?.status !== 200 || answered.body.data.status !== "succeeded") return;
      run("UPDATE attempts SET status = 'succeeded' WHERE checkout_id = ?", id);
      insertBooking(orderId, id, answered.body.data.amount_minor);
    });
}

/** Moves orders from paid to preparing after 8 s. */
function prepareOrders() {
  const update = "UPDATE orders SET state = 'preparing' WHERE state = 'paid' AND paid_at < ?";
  run(update, Date.now() - 8000);
}

if (isMistake("fails_payments_that_it_cannot_ask_about"))
  setInterval(() => void askAboutOpenPayments(), 2000);
if (isMistake("books_at_a_start_too")) bookMissedPayments();
if (isMistake("guards_only_the_state_paid")) setInterval(prepareOrders, 1000);
const server = http.createServer((request, response) => {
  void respond(request)
    .catch((error) => {
      console.error(error);
      return [500, "error"];
    })
    .then(([status, text, more]) => {
      response.writeHead(
        status,
        status === 303 ? { Location: text, ...more } : { "Content-Type": "text/plain", ...more },
      );
      response.end(status === 204 || status === 303 ? undefined : text);
    });
});
server.listen(Number(PORT), "127.0.0.1");
