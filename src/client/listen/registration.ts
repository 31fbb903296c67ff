import type { AnswerOf, OperationName, RequestOf } from "../../core/control/operations.ts";
import { isPullListenerUrl } from "../../core/webhook/endpoint.ts";
import type { World } from "../../world.ts";
import { callControl, type ControlCall, type ControlResult, type ControlTarget } from "../control/control.ts";
import type { DeliverySource, NextAttempt, ListenerSecrets, AttemptInFlight } from "./listener.ts";

export type ConnectionChange =
  | { readonly kind: "unchanged" | "lost" | "back" | "taken_over" }
  | { readonly kind: "off"; readonly reason: string }
  | { readonly kind: "refused"; readonly answer: ControlResult<unknown> };

export type ListenerRegistration = Readonly<ReturnType<typeof createRegistration>>;

const TIMEOUT_MS = 5000;
const POLL_MS = 10_000;
const MAX_READS = 8;
const FIRST_PAUSE_MS = 10;

type RegistrationOptions = {
  readonly url: string;
  readonly defaultUrl?: string | undefined;
  readonly eventTypes: readonly string[];
  readonly locate: () => ControlTarget | undefined;
};

type Answer<Name extends OperationName> = Promise<ControlResult<AnswerOf<Name>>>;
type SinceValue = RequestOf<"registerListener">["since"];

type RegistrationState = RegistrationOptions & {
  readonly world: Pick<World, "send" | "sleep">;
  readonly firstRegistration: PromiseWithResolvers<void>;
  lastRegistration: Promise<unknown>;
  endpointId: string;
  instance: string | null;
  secrets: ListenerSecrets;
  state: "connected" | "lost" | "off" | "left";
  readonly leaveController: AbortController;
};

/** `locate` is called for each request, because a restarted sandbox can have another address. */
export function createRegistration(world: RegistrationState["world"], options: RegistrationOptions) {
  const firstRegistration = Promise.withResolvers<void>();
  const registration: RegistrationState = {
    ...options,
    world,
    firstRegistration,
    lastRegistration: firstRegistration.promise,
    endpointId: "",
    instance: null,
    secrets: { inForce: [], retired: [], storeTime: null },
    state: "lost",
    leaveController: new AbortController(),
  };
  const source: DeliverySource = {
    secrets: () => fetchSecrets(registration),
    instance: () => registration.instance,
    attemptOf: (eventId) => findAttemptInFlight(registration, eventId),
    nextAttempt: (attempt) => fetchNextAttempt(registration, attempt),
  };
  return {
    ...source,
    register: (since?: SinceValue) => register(registration, since),
    check: () => check(registration),
    replay: (id: string) =>
      ask(registration, { name: "replayEvent", id, body: { endpointId: registration.endpointId } }),
    fetch: (knownIds: readonly string[], signal: AbortSignal) => {
      const body = { url: options.url, known: knownIds.join(","), waitMs: POLL_MS };
      return ask(registration, { name: "fetchDeliveries", body, timeoutMs: TIMEOUT_MS + POLL_MS, signal });
    },
    answer: (id: string, body: RequestOf<"answerDelivery">) =>
      ask(registration, { name: "answerDelivery", id, body }),
    /** Null for real time; undefined if the store had its own time and the sandbox no longer answers. */
    storeTime: () => fetchStoreTime(registration),
    /** Deliveries pause until the next registration, unless another listener has taken over. */
    leave: () => leave(registration),
  };
}

async function ask<Name extends OperationName>(
  registration: RegistrationState,
  call: ControlCall<Name>,
): Answer<Name> {
  const target = registration.locate();
  if (target === undefined) return { end: "unreachable", message: "no sandbox is running there" };
  const onInstance = (instance: string): void => void (registration.instance = instance);
  return callControl(registration.world, { ...target, onInstance }, { timeoutMs: TIMEOUT_MS, ...call });
}

function register(registration: RegistrationState, since?: SinceValue): Answer<"registerListener"> {
  const outcome = sendRegistration(registration, since).finally(registration.firstRegistration.resolve);
  registration.lastRegistration = outcome;
  return outcome;
}

async function sendRegistration(
  registration: RegistrationState,
  since: SinceValue | undefined,
): Answer<"registerListener"> {
  const { url, eventTypes, defaultUrl: forwardTo } = registration;
  const body = { url, eventTypes, since, forwardTo };
  const outcome = await ask(registration, { name: "registerListener", body });
  if (outcome.end !== "success") return outcome;
  const { id, signingSecrets: secrets, storeTime } = outcome.value;
  registration.endpointId = id;
  registration.secrets = { inForce: secrets, retired: [], storeTime };
  registration.state = "connected";
  return outcome;
}

/** Fetches the secrets for each delivery, so that a secret that was just retired is not accepted. */
async function fetchSecrets(registration: RegistrationState): Promise<ListenerSecrets> {
  await registration.firstRegistration.promise;
  await registration.lastRegistration;
  const secretResult = await askForSecrets(registration);
  if (secretResult.end === "success") registration.secrets = secretResult.value;
  return registration.secrets;
}

async function fetchStoreTime(registration: RegistrationState): Promise<number | null | undefined> {
  const fallbackTime = registration.secrets.storeTime === null ? null : undefined;
  if (registration.state === "lost") return fallbackTime;
  const secretResult = await askForSecrets(registration);
  return secretResult.end === "success" ? secretResult.value.storeTime : fallbackTime;
}

function askForSecrets(registration: RegistrationState): Answer<"showSecret"> {
  return ask(registration, { name: "showSecret", id: registration.endpointId, body: undefined });
}

/** Attempts of one event never overlap at an endpoint (decision 93), so the unfinished attempt is the one in flight. */
async function findAttemptInFlight(
  registration: RegistrationState,
  eventId: string,
): Promise<AttemptInFlight | undefined> {
  const body = { eventId, endpointId: registration.endpointId };
  const deliveryList = await ask(registration, { name: "listDeliveries", body });
  const deliveries = deliveryList.end === "success" ? deliveryList.value.deliveries : [];
  return deliveries.flatMap(({ id, cause, attempts }) => {
    const attempt = attempts.at(-1);
    if (attempt === undefined || attempt.finishedAt !== null) return [];
    return [{ deliveryId: id, eventId, attempt: attempt.number, cause }];
  })[0];
}

async function fetchNextAttempt(
  registration: RegistrationState,
  { deliveryId, eventId, attempt: attemptNumber }: AttemptInFlight,
): Promise<NextAttempt | undefined> {
  for (let readCount = 0; readCount < MAX_READS; readCount += 1) {
    await registration.world.sleep(FIRST_PAUSE_MS * 2 ** readCount);
    const eventResult = await ask(registration, { name: "showEvent", id: eventId, body: undefined });
    if (eventResult.end !== "success") return undefined;
    const delivery = eventResult.value.deliveries.find(({ id }) => id === deliveryId);
    const attempt = delivery?.attempts.find(({ number }) => number === attemptNumber);
    if (attempt === undefined || attempt.finishedAt === null) continue;
    const { nextAt: at, finishedAt } = attempt;
    return { at, waitMs: at === null ? null : at - finishedAt };
  }
  return undefined;
}

async function check(registration: RegistrationState): Promise<ConnectionChange> {
  const { endpointId: id, url, leaveController } = registration;
  // A long poll: the sandbox answers as soon as the endpoint changes.
  const waitMs = registration.state === "connected" ? POLL_MS : 0;
  const answer = await ask(registration, {
    name: "showEndpoint",
    id,
    body: { url, waitMs },
    timeoutMs: TIMEOUT_MS + waitMs,
    signal: leaveController.signal,
  });
  if (registration.state === "left") return NO_CHANGE;
  // The endpoint is missing, for example because a restore replaced the sandbox's state.
  if (answer.end === "refusal" && answer.error.code === "not_found") return reconnect(registration);
  if (answer.end === "refusal" && answer.status === 401 && isPullListenerUrl(url))
    return { kind: "refused", answer };
  if (answer.end !== "success") return markLost(registration);
  const { state, reason, pausedBy } = answer.value;
  if (answer.value.url !== url) return { kind: "taken_over" };
  if (registration.state === "lost" || pausedBy === "listener") return reconnect(registration);
  const previousState = registration.state;
  registration.state = state === "enabled" || pausedBy === "drill" ? "connected" : "off";
  if (registration.state === "connected" || previousState === "off") return NO_CHANGE;
  return { kind: "off", reason: reason ?? "it was disabled" };
}

async function reconnect(registration: RegistrationState): Promise<ConnectionChange> {
  const wasLost = registration.state === "lost";
  const outcome = await register(registration);
  if (outcome.end !== "success") return markLost(registration);
  return wasLost ? { kind: "back" } : NO_CHANGE;
}

function markLost(registration: RegistrationState): ConnectionChange {
  const previousState = registration.state;
  registration.state = "lost";
  return previousState === "lost" ? NO_CHANGE : { kind: "lost" };
}

async function leave(registration: RegistrationState): Promise<void> {
  registration.state = "left";
  registration.leaveController.abort();
  const { endpointId: id } = registration;
  const answer = await ask(registration, { name: "showEndpoint", id, body: {} });
  if (answer.end !== "success" || answer.value.url !== registration.url) return;
  // After a drill, an endpoint that the drill paused is enabled again, so it must be left as well.
  if (answer.value.state !== "enabled" && answer.value.pausedBy !== "drill") return;
  await ask(registration, { name: "setEndpointState", id, body: { action: "leave" } });
}

const NO_CHANGE: ConnectionChange = { kind: "unchanged" };
