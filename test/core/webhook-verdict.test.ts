import { CONNECTION_FAULTS, type ConnectionFault } from "../../src/core/network/connection-fault.ts";
import { expect, test } from "vitest";
import type { DrillCause } from "../../src/core/readiness/drills/webhook-advice.ts";
import { factOf } from "../../src/core/readiness/drills/said.ts";
import { drillSteps, explainCases } from "../../src/core/judge/forms/causes.ts";
import { LEAVES } from "../../src/core/judge/forms/leaves.ts";
import {
  isAccepted,
  isWorthProbing,
  forgeriesToRepeat,
  type AnswerKind,
  type CaseResult,
  type DrillResults,
} from "../../src/core/judge/forms/answers.ts";
import {
  CASE_NAMES,
  DRILL_CASES,
  ORDER_CASE_NAMES,
  type CaseName,
} from "../../src/core/readiness/drills/webhook.ts";
import { shouldContinue, wasOutOfReach } from "../../src/core/judge/forms/requests.ts";

const NAMES: readonly CaseName[] = [...CASE_NAMES.slice(0, -1), ...ORDER_CASE_NAMES, ...CASE_NAMES.slice(-1)];

/** A status, a status with a text, an error of the connection, or null: not sent. */
type Answer = number | string | { readonly status: number; readonly body: string } | null;
type Answers = Partial<Record<CaseName, Answer>>;

function resultOf(name: CaseName, answer: Exclude<Answer, null>): CaseResult {
  const result = { name, eventId: `event of ${name}`, milliseconds: 7 };
  if (typeof answer === "string")
    return {
      ...result,
      answer: {
        error: answer as "timeout",
        message: "nothing came",
        fault: answer === "unreachable" ? "refused" : undefined,
      },
    };
  return { ...result, answer: typeof answer === "number" ? { status: answer, body: "" } : answer };
}

/** The answers of a correct receiver, with these differences. */
function drilled(answers: Answers, facts: Partial<DrillResults> = {}): DrillResults {
  const results = NAMES.flatMap((name) => {
    const { expected } = DRILL_CASES[name];
    const right = ["2xx", "any"].includes(expected) || name === "other_event_id" ? 204 : 400;
    const { [name]: answer = right } = answers;
    return answer === null ? [] : [resultOf(name, answer)];
  });
  return {
    results,
    repeats: [],
    caseNames: NAMES,
    usesRetiredSecret: false,
    probedCause: undefined,
    ...facts,
  };
}

function each<Value>(value: Value, ...names: readonly CaseName[]): Partial<Record<CaseName, Value>> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

function where(holds: (name: CaseName) => boolean): readonly CaseName[] {
  return NAMES.filter(holds);
}

const GOOD = where((name) => DRILL_CASES[name].expected === "2xx");
const BAD = where((name) => DRILL_CASES[name].expected === "4xx");
const ODD = where((name) => DRILL_CASES[name].expected === "not 2xx");
const OPEN = where((name) => ["2xx or 4xx", "any"].includes(DRILL_CASES[name].expected));
const SERVICES = [...GOOD, ...BAD, ...OPEN].filter((name) => name !== "good_in_chunks");
const FORGED = [...BAD, ...ODD];
/** A path with a final slash may be another page. */
const isSlash = (name: CaseName): boolean => name.endsWith("final_slash");
const OLD = ["ten_minutes_old", "hour_old"] as const;
const AHEAD = ["ten_minutes_ahead", "hour_ahead"] as const;
const PARTLY = ["right_ends", "short_signature"] as const;
const REORDERED = ["swapped_digits", "swapped_bytes", "reversed_digits", "sorted_digits"] as const;
const TAKEN = 200;

type Row = readonly [
  what: string,
  answers: Answers,
  causes: Partial<Record<CaseName, DrillCause>>,
  facts?: Partial<DrillResults>,
];

const ALL: readonly Row[] = [
  ["takes everything", each(TAKEN, ...NAMES), each("takes_all", ...FORGED)],
  [
    "takes all that is like the service's, and fails on others",
    each(TAKEN, ...SERVICES),
    each("takes_all", ...BAD),
  ],
  [
    "takes what is forged, and refuses one of its own kind",
    { ...each(TAKEN, ...NAMES), no_event: 500 },
    { ...each("no_check", ...FORGED.filter((name) => name !== "no_event")), no_event: "parses_first" },
  ],
  [
    "looks whether there is a signature",
    each(TAKEN, "bad_signature", "wrong_secret", "changed_byte"),
    each("presence_only", "bad_signature", "wrong_secret", "changed_byte"),
  ],
  ["fails on everything", each(500, ...SERVICES), each("fails_always", ...SERVICES)],
  ["refuses everything", each(400, ...GOOD, ...OPEN), each("refuses_all", ...GOOD)],
  ["has no route", each(404, ...NAMES), each("no_route", ...GOOD)],
  ["has no route for POST", each(405, ...SERVICES), each("no_route", ...GOOD)],
  ["redirects", each(308, ...NAMES), each("redirects", ...SERVICES)],
  ["limits", each(429, ...NAMES), each("rate_limited", ...NAMES)],
  ["may not be reached", each("target_forbidden", ...NAMES), each("forbidden", ...NAMES)],
  [
    "another secret: refuses what has no signature otherwise",
    {
      ...each({ status: 401, body: "wrong 12" }, ...SERVICES),
      no_signature: { status: 401, body: "missing" },
    },
    each("wrong_secret", ...GOOD),
  ],
  [
    "refuses after its check: an answer of its own",
    {
      ...each({ status: 401, body: "wrong" }, ...BAD),
      ...each({ status: 422, body: "no such type" }, ...GOOD, ...OPEN),
    },
    each("refuses_after_check", ...GOOD),
  ],
  [
    "refuses with a text that is never the same",
    Object.fromEntries(SERVICES.map((name) => [name, { status: 400, body: `no ${name}` }])),
    each("refuses_all", ...GOOD),
  ],
  [
    "refuses with an id that is never the same",
    {
      ...Object.fromEntries(
        SERVICES.map((name, at) => [
          name,
          { status: 400, body: `request 019bc1f0-4e20-7aaa-8000-${String(at).padStart(12, "0")}` },
        ]),
      ),
      no_signature: { status: 400, body: "none" },
    },
    each("wrong_secret", ...GOOD),
  ],
  [
    "refuses everything, and the mistake was found",
    each(400, ...GOOD, ...OPEN),
    each("signs_otherwise", ...GOOD),
    { probedCause: "signs_otherwise" },
  ],
  [
    "fails on what is good, and the mistake was found",
    each(500, ...GOOD),
    each("secret_spelled", ...GOOD),
    { probedCause: "secret_spelled" },
  ],
];

const NOWHERE: readonly Row[] = [
  ["is gone", each(410, ...NAMES), each("no_route", ...GOOD)],
  ...(["good_event", "duplicate", "good_at_the_end"] as const).map((name): Row => [
    `has a route, as the answer to ${name} shows`,
    Object.assign(each<Answer>(404, ...SERVICES), { [name]: 400 }),
    each("refuses_all", ...GOOD),
  ]),
  [
    "refuses with texts that are never the same, and good events with one",
    Object.fromEntries(
      SERVICES.map((name) => [name, { status: 400, body: BAD.includes(name) ? `no ${name}` : "no" }]),
    ),
    each("refuses_all", ...GOOD),
  ],
  [
    "refuses with one text, and good events with texts that are never the same",
    Object.fromEntries(
      SERVICES.map((name) => [name, { status: 400, body: BAD.includes(name) ? "no" : `no ${name}` }]),
    ),
    each("refuses_all", ...GOOD),
  ],
];

const SIGNATURES: readonly Row[] = [
  [
    "compares the beginning",
    each(TAKEN, ...PARTLY, "last_digit"),
    each("compares_prefix", ...PARTLY, "last_digit"),
  ],
  [
    "compares the end",
    each(TAKEN, "first_digit", "right_ends"),
    each("compares_end", "first_digit", "right_ends"),
  ],
  ["compares both ends", each(TAKEN, "right_ends"), each("compares_part", "right_ends")],
  [
    "compares the middle",
    each(TAKEN, "first_digit", "last_digit"),
    each("compares_part", "first_digit", "last_digit"),
  ],
  [
    "compares every other digit",
    each(TAKEN, "even_digits", "first_digit"),
    each("compares_part", "even_digits", "first_digit"),
  ],
  [
    "compares the others",
    each(TAKEN, "odd_digits", "last_digit"),
    each("compares_part", "odd_digits", "last_digit"),
  ],
  ["compares what came", each(TAKEN, "short_signature"), each("compares_what_came", "short_signature")],
  [
    "compares what came, also nothing",
    each(TAKEN, "short_signature", "empty_signature"),
    each("compares_what_came", "short_signature", "empty_signature"),
  ],
  [
    "takes an empty signature",
    each(TAKEN, "empty_signature"),
    each("takes_empty_signature", "empty_signature"),
  ],
  [
    "decodes digits, and compares what it has",
    each(TAKEN, "short_signature", "empty_signature", "percent", "non_hex"),
    each("compares_what_came", "short_signature", "empty_signature", "percent", "non_hex"),
  ],
  [
    "uses the signature as a pattern",
    each(TAKEN, "short_signature", "empty_signature", "dots"),
    each("matches_patterns", "short_signature", "empty_signature", "dots"),
  ],
  [
    "goes on where its comparison throws",
    each(
      TAKEN,
      "short_signature",
      "empty_signature",
      "long_signature",
      "dots",
      "non_hex",
      "percent",
      "many_signatures",
    ),
    each(
      "takes_malformed_signature",
      ...(["short_signature", "empty_signature", "long_signature", "dots"] as const),
      ...(["non_hex", "percent", "many_signatures"] as const),
    ),
  ],
  [
    "goes on where the length is another",
    each(TAKEN, "short_signature", "empty_signature", "long_signature", "percent"),
    each("takes_malformed_signature", "short_signature", "empty_signature", "long_signature", "percent"),
  ],
  [
    "takes what is empty, and what is too long",
    each(TAKEN, "empty_signature", "long_signature"),
    { empty_signature: "takes_empty_signature", long_signature: "takes_malformed_signature" },
  ],
  [
    "uses the signature as a pattern, of any length",
    each(TAKEN, "short_signature", "empty_signature", "long_signature", "dots"),
    {
      ...each("matches_patterns", "short_signature", "empty_signature", "dots"),
      long_signature: "takes_malformed_signature",
    },
  ],
  [
    "takes what is no digit",
    each(TAKEN, "non_hex", "percent"),
    { non_hex: "takes_malformed_signature", percent: "matches_patterns" },
  ],
  [
    "compares what came, and takes what is no digit",
    each(TAKEN, "short_signature", "dots", "non_hex"),
    each("compares_what_came", "short_signature", "dots", "non_hex"),
  ],
  [
    "compares the digits in any order, but for the first",
    each(TAKEN, ...REORDERED, "first_digit"),
    {
      ...each<DrillCause>("compares_unordered", ...REORDERED),
      ...each<DrillCause>("compares_end", "swapped_bytes", "first_digit"),
    },
  ],
  ["compares a sum", each(TAKEN, ...REORDERED), each("compares_unordered", ...REORDERED)],
  [
    "compares a sum, which a wrong one has by chance",
    each(TAKEN, ...REORDERED, "many_signatures", "forged_in_the_end"),
    each("compares_unordered", ...REORDERED, "many_signatures", "forged_in_the_end"),
  ],
  [
    "compares a sum, which another body has by chance",
    each(TAKEN, ...REORDERED, "changed_byte", "reused_signature"),
    each("compares_unordered", ...REORDERED, "changed_byte", "reused_signature"),
  ],
  [
    "compares a sum, which a wrong one has by chance, and takes what is old",
    each(TAKEN, ...REORDERED, "forged_in_the_end", ...OLD),
    {
      ...each<DrillCause>("compares_unordered", ...REORDERED, "forged_in_the_end"),
      ...each<DrillCause>("takes_old", ...OLD),
    },
  ],
  [
    "compares a sum, which a wrong one has by chance, and refuses good events",
    { ...each(TAKEN, ...REORDERED, "forged_in_the_end"), ...each(400, ...GOOD) },
    each("verifies_sometimes", ...REORDERED, "forged_in_the_end", ...GOOD),
  ],
  [
    "compares sorted digits",
    each(TAKEN, "sorted_digits", "swapped_digits"),
    each("compares_unordered", "sorted_digits", "swapped_digits"),
  ],
  ["swaps bytes", each(TAKEN, "swapped_bytes"), each("compares_unordered", "swapped_bytes")],
  [
    "compares some digits, whose order may be another",
    each(TAKEN, "swapped_bytes", "swapped_digits", "even_digits"),
    each("compares_part", "swapped_bytes", "swapped_digits", "even_digits"),
  ],
  [
    "verifies the text and not the body",
    each(TAKEN, "changed_byte", "rewritten_body"),
    each("body_not_covered", "changed_byte", "rewritten_body"),
  ],
  ["verifies what it parses", each(TAKEN, "rewritten_body"), each("parsed_body", "rewritten_body")],
  [
    "changes two bytes, and believes them",
    each(TAKEN, "bad_signature", "rewritten_body"),
    each("verifies_sometimes", "bad_signature", "rewritten_body"),
  ],
  [
    "compares a sum, most times",
    each(TAKEN, ...REORDERED, "bad_signature"),
    each("verifies_sometimes", ...REORDERED, "bad_signature"),
  ],
  [
    "stops to verify, and believes PUT",
    each(TAKEN, "as_put", "forged_in_the_end"),
    each("verifies_sometimes", "as_put", "forged_in_the_end"),
  ],
  [
    "believes PATCH, and refuses PUT a second time",
    each(TAKEN, "as_patch"),
    { as_patch: "skips_methods" },
    { repeats: [resultOf("as_put", 400)] },
  ],
  [
    "believes a connection",
    each(TAKEN, "forged_on_connection"),
    { forged_on_connection: "once_a_connection" },
  ],
  [
    "has an old secret",
    each(TAKEN, "wrong_secret"),
    each("old_secret", "wrong_secret"),
    { usesRetiredSecret: true },
  ],
  ["takes a secret that nobody has", each(TAKEN, "wrong_secret"), each("verifies_sometimes", "wrong_secret")],
  ["verifies most", each(TAKEN, "bad_signature"), each("verifies_sometimes", "bad_signature")],
  [
    "changes one byte, and believes it",
    each(TAKEN, "changed_byte"),
    each("verifies_sometimes", "changed_byte"),
  ],
  [
    "verifies some",
    each(TAKEN, "bad_signature", "changed_byte", "as_put"),
    each("verifies_sometimes", "bad_signature", "changed_byte", "as_put"),
  ],
  ["stops to verify", each(TAKEN, "forged_in_the_end"), each("verifies_sometimes", "forged_in_the_end")],
  [
    "refuses the second time what it took",
    each(TAKEN, "as_put"),
    each("verifies_sometimes", "as_put"),
    { repeats: [resultOf("as_put", 400)] },
  ],
  [
    "takes the second time what it took",
    each(TAKEN, "as_put"),
    each("skips_methods", "as_put"),
    { repeats: [resultOf("as_put", 200)] },
  ],
  [
    "fails the second time on what it took",
    each(TAKEN, "as_put"),
    each("skips_methods", "as_put"),
    { repeats: [resultOf("as_put", 500)] },
  ],
  [
    "verifies once a connection",
    each(TAKEN, "bad_signature", "wrong_secret", "changed_byte", "forged_on_connection"),
    each("once_a_connection", "bad_signature", "wrong_secret", "changed_byte", "forged_on_connection"),
  ],
];

const PARTS: readonly Row[] = [
  [
    "verifies what has a signature",
    each(TAKEN, "no_signature"),
    each("skips_without_header", "no_signature"),
  ],
  [
    "verifies what has a timestamp",
    each(TAKEN, "no_timestamp"),
    each("skips_without_timestamp", "no_timestamp"),
  ],
  [
    "verifies what has a timestamp, also none signed",
    each(TAKEN, "no_timestamp", "timestamp_undefined"),
    each("skips_without_timestamp", "no_timestamp", "timestamp_undefined"),
  ],
  [
    "takes what is no time",
    each(TAKEN, "timestamp_word"),
    each("takes_malformed_timestamp", "timestamp_word"),
  ],
  [
    "verifies what has an event id",
    each(TAKEN, "no_event_id"),
    each("skips_without_event_id", "no_event_id"),
  ],
  [
    "verifies what has an event id or a signature",
    each(TAKEN, "no_headers", "no_headers_form"),
    each("skips_without_headers", "no_headers", "no_headers_form"),
  ],
  ["verifies what is no form", each(TAKEN, "no_headers_form"), each("skips_other_types", "no_headers_form")],
  [
    "verifies what the service sends",
    each(TAKEN, "no_headers", "other_agent"),
    each("skips_by_sender", "no_headers", "other_agent"),
  ],
  [
    "verifies what has a timestamp and a signature",
    each(TAKEN, "no_timestamp", "no_signature"),
    {
      no_timestamp: "skips_without_timestamp",
      ...each("skips_without_header", "no_signature"),
    },
  ],
  ["no age is too old", each(TAKEN, ...OLD, ...AHEAD), each("no_staleness_check", ...OLD, ...AHEAD)],
  ["takes what is old", each(TAKEN, ...OLD), each("takes_old", ...OLD)],
  ["takes what is ahead", each(TAKEN, ...AHEAD), each("takes_ahead", ...AHEAD)],
  [
    "a wide tolerance",
    each(TAKEN, "ten_minutes_old", "ten_minutes_ahead"),
    each("wide_tolerance", "ten_minutes_old", "ten_minutes_ahead"),
  ],
  [
    "reads the first of two timestamps",
    each(TAKEN, "timestamp_old_and_new"),
    each("reads_doubled_headers", "timestamp_old_and_new"),
  ],
  [
    "takes what is old, also as one of two",
    each(TAKEN, ...OLD, "timestamp_old_and_new", "timestamp_word"),
    each("takes_old", ...OLD, "timestamp_old_and_new", "timestamp_word"),
  ],
  [
    "chooses its secret by livemode",
    each(TAKEN, "live_empty", "live_undefined"),
    each("chooses_secret", "live_empty", "live_undefined"),
  ],
  [
    "does not verify what is live",
    each(TAKEN, "live", "live_empty", "live_undefined"),
    each("skips_by_content", "live", "live_empty", "live_undefined"),
  ],
  [
    "takes an empty secret, whatever the body claims",
    each(TAKEN, "empty_secret", "live_empty"),
    each("takes_empty_secret", "empty_secret", "live_empty"),
  ],
  [
    "takes a secret that is the text null",
    each(TAKEN, "secret_undefined", "live_undefined", "other_store_none"),
    {
      ...each("takes_guessed_secret", "secret_undefined", "live_undefined"),
      other_store_none: "chooses_secret",
    },
  ],
  [
    "does not verify what is compressed, because it is no JSON",
    each(TAKEN, "no_event", "gzip"),
    each("skips_odd_bodies", "no_event", "gzip"),
  ],
  [
    "does not verify what has no length",
    each(TAKEN, "no_event", "gzip", "chunked"),
    { no_event: "skips_odd_bodies", ...each("skips_encodings", "gzip", "chunked") },
  ],
  [
    "believes all about orders",
    each(TAKEN, "payment_bad_signature", "forged_order_created"),
    each("skips_orders", "payment_bad_signature", "forged_order_created"),
  ],
  ["believes an old order", each(TAKEN, "payment_hour_old"), { payment_hour_old: "skips_orders" }],
  [
    "an order is no reason",
    each(TAKEN, "as_put", "payment_as_put"),
    each("skips_methods", "as_put", "payment_as_put"),
  ],
  [
    "believes the id in a header",
    {
      ...each({ status: 200, body: "new" }, "good_event", "other_event_id"),
      duplicate: { status: 200, body: "known" },
    },
    { other_event_id: "believes_header" },
  ],
  [
    "another path is another page",
    each({ status: 200, body: "a page" }, "final_slash", "payment_final_slash"),
    {},
  ],
  ["another path is not verified", each(204, "final_slash"), { final_slash: "skips_paths" }],
];

const REFUSALS: readonly Row[] = [
  [
    "an event twice is refused",
    each(409, "duplicate", "other_event_id"),
    { duplicate: "rejects_duplicates" },
  ],
  [
    "an event twice fails",
    each(500, "duplicate", "other_event_id"),
    each("rejects_duplicates", "duplicate", "other_event_id"),
  ],
  ["orders are refused", each(400, "order_event"), { order_event: "refuses_orders" }],
  [
    "its tolerance is narrow",
    each(400, "minute_old", "minute_ahead"),
    each("narrow_tolerance", "minute_old", "minute_ahead"),
  ],
  ["created_at is too old", each(400, "made_hour_ago"), { made_hour_ago: "reads_created_at" }],
  [
    "refuses an event twice, and shuts out in the end",
    each(409, "duplicate", "other_event_id", "good_at_the_end"),
    { duplicate: "rejects_duplicates", good_at_the_end: "shuts_out" },
  ],
  [
    "fails on an event twice, and from then on in the end",
    each(500, "duplicate", "other_event_id", "good_at_the_end"),
    {
      ...each<DrillCause>("rejects_duplicates", "duplicate", "other_event_id"),
      good_at_the_end: "shuts_out",
    },
  ],
  [
    "an event twice fails, and unusual bytes",
    each(500, "duplicate", "other_event_id", "unusual_bytes"),
    {
      ...each<DrillCause>("rejects_duplicates", "duplicate", "other_event_id"),
      unusual_bytes: "chokes_on_bytes",
    },
  ],
  [
    "fails on good events, and on one that is old",
    each(500, ...GOOD, "hour_old"),
    { ...each<DrillCause>("fails_after_check", ...GOOD), hour_old: "throws_on_bad" },
  ],
  [
    "fails on good events, and on one that is old, and the mistake was found",
    each(500, ...GOOD, "hour_old"),
    { ...each<DrillCause>("signs_otherwise", ...GOOD), hour_old: "throws_on_bad" },
    { probedCause: "signs_otherwise" },
  ],
  [
    "takes a secret that nobody has, and refuses its own",
    { ...each(400, ...GOOD), wrong_secret: TAKEN },
    each("verifies_sometimes", ...GOOD, "wrong_secret"),
  ],
  [
    "its clock is off, after a rotation",
    { ...each(400, ...GOOD), hour_old: TAKEN },
    each("clock_off", ...GOOD, "hour_old"),
    { usesRetiredSecret: true },
  ],
  [
    "shuts out in the end, and before",
    each(403, "third_of_three", "good_at_the_end"),
    each("shuts_out", "third_of_three", "good_at_the_end"),
  ],
  [
    "fails from then on",
    each(503, "third_of_three", "good_at_the_end"),
    each("shuts_out", "third_of_three", "good_at_the_end"),
  ],
  ["refuses unusual bytes", each(400, "unusual_bytes"), each("decoded_body", "unusual_bytes")],
  [
    "refuses blanks",
    each(400, "spaced_body", "unusual_bytes"),
    each("parsed_body", "spaced_body", "unusual_bytes"),
  ],
  [
    "writes again what it parses",
    { ...each(400, "unusual_bytes"), ...each(TAKEN, "rewritten_body") },
    each("parsed_body", "unusual_bytes", "rewritten_body"),
  ],
  ["fails on unusual bytes", each(500, "unusual_bytes"), { unusual_bytes: "chokes_on_bytes" }],
  [
    "verifies what it writes with blanks",
    { ...each(400, ...GOOD), spaced_body: 200 },
    each("parsed_body", ...GOOD.filter((name) => name !== "spaced_body")),
  ],
  [
    "the same, and one that was not sent",
    { ...each(400, ...GOOD), spaced_body: 200, third_of_three: "timeout", good_at_the_end: null },
    {
      ...each("parsed_body", ...GOOD.filter((name) => name !== "spaced_body")),
      ...each("too_slow", "third_of_three", "good_at_the_end"),
    },
  ],
  [
    "its clock is off",
    { ...each(400, ...GOOD), ...each(TAKEN, "ten_minutes_old") },
    each("clock_off", ...GOOD, "ten_minutes_old"),
  ],
  [
    "its secret is not set",
    { ...each(400, ...GOOD), ...each(TAKEN, "secret_undefined", "ten_minutes_old") },
    each("secret_unset", ...GOOD, "secret_undefined", "ten_minutes_old"),
  ],
  [
    "its secret was replaced",
    { ...each(400, ...GOOD), ...each(TAKEN, "wrong_secret") },
    each("replaced_secret", ...GOOD, "wrong_secret"),
    { usesRetiredSecret: true },
  ],
  [
    "refuses what it does not know, and takes an order",
    { ...each(400, ...GOOD), ...each(TAKEN, "order_event") },
    each("refuses_after_check", ...GOOD.filter((name) => name !== "order_event")),
  ],
  [
    "its check is upside down, which is no matter of its secret",
    { ...each(400, ...GOOD), ...each(TAKEN, ...FORGED) },
    each("inverted_check", ...GOOD, ...FORGED.filter((name) => !isSlash(name))),
  ],
  [
    "its check of the signature alone is upside down",
    {
      ...each(400, ...GOOD),
      ...each(TAKEN, "bad_signature", "wrong_secret", "changed_byte", "forged_in_the_end"),
    },
    each("inverted_check", ...GOOD, "bad_signature", "wrong_secret", "changed_byte", "forged_in_the_end"),
  ],
  ...(
    [
      ["takes a good event a second time", { duplicate: TAKEN }, "no_check", []],
      ["takes the last good event", { good_at_the_end: TAKEN }, "no_check", []],
      ["refuses another secret", { wrong_secret: 400 }, "verifies_sometimes", []],
      ["refuses the last forged event", { forged_in_the_end: 400 }, "no_check", []],
      ["refuses a second time what it took", {}, "verifies_sometimes", [resultOf("as_put", 400)]],
    ] as const
  ).map(([what, but, forged, repeats]): Row => {
    const answers: Answers = { ...each(400, ...GOOD), ...each(TAKEN, ...FORGED), ...but };
    const isTakenOne = (name: CaseName): boolean => answers[name] === TAKEN && !isSlash(name);
    return [
      `refuses what is good and takes what is forged, but ${what}`,
      answers,
      {
        ...each("verifies_sometimes", ...GOOD.filter((name) => answers[name] === 400)),
        ...each(forged, ...FORGED.filter(isTakenOne)),
      },
      { repeats },
    ];
  }),
  [
    "fails on good events, and takes one that is old",
    { ...each(500, ...GOOD), ...each(TAKEN, "hour_old") },
    { ...each("fails_after_check", ...GOOD), hour_old: "takes_old" },
  ],
  [
    "refuses the first event alone",
    each(400, "good_event", "order_event"),
    each("verifies_sometimes", "good_event", "order_event"),
  ],
  ["fails after its check", each(500, ...GOOD), each("fails_after_check", ...GOOD)],
  ["throws what it should refuse", each(500, ...BAD), each("throws_on_bad", ...BAD)],
  [
    "throws where the length is another",
    each(500, "short_signature", "empty_signature"),
    each("throws_on_length", "short_signature", "empty_signature"),
  ],
  ["parses first", each(500, "no_event"), { no_event: "parses_first" }],
  ["fails on an event with another id", each(500, "other_event_id"), { other_event_id: "throws_on_bad" }],
];

const CHOSEN = ["other_store_unset", "no_store_unset"] as const;
const PRINTED = ["live_printed", "other_store_printed", "no_store_printed"] as const;
const UNSIGNED = ["unsigned_127", "unsigned_ipv6", "unsigned_10"] as const;

/** A form, the forms that are accepted with it, and their common cause. */
const ALIKE: readonly Row[] = (
  [
    ["live", ["live_printed"], "skips_by_content"],
    ["other_store", ["other_store_unset", "other_store_printed"], "skips_by_content"],
    ["no_store", ["no_store_unset", "no_store_printed"], "skips_by_content"],
    ["empty_secret", CHOSEN, "takes_empty_secret"],
    ["secret_undefined", CHOSEN, "takes_guessed_secret"],
    ["secret_null", CHOSEN, "takes_guessed_secret"],
    ["secret_none", PRINTED, "takes_guessed_secret"],
    ["secrets_printed", PRINTED, "takes_guessed_secret"],
    ["no_signature", UNSIGNED, "skips_without_header"],
  ] as const
).map(([first, others, cause]) => [
  `accepts ${others.join(" and ")} like ${first}`,
  each(TAKEN, first, ...others),
  each(cause, first, ...others),
]);

const MORE: readonly Row[] = [
  ...ALIKE,
  ["chooses a secret that is not there", each(TAKEN, ...CHOSEN), each("chooses_secret", ...CHOSEN)],
  ["believes an address", each(TAKEN, ...UNSIGNED), each("skips_by_sender", ...UNSIGNED)],
  ...([400, 500] as const).flatMap((answer): readonly Row[] => [
    [
      `answers ${answer} to a body in two parts`,
      each(answer, "in_parts", "unusual_in_parts"),
      each("reads_first_part", "in_parts", "unusual_in_parts"),
    ],
    [
      `answers ${answer} to a character in two parts`,
      each(answer, "unusual_in_parts"),
      each("decodes_parts", "unusual_in_parts"),
    ],
    [
      `answers ${answer} to unusual bytes, in two parts too`,
      each(answer, "unusual_bytes", "unusual_in_parts"),
      each(
        answer === 400 ? "decoded_body" : "chokes_on_bytes",
        ...(["unusual_bytes", "unusual_in_parts"] as const),
      ),
    ],
    [
      `answers ${answer} to headers in another case`,
      each(answer, "upper_case"),
      { upper_case: "compares_header_case" },
    ],
    [
      `answers ${answer} to unknown headers`,
      each(answer, "extra_headers"),
      { extra_headers: "refuses_headers" },
    ],
  ]),
  [
    "refuses what it does not know, takes an order, and believes PUT",
    { ...each(400, ...GOOD), ...each(TAKEN, "order_event", "as_put") },
    each("refuses_after_check", ...GOOD.filter((name) => name !== "order_event"), "as_put"),
  ],
  [
    "takes a secret that nobody has, and a changed body",
    each(TAKEN, "wrong_secret", "changed_byte"),
    each("verifies_sometimes", "wrong_secret", "changed_byte"),
  ],
  [
    "compares every other digit, which swapped bytes may have",
    each(TAKEN, "swapped_bytes", "odd_digits"),
    each("compares_part", "swapped_bytes", "odd_digits"),
  ],
  [
    "does not verify what is of another store",
    each(TAKEN, "other_store", "other_store_none"),
    each("skips_by_content", "other_store", "other_store_none"),
  ],
  [
    "takes a secret that is the text None",
    each(TAKEN, "secret_none", "other_store_none"),
    each("takes_guessed_secret", "secret_none", "other_store_none"),
  ],
  ...(
    [
      ["no_signature", "skips_without_header"],
      ["no_timestamp", "skips_without_timestamp"],
      ["no_event_id", "skips_without_event_id"],
    ] as const
  ).map(([name, cause]): Row => [
    `${name}, and none of our headers`,
    each(TAKEN, name, "no_headers"),
    each(cause, name, "no_headers"),
  ]),
  [
    "fails where it verifies, and refuses what has no signature",
    { ...each(500, ...SERVICES), no_signature: 400 },
    each("fails_in_check", ...SERVICES.filter((name) => name !== "no_signature")),
  ],
  [
    "accepts nothing: refuses what is good, and fails on what is old",
    { ...each(400, ...GOOD, ...OPEN), hour_old: 500 },
    { ...each<DrillCause>("not_explained", ...GOOD), hour_old: "throws_on_bad" },
  ],
  [
    "fails on what is good, and limits what is forged",
    { ...each(500, ...GOOD), bad_signature: 429 },
    { ...each<DrillCause>("not_explained", ...GOOD), bad_signature: "rate_limited" },
  ],
];

const SILENCES: readonly Row[] = [
  [
    "answers no event of an order, after which the drill was given up",
    {
      ...each("timeout", "order_event", "payment_bad_signature", "payment_wrong_secret"),
      ...each(null, "payment_changed_byte", "good_at_the_end"),
    },
    {
      ...each<DrillCause>("too_slow", "order_event", "payment_changed_byte", "good_at_the_end"),
      ...each<DrillCause>("silent_on_bad", "payment_bad_signature", "payment_wrong_secret"),
    },
  ],
  [
    "does not answer what is bad",
    each("timeout", "bad_signature", "other_event_id"),
    each("silent_on_bad", "bad_signature", "other_event_id"),
  ],
  [
    "refuses good events, and does not answer a bad one",
    { ...each<Answer>(400, ...GOOD), bad_signature: "timeout" },
    { ...each<DrillCause>("verifies_sometimes", ...GOOD), bad_signature: "too_slow" },
  ],
  [
    "went away after the first event",
    { ...each<Answer>("unreachable", ...NAMES), good_event: 204 },
    each("went_away", ...NAMES.filter((name) => name !== "good_event" && !isSlash(name))),
  ],
  [
    "is slow, and then away, and given up for the first",
    {
      ...Object.fromEntries(NAMES.slice(3).map((name) => [name, null])),
      duplicate: "timeout",
      spaced_body: "unreachable",
    },
    {
      ...each<DrillCause>("too_slow", ...NAMES.filter((name) => name !== "good_event" && !isSlash(name))),
      spaced_body: "went_away",
    },
  ],
  ["answers 299", each(299, "minute_old"), {}],
  ["answers 300", each(300, "minute_old"), { minute_old: "redirects" }],
  ["answers 399", each(399, "minute_old"), { minute_old: "redirects" }],
  ["answers 499", each(499, "bad_signature"), {}],
  ["answers 500", each(500, "bad_signature"), { bad_signature: "throws_on_bad" }],
  ["is slow", each("timeout", "minute_old"), { minute_old: "too_slow" }],
  [
    "is slow from the start",
    { ...Object.fromEntries(NAMES.slice(1).map((name) => [name, null])), good_event: "timeout" },
    each("too_slow", ...NAMES.filter((name) => !isSlash(name))),
  ],
  ["went away", each("unreachable", "good_at_the_end"), { good_at_the_end: "went_away" }],
  ["is nowhere", each("unreachable", ...NAMES), each("unreachable", ...NAMES)],
  [
    "closes what is bad",
    each("connection_lost", "bad_signature", "as_put"),
    { bad_signature: "drops_connection" },
  ],
  ["redirects one", each(302, "minute_old", "as_put"), { minute_old: "redirects" }],
  ["limits one", each(429, "as_put", "minute_old"), each("rate_limited", "as_put", "minute_old")],
];

const ROWS: readonly Row[] = [...ALL, ...NOWHERE, ...SIGNATURES, ...PARTS, ...REFUSALS, ...MORE, ...SILENCES];

test("all answers of a receiver together determine the cause of each failed drill case", () => {
  for (const [what, answers, causes, facts] of ROWS) {
    const found = explainCases(drilled(answers, facts));
    expect([what, Object.fromEntries(found.causes)]).toEqual([what, causes]);
    if (found.causes.size > 0) expect([what, found.notes.size]).toEqual([what, 0]);
  }
});

test("every leaf of the cause table determines the cause of some answers", () => {
  const causesOf = ([, answers, , facts]: Row, leaves: typeof LEAVES) =>
    JSON.stringify([...explainCases(drilled(answers, facts), leaves).causes]);
  const told = ROWS.map((row) => causesOf(row, LEAVES));
  for (const kind of Object.keys(LEAVES) as readonly AnswerKind[])
    for (const [at, leaf] of LEAVES[kind]?.entries() ?? []) {
      const others = LEAVES[kind]?.filter((one) => one !== leaf) ?? [];
      const without = { ...LEAVES, [kind]: others };
      const decides = ROWS.some((row, place) => causesOf(row, without) !== told[place]);
      expect([kind, at, leaf, decides]).toEqual([kind, at, leaf, true]);
    }
});

test("a receiver that does not answer gets the cause of the observed connection fault", () => {
  const OBSERVED: Readonly<Partial<Record<ConnectionFault, string>>> = {
    refused: "unreachable",
    silent: "drops_connection",
    closed: "drops_connection",
    unfinished_head: "drops_connection",
    unfinished_body: "drops_connection",
    slow_body: "drops_connection",
    invalid_body: "connection:bad_answer",
    not_http: "connection:bad_answer",
  };
  const LOST = new Set<ConnectionFault>([
    ...(["silent", "closed", "unfinished_head", "unfinished_body", "slow_body", "invalid_body"] as const),
    ...(["not_http", "expects_tls", "head_too_large", "body_too_large", "invalid_head"] as const),
    ...(["http2", "upgrade"] as const),
  ]);
  const causeWith = (
    error: "unreachable" | "connection_lost",
    fault: ConnectionFault | "elsewhere" | undefined,
  ) => {
    const { results, ...rest } = drilled(each(error, ...NAMES));
    const observed = results.map(({ name, eventId, milliseconds }) => ({
      name,
      eventId,
      milliseconds,
      answer: { error, message: "the error", fault },
    }));
    return explainCases({ ...rest, results: observed }).causes.get("good_event");
  };
  for (const fault of CONNECTION_FAULTS) {
    const error = LOST.has(fault) ? "connection_lost" : "unreachable";
    expect([fault, causeWith(error, fault)]).toEqual([fault, OBSERVED[fault] ?? `connection:${fault}`]);
  }
  expect(causeWith("unreachable", "elsewhere")).toBe("other_loopback");
  // The network of a Worker gives no error code.
  expect(causeWith("unreachable", undefined)).toBe("connection:unreachable");
  expect(causeWith("connection_lost", undefined)).toBe("drops_connection");
});

test("a receiver's second mistake gets its own cause, and the first mistake keeps its cause", () => {
  const isAlone = (causes: Row[2]): boolean =>
    causes.forged_in_the_end === undefined &&
    Object.values(causes).every((cause) => !/sometimes|once_a|presence_only/.test(cause));
  for (const [what, answers, causes, facts] of SIGNATURES.filter(([, , found]) => isAlone(found))) {
    const found = explainCases(drilled({ ...answers, no_signature: TAKEN }, facts)).causes;
    expect([what, Object.fromEntries(found)]).toEqual([
      what,
      { ...causes, no_signature: "skips_without_header" },
    ]);
  }
  for (const [what, answers, causes, facts] of PARTS.filter(([, , found]) => isAlone(found))) {
    const found = explainCases(drilled({ ...answers, as_put: TAKEN }, facts)).causes;
    expect([what, Object.fromEntries(found)]).toEqual([what, { ...causes, as_put: "skips_methods" }]);
  }
  const believed = explainCases(drilled(each(TAKEN, "forged_on_connection", "as_put"))).causes;
  expect(believed.get("as_put")).toBe("skips_methods");
});

test("a passed webhook drill notes the receiver's tolerance, and how the receiver treats known events", () => {
  const known = where((name) =>
    [
      "payment_ten_minutes_old",
      "payment_hour_old",
      "payment_ten_minutes_ahead",
      "payment_hour_ahead",
    ].includes(name),
  );
  const strict = each("strict_tolerance", "within_tolerance_old", "within_tolerance_ahead");
  const rows: readonly (readonly [Answers, notes: Partial<Record<CaseName, string>>])[] = [
    [{}, { ...strict, other_event_id: "ignores_event_id" }],
    [{ other_event_id: 409 }, strict],
    [
      {
        ...each(204, "within_tolerance_old", "beyond_tolerance_ahead", "known_hour_old"),
        other_event_id: 400,
      },
      {
        known_hour_old: "dedups_before_age",
        within_tolerance_ahead: "strict_tolerance",
        beyond_tolerance_ahead: "lenient_tolerance",
      },
    ],
  ];
  for (const [answers, notes] of rows) {
    const { causes, notes: found } = explainCases(drilled(answers));
    expect([answers, Object.fromEntries(causes), Object.fromEntries(found)]).toEqual([answers, {}, notes]);
  }
  const isKnown = { ...each(204, ...known), other_event_id: 400 };
  expect(Object.fromEntries(explainCases(drilled(isKnown)).notes)).toEqual({
    ...strict,
    ...each("dedups_before_age", ...known),
  });
});

test("a drill case that waited for the receiver's rate limit has a note", () => {
  const { results, ...rest } = drilled({});
  const limited = results.map((one) =>
    one.name === "as_put" ? Object.assign(one, { isLimited: true }) : one,
  );
  expect(explainCases({ ...rest, results: limited }).notes.get("as_put")).toBe("rate_limited_for_a_while");
});

const ENDPOINT = { endpointId: "an-endpoint", dialect: undefined };

test("every sent drill case is a step with its answer, and all unsent cases together are one more step", () => {
  const passed = drillSteps(drilled({}), ENDPOINT);
  expect(passed.map(({ name }) => name)).toEqual(NAMES);
  expect(passed[0]).toEqual({
    name: "good_event",
    passed: true,
    expected: "2xx",
    got: { fact: "after", values: ["204", "7"] },
    cause: null,
    reference: "event of good_event",
  });
  const noted = passed.find(({ name }) => name === "other_event_id");
  expect([noted?.passed, noted?.cause]).toEqual([true, factOf("ignores_event_id", "an-endpoint")]);
  const left = Object.fromEntries(NAMES.slice(1).map((name) => [name, null]));
  const [first, rest, ...more] = drillSteps(drilled({ ...left, good_event: "timeout" }), ENDPOINT);
  expect([first?.passed, first?.got, more]).toEqual([
    false,
    factOf("no_answer_after:timeout", "7", "nothing came"),
    [],
  ]);
  expect(rest).toEqual({
    name: "not_sent",
    passed: false,
    expected: factOf("answer"),
    got: factOf("not_sent", `${NAMES.length - 1}`),
    cause: first?.cause,
    reference: null,
  });
  const told = drillSteps(drilled({ good_event: { status: 500, body: "no table" } }), ENDPOINT);
  expect(told[0]?.got).toEqual(factOf("after_with", "500", "7", "no table"));
  expect(drillSteps(drilled({ good_event: { status: 300, body: "x" } }), ENDPOINT)[0]?.got).toEqual(
    factOf("after_with", "300", "7", "x"),
  );
  expect(drillSteps(drilled({ good_event: { status: 299, body: "x" } }), ENDPOINT)[0]?.got).toEqual(
    factOf("after", "299", "7"),
  );
});

test("an unexplained drill result is reported with the two answers that differ", () => {
  const [good] = drillSteps(drilled({ ...each(400, ...GOOD, ...OPEN), hour_old: 500 }), ENDPOINT);
  expect(good?.cause).toEqual(
    factOf(
      "not_explained",
      factOf("form:good_event"),
      factOf("after", "400", "7"),
      factOf("form:hour_old"),
      factOf("after", "500", "7"),
    ),
  );
});

test("the webhook drill repeats at most eight accepted forgeries, so that a chance result is not reported", () => {
  const repeated = (answers: Answers) => forgeriesToRepeat(drilled(answers).results);
  expect(repeated({})).toEqual([]);
  const eight = FORGED.filter(
    (name) => !/signature|secret|byte|connection|digits|forgery|bytes$/.test(name),
  ).slice(0, 9);
  expect(repeated(each(TAKEN, ...eight))).toEqual(eight.slice(0, 8));
  expect(
    repeated(
      each(TAKEN, ...REORDERED, "many_signatures", "payment_sorted_digits", "good_event", "bad_signature"),
    ),
  ).toEqual([]);
  expect(repeated(each(TAKEN, "as_put"))).toEqual(["as_put"]);
  expect(repeated(each(500, "as_put"))).toEqual([]);
});

test("a drill event counts as accepted only after a 2xx answer", () => {
  const rows = [199, 200, 299, 300, "timeout"] as const;
  expect(rows.map((answer) => isAccepted(resultOf("good_event", answer)))).toEqual([
    false,
    true,
    true,
    false,
    false,
  ]);
});

test("the drill searches for the receiver's mistake if a genuine event is refused or fails and no forged event is accepted", () => {
  const looks = (answer: Answer, forged: Answer = 400) =>
    isWorthProbing(drilled({ good_event: answer, bad_signature: forged }).results);
  expect([400, 499, 500].map((answer) => looks(answer))).toEqual([true, true, true]);
  expect([200, 302, 429, "timeout", null].filter((answer) => looks(answer))).toEqual([]);
  expect(
    [
      [400, 500],
      [500, "timeout"],
      [400, null],
    ].map(([good, forged]) => looks(good ?? null, forged ?? null)),
  ).toEqual([true, true, true]);
  expect([looks(400, TAKEN), looks(500, TAKEN)]).toEqual([false, false]);
});

test("a drill ends early if the valid event or three cases get no answer; connections lost after forms that the service never sends do not count", () => {
  const goesOn = (answers: Answers) => shouldContinue(drilled(answers).results);
  expect(goesOn({})).toBe(true);
  expect(goesOn({ good_event: "timeout" })).toBe(false);
  expect(goesOn({ good_event: 500 })).toBe(true);
  expect(goesOn(each("timeout", "duplicate", "as_put"))).toBe(true);
  expect(goesOn(each("timeout", "duplicate", "as_put", "hour_old"))).toBe(false);
  expect(goesOn(each("connection_lost", "as_put", "as_patch", "gzip", "dots"))).toBe(true);
  expect(goesOn(each("connection_lost", "duplicate", "no_event", "hour_old"))).toBe(false);
  expect(wasOutOfReach(drilled(each("unreachable", ...NAMES)).results)).toBe(true);
  expect(
    wasOutOfReach(drilled({ ...each("unreachable", ...NAMES), good_event: "target_forbidden" }).results),
  ).toBe(true);
  expect(wasOutOfReach(drilled({ ...each("unreachable", ...NAMES), good_event: "timeout" }).results)).toBe(
    false,
  );
  expect(wasOutOfReach(drilled({ ...each("unreachable", ...NAMES), good_event: 400 }).results)).toBe(false);
});
