import type { ConnectionFault } from "../../network/connection-fault.ts";
import { STALE_BY_SECONDS } from "../../webhook/delivery-request.ts";
import { english } from "../../language.ts";
import { EXPECTED_RESULTS, STEP_RESULTS } from "../../readiness/drill-sentences.ts";
import { adviceText, type DrillCause, type DrillNote } from "../../readiness/drills/webhook-advice.ts";
import {
  CASE_NAMES,
  DRILL_CASES,
  NOT_SENT_STEP,
  twinOf,
  type CaseName,
} from "../../readiness/drills/webhook.ts";
import {
  caseResultText,
  GOOD_CASES,
  patternOf,
  REORDERED_CASES,
  type DrillResults,
  type AnswerKind,
  type AnswerPattern,
  type CaseResult,
} from "./answers.ts";
import type { DrillStep } from "../../readiness/drill-shapes.ts";

/** Cases that every receiver refuses if it compares the signature over the body. */
const FORGED_CASES: readonly CaseName[] = ["bad_signature", "wrong_secret", "changed_byte"];
/** Cases that are correctly signed with another time. */
const STALE_CASES = ["ten_minutes_old", "hour_old", "ten_minutes_ahead", "hour_ahead"] as const;
/** Cases that are sent before the first case that must be refused. */
const FIRST_SENT_CASES: ReadonlySet<CaseName> = new Set(
  CASE_NAMES.slice(0, CASE_NAMES.indexOf("bad_signature")),
);

/**
 * The steps of a drill: each case with the expected and the actual answer, and the likely cause of a failure or a note;
 * and one step for all cases that were not sent. Commands in the causes name this endpoint.
 */
export function drillSteps(drilled: DrillResults, endpointId: string): DrillStep[] {
  const { results, names } = drilled;
  const { causes, notes } = explainCases(drilled);
  const sent = names.flatMap((name): DrillStep[] => {
    const result = results.find((one) => one.name === name);
    if (result === undefined) return [];
    const code = causes.get(name) ?? notes.get(name);
    return [
      {
        name,
        passed: !causes.has(name),
        expected: DRILL_CASES[name].expected,
        got: caseResultText(result),
        cause: code === undefined ? null : adviceText(code, endpointId),
        reference: result.eventId,
      },
    ];
  });
  const left = names.find((name) => results.every((one) => one.name !== name));
  const why = left === undefined ? undefined : causes.get(left);
  if (why === undefined) return sent;
  const got = english(STEP_RESULTS.notSent(String(names.length - sent.length)));
  const rest = {
    name: NOT_SENT_STEP,
    passed: false,
    expected: english(EXPECTED_RESULTS.answer),
    got,
    reference: null,
  };
  return [...sent, { ...rest, cause: adviceText(why, endpointId) }];
}

/** The most likely cause of each failed case, from the pattern of all cases; notes if no case failed. */
export function explainCases(drilled: DrillResults): {
  readonly causes: ReadonlyMap<CaseName, DrillCause>;
  readonly notes: ReadonlyMap<CaseName, DrillNote>;
} {
  const pattern = patternOf(drilled);
  const failed = drilled.names.filter((name) => !isPassed(name, pattern));
  const causes = new Map(failed.map((name) => [name, causeOf(name, pattern)]));
  if (causes.size > 0) return { causes, notes: new Map() };
  const notes = drilled.names.flatMap((name): [CaseName, DrillNote][] => {
    const result = drilled.results.find((one) => one.name === name);
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
  const one = DRILL_CASES[name];
  return kind === "taken" || kind === "refused" ? one.notes?.[kind] : undefined;
}

function isPassed(name: CaseName, pattern: AnswerPattern): boolean {
  const kind = pattern.kind(name);
  const { expected } = DRILL_CASES[name];
  if (name === "other_event_id" && believesHeader(pattern)) return false;
  if (isKnownBeforeAge(name, pattern) || isOtherRoute(name, pattern)) return true;
  if (expected === "2xx or 4xx") return kind === "taken" || kind === "refused";
  if (expected === "not 2xx") return NOT_ACCEPTED_KINDS.has(kind);
  return kind === (expected === "2xx" ? "taken" : "refused");
}

/** Whether the path with a trailing slash leads to another route, which answers differently. */
function isOtherRoute(name: CaseName, { alike }: AnswerPattern): boolean {
  return (name === "final_slash" || name === "payment_final_slash") && !alike(name, "good_event");
}

/** The correct results of a request that the service never sends. */
const NOT_ACCEPTED_KINDS: ReadonlySet<AnswerKind> = new Set(["refused", "failed", "redirected", "lost"]);

/**
 * Whether a receiver that checks the age of events accepted a known event with another timestamp: then it recognises
 * the event before it checks the age, and does not repeat its work.
 */
function isKnownBeforeAge(name: CaseName, { kind, all }: AnswerPattern): boolean {
  return (
    kind(name) === "taken" &&
    STALE_CASES.some((one) => name === `payment_${one}`) &&
    all("refused", STALE_CASES) &&
    all(
      "taken",
      STALE_CASES.map((one): CaseName => `payment_${one}`),
    )
  );
}

/** Whether the receiver trusts the event id header: it answers a known event with another id like a new event. */
function believesHeader({ kind, alike }: AnswerPattern): boolean {
  return (
    kind("other_event_id") === "taken" &&
    alike("other_event_id", "good_event") &&
    !alike("other_event_id", "duplicate")
  );
}

function causeOf(name: CaseName, pattern: AnswerPattern): DrillCause {
  const twin = twinOf(name);
  // The same result for webhook.test has the same cause.
  if (twin !== undefined && pattern.kind(twin) === pattern.kind(name)) return causeOf(twin, pattern);
  switch (pattern.kind(name)) {
    case "taken":
      return whyTaken(name, pattern);
    case "refused":
      return whyRefused(name, pattern);
    case "failed":
      return whyFailed(name, pattern);
    case "timeout":
      return pattern.kind("good_event") === "taken" && isBad(name) ? "silent_on_bad" : "too_slow";
    case "unreachable":
      return whyUnreachable(name, pattern);
    case "redirected":
      return "redirects";
    case "limited":
      return "rate_limited";
    case "lost":
      return whyLost(pattern.faultOf(name));
    case "forbidden":
      return "forbidden";
    case "unsent":
      return whyGivenUp(pattern);
  }
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

/** Why an invalid request was answered with 2xx. */
function whyTaken(name: CaseName, pattern: AnswerPattern): DrillCause {
  const { kind, all, plain } = pattern;
  if (all("taken", plain)) return "takes_all";
  const unlikeGood = kind("good_event") === "taken" ? undefined : whyGoodRefused(pattern);
  if (unlikeGood !== undefined) return unlikeGood;
  if (all("taken", [...FORGED_CASES, "forged_on_connection"]) && kind("fresh_forgery") === "refused")
    return "once_a_connection";
  if (isUnordered(pattern) && isMissigned(name)) return "compares_unordered";
  if (isErratic(pattern)) return "verifies_sometimes";
  if (all("taken", FORGED_CASES)) return kind("no_signature") === "taken" ? "no_check" : "presence_only";
  const formal = whyFormTaken(name, pattern);
  if (formal !== undefined) return formal;
  if (name === "rewritten_body" && kind("changed_byte") === "taken") return "body_not_covered";
  const one = DRILL_CASES[name];
  if (one.cause !== undefined && one.cause !== "by_bytes")
    return one.cause === "by_part" ? whyPartly(pattern) : one.cause;
  if (one.age !== undefined) return whyStale(one.age, pattern);
  return one.without === undefined ? "verifies_sometimes" : whyWithout(name, pattern);
}

/** The cause of an accepted malformed signature; undefined if another cause is already known. */
function whyFormTaken(name: CaseName, pattern: AnswerPattern): DrillCause | undefined {
  const { kind } = pattern;
  const taken = (one: CaseName): boolean => kind(one) === "taken";
  const short = taken("short_signature");
  // No digit of the long signature is correct, so the receiver compared nothing.
  if (FORMLESS_CASES.has(name) && taken("long_signature") && taken("non_hex"))
    return "takes_malformed_signature";
  const isByLength = short && taken("long_signature") && !taken("dots") && !taken("non_hex");
  if (FORMLESS_CASES.has(name) && isByLength) return "takes_malformed_signature";
  if (name === "short_signature" && taken("last_digit")) return whyPartly(pattern);
  if (PATTERNS.has(name) && short && taken("non_hex")) return "compares_what_came";
  if (SHORTENED_CASES.has(name) && short)
    return taken("dots") && !taken("non_hex") ? "matches_patterns" : "compares_what_came";
  if (UNORDERED_CASES.has(name) && taken("sorted_digits")) return "compares_unordered";
  if (name === "swapped_bytes")
    return PARTLY_RIGHT_CASES.some(taken) ? whyPartly(pattern) : "compares_unordered";
  if (name === "gzip" && taken("no_event") && !taken("chunked")) return "skips_odd_bodies";
  const claimed = CLAIMED_CASES.find(([, names]) => names.includes(name));
  if (claimed !== undefined && taken(claimed[0])) return "skips_by_content";
  if (claimed !== undefined && taken("empty_secret") && name.endsWith("_empty")) return "takes_empty_secret";
  if (
    claimed !== undefined &&
    GUESSED_TEXTS.some((text) => name.endsWith(`_${text}`) && taken(`secret_${text}`))
  )
    return "takes_guessed_secret";
  if (UNTIMED_CASES.has(name) && taken("no_timestamp")) return "skips_without_timestamp";
  if ((UNTIMED_CASES.has(name) || TWO_TIMESTAMP_CASES.has(name)) && taken("hour_old"))
    return whyStale(STALE_BY_SECONDS, pattern);
  return undefined;
}

/** Signatures in which only some digits are correct. */
const PARTLY_RIGHT_CASES: readonly CaseName[] = ["first_digit", "even_digits", "odd_digits"];

/** Whether the receiver compares a sum of the digits, which a forged signature may match by chance. */
function isUnordered({ kind, all }: AnswerPattern): boolean {
  return (
    all("taken", REORDERED_CASES) &&
    all("refused", ["bad_signature", "first_digit"]) &&
    kind("good_event") === "taken"
  );
}

/** Whether the signature of a case does not belong to the request that is sent. */
function isMissigned(name: CaseName): boolean {
  const { signature, secret, sent, reused } = DRILL_CASES[name];
  return signature !== undefined || secret !== undefined || sent !== undefined || reused === true;
}

/** Cases with a forged signature that may have the correct sum of digits: among 200 signatures, one probably does. */
const UNORDERED_CASES: ReadonlySet<CaseName> = new Set(["swapped_digits", "many_signatures"]);
/** The fields of an event that can select a secret, and the cases that are signed with a guessable secret. */
const CLAIMED_CASES = (["live", "other_store"] as const).map(
  (claim) =>
    [
      claim,
      CASE_NAMES.filter((name) => DRILL_CASES[name].cause === "chooses_secret" && name.startsWith(claim)),
    ] as const,
);
const GUESSED_TEXTS = ["undefined", "none"] as const;
const SHORTENED_CASES: ReadonlySet<CaseName> = new Set(["short_signature", "empty_signature"]);
const PATTERNS: ReadonlySet<CaseName> = new Set(["dots", "percent", "non_hex"]);
const UNTIMED_CASES: ReadonlySet<CaseName> = new Set(
  CASE_NAMES.filter((name) => DRILL_CASES[name].timestamp !== undefined),
);
const TWO_TIMESTAMP_CASES: ReadonlySet<CaseName> = new Set([
  "timestamp_old_and_new",
  "timestamp_new_and_old",
]);
const FORMLESS_CASES: ReadonlySet<CaseName> = new Set([
  "short_signature",
  "empty_signature",
  "dots",
  "percent",
  "non_hex",
  "many_signatures",
]);

/** The cause if a request with missing headers was accepted. */
function whyWithout(name: CaseName, { kind }: AnswerPattern): DrillCause {
  const missing = DRILL_CASES[name].without ?? [];
  const alone = MISSING_HEADER_CAUSES.find(
    ([header, one]) => missing.some((each) => each === header) && kind(one) === "taken",
  );
  if (alone !== undefined) return alone[2];
  if (kind("other_agent") === "taken") return "skips_by_sender";
  const isOfType = name === "no_headers_form" && kind("no_headers") !== "taken";
  return isOfType ? "skips_other_types" : "skips_without_headers";
}

/** The cases with a missing header, and the cause if they are accepted. */
const MISSING_HEADER_CAUSES = [
  ["signature", "no_signature", "skips_without_header"],
  ["timestamp", "no_timestamp", "skips_without_timestamp"],
  ["eventId", "no_event_id", "skips_without_event_id"],
] as const;

/** Why a timestamp far from the current time was accepted. */
function whyStale(age: number, { kind }: AnswerPattern): DrillCause {
  const [own, other] =
    age > 0 ? (["hour_old", "hour_ahead"] as const) : (["hour_ahead", "hour_old"] as const);
  if (kind(own) !== "taken") return "wide_tolerance";
  if (kind(other) === "taken") return "no_staleness_check";
  return own === "hour_old" ? "takes_old" : "takes_ahead";
}

/** The cause for a receiver that compares only a part of the signature. */
function whyPartly({ kind }: AnswerPattern): DrillCause {
  if (kind("even_digits") === "taken" || kind("odd_digits") === "taken") return "compares_part";
  const ignoresFirst = kind("first_digit") === "taken";
  const ignoresLast = kind("last_digit") === "taken";
  if (ignoresFirst === ignoresLast) return "compares_part";
  return ignoresLast ? "compares_prefix" : "compares_end";
}

/** Whether forged requests had different results, and more than one mistake in the code explains them. */
function isErratic(pattern: AnswerPattern): boolean {
  const { kind, usedRetired, wavers } = pattern;
  // A sum of digits accepts some forged signatures by chance.
  if (isUnordered(pattern)) return false;
  if (wavers || (kind("bad_signature") === "refused" && kind("forged_in_the_end") === "taken")) return true;
  const taken = FORGED_CASES.filter((name) => kind(name) === "taken");
  if (taken.length !== 1) return taken.length === 2;
  if (taken[0] === "wrong_secret") return !usedRetired;
  return taken[0] !== "changed_byte" || kind("rewritten_body") !== "taken";
}

/** Whether the receiver accepts every forged event, and refuses every valid one. */
function isInverted({ all, wavers }: AnswerPattern): boolean {
  return all("refused", GOOD_CASES) && all("taken", [...FORGED_CASES, "forged_in_the_end"]) && !wavers;
}

/** The cause of refused valid events, derived from the accepted cases; undefined if these do not show it. */
function whyGoodRefused(pattern: AnswerPattern): DrillCause | undefined {
  const { kind, usedRetired, probed } = pattern;
  if (probed !== undefined) return probed;
  if (isInverted(pattern)) return "inverted_check";
  if (kind("bad_signature") !== "refused" || kind("good_event") !== "refused") return undefined;
  if (kind("order_event") === "taken") return "refuses_after_check";
  if (GUESSED_CASES.some((name) => kind(name) === "taken")) return "secret_unset";
  if (kind("wrong_secret") === "taken" && usedRetired) return "replaced_secret";
  return STALE_CASES.some((name) => kind(name) === "taken") ? "clock_off" : undefined;
}

const GUESSED_CASES = CASE_NAMES.filter((name) => {
  const { secret } = DRILL_CASES[name];
  return secret !== undefined && secret !== "another";
});

/** Why everything is refused; the answers show it if they differ. */
function whyAllRefused({ isNowhere, alike, probed }: AnswerPattern): DrillCause {
  if (probed !== undefined) return probed;
  if (isNowhere) return "no_route";
  // Texts that are never the same, such as a random id, tell nothing.
  if (!alike("good_event", "second_of_three") || !alike("bad_signature", "first_digit")) return "refuses_all";
  if (!alike("good_event", "bad_signature")) return "refuses_after_check";
  return alike("good_event", "no_signature") ? "refuses_all" : "wrong_secret";
}

/** Why a valid request was answered with 4xx. */
function whyRefused(name: CaseName, pattern: AnswerPattern): DrillCause {
  const { kind, all, plain } = pattern;
  if (all("refused", plain)) return whyAllRefused(pattern);
  if (kind("good_event") !== "taken") {
    // A drill that stopped early has not sent the last of these cases.
    const sent = GOOD_CASES.filter((good) => kind(good) !== "unsent");
    if (kind("spaced_body") === "taken" && all("refused", sent)) return "parsed_body";
    return whyGoodRefused(pattern) ?? "verifies_sometimes";
  }
  if (kind("good_at_the_end") !== "taken" && !FIRST_SENT_CASES.has(name)) return "shuts_out";
  const reads = kind("rewritten_body") === "taken" || kind("spaced_body") !== "taken";
  return whyUntaken(name) ?? (reads ? "parsed_body" : "decoded_body");
}

/** Why a valid request was not accepted although another valid event was; undefined if its bytes are the reason. */
function whyUntaken(name: CaseName): DrillCause | undefined {
  const one = DRILL_CASES[name];
  const isCause = one.expected === "2xx" && one.cause !== "by_bytes" && one.cause !== "by_part";
  return isCause ? one.cause : undefined;
}

/** Why a request was answered with 5xx. */
function whyFailed(name: CaseName, { kind, all, plain, probed }: AnswerPattern): DrillCause {
  if (probed !== undefined && !isBad(name)) return probed;
  if (all("failed", plain)) return "fails_always";
  if (name === "no_event" && kind("bad_signature") !== "failed") return "parses_first";
  if (OTHER_LENGTHS.has(name) && kind("bad_signature") === "refused") return "throws_on_length";
  if (DRILL_CASES[name].expected === "4xx") return "throws_on_bad";
  if (kind("good_event") !== "taken") return "fails_after_check";
  if (name === "other_event_id" && kind("duplicate") === "failed") return "rejects_duplicates";
  if (isBad(name)) return "throws_on_bad";
  if (kind("good_at_the_end") !== "taken" && !FIRST_SENT_CASES.has(name)) return "shuts_out";
  return whyUntaken(name) ?? "chokes_on_bytes";
}

const OTHER_LENGTHS: ReadonlySet<CaseName> = new Set(["short_signature", "empty_signature"]);

const ALL_NAMES = Object.keys(DRILL_CASES) as readonly CaseName[];

/** The cause that stopped the drill. */
function whyGivenUp(pattern: AnswerPattern): DrillCause {
  const first = ALL_NAMES.find((name) => !pattern.answered.includes(name) && pattern.kind(name) !== "unsent");
  return first === undefined ? "drops_connection" : causeOf(first, pattern);
}

/** Whether the case may be refused. */
function isBad(name: CaseName): boolean {
  return DRILL_CASES[name].expected !== "2xx";
}
