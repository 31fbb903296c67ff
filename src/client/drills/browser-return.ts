import type { ReturnFacts, Visit } from "../../core/readiness/drills/browser-return.ts";
import { returnPage } from "../../core/checkout/return-origin.ts";
import { excerpt } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { callControl, succeeded, type ControlResult, type ControlTarget } from "../control/control.ts";
import { whileLeased } from "../control/lease.ts";
import {
  awaitPaid,
  getLocally,
  LOOK_TIMEOUT_MS,
  readView,
  viewOf,
  type LookWorld,
  type OrderLook,
} from "./order-view.ts";

/** A customer who returns: the checkout, the page, and how to ask the merchant about it. */
type BrowserReturn = Omit<OrderLook, "target"> & { readonly page: string };

type ReturnWorld = LookWorld & Pick<World, "after">;
type Returning = OrderLook & { readonly page: string };

/** Maximum number of redirects to follow, as in a browser. */
const MAX_REDIRECTS = 5;
/** How long the merchant may need after a create, in milliseconds. */
const SETTLE_MS = 1000;
/** How long a merchant is watched who may believe a return, late, in milliseconds. */
const BELIEVE_MS = 6000;
/**
 * How long the merchant has to accept the webhooks after they are released, in milliseconds: those of the drill come after
 * what has waited, and a right receiver may take its time with each.
 */
const CONFIRM_MS = 90_000;
/** The longest that webhooks wait, in milliseconds: longer than a page with all its redirects and the views may take. */
const LEASE_MS = (MAX_REDIRECTS + 3) * LOOK_TIMEOUT_MS + BELIEVE_MS;

/**
 * Simulates a customer who returns without paying, and again after the payment but before the webhooks, and asks the
 * merchant each time, for some seconds. The second time under a lease, so that all webhooks of the store wait, and the
 * sandbox sees whether the merchant asks the API.
 */
export async function drillBrowserReturn(
  world: ReturnWorld,
  target: ControlTarget,
  wanted: BrowserReturn,
): Promise<ControlResult<ReturnFacts>> {
  const { checkout, signal } = wanted;
  const returning = { ...wanted, target };
  // First wait for what a new checkout causes, such as a webhook.
  await world.sleep(SETTLE_MS, signal);
  const before = viewOf(await readView(world, returning));
  const unpaid = await comeBack(world, returning);
  if (signal.aborted) return { end: "interrupted" };
  const lease = { drill: "browser_return", timeoutMs: LEASE_MS, signal } as const;
  const early = await whileLeased<ReturnFacts["early"]>(world, target, lease, ({ id }) =>
    payAndComeBack(world, returning, id),
  );
  if (early.end !== "success") return early;
  const confirmed = viewOf(await awaitPaid(world, returning, CONFIRM_MS));
  if (signal.aborted) return { end: "interrupted" };
  return succeeded({ checkoutId: checkout.id, before, unpaid, early: early.value, confirmed });
}

async function payAndComeBack(
  world: ReturnWorld,
  returning: Returning,
  leaseId: string,
): Promise<ControlResult<ReturnFacts["early"]>> {
  const { target, checkout } = returning;
  const paid = await callControl(world, target, {
    name: "pay",
    id: checkout.id,
    body: { outcome: "succeeded" },
  });
  if (paid.end !== "success") return paid;
  const back = await comeBack(world, returning);
  const seen = await callControl(world, target, { name: "listRetrieves", id: leaseId, body: undefined });
  if (seen.end !== "success") return seen;
  return succeeded({ ...back, asked: seen.value.paidCheckouts.includes(checkout.id) });
}

/** Opens the page as the customer's browser does, and asks about the order until it is paid or time is up. */
async function comeBack(world: ReturnWorld, returning: Returning): Promise<ReturnFacts["unpaid"]> {
  const visit = await openPage(world, returning);
  return { visit, view: viewOf(await awaitPaid(world, returning, BELIEVE_MS)) };
}

async function openPage(world: ReturnWorld, { target, page, checkout, signal }: Returning): Promise<Visit> {
  let url = returnPage(page, checkout);
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const answer = await getLocally(world, target, { url, headers: AS_A_BROWSER, signal });
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
