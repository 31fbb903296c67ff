import { formToken, isFormToken } from "../../../core/checkout/form-token.ts";
import type { Checkout } from "../../../core/checkout/checkout.ts";
import { PAGE_VIEWS } from "../../../core/checkout/page-view.ts";
import { decisionsOfReturn, formatReturnOrigin } from "../../../core/checkout/return-origin.ts";
import { hostHeaders } from "../../../core/network/public-url.ts";
import { accept, type Outcome } from "../../../core/outcome.ts";
import { refuseFact } from "../../../core/refusals.ts";
import { printableLiteral, UUID_SOURCE } from "../../../core/text.ts";
import type { Store } from "../../../store/store.ts";
import { requireOwnPage } from "../../../web/guard.ts";
import type { Html } from "../../../web/html.ts";
import { readForwardedHosts, headerLines, splitTarget } from "../../../web/http.ts";
import { languageOf } from "../../../web/language.ts";
import { emptyResponse, pageResponse, parseForm, redirect } from "../../../web/page.ts";
import { createRouter } from "../../../web/router.ts";
import type { HttpRequest } from "../../../world.ts";
import type { Answer } from "../../answer.ts";
import type { Area, AreaRoute, AreaRequest } from "../../area.ts";
import { findCheckout, storeTime } from "../../with-store.ts";
import { viewCheckout } from "../../checkout/view.ts";
import type { PageViewRecorder } from "../../checkout/page-views.ts";
import { applyPayerAction, type PayerAction } from "../../checkout/payments.ts";
import type { ServiceContext } from "../../context.ts";
import { assetRoute, HTMX_SCRIPT, SEND_BACK_SCRIPT, BASE_STYLE } from "../shared/assets.ts";
import { refusalPage } from "../shared/error-page.ts";
import { checkoutPage, STAY_QUERY } from "./checkout-page.ts";
import { checkoutPath, walletPath, type CheckoutPageContext } from "./parts.ts";
import { WALLET_OUTCOMES, abandonedPage, walletPage } from "./wallet-page.ts";
import type { Attempt } from "../../../core/checkout/shapes.ts";

export type PaymentAreaContext = ServiceContext & {
  readonly masterKey: Uint8Array;
  readonly localOrigin: string;
  readonly pageViews: PageViewRecorder;
};

const PAYMENT_PAGE_PATH = new RegExp(`^/pay/(${UUID_SOURCE})(?:/|$)`);

const ROUTES: readonly AreaRoute<PaymentAreaContext>[] = [
  pageRoute("/pay/{checkout_id}", (pageContext) => accept(checkoutPage(pageContext))),
  formRoute("/pay/{checkout_id}/start", () => accept({ kind: "start" })),
  formRoute("/pay/{checkout_id}/cancel", () => accept({ kind: "cancel", attempt: null })),
  { methods: ["POST"], path: "/pay/{checkout_id}/views", role: "payer", answer: noteView },
  pageRoute("/pay/{checkout_id}/wallet/{attempt}", showWallet(walletPage)),
  pageRoute("/pay/{checkout_id}/wallet/{attempt}/closed", showWallet(abandonedPage)),
  formRoute("/pay/{checkout_id}/wallet/{attempt}", readWalletAction),
  ...[BASE_STYLE, HTMX_SCRIPT, SEND_BACK_SCRIPT].map(assetRoute),
];

export const PAGES_AREA: Area<PaymentAreaContext> = {
  routes: ROUTES,
  find: createRouter(ROUTES, {
    owner: ["the payment page", "支付页面"],
    segments: { checkout_id: UUID_SOURCE.replaceAll("a-f", "a-fA-F"), attempt: "[1-9]" },
  }),
  requestIdStream: "pages",
  admit: () => accept(undefined),
  storeIdOf: ({ store }, request) => checkoutAt(store, splitTarget(request.target).path)?.storeId,
  refuse: ({ store }, { request, requestId }, refusal) => {
    const checkout = checkoutAt(store, splitTarget(request.target).path);
    return refusalPage({ request, requestId }, refusal, checkout && checkoutPath(checkout));
  },
  fail: (request, requestId, refusal) => refusalPage({ request, requestId }, refusal),
};

function checkoutAt({ checkouts }: Pick<Store, "checkouts">, path: string): Checkout | undefined {
  const [, id = ""] = PAYMENT_PAGE_PATH.exec(path.toLowerCase()) ?? [];
  return checkouts.findInAnyStore(id);
}

type PageRenderer = (pageContext: CheckoutPageContext, call: AreaRequest) => Outcome<Html>;

function pageRoute(path: string, show: PageRenderer): AreaRoute<PaymentAreaContext> {
  return payerRoute("GET", path, async (context, call) => {
    const pageContext = await readPageContext(context, call);
    if (!pageContext.ok) return pageContext;
    const markup = show(pageContext.value, call);
    if (!markup.ok) return markup;
    const { view, requestId } = pageContext.value;
    const language = languageOf(call.request);
    const answer = pageResponse({ status: 200, markup: markup.value, language }, requestId);
    const isPoll = call.request.method === "GET" && headerLines(call.request, "hx-request").length > 0;
    return accept({ ...answer, note: view.checkout.status, ...(isPoll ? { isUnlogged: true } : {}) });
  });
}

type ActionReader = (form: ReadonlyMap<string, string>, call: AreaRequest) => Outcome<PayerAction>;

function formRoute(path: string, readAction: ActionReader): AreaRoute<PaymentAreaContext> {
  return payerRoute("POST", path, async (context, call) => {
    const fields = readOwnForm(context, call);
    if (!fields.ok) return fields;
    const action = readAction(fields.value, call);
    if (!action.ok) return action;
    const outcome = await applyPayerAction(context, checkoutIdIn(call), action.value);
    if (!outcome.ok && outcome.refusal.code !== "state_conflict") return outcome;
    if (outcome.ok) noteReturn(context, call, outcome.value.checkout);
    const name = action.value.kind === "finish" ? action.value.result : action.value.kind;
    const result = outcome.ok
      ? outcome.value.isLate
        ? "late"
        : outcome.value.checkout.status
      : outcome.refusal.code;
    return accept({
      ...redirect(303, pathAfterAction(context, call), call.requestId),
      note: `${name}: ${result}`,
    });
  });
}

function payerRoute(
  method: "GET" | "POST",
  path: string,
  answer: (context: PaymentAreaContext, call: AreaRequest) => Promise<Outcome<Answer>>,
): AreaRoute<PaymentAreaContext> {
  return {
    methods: [method],
    path,
    role: "payer",
    answer: (context, call) => {
      const redirection = leavePortalHost(context, call);
      return redirection === undefined ? answer(context, call) : accept(redirection);
    },
  };
}

async function readPageContext(
  context: PaymentAreaContext,
  call: AreaRequest,
): Promise<Outcome<CheckoutPageContext>> {
  const checkoutId = checkoutIdIn(call);
  const checkout = await viewCheckout(context, { storeId: null, checkoutId });
  if (!checkout.ok) return checkout;
  return accept({
    view: checkout.value,
    token: formToken(context.masterKey, checkoutId),
    origin: originOf(context, call.request),
    requestId: call.requestId,
    isStaying: splitTarget(call.request.target).query === STAY_QUERY,
  });
}

/** A POST with the page's token, because any site can cause a GET. */
function noteView(context: PaymentAreaContext, call: AreaRequest): Outcome<Answer> {
  const fields = readOwnForm(context, call);
  if (!fields.ok) return fields;
  const checkout = findCheckout(context.store, { storeId: null, checkoutId: checkoutIdIn(call) });
  if (!checkout.ok) return checkout;
  const { id, storeId } = checkout.value;
  const kind = PAGE_VIEWS.find((candidate) => candidate === fields.value.get("kind"));
  const [offeredOrigin] = context.store.returnOrigins.list(storeId);
  if (kind === "opened") context.pageViews.note(id, { kind, target: null });
  else if (kind === "returned" && offeredOrigin !== undefined)
    context.pageViews.note(id, { kind, target: formatReturnOrigin(offeredOrigin) });
  else return refuseFact("page_view_kind", {});
  return accept({ ...emptyResponse(call.requestId), isUnlogged: true });
}

/**
 * Notes that the merchant relies on decisions about return origins. Only after a submitted form, because any site can
 * cause a GET.
 */
function noteReturn(context: PaymentAreaContext, { requestId }: AreaRequest, { storeId }: Checkout): void {
  const [offeredOrigin] = context.store.returnOrigins.list(storeId);
  if (offeredOrigin === undefined) return;
  context.assumptions.note(decisionsOfReturn(offeredOrigin), {
    storeId,
    requestId,
    at: storeTime(context, storeId),
  });
}

function showWallet(render: (pageContext: CheckoutPageContext, attempt: Attempt) => Html): PageRenderer {
  return (pageContext, call) => {
    const attempt = pageContext.view.attempts.find(({ number }) => number === attemptNumberIn(call));
    return attempt === undefined
      ? refuseFact("no_attempt", { checkout: checkoutIdIn(call), attempt: call.params["attempt"] ?? "" })
      : accept(render(pageContext, attempt));
  };
}

function readOwnForm(
  { masterKey, checkoutOrigin }: PaymentAreaContext,
  call: AreaRequest,
): Outcome<ReadonlyMap<string, string>> {
  const pageCheck = requireOwnPage(call.request, checkoutOrigin);
  if (!pageCheck.ok) return pageCheck;
  const fields = parseForm(call.request);
  if (!fields.ok || isFormToken(masterKey, checkoutIdIn(call), fields.value.get("token") ?? ""))
    return fields;
  return refuseFact("form_of_other_checkout", {});
}

function pathAfterAction({ store }: PaymentAreaContext, call: AreaRequest): string {
  const id = checkoutIdIn(call);
  const attempt = attemptNumberIn(call);
  const isKnown = store.attempts.of(id).some(({ number }) => number === attempt);
  return attempt !== null && isKnown ? walletPath({ id }, attempt) : checkoutPath({ id });
}

function readWalletAction(fields: ReadonlyMap<string, string>, call: AreaRequest): Outcome<PayerAction> {
  const field = fields.get("outcome");
  const outcome = WALLET_OUTCOMES.find((candidate) => candidate === field);
  const attempt = attemptNumberIn(call);
  if (outcome === undefined || attempt === null)
    return refuseFact("wallet_outcome", {
      outcomes: WALLET_OUTCOMES,
      received: printableLiteral(field ?? null),
    });
  if (outcome === "cancelled") return accept({ kind: "cancel", attempt });
  if (outcome === "late") return accept({ kind: "finish_late", attempt });
  return accept({ kind: "finish", attempt, result: outcome });
}

function checkoutIdIn({ params }: AreaRequest): string {
  return (params["checkout_id"] ?? "").toLowerCase();
}

function attemptNumberIn({ params }: AreaRequest): number | null {
  return params["attempt"] === undefined ? null : Number(params["attempt"]);
}

function originOf(context: PaymentAreaContext, request: HttpRequest): string {
  const host = hostIn(request);
  const isCheckoutOrigin = host.startsWith("127.0.0.1") || usesPublicUrl(context, request);
  return isCheckoutOrigin ? context.checkoutOrigin : `http://${host}`;
}

function usesPublicUrl({ checkoutOrigin }: PaymentAreaContext, request: HttpRequest): boolean {
  const [forwardedHost = ""] = readForwardedHosts(request);
  return hostHeaders(checkoutOrigin).some((host) => host === hostIn(request) || host === forwardedHost);
}

/**
 * Redirects `localhost` to the local origin instead of the public URL: a proxy that sends Host `localhost` would loop
 * (decision 1).
 */
function leavePortalHost(
  context: PaymentAreaContext,
  { request, requestId }: AreaRequest,
): Answer | undefined {
  const isPortalHost = /^(localhost|\[::1\])(:|$)/.test(hostIn(request));
  const isLocal = hostIn(request) === new URL(context.localOrigin).host;
  if (!isPortalHost || isLocal || usesPublicUrl(context, request)) return undefined;
  return redirect(307, `${context.localOrigin}${request.target}`, requestId);
}

function hostIn(request: HttpRequest): string {
  const [host = ""] = headerLines(request, "host");
  return host.toLowerCase();
}
