import { displayText } from "../../../../core/text.ts";
import type { SearchHits } from "../../../explain/search.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { merchantText } from "../../shared/merchant-text.ts";
import { listUrl, storePath } from "../forms.ts";
import { amountHtml, answerBadge, momentWithDate, linkTo, nextPartLink, statusBadge } from "../parts.ts";
import type { PageContent, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

type StoreView = Pick<View, "storeId">;

export function pathsOfHits(view: StoreView, hits: SearchHits): readonly string[] {
  return [
    ...hits.checkouts.map(({ id }) => storePath(view, `/checkouts/${id}`)),
    ...hits.refusedOrders.map((order) => refusedPath(view, order)),
    ...hits.endpoints.map(({ id }) => storePath(view, `/webhooks/endpoints/${id}`)),
    ...hits.eventTypes.map((type) => eventsPath(view, type)),
  ];
}

/** The page of an order's only refused request, or the list of all requests of the order. */
function refusedPath(
  view: StoreView,
  { orderId, requestId, count }: SearchHits["refusedOrders"][number],
): string {
  return count === 1 ? storePath(view, `/requests/${requestId}`) : listUrl(view, "/requests", { q: orderId });
}

function eventsPath(view: StoreView, type: string): string {
  return listUrl(view, "/webhooks", { type });
}

export function searchResultsPage(view: View, text: string, hits: SearchHits): PageContent {
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
        html`${linkTo(refusedPath(view, order), merchantText(order.orderId))} ${answerBadge(order.status)}
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
          ${nextPartLink(listUrl(view, "/checkouts", { q: text, before: nextBefore }), CHECKOUTS_TEXTS.searchOlder)}
        </p>`;
  const requestsLink = hasSearchedAllRefused
    ? ""
    : html`<p>${nextPartLink(listUrl(view, "/requests", { q: text }), CHECKOUTS_TEXTS.moreRequests)}</p>`;
  return html`${extentText} ${moreText} ${requestsLink}`;
}
