import { createMutex, type Mutex } from "../../core/mutex.ts";
import type { DeliveryCause } from "../../core/webhook/delivery.ts";
import { targetFor, type ForwardPlan } from "../../core/webhook/forwarding.ts";
import { takeToken, type Bucket } from "../../core/rate-limit.ts";
import type { SeenEvents } from "../../core/webhook/seen-events.ts";
import type { Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import { claimsOf, type Claims } from "../../core/webhook/diagnosis/claims.ts";
import { diagnose } from "../../core/webhook/diagnosis/diagnose.ts";
import { verifyWebhook } from "../../core/webhook/verify.ts";
import { HEADERS, headerValues } from "../../core/webhook/signature.ts";
import type { WebhookCode } from "../../core/webhook/webhook.ts";
import type { HttpRequest, HttpResponse, Service, World } from "../../world.ts";
import { forward, type Forwarded, type ForwardOptions } from "./forward.ts";

/** Signing secrets: those that deliveries are verified with, newest first, and those that are over. */
export type Secrets = { readonly inForce: readonly string[]; readonly retired: readonly string[] };

/** The try of a delivery that is on its way here. */
export type Underway = {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly attempt: number;
  readonly cause: DeliveryCause;
};

/** When a delivery that failed is tried again: an ISO moment, or null where it is given up. */
export type NextTry = { readonly at: string | null };

/** Whoever sends the deliveries, as far as it can be asked. */
export type DeliverySource = {
  readonly secrets: () => Promise<Secrets>;
  /** Undefined where nobody can tell. */
  readonly underway: (eventId: string) => Promise<Underway | undefined>;
  /** Asked once the try was answered. Undefined where nobody can tell. */
  readonly nextTry: (tried: Underway) => Promise<NextTry | undefined>;
};

/** What became of a delivery. `not_wanted`: its type was not asked for. `no_target`: it is shown and goes nowhere. */
export type DeliveryResult =
  | { readonly kind: "not_verified"; readonly causes: readonly Diagnosis[] }
  | { readonly kind: "duplicate" | "not_wanted" | "no_target" }
  /** `again`: a replay of an event that a target has taken before. */
  | (Forwarded & { readonly again: boolean });

/** A delivery that reached the listener, and what it did with it. */
export type HandledDelivery = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly request: HttpRequest;
  readonly claims: Claims;
  readonly verified: boolean;
  /** Why it is not verified, or what is strange about it although it is. */
  readonly fault: { readonly code: WebhookCode; readonly message: string } | undefined;
  readonly result: DeliveryResult;
  /** The status that the sender got. */
  readonly answered: number;
  readonly milliseconds: number;
  readonly next: NextTry | undefined;
};

/** What a listener is made of. */
export type ListenerOptions = {
  readonly source: DeliverySource;
  readonly seen: Pick<SeenEvents, "has" | "add">;
  readonly plan: ForwardPlan;
  readonly forwarding: ForwardOptions;
  /** Paths that deliveries are taken at. */
  readonly paths: readonly string[];
  readonly onHandled: (delivery: HandledDelivery) => void;
  /** Told about requests that are no deliveries, and why. */
  readonly onStray: (why: string) => void;
  /** Told about failures that are ours. */
  readonly report: (error: unknown) => void;
};

/** A listener as a service. */
export type WebhookListener = {
  readonly service: Service;
  /** Resolves once everything that was answered is reported. */
  readonly settled: () => Promise<void>;
};

/** Deliveries that are worked on at once; their bodies are in memory. */
const MAX_IN_FLIGHT = 32;
/** Causes are searched for, and strays told, this often: a port that the internet reaches must not be kept busy. */
const SEARCHES = { perSecond: 1, burst: 60 };

const VERIFIED_ALL_THE_SAME: ReadonlySet<WebhookCode> = new Set(["event_invalid"]);

type Context = ListenerOptions & {
  readonly world: Pick<World, "now" | "monotonic" | "send" | "resolve">;
  /** Whether there is time to look closer at what nobody signed. */
  readonly mayLookCloser: () => boolean;
  /** One delivery of an event after the other, so that a retry that overtakes its first try is known as a duplicate. */
  readonly inTurn: Mutex;
  /** Reports once the answer has left. */
  readonly later: (work: Promise<void>) => void;
};

/**
 * Receives deliveries: verifies each over its raw bytes, forwards those that its target has not taken yet, and answers
 * what the target answered, so that the sender tries again where it should. What is not verified never reaches a target.
 */
export function createWebhookListener(world: Context["world"], options: ListenerOptions): WebhookListener {
  const pending = new Set<Promise<void>>();
  let bucket: Bucket | undefined;
  let inFlight = 0;
  const context: Context = {
    ...options,
    world,
    mayLookCloser: () => {
      const taken = takeToken(SEARCHES, bucket, world.now());
      bucket = taken.bucket;
      return taken.outcome.ok;
    },
    inTurn: createMutex(),
    later: (work) => {
      const done = work.catch(options.report).finally(() => pending.delete(done));
      pending.add(done);
    },
  };
  const stray = (status: number, why: string, headers: Record<string, string> = {}): HttpResponse => {
    if (context.mayLookCloser()) options.onStray(`${why}; answered ${status}`);
    return plain(status, why, headers);
  };
  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    const { method, target } = request;
    const [path = ""] = target.split("?");
    // Whatever a browser sends from a page is no delivery.
    if (headerValues(request.rawHeaders, "origin").length > 0) return stray(403, "a browser sent a request");
    if (!options.paths.includes(path))
      return stray(404, `${method} ${path}: deliveries are taken at ${options.paths.join(" and ")}`);
    if (method !== "POST")
      return stray(405, `${method} ${path}: deliveries are sent by POST`, { Allow: "POST" });
    if (inFlight >= MAX_IN_FLIGHT)
      return stray(503, `${MAX_IN_FLIGHT} deliveries are worked on already`, { "Retry-After": "1" });
    inFlight += 1;
    try {
      return await receive(context, request);
    } catch (error) {
      options.report(error);
      return plain(500, "the listener failed");
    } finally {
      inFlight -= 1;
    }
  };
  return {
    service: { answer, refuse: ({ code, message }) => stray(REFUSED[code], message) },
    settled: async () => void (await Promise.all(pending)),
  };
}

const REFUSED = {
  invalid_request: 400,
  request_timeout: 408,
  body_too_large: 413,
  headers_too_large: 431,
} as const;

type Received = Pick<HandledDelivery, "at" | "request" | "claims" | "verified" | "fault"> & {
  /** When it came, by the clock that never goes back. */
  readonly since: number;
};

async function receive(context: Context, request: HttpRequest): Promise<HttpResponse> {
  const { world, source } = context;
  const [at, since] = [world.now(), world.monotonic()];
  const secrets = await source.secrets();
  const asked = { rawBody: request.body, headers: request.rawHeaders, secrets: secrets.inForce, now: at };
  const verdict = verifyWebhook(asked);
  const verified = verdict.ok || VERIFIED_ALL_THE_SAME.has(verdict.code);
  const received = {
    at,
    since,
    request,
    claims: claimsOf(request.body),
    verified,
    fault: verdict.ok ? undefined : verdict,
  };
  if (!verified) {
    const known = secrets.retired.map((secret) => ({
      label: "an earlier one of this endpoint",
      secret,
      retired: true,
    }));
    const causes = context.mayLookCloser() ? diagnose({ ...asked, known }) : [];
    return answerAndReport(context, received, { kind: "not_verified", causes });
  }
  const eventId = eventIdOf(received);
  const work = async (): Promise<HttpResponse> =>
    answerAndReport(context, received, await handle(context, received));
  return eventId === undefined ? work() : context.inTurn(eventId, work);
}

/** What becomes of a delivery that is verified. */
async function handle(
  { world, source, seen, plan, forwarding }: Context,
  received: Received,
): Promise<DeliveryResult> {
  const target = targetFor(plan, received.claims.type ?? "");
  if (typeof target === "string") return { kind: target };
  const eventId = eventIdOf(received);
  const again = eventId !== undefined && seen.has(eventId);
  // The sender alone knows whether somebody asked for it again, or it came twice.
  if (again && (await source.underway(eventId))?.cause !== "replay") return { kind: "duplicate" };
  const forwarded = await forward(world, { request: received.request, url: target.url }, forwarding);
  // Not before: what no target has taken must come again.
  if (eventId !== undefined && isTaken(forwarded)) seen.add(eventId, world.now());
  return { ...forwarded, again };
}

/** Answers, and reports: at once, or where it will be tried again as soon as the sender says when. */
async function answerAndReport(
  { world, source, onHandled, later }: Context,
  received: Received,
  result: DeliveryResult,
): Promise<HttpResponse> {
  const response = answerOf(result);
  const { since, ...told } = received;
  const delivery = {
    ...told,
    result,
    answered: response.status,
    milliseconds: Math.round(world.monotonic() - since),
  };
  const eventId = eventIdOf(received);
  const comesAgain = response.status < 200 || response.status > 299;
  const tried = comesAgain && eventId !== undefined ? await source.underway(eventId) : undefined;
  if (tried === undefined) onHandled({ ...delivery, next: undefined });
  else later(source.nextTry(tried).then((next) => onHandled({ ...delivery, next })));
  return response;
}

/** The sender gets what the target said; what goes to no target is settled. */
function answerOf(result: DeliveryResult): HttpResponse {
  switch (result.kind) {
    case "not_verified":
      return plain(400, "not verified");
    case "duplicate":
      return plain(200, "a duplicate, not forwarded");
    case "not_wanted":
    case "no_target":
      return plain(200, "received, not forwarded");
    case "unanswered":
      return plain(502, "the target did not answer");
    case "answered": {
      const { status, answer, retryAfter } = result;
      const hasBody = status !== 204 && status !== 205 && status !== 304;
      return plain(
        status,
        hasBody ? answer : "",
        retryAfter === undefined ? {} : { "Retry-After": retryAfter },
      );
    }
  }
}

function plain(status: number, body: string, headers: Record<string, string> = {}): HttpResponse {
  const own = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  return { status, headers: { ...own, ...headers }, body };
}

function isTaken(forwarded: Forwarded): boolean {
  return forwarded.kind === "answered" && forwarded.status < 300;
}

/** The id that its signed body has; only where it has none, the one in the header, which nobody signed. */
function eventIdOf({ claims, request }: Pick<HandledDelivery, "claims" | "request">): string | undefined {
  return claims.eventId ?? headerValues(request.rawHeaders, HEADERS.eventId)[0];
}
