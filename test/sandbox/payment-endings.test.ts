import type { HTMLElement } from "node-html-parser";
import { expect, test } from "vitest";
import { createHarness, EPHEMERAL, type Harness, type RunningSandbox } from "../support/harness.ts";
import { openTab, textIn } from "../support/tab.ts";
import { english } from "../../src/core/language.ts";
import { SHARED_TEXTS } from "../../src/sandbox/pages/shared/texts.ts";
import { PAYMENT_TEXTS } from "../../src/sandbox/pages/payment/texts.ts";

type SoldCheckout = { readonly id: string; readonly status: string; readonly checkout_url: string };

/** A customer in a browser without JavaScript. */
type Customer = {
  readonly open: (address: string) => Promise<void>;
  /** Clicks the first visible button whose text begins with a label, and follows its form. */
  readonly press: (label: string) => Promise<void>;
  /** Clicks the first visible link whose text begins with a label, and opens its page. */
  readonly follow: (label: string) => Promise<void>;
  /** Opens the first visible details whose summary begins with a label. */
  readonly unfold: (label: string) => Promise<void>;
  /** Whether a visible button has a text that begins with a label. */
  readonly offers: (label: string) => boolean;
  /** The text of the first visible element for a selector; empty if there is none. */
  readonly text: (selector: string) => string;
  /** The machine-readable value of the first visible time. */
  readonly moment: () => string | undefined;
};

function customerOf(sandbox: RunningSandbox): Customer {
  const tab = openTab(sandbox, { address: sandbox.ready.checkout_origin, cookies: new Map() });
  const find = (selector: string, label: string): HTMLElement | undefined =>
    tab.find(selector, (element) => textIn(element).startsWith(label));
  const click = async (selector: string, label: string): Promise<readonly number[]> => {
    const found = find(selector, label);
    if (found === undefined) throw new Error(`no ${label} on the page: ${textIn(tab.page())}`);
    return (await tab.press(found)).map(({ status }) => status);
  };
  return {
    open: async (address) => {
      const answers = await tab.load(address);
      expect([address, ...answers.map(({ status }) => status)]).toEqual([address, 200]);
    },
    press: async (label) =>
      expect([label, ...(await click("form button", label))]).toEqual([label, 303, 200]),
    follow: async (label) => expect([label, ...(await click("a", label))]).toEqual([label, 200]),
    unfold: async (label) => expect([label, ...(await click("summary", label))]).toEqual([label]),
    offers: (label) => find("form button", label) !== undefined,
    text: (selector) => {
      const found = tab.find(selector);
      return found === undefined ? "" : textIn(found);
    },
    moment: () => tab.find("dl time")?.getAttribute("datetime"),
  };
}

type Act = (customer: Customer, harness: Harness, sold: SoldCheckout) => Promise<unknown>;

/** Starts an attempt, and opens its wallet. */
async function start({ press, follow }: Customer): Promise<void> {
  await press("Pay ");
  await follow(english(PAYMENT_TEXTS.openWallet));
}

/** The beginning of the wallet's button that pays. */
const PAY = `${english(PAYMENT_TEXTS.confirm)} €`;

/** The customer's action in the wallet, and then the heading of the payment page and the status of the order. */
const ENDINGS: readonly (readonly [name: string, act: Act, heading: string, status: string])[] = [
  ["pays", ({ press }) => press(PAY), english(PAYMENT_TEXTS.result.succeeded), "succeeded"],
  [
    "is declined, and pays then",
    async (customer) => {
      await customer.press(english(PAYMENT_TEXTS.decline));
      expect(customer.text("h2")).toBe(english(PAYMENT_TEXTS.walletDeclined));
      await customer.follow(english(SHARED_TEXTS.backToCheckout));
      expect(customer.text(".notice")).toContain(english(PAYMENT_TEXTS.tryAgain(4)));
      await start(customer);
      await customer.press(PAY);
    },
    english(PAYMENT_TEXTS.result.succeeded),
    "succeeded",
  ],
  [
    "is declined five times",
    async (customer, _harness, { checkout_url: page }) => {
      for (let attempt = 1; attempt < 5; attempt += 1) {
        await customer.press(english(PAYMENT_TEXTS.decline));
        await customer.open(page);
        await start(customer);
      }
      await customer.press(english(PAYMENT_TEXTS.decline));
    },
    english(PAYMENT_TEXTS.result.failed),
    "failed",
  ],
  [
    "fails",
    ({ press }) => press(english(PAYMENT_TEXTS.fail)),
    english(PAYMENT_TEXTS.result.failed),
    "failed",
  ],
  [
    "cancels in the wallet",
    ({ press }) => press(english(PAYMENT_TEXTS.cancelInWallet)),
    english(PAYMENT_TEXTS.result.cancelled),
    "cancelled",
  ],
  [
    "cancels on the page, which asks once",
    async (customer, _harness, { checkout_url: page }) => {
      await customer.open(page);
      expect(customer.offers(english(PAYMENT_TEXTS.cancelSure))).toBe(false);
      await customer.unfold(english(PAYMENT_TEXTS.cancel));
      await customer.press(english(PAYMENT_TEXTS.cancelSure));
    },
    english(PAYMENT_TEXTS.result.cancelled),
    "cancelled",
  ],
  [
    "pays too late",
    async (customer) => {
      await customer.press(english(PAYMENT_TEXTS.tooLate));
      expect(customer.text(".notice")).toContain(english(PAYMENT_TEXTS.late));
    },
    english(PAYMENT_TEXTS.result.expired),
    "expired",
  ],
  [
    "walks away",
    async (customer, harness) => {
      await customer.follow(english(PAYMENT_TEXTS.walkAway));
      expect(customer.text("h2")).toBe(english(PAYMENT_TEXTS.walkedAway));
      await harness.run(["sandbox", "clock", "advance", "1h"]);
    },
    english(PAYMENT_TEXTS.result.expired),
    "expired",
  ],
];

test("the forms and links of the payment pages lead to every ending of a payment, with both payment methods", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const customer = customerOf(sandbox);
  let orders = 0;
  const sell = async (method: string): Promise<SoldCheckout> => {
    orders += 1;
    const order = {
      order_id: `order-${orders}`,
      amount_minor: 1999,
      currency: "EUR",
      payment_method: method,
    };
    const headers = { "Idempotency-Key": `sale-number-${orders}` };
    const { body } = await sandbox.request({ path: "/v1/orders", headers, body: JSON.stringify(order) });
    return (JSON.parse(String(body)) as { readonly data: SoldCheckout }).data;
  };
  const statusOf = async ({ id }: SoldCheckout): Promise<string> => {
    const { body } = await sandbox.request({ path: `/v1/checkout-sessions/${id}` });
    return (JSON.parse(String(body)) as { readonly data: SoldCheckout }).data.status;
  };
  for (const [name, act, heading, status] of ENDINGS)
    for (const method of ["alipay_plus", "wechat_pay"]) {
      const sold = await sell(method);
      await customer.open(sold.checkout_url);
      await start(customer);
      await act(customer, harness, sold);
      await customer.open(sold.checkout_url);
      const told = [name, method, customer.text("h1"), await statusOf(sold)];
      expect(told).toEqual([name, method, heading, status]);
      // Only the page of a paid order has a date and a reference.
      const isPaid = status === "succeeded";
      expect([name, /^\d{4}-\d\d-\d\dT/.test(customer.moment() ?? "")]).toEqual([name, isPaid]);
      expect([name, / 20\d\d, \d\d:\d\d UTC$/.test(customer.text("time"))]).toEqual([name, isPaid]);
      expect([name, customer.text("dl").includes(sold.id)]).toEqual([name, isPaid]);
    }
});
