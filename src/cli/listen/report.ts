import { headerPairs } from "../../core/network/headers.ts";
import { toIso, toIsoOrNull } from "../../core/clock.ts";
import type { ListenerResult, HandledDelivery, NextAttempt } from "../../client/listen/listener.ts";
import { faultReason } from "../../core/fault/fault.ts";
import { ALL_EVENTS, EVENT_TYPES } from "../../core/checkout/event-types.ts";
import { parseStrictJson } from "../../core/json.ts";
import { cutText, excerpt, printable, displayText, shortId } from "../../core/text.ts";
import { causeText, likelyCause, type CauseMaterial } from "../../core/explain/delivery.ts";
import { english } from "../../core/language.ts";
import { SIGNATURES_PATTERN } from "../../core/webhook/signature.ts";
import { VERSION } from "../../version.ts";
import { causeLine } from "../webhook/report.ts";
import type { ListenPlan } from "./options.ts";
import type { ResultOf } from "../output/output.ts";
import { fieldLines, type Printer, type Style } from "../printer.ts";

/** Fits every order event type; the column widens at the first session event, whose type is longer. */
const TYPE_WIDTH = "order.succeeded".length;
const MAX_TEXT_LENGTH = 64;
const MAX_BODY_LENGTH = 16 * 1024;
const MAX_SIGNATURE_DIGITS = 8;

type ReadyOptions = {
  readonly plan: ListenPlan;
  readonly ownAddresses: readonly string[];
  readonly readsKeys: boolean;
  readonly style: Style;
};

export function readyText(
  { sandbox, replayed, pid }: Extract<ResultOf<"listen">, { event: "ready" }>,
  { plan, ownAddresses, readsKeys, style }: ReadyOptions,
): string {
  const { routes, defaultUrl } = plan;
  const eventsText = routes.length === 0 ? "events" : "other events";
  const fallback =
    defaultUrl ?? "only shown here; --forward http://localhost:3000/hooks sends them to your application";
  const addressText = `${ownAddresses.join(" and ")}: let the service or a tunnel send deliveries here`;
  const fields = fieldLines([
    ["Address", sandbox === null ? addressText : undefined],
    ["Sandbox", sandbox ?? undefined],
    ["Secret", sandbox === null ? undefined : "checkout listen --print-secret"],
    ["Only", plan.eventTypes.includes(ALL_EVENTS) ? undefined : plan.eventTypes.join(", ")],
    ...routes.map(({ pattern, url }) => ["Forwards", `${pattern} → ${url}`] as const),
    ["Forwards", `${eventsText} → ${fallback}`],
    ["Replays", replayed === 0 ? undefined : `${replayed} events first`],
    ["Keys", readsKeys ? "r replays the last event, d shows its details, q quits" : undefined],
  ]);
  const title = `${style.green("●")} ${style.bold("checkout listen")} ${VERSION} is ready (pid ${pid}). Ctrl-C stops it.`;
  return [title, "", fields, ""].join("\n");
}

export function deliveryJson(delivery: HandledDelivery) {
  const { at, storeAt, claims, isVerified, fault, injectedFault, result, status, milliseconds, nextAttempt } =
    delivery;
  const reply = result.kind === "answered" || result.kind === "unanswered" ? result : undefined;
  return {
    event: "delivery" as const,
    at: toIso(storeAt ?? at),
    real_at: toIso(at),
    event_id: cutOrNull(claims.eventId),
    type: cutOrNull(claims.type),
    object_id: cutOrNull(claims.objectId),
    order_id: cutOrNull(claims.orderId),
    verified: isVerified,
    outcome: OUTCOMES[result.kind],
    code: fault?.code ?? (result.kind === "unanswered" ? result.failure : null),
    message: fault?.message ?? (result.kind === "unanswered" ? result.message : null),
    causes: result.kind === "not_verified" ? result.causes : [],
    injected_fault: injectedFault ?? null,
    replay: reply?.isReplay ?? false,
    target: reply?.url ?? null,
    target_status: result.kind === "answered" ? result.status : null,
    answered: status,
    ms: milliseconds,
    next_try_at: toIsoOrNull(nextAttempt?.at ?? null),
  };
}

const OUTCOMES = {
  answered: "forwarded",
  unanswered: "not_answered",
  duplicate: "duplicate",
  not_wanted: "not_wanted",
  no_target: "no_target",
  not_verified: "not_verified",
} as const satisfies Record<ListenerResult["kind"], string>;

type LineStyle = Pick<Printer, "style" | "wrap"> & { readonly plan: ListenPlan; readonly typeWidth: number };

export function initialTypeWidth({ width }: Pick<Printer, "width">): number {
  return width < WIDE_LINE_WIDTH ? TYPE_WIDTH : SESSION_TYPE_WIDTH;
}

const WIDE_LINE_WIDTH = 100;

export function typeWidthAfterDelivery(
  { claims }: Pick<HandledDelivery, "claims">,
  oldWidth: number,
): number {
  const isOfSession = claims.type?.startsWith("checkout_session.") === true;
  return Math.max(oldWidth, isOfSession ? SESSION_TYPE_WIDTH : 0);
}

const SESSION_TYPE_WIDTH = Math.max(...EVENT_TYPES.map((type) => type.length));

/**
 * Shows the order_id, or else the id of the order or session; the key `d` and `--json` show all ids. Adds the
 * real time if the store's time differs.
 */
export function handledDeliveryLine(delivery: HandledDelivery, lineStyle: LineStyle): string {
  const { style, typeWidth, wrap } = lineStyle;
  const { at, storeAt, claims, isVerified, fault, injectedFault, result } = delivery;
  const type = displayOrDash(claims.type).padEnd(typeWidth);
  const verdict = isVerified ? style.green("✓ verified") : style.red("✗ not verified");
  const [event, object] = [claims.eventId, claims.objectId].map((id) => (id === null ? null : shortId(id)));
  const parts = [
    timeOfDay(storeAt ?? at),
    displayOrDash(event ?? null),
    type,
    displayOrDash(claims.orderId ?? object ?? null),
    verdict,
  ];
  const realTimeParts = storeAt === null ? [] : [style.dim(`real time ${timeOfDay(at)}`)];
  const deliveryLine = [...parts, ...resultParts(delivery, lineStyle), ...realTimeParts].join("  ");
  const line = wrap(deliveryLine, "00:00:00Z  ".length);
  const causes =
    result.kind === "not_verified"
      ? result.causes.map((cause) => causeLine(cause, style))
      : targetCauses(result, style);
  const faultLines = fault === undefined ? [] : [`  ${style.cyan("→")} ${fault.message}`];
  // If an injected fault caused the failure, other likely causes are not shown.
  const reasonLines =
    injectedFault === undefined ? causes : [`  ${style.cyan("→")} ${faultReason(injectedFault)}`];
  return [line, ...answerLines(result, style), ...faultLines, ...reasonLines].join("\n");
}

function answerLines(result: ListenerResult, style: Style): readonly string[] {
  const answerText = result.kind === "answered" && result.status > 299 ? excerpt(result.answer) : "";
  return answerText === "" ? [] : [`  ${style.dim("<")} ${answerText}`];
}

function attemptResultOf(result: ListenerResult): CauseMaterial | undefined {
  if (result.kind === "answered") {
    const { url, status, answer, facts } = result;
    return { url, status, error: null, answer: Buffer.from(answer), facts, fault: null };
  }
  if (result.kind !== "unanswered") return undefined;
  const { url, failure, facts } = result;
  if (failure === "forbidden" || failure === "aborted") return undefined;
  return { url, status: null, error: failure, answer: null, facts, fault: null };
}

function targetCauses(result: ListenerResult, style: Style): readonly string[] {
  const attemptResult = attemptResultOf(result);
  if (attemptResult === undefined) return [];
  const cause = causeText(attemptResult, english);
  const hint = CERTIFICATE_HINTS.get(likelyCause(attemptResult)?.code ?? "");
  if (cause === undefined) return [];
  return [`  ${style.cyan("→")} ${cause}${hint === undefined ? "" : `; ${hint}`}`];
}

const INSECURE_HINT = "checkout listen --insecure verifies no certificate";
const CERTIFICATE_HINTS: ReadonlyMap<string, string> = new Map([
  [
    "tls_untrusted",
    "checkout listen --ca FILE trusts the CA of that file, and --insecure verifies no certificate",
  ],
  ["tls_wrong_name", INSECURE_HINT],
  ["tls_expired", INSECURE_HINT],
  ["tls_not_yet_valid", INSECURE_HINT],
]);

function resultParts(
  { result, milliseconds, nextAttempt }: HandledDelivery,
  { style, plan }: LineStyle,
): string[] {
  const urlText = (url: string): string => (plan.routes.length === 0 ? "" : ` ${printable(url)}`);
  const span = style.dim(`${milliseconds} ms`);
  const nextAttemptParts = nextAttempt === undefined ? [] : [style.red(nextText(nextAttempt))];
  switch (result.kind) {
    case "not_verified":
      return [style.red("not forwarded"), ...nextAttemptParts];
    case "duplicate":
      return [style.dim("duplicate, not forwarded")];
    case "not_wanted":
      return [style.dim("not among --events")];
    case "no_target":
      return [style.dim("no target")];
    case "unanswered":
      return [
        style.red(`✗ no answer${urlText(result.url)} (${printable(result.message)})`),
        span,
        ...nextAttemptParts,
      ];
    case "answered": {
      const colour = result.status < 300 ? style.green : style.red;
      const replay = result.isReplay ? [style.dim("replay")] : [];
      return [`${colour(`→ ${result.status}`)}${urlText(result.url)}`, span, ...replay, ...nextAttemptParts];
    }
  }
}

function nextText({ waitMs }: NextAttempt): string {
  if (waitMs === null) return "given up";
  const [size, unit] = SPAN_UNITS.find(([unitMs]) => waitMs >= 2 * unitMs) ?? [SECOND_MS, "s"];
  return `next attempt in ${Math.round(waitMs / size)} ${unit}`;
}

const SECOND_MS = 1000;
const SPAN_UNITS = [
  [3600 * SECOND_MS, "h"],
  [60 * SECOND_MS, "min"],
] as const;

export function detailLines({ request, result, status }: HandledDelivery): string {
  const headers = headerPairs(request.rawHeaders).map(
    ([name, value]) => `> ${name}: ${displayHeader(value)}`,
  );
  const body = prettyBody(request.body).map((line) => `> ${line}`);
  const rawAnswer = result.kind === "answered" ? result.answer : "";
  const answer = cutText(rawAnswer.replace(/\r?\n$/, ""), MAX_BODY_LENGTH)
    .split("\n")
    .map((line) => `< ${line}`);
  return [...headers, ">", ...body, `< ${status}`, ...(rawAnswer === "" ? [] : answer)]
    .map(printable)
    .join("\n");
}

function displayHeader(value: string): string {
  if (!SIGNATURES_PATTERN.test(value)) return value;
  return value
    .split(",")
    .map((digest) => `${digest.slice(0, MAX_SIGNATURE_DIGITS)}…`)
    .join(",");
}

function prettyBody(body: Uint8Array): string[] {
  const outcome = parseStrictJson(body);
  const text = outcome.ok ? JSON.stringify(outcome.value, null, 2) : Buffer.from(body).toString("utf8");
  return cutText(text, MAX_BODY_LENGTH).split("\n");
}

export function timeOfDay(at: number): string {
  return `${toIso(at).slice(11, 19)}Z`;
}

function displayOrDash(text: string | null): string {
  return text === null ? "–" : printable(displayText(cutText(text, MAX_TEXT_LENGTH)));
}

function cutOrNull(text: string | null): string | null {
  return text === null ? null : cutText(text, MAX_TEXT_LENGTH);
}
