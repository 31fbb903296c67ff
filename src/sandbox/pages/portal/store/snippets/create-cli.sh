npx checkout orders create --order-id order-1001 --amount-minor 1999 --currency EUR --payment-method alipay_plus
