// Judges a history by what was seen. The rules: core/readiness/drills/judged-invariants.ts; special causes: core/judge/histories.ts.
import type { DrillStep } from "../readiness/drill-shapes.ts";
import { english, type Words } from "../language.ts";
import { EXPECTED_RESULTS, QUOTING_RESULTS, STEP_RESULTS } from "../readiness/drill-sentences.ts";
import { JUDGED_INVARIANTS, type JudgedInvariant } from "../readiness/drills/judged-invariants.ts";
import { amountWords, NOT_JUDGED, NOTES, ruleWords } from "../readiness/drills/judge-sentences.ts";
import { brokenByClient, type WatchedPurchase } from "./client.ts";
import { DEFAULT_SETTLE_MS, type ShopField } from "./shop.ts";
import type { History, OrderName } from "./step.ts";
import type { ShownOrder } from "./view.ts";

/** What is true of an order at a moment. */
export type Truth = {
  /** Whether a checkout that the shop has created is paid. */
  readonly paid: boolean;
  /** Whether the shop answered 2xx to the event of the payment. */
  readonly told: boolean;
  /** Whether the shop has retrieved the paid checkout. */
  readonly asked: boolean;
  readonly amountMinor: number;
};

/** A reading of the view; null if it could not be read. `waitedMs`: until it showed what is true. */
export type LookFact = {
  readonly kind: "look";
  readonly of: OrderName;
  readonly view: ShownOrder | null;
  readonly got: string;
  readonly truth: Truth;
  readonly waitedMs: number;
};

/** A purchase: how each of its runs ended, and the checkouts that may still be paid, or are. */
export type CreateFact = {
  readonly kind: "create";
  readonly of: OrderName;
  readonly runs: readonly { readonly hasEnded: boolean; readonly isDone: boolean; readonly got: string }[];
  /** Whether the service refuses every create. */
  readonly isRefused: boolean;
  /** Whether the customer bought this order before. */
  readonly isAgain: boolean;
  readonly live: number;
  readonly hasOtherId: boolean;
};

/** A purchase under faults, with the service's log of it. */
type ClientFact = { readonly kind: "client"; readonly purchase: WatchedPurchase };

/** A genuine event that got no 2xx in the end. */
type RefusedFact = {
  readonly kind: "refused";
  readonly of: OrderName;
  readonly type: string;
  readonly got: string;
  /** Whether it is about a checkout that the shop has not created. */
  readonly isForeign: boolean;
};

/** A forged event, and the answer to it. */
type ForgedFact = { readonly kind: "forged"; readonly isAccepted: boolean; readonly got: string };

/** A visit of the return page. */
type VisitFact = { readonly kind: "visit"; readonly hasArrived: boolean; readonly got: string };

/** The shop's process has ended by itself. */
type EndFact = { readonly kind: "end"; readonly got: string };

/** A note about a history, which is no verdict against the shop. */
type NoteFact = { readonly kind: "note"; readonly note: keyof typeof NOTES };

/** Something that was seen. */
export type Observation =
  | LookFact
  | CreateFact
  | ClientFact
  | ForgedFact
  | RefusedFact
  | VisitFact
  | EndFact
  | NoteFact;

/** The verdict on a history. */
export type HistoryVerdict =
  | { readonly state: "held"; readonly note: Words | null; readonly got: string }
  | {
      readonly state: "broken";
      readonly invariant: JudgedInvariant;
      readonly cause: Words;
      readonly expected: Words;
      readonly got: string;
    }
  | {
      readonly state: "not_judged";
      readonly reason: Words;
      readonly field: ShopField | null;
      readonly got: string;
    };

type Broken = Pick<Extract<HistoryVerdict, { state: "broken" }>, "invariant" | "expected" | "got"> & {
  /** The cause that an answer shows. */
  readonly cause?: Words | undefined;
};
type Unclear = Pick<Extract<HistoryVerdict, { state: "not_judged" }>, "reason" | "field" | "got">;

/** Judges a history. `settleMs`: how late the merchant says that a view may be. */
export function judgeHistory(
  { causes = {} }: Pick<History, "causes">,
  facts: readonly Observation[],
  settleMs: number | undefined,
): HistoryVerdict {
  const before = new Set<OrderName>();
  let unclear: Unclear | undefined;
  // A forged event that was booked tells more than its answer.
  const isForged = ({ kind }: Observation): boolean => kind === "forged";
  for (const fact of [...facts.filter((one) => !isForged(one)), ...facts.filter(isForged)]) {
    const broken = brokenBy(fact, before);
    if (broken !== undefined) {
      const cause =
        broken.cause ?? causes[broken.invariant] ?? ruleWords(JUDGED_INVARIANTS[broken.invariant]);
      return { state: "broken", ...broken, cause };
    }
    unclear ??= unclearBy(fact, settleMs);
    if (fact.kind === "look" && fact.view?.paid === true) before.add(fact.of);
  }
  unclear ??= unseenPage(facts);
  if (unclear !== undefined) return { state: "not_judged", ...unclear };
  const note = facts.find((fact) => fact.kind === "note");
  const last = facts.findLast((fact) => fact.kind === "look");
  return { state: "held", note: note === undefined ? null : NOTES[note.note], got: last?.got ?? "" };
}

function brokenBy(fact: Observation, before: ReadonlySet<OrderName>): Broken | undefined {
  switch (fact.kind) {
    case "look":
      return brokenByLook(fact, before.has(fact.of));
    case "create":
      return brokenByCreate(fact);
    case "client":
      return brokenByClient(fact.purchase);
    case "refused":
      // A shop may want an event again whose order it does not know yet.
      if (fact.isForeign && !isRefusal(fact.got)) return undefined;
      return {
        invariant: "takes_events",
        expected: EXPECTED_RESULTS.accepted,
        got: english(STEP_RESULTS.answered(fact.got, fact.type)),
      };
    case "forged":
      return fact.isAccepted
        ? { invariant: "refuses_forged", expected: EXPECTED_RESULTS.refused, got: fact.got }
        : undefined;
    case "end":
      return { invariant: "stays_up", expected: EXPECTED_RESULTS.held, got: fact.got };
    case "visit":
    case "note":
      return undefined;
  }
}

function brokenByLook({ view, got, truth }: LookFact, wasPaid: boolean): Broken | undefined {
  if (view === null) return undefined;
  const { paid, times, amountMinor } = view;
  const isBooked = paid || (times ?? 0) > 0;
  const shown = english(paid ? QUOTING_RESULTS.paid(got) : QUOTING_RESULTS.unpaid(got));
  if (isBooked && !truth.paid)
    return { invariant: "never_unpaid", expected: EXPECTED_RESULTS.unpaid, got: shown };
  if (isBooked && !truth.told && !truth.asked)
    return { invariant: "never_unpaid", expected: EXPECTED_RESULTS.unpaidUnlessAsked, got: shown };
  if (times !== null && times > 1)
    return { invariant: "booked_once", expected: EXPECTED_RESULTS.paidOnce, got: shown };
  if (isUnbooked({ view, truth })) {
    const invariant = wasPaid ? "final_stays" : "booked_when_paid";
    return { invariant, expected: EXPECTED_RESULTS.paidOnce, got: shown };
  }
  if (wasPaid && !paid) return { invariant: "final_stays", expected: EXPECTED_RESULTS.paidOnce, got: shown };
  if (paid && times !== 0 && amountMinor !== null && amountMinor !== truth.amountMinor)
    return {
      invariant: "right_amount",
      expected: amountWords(String(truth.amountMinor)),
      got: shown,
    };
  return undefined;
}

function brokenByCreate({ runs, isRefused, isAgain, live, hasOtherId }: CreateFact): Broken | undefined {
  const endless = runs.find(({ hasEnded }) => !hasEnded);
  const ends = { invariant: "client_ends", expected: EXPECTED_RESULTS.endsWell } as const;
  if (endless !== undefined) return { ...ends, got: english(STEP_RESULTS.timeUp) };
  const claimed = runs.find(({ isDone }) => isDone);
  if (claimed !== undefined && live === 0 && !isAgain) return { ...ends, got: claimed.got };
  const failed = runs.find(({ isDone }) => !isDone);
  if (failed !== undefined && !isRefused && !isAgain) return { ...ends, got: failed.got };
  if (live > 1 || hasOtherId)
    return {
      invariant: "one_order",
      expected: EXPECTED_RESULTS.one,
      got: english(hasOtherId ? STEP_RESULTS.otherId : [`${live}`, `${live}`]),
    };
  return undefined;
}

function unclearBy(fact: Observation, settleMs: number | undefined): Unclear | undefined {
  if (fact.kind !== "look") return undefined;
  const { view, got, waitedMs } = fact;
  if (view === null) return { reason: NOT_JUDGED.unreadable, field: "orderView", got };
  return waitedMs > lateAfterMs(settleMs) ? { ...lateBy(waitedMs), got } : undefined;
}

/** When a payment is shown late, in milliseconds: a machine may be busy, so it is twice the time. */
export function lateAfterMs(settleMs: number | undefined): number {
  return 2 * Math.max(settleMs ?? DEFAULT_SETTLE_MS, DEFAULT_SETTLE_MS);
}

function lateBy(milliseconds: number): Pick<Unclear, "reason" | "field"> {
  return { reason: NOT_JUDGED.late(String(Math.ceil(milliseconds / 1000))), field: "settle" };
}

/** Whether a look does not show a payment that the shop has accepted. */
export function isUnbooked({ view, truth }: Pick<LookFact, "view" | "truth">): boolean {
  return view !== null && truth.paid && truth.told && (!view.paid || view.times === 0);
}

/**
 * The verdict on a history after further looks at the end of the run. Something may have been booked late: a second
 * time, or a payment that was not shown before, which is no loss.
 */
export function judgeLater(
  history: Pick<History, "causes">,
  { verdict, facts }: { readonly verdict: HistoryVerdict; readonly facts: readonly Observation[] },
  { looks, settleMs, sinceMs }: LaterLooks,
): HistoryVerdict {
  if (verdict.state === "held") {
    const again = judgeHistory(history, [...facts, ...looks], settleMs);
    return again.state === "broken" ? again : verdict;
  }
  const isShown = looks.every(({ view }) => view !== null);
  if (!mayBeLate(verdict) || !isShown || judgeHistory(history, looks, settleMs).state === "broken")
    return verdict;
  return { state: "not_judged", ...lateBy(sinceMs), got: verdict.got };
}

/** Whether an answer to an event refuses it for good; others ask to send it again. */
function isRefusal(got: string): boolean {
  return /^[1-4]\d\d$/.test(got) && !["408", "409", "425", "429"].includes(got);
}

/** Whether an answer to an event, or its absence, says that the shop is busy. */
export function isBusyAnswer(got: string): boolean {
  return !/^\d{3}$/.test(got) || got === "429" || got === "503";
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
  const [first] = visits;
  if (first === undefined || visits.some(({ hasArrived }) => hasArrived)) return undefined;
  return { reason: NOT_JUDGED.unreached(first.got), field: "returnUrl", got: first.got };
}

/** The verdict on a history that proves nothing; `field`: what the description of the shop lacks. */
export function notJudged(reason: Words, field: ShopField | null, got = ""): HistoryVerdict {
  return { state: "not_judged", reason, field, got };
}

/** The step of a drill that shows a verdict. */
export function stepOf(name: string, verdict: HistoryVerdict, reference: string | null): DrillStep {
  const expected = verdict.state === "broken" ? verdict.expected : EXPECTED_RESULTS.held;
  const cause =
    verdict.state === "broken" ? verdict.cause : verdict.state === "held" ? verdict.note : verdict.reason;
  const got = verdict.state === "held" && verdict.got === "" ? english(EXPECTED_RESULTS.held) : verdict.got;
  return {
    name,
    passed: verdict.state === "held",
    expected: english(expected),
    got,
    cause: cause === null ? null : english(cause),
    reference,
  };
}
