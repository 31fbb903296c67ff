import * as z from "zod/mini";
import type { Words } from "../language.ts";
import { MAX_SUBJECT_LENGTH } from "../checkout/shapes.ts";
import { moment, nonEmptyText, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import type { EndpointEntry } from "../webhook/shapes.ts";
import { runningDrill, type DrillFact } from "./drill-shapes.ts";
import { ADMINISTRATOR_ACTIONS, CHECKLIST_ITEMS, DRILL_KINDS, MAX_NOTE_LENGTH } from "./names.ts";

export const note = nonEmptyText(MAX_NOTE_LENGTH);
export const recordedAction = z.object({
  number: wholeNumber(1),
  at: moment,
  actor: z.enum(["merchant", "administrator"]),
  action: z.enum([...ADMINISTRATOR_ACTIONS, "request_production"]),
  subject: z.nullable(z.string()),
  note: z.nullable(z.string()),
});
export type RecordedAction = DomainOf<typeof recordedAction>;

/** The last action of each kind; null if there was none. */
export type Production = {
  readonly request: RecordedAction | null;
  readonly approval: RecordedAction | null;
  /** The last `open_gate`, `close_gate` or `revoke_credential`; the last two close the gate. */
  readonly gate: RecordedAction | null;
};

export const capability = z.object({
  kind: z.enum(["payment_method", "currency"]),
  name: z.string(),
  active: z.boolean(),
});

export type KeyUseFact = { readonly key: string; readonly requestId: string; readonly at: number };

export const waiver = z.object({ drill: z.enum(DRILL_KINDS), reason: note, at: moment });
/** The merchant's decision to skip a drill for 7 days. */
export type Waiver = DomainOf<typeof waiver>;

export type EndpointFact = Pick<
  EndpointEntry,
  "id" | "kind" | "url" | "state" | "reason" | "cause" | "pausedBy"
> & {
  readonly subject: string;
  readonly drill: DrillFact | null;
};

/** Times are in milliseconds by the store's clock. */
export type ReadinessFacts = {
  readonly storeId: string;
  readonly now: number;
  readonly isActive: boolean;
  /** Time of the last change between active and inactive, or of the store's creation. */
  readonly stateSince: number;
  readonly capabilities: readonly DomainOf<typeof capability>[];
  readonly production: Production;
  readonly returnOrigins: readonly { readonly origin: string; readonly createdAt: number }[];
  readonly endpoints: readonly EndpointFact[];
  readonly idempotency: {
    readonly replay: KeyUseFact | null;
    readonly refusal: KeyUseFact | null;
    readonly drill: DrillFact | null;
  };
  readonly duplicatesDrill: DrillFact | null;
  readonly browserReturnDrill: DrillFact | null;
  readonly waivers: readonly Waiver[];
};

const evidence = z.object({
  what: z.string(),
  reference: z.nullable(z.string()),
  /** By the store's clock; null if unknown. */
  at: z.nullable(moment),
});
export type Evidence = DomainOf<typeof evidence>;
export type BilingualEvidence = Omit<Evidence, "what"> & { readonly what: Words };

const checklistItem = z.object({
  name: z.enum(CHECKLIST_ITEMS),
  status: z.enum(["pass", "fail", "unknown"]),
  reason: z.string(),
  evidence: z.array(evidence),
  /** Risks of a pass; empty for other items. */
  assumptions: z.array(z.string()),
  next: z.string(),
});
export type ChecklistItem = DomainOf<typeof checklistItem>;

const MAX_PLACES = 200;
const MAX_ACTIONS = 50;
const MAX_PLACE_LENGTH = 300;
const MAX_ACTION_LENGTH = 50;

const actions = z.array(nonEmptyText(MAX_ACTION_LENGTH)).check(z.maxLength(MAX_ACTIONS));
/** Results of single faults at one place, as lists of actions; at the place `payer`, of payment outcomes. */
export const placeResults = z.strictObject({
  place: nonEmptyText(MAX_PLACE_LENGTH),
  held: actions,
  broken: actions,
  /** Outside the time budget, broken once but not on repetition, or with a payment event that was lost for good. */
  notJudged: actions,
});
export type PlaceResults = DomainOf<typeof placeResults>;

export const explorationShape = {
  /** The number of schedules that were run; `broken` is the number of causes found. */
  schedules: wholeNumber(1),
  broken: wholeNumber(0),
  places: z.array(placeResults).check(z.maxLength(MAX_PLACES)),
};
export const exploration = z.object({ ...explorationShape, at: moment });
export type Exploration = DomainOf<typeof exploration>;

export function countNotJudged(places: readonly Pick<PlaceResults, "notJudged">[]): number {
  return places.reduce((sum, { notJudged }) => sum + notJudged.length, 0);
}

export const checklist = z.object({
  storeId: z.uuid(),
  judgedAt: moment,
  /** The last exploration; it does not affect the items. */
  exploration: z.nullable(exploration),
  /** `ready_with_risks`: all items pass, and at least one has a risk. */
  verdict: z.enum(["ready", "ready_with_risks", "not_ready"]),
  items: z.array(checklistItem),
  underway: z.array(runningDrill),
});
export type JudgedChecklist = DomainOf<typeof checklist>;
export type Checklist = Pick<JudgedChecklist, "verdict" | "items">;

const SUBJECT_ACTIONS = ["enable_capability", "disable_capability", "approve_price", "revoke_price"] as const;
export type SubjectAction = (typeof SUBJECT_ACTIONS)[number];
type StoreAction = Exclude<(typeof ADMINISTRATOR_ACTIONS)[number], SubjectAction>;
const STORE_ACTIONS = ADMINISTRATOR_ACTIONS.filter(
  (action): action is StoreAction => !SUBJECT_ACTIONS.some((subjectAction) => subjectAction === action),
);
export const actionRequest = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.enum(STORE_ACTIONS),
    note: z.optional(note),
  }),
  z.strictObject({
    action: z.enum(SUBJECT_ACTIONS),
    subject: nonEmptyText(MAX_SUBJECT_LENGTH),
    note: z.optional(note),
  }),
]);

nameSchemas({
  Act: recordedAction,
  Capability: capability,
  Waiver: waiver,
  Exploration: exploration,
  ExploredPlace: placeResults,
});
