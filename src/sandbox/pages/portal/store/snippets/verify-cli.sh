# The exact bytes of the received body, and the values of the headers Checkout-Timestamp and Checkout-Signature.
npx checkout webhooks verify --payload-file body.json --timestamp "$TIMESTAMP" --signature "$SIGNATURE"
