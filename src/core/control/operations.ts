import * as z from "zod";
import { STATUSES } from "../checkout/checkout.ts";
import { assumptionOperations } from "./assumptions.ts";
import { drillOperations } from "./drills.ts";
import { idempotencyOperations } from "./idempotency.ts";
import { readinessOperations } from "./readiness.ts";
import { dispatched, webhookOperations } from "./webhook.ts";
import type { ErrorCode } from "../errors.ts";
import { accept, refuse, type Outcome } from "../outcome.ts";
import { PAY_OUTCOMES } from "../checkout/reserved-order-id.ts";
import { printableLiteral } from "../text.ts";
import { checkoutWire } from "../checkout/wire.ts";

/** One operation of the control API, as router, client and description read it (decision 43). */
type Operation<Body, Answer> = {
  readonly method: "GET" | "POST";
  /** May hold `{id}`. */
  readonly path: string;
  readonly summary: string;
  /** Whose token it wants; that of the control API where nothing is said. */
  readonly role?: "administrator";
  /** What the body of a POST or the query of a GET has to be; `undefined` where nothing is read. */
  readonly request: z.ZodType<Body>;
  readonly answer: z.ZodType<Answer>;
  /** Whether the answer goes out without the envelope around it. */
  readonly bare: boolean;
  /** Its own refusals, beside those that every operation has. */
  readonly refusals: readonly ErrorCode[];
};

/** Who may call operations: whoever runs the sandbox and acts on it, or the service's administrator. */
export type ControlRole = "control" | "administrator";

/** The request of an operation that reads nothing but its path. */
const NOTHING = z.undefined();

/** A year of milliseconds: no clock is moved further at once. */
const MAX_ADVANCE_MS = 366 * 24 * 3_600_000;

/** For readers of the description; a client takes whatever moment it is told. */
const moment = z.string().meta({ format: "date-time" });
const status = z.enum(STATUSES);

const payRequest = z.strictObject({ outcome: z.enum(PAY_OUTCOMES) });
/** What the payer is to do, as the control API takes it. */
export type PayRequest = z.infer<typeof payRequest>;

const clockRequest = z.discriminatedUnion("action", [
  z.strictObject({ action: z.enum(["freeze", "real"]) }),
  z.strictObject({ action: z.literal("advance"), by_ms: z.int().min(1).max(MAX_ADVANCE_MS) }),
  z.strictObject({ action: z.literal("set"), to: z.iso.datetime({ offset: true }) }),
]);
/** How a clock is to be moved, as the control API takes it. */
export type ClockRequest = z.infer<typeof clockRequest>;

const returnOriginRequest = z.strictObject({ action: z.enum(["add", "remove"]), origin: z.string() });
/** A return origin to add or to remove, as the control API takes it. */
export type ReturnOriginRequest = z.infer<typeof returnOriginRequest>;

const move = z.object({
  at: moment,
  checkout_id: z.uuid(),
  order_id: z.string(),
  from: status,
  to: status,
  event_id: z.uuid(),
});
/** A status that changed, as the control API tells it. */
export type MoveWire = z.infer<typeof move>;

const clockAnswer = z.object({
  now: moment,
  frozen: z.boolean(),
  fired: z.array(move),
  delivered: z.array(dispatched),
  /** Due deliveries that receivers have not answered yet. */
  undelivered: z.int().min(0),
});
const returnOriginsAnswer = z.object({ store_id: z.uuid(), return_origins: z.array(z.string()) });

const attempt = z.object({
  number: z.int(),
  started_at: moment,
  outcome: z.enum(["succeeded", "declined", "failed", "abandoned"]).nullable(),
  finished_at: moment.nullable(),
});
const lateResult = z.object({
  attempt: z.int(),
  result: z.enum(["succeeded", "declined", "failed"]),
  recorded_at: moment,
});
const event = z.object({
  event_id: z.uuid(),
  type: z.string(),
  sequence: z.int().min(1),
  created_at: moment,
});

const envelope = z.object({ ok: z.literal(true), data: z.unknown() });

const operations = {
  pay: {
    method: "POST",
    path: "/__sandbox/checkouts/{id}/pay",
    summary: "Acts in the payer's place on an order or a session",
    request: payRequest,
    answer: z.object({ id: z.uuid(), status, late: z.boolean(), moves: z.array(move) }),
    bare: false,
    refusals: ["not_found", "session_not_found", "state_conflict"],
  },
  inspectCheckout: {
    method: "GET",
    path: "/__sandbox/checkouts/{id}",
    summary: "Shows an order or a session of any store, with all that has happened to it",
    request: NOTHING,
    answer: checkoutWire.extend({
      description: z.string().nullable(),
      created_at: moment,
      expires_at: moment,
      attempts: z.array(attempt),
      late_results: z.array(lateResult),
      events: z.array(event),
    }),
    bare: false,
    refusals: ["not_found", "session_not_found"],
  },
  showClock: {
    method: "GET",
    path: "/__sandbox/clock",
    summary: "Shows what time it is for the store",
    request: NOTHING,
    answer: clockAnswer,
    bare: false,
    refusals: ["not_found"],
  },
  moveClock: {
    method: "POST",
    path: "/__sandbox/clock",
    summary: "Moves the store's clock, and does everything that falls due on the way before it answers",
    request: clockRequest,
    answer: clockAnswer,
    bare: false,
    refusals: ["not_found"],
  },
  listReturnOrigins: {
    method: "GET",
    path: "/__sandbox/return-origins",
    summary: "Lists the origins that the store's customers may be sent back to, oldest first",
    request: NOTHING,
    answer: returnOriginsAnswer,
    bare: false,
    refusals: ["not_found"],
  },
  changeReturnOrigins: {
    method: "POST",
    path: "/__sandbox/return-origins",
    summary: "Adds an origin that the store's customers may be sent back to, or removes one",
    request: returnOriginRequest,
    answer: returnOriginsAnswer,
    bare: false,
    refusals: ["not_found", "state_conflict"],
  },
  ...webhookOperations,
  ...drillOperations,
  ...idempotencyOperations,
  ...assumptionOperations,
  ...readinessOperations,
  describe: {
    method: "GET",
    path: "/__sandbox/openapi.json",
    summary: "Describes the control API, as this document",
    request: NOTHING,
    answer: z.looseObject({
      openapi: z.string(),
      info: z.looseObject({ title: z.string(), version: z.string() }),
      paths: z.record(z.string(), z.unknown()),
    }),
    bare: true,
    refusals: [],
  },
} as const satisfies Readonly<Record<string, Operation<unknown, unknown>>>;

/** The name of an operation: the `operationId` of its description. */
export type OperationName = keyof typeof operations;
/** What an operation takes. */
export type RequestOf<Name extends OperationName> = z.infer<(typeof operations)[Name]["request"]>;
/** What an operation answers. */
export type AnswerOf<Name extends OperationName> = z.infer<(typeof operations)[Name]["answer"]>;

/** The whole control API. What is not in here cannot be called, handled or described. */
export const CONTROL_OPERATIONS: {
  readonly [Name in OperationName]: Operation<RequestOf<Name>, AnswerOf<Name>>;
} = operations;

/** The names of all operations, in the order of the table. */
export const OPERATION_NAMES = Object.keys(operations) as readonly OperationName[];

/** Whose token an operation wants, and no other's: that of `run.json`, or the administrator's. */
export function roleOf(name: OperationName): ControlRole {
  return CONTROL_OPERATIONS[name].role ?? "control";
}

/** What an operation reads beside its path. */
export function takes(name: OperationName): "nothing" | "body" | "query" {
  const { method, request } = CONTROL_OPERATIONS[name];
  if (request instanceof z.ZodUndefined) return "nothing";
  return method === "POST" ? "body" : "query";
}

/** Parses the body or the query of an operation. Refuses with `invalid_parameter`, naming the field. */
export function parseControlRequest<Name extends OperationName>(
  name: Name,
  body: unknown,
): Outcome<RequestOf<Name>> {
  const parsed = CONTROL_OPERATIONS[name].request.safeParse(body);
  if (parsed.success) return accept(parsed.data);
  const [issue] = parsed.error.issues;
  const whole = CONTROL_OPERATIONS[name].method === "POST" ? "the body" : "the query";
  const field = issue === undefined || issue.path.length === 0 ? whole : issue.path.join(".");
  return refuse(
    "invalid_parameter",
    `${field}: ${issue?.message ?? "is invalid"}; got ${printableLiteral(body)}`,
  );
}

/** What an operation answered; undefined where this is none of its answers. */
export function readControlAnswer<Name extends OperationName>(
  name: Name,
  body: unknown,
): AnswerOf<Name> | undefined {
  const { answer, bare } = CONTROL_OPERATIONS[name];
  return answer.safeParse(bare ? body : envelope.safeParse(body).data?.data).data;
}
