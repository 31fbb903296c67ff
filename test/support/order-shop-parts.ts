import type { ShopEvent, ShopPlan } from "./order-shops.ts";

export type OrderShopParts = {
  /** Whether an event is new; records a new event. */
  readonly isNew: (event: ShopEvent) => boolean | Promise<boolean>;
  /** The shop's action for a new payment. */
  readonly books: (event: ShopEvent) => void;
  /** The shop's action for each event that is not a payment. */
  readonly others: (event: ShopEvent) => void;
  readonly answers: (isNew: boolean, event: ShopEvent) => number;
  /** The shop's answer to a wrong signature, and whether the shop acts on the refused event. */
  readonly refuses: Pick<ShopPlan, "refusal" | "believes">;
  readonly shows: NonNullable<ShopPlan["show"]>;
};

type Part<Value> = readonly [name: string, value: Value];
type PartTable = { readonly [Name in keyof OrderShopParts]: readonly Part<OrderShopParts[Name]>[] };

export function orderShopOf(parts: OrderShopParts): ShopPlan {
  const { isNew, books, others, answers, refuses, shows } = parts;
  const onEvent = async (event: ShopEvent): Promise<number> => {
    const isFirst = await isNew(event);
    if (!event.payment) others(event);
    else if (isFirst) books(event);
    return answers(isFirst, event);
  };
  return { onEvent, ...refuses, show: shows };
}

/** Records a key among the keys of all orders; returns whether the key was new. */
function isNewKey({ life }: ShopEvent, key: string): boolean {
  const isNew = !life.has(key);
  life.add(key);
  return isNew;
}

/** Correct parts; any combination of them makes a correct shop. */
export const RIGHT_SHOP_PARTS: PartTable = {
  isNew: [
    ["by the event", (event) => isNewKey(event, event.id)],
    ["by the order that is paid", (event) => !event.payment || isNewKey(event, `paid ${event.orderId}`)],
    ["by the session that is paid", (event) => !event.payment || isNewKey(event, `paid ${event.session}`)],
    [
      "by the sequence",
      ({ sequence, order }) => {
        const isLater = sequence > order.sequence;
        if (isLater) order.sequence = sequence;
        return isLater;
      },
    ],
  ],
  books: [
    ["at once", ({ book }) => book()],
    ["a second later", ({ book, later }) => later(1000, book)],
    ["3 s later", ({ book, later }) => later(3000, book)],
  ],
  others: [
    ["ignored", () => undefined],
    ["kept, until it is paid", ({ status, order, paid }) => void (paid || (order.status = status))],
  ],
  answers: [
    ["200", () => 200],
    ["202", () => 202],
    ["204", () => 204],
  ],
  refuses: [
    ["400", {}],
    ["401", { refusal: 401 }],
    ["403", { refusal: 403 }],
    ["422", { refusal: 422 }],
  ],
  shows: [
    ["JSON", ({ status, bookings }) => JSON.stringify({ status, bookings })],
    ["a text with a clock", ({ status, bookings }, moment) => `${moment}: ${status}, ${bookings} x`],
    [
      "its history",
      ({ status, bookings, seen }) => `${status}, booked ${bookings} times, events: ${seen.length}`,
    ],
  ],
};

const bookIf =
  (wanted: string): OrderShopParts["others"] =>
  ({ type, status, paid, book }) => {
    if ((type === wanted || status === wanted) && !paid) book();
  };

/** Wrong parts; each of them makes any shop wrong. */
export const WRONG_SHOP_PARTS: PartTable = {
  isNew: [
    ["all of them", () => true],
    ["by the order", (event) => isNewKey(event, event.orderId)],
    ["by the type", (event) => isNewKey(event, event.type)],
    ["by the amount", (event) => !event.payment || isNewKey(event, `${event.type} ${event.amount}`)],
    [
      "by the event, for 30 s",
      (event) => {
        const isNew = isNewKey(event, event.id);
        if (isNew) event.later(30_000, () => void event.life.delete(event.id));
        return isNew;
      },
    ],
    [
      "by the last ten events",
      (event) => {
        const isNew = isNewKey(event, event.id);
        for (const oldest of [...event.life].slice(0, -10)) event.life.delete(oldest);
        return isNew;
      },
    ],
    [
      "by the event, in each of two processes",
      (event) => isNewKey(event, `process ${event.count % 2}: ${event.id}`),
    ],
    ...[50, 2000].map((pause): Part<OrderShopParts["isNew"]> => [
      `by the event, which it writes down ${pause} ms later`,
      async (event) => {
        if (event.life.has(event.id)) return false;
        await event.wait(pause);
        event.life.add(event.id);
        return true;
      },
    ]),
  ],
  books: [],
  others: [
    ["the last event wins", ({ status, order }) => void (order.status = status)],
    ...["failed", "expired", "cancelled", "pending"].flatMap((status) =>
      [status, `order.${status}`, `checkout_session.${status}`].map(
        (wanted): Part<OrderShopParts["others"]> => [`${wanted} books`, bookIf(wanted)],
      ),
    ),
  ],
  answers: [
    ["409 to what it knows", (isNew) => (isNew ? 200 : 409)],
    ["500 to what it knows", (isNew) => (isNew ? 200 : 500)],
    ["422 to what is late", (_isNew, { paid, payment }) => (paid && !payment ? 422 : 200)],
  ],
  refuses: [["400, after it has acted", { believes: () => true }]],
  shows: [],
};
