import type { FullAnswer } from "./harness.ts";
import type { V1Sandbox } from "./v1-sandboxes.ts";

export type Body = Readonly<Record<string, unknown>>;

/** A valid create. */
export const BODY = {
  order_id: "order-1001",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
};
let keys = 0;

/** Sends a create; a `body` that is text is sent unchanged. */
export function post(
  sandbox: Pick<V1Sandbox, "request">,
  body: Body | string,
  options: {
    readonly key?: string;
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<FullAnswer> {
  return sandbox.request({
    path: options.path ?? "/v1/orders",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "Idempotency-Key": options.key ?? `fresh-key-${(keys += 1)}`, ...options.headers },
  });
}

type Envelope = {
  readonly data?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: string; readonly message: string };
};

/** The envelope of an answer. */
export function bodyOf(answer: FullAnswer): Envelope {
  return JSON.parse(String(answer.body)) as Envelope;
}

/** The status of an answer with its code, or with the status of the checkout. */
export function outcome(answer: FullAnswer): string {
  const { error, data } = bodyOf(answer);
  return `${answer.status} ${error?.code ?? String(data?.["status"])}`;
}
