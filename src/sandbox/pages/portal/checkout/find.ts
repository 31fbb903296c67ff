import { DEFAULT_STORE } from "../../../../core/control/protocol.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { displayText } from "../../../../core/text.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { callerOfSession, defaultStoreOf, hasStoreAccess } from "../../../access/caller.ts";
import type { Answer } from "../../../answer.ts";
import type { AreaRequest } from "../../../area.ts";
import { findPathInAnyStore, findPathInStore } from "../../../explain/portal-page.ts";
import { searchStore, type SearchHits } from "../../../explain/search.ts";
import { refuseUnknownStore } from "../../../with-store.ts";
import { merchantText } from "../../shared/layout.ts";
import { listUrl, storePath } from "../forms.ts";
import { amountHtml, httpStatusBadge, momentWithDate, linkTo, moreItemsLink, statusBadge } from "../parts.ts";
import { redirectTo, answerWithPage } from "../route.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View, Viewer } from "../view.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

const MAX_SEARCH_LENGTH = 512;

/** Redirects to the page of the only object that the text names; lists the results if there are several. */
export async function findInStore(
  context: PortalContext,
  call: AreaRequest<Viewer>,
): Promise<Outcome<Answer>> {
  const storeId = call.params["store_id"] ?? DEFAULT_STORE;
  if (context.store.stores.names(storeId) === undefined) return refuseUnknownStore(storeId);
  const text = searchTextOf(call);
  if (text === "") return accept(redirectTo(call, `/portal/${storeId}/checkouts`));
  const exactPath = findPathInStore(context, storeId, text);
  if (exactPath !== undefined && call.caller?.may("GET", exactPath) === true)
    return accept(redirectTo(call, exactPath));
  const hits = await searchStore(context, storeId, text);
  const [onlyPath, ...otherPaths] = pathsOfHits({ storeId }, hits);
  // With `nextBefore`, the search may have missed further results.
  if (onlyPath !== undefined && otherPaths.length === 0 && hits.nextBefore === null)
    return accept(redirectTo(call, onlyPath));
  return answerWithPage(context, call, async (_context, view) => accept(searchResultsPage(view, text, hits)));
}

export function findInAllStores(context: PortalContext, call: AreaRequest<Viewer>): Outcome<Answer> {
  const text = searchTextOf(call);
  const caller = callerOfSession(call.caller);
  const path = hasStoreAccess(caller, null) ? findPathInAnyStore(context, text) : undefined;
  if (path !== undefined) return accept(redirectTo(call, path));
  const storeId = defaultStoreOf(context.store, caller);
  if (storeId === undefined) return refuseFact("no_store_at_all", {});
  const page = text === "" ? "/checkouts" : `/find?q=${encodeURIComponent(text)}`;
  return accept(redirectTo(call, storePath({ storeId }, page)));
}

function searchTextOf({ query }: AreaRequest<Viewer>): string {
  return new URLSearchParams(query).get("q")?.trim().slice(0, MAX_SEARCH_LENGTH) ?? "";
}

type StoreView = Pick<View, "storeId">;

function pathsOfHits(view: StoreView, hits: SearchHits): readonly string[] {
  return [
    ...hits.checkouts.map(({ id }) => storePath(view, `/checkouts/${id}`)),
    ...hits.refusedOrders.map((order) => refusedPath(view, order)),
    ...hits.endpoints.map(({ id }) => storePath(view, `/webhooks/endpoints/${id}`)),
    ...hits.eventTypes.map((type) => eventsPath(view, type)),
  ];
}

function refusedPath(
  view: StoreView,
  { orderId, requestId, count }: SearchHits["refusedOrders"][number],
): string {
  return count === 1 ? storePath(view, `/requests/${requestId}`) : listUrl(view, "/requests", { q: orderId });
}

function eventsPath(view: StoreView, type: string): string {
  return listUrl(view, "/webhooks", { type });
}

function searchResultsPage(view: View, text: string, hits: SearchHits): PageContent {
  const { checkouts, refusedOrders, endpoints, eventTypes } = hits;
  const main = html`${hitSection(
    FRAME_TEXTS.checkouts,
    checkouts.map(
      (checkout) =>
        html`${linkTo(storePath(view, `/checkouts/${checkout.id}`), merchantText(checkout.orderId))}
        ${checkout.description === null ? "" : merchantText(checkout.description)} ${amountHtml(checkout)}
        ${statusBadge(checkout.status)} ${momentWithDate(checkout.createdAt)}`,
    ),
  )}
  ${hitSection(
    CHECKOUTS_TEXTS.refusedOrders,
    refusedOrders.map(
      (order) =>
        html`${linkTo(refusedPath(view, order), merchantText(order.orderId))} ${httpStatusBadge(order.status)}
          <code>${order.code ?? ""}</code>${order.count === 1 ? "" : html` × ${String(order.count)}`}
          ${momentWithDate(order.at)}`,
    ),
  )}
  ${hitSection(
    COMMON_TEXTS.endpoints,
    endpoints.map(({ id, url }) => linkTo(storePath(view, `/webhooks/endpoints/${id}`), displayText(url))),
  )}
  ${hitSection(
    CHECKOUTS_TEXTS.events,
    eventTypes.map((type) => linkTo(eventsPath(view, type), type)),
  )}
  ${pathsOfHits(view, hits).length === 0 ? html`<p class="empty">${CHECKOUTS_TEXTS.nothingFound}</p>` : ""}
  ${searchExtent(view, text, hits)}`;
  return { title: CHECKOUTS_TEXTS.foundTitle(displayText(text)), main };
}

function hitSection(title: Text, items: readonly Html[]): Html {
  if (items.length === 0) return html``;
  return html`<section class="found">
    <h2>${title}</h2>
    <ul>
      ${items.map((item) => html`<li>${item}</li>`)}
    </ul>
  </section>`;
}

function searchExtent(view: View, text: string, hits: SearchHits): Html {
  const { searched, searchedBackTo, nextBefore, hasSearchedAllRefused } = hits;
  const extentText =
    searched === null || searchedBackTo === null
      ? ""
      : html`<p class="hint">${CHECKOUTS_TEXTS.searched(searched)} ${momentWithDate(searchedBackTo)}</p>`;
  const moreText =
    nextBefore === null
      ? ""
      : html`<p>
          ${moreItemsLink(listUrl(view, "/checkouts", { q: text, before: nextBefore }), CHECKOUTS_TEXTS.searchOlder)}
        </p>`;
  const requestsLink = hasSearchedAllRefused
    ? ""
    : html`<p>${moreItemsLink(listUrl(view, "/requests", { q: text }), CHECKOUTS_TEXTS.moreRequests)}</p>`;
  return html`${extentText} ${moreText} ${requestsLink}`;
}
