import type { CheckoutObject } from "../../checkout/checkout.ts";
import type { DrillStep } from "../../control/drills.ts";

/** What happens to an order of the drill. Of each kind the first checkout is paid, the second fails, and so on. */
export const ORDER_ENDS = ["paid", "failed", "declined", "expired", "cancelled"] as const;
/** One of these; a `declined` attempt is followed by a payment. */
export type OrderEnd = (typeof ORDER_ENDS)[number];

/** What a drill of duplicates has looked at, and what it could not see. */
export type DuplicatesScope = {
  readonly orders: readonly { readonly kind: CheckoutObject; readonly end: OrderEnd }[];
  /** Whether the drill made the orders, and not the shop. */
  readonly ownOrders: boolean;
  /** Whether v1 creates of both kinds are in the store's log of requests. */
  readonly sellsBoth: boolean;
  readonly isQuick: boolean;
  /** Whether the view shows how often something was booked. */
  readonly showsBookings: boolean;
  /** How often the shop answered 429. */
  readonly limited: number;
};

/** A step that passes, and says what the others leave open; null where they leave nothing open. */
type ScopeStep = {
  readonly title: string;
  readonly isRisk: boolean;
  readonly say: (scope: DuplicatesScope) => { readonly got: string; readonly note: string } | null;
};

const KIND_NAMES = { order: "orders", checkout_session: "sessions" } as const;

const ENDS_IN_WORDS = {
  paid: "a payment",
  failed: "a payment that fails",
  declined: "a payment after a declined attempt, sent twice at once",
  expired: "an order that expires",
  cancelled: "an order that is cancelled",
} as const satisfies Record<OrderEnd, string>;

/** What a pass leaves open. Of these steps the risks keep the checklist from being ready without a risk. */
export const SCOPE_STEPS = {
  not_drilled: {
    title: "ends that were not drilled",
    isRisk: true,
    say: (scope) => {
      const missing = kindsOf(scope).flatMap((kind) => {
        const ends = missingEnds(scope, kind);
        return ends.length === 0
          ? []
          : [`${KIND_NAMES[kind]}: ${ends.map((end) => ENDS_IN_WORDS[end]).join(", ")}`];
      });
      if (missing.length === 0) return null;
      const note = `the drill of duplicates did not drill, of ${missing.join("; of ")}. Name ${ORDER_ENDS.length} unpaid checkouts of a kind, --checkout ID each, or let your shop make them: --create CMD`;
      return { got: `${missing.length === 1 ? "one kind" : "both kinds"}: not all`, note };
    },
  },
  only_one_kind: {
    title: "the other kind of checkout",
    isRisk: true,
    say: (scope) => (scope.sellsBoth ? oneKind(scope) : null),
  },
  one_kind: {
    title: "the kind of checkout",
    isRisk: false,
    say: (scope) => (scope.sellsBoth ? null : oneKind(scope)),
  },
  status_alone: {
    title: "how often the view says that it was booked",
    isRisk: true,
    say: ({ showsBookings }) =>
      showsBookings
        ? null
        : {
            got: "no number",
            note: "the view of the drill of duplicates shows a status alone, which cannot show a second booking: let it show how often the order was booked, such as bookings: 1",
          },
  },
  quick: {
    title: "a payment again, after more than 30 s",
    isRisk: true,
    say: ({ isQuick }) =>
      isQuick
        ? {
            got: "left out",
            note: "the drill of duplicates was run with --quick: whether a memory of events ends after 30 s was not shown",
          }
        : null,
  },
  rate_limited: {
    title: "the shop's rate limit",
    isRisk: false,
    say: ({ limited }) =>
      limited === 0
        ? null
        : {
            got: `answered 429 ${limited === 1 ? "once" : `${limited} times`}`,
            note: "the shop has a rate limit: what it refused was sent again after a pause, as a delivery would be",
          },
  },
} as const satisfies Readonly<Record<string, ScopeStep>>;

/** What a drill that passed leaves open, as steps: their causes are notes. */
export function scopeSteps(scope: DuplicatesScope): DrillStep[] {
  return Object.entries<ScopeStep>(SCOPE_STEPS).flatMap(([name, { say }]) => {
    const said = say(scope);
    if (said === null) return [];
    return [{ name, passed: true, expected: "", got: said.got, cause: said.note, reference: null }];
  });
}

/** The risks that the steps of a drill tell. */
export function duplicatesRisks(steps: readonly DrillStep[]): readonly string[] {
  return steps.flatMap(({ name, cause }) => (RISKS.has(name) && cause !== null ? [cause] : []));
}

const RISKS: ReadonlySet<string> = new Set(
  Object.entries<ScopeStep>(SCOPE_STEPS).flatMap(([name, { isRisk }]) => (isRisk ? [name] : [])),
);

function oneKind(scope: DuplicatesScope): ReturnType<ScopeStep["say"]> {
  const [kind, other] = kindsOf(scope);
  if (kind === undefined || other !== undefined) return null;
  const only = `only ${KIND_NAMES[kind]} were drilled`;
  return {
    got: only,
    note: `${only} for duplicates${scope.sellsBoth ? ", and the store's log shows creates of both kinds" : ""}`,
  };
}

function kindsOf({ orders }: DuplicatesScope): readonly CheckoutObject[] {
  return [...new Set(orders.map(({ kind }) => kind))];
}

function missingEnds({ orders }: DuplicatesScope, kind: CheckoutObject): readonly OrderEnd[] {
  return ORDER_ENDS.filter((end) => !orders.some((one) => one.kind === kind && one.end === end));
}
