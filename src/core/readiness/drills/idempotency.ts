import type { ClientRun } from "../names.ts";
import type { CreateRequest } from "../../checkout/create-request.ts";
import type { ClientEnd, DrillStep, SeenCreate, WatchedRun } from "../../control/drills.ts";
import type { JudgedDrill } from "./drill.ts";
import { errorRow, ERRORS } from "../../errors.ts";
import { printableLiteral } from "../../text.ts";

/** A run of the merchant's command, how it ended, and whether it was told that its order exists. */
export type RunFact = ClientEnd & WatchedRun & { readonly answered: boolean };

/** What the service has seen, and what its tables hold after the merchant's command has ended. */
export type IdempotencyFacts = {
  /** In the order in which they were answered. */
  readonly seen: readonly SeenCreate[];
  /** In their order. */
  readonly runs: readonly RunFact[];
  /** Number of orders and sessions that exist for each of the first three purchases. */
  readonly made: { readonly first: number; readonly second: number; readonly third: number };
  /** Creates for the drill's orders that came with another key of the store: the last four characters of that key. */
  readonly otherKeys: readonly string[];
  /** The last four characters of the drill's own API key. */
  readonly ownKey: string;
  /** Whether this program's own commands have sent a create with the drill's key: they are not the merchant's client. */
  readonly hasOwnCommand: boolean;
  /** Whether a create came when no run was under way: behind the end of a command. */
  readonly hasLate: boolean;
  /** The drill's own request with the lost create's key and another body, if it was refused. */
  readonly refusedRequestId: string | null;
};

/** Refusals that are caused by a client's use of keys. */
const KEY_FAULTS: ReadonlySet<SeenCreate["result"]> = new Set([
  "idempotency_key_missing",
  "idempotency_key_invalid",
  "idempotency_key_reused",
]);

/** What was seen in a step; a cause where it does not pass. */
type Found = { readonly got: string; readonly reference?: string | null; readonly cause?: string };

/** What the steps look at once an answer was lost. */
type Scene = {
  readonly facts: IdempotencyFacts;
  readonly lost: SeenCreate;
  /** The creates of the first purchase after the lost answer. */
  readonly later: readonly SeenCreate[];
  /** The key of the second purchase; undefined where it did not come to that. */
  readonly ownKey: Found | undefined;
  /** The second purchase after its command was killed; undefined where it did not come to that. */
  readonly again: Again | undefined;
};
type Again = { readonly made: SeenCreate; readonly killed: RunFact; readonly restarted: RunFact };

/** A step; undefined where it did not come to that. */
type IdempotencyStep = {
  readonly title: string;
  readonly expected: string;
  readonly see: (scene: Scene) => Found | undefined;
};

const SAME_KEY = "the same key";
const ENDS_WELL = "exit code 0 once its order is known to exist, and not before";

/** The steps of the drill, in their order. */
export const IDEMPOTENCY_STEPS = {
  answer_lost: {
    title: "answer lost after the commit",
    expected: "a create that succeeds",
    see: ({ lost }) => ({ got: `${lost.result}, and its answer dropped`, reference: lost.requestId }),
  },
  tried_again: { title: "another try", expected: "another try", see: triedAgain },
  same_key: {
    title: "same key",
    expected: SAME_KEY,
    see: ({ lost, later }) =>
      later.length === 0 ? undefined : sameKey({ before: lost, later, wrong: AFTER_A_LOSS }),
  },
  one_order: {
    title: "orders and sessions created",
    expected: "1",
    see: ({ facts }) => oneOrder(facts.made.first),
  },
  client_ended: {
    title: "end of the command",
    expected: ENDS_WELL,
    see: ({ facts }) => clientEnded(runsOf(facts, "first")),
  },
  own_key: {
    title: "a second purchase",
    expected: "a second purchase, with another key",
    see: ({ ownKey }) => ownKey,
  },
  same_key_again: {
    title: "killed when it was made, run again",
    expected: SAME_KEY,
    see: ({ facts, again }) => again && sameKeyAgain(facts, again),
  },
  one_order_again: {
    title: "orders and sessions of it",
    expected: "1",
    see: ({ facts, again }) => again && oneOrder(facts.made.second),
  },
  restarted_ended: {
    title: "end of the command run again",
    expected: ENDS_WELL,
    see: ({ facts, again }) => again && clientEnded(runsOf(facts, "restarted")),
  },
  same_key_busy: {
    title: "a 503 after the commit, then a 429",
    expected: `${SAME_KEY}, after Retry-After`,
    see: ({ facts }) => sameKeyBusy(facts),
  },
  one_order_busy: {
    title: "orders and sessions of it",
    expected: "1",
    see: ({ facts }) => (lostIn(facts, "between") === undefined ? undefined : oneOrder(facts.made.third)),
  },
  busy_ended: {
    title: "end of the command after the 429",
    expected: ENDS_WELL,
    see: ({ facts }) =>
      lostIn(facts, "between") === undefined ? undefined : clientEnded(runsOf(facts, "between")),
  },
  alike_keys: {
    title: "purchases whose order_ids are alike",
    expected: "a key for each",
    see: ({ facts }) => alikeKeys(facts),
  },
  other_body_refused: {
    title: "another body with the key, sent by this drill",
    expected: "409 idempotency_key_reused",
    see: ({ facts }) => otherBodyRefused(facts),
  },
} as const satisfies Readonly<Record<string, IdempotencyStep>>;

/**
 * Decides how a client handles an answer that is lost after the commit, a second purchase, and a crash (interface 19,
 * 20). If no answer could be dropped, for a reason other than the key it is `unknown`, and the later steps are not
 * judged.
 */
export function judgeIdempotencyDrill(facts: IdempotencyFacts): JudgedDrill {
  const first = facts.seen.filter(({ run }) => run === "first");
  const at = first.findIndex(({ lost }) => lost);
  const lost = first[at];
  if (lost === undefined) {
    const isFault = facts.seen.some(({ result }) => KEY_FAULTS.has(result));
    return { verdict: isFault ? "failed" : "unknown", steps: [stepOf("answer_lost", nothingLost(facts))] };
  }
  const scene = sceneOf(facts, { lost, later: first.slice(at + 1) });
  const steps = STEP_NAMES.flatMap((name) => {
    const found = IDEMPOTENCY_STEPS[name].see(scene);
    return found === undefined ? [] : [stepOf(name, found)];
  });
  return { verdict: steps.every((step) => step.passed) ? "passed" : "failed", steps };
}

type StepName = keyof typeof IDEMPOTENCY_STEPS;

const STEP_NAMES = Object.keys(IDEMPOTENCY_STEPS) as readonly StepName[];

function stepOf(name: StepName, { got, reference = null, cause }: Found): DrillStep {
  const { expected } = IDEMPOTENCY_STEPS[name];
  return { name, passed: cause === undefined, expected, got, cause: cause ?? null, reference };
}

function sceneOf(facts: IdempotencyFacts, { lost, later }: Pick<Scene, "lost" | "later">): Scene {
  const killed = runOf(facts, "killed");
  const began = facts.seen.filter(({ run }) => run === "killed");
  const made = began.find((create) => create.lost);
  const ownKey = killed && secondKey(lost, { began, made, killed });
  const restarted = runOf(facts, "restarted");
  const again =
    made && killed && restarted && ownKey?.cause === undefined ? { made, killed, restarted } : undefined;
  return { facts, lost, later, ownKey, again };
}

/** The last start of the command for a purchase; undefined if it did not come to that. */
function runOf(facts: IdempotencyFacts, run: ClientRun): RunFact | undefined {
  return runsOf(facts, run).at(-1);
}

/** All starts of the command for a purchase: one that ended without an answer is followed by another one. */
function runsOf({ runs }: IdempotencyFacts, run: ClientRun): readonly RunFact[] {
  return runs.filter((one) => one.run === run);
}

/** The first create of a run whose answer was kept from the client. */
function lostIn({ seen }: IdempotencyFacts, run: ClientRun): SeenCreate | undefined {
  return seen.find((create) => create.lost && create.run === run);
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

function nothingLost(facts: IdempotencyFacts): Found {
  const told = facts.seen.find(({ result }) => KEY_FAULTS.has(result)) ?? facts.seen.at(-1);
  if (told === undefined) return { got: NO_CREATE, cause: causeOfSilence(facts) };
  // Why the answer of a refused create cannot be dropped.
  return { got: told.result, reference: told.requestId, cause: causeOfRefusal(told) };
}

const NO_CREATE = "no create came in";

function causeOfRefusal({ result }: SeenCreate): string {
  return errorRow(result)?.cause ?? `sends a create that the service refuses: ${result}`;
}

function causeOfSilence(facts: IdempotencyFacts): string {
  const { otherKeys, ownKey, hasOwnCommand } = facts;
  const [other] = otherKeys;
  if (other !== undefined)
    return `used key …${other}, the drill's is …${ownKey}: take the API key from CHECKOUT_API_KEY, not from a file of its own`;
  if (hasOwnCommand) return "runs this program's own command, which shows nothing of a client of yours";
  if (facts.hasLate)
    return "ends before its create is sent, so a queue or a daemon sends it: give the drill a command that waits until the order is made";
  const { ending, exitCode } = runOf(facts, "first") ?? NOT_RUN;
  if (ending === "not_run") return "the command could not be run";
  if (ending === "exited" && exitCode === 127) return "the shell does not know the command";
  const elsewhere =
    "sends its creates elsewhere, or none: the address is in CHECKOUT_BASE_URL, and the API key in CHECKOUT_API_KEY";
  return ending === "exited" && exitCode === 0
    ? `${elsewhere}; or it leaves them to a queue or a daemon, and ends: give the drill a command that waits until the order is made (what it starts in the background ends with it)`
    : elsewhere;
}

const NOT_RUN: ClientEnd = { ending: "not_run", exitCode: null };

function triedAgain({ facts, later }: Scene): Found {
  const [next] = later;
  if (next !== undefined) {
    const how = next.start > 1 ? ", when the command was run again" : "";
    return { got: `${later.length} more${how}`, reference: next.requestId };
  }
  const { ending, exitCode } = runOf(facts, "first") ?? NOT_RUN;
  if (ending === "timeout") return { got: "none", cause: NO_TRY_IN_TIME };
  return { got: "none", cause: exitCode === 0 ? GAVE_UP : FORGOTTEN };
}

const NO_TRY_IN_TIME = "had not tried again before the timeout; --command-timeout gives it more time";
const GAVE_UP =
  "takes a lost connection for an answer: the order exists and the shop does not know it; send the same request with the same key again, or end with an exit code that is not 0";

/** A third purchase whose answer is a 503 after the commit, and the next one a 429. */
function sameKeyBusy(facts: IdempotencyFacts): Found | undefined {
  const lost = lostIn(facts, "between");
  const run = runOf(facts, "between");
  if (run === undefined) return undefined;
  const all = facts.seen.filter((create) => create.run === "between");
  if (lost === undefined) {
    const told = all.at(-1);
    if (told === undefined) return { got: NO_CREATE, cause: ONE_PURCHASE };
    return { got: told.result, reference: told.requestId, cause: causeOfRefusal(told) };
  }
  const later = all.slice(all.indexOf(lost) + 1);
  if (later.length === 0) return { got: "no other attempt", cause: TOOK_503 };
  const found = sameKey({ before: lost, later, wrong: AFTER_A_503 });
  const early = later.filter((create) => create.early);
  if (found.cause !== undefined || early.length === 0) return found;
  const got = `${found.got}; ${early.length} before Retry-After`;
  return early.length > MAX_EARLY ? { ...found, got, cause: HAMMERS } : { ...found, got };
}

/** One that comes a little early has a clock or a backoff of its own. */
const MAX_EARLY = 2;
const HAMMERS =
  "does not wait after a 429: it sends the next attempts before the time in Retry-After is over, which keeps the limiter closed; wait for Retry-After, then go on with the same key";
const TOOK_503 =
  "takes a 503 for a refusal: the order was made before it, and the shop does not know it; send the same request with the same key again";
const ONE_PURCHASE =
  "makes only one purchase: each run of the command has to make one, for the order_id in CHECKOUT_ORDER_ID";

/** Purchases whose order_ids differ in little have different keys, and are all made. */
function alikeKeys(facts: IdempotencyFacts): Found | undefined {
  const runs = runsOf(facts, "alike");
  if (runs.length === 0) return undefined;
  const orders = new Map<string, string>();
  for (const { idempotencyKey, orderId, run } of facts.seen) {
    if (idempotencyKey === null || orderId === null) continue;
    const before = orders.get(idempotencyKey);
    if (before === undefined) orders.set(idempotencyKey, orderId);
    else if (before !== orderId && (run === "alike" || run === "between"))
      return {
        got: `one key for ${printableLiteral(before)} and ${printableLiteral(orderId)}`,
        cause: ALIKE,
      };
  }
  const unmade = runs.find(({ answered }) => !answered);
  if (unmade === undefined) return { got: "a key for each" };
  const told = facts.seen.findLast(({ run, orderId }) => run === "alike" && orderId === unmade.orderId);
  if (told === undefined) return { got: NO_CREATE, cause: ONE_PURCHASE };
  return { got: told.result, reference: told.requestId, cause: causeOfRefusal(told) };
}

const ALIKE =
  "makes one key of different order_ids: the second customer gets the first one's order, or a 409; make the key from the whole order_id as it is, or draw one for each purchase and store it";

/** After the command was killed when its order was made, and was run again. */
function sameKeyAgain({ seen }: IdempotencyFacts, { made, killed }: Again): Found {
  const later = seen.filter(({ run }) => run === "restarted");
  if (later.length === 0) return { got: NO_CREATE, cause: FORGOTTEN };
  const wrong = made.orderId === killed.orderId ? AFTER_A_CRASH : OWN_ORDER_IDS;
  return sameKey({ before: made, later, wrong });
}

/** A second purchase has another key. */
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
): Found {
  const told = made ?? began.find(({ result }) => KEY_FAULTS.has(result)) ?? began.at(-1);
  if (told === undefined) {
    const cause =
      killed.ending === "timeout"
        ? "had not made a second purchase before the timeout; --command-timeout gives it more time"
        : ONE_PURCHASE;
    return { got: NO_CREATE, cause };
  }
  const found = { got: `${keyOf(lost, told)}: ${told.result}`, reference: told.requestId };
  if (told.idempotencyKey === lost.idempotencyKey) return { ...found, cause: ONE_KEY_FOR_ALL };
  return made === undefined ? { ...found, cause: causeOfRefusal(told) } : found;
}

const ONE_KEY_FOR_ALL =
  "uses one key for different purchases (here their order_ids differ in the order of their digits alone): the second customer gets the first one's order, or a 409; make one key for each purchase, from the whole order_id or stored with it";
const FORGOTTEN =
  "does not finish what it had begun when it was killed: the order exists and the shop does not know it; write the purchase and its key down before the first try, and go on with it";

/** How a later create relates to the one whose answer was lost. */
type Relation =
  | "right"
  | "no_key"
  | "other_path"
  | "other_body"
  | "second_create"
  | "new_key"
  | "new_purchase"
  | "says_nothing";

type Causes = Readonly<Record<Exclude<Relation, "right">, string>>;

const AFTER_A_LOSS: Causes = {
  no_key: ERRORS.idempotency_key_missing.cause,
  other_path:
    "sends the retry to another path with the key: an order and a session are different requests; send the same request again",
  second_create:
    "creates once more with a new key after it was told that its order exists: a retry queue or a double click behind it; ask whether the order is made before a new create",
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

const AFTER_A_503: Causes = {
  ...AFTER_A_LOSS,
  new_key:
    "makes a new key after a 503 or a 429: either can come after the order was made, so the key must stay; here order_conflict stops a second order, which the interface does not promise (decision 8)",
};

const OWN_ORDER_IDS: Causes = {
  ...AFTER_A_CRASH,
  new_purchase:
    "makes up an order_id at each start, so that a crash means a second purchase: CHECKOUT_ORDER_ID is the same when it is started again",
};

function sameKey({
  before,
  later,
  wrong: causes,
}: {
  readonly before: SeenCreate;
  readonly later: readonly SeenCreate[];
  readonly wrong: Causes;
}): Found {
  const known = later.findIndex(({ lost, result }) => !lost && result === "replayed");
  const told = later.map((create, at) => {
    const relation = relationOf(before, create);
    const isAfterwards = relation === "new_key" && known >= 0 && at > known;
    return { ...create, relation: isAfterwards ? "second_create" : relation };
  });
  const first = (relation: Relation) => told.find((create) => create.relation === relation);
  const wrong =
    first("no_key") ??
    first("other_path") ??
    first("other_body") ??
    first("new_key") ??
    first("second_create");
  const right = first("right");
  if (wrong === undefined && right !== undefined) {
    return { got: `${SAME_KEY}: replayed`, reference: right.requestId };
  }
  const shown = wrong ?? first("new_purchase") ?? first("says_nothing");
  if (shown === undefined || shown.relation === "right") throw new Error("a later create is right or wrong");
  const got = `${keyOf(before, shown)}: ${shown.result}`;
  return { got, reference: shown.requestId, cause: causes[shown.relation] };
}

function keyOf(before: SeenCreate, { idempotencyKey: key }: SeenCreate): string {
  if (key === null) return "no key";
  return key === before.idempotencyKey ? SAME_KEY : `another key, ${printableLiteral(key)}`;
}

function relationOf(before: SeenCreate, { result, idempotencyKey, orderId, path }: SeenCreate): Relation {
  if (result === "idempotency_key_missing") return "no_key";
  if (idempotencyKey === before.idempotencyKey) {
    if (result === "replayed") return "right";
    if (path !== before.path) return "other_path";
    // The first one was taken as it was.
    const isOther = result === "idempotency_key_reused" || errorRow(result)?.status === 400;
    return isOther ? "other_body" : "says_nothing";
  }
  if (orderId === null || idempotencyKey === null) return "says_nothing";
  return orderId === before.orderId ? "new_key" : "new_purchase";
}

function oneOrder(made: number): Found {
  const got = String(made);
  if (made === 1) return { got };
  const cause =
    made === 0
      ? "has made no order, although the service had answered that it did"
      : "makes more than one order for one purchase: one for each try, or a second create";
  return { got, cause };
}

/** How the starts of the command for a purchase ended: an exit code other than 0 is right as long as nothing is known. */
function clientEnded(runs: readonly RunFact[]): Found {
  const blind = runs.find(({ exitCode, answered }) => exitCode === 0 && !answered);
  if (blind !== undefined) return { got: "exit code 0, and no answer", cause: BLIND };
  const { ending, exitCode, answered } = runs.at(-1) ?? { ...NOT_RUN, answered: false };
  if (ending === "timeout")
    return { got: "killed, its time was up", cause: answered ? DAEMON : "does not end" };
  if (exitCode === 0) return { got: "exit code 0" };
  const got = exitCode === null ? "ended by a signal" : `exit code ${exitCode}`;
  const cause =
    "reports a failure although the order exists, so the shop tells the customer that it failed, or starts again";
  return { got, cause };
}

const BLIND =
  "ends with exit code 0 although no attempt was answered: the shop takes the order for made, and knows neither its id nor its payment page";
const DAEMON =
  "does not end after its order was made: a daemon or a worker that waits for the next one; give the drill a command that makes one purchase and ends";

/** The drill sends it: it shows what the service does, and what a client would get that mixes up its keys. */
function otherBodyRefused({ refusedRequestId: reference }: IdempotencyFacts): Found {
  if (reference !== null) return { got: "409 idempotency_key_reused", reference };
  return { got: "no refusal", cause: "the service has seen no such request: it could not be reached" };
}
