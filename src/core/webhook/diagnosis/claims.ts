import { parseJson } from "../../json.ts";

export type Claims = ReturnType<typeof claimsIn>;

/** For display only, because the webhook may not be verified yet. */
export function claimsIn(body: unknown) {
  const object = fieldOf(body, "data");
  return {
    eventId: textOrNull(fieldOf(body, "event_id")),
    type: textOrNull(fieldOf(body, "type")),
    objectId: textOrNull(fieldOf(object, "id")),
    orderId: textOrNull(fieldOf(object, "order_id")),
  };
}

export function parseJsonBody(rawBody: Uint8Array): unknown {
  return parseJson(Buffer.from(rawBody).toString("utf8"));
}

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
