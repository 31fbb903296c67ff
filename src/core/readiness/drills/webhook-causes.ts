import type { DrillStep } from "./drill.ts";
import { excerpt } from "../../text.ts";
import { CASE_NAMES, DRILL_CASES, type CaseName, type CaseResult } from "./webhook.ts";

const VERIFY_RAW =
  "Verify the bytes as they came, before any parser (express.raw, request.get_data, file_get_contents)";
const WHOLE = "Compare all 64 digits, in constant time";

/** The likely causes of a failed drill, with what to do. The list is closed. */
export const DRILL_CAUSES = {
  takes_all:
    "It answers 2xx to everything, also to invalid requests: the answer does not depend on the verification. Verify first, and answer 400 if that fails.",
  no_check:
    "It does not check the signature. Verify every request first, for example with hosted-checkout/webhooks.",
  presence_only: "It only checks that there is a signature, and does not compare it with the computed one.",
  skips_without_header:
    "It verifies only what has a signature header. A request without one must be refused, because anybody can leave it out.",
  verifies_sometimes:
    "It verifies only some requests: of requests with the same fault it accepts some and refuses others. Perhaps one of several processes has no secret, or a setting disables the check.",
  old_secret:
    "It still accepts the secret from before the last rotation, although the overlap is over. Remove that secret from its settings.",
  compares_prefix: `It compares only the beginning of the signature. ${WHOLE}.`,
  compares_what_came: `It compares only as many digits as it received. Check the length first; then: ${WHOLE.toLowerCase()}.`,
  parsed_body: `It parses the body before it verifies, and verifies what it writes again. ${VERIFY_RAW}.`,
  decoded_body: `It changes the body before it verifies: read in another encoding than UTF-8, trimmed, or parsed and written again. ${VERIFY_RAW}.`,
  body_not_covered: `Its check does not cover the body: a changed body passes with the old signature. ${VERIFY_RAW}: the timestamp, a dot, the body.`,
  no_staleness_check:
    "It does not check the age of the timestamp, so a recorded request can be sent again for ever. After the signature, check that the timestamp is within 5 minutes of its clock.",
  takes_old:
    "It refuses timestamps in the future and accepts old ones: the difference has the wrong sign, or only one side is compared. Compare its absolute value.",
  takes_ahead:
    "It refuses old timestamps and accepts those in the future: only one side is compared. Compare the absolute value of the difference.",
  parses_first:
    "It parses the body before it verifies it: a body that is not JSON made it fail with 5xx. Verify first, and answer 400.",
  throws_on_length:
    "It fails with 5xx if the signature has another length, because crypto.timingSafeEqual throws. Check the length first, and answer 400.",
  throws_on_bad:
    "It answers 5xx when it should refuse: the refusal is an uncaught exception, and after 5xx the service retries for a day. Answer 400.",
  fails_always:
    "It answers 5xx to everything, valid or not: check its log. Perhaps the secret is not set, or the route fails before it verifies.",
  fails_after_check:
    "It refuses invalid requests and fails with 5xx on a valid event: the code after the verification fails. It must also answer 2xx to event types that it does not know, such as webhook.test.",
  chokes_on_bytes:
    "It fails on valid JSON in an unusual form: its JSON parser is incomplete, or expects another encoding than UTF-8.",
  rejects_duplicates:
    "It refuses an event that it has already received. The same event can come more than once: answer 2xx to a known event_id, and do nothing.",
  shuts_out:
    "It accepted valid events at first and none after the invalid ones: it blocks the sender because of them, or has a defect. Forged requests would then lock out the service.",
  refuses_all:
    "It refuses everything, also valid events. It has another secret than this endpoint; or expects other headers than Checkout-Signature and Checkout-Timestamp; or signs something else than timestamp, dot, raw body; or its clock is minutes off; or a login or CSRF check comes first; or it refuses unknown types, such as webhook.test.",
  no_route:
    "There is no such route, or none for POST: the path of the endpoint is wrong, or the receiver is another program.",
  redirects:
    "It answers with a redirect, and redirects are not followed: give the endpoint the target address (http or https, with or without a final slash).",
  rate_limited: "It answers 429, because it limits the rate: exempt the service from the limit.",
  too_slow:
    "It does not answer in time, so the service would retry again and again. Store the event, answer 2xx, and do the work after that.",
  silent_on_bad: "It does not answer when it refuses: a branch returns without an answer. Answer 400.",
  drops_connection:
    "It closes the connection without a complete answer: it crashed, or it is not an HTTP server. Check its log.",
  went_away:
    "It answered before and is not running now: a request ended the process. A failure in one request must not end the process; check its log.",
  unreachable: "Nothing listens at its address. Is the receiver running, and on that port?",
  forbidden:
    "The sandbox does not send to that address: it is not a loopback address, and no --allow-target names it.",
} as const;

/** A code of the closed list. */
export type DrillCause = keyof typeof DRILL_CAUSES;

/** The kinds of answers. `limited`: 429. `unsent`: the drill had been stopped. */
type Kind =
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

/** The results of all cases. */
type Pattern = {
  readonly kind: (name: CaseName) => Kind;
  /** Whether all of these cases have one of these results. */
  readonly all: (kind: Kind, names: readonly CaseName[]) => boolean;
  /** The cases that were answered. */
  readonly answered: readonly CaseName[];
  /** Whether valid events were answered as if the route did not exist. */
  readonly isNowhere: boolean;
  /** Whether `wrong_secret` was signed with a secret that was active before. */
  readonly usedRetired: boolean;
};

const GOOD: readonly CaseName[] = ["good_event", "duplicate", "good_at_the_end"];
/** Cases that every receiver refuses which compares the signature over the body. */
const FORGED: readonly CaseName[] = ["bad_signature", "wrong_secret", "changed_byte"];
const TIMES: readonly CaseName[] = ["hour_old", "hour_ahead"];
/** Not found, method not allowed, gone. */
const NOWHERE: ReadonlySet<number> = new Set([404, 405, 410]);

/** The steps of a drill: for each case what was expected, what came, and the likely cause of a failure. */
export function drillSteps(
  results: readonly CaseResult[],
  options: { readonly usedRetired: boolean },
): DrillStep[] {
  const causes = explain(results, options);
  return CASE_NAMES.map((name) => {
    const result = results.find((one) => one.name === name);
    const cause = causes.get(name);
    return {
      name,
      passed: cause === undefined,
      expected: DRILL_CASES[name].expected,
      got: gotText(result),
      cause: cause === undefined ? null : DRILL_CAUSES[cause],
      reference: result?.eventId ?? null,
    };
  });
}

/** The most likely cause of each failed case, from the pattern of all cases; null for a passed case. */
export function explain(
  results: readonly CaseResult[],
  { usedRetired }: { readonly usedRetired: boolean },
): ReadonlyMap<CaseName, DrillCause> {
  const kinds = new Map(results.map((result) => [result.name, kindOf(result)]));
  const kind = (name: CaseName): Kind => kinds.get(name) ?? "unsent";
  const pattern: Pattern = {
    kind,
    all: (wanted, names) => names.every((name) => kind(name) === wanted),
    answered: results.filter(({ answer }) => "status" in answer).map(({ name }) => name),
    isNowhere: results
      .filter(({ name }) => GOOD.includes(name))
      .every(({ answer }) => "status" in answer && NOWHERE.has(answer.status)),
    usedRetired,
  };
  const failed = CASE_NAMES.filter((name) => !passed(name, kind(name)));
  return new Map(failed.map((name) => [name, causeOf(name, pattern)]));
}

function passed(name: CaseName, kind: Kind): boolean {
  return kind === (DRILL_CASES[name].expected === "2xx" ? "taken" : "refused");
}

function kindOf({ answer }: CaseResult): Kind {
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

function causeOf(name: CaseName, pattern: Pattern): DrillCause {
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
      return pattern.answered.length > 0 ? "went_away" : "unreachable";
    case "redirected":
      return "redirects";
    case "limited":
      return "rate_limited";
    case "lost":
      return "drops_connection";
    case "forbidden":
      return "forbidden";
    case "unsent":
      return whyGivenUp(pattern);
  }
}

/** Why an invalid request was answered with 2xx. */
function whyTaken(name: CaseName, pattern: Pattern): DrillCause {
  const { kind, all, answered } = pattern;
  if (all("taken", answered)) return "takes_all";
  if (isErratic(pattern)) return "verifies_sometimes";
  if (TIMES.includes(name) && !all("taken", TIMES)) return name === "hour_old" ? "takes_old" : "takes_ahead";
  if (all("taken", FORGED)) return kind("no_signature") === "taken" ? "no_check" : "presence_only";
  if (name === "short_signature" && kind("right_beginning") === "taken") return "compares_prefix";
  if (name === "rewritten_body" && kind("changed_byte") === "taken") return "body_not_covered";
  return TAKEN_ALONE[name] ?? "verifies_sometimes";
}

/** Why a case was accepted although forged requests are refused. */
const TAKEN_ALONE: Partial<Record<CaseName, DrillCause>> = {
  wrong_secret: "old_secret",
  changed_byte: "body_not_covered",
  rewritten_body: "parsed_body",
  right_beginning: "compares_prefix",
  short_signature: "compares_what_came",
  no_signature: "skips_without_header",
  hour_old: "no_staleness_check",
  hour_ahead: "no_staleness_check",
};

/** Whether forged requests had different results, more than one mistake in the code explains. */
function isErratic({ kind, usedRetired }: Pattern): boolean {
  const taken = FORGED.filter((name) => kind(name) === "taken");
  if (taken.length !== 1) return taken.length === 2;
  if (taken[0] === "wrong_secret") return !usedRetired;
  return taken[0] !== "changed_byte" || kind("rewritten_body") !== "taken";
}

/** Why a valid request was answered with 4xx. */
function whyRefused(name: CaseName, { kind, all, answered, isNowhere }: Pattern): DrillCause {
  if (all("refused", answered)) return isNowhere ? "no_route" : "refuses_all";
  if (kind("good_event") !== "taken")
    return kind("spaced_body") === "taken" && all("refused", GOOD) ? "parsed_body" : "verifies_sometimes";
  if (name === "duplicate") return "rejects_duplicates";
  if (name === "good_at_the_end") return "shuts_out";
  const reads = kind("rewritten_body") === "taken" || kind("spaced_body") !== "taken";
  return reads ? "parsed_body" : "decoded_body";
}

/** Why a request was answered with 5xx. */
function whyFailed(name: CaseName, { kind, all, answered }: Pattern): DrillCause {
  if (all("failed", answered)) return "fails_always";
  if (name === "no_event" && kind("bad_signature") !== "failed") return "parses_first";
  if (name === "short_signature" && kind("bad_signature") === "refused") return "throws_on_length";
  if (isBad(name)) return "throws_on_bad";
  if (kind("good_event") !== "taken") return "fails_after_check";
  if (name === "duplicate") return "rejects_duplicates";
  return name === "good_at_the_end" ? "shuts_out" : "chokes_on_bytes";
}

/** The cause that stopped the drill. */
function whyGivenUp(pattern: Pattern): DrillCause {
  const first = CASE_NAMES.find(
    (name) => !pattern.answered.includes(name) && pattern.kind(name) !== "unsent",
  );
  return first === undefined ? "drops_connection" : causeOf(first, pattern);
}

function isBad(name: CaseName): boolean {
  return DRILL_CASES[name].expected === "4xx";
}

function gotText(result: CaseResult | undefined): string {
  if (result === undefined) return "not sent: the drill was given up";
  const { answer, milliseconds } = result;
  if ("error" in answer) return `${answer.error} after ${milliseconds} ms: ${excerpt(answer.message)}`;
  const said = answer.said === "" || answer.status < 300 ? "" : `: ${excerpt(answer.said)}`;
  return `${answer.status} after ${milliseconds} ms${said}`;
}
