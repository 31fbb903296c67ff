import type { Command } from "commander";
import type { ControlTarget } from "../../client/control/control.ts";
import { keepDespiteFailure, rememberSeenEvents } from "../../client/listen/seen-events.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { SeenEvents } from "../../core/webhook/seen-events.ts";
import { printable } from "../../core/text.ts";
import { openSeenEvents } from "../../store/journal/journal.ts";
import { register, type Context, type Registry } from "../command.ts";
import { STDIN } from "../input.ts";
import { listenOptions, planOf, type ListenOptions } from "./options.ts";
import { runSession, type Sender } from "./session.ts";
import { fail, failUsage, type Ending, type Problem, problemOf, hosted } from "../problem.ts";
import { checkSecrets, findSecrets, SECRET_VARIABLE } from "../webhook/signing-secrets.ts";
import { stateFile } from "../../host/folder/files.ts";
import { noteTarget } from "../target/notes.ts";
import { makeStateFolder } from "../../host/folder/state-folder.ts";
import { NEXT_AFTER_EVENT } from "../webhook/wait.ts";
import { callAt } from "../target/call.ts";
import { callSandbox, controlTarget, sandboxIn, inStore, momentFromNow } from "../target/control.ts";
import { fileFailure } from "../../host/failure.ts";

/** `checkout listen`. */
export function registerListen(parent: Command, registry: Registry): void {
  register<ListenOptions>(parent, registry, {
    name: "listen",
    summary: "receive events, verify them, and forward them to your application, until Ctrl-C",
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

async function runListen(context: Context, options: ListenOptions): Promise<Ending> {
  const { world } = context;
  // Registered first, so that a signal during the start is not lost.
  const stopping = new AbortController();
  const unsubscribe = world.onStop(() => stopping.abort());
  try {
    const plan = await planOf(context, options);
    if (!plan.ok) return plan;
    if (options.printSecret === true) return await printSecret(context);
    const sender = await senderOf(context, options);
    if (!sender.ok) return sender;
    const seen = openSeen(context, options);
    if (!seen.ok) return seen;
    try {
      const session = {
        sender: sender.value,
        plan: plan.value,
        seen: seen.value,
        port: options.port ?? 0,
        exitOnDisconnect: options.exitOnDisconnect === true,
        keys: world.interactive && options.json !== true && options.secretFile !== STDIN,
      };
      return await runSession(context, session, stopping);
    } finally {
      seen.value.close();
    }
  } finally {
    unsubscribe();
  }
}

/** The sandbox of this folder; a service where a secret file names its secret, or the environment and no sandbox is here. */
async function senderOf(context: Context, options: ListenOptions): Promise<Outcome<Sender, Problem>> {
  if (options.secretFile !== undefined) return serviceOf(context, options);
  const given = (context.world.env[SECRET_VARIABLE] ?? "") !== "";
  // A service may be meant, so a sandbox that is not there is not waited for.
  const target = given ? await targetIfThere(context) : await controlTarget(context);
  if (!target.ok) return target;
  if (target.value === undefined) return serviceOf(context, options);
  if (options.headerNames !== undefined) return OWN_NAMES;
  // The same store as long as it listens, wherever the sandbox is by then.
  const { storeId } = target.value;
  const store = storeId === undefined ? {} : { storeId };
  const locate = (): ControlTarget | undefined => {
    context.around.lookAgain();
    const found = sandboxIn(context);
    return found.ok && found.value !== undefined ? { ...found.value, ...store } : undefined;
  };
  const since = await sinceOf(context, options, target.value);
  return since.ok ? accept({ kind: "sandbox", locate, since: since.value }) : since;
}

async function targetIfThere(context: Context): Promise<Outcome<ControlTarget | undefined, Problem>> {
  const found = sandboxIn(context);
  if (!found.ok || found.value === undefined) return found;
  noteTarget(context, { url: found.value.origin });
  return inStore(context, found.value);
}

/** A service of which nothing is known but its secrets, and which cannot be asked for anything. */
async function serviceOf(context: Context, options: ListenOptions): Promise<Outcome<Sender, Problem>> {
  const { port, since, exitOnDisconnect } = options;
  const secrets = await findSecrets(context, options);
  if (!secrets.ok) return secrets;
  const usable = checkSecrets(secrets.value);
  if (!usable.ok) return usable;
  if (port === undefined || port === 0) return NO_PORT;
  if (since !== undefined || exitOnDisconnect === true) return ONLY_SANDBOX;
  return accept({ kind: "service", secrets: secrets.value });
}

const OWN_NAMES = failUsage(
  "--header-names is for a service with names of its own, and the sandbox has none",
  "leave it out; or name the service's secret and a port: --secret-file FILE --port 4300",
);

const NO_PORT = failUsage(
  "--port is missing: the service needs a fixed address to send to",
  "choose one, such as --port 4300, and let the service or a tunnel send to it",
);
const ONLY_SANDBOX = failUsage(
  "--since and --exit-on-disconnect work only with a sandbox, and events come from a service here",
  "leave them out",
);

/** What comes first, as the sandbox takes it; a span counts back from its clock. */
async function sinceOf(
  context: Context,
  { since = "last" }: ListenOptions,
  target: ControlTarget,
): Promise<Outcome<RequestOf<"registerListener">["since"], Problem>> {
  if (since === "last") return accept(undefined);
  if ("eventId" in since) {
    // Looked up before anything is registered: a slip must not take the events away from a listener that runs.
    const call = {
      name: "showEvent",
      id: since.eventId,
      body: undefined,
      nextAfter: NEXT_AFTER_EVENT,
    } as const;
    const known = await callAt(context, target, call);
    return known.ok ? accept({ eventId: since.eventId }) : known;
  }
  const at = await momentFromNow(context, -since.spanMs, target);
  return at.ok ? accept({ at: at.value }) : at;
}

/** The memory of what was forwarded: in the folder's journal, or where there is no folder, in this process. */
function openSeen({ world, printer, around }: Context, options: ListenOptions): Outcome<SeenEvents, Problem> {
  const found = around.folder();
  if (!found.ok) return found;
  const folder = found.value;
  if (!world.files.exists(folder)) return accept(rememberSeenEvents());
  const made = hosted(makeStateFolder(world, folder, options));
  if (!made.ok) return made;
  const path = stateFile(folder, "journal");
  const opened = openSeenEvents(path, {
    now: world.now(),
    nativeBinding: world.sqliteAddon(),
    pid: world.pid,
  });
  if (!opened.ok) return fail(problemOf(fileFailure("journal", opened.refusal)));
  const report = (error: unknown): void =>
    printer.trace(printable(`warning: forwarded events cannot be recorded in the journal: ${String(error)}`));
  return accept(keepDespiteFailure(opened.value, report));
}

/**
 * Prints the newest secret of the listener's endpoint. Where none has listened yet, the endpoint is made, and what
 * happens from now on waits for the first one that does.
 */
async function printSecret(context: Context): Promise<Ending> {
  const listed = await callSandbox(context, { name: "listEndpoints", body: undefined });
  if (!listed.ok) return listed;
  const known = listed.value.endpoints.find(({ kind }) => kind === "listener");
  const made = known === undefined ? await reserve(context) : accept(known);
  if (!made.ok) return made;
  const shown = await callSandbox(context, {
    name: "showSecret",
    id: made.value.id,
    body: undefined,
  });
  if (!shown.ok) return shown;
  const [secret = ""] = shown.value.inForce;
  return context.printer.result({ signing_secret: secret }, () => secret);
}

/** Nobody listens there: the discard port, for the moment until it is paused. */
const NOWHERE = "http://127.0.0.1:9/";

async function reserve(context: Context): Promise<Outcome<{ readonly id: string }, Problem>> {
  const made = await callSandbox(context, { name: "registerListener", body: { url: NOWHERE } });
  if (!made.ok) return made;
  const { id } = made.value;
  return callSandbox(context, { name: "setEndpointState", id, body: { action: "pause" } });
}
