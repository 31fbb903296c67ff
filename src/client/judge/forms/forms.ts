import { parseRetryAfter } from "../../../core/network/headers.ts";
import type { AnswerOf } from "../../../core/control/operations.ts";
import type { DrillCause } from "../../../core/readiness/drills/webhook-advice.ts";
import type { DrillRequest } from "../../../core/readiness/drills/webhook-case.ts";
import type { Dialect } from "../../../core/shape/dialect.ts";
import {
  isAccepted,
  isWorthProbing,
  forgeriesToRepeat,
  type CaseResult,
  type DrillResults,
} from "../../../core/judge/forms/answers.ts";
import { buildProbes } from "../../../core/judge/forms/probes.ts";
import {
  casesOf,
  LAST_CASE_COUNT,
  buildDrillRequest,
  eventOfForm,
  shouldContinue,
  type DrillEvent,
  type OrderEvent,
} from "../../../core/judge/forms/requests.ts";
import { DRILL_CASES, FIRST_CASES, type CaseName } from "../../../core/readiness/drills/webhook.ts";
import type { World } from "../../../world.ts";
import { createQueue } from "../../../core/mutex.ts";
import { mapInLanes } from "../../lanes.ts";

export type FormReceiver = {
  readonly endpointId: string;
  readonly storeId: string;
  readonly url: string;
  readonly secret: string;
  /** Newest first. One of them may be `retiredSecret`, which is no longer active. */
  readonly olderSecrets: readonly string[];
  readonly retiredSecret: string | undefined;
  readonly dialect: Dialect | undefined;
  readonly order: OrderEvent | null;
  readonly now: number;
};

type PostedAnswer = AnswerOf<"postToEndpoint">["answers"][number];

export type FormsContext = {
  readonly world: Pick<World, "now" | "uuid" | "sleep">;
  readonly post: (request: DrillRequest, connection: "kept" | "fresh") => Promise<PostedAnswer>;
  readonly mayRun: () => boolean;
};

const MAX_IN_FLIGHT = 4;
const SLOW_MS = 2000;
const MAX_ATTEMPTS = 6;
/** In milliseconds; doubles with each busy answer. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;
const MAX_TOTAL_PAUSE_MS = 60_000;

export async function sendForms(context: FormsContext, receiver: FormReceiver): Promise<DrillResults> {
  const { mayRun } = context;
  const caseNames = casesOf(receiver);
  const results: CaseResult[] = [];
  const sender = createSender(context, receiver);
  const run = async (name: CaseName): Promise<void> => {
    if (shouldContinue(results) && mayRun()) results.push(...(await sender.sendForm(name)));
  };
  const firstNames = caseNames.filter((name) => FIRST_CASES.has(name));
  const lastNames = caseNames.slice(-LAST_CASE_COUNT);
  for (const name of firstNames) await run(name);
  const laneCount = results.some(({ milliseconds }) => milliseconds > SLOW_MS) ? 1 : MAX_IN_FLIGHT;
  const probedCause =
    isWorthProbing(results) && mayRun() ? await probe(sender, receiver, { laneCount, mayRun }) : undefined;
  const middleNames = caseNames.filter((name) => !firstNames.includes(name) && !lastNames.includes(name));
  await mapInLanes(middleNames, laneCount, run);
  const repeats: CaseResult[] = [];
  await mapInLanes(forgeriesToRepeat(results), laneCount, async (name) => {
    if (mayRun()) repeats.push(...(await sender.sendForm(name)));
  });
  for (const name of lastNames) await run(name);
  const usesRetiredSecret = receiver.retiredSecret !== undefined;
  results.sort((left, right) => caseNames.indexOf(left.name) - caseNames.indexOf(right.name));
  return { results, repeats, caseNames, usesRetiredSecret, probedCause };
}

/** `isOpen`: the receiver was still busy when the forms were no longer wanted, so the answer proves nothing. */
type PacedAnswer = PostedAnswer & { readonly isLimited: boolean; readonly isOpen?: true };
type Sender = ReturnType<typeof createSender>;

function createSender({ world, post, mayRun }: FormsContext, receiver: FormReceiver) {
  const { storeId, url, secret, retiredSecret, dialect, order, now } = receiver;
  const startedAt = world.now();
  let newestTime = now - 1;
  const createEvent = (): Required<DrillEvent> => {
    // Each event has its own time, like events of the service.
    newestTime = Math.max(newestTime + 1, now + world.now() - startedAt);
    return { id: world.uuid(), storeId, createdAt: newestTime, sentAt: world.now() };
  };
  const firstEvent = createEvent();
  const sendPaced = createPacedSend(world, mayRun);
  const sendForm = async (name: CaseName): Promise<readonly CaseResult[]> => {
    const own = name === "good_event" ? firstEvent : createEvent();
    const realNow = name === "good_event" ? firstEvent.sentAt : world.now();
    const keys = { secret, retiredSecret, realNow, url, dialect };
    const { [name]: mutations } = DRILL_CASES;
    const events = { own, first: firstEvent, order };
    const { eventId, request } = buildDrillRequest(mutations, events, keys);
    const { connection = "kept" } = mutations;
    const { isLimited, isOpen, ...reply } = await sendPaced(() => post(request, connection));
    const result = { name, eventId, milliseconds: reply.milliseconds, answer: answerOf(reply) };
    return isOpen === true ? [] : [{ ...result, ...(isLimited && { isLimited }) }];
  };
  return {
    sendForm,
    createEvent,
    post: (request: DrillRequest) => sendPaced(() => post(request, "kept")),
  };
}

async function probe(
  sender: Sender,
  { secret, olderSecrets, dialect }: FormReceiver,
  { laneCount, mayRun }: Pick<FormsContext, "mayRun"> & { readonly laneCount: number },
): Promise<DrillCause | undefined> {
  const ownEvent = sender.createEvent();
  const event = eventOfForm(DRILL_CASES.good_event, { own: ownEvent, first: ownEvent, order: null });
  let foundCause: DrillCause | undefined;
  const keys = { secret, olderSecrets, dialect, realNow: ownEvent.sentAt };
  await mapInLanes(buildProbes(event, keys), laneCount, async ({ cause, headers, body }) => {
    if (foundCause !== undefined || !mayRun()) return;
    const answer = await sender.post({ method: "POST", suffix: "", headers, body });
    if (isAccepted({ answer: answerOf(answer) })) foundCause ??= cause;
  });
  return foundCause;
}

function isBusy({ status, retryAfter }: PostedAnswer): boolean {
  return status === 429 || (status === 503 && retryAfter !== null);
}

/** Once the receiver was busy, requests are sent one at a time and share the pauses, whose total time is limited. */
function createPacedSend(world: Pick<World, "now" | "sleep">, isWanted: () => boolean) {
  let pausedMs = 0;
  let pausedUntil = 0;
  const awaitPause = async (): Promise<void> => {
    while (world.now() < pausedUntil) await world.sleep(pausedUntil - world.now());
  };
  const pause = (milliseconds: number): boolean => {
    const extraMs = Math.max(0, world.now() + milliseconds - Math.max(pausedUntil, world.now()));
    if (pausedMs + extraMs > MAX_TOTAL_PAUSE_MS) return false;
    pausedMs += extraMs;
    pausedUntil = Math.max(pausedUntil, world.now() + milliseconds);
    return true;
  };
  const runInTurn = createQueue();
  return async (send: () => Promise<PostedAnswer>): Promise<PacedAnswer> => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await (pausedMs > 0 ? runInTurn(() => awaitPause().then(send)) : send());
      if (!isBusy(answer)) return { ...answer, isLimited: attempt > 1 };
      if (!isWanted()) return { ...answer, isLimited: false, isOpen: true };
      if (attempt === MAX_ATTEMPTS) return { ...answer, isLimited: false };
      const namedPauseMs = parseRetryAfter(answer.retryAfter ?? undefined, world.now());
      const wantedPauseMs = Math.max(namedPauseMs, FIRST_PAUSE_MS * 2 ** (attempt - 1));
      if (!pause(Math.min(wantedPauseMs, MAX_PAUSE_MS))) return { ...answer, isLimited: false };
    }
  };
}

function answerOf({ status, body, error, message, fault }: PostedAnswer): CaseResult["answer"] {
  if (status !== null) return { status, body };
  return { error: error ?? "connection_lost", message, fault: fault ?? undefined };
}
