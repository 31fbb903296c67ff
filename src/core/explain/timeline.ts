import type { Attempt, AttemptResult } from "../checkout/payment.ts";
import { faultText } from "../fault/fault.ts";
import type { LoggedRequest } from "../request/logged-request.ts";
import { deliveryEntries, type ToldDelivery } from "./delivery.ts";
import type { StoryEntry } from "./explanation.ts";

/** Everything that happened to a checkout. Times are milliseconds by the store's clock. */
export type CheckoutStory = {
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly {
    readonly attempt: number;
    readonly result: AttemptResult;
    readonly recordedAt: number;
  }[];
  readonly events: readonly { readonly id: string; readonly type: string; readonly createdAt: number }[];
  readonly deliveries: readonly ToldDelivery[];
  readonly requests: readonly LoggedRequest[];
};

/** Of things at one time, as with a frozen clock: what has to come before what. */
const ORDER = ["creation", "created", "start", "pending", "finish", "final", "late", "request"] as const;

/** A line of a story, and its place among those of its time. */
type Placed = { readonly entry: StoryEntry; readonly place: (typeof ORDER)[number] };

/** The story of a checkout in time order; below each event are its deliveries. */
export function timelineOf(story: CheckoutStory): readonly StoryEntry[] {
  const lines: readonly Placed[] = [
    ...story.requests.map(placedRequest),
    ...story.attempts.flatMap(placedAttempt),
    ...story.events.map(placedEvent),
    ...story.lateResults.map((late) => ({ entry: lateEntry(late), place: "late" }) as const),
  ];
  // The sort is stable: what has one time and place stays as it came.
  const ordered = lines.toSorted(
    (left, right) => left.entry.at - right.entry.at || ORDER.indexOf(left.place) - ORDER.indexOf(right.place),
  );
  return ordered.flatMap(({ entry }) => [entry].concat(followers(entry, story.deliveries)));
}

/** A request of the log, as a line of a story. */
export function requestEntry({
  requestId,
  storeAt,
  method,
  path,
  status,
  code,
  durationMs,
  fault,
}: LoggedRequest): StoryEntry {
  const said = status === 0 ? "no answer" : `${status}${code === null ? "" : ` ${code}`}`;
  const text = `${method} ${path}: ${said}${fault === null ? "" : `, ${faultText(fault)}`}`;
  return { at: storeAt, what: "request", id: requestId, of: null, status, durationMs, text };
}

/** An event, as a line of a story. */
export function eventEntry({ id, type, createdAt: at }: CheckoutStory["events"][number]): StoryEntry {
  return { at, what: "event", id, of: null, status: null, durationMs: null, text: type };
}

function followers(entry: StoryEntry, deliveries: readonly ToldDelivery[]): StoryEntry[] {
  if (entry.what !== "event") return [];
  return deliveries.filter(({ eventId }) => eventId === entry.id).flatMap(deliveryEntries);
}

function placedRequest(request: LoggedRequest): Placed {
  return { entry: requestEntry(request), place: request.status === 201 ? "creation" : "request" };
}

function placedEvent(event: CheckoutStory["events"][number]): Placed {
  const entry = eventEntry(event);
  if (event.type.endsWith(".created")) return { entry, place: "created" };
  return { entry, place: event.type.endsWith(".pending") ? "pending" : "final" };
}

function placedAttempt({ number, startedAt, outcome, finishedAt }: Attempt): readonly Placed[] {
  const line = (at: number, text: string): StoryEntry => ({
    at,
    what: "attempt",
    id: null,
    of: null,
    status: null,
    durationMs: null,
    text: `payment attempt ${number} ${text}`,
  });
  const started: Placed = { entry: line(startedAt, "started"), place: "start" };
  if (finishedAt === null) return [started];
  return [started, { entry: line(finishedAt, outcome ?? "ended"), place: "finish" }];
}

function lateEntry({ attempt, result, recordedAt }: CheckoutStory["lateResults"][number]): StoryEntry {
  const text = `payment attempt ${attempt} ${result} too late: recorded, not applied (decision 10)`;
  return { at: recordedAt, what: "late_result", id: null, of: null, status: null, durationMs: null, text };
}
