import * as z from "zod/mini";
import { dialectSchema } from "../../calibration/dialect-section.ts";
import { assumptionEntry } from "../../calibration/shapes.ts";
import { price } from "../../checkout/shapes.ts";
import { returnOrigin } from "../../config/store-fields.ts";
import { SCOPES } from "../../credential.ts";
import { DRILL_KINDS } from "../../readiness/names.ts";
import {
  actionRequest,
  capability,
  checklist,
  exploration,
  explorationShape,
  note,
  recordedAction,
  waiver,
} from "../../readiness/shapes.ts";
import { wholeNumber } from "../../shape/fields.ts";
import { storeOperation } from "../operation.ts";

const storeSummary = () =>
  z.object({
    merchant: z.object({ id: z.uuid(), name: z.string() }),
    store: z.object({ id: z.uuid(), name: z.string(), active: z.boolean() }),
    capabilities: z.array(capability),
    prices: z.array(price),
    apiKeys: z.array(z.object({ id: z.uuid(), lastFour: z.string(), scopes: z.array(z.enum(SCOPES)) })),
    returnOrigins: z.array(returnOrigin),
    endpoints: wholeNumber(0),
    dialect: z.optional(dialectSchema()),
  });

export const readinessOperations = {
  assumptions: storeOperation("viewer", {
    route: ["GET", "/assumptions"],
    summary: "Lists the decisions that fill gaps of the interface",
    description:
      "Returns each decision that fills a gap of the interface, with its first use by this store. A real service may decide otherwise.",
    answer: () => z.object({ storeId: z.uuid(), assumptions: z.array(assumptionEntry) }),
  }),
  checklist: storeOperation("viewer", {
    route: ["GET", "/checklist"],
    summary: "Judges the launch checklist",
    description:
      "Judges every item of the launch checklist, and returns each with its reason, evidence and next command, and the drills that run now. The verdict is `ready`, `ready_with_risks` or `not_ready`.",
    answer: () => checklist,
  }),
  storeSummary: storeOperation("viewer", {
    route: ["GET", ""],
    summary: "Shows the store as its merchant sees it",
    description:
      "Returns the merchant, capabilities, prices, active API keys, return origins, number of endpoints and dialect of the store. Secrets are omitted.",
    answer: storeSummary,
  }),
  waiveDrill: storeOperation("store", {
    route: ["POST", "/waivers"],
    summary: "Skips a drill for 7 days",
    description:
      "Skips a drill for 7 days, with a reason: the checklist then passes without the drill, with a risk. Returns the waiver, which affects only the checklist.",
    request: () => z.strictObject({ drill: z.enum(DRILL_KINDS), reason: note }),
    answer: () => waiver,
  }),
  recordExploration: storeOperation("store", {
    route: ["POST", "/explorations"],
    summary: "Records an exploration",
    description:
      "Stores the result of `checkout explore`, replacing the previous one: the number of schedules, the number of causes found, and the results at each place. Returns the exploration with its time. The checklist shows it next to the items.",
    request: () => z.strictObject(explorationShape),
    answer: () => exploration,
  }),
  requestProduction: storeOperation("store", {
    route: ["POST", "/production-requests"],
    summary: "Requests production",
    description:
      "Records the merchant's request for production in the audit log, and returns the entry. The request opens nothing: an administrator opens the gate. Refuses a second request before the first is decided, and a request while the gate is open.",
    request: () => z.strictObject({ note: z.optional(note) }),
    answer: () => recordedAction,
    refusals: ["state_conflict"],
  }),
  adminAct: storeOperation("administrator", {
    route: ["POST", "/admin/acts"],
    summary: "Runs an action of the administrator",
    description:
      "Runs one action of the administrator (approvals, activation, capabilities, prices, the production gate), records it in the audit log, and returns the entry. Refuses an action that changes nothing, an unknown capability or price, and opening the gate without request and approval.",
    request: () => actionRequest,
    answer: () => recordedAction,
    refusals: ["state_conflict"],
  }),
  adminLog: storeOperation("administrator", {
    route: ["GET", "/admin/acts"],
    summary: "Lists the audit log",
    description:
      "Returns every entry of the audit log, oldest first: actions of administrators and requests of the merchant.",
    answer: () => z.object({ storeId: z.uuid(), acts: z.array(recordedAction) }),
  }),
};
