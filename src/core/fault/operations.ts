import * as z from "zod/mini";
import { moment, namedMoment, storeOperation, type DomainOf } from "../control/operation.ts";
import { nameSchemas } from "../control/wire-names.ts";
import { FAULT_ACTIONS } from "./fault.ts";
import { FAULT_PROFILES } from "./profiles.ts";
import { MAX_DELIVERY_DELAY_MS } from "./request.ts";

const MAX_TIMES = 1_000_000;
const MAX_PATTERN = 128;
const MAX_SEED = 64;
const MAX_RETRY_AFTER_S = 3600;

const action = z.enum(FAULT_ACTIONS);
const pattern = z.string().check(z.minLength(1), z.maxLength(MAX_PATTERN));

/** The fault that a request or a delivery has met, as the control API tells it. */
export const metFault = z.object({ id: z.uuid(), action });

const match = {
  method: z.enum(["GET", "POST"]),
  path: pattern,
  eventType: pattern,
  eventId: z.uuid(),
  endpointId: z.uuid(),
  orderId: pattern,
  nth: z.int().check(z.minimum(1), z.maximum(MAX_TIMES)),
  probability: z.number().check(z.minimum(0), z.maximum(1)),
};
const parameters = {
  status: z.int().check(z.minimum(400), z.maximum(599)),
  latencyMs: z.int().check(z.minimum(0), z.maximum(MAX_DELIVERY_DELAY_MS)),
  retryAfterS: z.int().check(z.minimum(0), z.maximum(MAX_RETRY_AFTER_S)),
};
const times = z.int().check(z.minimum(1), z.maximum(MAX_TIMES));

const fault = z.object({
  id: z.uuid(),
  action,
  match: z.object({
    method: z.nullable(match.method),
    path: z.nullable(match.path),
    eventType: z.nullable(match.eventType),
    eventId: z.nullable(match.eventId),
    endpointId: z.nullable(match.endpointId),
    orderId: z.nullable(match.orderId),
    nth: match.nth,
    probability: z.nullable(match.probability),
  }),
  status: z.nullable(parameters.status),
  latencyMs: z.nullable(parameters.latencyMs),
  retryAfterS: z.nullable(parameters.retryAfterS),
  times: z.nullable(times),
  until: z.nullable(moment),
  seed: z.string(),
  /** How many have matched, and how many of them it has hit. */
  matched: z.int().check(z.minimum(0)),
  applied: z.int().check(z.minimum(0)),
  createdAt: moment,
});
/** A fault that can still hit, as the control API tells it. */
export type FaultEntry = DomainOf<typeof fault>;

/** A fault, or a profile, which is all faults of its name. */
export const faultRequest = z.strictObject({
  action: z.optional(action),
  profile: z.optional(z.enum(FAULT_PROFILES)),
  match: z.optional(z.partial(z.strictObject(match))),
  status: z.optional(parameters.status),
  latencyMs: z.optional(parameters.latencyMs),
  retryAfterS: z.optional(parameters.retryAfterS),
  times: z.optional(times),
  until: z.optional(namedMoment),
  seed: z.optional(z.string().check(z.minLength(1), z.maxLength(MAX_SEED))),
});

nameSchemas({ Fault: fault, MetFault: metFault });

/** The operations on faults that are asked for (decision 94). */
export const faultOperations = {
  addFault: storeOperation({
    method: "POST",
    path: "/faults",
    summary: "Adds a fault of v1 or of deliveries, or all of a profile",
    request: faultRequest,
    /** `fault` is the first of `faults`. */
    answer: z.object({ fault, faults: z.array(fault) }),
    refusals: ["state_conflict"],
  }),
  listFaults: storeOperation({
    method: "GET",
    path: "/faults",
    summary: "Lists the faults that can still hit, oldest first",
    answer: z.object({ faults: z.array(fault) }),
  }),
  removeFault: storeOperation({
    method: "DELETE",
    path: "/faults/{id}",
    summary: "Removes a fault",
    answer: z.object({ fault }),
  }),
  clearFaults: storeOperation({
    method: "DELETE",
    path: "/faults",
    summary: "Removes all faults of the store",
    answer: z.object({ faults: z.array(fault) }),
  }),
};
