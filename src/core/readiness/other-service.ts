import { verdictOn, type CalibratedAssumption, type Calibration } from "../calibration/calibration.ts";
import { checklistOf } from "./checklist.ts";
import { CHECKLIST_ITEMS, CHECKLIST_RUN_COMMAND, type ItemName } from "./names.ts";
import type { Checklist, ChecklistItem, Evidence } from "./shapes.ts";

type ItemFinding = Omit<ChecklistItem, "name">;

const PORTAL_HINT = "look in the merchant portal of that service";
const IDEMPOTENCY_DECISION = 5;
const CREATE_DECISION = 20;

/** Facts that v1 does not show, such as the gate's state, are `unknown`. */
export function judgeService(record: Calibration | undefined, calibrateCommand: string): Checklist {
  const createUnknownFinding = (title: string, next = calibrateCommand): ItemFinding => ({
    status: "unknown",
    reason: `${title}; ${PORTAL_HINT}`,
    evidence: [],
    assumptions: [],
    next,
  });
  const titleBy = (recordTitle: string): string =>
    record === undefined ? "there is no calibration record of this service" : recordTitle;
  const isConfirmed = (decision: number): boolean =>
    record !== undefined && verdictOn(record, decision) === "confirmed";
  const storeTitle = isConfirmed(CREATE_DECISION)
    ? "the store created an order; v1 does not show its other capabilities"
    : "the calibration record does not confirm that the store creates orders";
  const keyTitle = "the calibration record does not confirm that a key is used for one order";
  const findings = {
    production_credential: createUnknownFinding(
      titleBy("the calibration record says only that the service accepted a credential in test mode"),
    ),
    store_active: {
      ...createUnknownFinding(titleBy(storeTitle)),
      evidence: evidenceOf(record, CREATE_DECISION),
    },
    return_origins: createUnknownFinding("v1 does not show return origins", "checkout return-origins list"),
    webhook_verification: createUnknownFinding("v1 does not show webhook endpoints", CHECKLIST_RUN_COMMAND),
    // A difference is not a failure: the record also compares codes and bytes, which the interface does not state.
    idempotency_replay: {
      ...(isConfirmed(IDEMPOTENCY_DECISION) ? CONFIRMED_KEYS : createUnknownFinding(titleBy(keyTitle))),
      evidence: evidenceOf(record, IDEMPOTENCY_DECISION),
    },
    production_gate: createUnknownFinding("v1 does not show the production gate", "checkout whoami"),
  } satisfies Record<ItemName, ItemFinding>;
  return checklistOf(CHECKLIST_ITEMS.map((name) => Object.assign({ name }, findings[name])));
}

const CONFIRMED_KEYS = {
  status: "pass",
  reason: "the service answered a repeated create with the same order, and refused its key for another",
  assumptions: [
    "shown by requests of checkout itself; a run in the sandbox shows whether your client repeats its keys",
  ],
  next: CHECKLIST_RUN_COMMAND,
} as const;

function evidenceOf(record: Calibration | undefined, decision: number): Evidence[] {
  const row = record?.assumptions.find((assumption) => assumption.decision === decision);
  if (record === undefined || row === undefined) return [];
  return [{ what: assumptionLine(row), reference: null, at: Date.parse(record.at) }];
}

function assumptionLine({ decision, verdict, expected, request, answer }: CalibratedAssumption): string {
  const requestText = request === null ? "" : `, ${request.method} ${request.path}`;
  const answerText = answer === null ? "" : `: ${answer.status}`;
  return `decision ${decision} ${verdict.replace("_", " ")} (${expected})${requestText}${answerText}`;
}
