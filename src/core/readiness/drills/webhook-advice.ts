const VERIFY_RAW =
  "Verify the bytes as they came, before any parser (express.raw, request.get_data, file_get_contents)";
const WHOLE = "Compare all 64 digits, in constant time";
/** Stands for the id of the drilled endpoint. */
const ENDPOINT = "<endpoint>";
const SHOW_SECRET = `checkout endpoints secret ${ENDPOINT}`;

/** The likely causes of a failed case of the webhook drill, with what to do. The list is closed. */
export const DRILL_CAUSES = {
  takes_all:
    "It answers 2xx to everything, also to invalid requests: the answer does not depend on the verification. Verify first, and answer 400 if that fails.",
  no_check:
    "It does not check the signature. Verify every request first, for example with hosted-checkout/webhooks.",
  presence_only: "It only checks that there is a signature, and does not compare it with the computed one.",
  skips_without_header:
    "It verifies only what has a signature header. A request without one must be refused, because anybody can leave it out.",
  skips_without_timestamp:
    "It verifies only what has a timestamp header. A request without one must be refused, because anybody can leave it out.",
  skips_without_event_id:
    "It verifies only what has the header Checkout-Event-Id. A request without it must be verified all the same, because anybody can leave it out.",
  skips_without_headers:
    "It verifies only what looks like the service's, by its headers or its User-Agent, and accepts the rest. Verify every request, and refuse one without a signature.",
  skips_other_types:
    "It verifies only some content types, such as JSON, and accepts the rest: curl -d sends a form. Verify the raw bytes of every request, whatever its Content-Type.",
  takes_empty_signature:
    "It accepts an empty signature: an empty header, or an empty list of signatures, counts as right. Refuse it before comparing.",
  takes_empty_secret:
    "It accepts what was signed with an empty secret, which anybody can do. An unset variable is among its secrets: leave it out, and do not start without one.",
  takes_guessed_secret:
    "It accepts what was signed with a secret that anybody can guess: the text of an unset variable (undefined, null, None), a default, or its own address. Take that out of its secrets, and do not start without the right one.",
  chooses_secret:
    "It chooses its secret by what the body says, its livemode or its store, before that is verified; and where the chosen secret is not set, it accepts what was signed with the empty text, or with undefined, null or None, which anybody can do. Choose the secret by the address of the endpoint, and refuse where there is none.",
  secret_unset: `Its secret is empty, or the text of an unset variable or a default: it accepts what anybody can sign with that, and refuses what the service signs. Set it to what ${SHOW_SECRET} prints, and do not start without one.`,
  secret_spelled: `It has the right secret in another form: without whsec_, decoded, in quotes, or with white space. The key of the signature is the whole text, as ${SHOW_SECRET} prints it.`,
  signs_otherwise:
    "It has the right secret, and makes another signature with it than HMAC-SHA256 over the timestamp, a dot and the raw body, in hexadecimal digits: another text, another algorithm, or other digits such as base64.",
  wrong_secret: `It has another secret than this endpoint: it refuses valid events just as forged ones, and other faults differently. ${SHOW_SECRET} prints the right one. (If it is the same: it signs something else than timestamp, dot, raw body.)`,
  replaced_secret: `It has the secret from before the last rotation, and not the new one, which ${SHOW_SECRET} prints.`,
  skips_orders:
    "It verifies webhook.test, and accepts events of orders that are forged or too old. Verify every request alike, before looking at its type or its order.",
  refuses_orders:
    "It accepts webhook.test, and refuses an event of an order that it accepted before. Answer 2xx to every verified event, also to one that is known.",
  verifies_sometimes:
    "It verifies only some requests: of requests with the same fault it accepts some and refuses others. Perhaps it verifies a sample, one of several processes has no secret, or a setting disables the check.",
  old_secret:
    "It still accepts the secret from before the last rotation, although the overlap is over. Remove that secret from its settings.",
  compares_prefix: `It compares only the beginning of the signature. ${WHOLE}.`,
  compares_end: `It compares only the end of the signature. ${WHOLE}.`,
  compares_part: `It compares only some digits of the signature. ${WHOLE}.`,
  one_signature: `It does not find the right signature among several. While secrets are rotated the header has up to three with commas: split it, and accept if any of them matches.`,
  compares_unordered: `It compares which digits the signature has, and not their order: as a sum, sorted, or as a set. ${WHOLE}.`,
  matches_patterns: `It uses the signature that it received as a pattern (a regular expression, LIKE or a wildcard), which everybody can make to match. ${WHOLE}.`,
  takes_malformed_signature:
    "It accepts a signature that has not the form of one: letters that are no digits, too many, too short or too long. Perhaps its comparison throws, and it goes on; or decoding such a text can give nothing, which equals the beginning of everything. Refuse what is not 64 hexadecimal digits.",
  takes_malformed_timestamp:
    "It accepts a timestamp that is no number: compared with NaN, no age is ever too large. Refuse a timestamp that is not ten digits.",
  reads_doubled_headers:
    "It accepts a request in which a header of ours stands twice: it verifies one of the two lines and believes the other. Refuse what comes twice.",
  skips_methods:
    "It verifies POST, and accepts PUT or PATCH without verifying. Verify every request on the route, or refuse other methods with 405.",
  skips_paths:
    "It accepts forged requests with a query or with a slash behind its path: they reach another route, or the verification is bound to the exact text of the path. Verify every request on the route.",
  skips_odd_bodies:
    "It does not verify a body that is empty, a list, or no JSON, and answers 2xx. Verify the raw bytes first, whatever they are, also none.",
  skips_large:
    "It does not verify larger bodies: a limit for what is read or logged comes first, and the answer is 2xx. Refuse what is too large with 413.",
  skips_encodings:
    "It does not verify a body that comes in chunks or compressed, and answers 2xx: perhaps it relies on Content-Length. Read the whole body, and verify it.",
  skips_by_sender:
    "It trusts a request because of who seems to send it: a User-Agent, Authorization or X-Forwarded-For, which anybody can set. Verify the signature of every request.",
  skips_by_content:
    "It looks at what the body says before it verifies it, and answers 2xx: its type, its store or its livemode. Verify every request first, and decide after that.",
  known_before_check:
    "It looks whether it knows the event before it verifies the request, and accepts it without: everybody can learn an event_id. Verify first.",
  remembers_signature:
    "It remembers that a signature was right, and does not compute it again for another body. Compute the signature of every request.",
  once_a_connection:
    "It verifies the first request of a connection, and believes all that follow on it: behind a proxy they come from everybody. Verify every request.",
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
  wide_tolerance:
    "It accepts timestamps that are 10 minutes off, so a recorded request can be sent again for too long. Is its tolerance in the wrong unit? 5 minutes are 300 seconds.",
  narrow_tolerance:
    "It refuses an event that was signed a minute before or after its clock: queues and clocks differ by as much. Its tolerance is too short or in the wrong unit (300 seconds are 300000 milliseconds), one side has none, or its clock is off.",
  reads_created_at:
    "It refuses an event that was made an hour ago, although it was signed now: it looks at the age of created_at. An event that was not accepted comes again for a day, with its created_at and a new timestamp. Look at the age of the header Checkout-Timestamp alone.",
  clock_off:
    "Its clock is off: it refuses what was signed now, and accepts what was signed at another time. Set it by the network (NTP), and compare Unix seconds, which have no time zone.",
  believes_header:
    "It takes the id of an event from the header Checkout-Event-Id, which is not signed: under another id it took a known event for a new one. Take event_id from the body that was verified.",
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
  refuses_after_check:
    "It tells valid events from forged ones, and refuses both: the signature is right, and a check after it is not passed. Perhaps its clock is minutes off, or it refuses types that it does not know, such as webhook.test: answer 2xx to them.",
  refuses_all: `It refuses everything alike, also valid events. Most likely it has another secret than this endpoint; ${SHOW_SECRET} prints the right one. Otherwise it expects other headers than Checkout-Signature and Checkout-Timestamp; or signs something else than timestamp, dot, raw body; or its clock is minutes off; or a login or CSRF check comes first; or it refuses unknown types, such as webhook.test. Which: checkout webhooks verify names the cause, if you give it, as --signature, what your code computes.`,
  no_route:
    "There is no such route, or none for POST: the path of the endpoint is wrong, or the receiver is another program.",
  redirects:
    "It answers with a redirect, and redirects are not followed: give the endpoint the target address (http or https, with or without a final slash).",
  rate_limited:
    "It answers 429, also after a pause: it limits the rate, which says nothing of its verification. Exempt the service from the limit.",
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

/** What is worth knowing about a case that passed. The list is closed. */
export const DRILL_NOTES = {
  strict_tolerance:
    "A note: it refuses what is less than 5 minutes old or ahead. The interface states no tolerance; with a short one, a slow network or a clock that is off loses events until their next try.",
  lenient_tolerance:
    "A note: it accepts what is more than 5 minutes old or ahead. The interface states no tolerance; a longer one lets a recorded request be sent again for longer.",
  dedups_before_age:
    "A note: it accepts a known event again, however old its timestamp is, which repeats nothing: it looks whether it knows the event before it looks at its age.",
  rate_limited_for_a_while:
    "A note: it answered 429 because it limits the rate, and accepted or refused the same requests later. The service tries again too, but later than it could: exempt it from the limit.",
  ignores_event_id:
    "A note: it accepts an event whose header Checkout-Event-Id has another id than the body, which is right if it looks at the body alone. That header is not signed.",
} as const;

/** The code of a cause. */
export type DrillCause = keyof typeof DRILL_CAUSES;
/** The code of a note. */
export type DrillNote = keyof typeof DRILL_NOTES;

/** A cause or a note, with the commands for the drilled endpoint. */
export function adviceText(code: DrillCause | DrillNote, endpointId: string): string {
  return { ...DRILL_CAUSES, ...DRILL_NOTES }[code].replaceAll(ENDPOINT, endpointId);
}
