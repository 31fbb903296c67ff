import type { Status } from "../../core/checkout/checkout.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import type { Step } from "../../core/judge/step.ts";
import type { StepValue } from "../../core/readiness/drill-shapes.ts";
import { englishOf, factOf } from "../../core/readiness/drills/said.ts";
import type { EventEntry } from "../../core/webhook/shapes.ts";
import { lastCheckout, NoOrder, type Bench, type OwnEvent, type Purchase } from "./bench.ts";
import {
  UNCHANGED_EVENT,
  findEndpoints,
  postsOf,
  eventVariant,
  similarVariant,
  type JudgedEndpoint,
} from "./events.ts";
import { purchaseOf, type Play } from "./faults.ts";

const REPEAT_PAUSES_MS = [200, 500, 1100, 2500, 5000];
const DELIVER_TIMEOUT_MS = 120_000;

async function eventsOf({ call }: Bench, id: string) {
  const { events } = await call({ name: "inspectCheckout", id, body: undefined });
  return events.map(({ eventId, type }) => ({ eventId, type, status: type.split(".")[1], checkoutId: id }));
}

export async function tell(
  play: Play,
  { of, statuses, alteration, from, sameIdPart }: Extract<Step, { act: "tell" }>,
): Promise<void> {
  const { bench, facts } = play;
  const purchase = purchaseOf(play, of);
  const startedAt = bench.world.monotonic();
  const { checkouts, foreignIds } = purchase;
  const eventCheckouts = {
    first: checkouts.slice(0, 1),
    elsewhere: checkouts.filter(({ id }) => foreignIds.has(id)),
    last: [lastCheckout(purchase)],
  }[from ?? "last"];
  const events = (await Promise.all(eventCheckouts.map(({ id }) => eventsOf(bench, id)))).flat();
  const requestedEvents =
    statuses === undefined
      ? events
      : statuses.flatMap((status) => events.filter((event) => event.status === status));
  for (const event of requestedEvents) {
    const variant =
      sameIdPart === undefined
        ? eventVariant(alteration, bench, lastCheckout(purchase))
        : similarVariant((await lastEventOf(bench, purchaseOf(play, "a"))).eventId, sameIdPart);
    const sentEvent = { ...event, variant };
    const answers = await deliver(bench, purchase, sentEvent);
    if (alteration === undefined || alteration === "in_parts" || alteration === "late")
      noteAnswers(purchase, sentEvent, answers);
    if (alteration !== "forged") continue;
    for (const answer of answers)
      facts.push({ kind: "forged", isAccepted: isAccepted(answer), got: resultOf(answer) });
  }
  if (bench.recording.isWithoutEvents === true && requestedEvents.some((event) => isPayment(event, purchase)))
    purchase.isNotified = true;
  purchase.eventMs = (bench.world.monotonic() - startedAt) / Math.max(1, requestedEvents.length);
}

export async function lastEventOf(bench: Bench, purchase: Purchase, status?: Status) {
  const events = await eventsOf(bench, lastCheckout(purchase).id);
  const event = events.findLast((candidate) => status === undefined || candidate.status === status);
  if (event === undefined) throw new NoOrder(factOf("no_payment"));
  return event;
}

type Answer = Pick<AnswerOf<"postToEndpoint">["answers"][number], "status" | "error">;

type Answers = readonly (Answer & { readonly eventId: string })[];

export function resultOf({ status, error }: Answer): StepValue {
  if (status !== null) return String(status);
  return factOf(error === null ? "no_answer" : `no_answer:${error}`);
}

function eventOf({ call, notes: { events } }: Bench, id: string): Promise<EventEntry> {
  const event = events.get(id) ?? call({ name: "showEvent", id, body: undefined });
  events.set(id, event);
  return event;
}

export async function endpointsOf({
  call,
  notes,
}: Pick<Bench, "call" | "notes">): Promise<readonly JudgedEndpoint[]> {
  return (notes.endpoints ??= await findEndpoints(call));
}

export async function deliver(
  bench: Bench,
  { ownDeliveries }: Purchase,
  {
    eventId,
    type,
    variant = UNCHANGED_EVENT,
    concurrentIds,
  }: OwnEvent & { readonly concurrentIds?: readonly string[] },
): Promise<Answers> {
  const { call, leaseId, signal, world } = bench;
  const at = world.monotonic();
  const endpoints = await endpointsOf(bench);
  const connection = concurrentIds === undefined ? "kept" : "fresh";
  const ids = [eventId, ...(concurrentIds ?? [])];
  const events = await Promise.all(ids.map((id) => eventOf(bench, id)));
  const requests = events.flatMap((event) =>
    postsOf(bench, event, { endpoints, variant, connection }).map((post) => ({
      eventId: event.eventId,
      post,
    })),
  );
  const rounds = concurrentIds === undefined ? requests.map((request) => [request]) : [requests];
  const answers: Answers[number][] = [];
  for (const round of rounds.filter(({ length }) => length > 0)) {
    const body = { leaseId, posts: round.map(({ post }) => post) };
    const outcome = await call({ name: "postToEndpoint", body, timeoutMs: DELIVER_TIMEOUT_MS, signal });
    for (const [index, { status, error }] of outcome.answers.entries())
      answers.push({ eventId: round[index]?.eventId ?? "", status, error });
  }
  const gotText = answers.map((answer) => englishOf(resultOf(answer))).join(", ");
  const sentText = variant.text.replace("{type}", type);
  ownDeliveries.push({ at, text: `the run delivered ${sentText}: ${gotText}` });
  return answers;
}

/** An event that an endpoint did not accept stays open, and is delivered again. */
export function noteAnswers(purchase: Purchase, event: OwnEvent, answers: Answers): void {
  const ownAnswers = answers.filter(({ eventId }) => eventId === event.eventId);
  const refusal = firstRefusal(ownAnswers);
  purchase.openEvents = purchase.openEvents.filter(({ eventId }) => eventId !== event.eventId);
  if (refusal !== undefined)
    purchase.openEvents = [...purchase.openEvents, { ...event, got: resultOf(refusal) }];
  else if (ownAnswers.length > 0) {
    purchase.acceptedEvent ??= { ...event, variant: UNCHANGED_EVENT };
    if (isPayment(event, purchase)) purchase.isNotified = true;
  }
}

function isPayment({ type, checkoutId }: OwnEvent, { paidCheckout }: Purchase): boolean {
  return type.endsWith(".succeeded") && checkoutId === paidCheckout?.id;
}

function isAccepted({ status }: Answer): boolean {
  return status !== null && status >= 200 && status < 300;
}

export function firstRefusal(answers: Answers): Answers[number] | undefined {
  return answers.find((answer) => !isAccepted(answer));
}

export async function refusesAgain(bench: Bench, purchase: Purchase): Promise<boolean> {
  const [firstEvent] = await eventsOf(bench, lastCheckout(purchase).id);
  return firstEvent !== undefined && firstRefusal(await deliver(bench, purchase, firstEvent)) !== undefined;
}

export async function redeliver(
  { bench, facts, faults, isAfterOutage }: Play,
  purchase: Purchase,
): Promise<void> {
  if (faults.length > 0) return;
  for (const pauseMs of [0, ...REPEAT_PAUSES_MS]) {
    if (purchase.openEvents.length === 0) return;
    if (pauseMs > 0) await bench.world.sleep(pauseMs, bench.signal);
    for (const event of purchase.openEvents)
      noteAnswers(purchase, event, await deliver(bench, purchase, event));
  }
  for (const { type, got, checkoutId } of purchase.openEvents)
    facts.push({ kind: "refused", type, got, isForeign: purchase.foreignIds.has(checkoutId), isAfterOutage });
  purchase.openEvents = [];
}

export function acceptedAnswersOf(answers: Answers, eventId: string): Answers {
  const ownAnswers = answers.filter((answer) => answer.eventId === eventId);
  const acceptedAnswers = ownAnswers.filter(isAccepted);
  return acceptedAnswers.length > 0 ? acceptedAnswers : ownAnswers;
}
