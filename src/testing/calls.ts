import { checkoutResponse, errorResponse, type CheckoutWire } from "../core/checkout/wire-shapes.ts";
import {
  checkRequest,
  decodeRequest,
  toDomainMessage,
  type AnswerOf,
  type OperationName,
} from "../core/control/operations.ts";
import { ERRORS } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import type { Refusal } from "../core/outcome.ts";
import { isUuid, printableLiteral } from "../core/text.ts";
import { COMMAND_AGENT } from "../core/network/headers.ts";
import { callControl, type CallOperation, type ControlCall } from "../client/control/control.ts";
import { sendToService, type InProcessResult } from "../host/within.ts";
import type { OutboundRequest, OutboundResult } from "../world.ts";
import { OWNER } from "../sandbox/access/caller.ts";
import { storesHandlers } from "../sandbox/control/stores.ts";
import { CheckoutError } from "./errors.ts";
import { refuseClosed, runWhileOpen, type InProcessSandbox } from "./in-process.ts";
import type { StoreOptions } from "./types.ts";

export type Calls = Readonly<ReturnType<typeof createCalls>>;

type CreateCall = {
  readonly path: string;
  readonly apiKey: string;
  readonly idempotencyKey: string;
  readonly body: unknown;
};

/** Far longer than any call takes, because calls stay in this process. */
const TIMEOUT_MS = 600_000;

/** Each call rejects with a CheckoutError if the sandbox refuses it or a fault loses its answer. */
export function createCalls(sandbox: InProcessSandbox) {
  const { ready } = sandbox;
  const origin = new URL(ready.base_url).origin;
  const control: CallOperation = async ({ storeId, ...call }) => {
    refuseInvalid(sandbox, call);
    let requestId = "";
    const send = async (request: OutboundRequest): Promise<OutboundResult> => {
      const { requestId: id, ...result } = await sendInProcess(sandbox, request);
      requestId = id;
      return result;
    };
    const target = { origin, token: ready.control_token, version: ready.version, storeId };
    const result = await callControl({ send }, target, call);
    if (result.end === "success") return result.value;
    if (result.end === "refusal") {
      const { status, error } = result;
      const message = toDomainMessage(call.name, error.message);
      throw refusalError(sandbox, { ...error, message, status, requestId });
    }
    throw lostAnswerError("message" in result ? result.message : result.end);
  };
  return {
    control,
    /** Calls the handler directly: a suite creates a store for each test, and HTTP and JSON would double the time. */
    createStore: async (storeInput: StoreOptions): Promise<AnswerOf<"createStore">> => {
      const requestId = sandbox.world.uuid("control");
      const request = decodeRequest("createStore", storeInput);
      const call = { storeId: "", id: "", requestId, caller: OWNER };
      const storeOutcome = request.ok
        ? await runWhileOpen(sandbox, () =>
            storesHandlers.createStore(sandbox.context, { ...call, body: request.value }),
          )
        : request;
      if (storeOutcome.ok) return storeOutcome.value;
      throw refusalError(sandbox, answerOfRefusal(storeOutcome.refusal, requestId));
    },
    create: async ({ path, apiKey, idempotencyKey, body }: CreateCall): Promise<CheckoutWire> => {
      const result = await sendInProcess(sandbox, {
        method: "POST",
        url: `${origin}${path}`,
        headers: {
          Authorization: `Bearer ${apiKey}`,
          "Content-Type": "application/json",
          "Idempotency-Key": idempotencyKey,
          // Marks the request as the kit's own, so that it does not count as evidence about the merchant's client.
          "User-Agent": COMMAND_AGENT,
        },
        body: JSON.stringify(body),
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: Number.MAX_SAFE_INTEGER,
      });
      if (!result.ok) throw lostAnswerError(result.message);
      const { status, requestId } = result;
      const answer = parseJson(result.body);
      const createdCheckout = checkoutResponse.safeParse(answer).data;
      if (createdCheckout !== undefined) return createdCheckout.data;
      const errorFields = errorResponse.safeParse(answer).data?.error;
      const message = `status ${status} has neither a checkout nor a refusal`;
      throw refusalError(sandbox, { ...(errorFields ?? { code: "bad_answer", message }), status, requestId });
    },
  };
}

function refusalError(
  sandbox: InProcessSandbox,
  error: ConstructorParameters<typeof CheckoutError>[0],
): CheckoutError {
  const cause = sandbox.failureOf(error.requestId);
  return new CheckoutError(error, cause === undefined ? {} : { cause });
}

export function answerOfRefusal(
  { code, message }: Refusal,
  requestId = "",
): ConstructorParameters<typeof CheckoutError>[0] {
  return { code, message, status: ERRORS[code].status, requestId };
}

function refuseInvalid<Name extends OperationName>(
  sandbox: InProcessSandbox,
  { name, id, body }: ControlCall<Name>,
): void {
  if (id !== undefined && !isUuid(id)) {
    const message = `${printableLiteral(id)} is not an id: ids are UUIDs; an order has an id in addition to its order_id`;
    throw refusalError(sandbox, answerOfRefusal({ code: "not_found", message }));
  }
  const check = checkRequest(name, body);
  if (!check.ok) throw refusalError(sandbox, answerOfRefusal(check.refusal));
}

function lostAnswerError(message: string): CheckoutError {
  return new CheckoutError({ status: 0, code: "connection_lost", message, requestId: "" });
}

async function sendInProcess(sandbox: InProcessSandbox, request: OutboundRequest): Promise<InProcessResult> {
  refuseClosed(sandbox);
  const result = await sendToService(sandbox.service.answer, request);
  if (result.ok && result.status === ERRORS.internal_error.status) refuseClosed(sandbox);
  return result;
}
