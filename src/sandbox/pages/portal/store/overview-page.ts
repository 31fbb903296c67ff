import { causeText, errorText, type StoryAttempt } from "../../../../core/explain/delivery.ts";
import { translatorFor } from "../../../../core/language.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import type { Endpoint } from "../../../../core/webhook/endpoint.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { merchantText } from "../../shared/layout.ts";
import { listUrl, storePath } from "../forms.ts";
import {
  cappedCountText,
  isFailingEndpoint,
  MAX_COUNT,
  openCheckoutPositions,
} from "../frame/menu-counts.ts";
import { ageHtml, httpStatusBadge, linkButton, linkTo, section, table, shortTimeHtml } from "../parts.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { endpointPath, healthOf } from "../webhook/endpoint-parts.ts";
import { dueItemsUntil } from "./due.ts";
import { OVERVIEW_TEXTS as TEXTS } from "./texts.ts";

const DAY_MS = 24 * 3_600_000;
const MAX_ROWS = 5;
const MAX_REQUESTS_READ = 500;

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
  const endpoints = context.store.endpoints.of(view.storeId);
  const noRows =
    endpoints.length === 0
      ? html`${hintPart(TEXTS.noEndpoint)}
          <p>${linkButton(storePath(view, "/webhooks"), COMMON_TEXTS.addEndpoint)}</p>`
      : hintPart(TEXTS.noneFailing);
  const list = table(
    { caption: TEXTS.failing, noRows, isLinked: true },
    endpoints.filter(isFailingEndpoint).slice(0, MAX_ROWS),
    (endpoint) => {
      const { id, url, failingSince, reason } = endpoint;
      const attempt = lastAttempt(context, endpoint);
      const { due: count } = healthOf(context, view, id);
      const sinceText =
        failingSince === null
          ? (reason ?? "")
          : html`${COMMON_TEXTS.since} ${shortTimeHtml(failingSince, now)}`;
      const cause = attempt && causeText(attempt, translatorFor(view.language));
      return [
        [COMMON_TEXTS.endpoint, linkTo(endpointPath(view, id), url.replace(/^http:\/\//, "")), "head"],
        [
          TEXTS.last,
          html`${attempt === undefined ? "" : httpStatusBadge(attempt.status)}
            <span class="hint">${sinceText}</span>`,
        ],
        [
          COMMON_TEXTS.cause,
          html`${cause ?? ""}
            <span class="hint">${attempt === undefined ? "" : (errorText(attempt) ?? "")}</span>`,
        ],
        [TEXTS.waiting, count === 0 ? "" : TEXTS.wait(cappedCountText(count))],
      ];
    },
  );
  return section(TEXTS.failing, list);
}

function lastAttempt({ store }: PortalContext, { id, storeId }: Endpoint): StoryAttempt | undefined {
  const attempts = (["due", "failed"] as const)
    .flatMap((state) => store.deliveries.list({ storeId, endpointId: id, state, limit: MAX_ROWS }))
    .flatMap((delivery) => store.deliveryAttempts.of(delivery.id).slice(-1))
    .filter(({ finishedAt }) => finishedAt !== null);
  return attempts.toSorted((left, right) => right.startedAt - left.startedAt)[0];
}

function refusedPart({ requests }: PortalContext, view: View, now: number): Html {
  const { hits: refusedRequests } = requests.search(view.storeId, {
    limit: MAX_ROWS,
    maxRead: MAX_REQUESTS_READ,
    isMatch: ({ status }) => status >= 400,
  });
  const list = table(
    { caption: TEXTS.refused, noRows: hintPart(TEXTS.noneRefused), isLinked: true },
    refusedRequests,
    ({ requestId, storeAt, method, path, status, code, orderId }) => [
      [COMMON_TEXTS.request, linkTo(storePath(view, `/requests/${requestId}`), `${method} ${path}`), "head"],
      [COMMON_TEXTS.status, httpStatusBadge(status)],
      [COMMON_TEXTS.code, html`<code>${code ?? ""}</code>`],
      [COMMON_TEXTS.order, orderId === null ? "" : merchantText(orderId)],
      [COMMON_TEXTS.time, shortTimeHtml(storeAt, now)],
    ],
  );
  const moreLine =
    refusedRequests.length === 0
      ? ""
      : html`<p>${linkTo(listUrl(view, "/requests", { status: "4xx" }), TEXTS.allRefused)}</p>`;
  return section(TEXTS.refused, list, moreLine);
}

function dueSection(context: PortalContext, view: View, now: number): Html {
  const { items, hasMore } = dueItemsUntil(context, view.storeId, now + DAY_MS);
  const [firstExpiry, ...otherExpiries] = items.filter(({ kind }) => kind === "expiry");
  const count = otherExpiries.length;
  const moreText =
    count === 0
      ? ""
      : html` <span class="hint">${TEXTS.others(hasMore ? `${count}+` : String(count))}</span>`;
  const list = table(
    { caption: COMMON_TEXTS.due, noRows: hintPart(TEXTS.noneDue), isLinked: true },
    items.filter((item) => !otherExpiries.includes(item)).slice(0, MAX_ROWS),
    (item) => {
      const link = linkTo(storePath(view, item.path), item.subject);
      return [
        [COMMON_TEXTS.time, shortTimeHtml(item.at, now)],
        [COMMON_TEXTS.item, TEXTS.kinds[item.kind]],
        [COMMON_TEXTS.of, html`${link}${item === firstExpiry ? moreText : ""}`, "head"],
      ];
    },
  );
  const clockLink = html`<p>${linkTo(storePath(view, "/clock"), TEXTS.openClock)}</p>`;
  return section(COMMON_TEXTS.due, list, items.length === 0 ? "" : clockLink);
}

function unpaidSection(context: PortalContext, view: View, now: number): Html {
  const checkouts = context.store.checkoutLists.at(openCheckoutPositions(context, view.storeId));
  if (checkouts.length === 0) return section(TEXTS.unpaid, hintPart(TEXTS.noneUnpaid));
  const oldestTime = Math.min(...checkouts.map(({ createdAt }) => createdAt));
  const hasMore = checkouts.length > MAX_COUNT;
  const count = TEXTS.unpaidCount(cappedCountText(checkouts.length));
  return section(
    TEXTS.unpaid,
    html`<p>
      ${linkTo(storePath(view, "/checkouts"), count)}${hasMore ? "" : html`${TEXTS.oldest} ${ageHtml(oldestTime, now)}`}
    </p>`,
  );
}
