import * as z from "zod";
import { returnOrigin } from "../config/schema.ts";
import { SCOPES } from "../credential.ts";
import { ADMINISTRATOR_ACTIONS, MAX_NOTE_LENGTH } from "../readiness/admin-act.ts";
import { DRILL_KINDS } from "../readiness/drills/drill.ts";
import { PAUSED_BY } from "../webhook/endpoint.ts";
import { MAX_SUBJECT_LENGTH, price } from "./checkout.ts";
import { drill, underway } from "./drills.ts";
import { moment, storeOperation, type DomainOf } from "./operation.ts";
import { nameSchemas } from "./wire-names.ts";

const note = z.string().min(1).max(MAX_NOTE_LENGTH);
const act = z.object({
  /** Its place in the audit log. */
  number: z.int().min(1),
  at: moment,
  actor: z.enum(["merchant", "administrator"]),
  action: z.enum([...ADMINISTRATOR_ACTIONS, "request_production"]),
  subject: z.string().nullable(),
  note: z.string().nullable(),
});

const capability = z.object({
  kind: z.enum(["payment_method", "currency"]),
  name: z.string(),
  active: z.boolean(),
});

const keyUse = z.object({ key: z.string(), requestId: z.string(), at: moment });

const waiver = z.object({ drill: z.enum(DRILL_KINDS), reason: note, at: moment });

const readiness = z.object({
  storeId: z.uuid(),
  /** The store's. */
  now: moment,
  active: z.boolean(),
  activeSince: moment,
  capabilities: z.array(capability),
  production: z.object({ request: act.nullable(), approval: act.nullable(), gate: act.nullable() }),
  returnOrigins: z.array(z.object({ origin: z.string(), createdAt: moment })),
  endpoints: z.array(
    z.object({
      id: z.uuid(),
      kind: z.enum(["url", "listener"]),
      url: z.string(),
      state: z.enum(["enabled", "paused", "disabled"]),
      reason: z.string().nullable(),
      pausedBy: z.enum(PAUSED_BY).nullable(),
      subject: z.string(),
      drill: drill.nullable(),
    }),
  ),
  idempotency: z.object({
    replayed: keyUse.nullable(),
    refused: keyUse.nullable(),
    drill: drill.nullable(),
  }),
  duplicates: drill.nullable(),
  browserReturn: drill.nullable(),
  /** The drills that run now. */
  underway: z.array(underway),
  /** The last one of each drill that was ever waived; it counts for 7 days. */
  waivers: z.array(waiver),
});

const storeSummary = z.object({
  merchant: z.object({ id: z.uuid(), name: z.string() }),
  store: z.object({ id: z.uuid(), name: z.string(), active: z.boolean() }),
  capabilities: z.array(capability),
  prices: z.array(price),
  apiKeys: z.array(z.object({ id: z.uuid(), lastFour: z.string(), scopes: z.array(z.enum(SCOPES)) })),
  returnOrigins: z.array(returnOrigin),
  endpoints: z.int().min(0),
});

/** The acts on one capability or price. */
const actionOnOne = z.enum(["enable_capability", "disable_capability", "approve_price", "revoke_price"]);
const actRequest = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.enum(ADMINISTRATOR_ACTIONS).exclude(actionOnOne.options),
    note: note.optional(),
  }),
  z.strictObject({
    action: actionOnOne,
    subject: z.string().min(1).max(MAX_SUBJECT_LENGTH),
    note: note.optional(),
  }),
]);

const assumption = z.object({
  decision: z.int().min(1),
  title: z.string(),
  chosen: z.string(),
  setting: z.string().nullable(),
  /** What shows that it was relied on; null where the service cannot see that. */
  shownBy: z.string().nullable(),
  /** The first use; the id is that of the request or, where there was none, of the event or checkout. */
  reliedOn: z.object({ since: moment, requestId: z.string() }).nullable(),
});
/** Something that the interface leaves open, as the control API tells it. */
export type AssumptionEntry = DomainOf<typeof assumption>;

nameSchemas({ Act: act, Capability: capability, KeyUse: keyUse, Waiver: waiver });

/** The operations on launch readiness (decisions 20, 49): the merchant's, and those that want the admin token. */
export const readinessOperations = {
  assumptions: storeOperation({
    method: "GET",
    path: "/assumptions",
    summary: "Lists what the interface leaves open and was decided here, and what the store relied on of it",
    answer: z.object({ storeId: z.uuid(), assumptions: z.array(assumption) }),
  }),
  readiness: storeOperation({
    method: "GET",
    path: "/readiness",
    summary: "Tells the facts that the launch checklist is judged by",
    answer: readiness,
  }),
  storeSummary: storeOperation({
    method: "GET",
    path: "",
    summary: "Shows the store: what it is, may do and has, without its secrets",
    answer: storeSummary,
  }),
  waiveDrill: storeOperation({
    method: "POST",
    path: "/waivers",
    summary: "Waives a drill for 7 days, with a reason: the checklist passes without it, with a risk",
    request: z.strictObject({ drill: z.enum(DRILL_KINDS), reason: note }),
    answer: waiver,
  }),
  requestProduction: storeOperation({
    method: "POST",
    path: "/production-requests",
    summary: "Asks, as the merchant, for production; it opens nothing",
    request: z.strictObject({ note: note.optional() }),
    answer: act,
    refusals: ["state_conflict"],
  }),
  adminAct: storeOperation({
    method: "POST",
    path: "/admin/acts",
    summary:
      "Does what only an administrator can: approvals, activity, capabilities, prices, the production gate",
    role: "administrator",
    request: actRequest,
    answer: act,
    refusals: ["state_conflict"],
  }),
  adminLog: storeOperation({
    method: "GET",
    path: "/admin/acts",
    summary: "Lists the audit log: what administrators did and the merchant asked for, first to last",
    role: "administrator",
    answer: z.object({ storeId: z.uuid(), acts: z.array(act) }),
  }),
};
