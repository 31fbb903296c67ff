import type { Cause } from "../../src/core/readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../../src/core/readiness/drills/judged-invariants.ts";
import { FORGERY_ACTIONS } from "../../src/core/fault/actions.ts";
import type { CLIENT_HISTORIES } from "../../src/core/judge/histories/client.ts";
import type { DrillCause } from "../../src/core/readiness/drills/webhook-advice.ts";

/** The invariant of each broken history of a client. */
type ClientFaults = Readonly<Partial<Record<keyof typeof CLIENT_HISTORIES | "plain_purchase", string>>>;

/** Histories that lose the answer to a create. */
const LOST = ["answer_lost", "answer_lost_twice", "answer_cut"] as const;
/** Histories that refuse a create temporarily. */
const REFUSED = ["create_5xx", "create_429"] as const;
const FAILED = [...LOST, "create_unsent", ...REFUSED] as const;
/** Histories of two purchases whose order_ids are alike. */
const ALIKE = ["keys_case", "keys_digits"] as const;

/** One invariant, broken in each of these histories. */
function at(invariant: string, ...histories: readonly (keyof ClientFaults)[]): ClientFaults {
  return Object.fromEntries(histories.map((history) => [history, invariant]));
}

/** The broken histories of a client that uses one key for different purchases. */
const ONE_KEY = at("one_key", ...FAILED, "client_killed", ...ALIKE, "bought_at_once");

/**
 * The finding of `explore` for a broken shop: the invariant, the cause, and the smallest schedule. Each step lists the
 * faults or payer's outcomes that lead to the same finding, because the seed decides which comes first.
 */
type Explored = {
  readonly invariant: JudgedInvariant;
  readonly cause: Cause;
  readonly least: readonly (readonly string[])[];
};

/** Faults that hide from a client that its order was created. */
const HIDDEN_ANSWERS = ["lose_answer", "empty", "truncate"];
/** Faults after which a client has to send its create again. */
const RETRIED = [...HIDDEN_ANSWERS, "status", "reset", "lose_request", "rate_limit", "storage_full"];

/**
 * The exact findings that a run must report about broken receivers, clients and shops. Their code is in
 * `broken-receivers.ts`, `shop-clients.ts`, `explore-shops.ts` and `killed-shops.ts`, under the same names.
 */
export const FINDINGS: {
  /** All causes that the drill reports. */
  readonly webhooks: Readonly<Record<string, readonly DrillCause[]>>;
  /** Each history that is broken, with its invariant. */
  readonly idempotency: Readonly<Record<string, ClientFaults>>;
  /** The first finding of `explore`. */
  readonly explore: Readonly<Record<string, Explored>>;
  /** The same for shops that can be killed, and for the clients of the idempotency drill. */
  readonly exploreKilled: Readonly<Record<string, Explored>>;
  readonly exploreClients: Readonly<Record<string, Explored>>;
} = {
  webhooks: {
    "believes everything": ["takes_all"],
    "believes all that is an event": ["no_check", "parses_first"],
    "only looks whether there is a signature": ["presence_only"],
    "refuses what verifies, and believes the rest": ["inverted_check"],
    "refuses the right signature, and believes all others": ["inverted_check", "parses_first"],
    "believes the sender's User-Agent": ["no_check"],
    "verifies the first, and believes the sender from then on": ["takes_all"],
    "verifies the first ten": ["verifies_sometimes"],
    "one of two processes has no secret, and verifies nothing": ["verifies_sometimes"],
    "the other of two processes has no secret, and verifies nothing": ["verifies_sometimes"],
    "verifies what has a signature": ["skips_without_header"],
    "verifies what has a signature that is not empty": ["skips_without_header", "takes_empty_signature"],
    "verifies what has a timestamp": ["skips_without_timestamp"],
    "verifies what has an event id": ["skips_without_event_id"],
    "verifies what has any header of ours": ["skips_without_headers"],
    "verifies what has an event id or a timestamp": ["skips_without_headers"],
    "verifies what has an event id or a signature": ["skips_without_headers"],
    "verifies what has a timestamp or a signature": ["skips_without_headers"],
    "verifies what the service's User-Agent sends": ["skips_by_sender"],
    "verifies JSON alone": ["skips_other_types"],
    "verifies all but what a form sends": ["skips_other_types"],
    "verifies all but plain text": ["skips_other_types"],
    "accepts an empty list of signatures": ["takes_empty_signature"],
    "accepts signatures with a second secret that is unset": ["takes_empty_secret"],
    "its only secret is empty": ["secret_unset"],
    "another secret, and tells why": ["wrong_secret"],
    "another secret, 401 without and 403 with a signature": ["wrong_secret"],
    "another secret, and says nothing": ["refuses_all"],
    "the secret without its beginning, and says nothing": ["secret_spelled"],
    "expects another header, and tells so": ["refuses_all"],
    "compares the first 16 digits": ["compares_prefix"],
    "compares the first 40 digits": ["compares_prefix"],
    "compares all but the last digit": ["compares_prefix"],
    "compares the last 8 digits": ["compares_end"],
    "compares all but the first digit": ["compares_end"],
    "compares the first 40 and the last 8 digits": ["compares_part"],
    "compares the middle": ["compares_part"],
    "compares only as many digits as it is given": ["compares_what_came"],
    "throws where the lengths differ": ["throws_on_length"],
    "compares the whole header": ["one_signature"],
    "looks at the first of several signatures": ["one_signature"],
    "looks at the last of several signatures": ["one_signature"],
    "no age is too old": ["no_staleness_check"],
    "a tolerance of 300,000 seconds instead of milliseconds": ["no_staleness_check"],
    "a future age is never too much": ["takes_ahead"],
    "no past is too old": ["takes_old"],
    "a tolerance of 59 minutes": ["wide_tolerance"],
    "a tolerance of 59 minutes for old ones": ["wide_tolerance"],
    "a tolerance of 300 milliseconds instead of seconds": ["narrow_tolerance"],
    "a tolerance of 30 seconds": ["narrow_tolerance"],
    "nothing from the future": ["narrow_tolerance"],
    "a clock that is 7 minutes slow": ["clock_off"],
    "a clock that is an hour fast": ["clock_off"],
    "verifies what it writes again": ["parsed_body", "parses_first"],
    "verifies what Python's json.dumps writes": ["parsed_body", "parses_first"],
    "reads the body as Latin-1": ["decoded_body"],
    "trims the body": ["decoded_body"],
    "parses before it verifies": ["parses_first"],
    "remembers what verified by its timestamp alone": ["no_check"],
    "verifies webhook.test alone": ["skips_orders"],
    "verifies all but order.succeeded": ["skips_orders"],
    "verifies orders, and forgot sessions": ["skips_orders"],
    "404 for an order that it does not know, and believes all about one that it does": ["skips_orders"],
    "of orders alone: believes those without a signature": ["skips_orders"],
    "of orders alone: believes those with an empty signature": ["skips_orders"],
    "of orders alone: believes those without a timestamp": ["skips_orders"],
    "of orders alone: believes those without an event id": ["skips_orders"],
    "of orders alone: believes those without a header of ours": ["skips_orders"],
    "of orders alone: believes those in a form": ["skips_orders"],
    "of orders alone: has a tolerance of 59 minutes": ["skips_orders"],
    "of orders alone: compares 8 digits": ["skips_orders"],
    "of orders alone: compares the last 8 digits": ["skips_orders"],
    "of orders alone: compares all but the last digit": ["skips_orders"],
    "of orders alone: compares the first 40 and the last 8 digits": ["skips_orders"],
    "of orders alone: takes an unset secret for one": ["skips_orders"],
    "fails on every order": ["refuses_orders"],
    "refuses types that it does not know, and tells so": ["refuses_after_check"],
    "an event twice is 409": ["rejects_duplicates"],
    "an event twice is 500": ["rejects_duplicates"],
    "takes the id of an event from its header": ["believes_header"],
    "takes the id of an event from its header, and says it": ["believes_header"],
    "throws what it should refuse": ["throws_on_bad"],
    "500 to everything": ["fails_always"],
    "401 to everything": ["refuses_all"],
    "404 to everything": ["no_route"],
    "redirects to a final slash": ["redirects"],
    "429 to everything": ["rate_limited"],
    "429 after the twentieth": ["rate_limited"],
    "verifies, and fails after it": ["fails_after_check"],
    "blocks the sender after five forged ones": ["shuts_out"],
    "closes the connection instead of refusing": ["drops_connection"],
    "verifies POST alone, and believes the rest": ["skips_methods"],
    "verifies all but PATCH, and believes the rest": ["skips_methods"],
    "verifies what comes to its path without a query, and believes the rest": ["skips_paths"],
    "verifies what comes to its path without a slash, and believes the rest": ["skips_paths"],
    "verifies what comes to exactly its path, and believes the rest": ["skips_paths"],
    "verifies what has a body, and believes the rest": ["skips_odd_bodies"],
    "verifies all but a list, and believes the rest": ["skips_odd_bodies"],
    "verifies all that is an object, and believes the rest": ["skips_odd_bodies"],
    "verifies the first 4 kB, and believes the rest": ["skips_large"],
    "verifies the first 64 kB, and believes the rest": ["skips_large"],
    "verifies what has a length, and believes the rest": ["skips_encodings"],
    "verifies what is not compressed, and believes the rest": ["skips_encodings"],
    "verifies what has a content type, and believes the rest": ["skips_other_types"],
    "verifies all but multipart, and believes the rest": ["skips_other_types"],
    "verifies all but octets, and believes the rest": ["skips_other_types"],
    "verifies all but JSON by a suffix, and believes the rest": ["skips_other_types"],
    "verifies all but JSON with a charset, and believes the rest": ["skips_other_types"],
    "verifies all but browsers, and believes the rest": ["skips_by_sender"],
    "verifies what has a User-Agent, and believes the rest": ["skips_by_sender"],
    "verifies what has no Authorization, and believes the rest": ["skips_by_sender"],
    "verifies what comes directly, and believes the rest": ["skips_by_sender"],
    "verifies what has no X-Real-IP, and believes the rest": ["skips_by_sender"],
    "verifies what has no Forwarded, and believes the rest": ["skips_by_sender"],
    "verifies what does not come from 10.0.0.0/8, and believes the rest": ["skips_by_sender"],
    "verifies what does not come from 192.168.0.0/16, and believes the rest": ["skips_by_sender"],
    "verifies what is signed, or does not come from ::1, and believes the rest": ["skips_by_sender"],
    "verifies what has no cookie, and believes the rest": ["skips_by_sender"],
    "verifies what has no key of its API, and believes the rest": ["skips_by_sender"],
    "verifies types with a dot, and believes the rest": ["skips_by_content", "skips_odd_bodies"],
    "verifies types that it knows, and believes the rest": ["skips_by_content"],
    "verifies what is not live, and believes the rest": ["skips_by_content"],
    "ignores other stores before it verifies": ["skips_by_content"],
    "ignores what is older than what it knows before it verifies": ["skips_orders"],
    "ignores orders that it does not know before it verifies": ["skips_orders"],
    "verifies the first request of each connection": ["once_a_connection"],
    "knows an event before it verifies it": ["known_before_check"],
    "remembers which signatures were right": ["remembers_signature"],
    "verifies nine of ten": ["verifies_sometimes"],
    "verifies three of four, as it happens": ["verifies_sometimes"],
    "verifies all but each fortieth": ["verifies_sometimes"],
    "signs the body alone": ["signs_otherwise"],
    "signs with a colon": ["signs_otherwise"],
    "signs the body first": ["signs_otherwise"],
    "signs the event id too": ["signs_otherwise"],
    "signs [object Object]": ["parsed_body"],
    "signs no body at all": ["parsed_body"],
    "signs the keys in their order": ["parsed_body", "parses_first"],
    "signs what is indented": ["parsed_body", "parses_first"],
    "signs a line break behind it": ["decoded_body"],
    "the secret decoded from base64": ["secret_spelled"],
    "the secret with a line break": ["secret_spelled"],
    "the secret in quotes": ["secret_spelled"],
    "undefined is among its secrets": ["takes_guessed_secret"],
    "null is among its secrets": ["takes_guessed_secret"],
    "None is among its secrets": ["takes_guessed_secret"],
    "changeme is among its secrets": ["takes_guessed_secret"],
    "test is among its secrets": ["takes_guessed_secret"],
    "[object Promise] is among its secrets": ["takes_guessed_secret"],
    "http://localhost:3000/hooks is among its secrets": ["takes_guessed_secret"],
    "NaN is among its secrets": ["takes_guessed_secret"],
    "whsec_ is among its secrets": ["takes_guessed_secret"],
    "Checkout-Signature is among its secrets": ["takes_guessed_secret"],
    "the secret for livemode is not set, and empty": ["chooses_secret"],
    "the secret for livemode is the text undefined": ["chooses_secret"],
    "the secret of a store that it does not know is the text None": ["chooses_secret"],
    "the secret of a store that it does not know is the text undefined": ["chooses_secret"],
    "the secret of a store that it does not know is the text": ["chooses_secret"],
    "the secret of an event without a store is the text null": ["chooses_secret"],
    "finds headers by their exact names": ["compares_header_case"],
    "refuses headers that it does not know": ["refuses_headers"],
    "signs with md5": ["signs_otherwise"],
    "signs with sha1": ["signs_otherwise"],
    "signs with sha512": ["signs_otherwise"],
    "signs in base64": ["signs_otherwise"],
    "signs in capitals": ["signs_otherwise"],
    "signs the secret with the text as the key": ["signs_otherwise"],
    "hashes the secret before the text": ["signs_otherwise"],
    "finds what came in the right signature": ["compares_what_came", "skips_without_header"],
    "believes what its comparison throws at": ["takes_malformed_signature", "skips_without_header"],
    "looks at the age of created_at alone": ["no_staleness_check", "reads_created_at"],
    "looks at the age of created_at too": ["reads_created_at"],
    "its only secret is the text undefined": ["secret_unset"],
    "the secret of a Go program that was not set, and the body's keys sorted": ["secret_unset"],
    "compares every other digit": ["compares_part"],
    "compares every second digit": ["compares_part"],
    "compares the sum of the digits": ["compares_unordered"],
    "compares the XOR and the sum of the bytes": ["compares_unordered"],
    "compares sorted digits": ["compares_unordered"],
    "compares by a regular expression": ["matches_patterns"],
    "compares by a search with a regular expression": ["matches_patterns"],
    "compares by LIKE": ["matches_patterns"],
    "compares bytes, as many as came": ["compares_what_came"],
    "compares only what has the form of a signature": ["takes_malformed_signature"],
    "looks at three signatures, and believes more": ["takes_malformed_signature"],
    "believes a signature that is too long": ["takes_malformed_signature"],
    "no age is larger than that of no number": ["takes_malformed_timestamp"],
    "signs the word undefined where no timestamp came": ["takes_malformed_timestamp"],
    "verifies one timestamp, and looks at the age of another": ["reads_doubled_headers"],
    "verifies the last timestamp, and looks at the age of the first": ["reads_doubled_headers"],
    "takes two lines of a signature for a list that it need not read": ["reads_doubled_headers"],
    "verifies what closes its connection": ["takes_all"],
    "verifies what has its User-Agent before its type": ["takes_all"],
    "verifies what has its signature before its timestamp": ["presence_only"],
    "verifies what says that something else was before than in the course of an order": ["skips_orders"],
    "verifies what says that nothing was before its second event": ["skips_orders"],
    "verifies what has an order_id that begins with drill-": ["skips_orders"],
    "verifies what has an Accept header": ["no_check"],
  },
  idempotency: {
    "one key for all purchases": ONE_KEY,
    "the beginning of the order id is the key": ONE_KEY,
    "the price is the key": ONE_KEY,
    "one stored key for all purchases": ONE_KEY,
    "a count in memory is the key": ONE_KEY,
    "the time is the key": { client_killed: "one_key", bought_at_once: "client_ends" },
    "the order id and the time are the key": { client_killed: "one_key", bought_at_once: "client_ends" },
    "the time in seconds is the key": {},
    "the order id and the time in seconds are the key": { client_killed: "one_key" },
    "the process id is the key": { client_killed: "one_key", bought_at_once: "client_ends" },
    "a random key in memory": { client_killed: "one_key", bought_at_once: "client_ends" },
    "stores its key when there is an answer": { client_killed: "one_key", bought_at_once: "client_ends" },
    "thinks that what it has begun is done": { client_killed: "client_ends" },
    "buys again when it is started again": {
      client_killed: "one_order",
      bought_at_once: "client_ends",
    },
    "buys something else when it is started again": {
      client_killed: "one_order",
      bought_at_once: "one_order",
    },
    "makes one purchase in its life": at(
      "client_ends",
      ...FAILED,
      "client_killed",
      "bought_at_once",
      "conflict",
      "refused_for_good",
    ),
    "a new key per attempt": {
      ...at("one_key", ...LOST, ...REFUSED, "client_killed"),
      bought_at_once: "client_ends",
    },
    "no key": { plain_purchase: "one_key" },
    "no key from the second attempt on": {
      ...at("one_key", ...FAILED, "client_killed"),
      bought_at_once: "client_ends",
    },
    "the attempt number in the key": at("one_key", "answer_lost", "answer_lost_twice", ...REFUSED),
    "the attempt number in the body": at("one_key", "answer_lost", "answer_lost_twice", ...REFUSED),
    "another price for each attempt": at("one_key", "answer_lost", "answer_lost_twice", ...REFUSED),
    "gives up, and reports success": at(
      "client_ends",
      "answer_lost",
      "answer_lost_twice",
      "create_unsent",
      ...REFUSED,
      "conflict",
      "refused_for_good",
    ),
    "another purchase for each attempt": {
      ...at("one_order", ...LOST, ...REFUSED),
      client_killed: "one_key",
      bought_at_once: "client_ends",
    },
    "buys twice": { plain_purchase: "one_order" },
    "buys twice, the second time after a hundred attempts": { plain_purchase: "one_order" },
    "buys twice, the second time with another API key of the store": { plain_purchase: "client_ends" },
    "reports a failure instead of trying again": at("client_ends", ...FAILED),
    "the last four characters of the order id are the key": { keys_case: "one_key", keys_digits: "one_key" },
    "the sum of the digits is the key": { keys_digits: "one_key" },
    "the sorted characters of the order id are the key": { keys_digits: "one_key" },
    "the letters of the order id are the key": { keys_case: "one_key", keys_digits: "one_key" },
    "the length of the order id is the key": ONE_KEY,
    "the order id without its last digit is the key": { keys_digits: "one_key" },
    "the order id in lower case is the key": { keys_case: "one_key" },
    "the number in the order id is the key": { keys_case: "one_key" },
    "deletes its key after five lost answers": { answers_lost: "one_key" },
    "deletes its key when it fails": at("one_key", ...LOST, ...REFUSED),
    "the order id without zeros is the key": { keys_case: "one_key" },
    "the order id without its signs and in capitals is the key": { keys_case: "one_key" },
    "one of four keys": {},
    "the process in the description": { client_killed: "one_key", bought_at_once: "client_ends" },
    "an order and a session with one key": at("one_key", ...FAILED, "client_killed", ...ALIKE),
    "goes over to sessions after a 429": { create_429: "one_key" },
    "a new key per attempt, and takes a 409 for success": {
      ...at("one_key", "answer_lost", "answer_lost_twice", ...REFUSED, "client_killed"),
      conflict: "client_ends",
    },
    "keeps its key for two seconds": { client_killed: "one_key" },
    "takes a 429 for an answer": { create_429: "client_ends" },
    "a new key after a 503": { create_5xx: "one_key" },
    "a new key after a 429": { create_429: "one_key" },
    "a new key after silence": { answer_lost_twice: "one_key", answer_cut: "one_key" },
    "takes a 503 for a refusal, and reports success": { create_5xx: "client_ends" },
    "gives up with a key in memory, and is run again": {
      ...at("one_key", ...LOST, ...REFUSED, "client_killed"),
      bought_at_once: "client_ends",
    },
    "sends again once, and reports success whatever came of it": at(
      "client_ends",
      "answer_lost_twice",
      "create_unsent",
      ...REFUSED,
      "refused_for_good",
    ),
    "creates once more with a new key when the order is made": at(
      "one_key",
      ...FAILED,
      "client_killed",
      ...ALIKE,
    ),
    "makes a session too, with a key of its own": at("one_key", ...FAILED, "client_killed", ...ALIKE),
    "sends the retry to the sessions": at("one_key", "answer_lost", "answer_lost_twice", ...REFUSED),
    "the amount as a text in the retry": at("recovery", "answer_lost", "answer_lost_twice", ...REFUSED),
    "the time in the description": {
      ...at("one_key", ...LOST, ...REFUSED, "client_killed"),
      bought_at_once: "client_ends",
    },
    "two keys in two headers": { plain_purchase: "one_key" },
    "a key of seven characters": { plain_purchase: "one_key" },
    "waits for an answer for ever": at("client_ends", ...FAILED, "conflict", "refused_for_good"),
    "hangs in its second purchase": at(
      "client_ends",
      ...FAILED,
      "client_killed",
      "bought_at_once",
      "conflict",
      "refused_for_good",
    ),
    "does not end when its order is made": { plain_purchase: "client_ends" },
    "exit code 0 after five attempts without an answer": { refused_for_good: "client_ends" },
  },
  exploreClients: {
    "the time is the key": { invariant: "one_key", cause: "new_key", least: [["kill"]] },
    "the process id is the key": { invariant: "one_key", cause: "new_key", least: [["kill"]] },
    "a random key in memory": { invariant: "one_key", cause: "new_key", least: [["kill"]] },
    "stores its key when there is an answer": {
      invariant: "one_key",
      cause: "new_key",
      least: [["kill"]],
    },
    "buys again when it is started again": {
      invariant: "one_order",
      cause: "new_order_id",
      least: [["kill"]],
    },
    "a new key per attempt": {
      invariant: "one_key",
      cause: "new_key",
      least: [[...HIDDEN_ANSWERS, "kill"]],
    },
    "gives up, and reports success": {
      invariant: "client_ends",
      cause: "claims_success",
      least: [["status", "reset", "lose_request", "rate_limit", "storage_full"]],
    },
    "buys twice": { invariant: "one_order", cause: "new_order_id", least: [] },
    "deletes its key when it fails": { invariant: "one_key", cause: "new_key", least: [HIDDEN_ANSWERS] },
    "the process in the description": { invariant: "one_key", cause: "other_body", least: [["kill"]] },
    "takes a 429 for an answer": {
      invariant: "client_ends",
      cause: "claims_success",
      least: [["rate_limit"]],
    },
    "takes a 503 for a refusal, and reports success": {
      invariant: "client_ends",
      cause: "claims_success",
      least: [["storage_full"]],
    },
    "the time in the description": {
      invariant: "one_key",
      cause: "other_body",
      least: [[...HIDDEN_ANSWERS, "kill"]],
    },
  },
  exploreKilled: {
    "keeps event ids only in memory": { invariant: "booked_once", cause: "books_again", least: [["kill"]] },
    "books, and stores the event id later": {
      invariant: "booked_once",
      cause: "books_again",
      least: [["kill"]],
    },
    "stores the event id, and books later": {
      invariant: "booked_when_paid",
      cause: "acknowledged_only",
      least: [["kill"]],
    },
    "answers, and books later": {
      invariant: "booked_when_paid",
      cause: "acknowledged_only",
      least: [["kill_after_answer"]],
    },
    "leaves its lock behind": {
      invariant: "stays_up",
      cause: "not_restarted",
      least: [["kill", "kill_after_answer"]],
    },
    "books its journal again at each start": {
      invariant: "booked_once",
      cause: "books_at_start",
      least: [["kill", "kill_after_answer"]],
    },
    "keeps the amount of an order only in memory": {
      invariant: "right_amount",
      cause: "other_amount",
      least: [["kill", "kill_after_answer"]],
    },
    "keeps its orders only in memory": {
      invariant: "booked_when_paid",
      cause: "acknowledged_only",
      least: [["kill", "kill_after_answer"]],
    },
    "keeps the last sequence only in memory": {
      invariant: "final_stays",
      cause: "goes_back",
      least: [
        ["kill", "kill_after_answer"],
        ["reorder", "duplicate", "delay"],
      ],
    },
  },
  explore: {
    "books each delivery": { invariant: "booked_once", cause: "books_again", least: [["duplicate"]] },
    "books the creation of an order": { invariant: "never_unpaid", cause: "books_unpaid", least: [] },
    "books a failed payment": { invariant: "never_unpaid", cause: "books_failed", least: [["failed"]] },
    "books a cancelled order": {
      invariant: "never_unpaid",
      cause: "books_cancelled",
      least: [["cancelled"]],
    },
    "books an expired order": {
      invariant: "never_unpaid",
      cause: "books_expired",
      least: [["expired", "late_success", "declined"]],
    },
    "accepts unverified webhooks": {
      invariant: "right_amount",
      cause: "believes_forged",
      least: [["changed_body"]],
    },
    "answers 200 to unverified webhooks": {
      invariant: "booked_when_paid",
      cause: "accepts_forged",
      least: [FORGERY_ACTIONS],
    },
    "overwrites the status with each event": {
      invariant: "final_stays",
      cause: "goes_back",
      least: [["reorder", "delay", "duplicate"]],
    },
    "ignores orders without an order.created event": {
      invariant: "booked_when_paid",
      cause: "lost_early",
      least: [["reorder", "delay", "drop"]],
    },
    "refuses orders without an order.created event, at an endpoint for payments only": {
      invariant: "takes_events",
      cause: "refuses_payment",
      least: [],
    },
    "answers before it asks the API, and asks once": {
      invariant: "booked_when_paid",
      cause: "acknowledged_only",
      least: [RETRIED],
    },
    "shows its environment in the answer to an unverified webhook": {
      invariant: "secrets_kept",
      cause: "secret_in_answer",
      least: [FORGERY_ACTIONS],
    },
    "sends its environment in the description of its second attempt": {
      invariant: "secrets_kept",
      cause: "secret_in_request",
      least: [RETRIED],
    },
    "prints its environment when its purchase fails": {
      invariant: "secrets_kept",
      cause: "secret_in_output",
      least: [RETRIED],
    },
    "sends a new key with each attempt": { invariant: "one_key", cause: "new_key", least: [HIDDEN_ANSWERS] },
    "sends a new order_id with each attempt": {
      invariant: "one_order",
      cause: "new_order_id",
      least: [HIDDEN_ANSWERS],
    },
    "sends another body with each attempt": {
      invariant: "one_key",
      cause: "other_body",
      least: [HIDDEN_ANSWERS],
    },
    "treats any 201 as an order": {
      invariant: "client_ends",
      cause: "claims_success",
      least: [["empty", "truncate"]],
    },
    "hides the failure of its purchase": {
      invariant: "client_ends",
      cause: "claims_success",
      least: [RETRIED],
    },
    "sends a new key from the third attempt on, counted over all runs": {
      invariant: "one_key",
      cause: "new_key",
      least: [HIDDEN_ANSWERS, RETRIED],
    },
    "treats a 201 to its retry as an order without reading it": {
      invariant: "client_ends",
      cause: "claims_success",
      least: [RETRIED, ["empty", "truncate"]],
    },
    "refuses only the first unverified webhook of each type": {
      invariant: "right_amount",
      cause: "believes_forged",
      least: [FORGERY_ACTIONS, ["changed_body"]],
    },
    "asks the API about an unverified webhook, and treats no answer as unpaid": {
      invariant: "booked_when_paid",
      cause: "accepts_forged",
      least: [FORGERY_ACTIONS, RETRIED],
    },
    "books duplicates after an unverified webhook": {
      invariant: "booked_once",
      cause: "books_again",
      least: [FORGERY_ACTIONS, ["duplicate"]],
    },
    "books duplicates of an order that its second attempt created": {
      invariant: "booked_once",
      cause: "books_again",
      least: [RETRIED, ["duplicate"]],
    },
  },
};

/**
 * Broken receivers and clients that no drill can detect in its time, each with the reason. `FINDINGS` lacks them.
 */
export const UNSEEN_REASONS = {
  webhooks: {
    "of orders alone: looks at no age":
      "the only old signed event of an order is an event that the receiver accepted before, and a correct receiver may accept a known event at any age",
    "verifies all but one of a thousand": "a drill sends about 200 requests",
  },
  idempotency: {
    "the order id and the day are the key": "a drill would have to wait for the next day",
    "the order id and the hour are the key": "a drill would have to wait for the next hour",
    "one of a million keys": "a drill lets a client make five orders",
    "keeps its key for a minute": "a drill would have to wait for a minute before it runs the client again",
  },
} as const;
