import type { ClientRun } from "../names.ts";
import type { CreateRequest } from "../../checkout/create-request.ts";
import type { ClientEnd, DrillStep, SeenCreate, WatchedRun } from "../../control/drills.ts";
import type { JudgedDrill } from "./drill.ts";
import { errorRow, ERRORS } from "../../errors.ts";
import { printableLiteral } from "../../text.ts";

/** A run of the merchant's command, and how it ended. */
export type RunFact = ClientEnd & WatchedRun;

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
  readonly client: ClientEnd;
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
    expected: "exit code 0",
    see: ({ client }) => clientEnded(client),
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
    expected: "exit code 0",
    see: ({ again }) => again && clientEnded(again.restarted),
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
  return { facts, lost, later, client: runOf(facts, "first") ?? NOT_RUN, ownKey, again };
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
  const { ending, exitCode } = runOf(facts, "first") ?? NOT_RUN;
  if (ending === "not_run") return "the command could not be run";
  if (ending === "exited" && exitCode === 127) return "the shell does not know the command";
  return "sends its creates elsewhere, or none: the address is in CHECKOUT_BASE_URL, and the API key in CHECKOUT_API_KEY";
}

const NOT_RUN: ClientEnd = { ending: "not_run", exitCode: null };

function triedAgain({ later, client: { ending } }: Scene): Found {
  const [next] = later;
  if (next !== undefined) return { got: `${later.length} more`, reference: next.requestId };
  const cause =
    ending === "timeout"
      ? "had not tried again before the timeout; --command-timeout gives it more time"
      : "takes a lost connection for a refusal: the order exists and the shop does not know it; send the same request with the same key again";
  return { got: "none", cause };
}

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
        : "makes only one purchase: each run of the command has to make one, for the order_id in CHECKOUT_ORDER_ID";
    return { got: NO_CREATE, cause };
  }
  const found = { got: `${keyOf(lost, told)}: ${told.result}`, reference: told.requestId };
  if (told.idempotencyKey === lost.idempotencyKey) return { ...found, cause: ONE_KEY_FOR_ALL };
  return made === undefined ? { ...found, cause: causeOfRefusal(told) } : found;
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

function sameKey({
  before,
  later,
  wrong: causes,
}: {
  readonly before: SeenCreate;
  readonly later: readonly SeenCreate[];
  readonly wrong: Causes;
}): Found {
  const told = later.map((create) => ({ ...create, relation: relationOf(before, create) }));
  const first = (relation: Relation) => told.find((create) => create.relation === relation);
  const wrong = first("no_key") ?? first("other_body") ?? first("new_key");
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

function relationOf(before: SeenCreate, { result, idempotencyKey, orderId }: SeenCreate): Relation {
  if (result === "idempotency_key_missing") return "no_key";
  if (idempotencyKey === before.idempotencyKey) {
    if (result === "idempotency_key_reused") return "other_body";
    return result === "replayed" ? "right" : "says_nothing";
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

function clientEnded({ ending, exitCode }: ClientEnd): Found {
  if (ending === "timeout") return { got: "killed, its time was up", cause: "does not end" };
  if (exitCode === 0) return { got: "exit code 0" };
  const got = exitCode === null ? "ended by a signal" : `exit code ${exitCode}`;
  const cause =
    "reports a failure although the order exists, so the shop tells the customer that it failed, or starts again";
  return { got, cause };
}

/** The drill sends it: it shows what the service does, and what a client would get that mixes up its keys. */
function otherBodyRefused({ refusedRequestId: reference }: IdempotencyFacts): Found {
  if (reference !== null) return { got: "409 idempotency_key_reused", reference };
  return { got: "no refusal", cause: "the service has seen no such request: it could not be reached" };
}
