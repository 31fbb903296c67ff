import { verdictOn, type CalibratedAssumption, type Calibration } from "../calibration/calibration.ts";
import { checklistOf } from "./checklist.ts";
import { CHECKLIST_ITEMS, RUN_COMMAND, type ItemName } from "./names.ts";
import type { Checklist, ChecklistItem, Evidence } from "./shapes.ts";

type ItemFinding = Omit<ChecklistItem, "name">;

const PORTAL_HINT = "look in the merchant portal of that service";
const OWN_REQUESTS_NOTE =
  "shown by requests of checkout itself; a run in the sandbox shows whether your client repeats its keys";
/** Decisions whose verdicts decide an item: repeated keys, and the fields of a created order. */
const IDEMPOTENCY_DECISION = 5;
const CREATE_DECISION = 20;

/** Judges a service by its calibration record. Facts that v1 does not show are `unknown`, such as the gate's state. */
export function judgeService(record: Calibration | undefined, calibrateCommand: string): Checklist {
  const createUnknownFinding = (title: string, next = calibrateCommand): ItemFinding => ({
    status: "unknown",
    reason: `${title}; ${PORTAL_HINT}`,
    evidence: [],
    assumptions: [],
    next,
  });
  const unknownFinding = createUnknownFinding("there is no calibration record of this service");
  const findings = {
    production_credential:
      record === undefined
        ? unknownFinding
        : createUnknownFinding(
            "the calibration record says only that the service accepted a credential in test mode",
          ),
    store_active: record === undefined ? unknownFinding : storeItem(record, createUnknownFinding),
    return_origins: createUnknownFinding("v1 does not show return origins", "checkout return-origins list"),
    webhook_verification: createUnknownFinding("v1 does not show webhook endpoints", RUN_COMMAND),
    idempotency_replay: record === undefined ? unknownFinding : idempotencyItem(record, createUnknownFinding),
    production_gate: createUnknownFinding("v1 does not show the production gate", "checkout whoami"),
  } satisfies Record<ItemName, ItemFinding>;
  return checklistOf(CHECKLIST_ITEMS.map((name) => Object.assign({ name }, findings[name])));
}

type CreateUnknownFinding = (title: string) => ItemFinding;

function storeItem(record: Calibration, createUnknownFinding: CreateUnknownFinding): ItemFinding {
  const isActive = verdictOn(record, CREATE_DECISION) === "confirmed";
  const title = isActive
    ? "the store created an order; v1 does not show its other capabilities"
    : "the calibration record does not confirm that the store creates orders";
  return { ...createUnknownFinding(title), evidence: evidenceOf(record, CREATE_DECISION) };
}

/** A difference is not a failure: the record also compares codes and bytes, which the interface does not state. */
function idempotencyItem(record: Calibration, createUnknownFinding: CreateUnknownFinding): ItemFinding {
  const evidence = evidenceOf(record, IDEMPOTENCY_DECISION);
  if (verdictOn(record, IDEMPOTENCY_DECISION) !== "confirmed")
    return {
      ...createUnknownFinding("the calibration record does not confirm that a key is used for one order"),
      evidence,
    };
  return {
    status: "pass",
    reason: "the service answered a repeated create with the same order, and refused its key for another",
    evidence,
    assumptions: [OWN_REQUESTS_NOTE],
    next: RUN_COMMAND,
  };
}

function evidenceOf({ assumptions, at }: Calibration, decision: number): Evidence[] {
  const row = assumptions.find((assumption) => assumption.decision === decision);
  return row === undefined ? [] : [{ what: assumptionLine(row), reference: null, at: Date.parse(at) }];
}

function assumptionLine({ decision, verdict, expected, request, answer }: CalibratedAssumption): string {
  const requestText = request === null ? "" : `, ${request.method} ${request.path}`;
  const answerText = answer === null ? "" : `: ${answer.status}`;
  return `decision ${decision} ${verdict.replace("_", " ")} (${expected})${requestText}${answerText}`;
}
