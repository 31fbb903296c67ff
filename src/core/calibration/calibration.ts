import * as z from "zod/mini";
import { ASSUMPTIONS } from "../readiness/assumptions.ts";
import { UUID } from "../text.ts";
import {
  probeHeaders,
  PROBES,
  type Answers,
  type Check,
  type Probe,
  type ProbeAnswer,
  type ProbeRequest,
} from "./probes.ts";

const observed = z.object({ status: z.int(), body: z.unknown() });
const assumption = z.object({
  decision: z.int(),
  verdict: z.enum(["confirmed", "contradicted", "not_observed"]),
  /** The statement of our decision, or why it was not observed. */
  expected: z.string(),
  request: z.nullable(
    z.object({
      method: z.string(),
      path: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.nullable(z.string()),
    }),
  ),
  answer: z.nullable(observed),
});
/** The verdict on an assumption, with its request and answer as evidence. */
export type CalibratedAssumption = z.infer<typeof assumption>;

/** The record of a calibration, the content of `checkout.calibration.json`. */
export const calibration = z.object({
  service: z.string(),
  at: z.string().check(z.refine((at) => !Number.isNaN(Date.parse(at)))),
  assumptions: z.array(assumption),
});
/** The service, the time of the run, and the verdicts. */
export type Calibration = z.infer<typeof calibration>;

/** The age of a calibration, in milliseconds. */
export function calibrationAge({ at }: Calibration, now: number): number {
  return Math.max(0, now - Date.parse(at));
}

/** The verdict of a calibration on a decision. */
export function verdictOn({ assumptions }: Calibration, decision: number): CalibratedAssumption["verdict"] {
  return assumptions.find((one) => one.decision === decision)?.verdict ?? "not_observed";
}

/** The decisions with each verdict of a calibration. */
export function verdictsOf({
  assumptions,
}: Calibration): Readonly<Record<CalibratedAssumption["verdict"], readonly number[]>> {
  const of = (verdict: CalibratedAssumption["verdict"]): readonly number[] =>
    assumptions.filter((one) => one.verdict === verdict).map(({ decision }) => decision);
  return {
    confirmed: of("confirmed"),
    contradicted: of("contradicted"),
    not_observed: of("not_observed"),
  };
}

/** Only a payment shows these, and a calibration makes none. */
const NEED_A_PAYMENT: ReadonlySet<number> = new Set([10, 11, 12, 13, 16, 19, 88]);

/** Judges all assumptions by the answers of a run; `run` is the text in the names of its order and keys. */
export function judgeCalibration(run: string, answers: Answers): readonly CalibratedAssumption[] {
  return ASSUMPTIONS.map(({ decision }) => judge(run, answers, decision));
}

type Seen = { readonly probe: Probe; readonly check: Check; readonly answer: ProbeAnswer | undefined };

function judge(run: string, answers: Answers, decision: number): CalibratedAssumption {
  const seen: readonly Seen[] = PROBES.flatMap((probe) =>
    probe.checks
      .filter((check) => check.decision === decision)
      .map((check) => ({ probe, check, answer: answers.get(probe.name) })),
  );
  const wrong = seen.find(({ check, answer }) => answer !== undefined && !check.holds(answer, answers));
  const shown = wrong ?? seen.findLast(({ answer }) => answer !== undefined);
  if (shown?.answer === undefined) {
    const expected = NEED_A_PAYMENT.has(decision)
      ? "it takes a payment to observe it"
      : seen.length > 0
        ? "no answer could be read"
        : "a test key cannot observe it";
    return { decision, verdict: "not_observed", expected, request: null, answer: null };
  }
  const isMissing = wrong === undefined && seen.some(({ answer }) => answer === undefined);
  const verdict = wrong !== undefined ? "contradicted" : isMissing ? "not_observed" : "confirmed";
  return {
    decision,
    verdict,
    expected: shown.check.expected,
    request: shownRequest(run, shown.probe.request(run, answers)),
    answer: { status: shown.answer.status, body: normalized(run, shown.answer.body) },
  };
}

function shownRequest(run: string, request: ProbeRequest): CalibratedAssumption["request"] {
  const { method, path, body } = request;
  const headers = Object.entries(probeHeaders(request, "Bearer <API key>")).map(
    ([name, value]) => [name, withoutRun(run, value)] as const,
  );
  const shown = body === undefined ? null : shortened(withoutRun(run, body));
  return { method, path: withoutRun(run, path), headers: Object.fromEntries(headers), body: shown };
}

/** The stored length of a long body, in characters. */
const MAX_SHOWN = 300;

function shortened(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`;
}

const ANY_UUID = new RegExp(UUID, "gi");
const URL_TEXT = /https?:\/\/[^\s"]+/g;

/** A text without the parts that differ between two runs: ids, addresses, and the names that this run made. */
function withoutRun(run: string, text: string): string {
  return text.replaceAll(URL_TEXT, "<url>").replaceAll(ANY_UUID, "<uuid>").replaceAll(run, "<run>");
}

function normalized(run: string, value: unknown): unknown {
  if (typeof value === "string") return withoutRun(run, value);
  if (Array.isArray(value)) return value.map((item) => normalized(run, item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, normalized(run, item)]));
}

/** The decisions on which two calibrations of a service differ, in verdict, request or answer. */
export function differences(record: Calibration, now: Calibration): readonly number[] {
  const kept = new Map(record.assumptions.map((one) => [one.decision, JSON.stringify(one)]));
  const found = new Map(now.assumptions.map((one) => [one.decision, JSON.stringify(one)]));
  const decisions = new Set([...kept.keys(), ...found.keys()]);
  return [...decisions].filter((decision) => kept.get(decision) !== found.get(decision));
}
