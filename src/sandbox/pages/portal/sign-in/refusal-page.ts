import { ERRORS } from "../../../../core/errors.ts";
import { refusalWords, type Refusal } from "../../../../core/outcome.ts";
import { UUID_SOURCE } from "../../../../core/text.ts";
import { isNavigation } from "../../../../web/guard.ts";
import { html, type Html } from "../../../../web/html.ts";
import { readForwardedHosts, headerLines, splitTarget } from "../../../../web/http.ts";
import type { Words } from "../../../../core/language.ts";
import { parseForm, redirect } from "../../../../web/page.ts";
import type { HttpRequest } from "../../../../world.ts";
import {
  callerOfSession,
  defaultStoreOf,
  hasAccessToExistingStore,
  type Caller,
} from "../../../access/caller.ts";
import type { Answer } from "../../../answer.ts";
import type { PortalAccess } from "../../../runtime/portal-access.ts";
import { refusalAnswer, type RefusalContext } from "../../shared/error-page.ts";
import { SHARED_TEXTS } from "../../shared/texts.ts";
import { framePage, signedOutPage } from "../frame.ts";
import { storePath } from "../forms.ts";
import { FRAME_TEXTS } from "../texts.ts";
import { viewOf, type PageContent, type PortalContext, type View, type Viewer } from "../view.ts";
import { roleOfPath } from "./session-cookie.ts";
import { parsePortalPath, signInPage } from "./sign-in.ts";

const STORE_ADDRESS = new RegExp(`^/portal/(${UUID_SOURCE})(?:/|$)`);

export function portalRefusalPage(
  context: PortalContext,
  { viewer, ...refusalContext }: RefusalContext & { readonly viewer: Viewer },
  refusal: Refusal,
): Answer {
  const { portal } = context;
  const { request, requestId } = refusalContext;
  if (
    refusal.code === "host_not_allowed" &&
    readForwardedHosts(request).length === 0 &&
    isPageLoad(request)
  ) {
    return redirect(307, `http://localhost:${portal.port}${request.target}`, requestId);
  }
  const { path } = splitTarget(request.target);
  const isSignIn = ["credential_missing", "credential_invalid", "rate_limited"].includes(refusal.code);
  if (isSignIn || viewer === undefined) return signInRefusal(portal, refusalContext, { refusal, isSignIn });
  const params = viewer.role === "administrator" ? {} : paramsOf(context, callerOfSession(viewer), path);
  const call = { request, requestId, ...splitTarget(request.target), params, caller: viewer };
  const view = viewOf(context, call);
  const markup = framePage(context, view, refusalContent(refusal, refusalLinks(portal, view)));
  return refusalAnswer(refusalContext, refusal, markup, view.language);
}

export function failurePage(refusalContext: RefusalContext, refusal: Refusal): Answer {
  const role = roleOfPath(splitTarget(refusalContext.request.target).path);
  const content = refusalContent(refusal, html``);
  return refusalAnswer(refusalContext, refusal, signedOutPage(role, content));
}

function signInRefusal(
  portal: PortalAccess,
  refusalContext: RefusalContext,
  { refusal, isSignIn }: { readonly refusal: Refusal; readonly isSignIn: boolean },
): Answer {
  const { request } = refusalContext;
  const { path } = splitTarget(request.target);
  const role = roleOfPath(path);
  const nextAddress = request.method === "POST" ? (readNextAddress(portal, request) ?? null) : request.target;
  const content = isSignIn ? signInPage(role, nextAddress, refusal) : refusalContent(refusal, html``);
  // After a link on another site, the browser sends no SameSite=Strict cookie, but sends it when the page reloads
  // itself.
  const isCrossSite = headerLines(request, "sec-fetch-site").join() === "cross-site";
  const shouldReload = refusal.code === "credential_missing" && isNavigation(request) && isCrossSite;
  return refusalAnswer(refusalContext, refusal, signedOutPage(role, content, { shouldReload }));
}

function isPageLoad(request: HttpRequest): boolean {
  const hasFetchMode = headerLines(request, "sec-fetch-mode").length > 0;
  return request.method === "GET" && (!hasFetchMode || isNavigation(request));
}

function readNextAddress(portal: PortalAccess, request: HttpRequest): string | undefined {
  const fields = parseForm(request);
  return fields.ok ? parsePortalPath(portal, fields.value.get("to")) : undefined;
}

function refusalContent(refusal: Refusal, links: Html): PageContent {
  const { code } = refusal;
  const { status } = ERRORS[code];
  const titles: Readonly<Record<number, Words>> = {
    ...SHARED_TEXTS.errorTitle,
    ...FRAME_TEXTS.errorTitles,
  };
  const hints: Readonly<Record<number, Words>> = FRAME_TEXTS.hints;
  const main = html`<section>
    <p class="notice warn">${refusalWords(refusal)}</p>
    <p>${hints[status] ?? FRAME_TEXTS.hints[400]}</p>
    ${links}
  </section>`;
  return { title: titles[status] ?? SHARED_TEXTS.errorTitle[400], main };
}

function refusalLinks(portal: PortalAccess, view: View): Html {
  const [referer = ""] = headerLines(view.call.request, "referer");
  const backPath = URL.canParse(referer)
    ? parsePortalPath(portal, new URL(referer).pathname + new URL(referer).search)
    : undefined;
  const startPath = view.storeId === "" ? "/portal" : storePath(view, "/start");
  return html`<p class="row">
    ${backPath === undefined || view.call.request.method === "GET" ? "" : html`<a class="primary" href="${backPath}">${FRAME_TEXTS.toPage}</a>`}
    ${view.call.caller?.role === "administrator" ? "" : html`<a class="plain" href="${startPath}">${FRAME_TEXTS.toStart}</a>`}
  </p>`;
}

function paramsOf({ store }: PortalContext, caller: Caller, path: string): Readonly<Record<string, string>> {
  const [, storeId = ""] = STORE_ADDRESS.exec(path) ?? [];
  const shownStoreId = hasAccessToExistingStore(store, caller, storeId)
    ? storeId
    : defaultStoreOf(store, caller);
  return shownStoreId === undefined ? {} : { store_id: shownStoreId };
}
