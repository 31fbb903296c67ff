import { expect, test } from "vitest";
import { ERRORS } from "../../src/core/errors.ts";
import { english, type Words } from "../../src/core/language.ts";
import {
  BUSY_CAUSES,
  CRASH_CAUSES,
  LOSS_CAUSES,
  IDEMPOTENCY_CAUSES,
  OWN_ORDER_ID_CAUSES,
} from "../../src/core/readiness/idempotency-causes.ts";
import {
  judgeIdempotencyDrill,
  type IdempotencyFacts,
  type RunFact,
} from "../../src/core/readiness/drills/idempotency.ts";
import type { ClientExit, ObservedCreate } from "../../src/core/readiness/drill-shapes.ts";

type Run = ObservedCreate["run"];

/** The order and the key of a right client in each run. */
const PURCHASES = {
  first: ["o-1", "key-1"],
  killed: ["o-2", "key-2"],
  between: ["o-3", "key-3"],
  restarted: ["o-2", "key-2"],
  alike: ["O-1", "key-4"],
} as const satisfies Readonly<Record<Run, readonly [orderId: string, key: string]>>;

/** A create of a right client that was answered. */
function create(run: Run, changes: Partial<ObservedCreate> = {}): ObservedCreate {
  const [orderId, idempotencyKey] = PURCHASES[run];
  return {
    run,
    requestId: `of ${run}`,
    idempotencyKey,
    orderId,
    result: "replayed",
    checkoutId: orderId,
    path: "/v1/orders",
    lost: false,
    loss: null,
    early: false,
    start: 1,
    ...changes,
  };
}

function ended(run: Run, changes: Partial<RunFact> = {}): RunFact {
  return { run, orderId: PURCHASES[run][0], ending: "exited", exitCode: 0, answered: true, ...changes };
}

const LOST = { result: "created", lost: true } as const;
const SEEN = {
  first: [create("first", { ...LOST, loss: "reset" }), create("first")],
  killed: [create("killed", { ...LOST, loss: "kill" })],
  between: [create("between", { ...LOST, loss: "unavailable" }), create("between")],
  restarted: [create("restarted")],
  alike: [create("alike", { result: "created" })],
} as const satisfies Readonly<Record<Run, readonly ObservedCreate[]>>;
const RUNS = {
  first: [ended("first")],
  killed: [ended("killed", { ending: "killed", exitCode: null, answered: false })],
  between: [ended("between")],
  restarted: [ended("restarted")],
  alike: [ended("alike")],
} as const satisfies Readonly<Record<Run, readonly RunFact[]>>;

/** What differs from a right client: its creates and its ends in some runs, and other facts. */
type Difference = Partial<Omit<IdempotencyFacts, "seen" | "runs">> & {
  readonly seen?: Partial<Record<Run, readonly ObservedCreate[]>>;
  readonly runs?: Partial<Record<Run, readonly RunFact[]>>;
};

function judge({ seen, runs, ...facts }: Difference) {
  return judgeIdempotencyDrill({
    made: { first: 1, second: 1, third: 1 },
    otherKeys: [],
    ownKey: "c3d4",
    hasOwnCommand: false,
    hasLate: false,
    refusedRequestId: "of the drill",
    ...facts,
    seen: Object.values({ ...SEEN, ...seen }).flat(),
    runs: Object.values({ ...RUNS, ...runs }).flat(),
  });
}

/** No run but the first came to anything. */
const ALONE = { killed: [], between: [], restarted: [], alike: [] } as const;
const STOPPED = { seen: ALONE, runs: ALONE } as const;
const { gave_up: gaveUp, reports_failure: failure, blind, one_purchase: onePurchase } = IDEMPOTENCY_CAUSES;

/** A row: what the client does, how that differs, and each step that fails, with its cause. */
type Row = readonly [
  what: string,
  difference: Difference,
  failed: Readonly<Record<string, readonly [string, Words]>>,
];

const AGAIN: readonly Row[] = [
  [
    "takes a lost connection for an answer",
    { ...STOPPED, seen: { ...ALONE, first: [SEEN.first[0]] } },
    { tried_again: ["none", gaveUp] },
  ],
  [
    "ends with 1 after a lost connection, and never comes again",
    {
      ...STOPPED,
      seen: { ...ALONE, first: [SEEN.first[0]] },
      runs: { ...ALONE, first: [ended("first", { exitCode: 1, answered: false })] },
    },
    { tried_again: ["none", IDEMPOTENCY_CAUSES.forgotten], client_ended: ["exit code 1", failure] },
  ],
  [
    "waits too long before its next attempt",
    {
      ...STOPPED,
      seen: { ...ALONE, first: [SEEN.first[0]] },
      runs: { ...ALONE, first: [ended("first", { ending: "timeout", exitCode: null, answered: false })] },
    },
    {
      tried_again: ["none", IDEMPOTENCY_CAUSES.no_try_in_time],
      client_ended: ["killed at the timeout", IDEMPOTENCY_CAUSES.endless],
    },
  ],
  [
    "makes a new key after it was told that its order exists",
    {
      seen: {
        first: [...SEEN.first, create("first", { idempotencyKey: "key-9", result: "order_conflict" })],
      },
    },
    { same_key: ['another key, "key-9": order_conflict', LOSS_CAUSES.second_create] },
  ],
  [
    "makes a new key before it was told",
    {
      seen: {
        first: [
          SEEN.first[0],
          create("first", { idempotencyKey: "key-9", result: "order_conflict" }),
          create("first"),
        ],
      },
    },
    { same_key: ['another key, "key-9": order_conflict', LOSS_CAUSES.new_key] },
  ],
  [
    "makes a new key after an attempt whose answer was lost too",
    {
      seen: {
        first: [
          SEEN.first[0],
          create("first", { lost: true, loss: "silence" }),
          create("first", { idempotencyKey: "key-9", result: "order_conflict" }),
        ],
      },
    },
    { same_key: ['another key, "key-9": order_conflict', LOSS_CAUSES.new_key] },
  ],
  [
    "makes a new key after a limit, which told it nothing",
    {
      seen: {
        first: [
          SEEN.first[0],
          create("first", { result: "rate_limited" }),
          create("first", { idempotencyKey: "key-9", result: "order_conflict" }),
        ],
      },
    },
    { same_key: ['another key, "key-9": order_conflict', LOSS_CAUSES.new_key] },
  ],
  [
    "sends another body after it was told that its order exists",
    { seen: { first: [...SEEN.first, create("first", { result: "idempotency_key_reused" })] } },
    { same_key: ["the same key: idempotency_key_reused", LOSS_CAUSES.other_body] },
  ],
  [
    "ends with 1, and waits too long when it is run again",
    {
      ...STOPPED,
      seen: { ...ALONE, first: [SEEN.first[0]] },
      runs: {
        ...ALONE,
        first: [
          ended("first", { exitCode: 1, answered: false }),
          ended("first", { ending: "timeout", exitCode: null, answered: false }),
        ],
      },
    },
    {
      tried_again: ["none", IDEMPOTENCY_CAUSES.no_try_in_time],
      client_ended: ["killed at the timeout", IDEMPOTENCY_CAUSES.endless],
    },
  ],
  [
    "sends a retry to the other path",
    {
      seen: { first: [SEEN.first[0], create("first", { path: "/v1/checkout-sessions", result: "created" })] },
    },
    { same_key: ["the same key: created", LOSS_CAUSES.other_path] },
  ],
  [
    "sends a retry that the schema refuses",
    { seen: { first: [SEEN.first[0], create("first", { result: "invalid_parameter" })] } },
    { same_key: ["the same key: invalid_parameter", LOSS_CAUSES.other_body] },
  ],
  [
    "sends a retry with another key and no body",
    {
      seen: {
        first: [
          SEEN.first[0],
          create("first", { idempotencyKey: "key-9", orderId: null, result: "invalid_json" }),
        ],
      },
    },
    { same_key: ['another key, "key-9": invalid_json', LOSS_CAUSES.says_nothing] },
  ],
  [
    "sends a retry without a key, which a limit refuses",
    { seen: { first: [SEEN.first[0], create("first", { idempotencyKey: null, result: "rate_limited" })] } },
    { same_key: ["no key: rate_limited", LOSS_CAUSES.says_nothing] },
  ],
  [
    "makes another purchase of each retry",
    {
      seen: {
        first: [
          SEEN.first[0],
          create("first", { idempotencyKey: "key-9", orderId: "o-9", result: "created" }),
        ],
      },
      made: { first: 2, second: 1, third: 1 },
    },
    {
      same_key: ['another key, "key-9": created', LOSS_CAUSES.new_purchase],
      one_order: ["2", IDEMPOTENCY_CAUSES.more_orders],
    },
  ],
  [
    "has no order in the end",
    { made: { first: 0, second: 0, third: 0 } },
    Object.fromEntries(
      ["one_order", "one_order_again", "one_order_busy"].map((name) => [
        name,
        ["0", IDEMPOTENCY_CAUSES.no_order],
      ]),
    ),
  ],
];

const ENDS: readonly Row[] = [
  [
    "ends with 0 although it was told nothing, and is run again",
    { runs: { first: [ended("first", { answered: false }), ended("first")] } },
    { client_ended: ["exit code 0, and no answer", blind] },
  ],
  [
    "ends with 1 although it was told nothing, which is right, and with 0 when run again",
    { runs: { first: [ended("first", { exitCode: 1, answered: false }), ended("first")] } },
    {},
  ],
  [
    "ends with 1 in the end",
    { runs: { first: [ended("first"), ended("first", { exitCode: 1 })] } },
    { client_ended: ["exit code 1", failure] },
  ],
  [
    "is ended by a signal",
    { runs: { restarted: [ended("restarted", { exitCode: null })] } },
    { restarted_ended: ["ended by a signal", failure] },
  ],
  [
    "does not end after its order was made",
    { runs: { between: [ended("between", { ending: "timeout", exitCode: null })] } },
    { busy_ended: ["killed at the timeout", IDEMPOTENCY_CAUSES.daemon] },
  ],
];

const OTHERS: readonly Row[] = [
  [
    "has one key for all",
    { seen: { killed: [create("killed", { idempotencyKey: "key-1", result: "idempotency_key_reused" })] } },
    { own_key: ["the same key: idempotency_key_reused", IDEMPOTENCY_CAUSES.one_key_for_all] },
  ],
  [
    "has one key for all, and its order was made before it was killed",
    { seen: { killed: [create("killed", { ...LOST, idempotencyKey: "key-1" })] } },
    { own_key: ["the same key: created", IDEMPOTENCY_CAUSES.one_key_for_all] },
  ],
  [
    "is refused in its second purchase",
    {
      ...STOPPED,
      seen: { ...ALONE, killed: [create("killed", { result: "invalid_parameter" })] },
      runs: { ...ALONE, killed: RUNS.killed },
    },
    { own_key: ['another key, "key-2": invalid_parameter', IDEMPOTENCY_CAUSES.refused("invalid_parameter")] },
  ],
  [
    "is refused twice in its second purchase",
    {
      ...STOPPED,
      seen: {
        ...ALONE,
        killed: [
          create("killed", { result: "order_conflict" }),
          create("killed", { result: "invalid_parameter" }),
        ],
      },
      runs: { ...ALONE, killed: RUNS.killed },
    },
    { own_key: ['another key, "key-2": invalid_parameter', IDEMPOTENCY_CAUSES.refused("invalid_parameter")] },
  ],
  [
    "makes one purchase alone",
    { ...STOPPED, runs: { ...ALONE, killed: [ended("killed")] } },
    { own_key: ["no create was received", onePurchase] },
  ],
  [
    "makes its second purchase too late",
    { ...STOPPED, runs: { ...ALONE, killed: [ended("killed", { ending: "timeout", exitCode: null })] } },
    { own_key: ["no create was received", IDEMPOTENCY_CAUSES.no_second_in_time] },
  ],
  [
    "forgets a purchase in which it was killed",
    { seen: { restarted: [] } },
    { same_key_again: ["no create was received", IDEMPOTENCY_CAUSES.forgotten] },
  ],
  [
    "makes a new key when it is started again",
    { seen: { restarted: [create("restarted", { idempotencyKey: "key-9", result: "order_conflict" })] } },
    { same_key_again: ['another key, "key-9": order_conflict', CRASH_CAUSES.new_key] },
  ],
  [
    "makes up an order_id at each start",
    {
      seen: {
        killed: [create("killed", { ...LOST, orderId: "mine-1" })],
        restarted: [create("restarted", { idempotencyKey: "key-9", orderId: "mine-2", result: "created" })],
      },
    },
    { same_key_again: ['another key, "key-9": created', OWN_ORDER_ID_CAUSES.new_purchase] },
  ],
  [
    "has one key for two order_ids that are alike",
    { seen: { alike: [create("alike", { idempotencyKey: "key-1" })] } },
    { alike_keys: ['one key for "o-1" and "O-1"', IDEMPOTENCY_CAUSES.alike] },
  ],
  [
    "has one key for the third purchase and the first",
    { seen: { between: SEEN.between.map((one) => ({ ...one, idempotencyKey: "key-1" })) } },
    { alike_keys: ['one key for "o-1" and "o-3"', IDEMPOTENCY_CAUSES.alike] },
  ],
  [
    "is refused for an order_id that is alike",
    {
      seen: { alike: [create("alike", { result: "invalid_parameter" })] },
      runs: { alike: [ended("alike", { answered: false })] },
    },
    { alike_keys: ["invalid_parameter", IDEMPOTENCY_CAUSES.refused("invalid_parameter")] },
  ],
  [
    "is refused for the first of two order_ids that are alike, at last for its body",
    {
      seen: {
        alike: [
          create("alike", { idempotencyKey: null, result: "idempotency_key_missing" }),
          create("alike", { orderId: null, result: "invalid_json" }),
          create("alike", { result: "invalid_parameter" }),
          create("alike", { orderId: "o-01", idempotencyKey: null, result: "idempotency_key_missing" }),
          create("alike", { orderId: "o-02", idempotencyKey: "key-5", result: "created" }),
        ],
      },
      runs: {
        alike: [
          ended("alike", { answered: false }),
          ended("alike", { orderId: "o-01", answered: false }),
          ended("alike", { orderId: "o-02" }),
        ],
      },
    },
    { alike_keys: ["invalid_parameter", IDEMPOTENCY_CAUSES.refused("invalid_parameter")] },
  ],
  [
    "makes a purchase of an order_id that is alike too late",
    {
      seen: {
        alike: [create("alike", { orderId: "o-02", idempotencyKey: "key-5", result: "created" })],
        restarted: [...SEEN.restarted, create("restarted", { orderId: "O-1", idempotencyKey: "key-6" })],
      },
      runs: { alike: [ended("alike", { answered: false }), ended("alike", { orderId: "o-02" })] },
    },
    {
      alike_keys: ["no create was received", onePurchase],
    },
  ],
  [
    "makes no purchase of an order_id that is alike",
    { seen: { alike: [] }, runs: { alike: [ended("alike", { answered: false })] } },
    { alike_keys: ["no create was received", onePurchase] },
  ],
  [
    "cannot be told from the service, which was not reached",
    { refusedRequestId: null },
    { other_body_refused: ["no refusal", IDEMPOTENCY_CAUSES.service_unreached] },
  ],
];

/** A client that comes so many times before it may, and then when it may. */
const early = (count: number, changes: Partial<ObservedCreate> = {}) => [
  SEEN.between[0],
  ...Array.from({ length: count }, () =>
    create("between", { lost: true, loss: "rate_limited", early: true, ...changes }),
  ),
  create("between", changes),
];

const BUSY: readonly Row[] = [
  [
    "takes a 503 for a refusal",
    {
      seen: { between: [SEEN.between[0]] },
      runs: { between: [ended("between", { exitCode: 1, answered: false })] },
    },
    {
      same_key_busy: ["no other attempt", IDEMPOTENCY_CAUSES.took_503],
      busy_ended: ["exit code 1", failure],
    },
  ],
  [
    "makes a new key after a 503",
    {
      seen: {
        between: [SEEN.between[0], create("between", { idempotencyKey: "key-9", result: "order_conflict" })],
      },
    },
    { same_key_busy: ['another key, "key-9": order_conflict', BUSY_CAUSES.new_key] },
  ],
  ["comes two times too early after a 429", { seen: { between: early(2) } }, {}],
  ["comes three times too early after a 429", { seen: { between: early(3) } }, {}],
  [
    "makes a new key each time that it comes too early",
    { seen: { between: early(3, { idempotencyKey: "key-9" }) } },
    { same_key_busy: ['another key, "key-9": replayed', BUSY_CAUSES.new_key] },
  ],
  [
    "makes no third purchase",
    { seen: { between: [] }, runs: { between: [ended("between")] } },
    { same_key_busy: ["no create was received", onePurchase] },
  ],
  [
    "is refused in its third purchase",
    {
      seen: {
        between: [
          create("between", { result: "order_conflict" }),
          create("between", { result: "idempotency_key_missing", idempotencyKey: null }),
        ],
      },
    },
    { same_key_busy: ["idempotency_key_missing", ERRORS.idempotency_key_missing.cause] },
  ],
];

test("each step of a client is judged by its own creates and its own ends, with its cause", () => {
  expect(judge({}).verdict).toBe("passed");
  for (const [what, difference, failed] of [...AGAIN, ...ENDS, ...OTHERS, ...BUSY]) {
    const { verdict, steps } = judge(difference);
    const found = steps.flatMap(({ name, passed, got, cause }) => (passed ? [] : [[name, [got, cause]]]));
    expect([what, verdict, Object.fromEntries(found)]).toEqual([
      what,
      Object.keys(failed).length === 0 ? "passed" : "failed",
      Object.fromEntries(Object.entries(failed).map(([name, [got, cause]]) => [name, [got, english(cause)]])),
    ]);
  }
});

test("a client that often comes too early after a 429, and doubles no order, gets a note", () => {
  const busy = (count: number) => {
    const { verdict, steps } = judge({ seen: { between: early(count) } });
    const { passed, got, cause } = steps.find(({ name }) => name === "same_key_busy") ?? {};
    return [verdict, passed, got, cause];
  };
  expect(busy(2)).toEqual(["passed", true, "the same key: replayed; 2 before Retry-After", null]);
  const note = english(IDEMPOTENCY_CAUSES.hammers);
  expect(busy(20)).toEqual(["passed", true, "the same key: replayed; 20 before Retry-After", note]);
});

test("each step says what was seen and in which request, and steps that were not reached are left out", () => {
  const seen = (difference: Difference) =>
    judge(difference).steps.map(({ name, got, reference }) => [name, got, reference]);
  const first = [
    ["answer_lost", "created, and its answer dropped", "of first"],
    ["tried_again", "1 more", "of first"],
    ["same_key", "the same key: replayed", "of first"],
    ["one_order", "1", null],
    ["client_ended", "exit code 0", null],
  ];
  const last = ["other_body_refused", "409 idempotency_key_reused", "of the drill"];
  expect(seen({})).toEqual([
    ...first,
    ["own_key", 'another key, "key-2": created', "of killed"],
    ["same_key_again", "the same key: replayed", "of restarted"],
    ["one_order_again", "1", null],
    ["restarted_ended", "exit code 0", null],
    ["same_key_busy", "the same key: replayed", "of between"],
    ["one_order_busy", "1", null],
    ["busy_ended", "exit code 0", null],
    ["alike_keys", "a key for each", null],
    last,
  ]);
  expect(seen(STOPPED)).toEqual([...first, last]);
  const names = (difference: Difference) => judge(difference).steps.map(({ name }) => name);
  const again = new Set(["same_key_again", "one_order_again", "restarted_ended"]);
  // A second purchase with the first one's key shows nothing of a restart, nor does one that was not restarted.
  for (const difference of [
    { seen: { killed: [create("killed", { ...LOST, idempotencyKey: "key-1" })] } },
    { seen: { killed: [create("killed", { result: "created" })] } },
    { runs: { restarted: [] } },
  ])
    expect(names(difference).filter((name) => again.has(name))).toEqual([]);
  expect(names({ seen: { between: [] }, runs: { between: [] } })).not.toContain("same_key_busy");
  const runAgain = { seen: { first: [SEEN.first[0], create("first", { start: 2 })] } };
  expect(seen(runAgain)[1]).toEqual(["tried_again", "1 more, when the command was run again", "of first"]);
  // The order that was made is the second purchase, whatever comes after it.
  const more = { seen: { killed: [...SEEN.killed, create("killed", { idempotencyKey: "key-9" })] } };
  expect(seen(more)[5]).toEqual(["own_key", 'another key, "key-2": created', "of killed"]);
  const twice = { seen: { between: early(1) } };
  expect(seen(twice)[9]).toEqual([
    "same_key_busy",
    "the same key: replayed; 1 before Retry-After",
    "of between",
  ]);
});

test("where no answer could be taken, the cause is the refusal, else the end of the command", () => {
  const first = (end: Partial<ClientExit>): Difference => ({
    ...STOPPED,
    seen: { ...ALONE, first: [] },
    runs: { ...ALONE, first: [ended("first", end)] },
  });
  const refused = (...results: readonly ObservedCreate["result"][]): Difference => ({
    ...STOPPED,
    seen: { ...ALONE, first: results.map((result) => create("first", { result, requestId: result })) },
  });
  const none: Difference = { ...STOPPED, seen: { ...ALONE, first: [] }, runs: { ...ALONE, first: [] } };
  const missing = ERRORS.idempotency_key_missing.cause;
  const invalid = ERRORS.idempotency_key_invalid.cause;
  const { refused: other, other_api_key: apiKey, failed_at_once: atOnce } = IDEMPOTENCY_CAUSES;
  const rows: readonly (readonly [Difference, "failed" | "unknown", got: string, cause: Words])[] = [
    [refused("idempotency_key_missing"), "failed", "idempotency_key_missing", missing],
    [refused("idempotency_key_missing", "order_conflict"), "failed", "idempotency_key_missing", missing],
    [refused("order_conflict", "idempotency_key_missing"), "failed", "idempotency_key_missing", missing],
    [refused("idempotency_key_invalid"), "failed", "idempotency_key_invalid", invalid],
    [
      refused("idempotency_key_reused"),
      "failed",
      "idempotency_key_reused",
      ERRORS.idempotency_key_reused.cause,
    ],
    [
      refused("idempotency_key_invalid", "idempotency_key_missing"),
      "failed",
      "idempotency_key_invalid",
      invalid,
    ],
    [refused("order_conflict", "rate_limited"), "unknown", "rate_limited", other("rate_limited")],
    [
      { ...first({}), otherKeys: ["a1b2"], hasOwnCommand: true },
      "unknown",
      "no create was received",
      apiKey("a1b2", "c3d4"),
    ],
    [
      { ...first({}), hasOwnCommand: true, hasLate: true },
      "unknown",
      "no create was received",
      IDEMPOTENCY_CAUSES.own_command,
    ],
    [{ ...first({}), hasLate: true }, "unknown", "no create was received", IDEMPOTENCY_CAUSES.late],
    [first({}), "unknown", "no create was received", IDEMPOTENCY_CAUSES.elsewhere_or_queued],
    [first({ exitCode: 3 }), "unknown", "no create was received", atOnce("3")],
    [first({ exitCode: 127 }), "unknown", "no create was received", IDEMPOTENCY_CAUSES.unknown_command],
    [first({ exitCode: null }), "unknown", "no create was received", IDEMPOTENCY_CAUSES.elsewhere],
    [
      first({ ending: "timeout", exitCode: 127 }),
      "unknown",
      "no create was received",
      IDEMPOTENCY_CAUSES.elsewhere,
    ],
    [
      first({ ending: "timeout", exitCode: null }),
      "unknown",
      "no create was received",
      IDEMPOTENCY_CAUSES.elsewhere,
    ],
    [
      first({ ending: "not_run", exitCode: null }),
      "unknown",
      "no create was received",
      IDEMPOTENCY_CAUSES.not_run,
    ],
    [none, "unknown", "no create was received", IDEMPOTENCY_CAUSES.not_run],
  ];
  for (const [difference, verdict, got, cause] of rows) {
    const { steps, ...judged } = judge(difference);
    expect([judged.verdict, steps.map((step) => [step.name, step.got, step.cause])]).toEqual([
      verdict,
      [["answer_lost", got, english(cause)]],
    ]);
  }
});

test("what came in is judged in its order", () => {
  const judged = (...later: readonly Partial<ObservedCreate>[]): string => {
    const creates = later.map((one, at) => create("first", { ...one, requestId: `r${at + 1}` }));
    const { steps } = judge({ ...STOPPED, seen: { ...ALONE, first: [SEEN.first[0], ...creates] } });
    const fault = steps.find(({ passed }) => !passed);
    return fault === undefined ? "passed" : `${fault.name} ${fault.reference} ${fault.got}`;
  };
  const right = { result: "replayed" } as const;
  expect(judged(right)).toBe("passed");
  expect(judged(right, right)).toBe("passed");
  // A limiter or a locked database says nothing of keys.
  const limited = { result: "rate_limited" } as const;
  expect(judged(limited, right)).toBe("passed");
  expect(judged({ ...limited, idempotencyKey: null, orderId: null }, right)).toBe("passed");
  expect(judged(limited)).toBe("same_key r1 the same key: rate_limited");
  // The right key in the end does not make another one before it right.
  expect(judged({ idempotencyKey: "key-2", result: "order_conflict" }, right)).toBe(
    'same_key r1 another key, "key-2": order_conflict',
  );
  expect(judged(right, { idempotencyKey: null, result: "idempotency_key_missing" })).toBe(
    "same_key r2 no key: idempotency_key_missing",
  );
  expect(judged({ result: "idempotency_key_reused" }, right)).toBe(
    "same_key r1 the same key: idempotency_key_reused",
  );
  expect(judged({ idempotencyKey: "key-2", orderId: "p", result: "created" })).toBe(
    'same_key r1 another key, "key-2": created',
  );
  // Of several wrong ones the first is told.
  expect(
    judged(
      { idempotencyKey: "key-8", result: "order_conflict" },
      { idempotencyKey: "key-9", result: "order_conflict" },
    ),
  ).toBe('same_key r1 another key, "key-8": order_conflict');
});
