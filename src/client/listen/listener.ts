import { ERRORS } from "../../core/errors.ts";
import { createMutex, type Mutex } from "../../core/mutex.ts";
import { FAULT_HEADER, parseFaultHeader } from "../../core/fault/fault.ts";
import type { AppliedFault } from "../../core/fault/shapes.ts";
import { targetFor, type ForwardPlan } from "../../core/webhook/forwarding.ts";
import { takeToken, type Bucket } from "../../core/request/rate-limit.ts";
import type { SeenEvents } from "../../core/webhook/seen-events.ts";
import type { Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import { claimsIn, parseJsonBody, type Claims } from "../../core/webhook/diagnosis/claims.ts";
import type { DiagnoseOptions } from "../../core/webhook/diagnosis/diagnose.ts";
import type { Dialect } from "../../core/shape/dialect.ts";
import { checkHost, type AllowedHosts } from "../../core/loopback.ts";
import { verifyWebhook } from "../../core/webhook/verify.ts";
import { headerNamesIn, headerValues } from "../../core/webhook/signature.ts";
import type { HeaderNames, WebhookCode } from "../../core/webhook/webhook.ts";
import type { HttpRequest, HttpResponse, Service, World } from "../../world.ts";
import { forwardDelivery, type ForwardResult, type ForwardOptions } from "./forward.ts";
import { createCauseSearch, type CauseSearch } from "./search.ts";
import type { DeliveryEntry } from "../../core/webhook/shapes.ts";

/** `inForce`: active secrets, newest first. */
export type ListenerSecrets = {
  readonly inForce: readonly string[];
  readonly retired: readonly string[];
  readonly storeTime: number | null;
  readonly dialect?: Dialect | undefined;
};

export type AttemptInFlight = {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly attempt: number;
  readonly cause: DeliveryEntry["cause"];
};

/** `at`: by the store's clock, in milliseconds. Both are null if the delivery is given up. */
export type NextAttempt = { readonly at: number | null; readonly waitMs: number | null };

export type DeliverySource = {
  readonly secrets: () => Promise<ListenerSecrets>;
  readonly instance: () => string | null;
  readonly attemptOf: (eventId: string) => Promise<AttemptInFlight | undefined>;
  readonly nextAttempt: (attempt: AttemptInFlight) => Promise<NextAttempt | undefined>;
};

export type ListenerResult =
  | { readonly kind: "not_verified"; readonly causes: readonly Diagnosis[] }
  | { readonly kind: "duplicate" | "not_wanted" | "no_target" }
  /** `isReplay`: whether a target has already accepted the event. */
  | (ForwardResult & { readonly isReplay: boolean });

type Arrival = {
  readonly at: number;
  /** By the sending store's clock, in milliseconds; null for real time. */
  readonly storeAt: number | null;
  readonly request: HttpRequest;
  readonly claims: Claims;
  readonly isVerified: boolean;
  readonly fault: { readonly code: WebhookCode; readonly message: string } | undefined;
  readonly injectedFault: AppliedFault | undefined;
};

export type HandledDelivery = Arrival & {
  readonly result: ListenerResult;
  readonly status: number;
  readonly milliseconds: number;
  readonly nextAttempt: NextAttempt | undefined;
};

type ListenerOptions = {
  readonly source: DeliverySource;
  readonly seen: Pick<SeenEvents, "has" | "add">;
  readonly plan: ForwardPlan;
  readonly forwardOptions: ForwardOptions;
  readonly hosts: AllowedHosts;
  readonly paths: readonly string[];
  readonly onHandled: (delivery: HandledDelivery) => void;
  readonly onStrayRequest: (reason: string) => void;
  readonly report: (error: unknown) => void;
};

export type WebhookListener = Readonly<ReturnType<typeof createWebhookListener>>;

const MAX_IN_FLIGHT = 32;
/** Limits look-ups and reports for requests without a valid signature, because the port may be open to the internet. */
const STRAY_LIMIT = { perSecond: 1, burst: 60 };

const MAX_UNSIGNED_BODY_BYTES = 64 * 1024;
const NO_BODY = new Uint8Array();

type Context = ListenerOptions & {
  readonly world: Pick<World, "now" | "monotonic" | "send" | "resolve" | "soon">;
  readonly search: CauseSearch;
  readonly mayReportStray: () => boolean;
  readonly runInTurn: Mutex;
  /** Lets work continue after the answer, and reports its errors. */
  readonly trackWork: (work: Promise<void>) => void;
};

/** Forwards only verified deliveries, and passes the target's answer on to the sender. */
export function createWebhookListener(world: Context["world"], options: ListenerOptions) {
  const pendingWork = new Set<Promise<void>>();
  let bucket: Bucket | undefined;
  let openCount = 0;
  const context: Context = {
    ...options,
    world,
    mayReportStray: () => {
      const tokenResult = takeToken(STRAY_LIMIT, bucket, world.now());
      bucket = tokenResult.bucket;
      return tokenResult.outcome.ok;
    },
    search: createCauseSearch(world),
    runInTurn: createMutex(),
    trackWork: (work) => {
      const trackedWork = work.catch(options.report).finally(() => pendingWork.delete(trackedWork));
      pendingWork.add(trackedWork);
    },
  };
  // Anyone can get this answer, so it must not reveal the listener's paths and targets.
  const refuse = (status: keyof typeof STRAY_ANSWERS, reason: string): HttpResponse => {
    if (context.mayReportStray()) options.onStrayRequest(`${reason}; answered ${status}`);
    return STRAY_ANSWERS[status];
  };
  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    const { method, target } = request;
    const [path = ""] = target.split("?");
    const check = checkHost(headerValues(request.rawHeaders, "host"), options.hosts);
    if (!check.ok) return refuse(check.refusal.code === "invalid_request" ? 400 : 403, check.refusal.message);
    if (headerValues(request.rawHeaders, "origin").length > 0) return refuse(403, "a browser sent a request");
    if (!options.paths.includes(path))
      return refuse(404, `${method} ${path}: deliveries are accepted at ${options.paths.join(" and ")}`);
    if (method !== "POST") return refuse(405, `${method} ${path}: deliveries must use POST`);
    if (openCount >= MAX_IN_FLIGHT) return refuse(503, `${MAX_IN_FLIGHT} deliveries are already in progress`);
    openCount += 1;
    try {
      return await receive(context, request);
    } catch (error) {
      options.report(error);
      return plainAnswer(500, "the listener failed");
    } finally {
      openCount -= 1;
    }
  };
  const service: Service = {
    answer,
    refuse: ({ code, message }) => {
      const { status } = ERRORS[code];
      return refuse(status === 408 || status === 413 || status === 431 ? status : 400, message);
    },
  };
  return {
    service,
    idle: async () => {
      context.search.stop();
      await Promise.all(pendingWork);
    },
  };
}

const STRAY_ANSWERS = {
  400: plainAnswer(400, "not a valid request"),
  403: plainAnswer(403, "not allowed here"),
  404: plainAnswer(404, "not found"),
  405: plainAnswer(405, "only POST", { Allow: "POST" }),
  408: plainAnswer(408, "too late"),
  413: plainAnswer(413, "too large"),
  431: plainAnswer(431, "headers too large"),
  503: plainAnswer(503, "busy", { "Retry-After": "1" }),
} as const;

type ReceivedDelivery = Arrival & {
  /** By the monotonic clock, in milliseconds. */
  readonly arrivedAt: number;
  readonly headerNames: HeaderNames;
};

async function receive(context: Context, request: HttpRequest): Promise<HttpResponse> {
  const { world, source } = context;
  const [at, arrivedAt] = [world.now(), world.monotonic()];
  const { inForce: secrets, retired, storeTime: storeAt, dialect } = await source.secrets();
  const headerNames = headerNamesIn(dialect);
  const { body: rawBody, rawHeaders: headers } = request;
  const verification = { rawBody, headers, secrets, now: at, dialect };
  const verdict = verifyWebhook(verification);
  const isVerified = verdict.ok || verdict.code === "event_invalid";
  const [faultHeader = ""] = headerValues(headers, FAULT_HEADER);
  const arrival = {
    at,
    storeAt,
    arrivedAt,
    request,
    headerNames,
    isVerified,
    fault: verdict.ok ? undefined : verdict,
    injectedFault: parseFaultHeader(faultHeader),
  };
  if (!isVerified) {
    const knownSecrets = retired.map((secret) => ({
      label: "an earlier secret of this endpoint",
      secret,
      isRetired: true,
    }));
    return refuseUnverified(context, arrival, { ...verification, knownSecrets });
  }
  const isParsed = dialect !== undefined && verdict.ok;
  const claims = claimsIn(isParsed ? verdict.event : parseJsonBody(rawBody));
  const delivery = { ...arrival, claims };
  const eventId = eventIdOf(delivery);
  const work = async (): Promise<HttpResponse> =>
    answerAndReport(context, delivery, await handle(context, delivery));
  return eventId === undefined ? work() : context.runInTurn(eventId, work);
}

async function refuseUnverified(
  { world, source, search, trackWork, onHandled, mayReportStray }: Context,
  arrival: Omit<ReceivedDelivery, "claims">,
  verification: DiagnoseOptions,
): Promise<HttpResponse> {
  const { arrivedAt, headerNames, ...facts } = arrival;
  const [eventId] = headerValues(arrival.request.rawHeaders, headerNames.eventId);
  // Looked up before the answer, because the answer ends the attempt.
  const attempt = eventId !== undefined && mayReportStray() ? await source.attemptOf(eventId) : undefined;
  const response = answerOf({ kind: "not_verified", causes: [] });
  const milliseconds = Math.round(world.monotonic() - arrivedAt);
  const report = async (): Promise<void> => {
    // Lets the answer and waiting requests go first, because the search can take long.
    await new Promise<void>((resolve) => world.soon(resolve));
    const [causes, nextAttempt] = await Promise.all([
      search.causesOf(verification),
      attempt === undefined ? undefined : source.nextAttempt(attempt),
    ]);
    const { body } = arrival.request;
    const claims = claimsIn(parseJsonBody(body.length > MAX_UNSIGNED_BODY_BYTES ? NO_BODY : body));
    const result = { kind: "not_verified", causes } as const;
    onHandled({ ...facts, claims, result, status: response.status, milliseconds, nextAttempt });
  };
  trackWork(report());
  return response;
}

async function handle(context: Context, delivery: ReceivedDelivery): Promise<ListenerResult> {
  const { world, source, seen, plan, forwardOptions } = context;
  const target = targetFor(plan, delivery.claims.type ?? "");
  if (typeof target === "string") return { kind: target };
  const eventId = eventIdOf(delivery);
  // The request for this delivery's secrets has updated the instance id, unless the sandbox did not answer it.
  const event = eventId === undefined ? undefined : { eventId, instance: source.instance() };
  const isRepeated = event !== undefined && seen.has(event);
  // Only the sender knows whether this is a requested replay or a duplicate.
  if (isRepeated && (await source.attemptOf(event.eventId))?.cause !== "replay") return { kind: "duplicate" };
  const result = await forwardDelivery(world, { ...delivery, url: target.url }, forwardOptions);
  // An event that no target has accepted stays unrecorded, so that its next attempt is forwarded.
  if (event !== undefined && isAccepted(result)) seen.add(event, world.now());
  return { ...result, isReplay: isRepeated };
}

async function answerAndReport(
  context: Context,
  receivedDelivery: ReceivedDelivery,
  result: ListenerResult,
): Promise<HttpResponse> {
  const { world, source, onHandled, trackWork } = context;
  const response = answerOf(result);
  const { arrivedAt, headerNames: _names, ...reportedFields } = receivedDelivery;
  const delivery = {
    ...reportedFields,
    result,
    status: response.status,
    milliseconds: Math.round(world.monotonic() - arrivedAt),
  };
  const eventId = eventIdOf(receivedDelivery);
  const isRetried = response.status < 200 || response.status > 299;
  const attempt = isRetried && eventId !== undefined ? await source.attemptOf(eventId) : undefined;
  if (attempt === undefined) onHandled({ ...delivery, nextAttempt: undefined });
  else trackWork(source.nextAttempt(attempt).then((nextAttempt) => onHandled({ ...delivery, nextAttempt })));
  return response;
}

function answerOf(result: ListenerResult): HttpResponse {
  switch (result.kind) {
    case "not_verified":
      return plainAnswer(400, "not verified");
    case "duplicate":
      return plainAnswer(200, "a duplicate, not forwarded");
    case "not_wanted":
    case "no_target":
      return plainAnswer(200, "received, not forwarded");
    case "unanswered":
      return plainAnswer(502, "the target did not answer");
    case "answered": {
      const { status, answer, retryAfter } = result;
      const hasBody = status !== 204 && status !== 205 && status !== 304;
      return plainAnswer(
        status,
        hasBody ? answer : "",
        retryAfter === undefined ? {} : { "Retry-After": retryAfter },
      );
    }
  }
}

function plainAnswer(status: number, body: string, headers: Record<string, string> = {}): HttpResponse {
  const ownHeaders = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  return { status, headers: { ...ownHeaders, ...headers }, body };
}

function isAccepted(result: ForwardResult): boolean {
  return result.kind === "answered" && result.status < 300;
}

function eventIdOf({ claims, request, headerNames }: ReceivedDelivery): string | undefined {
  return claims.eventId ?? headerValues(request.rawHeaders, headerNames.eventId)[0];
}
