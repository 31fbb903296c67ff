$request = ['order_id' => 'order-1005', 'amount_minor' => 1999, 'currency' => 'EUR', 'payment_method' => 'alipay_plus'];
$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . getenv('CHECKOUT_API_KEY'),
        'Content-Type: application/json',
        // Use the same key for the same order, also after a timeout, so that the order never gets a second checkout.
        'Idempotency-Key: order-1005-attempt-1',
    ],
    'content' => json_encode($request),
    'ignore_errors' => true,
]]);
$answer = json_decode(file_get_contents(getenv('CHECKOUT_BASE_URL') . '/orders', false, $context), true);
if (!$answer['ok']) throw new Exception($answer['error']['message']);
echo $answer['data']['checkout_url'], PHP_EOL;
