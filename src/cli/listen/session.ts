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
import { isPolledAddress, polledAddress } from "../../core/webhook/endpoint.ts";
import type { SeenEvents } from "../../core/webhook/seen-events.ts";
import { cutText, printable } from "../../core/text.ts";
import type { Listener, World } from "../../world.ts";
import type { Context } from "../command.ts";
import { createKeyReader, type ListenKey } from "./keys.ts";
import type { ListenPlan } from "./options.ts";
import {
  deliveryJson,
  handledDeliveryLine,
  detailLines,
  readyJson,
  readyText,
  timeOfDay,
  typeWidthAfter,
  typeWidthOf,
} from "./report.ts";
import { portFailure } from "../../host/listen.ts";
import { catchRefusal, EXIT, problemOf, Refused, type Problem } from "../problem.ts";
import { answered } from "../target/call.ts";
import { output } from "../output/output.ts";

/** The sender: a sandbox at its current address, or a service without registration. */
export type Sender =
  | {
      readonly kind: "sandbox";
      readonly locate: () => ControlTarget | undefined;
      readonly since: RequestOf<"registerListener">["since"];
      /** Whether the listener fetches its deliveries, because the sandbox may not be able to connect to it. */
      readonly polls: boolean;
    }
  | { readonly kind: "service"; readonly secrets: readonly string[] };

type SessionOptions = {
  readonly sender: Sender;
  readonly plan: ListenPlan;
  readonly seen: SeenEvents;
  readonly port: number;
  readonly exitOnDisconnect: boolean;
  readonly keys: boolean;
};

/** The listening server of a session, once its port is taken, or the poller that fetches its deliveries. */
type Session = {
  readonly listener: Pick<Listener, "close">;
  /** The address that the sandbox knows. */
  readonly url: string;
  readonly port: number;
  readonly webhooks: WebhookListener;
  readonly link: ListenerRegistration | undefined;
  readonly last: () => HandledDelivery | undefined;
};

/** Interval of checks, in milliseconds. The sandbox holds each check while nothing changes. */
const CHECK_MS = 1000;
/** Maximum duration of a stop, in milliseconds; deliveries in flight get slightly less. */
const STOP_MS = 1000;
const DRAIN_MS = 800;
/** Maximum size of a body in bytes: events are larger than requests, and each connection holds one body in memory. */
const BODY_BYTES = 1024 * 1024;
const CONNECTIONS = 64;
/** Maximum length of the shown reason why a request is not a delivery, in characters. */
const MAX_REASON_LENGTH = 200;
/** Length of the id in a polled address, in characters: enough to tell a store's listeners apart. */
const POLLED_NAME_LENGTH = 8;
/** Additional idle time of a connection beyond the target's timeout, in milliseconds. */
const SILENCE_MS = 30_000;

/** Listens until `stop` is aborted, another listener takes over, or the loss of the sandbox ends the session. */
export async function runSession(
  context: Context,
  options: SessionOptions,
  stop: AbortController,
): Promise<number> {
  await listenUntil(context, options, stop);
  context.printer.talk(STOP_TEXTS[options.sender.kind]);
  return EXIT.done;
}

const STOP_TEXTS = {
  sandbox: "checkout listen stopped; events wait for the next checkout listen.",
  service: "checkout listen stopped.",
};

/** Listens until the stop; refuses if listening ends otherwise. Both ends release the registration and the port. */
async function listenUntil(context: Context, options: SessionOptions, stop: AbortController): Promise<void> {
  await using session = await open(context, options);
  const unlessStopped = createInterruption(stop.signal);
  await unlessStopped(start(context, options, session));
  using keys = createKeyReader(context.world, keyHandler(context, session, stop));
  if (options.keys) keys.read();
  await watch(context, { ...options, session, unlessStopped });
}

async function open(context: Context, options: SessionOptions): Promise<Session & AsyncDisposable> {
  const { world } = context;
  const { plan, sender, port } = options;
  const closedAtEnd = (session: Session) => ({
    ...session,
    [Symbol.asyncDispose]: () => waitWithin(world, STOP_MS, finish(session)),
  });
  if (sender.kind === "sandbox" && sender.polls) {
    const url = polledAddress(world.freshId().slice(0, POLLED_NAME_LENGTH));
    const receiver = receive(context, options, { url, port: 0 });
    const { link, webhooks } = receiver;
    if (link === undefined) throw new Error("a listener of a sandbox is registered there");
    return closedAtEnd({ ...receiver, listener: pollDeliveries(world, link, webhooks.service) });
  }
  let madeSession: Omit<Session, "listener"> | undefined;
  const makeService = (takenPort: number) => {
    madeSession = receive(context, options, { url: `${localOrigin(takenPort)}/`, port: takenPort });
    return madeSession.webhooks.service;
  };
  const silenceMs = plan.timeoutMs + SILENCE_MS;
  const limits = { bodyBytes: BODY_BYTES, connections: CONNECTIONS, silenceMs };
  const listening = await world.listen(makeService, { port, limits });
  if (!listening.ok) throw new Refused(problemOf(portFailure(world, port, listening.refusal)));
  if (madeSession === undefined) throw new Error("a listener makes its service");
  return closedAtEnd({ ...madeSession, listener: listening.value });
}

/** Handles the deliveries of a session, however they arrive. */
function receive(
  context: Context,
  { plan, sender, seen }: SessionOptions,
  { url, port }: Pick<Session, "url" | "port">,
): Omit<Session, "listener"> {
  const { world, printer } = context;
  const link = sender.kind === "sandbox" ? createRegistration(world, { ...sender, ...plan, url }) : undefined;
  let shownDelivery: HandledDelivery | undefined;
  let typeWidth = typeWidthOf(printer);
  const webhooks = createWebhookListener(world, {
    source: hideSecrets(context, link ?? createFixedSource(sender, plan)),
    seen,
    plan,
    forwarding: { ...plan, targets: { allowedHosts: plan.allowedHosts, ownPort: port } },
    hosts: allowedHosts(port, { flag: "--allow-host", added: plan.ownHosts }),
    paths: pathsOf(plan),
    onHandled: (delivery) => {
      shownDelivery = delivery;
      typeWidth = typeWidthAfter(delivery, typeWidth);
      const look = { style: printer.style, wrap: printer.wrap, plan, typeWidth };
      printer.line(output("listen", deliveryJson(delivery)), () => handledDeliveryLine(delivery, look));
    },
    onStray: (why) =>
      void momentOf(context, link).then(({ at: moment, real }) =>
        printer.talk(
          [timeOfDay(moment), `not a delivery: ${printable(cutText(why, MAX_REASON_LENGTH))}`, ...real].join(
            "  ",
          ),
        ),
      ),
    report: (error) => printer.trace(printable(`checkout listen: ${messageOf(error)}`)),
  });
  return { url, port, link, webhooks, last: () => shownDelivery };
}

/** Deliveries are accepted at the root and at the target's path, so that a tunnel's address can have either path. */
function pathsOf({ forward }: ListenPlan): string[] {
  return [...new Set(["/", ...(forward === undefined ? [] : [new URL(forward).pathname])])];
}

function createFixedSource(sender: Sender, { dialect }: ListenPlan): DeliverySource {
  const secrets = sender.kind === "service" ? sender.secrets : [];
  return {
    secrets: () => Promise.resolve({ inForce: secrets, retired: [], storeTime: null, dialect }),
    instance: () => null,
    underway: () => Promise.resolve(undefined),
    nextAttempt: () => Promise.resolve(undefined),
  };
}

/** Hides all secrets in the output, because a target may echo one. */
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

/** Registers the listener if the sender supports registration, and reports that it is ready. */
async function start(
  { world, printer }: Context,
  { sender, plan, keys }: SessionOptions,
  { link, url, port }: Session,
): Promise<void> {
  const at = sender.kind === "sandbox" ? sender : undefined;
  const registration = at && link ? answered(await link.register(at.since)) : undefined;
  for (const secret of registration?.signingSecrets ?? []) printer.hide(secret);
  const readyFields = {
    url,
    port,
    paths: pathsOf(plan),
    plan,
    keys,
    pid: world.pid,
    origin: at?.locate()?.origin ?? null,
    endpointId: registration?.id ?? null,
    replayed: registration?.replayed ?? 0,
  };
  await printer.result(output("listen", readyJson(readyFields)), () => readyText(readyFields, printer.style));
}

type Watch = SessionOptions & { readonly session: Session; readonly unlessStopped: Interruption };

async function watch(context: Context, options: Watch): Promise<void> {
  const { session, unlessStopped } = options;
  for (;;) {
    const pause = new Promise<void>((resolve) => context.world.after(CHECK_MS, resolve));
    if ((await unlessStopped(pause)) === "stopped") return;
    if (session.link === undefined) continue;
    const change = await unlessStopped(session.link.check());
    if (change === "stopped") return;
    const problem = await tellChange(context, options, change);
    if (problem !== undefined) throw new Refused(problem);
  }
}

/** The time of a line: by the store's clock, as in lines of deliveries, followed by the real time if that differs. */
async function momentOf(
  { world, printer }: Context,
  link: ListenerRegistration | undefined,
): Promise<{ readonly at: number; readonly realAt: number; readonly real: readonly string[] }> {
  const realAt = world.now();
  const storeAt = link === undefined ? null : await link.storeTime();
  if (storeAt === null) return { at: realAt, realAt, real: [] };
  // The store's time is unknown.
  if (storeAt === undefined) return { at: realAt, realAt, real: [printer.style.dim("real time")] };
  return { at: storeAt, realAt, real: [printer.style.dim(`real time ${timeOfDay(realAt)}`)] };
}

type ChangeFields = { readonly sandbox?: string; readonly reason?: string };

/** Reports a change; returns the problem if listening has ended. */
async function tellChange(
  context: Context,
  options: Watch,
  change: ConnectionChange,
): Promise<Problem | undefined> {
  if (change.kind === "unchanged") return undefined;
  const { printer } = context;
  const { at, realAt, real } = await momentOf(context, options.session.link);
  const say = (
    event: "disconnected" | "reconnected" | "disabled",
    fields: ChangeFields,
    text: string,
  ): void =>
    printer.line(output("listen", { event, at: toIso(at), real_at: toIso(realAt), ...fields }), () =>
      [timeOfDay(at), printer.style.bold(event), printable(text), ...real].join("  "),
    );
  switch (change.kind) {
    case "lost":
      say("disconnected", {}, "the sandbox is disconnected; its events are delivered when it returns");
      return options.exitOnDisconnect ? DISCONNECTION_PROBLEM : undefined;
    case "back": {
      const { sender } = options;
      const origin = (sender.kind === "sandbox" ? sender.locate()?.origin : undefined) ?? "";
      say("reconnected", { sandbox: origin }, `the sandbox is back at ${origin}`);
      return undefined;
    }
    case "off":
      say(
        "disabled",
        { reason: change.reason },
        `the sandbox no longer delivers here: ${change.reason}; run checkout listen again`,
      );
      return undefined;
    case "refused":
      return catchRefusal(() => answered(change.answer, { credential_invalid: ASK_OWNER })).refusal;
    case "taken_over":
      return TAKEOVER_PROBLEM;
  }
}

const ASK_OWNER = "ask the owner of the sandbox for another token: checkout tokens create";

const DISCONNECTION_PROBLEM: Problem = {
  exitCode: EXIT.unreachable,
  code: "disconnected",
  message: "the sandbox is disconnected, and --exit-on-disconnect is set",
  next: "start it again: checkout sandbox start; its events are delivered to the next checkout listen",
};

const TAKEOVER_PROBLEM: Problem = {
  exitCode: EXIT.failed,
  code: "taken_over",
  message: "another checkout listen has taken over the events of this sandbox",
  next: "use that listener; to run two receivers, add the second one: checkout endpoints add URL",
};

/** Handles a key; only one replay is requested at a time. */
function keyHandler(
  context: Context,
  { link, last }: Session,
  stop: AbortController,
): (key: ListenKey) => void {
  const { printer } = context;
  let isAsking = false;
  const replay = async (): Promise<void> => {
    const delivery = last();
    const eventId = delivery?.verified === true ? delivery.claims.eventId : null;
    if (link === undefined) return printer.talk("only the service can send an event again");
    if (eventId === null) return printer.talk("there is no verified event to replay yet");
    isAsking = true;
    const outcome = await link.replay(eventId);
    isAsking = false;
    if (outcome.end === "success") {
      const { at, real } = await momentOf(context, link);
      return printer.talk([timeOfDay(at), `replaying ${printable(eventId)}`, ...real].join("  "));
    }
    const why = outcome.end === "refusal" ? outcome.error.message : "the sandbox does not answer";
    printer.talk(printable(`not replayed: ${why}`));
  };
  return (key) => {
    if (key === "quit") return stop.abort();
    if (key === "replay") return isAsking ? undefined : void replay();
    const delivery = last();
    printer.talk(delivery === undefined ? "there was no delivery yet" : detailLines(delivery));
  };
}

/** Leaves deliveries to the next listener, unless it has already registered. Events in progress are forwarded. */
async function finish({ listener, webhooks, link, url }: Session): Promise<void> {
  // A polling listener answers its deliveries before it leaves, because it cannot answer any afterwards.
  if (isPolledAddress(url)) await listener.close(DRAIN_MS);
  await link?.leave();
  await listener.close(DRAIN_MS);
  await webhooks.settled();
}

function waitWithin(world: Pick<World, "after">, milliseconds: number, work: Promise<void>): Promise<void> {
  return Promise.race([work, new Promise<void>((resolve) => world.after(milliseconds, resolve))]);
}

/** Waits for one piece of work at a time, or for the stop, whichever happens first. */
type Interruption = <Value>(work: Promise<Value>) => Promise<Value | "stopped">;

/** Keeps only the last wait: a promise that lives as long as the session would accumulate all of them. */
function createInterruption(signal: AbortSignal): Interruption {
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
