// A combination has at most one place of each kind; its name lists its places: second_failed.payment_first.
import type { Words } from "../../language.ts";
import type { ScheduledFault } from "../schedule.ts";
import { MAX_TIMES, type History, type ReturnForm, type Step } from "../step.ts";
import {
  API,
  apiAnswers,
  atOnce,
  BUY_AGAIN,
  causedBy,
  CREATE,
  CREATE_EARLY,
  end,
  endedAttempt,
  EVENTS_AGAIN,
  LOOK,
  LOST_WITHOUT_API_CAUSES,
  NEW_ORDER,
  on,
  PAY,
  RETURN_LOSS_CAUSES,
  SECOND_ATTEMPT_CAUSES,
  SLOW_API_MS,
  SLOW_QUESTION_MS,
  startNow,
  TELL,
  TELL_CREATED,
  TELL_PAID,
  tellAs,
  tellFrom,
  tellOnly,
  VISIT,
  visitAs,
  wait,
  waitForOthers,
  type FaultsStep,
  type OrderStep,
  type UnpaidEnd,
} from "./steps.ts";

type Place = Pick<History, "title" | "needs" | "causes" | "isLong"> & {
  readonly kind: (typeof PLACE_KINDS)[number];
  readonly part?: History["part"];
  readonly start?: readonly OrderStep[];
  readonly api?: FaultsStep;
  readonly payment?: (events: readonly Step[], api: FaultsStep) => readonly Step[];
  readonly events?: readonly OrderStep[];
  readonly after?: readonly Step[];
};

/**
 * If several places of a combination have a cause for the broken rule, the cause of the last kind in this list is
 * reported.
 */
const PLACE_KINDS = ["api", "events", "attempt", "moment", "later"] as const;

const TELL_FIRST = tellFrom("first");

const SLOW_CREATE: ScheduledFault = {
  action: "latency",
  latencyMs: SLOW_API_MS,
  match: { method: "POST" },
  times: MAX_TIMES,
};

const SLOW_QUESTION = apiAnswers({ action: "latency", latencyMs: SLOW_QUESTION_MS });

const SECOND_ATTEMPT = {
  kind: "attempt",
  needs: ["create", "setsIds"],
  causes: SECOND_ATTEMPT_CAUSES,
  after: [TELL_FIRST, LOOK],
} as const;

/** Events of the first attempt arrive again before and after the payment. */
function laterAttempt(title: Words, ...outcomes: readonly UnpaidEnd[]): Place {
  const start = [...outcomes.flatMap(endedAttempt), CREATE, TELL_CREATED, TELL_FIRST];
  return { ...SECOND_ATTEMPT, title, start };
}

/**
 * The customer pays, and the events arrive, while the shop asks a slow API for a return page. The page is timed with
 * another order, because a shop may do some work only at the first return to an order.
 */
function withinReturn(
  share: number,
  title: Words,
  {
    form = {},
    before = [],
    events: ownEvents,
    after = [],
    api: slowApi = API.slow,
  }: {
    readonly form?: ReturnForm;
    readonly before?: readonly OrderStep[];
    readonly events?: readonly OrderStep[];
    readonly after?: readonly Step[];
    readonly api?: FaultsStep;
  } = {},
): Place {
  return {
    kind: "moment",
    title,
    part: "browser_return",
    needs: ["returnUrl"],
    causes: RETURN_LOSS_CAUSES,
    api: slowApi,
    payment: (events, api) => [
      ...on("b", ...NEW_ORDER),
      { ...api, of: "b" },
      ...on("b", VISIT),
      api,
      ...before,
      atOnce(startNow(visitAs(form), ...after), {
        steps: [PAY, ...(ownEvents ?? events)],
        share,
        during: "visit",
      }),
    ],
  };
}

/** Waits for more than 30 s, by which time a shop may have forgotten the event or shipped the order. */
function later(title: Words, steps: readonly OrderStep[], other: Partial<Place>): Place {
  return { kind: "later", title, isLong: true, after: [waitForOthers(31_000), ...steps], ...other };
}

export const PLACES = {
  webhook_slow_api: {
    kind: "api",
    title: ["a payment while the API takes 0.3 s", "API 需要 0.3 秒响应时的支付"],
    needs: ["create"],
    api: API.slow,
  },
  webhook_slower_api: {
    kind: "api",
    title: ["a payment while the API takes 3 s", "API 需要 3 秒响应时的支付"],
    needs: ["create"],
    api: apiAnswers({ action: "latency", latencyMs: 3000 }),
    causes: LOST_WITHOUT_API_CAUSES,
  },
  webhook_without_api: {
    kind: "api",
    title: ["a payment while the API answers 503 for 2 s", "API 持续 2 秒返回 503 期间的支付"],
    needs: ["create"],
    api: API.busy,
    causes: LOST_WITHOUT_API_CAUSES,
  },
  webhook_cut_answer: {
    kind: "api",
    title: ["a payment while the API cuts its answers", "API 截断响应时的支付"],
    needs: ["create"],
    api: apiAnswers({ action: "truncate" }),
    causes: LOST_WITHOUT_API_CAUSES,
  },
  payment_first: {
    kind: "events",
    title: ["the payment before all other events, which arrive late", "支付事件先于其他事件，其他事件迟到"],
    events: [TELL_PAID, TELL_PAID, tellOnly("created", "pending")],
    causes: { booked_once: "books_again", booked_when_paid: "lost_early", final_stays: "goes_back" },
  },
  payment_again: {
    kind: "events",
    title: ["all events again, also with another id in the header", "再次推送所有事件，包括请求头 ID 不同的"],
    events: [TELL, TELL, TELL_PAID, tellAs("other_id"), tellAs("late")],
    causes: { booked_once: "books_again", final_stays: "goes_back" },
  },
  payment_alone: {
    kind: "events",
    title: ["the payment without other events", "只收到支付事件"],
    events: [TELL_PAID],
    causes: { booked_when_paid: "lost_early" },
  },
  payment_then_new_type: {
    kind: "events",
    title: ["a paid order, then an event of a type from a later version", "支付后收到后续版本类型的事件"],
    events: [TELL, tellAs("new_type", "succeeded")],
    causes: causedBy("books_unknown_type", "booked_once", "final_stays"),
  },
  second_cancelled: laterAttempt(["a second attempt after a cancellation", "取消后再次下单"], "cancelled"),
  second_failed: laterAttempt(["a second attempt after a failed payment", "支付失败后再次下单"], "failed"),
  second_expired: laterAttempt(["a second attempt after an expiry", "过期后再次下单"], "expired"),
  second_early: {
    ...SECOND_ATTEMPT,
    title: ["a second attempt before the shop knows that the first ended", "商店得知首单结束之前再次下单"],
    start: [...NEW_ORDER, end("failed"), CREATE_EARLY, TELL_CREATED, TELL_FIRST],
  },
  third_attempt: laterAttempt(
    ["a third attempt after two unpaid attempts", "两次未支付后第三次下单"],
    "failed",
    "cancelled",
  ),
  fifth_attempt: laterAttempt(
    ["a fifth attempt after four unpaid attempts", "四次未支付后第五次下单"],
    "failed",
    "cancelled",
    "failed",
    "failed",
  ),
  third_early: {
    ...SECOND_ATTEMPT,
    title: [
      "a third attempt, paid before the shop knows that the others ended",
      "商店得知前两单结束之前第三次下单并支付",
    ],
    start: [...NEW_ORDER, end("failed"), CREATE_EARLY, end("failed"), CREATE_EARLY, TELL_CREATED],
  },
  return_begun: withinReturn(
    0.2,
    ["a payment at the start of a return page, which is reloaded", "返回页面生成之初支付，随后刷新页面"],
    { before: [end("pending"), tellOnly("pending")], events: [TELL_PAID], after: [API.up, VISIT] },
  ),
  return_half: withinReturn(0.5, ["a payment halfway through a return page", "返回页面生成中途支付"]),
  return_ending: withinReturn(0.8, ["a payment at the end of a return page", "返回页面生成末尾支付"]),
  return_closed: withinReturn(0.8, ["a return page that the customer closes", "顾客中途关闭返回页面"], {
    form: { isClosed: true },
  }),
  return_during_pending: withinReturn(
    0.3,
    ["a payment that succeeds while a return page reads it as pending", "返回页面读到处理中时支付成功"],
    { before: [end("pending")], api: SLOW_QUESTION },
  ),
  return_same_moment: {
    kind: "moment",
    title: ["the webhook and two returns at the same moment", "Webhook 与两次返回同时到达"],
    part: "browser_return",
    needs: ["returnUrl"],
    causes: { booked_once: "books_by_both", booked_when_paid: "books_by_both" },
    payment: (events) => [PAY, atOnce({ tell: "a" }, { visit: "a" }, { visit: "a" }), ...events],
  },
  bought_during_payment: {
    kind: "moment",
    title: ["an order bought again while its payment event is handled", "处理支付事件期间再次下单"],
    part: "idempotency",
    needs: ["create", "setsIds"],
    causes: { booked_when_paid: "gives_up_again", final_stays: "create_resets" },
    // The shop may send its create again, or ask about the checkout.
    api: { ...API.slow, faults: [...API.slow.faults, SLOW_CREATE] },
    payment: (events) => [
      atOnce(startNow(BUY_AGAIN), {
        steps: [PAY, ...events],
        share: 0.5,
        during: "event",
        delayMs: SLOW_API_MS,
      }),
    ],
  },
  paid_while_pending: {
    kind: "moment",
    title: ["a payment while your shop handles the pending event", "处理支付处理中事件期间支付"],
    needs: ["create"],
    causes: causedBy("overwrites_later", "booked_when_paid", "final_stays"),
    api: SLOW_QUESTION,
    // A second delivery of the payment would hide that the first one was skipped.
    payment: () => [
      end("pending"),
      atOnce(startNow(tellOnly("pending")), {
        steps: [PAY, TELL_PAID],
        share: 0.3,
        during: "event",
        delayMs: SLOW_QUESTION_MS,
      }),
    ],
  },
  pending_in_outage: {
    kind: "moment",
    title: ["a payment that is pending while the API answers 503", "API 返回 503 期间处理中的支付"],
    needs: ["create"],
    causes: LOST_WITHOUT_API_CAUSES,
    payment: (events) => [end("pending"), tellOnly("pending"), API.busy, wait(2500), API.up, PAY, ...events],
  },
  much_later: later(
    ["the same payment event again, more than 30 s later", "超过 30 秒后再次推送同一支付事件"],
    [TELL_PAID, LOOK],
    { causes: { booked_once: "forgets" } },
  ),
  later_events: later(
    ["other events of a paid order again, more than 30 s later", "超过 30 秒后再次收到已支付订单的其他事件"],
    [tellOnly("pending"), LOOK, tellOnly("created"), LOOK],
    { causes: { final_stays: "goes_back" } },
  ),
  later_first_events: later(
    ["events of the first attempt again, more than 30 s later", "超过 30 秒后再次收到首单的事件"],
    [TELL_FIRST, LOOK],
    { causes: { final_stays: "goes_back", booked_once: "forgets" } },
  ),
  later_purchase: later(
    ["a paid order bought again, more than 30 s later", "支付超过 30 秒后再次下单"],
    [BUY_AGAIN, LOOK],
    {
      needs: ["create", "setsIds"],
      causes: { final_stays: "create_resets", one_order: "pays_twice" },
    },
  ),
  later_return: later(
    ["a return to a paid order, more than 30 s later", "支付超过 30 秒后返回"],
    [VISIT, LOOK],
    {
      part: "browser_return",
      needs: ["returnUrl"],
      causes: { booked_once: "books_by_both", final_stays: "lost_by_return" },
    },
  ),
} as const satisfies Readonly<Record<string, Place>>;

type PlaceName = keyof typeof PLACES;
type Combination = readonly PlaceName[];

export function combinationName(places: Combination): string {
  return places.join(SEPARATOR);
}

const SEPARATOR = ".";

/** Undefined if the name lists an unknown place, or two of one kind. */
export function placesIn(name: string): Combination | undefined {
  const places = name.split(SEPARATOR);
  if (!places.every(isPlace)) return undefined;
  return new Set(places.map((place) => PLACES[place].kind)).size === places.length ? places : undefined;
}

function isPlace(name: string): name is PlaceName {
  return Object.hasOwn(PLACES, name);
}

export function historyOfPlaces(names: Combination): History {
  const places: Readonly<Partial<Record<Place["kind"], Place>>> = Object.fromEntries(
    names.map((name) => [PLACES[name].kind, PLACES[name]]),
  );
  const sortedPlaces = PLACE_KINDS.flatMap((kind) => places[kind] ?? []);
  const titles = names.map((name): Words => PLACES[name].title);
  return {
    part: sortedPlaces.findLast(({ part }) => part !== undefined)?.part ?? "duplicates",
    title: [titles.map(([english]) => english).join("; "), titles.map(([, chinese]) => chinese).join("；")],
    needs: [...new Set(sortedPlaces.flatMap(({ needs = [] }) => needs))],
    causes: Object.assign({}, ...sortedPlaces.map(({ causes = {} }) => causes)),
    ...(sortedPlaces.some(({ isLong }) => isLong) && { isLong: true }),
    steps: stepsOf(places),
  };
}

function stepsOf({
  attempt,
  moment,
  events,
  api,
  later: last,
}: Readonly<Partial<Record<Place["kind"], Place>>>): readonly Step[] {
  const eventSteps = events?.events ?? [TELL];
  const apiStep = api?.api ?? moment?.api;
  return [
    attempt?.start ?? NEW_ORDER,
    apiStep ?? [],
    moment?.payment?.(eventSteps, apiStep ?? API.up) ?? [PAY, ...eventSteps],
    apiStep === API.busy ? wait(2000) : [],
    apiStep === undefined ? [] : API.up,
    EVENTS_AGAIN,
    last?.after ?? attempt?.after ?? [],
  ].flat();
}

/** Five places of each of four kinds; `undefined`: no place. */
const PAIRED = {
  attempt: [undefined, "second_failed", "second_early", "third_attempt", "third_early"],
  moment: [undefined, "return_half", "return_same_moment", "return_closed", "bought_during_payment"],
  events: [undefined, "payment_first", "payment_again", "payment_alone", "payment_then_new_type"],
  api: [undefined, "webhook_slow_api", "webhook_slower_api", "webhook_without_api", "webhook_cut_answer"],
} as const satisfies Readonly<Partial<Record<Place["kind"], readonly (PlaceName | undefined)[]>>>;

const EARLIER_ATTEMPTS = ["second_failed", "third_early"] as const;

/**
 * With five places of a kind, a prime number, the rows of an orthogonal array contain each pair of two columns exactly
 * once. Places that the shop does not have are left out.
 */
export function pairedCombinations(hasPlace: (place: PlaceName) => boolean): readonly Combination[] {
  const { attempt, moment, events, api } = PAIRED;
  const size = attempt.length;
  const rows = attempt.flatMap((attemptPlace, row) =>
    moment.map((momentPlace, column) => [
      attemptPlace,
      momentPlace,
      events[(row + column) % size],
      api[(row + 2 * column) % size],
    ]),
  );
  const laterPlaces = (Object.keys(PLACES) as PlaceName[]).filter((name) => PLACES[name].kind === "later");
  const lateRows = EARLIER_ATTEMPTS.flatMap((earlier) => laterPlaces.map((place) => [earlier, place]));
  // The slowest start first, because the batch ends with its last history.
  const sortedRows = rows.toSorted((left, right) => Number(isSlow(right)) - Number(isSlow(left)));
  const combinations = [...lateRows, ...sortedRows]
    .map((row): Combination => row.filter((place) => place !== undefined).filter(hasPlace))
    .filter(({ length }) => length > 1);
  return [...new Map(combinations.map((places) => [combinationName(places), places])).values()];
}

function isSlow(row: readonly (PlaceName | undefined)[]): boolean {
  return row.includes("webhook_slower_api");
}
