// The shop and the sandbox of a run, and the state of each purchase. Steps that use them: client/judge/play.ts.
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

/** How the shop creates an order: a command, a function of a test suite, or a POST to one of its pages. */
export type CreateMethod =
  | { readonly commandLine: string }
  | { readonly buy: () => Promise<CreateRun> }
  | { readonly url: string; readonly form: Readonly<Record<string, string>> };

export type JudgedShop = {
  readonly create?: CreateMethod | undefined;
  /** Takes an unpaid checkout of the shop or, for a shop without `create`, a checkout that the run creates through v1. */
  readonly takeOrder?:
    | ((cartId: string, kind: CheckoutObject) => Promise<ViewedCheckout | undefined>)
    | undefined;
  /** Set if the run chooses the order_ids. */
  readonly setsIds?: true | undefined;
  /** The field of the create's form with a payment method of the store, and another active method as its value. */
  readonly otherMethod?: Readonly<Record<string, string>> | undefined;
  readonly commandTimeoutMs?: number | undefined;
  /** The kinds of checkouts that the run creates. */
  readonly kinds?: readonly CheckoutObject[] | undefined;
  /** Default: none; then only the created orders are judged. */
  readonly view?: OrderViewSource | undefined;
  /** The `Cookie` header of a signed-in customer. */
  readonly cookie?: string | undefined;
  readonly returnUrl?: string | undefined;
  /** Acts as the customer who returns, in place of a request to `returnUrl`. */
  readonly returns?: ((checkout: ViewedCheckout) => Promise<unknown>) | undefined;
  /** Kills the shop's processes that create orders, except the running command; a served shop is restarted. */
  readonly kill?: (() => Promise<void>) | undefined;
  readonly restart?: ((mode?: "stop") => Promise<void>) | undefined;
  /** A shop that the run serves: its unexpected ends, and the function that restarts it after an end. */
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
  /** Draws an order_id in the form of the merchant's order_ids. */
  readonly newId: () => string;
  /** Draws later order_ids in a common form, because the service refused one in the merchant's form. */
  readonly useCommonIds?: () => void;
  readonly signal: AbortSignal;
  /** The measurements of the plain purchase. */
  readonly recording: Recording;
  /** Runs work after all earlier work: creates whose checkouts are found by comparing lists must not overlap. */
  readonly runExclusive: <Value>(work: () => Promise<Value>) => Promise<Value>;
  readonly notes: {
    /** The endpoints to which the run delivers; undefined until they are first needed. */
    endpoints?: readonly JudgedEndpoint[];
    /** The events that the run has delivered, kept because a stored event never changes. */
    readonly events: Map<string, Promise<EventEntry>>;
    readonly secretPlaces: Set<SecretPlace>;
    /** The `cartId` of each checkout, by the checkout's id. */
    readonly cartIds: Map<string, string>;
    /** The `cartId` of all purchases of histories. */
    readonly drawnIds: Set<string>;
    viewError?: unknown;
    /** Whether the shop led a customer back to an ended checkout, and has created no second checkout for any order since. */
    sellsOnce?: boolean;
  };
  /** Resolves when the other histories have ended. */
  readonly awaitOthers?: () => Promise<void>;
  /** Pauses, and lets the next history that needs the whole shop run during the pause. */
  readonly stepAside?: StepAside;
  /** Set in a run of a search, which moves the store's clock instead of waiting. */
  readonly search?: SearchedStore;
  /** The names in which the store's events are sent. Default: the sandbox's own names. */
  readonly dialect?: Dialect | undefined;
};

/** The observation with the names of the store's dialect, for the texts of causes; none without a dialect. */
export function dialectFacts({ dialect }: Pick<Bench, "dialect">, isPlain: boolean): readonly Observation[] {
  if (dialect === undefined) return [];
  return [{ kind: "dialect", namesText: differencesText(dialect, DELIVERY_NAME_DECISIONS), isPlain }];
}

/** The store of a search: its own store, or the store of a running shop, of which it uses one order and one endpoint. */
type SearchedStore = { readonly isOwn: boolean; readonly endpointId?: string };

/** The results of the plain purchase: how this shop behaves, and how fast. */
export type Recording = {
  /** Whether the shop uses the given order_id. If not, all new checkouts in the store count as the shop's. */
  readonly hasSameId: boolean;
  /** The text that the shop appends to the given order_id, such as `-1`. */
  readonly suffix: string;
  /** Time until a payment was shown and booked, in milliseconds; later waits follow from it. */
  readonly bookingMs: number;
  /** Whether the shop's answer to a create contains the checkout's id, for example in its checkout_url. */
  readonly namesCheckout: boolean;
  /** The slowest answer to an event, in milliseconds. */
  readonly answerMs: number;
  /** Whether the shop learns of payments from the API alone, because the store has no endpoint. */
  readonly isWithoutEvents?: boolean;
  /** Whether the shop refuses an event that it has accepted before. */
  readonly refusesAgain?: boolean;
};

/** The recording that is used before the plain purchase. */
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

/** An event of the store that the run delivers. `variant`: how it differs from a delivery of the service. */
export type OwnEvent = {
  readonly eventId: string;
  readonly type: string;
  readonly checkoutId: string;
  readonly variant?: EventVariant;
};

/** A purchase and its checkouts, oldest first. */
export type Purchase = {
  readonly name: OrderName;
  /** The order_id that the shop is asked to use. */
  readonly cartId: string;
  /** The kind of the checkout, if the run creates it. */
  readonly kind: CheckoutObject;
  checkouts: readonly ListedCheckout[];
  /** Checkouts that another system has created. */
  foreignIds: ReadonlySet<string>;
  paidCheckout: ListedCheckout | undefined;
  isNotified: boolean;
  /** Whether the shop answered with the checkout of another purchase. */
  isShared?: boolean;
  /** Whether the customer did not get the address of the payment page. */
  isPageUnknown?: boolean;
  /** The service's own deliveries; set once none of them is due. */
  deliveries?: readonly ObservedDelivery[];
  createCount: number;
  /** Events that not all endpoints have accepted so far. */
  openEvents: readonly (OwnEvent & { readonly got: StepValue })[];
  /** The run's own deliveries for this purchase; times by the monotonic clock. */
  readonly ownDeliveries: { readonly at: number; readonly text: string }[];
  /** The first accepted event, which is delivered again after a restart of the shop. */
  acceptedEvent?: OwnEvent;
  /** Duration of the last visit of the return page, in milliseconds. */
  visitMs?: number;
  /** Duration of the last delivery of an event, in milliseconds. */
  eventMs?: number;
  readonly cookies: CookieJar;
};

/** A run of the shop's create; `text`: its output, or its answer. */
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

/** The newest checkout of a purchase. Throws NoOrder if there is none. */
export function lastCheckout({ checkouts }: Purchase): ListedCheckout {
  const checkout = checkouts.at(-1);
  if (checkout === undefined) throw new NoOrder(factOf("made_no_order"));
  return checkout;
}

/** The checkout to look up in the view: the paid checkout, otherwise the shop's last. */
export function viewedCheckout({ recording }: Pick<Bench, "recording">, purchase: Purchase): ViewedCheckout {
  const checkouts = ownCheckouts(purchase);
  const [first] = checkouts;
  const order = purchase.paidCheckout ?? checkouts.at(-1) ?? { id: "", orderId: purchase.cartId };
  // If the shop uses the given order_id, its view is read by the order_id of its first checkout.
  return recording.hasSameId && first !== undefined ? { ...order, orderId: first.orderId } : order;
}

/** Thrown if a history cannot be played, for example because the shop created no order. */
export class NoOrder extends Error {
  override readonly name = "NoOrder";
  readonly reason: StepValue;

  constructor(reason: StepValue) {
    super(englishOf(reason));
    this.reason = reason;
  }
}

/** The shop's checkouts that can still be paid or are paid. */
export function liveCheckouts(purchase: Purchase): readonly ListedCheckout[] {
  return ownCheckouts(purchase).filter(({ status }) => status === "succeeded" || !isFinal(status));
}

/** The checkouts that the shop has created. */
export function ownCheckouts({ checkouts, foreignIds }: Purchase): readonly ListedCheckout[] {
  return checkouts.filter(({ id }) => !foreignIds.has(id));
}
