"""A shop with Python's standard library. `shop.py` serves it; `shop.py create-order` creates the order CHECKOUT_ORDER_ID.

Settings: CHECKOUT_BASE_URL, CHECKOUT_API_KEY, CHECKOUT_SIGNING_SECRET, SHOP_FOLDER, PORT. BREAKAGE gives it a mistake.
"""

import hashlib
import hmac
import http.client
import http.server
import json
import os
import random
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BREAKAGE = os.environ.get("BREAKAGE")
FOLDER = os.environ.get("SHOP_FOLDER", ".")
MAX_TRIES = 6
FIRST_PAUSE_SECONDS = 0.1
TOLERANCE_SECONDS = 300
ITEM = {"amount_minor": 1999, "currency": "EUR", "payment_method": "wechat_pay"}

STATUSES = ("created", "pending", "succeeded", "failed", "cancelled", "expired")
TYPES = {f"{kind}.{status}" for kind in ("order", "checkout_session") for status in STATUSES}

TABLES = """
    CREATE TABLE IF NOT EXISTS purchases (order_id TEXT PRIMARY KEY, idempotency_key TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, status TEXT NOT NULL, sequence INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS events (event_id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS fulfilments (order_id TEXT NOT NULL);
"""


def books() -> sqlite3.Connection:
    """The shop's books. Each thread opens them for itself; `with` makes a transaction."""
    connection = sqlite3.connect(os.path.join(FOLDER, "books.db"), timeout=30)
    connection.executescript(TABLES)
    return connection


# Buying


def key_of(order_id: str) -> str:
    """The idempotency key of a purchase, on disk before its use: always the key that was stored first."""
    if BREAKAGE == "key_from_pid":
        return f"process-{os.getpid()}"
    with books() as db:
        if BREAKAGE != "keeps_the_key_in_memory":
            db.execute("INSERT OR IGNORE INTO purchases VALUES (?, ?)", (order_id, str(uuid.uuid4())))
        row = db.execute("SELECT idempotency_key FROM purchases WHERE order_id = ?", (order_id,)).fetchone()
    return row[0] if row else str(uuid.uuid4())


def create_order(order_id: str) -> str:
    """Creates the order of a purchase; returns the address where the customer pays."""
    key = key_of(order_id)
    for tries in range(1, MAX_TRIES + 1):
        if BREAKAGE == "buys_again_each_try" and tries > 1:
            order_id, key = f"{order_id}-{tries}", str(uuid.uuid4())
        try:
            return post_order(order_id, key)["data"]["checkout_url"]
        except urllib.error.HTTPError as error:
            if error.code != 429 and error.code < 500:
                raise SystemExit(f"no order: {error.read().decode()}")
        # Also after a cut connection: an order may exist, so the same request is sent again.
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(FIRST_PAUSE_SECONDS * 2**tries * random.uniform(0.5, 1))
    raise SystemExit("no order: no answer")


def post_order(order_id: str, key: str) -> dict:
    request = urllib.request.Request(
        os.environ["CHECKOUT_BASE_URL"] + "/orders",
        data=json.dumps({"order_id": order_id, **ITEM}).encode(),
        headers={
            "Authorization": "Bearer " + os.environ["CHECKOUT_API_KEY"],
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        },
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


# Webhooks


def is_genuine(raw_body: bytes, timestamp: str, signature: str) -> bool:
    """Whether a webhook is the service's: signed with our secret over the received bytes, and not stale."""
    if BREAKAGE == "trusts_unsigned" and not signature:
        return True
    if BREAKAGE == "verifies_parsed_body":
        raw_body = json.dumps(json.loads(raw_body), separators=(",", ":"), ensure_ascii=False).encode()
    secret = os.environ["CHECKOUT_SIGNING_SECRET"].encode()
    expected = hmac.new(secret, timestamp.encode() + b"." + raw_body, hashlib.sha256).hexdigest().encode()
    # While a secret is rotated there is a signature for each secret.
    given = [one.strip() for one in signature.encode("utf-8", "replace").split(b",")]
    if not any([hmac.compare_digest(expected, one) for one in given]):
        return False
    age = time.time() - int(timestamp)
    if BREAKAGE == "takes_the_future":
        return age <= TOLERANCE_SECONDS
    return abs(age) <= TOLERANCE_SECONDS


def book(event: dict) -> bool:
    """Books an event once, however often and in whatever order events arrive. Returns whether the event was new."""
    with books() as db:
        if db.execute("INSERT OR IGNORE INTO events VALUES (?)", (event["event_id"],)).rowcount == 0:
            return False
        # An event of a type from a later version may repeat the status of a paid order.
        if event["type"] not in TYPES:
            return True
        data, sequence = event["data"], event["sequence"]
        # Another system may use the order_id for another amount or currency.
        is_our_price = all(data[field] == ITEM[field] for field in ("amount_minor", "currency"))
        if not is_our_price and BREAKAGE != "takes_other_amounts":
            return True
        known = db.execute("SELECT sequence FROM orders WHERE order_id = ?", (data["order_id"],)).fetchone()
        if known is None or sequence > known[0] or BREAKAGE == "takes_late_events":
            row = (data["order_id"], data["status"], sequence)
            db.execute("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", row)
        if data["status"] == "succeeded":
            db.execute("INSERT INTO fulfilments VALUES (?)", (data["order_id"],))
        return True


def order_view(order_id: str) -> dict | None:
    """The shop's record of an order."""
    with books() as db:
        row = db.execute("SELECT status FROM orders WHERE order_id = ?", (order_id,)).fetchone()
        count = db.execute("SELECT count(*) FROM fulfilments WHERE order_id = ?", (order_id,)).fetchone()[0]
    if row is None:
        return None
    return {"order_id": order_id, "status": "paid" if row[0] == "succeeded" else row[0], "times": count}


def believe_return(order_id: str) -> None:
    with books() as db:
        db.execute("INSERT OR REPLACE INTO orders VALUES (?, 'succeeded', 0)", (order_id,))


# Pages


class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/buy":
            order_id = json.loads(body or b"{}").get("order_id", f"web-{uuid.uuid4().hex[:8]}")
            return self.answer(303, b"", {"Location": create_order(order_id)})
        if self.path != "/hooks":
            return self.answer(404)
        try:
            timestamp = self.headers.get("Checkout-Timestamp", "")
            genuine = is_genuine(body, timestamp, self.headers.get("Checkout-Signature", ""))
        except ValueError:
            genuine = False
        if not genuine:
            return self.answer(400)
        is_new = book(json.loads(body))
        return self.answer(409 if BREAKAGE == "refuses_duplicates" and not is_new else 200)

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/thanks":
            # A returning customer may not have paid: only the webhook proves a payment.
            if BREAKAGE == "believes_the_return_later":
                threading.Timer(1.5, believe_return, [query.get("order_id", "")]).start()
            return self.answer(200, b"Thank you. We tell you when your payment has arrived.")
        order = order_view(urllib.parse.unquote(url.path.removeprefix("/orders/")))
        if not url.path.startswith("/orders/") or order is None:
            return self.answer(404)
        return self.answer(200, json.dumps(order).encode(), {"Content-Type": "application/json"})

    def answer(self, status: int, body: bytes = b"", headers: dict = {}) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def serve() -> None:
    os.environ["CHECKOUT_SIGNING_SECRET"] or sys.exit("CHECKOUT_SIGNING_SECRET is not set")
    threading.Thread(target=end_with_parent, daemon=True).start()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Shop)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:] == ["create-order"]:
        print(create_order(os.environ["CHECKOUT_ORDER_ID"]))
    else:
        serve()
