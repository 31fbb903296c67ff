import json, os, urllib.request

request = urllib.request.Request(
    os.environ["CHECKOUT_BASE_URL"] + "/orders",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["CHECKOUT_API_KEY"],
        "Content-Type": "application/json",
        # The same key for the same order, also after a timeout: so there is never a second one.
        "Idempotency-Key": "order-1004-attempt-1",
    },
    data=json.dumps({"order_id": "order-1004", "amount_minor": 1999, "currency": "EUR",
                     "payment_method": "alipay_plus"}).encode(),
)
with urllib.request.urlopen(request) as response:
    print(json.load(response)["data"]["checkout_url"])
