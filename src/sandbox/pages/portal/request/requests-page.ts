import { merchantText } from "../../shared/merchant-text.ts";
import { accept, mapValue, refuse, type Outcome } from "../../../../core/outcome.ts";
import { parseStatuses } from "../../../../core/request/statuses.ts";
import type { LoggedRequest } from "../../../../core/request/logged-request.ts";
import { printableLiteral } from "../../../../core/text.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { listUrl, storePath } from "../forms.ts";
import { listPage, parsePosition, type ListPart, type ListQuery } from "../list.ts";
import { answerBadge, linkButton, noItems, linkTo, listTime, type TableRow } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { REQUEST_TEXTS } from "./texts.ts";

const PAGE = 50;
/** Number of requests read at a time to find matching ones, and the maximum. */
const READ_STEP = 500;
const MAX_READ = 2000;

/** The page of the request log, newest first. */
export async function requestsPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const now = storeTime(context, view.storeId);
  const command = "checkout orders create --order-id order-1001 --price-id price_coffee";
  const connect = linkButton(storePath(view, "/connect"), COMMON_TEXTS.connect);
  const statuses = ["2xx", "4xx", "409", "5xx"].map((one) => [one, one] as const);
  const listed = await listPage<LoggedRequest>(view, {
    path: "/requests",
    caption: REQUEST_TEXTS.requests,
    style: "requests",
    filters: [
      { name: "status", label: COMMON_TEXTS.status, options: statuses },
      { name: "path", label: REQUEST_TEXTS.pathBegins, placeholder: "/v1/orders" },
      { name: "q", label: REQUEST_TEXTS.search },
    ],
    columns: (request) => requestRow(context, view, { request, now }),
    read: (query) => readRequests(context.requests, view.storeId, query),
    none: noItems(REQUEST_TEXTS.noRequests, command, connect),
    positionOf: ({ position }) => position,
  });
  return mapValue(listed, ({ content, news }) => {
    return { title: FRAME_TEXTS.requests, main: html`<section>${content}</section>`, live: "store", news };
  });
}

/** Reads the log backwards, up to a limit, until a page is full. Refuses an invalid status and position. */
function readRequests(
  log: PortalContext["requests"],
  storeId: string,
  query: ListQuery,
): Outcome<ListPart<LoggedRequest>> {
  const from = parsePosition(query);
  if (!from.ok) return from;
  const isMatch = matcherOf(query);
  if (!isMatch.ok) return isMatch;
  const isAll = ["status", "path", "q"].every((name) => query[name] === undefined);
  const found: LoggedRequest[] = [];
  let before = from.value;
  let read = 0;
  while (found.length <= PAGE && read < MAX_READ) {
    const limit = isAll ? PAGE + 1 : READ_STEP;
    const some = log.before(storeId, before, limit);
    read += some.length;
    found.push(...some.filter(isMatch.value));
    before = some.at(-1)?.position;
    if (some.length < limit) {
      before = undefined;
      break;
    }
  }
  const items = found.slice(0, PAGE);
  const next = (found.length > PAGE ? items.at(-1)?.position : before) ?? null;
  const searchOn = { hint: REQUEST_TEXTS.looked(read), label: REQUEST_TEXTS.lookOn };
  return accept({ items, next, searchOn: next === null || items.length === PAGE ? undefined : searchOn });
}

/** Whether a request fits the filters. Refuses an invalid status with `invalid_parameter`. */
function matcherOf({ status, path = "", q = "" }: ListQuery): Outcome<(request: LoggedRequest) => boolean> {
  const statuses = status === undefined ? [0, 999] : parseStatuses(status);
  if (statuses === undefined)
    return refuse("invalid_parameter", [
      `status must have the form 404 or 4xx; got ${printableLiteral(status ?? "")}`,
      `status 形如 404 或 4xx；收到 ${printableLiteral(status ?? "")}`,
    ]);
  const [lowest = 0, highest = 0] = statuses;
  const text = q.toLowerCase();
  return accept((request) => {
    const { orderId, code, requestId } = request;
    const isFound = [orderId ?? "", code ?? "", requestId].some((one) => one.toLowerCase().includes(text));
    return request.status >= lowest && request.status <= highest && request.path.startsWith(path) && isFound;
  });
}

function requestRow(
  context: PortalContext,
  view: View,
  { request, now }: { readonly request: LoggedRequest; readonly now: number },
): TableRow {
  const { requestId, storeAt, method, path, status, code, durationMs, orderId, fault, byDrill } = request;
  const mark =
    fault === null ? "" : html` <span class="badge warn">${COMMON_TEXTS.fault}: ${fault.action}</span>`;
  const maker = byDrill === true ? html` <span class="badge">${REQUEST_TEXTS.byDrill}</span>` : "";
  return [
    [
      COMMON_TEXTS.time,
      html`${linkTo(storePath(view, `/requests/${requestId}`), listTime(storeAt, now))}
      ${realTime(request, now)}`,
    ],
    [COMMON_TEXTS.method, html`<code>${method}</code>`],
    [COMMON_TEXTS.path, html`<code class="path">${path}</code>`],
    [COMMON_TEXTS.status, answerBadge(status)],
    [REQUEST_TEXTS.code, html`${code === null ? "" : html`<code>${code}</code>`}${mark}${maker}`],
    [REQUEST_TEXTS.took, html`<span class="ms">${durationMs.toFixed(1)} ms</span>`],
    [COMMON_TEXTS.order, orderId === null ? "" : orderOf(context, view, orderId)],
  ];
}

/** The link of an order: to its newest checkout, or to its requests if none created a checkout. */
function orderOf({ store }: PortalContext, view: View, orderId: string): Html {
  const [newest] = store.checkouts.ofOrder({ storeId: view.storeId, orderId, limit: 1 });
  if (newest !== undefined) return linkTo(storePath(view, `/checkouts/${newest.id}`), merchantText(orderId));
  const isShown = view.query.get("q") === orderId;
  return isShown
    ? html`${merchantText(orderId)}`
    : linkTo(listUrl(view, "/requests", { q: orderId }), merchantText(orderId));
}

/** The time of arrival by the real clock, labelled, if the store's clock shows another time. */
function realTime({ at, storeAt }: LoggedRequest, now: number): Html {
  return at === storeAt
    ? html``
    : html`<small class="real">${COMMON_TEXTS.realTime} ${listTime(at, now)}</small>`;
}
