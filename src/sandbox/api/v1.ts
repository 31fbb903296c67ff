import { isProductionApproved, productionOf } from "../../core/readiness/admin-action.ts";
import {
  NO_DECISIONS,
  decisionsOfCreate,
  RETRIEVE_DECISIONS,
  type DecisionNumbers,
} from "../../core/readiness/relied.ts";
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { storeNow } from "../../core/clock.ts";
import { parseAuthorization, refuseUnknownKey, requireScope, type Scope } from "../../core/credential.ts";
import { parseCreateRequest, type CreateRequest } from "../../core/checkout/create-request.ts";
import { CREATE_PATHS, parseIdempotencyKey } from "../../core/checkout/idempotency-key.ts";
import { dropIgnoredForm, type Dialect } from "../../core/shape/dialect.ts";
import { parseStrictJson } from "../../core/json.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { isUuid, printableLiteral } from "../../core/text.ts";
import { checkoutJson, successBody } from "../../core/checkout/wire.ts";
import { jsonHeaders } from "../../web/answer.ts";
import { refuseBrowsers } from "../../web/guard.ts";
import { headerLines } from "../../web/http.ts";
import { createRouter, type Route } from "../../web/router.ts";
import type { HttpRequest } from "../../world.ts";
import { answerRefusal, type Answer, type LogFields } from "../answer.ts";
import type { Area, AreaRoute, AreaRequest } from "../area.ts";
import { callerOf, dialectFor, isDrillRequest, isOwnCommand, type RateLimiter } from "./caller.ts";
import type { Leases } from "../readiness/leases.ts";
import type { ServiceContext } from "../context.ts";
import { createCheckout, retrieveCheckout } from "../checkout/create.ts";
import { answerWithFaults, type ApiFaultContext } from "../fault/api-faults.ts";
import type { CredentialInStore } from "../../store/credentials.ts";

const JSON_TYPE = /^application\/json *(; *charset=(utf-8|"utf-8") *)?$/i;

export type ApiContext = ServiceContext &
  ApiFaultContext & {
    readonly rateLimiter: RateLimiter;
    readonly leases: Pick<Leases, "noteRetrieve">;
    /** Both tokens are redacted by value, because a token from the environment can have any format. */
    readonly controlToken: string;
    readonly adminToken: string;
  };

const ROUTES: readonly AreaRoute<ApiContext>[] = [
  routeOf({ methods: ["POST"], path: CREATE_PATHS.order, role: "orders:write" }, creatorOf("order")),
  routeOf(
    { methods: ["POST"], path: CREATE_PATHS.checkout_session, role: "checkout_sessions:write" },
    creatorOf("checkout_session"),
  ),
  routeOf(
    { methods: ["GET"], path: "/v1/checkout-sessions/{session_id}", role: "checkout_sessions:read" },
    retrieve,
  ),
];

export const V1_AREA: Area<ApiContext> = {
  routes: ROUTES,
  find: createRouter(ROUTES, { owner: ["v1", "v1 "] }),
  requestIdStream: "v1",
  admit: (_context, request) => refuseBrowsers(request),
  storeIdOf: ({ store }, request) => callerOf(store, request)?.storeId,
  refuse: (context, call, refusal) => {
    const answer = answerRefusal(call.requestId, refusal, dialectFor(context.store, call.request));
    const caller = noteRefusal(context, call, answer.logFields.decisions);
    return { ...answer, logFields: { ...answer.logFields, ...caller } };
  },
  fail: (_request, requestId, refusal) => answerRefusal(requestId, refusal),
};

function noteRefusal(
  { store, world, assumptions }: ApiContext,
  { request, requestId }: { readonly request: HttpRequest; readonly requestId: string },
  decisions: DecisionNumbers,
): Pick<LogFields, "storeId" | "clock" | "byDrill"> | undefined {
  const caller = callerOf(store, request);
  if (caller === undefined) return undefined;
  const { storeId, clock } = caller;
  if (isDrillRequest(request)) return { storeId, clock, byDrill: true };
  assumptions.note(decisions, { storeId, requestId, at: storeNow(clock, world.now()) });
  return { storeId, clock };
}

type Worker = (context: ApiContext, call: AreaRequest, caller: CredentialInStore) => Promise<Outcome<Answer>>;

function routeOf(route: Route & { readonly role: Scope }, work: Worker): AreaRoute<ApiContext> {
  return {
    ...route,
    answer: async (context, call) => {
      const caller = authorize(context, call.request, route.role);
      if (!caller.ok) return caller;
      return answerWithFaults(context, {
        call,
        caller: caller.value,
        work: () => work(context, call, caller.value),
        refuse: (refusal) => V1_AREA.refuse(context, call, refusal),
      });
    },
  };
}

function creatorOf(object: CheckoutObject): Worker {
  return async (context, call, { storeId, clock }) => {
    const { path, requestId: ownRequestId } = call;
    const content = readCreate(call, () => context.store.stores.dialect(storeId));
    if (!content.ok) return content;
    const tokenCheck = refuseTokens(context, content.value);
    if (!tokenCheck.ok) return tokenCheck;
    const isOwn = (): boolean => isOwnCommand(call.request);
    const command = { ...content.value, storeId, object, path, requestId: ownRequestId, isOwnCommand: isOwn };
    const outcome = await createCheckout(context, command);
    if (!outcome.ok) return outcome;
    const decisions = decisionsOfCreate(content.value.request, outcome.value);
    const byDrill = isDrillRequest(call.request) || undefined;
    if (byDrill === undefined)
      context.assumptions.note(decisions, {
        storeId,
        requestId: ownRequestId,
        at: storeNow(clock, context.world.now()),
      });
    // A replay has the request_id of the first answer, in the header and in the body (decision 5).
    const { requestId, body, replayed } = outcome.value;
    const headers = jsonHeaders(requestId);
    const orderId = content.value.request.order_id;
    const logFields = { storeId, clock, orderId, decisions, byDrill };
    if (!replayed) return accept({ status: 201, headers, body, note: orderId, logFields });
    const { status = 201, header: replayHeader = "Idempotent-Replayed" } =
      context.store.stores.dialect(storeId)?.replay ?? {};
    return accept({
      status,
      headers: replayHeader === null ? headers : { ...headers, [replayHeader]: "true" },
      body,
      note: `${orderId} replayed`,
      logFields,
    });
  };
}

async function retrieve(
  context: ApiContext,
  call: AreaRequest,
  caller: CredentialInStore,
): Promise<Outcome<Answer>> {
  const { requestId, params } = call;
  const query = refuseQuery(call);
  if (!query.ok) return query;
  const { session_id: sessionId = "" } = params;
  if (!isUuid(sessionId)) {
    return refuseFact("invalid_session_id", { received: printableLiteral(sessionId) });
  }
  const checkout = await retrieveCheckout(context, caller, sessionId.toLowerCase());
  if (!checkout.ok) return checkout;
  const { storeId, clock } = caller;
  const decisions = checkout.value.object === "order" ? RETRIEVE_DECISIONS : NO_DECISIONS;
  if (decisions.length > 0)
    context.assumptions.note(decisions, { storeId, requestId, at: storeNow(clock, context.world.now()) });
  context.leases.noteRetrieve(call.request, checkout.value);
  const body = successBody(requestId, checkoutJson(checkout.value, context.checkoutOrigin));
  const logFields = { storeId, clock, orderId: checkout.value.orderId, decisions };
  return accept({
    status: 200,
    headers: jsonHeaders(requestId),
    body,
    note: checkout.value.status,
    logFields,
  });
}

function authorize(context: ApiContext, request: HttpRequest, scope: Scope): Outcome<CredentialInStore> {
  const credentials = parseAuthorization(headerLines(request, "authorization"));
  if (!credentials.ok) return credentials;
  if (credentials.value.kind === "live") return refuseLive(context);
  const { apiKey } = credentials.value;
  const credential = context.store.credentials.byApiKey(apiKey);
  if (credential === undefined) return refuseUnknownKey(apiKey);
  if (credential.isErased) return refuseFact("store_erasing", {}, { retryAfterSeconds: 1 });
  const rate = context.rateLimiter.take(credential, context.world.now());
  if (!rate.ok) return rate;
  return mapValue(requireScope(credential, scope), () => credential);
}

function refuseLive({ store }: ApiContext): Outcome<never> {
  const firstStore = store.stores.first();
  const isOpen =
    firstStore !== undefined && isProductionApproved(productionOf(store.adminActions.of(firstStore.id)));
  return refuseFact(isOpen ? "environment_not_allowed" : "production_approval_missing", {});
}

function readCreate(
  call: AreaRequest,
  dialect: () => Dialect | undefined,
): Outcome<{ idempotencyKey: string; request: CreateRequest }> {
  const query = refuseQuery(call);
  if (!query.ok) return query;
  const { request } = call;
  const type = checkContentType(request);
  if (!type.ok) return type;
  const json = parseStrictJson(request.body);
  if (!json.ok) return json;
  const idempotencyKey = parseIdempotencyKey(headerLines(request, "idempotency-key"));
  if (!idempotencyKey.ok) return idempotencyKey;
  const body = parseBody(json.value, dialect);
  if (!body.ok) return body;
  return accept({ idempotencyKey: idempotencyKey.value, request: body.value });
}

function parseBody(value: unknown, dialect: () => Dialect | undefined): Outcome<CreateRequest> {
  const body = parseCreateRequest(value);
  if (body.ok || body.refusal.code !== "conflicting_parameters") return body;
  const singleFormBody = dropIgnoredForm(dialect(), value);
  return singleFormBody === undefined ? body : parseCreateRequest(singleFormBody);
}

function refuseTokens(
  { controlToken, adminToken }: ApiContext,
  { idempotencyKey, request }: { readonly idempotencyKey: string; readonly request: CreateRequest },
): Outcome<void> {
  const isToken = (text: string): boolean => text.includes(controlToken) || text.includes(adminToken);
  if (isToken(idempotencyKey)) return refuseFact("key_with_secret", {});
  const tokenField = Object.entries(request).find(([, value]) => typeof value === "string" && isToken(value));
  if (tokenField === undefined) return accept(undefined);
  return refuseFact("field_with_token", { field: tokenField[0] });
}

/** v1 has no query parameters, and refuses unknown input instead of ignoring it. */
function refuseQuery({ query }: AreaRequest): Outcome<void> {
  if (query === "") return accept(undefined);
  return refuseFact("query", { received: printableLiteral(query) });
}

function checkContentType(request: HttpRequest): Outcome<void> {
  const types = headerLines(request, "content-type");
  const encoding = headerLines(request, "content-encoding").join(", ");
  if (types.length !== 1 || !JSON_TYPE.test(types[0] ?? "")) {
    const receivedText = types.length === 0 ? "none" : printableLiteral(types.join(", "));
    return refuseFact("content_type", { received: receivedText });
  }
  if (encoding !== "" && encoding.toLowerCase() !== "identity") {
    return refuseFact("content_encoding", { received: printableLiteral(encoding) });
  }
  return accept(undefined);
}
