import * as z from "zod/mini";
import { ASSUMPTIONS } from "./assumptions.ts";
import { english } from "../language.ts";
import { headerPairs } from "../network/headers.ts";
import { redactSecrets, redactValues, UUID_SOURCE } from "../text.ts";
import { decodeUtf8 } from "../json.ts";
import {
  PAID_STATUS,
  PAYMENT_JUDGES,
  type PaidOrder,
  type PaymentEvidence,
  type PaymentVerdict,
} from "./payment.ts";
import {
  checkoutInAnswer,
  retrievePath,
  FIRST_PROBE,
  probeOrderId,
  probeHeaders,
  PROBES,
  type ProbeResults,
  type ProbeAnswer,
  type ProbeRequest,
} from "./probes.ts";

const answerShape = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.unknown(),
});
const assumption = z.object({
  decision: z.int(),
  title: z.optional(z.string()),
  verdict: z.enum(["confirmed", "contradicted", "not_observed"]),
  /** The expected behaviour, or why it was not observed. */
  expected: z.string(),
  request: z.nullable(
    z.object({
      method: z.string(),
      path: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.nullable(z.string()),
    }),
  ),
  answer: z.nullable(answerShape),
  missed: z.optional(z.string()),
});
export type CalibratedAssumption = z.infer<typeof assumption>;

export const calibrationRecord = z.object({
  service: z.string(),
  at: z.string().check(z.refine((at) => !Number.isNaN(Date.parse(at)))),
  assumptions: z.array(assumption),
});
export type Calibration = z.infer<typeof calibrationRecord>;

export function calibrationAgeMs({ at }: Calibration, now: number): number {
  return Math.max(0, now - Date.parse(at));
}

export function verdictOn({ assumptions }: Calibration, decision: number): CalibratedAssumption["verdict"] {
  return assumptions.find((row) => row.decision === decision)?.verdict ?? "not_observed";
}

export function verdictsOf({ assumptions }: Calibration) {
  const decisionsWith = (verdict: CalibratedAssumption["verdict"]): readonly number[] =>
    assumptions.filter((row) => row.verdict === verdict).map(({ decision }) => decision);
  return {
    confirmed: decisionsWith("confirmed"),
    contradicted: decisionsWith("contradicted"),
    not_observed: decisionsWith("not_observed"),
  };
}

type CalibrationRun = {
  readonly name: string;
  readonly secrets: readonly string[];
};

/** Decisions that need a payment are `not_observed` without `payment`. Redacts secrets in requests and answers. */
export function judgeCalibration(
  run: CalibrationRun,
  results: ProbeResults,
  payment: PaymentEvidence | undefined,
): readonly CalibratedAssumption[] {
  const { answers } = results;
  const order = { id: checkoutInAnswer(answers.get(FIRST_PROBE))["id"], orderId: probeOrderId(run.name) };
  const judgeDecision = (decision: number): Verdict => {
    const judgePayment = PAYMENT_JUDGES.get(decision);
    if (judgePayment === undefined) return judgeProbes(run, results, decision);
    if (payment === undefined) return unobservedVerdict("only a payment shows it: --with-payer");
    const { verdict, expected, evidence } = judgePayment(payment, order);
    const { request, answer } = displayEvidence({ run, order }, evidence);
    const isPaid = checkoutInAnswer(payment.retrieval)["status"] === PAID_STATUS;
    return { verdict, expected, request, answer, ...(!isPaid && { missed: "the order was not paid" }) };
  };
  return ASSUMPTIONS.map(({ decision, title }) =>
    Object.assign({ decision, title: english(title) }, judgeDecision(decision)),
  );
}

type Verdict = Omit<CalibratedAssumption, "decision" | "title">;

function unobservedVerdict(expected: string, missed?: string): Verdict {
  const verdict = { verdict: "not_observed", expected, request: null, answer: null } as const;
  return missed === undefined ? verdict : { ...verdict, missed };
}

function judgeProbes(run: CalibrationRun, { answers, missReasons }: ProbeResults, decision: number): Verdict {
  const rows = PROBES.flatMap((probe) =>
    probe.checks
      .filter((check) => check.decision === decision)
      .map((check) => ({ probe, check, answer: answers.get(probe.name) })),
  );
  if (decision === RATE_LIMIT_DECISION) return unobservedVerdict("a calibration never provokes a rate limit");
  if (rows.length === 0) return unobservedVerdict("a test key cannot observe it");
  const contradictions = rows.filter(
    ({ check, answer }) => answer !== undefined && !check.holds(answer, answers),
  );
  // A resent create may be answered with a replay, which is no contradiction.
  const doubtfulRow = contradictions.find(({ answer }) => answer?.wasResent === true && answer.status < 300);
  const contradiction = contradictions.find((row) => row !== doubtfulRow);
  const gapRow = rows.find(({ answer }) => answer === undefined) ?? doubtfulRow;
  const shownAnswer = contradiction ?? rows.findLast(({ answer }) => answer !== undefined);
  const reason =
    gapRow && (missReasons.get(gapRow.probe.name) ?? (gapRow === doubtfulRow ? RESENT_REASON : undefined));
  const request = shownAnswer?.probe.buildRequest(run.name, answers);
  if (shownAnswer?.answer === undefined || request === undefined)
    return unobservedVerdict(reason ?? "no answer could be read", reason);
  const verdict =
    contradiction !== undefined ? "contradicted" : gapRow !== undefined ? "not_observed" : "confirmed";
  return {
    verdict,
    expected: verdict === "not_observed" && reason !== undefined ? reason : shownAnswer.check.expected,
    request: displayRequest(run, request),
    answer: displayAnswer(run, shownAnswer.answer),
    ...(reason !== undefined && { missed: reason }),
  };
}

const RATE_LIMIT_DECISION = 17;
const RESENT_REASON = "a create had to be sent twice, and its answer may be a replay";

const SHOWN_HEADERS = ["content-type", "idempotent-replayed", "www-authenticate", "x-request-id"] as const;

function displayAnswer(
  run: CalibrationRun,
  { status, headers, body }: ProbeAnswer,
): CalibratedAssumption["answer"] {
  const shownHeaders = SHOWN_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, removeRunSpecifics(run, value)] as const];
  });
  return { status, headers: Object.fromEntries(shownHeaders), body: normalizeValue(run, body) };
}

function displayEvidence(
  { run, order }: { readonly run: CalibrationRun; readonly order: PaidOrder },
  evidence: PaymentVerdict["evidence"],
): Pick<CalibratedAssumption, "request" | "answer"> {
  if (evidence === undefined) return { request: null, answer: null };
  if ("text" in evidence) {
    const request = displayRequest(run, { method: "GET", path: retrievePath(order.id) });
    return { request, answer: displayAnswer(run, evidence) };
  }
  const { method, target, rawHeaders, body, answerCode } = evidence;
  const normalizeText = (part: string): string => shortenText(removeTimes(removeRunSpecifics(run, part)));
  const headers = headerPairs(rawHeaders).filter(([name]) => !TRANSPORT_HEADER_PATTERN.test(name));
  return {
    request: {
      method,
      path: normalizeText(target),
      headers: Object.fromEntries(
        headers.map(([name, value]) => [normalizeText(name), normalizeText(value)] as const),
      ),
      body: body.length === 0 ? null : normalizeText(decodeUtf8(body) ?? "not UTF-8"),
    },
    answer: { status: answerCode, headers: {}, body: null },
  };
}

const TRANSPORT_HEADER_PATTERN =
  /^(?:host|connection|keep-alive|content-length|transfer-encoding|te|date|via|forwarded|x-forwarded-.*|x-real-ip|accept.*|user-agent|cookie|authorization|referer|cache-control|pragma|priority|dnt|upgrade-.*|sec-.*|traceparent|tracestate)$/i;

function removeTimes(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)/g, "<time>")
    .replaceAll(/\b[\da-f]{32,}\b/gi, "<digest>")
    .replaceAll(/\b\d{10,13}\b/g, "<time>");
}

function displayRequest(run: CalibrationRun, request: ProbeRequest): CalibratedAssumption["request"] {
  const { method, path, body } = request;
  const headers = Object.entries(probeHeaders(request, "Bearer <API key>")).map(
    ([name, value]) => [name, removeRunSpecifics(run, value)] as const,
  );
  const text = body === undefined ? null : shortenText(removeRunSpecifics(run, body));
  return { method, path: removeRunSpecifics(run, path), headers: Object.fromEntries(headers), body: text };
}

const MAX_SHOWN_CHARACTERS = 300;

function shortenText(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS
    ? text
    : `${text.slice(0, MAX_SHOWN_CHARACTERS)}… (${text.length} characters)`;
}

const UUID_PATTERN = new RegExp(UUID_SOURCE, "gi");
const URL_PATTERN = /https?:\/\/[^\s"]+/g;

function removeRunSpecifics({ name, secrets }: CalibrationRun, text: string): string {
  return redactSecrets(redactValues(text, secrets))
    .replaceAll(URL_PATTERN, "<url>")
    .replaceAll(UUID_PATTERN, "<uuid>")
    .replaceAll(name, "<run>");
}

const MAX_SHOWN_DEPTH = 20;

function normalizeValue(run: CalibrationRun, value: unknown, depth = MAX_SHOWN_DEPTH): unknown {
  if (typeof value === "string") return removeRunSpecifics(run, value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "… (more levels)";
  const normalize = (item: unknown): unknown => normalizeValue(run, item, depth - 1);
  if (Array.isArray(value)) return value.map(normalize);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [removeRunSpecifics(run, name), normalize(item)]),
  );
}

export function calibrationDifferences({
  record,
  calibration,
  hasPayment,
}: {
  readonly record: Calibration;
  readonly calibration: Calibration;
  readonly hasPayment: boolean;
}) {
  const recordRows = new Map(record.assumptions.map((row) => [row.decision, row]));
  const verdicts = calibration.assumptions
    .filter(({ decision }) => hasPayment || !PAYMENT_JUDGES.has(decision))
    .map((row) => ({ decision: row.decision, result: compareVerdicts(recordRows.get(row.decision), row) }));
  const decisionsWith = (result: ReturnType<typeof compareVerdicts>): number[] =>
    verdicts.filter((row) => row.result === result).map(({ decision }) => decision);
  return { differences: decisionsWith("differs"), gaps: decisionsWith("missed") };
}

function compareVerdicts(
  recordRow: CalibratedAssumption | undefined,
  row: CalibratedAssumption,
): "same" | "differs" | "missed" {
  const gaps = [recordRow?.verdict ?? "not_observed", row.verdict].filter((item) => item === "not_observed");
  if (gaps.length > 0) return gaps.length === 2 ? "same" : "missed";
  const evidenceOf = ({ verdict, expected, request, answer }: CalibratedAssumption): string =>
    JSON.stringify([verdict, expected, request, answer]);
  if (recordRow !== undefined && evidenceOf(recordRow) === evidenceOf(row)) return "same";
  const isPartial = recordRow?.missed !== undefined || row.missed !== undefined;
  return isPartial && recordRow?.verdict === row.verdict ? "missed" : "differs";
}
