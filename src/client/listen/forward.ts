import { answerFacts, type AttemptFacts } from "../../core/network/connection-fault.ts";
import type { Outcome, Refusal } from "../../core/outcome.ts";
import type { AddedHeader } from "../../core/webhook/forwarding.ts";
import { filterAddresses, parseTarget, type TargetPolicy } from "../../core/webhook/target.ts";
import { headerValues } from "../../core/webhook/signature.ts";
import type { HeaderNames } from "../../core/webhook/webhook.ts";
import type { HttpRequest, OutboundResult, TlsTrust, World } from "../../world.ts";

export type ForwardOptions = {
  readonly targets: TargetPolicy;
  readonly headers: readonly AddedHeader[];
  readonly timeoutMs: number;
  readonly tls: TlsTrust | undefined;
};

export type ForwardResult =
  | {
      readonly kind: "answered";
      readonly url: string;
      readonly status: number;
      readonly answer: string;
      readonly facts: AttemptFacts;
      readonly retryAfter: string | undefined;
    }
  | {
      readonly kind: "unanswered";
      readonly url: string;
      readonly failure: Failure;
      readonly message: string;
      readonly facts: AttemptFacts;
    };

type Failure = Extract<OutboundResult, { ok: false }>["failure"] | "forbidden";

const MAX_ANSWER_BYTES = 64 * 1024;

/** Sends only to permitted addresses, without redirects or retries. */
export async function forwardDelivery(
  world: Pick<World, "send" | "resolve">,
  delivery: { readonly request: HttpRequest; readonly headerNames: HeaderNames; readonly url: string },
  options: ForwardOptions,
): Promise<ForwardResult> {
  const { request, headerNames, url } = delivery;
  const addresses = await addressesOf(world, url, options.targets);
  if (!addresses.ok) return { kind: "unanswered", url, ...addresses.refusal };
  const result = await world.send({
    method: "POST",
    url,
    headers: { ...Object.fromEntries(options.headers), ...headersToForward(request, headerNames) },
    body: request.body,
    timeoutMs: options.timeoutMs,
    maxResponseBytes: MAX_ANSWER_BYTES,
    oversize: "cut",
    examine: true,
    addresses: addresses.value,
    tls: options.tls,
  });
  if (!result.ok) {
    const { failure, message, facts = {} } = result;
    return { kind: "unanswered", url, failure, message, facts };
  }
  const { status, body: answer, headers } = result;
  // The sender gets this status, so a status that is invalid in HTTP cannot be passed on.
  if (status >= 200 && status <= 599)
    return {
      kind: "answered",
      url,
      status,
      answer,
      facts: answerFacts(headers),
      retryAfter: headers["retry-after"],
    };
  const message = `${status} is not a valid status`;
  return { kind: "unanswered", url, failure: "bad_answer", message, facts: { fault: "invalid_head" } };
}

async function addressesOf(
  world: Pick<World, "resolve">,
  url: string,
  policy: TargetPolicy,
): Promise<Outcome<readonly string[], UnsentResult>> {
  const refuse = ({ message }: Refusal): Outcome<never, UnsentResult> => ({
    ok: false,
    refusal: { failure: "forbidden", message, facts: {} },
  });
  const target = parseTarget(url, policy);
  if (!target.ok) return refuse(target.refusal);
  const resolvedAddresses = target.value.addresses === null ? await world.resolve(target.value.host) : [];
  const addresses = filterAddresses(target.value, resolvedAddresses, policy);
  if (addresses.ok) return addresses;
  return resolvedAddresses.length === 0 ? { ok: false, refusal: UNRESOLVED_HOST } : refuse(addresses.refusal);
}

type UnsentResult = Pick<Extract<ForwardResult, { kind: "unanswered" }>, "failure" | "message" | "facts">;

const UNRESOLVED_HOST: UnsentResult = {
  failure: "unreachable",
  message: "the host name has no address",
  facts: { fault: "no_address" },
};

function headersToForward(
  { rawHeaders }: HttpRequest,
  { eventId, timestamp, signature }: HeaderNames,
): Record<string, string> {
  const names = [eventId, timestamp, signature, "Content-Type"];
  return Object.fromEntries(
    names.flatMap((name) => headerValues(rawHeaders, name).map((value) => [name, value] as const)),
  );
}
