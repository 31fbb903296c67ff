import { expect, test } from "vitest";
import { createHarness, EPHEMERAL, type Harness, type RunningSandbox } from "../support/harness.ts";
import { textOf } from "../support/portal.ts";

/** A checkout as v1 tells it. */
type Sold = { readonly id: string; readonly status: string; readonly checkout_url: string };

/** A customer in a browser that runs no script. */
type Customer = {
  /** Loads a page. */
  readonly open: (address: string) => Promise<void>;
  /** Sends the first form whose button begins with a label, and loads the page that it leads to. */
  readonly press: (label: string) => Promise<void>;
  /** Loads the page of the first link that begins with a label. */
  readonly follow: (label: string) => Promise<void>;
  /** The markup of the first element of this name or class on the page, without its own tag. */
  readonly markup: (name: string) => string;
  readonly text: (name: string) => string;
};

function customerOf(sandbox: RunningSandbox): Customer {
  const { origin, host } = new URL(sandbox.ready.checkout_origin);
  const own = { Host: host, Authorization: "" };
  let page = "";
  const open: Customer["open"] = async (address) => {
    const { pathname, search } = new URL(address, origin);
    const { status, body } = await sandbox.request({ path: `${pathname}${search}`, headers: own });
    expect([address, status]).toEqual([address, 200]);
    page = String(body);
  };
  /** Of the matches of a pattern, the first whose last group reads like this. */
  const find = (pattern: RegExp, label: string): readonly string[] => {
    const found = [...page.matchAll(pattern)].find((match) => textOf(match.at(-1) ?? "").startsWith(label));
    if (found === undefined) throw new Error(`no ${label} on the page: ${textOf(page)}`);
    return found;
  };
  const markup: Customer["markup"] = (name) => {
    const opening = name.startsWith(".") ? `<(\\w+) class="${name.slice(1)}[^"]*"` : `<(${name})`;
    return new RegExp(`${opening}[^>]*>(.*?)</\\1>`, "s").exec(page)?.[2] ?? "";
  };
  return {
    open,
    press: async (label) => {
      const [, path = "", fields = ""] = find(/<form method="post" action="([^"]+)">(.*?)<\/form>/gs, label);
      const typed = Array.from(
        fields.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g),
        ([, name = "", value = ""]) => [name, value],
      );
      const { status, headers } = await sandbox.request({
        path,
        headers: {
          ...own,
          "Sec-Fetch-Site": "same-origin",
          "Content-Type": "application/x-www-form-urlencoded",
        },
        body: new URLSearchParams(typed).toString(),
      });
      expect([label, status]).toEqual([label, 303]);
      await open(headers["Location"] ?? "none");
    },
    follow: async (label) => open(find(/<a [^>]*href="([^"]+)"[^>]*>(.*?)<\/a\s*>/gs, label)[1] ?? "none"),
    markup,
    text: (name) => textOf(markup(name)),
  };
}

type Act = (customer: Customer, harness: Harness, sold: Sold) => Promise<unknown>;

/** Starts an attempt, and opens its wallet. */
async function start({ press, follow }: Customer): Promise<void> {
  await press("Pay with");
  await follow("Open the sandbox wallet here");
}

/** What the customer does in the wallet, and what the page and the order say at the end. */
const ENDINGS: readonly (readonly [name: string, act: Act, heading: string, status: string])[] = [
  ["pays", ({ press }) => press("Pay €"), "Payment successful", "succeeded"],
  [
    "is declined, and pays then",
    async (customer) => {
      await customer.press("Decline");
      expect(customer.text("h2")).toBe("Payment declined");
      await customer.follow("Back to the checkout page");
      expect(customer.text(".notice")).toContain("You can try again, up to 4 times");
      await start(customer);
      await customer.press("Pay €");
    },
    "Payment successful",
    "succeeded",
  ],
  [
    "is declined five times",
    async (customer, _harness, { checkout_url: page }) => {
      for (let attempt = 1; attempt < 5; attempt += 1) {
        await customer.press("Decline");
        await customer.open(page);
        await start(customer);
      }
      await customer.press("Decline");
    },
    "Payment failed",
    "failed",
  ],
  ["fails", ({ press }) => press("Fail"), "Payment failed", "failed"],
  ["cancels in the wallet", ({ press }) => press("Cancel"), "Payment cancelled", "cancelled"],
  [
    "cancels on the page, which asks once",
    async (customer, _harness, { checkout_url: page }) => {
      await customer.open(page);
      // A browser shows what is within when its summary is clicked.
      expect(customer.markup("details")).toMatch(/Cancel payment<\/summary>.*Yes, cancel the payment/s);
      await customer.press("Yes, cancel the payment");
    },
    "Payment cancelled",
    "cancelled",
  ],
  [
    "pays too late",
    async (customer) => {
      await customer.press("Pay too late");
      expect(customer.text(".notice")).toContain("was not applied to the order");
    },
    "This checkout has expired",
    "expired",
  ],
  [
    "walks away",
    async (customer, harness) => {
      await customer.follow("Walk away");
      expect(customer.text("h2")).toBe("You walked away");
      await harness.run(["sandbox", "clock", "advance", "1h"]);
    },
    "This checkout has expired",
    "expired",
  ],
];

test("every ending of a payment, with both methods, by the forms and links of the pages alone", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const customer = customerOf(sandbox);
  let orders = 0;
  const sell = async (method: string): Promise<Sold> => {
    orders += 1;
    const order = {
      order_id: `order-${orders}`,
      amount_minor: 1999,
      currency: "EUR",
      payment_method: method,
    };
    const headers = { "Idempotency-Key": `sale-number-${orders}` };
    const { body } = await sandbox.request({ path: "/v1/orders", headers, body: JSON.stringify(order) });
    return (JSON.parse(String(body)) as { readonly data: Sold }).data;
  };
  const statusOf = async ({ id }: Sold): Promise<string> => {
    const { body } = await sandbox.request({ path: `/v1/checkout-sessions/${id}` });
    return (JSON.parse(String(body)) as { readonly data: Sold }).data.status;
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
      // A paid page has a date and a reference.
      const [, moment = ""] = / datetime="([^"]+)"/.exec(customer.markup("dl")) ?? [];
      const isPaid = status === "succeeded";
      expect([name, /^\d{4}-\d\d-\d\dT/.test(moment)]).toEqual([name, isPaid]);
      expect([name, / 20\d\d, \d\d:\d\d UTC$/.test(customer.text("time"))]).toEqual([name, isPaid]);
      expect([name, customer.text("dl").includes(sold.id)]).toEqual([name, isPaid]);
    }
});
