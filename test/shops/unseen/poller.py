"""A shop with two processes: only the poller books. An event or a return puts its checkout on the poller's list.

`python3 poller.py` serves it on PORT. MISTAKE names a mistake of test/shops/unseen.ts.
"""

import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

MISTAKE = os.environ.get("MISTAKE", "")
BASE_URL, API_KEY = os.environ["CHECKOUT_BASE_URL"], os.environ["CHECKOUT_API_KEY"]
SECRETS = os.environ["CHECKOUT_SIGNING_SECRET"].split()
ITEM = {"amount_minor": 990, "currency": "EUR", "payment_method": "alipay_plus"}
ENDS = ("failed", "expired", "cancelled")


def connect() -> sqlite3.Connection:
    return sqlite3.connect("poller.db", timeout=30, isolation_level=None)


def query(sql: str, *values: object) -> list:
    db = connect()
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def create_tables() -> None:
    db = connect()
    db.executescript("""
        PRAGMA journal_mode = WAL;
        CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, status TEXT DEFAULT 'open');
        CREATE TABLE IF NOT EXISTS attempts
            (n INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, order_id TEXT, id TEXT, url TEXT);
        CREATE TABLE IF NOT EXISTS polls (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, order_id TEXT,
            status TEXT DEFAULT 'created', next REAL DEFAULT 0, listed_at REAL, hint_at REAL);
        CREATE TABLE IF NOT EXISTS bookings (id TEXT UNIQUE, order_id TEXT, amount_minor INTEGER);
    """)
    db.close()


def call_api(method: str, path: str, body: bytes | None = None, key: str | None = None, timeout: float = 8) -> tuple:
    """Returns the status (0: no answer), the data of a success, and the header Retry-After."""
    headers = {"Authorization": "Bearer " + API_KEY, "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    request = urllib.request.Request(BASE_URL + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.load(answer)["data"], None
    except urllib.error.HTTPError as error:
        return error.code, None, error.headers.get("Retry-After")
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return 0, None, None


def ask(session_id: str, timeout: float = 8) -> tuple:
    """The status of the API's answer, and the checkout."""
    return call_api("GET", "/checkout-sessions/" + urllib.parse.quote(session_id, safe=""), timeout=timeout)[:2]


def watch(checkout_id: str, order_id: str) -> None:
    """Puts a checkout on the poller's list, or asks the poller to hurry."""
    now = time.time()
    insert = """INSERT INTO polls (id, order_id, listed_at, hint_at) VALUES (?, ?, ?, ?) ON CONFLICT (id)
        DO UPDATE SET next = 0, hint_at = excluded.hint_at WHERE status IN ('created', 'pending')"""
    query(insert, checkout_id, order_id, now, now)


# Buying

LOCK = threading.Lock()
order_locks: dict = {}


def buy(order_id: str) -> tuple:
    """Returns 303 and the address of the payment page, or another status and its text."""
    with LOCK:
        lock = order_locks.setdefault(order_id, threading.Lock())
    with lock:
        query("INSERT OR IGNORE INTO orders (order_id) VALUES (?)", order_id)
        if query("SELECT 1 FROM bookings WHERE order_id = ?", order_id):
            return 409, "paid"
        attempts = query("SELECT key, id, url FROM attempts WHERE order_id = ? ORDER BY n DESC", order_id)
        # An attempt without a checkout had no answer: its create is sent again with the same key.
        key, checkout_id, url = attempts[0] if attempts else (None, None, None)
        if checkout_id:
            status, checkout = ask(checkout_id, timeout=4)
            if status == 200 and checkout["status"] == "succeeded":
                watch(checkout_id, order_id)
                return 409, "paid"
            if status != 200 or checkout["status"] not in ENDS:
                return 303, url
        if not attempts or checkout_id:
            key = f"shop-{hashlib.sha256(order_id.encode()).hexdigest()[:40]}-{len(attempts) + 1}"
            query("INSERT INTO attempts (key, order_id) VALUES (?, ?)", key, order_id)
        return send_create(order_id, key)


def send_create(order_id: str, key: str) -> tuple:
    body = json.dumps({"order_id": order_id, **ITEM}).encode()
    for attempt in range(8):
        status, checkout, wait = call_api("POST", "/orders", body, key)
        if status == 201:
            checkout_id, url = checkout["id"], checkout["checkout_url"]
            query("UPDATE attempts SET id = ?, url = ? WHERE key = ?", checkout_id, url, key)
            watch(checkout_id, order_id)
            return 303, url
        if status and status not in (408, 429) and status < 500:
            return 502, "refused"
        time.sleep(float(wait) if wait else 0.2 * 2**attempt)
    return 504, "unknown"


# The poller


def poll(checkout_id: str, order_id: str, listed_at: float, hint_at: float) -> None:
    status, checkout = ask(checkout_id)
    is_refused = status == 404 or (MISTAKE == "gives_up_after_a_refusal" and 400 <= status < 500)
    if is_refused or (status == 200 and not is_ours(checkout, order_id)):
        query("UPDATE polls SET status = 'gone' WHERE id = ?", checkout_id)
        return
    now = time.time()
    if status != 200:
        query("UPDATE polls SET next = ? WHERE id = ?", now + 0.5, checkout_id)
        return
    # Soon while the checkout or its hint is new; at once if a hint arrived during the question.
    pause = 0.3 if now - max(listed_at, hint_at) < 3 else 2
    update = "UPDATE polls SET status = ?, next = CASE WHEN hint_at > ? THEN 0 ELSE ? END WHERE id = ?"
    db = connect()
    db.execute("BEGIN IMMEDIATE")
    db.execute(update, (checkout["status"], hint_at, now + pause, checkout_id))
    if checkout["status"] == "succeeded":
        row = (checkout_id, order_id, checkout["amount_minor"])
        db.execute("INSERT OR IGNORE INTO bookings VALUES (?, ?, ?)", row)
        db.execute("UPDATE orders SET status = 'paid' WHERE order_id = ?", (order_id,))
    db.execute("COMMIT")
    db.close()


def is_ours(checkout: dict, order_id: str) -> bool:
    ours = {"order_id": order_id, "amount_minor": ITEM["amount_minor"], "currency": ITEM["currency"]}
    return all(checkout[field] == value for field, value in ours.items())


def due_polls() -> list:
    now, polls = time.time(), "SELECT * FROM polls WHERE status IN ('created', 'pending')"
    order = "ORDER BY hint_at DESC LIMIT 100"
    if MISTAKE == "asks_about_the_newest_fifteen":
        polls, order = polls + " ORDER BY n DESC LIMIT 15", ""
    due = query(f"SELECT id, order_id, listed_at, hint_at FROM ({polls}) WHERE next <= ? {order}", now)
    if MISTAKE == "asks_for_25_seconds":
        return [one for one in due if now - one[2] < 25]
    return due


def run_poller() -> None:
    """Asks about open checkouts until the server ends."""
    server, pool, running = os.getppid(), ThreadPoolExecutor(12), {}
    while os.getppid() == server:
        for one in due_polls():
            if one[0] not in running or running[one[0]].done():
                running[one[0]] = pool.submit(poll, *one)
        time.sleep(0.1)


# Webhooks and returns


def is_genuine(headers: http.client.HTTPMessage, body: bytes) -> bool:
    timestamps = headers.get_all("Checkout-Timestamp", [])
    signatures = headers.get_all("Checkout-Signature", [])
    if len(timestamps) != 1 or not re.fullmatch("[1-9][0-9]{9}", timestamps[0], re.ASCII):
        return False
    if len(signatures) != 1 or not re.fullmatch("[0-9a-f]{64}(,[0-9a-f]{64}){0,2}", signatures[0]):
        return False
    is_signed = False
    for secret in SECRETS:
        expected = hmac.new(secret.encode(), timestamps[0].encode() + b"." + body, hashlib.sha256).hexdigest()
        for given in signatures[0].split(","):
            is_signed |= hmac.compare_digest(expected, given)
    return is_signed and abs(int(time.time()) - int(timestamps[0])) <= 300


def receive(body: bytes) -> None:
    """Takes an event as a hint to ask about its checkout."""
    event = json.loads(body)
    if event["type"] == "webhook.test":
        return
    data = event.get("data") or {}
    is_priced = data.get("amount_minor") == ITEM["amount_minor"] and data.get("currency") == ITEM["currency"]
    if is_priced and query("SELECT 1 FROM orders WHERE order_id = ?", data.get("order_id", "")):
        watch(data["id"], data["order_id"])


def take_return(order_id: str, session_id: str) -> None:
    """Does nothing in the right shop, because the poller asks about every open checkout."""
    if MISTAKE == "trusts_the_order_of_a_return":
        status, checkout = ask(session_id, timeout=5)
        is_paid = status == 200 and checkout["status"] == "succeeded"
        if is_paid and checkout["amount_minor"] == ITEM["amount_minor"] and has_second_attempt(order_id):
            insert = """INSERT INTO bookings SELECT ?, ?, ?
                WHERE NOT EXISTS (SELECT 1 FROM bookings WHERE order_id = ?)"""
            query(insert, "return-" + session_id, order_id, checkout["amount_minor"], order_id)
            query("UPDATE orders SET status = 'paid' WHERE order_id = ?", order_id)
    if MISTAKE == "takes_the_end_of_an_old_return" and session_id:
        status, checkout = ask(session_id, timeout=5)
        known = "SELECT 1 FROM attempts WHERE id = ? AND order_id = ?"
        if status == 200 and query(known, session_id, checkout["order_id"]):
            if checkout["status"] in ENDS:
                update = "UPDATE orders SET status = ? WHERE order_id = ?"
                query(update, checkout["status"], checkout["order_id"])
            elif checkout["status"] == "succeeded":
                watch(session_id, checkout["order_id"])


def has_second_attempt(order_id: str) -> bool:
    return len(query("SELECT 1 FROM attempts WHERE order_id = ?", order_id)) > 1


# Pages


def order_view(order_id: str) -> dict | None:
    # One statement, because the poller may book between two.
    columns = "status, count(id), max(amount_minor)"
    join = f"SELECT {columns} FROM orders LEFT JOIN bookings USING (order_id) WHERE order_id = ? GROUP BY order_id"
    orders = query(join, order_id)
    return dict(zip(("status", "times", "amount_minor"), orders[0])) if orders else None


class Shop(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.read_body()
        if self.path == "/hooks":
            if not is_genuine(self.headers, body):
                return self.answer(400)
            receive(body)
            return self.answer(200)
        if self.path != "/buy":
            return self.answer(404)
        status, text = buy(urllib.parse.parse_qs(body.decode())["order_id"][0])
        return self.answer(303, location=text) if status == 303 else self.answer(status, text)

    def read_body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/thanks":
            values = urllib.parse.parse_qs(url.query)
            take_return(values.get("order_id", [""])[0], values.get("session_id", [""])[0])
            return self.answer(200, "Thank you.")
        if not url.path.startswith("/orders/"):
            return self.answer(404)
        order = order_view(urllib.parse.unquote(url.path.removeprefix("/orders/")))
        return self.answer(404) if order is None else self.answer(200, json.dumps(order))

    def answer(self, status: int, text: str = "", location: str | None = None) -> None:
        self.send_response(status)
        if location is not None:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Writes no log."""


def serve() -> None:
    create_tables()
    child = subprocess.Popen([sys.executable, sys.argv[0], "poller"])

    def stop(*_: object) -> None:
        child.terminate()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    http.server.ThreadingHTTPServer.request_queue_size = 128
    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()


if sys.argv[1:] == ["poller"]:
    run_poller()
else:
    serve()
