import { createHmac, hash } from "node:crypto";
import { DEFAULT_HEADER_NAMES } from "../../src/core/webhook/signature.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import type { HttpRequest, HttpResponse } from "../../src/world.ts";

/** A webhook as a merchant's code sees it. */
export type Incoming = {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The number of the request's connection. */
  readonly connection: number;
  readonly rawHeaders: readonly string[];
  readonly rawBody: Buffer;
  /** NaN if the header is missing. */
  readonly timestamp: number;
  /** Undefined if the header is missing. */
  readonly signature: string | undefined;
  /** The expected signature if the request had this body. */
  readonly over: (body: string | Uint8Array) => string;
  /** The number of this request, from 0. */
  readonly number: number;
  readonly now: number;
  readonly secret: string;
  /** Lets time pass before the answer, in milliseconds. */
  readonly pass: (milliseconds: number) => void;
};

/** A receiver's answer: a status, a status with a text, or `closed` if it closes the connection without an answer. */
export type Answer =
  | number
  | {
      readonly status: number;
      readonly text: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | "closed";

/** A merchant's receiver: returns its answer, or throws. */
export type Receiver = (incoming: Incoming) => Answer;

/** Connects a receiver to incoming requests; an error that it throws becomes a 500, as in a framework. */
export function serve(
  receiver: Receiver,
  options: {
    readonly secret: () => string;
    readonly now: () => number;
    readonly pass: (milliseconds: number) => void;
    readonly connection?: () => number;
  },
): (request: HttpRequest) => HttpResponse {
  const { secret, now, pass, connection = () => 0 } = options;
  let number = 0;
  return ({ method, target, rawHeaders, body }) => {
    const [timestamp] = headerLines(rawHeaders, DEFAULT_HEADER_NAMES.timestamp);
    const incoming: Incoming = {
      method,
      target,
      connection: connection(),
      rawHeaders,
      rawBody: Buffer.from(body),
      timestamp: Number(timestamp ?? Number.NaN),
      signature: headerLines(rawHeaders, DEFAULT_HEADER_NAMES.signature)[0],
      over: (text) =>
        createHmac("sha256", secret())
          .update(`${timestamp ?? ""}.`)
          .update(text)
          .digest("hex"),
      number: number++,
      now: now(),
      secret: secret(),
      pass,
    };
    try {
      return responseOf(receiver(incoming));
    } catch {
      return responseOf(500);
    }
  };
}

/** The values of all lines with a header, in any letter case of its name. */
export function headerLines(rawHeaders: readonly string[], name: string): readonly string[] {
  return rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name.toLowerCase(),
  );
}

function responseOf(answer: Answer): HttpResponse {
  if (answer === "closed") return { status: 500, headers: {}, body: "", isDropped: true };
  const { status, text, headers = {} } = typeof answer === "number" ? { status: answer, text: "" } : answer;
  return { status, headers, body: text };
}

/** A correct receiver, with the exported verifier. */
export function right({ rawBody, rawHeaders, secret, now }: Incoming): number {
  return verifyWebhook({ rawBody, headers: rawHeaders, secrets: secret, now }).ok ? 204 : 400;
}

/** Like `right`, but with a text: the event id, or the code of the refusal. */
export function telling({ rawBody, rawHeaders, secret, now }: Incoming): Answer {
  const verdict = verifyWebhook({ rawBody, headers: rawHeaders, secrets: secret, now });
  return verdict.ok ? { status: 200, text: verdict.eventId } : { status: 400, text: verdict.code };
}

/**
 * A handmade receiver, correct without `parts`: a wrong receiver replaces one of them. `isSigned` judges one signature
 * of the header, or a missing header.
 */
export function handmade(parts: {
  readonly isSigned?: (incoming: Incoming) => boolean;
  readonly isFresh?: (ageSeconds: number) => boolean;
}): Receiver {
  const isSigned = parts.isSigned ?? (({ signature, over, rawBody }) => signature === over(rawBody));
  const isFresh = parts.isFresh ?? ((age) => Math.abs(age) <= 300);
  return (incoming) => {
    const signatures = incoming.signature?.split(",") ?? [undefined];
    const isRight = signatures.some((signature) => isSigned({ ...incoming, signature }));
    return isRight && isFresh(incoming.now / 1000 - incoming.timestamp) && parse(incoming) ? 200 : 400;
  };
}

/** The event in a body; throws if the body is not JSON. */
export function parse({ rawBody }: Pick<Incoming, "rawBody">): {
  readonly event_id: string;
  readonly type: string;
  readonly data?: { readonly id?: string; readonly order_id?: string };
} {
  return JSON.parse(rawBody.toString("utf8")) as ReturnType<typeof parse>;
}

/** A digest that is not a signature. */
export function digest(text: string): string {
  return hash("sha256", text, "hex");
}
