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
import { containsSecret } from "../../core/text.ts";
import { DELIVERY_NAME_DECISIONS, differencesText } from "../../core/webhook/dialect-differences.ts";
import type { EventEntry } from "../../core/webhook/shapes.ts";
import type { World } from "../../world.ts";
import type { CallOperation, ControlTarget } from "../control/control.ts";
import { commandResult, runMerchantCommand } from "../merchant-command.ts";
import { createCookieJar, type CookieJar } from "./shop/cookies.ts";
import type { JudgedEndpoint, EventVariant } from "./events.ts";
import type { ServedShop } from "./shop/served-shop.ts";
import {
  BROWSER_HEADERS,
  fillAddress,
  noAnswer,
  sendLocally,
  type EnvironmentVariables,
  type OrderViewSource,
  type ViewedCheckout,
} from "./shop/view.ts";

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
  readonly othersDone?: Promise<unknown>;
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

type ListedCheckout = AnswerOf<"listCheckouts">["checkouts"][number];

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

/** Default timeout of a command that creates an order, in milliseconds. */
const COMMAND_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 16_384;
const PAGE_LIMIT = 100;
/** Maximum number of ids in answers that are looked up: a page may contain ids of products. */
const MAX_NAMED_IDS = 20;
const UUID_PATTERN = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

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

/**
 * Lets the shop create an order, `times` times at the same moment, and finds the new checkouts. `isAlone`: whether no
 * other purchase is made meanwhile.
 */
export async function createOrders(
  bench: Bench,
  purchase: Purchase,
  {
    times = 1,
    isAlone = false,
    fields = {},
  }: {
    readonly times?: number;
    readonly isAlone?: boolean;
    /** Values for fields of the form, in place of its own. */
    readonly fields?: Readonly<Record<string, string>> | undefined;
  } = {},
): Promise<readonly CreateRun[]> {
  const { shop, recording, call, search } = bench;
  const { create } = shop;
  purchase.createCount += 1;
  if (create === undefined) {
    if (purchase.checkouts.length > 0) return [];
    const unpaidCheckout = await shop.takeOrder?.(purchase.cartId, purchase.kind);
    if (unpaidCheckout === undefined) throw new NoOrder(factOf("no_more_orders"));
    purchase.checkouts = await listOrders(call, { orderId: unpaidCheckout.orderId });
    return [{ hasEnded: true, isDone: true, got: "", text: "" }];
  }
  const { cartId } = purchase;
  const runAll = (): Promise<readonly CreateRun[]> =>
    Promise.all(Array.from({ length: times }, () => runCreate(bench, withFields(create, fields), purchase)));
  if (recording.hasSameId && (!isAlone || search !== undefined)) {
    const runs = await runAll();
    const checkouts = await listOrders(call, { orderId: cartId });
    const attempts =
      purchase.createCount === 1 && times === 1 ? [] : await listAttempts(bench, purchase, runs);
    if (await namesOtherOrder(bench, purchase, { runs, checkouts })) purchase.isShared = true;
    return addCheckouts(bench, purchase, { runs, checkouts: mergeLists(checkouts, attempts) });
  }
  if (recording.namesCheckout && !isAlone) {
    const runs = await runAll();
    return addCheckouts(bench, purchase, { runs, checkouts: await listNamed(call, runs) });
  }
  return bench.runExclusive(async () => {
    const knownIds = new Set((await listOrders(call, {})).map(({ id }) => id));
    const runs = await runAll();
    const namedOrder = runs.flatMap(({ text }) => shop.orderIdOf?.exec(text)?.[1] ?? [])[0];
    const checkouts = await listOrders(call, { orderId: namedOrder });
    const oldIds = new Set(purchase.checkouts.map(({ id }) => id));
    // In a search's own store, every checkout is the shop's, even a checkout that a killed run created late.
    const areOwn = namedOrder !== undefined || search?.isOwn === true;
    const newCheckouts = checkouts.filter(({ id }) => areOwn || oldIds.has(id) || !knownIds.has(id));
    return addCheckouts(bench, purchase, { runs, checkouts: newCheckouts });
  });
}

function withFields(create: CreateMethod, fields: Readonly<Record<string, string>>): CreateMethod {
  return "url" in create ? { ...create, form: { ...create.form, ...fields } } : create;
}

/** The checkouts whose ids are in the shop's answers. */
async function listNamed(
  call: CallOperation,
  runs: readonly CreateRun[],
): Promise<readonly ListedCheckout[]> {
  const ids = [...new Set(runs.flatMap(idsIn))].slice(0, MAX_NAMED_IDS);
  const lists = await Promise.all(ids.map((q) => listOrders(call, { q })));
  // A search also finds the text in descriptions.
  return lists.flat().filter(({ id }) => ids.includes(id));
}

/** The new checkouts of a later attempt whose order_id, such as 1001-2, contains the first, or which an answer names. */
async function listAttempts(
  { call, search, notes: { cartIds, drawnIds } }: Bench,
  purchase: Purchase,
  runs: readonly CreateRun[],
): Promise<readonly ListedCheckout[]> {
  if (search !== undefined) return [];
  const { cartId } = purchase;
  const newestAt = purchase.checkouts.at(-1)?.createdAt ?? 0;
  // A neighbour's order_id may be a part of this one.
  const otherIds = [...drawnIds].filter((drawnId) => !cartId.includes(drawnId));
  const isAttempt = ({ id, orderId, createdAt }: ListedCheckout): boolean =>
    !cartIds.has(id) && createdAt >= newestAt && !otherIds.some((otherId) => orderId.includes(otherId));
  const namedCheckouts = (await listNamed(call, runs)).filter(isAttempt);
  const similarCheckouts = (await listOrders(call, { q: cartId })).filter(
    (checkout) => checkout.orderId.includes(cartId) && isAttempt(checkout),
  );
  // An answer that also contains ids of other orders proves nothing.
  return namedCheckouts.length === 1 ? [...namedCheckouts, ...similarCheckouts] : similarCheckouts;
}

/** Whether an answer leads to the checkout of another purchase, although the order has a checkout. */
async function namesOtherOrder(
  { call, search, notes: { drawnIds } }: Bench,
  { cartId }: Purchase,
  { runs, checkouts }: { readonly runs: readonly CreateRun[]; readonly checkouts: readonly ListedCheckout[] },
): Promise<boolean> {
  if (search !== undefined || checkouts.length === 0) return false;
  const ownIds = new Set(checkouts.map(({ id }) => id));
  // An answer that also contains ids of other orders proves nothing.
  const misledRuns = runs.filter((run) => run.isDone && !idsIn(run).some((id) => ownIds.has(id)));
  for (const run of misledRuns) {
    const [named, ...others] = await listNamed(call, [run]);
    if (named !== undefined && others.length === 0 && named.orderId !== cartId && drawnIds.has(named.orderId))
      return true;
  }
  return false;
}

/** Adds found checkouts to a purchase, and notes whether the shop answered with the checkout of another purchase. */
function addCheckouts(
  { notes: { cartIds } }: Pick<Bench, "notes">,
  purchase: Purchase,
  { runs, checkouts }: { readonly runs: readonly CreateRun[]; readonly checkouts: readonly ListedCheckout[] },
): readonly CreateRun[] {
  const { cartId } = purchase;
  const isForeign = (id: string): boolean => (cartIds.get(id) ?? cartId) !== cartId;
  purchase.checkouts = mergeLists(purchase.checkouts, checkouts);
  // An answer that also contains ids of other orders proves nothing.
  const namedIds = new Set(runs.filter(({ isDone }) => isDone).flatMap(idsIn));
  const onlyIds = namedIds.size === 1 ? [...namedIds] : [];
  const shownIds = purchase.checkouts.length > 0 ? checkouts.map(({ id }) => id) : onlyIds;
  if (shownIds.some(isForeign)) purchase.isShared = true;
  for (const { id } of checkouts) if (!isForeign(id)) cartIds.set(id, cartId);
  return runs;
}

function idsIn({ text }: CreateRun): readonly string[] {
  return text.match(UUID_PATTERN) ?? [];
}

/** The store's newest matching checkouts, at most `PAGE_LIMIT`, oldest first. */
async function listOrders(
  call: CallOperation,
  filter: { readonly orderId?: string | undefined; readonly q?: string },
): Promise<readonly ListedCheckout[]> {
  const { checkouts } = await call({ name: "listCheckouts", body: { ...filter, limit: PAGE_LIMIT } });
  return checkouts.toReversed();
}

export async function refresh({ call, search }: Bench, purchase: Purchase): Promise<void> {
  const ids = new Set(purchase.checkouts.map(({ orderId }) => orderId));
  const filters = search?.isOwn === true ? [{}] : [...ids].map((orderId) => ({ orderId }));
  for (const filter of filters)
    purchase.checkouts = mergeLists(purchase.checkouts, await listOrders(call, filter));
}

function mergeLists(
  knownCheckouts: readonly ListedCheckout[],
  newerCheckouts: readonly ListedCheckout[],
): readonly ListedCheckout[] {
  const byId = new Map(
    [...knownCheckouts, ...newerCheckouts].map((checkout) => [checkout.id, checkout] as const),
  );
  return [...byId.values()];
}

/** The shop's checkouts that can still be paid or are paid. */
export function liveCheckouts(purchase: Purchase): readonly ListedCheckout[] {
  return ownCheckouts(purchase).filter(({ status }) => status === "succeeded" || !isFinal(status));
}

/** The checkouts that the shop has created. */
export function ownCheckouts({ checkouts, foreignIds }: Purchase): readonly ListedCheckout[] {
  return checkouts.filter(({ id }) => !foreignIds.has(id));
}

async function runCreate(
  { world, shop, target, signal, notes }: Bench,
  create: CreateMethod,
  { cartId, cookies }: Purchase,
): Promise<CreateRun> {
  if ("buy" in create) return create.buy();
  if ("commandLine" in create) {
    const result = await runMerchantCommand(world, {
      commandLine: create.commandLine,
      subject: { orderId: cartId },
      env: shop.env,
      timeoutMs: shop.commandTimeoutMs ?? COMMAND_TIMEOUT_MS,
      maxOutputBytes: MAX_OUTPUT_BYTES,
      signal,
    });
    const { ending, exitCode, stdout, stderr } = result;
    if (containsSecret(stdout) || containsSecret(stderr)) notes.secretPlaces.add("output");
    const hasEnded = ending !== "timeout";
    return { hasEnded, isDone: exitCode === 0, got: commandResult(result), text: stdout };
  }
  const fields = Object.entries(create.form).map(([name, value]): [string, string] => [
    name,
    value.replaceAll("{order_id}", () => cartId),
  ]);
  const url = fillAddress(create.url, { id: "", orderId: cartId });
  const cookie = cookies.headerFor(url, shop.cookie);
  const answer = await sendLocally(world, target, {
    method: "POST",
    url,
    headers: { ...BROWSER_HEADERS, ...cookie, "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields).toString(),
    signal,
  });
  if (!answer.ok) {
    const hasEnded = answer.failure !== "timeout";
    return { hasEnded, isDone: false, got: noAnswer(answer.failure, answer.message), text: "" };
  }
  const { status, body, headers } = answer;
  cookies.keep(url, headers["set-cookie"]);
  const text = `${headers["location"] ?? ""}\n${body}`;
  return { hasEnded: true, isDone: status < 400, got: String(status), text };
}
