curl -s "$CHECKOUT_BASE_URL/orders" \
  -H "Authorization: Bearer $CHECKOUT_API_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: order-1002-attempt-1" \
  -d '{"order_id":"order-1002","price_id":"price_ticket"}'
