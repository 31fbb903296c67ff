// The causes of an answer that is not the expected one, as a table: each leaf names the answers that it needs, and the
// first leaf whose needs are met is the cause. A new cause: its leaf here, its words in core/readiness/drills/webhook-advice.ts.
import type { DrillCause } from "../../readiness/drills/webhook-advice.ts";
import { CASE_NAMES, DRILL_CASES, type CaseName } from "../../readiness/drills/webhook.ts";
import { GOOD_CASES, REORDERED_CASES, type AnswerKind, type AnswerPattern } from "./answers.ts";

export type ByAnswer = Readonly<Partial<Record<AnswerKind, readonly CaseName[]>>>;

/** The answers that a leaf needs: each of `all`, at least one of `some`, and none of `none`. */
export type Needs = {
  readonly all?: ByAnswer;
  readonly some?: ByAnswer;
  readonly none?: ByAnswer;
  /** The answer to every form that the service could send. */
  readonly everything?: AnswerKind;
  /** Two forms with different answers. */
  readonly differ?: readonly [CaseName, CaseName];
  readonly unless?: Needs;
  /** A further condition on the answers. */
  readonly seen?: (pattern: AnswerPattern) => boolean;
};

/** `likeThat`: the form with the same answer whose cause is taken. `forms`: the explained forms (default: all). */
type Leaf = Needs & {
  readonly forms?: readonly CaseName[];
} & ({ readonly cause: DrillCause } | { readonly likeThat: CaseName });

/** Forms that every receiver refuses if it compares the signature over the body. */
const FORGED_CASES: readonly CaseName[] = ["bad_signature", "wrong_secret", "changed_byte"];
/** Forms that are correctly signed with another time. */
export const STALE_CASES = ["ten_minutes_old", "hour_old", "ten_minutes_ahead", "hour_ahead"] as const;
/** Signatures in which only some digits are correct, in their places. */
const PARTS: readonly CaseName[] = [
  ...(["first_digit", "last_digit", "right_ends", "even_digits", "odd_digits", "swapped_digits"] as const),
];
const OTHER_TIMESTAMPS: readonly CaseName[] = ["timestamp_word", "timestamp_undefined"];
const TWO_TIMESTAMPS: readonly CaseName[] = ["timestamp_old_and_new", "timestamp_new_and_old"];
const NO_HEADERS: readonly CaseName[] = ["no_headers", "no_headers_form"];
/** Signatures that are compared badly rather than computed. */
const FORMLESS: readonly CaseName[] = [
  ...(["short_signature", "empty_signature", "dots", "percent", "non_hex", "many_signatures"] as const),
];
/** Signed with a value that a program finds in place of a secret, for an event by which it may choose one. */
const UNSET: readonly CaseName[] = ["other_store_unset", "no_store_unset"];
const PRINTED: readonly CaseName[] = ["live_printed", "other_store_printed", "no_store_printed"];
const ALL_NAMES = Object.keys(DRILL_CASES) as readonly CaseName[];
/** Forms whose signature does not belong to the request that is sent. */
const MISSIGNED = ALL_NAMES.filter((name) => {
  const { signature, secret, sent, reused } = DRILL_CASES[name];
  return signature !== undefined || secret !== undefined || sent !== undefined || reused === true;
});
const GUESSED_SECRETS = CASE_NAMES.filter((name) => typeof DRILL_CASES[name].secret === "function");
const SENT_FOR = CASE_NAMES.filter((name) => name.startsWith("unsigned_"));
const FIRST_SENT = new Set(CASE_NAMES.slice(0, CASE_NAMES.indexOf("bad_signature")));
/** Forms that are sent after the first one that must be refused. */
const LATER = ALL_NAMES.filter((name) => !FIRST_SENT.has(name));
const MAY_BE_REFUSED = ALL_NAMES.filter((name) => DRILL_CASES[name].expected !== "2xx");
const MUST_BE_REFUSED = ALL_NAMES.filter((name) => DRILL_CASES[name].expected === "4xx");
/** Forms of another age that show no other mistake: past and future times. */
const [OLD = [], AHEAD = []] = [1, -1].map((sign) =>
  ALL_NAMES.filter((name) => {
    const { age = 0, cause } = DRILL_CASES[name];
    return cause === undefined && Math.sign(age) === sign;
  }),
);

/** It compares a sum of the digits, which a forged signature may match by chance. */
const SUMS: Needs = {
  all: { taken: [...REORDERED_CASES, "good_event"], refused: ["bad_signature", "first_digit"] },
};
/** It refuses valid and badly signed events alike, so the form that it accepts shows the expected signature. */
const REFUSES_BOTH: readonly CaseName[] = ["bad_signature", "good_event"];

/** Why valid events are refused while others are accepted. */
const ACCEPTS_OTHERS: readonly Leaf[] = [
  {
    cause: "inverted_check",
    all: { refused: GOOD_CASES, taken: [...FORGED_CASES, "forged_in_the_end"] },
    unless: { seen: ({ wavers }) => wavers },
  },
  { cause: "refuses_after_check", all: { refused: REFUSES_BOTH, taken: ["order_event"] } },
  { cause: "secret_unset", all: { refused: REFUSES_BOTH }, some: { taken: GUESSED_SECRETS } },
  {
    cause: "replaced_secret",
    all: { refused: REFUSES_BOTH, taken: ["wrong_secret"] },
    seen: ({ usedRetired }) => usedRetired,
  },
  { cause: "clock_off", all: { refused: REFUSES_BOTH }, some: { taken: STALE_CASES } },
];

/** Causes of a receiver that accepts some forged forms with a fault and refuses others with the same fault. */
const SOME_OF_A_KIND: readonly Leaf[] = (
  [
    { seen: ({ wavers }) => wavers },
    { all: { refused: ["bad_signature"], taken: ["forged_in_the_end"] } },
    { all: { taken: ["bad_signature"] }, unless: { all: { taken: FORGED_CASES } } },
    { all: { taken: ["wrong_secret", "changed_byte"] }, none: { taken: ["bad_signature"] } },
    {
      all: { taken: ["wrong_secret"] },
      none: { taken: ["bad_signature", "changed_byte"] },
      seen: ({ usedRetired }) => !usedRetired,
    },
    {
      all: { taken: ["changed_byte"] },
      none: { taken: ["bad_signature", "wrong_secret", "rewritten_body"] },
    },
  ] as const satisfies readonly Needs[]
).map((needs) => Object.assign({ cause: "verifies_sometimes", unless: SUMS } as const, needs));

const BY_PART: readonly Leaf[] = (
  [
    { cause: "compares_part", some: { taken: ["even_digits", "odd_digits"] } },
    { cause: "compares_part", all: { taken: ["first_digit", "last_digit"] } },
    { cause: "compares_end", all: { taken: ["first_digit"] } },
    { cause: "compares_prefix", all: { taken: ["last_digit"] } },
    { cause: "compares_part" },
  ] as const satisfies readonly Leaf[]
).map((leaf) => Object.assign({ forms: PARTS }, leaf));

const BY_AGE: readonly Leaf[] = [
  { forms: OLD, cause: "wide_tolerance", none: { taken: ["hour_old"] } },
  { forms: AHEAD, cause: "wide_tolerance", none: { taken: ["hour_ahead"] } },
  {
    forms: [...OLD, ...AHEAD],
    cause: "no_staleness_check",
    all: { taken: ["hour_old", "hour_ahead"] },
  },
  { forms: OLD, cause: "takes_old" },
  { forms: AHEAD, cause: "takes_ahead" },
];

/** Another accepted form whose fault this form has too. */
const LIKE_ANOTHER: readonly Leaf[] = [
  { forms: ["short_signature"], likeThat: "last_digit" },
  { forms: ["empty_signature"], likeThat: "short_signature" },
  { forms: ["swapped_digits", "many_signatures"], likeThat: "sorted_digits" },
  { forms: ["swapped_bytes"], likeThat: "first_digit" },
  { forms: ["swapped_bytes"], likeThat: "even_digits" },
  { forms: ["swapped_bytes"], likeThat: "odd_digits" },
  { forms: ["gzip"], likeThat: "no_event", none: { taken: ["chunked"] } },
  { forms: ["live_empty", "live_undefined", "live_printed"], likeThat: "live" },
  { forms: ["other_store_none", "other_store_unset", "other_store_printed"], likeThat: "other_store" },
  { forms: ["no_store_unset", "no_store_printed"], likeThat: "no_store" },
  { forms: ["live_empty", ...UNSET], likeThat: "empty_secret" },
  { forms: ["live_undefined", ...UNSET], likeThat: "secret_undefined" },
  { forms: UNSET, likeThat: "secret_null" },
  { forms: ["other_store_none", ...PRINTED], likeThat: "secret_none" },
  { forms: PRINTED, likeThat: "secrets_printed" },
  { forms: SENT_FOR, likeThat: "no_signature" },
  { forms: OTHER_TIMESTAMPS, likeThat: "no_timestamp" },
  { forms: [...OTHER_TIMESTAMPS, ...TWO_TIMESTAMPS], likeThat: "hour_old" },
  { forms: ["rewritten_body"], likeThat: "changed_byte" },
  { forms: NO_HEADERS, likeThat: "no_signature" },
  { forms: NO_HEADERS, likeThat: "no_timestamp" },
  { forms: NO_HEADERS, likeThat: "no_event_id" },
  { forms: NO_HEADERS, likeThat: "other_agent" },
  { forms: ["no_headers_form"], likeThat: "no_headers" },
];

/** Why something that must be refused was answered with 2xx. */
const TAKEN: readonly Leaf[] = [
  { cause: "takes_all", everything: "taken" },
  ...ACCEPTS_OTHERS,
  {
    cause: "once_a_connection",
    all: { taken: [...FORGED_CASES, "forged_on_connection"], refused: ["fresh_forgery"] },
  },
  { forms: MISSIGNED, cause: "compares_unordered", ...SUMS },
  ...SOME_OF_A_KIND,
  { cause: "no_check", all: { taken: [...FORGED_CASES, "no_signature"] } },
  { cause: "presence_only", all: { taken: FORGED_CASES } },
  // No digit of the long signature is correct, so the receiver compared nothing.
  { forms: FORMLESS, cause: "takes_malformed_signature", all: { taken: ["long_signature", "non_hex"] } },
  {
    forms: FORMLESS,
    cause: "takes_malformed_signature",
    all: { taken: ["short_signature", "long_signature"] },
    none: { taken: ["dots", "non_hex"] },
  },
  {
    forms: ["dots", "percent", "non_hex"],
    cause: "compares_what_came",
    all: { taken: ["short_signature", "non_hex"] },
  },
  {
    forms: ["short_signature"],
    cause: "matches_patterns",
    all: { taken: ["dots"] },
    none: { taken: ["non_hex", "last_digit"] },
  },
  ...LIKE_ANOTHER,
  ...BY_PART,
  ...BY_AGE,
];

/** Why something that must be accepted was answered with 4xx. */
const REFUSED: readonly Leaf[] = [
  { cause: "no_route", everything: "refused", seen: ({ isNowhere }) => isNowhere },
  // Texts that are always different, such as a random id, prove nothing.
  { cause: "refuses_all", everything: "refused", differ: ["good_event", "second_of_three"] },
  { cause: "refuses_all", everything: "refused", differ: ["bad_signature", "first_digit"] },
  { cause: "refuses_after_check", everything: "refused", differ: ["good_event", "bad_signature"] },
  { cause: "wrong_secret", everything: "refused", differ: ["good_event", "no_signature"] },
  { cause: "refuses_all", everything: "refused" },
  // A drill that stopped early has not sent the last of these forms.
  { cause: "parsed_body", all: { taken: ["spaced_body"] }, none: { taken: GOOD_CASES, failed: GOOD_CASES } },
  ...ACCEPTS_OTHERS,
  { cause: "verifies_sometimes", some: { taken: ALL_NAMES }, none: { taken: ["good_event"] } },
  { forms: LATER, cause: "shuts_out", all: { taken: ["good_event"] }, none: { taken: ["good_at_the_end"] } },
  {
    forms: ["spaced_body", "unusual_bytes"],
    cause: "parsed_body",
    all: { taken: ["good_event", "rewritten_body"] },
  },
  {
    forms: ["spaced_body", "unusual_bytes"],
    cause: "parsed_body",
    all: { taken: ["good_event"] },
    none: { taken: ["spaced_body"] },
  },
  { forms: ["unusual_in_parts"], likeThat: "in_parts" },
  { forms: ["unusual_in_parts"], likeThat: "unusual_bytes" },
  { forms: ["unusual_bytes"], cause: "decoded_body", all: { taken: ["good_event", "spaced_body"] } },
];

/** Why a form was answered with 5xx. */
const FAILED: readonly Leaf[] = [
  { cause: "fails_always", everything: "failed" },
  { forms: ["no_event"], cause: "parses_first", none: { failed: ["bad_signature"] } },
  {
    forms: ["short_signature", "empty_signature"],
    cause: "throws_on_length",
    all: { refused: ["bad_signature"] },
  },
  { cause: "fails_in_check", all: { failed: ["good_event", "bad_signature"] } },
  { forms: MUST_BE_REFUSED, cause: "throws_on_bad" },
  { cause: "fails_after_check", all: { failed: ["good_event"], refused: ["bad_signature"] } },
  { forms: ["other_event_id"], cause: "rejects_duplicates", all: { failed: ["duplicate"] } },
  { forms: MAY_BE_REFUSED, cause: "throws_on_bad", all: { taken: ["good_event"] } },
  { forms: LATER, cause: "shuts_out", all: { taken: ["good_event"] }, none: { taken: ["good_at_the_end"] } },
  { forms: ["unusual_in_parts"], likeThat: "in_parts" },
  { forms: ["unusual_in_parts"], likeThat: "unusual_bytes" },
  { forms: ["spaced_body", "unusual_bytes"], cause: "chokes_on_bytes", all: { taken: ["good_event"] } },
];

/** The leaves, by the answer that they explain. */
export const LEAVES: Readonly<Partial<Record<AnswerKind, readonly Leaf[]>>> = {
  taken: TAKEN,
  refused: REFUSED,
  failed: FAILED,
  timeout: [
    { forms: MAY_BE_REFUSED, cause: "silent_on_bad", all: { taken: ["good_event"] } },
    { cause: "too_slow" },
  ],
  redirected: [{ cause: "redirects" }],
  limited: [{ cause: "rate_limited" }],
  forbidden: [{ cause: "forbidden" }],
};
