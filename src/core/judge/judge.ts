// Judges what was seen of a history, for the checklist and for `explore`. The rules: core/readiness/drills/judged-invariants.ts;
// their causes: judge-causes.ts beside it; special causes: core/judge/histories/histories.ts; causes in deliveries: deliveries.ts.
import type { DrillStep, Said, SaidValue } from "../readiness/drill-shapes.ts";
import type { Cause } from "../readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../readiness/drills/judged-invariants.ts";
import { factOf, inNames } from "../readiness/drills/said.ts";
import type { Status } from "../checkout/checkout.ts";
import { brokenByClient, shownByClient } from "./client.ts";
import { amountCause, lossCause, overwriteCause, repeatCause } from "./deliveries.ts";
import type { CreateFact, DialectFact, LookFact, Observation } from "./observation.ts";
import { SECRET_PLACES } from "./secrets.ts";
import { DEFAULT_SETTLE_MS, type ShopField } from "./shop.ts";
import type { History, OrderName } from "./step.ts";

export type HistoryVerdict =
  | { readonly state: "held"; readonly note: Said | null; readonly got: Said }
  | {
      readonly state: "broken";
      readonly invariant: JudgedInvariant;
      /** Null: no answer shows it. */
      readonly cause: Cause | null;
      readonly expected: Said;
      readonly got: Said;
      /** The names of the store's dialect, for the text of the cause. */
      readonly names?: string | undefined;
    }
  | {
      readonly state: "not_judged";
      readonly reason: Said;
      readonly field: ShopField | null;
      readonly got: Said;
    };

export type Broken = Pick<
  Extract<HistoryVerdict, { state: "broken" }>,
  "invariant" | "expected" | "got" | "cause" | "names"
>;
type Unclear = Pick<Extract<HistoryVerdict, { state: "not_judged" }>, "reason" | "field" | "got">;

/** The rules that facts have shown to hold or to be broken, and each that is broken, in the order of the facts. */
export function verdictsOn(facts: readonly Observation[]): {
  readonly shown: ReadonlySet<JudgedInvariant>;
  readonly broken: readonly Broken[];
} {
  const seenOrders = new Set<OrderName>();
  const shownRules = new Set<JudgedInvariant>();
  const brokenVerdicts: Broken[] = [];
  const dialect = facts.find((fact) => fact.kind === "dialect");
  const renews = facts.some((fact) => fact.kind === "create" && fact.isRenewed === true);
  // A booked forged event proves more than its answer.
  const isLess = ({ kind }: Observation): boolean => kind === "forged";
  for (const fact of [...facts.filter((candidate) => !isLess(candidate)), ...facts.filter(isLess)]) {
    const wasPaid = fact.kind === "look" && seenOrders.has(fact.of);
    const { shows, found } = judgeFact(fact, { wasPaid, renews });
    for (const invariant of shows) shownRules.add(invariant);
    if (found !== undefined) brokenVerdicts.push({ ...found, ...causeIn(dialect, found) });
    if (fact.kind === "look" && fact.view?.paid === true) seenOrders.add(fact.of);
  }
  return { shown: shownRules, broken: brokenVerdicts };
}

/** Judges a history. `settleMs`: how late the merchant says that a view may be. */
export function judgeHistory(
  { causes = {} }: Pick<History, "causes">,
  facts: readonly Observation[],
  settleMs: number | undefined,
): HistoryVerdict {
  const [firstBroken] = verdictsOn(facts).broken;
  if (firstBroken !== undefined)
    return { state: "broken", ...firstBroken, cause: causes[firstBroken.invariant] ?? firstBroken.cause };
  const gap = facts.map((fact) => unclearBy(fact, settleMs)).find((finding) => finding !== undefined);
  const unseenFinding = gap ?? unseenPage(facts);
  if (unseenFinding !== undefined) return { state: "not_judged", ...unseenFinding };
  const note = facts.find((fact) => fact.kind === "note");
  const look = facts.findLast((fact) => fact.kind === "look");
  return { state: "held", note: note === undefined ? null : factOf(note.note), got: look?.got ?? "" };
}

/** If no fault applied, events in other names are the likeliest cause that a shop refuses or ignores them. */
function causeIn(
  dialect: DialectFact | undefined,
  { cause, invariant }: Found,
): Pick<Broken, "cause" | "names"> {
  if (dialect === undefined) return { cause: cause ?? null };
  const isByNames = invariant === "takes_events" || invariant === "booked_when_paid";
  return { cause: dialect.isPlain && isByNames ? "other_names" : (cause ?? null), names: dialect.names };
}

/** The likely mistake and its remedy; without a cause the rule. */
export function causeOf({ cause, invariant, names }: Pick<Broken, "cause" | "invariant" | "names">): Said {
  return cause === "other_names" ? factOf(cause, names ?? "") : inNames(names, factOf(cause ?? invariant));
}

/** A broken rule with the cause that an answer shows. */
type Found = Omit<Broken, "cause"> & { readonly cause?: Cause | undefined };
type FactOf<Kind extends Observation["kind"]> = Extract<Observation, { kind: Kind }>;

/** The rules on which a fact decides, and the one that it breaks. */
type JudgedFact = { readonly shows: readonly JudgedInvariant[]; readonly found?: Found | undefined };

/** Whether other facts show the order as paid, and whether the shop begins anew after an end. */
type Context = { readonly wasPaid: boolean; readonly renews: boolean };

function judgeFact(fact: Observation, { wasPaid, renews }: Context): JudgedFact {
  switch (fact.kind) {
    case "look":
      return { shows: shownByLook(fact, wasPaid), found: brokenByLook(fact, wasPaid) };
    case "create":
      return { shows: ["client_ends", "one_order"], found: brokenByCreate(fact, renews) };
    case "client":
      return { shows: shownByClient(fact.purchase), found: brokenByClient(fact.purchase) };
    case "refused":
      return { shows: ["takes_events"], found: brokenByRefusal(fact) };
    case "taken":
      return { shows: ["takes_events"] };
    case "forged":
      return { shows: ["refuses_forged"], found: brokenByForgery(fact) };
    case "end":
      return { shows: ["stays_up"], found: brokenByEnd(fact) };
    case "secrets":
      return { shows: ["secrets_kept"], found: brokenBySecret(fact) };
    case "visit":
    case "note":
    case "dialect":
      return { shows: [] };
  }
}

function shownByLook({ view, truth }: LookFact, wasPaid: boolean): readonly JudgedInvariant[] {
  if (view === null) return [];
  return [
    "never_unpaid",
    ...(view.times === null ? [] : (["booked_once"] as const)),
    ...(view.paid && view.amountMinor !== null ? (["right_amount"] as const) : []),
    ...(truth.paid && truth.told ? (["booked_when_paid"] as const) : []),
    ...(wasPaid ? (["final_stays"] as const) : []),
  ];
}

function brokenByRefusal({
  isForeign,
  isAfterOutage = false,
  got,
  type,
  cause,
}: FactOf<"refused">): Found | undefined {
  // A shop may want an event again whose order it does not know yet, or if the API was away.
  if ((isForeign || isAfterOutage) && !isRefusal(got)) return undefined;
  return { invariant: "takes_events", expected: "2xx", got: factOf("answered", got, type), cause };
}

function brokenByForgery({ isAccepted, got }: FactOf<"forged">): Found | undefined {
  if (!isAccepted) return undefined;
  return { invariant: "refuses_forged", expected: "4xx", got, cause: "answers_forged" };
}

function brokenByEnd({ got, isKilled }: FactOf<"end">): Found | undefined {
  if (got === null) return undefined;
  const cause = isKilled === true ? "not_restarted" : undefined;
  return { invariant: "stays_up", expected: factOf("held"), got, cause };
}

function brokenBySecret({ places }: FactOf<"secrets">): Found | undefined {
  const place = SECRET_PLACES.find((candidate) => places.has(candidate));
  if (place === undefined) return undefined;
  const cause = `secret_in_${place}` as const;
  return { invariant: "secrets_kept", expected: factOf("held"), got: place, cause };
}

function brokenByLook({ view, got, truth, log }: LookFact, wasPaid: boolean): Found | undefined {
  if (view === null) return undefined;
  const { paid, times, amountMinor } = view;
  const isBooked = paid || (times ?? 0) > 0;
  const shownFact = factOf(paid ? "shows_paid" : "shows_unpaid", got);
  const paidOnce = { expected: factOf("paid_once"), got: shownFact };
  if (isBooked && !truth.paid) {
    const cause = UNPAID_CAUSES[truth.status ?? "succeeded"];
    return { invariant: "never_unpaid", expected: factOf("unpaid"), got: shownFact, cause };
  }
  if (isBooked && !truth.told && !truth.asked)
    return { invariant: "never_unpaid", expected: factOf("unpaid_unless_asked"), got: shownFact };
  if (times !== null && times > 1)
    return { invariant: "booked_once", ...paidOnce, cause: log && repeatCause(log.deliveries, log.isKilled) };
  if (isUnbooked({ view, truth })) {
    if (wasPaid)
      return { invariant: "final_stays", ...paidOnce, cause: log && overwriteCause(log.deliveries) };
    const cause = log && lossCause(log.deliveries);
    return { invariant: cause === "goes_back" ? "final_stays" : "booked_when_paid", ...paidOnce, cause };
  }
  if (wasPaid && !paid) return { invariant: "final_stays", ...paidOnce };
  if (paid && times !== 0 && amountMinor !== null && amountMinor !== truth.amountMinor)
    return {
      invariant: "right_amount",
      expected: factOf("amount", String(truth.amountMinor)),
      got: shownFact,
      cause: amountCause(log?.deliveries ?? []),
    };
  return undefined;
}

/** The cause of a booking without a payment, by the status of its checkout. */
const UNPAID_CAUSES = {
  created: "books_unpaid",
  pending: "books_pending",
  succeeded: undefined,
  failed: "books_failed",
  cancelled: "books_cancelled",
  expired: "books_expired",
} as const satisfies Readonly<Record<Status, Cause | undefined>>;

function brokenByCreate(fact: CreateFact, renews: boolean): Found | undefined {
  const { runs, isRefused, isAgain, isShared, live, hasOtherId, deadEnd } = fact;
  if (isShared === true)
    return { invariant: "one_order", expected: "1", got: factOf("shared_order"), cause: "shares_order" };
  const endless = runs.find(({ hasEnded }) => !hasEnded);
  const endRule = { invariant: "client_ends", expected: factOf("ends_well") } as const;
  if (endless !== undefined) return { ...endRule, got: factOf("time_up") };
  if (deadEnd === "other_body")
    return {
      invariant: "one_key",
      expected: factOf("another"),
      got: "idempotency_key_reused",
      cause: "attempt_other_body",
    };
  if (deadEnd === "conflict")
    return {
      invariant: "recovery",
      expected: factOf("another"),
      got: "order_conflict",
      cause: "second_create",
    };
  const doneRun = runs.find(({ isDone }) => isDone);
  // A shop may sell each order once; one that begins anew after one end, but not after another, has forgotten that.
  if (deadEnd === "old_page" && renews) {
    const { got } = doneRun ?? runs[0] ?? { got: "" };
    return { invariant: "recovery", expected: factOf("another"), got, cause: "old_page" };
  }
  if (doneRun !== undefined && live === 0 && !isAgain)
    return { ...endRule, got: doneRun.got, cause: "claims_success" };
  const failedRun = runs.find(({ isDone }) => !isDone);
  if (failedRun !== undefined && !isRefused && !isAgain)
    return { ...endRule, got: failedRun.got, cause: "fails_undisturbed" };
  if (live > 1 || hasOtherId)
    return {
      invariant: "one_order",
      expected: "1",
      got: hasOtherId ? factOf("other_id") : `${live}`,
    };
  return undefined;
}

function unclearBy(fact: Observation, settleMs: number | undefined): Unclear | undefined {
  if (fact.kind !== "look") return undefined;
  const { view, got, waitedMs } = fact;
  if (view === null) return { reason: factOf("unreadable"), field: "orderView", got };
  return waitedMs > lateAfterMs(settleMs) ? { ...lateBy(waitedMs), got } : undefined;
}

/** When a payment is shown late, in milliseconds: a machine may be busy, so it is twice the time. */
export function lateAfterMs(settleMs: number | undefined): number {
  return 2 * Math.max(settleMs ?? DEFAULT_SETTLE_MS, DEFAULT_SETTLE_MS);
}

function lateBy(milliseconds: number): Pick<Unclear, "reason" | "field"> {
  return { reason: factOf("late", String(Math.ceil(milliseconds / 1000))), field: "settle" };
}

/** Whether a look does not show a payment that the shop has accepted. */
export function isUnbooked({ view, truth }: Pick<LookFact, "view" | "truth">): boolean {
  return view !== null && truth.paid && truth.told && (!view.paid || view.times === 0);
}

/** Something may have been booked late: a second time, or a payment that was not shown before, which is no loss. */
export function judgeLateBooking(
  history: Pick<History, "causes">,
  { verdict, facts }: { readonly verdict: HistoryVerdict; readonly facts: readonly Observation[] },
  { looks, settleMs, sinceMs }: LaterLooks,
): HistoryVerdict {
  if (verdict.state === "held") {
    const repeatedVerdict = judgeHistory(history, [...facts, ...looks], settleMs);
    return repeatedVerdict.state === "broken" ? repeatedVerdict : verdict;
  }
  const isShown = looks.every(({ view }) => view !== null);
  if (!mayBeLate(verdict) || !isShown || judgeHistory(history, looks, settleMs).state === "broken")
    return verdict;
  return { state: "not_judged", ...lateBy(sinceMs), got: verdict.got };
}

/** Whether an answer to an event refuses it for good; others ask to send it again. */
function isRefusal(text: SaidValue): boolean {
  return typeof text === "string" && /^[1-4]\d\d$/.test(text) && !["408", "409", "425", "429"].includes(text);
}

/** Whether an answer to an event, or its absence, says that the shop is busy. */
export function isBusyAnswer(text: SaidValue): boolean {
  return typeof text !== "string" || text === "429" || text === "503";
}

/** Whether a payment was shown late, which our other histories may have caused. */
export function isLate(verdict: HistoryVerdict): boolean {
  return verdict.state === "not_judged" && verdict.field === "settle";
}

/** Whether a payment was not shown, which may only be late. */
export function mayBeLate(verdict: HistoryVerdict): boolean {
  return verdict.state === "broken" && verdict.invariant === "booked_when_paid";
}

/** Looks at the end of a run, and the time since the history's last step. */
type LaterLooks = {
  readonly looks: readonly LookFact[];
  readonly settleMs: number | undefined;
  readonly sinceMs: number;
};

/** A return page that no visit has reached proves nothing. */
function unseenPage(facts: readonly Observation[]): Unclear | undefined {
  const visits = facts.filter((fact) => fact.kind === "visit");
  const [visit] = visits;
  if (visit === undefined || visits.some(({ hasArrived }) => hasArrived)) return undefined;
  return { reason: factOf("unreached", visit.got), field: "returnUrl", got: visit.got };
}

/** The verdict on a history that proves nothing; `field`: what the description of the shop lacks. */
export function notJudged(reason: Said, field: ShopField | null, text: Said = ""): HistoryVerdict {
  return { state: "not_judged", reason, field, got: text };
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
