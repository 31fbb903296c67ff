import * as z from "zod/mini";
import { SECRET_PATTERN } from "../text.ts";
import { addJsonSchemaRules, nameSchemas } from "../shape/wire-names.ts";
import { EVENT_PATTERNS } from "../checkout/event-types.ts";
import { FAULT_ACTIONS, FAULT_PROFILES, MAX_DELIVERY_DELAY_MS } from "./actions.ts";
import { FAULT_RULES, PATH_PATTERN } from "./rules.ts";
import { moment, momentInRequest, nonEmptyText, wholeNumber, type DomainOf } from "../shape/fields.ts";

const MAX_TIMES = 1_000_000;
const MAX_PATTERN_LENGTH = 128;
const MAX_SEED_LENGTH = 64;
const MAX_RETRY_AFTER_S = 3600;

const action = z.enum(FAULT_ACTIONS);
const pattern = nonEmptyText(MAX_PATTERN_LENGTH).check(z.meta({ not: { pattern: SECRET_PATTERN } }));

export const appliedFault = z.object({ id: z.uuid(), action });
export type AppliedFault = DomainOf<typeof appliedFault>;

/**
 * `method` and `path` are for faults of requests, the event and endpoint fields for faults of deliveries, the rest for
 * both.
 */
const match = {
  method: z.enum(["GET", "POST"]),
  /** A path of v1; `*` stands for any text. */
  path: pattern.check(z.meta({ pattern: PATH_PATTERN })),
  /** An event type or a pattern such as `order.*`. */
  eventType: z.string().check(z.meta({ enum: EVENT_PATTERNS })),
  eventId: z.uuid(),
  endpointId: z.uuid(),
  /** `*` stands for any text. */
  orderId: pattern,
  /** The first match to which the fault applies, counted from 1 since the fault was added. Default: 1. */
  nth: wholeNumber(1, MAX_TIMES),
  /** The share of the matches to which the fault applies, from 0 to 1; the seed chooses the matches. Default: all. */
  probability: z.number().check(z.minimum(0), z.maximum(1)),
};
const parameters = {
  /** The HTTP status of the action `status`. Default: 500. */
  status: wholeNumber(400, 599),
  /**
   * Milliseconds of real time for `latency` and `slow_body`, of store time for `delay` and `reorder`. Default: 2000.
   */
  latencyMs: wholeNumber(0, MAX_DELIVERY_DELAY_MS),
  /** The Retry-After header of the action `rate_limit`, in seconds. Default: 1. */
  retryAfterS: wholeNumber(0, MAX_RETRY_AFTER_S),
};
const times = wholeNumber(1, MAX_TIMES);

export const faultEntry = z.object({
  id: z.uuid(),
  action,
  /** A null field matches everything. */
  match: z.object({ ...orNull(match), nth: match.nth }),
  ...orNull(parameters),
  /** Maximum number of applications; null if only `until` ends the fault. */
  times: z.nullable(times),
  /** The moment at which the fault ends, by the store's clock; null if only `times` ends it. */
  until: z.nullable(moment),
  /** The random seed of the probability: the same seed chooses the same matches. */
  seed: z.string(),
  matched: wholeNumber(0),
  applied: wholeNumber(0),
  /** By the store's clock. */
  createdAt: moment,
});
export type FaultEntry = DomainOf<typeof faultEntry>;

export const faultMatch = z.partial(z.strictObject(match));

export const faultRequest = z.strictObject({
  action: z.optional(action),
  profile: z.optional(z.enum(FAULT_PROFILES)),
  match: z.optional(faultMatch),
  ...z.partial(z.object(parameters)).shape,
  /**
   * Maximum number of applications, counting each delivery of an event separately. Default: 1; with `until`, no limit.
   */
  times: z.optional(times),
  until: z.optional(momentInRequest),
  /** The random seed of the probability: the same seed chooses the same matches. Default: random. */
  seed: z.optional(nonEmptyText(MAX_SEED_LENGTH)),
});
/** Has either an action or a profile. */
export type FaultsRequest = DomainOf<typeof faultRequest>;
export type SingleFaultRequest = Omit<FaultsRequest, "profile" | "action"> & {
  readonly action: FaultEntry["action"];
};

type OrNull<Shape extends Readonly<Record<string, z.ZodMiniType>>> = {
  readonly [Name in keyof Shape]: z.ZodMiniNullable<Shape[Name]>;
};

function orNull<Shape extends Readonly<Record<string, z.ZodMiniType>>>(shape: Shape): OrNull<Shape> {
  const fields = Object.entries(shape).map(([name, field]) => [name, z.nullable(field)] as const);
  return Object.fromEntries(fields) as OrNull<Shape>;
}

nameSchemas({ Fault: faultEntry, MetFault: appliedFault });
addJsonSchemaRules(faultRequest, FAULT_RULES);
