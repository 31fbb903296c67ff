import type { Cause } from "../../src/core/readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../../src/core/readiness/drills/judged-invariants.ts";
import type { DrillCause } from "../../src/core/readiness/drills/webhook-advice.ts";
import type { HurriedShop } from "./whole-shops.ts";

const VIEW = "--order-view {shop}/orders/{order_id}";
const PAID = `${VIEW} --paid-when "paid"`;
const WEBHOOKS = `webhooks ${VIEW}`;
const IDEMPOTENCY = "idempotency --client-command {client}";

/** A client with curl, which repeats the request with the key of its order. */
const CURL = `KEY=shop-$(printf %s "$CHECKOUT_ORDER_ID" | cksum | tr -d ' ')
BODY="{\\"order_id\\":\\"$CHECKOUT_ORDER_ID\\",\\"amount_minor\\":1999,\\"currency\\":\\"EUR\\",\\"payment_method\\":\\"wechat_pay\\"}"
create() {
  curl -sS -f --max-time 10 "$CHECKOUT_BASE_URL/orders" -H "Authorization: Bearer $CHECKOUT_API_KEY" \\
    -H "Content-Type: application/json" -H "Idempotency-Key: $KEY" -d "$BODY"
}
`;
const HASH = `{hashlib.sha256(order_id.encode()).hexdigest()}`;
const HEADER_AGE = "abs(age) <= tolerance";
const BODY_AGE =
  "abs(time.time() - __import__('datetime').datetime.fromisoformat(json.loads(body)['created_at'].replace('Z', '+00:00')).timestamp()) <= 300";

/** Shops in several languages, each with a cause or rule that its drill reports; none if the drill passes. */
export const HURRIED_SHOPS: readonly (HurriedShop & {
  readonly cause?: Cause | DrillCause | JudgedInvariant;
})[] = [
  {
    name: "a client in sh and curl that repeats its request",
    language: "python",
    client: `${CURL}for wait in 1 1 2 2 4 4; do create && exit 0; sleep $wait; done; exit 1`,
    drill: IDEMPOTENCY,
  },
  {
    name: "a client in sh whose exit code is that of the end of a pipe",
    language: "python",
    client: `${CURL}create | tee order.json`,
    drill: IDEMPOTENCY,
    cause: "claims_success",
  },
  {
    name: "a client in Python whose key is hash(), which each process salts",
    language: "python",
    changes: [[HASH, "{hash(order_id)}"]],
    drill: IDEMPOTENCY,
    cause: "new_key",
  },
  {
    name: "a receiver in Python that looks at the age of created_at",
    language: "python",
    changes: [[HEADER_AGE, `${HEADER_AGE} and ${BODY_AGE}`]],
    drill: WEBHOOKS,
    cause: "reads_created_at",
  },
  {
    name: "a receiver in Node whose secret for livemode is not set",
    language: "node",
    changes: [
      [
        'createHmac("sha256", CHECKOUT_SIGNING_SECRET)',
        'createHmac("sha256", /"livemode":true/.test(body) ? (process.env.LIVE_SECRET ?? "") : CHECKOUT_SIGNING_SECRET)',
      ],
    ],
    drill: WEBHOOKS,
    cause: "chooses_secret",
  },
  {
    name: "a receiver in Node that compares base64",
    language: "node",
    changes: [['.digest("hex");\n  // While', '.digest("base64");\n  // While']],
    drill: WEBHOOKS,
    cause: "fails_in_check",
  },
  {
    name: "a shop in Node that drops what comes while it is busy",
    language: "node",
    changes: [
      [
        "({ body, headers }, response) => {\n  if (!Buffer",
        "async ({ body, headers }, response) => {\n  if (!Buffer",
      ],
      [
        "  book(JSON.parse(body));",
        "  if (globalThis.isBusy) return response.sendStatus(200);\n  globalThis.isBusy = true;\n  await sleep(200);\n  book(JSON.parse(body));\n  globalThis.isBusy = false;",
      ],
      [
        "isOurPrice && selectOrder.get({ id: data.order_id }) !== undefined",
        "insertOrder.run(data.order_id) !== undefined",
      ],
    ],
    drill: `duplicates ${PAID} --quick`,
    cause: "booked_when_paid",
  },
  {
    name: "a page in Node that asks about the session in the address, and books the order in it",
    language: "node",
    changes: [
      [
        'response.send(data?.status === "succeeded"',
        'if (data?.status === "succeeded") moveOn.run({ id: query.order_id, order_id: query.order_id, status: data.status, sequence: 9 });\n  response.send(data?.status === "succeeded"',
      ],
    ],
    drill: `browser-return ${PAID} --return-url {shop}/thanks --create {client}`,
    cause: "mixes_orders",
  },
];
