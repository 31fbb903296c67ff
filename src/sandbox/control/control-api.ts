import { isSameSecret } from "../../core/constant-time.ts";
import {
  CONTROL_OPERATIONS,
  findOperation,
  parseControlRequest,
  roleOf,
  takes,
  type AnswerOf,
  type ControlRole,
  type OperationName,
} from "../../core/control/operations.ts";
import { parseStrictJson } from "../../core/json.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { printableLiteral } from "../../core/text.ts";
import { jsonHeaders } from "../../web/answer.ts";
import { refuseBrowsers } from "../../web/guard.ts";
import { headerLines, splitTarget } from "../../web/http.ts";
import type { HttpRequest } from "../../world.ts";
import { answerRefusal, type Answer } from "../answer.ts";
import { CONTROL_HANDLERS, type ControlActs } from "./handlers.ts";

/** What the control API needs beside its acts: a credential of its own for each role. */
export type ControlContext = ControlActs & {
  readonly adminToken: string;
  readonly administratorToken: string;
};

/** Where the control API lives; it is the sandbox's alone, no part of v1 (design section 7). */
export const CONTROL_PREFIX = "/__sandbox/";

/** Answers a request of the control API: browser, token, route, role, body. */
export async function answerControl(context: ControlContext, request: HttpRequest): Promise<Answer> {
  const requestId = context.world.uuid();
  const outcome = await route(context, request, requestId);
  if (!outcome.ok) return answerRefusal(requestId, outcome.refusal);
  const { bare, data } = outcome.value;
  const body = JSON.stringify(bare ? data : { ok: true, request_id: requestId, data });
  return { status: 200, headers: jsonHeaders(requestId), body };
}

/** What an operation said, and whether it goes out as it is. */
type Said = { readonly data: unknown; readonly bare: boolean };

async function route(
  context: ControlContext,
  request: HttpRequest,
  requestId: string,
): Promise<Outcome<Said>> {
  const allowed = refuseBrowsers(request);
  if (!allowed.ok) return allowed;
  const role = identify(context, request);
  if (!role.ok) return role;
  const { path, query } = splitTarget(request.target);
  const found = findOperation(request.method, path);
  if (!found.ok) return found;
  const { name, id } = found.value;
  const permitted = requireRole(role.value, name);
  if (!permitted.ok) return permitted;
  const data = await run(context, name, { id, query, bytes: request.body, requestId });
  return data.ok ? accept({ data: data.value, bare: CONTROL_OPERATIONS[name].bare }) : data;
}

async function run<Name extends OperationName>(
  context: ControlContext,
  name: Name,
  call: {
    readonly id: string;
    readonly query: string;
    readonly bytes: Uint8Array;
    readonly requestId: string;
  },
): Promise<Outcome<AnswerOf<Name>>> {
  const read = takes(name) === "body" ? parseStrictJson(call.bytes) : readQuery(call.query);
  if (!read.ok) return read;
  const isBare = takes(name) === "nothing" && call.query === "";
  const parsed = parseControlRequest(name, isBare ? undefined : read.value);
  const { id, requestId } = call;
  return parsed.ok ? CONTROL_HANDLERS[name](context, { id, requestId, body: parsed.value }) : parsed;
}

/** The fields of a query, each at most once. Refuses with `invalid_parameter`. */
function readQuery(query: string): Outcome<Readonly<Record<string, string>>> {
  const fields = [...new URLSearchParams(query)];
  const twice = fields.find(([name], at) => fields.findIndex(([other]) => other === name) !== at);
  if (twice !== undefined) {
    const name = printableLiteral(twice[0]);
    return refuse("invalid_parameter", `${name} may stand in the query once; it came twice`);
  }
  return accept(Object.fromEntries(fields));
}

/** Whose token came: each is compared in constant time, and neither is the other's. */
function identify(
  { adminToken, administratorToken }: ControlContext,
  request: HttpRequest,
): Outcome<ControlRole> {
  const lines = headerLines(request, "authorization");
  const [, token = ""] = /^bearer +(\S+)$/i.exec(lines[0] ?? "") ?? [];
  if (lines.length === 1 && isSameSecret(token, adminToken)) return accept("control");
  if (lines.length === 1 && isSameSecret(token, administratorToken)) return accept("administrator");
  const code = lines.length === 0 ? "credential_missing" : "credential_invalid";
  return refuse(
    code,
    "the control API takes the admin token that is in .checkout/run.json, and for acts of the administrator the token in .checkout/administrator.json, as Authorization: Bearer <token>",
  );
}

/** Who runs the sandbox is not its administrator, and the administrator does nothing else (decision 20). */
function requireRole(role: ControlRole, name: OperationName): Outcome<void> {
  const wanted = roleOf(name);
  if (role === wanted) return accept(undefined);
  return refuse(
    "scope_missing",
    wanted === "administrator"
      ? `${name} is the administrator's: it takes the token in .checkout/administrator.json, not the one in run.json`
      : `${name} is not the administrator's: it takes the admin token in .checkout/run.json`,
  );
}
