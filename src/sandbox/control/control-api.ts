import type { Operation } from "../../core/control/operation.ts";
import {
  DEFAULT_STORE,
  INSTANCE_HEADER,
  LEASE_HEADER,
  OPERATION_HEADER,
  VERSION_HEADER,
} from "../../core/control/protocol.ts";
import {
  CONTROL_OPERATIONS,
  folderTokenRole,
  decodeRequest,
  encodeInSteps,
  OPERATION_NAMES,
  inputKind,
  type AnswerOf,
  type OperationName,
} from "../../core/control/operations.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { parseStrictJson } from "../../core/json.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { printableLiteral, UUID_SOURCE } from "../../core/text.ts";
import { jsonHeaders } from "../../web/answer.ts";
import { headerLines, splitTarget } from "../../web/http.ts";
import { createRouter } from "../../web/router.ts";
import { defaultStoreOf, hasAccessToExistingStore, requireRole, type Caller } from "../access/caller.ts";
import { withoutSecrets } from "../access/redaction.ts";
import { answerRefusal, type Answer } from "../answer.ts";
import type { Area, AreaRoute, AreaRequest } from "../area.ts";
import { refuseWithoutStore, refuseUnknownStore } from "../with-store.ts";
import type { OperationCall, OperationContext } from "./handler.ts";
import { runOperation } from "./handlers.ts";
import { admitToControl } from "../control-admission.ts";
import { resolvesWithin } from "../runtime/store-gate.ts";

export type ControlContext = OperationContext & {
  readonly controlToken: string;
  readonly adminToken: string;
  readonly version: string;
};

type ControlRoute = AreaRoute<ControlContext, Caller> & Pick<Operation, "entersStore">;

const SEGMENTS = { store_id: `${DEFAULT_STORE}|${UUID_SOURCE}`, id: UUID_SOURCE };

const ROUTES: readonly ControlRoute[] = OPERATION_NAMES.map(routeOf);

const find = createRouter(ROUTES, { owner: ["the control API", "控制 API "], segments: SEGMENTS });

export const CONTROL_AREA: Area<ControlContext, Caller> = {
  routes: ROUTES,
  find,
  requestIdStream: "control",
  admit: admitToControl,
  storeIdOf: (context, request) => {
    const match = find(request.method, splitTarget(request.target).path);
    if (!match.ok || !match.value.route.entersStore) return undefined;
    const caller = admitToControl(context, request);
    if (!caller.ok) return undefined;
    const storeId = findStore(context, caller.value, match.value.params["store_id"] ?? "");
    return storeId.ok && storeId.value !== "" ? storeId.value : undefined;
  },
  refuse: (context, { requestId }, refusal) => {
    const answer = answerRefusal(requestId, refusal);
    // Routing is refused only after a valid token, so the caller may learn the version.
    return ROUTING_CODES.has(refusal.code) ? withHeaders(answer, ownHeaders(context)) : answer;
  },
  fail: (_request, requestId, refusal) => answerRefusal(requestId, refusal),
};

const ROUTING_CODES: ReadonlySet<ErrorCode> = new Set(["not_found", "method_not_allowed"]);

function routeOf(name: OperationName): ControlRoute {
  const { method, path, entersStore } = CONTROL_OPERATIONS[name];
  const role = folderTokenRole(name);
  return {
    methods: [method],
    path,
    role,
    entersStore,
    answer: async (context, call) => {
      const outcome = await answerCall(name, context, call);
      const answer = outcome.ok ? outcome.value : answerRefusal(call.requestId, outcome.refusal);
      return accept(withHeaders(answer, { ...ownHeaders(context), [OPERATION_HEADER]: name }));
    },
  };
}

async function answerCall(
  name: OperationName,
  context: ControlContext,
  { request, requestId, query, params, caller }: AreaRequest<Caller>,
): Promise<Outcome<Answer>> {
  const permission = requireRole(caller, CONTROL_OPERATIONS[name].minRole, name);
  if (!permission.ok) return permission;
  const storeId = findStore(context, caller, params["store_id"] ?? "");
  if (!storeId.ok) return storeId;
  const inputOutcome = inputKind(name) === "body" ? parseStrictJson(request.body) : readQuery(query);
  if (!inputOutcome.ok) return inputOutcome;
  const givenBody = inputKind(name) === "nothing" && query === "" ? undefined : inputOutcome.value;
  const { id = "" } = params;
  const [leaseId] = headerLines(request, LEASE_HEADER.toLowerCase());
  const call = { storeId: storeId.value, id, requestId, leaseId, caller, body: givenBody };
  const work = run(context, name, call);
  const mayWait = CONTROL_OPERATIONS[name].method === "GET";
  const answer = await (mayWait ? waitWhileValid(context, caller, work) : work);
  if (!answer.ok) return answer;
  const data = await encodeAnswer(context, name, answer.value);
  const { isBare, isLasting } = CONTROL_OPERATIONS[name];
  const wholeText = JSON.stringify(isBare ? data : { ok: true, request_id: requestId, data });
  const text = caller.role === "viewer" ? withoutSecrets(wholeText, context.secrets) : wholeText;
  // The line break marks the end of the result; the rest of the body only keeps the lease open.
  const isAllowed = (): boolean => context.tokens.isValid(caller);
  const body = isLasting ? context.leases.hold(requestId, `${text}\n`, isAllowed) : text;
  return accept({ status: 200, headers: jsonHeaders(requestId), body });
}

const CHECK_INTERVAL_MS = 1000;

async function waitWhileValid<Value>(
  { tokens, world }: ControlContext,
  caller: Caller,
  work: Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  if (caller.tokenId === null) return work;
  while (!(await resolvesWithin(world, CHECK_INTERVAL_MS, work)))
    if (!tokens.isValid(caller)) return refuseFact("token_ended", {});
  return work;
}

/** Encodes in slices, because the thousands of checkouts of a clock move would block other requests. */
async function encodeAnswer(
  { world }: ControlContext,
  name: OperationName,
  answer: AnswerOf<OperationName>,
): Promise<Readonly<Record<string, unknown>>> {
  const steps = encodeInSteps(name, answer);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await new Promise<void>((resolve) => world.soon(resolve));
  }
}

function ownHeaders({ version, store }: ControlContext): Readonly<Record<string, string>> {
  return { [VERSION_HEADER]: version, [INSTANCE_HEADER]: store.instance.id() ?? "" };
}

function withHeaders(answer: Answer, headers: Answer["headers"]): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

async function run<Name extends OperationName>(
  context: ControlContext,
  name: Name,
  call: Omit<OperationCall<Name>, "body"> & { readonly body: unknown },
): Promise<Outcome<AnswerOf<Name>>> {
  const body = decodeRequest(name, call.body);
  if (!body.ok) return body;
  // No await between this check and the operation's write, so a lease that ends later also undoes that write.
  const { leaseId } = call;
  const leaseCheck: Outcome<void> =
    leaseId === undefined ? accept(undefined) : context.leases.check({ storeId: call.storeId, id: leaseId });
  return leaseCheck.ok ? runOperation(context, name, { ...call, body: body.value }) : leaseCheck;
}

function findStore({ store }: ControlContext, caller: Caller, storeId: string): Outcome<string> {
  if (storeId === "") return accept(storeId);
  const id = storeId === DEFAULT_STORE ? defaultStoreOf(store, caller) : storeId;
  if (id === undefined) return refuseWithoutStore();
  return hasAccessToExistingStore(store, caller, id) ? accept(id) : refuseUnknownStore(id);
}

function readQuery(query: string): Outcome<Readonly<Record<string, string>>> {
  const fields = [...new URLSearchParams(query)];
  const field = fields.find(
    ([name], index) => fields.findIndex(([otherName]) => otherName === name) !== index,
  );
  if (field !== undefined) {
    const name = printableLiteral(field[0]);
    return refuseFact("query_twice", { parameter: name });
  }
  return accept(Object.fromEntries(fields));
}
