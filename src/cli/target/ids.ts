import { fieldRefusal } from "../../core/checkout/create-request.ts";
import type { CheckoutEntry } from "../../core/checkout/shapes.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { toIso } from "../../core/clock.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../core/control/operations.ts";
import { printableLiteral } from "../../core/text.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { Context } from "../command.ts";
import { parseUuid, isShortId } from "../parsers.ts";
import { Refused, refuseUsage, usageProblem, type Candidate } from "../problem.ts";
import { callSandbox } from "./control.ts";

const MAX_SEARCHED_ITEMS = 1000;
const MAX_CHECKOUTS_ON_PAGE = 200;
const MAX_CANDIDATES_SHOWN = 10;

type AskSandbox = <Name extends OperationName>(name: Name, body: RequestOf<Name>) => Promise<AnswerOf<Name>>;

type KindSpec = {
  readonly noun: string;
  readonly listHint: string;
  readonly listNewestCandidates: (ask: AskSandbox, ending: string) => Promise<readonly Candidate[]>;
};

const LIST_BODY = { limit: MAX_SEARCHED_ITEMS };

const CHECKOUT: KindSpec = {
  noun: "order or session",
  listHint: "checkout orders list and checkout sessions list show the ids",
  listNewestCandidates: async (ask, q) =>
    (await ask("listCheckouts", { q, limit: MAX_CHECKOUTS_ON_PAGE })).checkouts.map(candidateOf),
};

const KINDS = {
  checkout: CHECKOUT,
  /** A checkout to pay. Of several checkouts with the order_id, the only open one is selected. */
  payable: CHECKOUT,
  event: kindOf("event", "events", async (ask) =>
    (await ask("listEvents", LIST_BODY)).events.map(({ eventId: id, type: about }) => ({ id, about })),
  ),
  delivery: kindOf("delivery", "deliveries", async (ask) =>
    (await ask("listDeliveries", LIST_BODY)).deliveries.map(({ id, type: about }) => ({ id, about })),
  ),
  request: kindOf("request", "requests", async (ask) => {
    const { requests } = await ask("listRequests", LIST_BODY);
    const entries = requests.map(({ requestId, method, path }) => [requestId, `${method} ${path}`] as const);
    return Array.from(new Map(entries), ([id, about]) => ({ id, about }));
  }),
  endpoint: kindOf("endpoint", "endpoints", async (ask) =>
    (await ask("listEndpoints", undefined)).endpoints.map(({ id, url: about }) => ({ id, about })),
  ),
  fault: kindOf("fault", "faults", async (ask) =>
    (await ask("listFaults", undefined)).faults.map(({ id, action: about }) => ({ id, about })),
  ),
  key: kindOf("API key", "keys", async (ask) =>
    (await ask("listKeys", undefined)).keys.map(({ keyId: id, lastFour }) => ({ id, about: `…${lastFour}` })),
  ),
  token: kindOf("token", "tokens", async (ask) =>
    (await ask("listTokens", undefined)).tokens.map(({ tokenId: id, kind, role }) => ({
      id,
      about: `${kind}, ${role}`,
    })),
  ),
};

export type IdKind = keyof typeof KINDS;

/** Accepts an id, an order_id, or the last 8 characters of a recent id (decision 104). Exit 2 if several ids match. */
export async function findId<Text extends string | undefined>(
  context: Context,
  kind: IdKind,
  text: Text,
  target?: ControlTarget,
): Promise<string | (Text & undefined)> {
  if (text === undefined) return text;
  const foundId =
    parseUuid(text) ??
    (await findByOrderId(context, text, target, kind)) ??
    (await findIdByEnding(context, kind, text, target));
  if (foundId === undefined) throw refuseNotFound(kind, text);
  return foundId;
}

/** Undefined if no checkout has the order_id. Exit 2 if several match; `payable` prefers an open one. */
export async function findByOrderId(
  context: Context,
  text: string,
  target?: ControlTarget,
  kind: IdKind = "checkout",
): Promise<string | undefined> {
  if (!mayBeOrderId(kind, text)) return undefined;
  const body = { orderId: text, limit: MAX_CANDIDATES_SHOWN + 1 };
  const { checkouts } = await callSandbox(context, { name: "listCheckouts", body }, target);
  const openCheckouts = checkouts.filter(({ status }) => !isFinal(status));
  const matches = kind === "payable" && openCheckouts.length === 1 ? openCheckouts : checkouts;
  const sharedText = `orders or sessions have the order_id ${printableLiteral(text)}`;
  return requireOne(matches.map(candidateOf), sharedText);
}

export function noOrderText(orderId: string): string {
  return `no order or session of this store has the order_id ${printableLiteral(orderId)}`;
}

export function hintForIds(kind: IdKind): string {
  return KINDS[kind].listHint;
}

export function listNewestCandidates(
  context: Context,
  kind: IdKind,
  target: ControlTarget | undefined,
  containedText = "",
): Promise<readonly Candidate[]> {
  return KINDS[kind].listNewestCandidates(
    (name, body) => callSandbox(context, { name, body }, target),
    containedText,
  );
}

export async function findIdByEnding(
  context: Context,
  kind: IdKind,
  text: string,
  target?: ControlTarget,
): Promise<string | undefined> {
  if (!isShortId(text)) return undefined;
  const ending = text.toLowerCase();
  const candidates = await listNewestCandidates(context, kind, target, ending);
  return requireOne(
    candidates.filter(({ id }) => id.endsWith(ending)),
    `ids end with ${ending}`,
  );
}

function requireOne(rows: readonly Candidate[], sharedText: string): string | undefined {
  if (rows.length <= 1) return rows[0]?.id;
  const count = rows.length > MAX_CANDIDATES_SHOWN ? `more than ${MAX_CANDIDATES_SHOWN}` : rows.length;
  const candidates = rows.slice(0, MAX_CANDIDATES_SHOWN);
  throw new Refused({ ...usageProblem(`${count} ${sharedText}`, "type the whole id"), candidates });
}

function refuseNotFound(kind: IdKind, text: string): Refused {
  const { noun, listHint: next } = KINDS[kind];
  const isCheckout = KINDS[kind] === CHECKOUT;
  const isShort = isShortId(text);
  const triedTexts = [
    ...(isShort ? [noMatchText(text)] : []),
    ...(mayBeOrderId(kind, text) ? [`has the order_id ${printableLiteral(text)}`] : []),
  ];
  if (triedTexts.length > 0)
    return new Refused({
      code: isCheckout ? "session_not_found" : "not_found",
      message: `no ${noun} ${triedTexts.join(", and none ")}`,
      next: isShort ? `type the whole id; ${next}` : next,
    });
  const article = /^[aeiou]/i.test(noun) ? "an" : "a";
  const example = `such as 0199a3c4-5d00-7000-8000-000000000001${isCheckout ? ", or its order_id" : ""}`;
  const message = `expected the id of ${article} ${noun}, ${example}; got ${printableLiteral(text)}`;
  // A text with a letter and a digit may be the order_id of a shop, so the next step lists the order's objects.
  const isOrderId = KINDS_OF_ORDER.has(kind) && /^(?=.*[a-z])(?=.*\d)[\w.-]+$/i.test(text);
  return refuseUsage(message, isOrderId ? next.replace(" list ", ` list --order-id ${text} `) : next);
}

const KINDS_OF_ORDER: ReadonlySet<IdKind> = new Set(["event", "delivery", "request"]);

export function noMatchText(ending: string): string {
  return `among the newest ${MAX_SEARCHED_ITEMS} has an id that ends in ${ending.toLowerCase()}`;
}

function mayBeOrderId(kind: IdKind, text: string): boolean {
  return KINDS[kind] === CHECKOUT && fieldRefusal("order_id", text) === undefined;
}

function kindOf(noun: string, group: string, listNewestIds: KindSpec["listNewestCandidates"]): KindSpec {
  return { noun, listHint: `checkout ${group} list shows the ${group}`, listNewestCandidates: listNewestIds };
}

function candidateOf({ id, object, orderId, status, createdAt }: CheckoutEntry): Candidate {
  const noun = object === "order" ? "order" : "session";
  return { id, about: `${noun} ${printableLiteral(orderId)}, ${status}, ${toIso(createdAt)}` };
}
