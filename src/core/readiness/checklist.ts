import { isLoopback } from "../loopback.ts";
import { isApproved, isGateOpen } from "./admin-act.ts";
import type {
  Checklist,
  ChecklistItem,
  EndpointFact,
  Evidence,
  KeyUseFact,
  ReadinessFacts,
  RecordedAct,
} from "../control/readiness.ts";
import type { Capability } from "../checkout/checkout.ts";
import { duplicatesSubject } from "./drills/drill.ts";
import { duplicatesRisks } from "./drills/duplicates-scope.ts";
import { CHECKLIST_ITEMS, type ItemName } from "./names.ts";
import { sentOrderEvents } from "./drills/webhook.ts";
import { english, printableLiteral, type Sentence } from "../text.ts";
import { READINESS } from "./sentences.ts";
import { proofOf, worstOf, type Proof } from "./proof.ts";
import type { RunningDrill } from "../control/drills.ts";

const REQUEST = "checkout production request";
const APPROVE = "checkout admin approve-credential";

/** What is found for one item. */
export type Finding = Omit<ChecklistItem, "name" | "evidence" | "assumptions"> &
  Partial<Pick<ChecklistItem, "evidence" | "assumptions">>;

/** How each item is judged. */
const ITEMS = {
  production_credential: credentialItem,
  store_active: storeItem,
  return_origins: originsItem,
  webhook_verification: webhookItem,
  idempotency_replay: idempotencyItem,
  production_gate: gateItem,
} satisfies Record<ItemName, (facts: ReadinessFacts) => Finding>;

/** Decides all items from the facts. */
export function judge(facts: ReadinessFacts): Checklist {
  return checklistOf(CHECKLIST_ITEMS.map((name) => itemOf(name, ITEMS[name](facts))));
}

/** An item with what is found for it. */
export function itemOf(name: ItemName, finding: Finding): ChecklistItem {
  return { name, evidence: [], assumptions: [], ...finding };
}

/** The result of some items. */
export function checklistOf(items: readonly ChecklistItem[]): Checklist {
  if (items.some(({ status }) => status !== "pass")) return { verdict: "not_ready", items };
  const leans = items.some(({ assumptions }) => assumptions.length > 0);
  return { verdict: leans ? "ready_with_risks" : "ready", items };
}

function credentialItem({ production }: ReadinessFacts): Finding {
  const { request, approval } = production;
  if (isApproved(production)) {
    const reason = english(READINESS.approved);
    return { status: "pass", reason, evidence: actsAs(approval), next: "checkout admin log" };
  }
  if (request === null) {
    const reason = english(READINESS.notRequested);
    return { status: "fail", reason, evidence: actsAs(approval), next: REQUEST };
  }
  const reason = english(approval === null ? READINESS.notApproved : READINESS.approvalRevoked);
  return { status: "fail", reason, evidence: actsAs(request, approval), next: APPROVE };
}

function gateItem({ production }: ReadinessFacts): Finding {
  const { request, gate } = production;
  if (isGateOpen(production)) {
    const reason = english(READINESS.gateOpen);
    return { status: "pass", reason, evidence: actsAs(gate), next: "checkout admin log" };
  }
  const closed =
    gate?.action === "revoke_credential" ? READINESS.gateClosedByRevocation : READINESS.gateClosed;
  const reason = english(gate === null ? READINESS.gateNeverOpened : closed);
  const approved = isApproved(production) ? "checkout admin open-gate" : APPROVE;
  const next = request === null ? REQUEST : approved;
  return { status: "fail", reason, evidence: actsAs(gate), next };
}

/** The acts as evidence, without those that are missing. */
function actsAs(...acts: readonly (RecordedAct | null)[]): Evidence[] {
  return acts
    .filter((act) => act !== null)
    .map(({ actor, action, note, number, at }) => ({
      what: `${actor}: ${action}${note === null ? "" : ` (${note})`}`,
      reference: `act ${number}`,
      at,
    }));
}

function storeItem({ storeId, active, activeSince, capabilities }: ReadinessFacts): Finding {
  const evidence: Evidence[] = [
    { what: english(READINESS.store(activity(active))), reference: storeId, at: activeSince },
    ...capabilityLines(capabilities).map((what) => ({ what, reference: null, at: null })),
  ];
  const missing = active ? missingCapability(capabilities) : INACTIVE;
  if (missing !== undefined) return { status: "fail", evidence, ...missing };
  const reason = english(READINESS.storeActive(capabilities.length));
  return { status: "pass", reason, evidence, next: LIST_CAPABILITIES };
}

/** The capabilities of each kind, active ones first. */
function capabilityLines(capabilities: readonly Capability[]): string[] {
  const lines = CAPABILITY_KINDS.flatMap((kind) =>
    [true, false].map((isOn) => {
      const names = capabilities.filter((one) => one.kind === kind && one.active === isOn);
      return names.length === 0
        ? ""
        : `${kind} ${activity(isOn)}: ${names.map(({ name }) => name).join(", ")}`;
    }),
  );
  return lines.filter(Boolean);
}

function activity(isOn: boolean): string {
  return english(READINESS.activity[isOn ? "on" : "off"]);
}

const CAPABILITY_KINDS = ["payment_method", "currency"] as const;

type Missing = Pick<ChecklistItem, "reason" | "next">;

const LIST_CAPABILITIES = "checkout capabilities list";
const INACTIVE: Missing = {
  reason: english(READINESS.storeInactive),
  next: "checkout admin activate",
};

/** What a store's capabilities lack: all must be active, and there must be at least one of each kind. */
function missingCapability(capabilities: readonly Capability[]): Missing | undefined {
  const off = capabilities.filter(({ active }) => !active).map(({ name }) => name);
  const [first] = off;
  if (first !== undefined)
    return {
      reason: english(READINESS.capabilitiesOff(off.join(", "))),
      next: `checkout admin enable-capability ${first}`,
    };
  const absent = CAPABILITY_KINDS.find((kind) => capabilities.every((one) => one.kind !== kind));
  return absent && { reason: english(READINESS.capabilityMissing(absent)), next: LIST_CAPABILITIES };
}

/** An origin is where customers come back to; that a return is no payment takes a drill. */
function originsItem(facts: ReadinessFacts): Finding {
  const { returnOrigins, browserReturn: drill } = facts;
  const add = "checkout return-origins add https://shop.example";
  if (returnOrigins.length === 0) {
    const reason = english(READINESS.noOrigin);
    return { status: "fail", reason, next: add };
  }
  const isLocal = returnOrigins.every(({ origin }) => isOnThisMachine(origin));
  const what = english(READINESS.browserReturnDrill);
  const proof = proofOf({ kind: "browser_return", what, subject: null, drill }, facts);
  const { status, risks } = proof;
  const count = english(READINESS.origins(returnOrigins.length));
  const registered: Evidence[] = returnOrigins.map(({ origin, createdAt }) => ({
    what: origin,
    reference: null,
    at: createdAt,
  }));
  return {
    status,
    reason: status === "pass" ? count : english(READINESS.but(count, proof.reason)),
    evidence: [...registered, ...proof.evidence],
    assumptions: [...(status === "pass" && isLocal ? [ONLY_LOCAL] : []), ...risks],
    next: status === "pass" && isLocal && risks.length === 0 ? add : proof.next,
  };
}

const ONLY_LOCAL = english(READINESS.originsOnlyLocal);

function isOnThisMachine(origin: string): boolean {
  return origin.startsWith("http:") || isLoopback(new URL(origin).hostname);
}

/**
 * Every enabled endpoint needs a passed drill of its own, also one that a drill holds for the moment, and the shop behind
 * them one of duplicates. Listeners do not count, because production has none.
 */
function webhookItem(facts: ReadinessFacts): Finding {
  const known = facts.endpoints.filter(({ kind }) => kind === "url");
  const on = known.filter(({ state, pausedBy }) => state === "enabled" || pausedBy === "drill");
  const paused: Evidence[] = known
    .filter(({ state }) => state === "paused")
    .map(({ id, url, reason }) => ({
      what: english(READINESS.endpointPaused(url, reason ?? "")),
      reference: id,
      at: null,
    }));
  const [first] = known;
  if (on.length === 0) {
    const reason = english(first === undefined ? READINESS.noEndpoint : READINESS.noEndpointEnabled);
    const next =
      first === undefined
        ? "checkout endpoints add http://localhost:3000/hooks"
        : `checkout endpoints enable ${first.id}`;
    return { status: "fail", reason, evidence: paused, next };
  }
  const proofs = [...on.map((endpoint) => webhookProof(endpoint, facts)), duplicatesProof(facts, on)];
  const passed = english(READINESS.webhooksPassed(on.length));
  return provenBy(proofs, { passed, also: paused });
}

/** A receiver can verify webhook.test alone: a drill without events of an order leaves that open (decision 67). */
function webhookProof({ url, subject, drill }: EndpointFact, facts: ReadinessFacts): Proof {
  const where = printableLiteral(url);
  const what = english(READINESS.webhookDrill(where));
  const changed = english(READINESS.endpointChanged);
  const proof = proofOf({ kind: "webhook", what, subject, changed, drill }, facts);
  if (proof.risks.length > 0 || drill === null || sentOrderEvents(drill.steps)) return proof;
  return { ...proof, risks: [english(READINESS.sentTestOnly(what))] };
}

function duplicatesProof(facts: ReadinessFacts, endpoints: readonly EndpointFact[]): Proof {
  const what = english(READINESS.duplicatesDrill);
  const changed = english(READINESS.endpointsChanged);
  const subject = duplicatesSubject(endpoints);
  const { duplicates: drill } = facts;
  const proof = proofOf({ kind: "duplicates", what, subject, changed, drill }, facts);
  if (proof.status !== "pass" || proof.risks.length > 0 || drill === null) return proof;
  return { ...proof, risks: duplicatesRisks(drill.steps) };
}

/**
 * Only a drill of the merchant's client proves it. What the log shows is told, but anybody can have sent it, and a
 * refusal is what happens to a client that mixes up its keys.
 */
function idempotencyItem(facts: ReadinessFacts): Finding {
  const { storeId, idempotency, underway } = facts;
  const { replayed, refused, drill } = idempotency;
  const claim = {
    kind: "idempotency",
    what: english(READINESS.idempotencyDrill),
    subject: storeId,
    changed: english(READINESS.storeChanged),
    drill,
  } as const;
  const also = [
    ...keyUse(READINESS.keyReplayed, replayed),
    ...keyUse(READINESS.keyRefused, refused),
    ...underway.filter((one) => one.drill === "idempotency").map(runningDrill),
  ];
  const passed = english(READINESS.idempotencyPassed);
  return provenBy([proofOf(claim, facts)], { passed, also });
}

/** An item that stands or falls with its drills; `also` is other evidence, which decides nothing. */
function provenBy(
  proofs: readonly Proof[],
  { passed, also }: { readonly passed: string; readonly also: readonly Evidence[] },
): Finding {
  const worst = worstOf(proofs);
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

function runningDrill({ since }: RunningDrill): Evidence {
  return { what: english(READINESS.idempotencyRunning), reference: null, at: since };
}

function keyUse(what: (key: string) => Sentence, use: KeyUseFact | null): Evidence[] {
  return use === null ? [] : [{ what: english(what(use.key)), reference: use.requestId, at: use.at }];
}
