import { parseJson } from "../../core/json.ts";
import { localOrigin } from "../../core/loopback.ts";
import type { DetachedProcess, Starter, World } from "../../world.ts";
import type { Context } from "../command.ts";
import { settingsWithConfig } from "../../host/config/start-settings.ts";
import { stateFile } from "../../host/folder/files.ts";
import { noteTarget } from "../target/notes.ts";
import { makeStateFolder } from "../../host/folder/state-folder.ts";
import {
  catchRefusal,
  EXIT,
  unwrap,
  interruptedProblem,
  Refused,
  refuseUsage,
  type Problem,
} from "../problem.ts";
import { abortOnStop, awaitAbort, awaitStop, waitAtMost } from "../stopping.ts";
import { readGivenSecrets } from "../../host/given-secrets.ts";
import { findRunningSandbox, runningReadyMessage, type RunningSandbox } from "./running.ts";
import { readyBanner, refuseLostReadyLine, warnAboutHold } from "./ready.ts";
import { checkFirstPort } from "../../host/listen.ts";
import { serveSandbox } from "../../host/serve.ts";
import type { StartOptions } from "./serving-options.ts";
import type { ReadyMessage } from "../../host/ready.ts";
import type { SandboxDescription } from "../../core/sandbox/description.ts";
import { output } from "../output/output.ts";

type StartMessage =
  | {
      readonly ready: ReadyMessage;
      readonly description: SandboxDescription;
      readonly notes: readonly string[];
    }
  | { readonly problem: Problem };

const MAX_LOST_RACES = 10;
const ABANDON_TIMEOUT_MS = 10_000;
const MAX_LOG_LINES = 5;

export async function startOrReuse(
  context: Context,
  options: StartOptions,
  serve: () => Promise<number>,
): Promise<number> {
  const { world } = context;
  if (options.ephemeral === true) throw refuseEphemeral(options);
  using stop = options.detach === true ? abortOnStop(world) : undefined;
  const folder = context.around.folder();
  for (let lostRaceCount = 0; ; lostRaceCount += 1) {
    const sandbox = await findRunningSandbox(context, stop?.signal);
    if (sandbox !== undefined) return await reuseRunningSandbox(context, options, { folder, sandbox });
    const start = stop ? startDetached(context, options, { folder, signal: stop.signal }) : serve();
    const outcome = await catchRefusal(start);
    if (outcome.ok) return outcome.value;
    const hasLostRace = outcome.refusal.code === "already_running" && lostRaceCount < MAX_LOST_RACES;
    if (!hasLostRace) throw new Refused(outcome.refusal);
  }
}

function refuseEphemeral({ detach }: StartOptions): Refused {
  const flag = detach === true ? "--detach" : "--reuse";
  const reason = `a sandbox without a state folder could not be found again`;
  return refuseUsage(
    `${flag} and --ephemeral exclude each other: ${reason}`,
    'leave --ephemeral out, and first run: export CHECKOUT_DIR="$(mktemp -d)"',
  );
}

async function reuseRunningSandbox(
  context: Context,
  options: StartOptions,
  { folder, sandbox }: { readonly folder: string; readonly sandbox: RunningSandbox },
): Promise<number> {
  const { description } = sandbox;
  const givenSecrets = unwrap(readGivenSecrets(context.world));
  const requestedSettings = unwrap(await settingsWithConfig(context, options));
  const { sandboxDifferences } = await import("../config/running-differences.ts");
  const startRequest = { options: requestedSettings, givenSecrets };
  const { differences, includesStores } = await sandboxDifferences(context, startRequest, {
    folder,
    sandbox,
  });
  if (differences.length > 0) {
    const applyHint = includesStores ? "; to change stores: checkout config apply" : "";
    throw new Refused({
      exitCode: EXIT.usage,
      code: "settings_differ",
      message: `the running sandbox (pid ${description.pid}) has different settings from the requested ones`,
      next: `leave these settings out, or run checkout sandbox stop first${applyHint}`,
      differences,
    });
  }
  const signInUrl = await createSignInUrl(context.world, sandbox);
  const message = runningReadyMessage(context, { ...sandbox, signInUrl });
  warnAboutHold(context, description);
  noteTarget(context);
  return context.printer.result(output("ready", message), () =>
    readyBanner(context, message, {
      mode: { logFile: description.logFile },
      givenSecrets,
      description,
    }),
  );
}

async function createSignInUrl(world: World, { run, description }: RunningSandbox): Promise<string | null> {
  if (description.portalUrl === null) return null;
  const { callControl } = await import("../../client/control/control.ts");
  const { port, control_token: token, version = "" } = run;
  const target = { origin: localOrigin(port ?? 0), token, version };
  const signIn = await callControl(world, target, { name: "createSignIn", body: {} });
  return signIn.end === "success" ? signIn.value.signInUrl : null;
}

async function startDetached(
  context: Context,
  options: StartOptions,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<number> {
  const { world, printer } = context;
  const givenSecrets = unwrap(readGivenSecrets(world));
  unwrap(await checkFirstPort(world, folder, unwrap(await settingsWithConfig(context, options))));
  unwrap(makeStateFolder(world, folder, options));
  const logFile = stateFile(folder, "log");
  const logBytes = world.files.size(logFile) ?? 0;
  await using attachedProcess = startAttachedProcess(world, logFile);
  const message = await Promise.race([attachedProcess.firstMessage, awaitAbort(signal)]);
  if (message === "stopped") throw new Refused(interruptedProblem("; no sandbox was started"));
  const startMessage = message === undefined ? undefined : (parseJson(message) as StartMessage | undefined);
  if (startMessage === undefined) {
    throw refuseEarlyEnd(await attachedProcess.end, logLines(world, { logFile, logBytes }));
  }
  if ("problem" in startMessage) throw new Refused(startMessage.problem);
  for (const note of startMessage.notes) printer.info(note);
  const exitCode = await printer.result(output("ready", startMessage.ready), () =>
    readyBanner(context, startMessage.ready, {
      mode: { logFile },
      givenSecrets,
      description: startMessage.description,
    }),
  );
  if (world.isResultLost()) throw refuseLostReadyLine();
  noteTarget(context);
  warnAboutHold(context, startMessage.description);
  await attachedProcess.release();
  return exitCode;
}

function startAttachedProcess(world: World, logFile: string): DetachedProcess & AsyncDisposable {
  const detachedProcess = world.startDetached({ logFile });
  let isAttached = true;
  return {
    ...detachedProcess,
    release: () => {
      isAttached = false;
      return detachedProcess.release();
    },
    [Symbol.asyncDispose]: async () => {
      if (!isAttached) return;
      detachedProcess.abandon();
      await waitAtMost(world, ABANDON_TIMEOUT_MS, detachedProcess.end);
    },
  };
}

function logLines(
  { files }: World,
  { logFile, logBytes }: { readonly logFile: string; readonly logBytes: number },
): readonly string[] {
  const { bytes } = files.readFrom(logFile, logBytes) ?? { bytes: new Uint8Array(0) };
  const lines = Buffer.from(bytes)
    .toString("utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.slice(-MAX_LOG_LINES);
}

function refuseEarlyEnd(ending: string, lines: readonly string[]): Refused {
  const logText = lines.length === 0 ? "" : `; its log ends with: ${lines.join(" / ")}`;
  return new Refused({
    code: "start_failed",
    message: `the sandbox ended before it was ready (${ending})${logText}`,
    next: "run checkout sandbox logs, or start it in this terminal to see more: checkout sandbox start",
  });
}

/** Notifies the starter when the sandbox is ready, and stops if the starter has already ended. */
export async function serveDetached(
  context: Context,
  options: StartOptions,
  starter: Starter,
): Promise<number> {
  const { world, printer } = context;
  const stop = Promise.withResolvers<"stopped">();
  let isStopped = false;
  world.onStop(() => {
    isStopped = true;
    stop.resolve("stopped");
  });
  const folder = context.around.folder();
  const notes: string[] = [];
  const info = (text: string): void => {
    notes.push(text);
    printer.info(text);
  };
  const servingContext = { ...context, printer: { ...printer, info } };
  const mergedOptions = unwrap(await settingsWithConfig(servingContext, options));
  const outcome = await serveSandbox(servingContext, mergedOptions, {
    location: { folder, log: world.stderr, logFile: starter.logFile },
    announce: async ({ ready, description }) => {
      if (isStopped) throw new Refused(interruptedProblem(" before it was ready"));
      const startMessage: StartMessage = { ready, description, notes };
      // `notify` resolves to true once the starter has printed the ready line, and to false if it has ended.
      if (await starter.notify(JSON.stringify(startMessage))) return;
      const message = "the command that started this sandbox ended before it was ready";
      throw new Refused({ code: "abandoned", message, next: "checkout sandbox start --detach" });
    },
    use: async (sandbox) => {
      const { ready } = sandbox;
      printer.info(`checkout sandbox ${ready.version} serves ${ready.base_url} (pid ${ready.pid}).`);
      await awaitStop(sandbox, stop.promise);
    },
  });
  unwrap(outcome);
  printer.info("checkout sandbox stopped.");
  return EXIT.done;
}
