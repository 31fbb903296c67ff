import { causeText, errorText, type StoryAttempt } from "../../../../core/explain/delivery.ts";
import { translatorFor } from "../../../../core/language.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import type { LoggedRequest } from "../../../../core/request/logged-request.ts";
import type { Endpoint } from "../../../../core/webhook/endpoint.ts";
import { POSITION_AFTER_ALL } from "../../../../store/checkout/checkout-lists.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { merchantText } from "../../shared/merchant-text.ts";
import { storeTime } from "../../../with-store.ts";
import { listUrl, storePath } from "../forms.ts";
import { isFailing } from "../frame/menu-counts.ts";
import { ageOf, answerBadge, linkButton, linkTo, section, table, listTime } from "../parts.ts";
import { dueItemsUntil, type PendingItem } from "../store/due.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { endpointPath, healthOf } from "../webhook/endpoint-parts.ts";
import { OVERVIEW_TEXTS } from "./texts.ts";

const DAY_MS = 24 * 3_600_000;
/** Maximum number of rows in each part. */
const MAX_ROWS = 5;
/** Maximum number of requests that are read to find refused requests. */
const MAX_REQUESTS_READ = 500;
/** The largest number of unpaid checkouts or waiting deliveries that is shown; more are shown as `99+`. */
const MAX_COUNT = 99;

/** The overview of a store: failing endpoints, refused requests, due items, and unpaid checkouts. */
export async function overviewPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const now = storeTime(context, view.storeId);
  const main = html`${failingPart(context, view, now)} ${refusedPart(context, view, now)}
  ${dueSection(context, view, now)} ${unpaidSection(context, view, now)}`;
  return accept({ title: FRAME_TEXTS.overview, main, liveTopic: "store" });
}

function hintPart(words: Text): Html {
  return html`<p class="hint">${words}</p>`;
}

function failingPart(context: PortalContext, view: View, now: number): Html {
  const { store } = context;
  const endpoints = store.endpoints.of(view.storeId);
  const healthyHint =
    endpoints.length === 0
      ? html`${hintPart(OVERVIEW_TEXTS.noEndpoint)}
          <p>${linkButton(storePath(view, "/webhooks"), COMMON_TEXTS.addEndpoint)}</p>`
      : hintPart(OVERVIEW_TEXTS.noneFailing);
  const list = table(
    OVERVIEW_TEXTS.failing,
    endpoints.filter(isFailing).slice(0, MAX_ROWS),
    (endpoint) => {
      const { id, url, failingSince, reason } = endpoint;
      const attempt = lastAttempt(context, endpoint);
      const cause = attempt === undefined ? undefined : causeText(attempt, translatorFor(view.language));
      const { due: count } = healthOf(context, view, id);
      const sinceText =
        failingSince === null ? reason : html`${COMMON_TEXTS.since} ${listTime(failingSince, now)}`;
      return [
        [COMMON_TEXTS.endpoint, linkTo(endpointPath(view, id), url.replace(/^http:\/\//, "")), "head"],
        [
          OVERVIEW_TEXTS.last,
          html`${attempt === undefined ? "" : answerBadge(attempt.status)}
            <span class="hint">${sinceText ?? ""}</span>`,
        ],
        [
          COMMON_TEXTS.cause,
          html`${cause ?? ""}
            <span class="hint">${attempt === undefined ? "" : (errorText(attempt) ?? "")}</span>`,
        ],
        [
          OVERVIEW_TEXTS.waiting,
          count === 0 ? "" : OVERVIEW_TEXTS.wait(count > MAX_COUNT ? `${MAX_COUNT}+` : String(count)),
        ],
      ];
    },
    { noRows: healthyHint, isLinked: true },
  );
  return section(OVERVIEW_TEXTS.failing, list);
}

/** The newest finished attempt to an endpoint, among its due and failed deliveries. */
function lastAttempt({ store }: PortalContext, { id, storeId }: Endpoint): StoryAttempt | undefined {
  const attempts = (["due", "failed"] as const)
    .flatMap((state) => store.deliveries.list({ storeId, endpointId: id, state, limit: MAX_ROWS }))
    .flatMap((delivery) => store.deliveryAttempts.of(delivery.id).slice(-1))
    .filter(({ finishedAt }) => finishedAt !== null);
  return attempts.toSorted((left, right) => right.startedAt - left.startedAt)[0];
}

function refusedPart({ requests }: PortalContext, view: View, now: number): Html {
  const refusedList = refusedRequests(requests, view.storeId);
  const list = table(
    OVERVIEW_TEXTS.refused,
    refusedList,
    (request: LoggedRequest) => {
      const { requestId, storeAt, method, path, status, code, orderId } = request;
      return [
        [
          COMMON_TEXTS.request,
          html`${linkTo(storePath(view, `/requests/${requestId}`), `${method} ${path}`)}`,
          "head",
        ],
        [COMMON_TEXTS.status, answerBadge(status)],
        [COMMON_TEXTS.code, html`<code>${code ?? ""}</code>`],
        [COMMON_TEXTS.order, orderId === null ? "" : merchantText(orderId)],
        [COMMON_TEXTS.time, listTime(storeAt, now)],
      ];
    },
    { noRows: hintPart(OVERVIEW_TEXTS.noneRefused), isLinked: true },
  );
  const moreLine =
    refusedList.length === 0
      ? ""
      : html`<p>${linkTo(listUrl(view, "/requests", { status: "4xx" }), OVERVIEW_TEXTS.allRefused)}</p>`;
  return section(OVERVIEW_TEXTS.refused, list, moreLine);
}

/** The newest refused requests among the newest requests. */
function refusedRequests(log: PortalContext["requests"], storeId: string): readonly LoggedRequest[] {
  const isMatch = ({ status }: LoggedRequest): boolean => status >= 400;
  return log.search(storeId, { limit: MAX_ROWS, maxRead: MAX_REQUESTS_READ, isMatch }).hits;
}

/** The next due items; all expiries share one row. */
function dueSection(context: PortalContext, view: View, now: number): Html {
  const { items, hasMore } = dueItemsUntil(context, view.storeId, { until: now + DAY_MS });
  const expiries = items.filter(({ kind }) => kind === "expiry");
  const [firstExpiry] = expiries;
  const count = expiries.length - 1;
  const moreLine =
    count < 1
      ? ""
      : html` <span class="hint">${OVERVIEW_TEXTS.others(hasMore ? `${count}+` : String(count))}</span>`;
  const list = table(
    COMMON_TEXTS.due,
    items.filter((item) => item.kind !== "expiry" || item === firstExpiry).slice(0, MAX_ROWS),
    (item: PendingItem) => [
      [COMMON_TEXTS.time, listTime(item.at, now)],
      [COMMON_TEXTS.item, OVERVIEW_TEXTS.kinds[item.kind]],
      [
        COMMON_TEXTS.of,
        html`${linkTo(storePath(view, item.path), item.subject)}${item === firstExpiry ? moreLine : ""}`,
        "head",
      ],
    ],
    { noRows: hintPart(OVERVIEW_TEXTS.noneDue), isLinked: true },
  );
  return section(
    COMMON_TEXTS.due,
    list,
    items.length === 0 ? "" : html`<p>${linkTo(storePath(view, "/clock"), OVERVIEW_TEXTS.openClock)}</p>`,
  );
}

function unpaidSection({ store }: PortalContext, view: View, now: number): Html {
  const lists = store.checkoutLists;
  const baseFilter = { storeId: view.storeId, object: null, paymentMethod: null, orderId: null };
  const positions = (["created", "pending"] as const).flatMap((status) =>
    lists.newest({ ...baseFilter, status }, { before: POSITION_AFTER_ALL, limit: MAX_COUNT + 1 }),
  );
  const checkouts = lists.at(positions);
  if (checkouts.length === 0) return section(OVERVIEW_TEXTS.unpaid, hintPart(OVERVIEW_TEXTS.noneUnpaid));
  const hasMore = checkouts.length > MAX_COUNT;
  const oldestTime = Math.min(...checkouts.map(({ createdAt }) => createdAt));
  const count = OVERVIEW_TEXTS.unpaidCount(hasMore ? `${MAX_COUNT}+` : String(checkouts.length));
  return section(
    OVERVIEW_TEXTS.unpaid,
    html`<p>
      ${linkTo(storePath(view, "/checkouts"), count)}${hasMore ? "" : html`${OVERVIEW_TEXTS.oldest} ${ageOf(oldestTime, now)}`}
    </p>`,
  );
}
