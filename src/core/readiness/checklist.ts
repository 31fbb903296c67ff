// Decides whether an item passes. A new item needs its name and title in core/readiness/names.ts. The facts come from
// sandbox/readiness/facts.ts, and for other services from core/readiness/other-service.ts.
import { isLoopback } from "../loopback.ts";
import { isApproved, isGateOpen } from "./admin-action.ts";
import type { Capability } from "../checkout/checkout.ts";
import { duplicatesSubject } from "./drills/drill.ts";
import { risksIn } from "./drills/judge-sentences.ts";
import { wordsOf } from "./drills/said.ts";
import { CHECKLIST_ITEMS, type ItemName } from "./names.ts";
import { hasOrderEvents } from "./drills/webhook.ts";
import { english, type Translator, type Words } from "../language.ts";
import { reasonWords } from "../webhook/endpoint.ts";
import { printableLiteral } from "../text.ts";
import { READINESS_SENTENCES } from "./sentences.ts";
import { proofOf, worstProof, type Proof } from "./proof.ts";
import type {
  Checklist,
  ChecklistItem,
  EndpointFact,
  Evidence,
  KeyUseFact,
  ReadinessFacts,
  RecordedAction,
} from "./shapes.ts";

const REQUEST_COMMAND = "checkout production request";
const APPROVE_COMMAND = "checkout admin approve-credential";

export type ItemFinding = Omit<ChecklistItem, "name" | "evidence" | "assumptions"> &
  Partial<Pick<ChecklistItem, "evidence" | "assumptions">>;

const ITEMS = {
  production_credential: credentialItem,
  store_active: storeItem,
  return_origins: originsItem,
  webhook_verification: webhookItem,
  idempotency_replay: idempotencyItem,
  production_gate: gateItem,
} satisfies Record<ItemName, (facts: ReadinessFacts, say: Translator) => ItemFinding>;

export function judgeItems(facts: ReadinessFacts, say: Translator = english): Checklist {
  return checklistOf(CHECKLIST_ITEMS.map((name) => itemOf(name, ITEMS[name](facts, say))));
}

export function itemOf(name: ItemName, finding: ItemFinding): ChecklistItem {
  return { name, evidence: [], assumptions: [], ...finding };
}

export function checklistOf(items: readonly ChecklistItem[]): Checklist {
  if (items.some(({ status }) => status !== "pass")) return { verdict: "not_ready", items };
  const leans = items.some(({ assumptions }) => assumptions.length > 0);
  return { verdict: leans ? "ready_with_risks" : "ready", items };
}

function credentialItem({ production }: ReadinessFacts, say: Translator): ItemFinding {
  const { request, approval } = production;
  if (isApproved(production)) {
    const reason = say(READINESS_SENTENCES.approved);
    return { status: "pass", reason, evidence: actionEvidence(approval), next: "checkout admin log" };
  }
  if (request === null) {
    const reason = say(READINESS_SENTENCES.notRequested);
    return { status: "fail", reason, evidence: actionEvidence(approval), next: REQUEST_COMMAND };
  }
  const reason = say(
    approval === null ? READINESS_SENTENCES.notApproved : READINESS_SENTENCES.approvalRevoked,
  );
  return { status: "fail", reason, evidence: actionEvidence(request, approval), next: APPROVE_COMMAND };
}

function gateItem({ production }: ReadinessFacts, say: Translator): ItemFinding {
  const { request, gate } = production;
  if (isGateOpen(production)) {
    const reason = say(READINESS_SENTENCES.gateOpen);
    return { status: "pass", reason, evidence: actionEvidence(gate), next: "checkout admin log" };
  }
  const closed =
    gate?.action === "revoke_credential"
      ? READINESS_SENTENCES.gateClosedByRevocation
      : READINESS_SENTENCES.gateClosed;
  const reason = say(gate === null ? READINESS_SENTENCES.gateNeverOpened : closed);
  const approved = isApproved(production) ? "checkout admin open-gate" : APPROVE_COMMAND;
  const next = request === null ? REQUEST_COMMAND : approved;
  return { status: "fail", reason, evidence: actionEvidence(gate), next };
}

/** The evidence of the actions; null actions are skipped. */
function actionEvidence(...acts: readonly (RecordedAction | null)[]): Evidence[] {
  return acts
    .filter((act) => act !== null)
    .map(({ actor, action, note, number, at }) => ({
      what: `${actor}: ${action}${note === null ? "" : ` (${note})`}`,
      reference: `act ${number}`,
      at,
    }));
}

function storeItem(
  { storeId, active, activeSince, capabilities }: ReadinessFacts,
  say: Translator,
): ItemFinding {
  const evidence: Evidence[] = [
    { what: say(READINESS_SENTENCES.store(say(activity(active)))), reference: storeId, at: activeSince },
    ...capabilityLines(capabilities, say).map((what) => ({ what, reference: null, at: null })),
  ];
  const missing = active ? missingCapability(capabilities, say) : inactive(say);
  if (missing !== undefined) return { status: "fail", evidence, ...missing };
  const reason = say(READINESS_SENTENCES.storeActive(capabilities.length));
  return { status: "pass", reason, evidence, next: LIST_CAPABILITIES };
}

/** The capabilities of each kind, active capabilities first. */
function capabilityLines(capabilities: readonly Capability[], say: Translator): string[] {
  const lines = CAPABILITY_KINDS.flatMap((kind) =>
    [true, false].map((isOn) => {
      const names = capabilities.filter((one) => one.kind === kind && one.active === isOn);
      return names.length === 0
        ? ""
        : `${kind} ${say(activity(isOn))}: ${names.map(({ name }) => name).join(", ")}`;
    }),
  );
  return lines.filter(Boolean);
}

function activity(isOn: boolean): Words {
  return READINESS_SENTENCES.activity[isOn ? "on" : "off"];
}

const CAPABILITY_KINDS = ["payment_method", "currency"] as const;

type FailedItem = Pick<ChecklistItem, "reason" | "next">;

const LIST_CAPABILITIES = "checkout capabilities list";

function inactive(say: Translator): FailedItem {
  return { reason: say(READINESS_SENTENCES.storeInactive), next: "checkout admin activate" };
}

/** Each must be active, and there must be one of each kind. Undefined if they are complete. */
function missingCapability(capabilities: readonly Capability[], say: Translator): FailedItem | undefined {
  const off = capabilities.filter(({ active }) => !active).map(({ name }) => name);
  const [first] = off;
  if (first !== undefined)
    return {
      reason: say(READINESS_SENTENCES.capabilitiesOff(off.join(", "))),
      next: `checkout admin enable-capability ${first}`,
    };
  const absent = CAPABILITY_KINDS.find((kind) => capabilities.every((one) => one.kind !== kind));
  return absent && { reason: say(READINESS_SENTENCES.capabilityMissing(absent)), next: LIST_CAPABILITIES };
}

/** Return origins must be registered, and a drill must show that the shop does not treat a return as a payment. */
function originsItem(facts: ReadinessFacts, say: Translator): ItemFinding {
  const { returnOrigins, browserReturn: drill } = facts;
  const add = "checkout return-origins add https://shop.example";
  if (returnOrigins.length === 0) {
    const reason = say(READINESS_SENTENCES.noOrigin);
    return { status: "fail", reason, next: add };
  }
  const isLocal = returnOrigins.every(({ origin }) => isOnThisMachine(origin));
  const what = say(READINESS_SENTENCES.browserReturnDrill);
  const proof = proofOf({ kind: "browser_return", what, subject: null, drill }, facts, say);
  const { status, risks } = proof;
  const count = say(READINESS_SENTENCES.origins(returnOrigins.length));
  const registered: Evidence[] = returnOrigins.map(({ origin, createdAt }) => ({
    what: origin,
    reference: null,
    at: createdAt,
  }));
  return {
    status,
    reason: status === "pass" ? count : say(READINESS_SENTENCES.but(count, proof.reason)),
    evidence: [...registered, ...proof.evidence],
    assumptions: [
      ...(status === "pass" && isLocal ? [say(READINESS_SENTENCES.originsOnlyLocal)] : []),
      ...risks,
    ],
    next: status === "pass" && isLocal && risks.length === 0 ? add : proof.next,
  };
}

function isOnThisMachine(origin: string): boolean {
  return origin.startsWith("http:") || (URL.canParse(origin) && isLoopback(new URL(origin).hostname));
}

/** Also an endpoint that a drill is holding. Listeners do not count, because production has none. */
function webhookItem(facts: ReadinessFacts, say: Translator): ItemFinding {
  const known = facts.endpoints.filter(({ kind }) => kind === "url");
  const on = known.filter(({ state, pausedBy }) => state === "enabled" || pausedBy === "drill");
  const paused: Evidence[] = known
    .filter(({ state }) => state === "paused")
    .map((one) => ({
      what: say(READINESS_SENTENCES.endpointPaused(one.url, say(reasonWords(one)))),
      reference: one.id,
      at: null,
    }));
  const [first] = known;
  if (on.length === 0) {
    const reason = say(
      first === undefined ? READINESS_SENTENCES.noEndpoint : READINESS_SENTENCES.noEndpointEnabled,
    );
    const next =
      first === undefined
        ? "checkout endpoints add http://localhost:3000/hooks"
        : `checkout endpoints enable ${first.id}`;
    return { status: "fail", reason, evidence: paused, next };
  }
  const proofs = [
    ...on.map((endpoint) => webhookProof(endpoint, facts, say)),
    duplicatesProof(facts, on, say),
  ];
  const passed = say(READINESS_SENTENCES.webhooksPassed(on.length));
  return judgeByProofs(proofs, { passed, also: paused });
}

/** A receiver might accept only webhook.test: only order events prove other types (decision 67). */
function webhookProof({ url, subject, drill }: EndpointFact, facts: ReadinessFacts, say: Translator): Proof {
  const where = printableLiteral(url);
  const what = say(READINESS_SENTENCES.webhookDrill(where));
  const changed = READINESS_SENTENCES.endpointChanged;
  const proof = proofOf({ kind: "webhook", what, subject, changed, drill }, facts, say);
  if (proof.risks.length > 0 || drill === null || hasOrderEvents(drill.steps)) return proof;
  return { ...proof, risks: [say(READINESS_SENTENCES.sentTestOnly(what))] };
}

function duplicatesProof(facts: ReadinessFacts, endpoints: readonly EndpointFact[], say: Translator): Proof {
  const what = say(READINESS_SENTENCES.duplicatesDrill);
  const changed = READINESS_SENTENCES.endpointsChanged;
  const subject = duplicatesSubject(endpoints);
  const { duplicates: drill } = facts;
  const proof = proofOf({ kind: "duplicates", what, subject, changed, drill }, facts, say);
  if (proof.status !== "pass" || proof.risks.length > 0 || drill === null) return proof;
  return { ...proof, risks: risksIn(drill.steps).map((risk) => say(wordsOf(risk))) };
}

/** Logged requests prove nothing: any client could have sent them, even one that confuses its keys. */
function idempotencyItem(facts: ReadinessFacts, say: Translator): ItemFinding {
  const { storeId, idempotency } = facts;
  const { replayed, refused, drill } = idempotency;
  const claim = {
    kind: "idempotency",
    what: say(READINESS_SENTENCES.idempotencyDrill),
    subject: storeId,
    changed: READINESS_SENTENCES.storeChanged,
    drill,
  } as const;
  const also = [
    ...keyUse(replayed, READINESS_SENTENCES.keyReplayed, say),
    ...keyUse(refused, READINESS_SENTENCES.keyRefused, say),
  ];
  const passed = say(READINESS_SENTENCES.idempotencyPassed);
  return judgeByProofs([proofOf(claim, facts, say)], { passed, also });
}

/** An item that depends on its drills; `also` is further evidence that does not affect the result. */
function judgeByProofs(
  proofs: readonly Proof[],
  { passed, also }: { readonly passed: string; readonly also: readonly Evidence[] },
): ItemFinding {
  const worst = worstProof(proofs);
  const evidence = [...proofs.flatMap((proof) => proof.evidence), ...also];
  if (worst !== undefined) {
    const { status, reason, next } = worst;
    return { status, reason, evidence, next };
  }
  const assumptions = proofs.flatMap(({ risks }) => risks);
  const reason = proofs.find((proof) => proof.reason !== "")?.reason ?? passed;
  const next = (proofs.find(({ risks }) => risks.length > 0) ?? proofs[0])?.next ?? "";
  return { status: "pass", reason, evidence, assumptions, next };
}

function keyUse(use: KeyUseFact | null, what: (key: string) => Words, say: Translator): Evidence[] {
  return use === null ? [] : [{ what: say(what(use.key)), reference: use.requestId, at: use.at }];
}
