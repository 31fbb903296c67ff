import { allowedHosts, localOrigin } from "../core/loopback.ts";
import { hostOf, isLoopbackAddress, type ListenAddress } from "../core/network/address.ts";
import { hostHeaders, portalOrigin } from "../core/network/public-url.ts";
import type { Refusal } from "../core/outcome.ts";
import type { RateLimit } from "../core/request/rate-limit.ts";
import { toStorageError } from "../store/connection/group-commit.ts";
import { StorageUnavailable } from "../store/connection/storage-failure.ts";
import { guardRequest } from "../web/guard.ts";
import { headerLines } from "../web/http.ts";
import type { HttpRequest, Service, UnreadableRequest, World } from "../world.ts";
import { createClockMoves } from "./clock-moves.ts";
import { createTokens } from "./access/tokens.ts";
import type { AccessEntry, AccessLog } from "./runtime/access-log.ts";
import { createWriteSignals, type WriteSignals } from "./runtime/write-signals.ts";
import { createPortalAccess } from "./runtime/portal-access.ts";
import type { RequestLog } from "./runtime/request-log.ts";
import { createPageViewRecorder } from "./checkout/page-views.ts";
import { createAssumptionLog } from "./readiness/assumption-log.ts";
import { createMutex } from "../core/mutex.ts";
import { redactValues } from "../core/text.ts";
import { answerRefusal, storageRefusal, type Answer } from "./answer.ts";
import { areaOf, type AreasContext, type HostsByAudience } from "./areas.ts";
import type { ApiContext } from "./api/v1.ts";
import type { DispatchContext } from "./webhook/endpoint-queues.ts";
import { SecretUnreadable } from "./webhook/signing-secret.ts";
import { createRelay } from "./webhook/relay.ts";
import { createDispatcher, recoverDeliveries } from "./webhook/dispatcher.ts";
import { createLeases } from "./readiness/leases.ts";
import { createRateLimiter, dialectFor } from "./api/caller.ts";
import { holdOfStore } from "./runtime/home.ts";
import { resolvesWithin, createStoreGate } from "./runtime/store-gate.ts";
import { createTimekeeper } from "./runtime/timekeeper.ts";
import type { ServedSettings } from "../core/config/settings.ts";

export type SandboxParts = Pick<
  SandboxContext,
  | "store"
  | "masterKey"
  | "controlToken"
  | "adminToken"
  | "keepKey"
  | "keepKeySoon"
  | "keepName"
  | "startClock"
  | "dialect"
  | "forgetStore"
  | "onNewInstance"
  | "folderHold"
  | "requestStop"
  | "snapshotStorage"
  | "calibration"
  | "operations"
> & {
  readonly log: AccessLog;
  readonly requests: RequestLog;
  readonly isAsleep?: boolean;
  /** `requestId`: the id that the caller received, or the name of the work that failed. */
  readonly report: (requestId: string, error: unknown) => void;
};

export type SandboxOptions = SandboxParts &
  Pick<SandboxContext, "description" | "version" | "deliveryTls"> &
  Omit<ServedSettings, "rateLimit" | "listen" | "publicUrl" | "portalUrl" | "ca" | "keptRequests"> & {
    readonly rateLimit: RateLimit | "off";
    readonly addresses: readonly ListenAddress[];
    /** Origin at which payers reach the payment pages. Default: an origin on this machine. */
    readonly publicUrl: string | undefined;
    readonly portalUrl: string | undefined;
    /** `public`: webhooks are sent to public addresses (decision 124). Default: to loopback addresses. */
    readonly targetReach?: "public";
  };

export type Sandbox = {
  readonly service: Service;
  readonly context: SandboxContext;
  readonly fail: (request: HttpRequest, error: unknown) => Promise<Answer>;
  readonly start: () => Promise<void>;
  readonly markAnnounced: () => void;
  readonly stop: (graceMs: number) => Promise<void>;
};

export type SandboxContext = AreasContext & DispatchContext;

type SandboxWorld = SandboxContext["world"] & Pick<World, "after" | "randomBytes" | "freshId">;

export function createSandbox(world: SandboxWorld, options: SandboxOptions): Sandbox {
  const report = (work: string) => (error: unknown) => options.report(work, error);
  const writeSignals = createWriteSignals(world);
  const controller = new AbortController();
  const access = accessOf(world, options, report("token use"));
  const note = createRequestLogger({ ...options, ...access }, world);
  const { isReady, markAnnounced } = createAnnouncement(world);
  const context: SandboxContext = {
    ...options,
    world,
    isReady,
    ...deriveValues(options),
    ...access,
    assumptions: createAssumptionLog(options.store, report("assumptions")),
    pageViews: createPageViewRecorder({ store: options.store, world, writeSignals }, report("page views")),
    ...createMemoryState(world, writeSignals, report("lease")),
    writeSignals,
    expectDue: (storeId, realTime) => timekeeper.expect(storeId, realTime),
    wakeDispatcher: (endpointId) => dispatcher.wake(endpointId),
    wakeStores: async (storeIds) => {
      await timekeeper.wake(storeIds);
      dispatcher.wakeStores(storeIds);
    },
    ...(options.isAsleep === true ? IDLE_TIMERS : {}),
    storeGate: createStoreGate(world, (storeId) => writeSignals.notify(storeId)),
    saveStory: async (page) =>
      (await import("./pages/portal/checkout/saved-story.ts")).renderStoryFile(context, page),
    pause: (milliseconds) => world.sleep(milliseconds, controller.signal),
    dispatcher: { drain: (storeId, budgetMs) => dispatcher.drain(storeId, budgetMs) },
  };
  const dispatcher = createDispatcher(context, report("delivery"));
  const fail = createFailureAnswers(context, options.report);
  const timekeeper = createTimekeeper(world, { context: () => context, report: report("timer") });
  const hosts = hostsByAudience(options);
  const service: Service = {
    answer: async (request) => {
      const startedAt = world.monotonic();
      const answer = await answerSafely(request);
      // Delays after the area has answered, so that an erasure of the store does not wait for the delay.
      if (answer.delayMs !== undefined) await context.pause(answer.delayMs);
      return note(request, answer, startedAt);
    },
    refuse: async (request) => note(request, await refuseUnread(context, request), world.monotonic()),
  };
  return {
    service,
    context,
    fail,
    start: () => catchUp(context),
    markAnnounced,
    stop: async (graceMs) => {
      for (const end of [() => controller.abort(), timekeeper.stop, writeSignals.end]) end();
      const records = Promise.all([context.assumptions.idle(), context.pageViews.idle()]);
      const recordsEnd = resolvesWithin(world, graceMs, records);
      await Promise.all([dispatcher.stop(graceMs), recordsEnd, context.leases.endAll()]);
    },
  };

  async function answerSafely(request: HttpRequest): Promise<Answer> {
    try {
      const area = areaOf(request);
      const guard = guardRequest(request, hosts[area.audience]);
      if (!guard.ok) return answerWithRefusal(context, request, guard.refusal);
      return await area.answer(context, request);
    } catch (error) {
      return fail(request, error);
    }
  }
}

function createFailureAnswers(context: AreasContext, report: SandboxOptions["report"]): Sandbox["fail"] {
  return (request, error) => {
    const requestId = context.world.uuid("failed");
    report(requestId, error);
    return failureAnswer(context, { request, requestId }, refusalOfFailure(error, requestId));
  };
}

const MAX_START_WAIT_MS = 5000;

function createAnnouncement(world: Pick<World, "after">) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isAnnounced = false;
  void promise.then(() => (isAnnounced = true));
  return {
    markAnnounced: resolve,
    isReady: async () => isAnnounced || (await resolvesWithin(world, MAX_START_WAIT_MS, promise)),
  };
}

function deriveValues(options: SandboxOptions) {
  const { port, publicUrl, rateLimit, allowTargets, targetReach, description } = options;
  const { origin } = new URL(description.baseUrl);
  return {
    checkoutOrigin: publicUrl ?? origin,
    localOrigin: origin,
    rateLimiter: createRateLimiter(rateLimit),
    holdOf: (storeId: string) => holdOfStore(options, storeId),
    targets: { allowedHosts: allowTargets, ownPort: port, ...(targetReach && { reach: targetReach }) },
  };
}

const IDLE_TIMERS = {
  expectDue: () => undefined,
  wakeDispatcher: () => undefined,
  wakeStores: () => Promise.resolve(),
} satisfies Partial<SandboxContext>;

const TOO_MANY_COOKIES =
  "; most of them are cookies of other programs on this machine: delete the cookies of localhost and 127.0.0.1 in this browser, then reload";

function createMemoryState(world: SandboxWorld, { notify }: WriteSignals, report: (error: unknown) => void) {
  const notifyChange = (storeId: string): void => notify(storeId, { checkoutId: null });
  return {
    listenerTargets: new Map<string, string>(),
    relay: createRelay(world, notifyChange),
    leases: createLeases(world, { report, onChange: notifyChange }),
    clockMutex: createMutex(),
    clockMoves: createClockMoves(),
  };
}

function accessOf(
  world: SandboxWorld,
  { port, controlToken, adminToken, description, store }: SandboxOptions,
  report: (error: unknown) => void,
): Pick<SandboxContext, "portal" | "tokens" | "secrets"> {
  const tokens = createTokens(world, store, report);
  const portal = createPortalAccess(world, { url: description.portalUrl, port }, { adminToken, tokens });
  const portalKeys = portal.isOff ? [] : [portal.path.slice("/portal/".length)];
  return { portal, tokens, secrets: [controlToken, adminToken, ...portalKeys] };
}

function createRequestLogger(
  { log, requests, secrets }: SandboxOptions & Pick<SandboxContext, "secrets">,
  { now, monotonic }: Pick<World, "now" | "monotonic">,
) {
  return (request: Pick<HttpRequest, "method" | "target">, answer: Answer, startedAt: number): Answer => {
    // Rounded up to a tenth, as in both logs, so that no request seems to end before the checkout that it created.
    const milliseconds = Math.ceil((monotonic() - startedAt) * 10) / 10;
    const logValues = { at: now(), milliseconds, secrets };
    const { audience } = areaOf(request);
    if (answer.isUnlogged !== true && (audience === "merchant" || audience === "browser"))
      log.add(entryOf(request, answer, logValues));
    requests.note(request, answer, logValues);
    return answer;
  };
}

async function catchUp(context: SandboxContext): Promise<void> {
  const { store, world } = context;
  await Promise.all([
    recoverDeliveries(context),
    store.write(() => store.credentials.revokeDrillKeys(world.now()), { isOftenIdle: true }),
  ]);
  if (store.leaseEffects.all().length > 0)
    await (await import("./readiness/open-lease.ts")).undoEffects(context);
  await context.wakeStores(store.clocks.storeIds());
}

export function hostsByAudience(
  options: Pick<
    SandboxOptions,
    "port" | "allowHosts" | "allowControlHosts" | "addresses" | "publicUrl" | "portalUrl"
  >,
): HostsByAudience {
  const { port, allowHosts, allowControlHosts, addresses, publicUrl, portalUrl } = options;
  const knownHosts = [...addresses.filter(isLoopbackAddress).map(hostOf), ...publicHosts(publicUrl, port)];
  const portalHosts = publicHosts(portalUrl, port);
  const everywhere = (hosts: readonly string[]) => {
    const allowed = allowedHosts(port, {
      flag: "--allow-host",
      hosts: [...allowHosts, ...knownHosts, ...hosts],
    });
    return { local: allowed, remote: allowed };
  };
  // For requests from other machines, loopback names are not accepted: any client can send them as Host.
  const byReach = (rule: { readonly flag: string; readonly hosts: readonly string[] }) => ({
    local: allowedHosts(port, rule),
    remote: allowedHosts(port, { ...rule, ownNames: [] }),
  });
  const merchant = everywhere([]);
  const hasPortal = portalOrigin(port, { publicUrl, portalUrl }) !== undefined;
  return {
    merchant,
    browser: everywhere(portalHosts),
    control: byReach({ flag: "--allow-control-host", hosts: allowControlHosts }),
    // Without a portal, `/portal` answers 404 under all names of the merchant area.
    portal: hasPortal ? byReach({ flag: "--portal-url", hosts: portalHosts }) : merchant,
  };
}

/** Behind a proxy, Host may omit the port. If the URL is the sandbox's own address, Host must contain the port. */
function publicHosts(url: string | undefined, port: number): readonly string[] {
  if (url === undefined) return [];
  const { host } = new URL(url);
  return host === new URL(localOrigin(port)).host ? [host] : hostHeaders(url);
}

function entryOf(
  { method, target }: Pick<HttpRequest, "method" | "target">,
  { status, headers, note, logFields }: Answer,
  { secrets, ...times }: Pick<AccessEntry, "at" | "milliseconds"> & { readonly secrets: readonly string[] },
): AccessEntry {
  const requestId = headers["X-Request-Id"] ?? "";
  const noteText = [note, logFields?.byDrill === true ? "made by a drill" : ""].filter(Boolean).join(", ");
  const shownTexts = { target: redactValues(target, secrets), note: redactValues(noteText, secrets) };
  return { ...times, method, status, requestId, ...shownTexts };
}

/** 503 if the disk failed, 409 if a signing secret cannot be decrypted, otherwise 500. */
function refusalOfFailure(error: unknown, requestId: string): Refusal {
  const knownError = toStorageError(error);
  if (knownError instanceof StorageUnavailable) return storageRefusal(knownError);
  if (knownError instanceof SecretUnreadable) return knownError.refusal;
  return {
    code: "internal_error",
    message: `an internal error of the sandbox; its log shows the reason, under ${requestId}`,
  };
}

async function failureAnswer(
  context: AreasContext,
  { request, requestId }: { readonly request: HttpRequest; readonly requestId: string },
  refusal: Refusal,
): Promise<Answer> {
  try {
    return await areaOf(request).fail(context, { request, requestId }, refusal);
  } catch {
    return answerRefusal(requestId, refusal);
  }
}

function refuseUnread(
  context: AreasContext,
  { rawHeaders = [], ...requestFields }: UnreadableRequest,
): Answer | Promise<Answer> {
  const request = { ...requestFields, rawHeaders, body: new Uint8Array() };
  const wantsPage = headerLines(request, "accept").join().includes("text/html");
  if (!wantsPage || !/^\/(?:portal|pay)(?:[/?]|$)/.test(requestFields.target))
    return answerWithRefusal(context, request, requestFields);
  const remedy = requestFields.code === "headers_too_large" ? TOO_MANY_COOKIES : "";
  const refusal = { ...requestFields, message: requestFields.message + remedy };
  const page = { ...request, target: "/pay/" };
  return failureAnswer(context, { request: page, requestId: context.world.uuid("refused") }, refusal);
}

function answerWithRefusal(
  { world, store }: ApiContext,
  { target, rawHeaders }: Pick<HttpRequest, "target" | "rawHeaders">,
  refusal: Refusal,
): Answer {
  return answerRefusal(
    world.uuid("refused"),
    refusal,
    target.startsWith("/v1/") ? dialectFor(store, { rawHeaders }) : undefined,
  );
}
