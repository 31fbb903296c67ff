import type { DeliveryError } from "../../webhook/delivery.ts";
import type { DrillStep } from "../../control/drills.ts";
import type { JudgedDrill } from "./drill.ts";
import { sayOf, type OrderView } from "./order-view.ts";

/** The statuses whose events the drill sends: those of a checkout that was paid at once. */
export type SentStatus = "created" | "pending" | "succeeded";

/**
 * What is sent, in this order: the event of the payment before those that came before it, each again when newer ones
 * have come. Each step is one event of a real order, rightly signed, to each endpoint that wants it.
 */
export const DUPLICATE_SENDS = {
  payment_first: { title: "the payment, before all other events", status: "succeeded" },
  payment_again: { title: "the payment again", status: "succeeded" },
  created_late: { title: "the creation, late", status: "created" },
  pending_late: { title: "the start of the payment, late", status: "pending" },
  payment_after_late: { title: "the payment, after the late ones", status: "succeeded" },
  created_again: { title: "the creation again", status: "created" },
  payment_last: { title: "the payment once more", status: "succeeded" },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly status: SentStatus }>>;

/** The name of a send. */
export type SendName = keyof typeof DUPLICATE_SENDS;

/** The names of all sends, in their order. */
export const SEND_NAMES = Object.keys(DUPLICATE_SENDS) as readonly SendName[];

/** What an endpoint answered, or why there is no answer. */
type EndpointAnswer = { readonly status: number | null; readonly error: DeliveryError | null };

/** One event that was sent, and what came of it. */
export type SendFact = {
  readonly name: SendName;
  readonly eventId: string;
  /** Of each endpoint that wants events of this type. */
  readonly answers: readonly EndpointAnswer[];
  /** Whether the merchant had said paid before it was sent. */
  readonly wasPaid: boolean;
  /** What the merchant said afterwards; of several answers the first that is not `paid`, if it was paid before. */
  readonly view: OrderView;
  /** Whether the view changed otherwise; `untold` if that cannot be told apart from what changes by itself. */
  readonly text: "same" | "changed" | "untold" | "not_compared";
};

/** What was seen of one order. */
export type DuplicatesFacts = {
  readonly checkoutId: string;
  /**
   * Of another order, which nobody pays, after the event of its creation: shows that the view tells one from the other.
   * Null where the merchant has made the order itself, and so knew it before the payment.
   */
  readonly other: { readonly checkoutId: string; readonly view: OrderView } | null;
  /** Before the payment. */
  readonly before: OrderView;
  /**
   * Of the other order, or of this one where there is none, after a badly signed event of a payment that nobody has made;
   * of the other order once more at the end. Null where it was not sent, or not asked again.
   */
  readonly forged: {
    readonly checkoutId: string;
    readonly view: OrderView;
    readonly atTheEnd: OrderView | null;
  } | null;
  /**
   * After the payment, while its events were held back. Paid can be said then only by who asks the service: the shop,
   * which keeps the answer, or the view, at each reading. Null where it did not come to that.
   */
  readonly held: { readonly view: OrderView; readonly askedBy: "shop" | "view" | "nobody" } | null;
  /** Empty where the view was of no use before. */
  readonly sends: readonly SendFact[];
};

/** The likely cause of a failed or unclear step. The list is closed. */
export const DUPLICATES_CAUSES = {
  books_again:
    "The view of the order changed although the event had come before: it most likely books each delivery. Events may come twice: keep the event_id of each event that you have acted on, in the same transaction as the act, and answer 2xx for a known one without acting again. (If the view counts deliveries or shows when it was last written, let it show the order alone.)",
  forgets_payment:
    "The order is no longer paid after an older event came late: it most likely writes whatever the last event says. Never go back from a final status: compare the sequence of events, or ask GET /v1/checkout-sessions/{id}.",
  lost_early_payment:
    "It answered 2xx to the event of the payment, which came before that of the order's creation, and did nothing; then nobody sends it again. Act on an event whatever came before it, keep it for later, or answer 5xx so that it comes again.",
  refuses_duplicate:
    "It does not answer 2xx to an event that it has had, so the event would be sent again and again, and hold back those after it. Answer 2xx for what is known already.",
  refuses_late:
    "It does not answer 2xx to an event that comes late, so the event would be sent again and again, and hold back those after it. Answer 2xx, and leave the order as it is.",
  paid_from_the_start:
    "The view says paid before anybody has paid: --paid-when also matches an unpaid order (does paid match unpaid?), or the view shows another order.",
  never_paid:
    "The order was paid and the view does not say so, so its answers prove nothing. The events were not accepted (see what was answered; checkout checklist run webhooks tells why), --paid-when does not match, or your shop does not know orders that it has not created: create one there, and name it with --checkout.",
  books_unverified:
    "The order is paid after a badly signed event, although the payment never happened: it acts on an event before, or without, verifying it. Verify first, and do nothing with an event that is not right.",
  paid_in_the_end:
    "The view says paid of an order that nobody has paid, after another one was paid: it shows another order, or the shop has acted on a badly signed event after a while.",
  view_of_service:
    "The view said paid before any event was delivered: it asks the service, not your shop, so it cannot show what your shop does with events. Show what your shop has stored.",
  view_unreadable:
    "The view of the order could not be read: it must answer 2xx, or 404 for an unknown order; a command must exit with 0.",
  view_restless:
    "The view changes by itself, so a second booking cannot be told. Let it show the order alone, with its bookings.",
  out_of_reach: "The endpoint could not be reached, so it is not known what your shop does.",
  no_endpoint:
    "No enabled endpoint gets the event of the payment: see --events of checkout endpoints list, and add the types of orders and sessions.",
} as const;

/** A cause of the closed list. */
export type DuplicatesCause = keyof typeof DUPLICATES_CAUSES;

/** Failures of the merchant; all other causes leave open what the shop does. */
const FAILURES: ReadonlySet<DuplicatesCause> = new Set([
  "books_again",
  "forgets_payment",
  "lost_early_payment",
  "refuses_duplicate",
  "refuses_late",
  "books_unverified",
]);

/** What a view said in a step, of which checkout, and why the step does not pass; undefined if it does. */
type Seen = {
  readonly got: string;
  readonly reference: string;
  readonly cause: DuplicatesCause | undefined;
};

/** A step that looks at the view; null where it did not come to that. */
type ViewStep = {
  readonly title: string;
  readonly expected: string;
  readonly see: (facts: DuplicatesFacts) => Seen | null;
};
type ViewSteps = Readonly<Record<string, ViewStep>>;

const STEPS_BEFORE = {
  another_order: {
    title: "another order, not paid",
    expected: "not paid",
    see: ({ other }) => other && unpaid(other.view, other.checkoutId, "paid_from_the_start"),
  },
  before_the_payment: {
    title: "before the payment",
    expected: "not paid",
    see: ({ before, checkoutId }) => unpaid(before, checkoutId, "paid_from_the_start"),
  },
  forged_payment: {
    title: "a forged payment, badly signed",
    expected: "not paid",
    see: ({ forged }) => forged && unpaid(forged.view, forged.checkoutId, "books_unverified"),
  },
  before_its_events: {
    title: "paid, and its events held back",
    expected: "not paid, unless your shop has asked the API",
    see: ({ held, checkoutId }) => held && whileHeld(held, checkoutId),
  },
} as const satisfies ViewSteps;

const STEPS_AFTER = {
  forged_in_the_end: {
    title: "the order of the forged payment, in the end",
    expected: "not paid",
    see: ({ forged }) =>
      forged && forged.atTheEnd && unpaid(forged.atTheEnd, forged.checkoutId, "paid_in_the_end"),
  },
} as const satisfies ViewSteps;

/** The steps of the drill, in their order. */
export const DUPLICATES_STEPS = { ...STEPS_BEFORE, ...DUPLICATE_SENDS, ...STEPS_AFTER };

/** Decides the result by the merchant's own word, which counts only if it was "not paid" at first and "paid" later. */
export function judgeDuplicates(facts: DuplicatesFacts): JudgedDrill {
  const { sends } = facts;
  const start = viewSteps(STEPS_BEFORE, facts);
  const causes = sends.map((_send, at) => causeOf(sends, at));
  const sent = sends.map((send, at) =>
    stepOf(send.name, expectedOf(sends, at), {
      cause: causes[at],
      got: `${answersOf(send)}; ${sayOf(send.view)}${send.text === "changed" ? "; the view changed" : ""}`,
      reference: send.eventId,
    }),
  );
  const steps = [...start, ...sent, ...viewSteps(STEPS_AFTER, facts)];
  if (sends.length === SEND_NAMES.length && steps.every(({ passed }) => passed))
    return { verdict: "passed", steps };
  if (booksUnverified(facts)) return { verdict: "failed", steps };
  // Where the view is wrong from the start, or never says paid, nothing that it says counts.
  const counts = start.every(({ passed }) => passed) && sends.some(({ view }) => view.says === "paid");
  const failed = counts && causes.some((cause) => cause !== undefined && FAILURES.has(cause));
  return { verdict: failed ? "failed" : "unknown", steps };
}

function viewSteps(rows: ViewSteps, facts: DuplicatesFacts): DrillStep[] {
  return Object.entries(rows).flatMap(([name, { expected, see }]) => {
    const seen = see(facts);
    return seen === null ? [] : [stepOf(name, expected, seen)];
  });
}

function stepOf(name: string, expected: string, { cause, got, reference }: Seen): DrillStep {
  const text = cause === undefined ? null : DUPLICATES_CAUSES[cause];
  return { name, passed: text === null, expected, got, cause: text, reference };
}

/** The view of an order that nobody has paid. */
function unpaid(view: OrderView, reference: string, ifPaid: DuplicatesCause): Seen {
  return { got: sayOf(view), reference, cause: view.says === "paid" ? ifPaid : readable(view) };
}

function whileHeld({ view, askedBy }: NonNullable<DuplicatesFacts["held"]>, reference: string): Seen {
  const isPaid = view.says === "paid";
  if (isPaid && askedBy !== "shop") return { got: sayOf(view), reference, cause: "view_of_service" };
  return {
    got: `${sayOf(view)}${isPaid ? " (it has asked the API)" : ""}`,
    reference,
    cause: readable(view),
  };
}

/** Whether an order that was shown to be unpaid was paid after a badly signed event. */
function booksUnverified({ other, before, forged }: DuplicatesFacts): boolean {
  const wasUnpaid = before.says === "not_paid" && (other?.view.says ?? "not_paid") === "not_paid";
  return wasUnpaid && forged?.view.says === "paid";
}

/** The likeliest reason why a send does not pass; undefined if it does. */
function causeOf(sends: readonly SendFact[], at: number): DuplicatesCause | undefined {
  const send = sends[at];
  if (send === undefined) return undefined;
  const { answers, view, wasPaid, text } = send;
  if (isPayment(send) && answers.length === 0) return "no_endpoint";
  if (answers.some(({ error }) => error === "unreachable" || error === "target_forbidden"))
    return "out_of_reach";
  if (view.says === "unknown") return "view_unreadable";
  if (wasPaid && view.says === "not_paid") return "forgets_payment";
  if (text === "changed" && isRepeated(sends, at)) return "books_again";
  if (!isAccepted(send) && wasPaid) return isRepeated(sends, at) ? "refuses_duplicate" : "refuses_late";
  if (text === "untold" && isRepeated(sends, at)) return "view_restless";
  return view.says === "paid" ? undefined : unpaidCause(sends, at);
}

/** An event of a payment that does not make the order paid may do so later, or have to come again. */
function unpaidCause(sends: readonly SendFact[], at: number): DuplicatesCause | undefined {
  const send = sends[at];
  const paidBy = sends.findIndex(({ view }) => view.says === "paid");
  if (paidBy < 0) return at === sends.length - 1 ? "never_paid" : undefined;
  if (at > paidBy) return "forgets_payment";
  if (send === undefined || !isPayment(send) || !isAccepted(send)) return undefined;
  // One that was kept until the events before it came is acted on without a further try.
  const madePaid = sends[paidBy];
  return madePaid !== undefined && isPayment(madePaid) ? "lost_early_payment" : undefined;
}

function expectedOf(sends: readonly SendFact[], at: number): string {
  const send = sends[at];
  if (send === undefined) return "";
  if (isRepeated(sends, at)) return "2xx, paid, and the view unchanged";
  if (send.wasPaid) return "2xx, still paid";
  return isPayment(send) ? "paid, now or when the others have come" : "2xx";
}

/** Whether the event had come before and done its work, so that it has to change nothing. */
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

function answersOf({ answers }: SendFact): string {
  const said = answers.map(({ status, error }) =>
    status === null ? `no answer (${error ?? ""})` : String(status),
  );
  return said.length === 0 ? "not wanted by any endpoint" : `answered ${[...new Set(said)].join(" and ")}`;
}

function readable({ says }: OrderView): DuplicatesCause | undefined {
  return says === "unknown" ? "view_unreadable" : undefined;
}
