import type { ConnectionFault } from "../../network/connection-fault.ts";
import { factOf, inNames } from "../../readiness/drills/said.ts";
import type { DrillCause, DrillNote } from "../../readiness/drills/webhook-advice.ts";
import type { Dialect } from "../../shape/dialect.ts";
import { deliveryDifferences } from "../../webhook/dialect-differences.ts";
import { DRILL_CASES, NOT_SENT_STEP, twinOf, type CaseName } from "../../readiness/drills/webhook.ts";
import type { Form } from "../../readiness/drills/webhook-case.ts";
import {
  caseResult,
  kindOf,
  patternOf,
  type DrillResults,
  type AnswerKind,
  type AnswerPattern,
  type CaseResult,
} from "./answers.ts";
import { LEAVES, STALE_CASES, type ByAnswer, type Needs } from "./leaves.ts";
import type { DrillStep, Said, SaidValue } from "../../readiness/drill-shapes.ts";

/** One step for all cases that were not sent. Commands in the causes name this endpoint. */
export function drillSteps(
  drillResults: DrillResults,
  { endpointId, dialect }: { readonly endpointId: string; readonly dialect: Dialect | undefined },
): DrillStep[] {
  const { names } = drillResults;
  const differences = dialect === undefined ? undefined : deliveryDifferences(dialect).join(", ");
  const results = new Map(drillResults.results.map((result) => [result.name, result]));
  const { causes, notes } = explainCases(drillResults);
  const unexplainedCase = names.find((name) => causes.get(name) === "not_explained");
  const say = (code: DrillCause | DrillNote | undefined): Said | null => {
    if (code === undefined) return null;
    // One text for all unexplained answers, so that they are shown together.
    if (code === "not_explained")
      return contrast(unexplainedCase === undefined ? undefined : results.get(unexplainedCase), drillResults);
    return code === "default_names"
      ? factOf(code, differences ?? "")
      : inNames(differences, factOf(code, endpointId));
  };
  const sentSteps = names.flatMap((name): DrillStep[] => {
    const result = results.get(name);
    if (result === undefined) return [];
    const { expected } = DRILL_CASES[name];
    return [
      {
        name,
        passed: !causes.has(name),
        expected: expected === "2xx" || expected === "4xx" ? expected : factOf(expected),
        got: caseResult(result),
        cause: say(causes.get(name) ?? notes.get(name)),
        reference: result.eventId,
      },
    ];
  });
  const leftName = names.find((name) => !results.has(name));
  const leftCause = leftName === undefined ? undefined : causes.get(leftName);
  if (leftCause === undefined) return sentSteps;
  const got = factOf("not_sent", String(names.length - sentSteps.length));
  const restStep = { name: NOT_SENT_STEP, passed: false, expected: factOf("answer"), got, reference: null };
  return [...sentSteps, { ...restStep, cause: say(leftCause) }];
}

/** An answer that nothing explains, beside the first one that differs from it. */
function contrast(result: CaseResult | undefined, { results }: DrillResults): Said {
  const [first] = results;
  const pick = result ?? first;
  const otherResult = results.find((rival) => pick !== undefined && kindOf(rival) !== kindOf(pick)) ?? first;
  const bothResults = [pick, otherResult].flatMap((shownCase): SaidValue[] =>
    shownCase === undefined ? [] : [factOf(`form:${shownCase.name}`), caseResult(shownCase)],
  );
  return factOf("not_explained", ...bothResults);
}

/** The most likely cause of each failed case, from the pattern of all cases; notes if no case failed. */
export function explainCases(
  drillResults: DrillResults,
  leaves = LEAVES,
): {
  readonly causes: ReadonlyMap<CaseName, DrillCause>;
  readonly notes: ReadonlyMap<CaseName, DrillNote>;
} {
  const pattern = { ...patternOf(drillResults), leaves };
  const failedCases = drillResults.names.filter((name) => !isPassed(name, pattern));
  const causes = new Map(failedCases.map((name) => [name, causeOf(name, pattern)]));
  if (causes.size > 0) return { causes, notes: new Map() };
  const notes = drillResults.names.flatMap((name): [CaseName, DrillNote][] => {
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
  if (result?.limited === true) return "rate_limited_for_a_while";
  if (isKnownBeforeAge(name, pattern)) return "dedups_before_age";
  const kind = pattern.kind(name);
  const form = DRILL_CASES[name];
  return kind === "taken" || kind === "refused" ? form.notes?.[kind] : undefined;
}

function isPassed(name: CaseName, pattern: AnswerPattern): boolean {
  if (name === "other_event_id" && believesHeader(pattern)) return false;
  if (isKnownBeforeAge(name, pattern) || isOtherRoute(name, pattern)) return true;
  return RIGHT_ANSWERS[DRILL_CASES[name].expected].includes(pattern.kind(name));
}

/** Whether the path with a trailing slash leads to another route, which answers differently. */
function isOtherRoute(name: CaseName, { alike }: AnswerPattern): boolean {
  return (name === "final_slash" || name === "payment_final_slash") && !alike(name, "good_event");
}

const RIGHT_ANSWERS: Readonly<Record<Form["expected"], readonly AnswerKind[]>> = {
  "2xx": ["taken"],
  "4xx": ["refused"],
  "not 2xx": ["refused", "failed", "redirected", "lost"],
  "2xx or 4xx": ["taken", "refused"],
  any: ["taken", "refused", "redirected", "failed", "lost"],
};

/** It recognises the event before it checks the age, and does not repeat its work. */
function isKnownBeforeAge(name: CaseName, { all }: AnswerPattern): boolean {
  const orderCases = STALE_CASES.map((staleCase): CaseName => `payment_${staleCase}`);
  return orderCases.includes(name) && all("refused", STALE_CASES) && all("taken", orderCases);
}

/** Whether the receiver trusts the event id header: it answers a known event with another id like a new event. */
function believesHeader({ kind, alike }: AnswerPattern): boolean {
  return (
    kind("other_event_id") === "taken" &&
    alike("other_event_id", "good_event") &&
    !alike("other_event_id", "duplicate")
  );
}

/** The answers, and the table that explains them. */
type Explained = AnswerPattern & { readonly leaves: typeof LEAVES };

/** The cause of an answer: the first leaf whose needs are met, else the cause that the form itself shows. */
function causeOf(name: CaseName, pattern: Explained): DrillCause {
  const kind = pattern.kind(name);
  const twin = twinOf(name);
  // The same result for webhook.test has the same cause.
  if (twin !== undefined && pattern.kind(twin) === kind) return causeOf(twin, pattern);
  const { expected, cause: ownCause } = DRILL_CASES[name];
  const isBad = expected !== "2xx";
  if (pattern.probed !== undefined && isAnswer(kind) && !(kind === "failed" && isBad)) return pattern.probed;
  const leaf = pattern.leaves[kind]?.find((candidate) => {
    const isOfForm = candidate.forms === undefined || candidate.forms.includes(name);
    const isAlike = !("likeThat" in candidate) || pattern.kind(candidate.likeThat) === kind;
    return isOfForm && isAlike && isMet(candidate, pattern);
  });
  if (leaf !== undefined) return "likeThat" in leaf ? causeOf(leaf.likeThat, pattern) : leaf.cause;
  if (kind === "unreachable") return whyUnreachable(name, pattern);
  if (kind === "lost") return whyLost(pattern.faultOf(name));
  if (kind === "unsent") return whyGivenUp(pattern);
  // A form that is accepted although its fault shows it, or refused although another valid event was not.
  return ownCause !== undefined &&
    isBad === (kind === "taken") &&
    (isBad || pattern.kind("good_event") === "taken")
    ? ownCause
    : "not_explained";
}

function isAnswer(kind: AnswerKind): boolean {
  return kind === "taken" || kind === "refused" || kind === "failed";
}

function isMet(
  { all, some, none, everything, differ, unless, seen }: Needs,
  pattern: AnswerPattern,
): boolean {
  const fitsOfForms = (forms: ByAnswer = {}): readonly boolean[] =>
    Object.entries(forms).flatMap(([kind, names]) => names.map((name) => pattern.kind(name) === kind));
  return (
    fitsOfForms(all).every(Boolean) &&
    (some === undefined || fitsOfForms(some).some(Boolean)) &&
    !fitsOfForms(none).some(Boolean) &&
    (everything === undefined || pattern.all(everything, pattern.plain)) &&
    (differ === undefined || !pattern.alike(...differ)) &&
    (unless === undefined || !isMet(unless, pattern)) &&
    seen?.(pattern) !== false
  );
}

/** Why there was no connection, by what was observed: nothing listens only at an address that refuses. */
function whyUnreachable(name: CaseName, { faultOf, answered }: AnswerPattern): DrillCause {
  const fault = faultOf(name);
  if (fault === "refused") return answered.length > 0 ? "went_away" : "unreachable";
  return fault === "elsewhere" ? "other_loopback" : `connection:${fault ?? "unreachable"}`;
}

/** Why a connection ended without a valid answer. */
function whyLost(fault: ReturnType<AnswerPattern["faultOf"]>): DrillCause {
  if (fault === undefined || fault === "elsewhere" || BROKEN_OFF.has(fault)) return "drops_connection";
  return `connection:${UNREADABLE.has(fault) ? "bad_answer" : fault}`;
}

const BROKEN_OFF: ReadonlySet<ConnectionFault> = new Set<ConnectionFault>([
  "silent",
  "closed",
  "unfinished_head",
  "unfinished_body",
  "slow_body",
]);
/** Their own sentences quote the answer. */
const UNREADABLE: ReadonlySet<ConnectionFault> = new Set<ConnectionFault>(["invalid_body", "not_http"]);

function whyGivenUp(pattern: Explained): DrillCause {
  const names = Object.keys(DRILL_CASES) as readonly CaseName[];
  const caseName = names.find((name) => !pattern.answered.includes(name) && pattern.kind(name) !== "unsent");
  return caseName === undefined ? "drops_connection" : causeOf(caseName, pattern);
}
