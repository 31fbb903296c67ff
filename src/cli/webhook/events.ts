import { WAIT_TIMEOUT_MS } from "../../client/api/wait.ts";
import { waitForEvents } from "../../client/control/webhook-wait.ts";
import { toIso } from "../../core/clock.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { EVENT_TYPE_FORM, EVENT_TYPES } from "../../core/checkout/event-types.ts";
import { runnerFor, resolveMoment } from "../calling.ts";
import { optionParser, register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { ENDPOINT_REMEDIES, noteUnknownOrder } from "./deliveries.ts";
import { deliveryLinesOfEvent, eventLines } from "./report.ts";
import { orderIdInBody } from "../../core/checkout/event.ts";
import {
  choiceParser,
  limitOption,
  parseAnyId,
  parseEventStart,
  parseId,
  parseSpanOrMoment,
  type EventStart,
} from "../parsers.ts";
import { fieldLines, nextPageText } from "../printer.ts";
import type { Refused } from "../problem.ts";
import { findId } from "../target/ids.ts";
import {
  waitForDelivery,
  EVENT_REMEDIES,
  refuseTimeout,
  webhookWaitOptions,
  type WebhookWaitOptions,
} from "./wait.ts";
import { unwrapAnswer } from "../target/call.ts";
import { callSandbox, requireControlTarget } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { runWithSpinner } from "../request/exchange.ts";
import type { TableStyle } from "../table.ts";
import type { DeliveryEntry } from "../../core/webhook/shapes.ts";
import type { SpanOrMoment } from "../../core/duration.ts";
import { PART_TEXTS } from "../../core/refusals/parts.ts";
import { english } from "../../core/language.ts";
import { answerOutput } from "../output/answer.ts";

type ListOptions = WebhookWaitOptions &
  Pick<RequestOf<"listEvents">, "type" | "orderId" | "before" | "limit"> & {
    readonly checkout?: string;
    readonly since?: SinceValue;
  };
type GetOptions = WebhookWaitOptions & { readonly body?: boolean };
type ReplayOptions = CommonOptions & { readonly endpoint?: string };
type ReplayFailedOptions = CommonOptions & { readonly endpoint?: string; readonly since?: SpanOrMoment };

const DEFAULT_SINCE: SpanOrMoment = { spanMs: 24 * 3_600_000 };

type SinceValue = EventStart | { readonly position: number };

export function registerEvents(group: Group): void {
  register<ListOptions>(group, {
    name: "list",
    summary: "list events, oldest first; with --wait, wait for the next events",
    exitCodes: { 7: "with --wait: no matching event in time" },
    examples: [
      "checkout events list --order-id order-1001",
      "checkout events list --type order.succeeded --limit 10",
      "checkout events list --type order.succeeded --wait --timeout 2m",
      "checkout events list --checkout <id> --type order.succeeded --since 0 --wait",
    ],
    options: [
      valueOption(
        "--type <type>",
        `only events of this type: ${EVENT_TYPE_FORM}`,
        choiceParser(EVENT_TYPES, EVENT_TYPE_FORM),
      ),
      valueOption("--checkout <id|order_id>", "only events of this order or session"),
      valueOption("--order-id <id>", "only events of this order_id"),
      valueOption(
        "--since <start>",
        "only events after this event_id or position, or since this time: an ISO 8601 time, or a duration such as 2h before the store's current time",
        parseSince,
      ),
      valueOption("--before <event_id>", "next_before of the previous page, to show the next page", parseId),
      limitOption("events"),
      ...webhookWaitOptions("wait for the next matching event; with --since, only if no event matches yet"),
    ],
    conflicts: [
      ["checkout", "orderId"],
      ["before", "since"],
      ["before", "wait"],
    ],
    run: runList,
  });
  register<GetOptions>(group, {
    name: "get <event_id>",
    summary: "show an event with its body and its deliveries",
    examples: [
      "checkout events get <event_id>",
      "checkout events get <event_id> --wait",
      "checkout events get <event_id> --body > body.json",
    ],
    options: [
      switchOption("--body", "print only the body, byte for byte as it is sent"),
      ...webhookWaitOptions("wait until every delivery has succeeded or been given up"),
    ],
    run: runGet,
  });
  registerReplays(group);
}

function registerReplays(group: Group): void {
  register<ReplayOptions>(group, {
    name: "replay <event_id>",
    summary: "deliver an event again, with the same event_id and body and a new timestamp and signature",
    examples: [
      "checkout events replay <event_id>",
      "checkout events replay <event_id> --endpoint 0199a3c4-5d00-7000-8000-000000000001",
    ],
    options: [
      valueOption(
        "--endpoint <id>",
        { text: "only to this endpoint", default: "every endpoint that receives this event type" },
        parseId,
      ),
    ],
    run: runnerFor("replayEvent", {
      idKind: "event",
      body: ({ endpoint }) => ({ endpointId: endpoint }),
      remedies: {
        not_found: "checkout events list and checkout endpoints list show the ids",
        state_conflict: "checkout endpoints list shows the states and event types of endpoints",
      },
      text: ({ deliveries }, _printer, { id }) =>
        [
          ...deliveries.map(({ endpointId }) => `delivering again to ${endpointId}`),
          `to see the result: checkout events get ${id} --wait`,
        ].join("\n"),
    }),
  });
  register<ReplayFailedOptions>(group, {
    name: "replay-failed",
    summary: "deliver again the events whose delivery failed or waits for a retry",
    examples: [
      "checkout events replay-failed",
      "checkout events replay-failed --since 2h --endpoint <id>",
      "checkout events replay-failed --since 2026-12-24T18:00:00Z",
    ],
    options: [
      valueOption(
        "--since <time>",
        {
          text: "only deliveries created since this time: an ISO 8601 time, or a duration such as 2h before the store's current time",
          default: "24h",
        },
        parseSpanOrMoment,
      ),
      valueOption(
        "--endpoint <id>",
        { text: "only to this endpoint", default: "all endpoints that are not disabled" },
        parseAnyId,
      ),
    ],
    run: runReplayFailed,
  });
}

async function runList(context: Context, options: ListOptions): Promise<number> {
  const query: RequestOf<"listEvents"> = {
    type: options.type,
    checkoutId: await findId(context, "checkout", options.checkout),
    orderId: options.orderId,
    ...(await resolveStart(context, options)),
    before: options.before,
    limit: options.limit,
  };
  const eventList =
    options.wait === true
      ? await awaitNextEvents(context, options, query)
      : await callSandbox(context, { name: "listEvents", body: query });
  const { events, nextBefore: cursor } = eventList;
  const { printer } = context;
  return printer.result(answerOutput("listEvents", eventList), async () => {
    if (events.length === 0) {
      await noteUnknownOrder(context, options.orderId);
      return "no matching events";
    }
    return (await eventLines(events, printer.width)) + nextPageText(context, { cursor });
  });
}

type ListStart = Pick<RequestOf<"listEvents">, "since" | "from">;

async function resolveStart(context: Context, options: ListOptions): Promise<ListStart> {
  const { since, wait } = options;
  if (since === undefined && wait !== true) return {};
  if (since === undefined) {
    const newestEvents = await callSandbox(context, { name: "listEvents", body: { limit: 1 } });
    return { since: newestEvents.events.at(-1)?.position ?? 0 };
  }
  if ("position" in since) return { since: since.position };
  if ("eventId" in since) return { since: (await showEvent(context, since.eventId)).position };
  return { since: 0, from: await resolveMoment(context, since, { direction: "past" }) };
}

async function awaitNextEvents(
  context: Context,
  options: ListOptions,
  query: RequestOf<"listEvents">,
): Promise<AnswerOf<"listEvents">> {
  const target = await requireControlTarget(context);
  const waitMs = options.timeout ?? WAIT_TIMEOUT_MS;
  const result = await runWithSpinner(context, ({ signal }) =>
    waitForEvents(context.world, target, { query, waitMs, signal }),
  );
  const eventList = unwrapAnswer(result);
  if (eventList.events.length > 0) return eventList;
  const since = query.from === undefined ? (query.since ?? 0) : toIso(query.from);
  const next = `continue to wait: checkout events list --since ${since} --wait, with the same filters`;
  throw refuseTimeout("no matching event occurred", next, { since: query.since ?? 0 });
}

async function runGet(context: Context, options: GetOptions, text = ""): Promise<number> {
  const id = await findId(context, "event", text);
  const isWaiting = options.wait === true;
  const event = isWaiting
    ? await waitForDelivery(context, options, { eventId: id, until: isSettled })
    : await showEvent(context, id);
  if (isWaiting && !isSettled(event.deliveries)) throw refuseStillDue(event);
  if (options.body === true) return context.printer.raw(event.sentBody ?? event.body);
  return context.printer.result(answerOutput("showEvent", event), () => eventText(event, context.printer));
}

function showEvent(context: Context, id: string): Promise<AnswerOf<"showEvent">> {
  return callSandbox(context, {
    name: "showEvent",
    id,
    body: undefined,
    remedies: EVENT_REMEDIES,
  });
}

async function runReplayFailed(context: Context, options: ReplayFailedOptions): Promise<number> {
  const { endpoint, since = DEFAULT_SINCE } = options;
  const endpointId = await findId(context, "endpoint", endpoint);
  const from = await resolveMoment(context, since, { direction: "past" });
  const replay = await callSandbox(context, {
    name: "replayFailed",
    body: { since: from, endpointId },
    remedies: ENDPOINT_REMEDIES,
  });
  const { retried, more } = replay;
  const count = replay.replayed + retried;
  const nextText = more
    ? "more deliveries have failed: run the same command again for the next ones"
    : "to see the results: checkout deliveries list";
  return context.printer.result(answerOutput("replayFailed", replay), () =>
    count === 0
      ? `no delivery that was created since ${toIso(from)} has failed; checkout deliveries list shows the newest`
      : `delivering ${count} again\n${nextText}`,
  );
}

function isSettled(deliveries: readonly DeliveryEntry[]): boolean {
  return deliveries.every(({ state }) => state !== "due");
}

function refuseStillDue({ eventId, deliveries }: AnswerOf<"showEvent">): Refused {
  const pendingDeliveries = deliveries.filter(({ state }) => state === "due");
  const times = pendingDeliveries.flatMap(({ nextAt }) => nextAt ?? []);
  const nextAttempt = times.length === 0 ? "soon" : toIso(Math.min(...times));
  const message = `${pendingDeliveries.length} of ${deliveries.length} deliveries of ${eventId} are still due, the next at ${nextAttempt}`;
  const next = `continue to wait: checkout events get ${eventId} --wait; checkout sandbox clock advance <duration> causes the next attempt, and checkout endpoints list shows whether its endpoint is enabled`;
  return refuseTimeout(message, next, {
    event_id: eventId,
    due: pendingDeliveries.length,
    next_at: nextAttempt,
  });
}

async function eventText(event: AnswerOf<"showEvent">, tableStyle: TableStyle): Promise<string> {
  const fields = fieldLines([
    ["event_id", event.eventId],
    ["type", event.type],
    ["order_id", orderIdInBody(event.body) || null],
    ["checkout", event.checkoutId],
    ["sequence", event.sequence],
    ["created_at", toIso(event.createdAt)],
    ["body", event.body],
  ]);
  return `${fields}\n\n${await deliveryLinesOfEvent(event.deliveries, tableStyle)}`;
}

const parseSince = optionParser(
  `an event_id, a position such as 0 or 42, ${english(PART_TEXTS.span_or_moment)}`,
  (text): SinceValue | undefined =>
    /^\d{1,15}$/.test(text) ? { position: Number(text) } : parseEventStart(text),
);
