import { isAdminToken } from "../core/admin-token.ts";
import {
  parseClockRequest,
  parsePayRequest,
  type ClockRequest,
  type MoveWire,
} from "../core/control-request.ts";
import { parseStrictJson } from "../core/json.ts";
import { accept, refuse, type Outcome } from "../core/outcome.ts";
import { printableLiteral } from "../core/text.ts";
import { jsonHeaders } from "../web/answer.ts";
import { refuseBrowsers } from "../web/guard.ts";
import { headerLines, splitTarget } from "../web/http.ts";
import type { HttpRequest } from "../world.ts";
import { answerRefusal, type Answer } from "./api-v1.ts";
import { moveClock, type ClockAct, type ClockState } from "./clock.ts";
import { payAs, type Change, type Move } from "./payments.ts";
import type { ServiceContext } from "./service.ts";

/** What the control API needs beside the service: its own credential, and the timer that has to hear of a moved clock. */
export type ControlContext = ServiceContext & {
  readonly adminToken: string;
  readonly wake: () => Promise<void>;
};

/** Where the control API lives; it is the sandbox's alone, no part of v1 (design section 7). */
export const CONTROL_PREFIX = "/__sandbox/";

const PAY = /^\/__sandbox\/checkouts\/([0-9a-f-]{36})\/pay$/;

/** Answers a request of the control API: browser, admin token, route, body. */
export async function answerControl(context: ControlContext, request: HttpRequest): Promise<Answer> {
  const requestId = context.world.uuid();
  const outcome = await route(context, request);
  if (!outcome.ok) return answerRefusal(requestId, outcome.refusal);
  const body = JSON.stringify({ ok: true, request_id: requestId, data: outcome.value });
  return { status: 200, headers: jsonHeaders(requestId), body };
}

async function route(context: ControlContext, request: HttpRequest): Promise<Outcome<unknown>> {
  const allowed = refuseBrowsers(request);
  if (!allowed.ok) return allowed;
  const admin = requireAdmin(context, request);
  if (!admin.ok) return admin;
  const { path } = splitTarget(request.target);
  const { method } = request;
  const [, checkoutId] = PAY.exec(path) ?? [];
  if (checkoutId !== undefined)
    return method === "POST" ? pay(context, request, checkoutId) : wrongMethod("POST");
  if (path !== "/__sandbox/clock")
    return refuse("not_found", `the control API has no ${printableLiteral(path)}`);
  if (method === "GET") return clock(context, { action: "show" });
  return method === "POST" ? setClock(context, request) : wrongMethod("GET, POST");

  function wrongMethod(allow: string): Outcome<never> {
    return refuse("method_not_allowed", `${path} takes ${allow}; got ${printableLiteral(method)}`, { allow });
  }
}

async function pay(
  context: ControlContext,
  request: HttpRequest,
  checkoutId: string,
): Promise<Outcome<unknown>> {
  const json = parseStrictJson(request.body);
  const wanted = json.ok ? parsePayRequest(json.value) : json;
  if (!wanted.ok) return wanted;
  const paid = await payAs(context, checkoutId, wanted.value.outcome);
  return paid.ok ? accept(changeWire(paid.value)) : paid;
}

async function setClock(context: ControlContext, request: HttpRequest): Promise<Outcome<unknown>> {
  const json = parseStrictJson(request.body);
  const wanted = json.ok ? parseClockRequest(json.value) : json;
  return wanted.ok ? clock(context, toAct(wanted.value)) : wanted;
}

/** Until there are more stores than one, the clock that is meant is the first store's. */
async function clock(context: ControlContext, act: ClockAct): Promise<Outcome<unknown>> {
  const first = context.store.stores.first();
  if (first === undefined) return refuse("not_found", "there is no store yet");
  const moved = await moveClock(context, first.id, act);
  if (!moved.ok) return moved;
  if (act.action !== "show") await context.wake();
  return accept(clockWire(moved.value));
}

function toAct(request: ClockRequest): ClockAct {
  switch (request.action) {
    case "advance":
      return { action: "advance", by: request.by_ms };
    case "set":
      return { action: "set", to: Date.parse(request.to) };
    case "freeze":
    case "real":
      return { action: request.action };
  }
}

/** The token of `run.json`, compared in constant time. */
function requireAdmin({ adminToken }: ControlContext, request: HttpRequest): Outcome<void> {
  const lines = headerLines(request, "authorization");
  const [, token = ""] = /^bearer +(\S+)$/i.exec(lines[0] ?? "") ?? [];
  if (lines.length === 1 && isAdminToken(token, adminToken)) return accept(undefined);
  const code = lines.length === 0 ? "credential_missing" : "credential_invalid";
  return refuse(
    code,
    "the control API takes the admin token that is in .checkout/run.json, as Authorization: Bearer <token>",
  );
}

function changeWire({ checkout, moves, late }: Change): unknown {
  return { id: checkout.id, status: checkout.status, late, moves: moves.map(moveWire) };
}

function clockWire({ now, frozen, fired }: ClockState): unknown {
  return { now: new Date(now).toISOString(), frozen, fired: fired.map(moveWire) };
}

function moveWire({ at, checkoutId, orderId, from, to, eventId }: Move): MoveWire {
  return {
    at: new Date(at).toISOString(),
    checkout_id: checkoutId,
    order_id: orderId,
    from,
    to,
    event_id: eventId,
  };
}
