import { openTab, textIn, type Tab } from "../tab.ts";
import { bodyOf } from "../v1-calls.ts";
import { agree } from "./agree.ts";
import { fetchParts } from "./parts.ts";
import type { Site } from "./site.ts";
import { english, type Words } from "../../../src/core/language.ts";
import { PAYMENT_TEXTS } from "../../../src/sandbox/pages/payment/texts.ts";

const TEXTS = PAYMENT_TEXTS;
const TO_WALLET = [english(TEXTS.payWith.alipay_plus), english(TEXTS.openWallet)];

/** The payer's clicks, beginning on the payment page, the heading after them, and the status of the order. */
const OUTCOMES: readonly (readonly [presses: readonly string[], heading: Words, status: string])[] = [
  [[...TO_WALLET, `${english(TEXTS.confirm)} €`], TEXTS.result.succeeded, "succeeded"],
  [[...TO_WALLET, english(TEXTS.decline)], TEXTS.walletDeclined, "pending"],
  [[...TO_WALLET, english(TEXTS.fail)], TEXTS.result.failed, "failed"],
  [[...TO_WALLET, english(TEXTS.cancelInWallet)], TEXTS.result.cancelled, "cancelled"],
  [[english(TEXTS.cancel), english(TEXTS.cancelSure)], TEXTS.result.cancelled, "cancelled"],
  [[...TO_WALLET, english(TEXTS.tooLate)], TEXTS.result.expired, "expired"],
  [[...TO_WALLET, english(TEXTS.walkAway)], TEXTS.walkedAway, "pending"],
];

/** Uses the payment page with each outcome, by the forms and links of the pages. */
export async function walkPayments(site: Site): Promise<void> {
  const sandbox = { ready: site.ready, request: site.request, stop: () => Promise.reject(new Error("none")) };
  for (const [index, [presses, heading, status]] of OUTCOMES.entries()) {
    const order = {
      order_id: `paid-${index}`,
      amount_minor: 1999,
      currency: "EUR",
      payment_method: "alipay_plus",
    };
    const made = await site.request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": `payment-${index}` },
      body: JSON.stringify(order),
    });
    const { id, checkout_url: page } = bodyOf(made).data ?? {};
    const tab = openTab(sandbox, { address: String(page), cookies: new Map() });
    agree(
      "the payment page",
      (await tab.load("")).map((answer) => answer.status),
      [200],
    );
    await fetchParts(tab.page(), tab.address(), site.request);
    if (index === 0) await noteView(tab, site);
    for (const label of presses) await press(tab, label);
    const title = english(heading);
    const shown = tab.find("h1, h2", (element) => textIn(element) === title);
    agree(title, shown === undefined ? textIn(tab.page()) : title, title);
    const session = await site.request({ path: `/v1/checkout-sessions/${String(id)}` });
    agree(presses.join(", "), bodyOf(session).data?.["status"], status);
  }
}

/** Reports a view of the page, as the page's script does in a browser. */
async function noteView(tab: Tab, site: Site): Promise<void> {
  const views = tab.page().querySelector("page-views");
  const { status } = await site.request({
    path: views?.getAttribute("to") ?? "",
    headers: { "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ token: views?.getAttribute("token") ?? "", kind: "opened" }).toString(),
  });
  agree("the view of a page", status, 204);
}

async function press(tab: Tab, label: string): Promise<void> {
  const found = tab.find("a, form button, summary", (element) => textIn(element).startsWith(label));
  if (found === undefined) throw new Error(`no ${label} on the page: ${textIn(tab.page())}`);
  const refused = (await tab.press(found)).filter(({ status }) => status >= 400);
  agree(label, refused, []);
}
