npx checkout orders create --order-id order-1001 --price-id price_coffee
