"""A shop in the manner of Magento and Adyen: notifications are stored, and a worker processes them.

`python3 notifications.py` serves it on PORT. MISTAKE names a mistake or a right variant of test/shops/unseen.ts.
"""

import hashlib
import hmac
import http.client
import http.server
import json
import os
import queue
import re
import sqlite3
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

MISTAKE = os.environ.get("MISTAKE", "")
BASE, KEY = os.environ["CHECKOUT_BASE_URL"], os.environ["CHECKOUT_API_KEY"]
SECRETS = os.environ.get("CHECKOUT_SIGNING_SECRET", "").split()
PRICE = {"amount_minor": 3450, "currency": "EUR", "payment_method": "wechat_pay"}
FINAL = ("succeeded", "failed", "cancelled", "expired")
TYPES = re.compile(r"(order|checkout_session)\.(created|pending|succeeded|failed|cancelled|expired)")
# The unique column of the invoices; mistakes look the invoice up first.
UNIQUE = "rowid" if MISTAKE in ("overlaps_runs", "mails_before_it_ends_a_job") else "psp"
local = threading.local()


def db():
    if not hasattr(local, "db"):
        local.db = sqlite3.connect("shop.db", timeout=30, isolation_level=None)
        local.db.row_factory = sqlite3.Row
        local.db.execute("PRAGMA journal_mode = WAL")
    return local.db


db().executescript(f"""
CREATE TABLE IF NOT EXISTS sales_order (increment_id TEXT PRIMARY KEY, state TEXT DEFAULT 'new');
CREATE TABLE IF NOT EXISTS payment (order_id TEXT, n INTEGER, idem TEXT, psp TEXT UNIQUE, url TEXT,
    status TEXT DEFAULT 'created', PRIMARY KEY (order_id, n));
CREATE TABLE IF NOT EXISTS notification (id INTEGER PRIMARY KEY, event_id TEXT UNIQUE, body TEXT,
    done INTEGER DEFAULT 0, tries INTEGER DEFAULT 0, due REAL DEFAULT 0);
CREATE TABLE IF NOT EXISTS invoice (rowid INTEGER PRIMARY KEY, order_id TEXT, psp TEXT, amount_minor INTEGER,
    UNIQUE ({UNIQUE}));
""")


class Tx:
    def __enter__(self):
        db().execute("BEGIN IMMEDIATE")
        return db()

    def __exit__(self, kind, *_):
        db().execute("COMMIT" if kind is None else "ROLLBACK")


def api(path, body=None, idem=None):
    """(status, answer, retry-after); status 0: no complete answer."""
    headers = {"Authorization": "Bearer " + KEY}
    if body is not None:
        headers.update({"Content-Type": "application/json", "Idempotency-Key": idem})
    try:
        with urllib.request.urlopen(urllib.request.Request(BASE + path, body, headers), timeout=10) as answer:
            return answer.status, json.load(answer)["data"], None
    except urllib.error.HTTPError as error:
        return error.code, None, error.headers.get("Retry-After")
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return 0, None, None


def settle(data):
    with Tx() as tx:
        settle_in(tx, data)


def is_priced(data):
    return data["amount_minor"] == PRICE["amount_minor"] and data["currency"] == PRICE["currency"]


def settle_in(tx, data):
    if not is_priced(data):
        return
    bind(tx, data)
    row = tx.execute("SELECT * FROM payment WHERE psp = ?", (data["id"],)).fetchone()
    if row is None or row["order_id"] != data["order_id"]:
        return
    is_booked_again = MISTAKE == "mails_before_it_ends_a_job" and data["status"] == "succeeded"
    if row["status"] in FINAL and not is_booked_again:
        return
    if row["status"] == "pending" and data["status"] == "created":
        return
    tx.execute("UPDATE payment SET status = ? WHERE psp = ?", (data["status"], data["id"]))
    if data["status"] == "succeeded":
        insert_invoice(tx, data)


def bind(tx, data):
    """Gives a payment without a checkout this one."""
    update = """UPDATE payment SET psp = ? WHERE order_id = ? AND psp IS NULL
        AND NOT EXISTS (SELECT 1 FROM payment WHERE psp = ?)"""
    tx.execute(update, (data["id"], data["order_id"], data["id"]))


def insert_invoice(tx, data):
    insert = "INSERT OR IGNORE INTO invoice (order_id, psp, amount_minor) VALUES (?, ?, ?)"
    tx.execute(insert, (data["order_id"], data["id"], data["amount_minor"]))


def last_payment(order_id):
    select = "SELECT * FROM payment WHERE order_id = ? ORDER BY n DESC LIMIT 1"
    return db().execute(select, (order_id,)).fetchone()


def is_paid(order_id):
    return db().execute("SELECT 1 FROM invoice WHERE order_id = ?", (order_id,)).fetchone() is not None


# Buying


def buy(order_id):
    last = last_payment(order_id)
    if last is not None and last["psp"] and last["status"] not in FINAL:
        status, data, _ = api("/checkout-sessions/" + last["psp"])
        is_success = status == 200 and data["status"] == "succeeded"
        # For mistakes, only the notification of a success books it.
        waits = is_success and MISTAKE in ("overlaps_runs", "mails_before_it_ends_a_job")
        if status == 200 and not waits:
            settle(data)
        if waits and MISTAKE == "overlaps_runs":
            return 409, "already paid", {}
    if is_paid(order_id):
        return 409, "already paid", {}
    if MISTAKE == "overlaps_runs" and last is not None and last_payment(order_id)["status"] == "succeeded":
        return 409, "already paid", {}
    with Tx() as tx:
        tx.execute("INSERT OR IGNORE INTO sales_order (increment_id) VALUES (?)", (order_id,))
        last = last_payment(order_id)
        if last is None or last["status"] in FINAL:
            n = 1 if last is None else last["n"] + 1
            idem = "mage-%s-%d" % (hashlib.sha1(order_id.encode()).hexdigest(), n)
            tx.execute("INSERT INTO payment (order_id, n, idem) VALUES (?, ?, ?)", (order_id, n, idem))
            last = last_payment(order_id)
    if last["url"]:
        return 303, "", {"Location": last["url"]}
    return send_create(order_id, last)


def send_create(order_id, last):
    body = json.dumps({"order_id": order_id, **PRICE}).encode()
    for i in range(7):
        status, data, wait = api("/orders", body, last["idem"])
        if status == 201:
            update = "UPDATE payment SET psp = ?, url = ? WHERE order_id = ? AND n = ?"
            with Tx() as tx:
                tx.execute(update, (data["id"], data["checkout_url"], order_id, last["n"]))
            return 303, "", {"Location": data["checkout_url"]}
        if status and status != 429 and status < 500:
            return 502, "refused", {}
        time.sleep(float(wait) if wait else 0.25 * 2**i)
    return 503, "please try again", {}


# Notifications


def is_genuine(headers, body):
    timestamps = headers.get_all("Checkout-Timestamp") or []
    signatures = headers.get_all("Checkout-Signature") or []
    if len(timestamps) != 1 or not re.fullmatch("[1-9][0-9]{9}", timestamps[0], re.ASCII):
        return False
    if len(signatures) != 1 or not re.fullmatch("[0-9a-f]{64}(,[0-9a-f]{64}){0,2}", signatures[0]):
        return False
    if abs(time.time() - int(timestamps[0])) > 300:
        return False
    signed = timestamps[0].encode() + b"." + body
    right = [hmac.new(one.encode(), signed, hashlib.sha256).hexdigest() for one in SECRETS]
    return any([hmac.compare_digest(a, b) for a in right for b in signatures[0].split(",")])


wake = threading.Event()
# Events that wait, for a mistake.
jobs = queue.Queue()


def hook(headers, body):
    if not is_genuine(headers, body):
        return 400, "", {}
    event = json.loads(body)
    if TYPES.fullmatch(event["type"]) or MISTAKE == "stops_at_a_test_event":
        if MISTAKE == "keeps_jobs_in_memory":
            jobs.put(event)
        else:
            store(event, body)
        wake.set()
    return 200, "[accepted]", {}


def store(event, body):
    due = 0
    # A success may follow.
    if MISTAKE == "cancels_late" and event["data"]["status"] in ("failed", "cancelled", "expired"):
        due = time.time() + 5
    insert = "INSERT OR IGNORE INTO notification (event_id, body, due) VALUES (?, ?, ?)"
    with Tx() as tx:
        tx.execute(insert, (event["event_id"], body.decode(), due))


def process(job):
    """Confirms with the API what a notification says; without an answer, the job stays."""
    event = json.loads(job["body"])
    data = event["data"]
    known = db().execute("SELECT 1 FROM sales_order WHERE increment_id = ?", (data["order_id"],)).fetchone()
    if known is None or not TYPES.fullmatch(event["type"]) or data["status"] in ("created", "pending"):
        return end_job(db(), job)
    if MISTAKE == "overlaps_runs":
        return process_overlapping(job, data)
    status, now, _ = api("/checkout-sessions/" + data["id"])
    mails = MISTAKE == "mails_before_it_ends_a_job" and status == 200
    if mails:
        settle(now)
        # The mail to the customer.
        time.sleep(0.15 if now["status"] == "succeeded" else 0)
    with Tx() as tx:
        if status == 200 and not mails:
            settle_in(tx, now)
        if status == 200 and MISTAKE == "cancels_late":
            change_state(tx, now)
        end_or_retry(tx, job, status)


def end_or_retry(tx, job, status):
    is_given_up = MISTAKE == "gives_up_after_three_tries" and job["tries"] >= 3
    if status in (200, 404) or is_given_up:
        return end_job(tx, job)
    due = time.time() + (1.0 if MISTAKE == "gives_up_after_three_tries" else 0.4)
    tx.execute("UPDATE notification SET tries = tries + 1, due = ? WHERE id = ?", (due, job["id"]))


def end_job(tx, job):
    tx.execute("UPDATE notification SET done = 1 WHERE id = ?", (job["id"],))


def change_state(tx, data):
    """Writes the end of a payment into its order, for a mistake."""
    if data["status"] in FINAL and is_priced(data):
        state = "processing" if data["status"] == "succeeded" else "canceled"
        tx.execute("UPDATE sales_order SET state = ? WHERE increment_id = ?", (state, data["order_id"]))


def process_overlapping(job, data):
    """Looks the invoice up before the question, and writes it afterwards."""
    if db().execute("SELECT 1 FROM invoice WHERE psp = ?", (data["id"],)).fetchone():
        return end_job(db(), job)
    status, now, _ = api("/checkout-sessions/" + data["id"])
    with Tx() as tx:
        if status == 200 and now["status"] != "succeeded":
            settle_in(tx, now)
        elif status == 200 and is_priced(now):
            bind(tx, now)
            if tx.execute("UPDATE payment SET status = 'succeeded' WHERE psp = ?", (now["id"],)).rowcount:
                insert_invoice(tx, now)
        end_or_retry(tx, job, status)


def process_in_memory(event):
    """Puts an event back after 0.4 s without an answer."""
    data = event["data"]
    known = db().execute("SELECT 1 FROM sales_order WHERE increment_id = ?", (data["order_id"],)).fetchone()
    if known is None or data["status"] in ("created", "pending"):
        return
    status, now, _ = api("/checkout-sessions/" + data["id"])
    if status == 200:
        settle(now)
    if status not in (200, 404):
        threading.Timer(0.4, jobs.put, (event,)).start()


def work():
    due = "SELECT * FROM notification WHERE done = 0 AND due <= ? ORDER BY due, id LIMIT 1"
    while True:
        job = db().execute(due, (time.time(),)).fetchone()
        if job is None:
            wake.wait(0.1)
            wake.clear()
            continue
        try:
            process(job)
        except Exception as error:
            print("worker", error, flush=True)
            if MISTAKE == "stops_at_a_test_event":
                return
            time.sleep(0.2)


def work_in_memory():
    while True:
        event = jobs.get()
        try:
            process_in_memory(event)
        except Exception as error:
            print("worker", error, flush=True)
            threading.Timer(0.4, jobs.put, (event,)).start()


def cron():
    """Starts a run each second, whether or not the run before it has ended."""
    while True:
        threading.Thread(target=run_due_jobs, daemon=True).start()
        time.sleep(1)


def run_due_jobs():
    due = "SELECT * FROM notification WHERE done = 0 AND due <= ? ORDER BY id"
    for job in db().execute(due, (time.time(),)).fetchall():
        # Another run may have it.
        if MISTAKE == "claims_jobs" and not claim(job):
            continue
        try:
            process(job)
        except Exception as error:
            print("worker", error, flush=True)
            time.sleep(0.2)


def claim(job):
    now, claims = time.time(), "UPDATE notification SET due = ? WHERE id = ? AND done = 0 AND due <= ?"
    return db().execute(claims, (now + 12, job["id"], now)).rowcount == 1


# Pages


class Shop(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        path = self.path.split("?")[0]
        if path == "/buy":
            self.answer(*buy(urllib.parse.parse_qs(body.decode())["order_id"][0]))
        elif path == "/hooks":
            self.answer(*hook(self.headers, body))
        elif path == "/thanks":
            self.do_GET()
        else:
            self.answer(404, "", {})

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/thanks":
            return self.answer(200, "Thank you. We mail you when your payment has arrived.", {})
        order_id = urllib.parse.unquote(url.path[len("/orders/") :])
        order = db().execute("SELECT state FROM sales_order WHERE increment_id = ?", (order_id,)).fetchone()
        if order is None:
            return self.answer(404, "{}", {})
        invoices = "SELECT count(*), max(amount_minor) FROM invoice WHERE order_id = ?"
        times, amount = db().execute(invoices, (order_id,)).fetchone()
        view = {"status": status_of(order_id, order["state"], times), "times": times, "amount_minor": amount}
        self.answer(200, json.dumps(view), {})

    def answer(self, status, text, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text.encode()))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def status_of(order_id, state, times):
    if MISTAKE == "cancels_late" and state != "new":
        return "paid" if state == "processing" else state
    if times and MISTAKE != "cancels_late":
        return "paid"
    last = last_payment(order_id)
    return last["status"] if last else "new"


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True


WORKERS = {"keeps_jobs_in_memory": work_in_memory, "overlaps_runs": cron, "claims_jobs": cron}
threading.Thread(target=WORKERS.get(MISTAKE, work), daemon=True).start()
Server(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Shop).serve_forever()
