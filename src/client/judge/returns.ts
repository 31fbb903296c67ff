import { PAID_QUERY } from "../../core/judge/histories/returns.ts";
import type { ReturnForm } from "../../core/judge/step.ts";
import type { StepValue } from "../../core/readiness/drill-shapes.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import { returnUrl } from "../../core/checkout/return-origin.ts";
import { excerpt } from "../../core/text.ts";
import type { Bench } from "./bench.ts";
import type { CookieJar } from "./shop/cookies.ts";
import { BROWSER_HEADERS, fillAddress, noAnswer, sendWithReloads, type ViewedCheckout } from "./shop/view.ts";

type Visit = { readonly hasArrived: boolean; readonly got: StepValue };

type ReturnVisit = {
  readonly page: string;
  readonly checkout: ViewedCheckout;
  readonly form?: Omit<ReturnForm, "session">;
  readonly session: string | null;
  /**
   * The lowest status that counts as a failure. 500 permits a shop to refuse another customer's session; 600 permits
   * every status, because the API fails. Default: 300.
   */
  readonly firstFailureStatus?: 300 | 500 | 600;
  /** Kept for all visits, so that the shop recognises the customer's session. */
  readonly cookies: CookieJar;
};

const MAX_REDIRECTS = 5;
export async function openReturnPage(
  { world, target, shop: { cookie }, signal }: Pick<Bench, "world" | "target" | "shop" | "signal">,
  { page: template, checkout, form = {}, session, cookies, firstFailureStatus = 300 }: ReturnVisit,
): Promise<Visit> {
  const { query = "", method = "GET", from, orderIdEnd = "" } = form;
  const shownCheckout = { id: session ?? "", orderId: `${checkout.orderId}${orderIdEnd}` };
  const page = fillAddress(template, shownCheckout);
  const address = returnUrl(page, shownCheckout);
  let url = `${session === null ? address.replace(/&session_id=$/, "") : address}${query}`;
  const referer = refererOf(from, { shop: new URL(page).origin, ...target });
  const headers = { ...BROWSER_HEADERS, ...referer };
  const formRequest = {
    method: "POST",
    headers: {
      ...headers,
      Origin: new URL(referer["Referer"] ?? page).origin,
      "Content-Type": "application/x-www-form-urlencoded",
    },
    body: new URL(`${url}${PAID_QUERY}`).search.slice(1),
  } as const;
  for (let hopCount = 0; hopCount <= MAX_REDIRECTS; hopCount += 1) {
    const hopRequest = method === "POST" && hopCount === 0 ? formRequest : { headers };
    const request = { ...hopRequest, headers: { ...hopRequest.headers, ...cookies.headerFor(url, cookie) } };
    const answer = await sendWithReloads(world, target, { ...request, url, signal });
    if (!answer.ok) return { hasArrived: false, got: noAnswer(answer.failure, answer.message) };
    cookies.keep(url, answer.headers["set-cookie"]);
    const location = answer.status >= 300 && answer.status < 400 ? answer.headers["location"] : undefined;
    if (location === undefined || !URL.canParse(location, url))
      return judgeVisit(new URL(url), { page, checkout, status: answer.status, firstFailureStatus });
    url = new URL(location, url).href;
  }
  return { hasArrived: false, got: factOf("many_redirects", String(MAX_REDIRECTS)) };
}

/** A visit arrives if it ends at the return page or a page of the order, but not at another page, such as a sign-in. */
function judgeVisit(
  { pathname }: URL,
  {
    page,
    checkout,
    status,
    firstFailureStatus = 300,
  }: Omit<ReturnVisit, "session" | "cookies"> & { readonly status: number },
): Visit {
  const ids = [checkout.orderId, encodeURIComponent(checkout.orderId), checkout.id];
  const isPage = pathname === new URL(page).pathname || ids.some((id) => pathname.includes(id));
  const hasArrived = isPage && status >= 200 && status < firstFailureStatus;
  return { hasArrived, got: isPage ? String(status) : `${excerpt(pathname)} (${status})` };
}

function refererOf(
  from: ReturnForm["from"],
  { shop, origin }: { readonly shop: string; readonly origin: string },
): Readonly<Record<string, string>> {
  if (from === "nowhere") return { "Sec-Fetch-Site": "none", "Cache-Control": "max-age=0" };
  return from === "shop"
    ? { "Sec-Fetch-Site": "same-origin", Referer: `${shop}/` }
    : { "Sec-Fetch-Site": "cross-site", Referer: `${origin}/` };
}
