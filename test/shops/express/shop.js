// A shop with Express. `node shop.js` serves it; `node shop.js create-order` creates the order CHECKOUT_ORDER_ID.
// Settings: CHECKOUT_BASE_URL, CHECKOUT_API_KEY, CHECKOUT_SIGNING_SECRET, SHOP_FOLDER, PORT.
import { randomUUID } from "node:crypto";
import { openBooks } from "./books.js";
import { has } from "./breakage.js";
import { AMOUNT_MINOR, CURRENCY, askStatus, createOrder } from "./service.js";
import { isGenuine } from "./webhook.js";

const { CHECKOUT_ORDER_ID, CHECKOUT_SIGNING_SECRET, PORT = "3000", SHOP_FOLDER = "." } = process.env;
const books = openBooks(SHOP_FOLDER);

if (process.argv[2] === "create-order") console.log(await createOrder(books, CHECKOUT_ORDER_ID));
else await serve();

async function serve() {
  if (!CHECKOUT_SIGNING_SECRET) throw new Error("CHECKOUT_SIGNING_SECRET is not set");
  // The command that creates an order does not need Express.
  const { default: express } = await import("express");
  const app = express();

  // Before express.json(), because a parser that runs first consumes the bytes.
  app.post("/hooks", express.raw({ type: () => true }), (request, response) => {
    if (!isGenuine(request.body, request.headers, CHECKOUT_SIGNING_SECRET)) return response.sendStatus(400);
    books.book(JSON.parse(request.body));
    return response.sendStatus(204);
  });

  app.post("/buy", express.json(), async (request, response) => {
    const orderId = request.body?.order_id ?? `web-${randomUUID().slice(0, 8)}`;
    response.redirect(303, await createOrder(books, orderId));
  });

  // Only the service knows whether a returning customer has paid.
  app.get("/thanks", async (request, response) => {
    const { order_id: orderId = "", session_id: sessionId = "" } = request.query;
    if (has("believes_the_return")) books.setStatus(orderId, "succeeded");
    const told = await askStatus(sessionId);
    const isOurPrice = told?.amount_minor === AMOUNT_MINOR && told.currency === CURRENCY;
    if (told?.order_id === orderId && isOurPrice) books.setStatus(orderId, told.status);
    const isPaid = books.order(orderId)?.status === "paid";
    response.send(isPaid ? "Thank you for your order." : "We wait for your payment.");
  });

  app.get("/orders/:orderId", (request, response) => {
    const order = books.order(request.params.orderId);
    return order === undefined ? response.sendStatus(404) : response.json(order);
  });

  const server = app.listen(Number(PORT), "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${server.address().port}`);
  });
  // The shop ends with the process that started it.
  process.stdin.resume().on("close", () => process.exit());
}
