import type { ClientRun } from "../names.ts";
import type { JudgedDrill } from "./drill.ts";
import { errorRow } from "../../errors.ts";
import { english, type Words } from "../../language.ts";
import { EXPECTED_RESULTS, STEP_RESULTS, QUOTING_RESULTS } from "../drill-sentences.ts";
import {
  BUSY_CAUSES,
  CRASH_CAUSES,
  LOSS_CAUSES,
  IDEMPOTENCY_CAUSES,
  OWN_ORDER_ID_CAUSES,
  type RetryMistake,
} from "../idempotency-causes.ts";
import { printableLiteral } from "../../text.ts";
import type { ClientExit, DrillStep, ObservedCreate, WatchedRun } from "../drill-shapes.ts";

/** A finished run of the merchant's command, and whether it received an answer for its order. */
export type RunFact = ClientExit & WatchedRun & { readonly answered: boolean };

/** The creates that the sandbox has seen, and the checkouts in its database after the merchant's command has exited. */
export type IdempotencyFacts = {
  /** The creates in the order in which they were answered. */
  readonly seen: readonly ObservedCreate[];
  /** The runs, in order. */
  readonly runs: readonly RunFact[];
  /** Number of orders and sessions that exist for each of the first three purchases. */
  readonly made: { readonly first: number; readonly second: number; readonly third: number };
  /** The last four characters of other keys of the store with which creates for the drill's orders arrived. */
  readonly otherKeys: readonly string[];
  /** The last four characters of the drill's API key. */
  readonly ownKey: string;
  /** Whether this program's own commands, which are not the merchant's client, sent a create with the drill's key. */
  readonly hasOwnCommand: boolean;
  /** Whether a create arrived while no run was in progress, after the end of a command. */
  readonly hasLate: boolean;
  /** The id of the drill's own request with the lost create's key and another body; null if it was not refused. */
  readonly refusedRequestId: string | null;
};

/** Refusals caused by a client's use of keys. */
const KEY_FAULTS: ReadonlySet<ObservedCreate["result"]> = new Set([
  "idempotency_key_missing",
  "idempotency_key_invalid",
  "idempotency_key_reused",
]);

/** The observation of a step, and the cause if it fails, or a note if it passes. */
type StepOutcome = {
  readonly got: string;
  readonly reference?: string | null;
  readonly cause?: Words;
  readonly note?: Words;
};

/** The input of the steps that follow a lost answer. */
type StepFacts = {
  readonly facts: IdempotencyFacts;
  readonly lost: ObservedCreate;
  /** The creates of the first purchase that follow the lost answer. */
  readonly later: readonly ObservedCreate[];
  /** The outcome for the key of the second purchase; undefined if there was no second purchase. */
  readonly ownKey: StepOutcome | undefined;
  /** The second purchase after its command was killed and run again; undefined if that did not happen. */
  readonly again: RestartFacts | undefined;
};
type RestartFacts = { readonly made: ObservedCreate; readonly killed: RunFact; readonly restarted: RunFact };

/** A step; `see` returns undefined if the step did not run. */
type IdempotencyStep = {
  readonly title: Words;
  readonly expected: Words;
  readonly see: (stepFacts: StepFacts) => StepOutcome | undefined;
};

/** The steps of the drill, in order. */
export const IDEMPOTENCY_STEPS = {
  answer_lost: {
    title: ["answer lost after the commit", "提交后响应丢失"],
    expected: EXPECTED_RESULTS.create,
    see: ({ lost }) => ({ got: english(STEP_RESULTS.dropped(lost.result)), reference: lost.requestId }),
  },
  tried_again: {
    title: ["another attempt", "再次尝试"],
    expected: EXPECTED_RESULTS.another,
    see: judgeRetry,
  },
  same_key: {
    title: ["same key", "相同的幂等键"],
    expected: EXPECTED_RESULTS.sameKey,
    see: ({ lost, later }) =>
      later.length === 0 ? undefined : judgeSameKey({ before: lost, later, wrong: LOSS_CAUSES }),
  },
  one_order: {
    title: ["orders and sessions created", "创建的订单和会话数"],
    expected: EXPECTED_RESULTS.one,
    see: ({ facts }) => judgeOneOrder(facts.made.first),
  },
  client_ended: {
    title: ["end of the command", "命令的结束"],
    expected: EXPECTED_RESULTS.endsWell,
    see: ({ facts }) => judgeClientExits(runsOf(facts, "first")),
  },
  own_key: {
    title: ["a second purchase", "第二次购买"],
    expected: EXPECTED_RESULTS.second,
    see: ({ ownKey }) => ownKey,
  },
  same_key_again: {
    title: ["killed when the order was created, run again", "订单创建时被终止，再次运行"],
    expected: EXPECTED_RESULTS.sameKey,
    see: ({ facts, again }) => again && judgeKeyAfterRestart(facts, again),
  },
  one_order_again: {
    title: ["orders and sessions of that purchase", "该次购买的订单和会话数"],
    expected: EXPECTED_RESULTS.one,
    see: ({ facts, again }) => again && judgeOneOrder(facts.made.second),
  },
  restarted_ended: {
    title: ["end of the command run again", "再次运行的命令的结束"],
    expected: EXPECTED_RESULTS.endsWell,
    see: ({ facts, again }) => again && judgeClientExits(runsOf(facts, "restarted")),
  },
  same_key_busy: {
    title: ["a 503 after the commit, then a 429", "提交后返回 503，之后返回 429"],
    expected: EXPECTED_RESULTS.sameKeyLater,
    see: ({ facts }) => judgeKeyAfter503(facts),
  },
  one_order_busy: {
    title: ["orders and sessions of that purchase", "该次购买的订单和会话数"],
    expected: EXPECTED_RESULTS.one,
    see: ({ facts }) =>
      findLostCreate(facts, "between") === undefined ? undefined : judgeOneOrder(facts.made.third),
  },
  busy_ended: {
    title: ["end of the command after the 429", "429 之后命令的结束"],
    expected: EXPECTED_RESULTS.endsWell,
    see: ({ facts }) =>
      findLostCreate(facts, "between") === undefined ? undefined : judgeClientExits(runsOf(facts, "between")),
  },
  alike_keys: {
    title: ["purchases with similar order_ids", "order_id 相似的购买"],
    expected: EXPECTED_RESULTS.keyEach,
    see: ({ facts }) => judgeAlikeKeys(facts),
  },
  other_body_refused: {
    title: ["another body with the key, sent by this drill", "演练用同一幂等键发送不同的请求体"],
    expected: EXPECTED_RESULTS.reused,
    see: ({ facts }) => judgeOtherBody(facts),
  },
} as const satisfies Readonly<Record<string, IdempotencyStep>>;

/**
 * Judges how a client handles an answer that is lost after the commit, a second purchase, and a crash (interface 19,
 * 20). If no answer could be dropped, the other steps are not judged, and the verdict is `failed` for a misused key,
 * otherwise `unknown`.
 */
export function judgeIdempotencyDrill(facts: IdempotencyFacts): JudgedDrill {
  const first = facts.seen.filter(({ run }) => run === "first");
  const at = first.findIndex(({ lost }) => lost);
  const lost = first[at];
  if (lost === undefined) {
    const isFault = facts.seen.some(({ result }) => KEY_FAULTS.has(result));
    return { verdict: isFault ? "failed" : "unknown", steps: [stepOf("answer_lost", nothingLost(facts))] };
  }
  const stepFacts = stepFactsOf(facts, { lost, later: first.slice(at + 1) });
  const steps = STEP_NAMES.flatMap((name) => {
    const found = IDEMPOTENCY_STEPS[name].see(stepFacts);
    return found === undefined ? [] : [stepOf(name, found)];
  });
  return { verdict: steps.every((step) => step.passed) ? "passed" : "failed", steps };
}

type StepName = keyof typeof IDEMPOTENCY_STEPS;

const STEP_NAMES = Object.keys(IDEMPOTENCY_STEPS) as readonly StepName[];

function stepOf(name: StepName, { got, reference = null, cause, note }: StepOutcome): DrillStep {
  const { expected } = IDEMPOTENCY_STEPS[name];
  const text = cause ?? note;
  return {
    name,
    passed: cause === undefined,
    expected: english(expected),
    got,
    cause: text === undefined ? null : english(text),
    reference,
  };
}

function stepFactsOf(facts: IdempotencyFacts, { lost, later }: Pick<StepFacts, "lost" | "later">): StepFacts {
  const killed = runOf(facts, "killed");
  const began = facts.seen.filter(({ run }) => run === "killed");
  const made = began.find((create) => create.lost);
  const ownKey = killed && judgeSecondKey(lost, { began, made, killed });
  const restarted = runOf(facts, "restarted");
  const again =
    made && killed && restarted && ownKey?.cause === undefined ? { made, killed, restarted } : undefined;
  return { facts, lost, later, ownKey, again };
}

/** The last run of the command for a purchase; undefined if it was not run. */
function runOf(facts: IdempotencyFacts, run: ClientRun): RunFact | undefined {
  return runsOf(facts, run).at(-1);
}

/** All runs of the command for a purchase: it is run again if it ended without an answer. */
function runsOf({ runs }: IdempotencyFacts, run: ClientRun): readonly RunFact[] {
  return runs.filter((one) => one.run === run);
}

/** The first create of a run whose answer the client did not receive. */
function findLostCreate({ seen }: IdempotencyFacts, run: ClientRun): ObservedCreate | undefined {
  return seen.find((create) => create.lost && create.run === run);
}

function nothingLost(facts: IdempotencyFacts): StepOutcome {
  const told = facts.seen.find(({ result }) => KEY_FAULTS.has(result)) ?? facts.seen.at(-1);
  if (told === undefined) return { got: english(STEP_RESULTS.noCreate), cause: causeOfSilence(facts) };
  // The answer of a refused create cannot be dropped, so the refusal is the cause.
  return { got: told.result, reference: told.requestId, cause: causeOfRefusal(told) };
}

function causeOfRefusal({ result }: ObservedCreate): Words {
  return errorRow(result)?.cause ?? IDEMPOTENCY_CAUSES.refused(result);
}

function causeOfSilence(facts: IdempotencyFacts): Words {
  const { otherKeys, ownKey, hasOwnCommand } = facts;
  const [other] = otherKeys;
  if (other !== undefined) return IDEMPOTENCY_CAUSES.other_api_key(other, ownKey);
  if (hasOwnCommand) return IDEMPOTENCY_CAUSES.own_command;
  if (facts.hasLate) return IDEMPOTENCY_CAUSES.late;
  const { ending, exitCode } = runOf(facts, "first") ?? NOT_RUN;
  if (ending === "not_run") return IDEMPOTENCY_CAUSES.not_run;
  if (ending === "exited" && exitCode === 127) return IDEMPOTENCY_CAUSES.unknown_command;
  if (ending !== "exited" || exitCode === null) return IDEMPOTENCY_CAUSES.elsewhere;
  return exitCode === 0
    ? IDEMPOTENCY_CAUSES.elsewhere_or_queued
    : IDEMPOTENCY_CAUSES.failed_at_once(String(exitCode));
}

const NOT_RUN: ClientExit = { ending: "not_run", exitCode: null };

function judgeRetry({ facts, later }: StepFacts): StepOutcome {
  const [next] = later;
  if (next !== undefined) {
    const tell = next.start > 1 ? STEP_RESULTS.moreRunAgain : STEP_RESULTS.more;
    return { got: english(tell(String(later.length))), reference: next.requestId };
  }
  const { ending, exitCode } = runOf(facts, "first") ?? NOT_RUN;
  if (ending === "timeout")
    return { got: english(STEP_RESULTS.none), cause: IDEMPOTENCY_CAUSES.no_try_in_time };
  return {
    got: english(STEP_RESULTS.none),
    cause: exitCode === 0 ? IDEMPOTENCY_CAUSES.gave_up : IDEMPOTENCY_CAUSES.forgotten,
  };
}

/** The third purchase: a 503 after the commit, then a 429. */
function judgeKeyAfter503(facts: IdempotencyFacts): StepOutcome | undefined {
  const lost = findLostCreate(facts, "between");
  const run = runOf(facts, "between");
  if (run === undefined) return undefined;
  const all = facts.seen.filter((create) => create.run === "between");
  if (lost === undefined) {
    const last = all.at(-1);
    if (last === undefined)
      return { got: english(STEP_RESULTS.noCreate), cause: IDEMPOTENCY_CAUSES.one_purchase };
    return { got: last.result, reference: last.requestId, cause: causeOfRefusal(last) };
  }
  const later = all.slice(all.indexOf(lost) + 1);
  if (later.length === 0) return { got: english(STEP_RESULTS.noAttempt), cause: IDEMPOTENCY_CAUSES.took_503 };
  const found = judgeSameKey({ before: lost, later, wrong: BUSY_CAUSES });
  const early = later.filter((create) => create.early);
  if (found.cause !== undefined || early.length === 0) return found;
  const got = english(STEP_RESULTS.early(found.got, String(early.length)));
  return early.length > MAX_EARLY ? { ...found, got, note: IDEMPOTENCY_CAUSES.hammers } : { ...found, got };
}

/**
 * Maximum number of early requests without a note: the client may have its own clock or backoff. More are no failure
 * either: the interface states no number, and no order is doubled.
 */
const MAX_EARLY = 2;

/** Purchases with similar order_ids must have different keys, and each must be created. */
function judgeAlikeKeys(facts: IdempotencyFacts): StepOutcome | undefined {
  const runs = runsOf(facts, "alike");
  if (runs.length === 0) return undefined;
  const orders = new Map<string, string>();
  for (const { idempotencyKey, orderId, run } of facts.seen) {
    if (idempotencyKey === null || orderId === null) continue;
    const before = orders.get(idempotencyKey);
    if (before === undefined) orders.set(idempotencyKey, orderId);
    else if (before !== orderId && (run === "alike" || run === "between"))
      return {
        got: english(QUOTING_RESULTS.oneKeyFor(printableLiteral(before), printableLiteral(orderId))),
        cause: IDEMPOTENCY_CAUSES.alike,
      };
  }
  const unmade = runs.find(({ answered }) => !answered);
  if (unmade === undefined) return { got: english(EXPECTED_RESULTS.keyEach) };
  const last = facts.seen.findLast(({ run, orderId }) => run === "alike" && orderId === unmade.orderId);
  if (last === undefined)
    return { got: english(STEP_RESULTS.noCreate), cause: IDEMPOTENCY_CAUSES.one_purchase };
  return { got: last.result, reference: last.requestId, cause: causeOfRefusal(last) };
}

/** The outcome after the command was killed at the creation of its order, and run again. */
function judgeKeyAfterRestart({ seen }: IdempotencyFacts, { made, killed }: RestartFacts): StepOutcome {
  const later = seen.filter(({ run }) => run === "restarted");
  if (later.length === 0) return { got: english(STEP_RESULTS.noCreate), cause: IDEMPOTENCY_CAUSES.forgotten };
  const wrong = made.orderId === killed.orderId ? CRASH_CAUSES : OWN_ORDER_ID_CAUSES;
  return judgeSameKey({ before: made, later, wrong });
}

/** The outcome of the second purchase, which must have another key. */
function judgeSecondKey(
  lost: ObservedCreate,
  {
    began,
    made,
    killed,
  }: {
    readonly began: readonly ObservedCreate[];
    readonly made: ObservedCreate | undefined;
    readonly killed: ClientExit;
  },
): StepOutcome {
  const second = made ?? began.at(-1);
  if (second === undefined) {
    const cause =
      killed.ending === "timeout" ? IDEMPOTENCY_CAUSES.no_second_in_time : IDEMPOTENCY_CAUSES.one_purchase;
    return { got: english(STEP_RESULTS.noCreate), cause };
  }
  const found = { got: keyAndResult(lost, second), reference: second.requestId };
  if (second.idempotencyKey === lost.idempotencyKey)
    return { ...found, cause: IDEMPOTENCY_CAUSES.one_key_for_all };
  return made === undefined ? { ...found, cause: causeOfRefusal(second) } : found;
}

/** How a later create relates to the create with the lost answer. */
type Relation = "right" | RetryMistake;

type Causes = Readonly<Record<RetryMistake, Words>>;

function judgeSameKey({
  before,
  later,
  wrong: causes,
}: {
  readonly before: ObservedCreate;
  readonly later: readonly ObservedCreate[];
  readonly wrong: Causes;
}): StepOutcome {
  const known = later.findIndex(({ lost, result }) => !lost && result === "replayed");
  const related = later.map((create, at) => {
    const relation = relationOf(before, create);
    const isAfterwards = relation === "new_key" && known >= 0 && at > known;
    return { ...create, relation: isAfterwards ? "second_create" : relation };
  });
  const first = (relation: Relation) => related.find((create) => create.relation === relation);
  const wrong =
    first("no_key") ??
    first("other_path") ??
    first("other_body") ??
    first("new_key") ??
    first("second_create");
  const right = first("right");
  if (wrong === undefined && right !== undefined) {
    return { got: english(QUOTING_RESULTS.sameKey("replayed")), reference: right.requestId };
  }
  const shown = wrong ?? first("new_purchase") ?? first("says_nothing");
  if (shown === undefined || shown.relation === "right") throw new Error("a later create is right or wrong");
  const got = keyAndResult(before, shown);
  return { got, reference: shown.requestId, cause: causes[shown.relation] };
}

function keyAndResult(before: ObservedCreate, { idempotencyKey: key, result }: ObservedCreate): string {
  if (key === null) return english(STEP_RESULTS.noKey(result));
  const isSame = key === before.idempotencyKey;
  return english(
    isSame ? QUOTING_RESULTS.sameKey(result) : QUOTING_RESULTS.otherKey(printableLiteral(key), result),
  );
}

function relationOf(
  before: ObservedCreate,
  { result, idempotencyKey, orderId, path }: ObservedCreate,
): Relation {
  if (result === "idempotency_key_missing") return "no_key";
  if (idempotencyKey === before.idempotencyKey) {
    if (result === "replayed") return "right";
    if (path !== before.path) return "other_path";
    // The service accepted the first create, so a refusal means that this body differs.
    const isOther = result === "idempotency_key_reused" || errorRow(result)?.status === 400;
    return isOther ? "other_body" : "says_nothing";
  }
  if (orderId === null || idempotencyKey === null) return "says_nothing";
  return orderId === before.orderId ? "new_key" : "new_purchase";
}

function judgeOneOrder(made: number): StepOutcome {
  const got = String(made);
  if (made === 1) return { got };
  const cause = made === 0 ? IDEMPOTENCY_CAUSES.no_order : IDEMPOTENCY_CAUSES.more_orders;
  return { got, cause };
}

/** How the runs of the command for a purchase exited: without an answer, a code other than 0 is correct. */
function judgeClientExits(runs: readonly RunFact[]): StepOutcome {
  const blind = runs.find(({ exitCode, answered }) => exitCode === 0 && !answered);
  if (blind !== undefined) return { got: english(STEP_RESULTS.blind), cause: IDEMPOTENCY_CAUSES.blind };
  const { ending, exitCode, answered } = runs.at(-1) ?? { ...NOT_RUN, answered: false };
  if (ending === "timeout")
    return {
      got: english(STEP_RESULTS.timeUp),
      cause: answered ? IDEMPOTENCY_CAUSES.daemon : IDEMPOTENCY_CAUSES.endless,
    };
  if (exitCode === 0) return { got: english(STEP_RESULTS.exitCode("0")) };
  const got = english(exitCode === null ? STEP_RESULTS.signal : STEP_RESULTS.exitCode(String(exitCode)));
  const cause = IDEMPOTENCY_CAUSES.reports_failure;
  return { got, cause };
}

/** The outcome of a request that the drill sends itself, as a client that confuses its keys would. */
function judgeOtherBody({ refusedRequestId: reference }: IdempotencyFacts): StepOutcome {
  if (reference !== null) return { got: english(EXPECTED_RESULTS.reused), reference };
  return { got: english(STEP_RESULTS.noRefusal), cause: IDEMPOTENCY_CAUSES.service_unreached };
}
