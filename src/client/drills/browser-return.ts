import type { OrderView, ReturnFacts, Visit } from "../../core/readiness/drills/browser-return.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import type { Outcome } from "../../core/outcome.ts";
import { returnPage } from "../../core/checkout/return-origin.ts";
import { parseTarget, type Target } from "../../core/webhook/target.ts";
import { excerpt } from "../../core/text.ts";
import type { OutboundResult, World } from "../../world.ts";
import { poll } from "../poll.ts";
import { callControl, type ControlResult, type ControlTarget } from "../control/control.ts";
import { whileLeased } from "../control/lease.ts";

/** How to ask the merchant about an order: a URL or a command with `{order_id}` and `{session_id}`. */
export type OrderViewSource = {
  readonly from: { readonly url: string } | { readonly commandLine: string };
  /** The pattern that matches the answer if the order is paid. */
  readonly paidWhen: RegExp;
};

/** A customer who returns: the checkout, the page, and how to ask the merchant about it. */
export type BrowserReturn = {
  readonly checkout: Pick<Checkout, "id" | "orderId">;
  readonly page: string;
  readonly view: OrderViewSource;
  readonly signal: AbortSignal;
};

type ReturnWorld = Pick<World, "send" | "run" | "sleep" | "after" | "monotonic">;

/** Timeout of each request and each run of the command, in milliseconds. */
const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Maximum number of redirects to follow, as in a browser. */
const MAX_REDIRECTS = 5;
/** How long the merchant may need after a create or a return, in milliseconds. */
const SETTLE_MS = 1000;
/** How long the merchant has to accept the webhooks after they are released, in milliseconds. */
const CONFIRM_MS = 15_000;
const LOOK_AGAIN_MS = 250;
/** The longest that webhooks wait, in milliseconds: longer than a page with all its redirects and a view may take. */
const LEASE_MS = (MAX_REDIRECTS + 3) * TIMEOUT_MS;

/**
 * Simulates a customer who returns without paying, and again after the payment but before the webhooks, and asks the
 * merchant each time. The second time under a lease, so that all webhooks of the store wait.
 */
export async function drillBrowserReturn(
  world: ReturnWorld,
  target: ControlTarget,
  wanted: BrowserReturn,
): Promise<ControlResult<ReturnFacts>> {
  const { checkout, signal } = wanted;
  // First wait for what a new checkout causes, such as a webhook.
  await world.sleep(SETTLE_MS, signal);
  const before = await readView(world, target, wanted);
  const unpaid = await comeBack(world, target, wanted);
  if (signal.aborted) return { end: "interrupted" };
  const lease = { drill: "browser_return", timeoutMs: LEASE_MS, signal } as const;
  const early = await whileLeased<ReturnFacts["early"]>(world, target, lease, async () => {
    const paid = await callControl(world, target, {
      name: "pay",
      id: checkout.id,
      body: { outcome: "succeeded" },
    });
    return paid.end === "success" ? { end: "success", value: await comeBack(world, target, wanted) } : paid;
  });
  if (early.end !== "success") return early;
  const confirmed = await awaitPaid(world, target, wanted);
  if (signal.aborted) return { end: "interrupted" };
  return {
    end: "success",
    value: { checkoutId: checkout.id, before, unpaid, early: early.value, confirmed },
  };
}

/** Addresses that this drill may open: this machine, but not the sandbox (the rules of decision 14). */
export function drillTarget({ origin }: ControlTarget, url: string): Outcome<Target> {
  const { port } = new URL(origin);
  return parseTarget(url, { allowedHosts: [], ownPort: Number(port) });
}

/** A URL or a command line with the ids filled in. */
export function fillIn(
  template: string,
  { id, orderId }: BrowserReturn["checkout"],
  quote: (text: string) => string,
): string {
  return template.replaceAll("{order_id}", () => quote(orderId)).replaceAll("{session_id}", () => quote(id));
}

/** Opens the page as the customer's browser does, and asks about the order a moment later. */
async function comeBack(
  world: ReturnWorld,
  target: ControlTarget,
  wanted: BrowserReturn,
): Promise<ReturnFacts["unpaid"]> {
  const visit = await openPage(world, target, wanted);
  await world.sleep(SETTLE_MS, wanted.signal);
  return { visit, view: await readView(world, target, wanted) };
}

async function openPage(
  world: ReturnWorld,
  target: ControlTarget,
  { page, checkout, signal }: BrowserReturn,
): Promise<Visit> {
  let url = returnPage(page, checkout);
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const answer = await get(world, target, { url, headers: AS_A_BROWSER, signal });
    if (!answer.ok) return { arrived: false, got: `${answer.failure}: ${excerpt(answer.message)}` };
    const { status, headers } = answer;
    const location = status >= 300 && status < 400 ? headers["location"] : undefined;
    if (location === undefined || !URL.canParse(location, url))
      return { arrived: status >= 200 && status < 300, got: String(status) };
    url = new URL(location, url).href;
  }
  return { arrived: false, got: `more than ${MAX_REDIRECTS} redirects` };
}

const AS_A_BROWSER = {
  Accept: "text/html,application/xhtml+xml,*/*;q=0.8",
  "Sec-Fetch-Dest": "document",
  "Sec-Fetch-Mode": "navigate",
  "Sec-Fetch-Site": "cross-site",
};

/** Asks until the merchant says paid, or time is up. */
async function awaitPaid(
  world: ReturnWorld,
  target: ControlTarget,
  wanted: BrowserReturn,
): Promise<OrderView> {
  return poll(world, () => readView(world, target, wanted), {
    isEnough: ({ says }) => says === "paid" || wanted.signal.aborted,
    waitMs: CONFIRM_MS,
    firstPauseMs: LOOK_AGAIN_MS,
    signal: wanted.signal,
  });
}

function readView(world: ReturnWorld, target: ControlTarget, wanted: BrowserReturn): Promise<OrderView> {
  const { view, checkout, signal } = wanted;
  return "url" in view.from
    ? askPage(world, target, {
        url: fillIn(view.from.url, checkout, encodeURIComponent),
        paidWhen: view.paidWhen,
        signal,
      })
    : askCommand(world, {
        commandLine: fillIn(view.from.commandLine, checkout, (text) => text),
        paidWhen: view.paidWhen,
        signal,
      });
}

/** A 404 counts as an answer: an order that the merchant does not know yet is not paid. */
async function askPage(
  world: ReturnWorld,
  target: ControlTarget,
  {
    url,
    paidWhen,
    signal,
  }: { readonly url: string; readonly paidWhen: RegExp; readonly signal: AbortSignal },
): Promise<OrderView> {
  const answer = await get(world, target, {
    url,
    headers: { Accept: "application/json,text/*;q=0.9" },
    signal,
  });
  if (!answer.ok) return { says: "unknown", got: `${answer.failure}: ${excerpt(answer.message)}` };
  const { status, body } = answer;
  if (status === 404) return { says: "not_paid", got: "404" };
  if (status < 200 || status >= 300) return { says: "unknown", got: String(status) };
  return judgeText(body, paidWhen);
}

async function askCommand(
  world: ReturnWorld,
  {
    commandLine,
    paidWhen,
    signal,
  }: { readonly commandLine: string; readonly paidWhen: RegExp; readonly signal: AbortSignal },
): Promise<OrderView> {
  const { ending, exitCode, stdout, stderr } = await world.run({
    commandLine,
    env: {},
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_ANSWER_BYTES,
    signal,
  });
  if (ending === "exited" && exitCode === 0) return judgeText(stdout, paidWhen);
  const how = ending === "exited" ? `exit code ${exitCode ?? "none"}` : ending;
  return { says: "unknown", got: `${how}: ${excerpt(stderr)}` };
}

function judgeText(text: string, paidWhen: RegExp): OrderView {
  return { says: paidWhen.test(text) ? "paid" : "not_paid", got: excerpt(text) };
}

/** A GET to this machine; any other address counts as unreachable. */
async function get(
  world: ReturnWorld,
  target: ControlTarget,
  wanted: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
  },
): Promise<OutboundResult> {
  const allowed = drillTarget(target, wanted.url);
  if (!allowed.ok) return { ok: false, failure: "unreachable", message: allowed.refusal.message };
  const { url, addresses } = allowed.value;
  return world.send({
    method: "GET",
    url,
    headers: wanted.headers,
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
    ...(addresses === null ? {} : { addresses }),
    signal: wanted.signal,
  });
}
