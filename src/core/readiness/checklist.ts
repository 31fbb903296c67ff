import { isLoopback } from "../loopback.ts";
import { isProductionApproved, isGateOpen } from "./admin-action.ts";
import type { Capability } from "../checkout/checkout.ts";
import { duplicatesSubject } from "./drills/drill.ts";
import { risksIn } from "./drills/judge-sentences.ts";
import { stepTextWords } from "./drills/said.ts";
import { CHECKLIST_ITEMS, CHECKLIST_RUN_COMMAND, type ItemName } from "./names.ts";
import { hasOrderEvents } from "./drills/webhook.ts";
import { english, type Translator, type Words } from "../language.ts";
import { reasonWords } from "../webhook/endpoint.ts";
import { printableLiteral } from "../text.ts";
import { READINESS_SENTENCES as TEXTS } from "./sentences.ts";
import { createEvidence, proofOf, type Proof } from "./proof.ts";
import type {
  Checklist,
  ChecklistItem,
  EndpointFact,
  BilingualEvidence,
  KeyUseFact,
  ReadinessFacts,
  RecordedAction,
} from "./shapes.ts";

const REQUEST_COMMAND = "checkout production request";
const APPROVE_COMMAND = "checkout admin approve-credential";

type ItemFinding = Pick<ChecklistItem, "status" | "next"> & {
  readonly reason: Words;
  readonly evidence?: readonly BilingualEvidence[];
  readonly assumptions?: readonly Words[];
};

const ITEM_JUDGES = {
  production_credential: credentialItem,
  store_active: storeItem,
  return_origins: originsItem,
  webhook_verification: webhookItem,
  idempotency_replay: idempotencyItem,
  production_gate: gateItem,
} satisfies Record<ItemName, (facts: ReadinessFacts) => ItemFinding>;

export function judgeItems(facts: ReadinessFacts, say: Translator = english): Checklist {
  return checklistOf(
    CHECKLIST_ITEMS.map((name) => {
      const { status, reason, evidence = [], assumptions = [], next } = ITEM_JUDGES[name](facts);
      return {
        name,
        status,
        reason: say(reason),
        evidence: evidence.map(({ what, reference, at }) => ({ what: say(what), reference, at })),
        assumptions: assumptions.map(say),
        next,
      };
    }),
  );
}

export function checklistOf(items: readonly ChecklistItem[]): Checklist {
  if (items.some(({ status }) => status !== "pass")) return { verdict: "not_ready", items };
  const hasRisks = items.some(({ assumptions }) => assumptions.length > 0);
  return { verdict: hasRisks ? "ready_with_risks" : "ready", items };
}

function credentialItem({ production }: ReadinessFacts): ItemFinding {
  const { request, approval } = production;
  const evidence = actionEvidence(approval);
  if (isProductionApproved(production))
    return { status: "pass", reason: TEXTS.approved, evidence, next: "checkout admin log" };
  if (request === null)
    return { status: "fail", reason: TEXTS.notRequested, evidence, next: REQUEST_COMMAND };
  const reason = approval === null ? TEXTS.notApproved : TEXTS.approvalRevoked;
  return { status: "fail", reason, evidence: actionEvidence(request, approval), next: APPROVE_COMMAND };
}

function gateItem({ production }: ReadinessFacts): ItemFinding {
  const { request, gate } = production;
  const evidence = actionEvidence(gate);
  if (isGateOpen(production))
    return { status: "pass", reason: TEXTS.gateOpen, evidence, next: "checkout admin log" };
  const closedText = gate?.action === "revoke_credential" ? TEXTS.gateClosedByRevocation : TEXTS.gateClosed;
  const reason = gate === null ? TEXTS.gateNeverOpened : closedText;
  const nextCommand = isProductionApproved(production) ? "checkout admin open-gate" : APPROVE_COMMAND;
  return { status: "fail", reason, evidence, next: request === null ? REQUEST_COMMAND : nextCommand };
}

function actionEvidence(...acts: readonly (RecordedAction | null)[]): BilingualEvidence[] {
  return acts
    .filter((act) => act !== null)
    .map(({ actor, action, note, number, at }) =>
      createEvidence(TEXTS.act(actor, action, note), `act ${number}`, at),
    );
}

function storeItem({ storeId, isActive, stateSince, capabilities }: ReadinessFacts): ItemFinding {
  const evidence: BilingualEvidence[] = [
    createEvidence(TEXTS.store(isActive), storeId, stateSince),
    ...capabilityLines(capabilities).map((line) => createEvidence(line)),
  ];
  if (!isActive)
    return { status: "fail", reason: TEXTS.storeInactive, evidence, next: "checkout admin activate" };
  return { evidence, ...judgeCapabilities(capabilities) };
}

function capabilityLines(capabilities: readonly Capability[]): Words[] {
  return CAPABILITY_KINDS.flatMap((kind) =>
    [true, false].flatMap((isActive) => {
      const rows = capabilities.filter((row) => row.kind === kind && row.active === isActive);
      const namesText = rows.map(({ name }) => name).join(", ");
      return rows.length === 0 ? [] : [TEXTS.capabilities(kind, isActive, namesText)];
    }),
  );
}

const CAPABILITY_KINDS = ["payment_method", "currency"] as const;

function judgeCapabilities(capabilities: readonly Capability[]): ItemFinding {
  const inactiveNames = capabilities.filter(({ active }) => !active).map(({ name }) => name);
  const [firstName] = inactiveNames;
  if (firstName !== undefined) {
    const reason = TEXTS.capabilitiesOff(inactiveNames.join(", "));
    return { status: "fail", reason, next: `checkout admin enable-capability ${firstName}` };
  }
  const next = "checkout capabilities list";
  const missingKind = CAPABILITY_KINDS.find((kind) => capabilities.every((row) => row.kind !== kind));
  if (missingKind !== undefined)
    return { status: "fail", reason: TEXTS.capabilityMissing(missingKind), next };
  return { status: "pass", reason: TEXTS.storeActive(capabilities.length), next };
}

function originsItem(facts: ReadinessFacts): ItemFinding {
  const { returnOrigins, browserReturnDrill: drill } = facts;
  const addCommand = "checkout return-origins add https://shop.example --path /thanks";
  if (returnOrigins.length === 0) return { status: "fail", reason: TEXTS.noOrigin, next: addCommand };
  const title = TEXTS.browserReturnDrill;
  const proof = proofOf({ kind: "browser_return", title, subject: null, drill }, facts);
  const { status, risks } = proof;
  const isOnlyLocal = status === "pass" && returnOrigins.every(({ origin }) => isHttpOrLocal(origin));
  const countText = TEXTS.origins(returnOrigins.length);
  const registeredOrigins = returnOrigins.map(({ origin, createdAt }) =>
    createEvidence([origin, origin], null, createdAt),
  );
  return {
    status,
    reason: status === "pass" || proof.reason === undefined ? countText : TEXTS.but(countText, proof.reason),
    evidence: [...registeredOrigins, ...proof.evidence],
    assumptions: isOnlyLocal ? [TEXTS.originsOnlyLocal, ...risks] : risks,
    next: isOnlyLocal && risks.length === 0 ? addCommand : CHECKLIST_RUN_COMMAND,
  };
}

function isHttpOrLocal(origin: string): boolean {
  return origin.startsWith("http:") || (URL.canParse(origin) && isLoopback(new URL(origin).hostname));
}

/** Counts an endpoint that a drill paused as enabled. Ignores listeners, because production has none. */
function webhookItem(facts: ReadinessFacts): ItemFinding {
  const urlEndpoints = facts.endpoints.filter(({ kind }) => kind === "url");
  const activeEndpoints = urlEndpoints.filter(
    ({ state, pausedBy }) => state === "enabled" || pausedBy === "drill",
  );
  const pausedEndpoints = urlEndpoints
    .filter(({ state }) => state === "paused")
    .map((endpoint) =>
      createEvidence(TEXTS.endpointPaused(endpoint.url, reasonWords(endpoint)), endpoint.id),
    );
  const [firstEndpoint] = urlEndpoints;
  if (firstEndpoint === undefined)
    return {
      status: "fail",
      reason: TEXTS.noEndpoint,
      next: "checkout endpoints add http://localhost:3000/hooks",
    };
  if (activeEndpoints.length === 0) {
    const next = `checkout endpoints enable ${firstEndpoint.id}`;
    return { status: "fail", reason: TEXTS.noEndpointEnabled, evidence: pausedEndpoints, next };
  }
  const proofs = [
    ...activeEndpoints.map((endpoint) => webhookProof(endpoint, facts)),
    duplicatesProof(facts, activeEndpoints),
  ];
  const { evidence = [], ...finding } = judgeByProofs(proofs, TEXTS.webhooksPassed(activeEndpoints.length));
  return { ...finding, evidence: [...evidence, ...pausedEndpoints] };
}

/** A drill that sent only webhook.test leaves a risk: the receiver may fail for order events (decision 67). */
function webhookProof({ url, subject, drill }: EndpointFact, facts: ReadinessFacts): Proof {
  const title = TEXTS.webhookDrill(printableLiteral(url));
  const claim = { kind: "webhook", title, subject, change: TEXTS.endpointChanged, drill } as const;
  const proof = proofOf(claim, facts);
  if (proof.risks.length > 0 || drill === null || hasOrderEvents(drill.steps)) return proof;
  return { ...proof, risks: [TEXTS.sentTestOnly(title)] };
}

function duplicatesProof(facts: ReadinessFacts, endpoints: readonly EndpointFact[]): Proof {
  const { duplicatesDrill: drill } = facts;
  const subject = duplicatesSubject(endpoints);
  const title = TEXTS.duplicatesDrill;
  const claim = { kind: "duplicates", title, subject, change: TEXTS.endpointsChanged, drill } as const;
  const proof = proofOf(claim, facts);
  if (proof.status !== "pass" || proof.risks.length > 0 || drill === null) return proof;
  return { ...proof, risks: risksIn(drill.steps).map(stepTextWords) };
}

/** Only the drill decides: a client that confuses its keys could also have sent the logged requests. */
function idempotencyItem(facts: ReadinessFacts): ItemFinding {
  const { storeId: subject, idempotency } = facts;
  const { replay, refusal, drill } = idempotency;
  const title = TEXTS.idempotencyDrill;
  const claim = { kind: "idempotency", title, subject, change: TEXTS.storeChanged, drill } as const;
  const { evidence = [], ...finding } = judgeByProofs([proofOf(claim, facts)], TEXTS.idempotencyPassed);
  const replayEvidence = keyUseEvidence(replay, TEXTS.keyReplayed);
  return {
    ...finding,
    evidence: [...evidence, ...replayEvidence, ...keyUseEvidence(refusal, TEXTS.keyRefused)],
  };
}

function judgeByProofs(proofs: readonly Proof[], passedReason: Words): ItemFinding {
  const decisiveProof =
    proofs.find(({ status }) => status === "fail") ?? proofs.find(({ status }) => status === "unknown");
  const reasonedProof = decisiveProof ?? proofs.find(({ reason }) => reason !== undefined);
  return {
    status: decisiveProof?.status ?? "pass",
    reason: reasonedProof?.reason ?? passedReason,
    evidence: proofs.flatMap(({ evidence }) => evidence),
    assumptions: decisiveProof === undefined ? proofs.flatMap(({ risks }) => risks) : [],
    next: CHECKLIST_RUN_COMMAND,
  };
}

function keyUseEvidence(use: KeyUseFact | null, sentenceOf: (key: string) => Words): BilingualEvidence[] {
  return use === null ? [] : [createEvidence(sentenceOf(use.key), use.requestId, use.at)];
}
