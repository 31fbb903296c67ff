import {
  DEFAULT_STORE,
  INSTANCE_HEADER,
  LEASE_HEADER,
  OPERATION_HEADER,
  VERSION_HEADER,
} from "../../core/control/protocol.ts";
import {
  CONTROL_OPERATIONS,
  decodeAnswer,
  encodeRequest,
  pathOf,
  inputKind,
  type AnswerOf,
  type OperationName,
  type RequestOf,
} from "../../core/control/operations.ts";
import { parseJson } from "../../core/json.ts";
import { errorResponse, type ErrorResponse } from "../../core/checkout/wire-shapes.ts";
import type { OutboundRequest, OutboundResult, World } from "../../world.ts";

/** `token` belongs to one role, which decides what operations are allowed (decision 43). */
export type ControlTarget = {
  readonly origin: string;
  readonly token: string;
  readonly version: string;
  /** Called if the sandbox has another version; the version is undefined if the sandbox is too old to report it. */
  readonly onOtherVersion?: (sandboxVersion: string | undefined) => void;
  readonly onInstance?: (instance: string) => void;
  readonly send?: World["send"];
  readonly storeId?: string | undefined;
  /** Calls with a lease are refused once the lease has ended. */
  readonly leaseId?: string;
  /** Timeout of a call, except for long operations; the call's `waitMs` is added. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
};

export type ControlResult<Value> =
  | { readonly end: "success"; readonly value: Value }
  | { readonly end: "refusal"; readonly status: number; readonly error: ErrorResponse["error"] }
  /** The sandbox has another version, which does not know this operation or answers it in another form. */
  | { readonly end: "other_version"; readonly sandboxVersion: string; readonly neededVersion: string }
  | { readonly end: "unreachable"; readonly message: string }
  | { readonly end: "interrupted" };

export function wrapAnswer<Value>(value: Value): ControlResult<Value> {
  return { end: "success", value };
}

const TIMEOUT_MS = 30_000;
/** A clock move waits for receivers, and a store may be large. */
const LONG_TIMEOUT_MS = 600_000;
const LONG_OPERATIONS: ReadonlySet<OperationName> = new Set(["moveClock", "reset", "deleteStore"]);
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

export type ControlCall<Name extends OperationName> = {
  readonly name: Name;
  readonly id?: string;
  readonly body: RequestOf<Name>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
};

export type CallOperation = <Name extends OperationName>(
  call: ControlCall<Name> & { readonly storeId?: string },
) => Promise<AnswerOf<Name>>;

export async function callControl<Name extends OperationName>(
  world: Pick<World, "send">,
  target: ControlTarget,
  call: ControlCall<Name>,
): Promise<ControlResult<AnswerOf<Name>>> {
  const send = target.send ?? world.send;
  return parseControlResult(target, call.name, await send(buildControlRequest(target, call)));
}

export function buildControlRequest<Name extends OperationName>(
  { origin, token, storeId = DEFAULT_STORE, leaseId, timeoutMs: defaultMs }: ControlTarget,
  { name, id = "", body, timeoutMs = timeoutOf(name, body, defaultMs), signal }: ControlCall<Name>,
): OutboundRequest {
  const request = encodeRequest(name, body);
  return {
    method: CONTROL_OPERATIONS[name].method,
    url: `${origin}${pathOf(name, { storeId, id })}${inputKind(name) === "query" ? queryOf(request) : ""}`,
    headers: {
      Authorization: `Bearer ${token}`,
      "Content-Type": "application/json",
      ...(leaseId !== undefined && { [LEASE_HEADER]: leaseId }),
    },
    ...(inputKind(name) === "body" ? { body: JSON.stringify(request) } : {}),
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    signal,
  };
}

/** Long operations have a fixed timeout, because the sandbox continues them when the client stops waiting. */
function timeoutOf<Name extends OperationName>(
  name: Name,
  body: RequestOf<Name>,
  defaultMs: number | undefined,
): number {
  if (LONG_OPERATIONS.has(name)) return LONG_TIMEOUT_MS;
  if (defaultMs === undefined) return TIMEOUT_MS;
  const waitMs = body !== undefined && "waitMs" in body ? body.waitMs : 0;
  return defaultMs + (typeof waitMs === "number" ? waitMs : 0);
}

export function parseControlResult<Name extends OperationName>(
  target: ControlTarget,
  name: Name,
  result: OutboundResult,
): ControlResult<AnswerOf<Name>> {
  if (!result.ok && result.failure === "aborted") return { end: "interrupted" };
  if (!result.ok) return { end: "unreachable", message: result.message };
  const { version, onOtherVersion, onInstance } = target;
  const { status, headers, body } = result;
  const answer = parseJson(body);
  const sandboxVersion = headers[VERSION_HEADER.toLowerCase()];
  const value = decodeAnswer(name, answer, status === 200 && sandboxVersion === version);
  const envelope = errorResponse.safeParse(answer).data;
  // A refusal may lack the version header, so only a success without it shows an old version.
  if (sandboxVersion === undefined ? value !== undefined : sandboxVersion !== version)
    onOtherVersion?.(sandboxVersion);
  const instance = headers[INSTANCE_HEADER.toLowerCase()];
  if (instance !== undefined && instance !== "") onInstance?.(instance);
  if (value !== undefined) return wrapAnswer(value);
  const isOperationRefusal = envelope !== undefined && headers[OPERATION_HEADER.toLowerCase()] !== undefined;
  if (sandboxVersion !== undefined && sandboxVersion !== version && !isOperationRefusal)
    return { end: "other_version", sandboxVersion, neededVersion: version };
  if (envelope !== undefined) return { end: "refusal", status, error: envelope.error };
  const message = `status ${status} without an envelope; is this a sandbox?`;
  return { end: "unreachable", message };
}

function queryOf(fields: Readonly<Record<string, unknown>> | undefined): string {
  const definedFields = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined);
  return definedFields.length === 0
    ? ""
    : `?${new URLSearchParams(definedFields.map(([name, value]) => [name, String(value)])).toString()}`;
}
