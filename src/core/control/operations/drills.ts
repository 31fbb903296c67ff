import * as z from "zod/mini";
import { ERROR_CODES } from "../../errors.ts";
import { DELIVERY_ERRORS } from "../../webhook/delivery.ts";
import { CLIENT_RUNS, DRILL_KINDS, LEASE_KINDS, ANSWER_LOSSES } from "../../readiness/names.ts";
import {
  moment,
  storeOperation,
  textUpTo,
  wholeNumberInQuery,
  type DomainOf,
  wholeNumber,
  nonEmptyText,
} from "../operation.ts";
import { nameSchemas } from "../../shape/wire-names.ts";

/** Maximum number of steps of a drill. */
const MAX_STEPS = 50;
const MAX_TEXT = 2000;
const MAX_PAGE = 1000;
/** The longest lease of a drill, in milliseconds: an hour more than the longest timeout of a command. */
const MAX_LEASE_MS = 25 * 3_600_000;
const MAX_EXIT_CODE = 2 ** 32 - 1;
const MAX_ORDER_ID = 128;

const text = textUpTo(MAX_TEXT);
const step = z.strictObject({
  name: text,
  passed: z.boolean(),
  expected: text,
  got: text,
  /** After a failure, the likely mistake in the merchant's code; after a pass, a note or null. */
  cause: z.nullable(text),
  /** The id of the step's event or request. */
  reference: z.nullable(text),
});
/** One step of a drill: its name, the expected and the received result, and the likely cause of a failure or a note. */
export type DrillStep = DomainOf<typeof step>;

/** The steps that a command has run. */
const doneSteps = z.array(step).check(z.minLength(1), z.maxLength(MAX_STEPS));

/** `unknown`: the drill proves nothing, and is not recorded. */
const verdict = z.enum(["passed", "failed", "unknown"]);
/** The verdict on a drill. */
export type DrillVerdict = z.output<typeof verdict>;

/** The result of a drill. */
export const drillResult = z.object({
  id: z.uuid(),
  kind: z.enum(DRILL_KINDS),
  /** Identifies the tested configuration; when it changes, the drill is void. */
  subject: z.string(),
  passed: z.boolean(),
  at: moment,
  steps: z.array(step),
});
/** The result of a drill as evidence. */
export type DrillFact = DomainOf<typeof drillResult>;

const endpointDrill = z.extend(drillResult, {
  /** Null if the receiver could not be reached; then the result is not recorded. */
  id: z.nullable(z.uuid()),
  verdict,
  endpointId: z.uuid(),
  url: z.string(),
  /** The checkout whose events were also sent; null if no order events were sent. */
  order: z.nullable(z.object({ id: z.uuid(), orderId: z.string() })),
});
/** A drill of an endpoint; without an id if the result was not recorded. */
export type EndpointDrill = DomainOf<typeof endpointDrill>;

const seenCreate = z.object({
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
export type ObservedCreate = DomainOf<typeof seenCreate>;

/** A running drill and the time of its start. */
export const runningDrill = z.object({ id: z.uuid(), drill: z.enum(DRILL_KINDS), since: moment });
export type RunningDrill = DomainOf<typeof runningDrill>;

const clientRun = z.strictObject({
  run: z.enum(CLIENT_RUNS),
  orderId: nonEmptyText(MAX_ORDER_ID),
});
/** A run of the merchant's command: its purchase, and the order_id that the drill gave to the command. */
export type WatchedRun = DomainOf<typeof clientRun>;

const clientExit = z.strictObject({
  /** `killed`: ended by the drill. */
  ending: z.enum(["exited", "timeout", "aborted", "not_run", "killed"]),
  /** Null if the command did not exit by itself. */
  exitCode: z.nullable(wholeNumber(0, MAX_EXIT_CODE)),
});
/** How a run of the merchant's command ended. */
export type ClientExit = DomainOf<typeof clientExit>;

nameSchemas({ DrillStep: step, Drill: drillResult, RunningDrill: runningDrill });

const reuse = z.object({
  path: z.string(),
  idempotencyKey: z.string(),
  body: z.record(z.string(), z.unknown()),
});
/** A request that reuses the lost create's key for another body. */
export type KeyReuse = DomainOf<typeof reuse>;

/**
 * The operations on drills (decisions 50, 66); the operations on the idempotency drill are in the order of their calls.
 */
export const drillOperations = {
  openLease: storeOperation({
    method: "POST",
    path: "/leases",
    summary: "Begins a drill",
    description:
      "Prepares the store for a drill, and returns the lease as the first line of a body that stays open. For `idempotency`, the answer to the next successful create is dropped after its commit, and the following creates are watched; for `duplicates` and `browser_return`, the store's webhooks are held and retrieves are watched; for `explore`, the end of the lease removes all faults and returns the clock to real time. Everything is undone when the connection closes, the time is up or the lease is ended. Refuses, for `explore`, a store with faults, a moved clock or another lease.",
    request: () =>
      z.strictObject({
        drill: z.enum(LEASE_KINDS),
        timeoutMs: wholeNumber(1, MAX_LEASE_MS),
      }),
    answer: () =>
      z.object({
        id: z.uuid(),
        storeId: z.uuid(),
        /** The drill's own API key, which is revoked when the lease ends; null if the drill needs none. */
        apiKey: z.nullable(z.string()),
      }),
    refusals: ["state_conflict"],
    lasting: true,
  }),
  listDrills: storeOperation({
    path: "/drills",
    summary: "Lists the results of drills",
    description:
      "Returns the results of drills with their steps, newest first, optionally of one kind. Drills that proved nothing are not recorded.",
    request: () =>
      z.strictObject({
        kind: z.optional(z.enum(DRILL_KINDS)),
        limit: z.optional(wholeNumberInQuery(1, MAX_PAGE)),
      }),
    answer: () => z.object({ drills: z.array(drillResult) }),
  }),
  runWebhookDrill: storeOperation({
    method: "POST",
    path: "/drills/webhook",
    summary: "Runs the webhook drill",
    description:
      "Sends valid and invalid requests to one endpoint or to all enabled endpoints, and returns which of them each receiver accepted, with the likely cause of each mistake. Refuses an unknown or disabled endpoint, and a store without an enabled endpoint.",
    request: () =>
      z.strictObject({
        endpointId: z.optional(z.uuid()),
        /** The lease; if it ends, the drill stops without a result. */
        leaseId: z.optional(z.uuid()),
        /** Whether events of an order are sent too, which needs the merchant's consent. */
        orderEvents: z.optional(z.boolean()),
      }),
    answer: () => z.object({ drills: z.array(endpointDrill) }),
    refusals: ["state_conflict"],
  }),
  recordBrowserReturn: storeOperation({
    method: "POST",
    path: "/drills/browser-return",
    summary: "Records the result of a browser-return drill",
    description: "Stores the steps of a drill that ran on the command line, and returns the result.",
    request: () => z.strictObject({ returnUrl: text, steps: doneSteps }),
    answer: () => drillResult,
  }),
  beginClientRun: storeOperation({
    method: "POST",
    path: "/drills/idempotency/{id}/runs",
    summary: "Begins a run of the merchant's command",
    description:
      "Begins a run of the merchant's command under a lease of the idempotency drill; later creates are assigned to this run. Refuses a lease that has ended.",
    request: () => clientRun,
    answer: () => z.object({}),
  }),
  endClientRun: storeOperation({
    method: "POST",
    path: "/drills/idempotency/{id}/runs/end",
    summary: "Ends the run of the merchant's command",
    description:
      "Ends the current run under a lease, drops an answer that is still held, and returns whether a create arrived, whether its answer was lost, and whether the client received an answer. Refuses a lease that has ended.",
    request: () => clientExit,
    /**
     * `came`: a create arrived that may be the client's. `lost`: an answer was dropped. `answered`: the client received
     * an answer that proves its order exists.
     */
    answer: () => z.object({ came: z.boolean(), lost: z.boolean(), answered: z.boolean() }),
  }),
  awaitClientRun: storeOperation({
    path: "/drills/idempotency/{id}/runs/current",
    summary: "Waits for the lost answer of a run",
    description:
      "Waits until the answer to a create of the run was dropped, or the run has ended, and returns which of the two happened. Refuses a lease that has ended.",
    answer: () => z.object({ lost: z.boolean() }),
    // The merchant's command may reset the store while it runs.
    entersStore: false,
  }),
  listRetrieves: storeOperation({
    path: "/leases/{id}/retrieves",
    summary: "Lists the retrieves of paid checkouts",
    description:
      "Returns the ids of the paid checkouts that were retrieved from v1 since the lease began, one entry for each retrieve, except retrieves by commands of this program. Refuses a lease that has ended.",
    answer: () => z.object({ paidCheckouts: z.array(z.uuid()) }),
  }),
  deliverForDrill: storeOperation({
    method: "POST",
    path: "/drills/duplicates/deliver",
    summary: "Sends an event under a lease",
    description:
      "Sends an event immediately to each enabled endpoint that receives its type, under the lease of a duplicates or browser-return drill, and returns each receiver's answer. The event is correctly signed unless a forged event is requested. Refuses a lease of another drill, and endpoints that have changed since the first delivery.",
    request: () =>
      z.strictObject({
        leaseId: z.uuid(),
        eventId: z.uuid(),
        /** Sends a badly signed, forged event instead, which claims that the order was paid. */
        forged: z.optional(z.boolean()),
        /** Sends the event with another id in the header for the event's id, which is not signed. */
        otherId: z.optional(z.boolean()),
        /** The subject in the first answer; the call is refused if the endpoints have changed since. */
        subject: z.optional(text),
      }),
    answer: () =>
      z.object({
        /** Identifies the enabled endpoints. */
        subject: z.string(),
        answers: z.array(
          z.object({ status: z.nullable(z.int()), error: z.nullable(z.enum(DELIVERY_ERRORS)) }),
        ),
      }),
    refusals: ["state_conflict"],
  }),
  recordDuplicates: storeOperation({
    method: "POST",
    path: "/drills/duplicates",
    summary: "Records the result of a duplicates drill",
    description:
      "Stores the steps of a duplicates drill that ran on the command line under this lease, and returns the result. Refuses a lease that has ended, and endpoints that have changed meanwhile.",
    request: () => z.strictObject({ leaseId: z.uuid(), subject: text, steps: doneSteps }),
    answer: () => drillResult,
    refusals: ["state_conflict"],
  }),
  closeIdempotencyDrill: storeOperation({
    method: "POST",
    path: "/drills/idempotency/{id}/close",
    summary: "Stops watching the client",
    description:
      "Stops watching the client, and returns a request that reuses the key of the lost create for another body. The request is null if no answer was lost.",
    request: () => z.strictObject({}),
    /** Null if no answer was dropped. */
    answer: () => z.object({ reuse: z.nullable(reuse) }),
  }),
  judgeIdempotencyDrill: storeOperation({
    method: "POST",
    path: "/drills/idempotency/{id}/judge",
    summary: "Judges the idempotency drill",
    description:
      "Judges the drill's creates by the service's own log and tables, records the result if it proves something, and returns each step and each create. Refuses a lease that has ended.",
    request: () => z.strictObject({}),
    answer: () =>
      z.object({
        verdict,
        /** Null if the drill proved nothing and was not recorded. */
        drillId: z.nullable(z.uuid()),
        steps: drillResult.shape.steps,
        creates: z.array(seenCreate),
      }),
  }),
  endLease: storeOperation({
    method: "POST",
    path: "/leases/{id}/end",
    summary: "Ends a lease",
    description:
      "Ends a lease early and undoes its effects: held webhooks are sent, and the drill's API key is revoked. Refuses a lease that has already ended.",
    request: () => z.strictObject({}),
    answer: () => z.object({}),
  }),
};
