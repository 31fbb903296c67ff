import type { CheckoutObject } from "../../checkout/checkout.ts";
import type { DeliveryError } from "../../webhook/delivery.ts";
import { english, type Words } from "../../language.ts";
import { EXPECTED_RESULTS, STEP_RESULTS, LIST_ITEMS } from "../drill-sentences.ts";
import type { JudgedDrill } from "./drill.ts";
import { DUPLICATES_CAUSES, DUPLICATES_FAILURES, type DuplicatesCause } from "./duplicates-causes.ts";
import { scopeSteps, SCOPE_STEPS, type DuplicatesScope, type OrderOutcome } from "./duplicates-scope.ts";
import { readingText, type OrderReading } from "./order-view.ts";
import type { DrillStep } from "../drill-shapes.ts";

/** The statuses whose events the drill sends to a paid order. */
export type SentStatus = "created" | "pending" | "succeeded";

/**
 * The sends for orders that end up paid, in the sequence in which the drill makes them. Each send delivers one event of a
 * real order, with a valid signature, to each endpoint that subscribes to its type; `at_once` sends it twice at the same time, and
 * `payment_last` sends it again with another `Checkout-Event-Id`, regardless of the answer.
 */
export const DUPLICATE_SENDS = {
  payment_first: {
    title: ["the payment, before all other events", "支付事件先于其他所有事件"],
    status: "succeeded",
  },
  at_once: {
    title: ["a payment after a declined attempt, twice at once", "一次支付被拒后的支付，同时推送两次"],
    status: "succeeded",
  },
  payment_again: { title: ["the payment again", "再次推送支付"], status: "succeeded" },
  created_late: { title: ["the creation, late", "创建事件迟到"], status: "created" },
  pending_late: { title: ["the start of the payment, late", "支付开始事件迟到"], status: "pending" },
  payment_after_late: {
    title: ["the payment, after the late events", "迟到的事件之后再推送支付"],
    status: "succeeded",
  },
  created_again: { title: ["the creation again", "再次推送创建"], status: "created" },
  payment_last: {
    title: [
      "the payment once more, and with another id in its header",
      "又一次推送支付，并再次以请求头中的另一 id 推送",
    ],
    status: "succeeded",
  },
  after_others: {
    title: ["the payment again, after eleven other events", "在十一个其他事件之后再次推送支付"],
    status: "succeeded",
  },
  after_a_while: {
    title: ["a payment again, after more than 30 s", "超过 30 秒后再次推送支付"],
    status: "succeeded",
  },
  after_restart: {
    title: ["the payment again, after a restart of your shop", "商店重启后再次推送支付"],
    status: "succeeded",
  },
} as const satisfies Readonly<Record<string, { readonly title: Words; readonly status: SentStatus }>>;

/** The name of a send. */
export type SendName = keyof typeof DUPLICATE_SENDS;

/** The names of all sends, in their order. */
export const SEND_NAMES = Object.keys(DUPLICATE_SENDS) as readonly SendName[];

/** An endpoint's status, or the error if there is no answer. */
type EndpointAnswer = { readonly status: number | null; readonly error: DeliveryError | null };

/** A sent event, with the answers to it and its effect on the view. */
export type SendFact = {
  readonly name: SendName;
  readonly eventId: string;
  /** The answer of each endpoint that subscribes to this type; of two simultaneous deliveries, the better answer. */
  readonly answers: readonly EndpointAnswer[];
  /** Whether the merchant's view had shown "paid" before the send. */
  readonly wasPaid: boolean;
  /** The view after the send; if the order was paid before, the first of several readings that is not `paid`. */
  readonly view: OrderReading;
  /**
   * How else the view changed. `twice`: it shows twice as much as the view of an order whose payment was sent once.
   * `kept`: it shows twice as much after the event for which the shop had kept the payment. `undone`: the effect of
   * the payment is gone. `untold`: the change cannot be distinguished from parts that change by themselves.
   */
  readonly text: "same" | "changed" | "twice" | "kept" | "undone" | "untold" | "not_compared";
};

/** An order of the drill. */
type DrilledFact = {
  readonly checkoutId: string;
  readonly kind: CheckoutObject;
  readonly end: OrderOutcome;
};

/** The merchant's view of an order. */
export type ViewFact = DrilledFact & { readonly view: OrderReading };

/** An order that is paid in the end, with the sends to it. */
export type OrderSends = DrilledFact & { readonly sends: readonly SendFact[] };

/** The observations of each step; a step that did not run has no orders. */
export type DuplicatesFacts = {
  /** The views before any payment. `cause`: why the view does not know an order that the shop must know. */
  readonly before: readonly (ViewFact & { readonly cause: DuplicatesCause | null })[];
  /** Readings after forged payment events with invalid signatures. */
  readonly forged: readonly ViewFact[];
  /** The views after the events of a declined attempt. */
  readonly declined: readonly ViewFact[];
  /**
   * The views after the payment, while its events were held. A view can then show an order as paid only after a
   * retrieve: by the shop, which stores the answer, or by the view itself, at each reading.
   */
  readonly held: readonly (ViewFact & { readonly askedBy: "shop" | "view" | "nobody" })[];
  readonly lanes: readonly OrderSends[];
  /** The views of unpaid orders, after other orders were paid. */
  readonly unpaid: readonly ViewFact[];
  /** The views of unpaid orders, after the events of their outcomes. */
  readonly ended: readonly ViewFact[];
  readonly scope: DuplicatesScope;
  /** Whether all events were sent. */
  readonly isWhole: boolean;
};

/** The reading of a view in a step, the checkout, and the cause if the step fails. */
type StepOutcome = {
  readonly got: string;
  readonly reference: string;
  readonly cause: DuplicatesCause | undefined;
};

/** A step that reads the views of some orders. */
type ViewStep = {
  readonly title: Words;
  readonly expected: Words;
  readonly see: (facts: DuplicatesFacts) => readonly StepOutcome[];
};
type ViewSteps = Readonly<Record<string, ViewStep>>;

const STEPS_BEFORE = {
  before_the_payment: {
    title: ["before the payments", "支付之前"],
    expected: EXPECTED_RESULTS.unpaid,
    see: ({ before }) =>
      before.map(({ cause, ...one }) => {
        const seen = unpaid(one, "paid_from_the_start");
        return cause === null ? seen : { ...seen, cause };
      }),
  },
  forged_payment: {
    title: ["a forged payment, badly signed", "伪造的支付，签名错误"],
    expected: EXPECTED_RESULTS.unpaid,
    see: ({ forged }) => forged.map((one) => unpaid(one, "books_unverified")),
  },
  declined_attempt: {
    title: ["an attempt that was declined", "被拒的支付尝试"],
    expected: EXPECTED_RESULTS.unpaid,
    see: ({ declined }) => declined.map((one) => unpaid(one, "books_pending")),
  },
  before_its_events: {
    title: ["paid, but its events held back", "已支付，事件暂缓推送"],
    expected: EXPECTED_RESULTS.unpaidUnlessAsked,
    see: ({ held }) => held.map(judgeHeldViews),
  },
} as const satisfies ViewSteps;

const STEPS_AFTER = {
  forged_in_the_end: {
    title: ["orders that nobody has paid, after others were paid", "其他订单支付之后，无人支付的订单"],
    expected: EXPECTED_RESULTS.unpaid,
    see: (facts) =>
      facts.unpaid.map((one) => unpaid(one, booksElsewhere(facts) ? "books_other_order" : "paid_in_the_end")),
  },
  payment_failed: endStep("failed", ["a payment that failed", "支付失败"], "books_failed"),
  order_expired: endStep("expired", ["an order that expired", "订单过期"], "books_expired"),
  order_cancelled: endStep("cancelled", ["an order that was cancelled", "订单取消"], "books_cancelled"),
} as const satisfies ViewSteps;

function sessionTitle([title, chinese]: Words): Words {
  return [`${title} (session)`, `${chinese}（会话）`];
}

/** The sends to sessions, which have their own steps. */
const SESSION_SENDS = Object.fromEntries(
  SEND_NAMES.map((name) => [
    stepName(name, "checkout_session"),
    { title: sessionTitle(DUPLICATE_SENDS[name].title) },
  ]),
);

/** The steps of the drill, in order. */
export const DUPLICATES_STEPS = {
  ...STEPS_BEFORE,
  ...DUPLICATE_SENDS,
  ...SESSION_SENDS,
  ...STEPS_AFTER,
  ...SCOPE_STEPS,
};

/** Judges by the merchant's own view, which counts only if it showed "not paid" at first and "paid" later. */
export function judgeDuplicates(facts: DuplicatesFacts): JudgedDrill {
  const { lanes, scope, isWhole } = facts;
  const start = viewSteps(STEPS_BEFORE, facts);
  const causes = lanes.map((lane) => lane.sends.map((_send, at) => laneCause(facts, lane, at)));
  const sent = lanes.flatMap((lane, index) =>
    lane.sends.map((send, at) =>
      stepOf(stepName(send.name, lane.kind), expectedOf(lane.sends, at), {
        cause: causes[index]?.[at],
        got: gotOf(send),
        reference: send.eventId,
      }),
    ),
  );
  const end = viewSteps(STEPS_AFTER, facts);
  const steps = [...start.steps, ...sent, ...end.steps];
  const isClean = steps.every(({ passed }) => passed);
  if (isWhole && isClean) return { verdict: "passed", steps: [...steps, ...scopeSteps(scope)] };
  if (booksTooEarly(facts)) return { verdict: "failed", steps };
  // A view that is wrong from the start, or shows another order, proves nothing.
  const found = [...causes.flat(), ...end.causes];
  const isFailed = found.some((cause) => cause !== undefined && DUPLICATES_FAILURES.has(cause));
  const counts = start.steps.every(({ passed }) => passed) && !end.causes.includes("paid_in_the_end");
  return { verdict: counts && isFailed ? "failed" : "unknown", steps };
}

/** A step for each row that has observations: it shows the first order with a cause, otherwise the first order. */
function viewSteps(
  rows: ViewSteps,
  facts: DuplicatesFacts,
): { readonly steps: readonly DrillStep[]; readonly causes: readonly (DuplicatesCause | undefined)[] } {
  const shown = Object.entries(rows).flatMap(([name, { expected, see }]) => {
    const seen = see(facts);
    const reported = seen.find(({ cause }) => cause !== undefined) ?? seen[0];
    if (reported === undefined) return [];
    const got =
      seen.length === 1 ? reported.got : english(STEP_RESULTS.oneOf(reported.got, String(seen.length)));
    return [{ step: stepOf(name, expected, { ...reported, got }), cause: reported.cause }];
  });
  return { steps: shown.map(({ step }) => step), causes: shown.map(({ cause }) => cause) };
}

function stepOf(name: string, expected: Words, { cause, got, reference }: StepOutcome): DrillStep {
  const text = cause === undefined ? null : english(DUPLICATES_CAUSES[cause]);
  return { name, passed: text === null, expected: english(expected), got, cause: text, reference };
}

function stepName(name: SendName, kind: CheckoutObject): string {
  return kind === "order" ? name : `${name}_session`;
}

function endStep(end: OrderOutcome, title: Words, cause: DuplicatesCause): ViewStep {
  return {
    title,
    expected: EXPECTED_RESULTS.unpaid,
    // An order that the view showed as paid before did not become paid by its end.
    see: ({ ended, unpaid: before }) =>
      ended
        .filter(
          (one) =>
            one.end === end &&
            !before.some(({ checkoutId, view }) => checkoutId === one.checkoutId && view.says === "paid"),
        )
        .map((one) => unpaid(one, cause)),
  };
}

/** The outcome for the view of an unpaid order. */
function unpaid({ view, checkoutId: reference }: ViewFact, ifPaid: DuplicatesCause): StepOutcome {
  return { got: readingText(view), reference, cause: view.says === "paid" ? ifPaid : readable(view) };
}

function judgeHeldViews({
  view,
  askedBy,
  checkoutId: reference,
}: DuplicatesFacts["held"][number]): StepOutcome {
  const isPaid = view.says === "paid";
  if (isPaid && askedBy !== "shop") return { got: readingText(view), reference, cause: "view_of_service" };
  return {
    got: isPaid ? english(STEP_RESULTS.hasAsked(readingText(view))) : readingText(view),
    reference,
    cause: readable(view),
  };
}

/** Whether an order that was shown as unpaid became paid after a badly signed event, or after a declined attempt. */
function booksTooEarly({ before, forged, declined }: DuplicatesFacts): boolean {
  return (
    before.every(({ view, cause }) => view.says === "not_paid" && cause === null) &&
    [...forged, ...declined].some(({ view }) => view.says === "paid")
  );
}

/** Why a send does not pass, considering the other orders too; undefined if it passes. */
function laneCause(facts: DuplicatesFacts, lane: OrderSends, at: number): DuplicatesCause | undefined {
  const cause = causeOfLane(facts, lane, at);
  return cause !== undefined && LOST_CAUSES.has(cause) && booksElsewhere(facts) ? "books_other_order" : cause;
}

/** The causes for a payment without effect, if no other order was paid instead. */
const LOST_CAUSES: ReadonlySet<DuplicatesCause> = new Set([
  "never_paid",
  "lost_early_payment",
  "lost_second_payment",
  "lost_at_once",
]);

function causeOfLane(facts: DuplicatesFacts, lane: OrderSends, at: number): DuplicatesCause | undefined {
  const { sends } = lane;
  const send = sends[at];
  if (send !== undefined && isSecondPaymentLost(facts, lane, send)) return "lost_second_payment";
  const cause = causeOf(sends, at);
  if (cause === "lost_early_payment" && send?.name === "at_once") return "lost_at_once";
  if (cause === "never_paid" && isAcceptedWithoutEffect(facts, lane)) return "lost_early_payment";
  if (cause === "refuses_late" && receivedCreationBefore(facts, lane, at)) return "refuses_duplicate";
  return cause === "books_again" ? rebookingCause(facts) : cause;
}

/** Whether a late event is one more duplicate: the shop received the creation of its own order before the drill. */
function receivedCreationBefore({ scope }: DuplicatesFacts, { sends }: OrderSends, at: number): boolean {
  const isRefused = (one: number): boolean => causeOf(sends, one) === "refuses_duplicate";
  return sends[at]?.name === "created_late" && !scope.ownOrders && sends.some((_, one) => isRefused(one));
}

/** The cause of events that were booked again: the first such send shows which memory the shop lacks. */
function rebookingCause({ lanes }: DuplicatesFacts): DuplicatesCause {
  const isAgain = ({ sends }: OrderSends, name: SendName): boolean =>
    sends.some((send, at) => send.name === name && send.text === "changed" && isRepeated(sends, at));
  const first = SEND_NAMES.find((name) => lanes.some((lane) => isAgain(lane, name)));
  return (first && FORGOTTEN_CAUSES[first]) ?? "books_again";
}

/** The cause, by the first send that a shop books again. */
const FORGOTTEN_CAUSES: Partial<Readonly<Record<SendName, DuplicatesCause>>> = {
  payment_last: "knows_by_header",
  after_others: "forgets_last_events",
  after_a_while: "forgets_in_time",
  after_restart: "forgets_at_restart",
};

/** Whether a payment was accepted without effect, while another order of the same kind is paid. */
function isAcceptedWithoutEffect({ lanes }: DuplicatesFacts, { kind, sends }: OrderSends): boolean {
  const isOtherPaid = lanes.some((other) => other.kind === kind && !isNeverPaid(other));
  return isOtherPaid && sends.some((send) => isPayment(send) && isAccepted(send));
}

function isNeverPaid({ sends }: OrderSends): boolean {
  return sends.every(({ view }) => view.says !== "paid");
}

/** Whether an unpaid order became paid, but an order whose payment was accepted did not. */
function booksElsewhere({ unpaid: seen, lanes }: DuplicatesFacts): boolean {
  const isUnbooked = ({ sends: [first] }: OrderSends): boolean =>
    first !== undefined && isAccepted(first) && first.view.says === "not_paid";
  return seen.some(({ view }) => view.says === "paid") && lanes.some(isUnbooked);
}

/** Whether a second payment of a kind was accepted, but did not make its order paid. */
function isSecondPaymentLost(
  { lanes }: DuplicatesFacts,
  { kind, end, sends }: OrderSends,
  send: SendFact,
): boolean {
  const isOtherPaid = lanes.some(
    (other) =>
      other.kind === kind && other.end !== end && other.sends.some(({ view }) => view.says === "paid"),
  );
  const isUnpaid = sends.every(({ view }) => view.says === "not_paid");
  return end === "declined" && isUnpaid && isOtherPaid && send.answers.length > 0 && isAccepted(send);
}

/** The most likely reason why a send does not pass; undefined if it passes. */
function causeOf(sends: readonly SendFact[], at: number): DuplicatesCause | undefined {
  const send = sends[at];
  if (send === undefined) return undefined;
  const { answers, view, wasPaid, text } = send;
  if (isPayment(send) && answers.length === 0) return "no_endpoint";
  if (answers.some(({ error }) => error === "unreachable" || error === "target_forbidden"))
    return "out_of_reach";
  if (view.says === "unknown") return readable(view);
  if (wasPaid && view.says === "not_paid")
    return send.name === "after_restart" ? "forgets_at_restart" : "forgets_payment";
  if (text === "twice") return "books_at_once";
  if (text === "kept") return "books_kept";
  if (text === "undone") return "undoes_booking";
  if (text === "changed" && isRepeated(sends, at)) return "books_again";
  if (!isAccepted(send) && wasPaid) return isRepeated(sends, at) ? "refuses_duplicate" : "refuses_late";
  if (text === "untold" && isRepeated(sends, at)) return "view_restless";
  return view.says === "paid" ? undefined : unpaidCause(sends, at);
}

/**
 * The cause if the event of a payment does not make the order paid. There is none if a later event makes it paid
 * without another delivery of the payment.
 */
function unpaidCause(sends: readonly SendFact[], at: number): DuplicatesCause | undefined {
  const send = sends[at];
  const paidBy = sends.findIndex(({ view }) => view.says === "paid");
  if (paidBy < 0) return at === sends.length - 1 ? "never_paid" : undefined;
  if (at > paidBy) return "forgets_payment";
  if (send === undefined || !isPayment(send) || !isAccepted(send)) return undefined;
  // A receiver that keeps an event until earlier events arrive acts on it without a further attempt.
  const madePaid = sends[paidBy];
  return madePaid !== undefined && isPayment(madePaid) ? "lost_early_payment" : undefined;
}

function expectedOf(sends: readonly SendFact[], at: number): Words {
  const send = sends[at];
  if (send === undefined) return ["", ""];
  if (isRepeated(sends, at)) return EXPECTED_RESULTS.unchanged;
  if (send.wasPaid) return EXPECTED_RESULTS.stillPaid;
  if (send.name === "at_once") return EXPECTED_RESULTS.paidOnce;
  return isPayment(send) ? EXPECTED_RESULTS.paidSoon : EXPECTED_RESULTS.accepted;
}

function gotOf({ answers, text, view }: SendFact): string {
  const said = readingText(view);
  const seen =
    answers.length === 0 ? STEP_RESULTS.notWanted(said) : STEP_RESULTS.answered(answersOf(answers), said);
  const tell = CHANGE_SENTENCES[text];
  return english(tell === undefined ? seen : tell(english(seen)));
}

const CHANGE_SENTENCES: Partial<Readonly<Record<SendFact["text"], (seen: string) => Words>>> = {
  changed: STEP_RESULTS.viewChanged,
  twice: STEP_RESULTS.viewTwice,
  kept: STEP_RESULTS.viewTwice,
  undone: STEP_RESULTS.viewUndone,
};

/** Whether the event was sent before and had its effect, so that it must change nothing now. */
function isRepeated(sends: readonly SendFact[], at: number): boolean {
  const send = sends[at];
  return (
    send !== undefined && send.wasPaid && sends.slice(0, at).some(({ eventId }) => eventId === send.eventId)
  );
}

function isPayment({ name }: SendFact): boolean {
  return DUPLICATE_SENDS[name].status === "succeeded";
}

function isAccepted({ answers }: SendFact): boolean {
  return answers.every(({ status }) => status !== null && status >= 200 && status < 300);
}

function answersOf(answers: SendFact["answers"]): string {
  const said = answers.map(({ status, error }) =>
    status === null ? english(STEP_RESULTS.noAnswer(error ?? "")) : String(status),
  );
  return [...new Set(said)].reduce((one, other) => english(LIST_ITEMS.and(one, other)));
}

function readable({ says, got }: OrderReading): DuplicatesCause | undefined {
  if (says !== "unknown") return undefined;
  return got === "429" ? "view_limited" : "view_unreadable";
}
