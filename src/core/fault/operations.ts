import * as z from "zod";
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
const pattern = z.string().min(1).max(MAX_PATTERN);

/** The fault that a request or a delivery has met, as the control API tells it. */
export const metFault = z.object({ id: z.uuid(), action });

const match = {
  method: z.enum(["GET", "POST"]),
  path: pattern,
  eventType: pattern,
  eventId: z.uuid(),
  endpointId: z.uuid(),
  orderId: pattern,
  nth: z.int().min(1).max(MAX_TIMES),
  probability: z.number().min(0).max(1),
};
const parameters = {
  status: z.int().min(400).max(599),
  latencyMs: z.int().min(0).max(MAX_DELIVERY_DELAY_MS),
  retryAfterS: z.int().min(0).max(MAX_RETRY_AFTER_S),
};
const times = z.int().min(1).max(MAX_TIMES);

const fault = z.object({
  id: z.uuid(),
  action,
  match: z.object({
    method: match.method.nullable(),
    path: match.path.nullable(),
    eventType: match.eventType.nullable(),
    eventId: match.eventId.nullable(),
    endpointId: match.endpointId.nullable(),
    orderId: match.orderId.nullable(),
    nth: match.nth,
    probability: match.probability.nullable(),
  }),
  status: parameters.status.nullable(),
  latencyMs: parameters.latencyMs.nullable(),
  retryAfterS: parameters.retryAfterS.nullable(),
  times: times.nullable(),
  until: moment.nullable(),
  seed: z.string(),
  /** How many have matched, and how many of them it has hit. */
  matched: z.int().min(0),
  applied: z.int().min(0),
  createdAt: moment,
});
/** A fault that can still hit, as the control API tells it. */
export type FaultEntry = DomainOf<typeof fault>;

/** A fault, or a profile, which is all faults of its name. */
const faultRequest = z.strictObject({
  action: action.optional(),
  profile: z.enum(FAULT_PROFILES).optional(),
  match: z.strictObject(match).partial().optional(),
  status: parameters.status.optional(),
  latencyMs: parameters.latencyMs.optional(),
  retryAfterS: parameters.retryAfterS.optional(),
  times: times.optional(),
  until: namedMoment.optional(),
  seed: z.string().min(1).max(MAX_SEED).optional(),
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
