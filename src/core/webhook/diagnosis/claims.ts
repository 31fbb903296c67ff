import { parseJson } from "../../json.ts";

/** What a body claims, true or not; null where it claims nothing. */
export type Claims = {
  readonly eventId: string | null;
  readonly type: string | null;
  readonly objectId: string | null;
  readonly orderId: string | null;
};

/** Reads the claims of a webhook's body. For lists only: before it is verified, nothing may be decided by it. */
export function claimsOf(rawBody: Uint8Array): Claims {
  const body = parseJson(Buffer.from(rawBody).toString("utf8"));
  const object = field(body, "data");
  return {
    eventId: text(field(body, "event_id")),
    type: text(field(body, "type")),
    objectId: text(field(object, "id")),
    orderId: text(field(object, "order_id")),
  };
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
