import type { HttpRequest, HttpResponse } from "../../src/world.ts";
import type { Harness } from "./harness.ts";
import { serve, type Receiver } from "./merchant-receivers.ts";

/** The fields of a checkout's event that a shop reads. */
export type BookedEvent = {
  readonly event_id: string;
  readonly type: string;
  readonly sequence: number;
  readonly data?: { readonly id?: string; readonly order_id?: string; readonly status?: string };
};

/** A shop's record of an order; `session`: its own, once it is known. */
export type ShopOrder = { session?: string | undefined; status: string; sequence: number; fulfilled: number };

/** Writes an accepted event into the shop's bookings, which are empty for each shop. */
export type Books = () => (order: ShopOrder, event: BookedEvent) => void;

/** The return page of a shop; `ask` returns the status according to the service. */
export type ReturnPage = (visit: {
  readonly order: ShopOrder;
  readonly ask: () => Promise<string>;
  readonly later: (milliseconds: number, act: () => void) => void;
}) => Promise<void>;

/** A merchant's shop: its receiver, its books, and its return page. Each can be wrong. */
export type ShopParts = { readonly receiver: Receiver; readonly books: Books; readonly page: ReturnPage };

/** Books each event once, and moves an order on by the sequence of its events. */
export const rightBooks: Books = () => {
  const seen = new Set<string>();
  return (order, { event_id: id, sequence, data: { status = "" } = {} }) => {
    if (seen.has(id)) return;
    seen.add(id);
    if (status === "succeeded") order.fulfilled += 1;
    if (sequence > order.sequence) Object.assign(order, { status, sequence });
  };
};

/** Waits for the webhook. */
export const waitingPage: ReturnPage = () => Promise.resolve();

/** Asks the service. */
export const askingPage: ReturnPage = async ({ order, ask }) => {
  order.status = await ask();
};

const PORT = 3000;

/** Where the shop's parts are. */
export const SHOP = {
  hooks: `http://localhost:${PORT}/hooks`,
  returnUrl: `http://localhost:${PORT}/thanks`,
  orderView: `http://localhost:${PORT}/orders/{order_id}`,
} as const;

/** Opens a shop on its port of the fake network, replacing the previous one. */
export function openShopOn(
  harness: Harness,
  parts: ShopParts,
  service: {
    readonly secret: () => string;
    /** The status of a session in the service's answer. */
    readonly statusOf: (sessionId: string) => Promise<string>;
  },
): void {
  const orders = new Map<string, ShopOrder>();
  const book = parts.books();
  const answerHook = serve(parts.receiver, {
    secret: service.secret,
    now: harness.clock.now,
    pass: harness.clock.advance,
  });
  const orderOf = (id: string): ShopOrder => {
    const order = orders.get(id) ?? { status: "created", sequence: 0, fulfilled: 0 };
    orders.set(id, order);
    return order;
  };
  const take = (request: HttpRequest): HttpResponse => {
    const answered = answerHook(request);
    const event = answered.status < 300 ? eventIn(request) : undefined;
    const id = event?.data?.order_id;
    if (event !== undefined && id !== undefined) {
      orderOf(id).session = event.data?.id;
      book(orderOf(id), event);
    }
    return answered;
  };
  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    const { pathname, searchParams } = new URL(request.target, SHOP.returnUrl);
    // A framework routes a final slash to the same receiver.
    if (pathname === "/hooks" || pathname === "/hooks/") return take(request);
    if (pathname === "/thanks") {
      const order = orderOf(searchParams.get("order_id") ?? "");
      // About its own session, whichever is in the address.
      const ask = (): Promise<string> => service.statusOf(order.session ?? "");
      await parts.page({
        order,
        ask,
        later: harness.clock.after,
      });
      return { status: 200, headers: {}, body: "thanks" };
    }
    const order = orders.get(pathname.slice("/orders/".length));
    if (order === undefined) return { status: 404, headers: {}, body: "" };
    const shown = {
      status: order.status === "succeeded" ? "paid" : order.status,
      fulfilled: order.fulfilled,
    };
    return { status: 200, headers: {}, body: JSON.stringify(shown) };
  };
  harness.vacate(PORT);
  harness.occupy(PORT, { answer, refuse: () => ({ status: 400, headers: {}, body: "" }) });
}

/** The event of a request; undefined if it has none. */
function eventIn({ body }: HttpRequest): BookedEvent | undefined {
  try {
    return JSON.parse(Buffer.from(body).toString("utf8")) as BookedEvent;
  } catch {
    return undefined;
  }
}
