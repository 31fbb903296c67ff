import type { ClientRun } from "../names.ts";
import type { CreateRequest } from "../../checkout/create-request.ts";
import type { ClientEnd, DrillStep, SeenCreate } from "../../control/drills.ts";
import { errorRow, ERRORS } from "../../errors.ts";
import { printableLiteral } from "../../text.ts";

/** A run of the merchant's command, and the order_id that it was given. */
export type RunFact = ClientEnd & { readonly run: ClientRun; readonly orderId: string };

/** What the service has seen, and what its tables hold after the merchant's command has ended. */
export type IdempotencyFacts = {
  /** In the order in which they were answered. */
  readonly seen: readonly SeenCreate[];
  /** In their order. */
  readonly runs: readonly RunFact[];
  /** Number of orders and sessions that exist for each purchase. */
  readonly made: { readonly first: number; readonly second: number };
  /** Creates for the drill's orders that came with another key of the store: the last four characters of that key. */
  readonly otherKeys: readonly string[];
  /** The last four characters of the drill's own API key. */
  readonly ownKey: string;
  /** Whether this program's own commands have sent a create with the drill's key: they are not the merchant's client. */
  readonly hasOwnCommand: boolean;
  /** The drill's own request with the lost create's key and another body, if it was refused. */
  readonly refusedRequestId: string | null;
};

/** The result for a client. `unknown`: no answer could be dropped, for a reason other than the key. */
type IdempotencyVerdict = {
  readonly verdict: "passed" | "failed" | "unknown";
  readonly steps: readonly DrillStep[];
};

/** Refusals that are caused by a client's use of keys. */
const KEY_FAULTS: ReadonlySet<SeenCreate["result"]> = new Set([
  "idempotency_key_missing",
  "idempotency_key_invalid",
  "idempotency_key_reused",
]);

/**
 * Decides how a client handles an answer that is lost after the commit, a second purchase, and a crash (interface 19,
 * 20). If no answer could be dropped, the later steps are not judged.
 */
export function judgeIdempotencyDrill(facts: IdempotencyFacts): IdempotencyVerdict {
  const first = facts.seen.filter(({ run }) => run === "first");
  const at = first.findIndex(({ lost }) => lost);
  const lost = first[at];
  if (lost === undefined) {
    const isFault = facts.seen.some(({ result }) => KEY_FAULTS.has(result));
    return { verdict: isFault ? "failed" : "unknown", steps: [nothingLost(facts)] };
  }
  const steps = [
    ...lostAnswer(lost, first.slice(at + 1), facts),
    ...secondPurchase(lost, facts),
    otherBodyRefused(facts),
  ];
  return { verdict: steps.every((step) => step.passed) ? "passed" : "failed", steps };
}

/** What a client is given for a run of its command; undefined if it did not come to that. */
function runOf({ runs }: IdempotencyFacts, run: ClientRun): RunFact | undefined {
  return runs.find((one) => one.run === run);
}

/**
 * A different create with the same order_id: another amount, or another description if the catalog sets the amount.
 * With a used key it must be refused.
 */
export function otherRequest(request: CreateRequest): CreateRequest {
  if ("price_id" in request) {
    const description = request.description === OTHER_DESCRIPTION ? "" : OTHER_DESCRIPTION;
    return { ...request, description };
  }
  const { amount_minor: amount } = request;
  return { ...request, amount_minor: amount > 1 ? amount - 1 : 2 };
}

const OTHER_DESCRIPTION = "another body under the same key";

type Found = Pick<DrillStep, "expected" | "got"> & { readonly reference?: string | null };

function passed(name: string, { reference = null, ...found }: Found): DrillStep {
  return { name, passed: true, ...found, cause: null, reference };
}

function failed(name: string, { reference = null, ...found }: Found, cause: string): DrillStep {
  return { name, passed: false, ...found, cause, reference };
}

const ANSWER_LOST = { expected: "a create that succeeds" } as const;

function nothingLost(facts: IdempotencyFacts): DrillStep {
  const told = facts.seen.find(({ result }) => KEY_FAULTS.has(result)) ?? facts.seen.at(-1);
  if (told === undefined)
    return failed("answer_lost", { ...ANSWER_LOST, got: "no create came in" }, causeOfSilence(facts));
  // Why the answer of a refused create cannot be dropped.
  const cause = errorRow(told.result)?.cause ?? `sends a create that the service refuses: ${told.result}`;
  const found = { ...ANSWER_LOST, got: told.result, reference: told.requestId };
  return failed("answer_lost", found, cause);
}

function causeOfSilence(facts: IdempotencyFacts): string {
  const { otherKeys, ownKey, hasOwnCommand } = facts;
  const [other] = otherKeys;
  if (other !== undefined)
    return `used key …${other}, the drill's is …${ownKey}: take the API key from CHECKOUT_API_KEY, not from a file of its own`;
  if (hasOwnCommand) return "runs this program's own command, which shows nothing of a client of yours";
  const { ending, exitCode } = runOf(facts, "first") ?? NOT_RUN;
  if (ending === "not_run") return "the command could not be run";
  if (ending === "exited" && exitCode === 127) return "the shell does not know the command";
  return "sends its creates elsewhere, or none: the address is in CHECKOUT_BASE_URL, and the API key in CHECKOUT_API_KEY";
}

const NOT_RUN: ClientEnd = { ending: "not_run", exitCode: null };

/** The first purchase: its answer was lost once. */
function lostAnswer(lost: SeenCreate, later: readonly SeenCreate[], facts: IdempotencyFacts): DrillStep[] {
  const client = runOf(facts, "first") ?? NOT_RUN;
  const got = `${lost.result}, and its answer dropped`;
  return [
    passed("answer_lost", { ...ANSWER_LOST, got, reference: lost.requestId }),
    triedAgain(later, client),
    ...(later.length === 0 ? [] : [sameKey("same_key", { before: lost, later, wrong: AFTER_A_LOSS })]),
    oneOrder("one_order", facts.made.first),
    clientEnded("client_ended", client),
  ];
}

function triedAgain(later: readonly SeenCreate[], { ending }: ClientEnd): DrillStep {
  const expected = "another try";
  const [next] = later;
  if (next !== undefined) {
    return passed("tried_again", { expected, got: `${later.length} more`, reference: next.requestId });
  }
  const cause =
    ending === "timeout"
      ? "had not tried again before the timeout; --command-timeout gives it more time"
      : "takes a lost connection for a refusal: the order exists and the shop does not know it; send the same request with the same key again";
  return failed("tried_again", { expected, got: "none" }, cause);
}

/** The second purchase: the command was killed when its order was made, and was run again. */
function secondPurchase(lost: SeenCreate, facts: IdempotencyFacts): DrillStep[] {
  const killed = runOf(facts, "killed");
  if (killed === undefined) return [];
  const began = facts.seen.filter(({ run }) => run === "killed");
  const made = began.find((create) => create.lost);
  const own = secondKey(lost, { began, made, killed });
  const restarted = runOf(facts, "restarted");
  if (made === undefined || !own.passed || restarted === undefined) return [own];
  const later = facts.seen.filter(({ run }) => run === "restarted");
  const wrong = made.orderId === killed.orderId ? AFTER_A_CRASH : OWN_ORDER_IDS;
  return [
    own,
    later.length === 0
      ? failed("same_key_again", { expected: SAME_KEY, got: "no create came in" }, FORGOTTEN)
      : sameKey("same_key_again", { before: made, later, wrong }),
    oneOrder("one_order_again", facts.made.second),
    clientEnded("restarted_ended", restarted),
  ];
}

/** A purchase of its own has a key of its own. */
function secondKey(
  lost: SeenCreate,
  {
    began,
    made,
    killed,
  }: {
    readonly began: readonly SeenCreate[];
    readonly made: SeenCreate | undefined;
    readonly killed: ClientEnd;
  },
): DrillStep {
  const name = "own_key";
  const expected = "a second purchase, with another key";
  const told = made ?? began.find(({ result }) => KEY_FAULTS.has(result)) ?? began.at(-1);
  if (told === undefined) {
    const cause =
      killed.ending === "timeout"
        ? "had not made a second purchase before the timeout; --command-timeout gives it more time"
        : "makes only one purchase: each run of the command has to make one, for the order_id in CHECKOUT_ORDER_ID";
    return failed(name, { expected, got: "no create came in" }, cause);
  }
  const found = { expected, got: `${keyOf(lost, told)}: ${told.result}`, reference: told.requestId };
  if (told.idempotencyKey === lost.idempotencyKey) return failed(name, found, ONE_KEY_FOR_ALL);
  if (made !== undefined) return passed(name, found);
  const cause = errorRow(told.result)?.cause ?? `sends a create that the service refuses: ${told.result}`;
  return failed(name, found, cause);
}

const ONE_KEY_FOR_ALL =
  "uses one key for different purchases: the second customer gets the first one's order, or a 409; make one key for each purchase";
const FORGOTTEN =
  "does not finish what it had begun when it was killed: the order exists and the shop does not know it; write the purchase and its key down before the first try, and go on with it";

/** How a later create relates to the one whose answer was lost. */
type Relation = "right" | "no_key" | "other_body" | "new_key" | "new_purchase" | "says_nothing";

type Causes = Readonly<Record<Exclude<Relation, "right">, string>>;

const AFTER_A_LOSS: Causes = {
  no_key: ERRORS.idempotency_key_missing.cause,
  other_body:
    "sends another body with the key: something in it changes with each try, such as a time or a description",
  new_key:
    "makes a new key for each retry: make one key for each purchase, store it, and send it with every try; here order_conflict stops a second order, which the interface does not promise (decision 8)",
  new_purchase: "makes a new key and a new order_id for each retry, so that each is a purchase of its own",
  says_nothing: "gave up before a try was answered",
};

const AFTER_A_CRASH: Causes = {
  ...AFTER_A_LOSS,
  new_key:
    "makes a new key when it is started again, for example from the time, the process or randomness: store the key with the purchase before the first try, or derive it from the purchase alone",
  new_purchase: "makes another purchase when it is started again, with a new key and a new order_id",
};

const OWN_ORDER_IDS: Causes = {
  ...AFTER_A_CRASH,
  new_purchase:
    "makes up an order_id at each start, so that a crash means a second purchase: CHECKOUT_ORDER_ID is the same when it is started again",
};

const SAME_KEY = "the same key";

function sameKey(
  name: string,
  {
    before,
    later,
    wrong: causes,
  }: { readonly before: SeenCreate; readonly later: readonly SeenCreate[]; readonly wrong: Causes },
): DrillStep {
  const told = later.map((create) => ({ ...create, relation: relationOf(before, create) }));
  const first = (relation: Relation) => told.find((create) => create.relation === relation);
  const wrong = first("no_key") ?? first("other_body") ?? first("new_key");
  const right = first("right");
  if (wrong === undefined && right !== undefined) {
    const got = "the same key: replayed";
    return passed(name, { expected: SAME_KEY, got, reference: right.requestId });
  }
  const shown = wrong ?? first("new_purchase") ?? first("says_nothing");
  if (shown === undefined || shown.relation === "right") throw new Error("a later create is right or wrong");
  const got = `${keyOf(before, shown)}: ${shown.result}`;
  return failed(name, { expected: SAME_KEY, got, reference: shown.requestId }, causes[shown.relation]);
}

function keyOf(before: SeenCreate, { idempotencyKey: key }: SeenCreate): string {
  if (key === null) return "no key";
  return key === before.idempotencyKey ? SAME_KEY : `another key, ${printableLiteral(key)}`;
}

function relationOf(before: SeenCreate, { result, idempotencyKey, orderId }: SeenCreate): Relation {
  if (result === "idempotency_key_missing") return "no_key";
  if (idempotencyKey === before.idempotencyKey) {
    if (result === "idempotency_key_reused") return "other_body";
    return result === "replayed" ? "right" : "says_nothing";
  }
  if (orderId === null || idempotencyKey === null) return "says_nothing";
  return orderId === before.orderId ? "new_key" : "new_purchase";
}

function oneOrder(name: string, made: number): DrillStep {
  const found = { expected: "1", got: String(made) };
  if (made === 1) return passed(name, found);
  const cause =
    made === 0
      ? "has made no order, although the service had answered that it did"
      : "makes more than one order for one purchase: one for each try, or a second create";
  return failed(name, found, cause);
}

function clientEnded(name: string, { ending, exitCode }: ClientEnd): DrillStep {
  const expected = "exit code 0";
  if (ending === "timeout") {
    return failed(name, { expected, got: "killed, its time was up" }, "does not end");
  }
  if (exitCode === 0) return passed(name, { expected, got: "exit code 0" });
  const got = exitCode === null ? "ended by a signal" : `exit code ${exitCode}`;
  const cause =
    "reports a failure although the order exists, so the shop tells the customer that it failed, or starts again";
  return failed(name, { expected, got }, cause);
}

/** The drill sends it: it shows what the service does, and what a client would get that mixes up its keys. */
function otherBodyRefused({ refusedRequestId }: IdempotencyFacts): DrillStep {
  const expected = "409 idempotency_key_reused";
  if (refusedRequestId !== null) {
    return passed("other_body_refused", { expected, got: expected, reference: refusedRequestId });
  }
  const cause = "the service has seen no such request: it could not be reached";
  return failed("other_body_refused", { expected, got: "no refusal" }, cause);
}
