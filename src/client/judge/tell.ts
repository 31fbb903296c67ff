// Deliveries to the shop in a history: events in any form, delivered again until the shop accepts them.
import type { AnswerOf } from "../../core/control/operations.ts";
import { type Observation } from "../../core/judge/observation.ts";
import type { OrderName, Step } from "../../core/judge/step.ts";
import type { SaidValue } from "../../core/readiness/drill-shapes.ts";
import { englishOf, factOf } from "../../core/readiness/drills/said.ts";
import type { EventEntry } from "../../core/webhook/shapes.ts";
import { lastCheckout, NoOrder, type Bench, type Purchase } from "./bench.ts";
import { AS_DELIVERED, findEndpoints, postOf, requestsOf, sentAs, sentLike, type SentAs } from "./events.ts";
import { purchaseOf, type Play } from "./faults.ts";

/** Pauses before an event without a 2xx is delivered again, in milliseconds, as a service does. */
const AGAIN_MS = [200, 500, 1100, 2500, 5000];
/** Timeout of sending events to all endpoints, in milliseconds: receivers may be slow. */
const DELIVER_TIMEOUT_MS = 120_000;

type EventRef = {
  readonly eventId: string;
  readonly type: string;
  readonly status: string;
  readonly checkoutId: string;
};

export async function eventsOf({ call }: Bench, id: string): Promise<readonly EventRef[]> {
  const { events } = await call({ name: "inspectCheckout", id, body: undefined });
  return events.map(({ eventId, type }) => ({
    eventId,
    type,
    status: type.split(".")[1] ?? "",
    checkoutId: id,
  }));
}

export async function tell(play: Play, step: Extract<Step, { act: "tell" }>): Promise<void> {
  const { bench } = play;
  const { of, statuses, how, from, idLike: samePart } = step;
  const purchase = purchaseOf(play, of);
  const startedAt = bench.world.monotonic();
  const { checkouts, foreign } = purchase;
  const toldCheckouts = {
    first: checkouts.slice(0, 1),
    elsewhere: checkouts.filter(({ id }) => foreign.has(id)),
    last: [lastCheckout(purchase)],
  }[from ?? "last"];
  const events = (await Promise.all(toldCheckouts.map(({ id }) => eventsOf(bench, id)))).flat();
  const wantedCheckouts =
    statuses === undefined
      ? events
      : statuses.flatMap((status) => events.filter((event) => event.status === status));
  const { world, dialect } = bench;
  for (const event of wantedCheckouts) {
    const sentEvent =
      samePart === undefined
        ? sentAs(how, { id: world.uuid(), checkout: lastCheckout(purchase), dialect })
        : sentLike(await lastEventOf(play, "a"), samePart);
    const answers = await deliver(bench, purchase, { ...event, sent: sentEvent });
    if (how === undefined || how === "in_parts" || how === "late")
      noteAnswers(purchase, { ...event, sent: sentEvent }, answers);
    if (how === "forged") play.facts.push(...forgedFacts(answers));
  }
  // A shop without an endpoint asks for it.
  const isAsked = bench.recording.isWithoutEvents === true;
  if (isAsked && wantedCheckouts.some(({ type, checkoutId }) => isPayment(type, checkoutId, purchase)))
    purchase.isTold = true;
  purchase.eventMs = (bench.world.monotonic() - startedAt) / Math.max(1, wantedCheckouts.length);
}

async function lastEventOf(play: Play, of: OrderName): Promise<string> {
  const event = (await eventsOf(play.bench, lastCheckout(purchaseOf(play, of)).id)).at(-1);
  if (event === undefined) throw new NoOrder(factOf("no_payment"));
  return event.eventId;
}

type Answer = Pick<AnswerOf<"postToEndpoint">["answers"][number], "status" | "error">;

export type Answers = readonly (Answer & { readonly eventId: string })[];

function forgedFacts(answers: Answers): readonly Observation[] {
  return answers.map((answer) => ({ kind: "forged", isAccepted: isTaken(answer), got: gotOf(answer) }));
}

export function gotOf({ status, error }: Pick<Answers[number], "status" | "error">): SaidValue {
  if (status !== null) return String(status);
  return factOf(error === null ? "no_answer" : `no_answer:${error}`);
}

function eventOf(
  { call, noted: { events } }: Pick<Bench, "call" | "noted">,
  id: string,
): Promise<EventEntry> {
  const event = events.get(id) ?? call({ name: "showEvent", id, body: undefined });
  events.set(id, event);
  return event;
}

/** Delivers an event of a purchase, with others `together`, and notes that for its story. */
export async function deliver(
  bench: Bench,
  purchase: Pick<Purchase, "sent">,
  delivery: {
    readonly eventId: string;
    readonly type: string;
    readonly sent?: SentAs;
    readonly together?: readonly string[];
  },
): Promise<Answers> {
  const { call, leaseId, noted, signal, world, dialect } = bench;
  const { eventId, type, sent = AS_DELIVERED, together } = delivery;
  const at = world.monotonic();
  const endpoints = (noted.endpoints ??= await findEndpoints(call));
  const connection = together === undefined ? "kept" : "fresh";
  const ids = [eventId, ...(together ?? [])];
  const events = await Promise.all(ids.map((id) => eventOf(bench, id)));
  const requests = events.flatMap((event) =>
    requestsOf(world, event, { endpoints, dialect, sent }).map(([id, request]) => ({
      eventId: event.eventId,
      post: postOf(id, request, connection),
    })),
  );
  // One endpoint after the other, so that a run has few requests in flight, but all of a moment together.
  const moments = together === undefined ? requests.map((request) => [request]) : [requests];
  const answers: Answers[number][] = [];
  for (const round of moments.filter(({ length }) => length > 0)) {
    const body = { leaseId, posts: round.map(({ post }) => post) };
    const outcome = await call({ name: "postToEndpoint", body, timeoutMs: DELIVER_TIMEOUT_MS, signal });
    for (const [of, { status, error }] of outcome.answers.entries())
      answers.push({ eventId: round[of]?.eventId ?? "", status, error });
  }
  const gotText = answers.map((answer) => englishOf(gotOf(answer))).join(", ");
  purchase.sent.push({ at, text: `the run delivered ${sent.text.replace("{type}", type)}: ${gotText}` });
  return answers;
}

/** Notes whether an event was accepted; an event without a 2xx stays open, and is delivered again. */
export function noteAnswers(
  purchase: Purchase,
  event: Omit<EventRef, "status"> & { readonly sent?: SentAs },
  answers: Answers,
): void {
  const ownAnswers = answers.filter(({ eventId }) => eventId === event.eventId);
  const refusedAnswers = refusedIn(ownAnswers);
  const { eventId, type, checkoutId, sent = AS_DELIVERED } = event;
  const otherEvents = purchase.open.filter((candidate) => candidate.eventId !== eventId);
  if (refusedAnswers !== undefined) {
    purchase.open = [...otherEvents, { eventId, type, checkoutId, sent, got: gotOf(refusedAnswers) }];
    return;
  }
  purchase.open = otherEvents;
  if (ownAnswers.length > 0) purchase.event ??= { eventId, type };
  if (ownAnswers.length > 0 && isPayment(type, checkoutId, purchase)) purchase.isTold = true;
}

function isPayment(type: string, checkoutId: string, { paid }: Purchase): boolean {
  return type.endsWith(".succeeded") && checkoutId === paid?.id;
}

function isTaken({ status }: Answers[number]): boolean {
  return status !== null && status >= 200 && status < 300;
}

export function refusedIn(answers: Answers): Answers[number] | undefined {
  return answers.find((answer) => !isTaken(answer));
}

/** Whether the shop refuses an event of an order that it has accepted before, so that a restart is no cause of that. */
export async function refusesAgain(bench: Bench, purchase: Purchase): Promise<boolean> {
  const [firstEvent] = await eventsOf(bench, lastCheckout(purchase).id);
  return firstEvent !== undefined && refusedIn(await deliver(bench, purchase, firstEvent)) !== undefined;
}

/** Delivers the open events of an order again, some times; an event that is never accepted becomes a fact. */
export async function deliverOpen(play: Play, of: OrderName): Promise<void> {
  const { bench, facts, isAfterOutage } = play;
  const purchase = purchaseOf(play, of);
  if (play.faults.length > 0) return;
  for (const pauseMs of [0, ...AGAIN_MS]) {
    if (purchase.open.length === 0) return;
    if (pauseMs > 0) await bench.world.sleep(pauseMs, bench.signal);
    for (const event of purchase.open) noteAnswers(purchase, event, await deliver(bench, purchase, event));
  }
  for (const { type, got, checkoutId } of purchase.open)
    facts.push({ kind: "refused", type, got, isForeign: purchase.foreign.has(checkoutId), isAfterOutage });
  purchase.open = [];
}

/** The accepted answers to an event, otherwise all. */
export function acceptedOf(answers: Answers, eventId: string): Answers {
  const ownAnswers = answers.filter((answer) => answer.eventId === eventId);
  const acceptedAnswers = ownAnswers.filter(isTaken);
  return acceptedAnswers.length > 0 ? acceptedAnswers : ownAnswers;
}
