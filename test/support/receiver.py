"""A receiver of webhooks with Python's standard library. Usage: receiver.py PORT, with the secret in WEBHOOK_SECRET."""

import hashlib
import hmac
import http.server
import json
import os
import sys
import time

SECRET = os.environ["WEBHOOK_SECRET"].encode()
TOLERANCE_SECONDS = 300
seen = set()


def is_genuine(timestamp: str, signature: str, raw_body: bytes) -> bool:
    expected = hmac.new(SECRET, timestamp.encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    given = signature.encode("utf-8", "replace").split(b",")
    if not any([hmac.compare_digest(expected.encode(), one) for one in given]):
        return False
    return timestamp.isdigit() and abs(time.time() - int(timestamp)) <= TOLERANCE_SECONDS


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw_body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        timestamp = self.headers.get("Checkout-Timestamp", "")
        signature = self.headers.get("Checkout-Signature", "")
        if not is_genuine(timestamp, signature, raw_body):
            return self.answer(400)
        event = json.loads(raw_body)
        if event["event_id"] not in seen:
            seen.add(event["event_id"])
            if event["type"] == "order.succeeded":
                pass  # Here the order would be marked as paid.
        return self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print(server.server_address[1], flush=True)
    server.serve_forever()
