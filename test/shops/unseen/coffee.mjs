// A coffee shop: a webhook or a return only says where to look, and the API says what happened.
// `node coffee.mjs` serves it on PORT. MISTAKE names a mistake or a right variant of test/shops/unseen.ts.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import http from "node:http";
import { DatabaseSync } from "node:sqlite";

const { CHECKOUT_BASE_URL: BASE, CHECKOUT_API_KEY: KEY, CHECKOUT_SIGNING_SECRET: SECRET } = process.env;
const { MISTAKE, PORT = "3000" } = process.env;
const PRICE = { amount_minor: 2450, currency: "EUR" };
const isMistake = (...names) => names.includes(MISTAKE);
const ENDED = ["failed", "cancelled", "expired"];
const TRIES_OF_MISTAKES = { ends_an_attempt_after_three_tries: 3, ends_an_attempt_after_four_tries: 4 };
const endsAttempts = MISTAKE in TRIES_OF_MISTAKES;
if (endsAttempts) ENDED.push("error");
const CLAIMS = isMistake("skips_events_of_a_claimed_order");
const SHOWS_STATUS = isMistake("ends_a_paid_order", "ends_a_paid_order_in_a_return");

const db = new DatabaseSync("kaffee.db", { timeout: 20_000 });
db.exec(`PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, processing INTEGER DEFAULT 0, status TEXT DEFAULT 'open');
  CREATE TABLE IF NOT EXISTS attempts (order_id TEXT, n INTEGER, idem TEXT, session TEXT, url TEXT,
    status TEXT DEFAULT 'new', PRIMARY KEY (order_id, n));
  CREATE TABLE IF NOT EXISTS webhook_events (id TEXT PRIMARY KEY, state TEXT);
  CREATE TABLE IF NOT EXISTS ledger (n INTEGER PRIMARY KEY, session TEXT, order_id TEXT, amount INTEGER,
    UNIQUE (${isMistake("books_at_a_start_too") ? "n" : "session"}))`);
const one = (sql, ...args) => db.prepare(sql).get(...args);
const run = (sql, ...args) => db.prepare(sql).run(...args);
const wait = (ms) =>
  new Promise((done) => {
    setTimeout(done, ms);
  });

async function api(method, path, body, idem) {
  const headers = { authorization: `Bearer ${KEY}` };
  if (body) headers["content-type"] = "application/json";
  if (idem) headers["idempotency-key"] = idem;
  const init = { method, headers, body, signal: AbortSignal.timeout(8000) };
  const res = await fetch(BASE + path, init);
  return {
    status: res.status,
    retry: Number(res.headers.get("retry-after") ?? 0),
    json: await parse(res),
  };
}

async function parse(res) {
  if (!isMistake("takes_an_empty_answer_for_nothing")) return res.json();
  const text = await res.text();
  return text ? JSON.parse(text) : {};
}

/** Sessions of the last 10 s, for a mistake. */
const cached = new Map();
/** Failures in a row, and the end of the pause after five of them, for a right variant. */
const breaker = { failures: 0, until: 0 };

/** The session as the service sees it; undefined: it does not exist; throws: not known now. */
async function fetchSession(id) {
  const known = cached.get(id);
  if (known && Date.now() - known.at < 10_000) return known.data;
  if (Date.now() < breaker.until) throw new Error("circuit open");
  for (let i = 0; i < 2; i += 1) {
    let answer;
    try {
      answer = await api("GET", `/checkout-sessions/${encodeURIComponent(id)}`);
    } catch (error) {
      if (isMistake("takes_no_answer_for_nothing") && !(error instanceof SyntaxError)) return undefined;
    }
    if (isMistake("pauses_after_five_failures")) countFailure(answer?.status);
    if (answer?.status === 200) {
      const { data } = answer.json;
      if (isMistake("caches_sessions")) cached.set(id, { at: Date.now(), data });
      return data;
    }
    if (answer?.status === 404 || answer?.status === 400) return undefined;
    await wait(150);
  }
  throw new Error("service not available");
}

function countFailure(status = 0) {
  if (status > 0 && status < 500 && status !== 429) breaker.failures = 0;
  else if ((breaker.failures += 1) >= 5) Object.assign(breaker, { failures: 0, until: Date.now() + 8000 });
}

/** Writes what the service said about a session. */
function apply(session, eventId) {
  if (session.amount_minor !== PRICE.amount_minor || session.currency !== PRICE.currency) return;
  if (isMistake("shares_a_transaction")) {
    write(session, eventId);
    return;
  }
  db.exec("BEGIN IMMEDIATE");
  try {
    write(session, eventId);
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

function write(session, eventId) {
  const { id, order_id: order, status } = session;
  if (!one("SELECT 1 FROM orders WHERE id = ?", order)) return;
  if (!one("SELECT 1 FROM attempts WHERE session = ?", id))
    run("UPDATE attempts SET session = ? WHERE order_id = ? AND session IS NULL", id, order);
  const final = endsAttempts
    ? "'succeeded','failed','cancelled','expired','error'"
    : "'succeeded','failed','cancelled','expired'";
  run(`UPDATE attempts SET status = ? WHERE session = ? AND status NOT IN (${final})`, status, id);
  if (isMistake("ends_a_paid_order")) run("UPDATE orders SET status = ? WHERE id = ?", status, order);
  if (status === "succeeded" && isMistake("ends_a_paid_order_in_a_return"))
    run("UPDATE orders SET status = 'succeeded' WHERE id = ?", order);
  if (isMistake("books_at_a_start_too") && !isNewEvent(eventId)) return;
  if (status === "succeeded") insertBooking(id, order, session.amount_minor);
}

function isNewEvent(eventId) {
  return eventId && run("INSERT OR IGNORE INTO webhook_events VALUES (?, 'done')", eventId).changes === 1;
}

function insertBooking(id, order, amount) {
  run("INSERT OR IGNORE INTO ledger (session, order_id, amount) VALUES (?, ?, ?)", id, order, amount);
}

// Buying

const latest = (order) => one("SELECT * FROM attempts WHERE order_id = ? ORDER BY n DESC LIMIT 1", order);

function nextAttempt(order) {
  const last = latest(order);
  if (last && !ENDED.includes(last.status)) return last;
  const n = (last?.n ?? 0) + 1;
  run("INSERT INTO attempts (order_id, n, idem) VALUES (?, ?, ?)", order, n, randomUUID());
  return latest(order);
}

async function buy(order) {
  run("INSERT OR IGNORE INTO orders (id) VALUES (?)", order);
  const open = latest(order);
  if (open?.session && !ENDED.includes(open.status)) {
    const now = await fetchSession(open.session).catch(() => undefined);
    if (now) apply(now);
    else if (isMistake("ends_an_attempt_that_it_cannot_read"))
      run("UPDATE attempts SET status = 'expired' WHERE order_id = ? AND n = ?", order, open.n);
  }
  const attempt = nextAttempt(order);
  if (attempt.status === "succeeded") return { paid: true };
  const body = JSON.stringify({ order_id: order, ...PRICE, payment_method: "alipay_plus" });
  const tries = TRIES_OF_MISTAKES[MISTAKE] ?? 7;
  for (let i = 0; i < tries; i += 1) {
    const answer = await api("POST", "/checkout-sessions", body, attempt.idem).catch(() => undefined);
    if (answer?.status === 201 && answer.json.data) {
      const { id, checkout_url: url } = answer.json.data;
      run("UPDATE attempts SET session = ?, url = ? WHERE order_id = ? AND n = ?", id, url, order, attempt.n);
      return { url };
    }
    if (answer && answer.status < 500 && ![408, 429].includes(answer.status))
      throw new Error(answer.json.error?.code);
    await wait(Math.max(200 * 2 ** i, 1000 * (answer?.retry ?? 0)));
  }
  if (endsAttempts)
    run("UPDATE attempts SET status = 'error' WHERE order_id = ? AND n = ?", order, attempt.n);
  throw new Error("the service does not answer");
}

// Webhooks and returns

function genuine(raw, h) {
  const stamp = h["checkout-timestamp"] ?? "";
  const given = h["checkout-signature"] ?? "";
  if (!/^[1-9][0-9]{9}$/.test(stamp) || !/^[0-9a-f]{64}(,[0-9a-f]{64}){0,2}$/.test(given)) return false;
  if (Math.abs(Date.now() / 1000 - Number(stamp)) > 300) return false;
  const mine = Buffer.from(createHmac("sha256", SECRET).update(`${stamp}.`).update(raw).digest("hex"));
  const signatures = given.split(",");
  const compared = isMistake("compares_the_first_signature") ? signatures.slice(0, 1) : signatures;
  return compared.some((s) => timingSafeEqual(Buffer.from(s), mine));
}

/** Only the webhook or the return may work on an order, for a mistake. */
const claim = (order) =>
  run("UPDATE orders SET processing = 1 WHERE id = ? AND processing = 0", order).changes === 1;
const release = (order) => run("UPDATE orders SET processing = 0 WHERE id = ?", order);
if (CLAIMS) run("UPDATE orders SET processing = 0");

function isIgnored(type) {
  if (isMistake("caches_sessions")) return !/\.(succeeded|failed|cancelled|expired)$/.test(type);
  if (!isMistake("books_at_a_start_too")) return false;
  return !/^(order|checkout_session)\.(created|pending|succeeded|failed|cancelled|expired)$/.test(type);
}

async function hook(raw, headers) {
  if (!genuine(raw, headers)) return 400;
  const event = JSON.parse(raw);
  if (!event.data?.id || !one("SELECT 1 FROM orders WHERE id = ?", event.data.order_id)) return 200;
  if (isIgnored(event.type)) return 200;
  if (isMistake("marks_events_before_the_work")) {
    const insert = "INSERT OR IGNORE INTO webhook_events VALUES (?, 'received')";
    if (run(insert, event.event_id).changes === 0) return 200;
  }
  const done = one("SELECT 1 FROM webhook_events WHERE id = ?", event.event_id);
  if (done && !isMistake("marks_events_before_the_work")) return 200;
  if (isMistake("shares_a_transaction")) return hookInTransaction(event);
  if (CLAIMS && !claim(event.data.order_id)) return 200;
  try {
    const session = await fetchSession(event.data.id);
    if (session) apply(isMistake("books_at_a_start_too") ? atEvent(session, event) : session, event.event_id);
  } catch {
    if (isMistake("marks_events_before_the_work"))
      run("DELETE FROM webhook_events WHERE id = ?", event.event_id);
    return 503;
  } finally {
    if (CLAIMS) release(event.data.order_id);
  }
  if (!isMistake("books_at_a_start_too"))
    run("INSERT OR REPLACE INTO webhook_events VALUES (?, 'done')", event.event_id);
  return 200;
}

/** An event that tells less than the API does: the rest is applied when the next event comes. */
const atEvent = (session, event) => ({ ...session, status: event.data.status });

/** Keeps the transaction of the only connection open during the question. */
async function hookInTransaction(event) {
  const first = !db.isTransaction;
  if (first) db.exec("BEGIN");
  try {
    const session = await fetchSession(event.data.id);
    if (session) apply(session);
    run("INSERT OR IGNORE INTO webhook_events VALUES (?, 'done')", event.event_id);
    if (first) db.exec("COMMIT");
    return 200;
  } catch {
    if (first) db.exec("ROLLBACK");
    return 503;
  }
}

async function thanks(query) {
  const order = query.get("order_id") ?? "";
  const id = query.get("session_id") ?? "";
  if (!one("SELECT 1 FROM orders WHERE id = ?", order)) return "Unknown order.";
  if (CLAIMS && !claim(order)) return "We are working on your order.";
  const session = await fetchSession(id)
    .catch(() => undefined)
    .finally(() => {
      if (CLAIMS) release(order);
    });
  if (session?.order_id !== order) return "We will write to you when your payment has arrived.";
  if (!isMistake("books_at_a_start_too")) apply(session);
  if (isMistake("ends_a_paid_order_in_a_return") && ENDED.includes(session.status))
    run("UPDATE orders SET status = ? WHERE id = ?", session.status, order);
  return session.status === "succeeded" ? "Thank you, it is paid." : "We wait for your payment.";
}

/** Books payments that were made while the shop was down, for a mistake. */
async function reconcile() {
  const open = `SELECT session FROM attempts WHERE session IS NOT NULL
    AND status IN ('new','created','pending')`;
  for (const { session: id } of db.prepare(open).all()) {
    const session = await fetchSession(id).catch(() => undefined);
    if (session?.status !== "succeeded" || one("SELECT 1 FROM ledger WHERE session = ?", id)) continue;
    run("UPDATE attempts SET status = 'succeeded' WHERE session = ?", id);
    insertBooking(id, session.order_id, session.amount_minor);
  }
}

// Pages

function view(order) {
  if (!one("SELECT 1 FROM orders WHERE id = ?", order)) return undefined;
  const bookings = "SELECT count(*) AS times, max(amount) AS amount FROM ledger WHERE order_id = ?";
  const { times, amount } = one(bookings, order);
  const { status } = one("SELECT status FROM orders WHERE id = ?", order);
  const isPaid = SHOWS_STATUS ? status === "succeeded" : times > 0;
  return { paid: isPaid, times, amount_minor: amount };
}

async function read(req) {
  const parts = [];
  for await (const p of req) parts.push(p);
  return Buffer.concat(parts);
}

async function respond(req, send) {
  const url = new URL(req.url, "http://shop");
  const raw = await read(req);
  if (req.method === "POST" && url.pathname === "/hooks") return send(await hook(raw, req.headers));
  if (req.method === "POST" && url.pathname === "/buy") {
    const order = new URLSearchParams(raw.toString()).get("order_id");
    if (!order) return send(400, "order_id");
    const done = await buy(order);
    return done.paid ? send(409, "already paid") : send(303, "", { location: done.url });
  }
  if (url.pathname === "/thanks") return send(200, await thanks(url.searchParams));
  if (url.pathname.startsWith("/order/")) {
    const v = view(decodeURIComponent(url.pathname.slice(7)));
    return v ? send(200, JSON.stringify(v), { "content-type": "application/json" }) : send(404);
  }
  return send(404);
}

if (isMistake("books_at_a_start_too")) await reconcile();
const server = http.createServer((req, res) => {
  const send = (code, body = "", headers = {}) => {
    res.writeHead(code, headers);
    res.end(body);
  };
  void respond(req, send).catch((error) => {
    console.error(error.message);
    send(502, "Please try again.");
  });
});
server.listen(Number(PORT), "127.0.0.1");
