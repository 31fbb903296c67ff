import type { PageView } from "../checkout/page-view.ts";
import type { Attempt } from "../control/checkout.ts";
import type { AttemptResult } from "../checkout/payment.ts";
import { faultText } from "../fault/fault.ts";
import type { LoggedRequest } from "../request/logged-request.ts";
import { cut, english, type Sentence } from "../text.ts";
import { deliveryLines, type DeliveryLine, type ToldDelivery } from "./delivery.ts";
import type { Difference, StoryEntry } from "./explanation.ts";
import { SENTENCES } from "./sentences.ts";

/** A request of the log, with what the state knows of it. */
export type ToldRequest = LoggedRequest & {
  /** Its Idempotency-Key; null where it had none, or none is kept. */
  readonly key: string | null;
  /** How it differs from the first one of its key or its order; empty where nothing was refused for that. */
  readonly differences: readonly Difference[];
  /** The answer that its key keeps; null where none is kept. */
  readonly answer: string | null;
  /** The digest of what it meant, kept beside that answer. */
  readonly fingerprint: string | null;
};

/** An event of a story. */
export type ToldEvent = { readonly id: string; readonly type: string; readonly createdAt: number };

/** Everything that happened to a checkout. Times are milliseconds by the store's clock. */
export type CheckoutStory = {
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly {
    readonly attempt: number;
    readonly result: AttemptResult;
    readonly recordedAt: number;
  }[];
  readonly views: readonly PageView[];
  readonly events: readonly ToldEvent[];
  readonly deliveries: readonly ToldDelivery[];
  readonly requests: readonly ToldRequest[];
};

/** A line of a story with what it is about, and what follows from it below. */
export type StoryLine = {
  readonly entry: StoryEntry;
  readonly request?: ToldRequest | undefined;
  readonly event?: ToldEvent | undefined;
  readonly under: readonly DeliveryLine[];
};

/** Of things at one time, as with a frozen clock: what has to come before what. */
const ORDER = [
  "creation",
  "created",
  "opened",
  "start",
  "pending",
  "finish",
  "final",
  "late",
  "returned",
  "request",
] as const;

/** A line of a story, and its place among those of its time. */
type Placed = Omit<StoryLine, "under"> & { readonly place: (typeof ORDER)[number] };

/** How much of a key, and of a value that differs, a line shows. */
const MAX_SHOWN = 40;

/** The story of a checkout in time order; below each event are its deliveries. */
export function timelineOf(story: CheckoutStory): readonly StoryEntry[] {
  return storyLines(story).flatMap(({ entry, under }) => [entry].concat(under.map((one) => one.entry)));
}

/** The same with what each line is about, for who shows more of it than its words. */
export function storyLines(story: CheckoutStory): readonly StoryLine[] {
  const lines: readonly Placed[] = [
    ...story.requests.map(placedRequest),
    ...story.attempts.flatMap(placedAttempt),
    ...story.views.map(placedView),
    ...story.events.map(placedEvent),
    ...story.lateResults.map((late) => ({ entry: lateEntry(late), place: "late" }) as const),
  ];
  // The sort is stable: what has one time and place stays as it came.
  const ordered = lines.toSorted(
    (left, right) => left.entry.at - right.entry.at || ORDER.indexOf(left.place) - ORDER.indexOf(right.place),
  );
  const deliveries = Map.groupBy(story.deliveries, ({ eventId }) => eventId);
  return ordered.map(({ entry, request, event }) => {
    const under = (event && deliveries.get(event.id)) ?? [];
    return { entry, request, event, under: under.flatMap(deliveryLines) };
  });
}

/** A request of the log, as a line of a story. */
export function requestEntry(request: ToldRequest): StoryEntry {
  const { requestId: id, storeAt: at, method, path, status, code, fault, key } = request;
  const durationMs = Math.round(request.durationMs);
  const said = status === 0 ? english(SENTENCES.noAnswer) : `${status}${code === null ? "" : ` ${code}`}`;
  const keyed = key === null ? "" : `, key ${cut(key, MAX_SHOWN)}`;
  const met = fault === null ? "" : `, ${faultText(fault)}`;
  const text = `${method} ${path}: ${said} in ${durationMs} ms${keyed}${met}${differing(request)}`;
  return { at, what: "request", id, of: null, status, durationMs, text };
}

/** Field by field what differs: `: amount_minor 1999 → 2999`. */
function differing({ differences }: ToldRequest): string {
  const nothing = english(SENTENCES.nothing);
  const texts = differences.map(
    ({ field, first, this: now }) =>
      `${cut(field, MAX_SHOWN)} ${cut(first ?? nothing, MAX_SHOWN)} → ${cut(now ?? nothing, MAX_SHOWN)}`,
  );
  return texts.length === 0 ? "" : `: ${texts.join(", ")}`;
}

/** An event, as a line of a story. */
function eventEntry({ id, type, createdAt: at }: ToldEvent): StoryEntry {
  return { at, what: "event", id, of: null, status: null, durationMs: null, text: type };
}

function placedRequest(request: ToldRequest): Placed {
  return { entry: requestEntry(request), request, place: request.status === 201 ? "creation" : "request" };
}

function placedEvent(event: ToldEvent): Placed {
  const entry = eventEntry(event);
  if (event.type.endsWith(".created")) return { entry, event, place: "created" };
  return { entry, event, place: event.type.endsWith(".pending") ? "pending" : "final" };
}

function placedView({ kind, at, target }: PageView): Placed {
  const text = kind === "opened" ? SENTENCES.pageOpened : SENTENCES.browserReturned(target);
  return { entry: ofPayer("page", at, text), place: kind };
}

function placedAttempt({ number, startedAt, outcome, finishedAt }: Attempt): readonly Placed[] {
  const line = (at: number, text: Sentence): StoryEntry => ofPayer("attempt", at, text);
  const started: Placed = { entry: line(startedAt, SENTENCES.attemptStarted(number)), place: "start" };
  if (finishedAt === null) return [started];
  const ended = line(finishedAt, SENTENCES.attemptEnded(number, outcome));
  return [started, { entry: ended, place: "finish" }];
}

function lateEntry({ attempt, result, recordedAt }: CheckoutStory["lateResults"][number]): StoryEntry {
  return ofPayer("late_result", recordedAt, SENTENCES.attemptLate(attempt, result));
}

function ofPayer(what: "attempt" | "late_result" | "page", at: number, text: Sentence): StoryEntry {
  return { at, what, id: null, of: null, status: null, durationMs: null, text: english(text) };
}
