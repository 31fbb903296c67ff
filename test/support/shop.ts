import { onTestFinished } from "vitest";
import type { ReadyMessage } from "../../src/host/ready.ts";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { launchBrowser } from "./browser.ts";
import { runHere, startSandbox, startSandboxHere, type Result } from "./program.ts";
import { tempFolder } from "./temp-folder.ts";

/** Timeout for an expected change of a page, for a busy machine. */
const PAGE_TIMEOUT_MS = 60_000;

/** A checkout in an answer of v1. */
export type SoldCheckout = { readonly id: string; readonly status: string; readonly checkout_url: string };

/** The settings of a customer's browser. */
export type Customer = Pick<
  BrowserContextOptions,
  "locale" | "colorScheme" | "javaScriptEnabled" | "viewport" | "hasTouch" | "isMobile"
>;

/** A merchant with a sandbox and customers with a real browser. Everything ends with the test. */
export type Shop = {
  readonly sandbox: {
    readonly ready: ReadyMessage;
    readonly port: number;
    /** Stops the sandbox as a signal does, and waits for its end. */
    readonly stop: (signal: "SIGTERM") => Promise<unknown>;
  };
  /** Creates an order from these fields and defaults. */
  readonly sell: (body?: Readonly<Record<string, unknown>>) => Promise<SoldCheckout>;
  readonly statusOf: (sold: SoldCheckout) => Promise<string>;
  /** Runs a command line in the merchant's folder. */
  readonly command: (...args: readonly string[]) => Promise<Result>;
  /** Opens a new browser profile; `complaints` collects the errors of its pages. */
  readonly visit: (url: string, customer?: Customer) => Promise<Page>;
  readonly complaints: string[];
};

/** Another host name of the sandbox for its customers, if the sandbox allows it. */
export const OTHER_HOST = "checkout.test";

/** One browser serves all tests of a worker, with a profile for each customer. */
let launched: Promise<Browser> | undefined;

/** The browser of this worker, which is started once, and ends with the worker. */
export function sharedBrowser(): Promise<Browser> {
  launched ??= launchBrowser([`--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`]);
  return launched;
}

/** Opens a shop whose sandbox has these arguments, in this process or as the real program. */
export async function openShop(args: readonly string[] = [], by: "here" | "program" = "here"): Promise<Shop> {
  const cwd = tempFolder();
  const start = by === "here" ? startSandboxHere : startSandbox;
  const [sandbox, browser] = await Promise.all([start({ cwd, args }), sharedBrowser()]);
  const customers: BrowserContext[] = [];
  onTestFinished(async () => void (await Promise.all(customers.map((customer) => customer.close()))));
  const { base_url, api_key } = sandbox.ready;
  const authorization = `Bearer ${api_key ?? ""}`;
  const complaints: string[] = [];
  let sales = 0;

  const call = async (path: string, init: RequestInit): Promise<SoldCheckout> => {
    const response = await fetch(`${base_url}${path}`, init);
    const answer = (await response.json()) as { readonly data?: SoldCheckout };
    if (answer.data === undefined) throw new Error(JSON.stringify(answer));
    return answer.data;
  };
  const sell: Shop["sell"] = (body = {}) => {
    sales += 1;
    const order = {
      order_id: `order-${sales}`,
      amount_minor: 1999,
      currency: "EUR",
      payment_method: "alipay_plus",
      description: "Two concert tickets",
      ...body,
    };
    const headers = {
      authorization,
      "content-type": "application/json",
      "idempotency-key": `sale-number-${sales}`,
    };
    return call("/orders", { method: "POST", headers, body: JSON.stringify(order) });
  };
  const visit: Shop["visit"] = async (url, customer = {}) => {
    const context = await browser.newContext({ locale: "en-US", reducedMotion: "reduce", ...customer });
    customers.push(context);
    context.setDefaultTimeout(PAGE_TIMEOUT_MS);
    // These events come from all tabs of the profile.
    context.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    context.on("weberror", (thrown) => complaints.push(thrown.error().message));
    context.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  return {
    sandbox,
    sell,
    visit,
    complaints,
    command: (...line) => runHere(line, { cwd }),
    statusOf: async ({ id }) =>
      (await call(`/checkout-sessions/${id}`, { headers: { authorization } })).status,
  };
}
