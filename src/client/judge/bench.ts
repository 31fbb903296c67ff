import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import type { WatchedRun } from "../../core/judge/client.ts";
import type { OrderName } from "../../core/judge/step.ts";
import type { Observation, ObservedDelivery } from "../../core/judge/observation.ts";
import type { SecretPlace } from "../../core/judge/secrets.ts";
import type { StepValue } from "../../core/readiness/drill-shapes.ts";
import { englishOf, factOf } from "../../core/readiness/drills/said.ts";
import { createQueue, type StepAside } from "../../core/mutex.ts";
import type { Dialect } from "../../core/shape/dialect.ts";
import { DELIVERY_NAME_DECISIONS, differencesText } from "../../core/webhook/dialect-differences.ts";
import type { EventEntry } from "../../core/webhook/shapes.ts";
import type { World } from "../../world.ts";
import type { CallOperation, ControlTarget } from "../control/control.ts";
import { createCookieJar, type CookieJar } from "./shop/cookies.ts";
import type { JudgedEndpoint, EventVariant } from "./events.ts";
import type { ServedShop } from "./shop/served-shop.ts";
import type { EnvironmentVariables, OrderViewSource, ViewedCheckout } from "./shop/view.ts";

export type CreateMethod =
  | { readonly commandLine: string }
  | { readonly buy: () => Promise<CreateRun> }
  | { readonly url: string; readonly form: Readonly<Record<string, string>> };

export type JudgedShop = {
  readonly create?: CreateMethod | undefined;
  /** Used without `create`: returns an order that the merchant has named, or creates a checkout through v1. */
  readonly takeOrder?:
    | ((cartId: string, kind: CheckoutObject) => Promise<ViewedCheckout | undefined>)
    | undefined;
  readonly setsIds?: true | undefined;
  readonly otherMethod?: Readonly<Record<string, string>> | undefined;
  readonly commandTimeoutMs?: number | undefined;
  readonly kinds?: readonly CheckoutObject[] | undefined;
  readonly view?: OrderViewSource | undefined;
  readonly cookie?: string | undefined;
  readonly returnUrl?: string | undefined;
  /** Acts as the customer who returns, in place of a request to `returnUrl`. */
  readonly returns?: ((checkout: ViewedCheckout) => Promise<unknown>) | undefined;
  /** Kills the shop's processes that create orders, except the running command; a served shop is restarted. */
  readonly kill?: (() => Promise<void>) | undefined;
  readonly restart?: ((mode?: "stop") => Promise<void>) | undefined;
  readonly server?: Pick<ServedShop, "endings" | "restartIfEnded" | "isDown"> | undefined;
  readonly orderIdOf?: RegExp | undefined;
  readonly settleMs?: number | undefined;
  readonly env: EnvironmentVariables;
};

type JudgeWorld = Pick<World, "send" | "run" | "sleep" | "monotonic" | "now" | "uuid">;

export type Bench = {
  readonly world: JudgeWorld;
  readonly target: Pick<ControlTarget, "origin">;
  readonly call: CallOperation;
  readonly leaseId: string;
  readonly shop: JudgedShop;
  readonly newId: () => string;
  /** The service refused an order_id in the merchant's form, so later ones have a common form. */
  readonly useCommonIds?: () => void;
  readonly signal: AbortSignal;
  readonly recording: Recording;
  /** Creates whose checkouts are found by comparing lists must not overlap. */
  readonly runExclusive: <Value>(work: () => Promise<Value>) => Promise<Value>;
  readonly notes: {
    endpoints?: readonly JudgedEndpoint[];
    readonly events: Map<string, Promise<EventEntry>>;
    readonly secretPlaces: Set<SecretPlace>;
    readonly cartIds: Map<string, string>;
    readonly drawnIds: Set<string>;
    viewError?: unknown;
    /** The shop led a customer back to an ended checkout, and has created no second checkout for any order since. */
    sellsOnce?: boolean;
  };
  /** Resolves when the other histories have ended. */
  readonly awaitOthers?: () => Promise<void>;
  /** Pauses this history, so that a history that needs the whole shop can run meanwhile. */
  readonly stepAside?: StepAside;
  readonly search?: SearchedStore;
  readonly dialect?: Dialect | undefined;
};

export function dialectFacts({ dialect }: Pick<Bench, "dialect">, isPlain: boolean): readonly Observation[] {
  if (dialect === undefined) return [];
  return [{ kind: "dialect", namesText: differencesText(dialect, DELIVERY_NAME_DECISIONS), isPlain }];
}

type SearchedStore = { readonly isOwn: boolean; readonly endpointId?: string };

export type Recording = {
  readonly hasSameId: boolean;
  /** What the shop appends to the given order_id, for example `-1`. */
  readonly suffix: string;
  /** Time until a payment was shown and booked, in milliseconds; later waits follow from it. */
  readonly bookingMs: number;
  readonly namesCheckout: boolean;
  readonly answerMs: number;
  /** Whether the shop learns of payments from the API alone, because the store has no endpoint. */
  readonly isWithoutEvents?: boolean;
  readonly refusesAgain?: boolean;
};

export const NO_RECORDING: Recording = {
  hasSameId: false,
  suffix: "",
  namesCheckout: false,
  bookingMs: 0,
  answerMs: 0,
};

export type ListedCheckout = AnswerOf<"listCheckouts">["checkouts"][number];

export function createBench(
  givenParts: Pick<Bench, "world" | "target" | "call" | "shop" | "newId" | "signal"> & Partial<Bench>,
): Bench {
  const notes = {
    secretPlaces: new Set<SecretPlace>(),
    cartIds: new Map(),
    drawnIds: new Set<string>(),
    events: new Map(),
  };
  // No plain purchase measures a searched shop; a running shop uses the given order_id.
  const recording = { ...NO_RECORDING, hasSameId: givenParts.search?.isOwn === false };
  return { leaseId: "", recording, runExclusive: createQueue(), notes, ...givenParts };
}

export type OwnEvent = {
  readonly eventId: string;
  readonly type: string;
  readonly checkoutId: string;
  readonly variant?: EventVariant;
};

export type Purchase = {
  readonly name: OrderName;
  readonly cartId: string;
  readonly kind: CheckoutObject;
  checkouts: readonly ListedCheckout[];
  foreignIds: ReadonlySet<string>;
  paidCheckout: ListedCheckout | undefined;
  isNotified: boolean;
  isShared?: boolean;
  isPageUnknown?: boolean;
  /** The deliveries that the service made by itself; set when no further delivery is due. */
  deliveries?: readonly ObservedDelivery[];
  createCount: number;
  /** Events that not all endpoints have accepted so far. */
  openEvents: readonly (OwnEvent & { readonly got: StepValue })[];
  readonly ownDeliveries: { readonly at: number; readonly text: string }[];
  acceptedEvent?: OwnEvent;
  visitMs?: number;
  eventMs?: number;
  readonly cookies: CookieJar;
};

export type CreateRun = Pick<WatchedRun, "hasEnded" | "isDone" | "got" | "isWrong"> & {
  readonly text: string;
};

export function createPurchase(
  cartId: string,
  {
    kind = "order",
    name = "a",
    cookies = createCookieJar(),
  }: {
    readonly kind?: CheckoutObject | undefined;
    readonly name?: OrderName;
    readonly cookies?: CookieJar | undefined;
  } = {},
): Purchase {
  return {
    name,
    cartId,
    kind,
    checkouts: [],
    foreignIds: new Set(),
    paidCheckout: undefined,
    isNotified: false,
    createCount: 0,
    openEvents: [],
    ownDeliveries: [],
    cookies,
  };
}

export function lastCheckout({ checkouts }: Purchase): ListedCheckout {
  const checkout = checkouts.at(-1);
  if (checkout === undefined) throw new NoOrder(factOf("made_no_order"));
  return checkout;
}

export function viewedCheckout({ recording }: Pick<Bench, "recording">, purchase: Purchase): ViewedCheckout {
  const checkouts = ownCheckouts(purchase);
  const [first] = checkouts;
  const order = purchase.paidCheckout ?? checkouts.at(-1) ?? { id: "", orderId: purchase.cartId };
  // If the shop uses the given order_id, its view is read by the order_id of its first checkout.
  return recording.hasSameId && first !== undefined ? { ...order, orderId: first.orderId } : order;
}

export class NoOrder extends Error {
  override readonly name = "NoOrder";
  readonly reason: StepValue;

  constructor(reason: StepValue) {
    super(englishOf(reason));
    this.reason = reason;
  }
}

export function liveCheckouts(purchase: Purchase): readonly ListedCheckout[] {
  return ownCheckouts(purchase).filter(({ status }) => status === "succeeded" || !isFinal(status));
}

export function ownCheckouts({ checkouts, foreignIds }: Purchase): readonly ListedCheckout[] {
  return checkouts.filter(({ id }) => !foreignIds.has(id));
}
