// A shop in one process, with a journal on disk. An event is only a hint: the shop asks the API about its checkout.
// `node journal.mjs` serves it on PORT. MISTAKE names a mistake or a right variant of test/shops/unseen.ts.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const { CHECKOUT_BASE_URL, CHECKOUT_API_KEY, CHECKOUT_SIGNING_SECRET, MISTAKE, PORT } = process.env;
const ITEM = { amount_minor: 4200, currency: "EUR", payment_method: "wechat_pay" };
const ENDS = new Set(["failed", "expired", "cancelled"]);
const CHECKOUT_ID = /^[0-9a-f-]{36}$/;
const isMistake = (...names) => names.includes(MISTAKE);

// The state of the shop, which is the sum of its journal.

/** By order_id: attempts `{ key, n, id, url }`, the status of each checkout, and bookings `{ id, amount }`. */
const orders = new Map();
/** Checkouts about which the API must be asked, by id; `hints` counts the events that asked for it. */
const jobs = new Map();
const seenEvents = new Set();

function apply(entry) {
  const order = orders.get(entry.order);
  if (entry.type === "order") orders.set(entry.order, { attempts: [], statuses: new Map(), bookings: [] });
  if (entry.type === "attempt") order.attempts.push({ key: entry.key, n: entry.n });
  if (entry.type === "answer") {
    const attempt = order.attempts.find(({ key }) => key === entry.key);
    Object.assign(attempt, { id: entry.id, url: entry.url });
  }
  if (entry.type === "status") order.statuses.set(entry.id, entry.status);
  if (entry.type === "booking") order.bookings.push({ id: entry.id, amount: entry.amount });
  if (entry.type === "job") {
    const hints = (jobs.get(entry.id)?.hints ?? 0) + 1;
    jobs.set(entry.id, { id: entry.id, nextAt: 0, attempts: 0, hints });
  }
  if (entry.type === "done") jobs.delete(entry.id);
  if (entry.type === "seen") seenEvents.add(entry.id);
}

/** Applies the journal of earlier processes; a kill may have cut a line. */
function readJournal() {
  for (const line of readFileSync("journal", "utf8").split("\n").filter(Boolean)) {
    let entry;
    try {
      entry = JSON.parse(line);
    } catch {
      continue;
    }
    apply(entry);
  }
}

if (existsSync("journal")) readJournal();
const journal = openSync("journal", "a");
// Ends a line that was cut.
writeSync(journal, "\n");

function log(entry) {
  writeSync(journal, `${JSON.stringify(entry)}\n`);
  fsyncSync(journal);
  apply(entry);
}

// The API

/** The status (0: no answer), the data of a success, and the header Retry-After. */
async function callApi(method, path, { body, key } = {}) {
  const headers = { Authorization: `Bearer ${CHECKOUT_API_KEY}`, "Content-Type": "application/json" };
  if (key !== undefined) headers["Idempotency-Key"] = key;
  const init = { method, body, headers, signal: AbortSignal.timeout(8000) };
  const response = await fetch(CHECKOUT_BASE_URL + path, init).catch(() => undefined);
  const answer = await response?.json().catch(() => undefined);
  if (response === undefined || (response.ok && answer?.data === undefined)) return { status: 0 };
  return { status: response.status, data: answer?.data, wait: response.headers.get("retry-after") };
}

/** Answers of the last 30 s, for a mistake. */
const cache = new Map();

async function ask(id) {
  const cached = cache.get(id);
  if (cached !== undefined && cached.at > Date.now() - 30_000) return cached.answer;
  const answer = await callApi("GET", `/checkout-sessions/${encodeURIComponent(id)}`);
  if (isMistake("caches_answers") && answer.status === 200) cache.set(id, { at: Date.now(), answer });
  return answer;
}

/** Asks about a checkout; returns whether nothing is left to ask. */
async function refresh(id) {
  const { status, data } = await ask(id);
  if (status === 200) learn(data);
  return [200, 400, 404].includes(status);
}

function learn({ id, order_id: orderId, status, amount_minor: amount, currency }) {
  const order = orders.get(orderId);
  if (order === undefined || amount !== ITEM.amount_minor || currency !== ITEM.currency) return;
  const before = order.statuses.get(id);
  const isFinal = before === "succeeded" || ENDS.has(before);
  const isOlder = before === "pending" && status === "created";
  if (before !== status && !isFinal && !isOlder) log({ type: "status", order: orderId, id, status });
  if (status === "succeeded" && !order.bookings.some((booking) => booking.id === id))
    log({ type: "booking", order: orderId, id, amount });
}

// Jobs

const running = new Set();

async function runJob(job) {
  const { id, hints } = job;
  running.add(id);
  const isAnswered = await refresh(id);
  running.delete(id);
  if (isAnswered) {
    // An event that arrived during the question needs another question.
    if (jobs.get(id)?.hints === hints) endJob(id);
    return;
  }
  job.attempts += 1;
  job.nextAt = Date.now() + (isMistake("gives_up_after_six_questions") ? 1000 : 400);
  if (isMistake("gives_up_after_six_questions") && job.attempts >= 6) endJob(id);
}

function endJob(id) {
  const entry = { type: "done", id };
  if (isMistake("keeps_jobs_in_memory")) apply(entry);
  else log(entry);
}

setInterval(() => {
  const due = [...jobs.values()].filter(({ id, nextAt }) => !running.has(id) && nextAt <= Date.now());
  for (const job of due) if (running.size <= 20) void runJob(job);
}, 30);

// Buying

/** The last purchase of each order: the next purchase waits for its end. */
const purchases = new Map();

function buyInTurn(orderId) {
  const buyNext = () => buy(orderId);
  const purchase = (purchases.get(orderId) ?? Promise.resolve()).then(buyNext, buyNext);
  purchases.set(orderId, purchase);
  return purchase;
}

/** Numbers of the last attempts, for a mistake. */
const counts = new Map();

/** Returns 303 and the address of the payment page, or another status and its text. */
async function buy(orderId) {
  if (!orders.has(orderId)) log({ type: "order", order: orderId });
  const order = orders.get(orderId);
  if (order.bookings.length > 0) return [409, "already paid"];
  let attempt = order.attempts.at(-1);
  const hasEnded = () => ENDS.has(order.statuses.get(attempt.id));
  if (attempt?.id !== undefined && !hasEnded()) {
    await refresh(attempt.id);
    if (order.bookings.length > 0) return [409, "already paid"];
    if (!hasEnded()) return [303, attempt.url];
  }
  if (attempt === undefined || (attempt.id !== undefined && hasEnded())) {
    counts.set(orderId, (counts.get(orderId) ?? 0) + 1);
    const n = isMistake("counts_attempts_in_memory") ? counts.get(orderId) : (attempt?.n ?? 0) + 1;
    const key = `shop-${createHash("sha256").update(orderId).digest("hex").slice(0, 40)}-${n}`;
    log({ type: "attempt", order: orderId, n, key });
    attempt = order.attempts.at(-1);
  }
  return sendCreate(orderId, attempt.key);
}

async function sendCreate(orderId, key) {
  const body = JSON.stringify({ order_id: orderId, ...ITEM });
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const { status, data, wait } = await callApi("POST", "/orders", { body, key });
    if (status === 201) {
      log({ type: "answer", order: orderId, key, id: data.id, url: data.checkout_url });
      return [303, data.checkout_url];
    }
    if (status !== 0 && status !== 408 && status !== 429 && status < 500) return [502, `refused: ${status}`];
    await sleep(wait ? 1000 * Number(wait) : 200 * 2 ** attempt);
  }
  return [504, "unknown"];
}

// Webhooks and returns

function isGenuine(rawHeaders, body) {
  const valuesOf = (name) =>
    rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1].toLowerCase() === name);
  const [timestamps, signatures] = [valuesOf("checkout-timestamp"), valuesOf("checkout-signature")];
  if (timestamps.length !== 1 || !/^[1-9]\d{9}$/.test(timestamps[0])) return false;
  if (signatures.length !== 1 || !/^[0-9a-f]{64}(,[0-9a-f]{64}){0,2}$/.test(signatures[0])) return false;
  if (!CHECKOUT_SIGNING_SECRET) return false;
  if (Math.abs(Math.floor(Date.now() / 1000) - Number(timestamps[0])) > 300) return false;
  const hmac = createHmac("sha256", CHECKOUT_SIGNING_SECRET).update(`${timestamps[0]}.`).update(body);
  const expected = Buffer.from(hmac.digest("hex"));
  return signatures[0].split(",").some((given) => timingSafeEqual(Buffer.from(given), expected));
}

/** Orders and events that are being handled, for mistakes. */
const locked = new Set();
const loadedAt = Date.now() + 250;

/** Takes a genuine event; returns the status of the answer. */
async function receive({ event_id: eventId, type, data }) {
  const isOurs = type !== "webhook.test" && orders.has(data.order_id);
  if (isMistake("remembers_before_asking")) {
    if (seenEvents.has(eventId)) return 200;
    log({ type: "seen", id: eventId });
    return !isOurs || (await refresh(data.id)) ? 204 : 500;
  }
  const skipsCreated = isMistake("asks_at_once_except_created", "skips_events_in_progress_except_created");
  if (skipsCreated && data?.status === "created") return 204;
  if (isMistake("asks_at_once", "asks_at_once_except_created"))
    return !isOurs || (await refresh(data.id)) ? 204 : 503;
  if (isMistake("skips_events_in_progress", "skips_events_in_progress_except_created") && isOurs)
    return (await refreshLocked(eventId, data.id)) ?? 503;
  if (isMistake("skips_events_of_a_locked_order", "skips_events_of_a_locked_order_with_jobs") && isOurs) {
    const status = await refreshLocked(data.order_id, data.id);
    if (status !== undefined || MISTAKE === "skips_events_of_a_locked_order") return status ?? 500;
    log({ type: "job", id: data.id });
    return 204;
  }
  if (isMistake("locks_the_order_in_a_return") && locked.has(data?.order_id)) return 200;
  if (isMistake("drops_jobs_above_eight") && jobs.size >= 8) return 200;
  if (isMistake("ignores_events_while_loading") && Date.now() < loadedAt) return 200;
  if (!isOurs) return 204;
  const job = { type: "job", id: data.id };
  if (isMistake("keeps_jobs_in_memory")) apply(job);
  else log(job);
  return 204;
}

/** Asks unless the lock is held, which gets a 2xx; undefined if the API failed. */
async function refreshLocked(lock, id) {
  if (locked.has(lock)) return 200;
  locked.add(lock);
  const isAnswered = await refresh(id);
  locked.delete(lock);
  return isAnswered ? 204 : undefined;
}

async function takeReturn(orderId, sessionId) {
  if (isMistake("books_in_the_return_too")) return bookReturn(orderId, sessionId);
  if (!isMistake("locks_the_order_in_a_return")) return refresh(sessionId);
  locked.add(orderId);
  await refresh(sessionId);
  return locked.delete(orderId);
}

async function bookReturn(orderId, sessionId) {
  const order = orders.get(orderId ?? "");
  if (order === undefined || order.bookings.length > 0) return;
  // The webhook may book during the question.
  const { status, data } = await ask(sessionId);
  const isPaid = status === 200 && data.status === "succeeded" && data.amount_minor === ITEM.amount_minor;
  if (isPaid && data.order_id === orderId)
    log({ type: "booking", order: orderId, id: sessionId, amount: data.amount_minor });
}

// Pages

/** The status, the text and the headers of the answer to a request. */
async function respond(request) {
  const body = Buffer.concat(await request.toArray());
  const { pathname, searchParams } = new URL(request.url, "http://shop");
  if (request.method === "POST" && pathname === "/hooks") {
    const status = isGenuine(request.rawHeaders, body) ? await receive(JSON.parse(body)) : 400;
    return [status, ""];
  }
  if (request.method === "POST" && pathname === "/buy") {
    const [status, text] = await buyInTurn(new URLSearchParams(body.toString()).get("order_id"));
    return status === 303 ? [303, "", { Location: text }] : [status, text];
  }
  if (pathname === "/thanks") {
    const sessionId = searchParams.get("session_id");
    if (sessionId !== null && CHECKOUT_ID.test(sessionId))
      await takeReturn(searchParams.get("order_id"), sessionId);
    return [200, "Thank you."];
  }
  const order = orders.get(decodeURIComponent(pathname.replace("/orders/", "")));
  if (order === undefined) return [404, ""];
  const [booking] = order.bookings;
  const [status, amount] = booking === undefined ? ["open", null] : ["paid", booking.amount];
  const view = JSON.stringify({ status, times: order.bookings.length, amount_minor: amount });
  return [200, view, { "Content-Type": "application/json" }];
}

const server = createServer((request, response) => {
  void respond(request)
    .catch((error) => [500, String(error)])
    .then(([status, text, headers]) => response.writeHead(status, headers).end(text));
});

/** Waits up to 1.5 s for the jobs, and replaces the journal by a shorter one, without the jobs that are left. */
async function stop() {
  server.close();
  for (const end = Date.now() + 1500; jobs.size > 0 && Date.now() < end;) await sleep(20);
  const entries = [];
  for (const [order, { attempts, statuses, bookings }] of orders) {
    entries.push({ type: "order", order });
    for (const { key, n, id, url } of attempts) {
      entries.push({ type: "attempt", order, key, n });
      if (id !== undefined) entries.push({ type: "answer", order, key, id, url });
    }
    for (const [id, status] of statuses) entries.push({ type: "status", order, id, status });
    for (const { id, amount } of bookings) entries.push({ type: "booking", order, id, amount });
  }
  writeFileSync("journal.new", entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  renameSync("journal.new", "journal");
  process.exit(0);
}

if (isMistake("drops_jobs_at_a_stop")) process.on("SIGTERM", () => void stop());
server.listen(Number(PORT), "127.0.0.1");
