import * as z from "zod";
import { accept, refuse, type Outcome } from "./outcome.ts";
import { PAY_OUTCOMES } from "./reserved-order-id.ts";
import { printableLiteral } from "./text.ts";

/** A year of milliseconds: no clock is moved further at once. */
const MAX_ADVANCE_MS = 366 * 24 * 3_600_000;

const payRequest = z.strictObject({ outcome: z.enum(PAY_OUTCOMES) });

const clockRequest = z.discriminatedUnion("action", [
  z.strictObject({ action: z.enum(["freeze", "real"]) }),
  z.strictObject({ action: z.literal("advance"), by_ms: z.int().min(1).max(MAX_ADVANCE_MS) }),
  z.strictObject({ action: z.literal("set"), to: z.iso.datetime({ offset: true }) }),
]);

/** Bodies of the control API (design section 7). */
export type PayRequest = z.infer<typeof payRequest>;
export type ClockRequest = z.infer<typeof clockRequest>;

/** Refuses with `invalid_parameter`, naming the field. */
export function parsePayRequest(body: unknown): Outcome<PayRequest> {
  return parseAs(payRequest, body);
}

/** Refuses with `invalid_parameter`, naming the field. */
export function parseClockRequest(body: unknown): Outcome<ClockRequest> {
  return parseAs(clockRequest, body);
}

const move = z.object({
  at: z.string(),
  checkout_id: z.string(),
  order_id: z.string(),
  from: z.string(),
  to: z.string(),
  event_id: z.string(),
});

/** A status that changed, as the control API tells it. */
export type MoveWire = z.infer<typeof move>;

const payAnswer = z.object({
  ok: z.literal(true),
  data: z.object({ id: z.string(), status: z.string(), late: z.boolean(), moves: z.array(move) }),
});
const clockAnswer = z.object({
  ok: z.literal(true),
  data: z.object({ now: z.string(), frozen: z.boolean(), fired: z.array(move) }),
});

/** Answers of the control API, as its clients read them. */
export const CONTROL_ANSWERS = { pay: payAnswer, clock: clockAnswer };
export type PayAnswer = z.infer<typeof payAnswer>["data"];
/** Where a clock stands, and what fired on the way. */
export type ClockAnswer = z.infer<typeof clockAnswer>["data"];

function parseAs<Value>(schema: z.ZodType<Value>, body: unknown): Outcome<Value> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return accept(parsed.data);
  const [issue] = parsed.error.issues;
  const field = issue === undefined || issue.path.length === 0 ? "the body" : issue.path.join(".");
  return refuse(
    "invalid_parameter",
    `${field}: ${issue?.message ?? "is invalid"}; got ${printableLiteral(body)}`,
  );
}
