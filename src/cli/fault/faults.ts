import type { Option } from "commander";
import { closestMatch } from "leven";
import { toIso } from "../../core/clock.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import { API_ACTIONS, DELIVERY_ACTIONS, FAULT_ACTIONS, FAULT_PROFILES } from "../../core/fault/actions.ts";
import type { FaultEntry } from "../../core/fault/shapes.ts";
import { FAULT_PARAMETERS } from "../../core/fault/rules.ts";
import { parseFaults } from "../../core/fault/request.ts";
import { matchText, parameterText, parseProbabilityText } from "../../core/fault/text.ts";
import { printableLiteral, shortId } from "../../core/text.ts";
import { runnerFor, resolveMoment } from "../calling.ts";
import { replaceTypedOptions } from "../hints/again.ts";
import { optionParser, register, valueOption, type Context, type Group } from "../command.ts";
import {
  parseUuid,
  choiceParser,
  parseDuration,
  parseId,
  parseSpanOrMoment,
  wholeNumberParser,
} from "../parsers.ts";
import { refuseUsage } from "../problem.ts";
import { tableOf, type Column } from "../table.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { durationText, type SpanOrMoment } from "../../core/duration.ts";
import { PART_TEXTS } from "../../core/refusals/parts.ts";
import { english } from "../../core/language.ts";

type AddRequest = RequestOf<"addFault">;
type AddOptions = CommonOptions &
  Pick<AddRequest, "profile" | "times" | "seed" | "status"> &
  Pick<NonNullable<AddRequest["match"]>, "method" | "path" | "orderId" | "nth" | "probability"> & {
    readonly event?: string;
    readonly endpoint?: string;
    readonly until?: SpanOrMoment;
    readonly latency?: number;
    readonly retryAfter?: number;
  };

const MAX_TIMES = 1_000_000;
const MAX_TYPING_ERRORS = 3;

export function registerFaults(group: Group): void {
  registerAdd(group);
  register(group, {
    name: "list",
    summary: "list the active faults, oldest first",
    examples: ["checkout faults list", "checkout faults list --json"],
    run: runnerFor("listFaults", {
      text: ({ faults }, { width }) =>
        faults.length === 0 ? "no faults are scheduled" : faultLines(faults, width),
    }),
  });
  register(group, {
    name: "remove <id>",
    summary: "remove a fault",
    examples: ["checkout faults remove <id>"],
    run: (context, options, id = "") => {
      if (id === "all") throw refuseUsage('expected the id of a fault; got "all"', "checkout faults clear");
      return removeFault(context, options, id);
    },
  });
  register(group, {
    name: "clear",
    summary: "remove all faults of the store",
    examples: ["checkout faults clear"],
    run: runnerFor("clearFaults", {
      text: ({ faults }) => (faults.length === 0 ? "no faults were scheduled" : `removed: ${faults.length}`),
    }),
  });
}

const removeFault = runnerFor("removeFault", {
  idKind: "fault",
  text: ({ fault }, { style }) => `${style.green("✓")} the fault ${fault.action} was removed`,
});

function registerAdd(group: Group): void {
  register<AddOptions>(group, {
    name: "add [action]",
    summary: `inject a fault into v1 requests (${API_ACTIONS.join(", ")}) or into deliveries (${DELIVERY_ACTIONS.join(", ")})`,
    choices: [...API_ACTIONS, ...DELIVERY_ACTIONS],
    examples: [
      "checkout faults add lose_answer --path /v1/orders",
      "checkout faults add status --status 502 --order-id 'order-7*' --times 3",
      "checkout faults add latency --latency 3s --probability 0.5 --until 10m",
      "checkout faults add duplicate --event order.succeeded",
      "checkout faults add --profile flaky-network",
    ],
    options: [
      valueOption(
        "--profile <name>",
        `add a set of faults instead of one action: ${FAULT_PROFILES.join(", ")}`,
        choiceParser(FAULT_PROFILES),
      ),
      ...matchOptions(),
      valueOption(
        "--status <status>",
        {
          text: "HTTP status of the action status, 400 to 599",
          default: String(FAULT_PARAMETERS.status.default),
        },
        wholeNumberParser(400, 599),
      ),
      valueOption(
        "--latency <duration>",
        {
          text: `duration of ${FAULT_PARAMETERS.latencyMs.actions.join(", ")}; delay and reorder use the store's clock`,
          default: durationText(FAULT_PARAMETERS.latencyMs.default),
        },
        parseDuration,
      ),
      valueOption(
        "--retry-after <seconds>",
        {
          text: `Retry-After of ${FAULT_PARAMETERS.retryAfterS.actions.join(", ")} in seconds, 0 to 3600`,
          default: String(FAULT_PARAMETERS.retryAfterS.default),
        },
        wholeNumberParser(0, 3600),
      ),
    ],
    run: runnerFor("addFault", {
      body: (options, { context, typedArgument }) => requestOf(context, options, typedArgument),
      remedies: {
        not_found: "checkout endpoints list and checkout events list show the ids",
        state_conflict: "checkout faults list shows the faults",
      },
      text: ({ faults }, { width }) => faultLines(faults, width),
    }),
  });
}

function matchOptions(): Option[] {
  return [
    valueOption(
      "--method <method>",
      "only requests with this method: GET or POST",
      choiceParser(["GET", "POST"]),
    ),
    valueOption("--path <path>", "only requests to this path of v1; * matches any text"),
    valueOption(
      "--event <type|id>",
      "only deliveries of this event id or event type, or of types that match a pattern such as order.*",
    ),
    valueOption("--endpoint <id>", "only deliveries to this endpoint", parseId),
    valueOption(
      "--order-id <pattern>",
      "only requests and deliveries with this order_id; * matches any text",
    ),
    valueOption(
      "--nth <n>",
      { text: "start with the nth match", default: "1" },
      wholeNumberParser(1, MAX_TIMES),
    ),
    valueOption(
      "--probability <p>",
      { text: "probability that a match gets the fault, 0 to 1", default: "1" },
      optionParser(english(PART_TEXTS.probability), parseProbabilityText),
    ),
    valueOption("--seed <text>", {
      text: "random seed for --probability",
      default: "random",
      note: "faults list shows it",
    }),
    valueOption(
      "--times <n>",
      {
        text: "maximum number of requests or deliveries that the fault applies to",
        default: "1; with --until, no limit",
      },
      wholeNumberParser(1, MAX_TIMES),
    ),
    valueOption(
      "--until <time>",
      "end of the fault: a duration such as 10m from now, or an ISO 8601 time, by the store's clock",
      parseSpanOrMoment,
    ),
  ];
}

async function unknownActionText(text: string): Promise<string> {
  const { equivalentCommands, didYouMean } = await import("../hints/equivalents.ts");
  const [, status] = /^(?:status=)?([45]\d\d)$/.exec(text) ?? [];
  if (status !== undefined) return `${printableLiteral(text)}${didYouMean([`status --status ${status}`])}`;
  const closestAction = closestMatch(text, FAULT_ACTIONS, { maxDistance: MAX_TYPING_ERRORS });
  const suggestions = equivalentCommands(["faults", "add", text]) ?? closestAction;
  return `${printableLiteral(text)}${didYouMean([suggestions ?? []].flat())}`;
}

async function requestOf(
  context: Context,
  options: AddOptions,
  name: string | undefined,
): Promise<RequestOf<"addFault">> {
  const action = FAULT_ACTIONS.find((candidate) => candidate === name);
  const { profile, event, until, status, latency: latencyMs, retryAfter: retryAfterS, times, seed } = options;
  if (FAULT_PROFILES.some((candidate) => candidate === name))
    throw refuseUsage(`${name} is a profile, not an action`, `checkout faults add --profile ${name}`);
  if (action === undefined && (name !== undefined || profile === undefined))
    throw refuseUsage(
      `expected an action: ${FAULT_ACTIONS.join(", ")}; or --profile; got ${name === undefined ? "neither" : await unknownActionText(name)}`,
      name === undefined && status !== undefined
        ? replaceTypedOptions(context.world, new Map(), "status")
        : "checkout faults add --help lists the actions and their options",
    );
  const { method, path, endpoint: endpointId, orderId, nth, probability } = options;
  const eventId = event === undefined ? undefined : parseUuid(event);
  const eventType = eventId === undefined ? event : undefined;
  const match = { method, path, eventType, eventId, endpointId, orderId, nth, probability };
  const isNarrowed = Object.values(match).some((value) => value !== undefined);
  const request = {
    action,
    profile,
    match: isNarrowed ? match : undefined,
    times,
    until: until && (await resolveMoment(context, until, { direction: "future" })),
    seed,
    status,
    latencyMs,
    retryAfterS,
  };
  const terms = parseFaults(request);
  if (!terms.ok) {
    const { message, field = "", withoutField } = terms.refusal;
    const reason = withoutField === undefined ? message : `${FLAGS.get(field) ?? field}: ${withoutField[0]}`;
    throw refuseUsage(reason, "correct it; nothing was added");
  }
  return request;
}

const FLAGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "match.method": "--method",
    "match.path": "--path",
    "match.event_type": "--event",
    "match.event_id": "--event",
    "match.endpoint_id": "--endpoint",
    [FAULT_PARAMETERS.latencyMs.name]: "--latency",
    [FAULT_PARAMETERS.retryAfterS.name]: "--retry-after",
    [FAULT_PARAMETERS.status.name]: "--status",
  }),
);

function faultLines(faults: readonly FaultEntry[], width: number): Promise<string> {
  return tableOf(COLUMNS, faults, { width, drop: ["UNTIL"] });
}

const COLUMNS: readonly Column<FaultEntry>[] = [
  ["ID", ({ id }) => shortId(id)],
  ["ACTION", ({ action }) => action],
  ["WITH", parameterText, (fault) => parameterText(fault) !== null],
  ["ONLY", matchText, (fault) => matchText(fault) !== null],
  ["LEFT", ({ times, applied }) => (times === null ? "any" : times - applied)],
  ["UNTIL", ({ until }) => (until === null ? null : toIso(until)), ({ until }) => until !== null],
];
