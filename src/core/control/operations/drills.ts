import * as z from "zod/mini";
import { drillStep, drillText, shownDrill } from "../../readiness/drill-shapes.ts";
import { DRILL_KINDS, LEASE_KINDS } from "../../readiness/names.ts";
import { CONNECTION_FAULTS } from "../../network/connection-fault.ts";
import { wholeNumber, wholeNumberInQuery } from "../../shape/fields.ts";
import { DELIVERY_ERRORS } from "../../webhook/delivery.ts";
import { storeOperation } from "../operation.ts";

const MAX_STEPS = 400;
const MAX_PAGE_LENGTH = 1000;
const MAX_LEASE_MS = 25 * 3_600_000;
const MAX_POSTS = 100;
const MAX_HEADERS = 20;
const MAX_POSTED_CHARACTERS = 200_000;

const postedRequest = z.strictObject({
  endpointId: z.uuid(),
  method: z.enum(["POST", "PUT", "PATCH"]),
  suffix: z.enum(["", "/", "?x=1"]),
  headers: z.array(z.strictObject({ name: z.string(), value: z.string() })).check(z.maxLength(MAX_HEADERS)),
  /** In base64. */
  body: z.string().check(z.maxLength(MAX_POSTED_CHARACTERS)),
  inParts: z.optional(z.boolean()),
  connection: z.enum(["kept", "fresh"]),
});
const postedAnswer = z.object({
  url: z.string(),
  milliseconds: wholeNumber(0),
  status: z.nullable(z.int()),
  body: z.string(),
  retryAfter: z.nullable(z.string()),
  error: z.nullable(z.enum(DELIVERY_ERRORS)),
  message: z.string(),
  fault: z.nullable(z.enum([...CONNECTION_FAULTS, "elsewhere"])),
});

export const drillOperations = {
  openLease: storeOperation("store", {
    route: ["POST", "/leases"],
    summary: "Begins a drill",
    description:
      "Prepares the store for a drill, and returns the lease as the first line of a body that stays open. For `duplicates`, as which `checklist run` judges every part, the store's webhooks are held and retrieves are watched; for `explore`, the end of the lease removes all faults and returns the clock to real time; for `key`, the answer has an API key, which is revoked then. Everything is undone when the connection closes, the time is up or the lease is ended. Refuses, for `explore`, a store with faults, a moved clock or another lease.",
    request: () =>
      z.strictObject({
        drill: z.enum(LEASE_KINDS),
        timeoutMs: wholeNumber(1, MAX_LEASE_MS),
      }),
    answer: () =>
      z.object({
        id: z.uuid(),
        storeId: z.uuid(),
        /** Only for a lease of the drill `key`. */
        apiKey: z.optional(z.string()),
      }),
    refusals: ["state_conflict"],
    isLasting: true,
  }),
  listDrills: storeOperation("viewer", {
    route: ["GET", "/drills"],
    summary: "Lists the results of drills",
    description:
      "Returns the results of drills with their steps, newest first, optionally of one kind. Drills that proved nothing are not recorded.",
    request: () =>
      z.strictObject({
        kind: z.optional(z.enum(DRILL_KINDS)),
        limit: z.optional(wholeNumberInQuery(1, MAX_PAGE_LENGTH)),
      }),
    answer: () => z.object({ drills: z.array(shownDrill) }),
  }),
  listRetrieves: storeOperation("store", {
    route: ["GET", "/leases/{id}/retrieves"],
    summary: "Lists the retrieves of paid checkouts",
    description:
      "Returns the ids of the paid checkouts that were retrieved from v1 since the lease began, one entry for each retrieve, except retrieves by commands of this program. Refuses a lease that has ended.",
    answer: () => z.object({ paidCheckouts: z.array(z.uuid()) }),
  }),
  postToEndpoint: storeOperation("store", {
    route: ["POST", "/drills/post"],
    summary: "Sends requests to endpoints under a lease",
    description:
      "Sends requests as they are given, all at the same moment, each to the address of an endpoint, or to the address to which its listener forwards, and returns the answers. They are no deliveries: nothing is written. Refuses a lease that has ended, and an endpoint that is not enabled.",
    request: () =>
      z.strictObject({
        leaseId: z.uuid(),
        posts: z.array(postedRequest).check(z.maxLength(MAX_POSTS)),
      }),
    answer: () => z.object({ answers: z.array(postedAnswer) }),
    refusals: ["state_conflict"],
  }),
  recordDrill: storeOperation("store", {
    route: ["POST", "/drills"],
    summary: "Records the result of a drill",
    description:
      "Stores the steps of a drill that ran on the command line, and returns the result. A drill of duplicates is refused if the endpoints have changed meanwhile.",
    request: () =>
      z.strictObject({
        kind: z.enum(DRILL_KINDS),
        subject: drillText,
        steps: z.array(drillStep).check(z.minLength(1), z.maxLength(MAX_STEPS)),
      }),
    answer: () => shownDrill,
    refusals: ["state_conflict"],
  }),
  endLease: storeOperation("store", {
    route: ["POST", "/leases/{id}/end"],
    summary: "Ends a lease",
    description:
      "Ends a lease early and undoes its effects: held webhooks are sent. Refuses a lease that has already ended.",
    request: () => z.strictObject({}),
    answer: () => z.object({}),
  }),
};
