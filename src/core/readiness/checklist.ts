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
import { english, type Translator } from "../language.ts";
import { reasonWords } from "../webhook/endpoint.ts";
import { printableLiteral } from "../text.ts";
import { voiceOf, type Voice } from "./sentences.ts";
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
} satisfies Record<ItemName, (facts: ReadinessFacts, text: Voice) => ItemFinding>;

export function judgeItems(facts: ReadinessFacts, say: Translator = english): Checklist {
  const text = voiceOf(say);
  return checklistOf(CHECKLIST_ITEMS.map((name) => itemOf(name, ITEMS[name](facts, text))));
}

export function itemOf(name: ItemName, finding: ItemFinding): ChecklistItem {
  return { name, evidence: [], assumptions: [], ...finding };
}

export function checklistOf(items: readonly ChecklistItem[]): Checklist {
  if (items.some(({ status }) => status !== "pass")) return { verdict: "not_ready", items };
  const leans = items.some(({ assumptions }) => assumptions.length > 0);
  return { verdict: leans ? "ready_with_risks" : "ready", items };
}

function credentialItem({ production }: ReadinessFacts, text: Voice): ItemFinding {
  const { request, approval } = production;
  const evidence = actionEvidence(text, approval);
  if (isApproved(production))
    return { status: "pass", reason: text.approved, evidence, next: "checkout admin log" };
  if (request === null) return { status: "fail", reason: text.notRequested, evidence, next: REQUEST_COMMAND };
  const reason = approval === null ? text.notApproved : text.approvalRevoked;
  return { status: "fail", reason, evidence: actionEvidence(text, request, approval), next: APPROVE_COMMAND };
}

function gateItem({ production }: ReadinessFacts, text: Voice): ItemFinding {
  const { request, gate } = production;
  const evidence = actionEvidence(text, gate);
  if (isGateOpen(production))
    return { status: "pass", reason: text.gateOpen, evidence, next: "checkout admin log" };
  const closed = gate?.action === "revoke_credential" ? text.gateClosedByRevocation : text.gateClosed;
  const reason = gate === null ? text.gateNeverOpened : closed;
  const approved = isApproved(production) ? "checkout admin open-gate" : APPROVE_COMMAND;
  return { status: "fail", reason, evidence, next: request === null ? REQUEST_COMMAND : approved };
}

/** The evidence of the actions; null actions are skipped. */
function actionEvidence(text: Voice, ...acts: readonly (RecordedAction | null)[]): Evidence[] {
  return acts
    .filter((act) => act !== null)
    .map(({ actor, action, note, number, at }) => ({
      what: text.act(actor, action, note),
      reference: `act ${number}`,
      at,
    }));
}

function storeItem({ storeId, active, activeSince, capabilities }: ReadinessFacts, text: Voice): ItemFinding {
  const evidence: Evidence[] = [
    { what: text.store(text.say(text.activity[active ? "on" : "off"])), reference: storeId, at: activeSince },
    ...capabilityLines(capabilities, text).map((what) => ({ what, reference: null, at: null })),
  ];
  const found = active
    ? judgeCapabilities(capabilities, text)
    : { reason: text.storeInactive, next: ACTIVATE };
  return { status: "fail", evidence, ...found };
}

const ACTIVATE = "checkout admin activate";

/** The capabilities of each kind, active capabilities first. */
function capabilityLines(capabilities: readonly Capability[], text: Voice): string[] {
  return CAPABILITY_KINDS.flatMap((kind) =>
    [true, false].flatMap((isOn) => {
      const names = capabilities.filter((one) => one.kind === kind && one.active === isOn);
      const listed = names.map(({ name }) => name).join(", ");
      return names.length === 0 ? [] : [text.capabilities(kind, isOn, listed)];
    }),
  );
}

const CAPABILITY_KINDS = ["payment_method", "currency"] as const;
const LIST_CAPABILITIES = "checkout capabilities list";

/** Each must be active, and there must be one of each kind. */
function judgeCapabilities(
  capabilities: readonly Capability[],
  text: Voice,
): Pick<ItemFinding, "reason" | "next"> & Partial<Pick<ItemFinding, "status">> {
  const off = capabilities.filter(({ active }) => !active).map(({ name }) => name);
  const [first] = off;
  if (first !== undefined)
    return {
      reason: text.capabilitiesOff(off.join(", ")),
      next: `checkout admin enable-capability ${first}`,
    };
  const absent = CAPABILITY_KINDS.find((kind) => capabilities.every((one) => one.kind !== kind));
  if (absent !== undefined) return { reason: text.capabilityMissing(absent), next: LIST_CAPABILITIES };
  return { status: "pass", reason: text.storeActive(capabilities.length), next: LIST_CAPABILITIES };
}

/** Return origins must be registered, and a drill must show that the shop does not treat a return as a payment. */
function originsItem(facts: ReadinessFacts, text: Voice): ItemFinding {
  const { returnOrigins, browserReturn: drill } = facts;
  const add = "checkout return-origins add https://shop.example";
  if (returnOrigins.length === 0) return { status: "fail", reason: text.noOrigin, next: add };
  const what = text.browserReturnDrill;
  const proof = proofOf({ kind: "browser_return", what, subject: null, drill }, facts, text);
  const { status, risks } = proof;
  const isLocal = status === "pass" && returnOrigins.every(({ origin }) => isOnThisMachine(origin));
  const count = text.origins(returnOrigins.length);
  const registered = returnOrigins.map(({ origin, createdAt }) => ({
    what: origin,
    reference: null,
    at: createdAt,
  }));
  return {
    status,
    reason: status === "pass" ? count : text.but(count, proof.reason),
    evidence: [...registered, ...proof.evidence],
    assumptions: isLocal ? [text.originsOnlyLocal, ...risks] : risks,
    next: isLocal && risks.length === 0 ? add : proof.next,
  };
}

function isOnThisMachine(origin: string): boolean {
  return origin.startsWith("http:") || (URL.canParse(origin) && isLoopback(new URL(origin).hostname));
}

/** Also an endpoint that a drill is holding. Listeners do not count, because production has none. */
function webhookItem(facts: ReadinessFacts, text: Voice): ItemFinding {
  const known = facts.endpoints.filter(({ kind }) => kind === "url");
  const on = known.filter(({ state, pausedBy }) => state === "enabled" || pausedBy === "drill");
  const paused = known
    .filter(({ state }) => state === "paused")
    .map((one) => ({
      what: text.endpointPaused(one.url, text.say(reasonWords(one))),
      reference: one.id,
      at: null,
    }));
  const [first] = known;
  if (first === undefined)
    return {
      status: "fail",
      reason: text.noEndpoint,
      next: "checkout endpoints add http://localhost:3000/hooks",
    };
  if (on.length === 0) {
    const next = `checkout endpoints enable ${first.id}`;
    return { status: "fail", reason: text.noEndpointEnabled, evidence: paused, next };
  }
  const proofs = [
    ...on.map((endpoint) => webhookProof(endpoint, facts, text)),
    duplicatesProof(facts, on, text),
  ];
  return judgeByProofs(proofs, { passed: text.webhooksPassed(on.length), also: paused });
}

/** A receiver might accept only webhook.test: only order events prove other types (decision 67). */
function webhookProof({ url, subject, drill }: EndpointFact, facts: ReadinessFacts, text: Voice): Proof {
  const what = text.webhookDrill(printableLiteral(url));
  const claim = { kind: "webhook", what, subject, changed: text.endpointChanged, drill } as const;
  const proof = proofOf(claim, facts, text);
  if (proof.risks.length > 0 || drill === null || hasOrderEvents(drill.steps)) return proof;
  return { ...proof, risks: [text.sentTestOnly(what)] };
}

function duplicatesProof(facts: ReadinessFacts, endpoints: readonly EndpointFact[], text: Voice): Proof {
  const { duplicates: drill } = facts;
  const subject = duplicatesSubject(endpoints);
  const what = text.duplicatesDrill;
  const claim = { kind: "duplicates", what, subject, changed: text.endpointsChanged, drill } as const;
  const proof = proofOf(claim, facts, text);
  if (proof.status !== "pass" || proof.risks.length > 0 || drill === null) return proof;
  return { ...proof, risks: risksIn(drill.steps).map((risk) => text.say(wordsOf(risk))) };
}

/** Logged requests prove nothing: any client could have sent them, even one that confuses its keys. */
function idempotencyItem(facts: ReadinessFacts, text: Voice): ItemFinding {
  const { storeId: subject, idempotency } = facts;
  const { replayed, refused, drill } = idempotency;
  const what = text.idempotencyDrill;
  const claim = { kind: "idempotency", what, subject, changed: text.storeChanged, drill } as const;
  const also = [...keyUse(replayed, text.keyReplayed), ...keyUse(refused, text.keyRefused)];
  return judgeByProofs([proofOf(claim, facts, text)], { passed: text.idempotencyPassed, also });
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

function keyUse(use: KeyUseFact | null, what: (key: string) => string): Evidence[] {
  return use === null ? [] : [{ what: what(use.key), reference: use.requestId, at: use.at }];
}
