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
  const body = bodyOf(rawBody);
  const object = fieldOf(body, "data");
  return {
    eventId: text(fieldOf(body, "event_id")),
    type: text(fieldOf(body, "type")),
    objectId: text(fieldOf(object, "id")),
    orderId: text(fieldOf(object, "order_id")),
  };
}

/** A body as JSON; undefined if it is not JSON. */
export function bodyOf(rawBody: Uint8Array): unknown {
  return parseJson(Buffer.from(rawBody).toString("utf8"));
}

/** A field of what was parsed; undefined where there is none. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
