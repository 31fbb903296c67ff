import { storeNow } from "../../core/clock.ts";
import { ERRORS, type ErrorCode } from "../../core/errors.ts";
import {
  FAULT_HEADER,
  faultHeader,
  faultReason,
  matchesWildcard,
  isApiFault,
  type ApiFault,
  type Fault,
} from "../../core/fault/fault.ts";
import type { ApiAction } from "../../core/fault/actions.ts";
import { FAULT_PARAMETERS } from "../../core/fault/rules.ts";
import { accept, type Outcome, type Refusal } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { orderIdIn } from "../../core/request/logged-request.ts";
import { StorageUnavailable, storageFailure } from "../../store/connection/storage-failure.ts";
import type { CredentialInStore } from "../../store/credentials.ts";
import { isWholeBody } from "../../web/http.ts";
import type { World } from "../../world.ts";
import { answerRefusal, storageRefusal, type Answer } from "../answer.ts";
import type { AreaRequest } from "../area.ts";
import type { ServiceContext } from "../context.ts";
import { takeFault } from "./active.ts";

export type ApiFaultContext = ServiceContext & {
  readonly world: Pick<World, "now">;
  readonly pause: (milliseconds: number) => Promise<void>;
};

type FaultableCall = {
  readonly call: AreaRequest;
  readonly caller: Pick<CredentialInStore, "storeId" | "clock">;
  readonly work: () => Promise<Outcome<Answer>>;
  readonly refuse: (refusal: Refusal) => Answer;
};

/** A store without API faults skips the write transaction (decision 94). */
export function answerWithFaults(
  context: ApiFaultContext,
  faultableCall: FaultableCall,
): Promise<Outcome<Answer>> {
  const faults = context.store.faults.of(faultableCall.caller.storeId);
  return faults.some(isApiFault) ? applyFault(context, faultableCall) : faultableCall.work();
}

async function applyFault(context: ApiFaultContext, faultableCall: FaultableCall): Promise<Outcome<Answer>> {
  const { call, caller, work, refuse } = faultableCall;
  const { store, world } = context;
  const now = storeNow(caller.clock, world.now());
  const orderId = orderIdOf(context, faultableCall);
  // A fault for GET also applies to HEAD.
  const method = call.request.method === "HEAD" ? "GET" : call.request.method;
  const matches = (fault: Fault): fault is ApiFault =>
    isApiFault(fault) &&
    (fault.match.method ?? method) === method &&
    (fault.match.path === null || matchesWildcard(fault.match.path, call.path)) &&
    (fault.match.orderId === null || (orderId !== null && matchesWildcard(fault.match.orderId, orderId)));
  const fault = await store.write(() => takeFault(context, caller.storeId, { now, matches }));
  if (fault === undefined) return work();
  const { action } = fault;
  if (isSubstituteAction(action)) {
    const substitute = SUBSTITUTE_ANSWERS[action](fault, call.requestId);
    const { storeId, clock } = caller;
    const logFields = { refusal: undefined, ...substitute.logFields, storeId, clock, orderId, decisions: [] };
    return accept(addFaultName({ ...substitute, logFields }, fault));
  }
  const outcome = await work();
  const answer = addFaultName(outcome.ok ? outcome.value : refuse(outcome.refusal), fault);
  return accept(ANSWER_EFFECTS[action](answer, fault, context));
}

const SUBSTITUTE_ANSWERS = {
  status: statusAnswer,
  rate_limit: ({ retryAfterS }, requestId) => {
    const seconds = retryAfterS ?? FAULT_PARAMETERS.retryAfterS.default;
    const refusal = refuseFact("too_many_requests", { seconds }, { retryAfterSeconds: seconds });
    return answerRefusal(requestId, refusal.refusal);
  },
  storage_full: (_fault, requestId) =>
    answerRefusal(requestId, storageRefusal(new StorageUnavailable(storageFailure("disk_full")))),
  reset: (_fault, requestId) => ({ ...createUnsentAnswer(requestId), isReset: true }),
  lose_request: (_fault, requestId) => createUnsentAnswer(requestId),
} as const satisfies Readonly<Partial<Record<ApiAction, (fault: ApiFault, requestId: string) => Answer>>>;

type SubstituteAction = keyof typeof SUBSTITUTE_ANSWERS;

function isSubstituteAction(action: ApiAction): action is SubstituteAction {
  return action in SUBSTITUTE_ANSWERS;
}

const ANSWER_EFFECTS: Readonly<
  Record<
    Exclude<ApiAction, SubstituteAction>,
    (answer: Answer, fault: ApiFault, context: ApiFaultContext) => Answer
  >
> = {
  latency: (answer, { latencyMs }) => ({
    ...answer,
    delayMs: latencyMs ?? FAULT_PARAMETERS.latencyMs.default,
  }),
  lose_answer: (answer) => ({ ...answer, isDropped: true }),
  empty: (answer) => ({ ...answer, body: "" }),
  truncate: (answer) => streamAnswer(answer, yieldFirstHalf),
  slow_body: (answer, { latencyMs }, { pause }) =>
    streamAnswer(answer, (bytes) =>
      yieldSlowly(bytes, () => pause((latencyMs ?? FAULT_PARAMETERS.latencyMs.default) / PIECE_COUNT)),
    ),
};

function addFaultName(answer: Answer, fault: ApiFault): Answer {
  const { id, action } = fault;
  const { storeId, orderId = null, decisions = [] } = answer.logFields ?? {};
  return {
    ...answer,
    headers: { ...answer.headers, [FAULT_HEADER]: faultHeader(fault) },
    note: [answer.note, `fault ${action}`].filter(Boolean).join(", "),
    logFields: { ...answer.logFields, storeId, orderId, decisions, fault: { id, action } },
  };
}

const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = Object.fromEntries(
  (
    [
      "invalid_request",
      "credential_invalid",
      "scope_missing",
      "not_found",
      "request_timeout",
      "state_conflict",
      "rate_limited",
      "internal_error",
      "storage_unavailable",
    ] as const
  ).map((code) => [ERRORS[code].status, code]),
);

function statusAnswer(fault: ApiFault, requestId: string): Answer {
  const status = fault.status ?? FAULT_PARAMETERS.status.default;
  const code = CODE_OF_STATUS[status];
  const message = `this answer was ${faultReason(fault)}`;
  if (code !== undefined) return answerRefusal(requestId, { code, message });
  const headers = { "Content-Type": "text/plain; charset=utf-8", "X-Request-Id": requestId };
  return { status, headers, body: `${status}: ${message}\n` };
}

function createUnsentAnswer(requestId: string): Answer {
  return { status: 0, headers: { "X-Request-Id": requestId }, body: "", isDropped: true };
}

function streamAnswer(answer: Answer, partsOf: (body: Uint8Array) => AsyncIterable<Uint8Array>): Answer {
  const { body } = answer;
  if (!isWholeBody(body)) return answer;
  const wholeBody = Buffer.from(body);
  const headers = { ...answer.headers, "Content-Length": String(wholeBody.length) };
  return { ...answer, headers, body: partsOf(wholeBody) };
}

async function* yieldFirstHalf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes.subarray(0, Math.floor(bytes.length / 2));
  throw new Error("a fault truncates this body");
}

const PIECE_COUNT = 16;

async function* yieldSlowly(bytes: Uint8Array, pause: () => Promise<void>): AsyncIterable<Uint8Array> {
  const size = Math.ceil(bytes.length / PIECE_COUNT);
  for (let offset = 0; offset < bytes.length; offset += size) {
    await pause();
    yield bytes.subarray(offset, offset + size);
  }
}

function orderIdOf({ store }: ApiFaultContext, { call, caller }: FaultableCall): string | null {
  const { session_id: sessionId } = call.params;
  if (sessionId === undefined) return orderIdIn(Buffer.from(call.request.body).toString("utf8"));
  return store.checkouts.find(caller.storeId, sessionId.toLowerCase())?.orderId ?? null;
}
