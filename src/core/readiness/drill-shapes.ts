import * as z from "zod/mini";
import { ERROR_CODES } from "../errors.ts";
import { moment, nonEmptyText, textUpTo, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import { ANSWER_LOSSES, CLIENT_RUNS, DRILL_KINDS } from "./names.ts";

const MAX_TEXT = 2000;
const MAX_EXIT_CODE = 2 ** 32 - 1;
const MAX_ORDER_ID = 128;

/** A text of a drill. */
export const drillText = textUpTo(MAX_TEXT);
/** One step of a drill. */
export const drillStep = z.strictObject({
  name: drillText,
  passed: z.boolean(),
  expected: drillText,
  got: drillText,
  /** After a failure, the likely mistake in the merchant's code; after a pass, a note or null. */
  cause: z.nullable(drillText),
  /** The id of the step's event or request. */
  reference: z.nullable(drillText),
});
/** One step of a drill: its name, the expected and the received result, and the likely cause of a failure or a note. */
export type DrillStep = DomainOf<typeof drillStep>;

/** `unknown`: the drill proves nothing, and is not recorded. */
export const drillVerdict = z.enum(["passed", "failed", "unknown"]);
/** The verdict on a drill. */
export type DrillVerdict = z.output<typeof drillVerdict>;

/** The result of a drill. */
export const drillResult = z.object({
  id: z.uuid(),
  kind: z.enum(DRILL_KINDS),
  /** Identifies the tested configuration; when it changes, the drill is void. */
  subject: z.string(),
  passed: z.boolean(),
  at: moment,
  steps: z.array(drillStep),
});
/** The result of a drill as evidence. */
export type DrillFact = DomainOf<typeof drillResult>;

/** A drill of an endpoint. */
export const endpointDrill = z.extend(drillResult, {
  /** Null if the receiver could not be reached; then the result is not recorded. */
  id: z.nullable(z.uuid()),
  verdict: drillVerdict,
  endpointId: z.uuid(),
  url: z.string(),
  /** The checkout whose events were also sent; null if no order events were sent. */
  order: z.nullable(z.object({ id: z.uuid(), orderId: z.string() })),
});
/** A drill of an endpoint; without an id if the result was not recorded. */
export type EndpointDrill = DomainOf<typeof endpointDrill>;

/** A create that arrived during the idempotency drill. */
export const observedCreate = z.object({
  run: z.enum(CLIENT_RUNS),
  /** The id of this request, even if the answer contains the id of the first request. */
  requestId: z.uuid(),
  path: z.string(),
  /** The key as received; null if there was none. */
  idempotencyKey: z.nullable(z.string()),
  /** Null if the body could not be read. */
  orderId: z.nullable(z.string()),
  result: z.enum(["created", "replayed", ...ERROR_CODES]),
  /** The checkout in the answer, created or replayed. */
  checkoutId: z.nullable(z.uuid()),
  /** Whether the answer was dropped after the commit, before it reached the client. */
  lost: z.boolean(),
  /** How the answer was lost; null if it arrived. */
  loss: z.nullable(z.enum(ANSWER_LOSSES)),
  /** Whether the request came before the previous answer's `Retry-After` had elapsed. */
  early: z.boolean(),
  /** Counts the runs of the command for this purchase and order_id, from 1. */
  start: wholeNumber(1),
});
/** A create that arrived during the idempotency drill, with the drill's API key or for one of its orders. */
export type ObservedCreate = DomainOf<typeof observedCreate>;

/** A running drill and the time of its start. */
export const runningDrill = z.object({ id: z.uuid(), drill: z.enum(DRILL_KINDS), since: moment });
export type RunningDrill = DomainOf<typeof runningDrill>;

/** A run of the merchant's command. */
export const clientRun = z.strictObject({
  run: z.enum(CLIENT_RUNS),
  orderId: nonEmptyText(MAX_ORDER_ID),
});
/** A run of the merchant's command: its purchase, and the order_id that the drill gave to the command. */
export type WatchedRun = DomainOf<typeof clientRun>;

/** How a run of the merchant's command ended. */
export const clientExit = z.strictObject({
  /** `killed`: ended by the drill. */
  ending: z.enum(["exited", "timeout", "aborted", "not_run", "killed"]),
  /** Null if the command did not exit by itself. */
  exitCode: z.nullable(wholeNumber(0, MAX_EXIT_CODE)),
});
/** How a run of the merchant's command ended. */
export type ClientExit = DomainOf<typeof clientExit>;

/** A request that reuses the lost create's key for another body. */
export const keyReuse = z.object({
  path: z.string(),
  idempotencyKey: z.string(),
  body: z.record(z.string(), z.unknown()),
});
/** A request that reuses the lost create's key for another body. */
export type KeyReuse = DomainOf<typeof keyReuse>;

nameSchemas({ DrillStep: drillStep, Drill: drillResult, RunningDrill: runningDrill });
