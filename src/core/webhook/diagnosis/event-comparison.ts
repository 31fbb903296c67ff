import type { CauseFinding } from "./causes.ts";
import { detailOf } from "./details.ts";
import { bodyForms, innerBodies } from "./body-forms.ts";

type ComparedEvent = { readonly eventId: string; readonly body: string };

const MAX_SHOWN_CHARACTERS = 24;
const UUID_PATTERN = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const MAX_IDS = 4;

/** Returns at most `MAX_IDS` ids. The first id in an event is its event_id. */
export function idsIn(rawBody: Uint8Array): readonly string[] {
  const bodies = [rawBody, ...bodyForms(rawBody).flatMap(({ innerBody }) => innerBody ?? [])];
  const texts = bodies.map((body) => Buffer.from(body).toString("utf8"));
  return [...new Set(texts.flatMap((text) => text.match(UUID_PATTERN) ?? []))].slice(0, MAX_IDS);
}

export function compareWithEvent(
  rawBody: Uint8Array,
  { eventId, body }: ComparedEvent,
): CauseFinding | undefined {
  const event = Buffer.from(body, "utf8");
  const innerBuffers = innerBodies(rawBody).map(([, , innerBody]) => Buffer.from(innerBody));
  if (innerBuffers.some((buffer) => buffer.equals(event))) return undefined;
  const [receivedBytes = Buffer.from(rawBody)] = innerBuffers;
  if (receivedBytes.equals(event)) return { code: "body_is_event", detail: eventId };
  const differentIndex = event.findIndex((byte, index) => byte !== receivedBytes[index]);
  const offset = differentIndex < 0 ? event.length : differentIndex;
  const differs = (...detail: Parameters<typeof detailOf>): CauseFinding => ({
    code: "body_differs",
    detail: detailOf(...detail),
  });
  if (offset === receivedBytes.length && event.length > receivedBytes.length)
    return differs("body_ends", eventId, offset, event.length);
  if (offset === event.length)
    return differs("event_ends", eventId, offset, receivedBytes.length - event.length);
  return differs("values_differ", eventId, offset, valueAt(event, offset), valueAt(receivedBytes, offset));
}

function valueAt(bytes: Buffer, offset: number): string {
  const isWordByte = (byte = 0): boolean => byte > 0x7f || /[\w.+-]/.test(String.fromCharCode(byte));
  let start = offset;
  while (start > 0 && offset - start < MAX_SHOWN_CHARACTERS && isWordByte(bytes[start - 1])) start -= 1;
  let end = offset;
  while (end < bytes.length && end - start < MAX_SHOWN_CHARACTERS && isWordByte(bytes[end])) end += 1;
  const text = bytes.toString("utf8", start, Math.max(end, Math.min(offset + 1, bytes.length)));
  return JSON.stringify(text).slice(1, -1);
}
