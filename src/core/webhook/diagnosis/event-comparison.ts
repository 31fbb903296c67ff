import type { CauseFinding } from "./causes.ts";
import { detailOf } from "./details.ts";
import { bodyForms, innerBodies } from "./body-forms.ts";

type ComparedEvent = { readonly eventId: string; readonly body: string };

/** Maximum length of a shown part of a body, in characters. */
const MAX_SHOWN = 24;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** Maximum number of ids of a body that are looked up. */
const MAX_IDS = 4;

/** The ids that a body names, also inside a form in which it was handed on; the event's comes first. */
export function idsIn(rawBody: Uint8Array): readonly string[] {
  const bodies = [rawBody, ...bodyForms(rawBody).flatMap(({ inner }) => inner ?? [])];
  const texts = bodies.map((body) => Buffer.from(body).toString("utf8"));
  return [...new Set(texts.flatMap((text) => text.match(UUID) ?? []))].slice(0, MAX_IDS);
}

/** The first byte, and the values there. Undefined if the body inside a form is the event itself. */
export function compareWithEvent(
  rawBody: Uint8Array,
  { eventId, body }: ComparedEvent,
): CauseFinding | undefined {
  const event = Buffer.from(body, "utf8");
  const innerBuffers = innerBodies(rawBody).map(([, , innerBody]) => Buffer.from(innerBody));
  if (innerBuffers.some((buffer) => buffer.equals(event))) return undefined;
  const [gotBytes = Buffer.from(rawBody)] = innerBuffers;
  if (gotBytes.equals(event)) return { code: "body_is_event", detail: eventId };
  const at = firstDifference(gotBytes, event);
  if (at === gotBytes.length && event.length > gotBytes.length)
    return { code: "body_differs", detail: detailOf("body_ends", eventId, at, event.length) };
  if (at === event.length)
    return {
      code: "body_differs",
      detail: detailOf("event_ends", eventId, at, gotBytes.length - event.length),
    };
  const [there, gotByte] = [valueAt(event, at), valueAt(gotBytes, at)];
  return { code: "body_differs", detail: detailOf("values_differ", eventId, at, there, gotByte) };
}

function firstDifference(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at += 1) if (left[at] !== right[at]) return at;
  return length;
}

/** The value of JSON that has this byte, or the text from this byte on. */
function valueAt(bytes: Buffer, at: number): string {
  const isWord = (byte = 0): boolean => byte > 0x7f || /[\w.+-]/.test(String.fromCharCode(byte));
  let start = at;
  while (start > 0 && at - start < MAX_SHOWN && isWord(bytes[start - 1])) start -= 1;
  let end = at;
  while (end < bytes.length && end - start < MAX_SHOWN && isWord(bytes[end])) end += 1;
  const text = bytes.toString("utf8", start, Math.max(end, Math.min(at + 1, bytes.length)));
  return JSON.stringify(text).slice(1, -1);
}
