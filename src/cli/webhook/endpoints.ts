import { toIso } from "../../core/clock.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { ALL_EVENTS, parseEventTypes } from "../../core/checkout/event-types.ts";
import { causeText, errorText, causeMaterialOf } from "../../core/explain/delivery.ts";
import { english } from "../../core/language.ts";
import { printable, shortId } from "../../core/text.ts";
import { certificatesOfOption } from "./certificates-option.ts";
import { runnerFor } from "../calling.ts";
import { listOption, register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { lastAttemptText } from "./report.ts";
import { fieldLines, secretText } from "../printer.ts";
import { table, type TableStyle } from "../table.ts";
import { findId } from "../target/ids.ts";
import { Refused, refuseUsage, catchRefusal, usageProblem, unwrap } from "../problem.ts";
import { waitForDelivery, refuseTimeout, webhookWaitOptions, type WebhookWaitOptions } from "./wait.ts";
import { ENDPOINT_REMEDIES } from "./deliveries.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { DeliveryEntry, EndpointEntry } from "../../core/webhook/shapes.ts";
import { answerOutput } from "../output/answer.ts";

type AddOptions = CommonOptions & {
  readonly events?: readonly string[];
  readonly inOrder?: boolean;
  readonly ca?: string;
};

const NO_ENDPOINTS_TEXT = "there is no endpoint; add one: checkout endpoints add http://localhost:3000/hooks";

/** Unlike `endpoints remove`, a configuration file changes an endpoint without giving up its deliveries. */
const CHANGE_BY_FILE_HINT =
  "checkout endpoints list shows the endpoints; to change one, such as its CA: checkout config export > checkout.config.json, edit it, then checkout config apply";

export function registerEndpoints(group: Group): void {
  register<AddOptions>(group, {
    name: "add <url>",
    summary: "add an endpoint to deliver events to, and print its signing secret",
    examples: [
      "checkout endpoints add http://localhost:3000/hooks",
      "checkout endpoints add http://localhost:3000/hooks --events order.*,checkout_session.succeeded",
      "checkout endpoints add http://localhost:3000/hooks --in-order",
      "checkout endpoints add https://localhost:3000/hooks --ca rootCA.pem",
    ],
    options: [
      listOption(
        "--events <types>",
        { text: "event types or patterns such as order.*, separated by commas", default: "all" },
        (text) => text,
      ),
      switchOption("--in-order", {
        text: "deliver one event at a time",
        default: "several at a time, but one at a time for each order",
      }),
      valueOption("--ca <file>", {
        text: "PEM file of CA certificates to trust for an https address",
        default: "the sandbox's CAs",
      }),
    ],
    run: runAdd,
  });
  register(group, {
    name: "list",
    summary: "list endpoints, oldest first",
    examples: ["checkout endpoints list", "checkout endpoints list --json"],
    run: runnerFor("listEndpoints", {
      text: ({ endpoints }, printer) =>
        endpoints.length === 0 ? NO_ENDPOINTS_TEXT : endpointLines(endpoints, printer),
    }),
  });
  for (const { action, summary, resultText } of CHANGES) {
    register(group, {
      name: `${action} <id>`,
      summary,
      examples: [`checkout endpoints ${action} 0199a3c4-5d00-7000-8000-000000000001`],
      run: runnerFor("setEndpointState", {
        idKind: "endpoint",
        body: () => ({ action }),
        remedies: ENDPOINT_REMEDIES,
        text: ({ url }) => `${printable(url)} ${resultText}`,
      }),
    });
  }
  register<WebhookWaitOptions>(group, {
    name: "test <id>",
    summary: "deliver a webhook.test event to an endpoint; with --wait, exit 1 if it is not accepted",
    exitCodes: { 1: "with --wait: the endpoint did not accept the event" },
    examples: ["checkout endpoints test <id>", "checkout endpoints test <id> --wait"],
    options: webhookWaitOptions("wait for the endpoint's answer"),
    run: runTest,
  });
}

type Change = {
  readonly action: RequestOf<"setEndpointState">["action"];
  readonly summary: string;
  readonly resultText: string;
};

const CHANGES: readonly Change[] = [
  {
    action: "remove",
    summary: "remove an endpoint, and give up its pending deliveries",
    resultText: "was removed; its pending deliveries are given up",
  },
  {
    action: "enable",
    summary: "enable an endpoint; queued events are delivered first, then new events",
    resultText: "is enabled: queued events are delivered first, then new events",
  },
  {
    action: "disable",
    summary: "disable an endpoint; events that occur meanwhile are not delivered later",
    resultText: "is disabled: events that occur meanwhile are not delivered later",
  },
  {
    action: "pause",
    summary: "pause an endpoint; its events wait until it is enabled",
    resultText: "is paused: its events wait until it is enabled",
  },
];

async function runAdd(context: Context, options: AddOptions, url = ""): Promise<number> {
  const next = "correct it; no endpoint was added";
  const patterns = parseEventTypes(options.events ?? [ALL_EVENTS]);
  if (!patterns.ok) throw refuseUsage(patterns.refusal.message, next);
  const { ca: file } = options;
  const ca = file === undefined ? undefined : certificatesOfOption(context.world, file, { isKept: true });
  const request = callSandbox(context, {
    name: "addEndpoint",
    body: { url, eventTypes: patterns.value, inOrder: options.inOrder, ca },
    remedies: { state_conflict: CHANGE_BY_FILE_HINT },
  });
  const addedEndpoint = unwrap(await catchRefusal(request), (problem) =>
    problem.code === "invalid_parameter" ? usageProblem(problem.message, next) : problem,
  );
  const { printer } = context;
  return printer.result(answerOutput("addEndpoint", addedEndpoint), () => {
    const { id, url: address, eventTypes: types, signingSecret: secret } = addedEndpoint;
    const fields = fieldLines([
      ["id", id],
      ["events", types.join(", ")],
      ["signing_secret", secretText(printer, secret, `checkout endpoints secret ${id}`)],
    ]);
    return `${printer.style.green("✓")} events are delivered to ${printable(address)}\n${fields}`;
  });
}

async function runTest(context: Context, options: WebhookWaitOptions, text = ""): Promise<number> {
  const id = await findId(context, "endpoint", text);
  const testResult = await callSandbox(context, {
    name: "testEndpoint",
    id,
    body: {},
    remedies: ENDPOINT_REMEDIES,
  });
  const { eventId } = testResult;
  if (options.wait === true) return awaitTest(context, options, eventId);
  return context.printer.result(answerOutput("testEndpoint", testResult), () =>
    [
      `webhook.test is being delivered: ${eventId}`,
      `to see the result: checkout events get ${eventId} --wait`,
    ].join("\n"),
  );
}

/** Waits only for the end of the first attempt; later attempts can take a day. */
async function awaitTest(context: Context, options: WebhookWaitOptions, eventId: string): Promise<number> {
  const event = await waitForDelivery(context, options, { eventId, until: haveFirstAttemptsEnded });
  // A fault may have added a second delivery.
  const delivery = event.deliveries.find(({ cause }) => cause === "event");
  if (delivery === undefined || !haveFirstAttemptsEnded(event.deliveries)) {
    const next = "checkout endpoints list shows whether the endpoint is enabled";
    throw refuseTimeout(`webhook.test ${eventId} was not sent`, next, { event_id: eventId });
  }
  if (delivery.state !== "succeeded") throw refuseResult(event, delivery);
  return context.printer.result(answerOutput("showEvent", event), () => {
    const attempt = delivery.attempts.at(-1);
    const cause = attempt && causeText(causeMaterialOf(attempt), english);
    const { style } = context.printer;
    return [
      `${style.green("✓")} webhook.test was accepted: ${lastAttemptText(delivery)} after ${attempt?.milliseconds ?? 0} ms`,
      ...(cause === undefined ? [] : [`  ${style.cyan("→")} ${cause}`]),
      `  ${eventId}`,
    ].join("\n");
  });
}

function haveFirstAttemptsEnded(deliveries: readonly DeliveryEntry[]): boolean {
  return deliveries.every(
    ({ state, attempts }) => state !== "due" || attempts.some((attempt) => attempt.finishedAt !== null),
  );
}

function refuseResult({ eventId }: AnswerOf<"showEvent">, delivery: DeliveryEntry): Refused {
  const result = lastAttemptText(delivery) ?? delivery.state;
  const attempt = delivery.attempts.at(-1);
  const text = attempt && errorText(attempt);
  const answerText = text === undefined ? "" : ` (${text})`;
  const cause = attempt && causeText(causeMaterialOf(attempt), english);
  return new Refused({
    code: "not_delivered",
    message: `webhook.test was not accepted: ${result}${answerText}${cause === undefined ? "" : `; ${cause}`}`,
    next: `checkout explain ${delivery.id} shows the answer and the likely cause; then: checkout events replay ${eventId}`,
    details: { event_id: eventId, state: delivery.state, result },
  });
}

function endpointLines(endpoints: readonly EndpointEntry[], { width, style }: TableStyle): Promise<string> {
  return table(
    ["ID", "STATE", "URL", "EVENTS", "NOTE"],
    endpoints.map((endpoint) => [
      shortId(endpoint.id),
      isFailing(endpoint) ? "failing" : endpoint.state,
      endpoint.url,
      endpoint.eventTypes.join(", "),
      noteOf(endpoint),
    ]),
    { width, style, middle: ["URL"], drop: ["EVENTS"] },
  );
}

function isFailing({ state, failingSince }: EndpointEntry): boolean {
  return state === "enabled" && failingSince !== null;
}

function noteOf(endpoint: EndpointEntry): string | null {
  const { kind, inOrder, reason, failingSince } = endpoint;
  const sinceText = failingSince === null ? "" : `since ${toIso(failingSince).replace(/\.\d+Z$/, "Z")}`;
  const notes = [
    inOrder ? "one at a time" : "",
    kind === "listener" ? "checkout listen" : "",
    reason ?? "",
    sinceText === "" || isFailing(endpoint) ? sinceText : `failing ${sinceText}`,
  ];
  return notes.filter(Boolean).join("; ") || null;
}
