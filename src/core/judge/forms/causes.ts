import type { ConnectionFault } from "../../network/connection-fault.ts";
import { factOf, withNames } from "../../readiness/drills/said.ts";
import type { DrillCause, DrillNote } from "../../readiness/drills/webhook-advice.ts";
import type { Dialect } from "../../shape/dialect.ts";
import { DELIVERY_NAME_DECISIONS, differencesText } from "../../webhook/dialect-differences.ts";
import { DRILL_CASES, NOT_SENT_STEP, testFormOf, type CaseName } from "../../readiness/drills/webhook.ts";
import type { CaseForm } from "../../readiness/drills/webhook-case.ts";
import {
  stepValueOf,
  kindOf,
  patternOf,
  type DrillResults,
  type AnswerKind,
  type AnswerPattern,
  type CaseResult,
} from "./answers.ts";
import { LEAVES, STALE_CASES, type FormsByAnswer, type Needs } from "./leaves.ts";
import type { DrillStep, StepText, StepValue } from "../../readiness/drill-shapes.ts";

export function drillSteps(
  drillResults: DrillResults,
  { endpointId, dialect }: { readonly endpointId: string; readonly dialect: Dialect | undefined },
): DrillStep[] {
  const { caseNames } = drillResults;
  const namesText = dialect && differencesText(dialect, DELIVERY_NAME_DECISIONS);
  const results = new Map(drillResults.results.map((result) => [result.name, result]));
  const { causes, notes } = explainCases(drillResults);
  const unexplainedCase = caseNames.find((name) => causes.get(name) === "not_explained");
  const sentenceOf = (code: DrillCause | DrillNote | undefined): StepText | null => {
    if (code === undefined) return null;
    if (code === "not_explained")
      return contrastAnswers(
        unexplainedCase === undefined ? undefined : results.get(unexplainedCase),
        drillResults,
      );
    return code === "default_names"
      ? factOf(code, namesText ?? "")
      : withNames(namesText, factOf(code, endpointId));
  };
  const sentSteps = caseNames.flatMap((name): DrillStep[] => {
    const result = results.get(name);
    if (result === undefined) return [];
    const { expected } = DRILL_CASES[name];
    return [
      {
        name,
        passed: !causes.has(name),
        expected: expected === "2xx" || expected === "4xx" ? expected : factOf(expected),
        got: stepValueOf(result),
        cause: sentenceOf(causes.get(name) ?? notes.get(name)),
        reference: result.eventId,
      },
    ];
  });
  const unsentName = caseNames.find((name) => !results.has(name));
  const unsentCause = unsentName === undefined ? undefined : causes.get(unsentName);
  if (unsentCause === undefined) return sentSteps;
  const got = factOf("not_sent", String(caseNames.length - sentSteps.length));
  const unsentStep = { name: NOT_SENT_STEP, passed: false, expected: factOf("answer"), got, reference: null };
  return [...sentSteps, { ...unsentStep, cause: sentenceOf(unsentCause) }];
}

function contrastAnswers(result: CaseResult | undefined, { results }: DrillResults): StepText {
  const [firstResult] = results;
  const shownResult = result ?? firstResult;
  const otherResult =
    results.find((candidate) => shownResult !== undefined && kindOf(candidate) !== kindOf(shownResult)) ??
    firstResult;
  const bothResults = [shownResult, otherResult].flatMap((comparedResult): StepValue[] =>
    comparedResult === undefined ? [] : [factOf(`form:${comparedResult.name}`), stepValueOf(comparedResult)],
  );
  return factOf("not_explained", ...bothResults);
}

export function explainCases(
  drillResults: DrillResults,
  leaves = LEAVES,
): {
  readonly causes: ReadonlyMap<CaseName, DrillCause>;
  readonly notes: ReadonlyMap<CaseName, DrillNote>;
} {
  const pattern = { ...patternOf(drillResults), leaves };
  const failedCases = drillResults.caseNames.filter((name) => !hasPassed(name, pattern));
  const causes = new Map(failedCases.map((name) => [name, causeOf(name, pattern)]));
  if (causes.size > 0) return { causes, notes: new Map() };
  const notes = drillResults.caseNames.flatMap((name): [CaseName, DrillNote][] => {
    const result = drillResults.results.find((entry) => entry.name === name);
    const note = noteOf(name, pattern, result);
    return note === undefined ? [] : [[name, note]];
  });
  return { causes, notes: new Map(notes) };
}

function noteOf(
  name: CaseName,
  pattern: AnswerPattern,
  result: CaseResult | undefined,
): DrillNote | undefined {
  if (result?.isLimited === true) return "rate_limited_for_a_while";
  if (recognisesBeforeAge(name, pattern)) return "dedups_before_age";
  const kind = pattern.kindOfCase(name);
  const form = DRILL_CASES[name];
  return kind === "taken" || kind === "refused" ? form.notes?.[kind] : undefined;
}

function hasPassed(name: CaseName, pattern: AnswerPattern): boolean {
  if (name === "other_event_id" && trustsHeaderId(pattern)) return false;
  if (recognisesBeforeAge(name, pattern) || isOtherRoute(name, pattern)) return true;
  return RIGHT_ANSWERS[DRILL_CASES[name].expected].includes(pattern.kindOfCase(name));
}

function isOtherRoute(name: CaseName, { areAlike }: AnswerPattern): boolean {
  return (name === "final_slash" || name === "payment_final_slash") && !areAlike(name, "good_event");
}

const RIGHT_ANSWERS: Readonly<Record<CaseForm["expected"], readonly AnswerKind[]>> = {
  "2xx": ["taken"],
  "4xx": ["refused"],
  "not 2xx": ["refused", "failed", "redirected", "lost"],
  "2xx or 4xx": ["taken", "refused"],
  any: ["taken", "refused", "redirected", "failed", "lost"],
};

function recognisesBeforeAge(name: CaseName, { areAll }: AnswerPattern): boolean {
  const orderCases = STALE_CASES.map((staleCase): CaseName => `payment_${staleCase}`);
  return orderCases.includes(name) && areAll("refused", STALE_CASES) && areAll("taken", orderCases);
}

/** The receiver answers a known event, sent with another id in its header, as if it were new. */
function trustsHeaderId({ kindOfCase, areAlike }: AnswerPattern): boolean {
  return (
    kindOfCase("other_event_id") === "taken" &&
    areAlike("other_event_id", "good_event") &&
    !areAlike("other_event_id", "duplicate")
  );
}

type PatternWithLeaves = AnswerPattern & { readonly leaves: typeof LEAVES };

function causeOf(name: CaseName, pattern: PatternWithLeaves): DrillCause {
  const kind = pattern.kindOfCase(name);
  const testForm = testFormOf(name);
  // If webhook.test has the same result in this form, both results have the same cause.
  if (testForm !== undefined && pattern.kindOfCase(testForm) === kind) return causeOf(testForm, pattern);
  const { expected, cause: ownCause } = DRILL_CASES[name];
  const mayBeRefused = expected !== "2xx";
  if (pattern.probedCause !== undefined && isAnswer(kind) && !(kind === "failed" && mayBeRefused))
    return pattern.probedCause;
  const leaf = pattern.leaves[kind]?.find((candidate) => {
    const appliesToForm = candidate.forms === undefined || candidate.forms.includes(name);
    const hasSameAnswer = !("sameAs" in candidate) || pattern.kindOfCase(candidate.sameAs) === kind;
    return appliesToForm && hasSameAnswer && areNeedsMet(candidate, pattern);
  });
  if (leaf !== undefined) return "sameAs" in leaf ? causeOf(leaf.sameAs, pattern) : leaf.cause;
  if (kind === "unreachable") return causeOfUnreachable(name, pattern);
  if (kind === "lost") return causeOfLoss(pattern.faultOf(name));
  if (kind === "unsent") return causeOfStop(pattern);
  return ownCause !== undefined &&
    mayBeRefused === (kind === "taken") &&
    (mayBeRefused || pattern.kindOfCase("good_event") === "taken")
    ? ownCause
    : "not_explained";
}

function isAnswer(kind: AnswerKind): boolean {
  return kind === "taken" || kind === "refused" || kind === "failed";
}

function areNeedsMet(
  { all, some, none, answerToAll, differentForms, exception, condition }: Needs,
  pattern: AnswerPattern,
): boolean {
  const matchesOf = (forms: FormsByAnswer = {}): readonly boolean[] =>
    Object.entries(forms).flatMap(([kind, names]) => names.map((name) => pattern.kindOfCase(name) === kind));
  return (
    matchesOf(all).every(Boolean) &&
    (some === undefined || matchesOf(some).some(Boolean)) &&
    !matchesOf(none).some(Boolean) &&
    (answerToAll === undefined || pattern.areAll(answerToAll, pattern.serviceCases)) &&
    (differentForms === undefined || !pattern.areAlike(...differentForms)) &&
    (exception === undefined || !areNeedsMet(exception, pattern)) &&
    condition?.(pattern) !== false
  );
}

/** Only a refused connection shows that nothing listens at the address. */
function causeOfUnreachable(name: CaseName, { faultOf, answeredCases }: AnswerPattern): DrillCause {
  const fault = faultOf(name);
  if (fault === "refused") return answeredCases.length > 0 ? "went_away" : "unreachable";
  return fault === "elsewhere" ? "other_loopback" : `connection:${fault ?? "unreachable"}`;
}

function causeOfLoss(fault: ReturnType<AnswerPattern["faultOf"]>): DrillCause {
  if (fault === undefined || fault === "elsewhere" || DROPPED_CONNECTIONS.has(fault))
    return "drops_connection";
  return `connection:${UNREADABLE_ANSWERS.has(fault) ? "bad_answer" : fault}`;
}

const DROPPED_CONNECTIONS: ReadonlySet<ConnectionFault> = new Set<ConnectionFault>([
  "silent",
  "closed",
  "unfinished_head",
  "unfinished_body",
  "slow_body",
]);
/** Faults whose own sentences would quote the answer, so `bad_answer` is reported instead. */
const UNREADABLE_ANSWERS: ReadonlySet<ConnectionFault> = new Set<ConnectionFault>([
  "invalid_body",
  "not_http",
]);

function causeOfStop(pattern: PatternWithLeaves): DrillCause {
  const names = Object.keys(DRILL_CASES) as readonly CaseName[];
  const unansweredCase = names.find(
    (name) => !pattern.answeredCases.includes(name) && pattern.kindOfCase(name) !== "unsent",
  );
  return unansweredCase === undefined ? "drops_connection" : causeOf(unansweredCase, pattern);
}
