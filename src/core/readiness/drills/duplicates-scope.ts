import type { CheckoutObject } from "../../checkout/checkout.ts";
import { english, type Words } from "../../language.ts";
import { STEP_RESULTS, DUPLICATES_LIMITATIONS, LIST_ITEMS } from "../drill-sentences.ts";
import type { DrillStep } from "../drill-shapes.ts";

/** The outcomes of the drill's orders. The first checkout of each kind is paid, the second fails, and so on. */
export const ORDER_OUTCOMES = ["paid", "failed", "declined", "expired", "cancelled"] as const;
/** The outcome of an order; a `declined` attempt is followed by a payment. */
export type OrderOutcome = (typeof ORDER_OUTCOMES)[number];

/** The scope of a drill of duplicates: the orders that it covered, and the limits of its observations. */
export type DuplicatesScope = {
  readonly orders: readonly { readonly kind: CheckoutObject; readonly end: OrderOutcome }[];
  /** Whether the drill, not the shop, created the orders. */
  readonly ownOrders: boolean;
  /** Whether the store's request log contains v1 creates of both kinds. */
  readonly sellsBoth: boolean;
  readonly isQuick: boolean;
  /** Whether the view shows how often an order was booked. */
  readonly showsBookings: boolean;
  /** The number of the shop's answers with status 429. */
  readonly limited: number;
};

/** A step that passes and names a gap of the drill; `say` returns null if the gap does not exist. */
type ScopeStep = {
  readonly title: Words;
  readonly isRisk: boolean;
  readonly say: (scope: DuplicatesScope) => { readonly got: Words; readonly note: Words } | null;
};

const KINDS = {
  order: { only: STEP_RESULTS.onlyOrders, ends: LIST_ITEMS.orders },
  checkout_session: { only: STEP_RESULTS.onlySessions, ends: LIST_ITEMS.sessions },
} as const;

/** The gaps of a passed drill. Steps that are risks make the store ready only with risks. */
export const SCOPE_STEPS = {
  not_drilled: {
    title: ["outcomes that were not drilled", "没有演练的结束方式"],
    isRisk: true,
    say: (scope) => {
      const missing = kindsOf(scope).flatMap((kind) => {
        const ends = missingEnds(scope, kind).map((end) => english(LIST_ITEMS[end]));
        return ends.length === 0 ? [] : [english(KINDS[kind].ends(listOf(ends, LIST_ITEMS.listed)))];
      });
      if (missing.length === 0) return null;
      const note = DUPLICATES_LIMITATIONS.notDrilled(
        listOf(missing, LIST_ITEMS.ofBoth),
        String(ORDER_OUTCOMES.length),
      );
      return { got: missing.length === 1 ? STEP_RESULTS.oneKind : STEP_RESULTS.bothKinds, note };
    },
  },
  only_one_kind: {
    title: ["the other kind of checkout", "另一类收款单"],
    isRisk: true,
    say: (scope) => (scope.sellsBoth ? oneKind(scope) : null),
  },
  one_kind: {
    title: ["the kind of checkout", "收款单的类别"],
    isRisk: false,
    say: (scope) => (scope.sellsBoth ? null : oneKind(scope)),
  },
  status_alone: {
    title: ["the number of bookings in the view", "视图显示的入账次数"],
    isRisk: true,
    say: ({ showsBookings }) =>
      showsBookings
        ? null
        : {
            got: STEP_RESULTS.noNumber,
            note: DUPLICATES_LIMITATIONS.statusAlone,
          },
  },
  quick: {
    title: ["a payment again, after more than 30 s", "超过 30 秒后再次推送支付"],
    isRisk: true,
    say: ({ isQuick }) =>
      isQuick
        ? {
            got: STEP_RESULTS.leftOut,
            note: DUPLICATES_LIMITATIONS.quick,
          }
        : null,
  },
  rate_limited: {
    title: ["the shop's rate limit", "商店的频率限制"],
    isRisk: false,
    say: ({ limited }) =>
      limited === 0
        ? null
        : {
            got: limited === 1 ? STEP_RESULTS.limitedOnce : STEP_RESULTS.limited(String(limited)),
            note: DUPLICATES_LIMITATIONS.rateLimited,
          },
  },
} as const satisfies Readonly<Record<string, ScopeStep>>;

/** One step for each claim that a passed drill did not prove; `cause` holds the note. */
export function scopeSteps(scope: DuplicatesScope): DrillStep[] {
  return Object.entries<ScopeStep>(SCOPE_STEPS).flatMap(([name, { say }]) => {
    const said = say(scope);
    if (said === null) return [];
    const [got, cause] = [english(said.got), english(said.note)];
    return [{ name, passed: true, expected: "", got, cause, reference: null }];
  });
}

/** The risks in the steps of a drill. */
export function duplicatesRisks(steps: readonly DrillStep[]): readonly string[] {
  return steps.flatMap(({ name, cause }) => (RISKS.has(name) && cause !== null ? [cause] : []));
}

const RISKS: ReadonlySet<string> = new Set(
  Object.entries<ScopeStep>(SCOPE_STEPS).flatMap(([name, { isRisk }]) => (isRisk ? [name] : [])),
);

function oneKind(scope: DuplicatesScope): ReturnType<ScopeStep["say"]> {
  const [kind, other] = kindsOf(scope);
  if (kind === undefined || other !== undefined) return null;
  const { only } = KINDS[kind];
  const note = scope.sellsBoth ? DUPLICATES_LIMITATIONS.bothInLog : DUPLICATES_LIMITATIONS.oneKind;
  return { got: only, note: note(english(only)) };
}

function listOf(texts: readonly string[], join: (one: string, other: string) => Words): string {
  return texts.reduceRight((rest, text) => english(join(text, rest)));
}

function kindsOf({ orders }: DuplicatesScope): readonly CheckoutObject[] {
  return [...new Set(orders.map(({ kind }) => kind))];
}

function missingEnds({ orders }: DuplicatesScope, kind: CheckoutObject): readonly OrderOutcome[] {
  return ORDER_OUTCOMES.filter((end) => !orders.some((one) => one.kind === kind && one.end === end));
}
