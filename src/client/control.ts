import {
  CONTROL_ANSWERS,
  type ClockAnswer,
  type ClockRequest,
  type PayAnswer,
  type PayRequest,
} from "../core/control-request.ts";
import { errorResponse, type ErrorResponse } from "../core/wire.ts";
import { parseJson } from "../core/json.ts";
import type { World } from "../world.ts";

/** The sandbox's own API on this machine (design section 7), which no real service has. */
export type ControlTarget = { readonly origin: string; readonly adminToken: string };

/** An answer of the control API, or why there is none. */
export type ControlResult<Value> =
  | { readonly end: "success"; readonly value: Value }
  | { readonly end: "refusal"; readonly status: number; readonly error: ErrorResponse["error"] }
  | { readonly end: "unreachable"; readonly message: string };

const TIMEOUT_MS = 30_000;
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Acts in the payer's place. */
export function pay(
  world: Pick<World, "send">,
  target: ControlTarget,
  act: PayRequest & { readonly id: string },
): Promise<ControlResult<PayAnswer>> {
  const path = `/checkouts/${encodeURIComponent(act.id)}/pay`;
  return call(world, target, { path, body: { outcome: act.outcome }, read: CONTROL_ANSWERS.pay });
}

/** Shows the store's clock, or moves it. */
export function clock(
  world: Pick<World, "send">,
  target: ControlTarget,
  act: ClockRequest | undefined,
): Promise<ControlResult<ClockAnswer>> {
  return call(world, target, { path: "/clock", body: act, read: CONTROL_ANSWERS.clock });
}

/** A parser of an answer's `data`. */
type Reader<Value> = {
  readonly safeParse: (body: unknown) => {
    readonly success: boolean;
    readonly data?: { readonly data: Value } | undefined;
  };
};

async function call<Value>(
  world: Pick<World, "send">,
  { origin, adminToken }: ControlTarget,
  request: { readonly path: string; readonly body: object | undefined; readonly read: Reader<Value> },
): Promise<ControlResult<Value>> {
  const body = request.body === undefined ? {} : { body: JSON.stringify(request.body) };
  const sent = await world.send({
    method: request.body === undefined ? "GET" : "POST",
    url: `${origin}/__sandbox${request.path}`,
    headers: { Authorization: `Bearer ${adminToken}`, "Content-Type": "application/json" },
    ...body,
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  if (!sent.ok) return { end: "unreachable", message: sent.message };
  const answer = parseJson(sent.body);
  const read = request.read.safeParse(answer);
  if (read.data !== undefined) return { end: "success", value: read.data.data };
  const refused = errorResponse.safeParse(answer);
  if (refused.success) return { end: "refusal", status: sent.status, error: refused.data.error };
  return {
    end: "unreachable",
    message: `status ${sent.status} came without an envelope: is that a sandbox?`,
  };
}
