import * as z from "zod/mini";
import { drillResult, drillStep, drillText, endpointDrill } from "../../readiness/drill-shapes.ts";
import { DRILL_KINDS, LEASE_KINDS } from "../../readiness/names.ts";
import { wholeNumber, wholeNumberInQuery } from "../../shape/fields.ts";
import { DELIVERY_ERRORS } from "../../webhook/delivery.ts";
import { storeOperation } from "../operation.ts";

/** Maximum number of steps of a drill. */
const MAX_STEPS = 50;
const MAX_PAGE = 1000;
/** The longest lease of a drill, in milliseconds: an hour more than the longest timeout of a command. */
const MAX_LEASE_MS = 25 * 3_600_000;
/** Maximum number of further events that are sent together with an event. */
const MAX_TOGETHER = 10;

const doneSteps = z.array(drillStep).check(z.minLength(1), z.maxLength(MAX_STEPS));

/** The operations on drills (decisions 50, 66). */
export const drillOperations = {
  openLease: storeOperation({
    method: "POST",
    path: "/leases",
    summary: "Begins a drill",
    description:
      "Prepares the store for a drill, and returns the lease as the first line of a body that stays open. For `duplicates` and `browser_return`, the store's webhooks are held and retrieves are watched; for `explore`, the end of the lease removes all faults and returns the clock to real time. Everything is undone when the connection closes, the time is up or the lease is ended. Refuses, for `explore`, a store with faults, a moved clock or another lease.",
    request: () =>
      z.strictObject({
        drill: z.enum(LEASE_KINDS),
        timeoutMs: wholeNumber(1, MAX_LEASE_MS),
      }),
    answer: () =>
      z.object({
        id: z.uuid(),
        storeId: z.uuid(),
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
    request: () => z.strictObject({ returnUrl: drillText, steps: doneSteps }),
    answer: () => drillResult,
  }),
  recordIdempotency: storeOperation({
    method: "POST",
    path: "/drills/idempotency",
    summary: "Records the result of an idempotency drill",
    description:
      "Stores the steps of an idempotency drill that ran on the command line, and returns the result.",
    request: () => z.strictObject({ steps: doneSteps }),
    answer: () => drillResult,
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
      "Sends an event immediately to each enabled endpoint that receives its type, under the lease of a duplicates or browser-return drill, and returns each receiver's answer; with further events, all of them at the same moment. The event is correctly signed unless a forged event is requested. Refuses a lease of another drill, and endpoints that have changed since the first delivery.",
    request: () =>
      z.strictObject({
        leaseId: z.uuid(),
        eventId: z.uuid(),
        /** Sends a badly signed, forged event instead, which claims that the order was paid. */
        forged: z.optional(z.boolean()),
        /** Sends the event with another id in the header for the event's id, which is not signed. */
        otherId: z.optional(z.boolean()),
        /** Sends a correctly signed event of a type that this version does not have, for the event's checkout. */
        unknownType: z.optional(z.boolean()),
        /** Events that are sent at the same moment, each over its own connection. */
        together: z.optional(z.array(z.uuid()).check(z.maxLength(MAX_TOGETHER))),
        /** The subject in the first answer; the call is refused if the endpoints have changed since. */
        subject: z.optional(drillText),
      }),
    answer: () =>
      z.object({
        /** Identifies the enabled endpoints. */
        subject: z.string(),
        answers: z.array(
          z.object({
            eventId: z.uuid(),
            status: z.nullable(z.int()),
            error: z.nullable(z.enum(DELIVERY_ERRORS)),
          }),
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
    request: () => z.strictObject({ leaseId: z.uuid(), subject: drillText, steps: doneSteps }),
    answer: () => drillResult,
    refusals: ["state_conflict"],
  }),
  endLease: storeOperation({
    method: "POST",
    path: "/leases/{id}/end",
    summary: "Ends a lease",
    description:
      "Ends a lease early and undoes its effects: held webhooks are sent. Refuses a lease that has already ended.",
    request: () => z.strictObject({}),
    answer: () => z.object({}),
  }),
};
