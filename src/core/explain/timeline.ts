import type { PageView } from "../checkout/page-view.ts";
import { MAX_PAYMENT_ATTEMPTS, type AttemptResult } from "../checkout/payment.ts";
import { faultReason } from "../fault/fault.ts";
import type { LoggedRequest } from "../request/logged-request.ts";
import { COLON, COMMA, english, type Translator, type Words } from "../language.ts";
import { cutText } from "../text.ts";
import {
  deliveriesBehindEarlier,
  groupDeliveries,
  endpointLabels,
  pendingAttempts,
  type DeliveryLine,
} from "./deliveries.ts";
import type { StoryDelivery } from "./delivery.ts";
import {
  textOfParts,
  type RequestDifference,
  type Explanation,
  type PendingEntry,
  type StoryEntry,
} from "./explanation.ts";
import { mergeChains, plainEntry, type OrderableLine } from "./order.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";
import type { Attempt } from "../checkout/shapes.ts";

export type StoryRequest = LoggedRequest & {
  /** The Idempotency-Key; null if the request had none, or if the key was not stored. */
  readonly key: string | null;
  /** The differences from the first request with its key or order; empty if the refusal has another reason. */
  readonly differences: readonly RequestDifference[];
  /** The stored answer for the key; null if there is none. */
  readonly answer: string | null;
  /** The fingerprint of the request that is stored with the answer. */
  readonly fingerprint: string | null;
};

export type StoryEvent = { readonly id: string; readonly type: string; readonly createdAt: number };

/** Everything that happened to a checkout, and everything pending. Times are milliseconds by the store's clock. */
export type CheckoutStory = {
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly {
    readonly attempt: number;
    readonly result: AttemptResult;
    readonly recordedAt: number;
  }[];
  readonly views: readonly PageView[];
  /** In chronological order. */
  readonly events: readonly StoryEvent[];
  readonly deliveries: readonly StoryDelivery[];
  /** Expiry and settlement of the checkout. */
  readonly due: readonly Omit<PendingEntry, "text">[];
};

/** The material of a story: the checkouts of one order, oldest first, and their requests in the order of the log. */
export type StoryMaterial = {
  readonly checkouts: readonly CheckoutStory[];
  readonly requests: readonly StoryRequest[];
  /** The store's time, in milliseconds. */
  readonly now: number;
};

export type StoryLine = {
  readonly entry: StoryEntry;
  readonly request?: StoryRequest | undefined;
  readonly event?: StoryEvent | undefined;
  readonly under: readonly DeliveryLine[];
};

/** The subject of a line that can show more than its text. */
type LineSubject = Pick<StoryLine, "request" | "event">;
type OrderedLine = OrderableLine<LineSubject>;

/** Maximum length of a key or a differing value in a line. */
const MAX_SHOWN = 40;

/** The deliveries of an event follow it; pending entries are soonest first. */
export function timelineOf(
  story: StoryMaterial,
  say: Translator = english,
): Pick<Explanation, "entries" | "pending"> {
  const entries = storyLines(story, say).flatMap(({ entry, under }) =>
    [entry].concat(under.map((line) => line.entry)),
  );
  return { entries, pending: pendingOf(story, say) };
}

/** The lines of a story with their subjects, for pages that show more than the text. */
export function storyLines(
  { checkouts, requests, now }: StoryMaterial,
  say: Translator = english,
): readonly StoryLine[] {
  const list = checkouts.flatMap((item) => item.deliveries);
  const deliveries = Map.groupBy(list, ({ eventId }) => eventId);
  const types = typesOf(checkouts);
  const holders = new Map(checkouts.flatMap((item) => deliveriesBehindEarlier(item.deliveries, types)));
  const context = { now, labels: endpointLabels(list), say, holders };
  const lives = checkouts.map((item) => lifeOf(item, say));
  const chains = [
    lives.flat(),
    requestChain(requests, say),
    ...checkouts.flatMap((item, at) => linesPlacedByTime(item, lives[at] ?? [], say)),
  ];
  return mergeChains(chains, say).map(({ entry, about: { request, event } = {} }) => {
    const lines = (event && deliveries.get(event.id)) ?? [];
    return {
      entry,
      request,
      event,
      under: event === undefined ? [] : groupDeliveries(event, lines, context),
    };
  });
}

/** The pending entries of a story, soonest first. */
export function pendingOf(
  { checkouts, now }: Pick<StoryMaterial, "checkouts" | "now">,
  say: Translator = english,
): readonly PendingEntry[] {
  const list = checkouts.flatMap((item) => item.deliveries);
  const attempts = pendingAttempts(list, typesOf(checkouts), { now, labels: endpointLabels(list), say });
  const ownLines = checkouts.flatMap(({ due }) =>
    due.map(({ at, what }) => ({
      at,
      what,
      text: say(what === "expiry" ? EXPLAIN_SENTENCES.expires : EXPLAIN_SENTENCES.settles),
    })),
  );
  return [...attempts, ...ownLines].toSorted((left, right) => left.at - right.at);
}

function typesOf(checkouts: readonly CheckoutStory[]): ReadonlyMap<string, string> {
  return new Map(checkouts.flatMap(({ events }) => events.map(({ id, type }) => [id, type] as const)));
}

/** An attempt follows the creation, the first one makes the checkout pending, and the last one ends it. */
function lifeOf({ attempts, events }: CheckoutStory, say: Translator): readonly OrderedLine[] {
  const [createdEvents, tail] = [events.filter(isFirst), events.filter((event) => !isFirst(event))];
  const [open, final] = [tail.filter(isPendingEvent), tail.filter((event) => !isPendingEvent(event))];
  const [first = [], ...others] = attempts.map((attempt) => placeAttempt(attempt, say));
  return [
    ...createdEvents.map((event) => placeEvent(event, say)),
    // The start of the first attempt and the pending event are one line.
    ...(open.length === 0 ? first.slice(0, 1) : open.map((event) => placeEvent(event, say, attempts[0]))),
    ...first.slice(1),
    ...others.flat(),
    ...final.map((event) => placeEvent(event, say)),
  ];
}

/** Lines that are placed by their time alone: page views follow the creation, late results follow the end. */
function linesPlacedByTime(
  { views, lateResults }: CheckoutStory,
  life: readonly OrderedLine[],
  say: Translator,
): readonly (readonly OrderedLine[])[] {
  const [createdLine, endLine] = [life[0], life.at(-1)];
  return [
    ...views.map((view) => [{ ...placeView(view, say), after: createdLine }]),
    ...lateResults.map((item) => [{ entry: lateEntry(item, say), place: "late", after: endLine } as const]),
  ];
}

/** The log lists them by completion: a request that finished before the one before began shows a clock set back. */
function requestChain(requests: readonly StoryRequest[], say: Translator): readonly OrderedLine[] {
  const runs: StoryRequest[][] = [];
  for (const request of requests) {
    const run = runs.at(-1);
    const lastRequest = run?.at(-1);
    const isBack = lastRequest !== undefined && request.storeAt + request.durationMs < lastRequest.storeAt;
    if (run === undefined || isBack) runs.push([request]);
    else run.push(request);
  }
  return runs.flatMap((run) =>
    run.toSorted((left, right) => left.storeAt - right.storeAt).map((request) => placeRequest(request, say)),
  );
}

function isFirst({ type }: StoryEvent): boolean {
  return type.endsWith(".created");
}

function isPendingEvent({ type }: StoryEvent): boolean {
  return type.endsWith(".pending");
}

export function requestEntry(request: StoryRequest, say: Translator): StoryEntry {
  const { requestId: id, storeAt: at, method, path, status, code, fault, key } = request;
  const durationMs = Math.round(request.durationMs);
  const keyText = key === null ? "" : say(EXPLAIN_SENTENCES.byKey(cutText(key, MAX_SHOWN)));
  const faultText = fault === null ? "" : `${say(COMMA)}${faultReason(fault)}`;
  const requestText = textOfParts([
    `${method} ${path}: `,
    status === 0 ? say(EXPLAIN_SENTENCES.noAnswer) : { status },
    status === 0 || code === null ? "" : ` ${code}`,
    { took: say(EXPLAIN_SENTENCES.tookMs(durationMs)) },
    `${keyText}${faultText}${differencesText(request, say)}`,
  ]);
  return { at, what: "request", id, of: null, status, durationMs, ...requestText };
}

/** The differences, field by field: `: amount_minor 1999 → 2999`. */
function differencesText({ differences }: StoryRequest, say: Translator): string {
  const nothingText = say(EXPLAIN_SENTENCES.nothing);
  const texts = differences.map(
    ({ field, first, this: now }) =>
      `${cutText(field, MAX_SHOWN)} ${cutText(first ?? nothingText, MAX_SHOWN)} → ${cutText(now ?? nothingText, MAX_SHOWN)}`,
  );
  return texts.length === 0 ? "" : `${say(COLON)}${texts.join(say(COMMA))}`;
}

function placeRequest(request: StoryRequest, say: Translator): OrderedLine {
  return {
    entry: requestEntry(request, say),
    about: { request },
    place: request.status === 201 ? "creation" : "request",
  };
}

function placeEvent(event: StoryEvent, say: Translator, attempt?: Attempt): OrderedLine {
  const { id, type, createdAt: at } = event;
  const began = attempt === undefined ? "" : `${say(COMMA)}${say(EXPLAIN_SENTENCES.attempt(attempt.number))}`;
  const entry = plainEntry("event", at, { id, text: `${type}${began}` });
  if (isFirst(event)) return { entry, about: { event }, place: "created" };
  return { entry, about: { event }, place: isPendingEvent(event) ? "pending" : "final" };
}

function placeView({ kind, at, target }: PageView, say: Translator): OrderedLine {
  const text = kind === "opened" ? EXPLAIN_SENTENCES.pageOpened : EXPLAIN_SENTENCES.browserReturned(target);
  return { entry: plainEntry("page", at, { name: kind, text: say(text) }), place: kind };
}

function placeAttempt(
  { number, startedAt, outcome, finishedAt }: Attempt,
  say: Translator,
): readonly OrderedLine[] {
  const line = (at: number, place: "start" | "finish", text: Words): OrderedLine => ({
    entry: plainEntry("attempt", at, { name: `${place}-${number}`, text: say(text) }),
    place,
  });
  const started = line(startedAt, "start", EXPLAIN_SENTENCES.attemptStarted(number));
  if (finishedAt === null) return [started];
  const sentence = EXPLAIN_SENTENCES.attemptEnded(number, outcome, MAX_PAYMENT_ATTEMPTS - number);
  return [started, line(finishedAt, "finish", sentence)];
}

function lateEntry(
  { attempt, result, recordedAt }: CheckoutStory["lateResults"][number],
  say: Translator,
): StoryEntry {
  const text = say(EXPLAIN_SENTENCES.attemptLate(attempt, result));
  return plainEntry("late_result", recordedAt, { name: `late-${attempt}`, text });
}
