"""A shop that stores each webhook, answers it, and books it in a worker thread.

`python3 inbox.py` serves it on PORT; `python3 inbox.py create-order` creates the order CHECKOUT_ORDER_ID. MISTAKE names
a mistake or a right variant of test/shops/unseen.ts.
"""

import contextlib
import datetime
import fcntl
import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import signal
import sqlite3
import sys
import threading
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request
import uuid

MISTAKE = os.environ.get("MISTAKE", "")
BASE_URL, API_KEY = os.environ["CHECKOUT_BASE_URL"], os.environ["CHECKOUT_API_KEY"]
SECRETS = os.environ.get("CHECKOUT_SIGNING_SECRET", "").split()
ITEM = {"amount_minor": 2750, "currency": "EUR", "payment_method": "alipay_plus"}
ENDS = ("failed", "expired", "cancelled")
KNOWN_TYPES = re.compile(r"(order|checkout_session)\.(created|pending|succeeded|failed|cancelled|expired)")
# These mistakes replace the unique event id of the inbox, so nothing else may prevent the second booking.
BOOKS_TWICE = ("trusts_header_id", "keeps_event_ids_in_memory", "keeps_400_event_ids")
SHOWS_CANCELLED = (
    "forgets_a_timer",
    "abandons_old_attempts",
    "keeps_newest_attempt_in_memory",
    "cancels_after_a_restart",
)

LOCK = threading.RLock()
DB = sqlite3.connect("inbox.db", timeout=30, check_same_thread=False, isolation_level=None)
DB.executescript(f"""
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS orders
        (order_id TEXT PRIMARY KEY, number TEXT UNIQUE, cancelled INTEGER DEFAULT 0, clicked_at REAL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS attempts
        (key TEXT, order_id TEXT, n INTEGER, state TEXT, checkout_id TEXT, url TEXT, created_at REAL);
    CREATE TABLE IF NOT EXISTS inbox
        (n INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT UNIQUE, body TEXT, state TEXT);
    CREATE TABLE IF NOT EXISTS checkouts
        (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, order_id TEXT, status TEXT, sequence INTEGER, at REAL);
    CREATE TABLE IF NOT EXISTS seen (event_id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS bookings
        (checkout_id TEXT {"" if MISTAKE in BOOKS_TWICE else "UNIQUE"}, order_id TEXT, amount_minor INTEGER);
""")

# Lost at a restart; only mistakes use them.
newest_attempts: dict = {}
known_event_ids: dict = {}
known_signatures: set = set()
heard_checkouts: set = set()


def query(sql: str, *values: object) -> list:
    with LOCK:
        return DB.execute(sql, values).fetchall()


@contextlib.contextmanager
def transaction():
    with LOCK:
        DB.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            DB.execute("ROLLBACK")
            raise
        DB.execute("COMMIT")


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


# Buying


@contextlib.contextmanager
def order_lock(order_id: str):
    """One purchase of an order at a time, also between the server and the command."""
    if MISTAKE == "gives_up_a_slow_click":
        yield
        return
    with open("lock-" + hashlib.sha256(order_id.encode()).hexdigest(), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def folded(order_id: str) -> str:
    if MISTAKE == "ignores_trailing_spaces":
        return order_id.rstrip(" ")
    if MISTAKE == "ignores_accents":
        return "".join(c for c in unicodedata.normalize("NFD", order_id) if not unicodedata.combining(c))
    return order_id


def order_number(order_id: str) -> str:
    """The order's id at the service: the same, or a number that the shop generates."""
    number = "W" + uuid.uuid4().hex[:12] if MISTAKE == "own_order_numbers" else order_id
    query("INSERT OR IGNORE INTO orders (order_id, number) VALUES (?, ?)", order_id, number)
    return query("SELECT number FROM orders WHERE order_id = ?", order_id)[0][0]


def end_attempt(key: str) -> None:
    query("UPDATE attempts SET state = 'ended' WHERE key = ?", key)


def wait_for_other_click(key: str) -> tuple:
    """The state of an attempt whose create another click is sending; the attempt is given up after 2.5 s."""
    state, end = "sending", time.time() + 2.5
    while time.time() < end and state == "sending":
        time.sleep(0.05)
        [(state, checkout_id, url)] = query("SELECT state, checkout_id, url FROM attempts WHERE key = ?", key)
    if state == "sending":
        end_attempt(key)
        state = "ended"
    return state, checkout_id, url


def buy(order_id: str) -> tuple:
    """Returns 303 and the address of the payment page, or another status and its text."""
    order_id = folded(order_id)
    with order_lock(order_id):
        number = order_number(order_id)
        if MISTAKE == "ignores_events_before_a_click":
            query("UPDATE orders SET clicked_at = ? WHERE order_id = ?", time.time(), order_id)
        if query("SELECT 1 FROM bookings WHERE order_id = ?", order_id):
            return 409, "already paid"
        columns = "key, n, state, checkout_id, url, created_at"
        attempts = query(f"SELECT {columns} FROM attempts WHERE order_id = ? ORDER BY n DESC LIMIT 1", order_id)
        key, n, state, checkout_id, url, created_at = attempts[0] if attempts else (None, 0, "ended", None, None, 0)
        if state == "sending" and MISTAKE == "gives_up_a_slow_click":
            state, checkout_id, url = wait_for_other_click(key)
        if state == "open":
            if MISTAKE != "abandons_old_attempts" or time.time() - created_at <= 20:
                status, checkout, _ = call_api("GET", "/checkout-sessions/" + checkout_id, timeout=4)
                if status == 200 and checkout["status"] == "succeeded":
                    return 409, "already paid"
                if status != 200 or checkout["status"] not in ENDS:
                    return 303, url
            end_attempt(key)
            state = "ended"
        if state == "ended":
            n += 1
            key = store_attempt(order_id, number, n)
            if key is None:
                return buy(order_id)
        newest_attempts[order_id] = n
        return send_create(order_id, number, key)


def store_attempt(order_id: str, number: str, n: int) -> str | None:
    """Stores the key of a new attempt before its create; none if another click has stored the attempt."""
    key = uuid.uuid4().hex
    if MISTAKE == "counts_three_attempts":
        key = f"shop-{hashlib.sha256(number.encode()).hexdigest()[:40]}-{min(n, 3)}"
    with transaction():
        if MISTAKE == "gives_up_a_slow_click":
            if DB.execute("SELECT 1 FROM attempts WHERE order_id = ? AND n = ?", (order_id, n)).fetchall():
                return None
        row = (key, order_id, n, time.time())
        DB.execute("INSERT INTO attempts VALUES (?, ?, ?, 'sending', NULL, NULL, ?)", row)
    return key


def send_create(order_id: str, number: str, key: str) -> tuple:
    order = {"order_id": number, **ITEM}
    if MISTAKE == "describes_the_time":
        order["description"] = "Ordered at " + time.strftime("%H:%M:%S")
    body = json.dumps(order).encode()
    for attempt in range(3 if MISTAKE == "gives_up_lost_answers" else 8):
        status, checkout, wait = call_api("POST", "/orders", body, key)
        if status == 201:
            store_answer(order_id, key, checkout)
            return 303, checkout["checkout_url"]
        if status and status not in (408, 429) and status < 500:
            if status == 409 and MISTAKE == "abandons_old_attempts":
                cancel(order_id)
            return 502, f"the payment service refused: {status}"
        time.sleep(float(wait) if wait else 0.2 * 2**attempt)
    if MISTAKE == "gives_up_lost_answers":
        end_attempt(key)
    return 504, "unknown, try again"


def store_answer(order_id: str, key: str, checkout: dict) -> None:
    checkout_id = checkout["id"]
    with transaction():
        # The event of an end may arrive before the answer to the create.
        ended = "SELECT 1 FROM checkouts WHERE id = ? AND status IN ('failed', 'expired', 'cancelled')"
        state = "ended" if DB.execute(ended, (checkout_id,)).fetchall() else "open"
        row = (state, checkout_id, checkout["checkout_url"], key)
        DB.execute("UPDATE attempts SET state = ?, checkout_id = ?, url = ? WHERE key = ?", row)
    if MISTAKE == "forgets_a_timer":
        # The stock of an unpaid order is released, also if a later attempt was paid.
        threading.Timer(25, cancel_unpaid, (order_id, checkout_id)).start()


def cancel(order_id: str) -> None:
    query("UPDATE orders SET cancelled = 1 WHERE order_id = ?", order_id)


def cancel_unpaid(order_id: str, checkout_id: str) -> None:
    if not query("SELECT 1 FROM checkouts WHERE id = ? AND status = 'succeeded'", checkout_id):
        cancel(order_id)


def cancel_unheard(attempts: list) -> None:
    """Cancels orders of whose checkouts nothing was heard since the restart, also paid ones."""
    for checkout_id, order_id in attempts:
        if checkout_id not in heard_checkouts:
            cancel(order_id)


# Webhooks


def is_genuine(headers: http.client.HTTPMessage, body: bytes) -> bool:
    timestamps = headers.get_all("Checkout-Timestamp", [])
    signatures = headers.get_all("Checkout-Signature", [])
    if len(timestamps) != 1 or not re.fullmatch("[1-9][0-9]{9}", timestamps[0], re.ASCII):
        return False
    if len(signatures) != 1 or not re.fullmatch("[0-9a-f]{64}(,[0-9a-f]{64}){0,2}", signatures[0]):
        return False
    timestamp, signature = timestamps[0], signatures[0]
    if abs(int(time.time()) - int(timestamp)) > (18_000 if MISTAKE == "tolerates_five_hours" else 300):
        return False
    if MISTAKE == "trusts_known_signatures" and (timestamp, signature) in known_signatures:
        return True
    digits = 32 if MISTAKE == "compares_32_digits" else 64
    is_signed = False
    for secret in SECRETS:
        expected = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        for given in signature.split(","):
            is_signed |= hmac.compare_digest(expected[:digits], given[:digits])
    if is_signed and MISTAKE == "trusts_known_signatures":
        known_signatures.add((timestamp, signature))
    return is_signed


def receive(headers: http.client.HTTPMessage, body: bytes) -> int:
    """Stores a webhook for the worker; returns the status of the answer."""
    header_id = headers.get("Checkout-Event-Id", "")
    is_new = True
    if MISTAKE == "remembers_before_verifying":
        with LOCK:
            is_new = DB.execute("INSERT OR IGNORE INTO seen VALUES (?)", (header_id,)).rowcount == 1
    if not is_genuine(headers, body):
        return 400
    if not is_new:
        return 200
    event = json.loads(body)
    if event["type"] == "webhook.test":
        return 200
    if MISTAKE == "refuses_early_events" and is_early(event["data"]):
        return 503
    event_id = header_id if MISTAKE == "trusts_header_id" else event["event_id"]
    if MISTAKE in ("keeps_event_ids_in_memory", "keeps_400_event_ids"):
        with LOCK:
            if event_id in known_event_ids:
                return 200
            known_event_ids[event_id] = True
            if MISTAKE == "keeps_400_event_ids" and len(known_event_ids) > 400:
                del known_event_ids[next(iter(known_event_ids))]
        event_id = uuid.uuid4().hex
    if MISTAKE == "keeps_a_lock_after_a_kill":
        return book_locked(event_id, event, body)
    query("INSERT OR IGNORE INTO inbox (event_id, body, state) VALUES (?, ?, 'new')", event_id, body.decode())
    WAKE.set()
    return 200


def is_early(data: dict) -> bool:
    """Whether an event arrived before the answer to the create of its order."""
    sending = "SELECT 1 FROM attempts JOIN orders USING (order_id) WHERE number = ? AND state = 'sending'"
    known = "SELECT 1 FROM attempts WHERE checkout_id = ?"
    return bool(query(sending, data["order_id"])) and not query(known, data["id"])


def book_locked(event_id: str, event: dict, body: bytes) -> int:
    with LOCK:
        if query("SELECT 1 FROM inbox WHERE event_id = ?", event_id):
            return 200
        query("INSERT INTO inbox (event_id, body, state) VALUES (?, ?, 'locked')", event_id, body.decode())
    if event["data"]["status"] == "succeeded":
        time.sleep(0.15)  # Reserves the stock in another system.
    with transaction():
        book(event)
        DB.execute("UPDATE inbox SET state = 'done' WHERE event_id = ?", (event_id,))
    return 200


def book(event: dict) -> None:
    """Books one event, in the caller's transaction."""
    data = event["data"]
    if not KNOWN_TYPES.fullmatch(event["type"]):
        return
    if data["amount_minor"] != ITEM["amount_minor"] or data["currency"] != ITEM["currency"]:
        return
    columns = "order_id, cancelled, clicked_at"
    orders = query(f"SELECT {columns} FROM orders WHERE number = ?", folded(data["order_id"]))
    if not orders:
        return
    order_id, cancelled, clicked_at = orders[0]
    checkout_id, status, sequence = data["id"], data["status"], event["sequence"]
    if MISTAKE == "ignores_events_before_a_click" and status != "created":
        if datetime.datetime.fromisoformat(event["created_at"].replace("Z", "+00:00")).timestamp() < clicked_at:
            return
    if MISTAKE == "abandons_old_attempts" and cancelled:
        return
    if MISTAKE == "compares_sequences_of_the_order":
        if query("SELECT 1 FROM checkouts WHERE order_id = ? AND sequence >= ?", order_id, sequence):
            return
    upsert = """INSERT INTO checkouts (id, order_id, status, sequence, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id)
        DO UPDATE SET status = excluded.status, sequence = excluded.sequence, at = excluded.at
        WHERE excluded.sequence > checkouts.sequence"""
    query(upsert, checkout_id, order_id, status, sequence, time.time())
    heard_checkouts.add(checkout_id)
    if status in ENDS:
        if MISTAKE == "keeps_newest_attempt_in_memory":
            attempts = query("SELECT n FROM attempts WHERE checkout_id = ?", checkout_id)
            if attempts and attempts[0][0] >= newest_attempts.get(order_id, 0):
                cancel(order_id)
        query("UPDATE attempts SET state = 'ended' WHERE checkout_id = ?", checkout_id)
    if status == "succeeded":
        if MISTAKE in ("keeps_newest_attempt_in_memory", "cancels_after_a_restart"):
            query("UPDATE orders SET cancelled = 0 WHERE order_id = ?", order_id)
        row = (checkout_id, order_id, data["amount_minor"])
        query("INSERT OR IGNORE INTO bookings (checkout_id, order_id, amount_minor) VALUES (?, ?, ?)", *row)


WAKE = threading.Event()


def work() -> None:
    """Books the stored events, including those that an earlier process left."""
    while True:
        WAKE.wait(0.5)
        WAKE.clear()
        for n, body in query("SELECT n, body FROM inbox WHERE state = 'new' ORDER BY n"):
            event = json.loads(body)
            if MISTAKE == "marks_events_before_the_work":
                query("UPDATE inbox SET state = 'taken' WHERE n = ?", n)
                if event["data"].get("status") == "succeeded":
                    time.sleep(0.12)  # Sends a mail.
            with transaction():
                book(event)
                DB.execute("UPDATE inbox SET state = 'done' WHERE n = ?", (n,))
        if MISTAKE == "archives_other_attempts":
            paid = "SELECT order_id FROM checkouts WHERE status = 'succeeded' AND at < ?"
            delete = f"DELETE FROM checkouts WHERE status <> 'succeeded' AND order_id IN ({paid})"
            query(delete, time.time() - 20)


# Pages


def order_view(order_id: str) -> dict | None:
    if MISTAKE == "own_order_numbers":
        order_id = (query("SELECT order_id FROM orders WHERE number = ?", order_id) or [(order_id,)])[0][0]
    orders = query("SELECT cancelled FROM orders WHERE order_id = ?", order_id)
    if not orders:
        return None
    [(times, amount)] = query("SELECT count(*), max(amount_minor) FROM bookings WHERE order_id = ?", order_id)
    status = "paid" if times else "open"
    if MISTAKE == "archives_other_attempts":
        newest = query("SELECT status FROM checkouts WHERE order_id = ? ORDER BY n DESC LIMIT 1", order_id)
        status = "paid" if newest and newest[0][0] == "succeeded" else "open"
    if MISTAKE in SHOWS_CANCELLED and orders[0][0]:
        status = "cancelled"
    return {"status": status, "times": times, "amount_minor": amount}


class Shop(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/hooks":
            return self.answer(receive(self.headers, body))
        if self.path != "/buy":
            return self.answer(404)
        status, text = buy(urllib.parse.parse_qs(body.decode())["order_id"][0])
        return self.answer(303, location=text) if status == 303 else self.answer(status, text)

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == "/thanks":
            return self.answer(200, "Thank you. We write to you when your payment has arrived.")
        if not path.startswith("/orders/"):
            return self.answer(404)
        order = order_view(folded(urllib.parse.unquote(path.removeprefix("/orders/"))))
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


def end_open_creates() -> None:
    query("UPDATE attempts SET state = 'ended' WHERE state = 'sending'")


def stop_at_once() -> None:
    end_open_creates()
    os._exit(0)


def serve() -> None:
    if MISTAKE == "cancels_after_a_restart":
        attempts = query("SELECT checkout_id, order_id FROM attempts WHERE state = 'open'")
        timer = threading.Timer(12, cancel_unheard, (attempts,))
        timer.daemon = True
        timer.start()
    if MISTAKE == "ends_open_creates_at_a_stop":
        # In a thread, because the handler may interrupt the holder of the lock.
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=stop_at_once).start())
    if MISTAKE == "ends_open_creates_at_a_start":
        end_open_creates()
    threading.Thread(target=work, daemon=True).start()
    http.server.ThreadingHTTPServer.request_queue_size = 128
    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()


if sys.argv[1:] == ["create-order"]:
    status, text = buy(os.environ["CHECKOUT_ORDER_ID"])
    if status != 303:
        raise SystemExit(text)
    print("order number", order_number(os.environ["CHECKOUT_ORDER_ID"]), "pay at", text)
else:
    serve()
