import { DEFAULT_STORE } from "../../core/control/operation.ts";
import {
  CONTROL_OPERATIONS,
  decodeAnswer,
  encodeRequest,
  pathOf,
  takes,
  type AnswerOf,
  type OperationName,
  type RequestOf,
} from "../../core/control/operations.ts";
import { parseJson } from "../../core/json.ts";
import { errorResponse, type ErrorResponse } from "../../core/checkout/wire.ts";
import type { World } from "../../world.ts";

/** The address of a sandbox's control API (decision 43), and the token of one role. */
export type ControlTarget = {
  readonly origin: string;
  readonly token: string;
  /** Default: the sandbox's first store. */
  readonly storeId?: string;
};

/** An answer of the control API, or the reason why there is none. */
export type ControlResult<Value> =
  | { readonly end: "success"; readonly value: Value }
  | { readonly end: "refusal"; readonly status: number; readonly error: ErrorResponse["error"] }
  | { readonly end: "unreachable"; readonly message: string }
  | { readonly end: "interrupted" };

const TIMEOUT_MS = 30_000;
/** Moving the clock delivers events, and receivers may be slow. */
const CLOCK_TIMEOUT_MS = 600_000;
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** An operation with its input. */
export type ControlCall<Name extends OperationName> = {
  readonly name: Name;
  readonly id?: string;
  readonly body: RequestOf<Name>;
  /** Timeout for the whole answer; default: 30 s, for a clock that moves 10 min. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
};

/** Calls any operation of the control API. */
export async function callControl<Name extends OperationName>(
  world: Pick<World, "send">,
  { origin, token, storeId = DEFAULT_STORE }: ControlTarget,
  {
    name,
    id = "",
    body,
    timeoutMs = name === "moveClock" ? CLOCK_TIMEOUT_MS : TIMEOUT_MS,
    signal,
  }: ControlCall<Name>,
): Promise<ControlResult<AnswerOf<Name>>> {
  const { method } = CONTROL_OPERATIONS[name];
  const request = encodeRequest(name, body);
  const sent = await world.send({
    method,
    url: `${origin}${pathOf(name, { storeId, id })}${takes(name) === "query" ? queryOf(request) : ""}`,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(takes(name) === "body" ? { body: JSON.stringify(request) } : {}),
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    signal,
  });
  if (!sent.ok && sent.failure === "aborted") return { end: "interrupted" };
  if (!sent.ok) return { end: "unreachable", message: sent.message };
  const answer = parseJson(sent.body);
  const value = decodeAnswer(name, answer);
  if (value !== undefined) return { end: "success", value };
  const refused = errorResponse.safeParse(answer);
  if (refused.success) return { end: "refusal", status: sent.status, error: refused.data.error };
  return {
    end: "unreachable",
    message: `status ${sent.status} came without an envelope: is that a sandbox?`,
  };
}

/** The fields that are set, as a query. */
function queryOf(fields: Readonly<Record<string, unknown>> | undefined): string {
  const given = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? ""
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}
