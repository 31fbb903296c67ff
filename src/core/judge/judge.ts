import type { DrillStep, StepText, StepValue } from "../readiness/drill-shapes.ts";
import type { Cause } from "../readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../readiness/drills/judged-invariants.ts";
import { factOf, withNames } from "../readiness/drills/said.ts";
import type { Status } from "../checkout/checkout.ts";
import { brokenRuleOf, rulesOfClient, type BrokenFinding } from "./client.ts";
import { amountCause, lossCause, overwriteCause, repeatCause } from "./deliveries.ts";
import type { CreateFact, DialectFact, LookFact, Observation } from "./observation.ts";
import { SECRET_PLACES } from "./secrets.ts";
import { DEFAULT_SETTLE_MS, type ShopField } from "./shop.ts";
import type { History, OrderName } from "./step.ts";

export type HistoryVerdict =
  | { readonly state: "held"; readonly note: StepText | null; readonly got: StepText }
  | {
      readonly state: "broken";
      readonly invariant: JudgedInvariant;
      /** Null if no answer shows the cause. */
      readonly cause: Cause | null;
      readonly expected: StepText;
      readonly got: StepText;
      readonly namesText?: string | undefined;
    }
  | {
      readonly state: "not_judged";
      readonly reason: StepText;
      readonly field: ShopField | null;
      readonly got: StepText;
    };

export type BrokenRule = Omit<Extract<HistoryVerdict, { state: "broken" }>, "state">;
type UnclearFinding = Omit<Extract<HistoryVerdict, { state: "not_judged" }>, "state">;

export function verdictsOn(facts: readonly Observation[]): {
  readonly judgedRules: ReadonlySet<JudgedInvariant>;
  readonly brokenRules: readonly BrokenRule[];
} {
  const paidOrders = new Set<OrderName>();
  const judgedRules = new Set<JudgedInvariant>();
  const brokenRules: BrokenRule[] = [];
  const dialect = facts.find((fact) => fact.kind === "dialect");
  const renewsOrders = facts.some((fact) => fact.kind === "create" && fact.isRenewed === true);
  let returnEffect: FactContext["returnEffect"] = "none";
  // A booking of a forged event proves more than the answer to that event.
  const sortedFacts = facts.toSorted(
    (left, right) => Number(left.kind === "forged") - Number(right.kind === "forged"),
  );
  for (const fact of sortedFacts) {
    const wasPaid = fact.kind === "look" && paidOrders.has(fact.of);
    const { rules, finding } = judgeFact(fact, { wasPaid, renewsOrders, returnEffect });
    for (const invariant of rules) judgedRules.add(invariant);
    if (finding !== undefined) brokenRules.push({ ...finding, ...causeIn(dialect, finding) });
    if (fact.kind === "look" && fact.view?.paid === true) paidOrders.add(fact.of);
    if (fact.kind === "visit" && returnEffect === "none") returnEffect = "possible";
    if (fact.kind === "look" && fact.view?.paid === false && returnEffect === "possible")
      returnEffect = "late_at_most";
  }
  return { judgedRules, brokenRules };
}

/** `settleMs`: the delay of the view that the merchant declares. */
export function judgeHistory(
  { causes = {} }: Pick<History, "causes">,
  facts: readonly Observation[],
  settleMs: number | undefined,
): HistoryVerdict {
  const [firstBroken] = verdictsOn(facts).brokenRules;
  if (firstBroken !== undefined)
    return { state: "broken", ...firstBroken, cause: causes[firstBroken.invariant] ?? firstBroken.cause };
  const lookFinding = facts
    .map((fact) => findUnclearLook(fact, settleMs))
    .find((finding) => finding !== undefined);
  const unclearFinding = lookFinding ?? findUnseenPage(facts);
  if (unclearFinding !== undefined) return { state: "not_judged", ...unclearFinding };
  const note = facts.find((fact) => fact.kind === "note");
  const look = facts.findLast((fact) => fact.kind === "look");
  return { state: "held", note: note === undefined ? null : factOf(note.note), got: look?.got ?? "" };
}

/** If no fault applied, the dialect's names are the likeliest reason why a shop refuses or ignores events. */
function causeIn(
  dialect: DialectFact | undefined,
  { cause, invariant }: BrokenFinding,
): Pick<BrokenRule, "cause" | "namesText"> {
  if (dialect === undefined) return { cause: cause ?? null };
  const { isPlain, namesText } = dialect;
  const dependsOnNames = invariant === "takes_events" || invariant === "booked_when_paid";
  return { cause: isPlain && dependsOnNames ? "other_names" : (cause ?? null), namesText };
}

export function causeOf({
  cause,
  invariant,
  namesText,
}: Pick<BrokenRule, "cause" | "invariant" | "namesText">): StepText {
  if (cause === "other_names") return factOf(cause, namesText ?? "");
  return withNames(namesText, factOf(cause ?? invariant));
}

type ObservationOf<Kind extends Observation["kind"]> = Extract<Observation, { kind: Kind }>;

type Judgement = { readonly rules: readonly JudgedInvariant[]; readonly finding?: BrokenFinding | undefined };

type FactContext = {
  readonly wasPaid: boolean;
  readonly renewsOrders: boolean;
  /**
   * Whether an earlier visit to the return page can have booked the order. `late_at_most`: after that visit, the view
   * showed an unpaid order.
   */
  readonly returnEffect: "none" | "possible" | "late_at_most";
};

function judgeFact(fact: Observation, context: FactContext): Judgement {
  switch (fact.kind) {
    case "look":
      return { rules: rulesOfLook(fact, context.wasPaid), finding: judgeLook(fact, context) };
    case "create":
      return { rules: ["client_ends", "one_order"], finding: judgeCreate(fact, context.renewsOrders) };
    case "client":
      return { rules: rulesOfClient(fact.purchase), finding: brokenRuleOf(fact.purchase) };
    case "refused":
      return { rules: ["takes_events"], finding: judgeRefusal(fact) };
    case "taken":
      return { rules: ["takes_events"] };
    case "forged":
      return { rules: ["refuses_forged"], finding: judgeForgery(fact) };
    case "end":
      return { rules: ["stays_up"], finding: judgeEnd(fact) };
    case "secrets":
      return { rules: ["secrets_kept"], finding: judgeSecrets(fact) };
    case "visit":
    case "note":
    case "dialect":
      return { rules: [] };
  }
}

function rulesOfLook({ view, truth }: LookFact, wasPaid: boolean): readonly JudgedInvariant[] {
  if (view === null) return [];
  return [
    "never_unpaid",
    ...(view.times === null ? [] : (["booked_once"] as const)),
    ...(view.paid && view.amountMinor !== null ? (["right_amount"] as const) : []),
    ...(truth.isPaid && truth.isNotified ? (["booked_when_paid"] as const) : []),
    ...(wasPaid ? (["final_stays"] as const) : []),
  ];
}

function judgeRefusal({
  isForeign,
  isAfterOutage = false,
  got,
  type,
  cause,
}: ObservationOf<"refused">): BrokenFinding | undefined {
  // A shop may ask for the event again if it does not know the order yet, or if the API was down.
  if ((isForeign || isAfterOutage) && !isRefusal(got)) return undefined;
  return { invariant: "takes_events", expected: "2xx", got: factOf("answered", got, type), cause };
}

function judgeForgery({ isAccepted, got }: ObservationOf<"forged">): BrokenFinding | undefined {
  return isAccepted
    ? { invariant: "refuses_forged", expected: "4xx", got, cause: "answers_forged" }
    : undefined;
}

function judgeEnd({ got, isKilled }: ObservationOf<"end">): BrokenFinding | undefined {
  if (got === null) return undefined;
  const cause = isKilled === true ? "not_restarted" : undefined;
  return { invariant: "stays_up", expected: factOf("held"), got, cause };
}

function judgeSecrets({ places }: ObservationOf<"secrets">): BrokenFinding | undefined {
  const place = SECRET_PLACES.find((candidate) => places.has(candidate));
  if (place === undefined) return undefined;
  const cause = `secret_in_${place}` as const;
  return { invariant: "secrets_kept", expected: factOf("held"), got: place, cause };
}

function judgeLook(
  { view, got, truth, log }: LookFact,
  { wasPaid, returnEffect }: FactContext,
): BrokenFinding | undefined {
  if (view === null) return undefined;
  const { paid, times, amountMinor } = view;
  const isBooked = paid || (times ?? 0) > 0;
  const shownFact = factOf(paid ? "shows_paid" : "shows_unpaid", got);
  const results = { expected: factOf("paid_once"), got: shownFact };
  if (isBooked && !truth.isPaid) {
    // If the status has changed, the event of the change explains a late booking better than the return.
    const isByReturn =
      returnEffect === "possible" || (returnEffect === "late_at_most" && truth.status === "created");
    const cause = isByReturn ? "believes_return" : UNPAID_CAUSES[truth.status ?? "succeeded"];
    return { invariant: "never_unpaid", expected: factOf("unpaid"), got: shownFact, cause };
  }
  if (isBooked && !truth.isNotified && !truth.hasRetrieved)
    return { invariant: "never_unpaid", expected: factOf("unpaid_unless_asked"), got: shownFact };
  if (times !== null && times > 1)
    return { invariant: "booked_once", ...results, cause: log && repeatCause(log.deliveries, log.isKilled) };
  if (isUnbooked({ view, truth })) {
    if (wasPaid)
      return { invariant: "final_stays", ...results, cause: log && overwriteCause(log.deliveries) };
    const cause = log && lossCause(log.deliveries);
    return { invariant: cause === "goes_back" ? "final_stays" : "booked_when_paid", ...results, cause };
  }
  if (wasPaid && !paid) return { invariant: "final_stays", ...results };
  if (paid && times !== 0 && amountMinor !== null && amountMinor !== truth.amountMinor)
    return {
      invariant: "right_amount",
      expected: factOf("amount", String(truth.amountMinor)),
      got: Number.isNaN(amountMinor)
        ? shownFact
        : factOf("shows_amount", String(amountMinor), String(truth.amountMinor), got),
      cause: amountCause(log?.deliveries ?? []),
    };
  return undefined;
}

const UNPAID_CAUSES = {
  created: "books_unpaid",
  pending: "books_pending",
  succeeded: undefined,
  failed: "books_failed",
  cancelled: "books_cancelled",
  expired: "books_expired",
} as const satisfies Readonly<Record<Status, Cause | undefined>>;

function judgeCreate(fact: CreateFact, renewsOrders: boolean): BrokenFinding | undefined {
  const { runs, isRefused, isRepeat, isShared, liveCount, hasNewOrderId, deadEnd } = fact;
  if (isShared === true)
    return { invariant: "one_order", expected: "1", got: factOf("shared_order"), cause: "shares_order" };
  const endlessRun = runs.find(({ hasEnded }) => !hasEnded);
  const endRule = { invariant: "client_ends", expected: factOf("ends_well") } as const;
  if (endlessRun !== undefined) return { ...endRule, got: factOf("time_up") };
  const keyFinding = { invariant: "one_key", got: "idempotency_key_reused" } as const;
  if (deadEnd === "known_key") return { ...keyFinding, expected: factOf("same_key"), cause: "alike" };
  if (deadEnd === "other_body")
    return { ...keyFinding, expected: factOf("another"), cause: "attempt_other_body" };
  if (deadEnd === "conflict")
    return {
      invariant: "recovery",
      expected: factOf("another"),
      got: "order_conflict",
      cause: "second_create",
    };
  const doneRun = runs.find(({ isDone }) => isDone);
  // A shop may sell each order only once, but not create a new checkout after one end and refuse it after another.
  if (deadEnd === "old_page" && renewsOrders) {
    const { got } = doneRun ?? runs[0] ?? { got: "" };
    return { invariant: "recovery", expected: factOf("another"), got, cause: "old_page" };
  }
  if (doneRun !== undefined && liveCount === 0 && !isRepeat)
    return { ...endRule, got: doneRun.got, cause: "claims_success" };
  const failedRun = runs.find(({ isDone }) => !isDone);
  if (failedRun !== undefined && !isRefused && !isRepeat)
    return { ...endRule, got: failedRun.got, cause: "fails_undisturbed" };
  if (liveCount > 1 || hasNewOrderId)
    return {
      invariant: "one_order",
      expected: "1",
      got: hasNewOrderId ? factOf("other_id") : factOf("live_checkouts", String(liveCount)),
    };
  return undefined;
}

function findUnclearLook(fact: Observation, settleMs: number | undefined): UnclearFinding | undefined {
  if (fact.kind !== "look") return undefined;
  const { view, got, waitedMs } = fact;
  if (view === null) return { reason: factOf("unreadable"), field: "orderView", got };
  return waitedMs > maxDelayMs(settleMs) ? { ...lateReason(waitedMs), got } : undefined;
}

/** Twice the longer of declared and default delay, for a busy machine. */
export function maxDelayMs(settleMs: number | undefined): number {
  return 2 * Math.max(settleMs ?? DEFAULT_SETTLE_MS, DEFAULT_SETTLE_MS);
}

function lateReason(milliseconds: number): Pick<UnclearFinding, "reason" | "field"> {
  return { reason: factOf("late", String(Math.ceil(milliseconds / 1000))), field: "settle" };
}

export function isUnbooked({ view, truth }: Pick<LookFact, "view" | "truth">): boolean {
  return view !== null && truth.isPaid && truth.isNotified && (!view.paid || view.times === 0);
}

/** A second booking breaks a rule; a late booking is not a loss. */
export function judgeLaterLooks(
  history: Pick<History, "causes">,
  { verdict, facts }: { readonly verdict: HistoryVerdict; readonly facts: readonly Observation[] },
  { looks, settleMs, elapsedMs }: LaterLooks,
): HistoryVerdict {
  if (verdict.state === "held") {
    const repeatedVerdict = judgeHistory(history, [...facts, ...looks], settleMs);
    return repeatedVerdict.state === "broken" ? repeatedVerdict : verdict;
  }
  const areReadable = looks.every(({ view }) => view !== null);
  if (!mayBeLate(verdict) || !areReadable || judgeHistory(history, looks, settleMs).state === "broken")
    return verdict;
  return { state: "not_judged", ...lateReason(elapsedMs), got: verdict.got };
}

export function isRefusal(text: StepValue): boolean {
  return typeof text === "string" && /^[134]\d\d$/.test(text) && !["408", "409", "425", "429"].includes(text);
}

export function isBusyAnswer(text: StepValue): boolean {
  return typeof text !== "string" || text === "429" || text === "503";
}

/** The delay may come from other histories that ran at the same time. */
export function isLate(verdict: HistoryVerdict): boolean {
  return verdict.state === "not_judged" && verdict.field === "settle";
}

export function mayBeLate(verdict: HistoryVerdict): boolean {
  return verdict.state === "broken" && verdict.invariant === "booked_when_paid";
}

type LaterLooks = {
  readonly looks: readonly LookFact[];
  readonly settleMs: number | undefined;
  readonly elapsedMs: number;
};

/** A return page that no visit has reached proves nothing. */
function findUnseenPage(facts: readonly Observation[]): UnclearFinding | undefined {
  const visits = facts.filter((fact) => fact.kind === "visit");
  const [visit] = visits;
  if (visit === undefined || visits.some(({ hasArrived }) => hasArrived)) return undefined;
  return { reason: factOf("unreached", visit.got), field: "returnUrl", got: visit.got };
}

export function noVerdict(reason: StepText, field: ShopField | null, got: StepText = ""): HistoryVerdict {
  return { state: "not_judged", reason, field, got };
}

export function stepOf(name: string, verdict: HistoryVerdict, reference: string | null): DrillStep {
  const { state, got } = verdict;
  return {
    name,
    passed: state === "held",
    expected: state === "broken" ? verdict.expected : factOf("held"),
    got: state === "held" && got === "" ? factOf("held") : got,
    cause: state === "broken" ? causeOf(verdict) : state === "held" ? verdict.note : verdict.reason,
    reference,
  };
}
