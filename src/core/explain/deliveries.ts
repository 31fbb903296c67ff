import { COLON, COMMA, SEMICOLON, type Translator, type Words } from "../language.ts";
import { partWords } from "../fact.ts";
import { excerpt } from "../text.ts";
import { toIso } from "../clock.ts";
import { causeText, holdingFault, receivedText, type StoryDelivery, type StoryAttempt } from "./delivery.ts";
import { isSuccessStatus } from "../webhook/delivery.ts";
import { textOfParts, type LinePart, type PendingEntry, type StoryEntry } from "./explanation.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";
import { spanText } from "./span.ts";
import type { DeliveryEntry } from "../webhook/shapes.ts";

export type DeliveryLine = { readonly entry: StoryEntry; readonly deliveries: readonly StoryDelivery[] };

type LineContext = {
  readonly now: number;
  readonly labels: EndpointLabels;
  readonly say: Translator;
  readonly holders: ReadonlyMap<string, HoldingDelivery>;
};

type DeliveryContext = LineContext & { readonly eventAt: number };

type HoldingDelivery = { readonly type: string; readonly fault: string | null };

type EndpointLabels = ReadonlyMap<string, string>;

const MIN_DELAY_MS = 1000;
const MAX_LABEL_LENGTH = 48;
const ID_END_LENGTH = 4;

export function endpointLabels(deliveries: readonly StoryDelivery[]): EndpointLabels {
  const urls = new Map(deliveries.map(({ endpointId, endpointUrl }) => [endpointId, endpointUrl]));
  const urlGroups = Map.groupBy(urls.values(), (url) => url);
  return new Map(
    [...urls].map(([id, url]) => {
      const isShared = url === null || (urlGroups.get(url)?.length ?? 0) > 1;
      const name = url === null ? "" : cutMiddle(url.replace(/^http:\/\//, ""), MAX_LABEL_LENGTH);
      return [id, isShared ? `${name} …${id.slice(-ID_END_LENGTH)}`.trim() : name];
    }),
  );
}

export function waitingDeliveries(
  deliveries: readonly StoryDelivery[],
  types: ReadonlyMap<string, string>,
): readonly (readonly [id: string, HoldingDelivery])[] {
  const holders = new Map<string, HoldingDelivery>();
  return deliveries.flatMap((delivery) => {
    const { id, endpointId, eventId, state, cause, fault } = delivery;
    const holder = holders.get(endpointId);
    const isDelayed = fault?.action === "delay" && isPending(delivery);
    const isHolder = state === "due" && cause === "event" && fault?.action !== "reorder";
    if (isDelayed || (isHolder && holder === undefined))
      holders.set(endpointId, { type: types.get(eventId) ?? "", fault: isDelayed ? fault.action : null });
    // Replays and duplicates do not wait for earlier events.
    return holder === undefined || cause !== "event" ? [] : [[id, holder] as const];
  });
}

export function groupDeliveries(
  event: { readonly id: string; readonly createdAt: number },
  deliveries: readonly StoryDelivery[],
  context: LineContext,
): readonly DeliveryLine[] {
  const deliveryContext: DeliveryContext = { ...context, eventAt: event.createdAt };
  const endpointLists = [...Map.groupBy(deliveries, ({ endpointId }) => endpointId).values()];
  const groups = [
    ...Map.groupBy(endpointLists, (list) => sharedText(list, deliveryContext)).entries(),
  ].flatMap(([key, group]) => (key === null ? group.map((list) => [list]) : [group]));
  return groups.map((group) => {
    const [firstList = []] = group;
    const isJoint = group.length > 1;
    const storyDeliveries = isJoint ? group.flat() : firstList;
    const attempts = storyDeliveries.flatMap((delivery) => delivery.attempts);
    const [soleAttempt] = attempts.length === 1 ? attempts : [];
    const label = isJoint
      ? deliveryContext.say(EXPLAIN_SENTENCES.endpoints(group.length))
      : labelOf(firstList, deliveryContext);
    const entry: StoryEntry = {
      at: event.createdAt,
      what: "delivery",
      id: isJoint ? null : (firstList.at(-1)?.id ?? null),
      of: event.id,
      status: isJoint ? null : (attempts.at(-1)?.status ?? null),
      durationMs: soleAttempt?.milliseconds ?? null,
      ...textOfParts([
        `→ ${label}  `,
        ...(isJoint
          ? [sharedText(firstList, deliveryContext) ?? ""]
          : endpointParts(firstList, deliveryContext)),
      ]),
      attempts: storyDeliveries.flatMap((delivery) =>
        attemptEntries(delivery, deliveryContext, isJoint ? labelOf([delivery], deliveryContext) : undefined),
      ),
    };
    return { entry, deliveries: storyDeliveries };
  });
}

export function pendingAttempts(
  deliveries: readonly StoryDelivery[],
  types: ReadonlyMap<string, string>,
  { labels, say }: Pick<LineContext, "labels" | "say">,
): readonly PendingEntry[] {
  return deliveries.filter(isPending).map((delivery) => {
    const { eventId, endpointId, attempts, nextAt } = delivery;
    const label = labels.get(endpointId) ?? endpointId;
    const dueText = say(EXPLAIN_SENTENCES.dueAttempt(attempts.length + 1, types.get(eventId) ?? "", label));
    const fault = attempts.length === 0 ? holdingFault(delivery) : undefined;
    const text = joinTexts([dueText, fault === undefined ? "" : say(EXPLAIN_SENTENCES.heldBy(fault))], say);
    return { at: nextAt, what: "delivery", text };
  });
}

function isPending(delivery: StoryDelivery): boolean {
  const { state, isHeld, hold, attempts } = delivery;
  const hasTime = attempts.length > 0 || holdingFault(delivery) !== undefined;
  return state === "due" && !isHeld && hold === undefined && hasTime && !attempts.some(isInFlight);
}

function sharedText(list: readonly StoryDelivery[], context: DeliveryContext): string | null {
  const [delivery, secondDelivery] = list;
  if (delivery === undefined || secondDelivery !== undefined || delivery.cause !== "event") return null;
  if (delivery.fault !== null || arrivalText(delivery, context) !== "") return null;
  const [attempt, secondAttempt] = delivery.attempts;
  if (attempt === undefined) return stateText(delivery, context);
  const isAccepted = secondAttempt === undefined && attempt.fault === null && isSuccessStatus(attempt.status);
  return isAccepted && delivery.state === "succeeded" ? "2xx" : null;
}

function endpointParts(list: readonly StoryDelivery[], context: DeliveryContext): readonly LinePart[] {
  const [comma, colon, semicolon] = [context.say(COMMA), context.say(COLON), context.say(SEMICOLON)];
  return list.flatMap((delivery, index) => {
    const name = CAUSE_NAMES[delivery.cause];
    const results = resultParts(delivery.attempts, context);
    const endText = joinTexts([stateText(delivery, context), arrivalText(delivery, context)], context.say);
    return [
      `${index === 0 ? "" : semicolon}${name === undefined ? "" : `${context.say(name)}${colon}`}`,
      ...results,
      results.length === 0 || endText === "" ? endText : `${comma}${endText}`,
      ...reasonParts(delivery, context),
    ];
  });
}

function joinTexts(texts: readonly string[], say: Translator): string {
  return texts.filter((text) => text !== "").join(say(COMMA));
}

function arrivalText(delivery: StoryDelivery, { eventAt, say }: DeliveryContext): string {
  const attempt = delivery.attempts.at(-1);
  if (attempt === undefined || !isSuccessStatus(attempt.status)) return "";
  const fault = holdingFault(delivery);
  const delayMs = attempt.startedAt - eventAt;
  if (fault === undefined && delayMs < MIN_DELAY_MS) return "";
  const holdText = fault === undefined ? "" : say(EXPLAIN_SENTENCES.heldBy(fault));
  // Replays and duplicates are sent later on purpose.
  const afterText =
    delivery.cause === "event" ? say(EXPLAIN_SENTENCES.afterEvent(spanText(delayMs, say))) : "";
  return joinTexts([holdText, say(EXPLAIN_SENTENCES.arrived(toIso(attempt.startedAt))), afterText], say);
}

const CAUSE_NAMES: Readonly<Partial<Record<DeliveryEntry["cause"], Words>>> = EXPLAIN_SENTENCES.called;

/** Counts equal results in a row, as in `timeout ×2, 500 ×4`. Adds the duration of a sole attempt. */
function resultParts(attempts: readonly StoryAttempt[], context: LineContext): readonly LinePart[] {
  const runs: { result: string; parts: readonly LinePart[]; count: number }[] = [];
  for (const attempt of attempts) {
    const { text: result, parts } = textOfParts([resultPart(attempt, context), faultOf(attempt, context)]);
    const lastRun = runs.at(-1);
    if (lastRun?.result === result) lastRun.count += 1;
    else runs.push({ result, parts, count: 1 });
  }
  const [soleAttempt] = attempts.length === 1 ? attempts : [];
  const countedParts: LinePart[] = [];
  for (const { parts, count } of runs)
    countedParts.push(
      countedParts.length === 0 ? "" : context.say(COMMA),
      ...parts,
      count === 1 ? "" : ` ×${count}`,
    );
  return soleAttempt === undefined ? countedParts : [...countedParts, durationPart(soleAttempt, context)];
}

function stateText(delivery: StoryDelivery, { now, say, holders }: LineContext): string {
  const { id, state, nextAt, isHeld, hold, attempts, fault } = delivery;
  if (state === "dropped")
    return say(
      fault?.action === "drop" ? EXPLAIN_SENTENCES.droppedBy(fault.action) : EXPLAIN_SENTENCES.dropped,
    );
  if (state === "failed") return say(EXPLAIN_SENTENCES.givenUp);
  if (state !== "due" || attempts.some(isInFlight)) return "";
  if (hold !== undefined) return say(EXPLAIN_SENTENCES.heldBack(say(partWords(hold))));
  if (isHeld) return say(EXPLAIN_SENTENCES.held);
  const nextText = say(
    nextAt <= now ? EXPLAIN_SENTENCES.dueNow : EXPLAIN_SENTENCES.nextAttempt(spanText(nextAt - now, say)),
  );
  if (attempts.length > 0) return nextText;
  const delayingFault = holdingFault(delivery);
  if (delayingFault !== undefined)
    return joinTexts([say(EXPLAIN_SENTENCES.heldBy(delayingFault)), nextText], say);
  const holder = holders.get(id);
  if (holder === undefined) return nextText;
  const { type, fault: cause } = holder;
  return say(cause === null ? EXPLAIN_SENTENCES.after(type) : EXPLAIN_SENTENCES.behind(type, cause));
}

function reasonParts({ attempts }: StoryDelivery, { say }: LineContext): readonly LinePart[] {
  const attempt = attempts.at(-1);
  const cause = attempt && causeText(attempt, say);
  if (attempt === undefined || cause === undefined) return [];
  // The result already names an injected fault.
  return attempt.fault === null ? [quoteAnswer(attempt, say), { cause }] : [quoteAnswer(attempt, say)];
}

function attemptEntries(
  { attempts }: StoryDelivery,
  context: LineContext,
  endpointLabel?: string,
): NonNullable<StoryEntry["attempts"]> {
  return attempts.map((attempt, index) => {
    const { startedAt: at, status, error, milliseconds: ms } = attempt;
    return {
      at,
      status,
      error,
      ms,
      ...attemptText(attempt, attempts[index - 1], { ...context, endpointLabel }),
    };
  });
}

function attemptText(
  attempt: StoryAttempt,
  previousAttempt: StoryAttempt | undefined,
  context: LineContext & { readonly endpointLabel: string | undefined },
): ReturnType<typeof textOfParts> {
  const { number, startedAt } = attempt;
  const { say, endpointLabel } = context;
  const delayText =
    previousAttempt === undefined
      ? ""
      : say(EXPLAIN_SENTENCES.later(spanText(startedAt - previousAttempt.startedAt, say)));
  const cause = causeText(attempt, say);
  const isSame = previousAttempt !== undefined && cause === causeText(previousAttempt, say);
  const reason = isSame ? say(EXPLAIN_SENTENCES.sameCause) : cause;
  const name = joinTexts([endpointLabel ?? "", say(EXPLAIN_SENTENCES.numbered(number)), delayText], say);
  return textOfParts([
    `${name}${say(COLON)}`,
    resultPart(attempt, context),
    faultOf(attempt, context),
    durationPart(attempt, context),
    quoteAnswer(attempt, say),
    ...(reason === undefined || attempt.fault !== null ? [] : [{ cause: reason }]),
  ]);
}

/** Empty for `duplicate`, which the text of the delivery already names. */
function faultOf({ fault }: StoryAttempt, { say }: LineContext): string {
  return fault === null || fault === "duplicate" ? "" : say(EXPLAIN_SENTENCES.byFault(fault));
}

function resultPart({ status, error }: StoryAttempt, { say }: LineContext): LinePart {
  return status === null ? (error ?? say(EXPLAIN_SENTENCES.underWay)) : { status };
}

function durationPart({ milliseconds }: StoryAttempt, { say }: LineContext): LinePart {
  return milliseconds === null ? "" : { duration: say(EXPLAIN_SENTENCES.tookMs(milliseconds)) };
}

function quoteAnswer({ answer, status, facts }: StoryAttempt, say: Translator): string {
  const answerText = isSuccessStatus(status) ? "" : excerpt(receivedText(answer, facts?.message) ?? "");
  return answerText === "" ? "" : `${say(COMMA)}"${answerText}"`;
}

function isInFlight({ status, error }: StoryAttempt): boolean {
  return status === null && error === null;
}

function labelOf(list: readonly StoryDelivery[], { labels }: LineContext): string {
  const id = list[0]?.endpointId ?? "";
  return labels.get(id) ?? id;
}

function cutMiddle(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const halfLength = Math.floor((maxLength - 1) / 2);
  return `${text.slice(0, maxLength - 1 - halfLength)}…${text.slice(-halfLength)}`;
}
