import * as z from "zod/mini";
import { returnOrigin } from "../../config/store-fields.ts";
import { SCOPES } from "../../credential.ts";
import {
  ADMINISTRATOR_ACTIONS,
  CHECKLIST_ITEMS,
  DRILL_KINDS,
  MAX_NOTE_LENGTH,
} from "../../readiness/names.ts";
import { MAX_SUBJECT_LENGTH, price } from "./checkout.ts";
import { drillResult, runningDrill } from "./drills.ts";
import { moment, storeOperation, type DomainOf, wholeNumber, nonEmptyText } from "../operation.ts";
import { endpoint } from "./webhook.ts";
import { nameSchemas } from "../../shape/wire-names.ts";

/** The note that the user adds to an action or a waiver. */
export const note = nonEmptyText(MAX_NOTE_LENGTH);
const act = z.object({
  /** The number of the action in the audit log. */
  number: wholeNumber(1),
  at: moment,
  actor: z.enum(["merchant", "administrator"]),
  action: z.enum([...ADMINISTRATOR_ACTIONS, "request_production"]),
  /** The capability (`wechat_pay`, `EUR`) or the price; null for actions without one. */
  subject: z.nullable(z.string()),
  /** The actor's note. */
  note: z.nullable(z.string()),
});
/** One entry of a store's audit log. */
export type RecordedAction = DomainOf<typeof act>;

const production = z.object({
  /** The merchant's last request. */
  request: z.nullable(act),
  /** The last `approve_credential` or `revoke_credential`. */
  approval: z.nullable(act),
  /** The last `open_gate`, or the action that closed the gate: `close_gate` or `revoke_credential`. */
  gate: z.nullable(act),
});
/** The state of production: the last action of each kind; null if there was none. */
export type Production = DomainOf<typeof production>;

const capability = z.object({
  kind: z.enum(["payment_method", "currency"]),
  name: z.string(),
  active: z.boolean(),
});

const keyUse = z.object({ key: z.string(), requestId: z.string(), at: moment });
/** A create whose key was used before. */
export type KeyUseFact = DomainOf<typeof keyUse>;

const waiver = z.object({ drill: z.enum(DRILL_KINDS), reason: note, at: moment });
/** The merchant's statement that a drill is not needed for now, with the reason. */
export type Waiver = DomainOf<typeof waiver>;

const shownEndpoint = { id: true, kind: true, url: true, state: true, reason: true, pausedBy: true } as const;
const endpointFact = z.extend(z.pick(endpoint, shownEndpoint), {
  /** The subject that a drill of the current state would have. */
  subject: z.string(),
  /** The endpoint's last drill. */
  drill: z.nullable(drillResult),
});
/** An endpoint, with the facts that the checklist needs. */
export type EndpointFact = DomainOf<typeof endpointFact>;

const readiness = z.object({
  storeId: z.uuid(),
  /** The store's time. */
  now: moment,
  active: z.boolean(),
  /** Time of the last change between active and inactive. */
  activeSince: moment,
  capabilities: z.array(capability),
  production,
  returnOrigins: z.array(z.object({ origin: z.string(), createdAt: moment })),
  endpoints: z.array(endpointFact),
  idempotency: z.object({
    replayed: z.nullable(keyUse),
    refused: z.nullable(keyUse),
    drill: z.nullable(drillResult),
  }),
  duplicates: z.nullable(drillResult),
  browserReturn: z.nullable(drillResult),
  underway: z.array(runningDrill),
  /** The last waiver of each drill; a waiver is valid for 7 days. */
  waivers: z.array(waiver),
});
/** All facts that decide readiness. Times are milliseconds by the store's clock. */
export type ReadinessFacts = DomainOf<typeof readiness>;

const evidence = z.object({
  what: z.string(),
  /** The id of the evidence, if it has one. */
  reference: z.nullable(z.string()),
  /** By the store's clock; null if not known. */
  at: z.nullable(moment),
});
/** A piece of evidence for a checklist item. */
export type Evidence = DomainOf<typeof evidence>;

const checklistItem = z.object({
  name: z.enum(CHECKLIST_ITEMS),
  /** `unknown`: there is no valid evidence for or against the item. */
  status: z.enum(["pass", "fail", "unknown"]),
  reason: z.string(),
  evidence: z.array(evidence),
  /** Risks of a pass; empty for other items. */
  assumptions: z.array(z.string()),
  /** The complete next command. */
  next: z.string(),
});
/** The result for one item. */
export type ChecklistItem = DomainOf<typeof checklistItem>;

/** Limits of an exploration: its places, the actions at a place, and the lengths of their names. */
const MAX_PLACES = 200;
const MAX_ACTIONS = 50;
const MAX_PLACE = 300;
const MAX_ACTION = 50;

const actions = z.array(nonEmptyText(MAX_ACTION)).check(z.maxLength(MAX_ACTIONS));
const exploredPlace = z.strictObject({
  place: nonEmptyText(MAX_PLACE),
  held: actions,
  broken: actions,
  notJudged: actions,
});
const explored = {
  /** The number of schedules that were run; `broken` is the number of causes found. */
  schedules: wholeNumber(1),
  broken: wholeNumber(0),
  /** The results of single faults at each place. */
  places: z.array(exploredPlace).check(z.maxLength(MAX_PLACES)),
};
/** The result of `checkout explore`. */
export const exploration = z.object({ ...explored, at: moment });
export type Exploration = DomainOf<typeof exploration>;

const checklist = z.object({
  storeId: z.uuid(),
  judgedAt: moment,
  /** The last exploration; it does not affect the items. */
  exploration: z.nullable(exploration),
  /** `ready_with_risks`: all items pass, and at least one has a risk. */
  verdict: z.enum(["ready", "ready_with_risks", "not_ready"]),
  items: z.array(checklistItem),
});
/** The items of a store with the verdict. */
export type JudgedChecklist = DomainOf<typeof checklist>;
/** The items with the verdict. */
export type Checklist = Pick<JudgedChecklist, "verdict" | "items">;

const storeSummary = z.object({
  merchant: z.object({ id: z.uuid(), name: z.string() }),
  store: z.object({ id: z.uuid(), name: z.string(), active: z.boolean() }),
  capabilities: z.array(capability),
  prices: z.array(price),
  apiKeys: z.array(z.object({ id: z.uuid(), lastFour: z.string(), scopes: z.array(z.enum(SCOPES)) })),
  returnOrigins: z.array(returnOrigin),
  endpoints: wholeNumber(0),
});

/** Actions on one capability or price. */
const ON_ONE = ["enable_capability", "disable_capability", "approve_price", "revoke_price"] as const;
type SubjectAction = (typeof ON_ONE)[number];
type StoreAction = Exclude<(typeof ADMINISTRATOR_ACTIONS)[number], SubjectAction>;
const ON_STORE = ADMINISTRATOR_ACTIONS.filter(
  (action): action is StoreAction => !ON_ONE.some((one) => one === action),
);
/** An action of an administrator. */
export const actionRequest = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.enum(ON_STORE),
    note: z.optional(note),
  }),
  z.strictObject({
    action: z.enum(ON_ONE),
    subject: nonEmptyText(MAX_SUBJECT_LENGTH),
    note: z.optional(note),
  }),
]);

const assumption = z.object({
  /** The number of the decision in docs/decisions.md. */
  decision: wholeNumber(1),
  /** The heading of the decision. */
  title: z.string(),
  /** Our choice, in a sentence. */
  chosen: z.string(),
  /** The setting that changes the choice; null if there is none. */
  setting: z.nullable(z.string()),
  /** The evidence that the assumption was used; null if the service cannot see any. */
  shownBy: z.nullable(z.string()),
  /** The first use, with the id of the request or, without a request, of the event or checkout. */
  reliedOn: z.nullable(z.object({ since: moment, requestId: z.string() })),
});
/** A gap in the interface and our choice; a real service may choose differently. */
export type AssumptionEntry = DomainOf<typeof assumption>;

nameSchemas({
  Act: act,
  Capability: capability,
  KeyUse: keyUse,
  Waiver: waiver,
  Exploration: exploration,
  ExploredPlace: exploredPlace,
});

/**
 * The operations on launch readiness (decisions 20, 49): the merchant's, and the administrator's, which need the admin
 * token.
 */
export const readinessOperations = {
  assumptions: storeOperation({
    path: "/assumptions",
    summary: "Lists the decisions that fill gaps of the interface",
    description:
      "Returns each decision that fills a gap of the interface, with its first use by this store. A real service may decide otherwise.",
    answer: () => z.object({ storeId: z.uuid(), assumptions: z.array(assumption) }),
  }),
  readiness: storeOperation({
    path: "/readiness",
    summary: "Lists the facts for the launch checklist",
    description:
      "Returns the facts by which the checklist is judged, without judging them: production, capabilities, origins, endpoints, drills and waivers.",
    answer: () => readiness,
  }),
  checklist: storeOperation({
    path: "/checklist",
    summary: "Judges the launch checklist",
    description:
      "Judges every item of the launch checklist, and returns each with its reason, evidence and next command. The verdict is `ready`, `ready_with_risks` or `not_ready`.",
    answer: () => checklist,
  }),
  storeSummary: storeOperation({
    path: "",
    summary: "Shows the store as its merchant sees it",
    description:
      "Returns the merchant, capabilities, prices, active API keys, return origins and number of endpoints of the store. Secrets are omitted.",
    answer: () => storeSummary,
  }),
  waiveDrill: storeOperation({
    method: "POST",
    path: "/waivers",
    summary: "Skips a drill for 7 days",
    description:
      "Skips a drill for 7 days, with a reason: the checklist then passes without the drill, with a risk. Returns the waiver, which affects only the checklist.",
    request: () => z.strictObject({ drill: z.enum(DRILL_KINDS), reason: note }),
    answer: () => waiver,
  }),
  recordExploration: storeOperation({
    method: "POST",
    path: "/explorations",
    summary: "Records an exploration",
    description:
      "Stores the result of `checkout explore`, replacing the previous one: the number of schedules, the number of causes found, and the results at each place. Returns the exploration with its time. The checklist shows it next to the items.",
    request: () => z.strictObject(explored),
    answer: () => exploration,
  }),
  requestProduction: storeOperation({
    method: "POST",
    path: "/production-requests",
    summary: "Requests production",
    description:
      "Records the merchant's request for production in the audit log, and returns the entry. The request opens nothing: an administrator opens the gate. Refuses a second request before the first is decided, and a request while the gate is open.",
    request: () => z.strictObject({ note: z.optional(note) }),
    answer: () => act,
    refusals: ["state_conflict"],
  }),
  adminAct: storeOperation({
    method: "POST",
    path: "/admin/acts",
    summary: "Runs an action of the administrator",
    description:
      "Runs one action of the administrator (approvals, activation, capabilities, prices, the production gate), records it in the audit log, and returns the entry. Refuses an action that changes nothing, an unknown capability or price, and opening the gate without request and approval.",
    role: "administrator",
    request: () => actionRequest,
    answer: () => act,
    refusals: ["state_conflict"],
  }),
  adminLog: storeOperation({
    path: "/admin/acts",
    summary: "Lists the audit log",
    description:
      "Returns every entry of the audit log, oldest first: actions of administrators and requests of the merchant.",
    role: "administrator",
    answer: () => z.object({ storeId: z.uuid(), acts: z.array(act) }),
  }),
};
