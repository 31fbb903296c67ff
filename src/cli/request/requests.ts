import { headerPairs } from "../../core/network/headers.ts";
import { callControl } from "../../client/control/control.ts";
import { toIso } from "../../core/clock.ts";
import { encodeAnswer, type AnswerOf, type RequestOf } from "../../core/control/operations.ts";
import { faultReason } from "../../core/fault/fault.ts";
import { MAX_REQUEST_WAIT_MS } from "../../core/control/operations/requests.ts";
import { parseStatuses } from "../../core/request/statuses.ts";
import { jsonLine, printable, displayText, shortId } from "../../core/text.ts";
import { runnerFor, resolveMoment } from "../calling.ts";
import { optionParser, register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { parseSpanOrMoment, limitOption } from "../parsers.ts";
import { fieldLines } from "../printer.ts";
import { EXIT, catchRefusal } from "../problem.ts";
import { abortOnStop } from "../stopping.ts";
import { tableOf, type Column, type TableStyle } from "../table.ts";
import { unwrapAnswer } from "../target/call.ts";
import { callSandbox, requireControlTarget, findSandboxTarget } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { RequestEntry } from "../../core/request/shapes.ts";
import type { SpanOrMoment } from "../../core/duration.ts";
import { answerOutput } from "../output/answer.ts";
import { output } from "../output/output.ts";

type ListOptions = CommonOptions &
  Pick<RequestOf<"listRequests">, "status" | "method" | "path" | "orderId" | "limit"> & {
    readonly follow?: boolean;
    readonly since?: SpanOrMoment;
  };

export function registerRequests(group: Group): void {
  register<ListOptions>(group, {
    name: "list",
    summary: "list the newest v1 requests with their answers, oldest first; with -f, keep following",
    examples: [
      "checkout requests list --status 4xx",
      "checkout requests list --order-id order-1001 --since 10m",
      "checkout requests list -f",
    ],
    options: [
      switchOption("-f, --follow", "keep printing new requests, until Ctrl-C"),
      valueOption(
        "--status <status>",
        "only requests with this status, such as 404 or 4xx, or 0 if no answer was sent",
        parseStatus,
      ),
      valueOption("--method <method>", "only requests with this method"),
      valueOption("--path <path>", "only requests whose path begins with this text", parsePathStart),
      valueOption("--order-id <id>", "only requests with this order_id"),
      valueOption(
        "--since <time>",
        "only requests since this time: an ISO 8601 time, or a duration such as 10m before the store's current time",
        parseSpanOrMoment,
      ),
      limitOption("requests"),
    ],
    run: runList,
  });
  register(group, {
    name: "get <request_id>",
    summary: "show a v1 request; if it was refused, also its headers and body, secrets redacted",
    examples: ["checkout requests get <request_id>", "checkout requests get <request_id> --json"],
    run: runnerFor("showRequest", { idKind: "request", text: requestText }),
  });
}

async function runList(context: Context, options: ListOptions): Promise<number> {
  const { status, method, path, orderId, since, limit } = options;
  const from = since && (await resolveMoment(context, since, { direction: "past" }));
  const query = { status, method, path, orderId, from, limit };
  if (options.follow === true) return followRequests(context, query);
  const requestPage = await callSandbox(context, { name: "listRequests", body: query });
  const { requests, failure } = requestPage;
  if (failure !== null) context.printer.trace(failure);
  return context.printer.result(answerOutput("listRequests", requestPage), () =>
    requests.length === 0 ? "no matching requests" : requestLines(requests, context.printer),
  );
}

/** Runs until Ctrl-C. Continues after a restart of the sandbox, which may have another port and token. */
async function followRequests(context: Context, query: RequestOf<"listRequests">): Promise<number> {
  const { world, printer } = context;
  let target = await requireControlTarget(context);
  using stop = abortOnStop(world);
  const { signal } = stop;
  const storeScope = target.storeId === undefined ? {} : { storeId: target.storeId };
  let waitMs = 0;
  let isLost = false;
  for (let { after } = query; ;) {
    const body = { ...query, after, waitMs: isLost ? 0 : waitMs };
    const result = await callControl(world, target, { name: "listRequests", body, signal });
    if (signal.aborted) return EXIT.done;
    if (result.end === "unreachable" && waitMs > 0) {
      if (!isLost) printer.info("the sandbox is disconnected; following continues when it is back");
      isLost = true;
      await world.sleep(RECONNECT_PAUSE_MS, signal);
      context.around.reload();
      const sandbox = catchRefusal(() => findSandboxTarget(context)).value;
      if (sandbox !== undefined) target = { ...sandbox, ...storeScope };
      continue;
    }
    const requestPage = unwrapAnswer(result);
    if (isLost) printer.info(`the sandbox is back at ${target.origin}`);
    isLost = false;
    printNewRequests(context, requestPage);
    after = Math.max(after ?? 0, requestPage.position);
    waitMs = MAX_REQUEST_WAIT_MS;
  }
}

const RECONNECT_PAUSE_MS = 1000;

function printNewRequests({ printer }: Context, requestPage: AnswerOf<"listRequests">): void {
  const { requests, failure } = requestPage;
  if (failure !== null) printer.traceOnce(failure);
  for (const request of requests) {
    const { requests: shownRequests } = encodeAnswer("listRequests", { ...requestPage, requests: [request] });
    for (const line of shownRequests) printer.line(output("request_line", line), () => requestLine(request));
  }
}

function requestLines(requests: readonly RequestEntry[], { width, style }: TableStyle): Promise<string> {
  const days = new Set(requests.map(({ at }) => toIso(at).slice(0, 10)));
  const start = days.size === 1 ? "2026-01-01T".length : 0;
  const timeOf = (at: number, from: number): string =>
    toIso(at).slice(from, -".000Z".length).replace("T", " ");
  const columns: readonly Column<RequestEntry>[] = [
    ["ID", ({ requestId }) => shortId(requestId)],
    ["AT (UTC)", ({ at }) => timeOf(at, start)],
    ["REAL TIME", ({ realAt }) => timeOf(realAt, 0), ({ at, realAt }) => at !== realAt],
    ["STATUS", ({ status }) => status],
    ["REQUEST", ({ method, path }) => `${method} ${path}`],
    ["ORDER ID", ({ orderId }) => orderId],
    ["CODE", ({ code }) => code],
    ["FAULT", ({ fault }) => fault?.action ?? null, ({ fault }) => fault !== null],
  ];
  const fitOptions = { cut: ["REQUEST"], drop: ["CODE", "REAL TIME"], keep: ["ID", "AT (UTC)", "STATUS"] };
  return tableOf(columns, requests, { width, style, ...fitOptions });
}

function requestLine(request: RequestEntry): string {
  const { at, realAt, orderId, fault } = request;
  const facts = [
    toIso(at).slice(11),
    shortId(request.requestId),
    request.status,
    `${request.method} ${request.path}`,
    `${request.durationMs.toFixed(1)} ms`,
    orderId === null ? null : displayText(orderId),
    request.code,
    fault === null ? null : faultReason(fault),
    at === realAt ? null : `real time ${toIso(realAt).slice(11)}`,
  ];
  return printable(facts.filter((fact) => fact !== null).join("  "));
}

function requestText(request: AnswerOf<"showRequest">): string {
  const { refused, replayedAt } = request;
  const [lastReplay] = replayedAt.slice(-1);
  const fields = fieldLines([
    ["request_id", request.requestId],
    ["at", toIso(request.at)],
    ["real time", request.at === request.realAt ? null : toIso(request.realAt)],
    ["request", `${request.method} ${request.path}`],
    ["status", request.status],
    ["code", request.code],
    ["message", refused?.message ?? null],
    ["order_id", request.orderId],
    ["duration", `${request.durationMs.toFixed(1)} ms`],
    ["decisions", request.decisions.length === 0 ? null : request.decisions.join(", ")],
    ["fault", request.fault === null ? null : faultReason(request.fault)],
    ["made by", request.byDrill ? "a drill" : null],
    ["replays", lastReplay === undefined ? null : `${replayedAt.length}, the last at ${toIso(lastReplay)}`],
  ]);
  if (refused === null) return fields;
  const headers = headerPairs(refused.headers).map(([name, value]) => `> ${printable(`${name}: ${value}`)}`);
  return [fields, "", ...headers, ...(refused.body === "" ? [] : ["", `> ${jsonLine(refused.body)}`])].join(
    "\n",
  );
}

const parsePathStart = optionParser("the beginning of a path such as /v1/orders", (text) =>
  text.startsWith("/") ? text : undefined,
);
const parseStatus = optionParser("a status such as 404, 4xx, or 0", (text) =>
  parseStatuses(text) === undefined ? undefined : text,
);
