// The mutations of the forms in webhook-forms.ts.
import { toIso } from "../../clock.ts";
import { isRecord } from "../../json.ts";
import { readEventIn, type Dialect } from "../../shape/dialect.ts";
import { STALE_BY_SECONDS } from "../../webhook/delivery-request.ts";
import { changeEnd, claim, fieldsOf, flipDigits, wrongDigits, type EventFields } from "./webhook-case.ts";

/** Number of correct digits at both ends of a signature with a wrong middle. */
export const RIGHT_ENDS = { first: 40, last: 8 } as const;

export function claimOtherStore({ store_id: id }: EventFields): EventFields {
  return { store_id: changeEnd(String(id)) };
}

export function claimLivemode({ data }: EventFields): EventFields {
  return {
    livemode: true,
    data: isRecord(data) && "livemode" in data ? { ...data, livemode: true } : data,
  };
}

export function changeOrder(body: string, dialect: Dialect | undefined): string {
  const { data } = readEventIn(dialect, JSON.parse(body), undefined) as {
    readonly data: { readonly id: string; readonly order_id: string };
  };
  const { id, order_id: orderId } = data;
  return body
    .replaceAll(id, changeEnd(id))
    .replaceAll(JSON.stringify(orderId), JSON.stringify(changeEnd(orderId)));
}

export function changeMiddle(right: string): string {
  const { first, last } = RIGHT_ENDS;
  return right.slice(0, first) + flipDigits(right.slice(first, -last)) + right.slice(-last);
}

/** Changes one of each two digits. */
export function changeEveryOther(which: "first" | "second"): (right: string) => string {
  return (right) =>
    right.replace(/(.)(.)/g, (_, one: string, two: string) =>
      which === "first" ? flipDigits(one) + two : one + flipDigits(two),
    );
}

/** The correct signature at one of three positions, as during a rotation of secrets (decision 12). */
export function placeSignature(at: 0 | 1 | 2): (right: string) => string {
  return (right) => [wrongDigits(right), wrongDigits(wrongDigits(right))].toSpliced(at, 0, right).join(",");
}

/** JSON with spaces between its tokens, as Python's json.dumps writes it. */
export function addSpaces(body: string): string {
  return `{${fieldsOf(body)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(", ")}}`;
}

/** Fields in another order, tabs, escapes, characters of 1 to 4 bytes, a trailing line break. */
export function writeUnusually(body: string, dialect: Dialect | undefined): string {
  const subject = dialect?.event_fields?.["data"] ?? "data";
  const lines = fieldsOf(body)
    .filter(([name]) => name !== subject)
    .toReversed()
    .map(([name, value]) => `\t${JSON.stringify(name)} :${JSON.stringify(value)}`);
  return `{\r\n${[`${JSON.stringify(subject)}: ${UNUSUAL_DATA}`, ...lines].join(" ,\n")}\n}\n`;
}

const UNUSUAL_DATA = String.raw`{ "note":"Größe, Gr\u00f6\u00dfe, 订单, 🧾, \/", "number" : 1.50e2 }`;

export function indentBody(body: string): string {
  return JSON.stringify(Object.fromEntries(fieldsOf(body)), null, 2);
}

/** The event as redelivered to a receiver that was down for an hour. */
export const backdateEvent = claim(({ created_at: at }) =>
  typeof at === "string" ? { created_at: toIso(Date.parse(at) - STALE_BY_SECONDS * 1000) } : {},
);

/** Changes one digit of a time or number: the body is still an event. A body without one gets a space at its end. */
export function changeDigit(body: string): string {
  const changed = body.replace(/\d(?=Z"|,")/, (digit) => flipDigits(digit, 10));
  return changed === body ? `${body} ` : changed;
}
