import type { PageView } from "../checkout/page-view.ts";
import { MAX_PAYMENT_ATTEMPTS } from "../checkout/payment.ts";
import { faultReason } from "../fault/fault.ts";
import type { LoggedRequest } from "../request/logged-request.ts";
import { COLON, COMMA, english, type Translator, type Words } from "../language.ts";
import { cutText } from "../text.ts";
import {
  waitingDeliveries,
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
import type { Attempt, LateResult } from "../checkout/shapes.ts";

export type StoryRequest = LoggedRequest & {
  /** Null if the request had none, or if the key was not stored. */
  readonly key: string | null;
  /** Differences from the first request with the same key or order; empty if the refusal has another reason. */
  readonly differences: readonly RequestDifference[];
  readonly answer: string | null;
  readonly fingerprint: string | null;
};

export type StoryEvent = { readonly id: string; readonly type: string; readonly createdAt: number };

/** Times are in milliseconds by the store's clock. */
export type CheckoutStory = {
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly LateResult[];
  readonly views: readonly PageView[];
  /** In chronological order. */
  readonly events: readonly StoryEvent[];
  readonly deliveries: readonly StoryDelivery[];
  /** Expiry and settlement of the checkout. */
  readonly dueChanges: readonly Omit<PendingEntry, "text">[];
};

/** The checkouts of one order, oldest first, and their requests in the order of the log. */
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
  readonly deliveryLines: readonly DeliveryLine[];
};

type OrderedLine = OrderableLine<Pick<StoryLine, "request" | "event">>;

const MAX_SHOWN_CHARACTERS = 40;

export function timelineOf(story: StoryMaterial): Pick<Explanation, "entries" | "pending"> {
  const entries = storyLines(story).flatMap(({ entry, deliveryLines }) =>
    [entry].concat(deliveryLines.map((line) => line.entry)),
  );
  return { entries, pending: pendingOf(story) };
}

export function storyLines(
  { checkouts, requests, now }: StoryMaterial,
  say: Translator = english,
): readonly StoryLine[] {
  const allDeliveries = checkouts.flatMap((checkout) => checkout.deliveries);
  const deliveries = Map.groupBy(allDeliveries, ({ eventId }) => eventId);
  const types = typesOf(checkouts);
  const holders = new Map(checkouts.flatMap((checkout) => waitingDeliveries(checkout.deliveries, types)));
  const context = { now, labels: endpointLabels(allDeliveries), say, holders };
  const lifecycles = checkouts.map((checkout) => lifecycleLines(checkout, say));
  const chains = [
    lifecycles.flat(),
    requestChain(requests, say),
    ...checkouts.flatMap((checkout, index) => chainsOrderedByTime(checkout, lifecycles[index] ?? [], say)),
  ];
  return mergeChains(chains, say).map(({ entry, subject: { request, event } = {} }) => {
    const eventDeliveries = (event && deliveries.get(event.id)) ?? [];
    return {
      entry,
      request,
      event,
      deliveryLines: event === undefined ? [] : groupDeliveries(event, eventDeliveries, context),
    };
  });
}

export function pendingOf(
  { checkouts }: Pick<StoryMaterial, "checkouts">,
  say: Translator = english,
): readonly PendingEntry[] {
  const allDeliveries = checkouts.flatMap((checkout) => checkout.deliveries);
  const labels = endpointLabels(allDeliveries);
  const attempts = pendingAttempts(allDeliveries, typesOf(checkouts), { labels, say });
  const checkoutEntries = checkouts.flatMap(({ dueChanges }) =>
    dueChanges.map(({ at, what }) => ({
      at,
      what,
      text: say(what === "expiry" ? EXPLAIN_SENTENCES.expires : EXPLAIN_SENTENCES.settles),
    })),
  );
  return [...attempts, ...checkoutEntries].toSorted((left, right) => left.at - right.at);
}

function typesOf(checkouts: readonly CheckoutStory[]): ReadonlyMap<string, string> {
  return new Map(checkouts.flatMap(({ events }) => events.map(({ id, type }) => [id, type] as const)));
}

function lifecycleLines({ attempts, events }: CheckoutStory, say: Translator): readonly OrderedLine[] {
  const { created = [], pending = [], final = [] } = Object.groupBy(events, rankOf);
  const [firstAttemptLines = [], ...otherAttemptLines] = attempts.map((attempt) =>
    attemptLines(attempt, say),
  );
  return [
    ...created.map((event) => eventLine(event, say)),
    // The start of the first attempt and the pending event are one line.
    ...(pending.length === 0
      ? firstAttemptLines.slice(0, 1)
      : pending.map((event) => eventLine(event, say, attempts[0]))),
    ...firstAttemptLines.slice(1),
    ...otherAttemptLines.flat(),
    ...final.map((event) => eventLine(event, say)),
  ];
}

function chainsOrderedByTime(
  { views, lateResults }: CheckoutStory,
  lifecycle: readonly OrderedLine[],
  say: Translator,
): readonly (readonly OrderedLine[])[] {
  const [createdLine, endLine] = [lifecycle[0], lifecycle.at(-1)];
  return [
    ...views.map((view) => [{ ...viewLine(view, say), predecessor: createdLine }]),
    ...lateResults.map((lateResult) => [
      { entry: lateResultEntry(lateResult, say), rank: "late", predecessor: endLine } as const,
    ]),
  ];
}

/**
 * The log is ordered by completion, so a request that ends before its predecessor began means that the clock was set
 * back.
 */
function requestChain(requests: readonly StoryRequest[], say: Translator): readonly OrderedLine[] {
  const runs: StoryRequest[][] = [];
  for (const request of requests) {
    const run = runs.at(-1);
    const lastRequest = run?.at(-1);
    const isClockSetBack =
      lastRequest !== undefined && request.storeAt + request.durationMs < lastRequest.storeAt;
    if (run === undefined || isClockSetBack) runs.push([request]);
    else run.push(request);
  }
  return runs.flatMap((run) =>
    run.toSorted((left, right) => left.storeAt - right.storeAt).map((request) => requestLine(request, say)),
  );
}

function rankOf({ type }: StoryEvent): "created" | "pending" | "final" {
  if (type.endsWith(".created")) return "created";
  return type.endsWith(".pending") ? "pending" : "final";
}

export function requestStoryEntry(request: StoryRequest, say: Translator): StoryEntry {
  const { requestId: id, storeAt: at, method, path, status, code, fault, key } = request;
  const durationMs = Math.round(request.durationMs);
  const keyText = key === null ? "" : say(EXPLAIN_SENTENCES.byKey(cutText(key, MAX_SHOWN_CHARACTERS)));
  const faultText = fault === null ? "" : `${say(COMMA)}${faultReason(fault)}`;
  const requestText = textOfParts([
    `${method} ${path}: `,
    status === 0 ? say(EXPLAIN_SENTENCES.noAnswer) : { status },
    status === 0 || code === null ? "" : ` ${code}`,
    { duration: say(EXPLAIN_SENTENCES.tookMs(durationMs)) },
    `${keyText}${faultText}${differencesText(request, say)}`,
  ]);
  return { at, what: "request", id, of: null, status, durationMs, ...requestText };
}

function differencesText({ differences }: StoryRequest, say: Translator): string {
  const nothingText = say(EXPLAIN_SENTENCES.nothing);
  const texts = differences.map(
    ({ field, first, this: value }) =>
      `${cutText(field, MAX_SHOWN_CHARACTERS)} ${cutText(first ?? nothingText, MAX_SHOWN_CHARACTERS)} → ${cutText(value ?? nothingText, MAX_SHOWN_CHARACTERS)}`,
  );
  return texts.length === 0 ? "" : `${say(COLON)}${texts.join(say(COMMA))}`;
}

function requestLine(request: StoryRequest, say: Translator): OrderedLine {
  return {
    entry: requestStoryEntry(request, say),
    subject: { request },
    rank: request.status === 201 ? "creation" : "request",
  };
}

function eventLine(event: StoryEvent, say: Translator, attempt?: Attempt): OrderedLine {
  const { id, type, createdAt: at } = event;
  const attemptText =
    attempt === undefined ? "" : `${say(COMMA)}${say(EXPLAIN_SENTENCES.attempt(attempt.number))}`;
  const entry = plainEntry("event", at, { id, text: `${type}${attemptText}` });
  return { entry, subject: { event }, rank: rankOf(event) };
}

function viewLine({ kind, at, target }: PageView, say: Translator): OrderedLine {
  const text = kind === "opened" ? EXPLAIN_SENTENCES.pageOpened : EXPLAIN_SENTENCES.browserReturned(target);
  return { entry: plainEntry("page", at, { name: kind, text: say(text) }), rank: kind };
}

function attemptLines(
  { number, startedAt, outcome, finishedAt }: Attempt,
  say: Translator,
): readonly OrderedLine[] {
  const createLine = (at: number, rank: "start" | "finish", text: Words): OrderedLine => ({
    entry: plainEntry("attempt", at, { name: `${rank}-${number}`, text: say(text) }),
    rank,
  });
  const startLine = createLine(startedAt, "start", EXPLAIN_SENTENCES.attemptStarted(number));
  if (finishedAt === null) return [startLine];
  const sentence = EXPLAIN_SENTENCES.attemptEnded(number, outcome, MAX_PAYMENT_ATTEMPTS - number);
  return [startLine, createLine(finishedAt, "finish", sentence)];
}

function lateResultEntry({ attempt, result, recordedAt }: LateResult, say: Translator): StoryEntry {
  const text = say(EXPLAIN_SENTENCES.attemptLate(attempt, result));
  return plainEntry("late_result", recordedAt, { name: `late-${attempt}`, text });
}
