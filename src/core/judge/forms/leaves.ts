// A leaf is a possible cause with the answers that it requires; the first leaf whose requirements are met is the cause.
import type { DrillCause } from "../../readiness/drills/webhook-advice.ts";
import { CASE_NAMES, DRILL_CASES, type CaseName } from "../../readiness/drills/webhook.ts";
import { GOOD_CASES, REORDERED_CASES, type AnswerKind, type AnswerPattern } from "./answers.ts";

export type FormsByAnswer = Readonly<Partial<Record<AnswerKind, readonly CaseName[]>>>;

export type Needs = {
  readonly all?: FormsByAnswer;
  readonly some?: FormsByAnswer;
  readonly none?: FormsByAnswer;
  readonly answerToAll?: AnswerKind;
  readonly differentForms?: readonly [CaseName, CaseName];
  readonly exception?: Needs;
  readonly condition?: (pattern: AnswerPattern) => boolean;
};

type Leaf = Needs & {
  readonly forms?: readonly CaseName[];
} & ({ readonly cause: DrillCause } | { readonly sameAs: CaseName });

const FORGED_CASES: readonly CaseName[] = ["bad_signature", "wrong_secret", "changed_byte"];
export const STALE_CASES = ["ten_minutes_old", "hour_old", "ten_minutes_ahead", "hour_ahead"] as const;
const PARTIAL_SIGNATURE_FORMS: readonly CaseName[] = [
  ...(["first_digit", "last_digit", "right_ends", "even_digits", "odd_digits", "swapped_digits"] as const),
];
const OTHER_TIMESTAMP_FORMS: readonly CaseName[] = ["timestamp_word", "timestamp_undefined"];
const TWO_TIMESTAMP_FORMS: readonly CaseName[] = ["timestamp_old_and_new", "timestamp_new_and_old"];
const NO_HEADER_FORMS: readonly CaseName[] = ["no_headers", "no_headers_form"];
/** Malformed signatures, which only a wrong comparison accepts. */
const MALFORMED_SIGNATURE_FORMS: readonly CaseName[] = [
  ...(["short_signature", "empty_signature", "dots", "percent", "non_hex", "many_signatures"] as const),
];
/** Forms with another store_id or none, signed with the text of an unset secret. */
const UNSET_SECRET_FORMS: readonly CaseName[] = ["other_store_unset", "no_store_unset"];
const PRINTED_SECRET_FORMS: readonly CaseName[] = ["live_printed", "other_store_printed", "no_store_printed"];
const ALL_CASE_NAMES = Object.keys(DRILL_CASES) as readonly CaseName[];
const MISSIGNED_FORMS = ALL_CASE_NAMES.filter((name) => {
  const { signature, secret, changeBody, reusesSignature } = DRILL_CASES[name];
  return (
    signature !== undefined || secret !== undefined || changeBody !== undefined || reusesSignature === true
  );
});
const GUESSED_SECRET_FORMS = CASE_NAMES.filter((name) => typeof DRILL_CASES[name].secret === "function");
const UNSIGNED_FORMS = CASE_NAMES.filter((name) => name.startsWith("unsigned_"));
const FIRST_FORMS = new Set(CASE_NAMES.slice(0, CASE_NAMES.indexOf("bad_signature")));
const LATER_FORMS = ALL_CASE_NAMES.filter((name) => !FIRST_FORMS.has(name));
const REFUSABLE_FORMS = ALL_CASE_NAMES.filter((name) => DRILL_CASES[name].expected !== "2xx");
const INVALID_FORMS = ALL_CASE_NAMES.filter((name) => DRILL_CASES[name].expected === "4xx");
const [OLD_FORMS = [], FUTURE_FORMS = []] = [1, -1].map((sign) =>
  ALL_CASE_NAMES.filter((name) => {
    const { age = 0, cause } = DRILL_CASES[name];
    return cause === undefined && Math.sign(age) === sign;
  }),
);

const DIGIT_SUM_NEEDS: Needs = {
  all: { taken: [...REORDERED_CASES, "good_event"], refused: ["bad_signature", "first_digit"] },
};
const VALID_AND_FORGED_FORMS: readonly CaseName[] = ["bad_signature", "good_event"];

const INVERTED_LEAVES: readonly Leaf[] = [
  {
    cause: "inverted_check",
    all: { refused: GOOD_CASES, taken: [...FORGED_CASES, "forged_in_the_end"] },
    exception: { condition: ({ isInconsistent }) => isInconsistent },
  },
  { cause: "refuses_after_check", all: { refused: VALID_AND_FORGED_FORMS, taken: ["order_event"] } },
  { cause: "secret_unset", all: { refused: VALID_AND_FORGED_FORMS }, some: { taken: GUESSED_SECRET_FORMS } },
  {
    cause: "replaced_secret",
    all: { refused: VALID_AND_FORGED_FORMS, taken: ["wrong_secret"] },
    condition: ({ usesRetiredSecret }) => usesRetiredSecret,
  },
  { cause: "clock_off", all: { refused: VALID_AND_FORGED_FORMS }, some: { taken: STALE_CASES } },
];

const INCONSISTENT_LEAVES: readonly Leaf[] = (
  [
    { condition: ({ isInconsistent }) => isInconsistent },
    { all: { refused: ["bad_signature"], taken: ["forged_in_the_end"] } },
    { all: { taken: ["bad_signature"] }, exception: { all: { taken: FORGED_CASES } } },
    { all: { taken: ["wrong_secret", "changed_byte"] }, none: { taken: ["bad_signature"] } },
    {
      all: { taken: ["wrong_secret"] },
      none: { taken: ["bad_signature", "changed_byte"] },
      condition: ({ usesRetiredSecret }) => !usesRetiredSecret,
    },
    {
      all: { taken: ["changed_byte"] },
      none: { taken: ["bad_signature", "wrong_secret", "rewritten_body"] },
    },
  ] as const satisfies readonly Needs[]
).map((needs) => Object.assign({ cause: "verifies_sometimes", exception: DIGIT_SUM_NEEDS } as const, needs));

const PART_LEAVES: readonly Leaf[] = (
  [
    { cause: "compares_part", some: { taken: ["even_digits", "odd_digits"] } },
    { cause: "compares_part", all: { taken: ["first_digit", "last_digit"] } },
    { cause: "compares_end", all: { taken: ["first_digit"] } },
    { cause: "compares_prefix", all: { taken: ["last_digit"] } },
    { cause: "compares_part" },
  ] as const satisfies readonly Leaf[]
).map((leaf) => Object.assign({ forms: PARTIAL_SIGNATURE_FORMS }, leaf));

const AGE_LEAVES: readonly Leaf[] = [
  { forms: OLD_FORMS, cause: "wide_tolerance", none: { taken: ["hour_old"] } },
  { forms: FUTURE_FORMS, cause: "wide_tolerance", none: { taken: ["hour_ahead"] } },
  {
    forms: [...OLD_FORMS, ...FUTURE_FORMS],
    cause: "no_staleness_check",
    all: { taken: ["hour_old", "hour_ahead"] },
  },
  { forms: OLD_FORMS, cause: "takes_old" },
  { forms: FUTURE_FORMS, cause: "takes_ahead" },
];

const SIMILAR_LEAVES: readonly Leaf[] = [
  { forms: ["short_signature"], sameAs: "last_digit" },
  { forms: ["empty_signature"], sameAs: "short_signature" },
  { forms: ["swapped_digits", "many_signatures"], sameAs: "sorted_digits" },
  { forms: ["swapped_bytes"], sameAs: "first_digit" },
  { forms: ["swapped_bytes"], sameAs: "even_digits" },
  { forms: ["swapped_bytes"], sameAs: "odd_digits" },
  { forms: ["gzip"], sameAs: "no_event", none: { taken: ["chunked"] } },
  { forms: ["live_empty", "live_undefined", "live_printed"], sameAs: "live" },
  { forms: ["other_store_none", "other_store_unset", "other_store_printed"], sameAs: "other_store" },
  { forms: ["no_store_unset", "no_store_printed"], sameAs: "no_store" },
  { forms: ["live_empty", ...UNSET_SECRET_FORMS], sameAs: "empty_secret" },
  { forms: ["live_undefined", ...UNSET_SECRET_FORMS], sameAs: "secret_undefined" },
  { forms: UNSET_SECRET_FORMS, sameAs: "secret_null" },
  { forms: ["other_store_none", ...PRINTED_SECRET_FORMS], sameAs: "secret_none" },
  { forms: PRINTED_SECRET_FORMS, sameAs: "secrets_printed" },
  { forms: UNSIGNED_FORMS, sameAs: "no_signature" },
  { forms: OTHER_TIMESTAMP_FORMS, sameAs: "no_timestamp" },
  { forms: [...OTHER_TIMESTAMP_FORMS, ...TWO_TIMESTAMP_FORMS], sameAs: "hour_old" },
  { forms: ["rewritten_body"], sameAs: "changed_byte" },
  { forms: NO_HEADER_FORMS, sameAs: "no_signature" },
  { forms: NO_HEADER_FORMS, sameAs: "no_timestamp" },
  { forms: NO_HEADER_FORMS, sameAs: "no_event_id" },
  { forms: NO_HEADER_FORMS, sameAs: "other_agent" },
  { forms: ["no_headers_form"], sameAs: "no_headers" },
];

const ACCEPTED_LEAVES: readonly Leaf[] = [
  { cause: "takes_all", answerToAll: "taken" },
  ...INVERTED_LEAVES,
  {
    cause: "once_a_connection",
    all: { taken: [...FORGED_CASES, "forged_on_connection"], refused: ["fresh_forgery"] },
  },
  { forms: MISSIGNED_FORMS, cause: "compares_unordered", ...DIGIT_SUM_NEEDS },
  ...INCONSISTENT_LEAVES,
  { cause: "no_check", all: { taken: [...FORGED_CASES, "no_signature"] } },
  { cause: "presence_only", all: { taken: FORGED_CASES } },
  // The long signature was made without a secret, so the receiver compared nothing.
  {
    forms: MALFORMED_SIGNATURE_FORMS,
    cause: "takes_malformed_signature",
    all: { taken: ["long_signature", "non_hex"] },
  },
  {
    forms: MALFORMED_SIGNATURE_FORMS,
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
  ...SIMILAR_LEAVES,
  ...PART_LEAVES,
  ...AGE_LEAVES,
];

/** The receiver accepts nothing more after the forms that must be refused. */
const SHUT_OUT_LEAF: Leaf = {
  forms: LATER_FORMS,
  cause: "shuts_out",
  all: { taken: ["good_event"] },
  none: { taken: ["good_at_the_end"] },
};
const IN_PARTS_LEAVES: readonly Leaf[] = [
  { forms: ["unusual_in_parts"], sameAs: "in_parts" },
  { forms: ["unusual_in_parts"], sameAs: "unusual_bytes" },
];

const REFUSED_LEAVES: readonly Leaf[] = [
  { cause: "no_route", answerToAll: "refused", condition: ({ isRouteMissing }) => isRouteMissing },
  // Answers whose texts always differ, for example by a random id, prove nothing.
  { cause: "refuses_all", answerToAll: "refused", differentForms: ["good_event", "second_of_three"] },
  { cause: "refuses_all", answerToAll: "refused", differentForms: ["bad_signature", "first_digit"] },
  { cause: "refuses_after_check", answerToAll: "refused", differentForms: ["good_event", "bad_signature"] },
  { cause: "wrong_secret", answerToAll: "refused", differentForms: ["good_event", "no_signature"] },
  { cause: "refuses_all", answerToAll: "refused" },
  // Not `refused: GOOD_CASES`, because a drill that stopped early has not sent all of them.
  { cause: "parsed_body", all: { taken: ["spaced_body"] }, none: { taken: GOOD_CASES, failed: GOOD_CASES } },
  ...INVERTED_LEAVES,
  { cause: "verifies_sometimes", some: { taken: ALL_CASE_NAMES }, none: { taken: ["good_event"] } },
  SHUT_OUT_LEAF,
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
  ...IN_PARTS_LEAVES,
  { forms: ["unusual_bytes"], cause: "decoded_body", all: { taken: ["good_event", "spaced_body"] } },
];

const FAILED_LEAVES: readonly Leaf[] = [
  { cause: "fails_always", answerToAll: "failed" },
  { forms: ["no_event"], cause: "parses_first", none: { failed: ["bad_signature"] } },
  {
    forms: ["short_signature", "empty_signature"],
    cause: "throws_on_length",
    all: { refused: ["bad_signature"] },
  },
  { cause: "fails_in_check", all: { failed: ["good_event", "bad_signature"] } },
  { forms: INVALID_FORMS, cause: "throws_on_bad" },
  { cause: "fails_after_check", all: { failed: ["good_event"], refused: ["bad_signature"] } },
  { forms: ["other_event_id"], cause: "rejects_duplicates", all: { failed: ["duplicate"] } },
  { forms: REFUSABLE_FORMS, cause: "throws_on_bad", all: { taken: ["good_event"] } },
  SHUT_OUT_LEAF,
  ...IN_PARTS_LEAVES,
  { forms: ["spaced_body", "unusual_bytes"], cause: "chokes_on_bytes", all: { taken: ["good_event"] } },
];

export const LEAVES: Readonly<Partial<Record<AnswerKind, readonly Leaf[]>>> = {
  taken: ACCEPTED_LEAVES,
  refused: REFUSED_LEAVES,
  failed: FAILED_LEAVES,
  timeout: [
    { forms: REFUSABLE_FORMS, cause: "silent_on_bad", all: { taken: ["good_event"] } },
    { cause: "too_slow" },
  ],
  redirected: [{ cause: "redirects" }],
  limited: [{ cause: "rate_limited" }],
  forbidden: [{ cause: "forbidden" }],
};
