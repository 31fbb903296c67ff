"""A careful shop with a queue: a webhook is stored and answered, and another thread books it.

`python3 queued.py` serves it on PORT; `python3 queued.py create-order` creates the order CHECKOUT_ORDER_ID. Its books
are in one file for each store.
"""

import hashlib
import hmac
import http.client
import http.server
import json
import os
import sqlite3
import sys
import threading
import time
import urllib.request

PAUSE_S = 0.02


def books() -> sqlite3.Connection:
    connection = sqlite3.connect(os.environ["CHECKOUT_STORE_ID"] + ".db", timeout=30, isolation_level=None)
    connection.executescript("""
        CREATE TABLE IF NOT EXISTS queue (event_id TEXT PRIMARY KEY, body TEXT, booked INTEGER DEFAULT 0);
        CREATE TABLE IF NOT EXISTS bookings (order_id TEXT, amount_minor INTEGER)
    """)
    return connection


def create_order(order_id: str) -> str:
    """Creates an order, and returns the address of its payment page. A repeated request has the same key."""
    item = {"amount_minor": 1999, "currency": "EUR", "payment_method": "wechat_pay"}
    key = "shop-" + hashlib.sha256(order_id.encode()).hexdigest()
    headers = {"Authorization": "Bearer " + os.environ["CHECKOUT_API_KEY"], "Idempotency-Key": key}
    headers["Content-Type"] = "application/json"
    url, body = os.environ["CHECKOUT_BASE_URL"] + "/orders", json.dumps({"order_id": order_id, **item})
    for attempt in range(8):
        try:
            request = urllib.request.Request(url, body.encode(), headers)
            return json.load(urllib.request.urlopen(request, timeout=10))["data"]["checkout_url"]
        except urllib.request.HTTPError as error:
            if error.code != 429 and error.code < 500:
                raise SystemExit(error.read().decode())
            time.sleep(float(error.headers.get("Retry-After", 2**attempt / 4)))
        except (OSError, http.client.HTTPException, ValueError):
            time.sleep(2**attempt / 4)  # The answer was lost, and an order may exist.
    raise SystemExit("it is unknown whether the order exists")


def is_genuine(body: bytes, headers: http.client.HTTPMessage) -> bool:
    timestamp, given = headers.get("Checkout-Timestamp", ""), headers.get("Checkout-Signature", "")
    secret = os.environ["CHECKOUT_SIGNING_SECRET"].encode()
    right = hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(right, given) and abs(time.time() - int(timestamp)) <= 300


def work() -> None:
    """Books the events in the queue, each in one transaction, including events that an earlier process left."""
    db = books()
    while True:
        for event_id, body in db.execute("SELECT event_id, body FROM queue WHERE booked = 0").fetchall():
            order = json.loads(body)["data"]
            db.execute("BEGIN IMMEDIATE")
            db.execute("UPDATE queue SET booked = 1 WHERE event_id = ?", (event_id,))
            if order.get("status") == "succeeded":
                db.execute("INSERT INTO bookings VALUES (?, ?)", (order["order_id"], order["amount_minor"]))
            db.execute("COMMIT")
        time.sleep(PAUSE_S)


class Shop(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if not is_genuine(body, self.headers):
            return self.answer(400)
        row = (json.loads(body)["event_id"], body.decode())
        books().execute("INSERT OR IGNORE INTO queue (event_id, body) VALUES (?, ?)", row)
        return self.answer(200)

    def do_GET(self) -> None:
        row = (self.path.removeprefix("/orders/"),)
        found = books().execute("SELECT count(*), min(amount_minor) FROM bookings WHERE order_id = ?", row)
        times, amount = found.fetchone()
        return self.answer(200, json.dumps({"paid": times > 0, "times": times, "amount_minor": amount}))

    def answer(self, status: int, text: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Writes no log."""


if sys.argv[1:] == ["create-order"]:
    print(create_order(os.environ["CHECKOUT_ORDER_ID"]))
else:
    books()
    threading.Thread(target=work, daemon=True).start()
    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
