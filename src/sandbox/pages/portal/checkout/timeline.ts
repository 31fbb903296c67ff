import { translatorFor } from "../../../../core/language.ts";
import { toIso } from "../../../../core/clock.ts";
import type { DeliveryLine } from "../../../../core/explain/deliveries.ts";
import type { PendingEntry, StoryEntry } from "../../../../core/explain/explanation.ts";
import {
  pendingOf,
  storyLines,
  type StoryEvent,
  type StoryLine,
  type StoryRequest,
} from "../../../../core/explain/timeline.ts";
import type { Checkout } from "../../../../core/checkout/checkout.ts";
import type { DeliveryAttempt } from "../../../../store/webhook/delivery-attempts.ts";
import { html, type Html } from "../../../../web/html.ts";
import { languageTagOf } from "../../../../web/language.ts";
import { actionForm, linkUnlessSaved, storePath } from "../forms.ts";
import { copyableText, factList, momentHtml, momentWithDate, bodyFigure, textWithMoments } from "../parts.ts";
import { differencesTable, requestDetails } from "../request/exchange.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { attemptDetails, type AttemptedDelivery } from "../webhook/attempt-parts.ts";
import type { StoryWithRequests } from "../../../explain/explain.ts";
import type { OperationContext } from "../../../control/handler.ts";
import type { PartView } from "../view.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

/** A page shows about this many of the last lines; `checkout explain` and a saved page show all. */
const MAX_LINES = 60;

type StoryOptions = { readonly fullStory: StoryWithRequests; readonly command: string };

type StoryIndex = {
  readonly dayOf: (entry: StoryEntry) => Html;
  readonly fullStory: StoryWithRequests;
  readonly deliveries: ReadonlyMap<string, StoryWithRequests["story"]["deliveries"][number]>;
  readonly firstPositions: ReadonlyMap<string, number>;
};

export function timeline(
  context: OperationContext,
  view: PartView,
  { fullStory, command }: StoryOptions,
): Html {
  const say = translatorFor(view.language);
  const story = { checkouts: [fullStory.story], requests: fullStory.requests, now: fullStory.now };
  const maxLines = view.isSaved === true ? Infinity : MAX_LINES;
  const { shownLines, hiddenCount } = lastLines(storyLines(story, say), maxLines);
  const storyIndex = createStoryIndex(fullStory);
  const note =
    hiddenCount === 0
      ? ""
      : html`<p class="hint">${CHECKOUTS_TEXTS.earlier(hiddenCount)} ${copyableText(command)}</p>`;
  return html`${pendingSection(pendingOf(story, say).slice(0, maxLines))}
    <section>
      <h2 id="story">${CHECKOUTS_TEXTS.story}</h2>
      ${note}
      <ol class="story" aria-labelledby="story">
        ${shownLines.map((line) => storyLine(context, view, { line, storyIndex }))}
      </ol>
    </section>`;
}

function pendingSection(entries: readonly PendingEntry[]): Html {
  if (entries.length === 0) return html``;
  const dayOf = createDayMarker();
  return html`<section>
    <h2 id="pending">${CHECKOUTS_TEXTS.pending}</h2>
    <ol class="story pending" aria-labelledby="pending">
      ${entries.map(
        (entry) =>
          html`${dayOf(entry)}
            <li class="${entry.what}">
              <span class="at">${momentHtml(entry.at)}</span>
              <div class="line">${entry.text}</div>
            </li>`,
      )}
    </ol>
  </section>`;
}

function createStoryIndex(story: StoryWithRequests): StoryIndex {
  const deliveries = new Map(story.story.deliveries.map((delivery) => [delivery.id, delivery]));
  const positions = story.requests.map(({ requestId, position }) => [requestId, position] as const);
  const firstPositions = new Map(positions.toReversed());
  return { dayOf: createDayMarker(), fullStory: story, deliveries, firstPositions };
}

function lastLines(
  lines: readonly StoryLine[],
  maxLines: number,
): {
  readonly shownLines: readonly StoryLine[];
  readonly hiddenCount: number;
} {
  let [remainingLineCount, start] = [maxLines, lines.length];
  while (start > 0 && remainingLineCount > 0) {
    start -= 1;
    remainingLineCount -= 1 + countLines(lines[start]?.deliveryLines ?? []);
  }
  const hiddenCount = lines
    .slice(0, start)
    .reduce((sum, { deliveryLines }) => sum + 1 + deliveryLines.length, 0);
  return { shownLines: lines.slice(start), hiddenCount };
}

function countLines(lines: readonly DeliveryLine[]): number {
  return lines.reduce((sum, { entry }) => sum + Math.max(1, entry.attempts?.length ?? 0), 0);
}

function createDayMarker(): (entry: Pick<StoryEntry, "at">) => Html {
  let previousDay = "";
  return ({ at }) => {
    const day = toIso(at).slice(0, 10);
    const isNew = day !== previousDay;
    previousDay = day;
    return isNew ? html`<li class="day">${day}</li>` : html``;
  };
}

function storyLine(
  context: OperationContext,
  view: PartView,
  { line, storyIndex }: { readonly line: StoryLine; readonly storyIndex: StoryIndex },
): Html {
  const { entry, request, event, deliveryLines } = line;
  const { checkout } = storyIndex.fullStory;
  const day = storyIndex.dayOf(entry);
  const details =
    request !== undefined
      ? requestLineDetails(view, request, checkout)
      : event !== undefined
        ? eventLineDetails(context, view, { event, checkout })
        : undefined;
  const deliveryList =
    deliveryLines.length === 0
      ? ""
      : html`<ol class="under">
          ${deliveryLines.map((item) => deliveryLine(context, view, { line: item, storyIndex }))}
        </ol>`;
  const anchor = anchorOf(entry, storyIndex, request?.position);
  return html`${day}
    <li class="${entry.what} ${event?.type.split(".")[1] ?? toneOf(entry)}" id="${anchor}">
      ${expandableLine({ entry, anchor }, details)} ${deliveryList}
    </li>`;
}

function deliveryLine(
  context: OperationContext,
  view: PartView,
  { line, storyIndex }: { readonly line: DeliveryLine; readonly storyIndex: StoryIndex },
): Html {
  const { entry, deliveries } = line;
  const [firstDelivery] = deliveries;
  const anchor = `${entry.id === null ? "deliveries" : "delivery"}-${entry.id ?? firstDelivery?.id ?? ""}`;
  const deliveryAttempts = deliveries
    .flatMap(({ id }) => storyIndex.deliveries.get(id) ?? [])
    .flatMap((delivery) => delivery.attempts.map((attempt) => ({ delivery, attempt })));
  const [onlyAttempt] = deliveryAttempts.length === 1 ? deliveryAttempts : [];
  const attempts = html`<ol class="attempts">
    ${(entry.attempts ?? []).map((attemptEntry, index) => {
      const deliveryAttempt = deliveryAttempts[index];
      const lineAnchor = `${anchor}-${index + 1}`;
      return html`<li class="delivery ${toneOf(attemptEntry)}" id="${lineAnchor}">
        ${expandableLine(
          { entry: { ...entry, ...attemptEntry }, anchor: lineAnchor, at: momentWithDate(attemptEntry.at) },
          deliveryAttempt && attemptLineDetails(context, view, deliveryAttempt),
        )}
      </li>`;
    })}
  </ol>`;
  const details =
    onlyAttempt !== undefined
      ? attemptLineDetails(context, view, onlyAttempt)
      : deliveryAttempts.length > 1
        ? attempts
        : undefined;
  return html`<li class="delivery ${toneOf(entry)}" id="${anchor}">
    ${expandableLine({ entry, anchor }, details)}
  </li>`;
}

function expandableLine(
  {
    entry,
    anchor,
    at = momentHtml(entry.at),
  }: { readonly entry: StoryEntry; readonly anchor: string; readonly at?: Html },
  details: Html | undefined,
): Html {
  const link = html`<a class="at" href="#${anchor}">${at}</a>`;
  if (details === undefined)
    return html`${link}
      <div class="line">${emphasizeLine(entry)}</div>`;
  return html`${link}
    <details class="line">
      <summary>${emphasizeLine(entry)}</summary>
      <div class="more" lang="${languageTagOf}">${details}</div>
    </details>`;
}

function emphasizeLine({ text, parts = [text], what }: StoryEntry): Html {
  if (what === "event") return html`<strong>${text}</strong>`;
  return html`<span
    >${parts.map((part) => {
      if (typeof part === "string") return textWithMoments(part, momentHtml);
      if ("duration" in part) return html`${part.duration}`;
      if ("cause" in part) return html` <span class="cause">${CHECKOUTS_TEXTS.cause(part.cause)}</span>`;
      const status = String(part.status);
      return html`<b class="s${status.slice(0, 1)}xx">${status}</b>`;
    })}</span
  >`;
}

/**
 * Lines of the payer have no id. Replays share the request_id of the first answer, so their anchors also contain a
 * position.
 */
function anchorOf(
  { what, id, at, name = "" }: StoryEntry,
  { firstPositions }: StoryIndex,
  position: number | undefined,
): string {
  if (id === null) return `${what}-${name}-${at}`;
  if (what !== "request") return `${what}-${id}`;
  return firstPositions.get(id) === position ? `request-${id}` : `request-${id}-${position ?? 0}`;
}

function toneOf({ status }: Pick<StoryEntry, "status">): string {
  if (status === null) return "";
  return status >= 200 && status < 300 ? "good" : "bad";
}

function requestLineDetails(view: PartView, request: StoryRequest, checkout: Checkout): Html {
  const { requestId, at, storeAt, key, refused, differences } = request;
  return html`${factList([
    [COMMON_TEXTS.request, idLink(view, `/requests/${requestId}`, requestId)],
    at === storeAt ? null : [COMMON_TEXTS.realTime, momentWithDate(at)],
    key === null ? null : ["Idempotency-Key", copyableText(key)],
    refused && [CHECKOUTS_TEXTS.refusal, html`<span lang="en">${refused.message}</span>`],
  ])}
  ${differences.length === 0 ? "" : differencesTable(differences)} ${requestDetails(request, checkout)}`;
}

function eventLineDetails(
  { store }: OperationContext,
  view: PartView,
  { event, checkout }: { readonly event: StoryEvent; readonly checkout: Checkout },
): Html {
  const body = store.events.find(event.id)?.body ?? "";
  const action = storePath(view, `/checkouts/${checkout.id}/events/${event.id}/replay`);
  return html`${factList([[COMMON_TEXTS.event, idLink(view, `/webhooks/events/${event.id}`, event.id)]])}
  ${bodyFigure(CHECKOUTS_TEXTS.eventBody, body)}
  ${actionForm(view, { action, label: CHECKOUTS_TEXTS.replay })}`;
}

function attemptLineDetails(
  context: OperationContext,
  view: PartView,
  { delivery, attempt }: { readonly delivery: AttemptedDelivery; readonly attempt: DeliveryAttempt },
): Html {
  const { id } = delivery;
  return html`${factList([[CHECKOUTS_TEXTS.delivery, idLink(view, `/webhooks/deliveries/${id}`, id)]])}
  ${attemptDetails(context, delivery, attempt)}`;
}

function idLink(view: PartView, page: string, id: string): Html {
  return linkUnlessSaved(view, storePath(view, page), html`<code>${id}</code>`);
}
