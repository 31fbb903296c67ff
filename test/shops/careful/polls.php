<?php
// A careful shop that polls: it books payments that GET /checkout-sessions/{id} reports; a webhook only makes it ask.
// `php polls.php poll & php -S 127.0.0.1:$PORT polls.php` serves it; `php polls.php create-order` creates the order
// CHECKOUT_ORDER_ID. Its books are in one file for each store.

const PAUSE_US = 100_000;

$books = new PDO("sqlite:" . getenv("CHECKOUT_STORE_ID") . ".db");
$books->exec("PRAGMA busy_timeout = 30000");
$books->exec("CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, id TEXT, status TEXT DEFAULT 'created')");
$books->exec("CREATE TABLE IF NOT EXISTS bookings (order_id TEXT, amount_minor INTEGER)");

/** Calls v1; returns null if there was no complete answer. */
function call(string $path, array $headers = [], ?string $body = null): ?array
{
    $context = stream_context_create(["http" => [
        "method" => $body === null ? "GET" : "POST",
        "header" => ["Authorization: Bearer " . getenv("CHECKOUT_API_KEY"), ...$headers],
        "content" => $body ?? "",
        "timeout" => 10,
        "ignore_errors" => true,
        "follow_location" => 0,
    ]]);
    $text = @file_get_contents(getenv("CHECKOUT_BASE_URL") . $path, false, $context);
    $read = $text === false ? null : json_decode($text, true);
    if (!is_array($read)) return null;
    $status = (int) substr($http_response_header[0], 9, 3);
    $waits = preg_replace("/^retry-after: */i", "", preg_grep("/^retry-after:/i", $http_response_header));
    return ["status" => $status, "wait" => $waits === [] ? null : (int) end($waits), ...$read];
}

/** Creates an order, and returns the address of its payment page. A repeated request has the same key. */
function createOrder(PDO $books, string $orderId): string
{
    $books->prepare("INSERT OR IGNORE INTO orders (order_id) VALUES (?)")->execute([$orderId]);
    $item = ["amount_minor" => 1999, "currency" => "EUR", "payment_method" => "alipay_plus"];
    $headers = ["Content-Type: application/json", "Idempotency-Key: shop-" . hash("sha256", $orderId)];
    for ($attempt = 0; $attempt < 8; $attempt += 1) {
        $answer = call("/orders", $headers, json_encode(["order_id" => $orderId, ...$item]));
        $status = $answer["status"] ?? 0;
        if ($status === 201) {
            $row = [$answer["data"]["id"], $orderId];
            $books->prepare("UPDATE orders SET id = ? WHERE order_id = ?")->execute($row);
            return $answer["data"]["checkout_url"];
        }
        if ($status >= 400 && $status < 500 && $status !== 429) throw new Exception($answer["error"]["message"]);
        usleep(1_000_000 * ($answer["wait"] ?? 2 ** $attempt / 4));
    }
    throw new Exception("it is unknown whether the order exists");
}

/**
 * Retrieves the orders that are not final, and books each payment once; returns false if the API did not answer for
 * one of them.
 */
function settle(PDO $books): bool
{
    $open = $books->query("SELECT order_id, id FROM orders WHERE id IS NOT NULL AND status IN ('created', 'pending')");
    $isAnswered = true;
    foreach ($open->fetchAll() as ["order_id" => $orderId, "id" => $id]) {
        $answer = call("/checkout-sessions/$id");
        if (($answer["status"] ?? 0) !== 200) {
            $isAnswered = false;
            continue;
        }
        ["status" => $status, "amount_minor" => $amount] = $answer["data"];
        $books->exec("BEGIN IMMEDIATE");
        $change = "UPDATE orders SET status = ? WHERE order_id = ? AND status IN ('created', 'pending')";
        $update = $books->prepare($change);
        $update->execute([$status, $orderId]);
        if ($status === "succeeded" && $update->rowCount() === 1)
            $books->prepare("INSERT INTO bookings VALUES (?, ?)")->execute([$orderId, $amount]);
        $books->exec("COMMIT");
    }
    return $isAnswered;
}

function isGenuine(string $body): bool
{
    $timestamp = $_SERVER["HTTP_CHECKOUT_TIMESTAMP"] ?? "";
    $right = hash_hmac("sha256", "$timestamp.$body", getenv("CHECKOUT_SIGNING_SECRET"));
    $given = $_SERVER["HTTP_CHECKOUT_SIGNATURE"] ?? "";
    return hash_equals($right, $given) && abs(time() - (int) $timestamp) <= 300;
}

function answer(PDO $books): int
{
    if ($_SERVER["REQUEST_METHOD"] === "POST") {
        if (!isGenuine(file_get_contents("php://input"))) return 400;
        return settle($books) ? 204 : 503;
    }
    $select = $books->prepare("SELECT count(*) AS times, min(amount_minor) AS amount FROM bookings WHERE order_id = ?");
    $select->execute([basename($_SERVER["REQUEST_URI"])]);
    ["times" => $times, "amount" => $amount] = $select->fetch();
    echo json_encode(["paid" => $times > 0, "times" => $times, "amount_minor" => $amount]);
    return 200;
}

if (PHP_SAPI === "cli-server") http_response_code(answer($books));
elseif ($argv[1] === "create-order") echo createOrder($books, getenv("CHECKOUT_ORDER_ID")), "\n";
else
    while (true) {
        settle($books);
        usleep(PAUSE_US);
    }
