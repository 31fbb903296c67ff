import { parseCreateRequest } from "../../core/checkout/create-request.ts";
import type { IdempotencyFacts, RunFact } from "../../core/readiness/drills/idempotency.ts";
import { createOtherRequest } from "../../core/readiness/other-request.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import type { ClientRun, AnswerLoss } from "../../core/readiness/names.ts";
import { parseJson, parseStrictJson } from "../../core/json.ts";
import { accept, mapValue, refuse, type Outcome, type Refusal } from "../../core/outcome.ts";
import { checkoutResponse } from "../../core/checkout/wire.ts";
import type { Store } from "../../store/store.ts";
import { refusalResponse } from "../../web/answer.ts";
import { headerLines, splitTarget } from "../../web/http.ts";
import type { HttpRequest, World } from "../../world.ts";
import type { Answer } from "../answer.ts";
import { callerOf, isOwnCommand } from "../api/caller.ts";
import type { LeaseRef } from "./leases.ts";
import type { ClientExit, KeyReuse, ObservedCreate, WatchedRun } from "../../core/readiness/drill-shapes.ts";

/** A drill whose creates are watched. */
type WatchedDrill = LeaseRef & {
  /** The drill's own API key: only requests with this key are from the merchant's client. */
  readonly credentialId: string;
  /** The last four characters of the drill's API key. */
  readonly lastFour: string;
};

/** Watches creates during an idempotency drill, and drops answers to the client. A store has at most one such drill. */
export type IdempotencyWatch = {
  /** Starts watching the creates with a drill's key. A running drill of the store ends. */
  readonly begin: (drill: WatchedDrill) => void;
  /** Assigns creates from now on to this run. Refuses with `not_found`. */
  readonly beginRun: (drill: LeaseRef, run: WatchedRun) => Outcome<void>;
  /**
   * Waits until an answer of this run is held back or dropped, or the run has ended. Returns whether an answer was
   * lost. Refuses with `not_found`.
   */
  readonly awaitLoss: (drill: LeaseRef) => Promise<Outcome<boolean>>;
  /** Ends the run; a held answer is dropped. Refuses with `not_found`. */
  readonly endRun: (drill: LeaseRef, end: ClientExit) => Outcome<AnswerOf<"endClientRun">>;
  /**
   * Watches a create that is committed but not answered yet. A successful create gets the next loss of its run in
   * `RUN_LOSSES`; a create of the killed run waits until the run has ended, and then gets no answer either.
   */
  readonly look: (
    request: HttpRequest,
    answered: { readonly requestId: string; readonly outcome: Outcome<Answer> },
  ) => Outcome<Answer> | Promise<Outcome<Answer>>;
  /** The creates that a drill has seen, oldest first; empty if the drill is not watched. */
  readonly seen: (drill: LeaseRef) => readonly ObservedCreate[];
  /** Returns a request that reuses the lost create's key; null if no answer was dropped. Refuses with `not_found`. */
  readonly close: (drill: LeaseRef) => Outcome<KeyReuse | null>;
  /** Returns the creates seen and the checkouts in the database, and forgets the drill. Refuses with `not_found`. */
  readonly conclude: (drill: LeaseRef) => Outcome<IdempotencyFacts>;
  /** Forgets a drill, if it is still watched. */
  readonly forget: (drill: LeaseRef) => void;
};

type Watch = WatchedDrill & {
  /** The current run, and how often the command was started for its purchase; undefined between runs. */
  readonly current: (WatchedRun & { readonly start: number; readonly answered: boolean }) | undefined;
  readonly runs: readonly RunFact[];
  readonly seen: readonly ObservedCreate[];
  readonly otherKeys: readonly string[];
  readonly hasOwnCommand: boolean;
  /** Whether a create arrived between two runs, or for an earlier run's purchase. */
  readonly hasLate: boolean;
  /**
   * The earliest time for the client's next request, by the real clock; null if no answer told the client to wait.
   */
  readonly waitsUntil: number | null;
  /** Null until an answer is dropped. */
  readonly reuse: KeyReuse | null;
  /** Whether the merchant's client has exited. */
  readonly isClosed: boolean;
  readonly refusedRequestId: string | null;
  readonly moments: Moments;
};

/** Moments of a run: when an answer is dropped (or the run ends without that), and when the run ends. */
type Moments = {
  readonly loss: Promise<void>;
  readonly lost: () => void;
  readonly end: Promise<void>;
  readonly ended: () => void;
};

/**
 * Maximum number of kept creates with the same result in a run, so that a client in a loop does not fill the memory.
 */
const MAX_SEEN = 100;

/**
 * Creates a watch without a drill. It is kept in memory for as long as the drill's lease; only its result is stored.
 */
export function createIdempotencyWatch(
  store: Pick<Store, "credentials" | "checkouts">,
  { now }: Pick<World, "now">,
): IdempotencyWatch {
  const watches = new Map<string, Watch>();
  const keep = (watch: Watch): void => void watches.set(watch.storeId, watch);

  const watchOf = (drill: LeaseRef): Outcome<Watch> => {
    const watch = watches.get(drill.storeId);
    return watch?.id === drill.id ? accept(watch) : refuseUnknownDrill(drill);
  };

  return {
    begin: (drill) => {
      watches.get(drill.storeId)?.moments.ended();
      keep({ ...drill, ...NO_CREATES, moments: momentsOfRun() });
    },
    beginRun: (drill, run) => mapValue(watchOf(drill), (watch) => keep(startRun(watch, run))),
    awaitLoss: async (drill) => {
      const known = watchOf(drill);
      if (!known.ok) return known;
      await known.value.moments.loss;
      return mapValue(watchOf(drill), (watch) => findLostCreate(watch) !== undefined);
    },
    endRun: (drill, end) =>
      mapValue(watchOf(drill), (watch) => {
        keep(endRun(watch, end));
        watch.moments.ended();
        return resultOfRun(watch);
      }),
    look: (request, answered) => {
      if (watches.size === 0) return answered.outcome;
      const caller = callerOf(store, request);
      // A caller without a valid key may be the client of any drill; only a caller with a key can lose an answer.
      const concerned = caller === undefined ? [...watches.values()] : (watches.get(caller.storeId) ?? []);
      const sights = [concerned]
        .flat()
        .map((watch) => watchCreate(watch, { request, ...answered, caller, at: now() }));
      for (const { watch } of sights) keep(watch);
      return sights[0]?.answer ?? answered.outcome;
    },
    seen: (drill) => seenIn(watchOf(drill)),
    close: (drill) =>
      mapValue(watchOf(drill), (watch) => {
        keep({ ...watch, isClosed: true });
        return watch.reuse;
      }),
    conclude: (drill) => {
      const known = watchOf(drill);
      if (!known.ok || !known.value.isClosed) return refuseUnknownDrill(drill);
      const facts = factsOf(known.value, store);
      watches.delete(drill.storeId);
      return accept(facts);
    },
    forget: (drill) => {
      const known = watchOf(drill);
      if (!known.ok) return;
      known.value.moments.ended();
      watches.delete(drill.storeId);
    },
  };
}

function startRun(watch: Watch, run: WatchedRun): Watch {
  const before = watch.runs.filter((one) => one.orderId === run.orderId && one.run === run.run);
  const current = { ...run, start: before.length + 1, answered: false };
  return { ...watch, moments: momentsOfRun(), waitsUntil: null, current };
}

function endRun(watch: Watch, end: ClientExit): Watch {
  if (watch.current === undefined) return watch;
  const { start: _start, ...run } = watch.current;
  return { ...watch, current: undefined, runs: [...watch.runs, { ...run, ...end }] };
}

/** The result of a run that is ending. */
function resultOfRun(watch: Watch): AnswerOf<"endClientRun"> {
  const came = watch.seen.length + watch.otherKeys.length > 0 || watch.hasOwnCommand;
  return { came, lost: findLostCreate(watch) !== undefined, answered: watch.current?.answered ?? false };
}

/** A create that is committed but not answered yet, and the owner of its key. */
type CommittedCreate = {
  readonly request: HttpRequest;
  readonly requestId: string;
  readonly outcome: Outcome<Answer>;
  readonly caller: ReturnType<typeof callerOf>;
  readonly at: number;
};

/** The watch after a create, and the answer of the create. */
type WatchResult = { readonly watch: Watch; readonly answer: Outcome<Answer> | Promise<Outcome<Answer>> };

function watchCreate(watch: Watch, answered: CommittedCreate): WatchResult {
  const { request, requestId, outcome, caller } = answered;
  const { current, credentialId } = watch;
  const isClient = caller?.id === credentialId;
  if (isClient && isReuse(watch, request))
    return { watch: { ...watch, refusedRequestId: refusalOf(outcome, requestId) }, answer: outcome };
  if (current === undefined)
    return { watch: isClient ? { ...watch, hasLate: true } : watch, answer: outcome };
  const create = { ...describe(request, { requestId, outcome, run: current.run }), start: current.start };
  const isForIt = create.orderId === current.orderId;
  if (caller !== undefined && !isClient) {
    const isOfStore = caller.storeId === watch.storeId && isForIt;
    return { watch: isOfStore ? noteOtherKey(watch, request) : watch, answer: outcome };
  }
  // A caller without a valid key counts as the client if it creates the order that the client was told to create.
  if (!isClient && !isForIt) return { watch, answer: outcome };
  // A create of an earlier purchase, such as from a worker process that survived the kill.
  const isLate = !isForIt && watch.runs.some(({ orderId }) => orderId === create.orderId);
  if (isLate) return { watch: { ...watch, hasLate: true }, answer: outcome };
  if (isOwnCommand(request)) return { watch: { ...watch, hasOwnCommand: true }, answer: outcome };
  const loss = outcome.ok ? nextLoss(watch, answered.at) : undefined;
  if (outcome.ok && loss !== undefined)
    return loseAnswer(watch, { answered, answer: outcome.value, create, loss });
  const seen = remember(watch, { ...create, lost: false, loss: null, early: false });
  return {
    watch: { ...seen, current: { ...current, answered: current.answered || outcome.ok } },
    answer: outcome,
  };
}

/** The losses of each run's successful creates, in this order. */
const RUN_LOSSES = {
  first: ["reset", "silence"],
  killed: ["kill"],
  between: ["unavailable", "rate_limited"],
  restarted: [],
  alike: [],
} as const satisfies Readonly<Record<ClientRun, readonly AnswerLoss[]>>;

/** How long a connection stays silent before it ends, in milliseconds: longer than a careful client's timeout. */
const SILENCE_MS = 3000;
/** The `Retry-After` of a client that is told to wait, in seconds. */
const RETRY_AFTER_SECONDS = 1;
/** Maximum number of early requests: after that, a client that never waits is answered, so that it exits. */
const MAX_EARLY = 20;

/** The loss of the next answer, and whether the client retried earlier than it was told to. */
type NextLoss = { readonly loss: AnswerLoss; readonly early: boolean };

function nextLoss({ current, seen, waitsUntil }: Watch, at: number): NextLoss | undefined {
  if (current === undefined) return undefined;
  const lost = seen.filter((one) => one.run === current.run && one.lost);
  const early = lost.filter((one) => one.early);
  if (waitsUntil !== null && at < waitsUntil && early.length < MAX_EARLY)
    return { loss: "rate_limited", early: true };
  const next: AnswerLoss | undefined = RUN_LOSSES[current.run][lost.length - early.length];
  return next === undefined ? undefined : { loss: next, early: false };
}

/** A create whose answer is dropped. */
type LostAnswer = {
  readonly answered: CommittedCreate;
  readonly answer: Answer;
  readonly create: Omit<ObservedCreate, "lost" | "loss" | "early">;
  readonly loss: NextLoss;
};

function loseAnswer(
  before: Watch,
  { answered, answer, create, loss: { loss, early } }: LostAnswer,
): WatchResult {
  const { request, requestId, at } = answered;
  const isToldToWait = loss === "rate_limited" && !early;
  const watch: Watch = {
    ...remember(before, { ...create, lost: true, loss, early }),
    reuse: before.reuse ?? reuseOf(request),
    waitsUntil: isToldToWait ? at + RETRY_AFTER_SECONDS * 1000 : before.waitsUntil,
  };
  watch.moments.lost();
  const dropped = { ...answer, dropped: true, note: `${answer.note ?? ""}, answer dropped` } as const;
  const refusing = (refusal: Refusal): Outcome<Answer> =>
    accept({ ...answer, ...refusalResponse(requestId, refusal), note: `${refusal.code} by a drill` });
  const taken: Readonly<Record<AnswerLoss, () => WatchResult["answer"]>> = {
    reset: () => accept(dropped),
    silence: () => accept({ ...dropped, delayMs: SILENCE_MS }),
    // The drill continues when the client of the second purchase has been killed.
    kill: () => watch.moments.end.then(() => accept(dropped)),
    // An answer of the drill, so it records no assumption.
    unavailable: () => refusing({ code: "storage_unavailable", message: DROPPED_ANSWER }),
    rate_limited: () =>
      refusing({ code: "rate_limited", message: DROPPED_ANSWER, retryAfterSeconds: RETRY_AFTER_SECONDS }),
  };
  return { watch, answer: taken[loss]() };
}

const DROPPED_ANSWER =
  "the idempotency drill replaced the real answer with this one; try again with the same key";

function seenIn(known: Outcome<Watch>): readonly ObservedCreate[] {
  return known.ok ? known.value.seen : [];
}

const NO_CREATES = {
  current: undefined,
  runs: [],
  seen: [],
  otherKeys: [],
  hasOwnCommand: false,
  hasLate: false,
  waitsUntil: null,
  reuse: null,
  isClosed: false,
  refusedRequestId: null,
} as const;

function momentsOfRun(): Moments {
  const loss = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const ended = (): void => {
    loss.resolve();
    end.resolve();
  };
  return { loss: loss.promise, lost: loss.resolve, end: end.promise, ended };
}

/** The create of the current run whose answer was dropped. */
function findLostCreate({ current, seen }: Watch): ObservedCreate | undefined {
  return seen.find(({ run, lost }) => lost && run === current?.run);
}

function isReuse({ isClosed, reuse }: Watch, request: HttpRequest): boolean {
  return isClosed && reuse !== null && headerLines(request, "idempotency-key").includes(reuse.idempotencyKey);
}

function refusalOf(outcome: Outcome<Answer>, requestId: string): string | null {
  return !outcome.ok && outcome.refusal.code === "idempotency_key_reused" ? requestId : null;
}

function noteOtherKey(watch: Watch, request: HttpRequest): Watch {
  const lastFour = headerLines(request, "authorization").join().slice(-4);
  const { otherKeys } = watch;
  return otherKeys.includes(lastFour) ? watch : { ...watch, otherKeys: [...otherKeys, lastFour] };
}

function remember(watch: Watch, create: ObservedCreate): Watch {
  const { seen } = watch;
  const alike = seen.filter(({ run, result }) => run === create.run && result === create.result);
  return alike.length < MAX_SEEN ? { ...watch, seen: [...seen, create] } : watch;
}

/**
 * The creates seen, and the number of checkouts of each purchase in the database: the checkouts that the client was
 * seen to create, and all checkouts whose order_id has the purchase's prefix.
 */
function factsOf(watch: Watch, { checkouts }: Pick<Store, "checkouts">): IdempotencyFacts {
  const { storeId, seen, runs, otherKeys, lastFour, hasOwnCommand, hasLate, refusedRequestId } = watch;
  const madeIn = (...wanted: readonly ClientRun[]): number => {
    const ids = seen.flatMap(({ run, checkoutId }) => (wanted.includes(run) ? (checkoutId ?? []) : []));
    const orderIds = new Set(runs.flatMap(({ run, orderId }) => (wanted.includes(run) ? orderId : [])));
    const named = [...orderIds].flatMap((orderId) =>
      checkouts.ofOrdersFrom({ storeId, prefix: orderId, limit: MAX_SEEN }),
    );
    return [...new Set([...ids, ...named])].filter((id) => checkouts.find(storeId, id) !== undefined).length;
  };
  const made = { first: madeIn("first"), second: madeIn("killed", "restarted"), third: madeIn("between") };
  return { seen, runs, made, otherKeys, ownKey: lastFour, hasOwnCommand, hasLate, refusedRequestId };
}

/** A create with its request and its answer. */
function describe(
  request: HttpRequest,
  answered: { readonly requestId: string; readonly outcome: Outcome<Answer>; readonly run: ClientRun },
): Omit<ObservedCreate, "lost" | "loss" | "early" | "start"> {
  const { requestId, outcome, run } = answered;
  const keys = headerLines(request, "idempotency-key");
  const body = parseStrictJson(request.body);
  const orderId = body.ok ? orderIdOf(body.value) : null;
  const { path } = splitTarget(request.target);
  const idempotencyKey = keys.length === 0 ? null : keys.join(", ");
  const create = { requestId, path, idempotencyKey, orderId, run };
  if (!outcome.ok) return { ...create, result: outcome.refusal.code, checkoutId: null };
  const { headers, body: answer } = outcome.value;
  const checkout =
    typeof answer === "string" ? checkoutResponse.safeParse(parseJson(answer)).data?.data : undefined;
  const result = headers["Idempotent-Replayed"] === "true" ? "replayed" : "created";
  return { ...create, result, checkoutId: checkout?.id ?? null };
}

function orderIdOf(body: unknown): string | null {
  const isObject = typeof body === "object" && body !== null && "order_id" in body;
  return isObject && typeof body.order_id === "string" ? body.order_id : null;
}

/** A request with the key and path of a successful create, but with a different body. */
function reuseOf(request: HttpRequest): KeyReuse {
  const [idempotencyKey] = headerLines(request, "idempotency-key");
  const body = parseStrictJson(request.body);
  const parsed = body.ok ? parseCreateRequest(body.value) : body;
  if (!parsed.ok || idempotencyKey === undefined) throw new Error("a create that succeeded can be read");
  return { path: splitTarget(request.target).path, idempotencyKey, body: createOtherRequest(parsed.value) };
}

function refuseUnknownDrill({ id }: LeaseRef): Outcome<never> {
  return refuse(
    "not_found",
    `drill ${id} is not running: another drill replaced it, its command lost the connection, or the sandbox was restarted`,
  );
}
