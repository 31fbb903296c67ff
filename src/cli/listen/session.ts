import { toIso } from "../../core/clock.ts";
import { allowedHosts, localOrigin } from "../../core/loopback.ts";
import {
  createRegistration,
  type ConnectionChange,
  type ListenerRegistration,
} from "../../client/listen/registration.ts";
import {
  createWebhookListener,
  type DeliverySource,
  type HandledDelivery,
  type WebhookListener,
} from "../../client/listen/listener.ts";
import { pollDeliveries } from "../../client/listen/polling.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import { pullListenerUrl, isPullListenerUrl } from "../../core/webhook/endpoint.ts";
import type { SeenEvents } from "../../core/webhook/seen-events.ts";
import { cutText, printable } from "../../core/text.ts";
import { VERSION } from "../../version.ts";
import type { Listener } from "../../world.ts";
import type { Context } from "../command.ts";
import { createKeyReader, type ListenKey } from "./keys.ts";
import type { ListenPlan } from "./options.ts";
import {
  deliveryJson,
  handledDeliveryLine,
  detailLines,
  readyText,
  timeOfDay,
  typeWidthAfterDelivery,
  initialTypeWidth,
} from "./report.ts";
import { portFailure } from "../../host/listen.ts";
import { EXIT, problemOf, Refused } from "../problem.ts";
import { waitAtMost } from "../stopping.ts";
import { unwrapAnswer } from "../target/call.ts";
import { output } from "../output/output.ts";

export type WebhookSender =
  | {
      readonly kind: "sandbox";
      readonly locate: () => ControlTarget | undefined;
      readonly since: RequestOf<"registerListener">["since"];
      /** Whether to poll for deliveries, because the sandbox may be unable to connect to this machine. */
      readonly fetchesDeliveries: boolean;
    }
  | { readonly kind: "service"; readonly secrets: readonly string[] };

type SessionOptions = {
  readonly sender: WebhookSender;
  readonly plan: ListenPlan;
  readonly seenEvents: SeenEvents;
  readonly port: number;
  readonly exitOnDisconnect: boolean;
  readonly readsKeys: boolean;
};

type Session = {
  readonly listener: Pick<Listener, "close">;
  readonly url: string;
  readonly port: number;
  readonly webhooks: WebhookListener;
  readonly registration: ListenerRegistration | undefined;
  readonly lastDelivery: () => HandledDelivery | undefined;
};

const CHECK_INTERVAL_MS = 1000;
const STOP_TIMEOUT_MS = 1000;
const DRAIN_TIMEOUT_MS = 800;
/** Each connection can hold a body in memory, so both are limited. */
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 64;
const MAX_REASON_LENGTH = 200;
const LISTENER_NAME_LENGTH = 8;
const EXTRA_IDLE_MS = 30_000;

export async function runSession(
  context: Context,
  options: SessionOptions,
  stop: AbortController,
): Promise<number> {
  await listenUntil(context, options, stop);
  context.printer.info(STOP_TEXTS[options.sender.kind]);
  return EXIT.done;
}

const STOP_TEXTS = {
  sandbox: "checkout listen stopped; events wait for the next checkout listen.",
  service: "checkout listen stopped.",
};

async function listenUntil(context: Context, options: SessionOptions, stop: AbortController): Promise<void> {
  await using session = await openSession(context, options);
  const raceWithStop = createStopRace(stop.signal);
  await raceWithStop(startSession(context, options, session));
  using keys = createKeyReader(context.world, createKeyHandler(context, session, stop));
  if (options.readsKeys) keys.read();
  await watchConnection(context, { ...options, session, raceWithStop });
}

async function openSession(context: Context, options: SessionOptions): Promise<Session & AsyncDisposable> {
  const { world } = context;
  const { plan, sender, port } = options;
  const closeAtEnd = (session: Session) => ({
    ...session,
    [Symbol.asyncDispose]: () => waitAtMost(world, STOP_TIMEOUT_MS, closeSession(session)),
  });
  if (sender.kind === "sandbox" && sender.fetchesDeliveries) {
    const url = pullListenerUrl(world.freshId().slice(0, LISTENER_NAME_LENGTH));
    const openedSession = createSession(context, options, { url, port: 0 });
    const { registration, webhooks } = openedSession;
    if (registration === undefined) throw new Error("a listener of a sandbox is registered there");
    return closeAtEnd({ ...openedSession, listener: pollDeliveries(world, registration, webhooks.service) });
  }
  let createdSession: Omit<Session, "listener"> | undefined;
  const makeService = (takenPort: number) => {
    createdSession = createSession(context, options, { url: `${localOrigin(takenPort)}/`, port: takenPort });
    return createdSession.webhooks.service;
  };
  const silenceMs = plan.timeoutMs + EXTRA_IDLE_MS;
  const limits = { bodyBytes: MAX_BODY_BYTES, connections: MAX_CONNECTIONS, silenceMs };
  const listenOutcome = await world.listen(makeService, { port, limits });
  if (!listenOutcome.ok) throw new Refused(problemOf(portFailure(world, port, listenOutcome.refusal)));
  if (createdSession === undefined) throw new Error("a listener makes its service");
  return closeAtEnd({ ...createdSession, listener: listenOutcome.value });
}

function createSession(
  context: Context,
  { plan, sender, seenEvents }: SessionOptions,
  { url, port }: Pick<Session, "url" | "port">,
): Omit<Session, "listener"> {
  const { world, printer } = context;
  const registration =
    sender.kind === "sandbox" ? createRegistration(world, { ...sender, ...plan, url }) : undefined;
  let shownDelivery: HandledDelivery | undefined;
  let typeWidth = initialTypeWidth(printer);
  const webhooks = createWebhookListener(world, {
    source: hideSecrets(context, registration ?? createFixedSource(sender, plan)),
    seen: seenEvents,
    plan,
    forwardOptions: { ...plan, targets: { allowedHosts: plan.allowedHosts, ownPort: port } },
    hosts: allowedHosts(port, { flag: "--allow-host", hosts: plan.ownHosts }),
    paths: pathsOf(plan),
    onHandled: (delivery) => {
      shownDelivery = delivery;
      typeWidth = typeWidthAfterDelivery(delivery, typeWidth);
      const lineStyle = { style: printer.style, wrap: printer.wrap, plan, typeWidth };
      printer.line(output("listen", deliveryJson(delivery)), () => handledDeliveryLine(delivery, lineStyle));
    },
    onStrayRequest: (reason) =>
      void readLineTime(context, registration).then(({ at: moment, realTimeTexts }) =>
        printer.info(
          [
            timeOfDay(moment),
            `not a delivery: ${printable(cutText(reason, MAX_REASON_LENGTH))}`,
            ...realTimeTexts,
          ].join("  "),
        ),
      ),
    report: (error) => printer.trace(printable(`checkout listen: ${messageOf(error)}`)),
  });
  return { url, port, registration, webhooks, lastDelivery: () => shownDelivery };
}

/** Accepts `/` and the path of the `--forward` URL, because a tunnel can be registered with either path. */
function pathsOf({ defaultUrl }: ListenPlan): string[] {
  return [...new Set(["/", ...(defaultUrl === undefined ? [] : [new URL(defaultUrl).pathname])])];
}

function createFixedSource(sender: WebhookSender, { dialect }: ListenPlan): DeliverySource {
  const secrets = sender.kind === "service" ? sender.secrets : [];
  return {
    secrets: () => Promise.resolve({ inForce: secrets, retired: [], storeTime: null, dialect }),
    instance: () => null,
    attemptOf: () => Promise.resolve(undefined),
    nextAttempt: () => Promise.resolve(undefined),
  };
}

function hideSecrets({ printer }: Context, source: DeliverySource): DeliverySource {
  return {
    ...source,
    secrets: async () => {
      const secrets = await source.secrets();
      for (const secret of [...secrets.inForce, ...secrets.retired]) printer.hide(secret);
      return secrets;
    },
  };
}

async function startSession(
  { world, printer }: Context,
  { sender, plan, readsKeys }: SessionOptions,
  { registration, url, port }: Session,
): Promise<void> {
  const sandboxSender = sender.kind === "sandbox" ? sender : undefined;
  const answer =
    sandboxSender && registration
      ? unwrapAnswer(await registration.register(sandboxSender.since))
      : undefined;
  for (const secret of answer?.signingSecrets ?? []) printer.hide(secret);
  const ready = {
    event: "ready",
    url,
    sandbox: sandboxSender?.locate()?.origin ?? null,
    endpoint_id: answer?.id ?? null,
    event_types: plan.eventTypes,
    forward: plan.defaultUrl ?? null,
    routes: plan.routes.map(({ pattern: type, url: target }) => ({ type, url: target })),
    replayed: answer?.replayed ?? 0,
    pid: world.pid,
    version: VERSION,
  } as const;
  const ownAddresses = pathsOf(plan).map((path) => `${localOrigin(port)}${path}`);
  await printer.result(output("listen", ready), () =>
    readyText(ready, { plan, ownAddresses, readsKeys, style: printer.style }),
  );
}

type WatchOptions = SessionOptions & { readonly session: Session; readonly raceWithStop: StopRace };

async function watchConnection(context: Context, options: WatchOptions): Promise<void> {
  const { session, raceWithStop } = options;
  for (;;) {
    const pause = new Promise<void>((resolve) => context.world.after(CHECK_INTERVAL_MS, resolve));
    if ((await raceWithStop(pause)) === "stopped") return;
    if (session.registration === undefined) continue;
    const change = await raceWithStop(session.registration.check());
    if (change === "stopped") return;
    await reportChange(context, options, change);
  }
}

/** `at`: the store's time, or the real time if it is unknown. `realTimeTexts`: empty for a store in real time. */
async function readLineTime(
  { world, printer }: Context,
  registration: ListenerRegistration | undefined,
): Promise<{ readonly at: number; readonly realAt: number; readonly realTimeTexts: readonly string[] }> {
  const realAt = world.now();
  const storeAt = registration === undefined ? null : await registration.storeTime();
  if (storeAt === null) return { at: realAt, realAt, realTimeTexts: [] };
  if (storeAt === undefined) return { at: realAt, realAt, realTimeTexts: [printer.style.dim("real time")] };
  return { at: storeAt, realAt, realTimeTexts: [printer.style.dim(`real time ${timeOfDay(realAt)}`)] };
}

async function reportChange(
  context: Context,
  options: WatchOptions,
  change: ConnectionChange,
): Promise<void> {
  if (change.kind === "unchanged") return;
  const { printer } = context;
  const { at, realAt, realTimeTexts } = await readLineTime(context, options.session.registration);
  const printChange = (
    event: "disconnected" | "reconnected" | "disabled",
    fields: { readonly sandbox?: string; readonly reason?: string },
    text: string,
  ): void =>
    printer.line(output("listen", { event, at: toIso(at), real_at: toIso(realAt), ...fields }), () =>
      [timeOfDay(at), printer.style.bold(event), printable(text), ...realTimeTexts].join("  "),
    );
  switch (change.kind) {
    case "lost":
      printChange(
        "disconnected",
        {},
        "the sandbox is disconnected; its events are delivered when it returns",
      );
      if (!options.exitOnDisconnect) return;
      throw new Refused({
        exitCode: EXIT.unreachable,
        code: "disconnected",
        message: "the sandbox is disconnected, and --exit-on-disconnect is set",
        next: "start it again: checkout sandbox start; its events are delivered to the next checkout listen",
      });
    case "back": {
      const { sender } = options;
      const origin = (sender.kind === "sandbox" ? sender.locate()?.origin : undefined) ?? "";
      return printChange("reconnected", { sandbox: origin }, `the sandbox is back at ${origin}`);
    }
    case "off":
      return printChange(
        "disabled",
        { reason: change.reason },
        `the sandbox no longer delivers here: ${change.reason}; run checkout listen again`,
      );
    case "refused":
      unwrapAnswer(change.answer, { credential_invalid: ASK_OWNER_HINT });
      return;
    case "taken_over":
      throw new Refused({
        code: "taken_over",
        message: "another checkout listen has taken over the events of this sandbox",
        next: "use that listener; to run two receivers, add the second one: checkout endpoints add URL",
      });
  }
}

const ASK_OWNER_HINT = "ask the owner of the sandbox for another token: checkout tokens create";

function createKeyHandler(
  context: Context,
  { registration, lastDelivery }: Session,
  stop: AbortController,
): (key: ListenKey) => void {
  const { printer } = context;
  let isReplaying = false;
  const replay = async (): Promise<void> => {
    const delivery = lastDelivery();
    const eventId = delivery?.isVerified === true ? delivery.claims.eventId : null;
    if (registration === undefined) return printer.info("only the service can send an event again");
    if (eventId === null) return printer.info("there is no verified event to replay yet");
    isReplaying = true;
    const outcome = await registration.replay(eventId);
    isReplaying = false;
    if (outcome.end === "success") {
      const { at, realTimeTexts } = await readLineTime(context, registration);
      return printer.info([timeOfDay(at), `replaying ${printable(eventId)}`, ...realTimeTexts].join("  "));
    }
    const reason = outcome.end === "refusal" ? outcome.error.message : "the sandbox does not answer";
    printer.info(printable(`not replayed: ${reason}`));
  };
  return (key) => {
    if (key === "quit") return stop.abort();
    if (key === "replay") return isReplaying ? undefined : void replay();
    const delivery = lastDelivery();
    printer.info(delivery === undefined ? "there was no delivery yet" : detailLines(delivery));
  };
}

async function closeSession({ listener, webhooks, registration, url }: Session): Promise<void> {
  // A polling listener answers its deliveries before it leaves, because it cannot answer afterwards.
  if (isPullListenerUrl(url)) await listener.close(DRAIN_TIMEOUT_MS);
  await registration?.leave();
  await listener.close(DRAIN_TIMEOUT_MS);
  await webhooks.idle();
}

type StopRace = <Value>(work: Promise<Value>) => Promise<Value | "stopped">;

/** Keeps only the last wait, because a single promise for the whole session would collect a callback per wait. */
function createStopRace(signal: AbortSignal): StopRace {
  let wake = (): void => undefined;
  signal.addEventListener("abort", () => wake(), { once: true });
  return (work) =>
    new Promise((resolve, reject) => {
      wake = () => resolve("stopped");
      if (signal.aborted) wake();
      work.then(resolve, reject);
    });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
