import { english } from "../../core/language.ts";
import { GOT, lostAnswer, PARTS } from "../../core/readiness/drill-sentences.ts";
import { RETURN_WAYS, type ReturnFacts, type Visit } from "../../core/readiness/drills/browser-return.ts";
import { returnPage } from "../../core/checkout/return-origin.ts";
import { excerpt } from "../../core/text.ts";
import type { OutboundResult, World } from "../../world.ts";
import { callControl, succeeded, type ControlResult, type ControlTarget } from "../control/control.ts";
import { whileLeased } from "../control/lease.ts";
import { deliverLimited } from "./limited-events.ts";
import {
  awaitKnown,
  awaitPaid,
  sendLocally,
  LOOK_TIMEOUT_MS,
  readView,
  viewOf,
  type Buyer,
  type ViewWorld,
  type ViewRequest,
  type ViewReading,
} from "./order-view.ts";

/** A customer who returns: the checkout, the page of the return, and the merchant's view of the order. */
type BrowserReturn = Omit<ViewRequest, "target"> & {
  readonly page: string;
  /** Whether the drill created the checkout, not the shop. */
  readonly isOwn: boolean;
  /**
   * A second checkout, which is paid: the customer returns with its session and the first order's id. Undefined if
   * there is none.
   */
  readonly other: Buyer | undefined;
};

type ReturnWorld = ViewWorld & Pick<World, "after">;
type ReturnContext = ViewRequest & Pick<BrowserReturn, "page" | "other">;

/** Maximum number of redirects to follow, as in a browser. */
const MAX_REDIRECTS = 5;
/** Time for the merchant to process a create, in milliseconds. */
const SETTLE_MS = 1000;
/** How long the view is watched for a shop that trusts a return late, in milliseconds. */
const BELIEVE_MS = 6000;
/**
 * Time for the merchant to accept the webhooks after they are released, in milliseconds: the drill's webhooks come
 * after those that were held back, and a correct receiver may be slow.
 */
const CONFIRM_MS = 90_000;
/** When during that time the drill sends events again that a rate limit refused, in milliseconds. */
const CONFIRM_SOON_MS = 10_000;
/** Pause before a page that answered 429 is opened again, in milliseconds, and the number of retries. */
const LIMITED_PAUSE_MS = 1100;
const MAX_LIMITED = 5;
/**
 * Maximum time that webhooks are held back, in milliseconds: longer than a page with all its redirects and the views
 * can take.
 */
const LEASE_MS = (MAX_REDIRECTS + 3) * LOOK_TIMEOUT_MS + BELIEVE_MS;
/** Duration of the drill without its waits, with a shop that answers in 50 ms, in milliseconds. */
const WORK_MS = 4000;
/** Duration of the drill with a shop that waits for the webhook, and its waits, in milliseconds. */
export const RETURN_TIME = {
  totalMs: SETTLE_MS + 3 * BELIEVE_MS + WORK_MS,
  waitMs: SETTLE_MS + 3 * BELIEVE_MS,
} as const;

/**
 * Simulates a customer who returns without paying, by the usual request and by others, and who returns again after the
 * payment but before the webhooks. Reads the merchant's view after each return, for some seconds. For the last return
 * it holds a lease: the store's webhooks are held back, and the sandbox records whether the merchant retrieves the
 * session.
 */
export async function drillBrowserReturn(
  world: ReturnWorld,
  target: ControlTarget,
  wanted: BrowserReturn,
): Promise<ControlResult<ReturnFacts>> {
  const { checkout, signal, isOwn } = wanted;
  const returning = { ...wanted, target };
  const known = await introduce(world, returning);
  const start = { checkoutId: checkout.id, isOwn, ...NOT_SEEN };
  if (known.isMissing) return succeeded({ ...start, before: viewOf(known), isUnknown: true });
  // Then wait for the effects of a new checkout, such as its webhook.
  await world.sleep(SETTLE_MS, signal);
  const before = viewOf(await readView(world, returning));
  const unpaid = await returnOnce(world, returning);
  const isBelieved = unpaid.view.says === "paid";
  const otherwise = isBelieved ? succeeded(null) : await returnOtherwise(world, returning);
  if (otherwise.end !== "success") return otherwise;
  if (signal.aborted) return { end: "interrupted" };
  const lease = { drill: "browser_return", timeoutMs: LEASE_MS, signal } as const;
  const early = await whileLeased<ReturnFacts["early"]>(world, target, lease, ({ id }) =>
    payAndComeBack(world, returning, id),
  );
  if (early.end !== "success") return early;
  const confirmed = viewOf(await awaitConfirmed(world, returning));
  if (signal.aborted) return { end: "interrupted" };
  return succeeded({ ...start, before, unpaid, otherwise: otherwise.value, early: early.value, confirmed });
}

/** Waits until the shop knows the order, and sends it events that a rate limit refused. */
async function introduce(world: ReturnWorld, returning: ReturnContext): Promise<ViewReading> {
  const known = await awaitKnown(world, returning);
  if (!known.isMissing || (await deliverLimited(world, returning)) === 0) return known;
  return awaitKnown(world, returning);
}

/** Waits until the shop shows the payment, and sends it events that a rate limit refused. */
async function awaitConfirmed(world: ReturnWorld, returning: ReturnContext): Promise<ViewReading> {
  const soon = await awaitPaid(world, returning, CONFIRM_SOON_MS);
  if (soon.says === "paid") return soon;
  await deliverLimited(world, returning);
  return awaitPaid(world, returning, CONFIRM_MS - CONFIRM_SOON_MS);
}

const NOT_SEEN = { isUnknown: false, unpaid: null, otherwise: null, early: null, confirmed: null };

async function payAndComeBack(
  world: ReturnWorld,
  returning: ReturnContext,
  leaseId: string,
): Promise<ControlResult<ReturnFacts["early"]>> {
  const { target, checkout } = returning;
  const paid = await callControl(world, target, {
    name: "pay",
    id: checkout.id,
    body: { outcome: "succeeded", leaseId },
  });
  if (paid.end !== "success") return paid;
  const back = await returnOnce(world, returning);
  const seen = await callControl(world, target, { name: "listRetrieves", id: leaseId, body: undefined });
  if (seen.end !== "success") return seen;
  return succeeded({ ...back, asked: seen.value.paidCheckouts.includes(checkout.id) });
}

/** Opens the page as the customer's browser does, and reads the view until the order is paid, or until the timeout. */
async function returnOnce(
  world: ReturnWorld,
  returning: ReturnContext,
): Promise<NonNullable<ReturnFacts["unpaid"]>> {
  const visit = await openPage(world, returning, {});
  return { visit, view: viewOf(await awaitPaid(world, returning, BELIEVE_MS)) };
}

/**
 * Returns by each other request and reads the view after each. Returns the first reading that shows the order paid, or
 * else the last.
 */
async function returnOtherwise(
  world: ReturnWorld,
  returning: ReturnContext,
): Promise<ControlResult<ReturnFacts["otherwise"]>> {
  for (const [way, visit] of Object.entries<ReturnRequest>(OTHER_WAYS)) {
    await openPage(world, returning, visit);
    const view = viewOf(await readView(world, returning));
    if (view.says === "paid") return succeeded({ way, view });
  }
  const lease = { drill: "browser_return", timeoutMs: LEASE_MS, signal: returning.signal } as const;
  const asked = await whileLeased<ReturnFacts["otherwise"]>(world, returning.target, lease, ({ id }) =>
    returnToPage(world, returning, id),
  );
  if (asked.end !== "success" || asked.value !== null) return asked;
  return succeeded({
    way: english(PARTS.otherWays),
    view: viewOf(await awaitPaid(world, returning, BELIEVE_MS)),
  });
}

/**
 * Returns while the payment is pending, and with the session of a second order that is paid: a page that retrieves the
 * session must check the whole answer. Null if the shop trusts neither.
 */
async function returnToPage(
  world: ReturnWorld,
  returning: ReturnContext,
  leaseId: string,
): Promise<ControlResult<ReturnFacts["otherwise"]>> {
  const { target, checkout, other } = returning;
  const ways = [
    { checkout, outcome: "declined", way: RETURN_WAYS.pending, session: checkout.id },
    ...(other === undefined
      ? []
      : [
          {
            checkout: other,
            outcome: "succeeded",
            way: RETURN_WAYS.otherSession,
            session: other.id,
          } as const,
        ]),
  ] as const;
  for (const { checkout: acted, outcome, way, session } of ways) {
    const paid = await callControl(world, target, { name: "pay", id: acted.id, body: { outcome, leaseId } });
    if (paid.end !== "success") return paid;
    await openPage(world, returning, { session });
    const view = viewOf(await readView(world, returning));
    if (view.says === "paid") return succeeded({ way, view });
  }
  return succeeded(null);
}

/** A request of a returning customer: its query, its method, and its referring page. */
type ReturnRequest = {
  /** Default: the order's session. */
  readonly session?: string;
  readonly query?: string;
  readonly method?: "GET" | "POST";
  /** Default: the payment page. */
  readonly from?: "shop" | "nowhere";
};

const PAID_QUERY = "&status=succeeded&paid=true";
/** A query of success in the words of other services. */
const OTHER_QUERY = "&status=paid&payment_status=paid&success=true&result=success";
const THIRD_QUERY = "&status=success&state=completed";

const OTHER_WAYS = {
  [english(PARTS.withQuery(PAID_QUERY))]: { query: PAID_QUERY },
  [english(PARTS.withQuery(OTHER_QUERY))]: { query: OTHER_QUERY },
  [english(PARTS.byPost)]: { method: "POST" },
  [english(PARTS.fromShop(THIRD_QUERY))]: { query: THIRD_QUERY, from: "shop" },
  [english(PARTS.reloaded)]: { from: "nowhere" },
} satisfies Readonly<Record<string, ReturnRequest>>;

async function openPage(
  world: ReturnWorld,
  { target, page, checkout, signal }: ReturnContext,
  { session = checkout.id, query = "", method = "GET", from }: ReturnRequest,
): Promise<Visit> {
  let url = `${returnPage(page, { ...checkout, id: session })}${query}`;
  const headers = { ...BROWSER_HEADERS, ...refererOf(from, { shop: new URL(page).origin, ...target }) };
  const form = { ...headers, "Content-Type": "application/x-www-form-urlencoded" };
  const body = new URL(`${url}${PAID_QUERY}`).search.slice(1);
  const posted = { method: "POST", headers: form, body } as const;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const how = method === "POST" && hops === 0 ? posted : { headers };
    const answer = await openDespiteLimit(world, target, { ...how, url, signal });
    if (!answer.ok)
      return { arrived: false, got: english(lostAnswer(answer.failure, excerpt(answer.message))) };
    const location = answer.status >= 300 && answer.status < 400 ? answer.headers["location"] : undefined;
    if (location === undefined || !URL.canParse(location, url))
      return { arrived: answer.status >= 200 && answer.status < 300, got: String(answer.status) };
    url = new URL(location, url).href;
  }
  return { arrived: false, got: english(GOT.redirects(String(MAX_REDIRECTS))) };
}

/** Opens an address, and retries after a pause if a rate limit refuses it: a customer would reload the page. */
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

/** The `Referer` of a browser that comes from a page. */
function refererOf(
  from: ReturnRequest["from"],
  { shop, origin }: { readonly shop: string; readonly origin: string },
): Readonly<Record<string, string>> {
  if (from === "nowhere") return { "Sec-Fetch-Site": "none", "Cache-Control": "max-age=0" };
  return from === "shop"
    ? { "Sec-Fetch-Site": "same-origin", Referer: `${shop}/` }
    : { "Sec-Fetch-Site": "cross-site", Referer: `${origin}/` };
}

/** A browser's headers. */
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
