import { createHmac, hash } from "node:crypto";
import { HEADERS } from "../../src/core/webhook/signature.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import type { HttpRequest } from "../../src/world.ts";

/** A webhook as a merchant's code sees it. */
export type Incoming = {
  readonly rawHeaders: readonly string[];
  readonly rawBody: Buffer;
  readonly timestamp: number;
  /** Undefined where no such header came. */
  readonly signature: string | undefined;
  /** What the signature should be over some text in the place of the body. */
  readonly over: (body: string | Uint8Array) => string;
  /** What comes next, counted from 0. */
  readonly number: number;
  readonly now: number;
  readonly secret: string;
};

/** A merchant's receiver: the status that it answers, or that it throws. */
export type Receiver = (incoming: Incoming) => number;

/** Puts a receiver where requests come in; what it throws is the 500 of its framework. */
export function serve(
  receiver: Receiver,
  { secret, now }: { readonly secret: () => string; readonly now: () => number },
): (request: HttpRequest) => number {
  let number = 0;
  return ({ rawHeaders, body }) => {
    const header = (name: string): string | undefined => rawHeaders[rawHeaders.indexOf(name) + 1];
    const timestamp = header(HEADERS.timestamp) ?? "";
    const incoming: Incoming = {
      rawHeaders,
      rawBody: Buffer.from(body),
      timestamp: Number(timestamp),
      signature: rawHeaders.includes(HEADERS.signature) ? header(HEADERS.signature) : undefined,
      over: (text) => createHmac("sha256", secret()).update(`${timestamp}.`).update(text).digest("hex"),
      number: number++,
      now: now(),
      secret: secret(),
    };
    try {
      return receiver(incoming);
    } catch {
      return 500;
    }
  };
}

/** The README's receiver. */
export const right: Receiver = ({ rawBody, rawHeaders, secret, now }) =>
  verifyWebhook({ rawBody, headers: rawHeaders, secrets: secret, now }).ok ? 204 : 400;

/** A handmade one with every part in its place; the wrong ones differ from it in one. */
export function handmade(parts: {
  readonly isSigned?: (incoming: Incoming) => boolean;
  readonly isFresh?: (ageSeconds: number) => boolean;
}): Receiver {
  const isSigned = parts.isSigned ?? (({ signature, over, rawBody }) => signature === over(rawBody));
  const isFresh = parts.isFresh ?? ((age) => Math.abs(age) <= 300);
  return (incoming) =>
    isSigned(incoming) && isFresh(incoming.now / 1000 - incoming.timestamp) && parse(incoming) ? 200 : 400;
}

/** The body as JSON, which there always is; throws where it is none. */
export function parse({ rawBody }: Pick<Incoming, "rawBody">): { readonly event_id: string } {
  return JSON.parse(rawBody.toString("utf8")) as { event_id: string };
}

/** Digits that have nothing to do with a signature. */
export function digest(text: string): string {
  return hash("sha256", text, "hex");
}
