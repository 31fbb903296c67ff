import type { CreateRequest } from "../../checkout/create-request.ts";
import type { DrillStep } from "./drill.ts";
import { errorRow, ERRORS, type ErrorCode } from "../../errors.ts";
import { printableLiteral } from "../../text.ts";

/** A create that arrived during the idempotency drill. */
export type SeenCreate = {
  /** The id of this request, also if the answer carries that of the first one. */
  readonly requestId: string;
  /** As received; null if there was none. */
  readonly idempotencyKey: string | null;
  /** Null if the body could not be read. */
  readonly orderId: string | null;
  readonly result: "created" | "replayed" | ErrorCode;
  /** The checkout that it created or got again. */
  readonly checkoutId: string | null;
  /** Whether its answer was dropped after the commit. */
  readonly lost: boolean;
};

/** How the merchant's command ended; the exit code is null if there is none. */
export type ClientEnd = {
  readonly ending: "exited" | "timeout" | "aborted" | "not_run";
  readonly exitCode: number | null;
};

/** What the service has seen, and what its tables hold after the merchant's command has ended. */
export type IdempotencyFacts = {
  /** In the order in which they were answered. */
  readonly seen: readonly SeenCreate[];
  /** Number of orders and sessions that exist for it. */
  readonly made: number;
  readonly client: ClientEnd;
  /** The drill's own request with the lost create's key and another body, if the log says that it was refused. */
  readonly refusedRequestId: string | null;
};

/** The result for a client. `unknown`: no answer could be dropped, for a reason other than the key. */
export type IdempotencyVerdict = {
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
 * Decides how a client handles an answer that is lost after the commit (interface 19, 20). If no answer could be
 * dropped, the later steps are not judged.
 */
export function judgeIdempotencyDrill(facts: IdempotencyFacts): IdempotencyVerdict {
  const at = facts.seen.findIndex(({ lost }) => lost);
  const lost = facts.seen[at];
  if (lost === undefined) {
    const isFault = facts.seen.some(({ result }) => KEY_FAULTS.has(result));
    return { verdict: isFault ? "failed" : "unknown", steps: [nothingLost(facts)] };
  }
  const steps = stepsAfter(lost, facts.seen.slice(at + 1), facts);
  return { verdict: steps.every((step) => step.passed) ? "passed" : "failed", steps };
}

function stepsAfter(lost: SeenCreate, later: readonly SeenCreate[], facts: IdempotencyFacts): DrillStep[] {
  return [
    passed("answer_lost", {
      ...ANSWER_LOST,
      got: `${lost.result}, and its answer dropped`,
      reference: lost.requestId,
    }),
    triedAgain(later, facts.client),
    ...(later.length === 0 ? [] : [sameKey(lost, later)]),
    oneOrder(facts),
    clientEnded(facts.client),
    otherBodyRefused(facts),
  ];
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

function nothingLost({ seen, client }: IdempotencyFacts): DrillStep {
  const told = seen.find(({ result }) => KEY_FAULTS.has(result)) ?? seen.at(-1);
  if (told === undefined)
    return failed("answer_lost", { ...ANSWER_LOST, got: "no create came in" }, causeOfSilence(client));
  // Why the answer of a refused create cannot be dropped.
  const cause = errorRow(told.result)?.cause ?? `sends a create that the service refuses: ${told.result}`;
  const found = { ...ANSWER_LOST, got: told.result, reference: told.requestId };
  return failed("answer_lost", found, cause);
}

function causeOfSilence({ ending, exitCode }: ClientEnd): string {
  if (ending === "not_run") return "the command could not be run";
  if (ending === "exited" && exitCode === 127) return "the shell does not know the command";
  return "sends its creates elsewhere, or none: the address is in CHECKOUT_BASE_URL, and the API key in CHECKOUT_API_KEY";
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

/** How a later create relates to the lost one. */
type Relation = "right" | "no_key" | "other_body" | "new_key" | "new_purchase" | "says_nothing";

const WRONG: Readonly<Record<Exclude<Relation, "right">, string>> = {
  no_key: ERRORS.idempotency_key_missing.cause,
  other_body:
    "sends another body with the key: something in it changes with each try, such as a time or a description",
  new_key:
    "makes a new key for each retry: make one key for each purchase, store it, and send it with every try; here order_conflict stops a second order, which the interface does not promise (decision 8)",
  new_purchase: "makes a new key and a new order_id for each retry, so that each is a purchase of its own",
  says_nothing: "gave up before a try was answered",
};

function sameKey(lost: SeenCreate, later: readonly SeenCreate[]): DrillStep {
  const expected = "the same key";
  const told = later.map((create) => ({ ...create, relation: relationOf(lost, create) }));
  const first = (relation: Relation) => told.find((create) => create.relation === relation);
  const wrong = first("no_key") ?? first("other_body") ?? first("new_key");
  const right = first("right");
  if (wrong === undefined && right !== undefined) {
    return passed("same_key", { expected, got: "the same key: replayed", reference: right.requestId });
  }
  const shown = wrong ?? first("new_purchase") ?? first("says_nothing");
  if (shown === undefined || shown.relation === "right") throw new Error("a later create is right or wrong");
  const found = { expected, got: `${keyOf(lost, shown)}: ${shown.result}`, reference: shown.requestId };
  return failed("same_key", found, WRONG[shown.relation]);
}

function keyOf(lost: SeenCreate, { idempotencyKey: key }: SeenCreate): string {
  if (key === null) return "no key";
  return key === lost.idempotencyKey ? "the same key" : `another key, ${printableLiteral(key)}`;
}

function relationOf(lost: SeenCreate, { result, idempotencyKey, orderId }: SeenCreate): Relation {
  if (result === "idempotency_key_missing") return "no_key";
  if (idempotencyKey === lost.idempotencyKey) {
    if (result === "idempotency_key_reused") return "other_body";
    return result === "replayed" ? "right" : "says_nothing";
  }
  if (orderId === null || idempotencyKey === null) return "says_nothing";
  return orderId === lost.orderId ? "new_key" : "new_purchase";
}

function oneOrder({ made }: IdempotencyFacts): DrillStep {
  const found = { expected: "1", got: String(made) };
  if (made === 1) return passed("one_order", found);
  const cause = "makes more than one purchase in a run: one for each try, or a second create";
  return failed("one_order", found, cause);
}

function clientEnded({ ending, exitCode }: ClientEnd): DrillStep {
  const expected = "exit code 0";
  if (ending === "timeout") {
    return failed("client_ended", { expected, got: "killed, its time was up" }, "does not end");
  }
  if (exitCode === 0) return passed("client_ended", { expected, got: "exit code 0" });
  const got = exitCode === null ? "ended by a signal" : `exit code ${exitCode}`;
  const cause =
    "reports a failure although the order exists, so the shop tells the customer that it failed, or starts again";
  return failed("client_ended", { expected, got }, cause);
}

/** The drill sends it: it shows what the service does, and what a client would get that mixes up its keys. */
function otherBodyRefused({ refusedRequestId }: IdempotencyFacts): DrillStep {
  const expected = "409 idempotency_key_reused";
  if (refusedRequestId !== null) {
    return passed("other_body_refused", { expected, got: expected, reference: refusedRequestId });
  }
  const cause =
    "the service's log has no such refusal: it could not be reached, or was restarted during the drill";
  return failed("other_body_refused", { expected, got: "no refusal" }, cause);
}
