import { merchantText } from "../../shared/merchant-text.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import { parseStatuses } from "../../../../core/request/statuses.ts";
import type { LoggedRequest } from "../../../../core/request/logged-request.ts";
import { printableLiteral } from "../../../../core/text.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { listFilter } from "../fields.ts";
import { listAddress, storePath } from "../forms.ts";
import { listUpdatesOf } from "../live/parts.ts";
import {
  answerBadge,
  linkButton,
  noItems,
  linkTo,
  nextPartLink,
  noMatch,
  table,
  listTime,
  type TableRow,
} from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_WORDS } from "../texts.ts";
import { REQUEST_TEXTS } from "./texts.ts";

const PAGE = 50;
/** Number of requests read at a time to find matching ones, and the maximum. */
const READ_STEP = 500;
const MAX_READ = 2000;

/** The filters in the address. */
type RequestQuery = {
  readonly status: string;
  readonly statuses: readonly [number, number] | null;
  readonly path: string;
  readonly q: string;
  readonly before: number | undefined;
};

/**
 * A part of the log: the matching requests, the number of requests read for them, and the position before which to
 * continue.
 */
type LogPart = {
  readonly requests: readonly LoggedRequest[];
  readonly read: number;
  readonly next: number | undefined;
};

/** The page of the request log, newest first. */
export async function requestsPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const wanted = readQuery(view);
  if (!wanted.ok) return wanted;
  const part = readPart(context.requests, view.storeId, wanted.value);
  const { q, path, status, before } = wanted.value;
  const isFiltered = q !== "" || path !== "" || status !== "" || before !== undefined;
  const isNothing = part.requests.length === 0 && part.next === undefined && !isFiltered;
  const main = html`<section>
    ${filterForm(view, wanted.value)}
    ${
      isNothing
        ? noItems(
            REQUEST_TEXTS.noRequests,
            "checkout orders create --order-id order-1001 --price-id price_coffee",
            linkButton(storePath(view, "/connect"), COMMON_WORDS.connect),
          )
        : requestTable(context, view, part.requests)
    }
    ${pager(view, wanted.value, part)}
  </section>`;
  const news = listUpdatesOf(view, part.requests, { positionOf: ({ position }) => position });
  return accept({ title: FRAME_TEXTS.requests, main, live: "store", news });
}

/** Reads the log backwards, up to a limit, until a page is full. */
function readPart(log: PortalContext["requests"], storeId: string, wanted: RequestQuery): LogPart {
  const isAll = wanted.statuses === null && wanted.path === "" && wanted.q === "";
  const found: LoggedRequest[] = [];
  let { before } = wanted;
  let read = 0;
  while (found.length <= PAGE && read < MAX_READ) {
    const limit = isAll ? PAGE + 1 : READ_STEP;
    const some = log.before(storeId, before, limit);
    read += some.length;
    found.push(...some.filter((request) => matches(wanted, request)));
    before = some.at(-1)?.position;
    if (some.length < limit) {
      before = undefined;
      break;
    }
  }
  const requests = found.slice(0, PAGE);
  const next = found.length > PAGE ? requests.at(-1)?.position : before;
  return { requests, read, next };
}

function matches({ statuses, path, q }: RequestQuery, request: LoggedRequest): boolean {
  const [lowest, highest] = statuses ?? [0, 999];
  const { orderId, code, requestId } = request;
  const isFound = [orderId ?? "", code ?? "", requestId].some((text) => text.toLowerCase().includes(q));
  return request.status >= lowest && request.status <= highest && request.path.startsWith(path) && isFound;
}

/** Refuses an invalid status and an invalid position with `invalid_parameter`. */
function readQuery({ query }: View): Outcome<RequestQuery> {
  const status = (query.get("status") ?? "").trim();
  const statuses = status === "" ? null : parseStatuses(status);
  if (statuses === undefined)
    return refuse("invalid_parameter", [
      `status must have the form 404 or 4xx; got ${printableLiteral(status)}`,
      `status 形如 404 或 4xx；收到 ${printableLiteral(status)}`,
    ]);
  const before = query.get("before") ?? "";
  if (!/^\d{0,15}$/.test(before))
    return refuse("invalid_parameter", [
      `before must be a position of the log; got ${printableLiteral(before)}`,
      `before 是日志中的位置；收到 ${printableLiteral(before)}`,
    ]);
  return accept({
    status,
    statuses,
    path: (query.get("path") ?? "").trim(),
    q: (query.get("q") ?? "").trim().toLowerCase(),
    before: before === "" ? undefined : Number(before),
  });
}

function filterForm(view: View, { status, path, q }: RequestQuery): Html {
  const known = ["2xx", "4xx", "409", "5xx"];
  const statuses = status === "" || known.includes(status) ? known : [...known, status];
  return html`<form method="get" action="${storePath(view, "/requests")}" class="filters">
    ${listFilter(
      { name: "status", label: COMMON_WORDS.status, any: COMMON_WORDS.all },
      statuses.map((one) => [one, one] as const),
      status,
    )}
    <label>${REQUEST_TEXTS.pathBegins} <input name="path" value="${path}" placeholder="/v1/orders" /></label>
    <label>${REQUEST_TEXTS.search} <input name="q" type="search" value="${q}" size="28" /></label>
    <button type="submit">${COMMON_WORDS.filter}</button>
  </form>`;
}

function requestTable(context: PortalContext, view: View, requests: readonly LoggedRequest[]): Html {
  const now = storeTime(context, view.storeId);
  if (requests.length === 0) return noMatch(REQUEST_TEXTS.noMatch, storePath(view, "/requests"));
  const list = table(
    REQUEST_TEXTS.requests,
    requests,
    (request) => requestRow(context, view, { request, now }),
    {
      opens: true,
    },
  );
  return html`<div class="requests">${list}</div>`;
}

function requestRow(
  context: PortalContext,
  view: View,
  { request, now }: { readonly request: LoggedRequest; readonly now: number },
): TableRow {
  const { requestId, storeAt, method, path, status, code, durationMs, orderId, fault, byDrill } = request;
  const mark =
    fault === null ? "" : html` <span class="badge warn">${COMMON_WORDS.fault}: ${fault.action}</span>`;
  const maker = byDrill === true ? html` <span class="badge">${REQUEST_TEXTS.byDrill}</span>` : "";
  return [
    [
      COMMON_WORDS.time,
      html`${linkTo(storePath(view, `/requests/${requestId}`), listTime(storeAt, now))}
      ${realTime(request, now)}`,
    ],
    [COMMON_WORDS.method, html`<code>${method}</code>`],
    [COMMON_WORDS.path, html`<code class="path">${path}</code>`],
    [COMMON_WORDS.status, answerBadge(status)],
    [REQUEST_TEXTS.code, html`${code === null ? "" : html`<code>${code}</code>`}${mark}${maker}`],
    [REQUEST_TEXTS.took, html`<span class="ms">${durationMs.toFixed(1)} ms</span>`],
    [COMMON_WORDS.order, orderId === null ? "" : orderOf(context, view, orderId)],
  ];
}

/** The link of an order: to its newest checkout, or to its requests if none created a checkout. */
function orderOf({ store }: PortalContext, view: View, orderId: string): Html {
  const [newest] = store.checkouts.ofOrder({ storeId: view.storeId, orderId, limit: 1 });
  if (newest !== undefined) return linkTo(storePath(view, `/checkouts/${newest.id}`), merchantText(orderId));
  const isShown = view.query.get("q") === orderId;
  return isShown
    ? html`${merchantText(orderId)}`
    : linkTo(listAddress(view, "/requests", { q: orderId }), merchantText(orderId));
}

/** The time of arrival by the real clock, labelled, if the store's clock shows another time. */
function realTime({ at, storeAt }: LoggedRequest, now: number): Html {
  return at === storeAt
    ? html``
    : html`<small class="real">${COMMON_WORDS.realTime} ${listTime(at, now)}</small>`;
}

function pager(view: View, { status, path, q }: RequestQuery, { requests, read, next }: LogPart): Html {
  if (next === undefined) return html``;
  const isFull = requests.length === PAGE;
  const address = listAddress(view, "/requests", { status, path, q, before: String(next) });
  return html`<p class="pager">
    ${isFull ? "" : html`<span class="hint">${REQUEST_TEXTS.looked(read)}</span>`}
    ${nextPartLink(address, isFull ? COMMON_WORDS.older : REQUEST_TEXTS.lookOn)}
  </p>`;
}
