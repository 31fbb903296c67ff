// The mutations of the forms in webhook.ts, and the forms of one kind.
import { toIso } from "../../clock.ts";
import { isRecord } from "../../json.ts";
import type { Words } from "../../language.ts";
import { STALE_BY_SECONDS } from "../../webhook/delivery-request.ts";
import {
  badlySigned,
  changeEnd,
  claim,
  fieldsOf,
  flipDigits,
  forged,
  wrongDigits,
  type EventFields,
  type Form,
} from "./webhook-case.ts";

/** Number of correct digits at both ends of a signature with a wrong middle. */
export const RIGHT_ENDS = { first: 40, last: 8 } as const;

export function contentType(title: Words, type: string | undefined): Form {
  return badlySigned(title, "skips_other_types", { headers: { "Content-Type": type } });
}

export function asType(type: string): Form {
  return contentType([`as ${type}`, `内容类型为 ${type}`], type);
}

/** A badly signed event with false claims about itself. */
export function claiming(title: Words, change: (event: EventFields) => EventFields): Form {
  return { ...badlySigned(title, "skips_by_content", { sent: claim(change) }), expected: "4xx" };
}

/** An event signed with a text that anybody can guess: a printed form of an unset variable, or a default. */
export function guessed(secret: string): Form {
  const title: Words = [`signed with the text ${secret}`, `用文本 ${secret}签名`];
  return forged(title, "takes_guessed_secret", { secret: () => secret });
}

/** An event with a field that may select another secret, signed as if that secret were not set. */
export function unset(claimed: Words, change: (event: EventFields) => EventFields, secret: string): Form {
  const by: Words = secret === "" ? ["an empty secret", "空密钥"] : [`the text ${secret}`, `文本 ${secret}`];
  const title: Words = [`with ${claimed[0]}, signed with ${by[0]}`, `${claimed[1]}，用${by[1]}签名`];
  return forged(title, "chooses_secret", { signed: claim(change), secret: () => secret });
}

export function claimOtherStore({ store_id: id }: EventFields): EventFields {
  return { store_id: changeEnd(String(id)) };
}

export function claimLivemode({ data }: EventFields): EventFields {
  return {
    livemode: true,
    data: isRecord(data) && "livemode" in data ? { ...data, livemode: true } : data,
  };
}

export function changeOrder(body: string): string {
  const { data } = JSON.parse(body) as { readonly data: { readonly id: string; readonly order_id: string } };
  const { id, order_id: orderId } = data;
  return body
    .replaceAll(id, changeEnd(id))
    .replaceAll(JSON.stringify(orderId), JSON.stringify(changeEnd(orderId)));
}

export function changeMiddle(right: string): string {
  const { first, last } = RIGHT_ENDS;
  return right.slice(0, first) + flipDigits(right.slice(first, -last)) + right.slice(-last);
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
export function writeUnusually(body: string): string {
  const lines = fieldsOf(body)
    .filter(([name]) => name !== "data")
    .toReversed()
    .map(([name, value]) => `\t${JSON.stringify(name)} :${JSON.stringify(value)}`);
  return `{\r\n${[UNUSUAL_DATA, ...lines].join(" ,\n")}\n}\n`;
}

const UNUSUAL_DATA = String.raw`"data": { "note":"Größe, Gr\u00f6\u00dfe, 订单, 🧾, \/", "number" : 1.50e2 }`;

export function indentBody(body: string): string {
  return JSON.stringify(Object.fromEntries(fieldsOf(body)), null, 2);
}

/** The event as redelivered to a receiver that was down for an hour. */
export function backdateEvent(body: string): string {
  return body.replace(/"created_at":"([^"]+)"/, (_, at: string) => {
    const earlier = toIso(Date.parse(at) - STALE_BY_SECONDS * 1000);
    return `"created_at":"${earlier}"`;
  });
}

/** Changes one digit of `created_at`: the body is still an event, with the same event_id. */
export function changeDigit(body: string): string {
  return body.replace(/\dZ"/, (end) => flipDigits(end.slice(0, 1), 10) + end.slice(1));
}
