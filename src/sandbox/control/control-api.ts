import { isSameSecret } from "../../core/constant-time.ts";
import {
  CONTROL_OPERATIONS,
  OPERATION_NAMES,
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
import { headerLines } from "../../web/http.ts";
import { createRouter } from "../../web/router.ts";
import type { HttpRequest } from "../../world.ts";
import { answerRefusal } from "../answer.ts";
import type { Area, AreaRoute } from "../area.ts";
import { CONTROL_HANDLERS, type ControlActs } from "./handlers.ts";

/** What the control API needs beside its acts: a credential of its own for each role. */
export type ControlContext = ControlActs & {
  readonly controlToken: string;
  readonly adminToken: string;
};

/** Where the control API lives; it is the sandbox's alone, no part of v1 (decision 43). */
export const CONTROL_PREFIX = "/__sandbox/";

const ROUTES: readonly AreaRoute<ControlContext, ControlRole>[] = OPERATION_NAMES.map(routeOf);

/** Everything under `/__sandbox/`: browser, token, route, role, body. */
export const CONTROL: Area<ControlContext, ControlRole> = {
  routes: ROUTES,
  find: createRouter(ROUTES, { owner: "the control API", segments: { id: "[0-9a-f-]{36}" } }),
  admit: (context, request) => {
    const allowed = refuseBrowsers(request);
    return allowed.ok ? identify(context, request) : allowed;
  },
  refuse: (_context, { requestId }, refusal) => answerRefusal(requestId, refusal),
  fail: (_request, requestId, refusal) => answerRefusal(requestId, refusal),
};

function routeOf(name: OperationName): AreaRoute<ControlContext, ControlRole> {
  const { method, path, bare } = CONTROL_OPERATIONS[name];
  return {
    methods: [method],
    path,
    role: roleOf(name),
    answer: async (context, { request, requestId, query, params, caller }) => {
      const permitted = requireRole(caller, name);
      if (!permitted.ok) return permitted;
      const { id = "" } = params;
      const data = await run(context, name, { id, query, bytes: request.body, requestId });
      if (!data.ok) return data;
      const body = JSON.stringify(bare ? data.value : { ok: true, request_id: requestId, data: data.value });
      return accept({ status: 200, headers: jsonHeaders(requestId), body });
    },
  };
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
function identify({ controlToken, adminToken }: ControlContext, request: HttpRequest): Outcome<ControlRole> {
  const lines = headerLines(request, "authorization");
  const [, token = ""] = /^bearer +(\S+)$/i.exec(lines[0] ?? "") ?? [];
  if (lines.length === 1 && isSameSecret(token, controlToken)) return accept("control");
  if (lines.length === 1 && isSameSecret(token, adminToken)) return accept("administrator");
  const code = lines.length === 0 ? "credential_missing" : "credential_invalid";
  return refuse(
    code,
    "the control API takes the control token that is in .checkout/run.json, and for acts of the administrator the token in .checkout/admin.json, as Authorization: Bearer <token>",
  );
}

/** Who runs the sandbox is not its administrator, and the administrator does nothing else (decision 20). */
function requireRole(role: ControlRole, name: OperationName): Outcome<void> {
  const wanted = roleOf(name);
  if (role === wanted) return accept(undefined);
  return refuse(
    "scope_missing",
    wanted === "administrator"
      ? `${name} is the administrator's: it takes the token in .checkout/admin.json, not the one in run.json`
      : `${name} is not the administrator's: it takes the control token in .checkout/run.json`,
  );
}
