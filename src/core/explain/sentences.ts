import type { Status } from "../checkout/checkout.ts";
import type { AttemptResult } from "../checkout/payment.ts";
import type { Sentence } from "../text.ts";
import type { DeliveryEntry } from "../control/webhook.ts";

const AGAIN = "the same order_id may be created again with a new key";

/** What an explanation says, and each line of a story: a row for each fact. Causes stand with what helps. */
export const SENTENCES = {
  /** What the status of a checkout means. */
  status: {
    created: (expires) => [`its payment page was not used yet; it expires at ${expires}`, null],
    pending: (expires) => [`the payer has begun; it expires at ${expires}`, null],
    succeeded: () => ["paid, and final", null],
    failed: () => [`not paid, and final: ${AGAIN}`, null],
    cancelled: () => [`the payer cancelled, and that is final: ${AGAIN}`, null],
    expired: (expires) => [`nobody paid before ${expires}, and that is final: ${AGAIN}`, null],
  } satisfies Readonly<Record<Status, (expires: string) => Sentence>>,
  newest: (count: number) => [`the newest of ${count} checkouts of this order_id`, null],
  noCheckout: (refused: number) => [
    `no checkout was made with this order_id; ${refused === 1 ? "1 request was" : `${refused} requests were`} refused`,
    null,
  ],
  notWanted: ["no endpoint wanted it when it happened", null],
  sent: (taken: number, all: number) => [`${taken} of ${all} deliveries succeeded`, null],
  delivery: (type: string, state: string, tries: number) => [
    `delivery of ${type}: ${state} after ${tries} ${tries === 1 ? "attempt" : "attempts"}`,
    null,
  ],
  notAnswered: ["was not answered, and nothing was done", null],
  answered: (status: number) => [`was answered ${status}`, null],
  answerLost: (status: number) => [`was answered ${status}, and the answer was lost`, null],
  isReplay: [", with the bytes of the first answer of its key: nothing was created", null],
  wasReplayed: ["; later requests with its key were answered with the same bytes, and created nothing", null],
  pageOpened: ["payment page opened", null],
  browserReturned: (target: string | null) => [
    `browser returned to ${target ?? "the shop"} (proves nothing)`,
    null,
  ],
  attemptStarted: (number: number) => [`payment attempt ${number} started`, null],
  attempt: (number: number) => [`payment attempt ${number}`, null],
  attemptEnded: (number: number, outcome: string | null, left: number) => [
    `payment attempt ${number} ${outcome ?? "ended"}${outcome === "declined" ? `, ${left} left` : ""}`,
    null,
  ],
  attemptLate: (number: number, result: AttemptResult) => [
    `payment attempt ${number} ${result} too late: recorded, not applied (decision 10)`,
    null,
  ],
  noAnswer: ["no answer", null],
  nothing: ["nothing", null],
  /** What a delivery is called, by why it is made; the event's own stands without a name. */
  called: {
    replay: ["replay", null],
    duplicate: ["duplicate by a fault", null],
  } satisfies Readonly<Record<Exclude<DeliveryEntry["cause"], "event">, Sentence>>,
  endpoints: (count: number) => [`${count} endpoints`, null],
  nextAttempt: (span: string) => [`next attempt in ${span}`, null],
  dueNow: ["next attempt due", null],
  dueAttempt: (number: number, type: string, endpoint: string) => [
    `attempt ${number} of ${type} → ${endpoint}`,
    null,
  ],
  expires: ["the checkout expires", null],
  settles: ["the payment is settled", null],
  dropped: ["dropped, not delivered", null],
  givenUp: ["given up", null],
  held: ["waits: its endpoint is paused (checkout endpoints list says why)", null],
  waits: ["waits for earlier events or its time", null],
  setBack: ["the clock was set back", null],
  underWay: ["under way", null],
  injected: (fault: string) => [`the injected fault ${fault}`, null],
  sameCause: ["same cause", null],
} satisfies Sentences;

/** Sentences by their facts; those with something in them are functions of it. */
type Sentences = { readonly [fact: string]: Sentence | ((...values: never[]) => Sentence) | Sentences };
