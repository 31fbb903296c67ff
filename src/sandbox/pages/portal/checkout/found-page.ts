import { displayText } from "../../../../core/text.ts";
import type { SearchHits } from "../../../explain/search.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { merchantText } from "../../shared/merchant-text.ts";
import { listUrl, storePath } from "../forms.ts";
import { amount, answerBadge, momentWithDate, linkTo, nextPartLink, statusBadge } from "../parts.ts";
import type { PageContent, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

type StoreView = Pick<View, "storeId">;

export function pagesOfHits(view: StoreView, found: SearchHits): readonly string[] {
  return [
    ...found.checkouts.map(({ id }) => storePath(view, `/checkouts/${id}`)),
    ...found.refused.map((order) => refusedPath(view, order)),
    ...found.endpoints.map(({ id }) => storePath(view, `/webhooks/endpoints/${id}`)),
    ...found.eventTypes.map((type) => eventsPath(view, type)),
  ];
}

/** The page of an order's only refused request, or the list of all requests of the order. */
function refusedPath(view: StoreView, { orderId, requestId, count }: SearchHits["refused"][number]): string {
  return count === 1 ? storePath(view, `/requests/${requestId}`) : listUrl(view, "/requests", { q: orderId });
}

function eventsPath(view: StoreView, type: string): string {
  return listUrl(view, "/webhooks", { type });
}

export function searchResultsPage(view: View, text: string, found: SearchHits): PageContent {
  const { checkouts, refused, endpoints, eventTypes } = found;
  const main = html`${kind(
    FRAME_TEXTS.checkouts,
    checkouts.map(
      (one) =>
        html`${linkTo(storePath(view, `/checkouts/${one.id}`), merchantText(one.orderId))}
        ${one.description === null ? "" : merchantText(one.description)} ${amount(one)}
        ${statusBadge(one.status)} ${momentWithDate(one.createdAt)}`,
    ),
  )}
  ${kind(
    CHECKOUTS_TEXTS.refusedOrders,
    refused.map(
      (one) =>
        html`${linkTo(refusedPath(view, one), merchantText(one.orderId))} ${answerBadge(one.status)}
          <code>${one.code ?? ""}</code>${one.count === 1 ? "" : html` × ${String(one.count)}`}
          ${momentWithDate(one.at)}`,
    ),
  )}
  ${kind(
    COMMON_TEXTS.endpoints,
    endpoints.map(({ id, url }) => linkTo(storePath(view, `/webhooks/endpoints/${id}`), displayText(url))),
  )}
  ${kind(
    CHECKOUTS_TEXTS.events,
    eventTypes.map((type) => linkTo(eventsPath(view, type), type)),
  )}
  ${pagesOfHits(view, found).length === 0 ? html`<p class="empty">${CHECKOUTS_TEXTS.nothingFound}</p>` : ""}
  ${searchExtent(view, text, found)}`;
  return { title: CHECKOUTS_TEXTS.foundTitle(displayText(text)), main };
}

function kind(title: Text, items: readonly Html[]): Html {
  if (items.length === 0) return html``;
  return html`<section class="found">
    <h2>${title}</h2>
    <ul>
      ${items.map((item) => html`<li>${item}</li>`)}
    </ul>
  </section>`;
}

function searchExtent(view: View, text: string, found: SearchHits): Html {
  const { searched, searchedBackTo, nextBefore, isRefusedWhole } = found;
  const looked =
    searched === null || searchedBackTo === null
      ? ""
      : html`<p class="hint">${CHECKOUTS_TEXTS.searched(searched)} ${momentWithDate(searchedBackTo)}</p>`;
  const moreText =
    nextBefore === null
      ? ""
      : html`<p>
          ${nextPartLink(listUrl(view, "/checkouts", { q: text, before: nextBefore }), CHECKOUTS_TEXTS.lookOn)}
        </p>`;
  const requests = isRefusedWhole
    ? ""
    : html`<p>${nextPartLink(listUrl(view, "/requests", { q: text }), CHECKOUTS_TEXTS.lookInRequests)}</p>`;
  return html`${looked} ${moreText} ${requests}`;
}
