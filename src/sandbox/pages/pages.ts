import htmx from "htmx.org/dist/htmx.min.js?raw";
import { OFFERED_RETURN } from "../../core/readiness/assumptions.ts";
import { STATUS_OF } from "../../core/errors.ts";
import { formToken, isFormToken } from "../../core/checkout/form-token.ts";
import { accept, refuse, type Outcome, type Refusal } from "../../core/outcome.ts";
import type { Attempt } from "../../core/checkout/payment.ts";
import { printableLiteral } from "../../core/text.ts";
import { requireOwnPage } from "../../web/guard.ts";
import { headerLines, splitTarget } from "../../web/http.ts";
import { preferredLanguage, type Language } from "../../web/language.ts";
import { assetResponse, pageResponse, readForm, redirect } from "../../web/page.ts";
import type { HttpRequest } from "../../world.ts";
import type { Answer } from "../answer.ts";
import { viewCheckout } from "../checkout/view.ts";
import { actAsPayer, type PayerAct } from "../checkout/payments.ts";
import type { ServiceContext } from "../context.ts";
import { checkoutPage } from "./payment/checkout-page.ts";
import { errorPage } from "./shared/error-page.ts";
import { SCRIPT_PATH, STYLE_PATH } from "./shared/layout.ts";
import { checkoutPath, walletPath, type PageContext } from "./payment/parts.ts";
import style from "./shared/style.css?raw";
import { TEXTS } from "./payment/texts.ts";
import { WALLET_OUTCOMES, walkedAwayPage, walletPage, type WalletOutcome } from "./payment/wallet-page.ts";

/** What the pages need beside the verbs: the key of their forms' tokens. */
export type PagesContext = ServiceContext & { readonly masterKey: Uint8Array };

/** What stands behind a checkout's or a wallet's own address. */
const STEPS = ["start", "cancel", "closed"] as const;
/** Where something is on the pages, taken apart. */
type Place = {
  readonly checkoutId: string;
  /** The attempt whose wallet is meant; null for the checkout itself. */
  readonly attempt: number | null;
  readonly step: "page" | (typeof STEPS)[number];
};

const UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
const PLACE = new RegExp(`^/pay/(${UUID})(?:/wallet/([1-9]))?(?:/(${STEPS.join("|")}))?$`);
const WITHIN_CHECKOUT = new RegExp(`^/pay/(${UUID})(?:/|$)`);
const ASSETS: Readonly<Record<string, readonly [contentType: string, text: string]>> = {
  [STYLE_PATH]: ["text/css", style],
  [SCRIPT_PATH]: ["text/javascript", htmx],
};

/**
 * Answers a browser: the payment page, the wallet, what their forms send. A form is answered by a redirect to the page,
 * so that reload and back never send it again; what came too late or twice leads to the page as it is now.
 */
export async function answerPage(context: PagesContext, request: HttpRequest): Promise<Answer> {
  const requestId = context.world.uuid();
  const { path } = splitTarget(request.target);
  const [contentType, text] = ASSETS[path] ?? [];
  const looks = request.method === "GET" || request.method === "HEAD";
  if (contentType !== undefined && text !== undefined && looks) {
    return { ...assetResponse(contentType, text), unlogged: true };
  }
  if (isPortalHost(request)) return redirect(307, `${context.checkoutOrigin}${request.target}`, requestId);
  const outcome = await route(context, request, { path, requestId });
  if (!outcome.ok) {
    return refusalPage(request, requestId, {
      refusal: outcome.refusal,
      leadsBack: checkoutOf(context, path),
    });
  }
  const isPoll = request.method === "GET" && headerLines(request, "hx-request").length > 0;
  return isPoll ? { ...outcome.value, unlogged: true } : outcome.value;
}

/** A refusal as a page, by those who know no checkout. */
export function refusePage(request: HttpRequest, requestId: string, refusal: Refusal): Answer {
  return refusalPage(request, requestId, { refusal, leadsBack: undefined });
}

function refusalPage(
  request: HttpRequest,
  requestId: string,
  refused: { readonly refusal: Refusal; readonly leadsBack: string | undefined },
): Answer {
  const language = languageOf(request);
  const { code, allow } = refused.refusal;
  const page = { status: STATUS_OF[code], markup: errorPage(language, refused), language };
  return { ...pageResponse(allow === undefined ? page : { ...page, allow }, requestId), note: code };
}

/** The page of the checkout that a path is below of; undefined where there is no such checkout. */
function checkoutOf({ store }: PagesContext, path: string): string | undefined {
  const [, id = ""] = WITHIN_CHECKOUT.exec(path.toLowerCase()) ?? [];
  const checkout = store.checkouts.findAny(id);
  return checkout && checkoutPath(checkout);
}

async function route(
  context: PagesContext,
  request: HttpRequest,
  { path, requestId }: { readonly path: string; readonly requestId: string },
): Promise<Outcome<Answer>> {
  const { method } = request;
  const place = placeOf(path);
  if (Object.hasOwn(ASSETS, path)) {
    const allow = "GET, HEAD";
    return refuse("method_not_allowed", `${path} takes ${allow}; got ${printableLiteral(method)}`, { allow });
  }
  if (place === undefined) return refuse("not_found", `there is no page ${printableLiteral(path)}`);
  const allowed = methodsOf(place);
  if (!allowed.includes(method)) {
    const allow = allowed.join(", ");
    return refuse("method_not_allowed", `${path} takes ${allow}; got ${printableLiteral(method)}`, { allow });
  }
  if (method !== "POST") return show(context, request, { place, requestId });
  const acted = await act(context, request, place);
  if (!acted.ok) return acted;
  const { leadsTo, note } = acted.value;
  return accept({ ...redirect(303, leadsTo, requestId), note });
}

function placeOf(path: string): Place | undefined {
  const [, checkoutId, attempt, typed] = PLACE.exec(path) ?? [];
  if (checkoutId === undefined) return undefined;
  const step = STEPS.find((one) => one === typed) ?? "page";
  // `closed` is a page of the wallet, `start` and `cancel` belong to the checkout.
  if (step !== "page" && (step === "closed") === (attempt === undefined)) return undefined;
  return {
    checkoutId: checkoutId.toLowerCase(),
    attempt: attempt === undefined ? null : Number(attempt),
    step,
  };
}

function methodsOf({ attempt, step }: Place): readonly string[] {
  switch (step) {
    case "page":
      return attempt === null ? ["GET", "HEAD"] : ["GET", "HEAD", "POST"];
    case "closed":
      return ["GET", "HEAD"];
    case "start":
    case "cancel":
      return ["POST"];
  }
}

async function show(
  context: PagesContext,
  request: HttpRequest,
  { place, requestId }: { readonly place: Place; readonly requestId: string },
): Promise<Outcome<Answer>> {
  const viewed = await viewCheckout(context, { storeId: null, checkoutId: place.checkoutId });
  if (!viewed.ok) return viewed;
  const language = languageOf(request);
  const page: PageContext = {
    language,
    texts: TEXTS[language],
    view: viewed.value,
    token: formToken(context.masterKey, place.checkoutId),
    origin: originOf(context, request),
    requestId,
  };
  const attempt = viewed.value.attempts.find(({ number }) => number === place.attempt);
  if (place.attempt !== null && attempt === undefined) {
    return refuse("not_found", `checkout ${place.checkoutId} has no attempt ${place.attempt}`);
  }
  const { checkout, returnOrigin, now } = viewed.value;
  if (attempt === undefined && returnOrigin !== null) {
    context.assumptions.note(OFFERED_RETURN, { storeId: checkout.storeId, requestId, at: now });
  }
  const markup = attempt === undefined ? checkoutPage(page) : walletMarkup(page, attempt, place);
  return accept({
    ...pageResponse({ status: 200, markup, language }, requestId),
    note: checkout.status,
  });
}

function walletMarkup(page: PageContext, attempt: Attempt, { step }: Place): string {
  return step === "closed" ? walkedAwayPage(page, attempt) : walletPage(page, attempt);
}

/** What a form has led to: the address of the page to look at now, and what the log says. */
type Acted = { readonly leadsTo: string; readonly note: string };

/** Does what a form says. What came twice, or too late, leads to the page, which shows what is true now. */
async function act(context: PagesContext, request: HttpRequest, place: Place): Promise<Outcome<Acted>> {
  const own = requireOwnPage(request);
  if (!own.ok) return own;
  const form = readForm(request);
  if (!form.ok) return form;
  if (!isFormToken(context.masterKey, place.checkoutId, form.value.get("token") ?? "")) {
    return refuse(
      "origin_not_allowed",
      "the form does not carry the token of this checkout; load its page again",
    );
  }
  const wanted = actOf(place, form.value);
  if (!wanted.ok) return wanted;
  const done = await actAsPayer(context, place.checkoutId, wanted.value);
  if (!done.ok && done.refusal.code !== "state_conflict") return done;
  const deed = wanted.value.kind === "finish" ? wanted.value.result : wanted.value.kind;
  const result = done.ok ? (done.value.late ? "late" : done.value.checkout.status) : done.refusal.code;
  return accept({ leadsTo: afterAct(context, place), note: `${deed}: ${result}` });
}

/** Back to the wallet of the attempt, where there is one. */
function afterAct({ store }: PagesContext, { checkoutId: id, attempt }: Place): string {
  const known = store.attempts.of(id).some(({ number }) => number === attempt);
  return attempt !== null && known ? walletPath({ id }, attempt) : checkoutPath({ id });
}

function actOf(place: Place, form: ReadonlyMap<string, string>): Outcome<PayerAct> {
  if (place.attempt === null) {
    return accept(place.step === "start" ? { kind: "start" } : { kind: "cancel", attempt: null });
  }
  const field = form.get("outcome");
  const outcome = WALLET_OUTCOMES.find((one) => one === field);
  if (outcome !== undefined) return accept(walletAct(outcome, place.attempt));
  const got = printableLiteral(field ?? null);
  return refuse("invalid_parameter", `outcome must be one of ${WALLET_OUTCOMES.join(", ")}; got ${got}`);
}

function walletAct(outcome: WalletOutcome, attempt: number): PayerAct {
  switch (outcome) {
    case "succeeded":
    case "declined":
    case "failed":
      return { kind: "finish", attempt, result: outcome };
    case "cancelled":
      return { kind: "cancel", attempt };
    case "late":
      return { kind: "finish_late", attempt };
  }
}

/** A phone that scans the code reaches the page as this browser did: through a tunnel, where it has one. */
function originOf({ checkoutOrigin }: PagesContext, request: HttpRequest): string {
  const [host = ""] = headerLines(request, "host");
  return host.startsWith("127.0.0.1") ? checkoutOrigin : `http://${host}`;
}

/** `localhost` belongs to the portal (decision 1): no page of a checkout may share its origin. */
function isPortalHost(request: HttpRequest): boolean {
  const [host = ""] = headerLines(request, "host");
  return /^(localhost|\[::1\])(:|$)/i.test(host);
}

function languageOf(request: HttpRequest): Language {
  return preferredLanguage(headerLines(request, "accept-language").join(","));
}
