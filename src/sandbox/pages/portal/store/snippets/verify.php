function is_genuine(array $secrets, string $timestamp, string $signature, string $body, ?int $now = null, int $tolerance = 300): bool
{
    // $body = file_get_contents('php://input'); $timestamp = $_SERVER['HTTP_CHECKOUT_TIMESTAMP'] ?? '';
    // PHP joins the values of a repeated header with a comma and a blank; the result is refused.
    if (!preg_match('/\A[1-9][0-9]{9}\z/', $timestamp)) return false;
    if (!preg_match('/\A[0-9a-f]{64}(,[0-9a-f]{64}){0,2}\z/', $signature)) return false;
    foreach ($secrets as $secret) if (!preg_match('/\A[!-~]+\z/', $secret)) return false;
    $matches = false;
    foreach ($secrets as $secret) {
        $digest = hash_hmac('sha256', $timestamp . '.' . $body, $secret);
        foreach (explode(',', $signature) as $given) $matches = hash_equals($digest, $given) || $matches;
    }
    return $matches && abs(($now ?? time()) - (int) $timestamp) <= $tolerance;
}
