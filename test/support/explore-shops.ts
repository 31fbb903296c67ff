import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { Checkout, ExploreOptions, Store, View } from "../../src/testing/testing.ts";
import type { Dialect } from "../../src/core/shape/dialect.ts";
import { verifyWebhook } from "../../src/webhooks.ts";

/** A shop's record of one purchase. */
type Books = {
  /** The amount of each booking. */
  readonly booked: number[];
  /** The event ids and keys that the shop knows. */
  readonly known: Set<string>;
  status: string;
};

/** A webhook, and the shop's possible reactions. */
type Hook = {
  readonly id: string;
  readonly status: string;
  readonly sequence: number;
  readonly session: string;
  readonly books: Books;
  /** Whether the signature is valid. */
  readonly verified: boolean;
  readonly book: () => void;
  /** Asks v1 for the status; undefined without a 200 answer. */
  readonly ask: () => Promise<string | undefined>;
};

/** The functions and settings with which a shop's client makes its purchase. */
type Buyer = {
  readonly books: Books;
  /** Sends a create; undefined without a complete answer. Only a complete 201 has a checkout. */
  readonly post: (
    key: string,
    change?: Readonly<Record<string, unknown>>,
  ) => Promise<{ readonly status: number; readonly checkout: Checkout | undefined } | undefined>;
  readonly random: () => string;
  /** The settings of the shop, with its secrets. */
  readonly env: Readonly<Record<string, string>>;
};

/** The parts of a shop; omitted parts are the parts of a careful shop. */
export type ExploreShop = {
  /** Returns the status of the answer; default: 200. */
  readonly onHook?: (hook: Hook) => number | void | Promise<number | void>;
  /** Whether a webhook that does not verify reaches `onHook`; default: the shop answers 400. */
  readonly takesAll?: boolean;
  readonly buy?: (buyer: Buyer) => Promise<Checkout>;
  readonly shows?: (books: Books) => View;
  /** The text of the shop's answer to a webhook. */
  readonly tells?: (status: number, env: Buyer["env"]) => string;
  /** The event types of the shop's endpoint; default: all. */
  readonly events?: readonly string[];
  /** The dialect that the shop reads; default: the sandbox's own names. */
  readonly dialect?: Dialect;
};

const ORDER = { order_id: "order-1", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
const KEY = "purchase-order-1";
const MAX_ATTEMPTS = 4;
const TIMEOUT_MS = 10_000;

/** Repeats an attempt, at most `most` times, until it gets a checkout or a status from 400 to 428. */
async function retrying(
  attempt: (number: number) => ReturnType<Buyer["post"]>,
  most = MAX_ATTEMPTS,
): Promise<Checkout> {
  for (let number = 1; number <= most; number += 1) {
    const answer = await attempt(number);
    if (answer?.checkout !== undefined) return answer.checkout;
    if (answer !== undefined && answer.status >= 400 && answer.status < 429) break;
  }
  throw new Error("no answer of use");
}

function bookOnce({ id, status, books, book }: Hook): void {
  if (books.known.has(id)) return;
  books.known.add(id);
  if (status === "succeeded") book();
}

/** Also books events with another status, which are not payments. */
const booksAlso =
  (also: string): NonNullable<ExploreShop["onHook"]> =>
  (hook) =>
    bookOnce(hook.status === also ? { ...hook, status: "succeeded" } : hook);

/** Careful shops, each of a different kind. */
export const CAREFUL_SHOPS: Readonly<Record<string, ExploreShop>> = {
  "remembers the id of each event": {},
  "books no order that is already paid": {
    onHook: ({ status, books, book }) => void (status === "succeeded" && books.booked.length === 0 && book()),
  },
  "asks the API about each webhook, verified or not": {
    takesAll: true,
    onHook: async ({ books, book, ask, verified }) => {
      const status = await ask();
      if (status === undefined) return 503;
      if (status === "succeeded" && books.booked.length === 0) book();
      return verified ? 200 : 400;
    },
    shows: ({ booked }) => (booked.length > 0 ? "paid" : "unpaid"),
  },
};

/** Broken shops; `broken.table.ts` has the expected finding of each, under the same names. */
export const BROKEN_SHOPS: Readonly<Record<string, ExploreShop>> = {
  "books each delivery": { onHook: ({ status, book }) => void (status === "succeeded" && book()) },
  "books the creation of an order": { onHook: booksAlso("created") },
  "books a failed payment": { onHook: booksAlso("failed") },
  "books a cancelled order": { onHook: booksAlso("cancelled") },
  "books an expired order": { onHook: booksAlso("expired") },
  "accepts unverified webhooks": { takesAll: true, onHook: bookOnce },
  "answers 200 to unverified webhooks": {
    takesAll: true,
    onHook: (hook) => void (hook.verified && bookOnce(hook)),
  },
  "overwrites the status with each event": {
    onHook: ({ status, books }) => {
      books.status = status;
    },
    shows: ({ status }) => (status === "succeeded" ? "paid" : "unpaid"),
  },
  "ignores orders without an order.created event": {
    onHook: (hook) => {
      if (hook.status === "created") hook.books.known.add("order");
      if (hook.books.known.has("order")) bookOnce(hook);
    },
  },
  "refuses orders without an order.created event, at an endpoint for payments only": {
    onHook: ({ books }) => (books.known.has("order") ? 200 : 409),
    events: ["order.succeeded"],
  },
  "answers before it asks the API, and asks once": {
    onHook: async ({ status, books, ask, book }) => {
      if (status !== "succeeded" || books.known.has("asked")) return;
      books.known.add("asked");
      if ((await ask()) === "succeeded") book();
    },
  },
  "shows its environment in the answer to an unverified webhook": {
    tells: (status, env) => (status === 400 ? JSON.stringify(env) : ""),
  },
  "sends its environment in the description of its second attempt": {
    buy: ({ post, env }) =>
      retrying((number) => post(KEY, number === 1 ? {} : { description: Object.values(env).join(" ") })),
  },
  "prints its environment when its purchase fails": {
    buy: ({ post, env }) =>
      retrying(() => post(KEY), 1).catch(() => {
        throw new Error(`no order with ${JSON.stringify(env)}`);
      }),
  },
  "sends a new key with each attempt": { buy: ({ post, random }) => retrying(() => post(random())) },
  "sends a new order_id with each attempt": {
    buy: ({ post, random }) => retrying(() => post(random(), { order_id: `order-${random()}` })),
  },
  "sends another body with each attempt": {
    buy: ({ post, random }) => retrying(() => post(KEY, { description: `attempt ${random()}` })),
  },
  "treats any 201 as an order": {
    buy: async ({ post }) => {
      const answer = await post(KEY);
      if (answer?.status === 201) return answer.checkout ?? ({} as Checkout);
      return retrying(() => post(KEY));
    },
  },
  "hides the failure of its purchase": {
    buy: ({ post }) => retrying(() => post(KEY), 1).catch(() => ({}) as Checkout),
  },
  "sends a new key from the third attempt on, counted over all runs": {
    buy: ({ books, post, random }) =>
      retrying(() => {
        books.status += ".";
        return post(books.status.length <= 2 ? KEY : random());
      }),
  },
  "treats a 201 to its retry as an order without reading it": {
    buy: async ({ post }) => {
      const first = await post(KEY);
      if (first?.checkout !== undefined) return first.checkout;
      const second = await post(KEY);
      return second?.checkout ?? (second?.status === 201 ? ({} as Checkout) : retrying(() => post(KEY)));
    },
  },
  "refuses only the first unverified webhook of each type": {
    takesAll: true,
    onHook: (hook) => {
      const name = `verified ${hook.status}`;
      if (!hook.books.known.has(name) && !hook.verified) {
        hook.books.known.add(name);
        return 400;
      }
      bookOnce(hook);
      return 200;
    },
  },
  "asks the API about an unverified webhook, and treats no answer as unpaid": {
    takesAll: true,
    onHook: async (hook) => {
      const { verified, books, ask } = hook;
      if (verified) return books.booked.length === 0 ? bookOnce(hook) : undefined;
      const isPaid = (await ask()) === "succeeded";
      if (isPaid && books.booked.length === 0) books.booked.push(ORDER.amount_minor);
    },
  },
  "books duplicates after an unverified webhook": {
    takesAll: true,
    onHook: (hook) => {
      const { verified, books, status, book } = hook;
      if (!verified) {
        books.status = "suspicious";
        return 400;
      }
      if (books.status === "suspicious" && status === "succeeded") book();
      else bookOnce(hook);
      return 200;
    },
  },
  "books duplicates of an order that its second attempt created": {
    buy: async ({ post, books }) =>
      retrying((number) => {
        books.status = `attempt ${number}`;
        return post(KEY);
      }),
    onHook: (hook) =>
      hook.status === "succeeded" && hook.books.status === "attempt 2" ? hook.book() : bookOnce(hook),
  },
};

/** The options of `explore` for a shop that keeps its books in memory, separately for each store. */
export function optionsFor(shop: ExploreShop): Pick<ExploreOptions, "start" | "purchase" | "view"> {
  const all = new Map<string, Books>();
  const booksOf = ({ id }: Store): Books => {
    const books = all.get(id) ?? { booked: [], known: new Set(), status: "" };
    all.set(id, books);
    return books;
  };
  const { buy = ({ post }) => retrying(() => post(KEY)), shows = showAll, events } = shop;
  let count = 0;
  return {
    start: async (store) => {
      const server = serverOf(shop, store, booksOf(store));
      await once(server.listen(0, "127.0.0.1"), "listening");
      await store.endpoints.add(addressOf(server), events === undefined ? {} : { events });
      return () => {
        server.close();
        server.closeAllConnections();
        all.delete(store.id);
      };
    },
    purchase: (store) =>
      buy({
        books: booksOf(store),
        post: (key, change = {}) => create(store, key, { ...ORDER, ...change }, shop.dialect),
        random: () => {
          count += 1;
          return `random-${count}`;
        },
        env: store.env,
      }),
    view: (_orderId, store) => shows(booksOf(store)),
  };
}

function showAll({ booked }: Books): View {
  return { paid: booked.length > 0, times: booked.length, amountMinor: booked[0] };
}

function serverOf(
  { onHook = bookOnce, takesAll = false, tells = () => "", dialect }: ExploreShop,
  store: Store,
  books: Books,
): Server {
  const take = async (rawBody: Buffer, headers: readonly string[]): Promise<number> => {
    const names = dialect === undefined ? {} : { dialect };
    const verdict = verifyWebhook({ rawBody, headers, secrets: store.signingSecret, ...names });
    if (!verdict.ok && !takesAll) return 400;
    const event: unknown = verdict.ok ? verdict.event : JSON.parse(rawBody.toString());
    const { event_id: id, sequence, data } = event as Event;
    const status = await onHook({
      id,
      sequence,
      status: data.status,
      session: data.id,
      books,
      verified: verdict.ok,
      book: () => void books.booked.push(data.amount_minor),
      ask: () => statusOf(store, data.id),
    });
    return status ?? 200;
  };
  return createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => void parts.push(part));
    request.on("end", () => {
      void take(Buffer.concat(parts), request.rawHeaders).then((status) =>
        response.writeHead(status).end(tells(status, store.env)),
      );
    });
  });
}

type Event = {
  readonly event_id: string;
  readonly sequence: number;
  readonly data: { readonly id: string; readonly status: string; readonly amount_minor: number };
};

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it listens on a port");
  return `http://127.0.0.1:${address.port}/hooks`;
}

async function create(
  store: Store,
  key: string,
  body: unknown,
  { replay }: Dialect = {},
): ReturnType<Buyer["post"]> {
  const headers = {
    authorization: `Bearer ${store.apiKey}`,
    "content-type": "application/json",
    "idempotency-key": key,
  };
  const url = `${store.env.CHECKOUT_BASE_URL}/orders`;
  const sent = {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  };
  try {
    const answer = await fetch(url, sent);
    const read = (await answer.json().catch(() => undefined)) as { readonly data?: Checkout } | undefined;
    const isCreated = answer.status === 201 || answer.status === replay?.status;
    return { status: answer.status, checkout: isCreated ? read?.data : undefined };
  } catch {
    return undefined;
  }
}

async function statusOf(store: Store, id: string): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${store.apiKey}` };
  try {
    const answer = await fetch(`${store.env.CHECKOUT_BASE_URL}/checkout-sessions/${id}`, { headers });
    const { data } = (await answer.json()) as { readonly data?: { readonly status: string } };
    return answer.status === 200 ? data?.status : undefined;
  } catch {
    return undefined;
  }
}
