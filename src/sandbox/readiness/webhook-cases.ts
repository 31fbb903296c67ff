import { parseRetryAfter } from "../../core/network/headers.ts";
import type { CheckoutEvent } from "../../core/checkout/event.ts";
import type { DrillCause } from "../../core/readiness/drills/webhook-advice.ts";
import type { DrillRequest } from "../../core/readiness/drills/webhook-case.ts";
import {
  isAccepted,
  isWorthProbing,
  forgeriesToRepeat,
  type DrillResults,
} from "../../core/readiness/drills/webhook-pattern.ts";
import { buildProbes } from "../../core/readiness/drills/webhook-probes.ts";
import {
  casesOf,
  buildDrillRequest,
  eventOfCase,
  shouldContinue,
  buildCaseRequest,
  type DrillEvent,
} from "../../core/readiness/drills/webhook-request.ts";
import {
  DRILL_CASES,
  FIRST_CASES,
  type CaseName,
  type CaseResult,
} from "../../core/readiness/drills/webhook.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { OutboundRequest, World } from "../../world.ts";
import { deliveryErrorOf, postToReceiver, type PostContext, type PostResult } from "../webhook/post.ts";
import type { AcceptedOrder } from "./accepted-order.ts";
import type { WebhookWatch } from "./webhook-watch.ts";

/** An endpoint at the start of its drill; `now` is the store's time. */
export type DrillSubject = {
  readonly endpoint: Endpoint;
  readonly secret: string;
  /** Older secrets, newest first. One of them may be `retiredSecret`, which is no longer active. */
  readonly olderSecrets: readonly string[];
  readonly retiredSecret: string | undefined;
  /** Order events that the endpoint has accepted; null if there are none, or if order events are not sent. */
  readonly order: (Pick<CheckoutEvent, "id" | "body"> & Pick<AcceptedOrder, "others">) | null;
  readonly now: number;
};

/** The dependencies of sending cases. */
export type CasesContext = PostContext & {
  readonly world: Pick<World, "now" | "uuid" | "sleep">;
  readonly webhookWatch: Pick<WebhookWatch, "note" | "forget">;
};

/** Maximum number of requests in flight to an endpoint. */
const MAX_IN_FLIGHT = 4;
/** Response time from which a receiver gets one request at a time, in milliseconds. */
const SLOW_MS = 2000;
/** Maximum number of attempts of a request to a receiver that answers 429. */
const MAX_ATTEMPTS = 6;
/** The first pause after a 429 without `Retry-After`, in milliseconds; it doubles each time. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;
/** Maximum total time of a drill's pauses, in milliseconds. */
const ALL_PAUSES_MS = 60_000;

/**
 * Sends all cases to an endpoint outside any transaction, some in sequence and some in parallel, until too many have no
 * answer or `isWanted` returns false.
 */
export async function sendCases(
  context: CasesContext,
  subject: DrillSubject,
  isWanted: () => boolean,
): Promise<DrillResults> {
  const { endpoint, order } = subject;
  const names = casesOf(order);
  const results: CaseResult[] = [];
  const send = createSender(context, subject);
  const run = async (name: CaseName): Promise<void> => {
    if (!shouldContinue(results) || !isWanted()) return;
    results.push(await send.case(name));
    context.webhookWatch.note({ endpoint, total: names.length, results: [...results] });
  };
  context.webhookWatch.note({ endpoint, total: names.length, results: [] });
  const last = names.slice(-2);
  for (const name of names.filter((one) => FIRST_CASES.has(one))) await run(name);
  const lanes = results.some(({ milliseconds }) => milliseconds > SLOW_MS) ? 1 : MAX_IN_FLIGHT;
  const probed = isWorthProbing(results) && isWanted() ? await probe(send, subject, lanes) : undefined;
  const middle = names.filter((one) => !FIRST_CASES.has(one) && !last.includes(one));
  await runInLanes(middle, lanes, run);
  const repeated: CaseResult[] = [];
  await runInLanes(forgeriesToRepeat(results), lanes, async (name) => {
    if (isWanted()) repeated.push(await send.case(name));
  });
  for (const name of last) await run(name);
  const usedRetired = subject.retiredSecret !== undefined;
  return { results: sortByNames(results, names), repeated, names, usedRetired, probed };
}

function sortByNames(results: readonly CaseResult[], names: readonly CaseName[]): CaseResult[] {
  return results.toSorted((one, other) => names.indexOf(one.name) - names.indexOf(other.name));
}

/** Runs `act` for each item, with as many in parallel as there are lanes. */
async function runInLanes<One>(
  all: readonly One[],
  lanes: number,
  act: (one: One) => Promise<void>,
): Promise<void> {
  const left = all.values();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const one of left) await act(one);
    }),
  );
}

type Sender = ReturnType<typeof createSender>;

/** Creates a sender; if the receiver limits the rate, all requests wait for the same pause. */
function createSender(context: CasesContext, subject: DrillSubject) {
  const { world } = context;
  const { endpoint, secret, retiredSecret, order, now } = subject;
  const { storeId, url, ca } = endpoint;
  const begun = world.now();
  let newest = now - 1;
  const event = (): Required<DrillEvent> => {
    // Each event has its own time, like the service's events.
    newest = Math.max(newest + 1, now + world.now() - begun);
    return { id: world.uuid(), storeId, createdAt: newest, sentAt: world.now() };
  };
  const first = event();
  const pace = createPace(world);
  const posted = async (request: DrillRequest, connection?: "fresh") =>
    pace(() => postOnce(context, { ...request, storeId, ca, connection: connection ?? "kept" }));

  const sendCase = async (name: CaseName): Promise<CaseResult> => {
    const own = name === "good_event" ? first : event();
    const realNow = name === "good_event" ? first.sentAt : world.now();
    const { eventId, ...basic } = buildDrillRequest(
      name,
      { own, first, order },
      { secret, retiredSecret, realNow, url },
    );
    const { limited, ...sent } = await posted(
      buildCaseRequest(name, { ...basic, url }, realNow),
      DRILL_CASES[name].connection,
    );
    const { milliseconds } = sent;
    return { name, eventId, milliseconds, answer: answerOf(sent), ...(limited ? { limited } : {}) };
  };
  return { case: sendCase, event, posted };
}

/** Finds the signing mistake with which the receiver accepts a signature. */
async function probe(send: Sender, subject: DrillSubject, lanes: number): Promise<DrillCause | undefined> {
  const { endpoint, secret, olderSecrets } = subject;
  const own = send.event();
  const event = eventOfCase("good_event", { own, first: own, order: null });
  let found: DrillCause | undefined;
  await runInLanes(buildProbes(event, { secret, olderSecrets, realNow: own.sentAt }), lanes, async (one) => {
    if (found !== undefined) return;
    const sent = await send.posted({
      method: "POST",
      url: endpoint.url,
      headers: one.headers,
      body: one.body,
    });
    if (isAccepted({ answer: answerOf(sent) })) found ??= one.cause;
  });
  return found;
}

/** Posts as deliveries do: if the kept connection was lost, again over a new connection. */
async function postOnce(
  context: PostContext,
  request: DrillRequest & Pick<OutboundRequest, "connection"> & Pick<Endpoint, "storeId" | "ca">,
): Promise<PostResult> {
  const posted = await postToReceiver(context, request);
  const { result } = posted;
  const isStale =
    result !== "forbidden" && !result.ok && result.onKept === true && result.failure !== "timeout";
  return isStale ? postToReceiver(context, { ...request, connection: "fresh" }) : posted;
}

/**
 * Creates a function that sends a request, and resends it after a 429. All requests share the pause, and the total time
 * of a drill's pauses is limited.
 */
function createPace(world: Pick<World, "now" | "sleep">) {
  let paused = 0;
  let until = 0;
  const rest = async (): Promise<void> => {
    while (world.now() < until) await world.sleep(until - world.now());
  };
  const pause = (milliseconds: number): boolean => {
    const more = Math.max(0, world.now() + milliseconds - Math.max(until, world.now()));
    if (paused + more > ALL_PAUSES_MS) return false;
    paused += more;
    until = Math.max(until, world.now() + milliseconds);
    return true;
  };
  return async (send: () => Promise<PostResult>): Promise<PostResult & { readonly limited: boolean }> => {
    for (let tries = 1; ; tries += 1) {
      await rest();
      const posted = await send();
      const { result } = posted;
      const isLimited = result !== "forbidden" && result.ok && result.status === 429;
      if (!isLimited || tries === MAX_ATTEMPTS) return { ...posted, limited: !isLimited && tries > 1 };
      const named = parseRetryAfter(result.headers["retry-after"], world.now()) ?? 0;
      const wanted = Math.max(named, FIRST_PAUSE_MS * 2 ** (tries - 1));
      if (!pause(Math.min(wanted, MAX_PAUSE_MS))) return { ...posted, limited: false };
    }
  };
}

function answerOf({ result }: Pick<PostResult, "result">): CaseResult["answer"] {
  if (result === "forbidden")
    return { error: "target_forbidden", message: "the sandbox may not send to this address" };
  if (result.ok) return { status: result.status, body: result.body };
  const { fault, elsewhere } = result.facts ?? {};
  return {
    error: deliveryErrorOf(result),
    message: result.message,
    fault: fault === "refused" && elsewhere !== undefined ? "elsewhere" : fault,
  };
}
