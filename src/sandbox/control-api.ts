import { isAdminToken } from "../core/admin-token.ts";
import {
  CONTROL_OPERATIONS,
  findOperation,
  parseControlRequest,
  takes,
  type AnswerOf,
  type OperationName,
} from "../core/control-api.ts";
import { parseStrictJson } from "../core/json.ts";
import { accept, refuse, type Outcome } from "../core/outcome.ts";
import { printableLiteral } from "../core/text.ts";
import { jsonHeaders } from "../web/answer.ts";
import { refuseBrowsers } from "../web/guard.ts";
import { headerLines, splitTarget } from "../web/http.ts";
import type { HttpRequest } from "../world.ts";
import { answerRefusal, type Answer } from "./api-v1.ts";
import { CONTROL_HANDLERS, type ControlActs } from "./control-handlers.ts";

/** What the control API needs beside its acts: a credential of its own. */
export type ControlContext = ControlActs & { readonly adminToken: string };

/** Where the control API lives; it is the sandbox's alone, no part of v1 (design section 7). */
export const CONTROL_PREFIX = "/__sandbox/";

/** Answers a request of the control API: browser, admin token, route, body. */
export async function answerControl(context: ControlContext, request: HttpRequest): Promise<Answer> {
  const requestId = context.world.uuid();
  const outcome = await route(context, request);
  if (!outcome.ok) return answerRefusal(requestId, outcome.refusal);
  const { bare, data } = outcome.value;
  const body = JSON.stringify(bare ? data : { ok: true, request_id: requestId, data });
  return { status: 200, headers: jsonHeaders(requestId), body };
}

/** What an operation said, and whether it goes out as it is. */
type Said = { readonly data: unknown; readonly bare: boolean };

async function route(context: ControlContext, request: HttpRequest): Promise<Outcome<Said>> {
  const allowed = refuseBrowsers(request);
  if (!allowed.ok) return allowed;
  const admin = requireAdmin(context, request);
  if (!admin.ok) return admin;
  const { path, query } = splitTarget(request.target);
  const found = findOperation(request.method, path);
  if (!found.ok) return found;
  const { name, id } = found.value;
  const data = await run(context, name, { id, query, bytes: request.body });
  return data.ok ? accept({ data: data.value, bare: CONTROL_OPERATIONS[name].bare }) : data;
}

async function run<Name extends OperationName>(
  context: ControlContext,
  name: Name,
  call: { readonly id: string; readonly query: string; readonly bytes: Uint8Array },
): Promise<Outcome<AnswerOf<Name>>> {
  const read = takes(name) === "body" ? parseStrictJson(call.bytes) : readQuery(call.query);
  if (!read.ok) return read;
  const isBare = takes(name) === "nothing" && call.query === "";
  const parsed = parseControlRequest(name, isBare ? undefined : read.value);
  return parsed.ok ? CONTROL_HANDLERS[name](context, { id: call.id, body: parsed.value }) : parsed;
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
