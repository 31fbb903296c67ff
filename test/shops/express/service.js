import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fetch } from "../../support/light-fetch.cjs";
import { has } from "./breakage.js";

export const AMOUNT_MINOR = 1999;
export const CURRENCY = "EUR";
const TIMEOUT_MS = 10_000;
const MAX_TRIES = 6;
const FIRST_PAUSE_MS = 100;
const STARTED = Date.now();

/**
 * Creates the order of a purchase, and returns the address where the customer pays. The key is stored on disk first.
 */
export async function createOrder(books, orderId) {
  const key = wrongKey() ?? books.keyOf(orderId, randomUUID());
  for (let tries = 1; ; tries += 1) {
    const answer = await postOrder(orderId, { key, tries });
    if (answer?.status === 201) return answer.body.data.checkout_url;
    const isPassing = answer === undefined || answer.status === 429 || answer.status >= 500;
    if (!isPassing || tries === MAX_TRIES)
      throw new Error(`no order: ${answer === undefined ? "no answer" : JSON.stringify(answer.body)}`);
    await sleep(FIRST_PAUSE_MS * 2 ** tries * (0.5 + Math.random() / 2));
  }
}

function wrongKey() {
  if (has("constant_key")) return "express-shop-order";
  if (has("key_from_time")) return `order-${STARTED}`;
  return undefined;
}

/** Sends one attempt; undefined if there was no complete answer, so that an order may exist. */
async function postOrder(orderId, { key, tries }) {
  const order = {
    order_id: orderId,
    amount_minor: AMOUNT_MINOR,
    currency: "EUR",
    payment_method: "alipay_plus",
    description: has("describes_the_try") ? `Two tickets (try ${tries})` : "Two tickets",
  };
  try {
    return await call("/orders", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Idempotency-Key": has("new_key_each_try") ? randomUUID() : key,
      },
      body: JSON.stringify(order),
    });
  } catch {
    return undefined;
  }
}

/** The status of an order, according to the service. */
export async function askStatus(sessionId) {
  const { status, body } = await call(`/checkout-sessions/${encodeURIComponent(sessionId)}`, {});
  return status === 200 ? body.data : undefined;
}

async function call(path, { headers, ...init }) {
  const response = await fetch(`${process.env.CHECKOUT_BASE_URL}${path}`, {
    ...init,
    headers: { ...headers, Authorization: `Bearer ${process.env.CHECKOUT_API_KEY}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: response.status, body: await response.json() };
}
