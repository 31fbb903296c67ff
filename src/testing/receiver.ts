import { EVENT_TYPES } from "../core/checkout/event-types.ts";
import { headerPairs } from "../core/network/headers.ts";
import type { VerifyInput } from "../core/webhook/signature.ts";
import { verifyWebhook } from "../core/webhook/verify.ts";
import { createWriteSignals } from "../sandbox/runtime/write-signals.ts";
import type { HttpRequest, Listener, Service } from "../world.ts";
import { isError } from "../core/outcome.ts";
import { printableLiteral } from "../core/text.ts";
import { fakeTimersProblem } from "../world/clock.ts";
import { checkOptions, type FieldTree } from "./call-options.ts";
import type { Calls } from "./calls.ts";
import { ignoreNotFound } from "./errors.ts";
import { createLog } from "./store/log.ts";
import { EVENT_FILTER_FIELDS } from "./store/logs.ts";
import type { InProcessSandbox } from "./in-process.ts";
import type { Endpoints, Received, Receiver, ReceiverOptions } from "./types.ts";

type OwnReceiver = {
  readonly storeId: string;
  readonly forget: () => void;
  readonly end: () => Promise<void>;
};

export type Receivers = Readonly<ReturnType<typeof createReceivers>>;

export function createReceivers() {
  const runningReceivers = new Set<OwnReceiver>();
  const receiversOf = (storeId?: string): readonly OwnReceiver[] =>
    [...runningReceivers].filter((receiver) => storeId === undefined || receiver.storeId === storeId);
  return {
    add: (receiver: OwnReceiver) => void runningReceivers.add(receiver),
    drop: (receiver: OwnReceiver) => void runningReceivers.delete(receiver),
    forget: (storeId?: string) => receiversOf(storeId).forEach((receiver) => receiver.forget()),
    end: async (storeId?: string) =>
      void (await Promise.all(receiversOf(storeId).map((receiver) => receiver.end()))),
  };
}

const RECEIVED_FIELDS = {
  verified: true,
  problem: true,
  message: true,
  event: EVENT_FILTER_FIELDS,
  type: true,
  headers: true,
  rawBody: true,
} satisfies Readonly<Record<keyof Received, true | FieldTree>>;

const ARRIVAL_EVENT = "arrived";
const DRAIN_TIMEOUT_MS = 100;

type ReceiverContext = {
  readonly calls: Calls;
  readonly storeId: string;
  readonly endpoints: Endpoints;
  readonly receivers: Receivers;
};

export async function startReceiver(
  sandbox: InProcessSandbox,
  { calls, storeId, endpoints, receivers }: ReceiverContext,
  options: ReceiverOptions,
): Promise<Receiver> {
  checkOptions("receiver", options);
  const { answer = ({ verified }) => (verified ? 200 : 400), events } = options;
  const { world } = sandbox;
  const deliveries: Received[] = [];
  const signals = createWriteSignals(world);
  // Read for each request, because secrets can be rotated while the receiver runs.
  const secrets = async (): Promise<readonly string[]> => {
    const { inForce } = await calls.control({ name: "showSecret", storeId, id: endpointId, body: undefined });
    return inForce;
  };
  const take = async (request: HttpRequest): Promise<number> => {
    const webhook = createReceived(request, {
      secrets: await secrets(),
      now: (world.receiverTime ?? world.now)(),
      dialect: sandbox.context.store.stores.dialect(storeId),
    });
    deliveries.push(webhook);
    signals.notify(ARRIVAL_EVENT);
    return parseStatus(await answer(webhook));
  };
  const listener = await listen(sandbox, take);
  const url = `http://127.0.0.1:${listener.port}/`;
  const receiver: OwnReceiver = {
    storeId,
    forget: () => void deliveries.splice(0),
    end: () => {
      receivers.drop(receiver);
      return listener.close(DRAIN_TIMEOUT_MS);
    },
  };
  receivers.add(receiver);
  const endpoint = await endpoints
    .add(url, events === undefined ? {} : { events })
    .catch(async (error: unknown) => {
      await receiver.end();
      throw error;
    });
  const { id: endpointId } = endpoint;
  const close = async (): Promise<void> => {
    try {
      if (!sandbox.isClosed()) await endpoints.remove(endpointId).catch(ignoreNotFound);
    } finally {
      await receiver.end();
    }
  };
  const { waitFor } = createLog({
    ...sandbox,
    types: EVENT_TYPES,
    noun: "webhook",
    fields: RECEIVED_FIELDS,
    open: () => () => Promise.resolve(deliveries),
    follow: (onWrite) => signals.follow(ARRIVAL_EVENT, onWrite),
    names: ({ type, event }) => [type, event?.event_id ?? null],
    line: ({ type, problem, message }) => type ?? `refused: ${problem ?? ""}: ${message ?? ""}`,
  });
  return { url, endpointId, received: deliveries, waitFor, close, [Symbol.asyncDispose]: close };
}

async function listen(
  { world }: InProcessSandbox,
  take: (request: HttpRequest) => Promise<number>,
): Promise<Listener> {
  const timersProblem = fakeTimersProblem();
  if (timersProblem !== undefined)
    throw new Error(`a receiver cannot listen: ${timersProblem.message}; ${timersProblem.next}`);
  const respond = (status: number, body = "") => ({ status, headers: {}, body });
  const service: Service = {
    answer: async (request) => {
      try {
        return respond(await take(request));
      } catch (error) {
        // The user's `answer` threw, or the store was deleted. The delivery attempt records this body.
        return respond(
          500,
          `the answer of the receiver failed: ${isError(error) ? error.message : String(error)}`,
        );
      }
    },
    refuse: () => respond(400),
  };
  const listenResult = await world.listen(() => service, { port: 0 });
  if (!listenResult.ok) throw new Error(`a receiver cannot listen: ${listenResult.refusal.message}`);
  return listenResult.value;
}

function parseStatus(status: unknown): number {
  if (typeof status === "number" && Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new Error(`it returned ${printableLiteral(status)}; expected a status from 200 to 599`);
}

function createReceived(
  { rawHeaders, body }: HttpRequest,
  verification: Omit<VerifyInput, "rawBody" | "headers">,
): Received {
  const verdict = verifyWebhook({ rawBody: body, headers: rawHeaders, ...verification });
  const pairs = headerPairs(rawHeaders).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    verified: verdict.ok,
    problem: verdict.ok ? null : verdict.code,
    message: verdict.ok ? null : verdict.message,
    event: verdict.ok ? verdict.event : null,
    type: verdict.ok ? verdict.event.type : null,
    headers: Object.fromEntries(pairs),
    rawBody: Buffer.from(body).toString("utf8"),
  };
}
