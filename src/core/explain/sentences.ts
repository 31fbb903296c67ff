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
    `delivery of ${type}: ${state} after ${tries} ${tries === 1 ? "try" : "tries"}`,
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
  attemptEnded: (number: number, outcome: string | null) => [
    `payment attempt ${number} ${outcome ?? "ended"}`,
    null,
  ],
  attemptLate: (number: number, result: AttemptResult) => [
    `payment attempt ${number} ${result} too late: recorded, not applied (decision 10)`,
    null,
  ],
  noAnswer: ["no answer", null],
  nothing: ["nothing", null],
  /** What a delivery is called, by why it is made. */
  called: {
    event: ["delivery", null],
    replay: ["replay", null],
    duplicate: ["duplicate by a fault", null],
  } satisfies Readonly<Record<DeliveryEntry["cause"], Sentence>>,
  toEndpoint: (called: string, endpoint: string) => [`${called} to endpoint ${endpoint}`, null],
  nextTry: ["the next try", null],
  dropped: ["dropped: it is not delivered", null],
  held: (what: string) => [`${what} waits: its endpoint is paused (checkout endpoints list says why)`, null],
  due: (what: string) => [`${what} is due`, null],
  waits: (what: string) => [`${what} waits, for earlier events or its time; it is due then`, null],
  underWay: ["under way", null],
  injected: (fault: string) => [`the injected fault ${fault}`, null],
  sameCause: ["same cause", null],
} satisfies Sentences;

/** Sentences by their facts; those with something in them are functions of it. */
type Sentences = { readonly [fact: string]: Sentence | ((...values: never[]) => Sentence) | Sentences };
