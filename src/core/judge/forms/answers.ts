import type { ConnectionFault } from "../../network/connection-fault.ts";
import { excerpt, UUID_SOURCE } from "../../text.ts";
import type { DeliveryError } from "../../webhook/delivery.ts";
import type { StepValue } from "../../readiness/drill-shapes.ts";
import { factOf } from "../../readiness/drills/said.ts";
import type { DrillCause } from "../../readiness/drills/webhook-advice.ts";
import type { CaseForm } from "../../readiness/drills/webhook-case.ts";
import { DRILL_CASES, FIRST_CASES, testFormOf, type CaseName } from "../../readiness/drills/webhook.ts";

export type CaseResult = {
  readonly name: CaseName;
  readonly eventId: string;
  readonly milliseconds: number;
  /** Whether the request was resent because the receiver limits the rate. */
  readonly isLimited?: true;
  readonly answer:
    | { readonly status: number; readonly body: string }
    | {
        readonly error: DeliveryError;
        readonly message: string;
        /** The observed fault; undefined without a network code. `elsewhere`: the other loopback address answers. */
        readonly fault?: ConnectionFault | "elsewhere" | undefined;
      };
};

/** `limited`: 429. `unsent`: the drill had already stopped. */
export type AnswerKind =
  | "taken"
  | "redirected"
  | "refused"
  | "limited"
  | "failed"
  | "timeout"
  | "lost"
  | "unreachable"
  | "forbidden"
  | "unsent";

export const UNSENT_FORM_ANSWERS: ReadonlySet<CaseForm["expected"]> = new Set(["not 2xx", "any"]);
const MISSING_ROUTE_STATUSES: ReadonlySet<number> = new Set([404, 405, 410]);
const MAX_REPEATED_CASES = 8;

export type DrillResults = {
  readonly results: readonly CaseResult[];
  readonly repeats: readonly CaseResult[];
  readonly caseNames: readonly CaseName[];
  readonly usesRetiredSecret: boolean;
  readonly probedCause: DrillCause | undefined;
};

/** Valid events that a receiver with the right secret accepts, regardless of how it reads bodies. */
export const GOOD_CASES: readonly CaseName[] = ["good_event", "duplicate", "good_at_the_end"];

export const REORDERED_CASES = [
  "swapped_digits",
  "swapped_bytes",
  "reversed_digits",
  "sorted_digits",
] as const;

export type AnswerPattern = ReturnType<typeof patternOf>;

export function patternOf({ results, repeats, usesRetiredSecret, probedCause }: DrillResults) {
  const kindOfCase = kindLookup(results);
  const answers = new Map(results.map(({ name, answer }) => [name, answer]));
  const answeredCases = results.filter(({ answer }) => "status" in answer).map(({ name }) => name);
  return {
    kindOfCase,
    answeredCases,
    usesRetiredSecret,
    probedCause,
    faultOf: (name: CaseName) => {
      const answer = answers.get(name);
      return answer !== undefined && "error" in answer ? answer.fault : undefined;
    },
    areAll: (wantedKind: AnswerKind, names: readonly CaseName[]) =>
      names.every((name) => kindOfCase(name) === wantedKind),
    areAlike: (left: CaseName, right: CaseName) =>
      comparableAnswer(answers.get(left)) === comparableAnswer(answers.get(right)),
    serviceCases: answeredCases.filter((name) => !UNSENT_FORM_ANSWERS.has(DRILL_CASES[name].expected)),
    isRouteMissing: results
      .filter(({ name }) => GOOD_CASES.includes(name))
      .every(({ answer }) => "status" in answer && MISSING_ROUTE_STATUSES.has(answer.status)),
    isInconsistent: repeats.some(
      (result) => kindOf(result) === "refused" && kindOfCase(result.name) === "taken",
    ),
  };
}

function kindLookup(results: readonly CaseResult[]): (name: CaseName) => AnswerKind {
  const kinds = new Map(results.map((result) => [result.name, kindOf(result)]));
  return (name) => kinds.get(name) ?? "unsent";
}

function comparableAnswer(answer: CaseResult["answer"] | undefined): string | undefined {
  if (answer === undefined || "error" in answer) return answer?.error;
  return `${answer.status} ${answer.body.replace(UUID_PATTERN, "").replace(/\d+/g, "0")}`;
}

const UUID_PATTERN = new RegExp(UUID_SOURCE, "gi");

/** A receiver that verifies only some requests will refuse some of them. */
export function forgeriesToRepeat(results: readonly CaseResult[]): readonly CaseName[] {
  const acceptedNames = results.filter(isAccepted).map(({ name }) => name);
  return acceptedNames
    .filter((name) => isForged(name) && !FIRST_CASES.has(name) && !mayPassByChance(name))
    .slice(0, MAX_REPEATED_CASES);
}

export function isWorthProbing(results: readonly CaseResult[]): boolean {
  const kindOfCase = kindLookup(results);
  const goodKind = kindOfCase("good_event");
  return (goodKind === "refused" || goodKind === "failed") && kindOfCase("bad_signature") !== "taken";
}

export function isAccepted({ answer }: Pick<CaseResult, "answer">): boolean {
  return "status" in answer && answer.status >= 200 && answer.status < 300;
}

export function kindOf({ answer }: CaseResult): AnswerKind {
  if ("status" in answer) {
    const { status } = answer;
    if (status === 429) return "limited";
    if (status >= 500) return "failed";
    if (status >= 400) return "refused";
    return status >= 300 ? "redirected" : "taken";
  }
  if (answer.error === "timeout" || answer.error === "unreachable") return answer.error;
  return answer.error === "target_forbidden" ? "forbidden" : "lost";
}

function isForged(name: CaseName): boolean {
  return DRILL_CASES[name].expected === "4xx" || DRILL_CASES[name].expected === "not 2xx";
}

function mayPassByChance(name: CaseName): boolean {
  return [...REORDERED_CASES, "many_signatures"].includes(testFormOf(name) ?? name);
}

export function stepValueOf({ answer, milliseconds }: CaseResult): StepValue {
  const durationText = `${milliseconds}`;
  if ("error" in answer)
    return factOf(`no_answer_after:${answer.error}`, durationText, excerpt(answer.message));
  const { status, body } = answer;
  const isBodyShown = body !== "" && status >= 300;
  return isBodyShown
    ? factOf("after_with", `${status}`, durationText, excerpt(body))
    : factOf("after", `${status}`, durationText);
}
