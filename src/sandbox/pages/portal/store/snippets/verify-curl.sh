# The exact bytes of the received body, and the values of the headers Checkout-Timestamp and Checkout-Signature.
# For a manual check only: it does not check that the timestamp is at most 300 s from now.
digest=$({ printf '%s.' "$TIMESTAMP"; cat body.json; } |
  openssl dgst -sha256 -hmac "$CHECKOUT_SIGNING_SECRET" -r | cut -c1-64)
case ",$SIGNATURE," in *",$digest,"*) echo genuine ;; *) echo "not genuine" ;; esac
