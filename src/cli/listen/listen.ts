import type { ControlTarget } from "../../client/control/control.ts";
import { tolerateStorageFailures, createMemorySeenEvents } from "../../client/listen/seen-events.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import type { SeenEvents } from "../../core/webhook/seen-events.ts";
import { isStoreToken } from "../../core/credential.ts";
import { printable } from "../../core/text.ts";
import { openSeenEvents } from "../../store/journal/journal.ts";
import { register, type Context, type Group } from "../command.ts";
import { STDIN } from "../input.ts";
import { listenOptions, createListenPlan, type ListenCommandOptions } from "./options.ts";
import { runSession, type WebhookSender } from "./session.ts";
import { unwrap, problemOf, Refused, refuseUsage, catchRefusal } from "../problem.ts";
import { abortOnStop } from "../stopping.ts";
import { requireSigningSecrets, SIGNING_SECRET_VARIABLE } from "../webhook/signing-secrets.ts";
import { stateFile } from "../../host/folder/files.ts";
import { noteTarget } from "../target/notes.ts";
import { makeStateFolder } from "../../host/folder/state-folder.ts";
import { EVENT_REMEDIES } from "../webhook/wait.ts";
import { callAt } from "../target/call.ts";
import {
  callSandbox,
  requireControlTarget,
  findSandboxTarget,
  findControlTarget,
} from "../target/control.ts";
import { resolveMoment } from "../calling.ts";
import { fileFailure, movedLogWarning } from "../../host/failure.ts";
import { output } from "../output/output.ts";

export function registerListen(group: Group): void {
  register<ListenCommandOptions>(group, {
    name: "listen",
    summary: "receive events, verify them and forward them to your application, until Ctrl-C",
    exitCodes: { 7: "with --exit-on-disconnect: the sandbox disconnected" },
    examples: [
      "checkout listen --forward http://localhost:3000/hooks",
      "checkout listen --forward http://localhost:3000/hooks --route 'order.*=http://localhost:3001/orders' --since 10m",
      "checkout listen --events order.succeeded --json",
      "checkout listen --port 4300 --secret-file secret.txt --forward http://localhost:3000/hooks",
    ],
    options: listenOptions(),
    conflicts: [
      ["ca", "insecure"],
      ["printSecret", "secretFile"],
    ],
    run: runListen,
  });
}

async function runListen(context: Context, options: ListenCommandOptions): Promise<number> {
  const { world } = context;
  // Registered first, so that a signal during the start is not lost.
  using stop = abortOnStop(world);
  const plan = createListenPlan(context, options);
  if (options.printSecret === true) return await printSecret(context);
  const sender = await resolveSender(context, options);
  using seenEvents = openSeenEventLog(context, options);
  const session = {
    sender,
    plan,
    seenEvents,
    port: options.port ?? 0,
    exitOnDisconnect: options.exitOnDisconnect === true,
    readsKeys: world.isInteractive() && options.json !== true && options.secretFile !== STDIN,
  };
  return await runSession(context, session, stop);
}

/** The sender is a service with `--secret-file`, or if a secret is in the environment and no sandbox is found. */
async function resolveSender(context: Context, options: ListenCommandOptions): Promise<WebhookSender> {
  if (options.secretFile !== undefined) return resolveService(context, options);
  const isSecretSet = (context.world.env[SIGNING_SECRET_VARIABLE] ?? "") !== "";
  // With a secret in the environment, the user may mean a service, so a missing sandbox is not refused.
  const target = isSecretSet ? await findControlTarget(context) : await requireControlTarget(context);
  if (target === undefined) return resolveService(context, options);
  const fetchesDeliveries = isStoreToken(target.token);
  if (fetchesDeliveries && options.port !== undefined)
    throw refuseUsage(
      "--port needs a sandbox that sends to this machine; with the token of a store, the listener fetches the events",
      "leave it out",
    );
  noteTarget(context, target.origin);
  if (options.headerNames !== undefined)
    throw refuseUsage(
      "--header-names is only for a service with its own header names; events come from the sandbox here",
      "leave it out; or listen to a service: --secret-file FILE --port 4300",
    );
  const { storeId } = target;
  const store = storeId === undefined ? {} : { storeId };
  const locate = (): ControlTarget | undefined => {
    context.around.reload();
    const sandbox = catchRefusal(() => findSandboxTarget(context)).value;
    return sandbox && { ...sandbox, ...store };
  };
  const since = await resolveSince(context, options, target);
  return { kind: "sandbox", locate, since, fetchesDeliveries };
}

async function resolveService(context: Context, options: ListenCommandOptions): Promise<WebhookSender> {
  const { port, since, exitOnDisconnect } = options;
  const secrets = await requireSigningSecrets(context, options);
  if (port === undefined || port === 0)
    throw refuseUsage(
      "--port is missing: the service needs a fixed address to send to",
      "choose a port, such as --port 4300, and let the service or a tunnel send deliveries there",
    );
  if (since !== undefined || exitOnDisconnect === true)
    throw refuseUsage(
      "--since and --exit-on-disconnect work only with a sandbox; events come from a service here",
      "leave them out",
    );
  return { kind: "service", secrets };
}

async function resolveSince(
  context: Context,
  { since = "last" }: ListenCommandOptions,
  target: ControlTarget,
): Promise<RequestOf<"registerListener">["since"]> {
  if (since === "last") return undefined;
  if ("eventId" in since) {
    // Checked before the registration, so that a mistyped id does not disconnect a running listener.
    const { eventId } = since;
    const remedies = EVENT_REMEDIES;
    await callAt(context, target, { name: "showEvent", id: eventId, body: undefined, remedies });
    return { eventId };
  }
  return { at: await resolveMoment(context, since, { direction: "past", target }) };
}

function openSeenEventLog(
  { world, printer, around }: Context,
  options: ListenCommandOptions,
): SeenEvents & Disposable {
  const folder = around.folder();
  if (!world.files.exists(folder)) return closeAtEnd(createMemorySeenEvents());
  unwrap(makeStateFolder(world, folder, options));
  const path = stateFile(folder, "journal");
  const outcome = openSeenEvents(path, {
    now: world.now(),
    nativeBinding: world.sqliteAddon(),
    pid: world.pid,
    onLogMoved: (log) => printer.trace(movedLogWarning(path, log)),
  });
  if (!outcome.ok) throw new Refused(problemOf(fileFailure("journal", outcome.refusal)));
  const report = (error: unknown): void =>
    printer.trace(printable(`warning: forwarded events cannot be recorded in the journal: ${String(error)}`));
  return closeAtEnd(tolerateStorageFailures(outcome.value, report));
}

function closeAtEnd(seenEvents: SeenEvents): SeenEvents & Disposable {
  return { ...seenEvents, [Symbol.dispose]: seenEvents.close };
}

/**
 * Prints the registered listener's secret, or else the store's. Registers no listener, because events would wait for
 * one.
 */
async function printSecret(context: Context): Promise<number> {
  const endpointList = await callSandbox(context, { name: "listEndpoints", body: undefined });
  const listener = endpointList.endpoints.find(({ kind }) => kind === "listener");
  const secret =
    listener === undefined
      ? (await callSandbox(context, { name: "storeAccess", body: undefined })).signingSecret
      : ((await callSandbox(context, { name: "showSecret", id: listener.id, body: undefined })).inForce[0] ??
        "");
  return context.printer.result(output("secret", { signing_secret: secret }), () => secret);
}
