import json, os, urllib.request

request = urllib.request.Request(
    os.environ["CHECKOUT_BASE_URL"] + "/orders",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["CHECKOUT_API_KEY"],
        "Content-Type": "application/json",
        # Use the same key for the same order, also after a timeout, so that the order never gets a second checkout.
        "Idempotency-Key": "order-1004-attempt-1",
    },
    data=json.dumps({"order_id": "order-1004", "amount_minor": 1999, "currency": "EUR",
                     "payment_method": "alipay_plus"}).encode(),
)
with urllib.request.urlopen(request) as response:
    print(json.load(response)["data"]["checkout_url"])
