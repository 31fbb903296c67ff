"""A ticket shop. The webhook only stores the event; a worker thread books it from an inbox in SQLite.

`python3 tickets.py` serves it on PORT. MISTAKE names a mistake of test/shops/unseen.ts.
"""

import hashlib
import hmac
import http.client
import json
import os
import re
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MISTAKE = os.environ.get("MISTAKE", "")
BASE, KEY = os.environ["CHECKOUT_BASE_URL"], os.environ["CHECKOUT_API_KEY"]
SECRETS = os.environ["CHECKOUT_SIGNING_SECRET"].split()
TICKET = {"amount_minor": 5900, "currency": "EUR"}
ENDED = ("failed", "cancelled", "expired")
KNOWN = re.compile(r"(order|checkout_session)\.(created|pending|succeeded|failed|cancelled|expired)")
STARTS_JOBS = MISTAKE in ("keeps_started_jobs", "polls_and_keeps_started_jobs")
wake = threading.Event()
# The round of each booking, for a mistake.
rounds, guard = {}, threading.Lock()


def connect():
    db = sqlite3.connect("tickets.db", timeout=30, isolation_level=None)
    db.row_factory = sqlite3.Row
    return db


with connect() as setup:
    setup.executescript("""PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS bookings (ref TEXT PRIMARY KEY, round INTEGER DEFAULT 1, last_seq INTEGER DEFAULT 0);
    CREATE TABLE IF NOT EXISTS rounds (ref TEXT, round INTEGER, idem TEXT, PRIMARY KEY (ref, round));
    CREATE TABLE IF NOT EXISTS checkouts (id TEXT PRIMARY KEY, ref TEXT, status TEXT, seq INTEGER);
    CREATE TABLE IF NOT EXISTS inbox (n INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT UNIQUE, body TEXT, ref TEXT,
        done INTEGER DEFAULT 0);
    CREATE TABLE IF NOT EXISTS tickets (checkout TEXT PRIMARY KEY, ref TEXT, amount INTEGER)""")


def request(method, path, body=None, idem=None):
    headers = {"Authorization": "Bearer " + KEY}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if idem:
        headers["Idempotency-Key"] = idem
    req = urllib.request.Request(BASE + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(req, timeout=8) as answer:
            return answer.status, json.load(answer), 0
    except urllib.error.HTTPError as error:
        return error.code, {}, float(error.headers.get("Retry-After") or 0)


# Buying


def begin_round(db, ref):
    """The key of the current round; it is stored before it is sent."""
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT OR IGNORE INTO bookings (ref) VALUES (?)", (ref,))
    number = round_of(db, ref)
    db.execute("INSERT OR IGNORE INTO rounds VALUES (?, ?, ?)", (ref, number, "t-" + os.urandom(12).hex()))
    select = "SELECT idem FROM rounds WHERE ref = ? AND round = ?"
    idem = db.execute(select, (ref, number)).fetchone()["idem"]
    db.execute("COMMIT")
    return idem


def round_of(db, ref):
    if MISTAKE == "counts_rounds_in_memory":
        with guard:
            return rounds.setdefault(ref, 1)
    number = db.execute("SELECT round FROM bookings WHERE ref = ?", (ref,)).fetchone()["round"]
    select = "SELECT count(*) AS n FROM checkouts WHERE ref = ? AND status IN ('failed','cancelled','expired')"
    ended = db.execute(select, (ref,)).fetchone()["n"]
    if ended >= number:
        number = ended + 1
        db.execute("UPDATE bookings SET round = ? WHERE ref = ?", (number, ref))
    return number


def buy(ref):
    db = connect()
    if db.execute("SELECT 1 FROM tickets WHERE ref = ?", (ref,)).fetchone():
        return 409, None
    idem = begin_round(db, ref)
    body = json.dumps({"order_id": ref, **TICKET, "payment_method": "wechat_pay"}).encode()
    for attempt in range(7):
        pause = 0.2 * 2**attempt
        try:
            status, answer, retry = request("POST", "/orders", body, idem)
            if status == 201:
                return 303, answer["data"]["checkout_url"]
            if status < 500 and status not in (408, 429):
                return 502, None
            pause = max(pause, retry)
        except (OSError, ValueError, KeyError, EOFError, http.client.HTTPException):
            pass
        time.sleep(pause)
    return 502, None


# Webhooks


def genuine(lines, body):
    stamps = [v for k, v in lines if k.lower() == "checkout-timestamp"]
    signs = [v for k, v in lines if k.lower() == "checkout-signature"]
    if len(stamps) != 1 or len(signs) != 1 or not re.fullmatch("[1-9][0-9]{9}", stamps[0], re.ASCII):
        return False
    if not re.fullmatch("[0-9a-f]{64}(,[0-9a-f]{64}){0,2}", signs[0]) or abs(time.time() - int(stamps[0])) > 300:
        return False
    signed = stamps[0].encode() + b"." + body
    mine = [hmac.new(s.encode(), signed, hashlib.sha256).hexdigest() for s in SECRETS]
    return any([hmac.compare_digest(m, g) for m in mine for g in signs[0].split(",")])


def receive(body):
    event = json.loads(body)
    db = connect()
    if MISTAKE == "queues_one_job_for_each_order":
        queue_once(db, event, body)
    else:
        insert = "INSERT OR IGNORE INTO inbox (event_id, body) VALUES (?, ?)"
        db.execute(insert, (job_of(event), body.decode()))
    wake.set()


def job_of(event):
    order_id = (event.get("data") or {}).get("order_id")
    if MISTAKE == "names_jobs_by_order_and_type" and order_id:
        return order_id + ":" + event["type"]
    return event["event_id"]


def queue_once(db, event, body):
    """Drops an event while a job of its order waits, for a mistake."""
    order_id = (event.get("data") or {}).get("order_id", "")
    insert = """INSERT OR IGNORE INTO inbox (event_id, body, ref) SELECT ?, ?, ?
        WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE ref = ? AND done = 0)"""
    db.execute(insert, (event["event_id"], body.decode(), order_id, order_id))


def handle(db, event):
    """One event, in the transaction of the caller."""
    data = event["data"]
    if not KNOWN.fullmatch(event["type"]):
        return
    if not db.execute("SELECT 1 FROM bookings WHERE ref = ?", (data["order_id"],)).fetchone():
        if MISTAKE == "retries_events_of_unknown_orders":
            raise LookupError("no booking " + data["order_id"])
        return
    if data["amount_minor"] != TICKET["amount_minor"] or data["currency"] != TICKET["currency"]:
        return
    if not is_newer(db, event):
        return
    row = (data["id"], data["order_id"], data["status"], event["sequence"])
    db.execute("INSERT OR REPLACE INTO checkouts VALUES (?, ?, ?, ?)", row)
    if data["status"] in ENDED and MISTAKE == "counts_rounds_in_memory":
        with guard:
            rounds[data["order_id"]] = rounds.get(data["order_id"], 1) + 1
    if data["status"] == "succeeded" and is_confirmed(data):
        row = (data["id"], data["order_id"], data["amount_minor"])
        db.execute("INSERT OR IGNORE INTO tickets VALUES (?, ?, ?)", row)


def is_newer(db, event):
    data = event["data"]
    if MISTAKE == "compares_sequences_of_the_order":
        update = "UPDATE bookings SET last_seq = ?1 WHERE ref = ?2 AND last_seq < ?1"
        return db.execute(update, (event["sequence"], data["order_id"])).rowcount == 1
    row = db.execute("SELECT * FROM checkouts WHERE id = ?", (data["id"],)).fetchone()
    return row is None or row["seq"] < event["sequence"]


def is_confirmed(data):
    """Asks the API whether a success is true, for a mistake."""
    if MISTAKE != "takes_no_answer_for_unpaid":
        return True
    try:
        status, answer, _ = request("GET", "/checkout-sessions/" + data["id"])
    except OSError as error:
        print("payment service not reachable:", error, file=sys.stderr)
        return False
    if status in (400, 404):
        return False
    if status != 200:
        raise RuntimeError("status %d" % status)
    return answer["data"]["status"] == "succeeded" and answer["data"]["order_id"] == data["order_id"]


def start(db, job):
    """Marks a job as started, and prints the ticket."""
    db.execute("UPDATE inbox SET done = 2 WHERE n = ?", (job["n"],))
    if json.loads(job["body"])["type"].endswith(".succeeded"):
        time.sleep(0.1)


def worker():
    db = connect()
    while True:
        wake.clear()
        for job in db.execute("SELECT * FROM inbox WHERE done = 0 ORDER BY n LIMIT 10").fetchall():
            try:
                if STARTS_JOBS:
                    start(db, job)
                db.execute("BEGIN IMMEDIATE")
                handle(db, json.loads(job["body"]))
                db.execute("UPDATE inbox SET done = 1 WHERE n = ?", (job["n"],))
                db.execute("COMMIT")
            except Exception as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if STARTS_JOBS:
                    db.execute("UPDATE inbox SET done = 0 WHERE n = ?", (job["n"],))
                print("job", job["n"], repr(error), file=sys.stderr)
        if MISTAKE == "polls_and_keeps_started_jobs":
            time.sleep(1.5)
        else:
            wake.wait(0.1)


# Pages


class Web(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, text="", **headers):
        body = text.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/hooks":
            if not genuine(self.headers.items(), body):
                return self.send(400)
            receive(body)
            return self.send(200, "queued")
        if self.path == "/buy":
            status, location = buy(urllib.parse.parse_qs(body.decode())["order_id"][0])
            return self.send(status, **({"Location": location} if location else {}))
        if self.path.startswith("/thanks"):
            return self.send(200, "Thank you. We confirm your payment by e-mail.")
        return self.send(404)

    def do_GET(self):
        if self.path.startswith("/thanks"):
            return self.send(200, "Thank you. We confirm your payment by e-mail.")
        if self.path.startswith("/order/"):
            ref, db = urllib.parse.unquote(self.path[7:]), connect()
            if not db.execute("SELECT 1 FROM bookings WHERE ref = ?", (ref,)).fetchone():
                return self.send(404)
            select = "SELECT count(*) AS times, max(amount) AS amount FROM tickets WHERE ref = ?"
            row = db.execute(select, (ref,)).fetchone()
            view = {"paid": row["times"] > 0, "times": row["times"], "amount_minor": row["amount"]}
            return self.send(200, json.dumps(view))
        return self.send(404)


threading.Thread(target=worker, daemon=True).start()
ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Web).serve_forever()
