import { merchantText } from "../../shared/layout.ts";
import { COLON } from "../../../../core/language.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { parseStatuses } from "../../../../core/request/statuses.ts";
import type { LoggedRequest } from "../../../../core/request/logged-request.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { listUrl, storePath } from "../forms.ts";
import { listPage, PAGE_SIZE, parsePosition } from "../list.ts";
import {
  httpStatusBadge,
  linkButton,
  emptyListHtml,
  linkTo,
  shortTimeHtml,
  type TableRow,
} from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { REQUEST_TEXTS } from "./texts.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { printableLiteral } from "../../../../core/text.ts";

const MAX_READ_REQUESTS = 2000;

export function requestListPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const command = "checkout orders create --order-id order-1001 --price-id price_coffee";
  const connectButton = linkButton(storePath(view, "/connect"), COMMON_TEXTS.connect);
  return listPage<LoggedRequest>(view, {
    title: FRAME_TEXTS.requests,
    liveTopic: "store",
    path: "/requests",
    caption: REQUEST_TEXTS.requests,
    filters: {
      status: { label: COMMON_TEXTS.status, options: ["2xx", "4xx", "409", "5xx"] },
      path: { label: REQUEST_TEXTS.pathBegins, placeholder: "/v1/orders" },
      q: { label: REQUEST_TEXTS.search },
    },
    columns: (request) => requestRow(context, view, request),
    read: ({ status, path = "", q = "", ...query }) => {
      const cursor = parsePosition(query);
      if (!cursor.ok) return cursor;
      const statuses = status === undefined ? [0, 999] : parseStatuses(status);
      if (statuses === undefined) return refuseFact("status_form", { received: printableLiteral(status) });
      const [low = 0, high = 0] = statuses;
      const text = q.toLowerCase();
      const isMatch = (request: LoggedRequest): boolean => {
        const { orderId, code, requestId } = request;
        const isFound = [orderId ?? "", code ?? "", requestId].some((field) =>
          field.toLowerCase().includes(text),
        );
        return request.status >= low && request.status <= high && request.path.startsWith(path) && isFound;
      };
      const search = { before: cursor.value, limit: PAGE_SIZE, maxRead: MAX_READ_REQUESTS, isMatch };
      const { hits: items, readCount, nextBefore } = context.requests.search(view.storeId, search);
      const nextSearch = { hint: REQUEST_TEXTS.searchedCount(readCount), label: REQUEST_TEXTS.searchOlder };
      return accept({
        items,
        next: nextBefore,
        nextSearch: nextBefore === null || items.length === PAGE_SIZE ? undefined : nextSearch,
      });
    },
    noRows: emptyListHtml(REQUEST_TEXTS.noRequests, command, connectButton),
    positionOf: ({ position }) => position,
    wrap: (list) => html`<section>${list}</section>`,
  });
}

function requestRow(context: PortalContext, view: View, request: LoggedRequest): TableRow {
  const { requestId, at, storeAt, method, path, status, code, durationMs, orderId, fault, byDrill } = request;
  const now = storeTime(context, view.storeId);
  const arrivalLink = linkTo(storePath(view, `/requests/${requestId}`), shortTimeHtml(storeAt, now));
  const realTime =
    at === storeAt
      ? ""
      : html`<small class="real">${COMMON_TEXTS.realTime} ${shortTimeHtml(at, now)}</small>`;
  const faultBadge =
    fault === null ? "" : html` <span class="badge warn">${COMMON_TEXTS.fault}${COLON}${fault.action}</span>`;
  const drillBadge = byDrill === true ? html` <span class="badge">${REQUEST_TEXTS.byDrill}</span>` : "";
  return [
    [COMMON_TEXTS.time, html`${arrivalLink} ${realTime}`],
    [COMMON_TEXTS.method, html`<code>${method}</code>`],
    [COMMON_TEXTS.path, html`<code class="path">${path}</code>`],
    [COMMON_TEXTS.status, httpStatusBadge(status)],
    [COMMON_TEXTS.code, html`${code === null ? "" : html`<code>${code}</code>`}${faultBadge}${drillBadge}`],
    [REQUEST_TEXTS.duration, html`<span class="ms">${durationMs.toFixed(1)} ms</span>`],
    [COMMON_TEXTS.order, orderId === null ? "" : orderLink(context, view, orderId)],
  ];
}

function orderLink({ store }: PortalContext, view: View, orderId: string): Html {
  const [checkout] = store.checkouts.ofOrder({ storeId: view.storeId, orderId, limit: 1 });
  if (checkout !== undefined)
    return linkTo(storePath(view, `/checkouts/${checkout.id}`), merchantText(orderId));
  const isShown = view.query.get("q") === orderId;
  return isShown
    ? html`${merchantText(orderId)}`
    : linkTo(listUrl(view, "/requests", { q: orderId }), merchantText(orderId));
}
