import { isLoopback } from "../loopback.ts";
import { isApproved, isGateOpen, type Production, type RecordedAct } from "./admin-act.ts";
import type { Capability } from "../checkout/checkout.ts";
import type { Drill, DrillKind } from "./drills/drill.ts";
import { sentOrderEvents } from "./drills/webhook.ts";
import type { EndpointNow } from "../webhook/endpoint.ts";
import { printableLiteral } from "../text.ts";

/** The items of the launch checklist, in its order (interface 6). */
export const CHECKLIST_ITEMS = [
  "production_credential",
  "store_active",
  "return_origins",
  "webhook_verification",
  "idempotency_replay",
  "production_gate",
] as const;
export type ItemName = (typeof CHECKLIST_ITEMS)[number];

/** The titles of the items (interface 6). */
export const ITEM_TITLES: Readonly<Record<ItemName, string>> = {
  production_credential: "Production credential approved",
  store_active: "Store and capabilities active",
  return_origins: "Return origins registered",
  webhook_verification: "Webhook verification passed",
  idempotency_replay: "Idempotency replay passed",
  production_gate: "Production gate opened by an administrator",
};

/** A piece of evidence: what, its id if it has one, and when (milliseconds by the store's clock) if known. */
export type Evidence = {
  readonly what: string;
  readonly reference: string | null;
  readonly at: number | null;
};

/** The result for one item. `unknown`: there is no valid evidence for it or against it. */
export type ChecklistItem = {
  readonly name: ItemName;
  readonly status: "pass" | "fail" | "unknown";
  readonly reason: string;
  readonly evidence: readonly Evidence[];
  /** Risks of a pass; empty for other items. */
  readonly assumptions: readonly string[];
  /** The complete next command. */
  readonly next: string;
};

/** The result of all items. `ready_with_risks`: all pass, and at least one has a risk. */
export type Verdict = "ready" | "ready_with_risks" | "not_ready";

/** The items and their result. */
export type Checklist = { readonly verdict: Verdict; readonly items: readonly ChecklistItem[] };

/** A drill as evidence. */
export type DrillFact = Omit<Drill, "storeId">;

/** An endpoint, what a drill of its present state would prove, and its last drill. */
export type EndpointFact = Pick<EndpointNow, "id" | "kind" | "url" | "state" | "reason" | "pausedBy"> & {
  readonly subject: string;
  readonly drill: DrillFact | null;
};

/** A create with a key that was used before. */
export type KeyUseFact = { readonly key: string; readonly requestId: string; readonly at: number };

/** A drill that runs now, and since when. */
export type RunningDrill = { readonly id: string; readonly drill: DrillKind; readonly since: number };

/** All facts that decide readiness. Times are milliseconds by the store's clock. */
export type ReadinessFacts = {
  readonly storeId: string;
  readonly active: boolean;
  /** Time of the last change between active and inactive. */
  readonly activeSince: number;
  readonly capabilities: readonly Capability[];
  readonly production: Production;
  readonly returnOrigins: readonly { readonly origin: string; readonly createdAt: number }[];
  readonly endpoints: readonly EndpointFact[];
  readonly idempotency: {
    readonly replayed: KeyUseFact | null;
    readonly refused: KeyUseFact | null;
    readonly drill: DrillFact | null;
  };
  /** The last browser-return drill; no item needs one, but a failed one is a risk. */
  readonly browserReturn: DrillFact | null;
  /** The drills that run now. */
  readonly underway: readonly RunningDrill[];
};

/** How long evidence is valid by the store's clock, in milliseconds: 7 days. */
export const EVIDENCE_MS = 7 * 24 * 3_600_000;

const REQUEST = "checkout production request";
const APPROVE = "checkout admin approve-credential";
const RUN_WEBHOOKS = "checkout checklist run webhooks";
const RUN_IDEMPOTENCY = "checkout checklist run idempotency";
const RUN_BROWSER_RETURN = "checkout checklist run browser-return --help";

/** Decides all items from the facts; `now` is the store's. */
export function judge(facts: ReadinessFacts, now: number): Checklist {
  return checklistOf([
    credentialItem(facts.production),
    storeItem(facts),
    originsItem(facts, now),
    webhookItem(facts.endpoints, now),
    idempotencyItem(facts, now),
    gateItem(facts.production),
  ]);
}

/** The result of some items. */
export function checklistOf(items: readonly ChecklistItem[]): Checklist {
  if (items.some(({ status }) => status !== "pass")) return { verdict: "not_ready", items };
  const leans = items.some(({ assumptions }) => assumptions.length > 0);
  return { verdict: leans ? "ready_with_risks" : "ready", items };
}

type Finding = Omit<ChecklistItem, "name" | "evidence" | "assumptions"> &
  Partial<Pick<ChecklistItem, "evidence" | "assumptions">>;

function item(name: ItemName, finding: Finding): ChecklistItem {
  return { name, evidence: [], assumptions: [], ...finding };
}

function credentialItem(production: Production): ChecklistItem {
  const name = "production_credential";
  const { request, approval } = production;
  if (isApproved(production)) {
    const reason = "an administrator has approved the production credential of this store";
    return item(name, { status: "pass", reason, evidence: actsAs(approval), next: "checkout admin log" });
  }
  if (request === null) {
    const reason = "production was not requested, and no administrator has approved a credential for it";
    return item(name, { status: "fail", reason, evidence: actsAs(approval), next: REQUEST });
  }
  const reason =
    approval === null
      ? "production was requested, and no administrator has approved a credential for it yet"
      : "an administrator has revoked the approval of the production credential";
  return item(name, { status: "fail", reason, evidence: actsAs(request, approval), next: APPROVE });
}

function gateItem(production: Production): ChecklistItem {
  const name = "production_gate";
  const { request, gate } = production;
  if (isGateOpen(production)) {
    const reason = "an administrator has opened the production gate of this store";
    return item(name, { status: "pass", reason, evidence: actsAs(gate), next: "checkout admin log" });
  }
  const closed =
    gate?.action === "revoke_credential"
      ? "the production gate closed when the approval of the credential was revoked"
      : "an administrator has closed the production gate";
  const reason = gate === null ? "no administrator has opened the production gate of this store" : closed;
  const approved = isApproved(production) ? "checkout admin open-gate" : APPROVE;
  const next = request === null ? REQUEST : approved;
  return item(name, { status: "fail", reason, evidence: actsAs(gate), next });
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

function storeItem({ storeId, active, activeSince, capabilities }: ReadinessFacts): ChecklistItem {
  const name = "store_active";
  const evidence: Evidence[] = [
    { what: `store ${activity(active)}`, reference: storeId, at: activeSince },
    ...capabilityLines(capabilities).map((what) => ({ what, reference: null, at: null })),
  ];
  const missing = active ? missingCapability(capabilities) : INACTIVE;
  if (missing !== undefined) return item(name, { status: "fail", evidence, ...missing });
  const reason = `the store is active, with all its ${capabilities.length} capabilities`;
  return item(name, { status: "pass", reason, evidence, next: LIST_CAPABILITIES });
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
  return isOn ? "active" : "inactive";
}

const CAPABILITY_KINDS = ["payment_method", "currency"] as const;

type Missing = Pick<ChecklistItem, "reason" | "next">;

const LIST_CAPABILITIES = "checkout capabilities list";
const INACTIVE: Missing = {
  reason: "the store is not active, so it takes no orders",
  next: "checkout admin activate",
};

/** What a store's capabilities lack: all must be active, and there must be at least one of each kind. */
function missingCapability(capabilities: readonly Capability[]): Missing | undefined {
  const off = capabilities.filter(({ active }) => !active).map(({ name }) => name);
  const [first] = off;
  if (first !== undefined)
    return { reason: `not active: ${off.join(", ")}`, next: `checkout admin enable-capability ${first}` };
  const absent = CAPABILITY_KINDS.find((kind) => capabilities.every((one) => one.kind !== kind));
  return absent && { reason: `the store has no ${absent}`, next: LIST_CAPABILITIES };
}

function originsItem({ returnOrigins, browserReturn }: ReadinessFacts, now: number): ChecklistItem {
  const name = "return_origins";
  const add = "checkout return-origins add https://shop.example";
  const evidence: Evidence[] = returnOrigins.map(({ origin, createdAt }) => ({
    what: origin,
    reference: null,
    at: createdAt,
  }));
  if (returnOrigins.length === 0) {
    const reason = "no return origin is registered, so no customer is sent back";
    return item(name, { status: "fail", reason, next: add });
  }
  const isLocal = returnOrigins.every(({ origin }) => isOnThisMachine(origin));
  const drill = browserReturn !== null && stillTells(browserReturn, now) ? browserReturn : undefined;
  const isMistaken = drill?.passed === false;
  const assumptions = [
    ...(isLocal
      ? ["every return origin is http or on this machine: customers elsewhere cannot be sent back there"]
      : []),
    ...(isMistaken ? ["the last drill of a browser's return failed: a return proves no payment"] : []),
  ];
  const count =
    returnOrigins.length === 1 ? "a return origin is" : `${returnOrigins.length} return origins are`;
  return item(name, {
    status: "pass",
    reason: `${count} registered`,
    evidence: [...evidence, ...(drill === undefined ? [] : drillAs("browser-return drill", drill))],
    assumptions,
    next: isMistaken ? RUN_BROWSER_RETURN : isLocal ? add : "checkout return-origins list",
  });
}

function isOnThisMachine(origin: string): boolean {
  return origin.startsWith("http:") || isLoopback(new URL(origin).hostname);
}

/**
 * Every enabled endpoint needs a passed drill of its own, also one that a drill holds for the moment. Listeners do not
 * count, because production has none.
 */
function webhookItem(endpoints: readonly EndpointFact[], now: number): ChecklistItem {
  const name = "webhook_verification";
  const known = endpoints.filter(({ kind }) => kind === "url");
  const on = known.filter(({ state, pausedBy }) => state === "enabled" || pausedBy === "drill");
  const paused: Evidence[] = known
    .filter(({ state }) => state === "paused")
    .map(({ id, url, reason }) => ({ what: `${url} is paused: ${reason ?? ""}`, reference: id, at: null }));
  const [first] = known;
  if (on.length === 0) {
    const reason = first === undefined ? "no endpoint is registered" : "no endpoint is enabled";
    const next =
      first === undefined
        ? "checkout endpoints add http://localhost:3000/hooks"
        : `checkout endpoints enable ${first.id}`;
    return item(name, { status: "fail", reason, evidence: paused, next });
  }
  const states = on.map((endpoint) => drilled(endpoint, now));
  const worst =
    states.find(({ status }) => status === "fail") ?? states.find(({ status }) => status !== "pass");
  return item(name, {
    status: worst?.status ?? "pass",
    reason: worst?.reason ?? (on.length === 1 ? "the endpoint" : `each of ${on.length} endpoints`) + PASSED,
    evidence: [...states.flatMap(({ evidence }) => evidence), ...paused],
    assumptions: worst === undefined ? on.flatMap(orderEventsRisk) : [],
    next: RUN_WEBHOOKS,
  });
}

const PASSED = " accepts valid webhooks and refuses invalid ones";

/** A receiver can verify webhook.test alone: a drill without events of an order leaves that open (decision 67). */
function orderEventsRisk({ url, drill }: EndpointFact): string[] {
  return drill === null || sentOrderEvents(drill.steps)
    ? []
    : [
        `the drill of ${printableLiteral(url)} sent webhook.test only: with --order-view it sends forged events of an order too`,
      ];
}

type State = Pick<ChecklistItem, "status" | "reason"> & { readonly evidence: readonly Evidence[] };

function drilled({ url, subject, drill }: EndpointFact, now: number): State {
  const where = printableLiteral(url);
  if (drill === null) return { status: "unknown", reason: `${where} has not been drilled`, evidence: [] };
  const evidence = drillAs(`webhook drill of ${url}`, drill);
  if (drill.subject !== subject) {
    const reason = `the address or the secret of ${where} changed after its drill, so the drill is no longer valid`;
    return { status: "unknown", reason, evidence };
  }
  const stale = staleness(drill, now);
  if (stale !== undefined) return { status: "unknown", reason: `the drill of ${where} ${stale}`, evidence };
  if (drill.passed) return { status: "pass", reason: "", evidence };
  return { status: "fail", reason: `${where} failed its drill: ${failureOf(drill)}`, evidence };
}

/**
 * The log of the merchant's client, or a drill of it. A failed drill outweighs earlier log entries: the client is not
 * as correct as the log suggested.
 */
function idempotencyItem({ storeId, idempotency, underway }: ReadinessFacts, now: number): ChecklistItem {
  const name = "idempotency_replay";
  const { replayed, refused } = idempotency;
  const drill = idempotency.drill?.subject === storeId ? idempotency.drill : null;
  const evidence = [
    ...keyUse("a repeated request, answered with the same bytes", replayed),
    ...keyUse("another request with the same key, refused", refused),
    ...(drill === null ? [] : drillAs("idempotency drill", drill)),
  ];
  const verdict = drill !== null && stillTells(drill, now) ? drill : undefined;
  const running = underway.filter((one) => one.drill === "idempotency").map(runningDrill);
  const conclude = (status: ChecklistItem["status"], reason: string): ChecklistItem =>
    item(name, { status, reason, evidence: [...evidence, ...running], next: RUN_IDEMPOTENCY });
  if (verdict?.passed === true) return conclude("pass", "the drill passed: a retry repeats its key");
  const counts = (use: KeyUseFact | null): boolean =>
    use !== null && isCurrent(use, now) && (verdict === undefined || use.at > verdict.at);
  if (counts(replayed) && counts(refused)) {
    return conclude(
      "pass",
      "the log has a create that was repeated with its key, and a reuse that was refused",
    );
  }
  if (verdict !== undefined) return conclude("fail", `the drill failed: ${failureOf(verdict)}`);
  if (counts(replayed))
    return conclude("unknown", "no reuse of a key for another request was seen in 7 days");
  if (counts(refused)) return conclude("unknown", "no create was repeated with its key in 7 days");
  const stale = evidence.length > 0;
  return conclude(
    "unknown",
    stale
      ? "the evidence is older than 7 days"
      : "no create was repeated with its key yet, and no drill was run",
  );
}

function runningDrill({ since }: RunningDrill): Evidence {
  const what = "an idempotency drill is running: the answer of one create is dropped";
  return { what, reference: null, at: since };
}

function keyUse(what: string, use: KeyUseFact | null): Evidence[] {
  return use === null ? [] : [{ what: `${what}: key ${use.key}`, reference: use.requestId, at: use.at }];
}

/** Maximum number of failed steps that are shown; the drill has all of them. */
const MAX_STEPS_SHOWN = 5;

/** A drill as evidence, with its first failed steps. */
function drillAs(what: string, { id, passed, steps, at }: DrillFact): Evidence[] {
  const failed = steps.filter((step) => !step.passed);
  const count = `${steps.length - failed.length} of ${steps.length} steps`;
  const more = failed.length - MAX_STEPS_SHOWN;
  return [
    { what: `${what} ${passed ? "passed" : "failed"}: ${count}`, reference: id, at },
    ...failed.slice(0, MAX_STEPS_SHOWN).map((step) => ({
      what: `${step.name}: expected ${step.expected}; got ${step.got}`,
      reference: step.reference,
      at,
    })),
    ...(more > 0 ? [{ what: `${more} more steps failed`, reference: id, at }] : []),
  ];
}

function failureOf({ steps }: DrillFact): string {
  const failed = steps.find(({ passed }) => !passed);
  if (failed === undefined) return "it was not finished";
  return `${failed.name}: ${failed.cause ?? `expected ${failed.expected}; got ${failed.got}`}`;
}

/**
 * Why evidence is no longer valid; undefined while it is. Evidence from the future (a clock was set back) is invalid
 * too.
 */
function staleness({ at }: { readonly at: number }, now: number): string | undefined {
  if (at > now) return "is in the future of the store's clock";
  return now - at < EVIDENCE_MS ? undefined : "is older than 7 days";
}

/** A failure stays valid when the clock is set back: nothing has corrected it since. */
function stillTells(drill: { readonly at: number; readonly passed: boolean }, now: number): boolean {
  return isCurrent(drill, now) || (!drill.passed && drill.at > now);
}

function isCurrent(evidence: { readonly at: number }, now: number): boolean {
  return staleness(evidence, now) === undefined;
}
