import { parseCreateRequest, type CreateRequest } from "../../core/checkout/create-request.ts";
import {
  otherRequest,
  type ClientEnd,
  type IdempotencyFacts,
  type SeenCreate,
} from "../../core/readiness/drills/idempotency.ts";
import { parseJson, parseStrictJson } from "../../core/json.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { checkoutResponse } from "../../core/checkout/wire.ts";
import type { Store } from "../../store/store.ts";
import { headerLines, splitTarget } from "../../web/http.ts";
import type { HttpRequest } from "../../world.ts";
import type { Answer } from "../answer.ts";
import { callerOf } from "../api/caller.ts";

/** A request that reuses the lost create's key for another body. */
export type Reuse = {
  readonly path: string;
  readonly idempotencyKey: string;
  readonly request: CreateRequest;
};

/** Watches creates during an idempotency drill, and drops one answer. There is one drill at a time. */
export type IdempotencyWatch = {
  /** Watches the creates of a store from now on. A drill that is running ends. */
  readonly begin: (drill: DrillRef) => void;
  /** Sees a create that is committed and not answered yet; the first one that succeeds gets no answer. */
  readonly look: (
    request: HttpRequest,
    answered: { readonly requestId: string; readonly outcome: Outcome<Answer> },
  ) => Outcome<Answer>;
  /** Whether a request is the drill's and not the client's. */
  readonly isOwn: (request: HttpRequest) => boolean;
  /**
   * Stops watching, because the client has ended. Returns the request to try with the lost create's key. Refuses with
   * `not_found`.
   */
  readonly close: (drill: DrillRef, client: ClientEnd) => Outcome<Reuse | null>;
  /** Returns what was seen, and what the tables say; then forgets it. Refuses with `not_found`. */
  readonly conclude: (drill: DrillRef) => Outcome<IdempotencyFacts>;
  /** Forgets a drill, if it is still watched. */
  readonly forget: (drill: DrillRef) => void;
};

/** A running drill and its store. */
export type DrillRef = { readonly storeId: string; readonly id: string };

type Watch = {
  readonly id: string;
  readonly storeId: string;
  readonly seen: readonly SeenCreate[];
  /** Ids of the created checkouts. */
  readonly made: readonly string[];
  /** Null until an answer was dropped. */
  readonly reuse: Reuse | null;
  /** Null while the client runs. */
  readonly client: ClientEnd | null;
  /** The last refusal of a reused key before the drill's own. */
  readonly refusedBefore: string | undefined;
};

/** Maximum number of creates that a drill keeps, so that a client in a loop does not fill the memory. */
const MAX_SEEN = 100;

/** Makes a watch without a drill. It is in memory, and lasts as long as the drill's lease; its result is stored. */
export function createIdempotencyWatch(
  store: Pick<Store, "credentials" | "checkouts" | "idempotencyUses">,
): IdempotencyWatch {
  let watch: Watch | undefined;
  const lastRefused = (storeId: string) => store.idempotencyUses.latest(storeId, "refused");

  function look(
    request: HttpRequest,
    answered: { readonly requestId: string; readonly outcome: Outcome<Answer> },
  ): Outcome<Answer> {
    const { outcome } = answered;
    if (watch === undefined || watch.client !== null) return outcome;
    const storeId = callerOf(store, request)?.storeId;
    if (storeId !== undefined && storeId !== watch.storeId) return outcome;
    const lost = outcome.ok && watch.reuse === null;
    const create = describe(request, { ...answered, lost });
    watch = remember(watch, create);
    if (!lost) return outcome;
    watch = { ...watch, reuse: reuseOf(request) };
    return accept({ ...outcome.value, dropped: true, note: `${outcome.value.note ?? ""}, answer dropped` });
  }

  return {
    look,
    isOwn: (request) => {
      const key = watch?.client === null ? undefined : watch?.reuse?.idempotencyKey;
      return key !== undefined && headerLines(request, "idempotency-key").includes(key);
    },
    begin: ({ storeId, id }) => {
      watch = { ...NOTHING_SEEN, id, storeId };
    },
    close: (drill, client) => {
      if (watch === undefined || !isSame(watch, drill)) return unknown(drill);
      watch = { ...watch, client, refusedBefore: lastRefused(watch.storeId)?.requestId };
      return accept(watch.reuse);
    },
    conclude: (drill) => {
      if (watch === undefined || !isSame(watch, drill) || watch.client === null) return unknown(drill);
      const { storeId, seen, made, reuse, client, refusedBefore } = watch;
      const refused = lastRefused(storeId);
      const isOurs = refused?.key === reuse?.idempotencyKey && refused?.requestId !== refusedBefore;
      const exist = made.filter((checkoutId) => store.checkouts.find(storeId, checkoutId) !== undefined);
      watch = undefined;
      const refusedRequestId = isOurs ? (refused?.requestId ?? null) : null;
      return accept({ seen, made: exist.length, client, refusedRequestId });
    },
    forget: (drill) => {
      if (watch !== undefined && isSame(watch, drill)) watch = undefined;
    },
  };
}

const NOTHING_SEEN = { seen: [], made: [], reuse: null, client: null, refusedBefore: undefined } as const;

function remember(watch: Watch, create: SeenCreate): Watch {
  const { seen, made } = watch;
  const { checkoutId, lost, result } = create;
  const isMade = checkoutId !== null && (lost || result === "created") && made.length < MAX_SEEN;
  return {
    ...watch,
    seen: seen.length < MAX_SEEN || lost ? [...seen, create] : seen,
    made: isMade && !made.includes(checkoutId) ? [...made, checkoutId] : made,
  };
}

/** A create with its request and its answer. */
function describe(
  request: HttpRequest,
  answered: { readonly requestId: string; readonly outcome: Outcome<Answer>; readonly lost: boolean },
): SeenCreate {
  const { requestId, outcome, lost } = answered;
  const keys = headerLines(request, "idempotency-key");
  const body = parseStrictJson(request.body);
  const orderId = body.ok ? orderIdOf(body.value) : null;
  const create = { requestId, idempotencyKey: keys.length === 0 ? null : keys.join(", "), orderId, lost };
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

/** The key and path of a successful create, with a different body. */
function reuseOf(request: HttpRequest): Reuse {
  const [idempotencyKey] = headerLines(request, "idempotency-key");
  const body = parseStrictJson(request.body);
  const parsed = body.ok ? parseCreateRequest(body.value) : body;
  if (!parsed.ok || idempotencyKey === undefined) throw new Error("a create that succeeded can be read");
  return { path: splitTarget(request.target).path, idempotencyKey, request: otherRequest(parsed.value) };
}

function isSame(watch: Watch, { storeId, id }: DrillRef): boolean {
  return watch.id === id && watch.storeId === storeId;
}

function unknown({ id }: DrillRef): Outcome<never> {
  return refuse(
    "not_found",
    `no drill ${id} is under way: another one took its place, its command lost the connection, or the sandbox was started anew`,
  );
}
