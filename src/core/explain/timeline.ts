import type { PageView } from "../checkout/page-view.ts";
import type { Attempt } from "../control/checkout.ts";
import { MAX_ATTEMPTS, type AttemptResult } from "../checkout/payment.ts";
import { faultText } from "../fault/fault.ts";
import type { LoggedRequest } from "../request/logged-request.ts";
import { english, type Say, type Words } from "../language.ts";
import { cut } from "../text.ts";
import { deliveryLines, endpointLabels, pendingAttempts, type DeliveryLine } from "./deliveries.ts";
import type { ToldDelivery } from "./delivery.ts";
import type { Difference, Explanation, PendingEntry, StoryEntry } from "./explanation.ts";
import { inOrder, type Placed as PlacedLine } from "./order.ts";
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

/** Everything that happened to a checkout, and what is due. Times are milliseconds by the store's clock. */
export type CheckoutStory = {
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly {
    readonly attempt: number;
    readonly result: AttemptResult;
    readonly recordedAt: number;
  }[];
  readonly views: readonly PageView[];
  /** In the order in which they happened. */
  readonly events: readonly ToldEvent[];
  readonly deliveries: readonly ToldDelivery[];
  /** Expiry and settlement of the checkout. */
  readonly due: readonly Omit<PendingEntry, "text">[];
};

/** What a story is told from: checkouts of one order, oldest first, and the requests on it as the log has them. */
export type ToldStory = {
  readonly checkouts: readonly CheckoutStory[];
  readonly requests: readonly ToldRequest[];
  /** The store's time, in milliseconds. */
  readonly now: number;
};

/** A line of a story with what it is about, and the deliveries below it. */
export type StoryLine = {
  readonly entry: StoryEntry;
  readonly request?: ToldRequest | undefined;
  readonly event?: ToldEvent | undefined;
  readonly under: readonly DeliveryLine[];
};

/** What a line is about that has more than its words. */
type About = Pick<StoryLine, "request" | "event">;
type Placed = PlacedLine<About>;

/** How much of a key, and of a value that differs, a line shows. */
const MAX_SHOWN = 40;

/** The story in time order, with the deliveries of each event below it, and what is due, soonest first. */
export function timelineOf(story: ToldStory, say: Say = english): Pick<Explanation, "entries" | "pending"> {
  const entries = storyLines(story, say).flatMap(({ entry, under }) =>
    [entry].concat(under.map((one) => one.entry)),
  );
  return { entries, pending: pendingOf(story, say) };
}

/** The same lines with what each is about, for pages that show more than its words. */
export function storyLines(
  { checkouts, requests, now }: ToldStory,
  say: Say = english,
): readonly StoryLine[] {
  const all = checkouts.flatMap((one) => one.deliveries);
  const deliveries = Map.groupBy(all, ({ eventId }) => eventId);
  const telling = { now, labels: endpointLabels(all), say };
  const lives = checkouts.map((one) => lifeOf(one, say));
  const chains = [
    lives.flat(),
    requestChain(requests, say),
    ...checkouts.flatMap((one, at) => apart(one, lives[at] ?? [], say)),
  ];
  return inOrder(chains, say).map(({ entry, about: { request, event } = {} }) => {
    const under = (event && deliveries.get(event.id)) ?? [];
    return { entry, request, event, under: event === undefined ? [] : deliveryLines(event, under, telling) };
  });
}

/** What is due of a story, soonest first. */
export function pendingOf(
  { checkouts, now }: Pick<ToldStory, "checkouts" | "now">,
  say: Say = english,
): readonly PendingEntry[] {
  const all = checkouts.flatMap((one) => one.deliveries);
  const types = new Map(checkouts.flatMap(({ events }) => events.map(({ id, type }) => [id, type] as const)));
  const attempts = pendingAttempts(all, types, { now, labels: endpointLabels(all), say });
  const own = checkouts.flatMap(({ due }) =>
    due.map(({ at, what }) => ({
      at,
      what,
      text: say(what === "expiry" ? SENTENCES.expires : SENTENCES.settles),
    })),
  );
  return [...attempts, ...own].toSorted((left, right) => left.at - right.at);
}

/**
 * What happened to one checkout, in the order in which it must have: an attempt begins behind the creation, the first one
 * makes it pending, and the last one ends it.
 */
function lifeOf({ attempts, events }: CheckoutStory, say: Say): readonly Placed[] {
  const [created, later] = [events.filter(isFirst), events.filter((event) => !isFirst(event))];
  const [pending, final] = [later.filter(isPendingEvent), later.filter((event) => !isPendingEvent(event))];
  const [first = [], ...others] = attempts.map((one) => placedAttempt(one, say));
  return [
    ...created.map((event) => placedEvent(event, say)),
    // That the first attempt began is what made it pending: one line.
    ...(pending.length === 0
      ? first.slice(0, 1)
      : pending.map((event) => placedEvent(event, say, attempts[0]))),
    ...first.slice(1),
    ...others.flat(),
    ...final.map((event) => placedEvent(event, say)),
  ];
}

/** What has no place in the life of a checkout but its time: pages behind its creation, late results behind its end. */
function apart(
  { views, lateResults }: CheckoutStory,
  life: readonly Placed[],
  say: Say,
): readonly (readonly Placed[])[] {
  const [created, ended] = [life[0], life.at(-1)];
  return [
    ...views.map((view) => [{ ...placedView(view, say), after: created }]),
    ...lateResults.map((late) => [{ entry: lateEntry(late, say), place: "late", after: ended } as const]),
  ];
}

/**
 * The requests as they came. The log has them in the order of their ends, so that a request which had ended before an
 * earlier one began is behind a clock that was set back.
 */
function requestChain(requests: readonly ToldRequest[], say: Say): readonly Placed[] {
  const runs: ToldRequest[][] = [];
  for (const request of requests) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    const isBack = before !== undefined && request.storeAt + request.durationMs < before.storeAt;
    if (run === undefined || isBack) runs.push([request]);
    else run.push(request);
  }
  return runs.flatMap((run) =>
    run.toSorted((one, other) => one.storeAt - other.storeAt).map((one) => placedRequest(one, say)),
  );
}

function isFirst({ type }: ToldEvent): boolean {
  return type.endsWith(".created");
}

function isPendingEvent({ type }: ToldEvent): boolean {
  return type.endsWith(".pending");
}

/** A request of the log, as a line of a story. */
export function requestEntry(request: ToldRequest, say: Say): StoryEntry {
  const { requestId: id, storeAt: at, method, path, status, code, fault, key } = request;
  const durationMs = Math.round(request.durationMs);
  const said = status === 0 ? say(SENTENCES.noAnswer) : `${status}${code === null ? "" : ` ${code}`}`;
  const keyed = key === null ? "" : `, key ${cut(key, MAX_SHOWN)}`;
  const met = fault === null ? "" : `, ${faultText(fault)}`;
  const text = `${method} ${path}: ${said} in ${durationMs} ms${keyed}${met}${differing(request, say)}`;
  return { at, what: "request", id, of: null, status, durationMs, text };
}

/** Field by field what differs: `: amount_minor 1999 → 2999`. */
function differing({ differences }: ToldRequest, say: Say): string {
  const nothing = say(SENTENCES.nothing);
  const texts = differences.map(
    ({ field, first, this: now }) =>
      `${cut(field, MAX_SHOWN)} ${cut(first ?? nothing, MAX_SHOWN)} → ${cut(now ?? nothing, MAX_SHOWN)}`,
  );
  return texts.length === 0 ? "" : `: ${texts.join(", ")}`;
}

function placedRequest(request: ToldRequest, say: Say): Placed {
  return {
    entry: requestEntry(request, say),
    about: { request },
    place: request.status === 201 ? "creation" : "request",
  };
}

/** An event, with the attempt that it tells the begin of. */
function placedEvent(event: ToldEvent, say: Say, attempt?: Attempt): Placed {
  const { id, type, createdAt: at } = event;
  const began = attempt === undefined ? "" : `, ${say(SENTENCES.attempt(attempt.number))}`;
  const entry: StoryEntry = {
    at,
    what: "event",
    id,
    of: null,
    status: null,
    durationMs: null,
    text: `${type}${began}`,
  };
  if (isFirst(event)) return { entry, about: { event }, place: "created" };
  return { entry, about: { event }, place: isPendingEvent(event) ? "pending" : "final" };
}

function placedView({ kind, at, target }: PageView, say: Say): Placed {
  const text = kind === "opened" ? SENTENCES.pageOpened : SENTENCES.browserReturned(target);
  return { entry: ofPayer("page", at, say(text)), place: kind };
}

function placedAttempt({ number, startedAt, outcome, finishedAt }: Attempt, say: Say): readonly Placed[] {
  const line = (at: number, text: Words): StoryEntry => ofPayer("attempt", at, say(text));
  const started: Placed = { entry: line(startedAt, SENTENCES.attemptStarted(number)), place: "start" };
  if (finishedAt === null) return [started];
  const ended = line(finishedAt, SENTENCES.attemptEnded(number, outcome, MAX_ATTEMPTS - number));
  return [started, { entry: ended, place: "finish" }];
}

function lateEntry(
  { attempt, result, recordedAt }: CheckoutStory["lateResults"][number],
  say: Say,
): StoryEntry {
  return ofPayer("late_result", recordedAt, say(SENTENCES.attemptLate(attempt, result)));
}

function ofPayer(what: "attempt" | "late_result" | "page", at: number, text: string): StoryEntry {
  return { at, what, id: null, of: null, status: null, durationMs: null, text };
}
