import { english } from "../../core/language.ts";
import { STEP_RESULTS, lostAnswerText, LIST_ITEMS } from "../../core/readiness/drill-sentences.ts";
import { RETURN_WAYS, type ReturnFacts, type Visit } from "../../core/readiness/drills/browser-return.ts";
import { hasGrownTwiceAsFar } from "../../core/readiness/drills/order-view.ts";
import { returnUrl } from "../../core/checkout/return-origin.ts";
import { excerpt } from "../../core/text.ts";
import type { OutboundResult, World } from "../../world.ts";
import { callControl, wrapAnswer, type ControlResult, type ControlTarget } from "../control/control.ts";
import { withLease } from "../control/lease.ts";
import { createCookieJar, type CookieJar } from "./cookies.ts";
import { deliverRateLimitedEvents } from "./rate-limited-events.ts";
import {
  awaitKnownOrder,
  awaitPaidOrder,
  sendLocally,
  watchView,
  VIEW_TIMEOUT_MS,
  readView,
  readingWithoutText,
  type ViewedCheckout,
  type ViewWorld,
  type ViewRequest,
  type ViewReading,
} from "./order-view.ts";

/** The return of a customer: the checkout, the page, and the merchant's view of the order. */
type BrowserReturn = Omit<ViewRequest, "target"> & {
  readonly page: string;
  /** Whether the drill, not the shop, created the checkout. */
  readonly isOwn: boolean;
  /**
   * Two other checkouts, if they exist: the first is paid, and the customer returns with its session and the drilled
   * checkout's order_id; the payer cancels the second.
   */
  readonly others: readonly ViewedCheckout[];
};

type ReturnWorld = ViewWorld & Pick<World, "after">;
type ReturnContext = ViewRequest &
  Pick<BrowserReturn, "page" | "others"> & {
    /** The cookies of the customer's browser, kept for all visits, so that the shop recognises its session. */
    readonly cookies: CookieJar;
  };

/** Maximum number of redirects to follow, as in a browser. */
const MAX_REDIRECTS = 5;
/** Time for the merchant to process a create, in milliseconds. */
const SETTLE_MS = 1000;
/** How long the view is watched for a shop that trusts a return late, in milliseconds. */
const BELIEVE_MS = 6000;
/**
 * Time for the merchant to accept the webhooks after they are released, in milliseconds: the drill's webhooks follow
 * the held ones, and a correct receiver may be slow.
 */
const CONFIRM_MS = 90_000;
/** Time after which the drill resends events that a rate limit refused, in milliseconds. */
const CONFIRM_SOON_MS = 10_000;
/** Time for the shop to process a payment, and how long the view is watched after the last visit, in milliseconds. */
const FULFIL_MS = 4000;
const AGAIN_MS = 3000;
/** Pause before a page that answered 429 is reopened, in milliseconds. */
const LIMITED_PAUSE_MS = 1100;
const MAX_LIMITED = 5;
/**
 * Maximum time for which webhooks are held, in milliseconds: longer than a page with all its redirects and the views
 * can take.
 */
const LEASE_MS = (MAX_REDIRECTS + 3) * VIEW_TIMEOUT_MS + BELIEVE_MS;
/** Duration of the drill without its waits, with a shop that answers in 50 ms, in milliseconds. */
const WORK_MS = 4000;
/** Duration of the drill with a shop that waits for the webhook, and its waits, in milliseconds. */
export const RETURN_TIME = {
  totalMs: SETTLE_MS + 3 * BELIEVE_MS + FULFIL_MS + AGAIN_MS + WORK_MS,
  waitMs: SETTLE_MS + 3 * BELIEVE_MS + FULFIL_MS + AGAIN_MS,
} as const;

/**
 * Simulates a customer who returns without paying, with the usual request and with other requests, and who returns
 * again after the payment but before the webhooks. Reads the merchant's view for a few seconds after each return.
 * During the last return the drill holds a lease: the store's webhooks are held, and the sandbox records whether the
 * merchant retrieves the session. After the webhooks the customer returns once more: the order must not be booked
 * again.
 */
export async function drillBrowserReturn(
  world: ReturnWorld,
  target: ControlTarget,
  wanted: BrowserReturn,
): Promise<ControlResult<ReturnFacts>> {
  const { checkout, signal, isOwn } = wanted;
  const returning = { ...wanted, target, cookies: createCookieJar() };
  const known = await introduce(world, returning);
  const start = { checkoutId: checkout.id, isOwn, ...NO_RETURN_FACTS };
  if (known.isMissing) return wrapAnswer({ ...start, before: readingWithoutText(known), isUnknown: true });
  // Gives the shop time to process the effects of a new checkout, such as its webhook.
  await world.sleep(SETTLE_MS, signal);
  const before = readingWithoutText(await readView(world, returning));
  const unpaid = await returnOnce(world, returning);
  const isBelieved = unpaid.view.says === "paid";
  const otherwise = isBelieved ? wrapAnswer(null) : await returnOtherwise(world, returning);
  if (otherwise.end !== "success") return otherwise;
  if (signal.aborted) return { end: "interrupted" };
  const lease = { drill: "browser_return", timeoutMs: LEASE_MS, signal } as const;
  const early = await withLease<EarlyReturn>(world, target, lease, ({ id }) =>
    payAndComeBack(world, returning, id),
  );
  if (early.end !== "success") return early;
  const { texts, ...paid } = early.value;
  const confirmed = await awaitConfirmed(world, returning);
  const again = confirmed.says === "paid" ? await returnAfterBooking(world, returning, texts) : null;
  if (signal.aborted) return { end: "interrupted" };
  return wrapAnswer({
    ...start,
    before,
    unpaid,
    otherwise: otherwise.value,
    early: paid,
    confirmed: readingWithoutText(confirmed),
    again,
  });
}

/** The view before and after the first booking; `after` is empty if the webhooks caused it. */
type BookedTexts = { readonly before: string; readonly after: string };

/** The return that follows the payment but precedes the webhooks. */
type EarlyReturn = NonNullable<ReturnFacts["early"]> & { readonly texts: BookedTexts };

/**
 * Checks whether the webhooks booked an order again that the return had already booked, and whether another return
 * books it again.
 */
async function returnAfterBooking(
  world: ReturnWorld,
  returning: ReturnContext,
  booked: BookedTexts,
): Promise<NonNullable<ReturnFacts["again"]>> {
  const { before } = booked;
  const watch = async (once: string): Promise<ViewReading & { readonly isTwice: boolean }> => {
    const isTwice = ({ text }: ViewReading): boolean =>
      hasGrownTwiceAsFar({ before, after: text }, { before, after: once });
    const isEnough = (seen: ViewReading): boolean => seen.says === "not_paid" || isTwice(seen);
    const seen = await watchView(world, returning, { isEnough, waitMs: AGAIN_MS });
    return { ...seen, isTwice: isTwice(seen) };
  };
  await world.sleep(FULFIL_MS, returning.signal);
  const settled = await readView(world, returning);
  const once = booked.after === "" ? settled.text : booked.after;
  const isBooked = hasGrownTwiceAsFar({ before, after: settled.text }, { before, after: once });
  if (isBooked) return { view: readingWithoutText(settled), isTwice: true };
  await openPage(world, returning, {});
  const { isTwice, ...seen } = await watch(settled.text);
  return { view: readingWithoutText(seen), isTwice };
}

/** Waits until the shop knows the order, and resends events that a rate limit refused. */
async function introduce(world: ReturnWorld, returning: ReturnContext): Promise<ViewReading> {
  const known = await awaitKnownOrder(world, returning);
  if (!known.isMissing || (await deliverRateLimitedEvents(world, returning)) === 0) return known;
  return awaitKnownOrder(world, returning);
}

/** Waits until the shop shows the payment, and resends events that a rate limit refused. */
async function awaitConfirmed(world: ReturnWorld, returning: ReturnContext): Promise<ViewReading> {
  const soon = await awaitPaidOrder(world, returning, CONFIRM_SOON_MS);
  if (soon.says === "paid") return soon;
  await deliverRateLimitedEvents(world, returning);
  return awaitPaidOrder(world, returning, CONFIRM_MS - CONFIRM_SOON_MS);
}

const NO_RETURN_FACTS = {
  isUnknown: false,
  unpaid: null,
  otherwise: null,
  early: null,
  confirmed: null,
  again: null,
};

async function payAndComeBack(
  world: ReturnWorld,
  returning: ReturnContext,
  leaseId: string,
): Promise<ControlResult<EarlyReturn>> {
  const { target, checkout, signal } = returning;
  // A change by an earlier event is not a booking.
  const before = (await readView(world, returning)).text;
  const paid = await callControl(world, target, {
    name: "pay",
    id: checkout.id,
    body: { outcome: "succeeded", leaseId },
    signal,
  });
  if (paid.end !== "success") return paid;
  const back = await returnOnce(world, returning);
  const seen = await callControl(world, target, {
    name: "listRetrieves",
    id: leaseId,
    body: undefined,
    signal,
  });
  if (seen.end !== "success") return seen;
  const fact = { ...back, asked: seen.value.paidCheckouts.includes(checkout.id) };
  if (back.view.says !== "paid") return wrapAnswer({ ...fact, texts: { before, after: "" } });
  await world.sleep(FULFIL_MS, signal);
  const after = (await readView(world, returning)).text;
  return wrapAnswer({ ...fact, texts: { before, after } });
}

/** Opens the page as the customer's browser does, and reads the view until the order is paid, or until the timeout. */
async function returnOnce(
  world: ReturnWorld,
  returning: ReturnContext,
): Promise<NonNullable<ReturnFacts["unpaid"]>> {
  const visit = await openPage(world, returning, {});
  return { visit, view: readingWithoutText(await awaitPaidOrder(world, returning, BELIEVE_MS)) };
}

/**
 * Simulates each other form of return and reads the view after each. The result is the first reading that shows the
 * order paid, otherwise the last reading.
 */
async function returnOtherwise(
  world: ReturnWorld,
  returning: ReturnContext,
): Promise<ControlResult<ReturnFacts["otherwise"]>> {
  for (const [way, visit] of Object.entries<ReturnRequest>(OTHER_WAYS)) {
    await openPage(world, returning, visit);
    const view = readingWithoutText(await readView(world, returning));
    if (view.says === "paid") return wrapAnswer({ way, view });
  }
  const lease = { drill: "browser_return", timeoutMs: LEASE_MS, signal: returning.signal } as const;
  const returned = await withLease<ReturnFacts["otherwise"]>(world, returning.target, lease, ({ id }) =>
    returnToPage(world, returning, id),
  );
  if (returned.end !== "success" || returned.value !== null) return returned;
  return wrapAnswer({
    way: english(LIST_ITEMS.otherWays),
    view: readingWithoutText(await awaitPaidOrder(world, returning, BELIEVE_MS)),
  });
}

/**
 * Returns while the payment is pending, with the session of a second order that is paid, and from a third order whose
 * payer has cancelled: a page that retrieves the session must check the whole answer. Null if the shop trusts none of
 * them.
 */
async function returnToPage(
  world: ReturnWorld,
  returning: ReturnContext,
  leaseId: string,
): Promise<ControlResult<ReturnFacts["otherwise"]>> {
  const {
    target,
    checkout,
    signal,
    others: [paid, cancelled],
  } = returning;
  const ways = [
    { of: checkout, outcome: "declined", way: RETURN_WAYS.pending, back: checkout },
    { of: paid, outcome: "succeeded", way: RETURN_WAYS.otherSession, back: checkout },
    { of: cancelled, outcome: "cancelled", way: RETURN_WAYS.cancelled, back: cancelled },
  ] as const;
  for (const { of, outcome, way, back } of ways) {
    if (of === undefined || back === undefined) continue;
    const body = { outcome, leaseId };
    const acted = await callControl(world, target, { name: "pay", id: of.id, body, signal });
    if (acted.end !== "success") return acted;
    const coming = { ...returning, checkout: back };
    await openPage(world, coming, { session: of.id });
    const view = readingWithoutText(await readView(world, coming));
    if (view.says === "paid") return wrapAnswer({ way, view });
  }
  return wrapAnswer(null);
}

/** A request of a returning customer: its query, its method, and its referring page. */
type ReturnRequest = {
  /** Default: the order's session. Null: none. */
  readonly session?: string | null;
  readonly query?: string;
  readonly method?: "GET" | "POST";
  /** Default: the payment page. */
  readonly from?: "shop" | "nowhere";
};

const PAID_QUERY = "&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS";
/** A query that reports success with the parameters of other services. */
const OTHER_QUERY = "&status=paid&payment_status=paid&success=true&result=success&result_code=SUCCESS";
const THIRD_QUERY = "&status=success&state=completed&success=1&paid=1";

const OTHER_WAYS = {
  [english(LIST_ITEMS.withQuery(PAID_QUERY))]: { query: PAID_QUERY },
  [english(LIST_ITEMS.withQuery(OTHER_QUERY))]: { query: OTHER_QUERY },
  [english(LIST_ITEMS.byPost)]: { method: "POST" },
  [english(LIST_ITEMS.fromShop(THIRD_QUERY))]: { query: THIRD_QUERY, from: "shop" },
  [english(LIST_ITEMS.reloaded)]: { from: "nowhere" },
  [english(LIST_ITEMS.withoutSession)]: { session: null },
} satisfies Readonly<Record<string, ReturnRequest>>;

async function openPage(
  world: ReturnWorld,
  { target, page, checkout, signal, cookies }: ReturnContext,
  { session = checkout.id, query = "", method = "GET", from }: ReturnRequest,
): Promise<Visit> {
  const address = returnUrl(page, { ...checkout, id: session ?? "" });
  let url = `${session === null ? address.replace(/&session_id=$/, "") : address}${query}`;
  const referer = refererOf(from, { shop: new URL(page).origin, ...target });
  const headers = { ...BROWSER_HEADERS, ...referer };
  const form = {
    ...headers,
    Origin: new URL(referer["Referer"] ?? page).origin,
    "Content-Type": "application/x-www-form-urlencoded",
  };
  const body = new URL(`${url}${PAID_QUERY}`).search.slice(1);
  const posted = { method: "POST", headers: form, body } as const;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const how = method === "POST" && hops === 0 ? posted : { headers };
    const sent = { ...how, headers: { ...how.headers, ...cookies.of(url) } };
    const answer = await openDespiteLimit(world, target, { ...sent, url, signal });
    if (!answer.ok)
      return { arrived: false, got: english(lostAnswerText(answer.failure, excerpt(answer.message))) };
    cookies.keep(url, answer.headers["set-cookie"]);
    const location = answer.status >= 300 && answer.status < 400 ? answer.headers["location"] : undefined;
    if (location === undefined || !URL.canParse(location, url))
      return { arrived: answer.status >= 200 && answer.status < 300, got: String(answer.status) };
    url = new URL(location, url).href;
  }
  return { arrived: false, got: english(STEP_RESULTS.redirects(String(MAX_REDIRECTS))) };
}

/**
 * Opens an address, and retries after a pause if a rate limit refuses the request: a customer would reload the page.
 */
async function openDespiteLimit(
  world: ReturnWorld,
  target: ControlTarget,
  wanted: Parameters<typeof sendLocally>[2],
): Promise<OutboundResult> {
  for (let attempts = 1; ; attempts += 1) {
    const answer = await sendLocally(world, target, wanted);
    if (attempts === MAX_LIMITED || !answer.ok || answer.status !== 429) return answer;
    await world.sleep(LIMITED_PAUSE_MS, wanted.signal);
  }
}

/** The `Referer` that a browser sends after leaving a page. */
function refererOf(
  from: ReturnRequest["from"],
  { shop, origin }: { readonly shop: string; readonly origin: string },
): Readonly<Record<string, string>> {
  if (from === "nowhere") return { "Sec-Fetch-Site": "none", "Cache-Control": "max-age=0" };
  return from === "shop"
    ? { "Sec-Fetch-Site": "same-origin", Referer: `${shop}/` }
    : { "Sec-Fetch-Site": "cross-site", Referer: `${origin}/` };
}

/** The headers that a browser sends when it opens a page. */
const BROWSER_HEADERS = {
  "Upgrade-Insecure-Requests": "1",
  "User-Agent":
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
  Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
  "Sec-Fetch-Mode": "navigate",
  "Sec-Fetch-User": "?1",
  "Sec-Fetch-Dest": "document",
  "Accept-Language": "en-GB,en;q=0.9",
} as const;
